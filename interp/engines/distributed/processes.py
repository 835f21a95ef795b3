"""Workers as processes on this host.

Each process has one connected pair of sockets with the driver's process, made before it starts; nothing listens. All
batches go through the driver's process, which passes on those for other workers: there are few of them. So no worker
needs to learn of a process that replaces another. We hand over bytes only: the graph in its JSON form, and batches.

If a process is killed, by any signal, its socket closes, and the process is replaced. So is one that is stopped: a
thread of each process sends an empty frame at intervals, also while the worker is busy, and a process that has sent
nothing for long is killed. The processes end with the run. If the driver's process is killed, they end within
`PARENT_CHECK_SECONDS`. They have a session of their own, so Ctrl-C in the terminal does not reach them; the driver ends
them.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Any

from ....core.errors import Usage
from ..child_process import ChildProcess, job_program
from .frames import FrameReader, frame
from .packing import Buffer, Packed
from .pool import ForwardingPool

START_SECONDS = 120.0
"""The longest time until the first heartbeat of a process, which imports tagloom before."""
_WAIT_SECONDS = 0.01
"""The longest time that the driver waits for a batch before it looks at the clock. Each look takes processor time from
the workers."""
_PROGRAM = job_program(f"from {__package__}.worker_process import serve\nserve(job)")
"""The program of a worker's process."""


class WorkerProcess:
    """The process of one worker, and its socket."""

    def __init__(self, job: dict[str, Any]) -> None:
        """Start the process. Raises Usage, which is an OSError too, where that is impossible."""
        try:
            self._start(job)
        except OSError as error:
            hint = "try fewer workers, or cluster='network', which needs no processes"
            raise Usage("a worker's process cannot be started", got=str(error), hint=hint, python=OSError) from error

    def _start(self, job: dict[str, Any]) -> None:
        self.socket, remote = socket.socketpair()
        self.socket.setblocking(False)
        self.reader = FrameReader(self.socket)
        self.unsent_data = deque[Buffer]()
        """The data that the socket had no room for, in buffers."""
        self.heartbeat_deadline = time.monotonic() + START_SECONDS
        """When the process counts as dead, unless it sends something before."""
        try:
            with TemporaryFile() as file, remote:  # a pipe might be filled before the process reads
                file.write(json.dumps({**job, "socket": remote.fileno()}).encode())
                file.seek(0)
                self.process = ChildProcess(
                    [sys.executable, "-I", *(["-B"] if sys.dont_write_bytecode else []), "-c", _PROGRAM],
                    stdin=file,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    pass_fds=[remote.fileno()],
                )
        except BaseException:
            self.socket.close()
            raise

    def send(self, buffers: Sequence[Buffer]) -> None:
        """Send the rest of earlier data, and then these, as far as there is room."""
        self.unsent_data += buffers
        with suppress(BlockingIOError, ConnectionError):  # a dead process is noticed when its socket is read
            while self.unsent_data:
                buffer = self.unsent_data[0]
                count = self.socket.send(buffer)
                if count < len(buffer):
                    self.unsent_data[0] = memoryview(buffer)[count:]
                else:
                    self.unsent_data.popleft()

    def end(self) -> None:
        """Kill the process, and close the socket."""
        self.process.kill()
        self.socket.close()


class ProcessPool(ForwardingPool):
    """Workers in processes."""

    probe_interval = 0.02
    final_timeout = 0.1
    heartbeat_timeout = 20.0
    """The time without a heartbeat after which a process counts as dead: some hundred times what a loaded machine
    takes between two."""

    def __init__(self, job: dict[str, Any]) -> None:
        """Start the processes of a job (`worker_job`). Raises Usage where one cannot be started."""
        super().__init__(job["workers"])
        self._job = {**job, "path": list(map(os.path.abspath, sys.path)), "parent": os.getpid()}
        self._selector = selectors.DefaultSelector()
        self.processes: dict[int, WorkerProcess] = {}
        try:
            for rank in self.peers:
                self._start(rank, 0)
        except BaseException:
            self.close()
            raise

    def _start(self, rank: int, epoch: int) -> None:
        process = self.processes[rank] = WorkerProcess({**self._job, "rank": rank, "epoch": epoch})
        self._selector.register(process.socket, selectors.EVENT_READ, rank)

    def microseconds(self) -> float:
        return 1e6 * time.monotonic()

    def post(self, peer: int, batch: Packed) -> None:
        self.processes[peer].send(frame(peer, batch))

    def advance(self) -> Sequence[int]:
        """Wait a moment for batches, and pass on those for workers; returns the ranks of processes that have died."""
        deaths = dict[int, None]()
        for key, _ in self._selector.select(_WAIT_SECONDS):
            process = self.processes[key.data]
            frames, is_open = process.reader.read()
            process.heartbeat_deadline = self.clock() + self.heartbeat_timeout
            self._forward(frames)
            if not is_open:
                deaths[key.data] = None
        now = self.clock()
        for rank, process in self.processes.items():
            if process.unsent_data:
                process.send(())
            if now > process.heartbeat_deadline:
                deaths[rank] = None
        for rank in deaths:
            self._selector.unregister(self.processes[rank].socket)
        return list(deaths)

    def replace(self, rank: int, epoch: int) -> None:
        self.processes.pop(rank).end()
        self._start(rank, epoch)

    def close(self) -> None:
        """Kill all processes."""
        for process in self.processes.values():
            process.end()
        self._selector.close()
