"""Pools of workers: what the driver needs of the workers, wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .links import Links


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
        """The time between two checkpoints."""

    @property
    def patience(self) -> float:
        """The time that the driver waits for the stores of a run that a limit has ended."""

    def clock(self) -> float:
        """The time, in a unit of the pool."""

    def advance(self) -> Sequence[int]:
        """Let the workers work for a moment; returns the ranks of those that have died since the last call."""

    def replace(self, rank: int, epoch: int) -> None:
        """Put a new worker in the place of one that has died. It takes part in epochs after `epoch`."""

    def close(self) -> None:
        """End all workers."""
