"""Predictions on the page: each is about a whole step, and an answer stays until the user goes to another step."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import tagloom as tl
from support.pictures.chromium import Tab
from support.pictures.drawings import fib
from tagloom.viz.player.page import PlayerSelection, page_of_history

GUESSED = "[...document.querySelectorAll('.guessed')].map(each => each.id)"


@pytest.fixture(scope="module")
def run() -> tl.History:
    """The run of the page."""
    history = fib.history(5)
    history.run()
    return history


def waves_of(history: tl.History) -> list[int]:
    """The number of events at which each wave has ended."""
    return [number for number, event in enumerate(history[:], 1) if event.ends_wave or number == len(history)]


def firing_nodes(history: tl.History, begin: int, end: int) -> list[int]:
    """The nodes that fire between two positions."""
    return sorted({event.token.node for event in history[begin:end] if event.is_firing})


def position(tab: Tab) -> int:
    return int(tab.run("document.getElementById('slider').value"))


LOOKS = {
    "a line": lambda tab: tab.click("button.line"),
    "a node of the list": lambda tab: tab.run(
        "(each => { each.value = '3'; each.dispatchEvent(new Event('change')); })(document.getElementById('node'))"
    ),
    "an activation": lambda tab: tab.click("#tags li"),
    "Escape": lambda tab: tab.key("Escape"),
    "where one is": lambda tab: tab.run("location.hash = '#step=60'; new Promise(done => setTimeout(done, 50))"),
}


@pytest.mark.full
@pytest.mark.parametrize("way", LOOKS)
def test_an_answer_stays(tab: Tab, page: Path, run: tl.History, way: str) -> None:
    """An answer, judged or not, and its verdict stay when the user looks elsewhere."""
    tab.open(page, "#step=60")
    tab.key("p")
    tab.click("#b-n0")
    assert tab.run(GUESSED) == ["b-n0"]
    LOOKS[way](tab)
    assert tab.run(GUESSED) == ["b-n0"]
    tab.key("c")
    reply = tab.text("prompt")
    assert " right" in reply
    LOOKS[way](tab)
    assert tab.text("prompt") == reply and tab.run("document.querySelectorAll('.missed, .wrong').length") > 0
    tab.key("ArrowRight")
    assert tab.text("prompt").startswith("Which nodes fire") and tab.run(GUESSED) == []


WAYS = {
    "a digit": lambda tab: tab.key("5"),
    "the slider": lambda tab: tab.run(
        "(each => { each.value = 47; each.dispatchEvent(new Event('input')); })(document.getElementById('slider'))"
    ),
    "the address": lambda tab: (
        tab.run("location.hash = '#step=47'"),
        tab.wait("document.getElementById('slider').value !== '0'"),
    ),
    "the unit": lambda tab: [tab.key(key) for key in ("w", *["ArrowRight"] * 4, "w", "w")],
}


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
def test_a_prediction_is_of_a_whole_wave(tab: Tab, page: Path, run: tl.History, way: str) -> None:
    """However the user comes to a position, it is the end of a wave, and the nodes that fire in the whole next wave are
    right."""
    ends = waves_of(run)
    tab.open(page, "#step=0")
    tab.key("p")
    WAYS[way](tab)
    at = position(tab)
    assert at in ends and tab.text("position").startswith(f"Step {at} of")
    right = firing_nodes(run, at, ends[ends.index(at) + 1])
    for node in right:
        tab.click(f"#b-n{node}")
    tab.key("c")
    assert tab.text("prompt") == f"Right: {len(right)} node{'s' * (len(right) != 1)}."


@pytest.mark.full
def test_the_graph_still_fits(tab: Tab, page: Path) -> None:
    """The question takes its room from the graph, which was all in sight, and still is, also with the verdict."""
    over = "(pane => pane.scrollHeight - pane.clientHeight)(document.getElementById('scroll'))"
    tab.open(page, "#step=61")
    tab.click("#fit")
    for key in ("p", "c", "ArrowRight", "p"):
        tab.key(key)
        assert tab.run(over) < 2, key


@pytest.mark.full
def test_an_incomplete_wave_is_named(tab: Tab, run: tl.History, tmp_path: Path) -> None:
    """If a page begins or ends within a wave, the question says so."""
    ends = waves_of(run)
    wide = next(number for number, (one, other) in enumerate(pairwise(ends)) if other - one > 3)
    begin, end = ends[wide] + 2, ends[wide + 2] + 1
    page_of_history(run, PlayerSelection(first=begin, max_events=end - begin)).save(tmp_path / "page.html")
    tab.open(tmp_path / "page.html")
    tab.key("p")
    asked = [tab.text("prompt")]
    for _ in range(3):
        tab.key("ArrowRight")
        asked.append(tab.text("prompt"))
    assert [each.partition("?")[0] for each in asked] == [
        "Which nodes fire in the rest of this wave",
        "Which nodes fire in the next wave",
        "Which nodes fire in the next wave, as far as this page has it",
        "This page ends here; the run goes on.",
    ]
