"""The app, driven by keys, clicks and commands: the session does what it says, and the panes show the result."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from onscreen import DEADLOCK, FIB, LOOKS, ROOT, SIZES, TEXT_OF, TEXTS, Screen, looks_of, shown, text_of
from tagloom.tui.app import app, lines, modals
from tagloom.tui.app import ascii as letters
from tagloom.tui.app.ascii import to_ascii
from tagloom.tui.app.command_line import CommandLine
from tagloom.tui.app.graph import GraphPane
from tagloom.tui.app.lines import LinesPane
from tagloom.tui.app.pane import Pane
from tagloom.tui.app.themes import tint
from tagloom.tui.panes.arrange import OTHER_PANES, PANES, key_of
from tagloom.tui.panes.help import DAILY_KEYS, PANE_HELP, help_pages, key_hints
from tagloom.tui.panes.screen import ScreenPresenter
from tagloom.tui.panes.tour import FAREWELL, WELCOME
from tagloom.tui.session.commands import COMMANDS
from textual import events
from textual.command import CommandPalette
from textual.geometry import Offset, Region

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("alone")]


SHOWN = {
    "graph": "cells",
    "source": "tl.while_loop",
    "flight": "  0 ● #3",
    "call": "chain(4)",
    "waiting": "main/loop[0]",
    "tags": "● #1 chain(4)",
    "inspector": "fires ",
    "events": "▶ chain.",
    "cells": "□ chain.",
    "answers": "❯ watches",
    "timeline": "━◆",
    "code": "ag__.call(tl.while_loop",
}
"""What each pane says of `chain` after 40 events."""


@pytest.mark.full
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_digits_lead_to_panes(folder: Path, size: tuple[int, int]) -> None:
    """A digit shows its pane, gives it the focus, and says what it is for."""

    async def script(screen: Screen) -> None:
        await screen.do("goto 40", "watches")
        for pane in PANES:
            await screen.press({"#": "number_sign"}.get(key_of(pane), key_of(pane)))
            assert screen.focused == pane and screen.app.panes()[pane].display
            widget = screen.app.panes()[pane]
            lines = [widget.render_line(y).text for y in range(widget.size.height)]
            assert any(SHOWN[pane] in line for line in lines), (pane, lines)

    shown(script, "acts.py:chain", "4", size=size)


@pytest.mark.full
def test_ascii_terminals(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an ASCII terminal, every sign is ASCII, and every sign in use has one."""
    monkeypatch.setattr(app.Debugger, "writes_ascii", True)

    used: set[str] = set()
    monkeypatch.setattr(letters, "to_ascii", lambda text: (used.update(text), to_ascii(text))[1])

    async def script(screen: Screen) -> None:
        await screen.do("goto 30", "unfold")
        await screen.press("f1")
        pages = [screen.whole()]
        await screen.press("escape", "5", "4", "9")
        pages.append(screen.whole())
        assert "Enter go there" in screen.whole()
        await screen.press("colon")
        assert "Up history" in screen.line("hints")
        await screen.press("escape", "ctrl+p")
        pages.append(screen.whole())
        assert all(page.isascii() for page in pages) and "can fire next" in pages[0] and ",- 0 timeline -" in pages[1]

    shown(script, str(ROOT / DEADLOCK), "10")
    assert {"┏", "┃", "▔"} <= used and [
        each for each in used if not each.isascii() and each not in letters._ASCII_GLYPHS
    ] == []


@pytest.mark.full
def test_no_text_controls_the_terminal(folder: Path) -> None:
    """Text that a program prints, or its source, reaches the terminal as visible signs only, each as wide as it is
    drawn."""
    source = (folder / "acts.py").read_text().replace('"i is"', r'"a\tb\x1b[2J\nc"')
    (folder / "acts.py").write_text(source.replace("    ", "\t"))

    async def script(screen: Screen) -> None:
        await screen.do("run", "printed", "select print")
        await screen.press("2", "9")
        assert screen.whole().replace("\n", "").isprintable()
        assert r"a   b\x1b[2J" in screen.text("answers") and "c 0" in screen.text("answers")
        assert all(strip.cell_length == 120 for strip in screen.app.screen._compositor.render_strips())

    shown(script, "acts.py:told", "3")


@pytest.mark.full
def test_a_refusal_is_shown(folder: Path) -> None:
    """A refusal appears in the line of the last reply, and among the answers."""

    async def script(screen: Screen) -> None:
        await screen.do("stpe")
        assert "did you mean step" in screen.line("last-event")
        await screen.press("9")
        assert "did you mean step" in screen.text("answers")

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
def test_typed_text_follows_a_suggestion(folder: Path) -> None:
    """A key whose command needs words begins the line; text typed next is appended."""

    async def script(screen: Screen) -> None:
        await screen.press("j", "5", "enter")
        assert screen.app.session.history.position == 5

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
def test_the_command_line(folder: Path) -> None:
    """A typed line is a command. Tab completes it, up recalls earlier lines, and Escape leaves."""

    async def script(screen: Screen) -> None:
        await screen.press("colon", *"got")
        await screen.press("tab", "space", "7", "enter")
        assert "7/7 events" in screen.line("status")
        await screen.press("colon", "up")
        assert screen.app.query_one("#line").value == "goto 7"  # type: ignore[attr-defined]
        await screen.press("escape")
        assert screen.focused != "line"
        await screen.press("s")
        assert "8/8 events" in screen.line("status")

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
def test_the_mouse(folder: Path) -> None:
    """A click on an event goes to it, on a node selects it, on a line sets a breakpoint, on a name in a border leads to
    that pane, and on a tag shows only the part below it."""

    async def script(screen: Screen) -> None:
        await screen.do("goto 30")
        await screen.press("7")
        await screen.click("events", "fib.subtract 2, 1")
        assert screen.app.session.history.position == 25
        await screen.do("goto 30")
        await screen.click("graph", "fib + fib_1")
        assert screen.app.session.focus.node_name == "fib.add"
        assert "fib.add" in screen.text("inspector") and screen.app.panes()["inspector"].display
        await screen.click("source", "tl.cond")
        assert [point.condition for point in screen.app.session.snapshot.breakpoints] == ["line == 6 and fired"]
        await screen.press("5")
        await screen.click("tags", "fib(2)  fib_1")
        assert screen.app.session.focus.root_tag == "main/fib_1"
        await screen.press("3")
        assert "under" in screen.text("flight") or "fib_1" in screen.text("flight")

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
def test_hints_are_keys(folder: Path) -> None:
    """A click on a key in the bottom line presses it, so that the mouse can do everything, through the palette too."""

    async def script(screen: Screen) -> None:
        async def click(word: str) -> None:
            await screen.pilot.click("#hints", offset=(screen.line("hints").index(word), 0))
            await screen.still()

        await click("step")
        await click("step")
        await click("S back")
        assert "1/2 events" in screen.line("status")
        await click("why")
        assert screen.app.query_one("#line").value == "why fib.n main"  # type: ignore[attr-defined]
        await click("Esc")
        await click("help")
        while len(screen.app.screen_stack) > 1:
            await screen.pilot.click("#page")
            await screen.still()
        await screen.press("1", "ctrl+o")
        await screen.pilot.click("#letter-s")
        await screen.still()
        assert screen.focused == "tags"
        await screen.press("ctrl+o")
        await screen.pilot.click("#jump-hint")
        await screen.still()
        assert screen.focused == "tags" and len(screen.app.screen_stack) == 1
        await screen.press("1")
        await click("all")
        assert isinstance(screen.app.screen, CommandPalette)

    shown(script, "fib.py:fib", "4", size=(80, 24))


@pytest.mark.full
def test_borders_are_tabs(folder: Path) -> None:
    """A click on the name of a pane in another pane's border leads to it."""

    async def script(screen: Screen) -> None:
        call = screen.app.panes()["call"]
        x = next(
            at
            for at in range(2, 40)
            if "flight" in str(screen.app.screen.get_style_at(call.region.x + at, call.region.y).meta)
        )
        await screen.pilot.click(offset=(call.region.x + x, call.region.y))
        await screen.still()
        assert screen.focused == "flight" and not call.display

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
def test_folding(folder: Path) -> None:
    """A folded function is one box that counts its tokens; unfolded, it is as before."""

    async def script(screen: Screen) -> None:
        before = screen.text("graph")
        await screen.do("fold fib", "step 5")
        assert "n <= 1" not in screen.text("graph")
        await screen.do("unfold", "start")
        assert screen.text("graph") == before

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
def test_a_large_graph_is_folded(folder: Path) -> None:
    """A graph that is too large for a screen is folded, in a pane of any size. A click on a box, or `unfold`, opens
    it; `_` opens all, and folds them again. A firing inside lights the box."""

    async def script(screen: Screen) -> None:
        graph = screen.app.panes()["graph"]
        assert "folded: ele" in str(graph.border_subtitle) and "while loop_1" in screen.text("graph")
        await screen.do("step 60")
        picture = screen.app.query_one(GraphPane).picture
        assert picture is not None and picture.focus_cell is not None and picture.highlighted_rows
        before = screen.text("graph")
        await screen.do("unfold element")
        assert screen.app.session.focus.unfolded_names == ("element",) and len(screen.text("graph")) > len(before)
        assert "folded" not in str(graph.border_subtitle)
        await screen.do("fold element")
        assert screen.app.session.focus.folded_names == ("element",) and not screen.app.session.focus.unfolded_names
        assert screen.text("graph") == before
        await screen.press("underscore")
        await screen.still()
        assert "folded" not in str(graph.border_subtitle) and len(screen.text("graph")) > len(before)
        await screen.press("underscore")
        await screen.still()
        assert screen.text("graph") == before and "folded to fit" in screen.line("last-event")

    shown(script, str(ROOT / "papers_examples/roots/wavefront.py"), "3", size=(66, 24))


@pytest.mark.full
def test_keys_are_shown(folder: Path) -> None:
    """At every size, the last line shows the twelve keys of the daily work, and the border of the focused pane its
    own keys, as many as fit; a click on one presses it. The command line has keys of its own."""

    async def script(screen: Screen) -> None:
        def border(pane: str) -> str:
            region = screen.app.panes()[pane].region
            return screen.whole().splitlines()[region.bottom - 1][region.x : region.right]

        async def click(pane: str, word: str) -> None:
            region = screen.app.panes()[pane].region
            await screen.pilot.click(offset=(region.x + border(pane).index(word), region.bottom - 1))
            await screen.still()

        keys = " ".join(span.text for span in key_hints(screen.app.size.width).spans[::2]).split()
        assert keys == [key for key, _ in DAILY_KEYS] and len(DAILY_KEYS) == 12
        assert screen.line("hints").endswith("q quit")
        assert border("graph").index("F2") < border("graph").index("> < zoom")
        for key, zoom in (("> <", 1), ("< ", 0)):
            await click("graph", key)
            assert screen.app.presenter.zoom == zoom
        await screen.press("3")
        assert ("d deliver" in border("flight")) == (screen.app.size.width > 80) and "F2" not in border("graph")
        await click("flight", "F2")
        assert "F2 all panes  d deliver  = change  Enter select" in border("flight")
        await click("flight", "d deliver")
        assert screen.app.query_one("#line").value.startswith("choose ")  # type: ignore[attr-defined]
        assert "complete" in screen.line("hints") and "step" not in screen.line("hints")

    for size in SIZES:
        shown(script, "fib.py:fib", "4", size=size)


@pytest.mark.full
def test_a_key_after_a_digit(folder: Path) -> None:
    """A key typed right after a digit belongs to the pane of the digit."""

    async def script(screen: Screen) -> None:
        await screen.do("goto 30")
        await screen.pilot.press("5", "y")
        await screen.still()
        assert screen.focused == "line"
        assert screen.app.query_one("#line").value.startswith("why fib.")  # type: ignore[attr-defined]

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
@pytest.mark.parametrize("name", TEXT_OF)
def test_screens_are_as_stored(name: str) -> None:
    """Whole screens, without the inside of the graph, are as stored; `python tests/onscreen.py` writes them."""
    assert text_of(name) == (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.parametrize(("name", "theme"), LOOKS)
def test_colours_are_as_stored(name: str, theme: str) -> None:
    """The colours of the panes' contents are as stored, on dark and on light paper."""
    assert looks_of(name, theme) == (TEXTS / f"{name}_{theme}.txt").read_text(encoding="utf-8")


@pytest.mark.full
def test_another_colour_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cursor with a slightly weaker tint is caught."""
    monkeypatch.setattr(lines, "tint", lambda colour, dark, share: tint(colour, dark, share * 0.9))
    assert looks_of(*LOOKS[0]) != (TEXTS / "{}_{}.txt".format(*LOOKS[0])).read_text(encoding="utf-8")


@pytest.mark.full
def test_help_and_jump(folder: Path) -> None:
    """F1 explains the focused pane, and a letter jumps to a pane."""
    assert any("  ,p printed " in page for page in help_pages("graph", COMMANDS.values()))

    async def script(screen: Screen) -> None:
        for pane in PANES:
            screen.app.action_front(pane)
            await screen.press("f1")
            assert f"help: {pane}" in screen.whole() and PANE_HELP[pane][:50] in screen.whole()
            await screen.press("escape")
        await screen.press("ctrl+o")
        await screen.press("a")
        assert screen.focused == "graph"

    shown(script, "fib.py:fib", "4")


@pytest.mark.full
@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_the_tour_is_taken_by_keys(folder: Path, size: tuple[int, int]) -> None:
    """Each step of the tour asks for keys, and after these keys says what they did; other keys do not advance it.
    Escape closes it."""

    async def script(screen: Screen) -> None:
        screen.app.action_tour()
        await screen.press("e", "E")
        assert "a tour: step 1 of 6" in screen.whole() and WELCOME in screen.whole()
        for keys, effect in (
            ("s", "The 4 moved to fib.n, which fired."),
            ("S", "The 4 is back where it was."),
            ("$", "and the result is 5."),
            ("5", "Each has a number and a colour"),
            ("y Enter", "The firings behind it are in pane 9"),
            ("u", "The run is at its beginning again."),
        ):
            assert f"press {keys} to " in screen.whole()
            await screen.press(*keys.lower().split() if "Enter" in keys else keys)
            assert effect in screen.whole()
        assert "the end of the tour" in screen.whole() and FAREWELL in screen.whole()
        await screen.press("escape")
        assert "the end of the tour" not in screen.whole()

    shown(script, "fib.py:fib", "4", size=size)


@pytest.mark.full
def test_the_palette_has_every_command(folder: Path) -> None:
    """Every command is in the palette under its name."""

    async def script(screen: Screen) -> None:
        provider = modals.SessionCommandProvider(screen.app.screen)
        for command in COMMANDS.values():
            best = max([hit async for hit in provider.search(command.name)], key=lambda hit: hit.score)
            assert best.text == command.usage and f"[{command.key}]" in str(best.match_display)
        assert [hit.text async for hit in provider.discover()] == [each.usage for each in COMMANDS.values()]
        await screen.press("ctrl+p", *"over-back")
        await screen.pilot.pause(0.3)
        assert "over-back [N]" in screen.whole()

    shown(script, "fib.py:fib", "4")


PAINTED = (
    "step 9",
    "wave",
    "back",
    "goto 80",
    "fold fib",
    "event 3",
    "unfold",
    "goto 81",
    "choose 1",
    "run",
    "why add",
    "start",
    "key down",
    "key right",
    "key greater_than_sign",
    "key f2",
    "key f3",
)

Signs: TypeAlias = dict[tuple[int, int], tuple[str, str]]
"""What a terminal shows: by line and column a sign and its look."""


def send(signs: Signs, text: str) -> None:
    """Sends text to a terminal."""
    y, x, look = 0, 0, ""
    for place, style, sign in re.findall(r"\x1b\[([\d;]*)H|\x1b\[([\d;]*)m|([^\x1b])", text):
        if place:
            y, x = (int(each) - 1 for each in place.split(";"))
        elif sign == "\n":
            y, x = y + 1, 0
        elif sign:
            signs[y, x], x = (sign, look), x + 1
        else:
            look = style


async def stale_lines(screen: Screen, lines: Sequence[str] = PAINTED) -> list[str]:
    """The commands after which a line of the screen differs from a full repaint."""
    results, at, signs, display = [], screen.app, Signs(), screen.app._display

    def seen(of: Any, update: Any) -> None:
        if update is not None and not at._batch_count:
            send(signs, update.render_segments(at.console))
        display(of, update)

    at._display = seen  # type: ignore[method-assign]
    at.screen.refresh()
    for line in lines:
        await (screen.press(line.removeprefix("key ")) if line.startswith("key ") else screen.do(line))
        before, anew = dict(signs), Signs()
        for pane in at.panes().values():
            pane.refresh()
        await screen.still()
        send(anew, at.screen._compositor.render_update(full=True).render_segments(at.console))
        if before != anew:
            results.append(line)
    return results


@pytest.mark.full
@pytest.mark.parametrize(
    "size", [pytest.param(size, marks=[pytest.mark.heavy] * (size != (120, 40))) for size in SIZES], ids=str
)
def test_repainted_lines_are_the_changed_ones(folder: Path, size: tuple[int, int]) -> None:
    """Exactly the lines that have changed are repainted."""

    async def script(screen: Screen) -> None:
        assert await stale_lines(screen) == []

    shown(script, "fib.py:fib", "5", size=size)


def paint_the_first_line(patch: pytest.MonkeyPatch, pane: type[Pane]) -> None:
    """Only the first changed line of a pane is painted."""
    refresh = pane.refresh
    patch.setattr(pane, "refresh", lambda self, *regions, **how: refresh(self, *regions[:1], **how))


def paint_one_line_too_high(patch: pytest.MonkeyPatch, pane: type[Pane]) -> None:
    """The lines above the changed ones are painted."""
    refresh = pane.refresh
    up = Offset(0, -1)
    patch.setattr(pane, "refresh", lambda self, *regions, **how: refresh(self, *(each + up for each in regions), **how))


def paint_one_column(patch: pytest.MonkeyPatch, pane: type[Pane]) -> None:
    """Only the first column of changed lines is painted."""
    refresh = pane.refresh
    narrow = lambda region: Region(region.x, region.y, 1, region.height)  # noqa: E731
    patch.setattr(pane, "refresh", lambda self, *regions, **how: refresh(self, *map(narrow, regions), **how))


@pytest.mark.full
@pytest.mark.parametrize("size", [SIZES[0], SIZES[2]], ids=str)
def test_two_runs_side_by_side(folder: Path, size: tuple[int, int]) -> None:
    """After a comparison, D shows two graphs and two trees of tags, each at the first difference. Its node is lit in
    both graphs, also where it has not fired, and its activation is marked in both trees. | hides the other run."""
    source = (folder / "fib.py").read_text()
    (folder / "edited.py").write_text(source.replace("n - 2", "n - 3"))

    async def script(screen: Screen) -> None:
        await screen.do("compare edited.py:fib")
        await screen.press("D")
        panes = screen.app.panes()
        assert all(panes[name].display for name in ("graph", "tags", *OTHER_PANES))
        assert "n - 2" in screen.text("graph") and "n - 3" in screen.text("other graph")
        for pane in ("graph", "other graph"):
            graph = panes[pane]
            assert isinstance(graph, GraphPane) and graph.picture is not None
            assert "\u2260 fib.subtract_1" in graph.picture.subtitle
            number = next(name for name, node in graph.picture.nodes.items() if node == "fib.subtract_1")
            assert any(number in names for names in graph.picture.highlighted_rows.values())
        marked = [[row for row in screen.text(name).splitlines() if "\u2260" in row] for name in ("tags", "other tags")]
        assert [len(rows) for rows in marked] == [1, 1], marked
        other = screen.text("other tags")
        await screen.press("s")
        assert screen.text("other tags") == other
        await screen.press("vertical_line")
        assert not any(panes[name].display for name in OTHER_PANES) and panes["timeline"].display

    shown(script, "fib.py:fib", "5", size=size)


def test_a_click_beside_acts_on_that_run(folder: Path) -> None:
    """A click in a pane of the run beside the current one makes that run the current one, and acts on it: its node is
    selected even if the other run has no such node, and its activation is shown alone."""
    (folder / "sum.py").write_text(
        "import tagloom as tl\n\n@tl.function\ndef sums(n):\n    return 0 if n < 1 else n * n + sums(n - 1)\n"
    )

    async def script(screen: Screen) -> None:
        await screen.do("step 30", "load sum.py:sums 2", "step 30", "beside fib", "switch fib")
        session, graph = screen.app.session, screen.app.panes()["other graph"]
        assert isinstance(graph, GraphPane) and graph.picture is not None and session.run.name == "fib"
        number = next(name for name, node in graph.picture.nodes.items() if node == "sums.multiply")
        size = graph.scrollable_content_region.size
        cells = [Offset(x, y) for y in range(size.height) for x in range(size.width)]
        cell = next(cell for cell in cells if number in graph.cell_at(cell).owners)
        await screen.pilot.click(graph, offset=cell + Offset(1, 1))  # the border is one cell
        await screen.still()
        assert session.run.name == "sums" and session.other_run is not None and session.other_run.name == "fib"
        assert session.focus.node_name == "sums.multiply"
        assert screen.app.focused is screen.app.panes()["graph"]
        tree = screen.text("other tags").splitlines()
        row = next(at for at, line in enumerate(tree) if "fib(1)" in line)
        await screen.pilot.click("#other-tags", offset=(4, row + 1))
        await screen.still()
        assert session.run.name == "fib" and session.focus.root_tag == "main/fib/fib"

    shown(script, "fib.py:fib", "3", size=SIZES[2])


@pytest.mark.full
def test_a_difference_that_never_fired_is_lit(folder: Path) -> None:
    """A node that fired in one run only is lit in the graph of the other, which is at its end."""

    async def script(screen: Screen) -> None:
        await screen.do("compare --args 1", "difference")
        other = screen.app.panes()["other graph"]
        assert isinstance(other, GraphPane) and other.picture is not None
        difference = screen.app.session.shown_difference
        assert difference is not None and difference.node
        assert other.picture.highlighted_rows and other.message == ""
        await screen.do("start", "fork", "beside fib")
        assert other.message == "" and other.picture is not None

    shown(script, "fib.py:fib", "3", size=(120, 40))


@pytest.mark.full(first=2)
@pytest.mark.parametrize("pane", [GraphPane, LinesPane])
@pytest.mark.parametrize("how", [paint_the_first_line, paint_one_line_too_high, paint_one_column])
def test_missing_repaints_are_caught(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: Callable[[pytest.MonkeyPatch, type[Pane]], None],
    pane: type[Pane],
) -> None:
    """A twin that leaves a changed line unpainted is caught."""
    how(monkeypatch, pane)
    actual = []

    async def script(screen: Screen) -> None:
        actual.extend(await stale_lines(screen, PAINTED[:4]))

    shown(script, "fib.py:fib", "5")
    assert actual


@pytest.mark.full
def test_lit_lines_are_repainted(folder: Path) -> None:
    """If only the highlight changes, its lines are repainted, and those around it are not."""

    async def script(screen: Screen) -> None:
        pane = screen.app.query_one(GraphPane)
        await screen.do("step 9")
        picture = pane.picture
        assert picture is not None and picture.highlighted_rows
        lines = range(pane.size.height)
        before = [pane.render_line(y) for y in lines]
        pane.show_content(picture._replace(highlighted_rows={}))
        await screen.still()
        after = [pane.render_line(y) for y in lines]
        kept = {y - pane._top_margin() for y in lines if after[y] is before[y]}
        assert kept.isdisjoint(picture.highlighted_rows) and kept | picture.highlighted_rows.keys() >= set(
            range(len(picture.drawing.rows))
        )
        shown_now = screen.app.screen._compositor.render_strips()
        pane.refresh()
        await screen.still()
        anew = screen.app.screen._compositor.render_strips()
        assert [list(strip) for strip in shown_now] == [list(strip) for strip in anew]

    shown(script, "fib.py:fib", "4", size=(200, 60))


@pytest.mark.full
def test_a_query_takes_one_snapshot(folder: Path) -> None:
    """The pane with the answer is in front before the snapshot, so that nothing is computed twice."""

    async def script(screen: Screen) -> None:
        looks, look = [], ScreenPresenter.snapshot
        screen.app.presenter.snapshot = lambda panes: (looks.append(set(panes)), look(screen.app.presenter, panes))[1]  # type: ignore[method-assign]
        for key, pane in (("p", "waiting"), ("x", "flight"), ("A", "tags")):
            looks.clear()
            await screen.press(key)
            assert screen.app.panes()[pane].display and len(looks) == 1 and pane in looks[0]
            assert screen.app.pane_layout.sizes.keys() == looks[0]

    shown(script, "fib.py:fib", "4", size=(80, 24))


@pytest.mark.full
@pytest.mark.parametrize("write", [shlex.quote, lambda path: f'"{path}"\n', lambda path: Path(path).as_uri()])
def test_a_dropped_file_is_loaded(tmp_path: Path, write: Callable[[str], str]) -> None:
    """Terminals paste the path or the address of a file that is dropped on them: the command line opens with the
    command that loads it. Other pasted text does nothing."""
    program = tmp_path / "my fib's.py"
    program.write_text((ROOT / FIB).read_text())

    async def script(screen: Screen) -> None:
        for text in ("sss", "my fib.py", "'", str(tmp_path), "a" * 300, "file://[x"):
            screen.app.post_message(events.Paste(text))
            await screen.still()
            assert not screen.app.query_one(CommandLine).display
        screen.app.post_message(events.Paste(write(str(program))))
        await screen.still()
        await screen.press("4", "enter")
        start = screen.app.session.run.start
        assert start is not None and (start.target, start.words) == (str(program), ("4",))

    shown(script, "")


@pytest.mark.full
def test_the_app_starts_without_a_program(folder: Path) -> None:
    """The app may start without a program, and `load` brings one."""

    async def script(screen: Screen) -> None:
        assert "load" in screen.line("status")
        await screen.press("s", "f2", "f2")
        await screen.do("load fib.py:fib 3")
        assert "n <= 1" in screen.text("graph")

    shown(script, "")


@pytest.mark.full
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_panes_fill_the_screen_without_overlap(folder: Path, size: tuple[int, int]) -> None:
    """The visible panes fill the screen, and none covers another."""

    async def script(screen: Screen) -> None:
        regions = [pane.region for pane in screen.app.panes().values() if pane.display]
        assert sum(region.area for region in regions) == screen.app.query_one("#pane-layout").region.area
        assert not any(one.overlaps(other) for one in regions for other in regions if one is not other)

    shown(script, "fib.py:fib", "4", size=size)


@pytest.mark.full
def test_resizing(folder: Path) -> None:
    """After any resizes, the panes fill the terminal, and as many keys are shown as fit."""

    async def script(screen: Screen) -> None:
        for size in ((200, 60), (80, 24)):
            await screen.pilot.resize_terminal(*size)
            await screen.still()
            regions = [pane.region for pane in screen.app.panes().values() if pane.display]
            assert sum(region.area for region in regions) == screen.app.query_one("#pane-layout").region.area
            assert screen.app.query_one("#pane-layout").size.width == size[0] == max(each.right for each in regions)
            assert screen.line("hints") == key_hints(size[0]).text

    shown(script, "fib.py:fib", "4")
