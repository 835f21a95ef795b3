"""The machines of workers, as the driver's process uses them: reference machines, or compiled ones.

Each has its own form of stores, which the driver only passes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from ....core.errors import TagloomError
from ....core.frontend.trace.pytree import TreeDef
from ...machine.state import State
from ...outcome.outcome import ClusterUse, Outcome, build_outcome
from ..fast.load import MachineVariant, compile_machine
from ..fast.parallel.run import ParallelRun
from ..limits import LimitMonitor, Limits
from .fast_worker import FastWorker, fast_job, fast_outcome, first_fast_stores
from .links import Links
from .peer import Peer
from .stores import first_stores, merge_stores, read_stores, stores_to_json
from .worker import Worker
from .worker_job import worker_job


class WorkerMachine(Protocol):
    """The machine of the workers of a run, as the driver's process needs it."""

    name: str
    """`reference` or `fast`."""
    has_timeline: bool

    def job(self) -> dict[str, Any]:
        """The job of a worker in another process."""

    def new_worker(self, links: Links, monitor: LimitMonitor, order: str, epoch: int) -> Peer:
        """A worker in this process."""

    def first_stores(self) -> list[Any]:
        """The stores of each worker at the beginning of the run, as documents."""

    def outcome(
        self, stores: deque[Any], error: TagloomError | None, structure: TreeDef, cluster: ClusterUse
    ) -> tuple[Outcome, State]:
        """The outcome of a run that ended with these stores, and its last state."""


class ReferenceMachine:
    """Workers that are reference machines."""

    name = "reference"

    def __init__(
        self,
        state: State,
        worker_count: int,
        share: Limits,
        seed: int,
        ranks: Sequence[int | None],
        has_timeline: bool,
    ) -> None:
        self._state, self._worker_count, self._share, self._seed, self._ranks = state, worker_count, share, seed, ranks
        self.has_timeline = has_timeline

    def job(self) -> dict[str, Any]:
        return worker_job(
            self._state.graph,
            self._worker_count,
            self._share,
            self._seed,
            self._ranks,
            has_timeline=self.has_timeline,
        )

    def new_worker(self, links: Links, monitor: LimitMonitor, order: str, epoch: int) -> Worker:
        return Worker(
            self._state.graph,
            links,
            self._worker_count,
            monitor,
            self._share,
            self._seed,
            order,
            epoch,
            self._ranks,
            has_timeline=self.has_timeline,
        )

    def first_stores(self) -> list[Any]:
        graph = self._state.graph
        other_stores = [stores_to_json(first_stores(graph, State(graph, None)))] * (self._worker_count - 1)
        return [stores_to_json(first_stores(graph, self._state)), *other_stores]

    def outcome(
        self, stores: deque[Any], error: TagloomError | None, structure: TreeDef, cluster: ClusterUse
    ) -> tuple[Outcome, State]:
        graph = self._state.graph
        merged = merge_stores(graph, (read_stores(stores.popleft(), State(graph, None)) for _ in range(len(stores))))
        outcome = build_outcome(
            merged.state,
            merged.meter.stats(merged.state),
            error,
            "quiet",
            schedule="waves",
            engine="distributed",
            structure=structure,
            cluster=cluster,
        )
        return outcome, merged.state


class FastMachine:
    """Compiled workers."""

    name = "fast"
    has_timeline = False

    def __init__(self, state: State, worker_count: int, share: Limits, ranks: Sequence[int | None] = ()) -> None:
        compile_machine(MachineVariant.MULTICORE)  # here, or each worker would compile it, unseen
        self._state, self._worker_count, self._share, self._ranks = state, worker_count, share, ranks
        self._run = ParallelRun(state, share, worker_count)

    def job(self) -> dict[str, Any]:
        return fast_job(self._state.graph, self._worker_count, self._share, self._ranks)

    def new_worker(self, links: Links, monitor: LimitMonitor, order: str, epoch: int) -> FastWorker:
        return FastWorker(self._state.graph, links, self._worker_count, self._share, epoch, self._ranks)

    def first_stores(self) -> list[Any]:
        return first_fast_stores(self._run)

    def outcome(
        self, stores: deque[Any], error: TagloomError | None, structure: TreeDef, cluster: ClusterUse
    ) -> tuple[Outcome, State]:
        return fast_outcome(self._run, stores, error, structure, cluster), self._state
