"""Compiled workers: together they make the run of one machine, on networks that lose messages, and while they die."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.generator import Case, cases
from support.laws.distributed_laws import distributed_run, fast_violations
from support.programs.parallel_programs import careless, fib, fragile, relayed, sums, tak, twice
from support.twins.broken_twin import Break, broken
from support.twins.distributed_twins import saves_without_draining
from tagloom.core.errors import TagloomError
from tagloom.core.graph.lower import lower
from tagloom.core.text import parse
from tagloom.interp.engines.distributed import engine, fast_worker
from tagloom.interp.engines.distributed.fast_worker import FastWorker, supports_fast_workers
from tagloom.interp.engines.distributed.network import NetworkPool
from tagloom.interp.engines.fast import load
from tagloom.interp.engines.fast.parallel.run import ParallelRun
from tagloom.interp.engines.fast.parallel.store import CoreStore, narrow_words
from tagloom.interp.engines.limits import Limits
from tagloom.interp.machine.state import State

pytestmark = pytest.mark.full  # the machine of several cores takes 21 s to compile


WASTEFUL = """
func main() -> bool {
  remainder = remainder -1, 3
  loop, loop_remainder = while_loop 0, remainder {
    while(v0: int64, remainder: int64) {
      less = less v0, remainder
      yield less
    }
    do(v0: int64, remainder: int64) {
      f = call f 5
      logical_and = logical_and false, false
      add = add v0, 1
      yield add, remainder
    }
  }
  return false
}

func f(fuel: int64) -> int64 {
  less_equal = less_equal fuel, 0
  cond = cond less_equal, fuel {
    then(fuel: int64) {
      bitwise_right_shift = bitwise_right_shift 0, 1
      yield 2
    }
    else(fuel: int64) {
      subtract = subtract fuel, 1
      f = call f subtract
      subtract_1 = subtract fuel, 1
      f_1 = call f subtract_1
      remainder = remainder 0, 2
      yield 1
    }
  }
  return cond
}
"""
"""Two iterations with a tree of calls whose results nobody needs: their ends come only as closings."""
wasteful = SimpleNamespace(graph=lower(parse(WASTEFUL).program))
PROGRAMS = ((fib, 9), (tak, 5, 3, 1), (sums, 4), (twice, 6), (relayed, 6), (fragile, 6), (careless, 5), (wasteful,))
SCALAR_CASES = cases().filter(lambda case: supports_fast_workers(lower(case.program)))
NETWORKS = ((0, 2), (9, 3), (5, 4), (2, 3), (3, 1), *((seed, 1 + seed % 4) for seed in range(10, 50)))
"""The seeds of networks, and the numbers of workers on them. The first four already catch the twins."""
MAX_ROUNDS = 20_000
"""The true workers need some hundred rounds for the programs above."""


def run_differences(networks: int) -> Iterator[str]:
    """Where compiled workers differ from the reference, on many networks; the first one is without faults."""
    for seed, workers in NETWORKS[:networks]:
        for function, *arguments in PROGRAMS:
            cluster = f"network:{seed}" if seed else "network"
            yield from fast_violations(function.graph, arguments, workers, cluster)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].graph.name)
def test_small_programs(program: tuple[Any, ...]) -> None:
    """Recursion, loops, results that several sites share, and traps: on 1 to 4 workers, which die."""
    function, *arguments = program
    for seed in range(4):
        assert list(fast_violations(function.graph, arguments, 1 + seed, f"network:{seed}")) == []


@settings(max_examples=4, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(SCALAR_CASES, st.integers(0, 10**6), st.integers(1, 4))
def test_generated_programs(case: Case, seed: int, workers: int) -> None:
    """A generated program has the reference's outcome, counts and profiles."""
    assert list(fast_violations(lower(case.program), case.arguments, workers, f"network:{seed}")) == []


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@settings(max_examples=200, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(SCALAR_CASES, st.integers(0, 10**6), st.integers(1, 4))
def test_many_generated_programs(case: Case, seed: int, workers: int) -> None:
    """Many more programs have the reference's outcome, counts and profiles."""
    assert list(fast_violations(lower(case.program), case.arguments, workers, f"network:{seed}")) == []


def test_few_messages() -> None:
    """Two workers share a recursion with less than 100 messages between them."""
    outcome = distributed_run(fib.graph, [20], 2, "network", Limits(), fast_clusters=("network",))
    assert outcome.cluster is not None
    messages = outcome.cluster.messages
    assert messages["CoreMessages"] > 0
    assert messages["CoreMessages"] + messages["ProxyRequest"] + messages["WorkRefusal"] < 100


@pytest.mark.parametrize(("limits", "limit"), [(Limits(depth=20), "depth"), (Limits(bytes=1), "bytes")])
def test_limits(limits: Limits, limit: str) -> None:
    """The limit on depth is exact, and one on bytes ends a run whose stores grow."""
    deep = distributed_run(nested.graph, [100_000], 2, "network", limits, fast_clusters=("network",))
    assert getattr(deep.error, "limit", None) == limit
    if limit == "depth":
        assert deep.stats.deepest_tag == 20
        assert distributed_run(nested.graph, [18], 2, "network", limits, fast_clusters=("network",)).error is None


@tl.function
def nested(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: 0, lambda: 1 + nested(n - 1))


def test_which_workers_are_compiled() -> None:
    """Workers in processes are compiled, unless the run needs what only the reference has; the outcome says it."""
    outcome = fib.run(25, engine="distributed", cluster="processes", workers=2)
    one = fib.run(25, engine="fast")
    assert outcome.cluster is not None and outcome.cluster.machine == "fast"
    assert (outcome.value, outcome.stats.by_node, outcome.stats.profile, outcome.stats.waiting) == (
        one.value,
        one.stats.by_node,
        one.stats.profile,
        one.stats.waiting,
    )
    exact = fib.run(5, engine="distributed", cluster="processes", workers=1, limits=Limits(firings=1000))
    assert exact.cluster is not None and exact.cluster.machine == "reference"


def test_the_machine_is_compiled_before_workers_start(monkeypatch: MonkeyPatch) -> None:
    """The driver has the machine compiled once: without code on disk, every worker would compile it."""
    tasks: list[str] = []

    def start_pool(*_: Any, **__: Any) -> None:
        raise tl.Usage(f"compiled: {tasks}")

    monkeypatch.setattr(load, "compile_and_wait", lambda task: tasks.append(str(task.name)))
    monkeypatch.setattr(engine, "start_pool", start_pool)
    with pytest.raises(tl.Usage, match=r"compiled: \['token machine of several cores'\]"):
        fib.run(5, engine="distributed", cluster="processes")


def test_a_checkpoint_of_a_long_loop_is_small() -> None:
    """The profile of a checkpoint has three bytes for each wave with few tokens; what it restores is the same."""
    state = State(through_loop.graph, [1000])
    run = ParallelRun(state, Limits(), 1)
    while run.end_reason is None:
        run.run_bursts(run.stores[0], 1)
    contents, profile = run.stores[0].contents(), run.stores[0].profile
    restored = ParallelRun(state, Limits(), 1).stores[0]
    restored.restore(contents)
    assert contents["profile"].nbytes <= 3 * len(contents["profile"]) > 9000
    assert (restored.profile[: len(profile)] == profile[: len(restored.profile)]).all()
    wide = np.array([[1, -(2**31), 2**62]])
    for words in (wide, wide[:, :2], wide[:, :1] * 127, wide[:, :1] * 128, wide[:0]):
        assert (narrow_words(words).astype(np.int64) == words).all()


@tl.function
def through_loop(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * 3 + i), 0, 0)[1]


def forgets_unread_messages(patch: MonkeyPatch) -> None:
    """A checkpoint lacks the messages that the core has not read."""
    true = fast_worker.store_to_data
    patch.setattr(fast_worker, "store_to_data", lambda store, traps, unread: true(store, traps, ()))


def forgets_traps(patch: MonkeyPatch) -> None:
    """A checkpoint lacks the traps."""
    true = fast_worker.store_to_data
    patch.setattr(fast_worker, "store_to_data", lambda store, traps, unread: true(store, (), unread))


def forgets_waves(patch: MonkeyPatch) -> None:
    """A restored store counts operands that wait as if the environment had sent them."""
    true = CoreStore.restore

    def restore(self: CoreStore, contents: Any) -> None:
        true(self, {**contents, "token_waves": 0 * contents["token_waves"]})

    patch.setattr(CoreStore, "restore", restore)


def withdraws_standing_requests(patch: MonkeyPatch) -> None:
    """A worker may withdraw, and use again, a proxy for which another worker keeps a request."""
    true = FastWorker._ask_for_work

    def ask_for_work(self: FastWorker) -> None:
        proxy = self._request(self.rank)
        true(self)
        self._write_request(self.rank, proxy)

    patch.setattr(FastWorker, "_ask_for_work", ask_for_work)


def asks_again_after_a_rollback(patch: MonkeyPatch) -> None:
    """A worker that is rolled back repeats a request, although the message that meets it is already there."""
    patch.setattr(fast_worker, "opening_rows", lambda rows: rows[:0])


def loses_messages_that_do_not_fit(patch: MonkeyPatch) -> None:
    """A worker takes no message for which its rings have no room at once."""
    true = fast_worker.fill_ring
    patch.setattr(
        fast_worker, "fill_ring", lambda words, *ranks: true(words, *ranks[:2], ranks[2][:1]) and len(ranks[2])
    )


TWINS: tuple[Break, ...] = (
    forgets_unread_messages,
    forgets_traps,
    forgets_waves,
    withdraws_standing_requests,
    asks_again_after_a_rollback,
    loses_messages_that_do_not_fit,
    saves_without_draining,
)


@pytest.mark.parametrize("how", TWINS, ids=lambda how: how.__name__)
def test_the_law_catches_broken_workers(how: Break) -> None:
    """All workers that differ in one rule break the law."""
    with broken(how):
        difference = first_difference(12)
    assert difference is not None
    print(difference[:200])


def test_true_workers_keep_the_law() -> None:
    """The true workers break no law on the programs that catch the twins."""
    assert first_difference(3) is None


def first_difference(networks: int) -> str | None:
    """The first violation, or the error of a run that fails; a run that has not ended after MAX_ROUNDS fails, too."""
    true = NetworkPool.advance

    def advance(self: NetworkPool) -> list[int]:
        assert self.clock() < MAX_ROUNDS, "the run does not end"
        return true(self)

    with MonkeyPatch.context() as patch:
        patch.setattr(NetworkPool, "advance", advance)
        try:
            return next(run_differences(networks), None)
        except (AssertionError, LookupError, TypeError, ValueError, TagloomError) as error:
            return repr(error)
