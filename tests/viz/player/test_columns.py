"""The data of a page describe the run: replayed from its columns, it is the machine's history."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.laws.view_laws import runs
from support.observe.moments import chain
from support.pictures.drawings import fib, nested
from tagloom.core.value import format_value
from tagloom.interp.machine.event import Token
from tagloom.interp.machine.state import State
from tagloom.interp.outcome.outcome import describe_value
from tagloom.viz.collapse import MAX_BOXES
from tagloom.viz.player.columns import MAX_VALUE_LENGTH, PlayerColumns
from tagloom.viz.player.graph_layout import plan_views
from tagloom.viz.player.page import PlayerSelection, page_of_history, script_json
from tagloom.viz.player.recording import TokenPlace, apply_moves, record_tokens, select_segment
from tagloom.viz.state_view import abbreviate_value, state_view


def form_of(history: tl.History, **choice: Any) -> Any:
    """The data of the page of a history, as the page reads them; every node is drawn unless `boxes` limits them."""
    recording = record_tokens(history.graph, history[:], history.arguments)
    boxes = choice.pop("boxes", None)
    plans = plan_views(history.graph, boxes or MAX_BOXES, full=boxes is None)
    form = PlayerColumns(select_segment(recording, **choice), plans, ()).to_json()
    return json.loads(script_json(form))


class ReplayedPage:
    """The run as a page replays it."""

    def __init__(self, form: Any) -> None:
        self.form, self.live, self.position, self.begins = form, dict[int, TokenPlace](), 0, 0
        self._move(form["initial_moves"])

    def step(self) -> None:
        size = self.form["move_counts"][self.position]
        self._move(self.form["moves"][self.begins : self.begins + size])
        self.begins, self.position = self.begins + size, self.position + 1

    def _move(self, codes: list[int]) -> None:
        apply_moves(self.live, [(code >> 3, TokenPlace(code & 7)) for code in codes])

    def tag(self, number: int) -> str:
        parent, step = self.form["tags"]["parent"][number], self.form["tags"]["step"][number]
        return step if parent < 0 else f"{self.tag(parent)}/{step}"

    def at(self, *places: TokenPlace) -> list[tuple[int, int, str, str]]:
        columns = self.form["tokens"]
        results = [number for number, place in self.live.items() if place in places]
        return [
            (
                columns["node"][n],
                columns["port"][n],
                self.tag(columns["tag"][n]),
                self.form["values"][columns["value"][n]][-1],
            )
            for n in results
        ]


def token_row(state: State, token: Token) -> tuple[int, int, str, str]:
    value = describe_value(state.graph, token.value)
    cut = value if len(value) <= MAX_VALUE_LENGTH else f"{value[: MAX_VALUE_LENGTH - 1]}\u2026"
    return token.node, token.port, "/".join(reversed([tag.last_step for tag in token.tag.self_and_ancestors()])), cut


def waiting(state: State) -> list[Token]:
    return [
        Token(node, port, tag, value)
        for tag, record in state.records.items()
        for node, held in record.waiting_operands.items()
        for port, value in held.items()
    ]


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(runs())
def test_the_page_has_the_history(history: tl.History) -> None:
    """At every step the page has the flight in order, the waiting tokens, the results, and the effect of each event."""
    page = ReplayedPage(form_of(history))
    for position in range(len(history) + 1):
        state = history.jump(position)
        flight = [token_row(state, token) for token in state.flight]
        assert page.at(TokenPlace.IN_FLIGHT, TokenPlace.READY) == flight
        assert Counter(page.at(TokenPlace.WAITING)) == Counter(token_row(state, token) for token in waiting(state))
        assert {port: value for _, port, _, value in page.at(TokenPlace.RETURNED)} == {
            result: describe_value(state.graph, value)[:MAX_VALUE_LENGTH] for result, value in state.results.items()
        }
        if position < len(history):
            page.step()
            event, columns = history[position], page.form["events"]
            assert columns["node"][position] == event.token.node
            assert (columns["kind"][position] in (1, 2)) == event.is_firing
            assert columns["wave"][position] == 1 + sum(each.ends_wave for each in history[:position])


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(runs(), st.data())
def test_a_window_is_that_part_of_the_run(history: tl.History, data: Any) -> None:
    """A window begins with the tokens at its first event, and continues like the run."""
    assume(len(history))
    first = data.draw(st.integers(0, len(history) - 1))
    page = ReplayedPage(form_of(history, first=first, most=20))
    for position in range(first, min(first + 20, len(history)) + 1):
        state = history.jump(position)
        assert page.at(TokenPlace.IN_FLIGHT, TokenPlace.READY) == [token_row(state, token) for token in state.flight]
        if position < min(first + 20, len(history)):
            page.step()


def test_the_cells_are_those_of_the_history() -> None:
    """At every step the page has the machine's cells and deferred reads."""
    history = chain.history(5)
    history.run()
    told = form_of(history)["cells"]
    assert [name for _, name, *_ in told["arrays"]] == ["chain.cells"]
    for position in range(len(history) + 1):
        blocks = history.jump(position).cells.blocks
        puts, deferred = dict[int, str](), Counter[int]()
        for at, did, _, cell, value, *_ in told["changes"]:
            if at <= position and did:
                deferred[cell] += 1
            elif at <= position:
                puts[cell], deferred[cell] = value, 0
        full = {cell for block in blocks.values() for cell in block.writes}
        readers = {cell: len(tokens) for block in blocks.values() for cell, tokens in block.deferred_reads.items()}
        assert (set(puts), +deferred) == (full, readers)


def test_an_activation_is_its_tokens() -> None:
    """The page of an activation has its tokens and those below it, the events that move them, and no others."""
    history = fib.history(6)
    history.run()
    page = ReplayedPage(form_of(history, under="main/fib/fib_1"))
    inside = "main/fib/fib_1"
    numbers = page.form["events"]["number"]
    own = [number for number, event in enumerate(history) if str(event.token.tag).startswith(inside)]
    assert set(own) <= set(numbers) and len(numbers) < len(history) / 3
    seen = False
    for place, number in enumerate(numbers):
        page.step()
        state = history.jump(number + 1)
        flight = [token_row(state, token) for token in state.flight if str(token.tag).startswith(inside)]
        assert page.at(TokenPlace.IN_FLIGHT, TokenPlace.READY) == flight
        seen = seen or bool(flight)
        assert page.position == place + 1
    assert seen


def test_every_token_has_an_arrow() -> None:
    """In a whole graph, each token moves along the arrow from its sender; in a folded graph, and however it is
    unfolded, along an arrow that leads to its box, or along none."""
    history = nested.history(3)
    history.run()
    form = form_of(history)
    assert len(form["plans"]) == 1
    view = plan_views(history.graph, MAX_BOXES, full=True).view
    for node, edge in zip(form["tokens"]["node"], form["tokens"]["edge"], strict=True):
        arrow = form["plans"][0]["edges"][edge]
        assert edge >= 0 and arrow >= 0 and view.arrows[arrow].head == (f"n{node}" if node >= 0 else "r0")
    folded, plans = form_of(history, boxes=12), plan_views(history.graph, 12).plans
    assert len(set(folded["plans"][0]["boxes"])) < len(form["nodes"])
    assert len(folded["plans"]) == len(plans) > 2
    for plan, columns in zip(plans, folded["plans"], strict=True):
        for node, edge in zip(folded["tokens"]["node"], folded["tokens"]["edge"], strict=True):
            arrow = columns["edges"][edge]
            if arrow >= 0 and node >= 0:
                assert plan.view.arrows[arrow].head == columns["boxes"][node]


@pytest.mark.full
def test_an_outcome_is_enough() -> None:
    """A page of an outcome is that of its history; the arguments follow from the events."""
    history = fib.history(4)
    history.run()
    page = page_of_history(history)
    assert fib.run(4, keep="events").player().html == page.html
    assert history.player().html == page.html
    assert fib.run(4, keep="events", engine="fast").player().html == page.html
    assert page.name == "fib(4)"


@pytest.mark.full
def test_a_page_of_a_part_says_so() -> None:
    """A page that leaves something out says what, and names the option to have more."""
    history = fib.history(5)
    history.run()
    total = len(history)
    assert history.player().note == ""
    assert history.player(most=10).note == f"10 of {total} events are shown: 0 to 9"
    assert history.player(first=20, most=10).note == f"10 of {total} events are shown: 20 to 29"
    assert (
        history.player(under="main/fib_1").note.startswith("45 of ")
        or "under main/fib_1" in history.player(under="main/fib_1").note
    )


@pytest.mark.full
def test_folded_parts_are_boxes() -> None:
    """A folded part is one box, from Python as on the command line; so is one that a limit on boxes folds."""
    history = fib.history(3)
    history.run()
    assert history.player(fold=["fib"]).html == page_of_history(history, PlayerSelection(fold=("fib",))).html
    assert (
        history.player(boxes=3).html
        == page_of_history(history, PlayerSelection(max_boxes=3)).html
        != history.player().html
    )
    with pytest.raises(tl.Usage, match="nobody"):
        history.player(fold=["nobody"])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"first": 10_000}, "the run has no event there"),
        ({"most": 0}, "a page needs at least one event"),
        ({"first": -1}, "a page needs at least one event"),
        ({"under": "main/nobody"}, "the run has no such activation"),
    ],
)
def test_unknown_parts_are_refused(choice: dict[str, Any], message: str) -> None:
    """Unknown parts are refused in words."""
    history = fib.history(3)
    history.run()
    with pytest.raises(tl.Usage, match=message):
        history.player(**choice)


def test_runs_without_a_page() -> None:
    """A run without events, or with the last ones only, an unfinished run, and a what-if have no page."""
    with pytest.raises(tl.Usage, match="kept no events"):
        fib.run(3).player()
    with pytest.raises(tl.Usage, match="did not keep all events"):
        fib.run(6, keep=10, engine="reference").player()
    with pytest.raises(tl.Usage, match="is not over"):
        fib.history(3).player()
    history = fib.history(3)
    history.run()
    history.jump(5)
    what_if = history.inject("subtract", 0, "main", 7)
    what_if.run()
    with pytest.raises(tl.Usage, match="an edited fork cannot"):
        what_if.player()


@pytest.mark.full
def test_many_arguments_are_counted() -> None:
    """Titles and activations name the first arguments and count the others; the page has all of them as tooltips."""

    @tl.function
    def total(n, weights):
        return tl.cond(n == 0, lambda: tl.sum(sum(weights, 0.0)), lambda: total(n - 1, weights))

    history = total.history(1, [np.zeros((3, 4))] * 9)
    history.run()
    tags, array = form_of(history)["tags"], "float64[3, 4]"
    assert tags["call"] == [f"total(1, {', '.join([array] * 4)}, \u2026 5 more)", "total(0, \u2026)"]
    assert tags["full_call"] == [f"total({n}, {', '.join([array] * 9)})" for n in (1, 0)]
    page = history.player()
    assert page.name == tags["call"][0]


@pytest.mark.full
def test_large_values_are_cut() -> None:
    """A page, like the tooltips of a picture, has the first elements and the last of an array of ten thousand numbers;
    the others are not even formatted, because that takes a thousand times as long."""

    @tl.function
    def twice(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None]:
        return x + x

    history = twice.history(np.arange(10_000.0))
    history.run()
    text = "float64[10000](0.0, 2.0, 4.0, ..., 19998.0)"
    assert ["float64[10000]", text] in form_of(history)["values"]
    assert len(history.player().html) < 150_000
    assert [badge.tooltip for badge in state_view(history.state).boxes["r0"].badges] == [f"result 0 is {text}"]
    assert abbreviate_value(3) == format_value(3)
