"""Provenance and consumers of tokens: checked by brute force on generated programs, and as text on small ones."""

from __future__ import annotations

import random
from itertools import islice

import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case, cases
from support.laws.query_laws import edits_by_token, past_query_violations, provenance_violations, run_and_index
from support.programs.hand_written_graphs import sum_graph
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.tag import ROOT, Site
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history.history import History
from tagloom.interp.queries.answers import ArgumentOrigin, FiringOrigin, TokenKey
from tagloom.interp.queries.ask import tree, where_from, who_used

RESULT = TokenKey(-1, 0, ROOT)


@tl.function
def down(n: tl.int64) -> tl.int64:
    return tl.cond(n < 1, lambda: 0, lambda: 1 + down(n - 1))


@tl.function
def stored(n: tl.int64) -> tuple[tl.int64, tl.Array[tl.int64, ...]]:
    """Cells; one is read twice, and then all are."""
    two = tl.put(tl.put(tl.cells(2, tl.int64), 0, n), n - 1, n + 1)
    return tl.get(two, 0) + tl.get(two, 1) * tl.get(two, n - 2), tl.collect(two)


@settings(max_examples=12)
@given(st.one_of(cases(), act_cases()), st.integers(0, 2**20))
def test_provenance_agrees_with_the_events(case: Case, seed: int) -> None:
    """Every token's sender and user, all that it depends on, and all that depends on it agree with a replay of the
    events in another store."""
    dice = random.Random(seed)
    _, index = run_and_index(
        lower(case.program), case.arguments, f"random:{dice.randrange(99)}", dice.choice([50, 400, 900])
    )
    assert list(provenance_violations(index, dice)) == []


@settings(max_examples=12)
@given(st.one_of(cases(), act_cases()), st.integers(0, 2**20))
def test_a_history_answers_for_its_position(case: Case, seed: int) -> None:
    """A history and its forks answer for their current position as if they had just reached it."""
    history = History(lower(case.program), case.arguments, limits=Limits(firings=200), world=Witness())
    history.run()
    assert list(past_query_violations(history, random.Random(seed))) == []


LOST = tl.parse_graph(
    """graph lost(x: int64, y: int64) -> int64, int64 {
  low = less x, 99
  way = switch x, low
  sum = add way:0, way:1
  kept = merge way:0, way:1
  both = multiply sum, y
  out = subtract both, kept
  again = subtract kept, both
  return out, again
}"""
)
"""The sum needs what the other side of the switch would send."""


@pytest.mark.inner(first=7)
@pytest.mark.parametrize("graph", [LOST, down.graph, stored.graph], ids=lambda graph: graph.name)
@pytest.mark.parametrize("seed", range(4))
def test_provenance_of_a_what_if(graph: Graph, seed: int) -> None:
    """The same holds if tokens were edited, some twice, and one was injected. An edit after the moment of the query is
    not reported."""
    dice = random.Random(seed)
    history = History(graph, [2, 7][: len(graph.arguments) - graph.hidden_count], schedule="fifo", unchecked=True)
    for _ in range(5):
        history.run()
        history.jump(dice.randint(0, min(len(history), 12)))
        history = what_if(history, dice)
    for position in sorted({*(at for at, _ in history.edits), *(dice.randint(0, len(history)) for _ in range(3))}):
        history.jump(position)
        assert list(edits_by_token(history.ask.index)) == []
        assert list(provenance_violations(history.ask.index, dice)) == []


def what_if(history: History, dice: random.Random) -> History:
    """A fork with one number in flight changed, and a lost token injected."""
    if history.graph is LOST and dice.random() < 0.6 and not any(edit.is_injection for _, edit in history.edits):
        history = history.inject("sum", 1, "main", dice.randrange(9))
    numbers = [at for at, token in enumerate(history.state.flight) if type(token.value) is int]
    for at in dice.sample(numbers, min(len(numbers), dice.randint(1, 2))):
        history = history.change(at, history.state.flight[at].value + 1)
    history.run()
    return history


def test_the_provenance_of_a_sum() -> None:
    """(x + y) + y: two sums and three arguments; y is used twice and listed once."""
    _, index = run_and_index(sum_graph(), [3, 4])
    assert list(map(str, where_from(index, RESULT))) == [
        "sum.return under main at event 4: return 11 -> 11",
        "sum.outer under main at event 3: add 7, 4 -> 11",
        "sum.inner under main at event 1: add 3, 4 -> 7",
        "argument y = 4",
        "argument x = 3",
    ]
    assert [link.operands for link in where_from(index, RESULT, 2)] == [
        ((0, 3),),
        ((0, 1), (1, -2)),
        ((0, -1), (1, -2)),
        (),
    ]


def test_the_consumers_of_an_argument() -> None:
    """y goes to both sums directly, and to the result in the end."""
    _, index = run_and_index(sum_graph(), [3, 4])
    y = ArgumentOrigin(1, "y", 4)
    assert [link.number for link in who_used(index, y)] == [1, 3]
    assert [(link.depth, link.number) for link in who_used(index, y, None)] == [(1, 1), (1, 3), (2, 4)]
    inner = index.origin(1)
    assert isinstance(inner, FiringOrigin)
    assert [str(link.origin) for link in who_used(index, inner)] == ["sum.outer under main at event 3: add 7, 4 -> 11"]
    assert list(who_used(index, RESULT)) == []


def test_a_tree_prints_each_firing_once() -> None:
    """A tree prints each firing once, and nothing below the requested depth."""
    _, index = run_and_index(sum_graph(), [3, 4])
    assert tree(index, RESULT, 2).splitlines() == [
        "sum.return under main at event 4: return 11 -> 11",
        "  port 0: sum.outer under main at event 3: add 7, 4 -> 11",
        "    port 0: sum.inner under main at event 1: add 3, 4 -> 7",
        "    port 1: argument y = 4",
        "1 more level: depth 3 shows it",
    ]
    assert tree(index, RESULT, 9, max_lines=3).splitlines()[-1].startswith("... these are the first 3 lines: a smaller")
    assert tree(index, RESULT, 9, max_lines=6).splitlines()[-1] == "    port 1: argument y = 4"


def test_a_tree_ends_after_a_hundred_lines() -> None:
    """By default a tree has at most a hundred lines, and four levels below a firing."""
    _, index = run_and_index(down.graph, [50])
    (cut,) = tree(index, RESULT, 999).splitlines()[100:]
    assert cut.startswith("... these are the first 100 lines")
    assert max(line.index(line.strip()) for line in tree(index, RESULT).splitlines()) == 8


SIDE = tl.parse_graph(
    "graph side(x: int64) -> int64 {\n  way = switch x, true\n  y = merge way:0, way:1\n  return y\n}"
)
"""The first event is that of a switch."""


def test_an_unsent_token_has_no_sender() -> None:
    """A switch sends to one side only, even if it is the first node to fire; a complete token is named by its place."""
    _, index = run_and_index(SIDE, [3])
    (merge,) = SIDE.find("y")
    assert (index.sender(merge, 0, ROOT), index.sender(merge, 1, ROOT)) == (0, None)
    assert list(provenance_violations(index, random.Random(1))) == []
    (result,) = index.events[-1].sent
    assert list(where_from(index, result)) == list(where_from(index, RESULT))
    assert list(who_used(index, index.events[0].sent[0])) == list(who_used(index, TokenKey(merge, 0, ROOT)))


@pytest.mark.full
def test_a_walk_takes_time_for_the_requested_links_only() -> None:
    """Below thousands of calls, the first links come at once, and all of them without Python's stack."""
    _, index = run_and_index(down.graph, [3_000], steps=100_000)
    assert [link.depth for link in islice(where_from(index, RESULT), 3)] == [0, 1, 2]
    assert sum(1 for _ in where_from(index, RESULT)) > 15_000


def test_a_token_that_never_came_is_refused() -> None:
    """The provenance of a token that was never sent is refused."""
    _, index = run_and_index(sum_graph(), [3, 4], steps=1)
    with pytest.raises(tl.Usage, match="no token has come to result 0 under main"):
        where_from(index, RESULT)
    with pytest.raises(tl.Usage, match=r"no token has come to port 0 of sum\.outer under main"):
        tree(index, TokenKey(1, 0, ROOT))
    with pytest.raises(tl.Usage, match=r"no token has come to port 1 of sum\.inner under main/f"):
        tree(index, TokenKey(0, 1, ROOT.child(Site("sum", "f", "call"))))
