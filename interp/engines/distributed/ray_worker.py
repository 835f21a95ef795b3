"""The code in the actor of a worker on Ray (`ray_pool` starts it). It imports nothing of Ray."""

from __future__ import annotations

import json
import time
import traceback

from .frames import frame
from .links import DRIVER, FLUSHES_ON_RELIABLE_LINKS
from .packing import Buffer, Packed
from .peer import MAX_FAILURE_TEXT, STEPS_PER_TURN, build_peer

CALL_SECONDS = 0.02
"""The longest time of a call of the actor, some ten times the cost of an empty call."""


class MailboxLinks:
    """The links of a worker whose batches come and go with the calls of its actor."""

    flushes_before_resending = FLUSHES_ON_RELIABLE_LINKS

    def __init__(self, rank: int, worker_count: int) -> None:
        self.rank = rank
        self.peers = [DRIVER, *(peer for peer in range(worker_count) if peer != rank)]
        self.arrived_batches: list[bytes] = []
        """The batches that have come with a call."""
        self.frames: list[Buffer] = []
        """The frames that the call will return."""

    def microseconds(self) -> float:
        """The time; the clocks of hosts agree as far as their administrators see to it."""
        return 1e6 * time.time()

    def post(self, peer: int, batch: Packed) -> None:
        self.frames += frame(peer, batch)

    def poll(self) -> list[Packed]:
        batches, self.arrived_batches = self.arrived_batches, []
        return [[batch] for batch in batches]


class RayWorker:
    """A worker as an actor. It receives and returns bytes."""

    def __init__(self, job_text: bytes, rank: int, epoch: int) -> None:
        job = json.loads(job_text)
        self._links = MailboxLinks(rank, job["workers"])
        self._peer = build_peer(job, self._links, epoch)

    def work(self, *batches: bytes) -> tuple[bytes, bool]:
        """Take these batches, and work for a while; returns the frames to send, and whether the worker is idle. Each
        batch is an argument, because Ray takes a slow way for one of more than 100 kB."""
        links, peer, deadline = self._links, self._peer, time.monotonic() + CALL_SECONDS
        links.arrived_batches += batches
        try:
            while True:
                peer.take_turn(STEPS_PER_TURN)
                if links.frames or peer.is_idle or time.monotonic() >= deadline:
                    break
        except Exception:
            peer.report_failure(traceback.format_exc()[-MAX_FAILURE_TEXT:])
        frames, links.frames = links.frames, []
        return b"".join(frames), peer.is_idle

    def ping(self) -> None:
        """Return at once; Ray calls it in a different thread than `work`."""
