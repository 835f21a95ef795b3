"""The critical path and the time on processors depend on a run's dependences, and not on its schedule."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, assume, given, settings
from pytest import MonkeyPatch
from support.generators.generator import Case, cases
from support.laws.machine_laws import LIMITS
from support.programs.hand_written_graphs import sum_graph
from tagloom.core.graph.lower import lower
from tagloom.core.value import fingerprint
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.outcome import critical_path as critical
from tagloom.interp.outcome.critical_path import (
    CriticalFiring,
    Dependence,
    critical_path,
    dependences,
    time_by_waves,
    time_on,
    times_on,
)
from tagloom.interp.outcome.outcome import Outcome

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
SCHEDULES = ("waves", "lifo", "random:1", "random:2")
INT = tl.Type(tl.int64)


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


def without_events(path: tuple[CriticalFiring, ...]) -> list[Any]:
    """A path without the numbers of its events, which depend on the schedule."""
    return [(f.node, f.tag, *map(fingerprint, f.inputs), *((o, fingerprint(v)) for o, v in f.outputs)) for f in path]


def runs(case: Case) -> list[Outcome]:
    """The runs of a case under several schedules, or none if a limit ends them, since such runs differ."""
    graph = lower(case.program)
    results = [run_graph(graph, case.arguments, limits=LIMITS, keep="events", schedule=name) for name in SCHEDULES]
    return results if results[0].status != "Exhausted" else []


def faults(made: list[Outcome]) -> set[str]:
    """The promises about depth and path that these runs of one program break; the first run is under `waves`."""
    results, waves = set(), made[0].stats
    for out in made:
        depths = dependences(out.graph, out.events)
        if Counter(each.depth for each in depths.values()) != dict(enumerate(waves.profile or (), 1)):
            results.add("the firings of a depth are those of the wave")
        path = out.critical_path()
        if len(path) != waves.span:
            results.add("the path is as long as the span")
        if any(one.event not in depths[other.event].producers for one, other in pairwise(path)):
            results.add("each firing has an operand that the one before made")
        if without_events(path) != without_events(made[0].critical_path()):
            results.add("the path is the same under every schedule")
    return results


def time_faults(out: Outcome, processors: int) -> set[str]:
    """The promises about time that this run breaks on this many processors."""
    results, depths = set(), dependences(out.graph, out.events)
    times = times_on(out.graph, out.events, processors)
    load, total, span = Counter(times.values()), len(depths), max((each.depth for each in depths.values()), default=0)
    time = time_on(out.graph, out.events, processors)
    profile = [Counter(each.depth for each in depths.values())[depth] for depth in range(1, span + 1)]
    if max(load.values(), default=0) > processors or times.keys() != depths.keys():
        results.add("at most p firings a unit, and every firing once")
    if any(times[maker] >= times[each] for each in times for maker in depths[each].producers):
        results.add("a firing comes after its makers")
    ready = {each: 1 + max((times[maker] for maker in depths[each].producers), default=0) for each in times}
    if any(load[t] < processors for each in times for t in range(ready[each], times[each])):
        results.add("no processor idles while a firing could happen")
    if not max(span, math.ceil(total / processors)) <= time <= time_by_waves(profile, processors):
        results.add("lower bound and the time by waves")
    if time_by_waves(profile, processors) > total / processors + span:
        results.add("Brent's bound")
    return results


@settings(max_examples=15, deadline=None, suppress_health_check=_SLOW)
@given(cases())
def test_the_path_is_the_longest_and_the_same_under_every_schedule(case: Case) -> None:
    """The depths of firings are the waves, whatever the schedule. The critical path has as many firings
    as the span has waves, each fed by the one before, and is the same under every schedule but for the numbers of its
    events."""
    result = runs(case)
    assume(result)
    assert faults(result) == set()


@settings(max_examples=15, deadline=None, suppress_health_check=_SLOW)
@given(cases())
def test_time_on_processors(case: Case) -> None:
    """The time on one processor is the work, on any number the span. Every T_p between keeps both bounds, comes from a
    greedy schedule, and does not depend on the run's own schedule."""
    result = runs(case)
    assume(result)
    for out in result[:2]:
        assert (out.time_on(1), out.time_on(math.inf)) == (out.firings, len(out.critical_path()))
        for processors in (2, 3, 7):
            assert time_faults(out, processors) == set()
    assert len({tuple(out.time_on(p) for p in (2, 7)) for out in result}) <= 1


def test_the_path_of_a_small_graph() -> None:
    """(x + y) + y and its return: three firings, of which no two can happen at once."""
    out = tl.run_graph(sum_graph(), [3, 4], schedule="lifo", keep="events")
    path = out.critical_path()
    assert [str(out.graph.nodes[firing.node]) for firing in path] == ["sum.inner", "sum.outer", "sum.return"]
    assert [(firing.inputs, firing.outputs) for firing in path[:2]] == [((3, 4), ((0, 7),)), ((7, 4), ((0, 11),))]
    assert [out.events[firing.event].token.node for firing in path] == [firing.node for firing in path]
    assert [out.time_on(p) for p in (1, 2, math.inf)] == [3, 3, 3]


def test_program_order_decides_between_equal_paths() -> None:
    """Of two chains of equal length, the one that ends first in program order is chosen; backwards likewise."""
    builder = tl.GraphBuilder("two")
    x = builder.argument("x", INT)
    left, right = (builder.node("add", name, [x, 1], [INT])[0] for name in ("left", "right"))
    (both,) = builder.node("add", "both", [right, left], [INT])
    (same,) = builder.node("add", "same", [right, left], [INT])
    graph = builder.build([both, same])
    for schedule in SCHEDULES:
        path = tl.run_graph(graph, [1], schedule=schedule, keep="events").critical_path()
        assert [graph.nodes[firing.node].name for firing in path] == ["left", "both", "return"]


@pytest.mark.inner(first=8)
@pytest.mark.parametrize("numbers", [1, 2, 3, 4, 5, 8, 9, 31, 32, 33, 100])
def test_a_sum_by_halves_follows_the_formula(numbers: int) -> None:
    """The span of a sum of k numbers by halves is 6 + 10 ceil(log2 k), and the work is 23 k - 15.

    In the lowered body of `range_sum`, the entry merges of a and b fire in wave 1 of an activation, counted from the
    arrival of the later of them. Then come the size, its test, and both switches (2, 3, 4). The merge of the branches
    returns a leaf's value in 5. An inner activation continues with both = a + b, its half, and the call that sends the
    middle (5, 6, 7), so its children begin after 7: b of the lower half and a of the upper half come last. A child's
    return and the sum and the merge here take 3 more. So D(1) = 5 and D(k) = 10 + D(ceil(k/2)), since the larger half
    is the deeper one: D(k) = 5 + 10 ceil(log2 k). The return to the environment is one more.

    A leaf has 2 merges, 2 ops, 2 switches and 1 merge: 7 firings. Each of the k - 1 inner activations has those, and 2
    ops, 4 calls, 2 returns and the sum: 16. With the return of the first, 7 k + 16 (k - 1) + 1 = 23 k - 15."""
    text = (Path(__file__).parents[2] / "corpus" / "range_sum.tl").read_text()
    graph = tl.lower(tl.parse_program(text.partition("case ")[0]))
    out = tl.run_graph(graph, [0, numbers], keep="events")
    span, work = 6 + 10 * (numbers - 1).bit_length(), 23 * numbers - 15
    assert (out.stats.span, out.firings) == (span, work)
    path = out.critical_path()
    assert (len(path), max(firing.tag.depth for firing in path)) == (span, (numbers - 1).bit_length())
    assert out.time_on(4 * numbers) == span


def anomaly() -> tl.Graph:
    """Twelve firings for which five processors need more time than four. The list gives the firings that each depends
    on, in program order."""
    makers: list[tuple[int, ...]] = [(), (), (), (), (), (4,), (4,), (1, 3), (0,), (4,), (2,), (10,)]
    builder = tl.GraphBuilder("anomaly")
    x = builder.argument("x", INT)
    nodes: list[Any] = []
    for number, above in enumerate(makers):
        inputs = [nodes[maker] for maker in above] or [x]
        nodes += builder.node("add", f"n{number}", (inputs * 2 if len(inputs) == 1 else inputs), [INT])
    return builder.build()


CELLS = """func main(n: int64, x: int64) -> int64 {
  c = cells 2, element=int64
  y = multiply x, x
  p = put c, 0, y
  q = put p, 1, n
  a = get q, 0
  all = collect q
  b = get q, 1
  s = add a, b
  t = multiply s, all
  return s
}
"""


def test_reading_a_cell_depends_on_filling_it() -> None:
    """A get depends on the put of its cell; whether it was deferred is up to the schedule. If a cell is read in the
    wave that fills it, there are fewer waves than firings in the chain, and never more."""
    graph = tl.lower(tl.parse_program(CELLS))
    runs = [run_graph(graph, [1, 2], schedule=name, keep="events") for name in ("waves", "fifo", "lifo", "random:4")]
    assert len({str(without_events(run.critical_path())) for run in runs}) == 1
    assert len({tuple(run.time_on(p) for p in (1, 2, 3, math.inf)) for run in runs}) == 1
    for run in runs:
        at = {graph.nodes[run.events[number].token.node].name: number for number in dependences(graph, run.events)}
        for reader, stores in (("a", {"p"}), ("b", {"q"}), ("all", {"p", "q"})):
            makers = dependences(graph, run.events)[at[reader]].producers
            assert {at[store] for store in stores} <= set(makers)
        assert time_faults(run, 2) == set()
    assert 0 < (runs[0].stats.span or 0) <= len(runs[0].critical_path())


def test_more_processors_may_take_longer() -> None:
    """Graham's anomaly: one more processor takes one more unit of time. Every list schedule has such cases; of 200,000
    random graphs with 4 to 14 firings, 7 had one."""
    out = run_graph(anomaly(), [1], keep="events", unchecked=True)
    assert [time_on(out.graph, out.events, p) for p in (1, 2, 3, 4, 5, 12)] == [12, 7, 5, 3, 4, 3]


def test_wrong_numbers_of_processors_are_refused() -> None:
    """Fractions of a processor, and no processors, are refused; so is a run that kept no events."""
    out = fib.run(3, keep="events")
    wrong: list[Any] = [0, -1, 1.5, math.nan, "2"]
    for processors in wrong:
        with pytest.raises(tl.Usage, match="processors must be positive"):
            out.time_on(processors)
    for measure in (lambda: fib.run(3).time_on(2), fib.run(3).critical_path):
        with pytest.raises(tl.Usage, match="this run kept no events"):
            measure()


def test_a_run_without_a_firing() -> None:
    """A run without firings has an empty path and takes no time."""
    out = fib.run(3, keep="events", limits=tl.Limits(firings=0))
    assert (out.critical_path(), out.time_on(2)) == ((), 0)


@pytest.mark.full
def test_a_path_of_a_deep_recursion() -> None:
    """The path through four thousand nested calls is found without Python's stack."""

    @tl.function
    def down(n: tl.int64) -> tl.int64:
        return tl.cond(n <= 0, lambda: n, lambda: down(n - 1))

    out = down.run(4_000, keep="events")
    path = out.critical_path()
    assert len(path) == out.stats.span == out.time_on(math.inf)
    assert max(firing.tag.depth for firing in path) == 4_000


@pytest.mark.full
def test_broken_measures_are_caught(monkeypatch: MonkeyPatch) -> None:
    """Each twin breaks a law on fib: a firing that depends on its last token only; equal paths distinguished by the
    order of events; room for one more firing in each unit of time; processors that idle although a firing is ready."""
    results = [fib.run(6, keep="events", schedule=name) for name in SCHEDULES]
    assert faults(results) == set() and time_faults(results[0], 3) == set()
    true_dependences, true_room = critical.dependences, critical.first_free_time

    def last_only(graph: Any, events: Any) -> Any:
        result: dict[int, Dependence] = {}
        for number, each in true_dependences(graph, events).items():
            makers = each.producers[-1:]
            result[number] = Dependence(1 + max((result[maker].depth for maker in makers), default=0), makers)
        return result

    twins: list[tuple[str, Any]] = [
        ("dependences", last_only),
        ("program_ranks", lambda graph, events, firings: {number: number for number in firings}),
        ("first_free_time", lambda later, time: time),
        ("first_free_time", lambda later, time: true_room(later, time) + 1),
    ]
    for name, twin in twins:
        with monkeypatch.context() as patch:
            patch.setattr(critical, name, twin)
            assert faults(results) | time_faults(results[0], 3), name


def test_the_measures_need_only_a_graph_and_events() -> None:
    """The functions take a graph and events, wherever these come from."""
    out = fib.run(5, keep="events")
    assert critical_path(out.graph, out.events) == out.critical_path()
    assert time_on(out.graph, list(out.events), 2) == out.time_on(2)
