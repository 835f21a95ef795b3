"""Why a node has not fired: claims are true at every later moment; and their text."""

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
from support.laws.query_laws import (
    new_run,
    quiescence_violations,
    readiness_violations,
    reason_violations,
    run_and_index,
)
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


def answer_lines(graph: Graph, argument: int, steps: int = 10_000, **options: object) -> list[str]:
    """The lines of the answer why the first result has not come, after this many steps."""
    state, index = run_and_index(graph, [argument], "fifo", steps)
    return str(why_not(index, state, graph.results[0], ROOT, **options)).splitlines()  # type: ignore[arg-type]


def without_locations(lines: list[str]) -> list[str]:
    """The lines without the source locations of nodes."""
    return [re.sub(r" \(\w+\.py:\d+\)", "", line) for line in lines]


@settings(max_examples=12)
@given(st.one_of(cases(), act_cases()), st.integers(0, 2**20))
def test_answers_hold_at_any_moment(case: Case, seed: int) -> None:
    """What an answer claims about the store, the flight and the events is true. What it says will never fire never
    does; what it says may fire does not while the tokens that it names are withheld."""
    dice = random.Random(seed)
    for steps in (dice.randrange(1, 20), dice.randrange(20, 400), 2_000):
        state, index = run_and_index(lower(case.program), case.arguments, f"random:{dice.randrange(99)}", steps)
        assert list(readiness_violations(state)) == []
        assert list(quiescence_violations(state, index)) == []
        assert list(reason_violations(state, index, dice)) == []


@pytest.mark.inner(first=10)
@pytest.mark.parametrize("graph", DEADLOCKS, ids=lambda graph: graph.name)
def test_answers_hold_for_invalid_graphs(graph: Graph) -> None:
    """Answers about graphs that deadlock are true after each of their steps."""
    dice = random.Random(1)
    for steps in range(1, run_and_index(graph, [2])[0].steps + 1):
        state, index = run_and_index(graph, [2], "lifo", steps)
        assert list(readiness_violations(state)) == []
        assert list(quiescence_violations(state, index)) == []
        assert list(reason_violations(state, index, dice)) == []


def test_a_switch_went_the_other_way() -> None:
    """For a sum that needs both sides of a switch, the answer names the predicate and its origin."""
    assert answer_lines(stuck(), 1) == [
        "S2: node stuck.return has not fired under main",
        "  required: a token on port 0",
        "  got: none",
        "  port 0 of stuck.return under main: waits for stuck.sum under main",
        "  port 1 of stuck.sum under main: it went to the other output at stuck.switch under main at event 2: "
        "switch 1, true -> 1; true came from stuck.less at event 0",
        "  hint: it never will",
    ]


def test_the_waiting_token_is_named() -> None:
    """The answer names the token that waits and its sender."""
    state, index = run_and_index(stuck(), [1])
    (number,) = stuck().find("sum")
    reply = str(why_not(index, state, number, ROOT)).splitlines()
    assert reply[1:3] == ["  required: tokens on the ports 0, 1", "  got: 1 on port 0 from stuck.switch at event 2"]


def test_a_token_in_flight() -> None:
    """In the middle of a run, the answer lists the tokens that must be delivered first, with the whole path to the
    first of them."""
    assert answer_lines(stuck(), 1, 1) == [
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
    """If a token was still in flight, the answer says what ended the run."""
    stopped = run_graph(down.graph, [5], limits=tl.Limits(firings=9)).error
    assert answer_lines(down.graph, 5, 9, stop_error=stopped)[-1] == (
        "  hint: it might have, but the run exceeds the limit of 9 on firings"
    )


@pytest.mark.full
def test_a_trap_upstream() -> None:
    """The path to a trap thousands of calls deep leaves out its middle, and branches that were not taken are no
    roots."""
    reply = answer_lines(down.graph, 3_000, 100_000)
    assert len(reply) == 14
    assert reply[7] == "  ... 8,993 more ..."
    assert reply[-2].endswith("floor_divide 1, 0 traps: integer division by zero")
    assert reply[-1] == "  hint: it never will"


def test_a_trap_in_a_loop_that_went_on() -> None:
    """If a loop ended without one of its variables, the first root is the trap, in its iteration."""
    state, index = run_and_index(ratios.graph, [4])
    answer = why_not(index, state, ratios.graph.results[0], ROOT)
    assert "under main/loop[1] at event" in answer.root_causes[0].reason.describe(ratios.graph)
    assert answer.verdict == "never"


def test_quiescence_follows_from_the_events() -> None:
    """This holds at every moment of a recursive function, all of whose nodes receive tokens."""
    state, index = new_run(down.graph, [2])
    while state.flight:
        assert list(quiescence_violations(state, index)) == []
        event = step(state, 0)
        state.apply(event)
        index.add(event)
    assert list(quiescence_violations(state, index)) == []


def test_nodes_that_wait_for_each_other() -> None:
    """A cycle is reported as one."""
    (pair,) = (graph for graph in DEADLOCKS if graph.name == "pair")
    assert answer_lines(pair, 1)[3:] == [
        "  port 0 of pair.return under main: waits for pair.b under main",
        "  port 0 of pair.b under main: waits for pair.a under main",
        "  port 1 of pair.a under main: waits for pair.b under main",
        "  hint: it never will: these nodes wait for each other",
    ]


def test_a_node_with_literals_only() -> None:
    """A node of an invalid graph with literals only never fires, nor do the nodes that wait for it."""
    graph = tl.parse_graph("graph bare(x: int64) -> int64 {\n  a = add 1, 2\n  b = add a, x\n  return b\n}")
    assert answer_lines(graph, 1)[3:] == [
        "  port 0 of bare.return under main: waits for bare.b under main",
        "  port 0 of bare.b under main: waits for bare.a under main",
        "  bare.a under main: nothing is connected to it",
        "  hint: it never will",
    ]
    state, index = run_and_index(graph, [1])
    assert str(why_not(index, state, 0, ROOT)).splitlines()[1:3] == ["  required: a token on a port", "  got: none"]
    assert list(reason_violations(state, index, random.Random(1))) == []


def test_an_activation_that_did_not_open() -> None:
    """A node of a call that never happened waits for the call; so does a node of a call inside it."""
    state, index = run_and_index(down.graph, [0])
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
        reply = str(answer).splitlines()
        assert (answer.activation_status, answer.verdict) == ("unopened", "never")
        assert reply[2] == "  got: no such activation: it has not opened"
        assert reply[3:5] == [
            f"  port 0 of down.less under {tag}: waits for main/down to open",
            "  main/down has not opened: waits for down.down.call_n under main",
        ]


def test_a_node_that_fired() -> None:
    """If the node has fired, its firing is the answer. An index that is behind its state is refused."""
    state, index = run_and_index(stuck(), [1])
    (number,) = stuck().find("less")
    assert str(why_not(index, state, number, ROOT)) == (
        "node stuck.less has fired: stuck.less under main at event 0: less 1, 3 -> true"
    )
    index.end_position = state.steps - 1
    with pytest.raises(tl.Usage, match="not at the same position"):
        why_not(index, state, number, ROOT)


@pytest.mark.full
def test_a_search_that_was_cut() -> None:
    """If more nodes wait than the search may follow, the answer claims only what it has seen."""
    state, index = run_and_index(down.graph, [3_000], steps=100_000)
    assert why_not(index, state, down.graph.results[0], ROOT, max_waiters=50).verdict == "unknown"
    state, index = run_and_index(down.graph, [3], steps=40)
    whole = why_not(index, state, down.graph.results[0], ROOT)
    for most in range(1, len(whole.wait_entries) + 2):
        cut = why_not(index, state, down.graph.results[0], ROOT, max_waiters=most)
        assert [waits.waiter for waits in cut.wait_entries] == [waits.waiter for waits in whole.wait_entries[:most]]
        assert cut.verdict in ("unknown", whole.verdict)
        for waits in cut.wait_entries[1:]:
            assert any(waits.waiter in need.reasons for need in cut.wait_entries[waits.required_by or 0].missing_tokens)


def test_a_get_of_a_cell_that_nothing_fills() -> None:
    """The get has all its tokens and is deferred; the answer names the cell, and says that no store is left for it."""
    reply = answer_lines(half_full.graph, 5)
    assert without_locations(reply[4:]) == [
        "  port 1 of half_full.add under main: waits for half_full.get_1 under main",
        "  port 0 of half_full.get_1 under main: the token from half_full.cells at event 2 is deferred at cell 1 of "
        "half_full.cells, made under main, which no store has filled",
        "  cell 1 of half_full.cells, made under main: there is no store that could fill it",
        "  hint: it never will",
    ]


def test_the_provenance_of_a_value_from_a_cell() -> None:
    """The value of a get comes from the store, which sent no token, and from the value that it put."""
    _, index = run_and_index(half_full.graph, [5])
    (add,) = half_full.graph.find("add")
    links = list(where_from(index, TokenKey(add, 0, ROOT), 1))
    assert [link.number < 0 or index.origin(link.number).node.op for link in links] == ["get", "cells", "store"]
    assert links[0].operands[-1] == (-1, links[2].number)


def test_could_fire_needs_the_other_operands() -> None:
    """Of two operands in flight neither fires the node; after one has come, the other does."""
    state = State(stuck(), [1])
    assert [(ready.position, str(state.graph.nodes[ready.node])) for ready in could_fire(state)] == [(0, "stuck.less")]
    state.apply(step(state, 1))
    state.apply(step(state, 0))
    assert [str(state.graph.nodes[ready.node]) for ready in could_fire(state)] == ["stuck.switch"]
