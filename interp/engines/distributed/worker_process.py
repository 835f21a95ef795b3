"""The code in the process of a worker (`processes` starts it)."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
import traceback
from contextlib import suppress
from typing import Any

from .frames import FrameReader, frame
from .links import DRIVER, FLUSHES_ON_RELIABLE_LINKS
from .packing import Packed
from .peer import MAX_FAILURE_TEXT, STEPS_PER_TURN, build_peer

IDLE_SECONDS = 0.001
"""How long an idle worker waits for a message."""
HEARTBEAT_SECONDS = 0.2
"""The time between two heartbeats."""


class SocketLinks:
    """The links of a worker, which all go through the driver's process."""

    flushes_before_resending = FLUSHES_ON_RELIABLE_LINKS

    def __init__(self, connection: socket.socket, rank: int, worker_count: int) -> None:
        self._connection, self.rank = connection, rank
        self._lock = threading.Lock()
        """Held while a frame is written."""
        self.peers = [DRIVER, *(peer for peer in range(worker_count) if peer != rank)]
        self._reader = FrameReader(connection)

    def post(self, peer: int, batch: Packed) -> None:
        """Send a batch; waits if the driver's process reads nothing."""
        with self._lock:
            for buffer in frame(peer, batch):
                data = memoryview(buffer)
                while data:
                    select.select([], [self._connection], [])
                    data = data[self._connection.send(data) :]

    def send_heartbeats(self) -> None:
        """Send an empty frame to the driver again and again, until it has gone."""
        with suppress(OSError, ValueError):  # the socket is closed
            while True:
                self.post(DRIVER, ())
                time.sleep(HEARTBEAT_SECONDS)

    def poll(self) -> list[Packed]:
        """The batches that have arrived. Raises EOFError if the driver has gone."""
        frames, is_open = self._reader.read()
        if not is_open:
            raise EOFError
        return [[batch] for _, batch in frames]

    def microseconds(self) -> float:
        """The time; the clock of a host is one for all its processes."""
        return 1e6 * time.monotonic()

    def wait(self) -> None:
        """Wait a moment for a batch."""
        select.select([self._connection], [], [], IDLE_SECONDS)


def serve(job: dict[str, Any]) -> None:
    """Be the peer of a job until the driver closes the socket."""
    connection = socket.socket(fileno=os.dup(job["socket"]))  # the least free number: select takes none from 1,024 up
    os.close(job["socket"])
    connection.setblocking(False)
    links = SocketLinks(connection, job["rank"], job["workers"])
    threading.Thread(target=links.send_heartbeats, daemon=True).start()
    peer = build_peer(job, links, job["epoch"])
    try:
        while True:
            peer.take_turn(STEPS_PER_TURN)
            if peer.is_idle:
                links.wait()
    except (EOFError, ConnectionError):
        return
    except Exception:
        peer.report_failure(traceback.format_exc()[-MAX_FAILURE_TEXT:])
