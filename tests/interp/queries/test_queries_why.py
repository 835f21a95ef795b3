"""Why a node has not fired: the claims are true and stay true; and their text."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.laws.query_laws import begun, quietness, ran, readiness, reasons
from support.programs.hand_written_graphs import stuck
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.tag import ROOT, Site
from tagloom.core.text import parse
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.queries.answers import TokenKey
from tagloom.interp.queries.ask import where_from
from tagloom.interp.queries.why_not import could_fire, why_not

CORPUS = Path(__file__).parents[2] / "corpus"
DEADLOCKS = [
    graph for path in sorted(CORPUS.glob("deadlock_*.tl")) for graph in parse(path.read_text(encoding="utf-8")).graphs
]


@tl.function
def down(n: tl.int64) -> tl.int64:
    return tl.cond(n < 1, lambda: 1 // n, lambda: 1 + down(n - 1))


@tl.function
def ratios(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + 6 // (i - 1)), 0, 0)[1]


@tl.function
def half_full(n: tl.int64) -> tl.int64:
    filled = tl.put(tl.cells(2, tl.int64), 0, n)
    return tl.get(filled, 0) + tl.get(filled, 1)


def asked(graph: Graph, argument: int, steps: int = 10_000, **options: object) -> list[str]:
    """Why the first result has not come, after some steps, in words."""
    state, index = ran(graph, [argument], "fifo", steps)
    return str(why_not(index, state, graph.results[0], ROOT, **options)).splitlines()  # type: ignore[arg-type]


def unplaced(lines: list[str]) -> list[str]:
    """The lines without the source locations of nodes."""
    return [re.sub(r" \(\w+\.py:\d+\)", "", line) for line in lines]


@settings(max_examples=12)
@given(st.one_of(cases(), act_cases()), st.integers(0, 2**20))
def test_answers_hold_at_any_moment(case: Case, seed: int) -> None:
    """What an answer says of the store, the flight and the events is so; what it says will never fire never does; and
    what may fire does not while the tokens are withheld that it says have to come first."""
    dice = random.Random(seed)
    for steps in (dice.randrange(1, 20), dice.randrange(20, 400), 2_000):
        state, index = ran(lower(case.program), case.arguments, f"random:{dice.randrange(99)}", steps)
        assert list(readiness(state)) == []
        assert list(quietness(state, index)) == []
        assert list(reasons(state, index, dice)) == []


@pytest.mark.parametrize("graph", DEADLOCKS, ids=lambda graph: graph.name)
def test_answers_hold_where_graphs_break_the_rules(graph: Graph) -> None:
    """The same of graphs that deadlock, after each of their steps."""
    dice = random.Random(1)
    for steps in range(1, ran(graph, [2])[0].steps + 1):
        state, index = ran(graph, [2], "lifo", steps)
        assert list(readiness(state)) == []
        assert list(quietness(state, index)) == []
        assert list(reasons(state, index, dice)) == []


def test_a_switch_went_the_other_way() -> None:
    """A sum that needs both sides of a switch: the predicate is named, and where it came from."""
    assert asked(stuck(), 1) == [
        "S2: node stuck.return has not fired under main",
        "  required: a token on port 0",
        "  got: none",
        "  port 0 of stuck.return under main: waits for stuck.sum under main",
        "  port 1 of stuck.sum under main: it took the other way at stuck.switch under main at event 2: "
        "switch 1, true -> 1; true came from stuck.less at event 0",
        "  hint: it never will",
    ]


def test_what_is_held_is_said() -> None:
    """The answer names the token that waits and its sender."""
    state, index = ran(stuck(), [1])
    (number,) = stuck().find("sum")
    said = str(why_not(index, state, number, ROOT)).splitlines()
    assert said[1:3] == ["  required: tokens on the ports 0, 1", "  got: 1 on port 0 from stuck.switch at event 2"]


def test_a_token_in_flight() -> None:
    """In the middle of a run, the tokens that have to be delivered first; the way to the first of them in full."""
    assert asked(stuck(), 1, 1) == [
        "S2: node stuck.return has not fired under main",
        "  required: a token on port 0",
        "  got: none",
        "  port 0 of stuck.return under main: waits for stuck.sum under main",
        "  port 0 of stuck.sum under main: waits for stuck.switch under main",
        "  port 0 of stuck.switch under main: the token from argument x is in flight, at position 0",
        "  also port 1 of stuck.switch under main: the token from stuck.less at event 0 is in flight, at position 1",
        "  hint: it may still fire",
    ]


def test_a_run_that_a_limit_ended() -> None:
    """What ended the run is said, where a token was still in flight."""
    stopped = run_graph(down.graph, [5], limits=tl.Limits(firings=9)).error
    assert asked(down.graph, 5, 9, stop_error=stopped)[-1] == (
        "  hint: it might have, but the run exceeds the limit of 9 on firings"
    )


@pytest.mark.full
def test_a_trap_upstream() -> None:
    """A trap thousands of calls deep: the way there is cut in its middle, and the branches not taken are no reason."""
    said = asked(down.graph, 3_000, 100_000)
    assert len(said) == 14
    assert said[7] == "  ... 8,993 more ..."
    assert said[-2].endswith("floor_divide 1, 0 traps: integer division by zero")
    assert said[-1] == "  hint: it never will"


def test_a_trap_in_a_loop_that_went_on() -> None:
    """The loop ended, and one variable of it was lost on the way: the first root is the trap, in its iteration."""
    state, index = ran(ratios.graph, [4])
    answer = why_not(index, state, ratios.graph.results[0], ROOT)
    assert "under main/loop[1] at event" in answer.root_causes[0].reason.describe(ratios.graph)
    assert answer.verdict == "never"


def test_quiet_is_told_from_the_events() -> None:
    """At every moment of a function that calls itself, so that all its nodes are sent to."""
    state, index = begun(down.graph, [2])
    while state.flight:
        assert list(quietness(state, index)) == []
        event = step(state, 0)
        state.apply(event)
        index.add(event)
    assert list(quietness(state, index)) == []


def test_nodes_that_wait_for_each_other() -> None:
    """A circle is told as one."""
    (pair,) = (graph for graph in DEADLOCKS if graph.name == "pair")
    assert asked(pair, 1)[3:] == [
        "  port 0 of pair.return under main: waits for pair.b under main",
        "  port 0 of pair.b under main: waits for pair.a under main",
        "  port 1 of pair.a under main: waits for pair.b under main",
        "  hint: it never will: these nodes wait for each other",
    ]


def test_a_node_without_ports() -> None:
    """Where a graph breaks the rules, a node may have literals only: it never fires, nor what waits for it."""
    graph = tl.parse_graph("graph bare(x: int64) -> int64 {\n  a = add 1, 2\n  b = add a, x\n  return b\n}")
    assert asked(graph, 1)[3:] == [
        "  port 0 of bare.return under main: waits for bare.b under main",
        "  port 0 of bare.b under main: waits for bare.a under main",
        "  bare.a under main: nothing is connected to it",
        "  hint: it never will",
    ]
    state, index = ran(graph, [1])
    assert str(why_not(index, state, 0, ROOT)).splitlines()[1:3] == ["  required: a token on a port", "  got: none"]
    assert list(reasons(state, index, random.Random(1))) == []


def test_an_activation_that_did_not_open() -> None:
    """A node of a call that was never made waits for the call; so does one of a call inside it."""
    state, index = ran(down.graph, [0])
    site = next(node.site for node in down.graph.nodes if node.op == "call")
    assert site is not None
    (number,) = down.graph.find("less")
    unknown = ROOT.child(Site("down", "nowhere", "call"))
    assert str(why_not(index, state, number, unknown)).splitlines()[3:] == [
        f"  port 0 of down.less under {unknown}: waits for {unknown} to open",
        f"  {unknown} has not opened: no node opens it",
        "  hint: it never will",
    ]
    for tag in (ROOT.child(site), ROOT.child(site).child(site)):
        answer = why_not(index, state, number, tag)
        said = str(answer).splitlines()
        assert (answer.activation_status, answer.verdict) == ("unopened", "never")
        assert said[2] == "  got: no such activation: it has not opened"
        assert said[3:5] == [
            f"  port 0 of down.less under {tag}: waits for main/down to open",
            "  main/down has not opened: waits for down.down.call_n under main",
        ]


def test_a_node_that_fired_and_moments_that_differ() -> None:
    """A firing is the answer where there is one; an index that is behind its state is refused."""
    state, index = ran(stuck(), [1])
    (number,) = stuck().find("less")
    assert str(why_not(index, state, number, ROOT)) == (
        "node stuck.less has fired: stuck.less under main at event 0: less 1, 3 -> true"
    )
    index.end_position = state.steps - 1
    with pytest.raises(tl.Usage, match="not at the same moment"):
        why_not(index, state, number, ROOT)


def test_a_search_that_was_cut() -> None:
    """Where more nodes wait than may be followed, nothing is claimed that was not seen."""
    state, index = ran(down.graph, [3_000], steps=100_000)
    assert why_not(index, state, down.graph.results[0], ROOT, max_waiters=50).verdict == "unknown"
    state, index = ran(down.graph, [3], steps=40)
    whole = why_not(index, state, down.graph.results[0], ROOT)
    for most in range(1, len(whole.wait_entries) + 2):
        cut = why_not(index, state, down.graph.results[0], ROOT, max_waiters=most)
        assert [waits.waiter for waits in cut.wait_entries] == [waits.waiter for waits in whole.wait_entries[:most]]
        assert cut.verdict in ("unknown", whole.verdict)
        for waits in cut.wait_entries[1:]:
            assert any(waits.waiter in need.reasons for need in cut.wait_entries[waits.required_by or 0].missing_tokens)


def test_a_get_of_a_cell_that_nothing_fills() -> None:
    """All tokens of the get have come, and it is parked: the cell is named, and that no store is left for it."""
    said = asked(half_full.graph, 5)
    assert unplaced(said[4:]) == [
        "  port 1 of half_full.add under main: waits for half_full.get_1 under main",
        "  port 0 of half_full.get_1 under main: the token from half_full.cells at event 2 is parked at cell 1 of "
        "half_full.cells, made under main, which no store has filled",
        "  cell 1 of half_full.cells, made under main: there is no store that could fill it",
        "  hint: it never will",
    ]


def test_what_a_cell_gave_comes_from_the_store() -> None:
    """What is behind a value that was read from a cell: the store, which sent no token, and what it put."""
    _, index = ran(half_full.graph, [5])
    (add,) = half_full.graph.find("add")
    links = list(where_from(index, TokenKey(add, 0, ROOT), 1))
    assert [link.number < 0 or index.origin(link.number).node.op for link in links] == ["get", "cells", "store"]
    assert links[0].operands[-1] == (-1, links[2].number)


def test_could_fire_needs_no_partner_that_is_still_in_flight() -> None:
    """Of two operands in flight neither fires the node; the second does when the first has come."""
    state = State(stuck(), [1])
    assert [(ready.position, str(state.graph.nodes[ready.node])) for ready in could_fire(state)] == [(0, "stuck.less")]
    state.apply(step(state, 1))
    state.apply(step(state, 0))
    assert [str(state.graph.nodes[ready.node]) for ready in could_fire(state)] == ["stuck.switch"]
