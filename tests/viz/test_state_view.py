"""A graph at a moment of a run: it has exactly the tokens of the moment, at their places."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, given, settings
from support.laws.view_laws import badges, runs, view_violations
from support.pictures.drawings import fib
from support.programs.hand_written_graphs import race
from tagloom.core.value import format_value
from tagloom.interp.history.history import History
from tagloom.interp.machine.event import Token
from tagloom.interp.outcome.outcome import describe_value
from tagloom.interp.queries.why_not import could_fire
from tagloom.viz import state_view as moment
from tagloom.viz.dot import to_dot
from tagloom.viz.graph_view import graph_view
from tagloom.viz.pictures import run_picture
from tagloom.viz.render import render
from tagloom.viz.state_view import state_view
from tagloom.viz.view import View

ALL = 10_000


def moment_violations(history: History) -> Iterator[str]:
    state, position = history.state, history.position
    last = history[position - 1] if position else None
    view = state_view(state, last, most=ALL)
    yield from view_violations(view)
    bare = graph_view(state.graph)
    if [arrow._replace(badges=()) for arrow in view.arrows] != bare.arrows or list(view.boxes) != list(bare.boxes):
        yield "the graph is not what it was"
    counts = badges(view)
    expected = Counter(
        flight=len(state.flight),
        waiting=state.waiting_count,
        deferred=state.cells.deferred_count,
        throttled=state.throttled_count,
        arrived=len(state.results),
        ready=len({ready.node for ready in could_fire(state)}),
    )
    expected["fired" if last is None or last.trap is None else "trap"] += last is not None and last.is_firing
    if counts != +expected:
        yield f"badges {counts}, but there are {+expected}"
    flying = Counter(_place(history, token) for token in state.flight)
    drawn = Counter(
        (int(arrow.head[1:]), arrow.port, badge.tooltip.split(": ")[0])
        for arrow in view.arrows
        for badge in arrow.badges
        if badge.mark == "flight"
    )
    if drawn != flying:
        yield f"in flight are {flying}, drawn are {drawn}"


def _place(history: History, token: Token) -> tuple[int, int, str]:
    return token.node, token.port, f"{describe_value(history.graph, token.value)} under {token.tag}"


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(runs())
def test_every_token_is_drawn_where_it_is(history: History) -> None:
    """Tokens in flight, waiting, deferred and throttled, results, and nodes that can fire are on the view, once each;
    the rest is the view of the graph alone."""
    assert list(moment_violations(history)) == []


def _twin_without(mark: str) -> Any:
    true = moment.placed_tokens
    return lambda state, among: (result for result in true(state, among) if result[0] != mark)


@pytest.mark.parametrize("mark", ["flight", "waiting"])
def test_missing_tokens_are_caught(monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    """A view that leaves tokens out is caught."""
    monkeypatch.setattr(moment, "placed_tokens", _twin_without(mark))
    history = fib.history(4)
    history.run()
    history.jump(20)
    assert list(moment_violations(history))


def test_fib_of_4_after_20_events() -> None:
    """The gallery's moment: the places of tokens, and the nodes that can fire."""
    history = fib.history(4)
    history.run()
    history.jump(20)
    view = state_view(history.state, history[19])
    graph = fib.graph
    texts = {
        (str(graph.nodes[int(arrow.head[1:])]), arrow.port): [(b.mark, b.text, b.detail) for b in arrow.badges]
        for arrow in view.arrows
        if arrow.badges
    }
    assert texts == {
        ("fib.cond.switch_n", 0): [("waiting", "2", "fib_1")],
        ("fib.cond.switch_n", 1): [("flight", "false", "fib_1")],
        ("fib.cond.switch_trigger", 0): [("waiting", "false", "fib_1")],
        ("fib.cond.switch_trigger", 1): [("flight", "false", "fib_1")],
        ("fib.subtract", 0): [("flight", "3", "fib")],
        ("fib.subtract_1", 0): [("flight", "3", "fib")],
    }
    text = to_dot(view)
    assert text.count("can fire next") == 1 and "waits for partners" in text


def test_tokens_of_a_race_each_have_their_arrow() -> None:
    """Each of two tokens for one port is on its own arrow."""
    history = History(race("add", 2), [1, 2, 3], unchecked=True)
    view = state_view(history.state)
    assert {arrow.tail: [badge.text for badge in arrow.badges] for arrow in view.arrows if arrow.badges} == {
        "a0": ["1"], "a1": ["2"], "a2": ["3"],
    }  # fmt: skip


@pytest.mark.full
def test_many_tokens_at_one_place_are_counted() -> None:
    """If there is no room for all tokens of a place, the others are a number with a tooltip."""
    history = fib.history(9)
    history.forward_to(lambda state, event: sum(token.node == 1 for token in state.flight) > 8)
    view = state_view(history.state, most=3)
    crowded = max(view.arrows, key=lambda arrow: sum(badge.mark == "more" for badge in arrow.badges))
    assert len(crowded.badges) == 3 and int(crowded.badges[-1].text) > 5
    assert crowded.badges[-1].tooltip.count("under main") > 5
    assert render(to_dot(view), "svg").startswith(b"<?xml")


def test_the_last_firing_stands_out() -> None:
    """The last node that fired is bold, with its result; if a token only waits, no node is."""
    history = fib.history(3)
    event = history.forward_to("node == 'add' and fired")
    assert event is not None
    view = run_picture(history, "moment")
    strong = [box for box in view.boxes.values() if box.emphasized]  # type: ignore[union-attr]
    assert [(box.name, box.badges[0].mark, box.badges[0].text) for box in strong] == [
        (f"n{event.token.node}", "fired", format_value(event.outputs[0][1]))
    ]
    history = fib.history(3)
    history.forward_to("not fired")
    assert not any(box.emphasized for box in run_picture(history, "moment").boxes.values())  # type: ignore[union-attr]


@tl.function
def half(n: tl.int64) -> tl.int64:
    return tl.floor_divide(n, n - n) + 1


def test_a_trap_is_marked() -> None:
    """A firing that trapped says so."""
    history = half.history(3)
    history.forward_to("trap")
    marks = {badge.mark for box in state_view(history.state, history[-1]).boxes.values() for badge in box.badges}
    assert "trap" in marks


@pytest.mark.full
def test_long_captions_are_wrapped() -> None:
    """A long caption takes several lines, and none lies below the picture's edge."""
    words = " ".join(f"word{number}" for number in range(20))
    for caption in (words, "short"):
        view = View("a", caption)
        view.root.add_box("a", "argument", "a")
        svg = render(to_dot(view), "svg").decode()
        below = (
            re.search(r"viewBox=\"0.00 0.00 [\d.]+ ([\d.]+)\"", svg),
            re.search(r"translate\([\d.]+ ([\d.]+)\)", svg),
        )
        height, moved = (float(result[1]) for result in below if result)
        lines = re.findall(r"<text[^>]* y=\"([-\d.]+)\"[^>]*>([^<]*)", svg)
        assert max(float(y) for y, _ in lines) + moved < height - 2
        assert set(caption.split()) <= set(" ".join(text for _, text in lines).split())
