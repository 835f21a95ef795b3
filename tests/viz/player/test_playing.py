"""The lower part of the page: the chart with its cursor, announcements for screen readers, and smooth playing."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest
import tagloom as tl
from support.laws.frames import played
from support.observe.lateness import is_soon
from support.pictures.chromium import Tab
from support.pictures.drawings import fib

BARS = "[...document.querySelectorAll('.bar')].map(each => Number(each.getAttribute('height')))"
CURSOR = "Number(document.querySelector('.cursor').getAttribute('x'))"


def position(tab: Tab) -> int:
    return int(tab.run("document.getElementById('slider').value"))


def click_chart(tab: Tab, part: float) -> None:
    """Clicks the chart at this share of its width."""
    tab.run(
        "(each => { const box = each.getBoundingClientRect(); each.dispatchEvent(new MouseEvent('click', "
        f"{{bubbles: true, clientX: box.left + {part} * box.width, clientY: box.top + 5}})); }})"
        "(document.getElementById('profile'))"
    )


@pytest.mark.full
def test_the_chart_of_waves(tab: Tab, page: Path) -> None:
    """The bar of each wave is as high as its number of firings; the cursor stands at the position; a click goes to the
    end of its wave."""
    outcome = fib.run(5, keep="events")
    waves, ends, total = [0], list[int](), len(outcome.events)
    for number, event in enumerate(outcome.events, 1):
        waves[-1] += event.is_firing
        if event.ends_wave or number == total:
            waves.append(0)
            ends.append(number)
    waves.pop()
    tab.open(page)
    bars = tab.run(BARS)
    assert [round(bar * max(waves) / max(bars)) for bar in bars] == waves
    assert tab.text("profile-title") == f"Firings in each wave: {len(waves)} waves, at most {max(waves)}"
    assert tab.run(CURSOR) == 0
    for wave in (0, 3, len(waves) // 2, len(waves) - 1):
        click_chart(tab, (wave + 0.5) / len(waves))
        assert position(tab) == ends[wave]
        assert tab.run(CURSOR) == wave + 1
    click_chart(tab, 2.5 / len(waves))
    tab.key("w")
    tab.key("w")
    tab.key("ArrowRight")
    assert tab.run(CURSOR) == pytest.approx(3 + 1 / (ends[3] - ends[2]), abs=1e-6), "within a wave, as far as that is"


@pytest.mark.full
def test_the_chart_of_a_run_without_a_clock(tab: Tab, tmp_path: Path) -> None:
    """The bar of each event is as high as the number of tokens in flight after it."""
    history = fib.history(3, schedule="lifo")
    history.run()
    history.player().save(tmp_path / "page.html")
    flights = [len(history.jump(at + 1).flight) for at in range(len(history))]
    tab.open(tmp_path / "page.html")
    bars = tab.run(BARS)
    assert [round(bar * max(flights) / max(bars)) for bar in bars] == flights
    assert tab.text("profile-title").startswith("Tokens in flight after each event: ")
    click_chart(tab, 7.5 / len(flights))
    assert position(tab) == 8 and tab.run(CURSOR) == 8


@pytest.mark.full
def test_announcements_for_screen_readers(tab: Tab, page: Path) -> None:
    """Each step of the user is announced, and none while the page plays; the slider has the position."""
    live = "document.getElementById('sentence').getAttribute('aria-live')"
    tab.open(page, "#step=20")
    assert tab.run(live) == "polite"
    before = tab.text("sentence")
    tab.key("ArrowRight")
    assert tab.run(live) == "polite" and tab.text("sentence") != before
    assert tab.run("document.getElementById('slider').getAttribute('aria-valuetext')") == tab.text("position")
    tab.key("Space")
    assert tab.run(live) == "off"
    tab.key("Space")
    assert tab.run(live) == "polite"
    for name in ("prompt", "filter"):
        assert tab.run(f"document.getElementById({json.dumps(name)}).getAttribute('aria-live')") == "polite"


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of 5,000 events."""
    target = tmp_path_factory.mktemp("pages") / "long.html"
    fib.run(15, keep="events").player().save(target)
    return target


SLOW = "(() => { const slow = () => { const end = performance.now() + 100; while (performance.now() < end);"
STUTTER = f"{SLOW} requestAnimationFrame(slow); }}; requestAnimationFrame(slow); }})()"


@pytest.mark.full
def test_five_thousand_steps_play_smoothly(tab: Tab, long: Path) -> None:
    """With motion and at the highest speed, event by event, half of the frames come within a twentieth of a second, and
    all steps are taken in time; a page that stutters would be noticed."""
    tab.prefer(reduced_motion="no-preference")

    def middle_frame() -> float:
        """The seconds of the frame in the middle."""
        tab.open(long, "#step=2500")
        actual = played(tab, 64, "event", 1.0)
        assert actual.last - actual.first > 20 * sum(actual.took) / 1000, actual
        return median(actual.took) / 1000

    assert is_soon(middle_frame, 0.05)
    tab.run(STUTTER)
    assert median(played(tab, 64, "event", 0.5).took) > 90


@pytest.mark.full
def test_printed_lines(tab: Tab, tmp_path: Path) -> None:
    """A page that begins later has the lines printed before, too: the last 200, and the number of others. Empty lines
    are lines."""

    @tl.function
    def main(n: tl.int64) -> tl.int64:
        def body(i):
            tl.print("i is", i)
            tl.print("")
            return i + 1

        return tl.while_loop(lambda i: i < n, body, 0)[0]

    lines = list[str]()
    history = main.history(120, world=tl.World(lines.append))
    history.run()
    assert len(lines) == 240 and "" in lines
    before = len(history) - 100
    history.player(first=before).save(tmp_path / "page.html")
    printing = {number for number, node in enumerate(history.graph.nodes) if node.op == "print"}
    there = sum(event.is_firing and event.token.node in printing for event in history[:before])
    tab.open(tmp_path / "page.html")
    assert tab.text("printed") == "\n".join(lines[there - 200 : there])
    assert tab.text("earlier") == f"{there - 200} earlier lines"
    tab.key("End")
    assert tab.text("printed") == "\n".join(lines[-200:])
    left = "(pane => pane.scrollHeight - pane.clientHeight - pane.scrollTop)(document.getElementById('printed'))"
    assert tab.run(left) < 2, "the last line is in sight"
    history.player().save(tmp_path / "page.html")
    tab.open(tmp_path / "page.html")
    assert tab.text("printed") == "" and tab.run("document.getElementById('earlier').hidden")
    assert not tab.run("document.getElementById('printed-pane').hidden")
    tab.key("End")
    assert tab.text("earlier") == "40 earlier lines"
