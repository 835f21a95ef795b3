"""Pools of workers: the interface between the driver and its workers, in this process or elsewhere."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Protocol, Self

from .links import DRIVER, FLUSHES_ON_RELIABLE_LINKS, Links
from .packing import Packed


class WorkerPool(Protocol):
    """The workers of a run, and the clock by which the driver looks after them."""

    @property
    def links(self) -> Links:
        """The links of the driver."""

    @property
    def probe_interval(self) -> float:
        """The time between two probes of workers that are busy."""

    @property
    def checkpoint_interval(self) -> float:
        """The least time between two checkpoints."""

    @property
    def work_per_checkpoint(self) -> float:
        """The least time between two checkpoints, as a multiple of the time in which the stores of the first came."""

    @property
    def final_timeout(self) -> float:
        """The time that the driver waits for the stores of a run that a limit has ended."""

    def clock(self) -> float:
        """The time, in a unit of the pool."""

    def advance(self) -> Sequence[int]:
        """Let the workers work for a moment; returns the ranks of those that have died since the last call."""

    def replace(self, rank: int, epoch: int) -> None:
        """Put a new worker in the place of one that has died. It takes part in epochs after `epoch`."""

    def close(self) -> None:
        """End all workers."""


class ForwardingPool(ABC):
    """Workers outside of the driver's process, which passes on their batches. So the pool has the links of the driver,
    too. The unit of time is a second."""

    checkpoint_interval = 1.0
    work_per_checkpoint = 4.0
    rank = DRIVER
    flushes_before_resending = FLUSHES_ON_RELIABLE_LINKS

    def __init__(self, worker_count: int) -> None:
        self.peers = range(worker_count)
        self._batches: list[Packed] = []
        """The batches for the driver that have arrived."""

    @property
    def links(self) -> Self:
        return self

    def clock(self) -> float:
        return time.monotonic()

    @abstractmethod
    def post(self, peer: int, batch: Packed) -> None:
        """Send a batch to a worker. Returns at once."""

    def poll(self) -> list[Packed]:
        batches, self._batches = self._batches, []
        return batches

    def _forward(self, frames: Iterable[tuple[int, bytes]]) -> None:
        """Pass on the batches of a worker, each with its receiver. An empty one is a heartbeat."""
        for receiver, batch in frames:
            if receiver != DRIVER:
                self.post(receiver, [batch])
            elif batch:
                self._batches.append([batch])
