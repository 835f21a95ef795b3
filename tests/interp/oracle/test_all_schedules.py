"""All schedules of small runs: their number agrees with two other counts, and valid graphs have one ending."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, assume, given, settings
from pytest import MonkeyPatch
from support.observe.event_text import event_lines
from support.programs.hand_written_graphs import counting_loop, race, stuck, sum_graph, untyped
from support.programs.small import hoarding, small_runs
from tagloom.core.graph.graph import Graph
from tagloom.core.tag import Tag
from tagloom.core.value import fingerprint
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.oracle import all_schedules as module
from tagloom.interp.oracle.all_schedules import Exploration, every_firing, explore, firing_key, state_key

_SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
INT = tl.Type(tl.int64)
MOST = 3_000
Above = dict[int, set[int]]
"""What must come before what."""


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


def explore_few(graph: Graph, arguments: list[Any], **options: Any) -> Exploration:
    """Like `explore`, for runs with few states."""
    try:
        return explore(graph, arguments, states=MOST, **options)
    except tl.Exhausted:
        assume(False)
        raise


def extensions(above: Above) -> tuple[int, int]:
    """The number of orders that keep these precedences, and the number of sets that are prefixes of such orders."""
    bits = {event: sum(1 << earlier for earlier in events) for event, events in above.items()}
    sets, layer = 1, {0: 1}
    for _ in above:
        following: defaultdict[int, int] = defaultdict(int)
        for come, count in layer.items():
            for event, needed in bits.items():
                if not come >> event & 1 and needed & ~come == 0:
                    following[come | 1 << event] += count
        layer = following
        sets += len(layer)
    return sum(layer.values()), sets


def precedences(events: tuple[Event, ...]) -> tuple[Above, Above]:
    """The precedences of one run: a token is delivered after all operands of the firing that sent it, and a firing
    happens after those that sent its operands."""
    sender: dict[Any, int] = {}
    operands: defaultdict[Any, list[int]] = defaultdict(list)
    tokens: Above = {}
    firings: Above = {}
    sent_by: dict[int, set[int]] = {}
    for number, event in enumerate(events):
        node, port, tag, _ = event.token
        maker = sender.get((node, port, tag))
        sent_by[number] = set() if maker is None else {maker}
        tokens[number] = set() if maker is None else set(operands[events[maker].token[0], events[maker].token[2]])
        operands[node, tag].append(number)
        if event.is_firing:
            firings[number] = set().union(*(sent_by[operand] for operand in operands[node, tag]))
            sender.update(((token.node, token.port, token.tag), number) for token in event.sent)
    return tokens, firings


def brute_force(graph: Graph, arguments: list[Any]) -> Counter[Any]:
    """How many schedules have each ending: each schedule is run from the beginning, without memoization."""
    ended: Counter[Any] = Counter()
    ahead: list[tuple[int, ...]] = [()]
    while ahead:
        script = ahead.pop()
        state, events, broken = State(graph, arguments), list[Event](), False
        for position in script:
            try:
                events.append(module.step(state, position))
            except tl.Broken:
                broken = True
                break
            state.apply(events[-1])
        if broken or not state.flight:
            fired = Counter(firing_key(event) for event in events if event.is_firing)
            results = frozenset((position, fingerprint(value)) for position, value in state.results.items())
            ended[broken, results, frozenset(fired.items())] += 1
        else:
            ahead += [(*script, position) for position in range(len(state.flight))]
    return ended


def faults(graph: Graph, arguments: list[Any]) -> set[str]:
    """The promises of `explore` that this run of a valid graph breaks."""
    result, run = explore_few(graph, arguments), tl.run_graph(graph, arguments, keep="events")
    tokens, firings = precedences(run.events)
    wrong = set()
    if len(result.endings) != 1 or result.endings[0].outcome.results != run.results:
        wrong.add("one ending")
    if result.schedules != extensions(tokens)[0] or result.endings[0].schedules != result.schedules:
        wrong.add("a schedule is an order of deliveries")
    if result.states != extensions(tokens)[1]:
        wrong.add("a state is a set of deliveries")
    if explore_few(graph, arguments, choices=every_firing).schedules != extensions(firings)[0]:
        wrong.add("without waiting, a schedule is an order of firings")
    return wrong


@settings(max_examples=40, deadline=None, suppress_health_check=_SLOW)
@given(small_runs())
def test_every_schedule_of_a_small_run_has_one_ending(run: tuple[Graph, list[Any]]) -> None:
    """Determinacy, tested completely: for runs of up to 12 firings, all schedules end with the same status, results and
    firings. If every schedule delivers all tokens, there are as many schedules as orders in which each token comes
    after the operands of its sender, and as many states as sets of tokens that can have been delivered. If tokens that
    wait are delivered first, there are as many schedules as orders of firings, and the same ending."""
    graph, arguments = run
    assert faults(graph, arguments) == set()
    everything, fewer = explore_few(graph, arguments), explore_few(graph, arguments, choices=every_firing)
    assert fewer.states <= everything.states
    outcomes = [result.endings[0].outcome for result in (everything, fewer)]
    assert len({(out.status, out.results, frozenset(fired(out))) for out in outcomes}) == 1


def fired(out: tl.Outcome) -> Iterator[Any]:
    return (firing_key(event) for event in out.events if event.is_firing)


@settings(max_examples=25, deadline=None, suppress_health_check=_SLOW)
@given(small_runs())
def test_counts_are_those_of_brute_force(run: tuple[Graph, list[Any]]) -> None:
    """Running every schedule from its beginning gives the same counts and endings."""
    graph, arguments = run
    assume(math.prod(range(1, len(tl.run_graph(graph, arguments, keep="events").events) + 1)) <= 5_040)
    actual = explore_few(graph, arguments)
    assert Counter(brute_force(graph, arguments).values()) == Counter(ending.schedules for ending in actual.endings)


@pytest.mark.parametrize(
    ("graph", "arguments", "endings"),
    [
        (sum_graph(), [3, 4], 1),
        (stuck(), [1], 1),
        (race("merge", 1), [1, 2], 4),
        (race("merge", 1), [1, 1], 2),
        (race("add", 2), [1, 2, 3], 5),
        (untyped(), [[1, 2]], 1),
    ],
    ids=["sum", "stuck", "merge", "merge of equals", "add", "untyped"],
)
def test_endings_of_invalid_graphs(graph: Graph, arguments: list[Any], endings: int) -> None:
    """Counts are right for invalid graphs, in which a race has several endings. Each ending has a script, whose run
    ends so."""
    outcomes = explore(graph, arguments, unchecked=True)
    assert len(outcomes.endings) == endings
    assert outcomes.schedules == sum(ending.schedules for ending in outcomes.endings)
    for ending in outcomes.endings:
        again = follow(graph, arguments, ending.script, unchecked=True)
        assert (again.status, event_lines(again)) == (ending.outcome.status, event_lines(ending.outcome))
    if graph.name != "untyped":
        assert Counter(brute_force(graph, arguments).values()) == Counter(
            ending.schedules for ending in outcomes.endings
        )


def test_a_race_has_witnesses() -> None:
    """Two scripts show that the order of two arguments at a merge decides the result."""
    outcomes = explore(race("merge", 1), [1, 2], unchecked=True)
    merged = {
        follow(race("merge", 1), [1, 2], ending.script, unchecked=True).events[0].inputs for ending in outcomes.endings
    }
    assert merged == {(1,), (2,)}
    assert {ending.outcome.status for ending in outcomes.endings} == {"Broken"}


@pytest.mark.full
def test_counts_known_beforehand() -> None:
    """n independent deliveries have n! orders and 2^n states; a loop of 80 firings has 10^37 schedules."""
    builder = tl.GraphBuilder("wide")
    x = builder.argument("x", INT)
    for number in range(7):
        builder.node("negative", f"n{number}", [x], [INT])
    wide = explore(builder.build(), [1], unchecked=True)
    assert (wide.schedules, wide.states) == (math.factorial(7), 2**7)
    loop = explore(counting_loop([("count", 0)]), [9])
    assert (loop.schedules, loop.states) == (37151686882741164864368557507010887680, 841)


CELLS = """func main(n: int64) -> int64 {
  c = cells 2, element=int64
  p = put c, 0, n
  q = put p, AT, 5
  a = get q, 0
  b = get q, 1
  s = add a, b
  return s
}
"""


@pytest.mark.full
def test_cells_have_one_ending_unless_put_twice() -> None:
    """A get that comes first is deferred, and all schedules end alike. Of two puts to a cell, the first one decides the
    ending, and every ending has a trap for the other."""
    once, twice = (tl.lower(tl.parse_program(CELLS.replace("AT", at))) for at in "10")
    outcomes, fewer = explore(once, [3]), explore(once, [3], choices=every_firing)
    assert [ending.outcome.value for ending in (*outcomes.endings, *fewer.endings)] == [8, 8]
    assert fewer.states < outcomes.states and fewer.schedules < outcomes.schedules
    raced = explore(twice, [3])
    assert len(raced.endings) > 1 and all(ending.outcome.traps for ending in raced.endings)
    for ending in raced.endings:
        assert event_lines(follow(twice, [3], ending.script)) == event_lines(ending.outcome)


def test_exploring_has_no_effects(capsys: pytest.CaptureFixture[str]) -> None:
    """Exploring prints nothing. Programs that call Python functions are refused, since these would be called at every
    step."""
    printing = 'func main(n: int64) -> int64 {\n  p = print n, text="n is {}"\n  m = add n, 1\n  return m\n}\n'
    outcomes = explore(tl.lower(tl.parse_program(printing)), [3])
    assert ([ending.outcome.value for ending in outcomes.endings], capsys.readouterr().out) == ([4], "")
    calling = 'func main(n: int64) -> int64 {\n  p = callback n, function="f", returns=int64\n  return p\n}\n'
    with pytest.raises(tl.Usage, match="cannot be run under every schedule"):
        explore(tl.lower(tl.parse_program(calling)), [3])


@pytest.mark.full
def test_a_bound_on_iterations() -> None:
    """A bounded loop has fewer schedules than an unbounded one, and the same ending."""
    loop = """func main(n: int64) -> int64 {
  i, j = while_loop 0, n BOUND{
    while(i: int64, j: int64) {
      c = less i, 2
      yield c
    }
    do(i: int64, j: int64) {
      k = add i, 1
      l = multiply j, 2
      yield k, l
    }
  }
  return j
}
"""
    graphs = [tl.lower(tl.parse_program(loop.replace(" BOUND", bound))) for bound in (" ", ", parallel_iterations=1 ")]
    free, bound = (explore(graph, [3]) for graph in graphs)
    assert [ending.outcome.value for ending in (*free.endings, *bound.endings)] == [12, 12]
    assert bound.schedules < free.schedules


@pytest.mark.full
def test_runs_that_are_too_large_are_refused(monkeypatch: MonkeyPatch) -> None:
    """Both limits are exact, and the error names them; an endless run ends by one of them."""
    states = explore(sum_graph(), [3, 4]).states
    assert explore(sum_graph(), [3, 4], states=states).states == states
    with pytest.raises(tl.Exhausted) as raised:
        explore(sum_graph(), [3, 4], states=states - 1)
    assert str(raised.value).startswith("S12: the schedules of this run pass through more than 10 states\n  hint: ")

    @tl.function
    def endless(n: tl.int64) -> tl.int64:
        return endless(n)

    with pytest.raises(tl.Exhausted):
        explore(endless.graph, [1])
    monkeypatch.setattr(module, "MAX_FIRINGS", 3)
    assert explore(sum_graph(), [3, 4]).endings[0].outcome.firings == 3
    monkeypatch.setattr(module, "MAX_FIRINGS", 2)
    with pytest.raises(tl.Exhausted, match="more than 2 firings"):
        explore(sum_graph(), [3, 4])


def test_invalid_graphs_and_callbacks_are_refused() -> None:
    """Graphs that break rules, arguments of wrong types, and callbacks, which cannot be undone, are refused."""
    with pytest.raises(tl.Invalid):
        explore(stuck(), [1])
    with pytest.raises(tl.Usage):
        explore(sum_graph(), [3])
    with pytest.raises(tl.Usage, match="k must be an integer"):
        explore(sum_graph(), [3, 4], k=0)


@tl.function
def rolled(n: tl.int64) -> tl.int64:
    return tl.integers(0, 1_000_000_000) + n


@tl.function
def rows(n: tl.int64) -> tl.int64:
    """The squares take longer than the counter, and nothing waits for them."""
    return tl.while_loop(lambda i: i < n, lambda i: (i * i * i, i + 1)[1], 0)[0]


@pytest.mark.full
def test_seeds_and_bounds() -> None:
    """Every schedule draws the numbers of the seed. A bound leaves fewer schedules, with the same ending."""
    drawn = [explore(rolled.graph, [0], seed=seed).endings for seed in (1, 2)]
    assert [len(endings) for endings in drawn] == [1, 1]
    assert [endings[0].outcome.results[0] for endings in drawn] == [rolled.run(0, seed=seed).value for seed in (1, 2)]
    bounded, free = (explore(rows.graph, [2], choices=every_firing, k=k) for k in (1, None))
    assert bounded.schedules < free.schedules and len(bounded.endings) == 1


def follow(graph: Graph, arguments: list[Any], script: tuple[int, ...], *, unchecked: bool = False) -> tl.Outcome:
    """The run that takes these positions."""
    return run_graph(graph, arguments, schedule=tl.Script(script), keep="events", unchecked=unchecked)


def changes(data: Any) -> Iterator[Any]:
    """Copies of plain data, each with one part changed."""
    if isinstance(data, dict):
        yield from ({**data, key: result} for key, value in data.items() for result in changes(value))
        yield from ({kept: value for kept, value in data.items() if kept != key} for key in data)
    elif type(data) in (list, tuple):
        for place, value in enumerate(data):
            yield from (type(data)([*data[:place], result, *data[place + 1 :]]) for result in changes(value))
        yield from (data[:place] + data[place + 1 :] for place in range(len(data)) if type(data) is list)
    elif isinstance(data, frozenset):
        yield from (data - {element} for element in data)
    elif isinstance(data, Tag):
        yield data.next_iteration() if data.parent else data.child(next(iter(fib.graph.calls))[0])
    elif isinstance(data, int | bytes | str) and not isinstance(data, bool):
        yield data + (b"x" if isinstance(data, bytes) else "x" if isinstance(data, str) else 1)


def key(snapshot: Any) -> Any:
    return state_key(SimpleNamespace(snapshot=lambda: snapshot))  # type: ignore[arg-type]


@pytest.mark.full
def test_the_key_of_a_state_is_complete() -> None:
    """The key of a state depends on its whole snapshot and on nothing else: a change of any part gives another key,
    except traps, which are firings, and the clock of waves. The order of the flight does not change the key."""
    runs = [(fib.graph, [2], 40), (counting_loop([("count", 0)]), [2], 30), (sum_graph(), [3, 4], 5)]
    for graph, arguments, most in runs:
        state, pick = State(graph, arguments), schedule("random:2")
        while state.flight and state.steps < most:
            snapshot = state.snapshot()
            flight, records, results, traps, counts, *more = snapshot
            assert key((flight[::-1], records, results, traps, counts, *more)) == key(snapshot)
            for place, part in enumerate(snapshot):
                for result in changes(part) if place != 3 else ():
                    changed = (*snapshot[:place], result, *snapshot[place + 1 :])
                    same = place == 4 and result[:-1] == counts[:-1]
                    assert (key(changed) == key(snapshot)) == same, f"{part} or {result}"
            assert counts[-1] == state.wave_remaining, "what is left out is the clock"
            state.apply(step(state, pick(state)))


def sink() -> Graph:
    """A sum whose result is unused, and a node after it."""
    builder = tl.GraphBuilder("sink")
    x, y, z = (builder.argument(name, INT) for name in "xyz")
    builder.node("add", "sum", [x, y], [INT])
    return builder.build([builder.node("negative", "rest", [z], [INT])[0]])


def test_a_machine_with_a_race_is_caught(monkeypatch: MonkeyPatch) -> None:
    """A machine whose sum depends on the order of its operands has several endings, even if they differ in their
    firings only."""
    assert len(explore(fib.graph, [1]).endings) == len(explore(sink(), [1, 2, 3], unchecked=True).endings) == 1
    monkeypatch.setattr(module, "step", hoarding)
    assert {ending.outcome.value for ending in explore(sum_graph(), [3, 4]).endings} == {4, 3}
    outcomes = explore(sink(), [1, 2, 3], unchecked=True)
    assert Counter(brute_force(sink(), [1, 2, 3]).values()) == Counter(ending.schedules for ending in outcomes.endings)
    assert len(outcomes.endings) == 2


@pytest.mark.full
def test_broken_walks_are_caught(monkeypatch: MonkeyPatch) -> None:
    """Each twin breaks a law: states that are distinguished by their firings only, or by the order of the flight as
    well; firings that are forgotten; tokens that fire delivered before those that wait."""
    true_key, key_of = module.state_key, "tagloom.interp.oracle.all_schedules.state_key"
    assert faults(sum_graph(), [3, 4]) == faults(counting_loop([("count", 0)]), [1]) == set()
    twins: list[tuple[str, Any]] = [
        (key_of, lambda state: 0),
        (key_of, lambda state: (true_key(state), tuple(state.flight))),
        (key_of, lambda state: (true_key(state), state.wave_remaining)),
    ]
    for name, twin in twins:
        with monkeypatch.context() as patch:
            patch.setattr(name, twin)
            assert faults(sum_graph(), [3, 4]) | faults(counting_loop([("count", 0)]), [1]), name
    with monkeypatch.context() as patch:
        patch.setattr(module, "step", hoarding)
        patch.setattr(module._StateSearch, "search_key", lambda walk: true_key(walk.state))
        assert len(explore(sink(), [1, 2, 3], unchecked=True).endings) == 1, "what fired is needed in the key"
    with monkeypatch.context() as patch:
        patch.setattr(f"{__name__}.every_firing", lambda state: [0][: len(state.flight)])
        assert faults(counting_loop([("count", 0)]), [1])
