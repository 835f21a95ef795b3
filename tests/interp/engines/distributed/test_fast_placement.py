"""Compiled workers with devices: a node fires on the worker of its device, and the run is that of one machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.generator import Case, cases
from support.laws.distributed_laws import fast_violations
from support.programs.parallel_programs import careless, fib, fragile, relayed, sums, tak, twice
from support.twins.broken_twin import Break, broken
from tagloom.core.errors import TagloomError
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.distributed import engine, fast_worker, machines
from tagloom.interp.engines.distributed.fast_worker import FastWorker, supports_fast_workers
from tagloom.interp.engines.distributed.network import NetworkPool
from tagloom.interp.engines.distributed.placement import ENTRY_OPS, WorkerPlacement, find_placement
from tagloom.interp.engines.fast.parallel.store import CoreStore
from tagloom.interp.engines.fast.shared_memory import MessageKind, MessageWord

pytestmark = pytest.mark.full  # the machine of several cores takes 21 s to compile

PROGRAMS = ((fib, 7), (tak, 5, 3, 1), (sums, 4), (twice, 6), (fragile, 6), (careless, 5), (relayed, 5))
SCALAR_CASES = cases().filter(lambda case: supports_fast_workers(lower(case.program)))
ROUTING_OPS = ("merge", "switch", "return", "next_iteration", "exit", "reenter", "back")
MAX_ROUNDS = 20_000
"""The true workers need some hundred rounds for the programs above."""


def random_placement(graph: Graph, dice: Random, workers: int) -> WorkerPlacement:
    """A worker for some or all of the nodes, chosen at random."""
    share = dice.choice([0.1, 0.5, 1])
    ranks = (dice.randrange(workers) if dice.random() < share else None for _ in graph.nodes)
    pairs = zip(ranks, graph.nodes, strict=True)
    return WorkerPlacement(("a", "b", "c", "d")[:workers], tuple(None if n.op in ROUTING_OPS else r for r, n in pairs))


def placement_violations(
    graph: Graph, arguments: Sequence[Any], placement: WorkerPlacement, workers: int, cluster: str
) -> Iterator[str]:
    """Where a run with this placement differs from the reference, and the firings that are on another worker than that
    of their node. A trap belongs to the worker of the activation."""
    faults: list[str] = []
    true = machines.fast_outcome

    def fast_outcome(run: Any, documents: Any, *details: Any) -> Any:
        for rank, document in enumerate(documents):
            for number, required in enumerate(placement.ranks):
                traps = sum(trap[0] == number for trap in document["traps"])
                is_entry = graph.nodes[number].op in ENTRY_OPS
                if not is_entry and required not in (None, rank) and document["firings"][number] > traps:
                    faults.append(f"{graph.nodes[number]} fires on worker {rank} and not {required}")
        return true(run, documents, *details)

    with MonkeyPatch.context() as patch:
        patch.setattr(engine, "find_placement", lambda graph, **options: placement)
        patch.setattr(machines, "fast_outcome", fast_outcome)
        yield from fast_violations(graph, arguments, workers, cluster)
    yield from faults


def first_fault(seeds: Sequence[int]) -> str | None:
    """The first fault of small programs with random placements on networks with these seeds, or the error of a run that
    fails. Seed 0 is a network without faults."""
    true = NetworkPool.advance

    def advance(self: NetworkPool) -> list[int]:
        assert self.clock() < MAX_ROUNDS, "the run does not end"
        return true(self)

    with MonkeyPatch.context() as patch:
        patch.setattr(NetworkPool, "advance", advance)
        for seed in seeds:
            for function, *arguments in PROGRAMS:
                workers = 2 + seed % 3
                placement = random_placement(function.graph, Random(seed), workers)
                cluster = f"network:{seed}" if seed else "network"
                try:
                    fault = next(placement_violations(function.graph, arguments, placement, workers, cluster), None)
                except (AssertionError, LookupError, TypeError, ValueError, TagloomError) as error:
                    fault = repr(error)
                if fault:
                    return f"{function.graph.name} on {cluster}: {fault}"
    return None


@pytest.mark.parametrize("seed", range(4))
def test_small_programs(seed: int) -> None:
    """Recursion, loops, results that several sites share, and traps, with random placements, while workers die."""
    assert first_fault([seed]) is None


def test_few_requests_at_a_time(monkeypatch: MonkeyPatch) -> None:
    """A worker that waits for the outputs of its requests, here after each, still reaches the end of the run."""
    monkeypatch.setattr(fast_worker, "MAX_FIRE_REQUESTS", 1)
    assert first_fault([1]) is None


@settings(max_examples=4, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(SCALAR_CASES, st.integers(0, 2**32 - 1).map(Random))
def test_generated_programs(case: Case, dice: Random) -> None:
    """With any nodes and activations placed on any workers, on a faulty network, a program does what it does on one
    machine, and each placed node fires on its worker."""
    assert list(generated_violations(case, dice)) == []


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@settings(max_examples=200, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(SCALAR_CASES, st.integers(0, 2**32 - 1).map(Random))
def test_many_generated_programs(case: Case, dice: Random) -> None:
    """The same, for many more programs."""
    assert list(generated_violations(case, dice)) == []


def generated_violations(case: Case, dice: Random) -> Iterator[str]:
    """The violations of a program, if compiled workers can run it with a random placement."""
    graph, workers = lower(case.program), dice.randint(1, 4)
    placement = random_placement(graph, dice, workers)
    if supports_fast_workers(graph, placement.ranks):
        cluster = f"network:{dice.randrange(10**6)}"
        yield from placement_violations(graph, case.arguments, placement, workers, cluster)


@tl.function
def tree(n: tl.int64) -> tl.int64:
    """A tree of calls on one device, whose sums are on another one."""
    with tl.device("/job:worker/task:0"):
        if n <= 0:
            return 1
        a = tree(n - 1)
        b = tree(n - 1)
        with tl.device("/job:ps/task:1"):
            return a + 3 * b


def test_devices_of_a_program_in_processes() -> None:
    """A program with devices runs on compiled workers, and each of its products and sums is a request to the other
    worker, in few batches. The outcome is that of one core."""
    one = tree.run(10, engine="fast")
    out = tree.run(10, engine="distributed", cluster="processes")
    assert out.cluster is not None
    assert (out.cluster.machine, out.cluster.devices) == ("fast", ("/job:worker/task:0", "/job:ps/task:1"))
    assert (out.value, out.stats.by_node, out.stats.profile, out.stats.waiting) == (
        one.value,
        one.stats.by_node,
        one.stats.profile,
        one.stats.waiting,
    )
    assert out.cluster.messages["CoreMessages"] < 500 < 2 * (2**10 - 1)


def test_placed_activations_stay_on_their_workers() -> None:
    """No other worker gets an activation of a device: all messages are requests, outputs, and the call of the root."""
    kinds: list[int] = []
    true = FastWorker._send_messages

    def send_messages(self: FastWorker) -> None:
        kinds.extend(int(row[MessageWord.KIND]) for rows in self._unsent_rows.values() for each in rows for row in each)
        true(self)

    placement = find_placement(tree.graph)
    with MonkeyPatch.context() as patch:
        patch.setattr(FastWorker, "_send_messages", send_messages)
        assert list(placement_violations(tree.graph, [4], placement, 2, "network")) == []
    assert kinds.count(MessageKind.FIRE) == kinds.count(MessageKind.FIRED) == 2 * (2**4 - 1)
    assert kinds.count(MessageKind.OPEN) <= 1


def fires_placed_nodes_anywhere(patch: MonkeyPatch) -> None:
    """A worker fires nodes of others where their operands meet."""
    patch.setattr(CoreStore, "place_nodes", lambda self, ranks: None)


def changes_rows(patch: MonkeyPatch, change: Any) -> None:
    """Change all messages before they are sent."""
    true = FastWorker._send_messages

    def send_messages(self: FastWorker) -> None:
        for batches in self._unsent_rows.values():
            batches[:] = [change(rows.copy()) for rows in batches]
        true(self)

    patch.setattr(FastWorker, "_send_messages", send_messages)


def forgets_parents(patch: MonkeyPatch) -> None:
    """A batch forgets the frame of the parent of an activation that it opens."""

    def change(rows: Any) -> Any:
        rows[rows[:, MessageWord.KIND] == MessageKind.OPEN, MessageWord.PARENT_FRAME] = 0
        return rows

    changes_rows(patch, change)


def mixes_up_frames(patch: MonkeyPatch) -> None:
    """The outputs of a batch go to the frames in the opposite order."""

    def change(rows: Any) -> Any:
        is_output = rows[:, MessageWord.KIND] == MessageKind.FIRED
        rows[is_output, MessageWord.TARGET] = rows[is_output, MessageWord.TARGET][::-1]
        return rows

    changes_rows(patch, change)


def drops_traps(patch: MonkeyPatch) -> None:
    """A firing that traps on another worker sends an output."""

    def change(rows: Any) -> Any:
        rows[rows[:, MessageWord.KIND] == MessageKind.TRAPPED, MessageWord.KIND] = MessageKind.FIRED
        return rows

    changes_rows(patch, change)


def forgets_waves(patch: MonkeyPatch) -> None:
    """A request says nothing of the wave of its operands."""

    def change(rows: Any) -> Any:
        rows[rows[:, MessageWord.KIND] == MessageKind.FIRE, MessageWord.WAVE] = 0
        return rows

    changes_rows(patch, change)


def forgets_operands(patch: MonkeyPatch) -> None:
    """A request has only its first operand."""

    def change(rows: Any) -> Any:
        rows[rows[:, MessageWord.KIND] == MessageKind.FIRE, MessageWord.SECOND] = 0
        return rows

    changes_rows(patch, change)


def forgets_peer_proxies(patch: MonkeyPatch) -> None:
    """A checkpoint lacks the proxies of activations that were placed without a request."""
    true = CoreStore.contents
    patch.setattr(CoreStore, "contents", lambda self: {**true(self), "peer_proxies": np.zeros_like(self.peer_proxies)})


TWINS: tuple[Break, ...] = (
    fires_placed_nodes_anywhere,
    forgets_parents,
    mixes_up_frames,
    drops_traps,
    forgets_waves,
    forgets_operands,
    forgets_peer_proxies,
)


@pytest.mark.parametrize("how", TWINS, ids=lambda how: how.__name__)
def test_the_law_catches_broken_placements(how: Break) -> None:
    """All workers that differ in one rule break the law."""
    with broken(how):
        fault = first_fault((9, *range(9)))
    assert fault is not None
    print(fault[:200])
