"""The app without a terminal: keys go in, and the text of its panes comes out.

`python tests/onscreen.py`, in the repository's root, makes the pictures of docs/app.md and the texts of
tests/tui/screens anew.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import re
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from string import ascii_letters
from typing import Any

from rich.style import Style
from tagloom.tui.app.app import Debugger
from tagloom.tui.app.graph import GraphPane
from tagloom.tui.app.lines import LinesPane
from tagloom.tui.run_start import RunRequest, StartOptions
from tagloom.tui.session.commands import new_session
from textual import _wait
from textual.pilot import Pilot

SIZES = ((80, 24), (120, 40), (200, 60))

_wait.SLEEP_GRANULARITY = 0.005  # a key waits for some four looks at whether the app is idle, which are 0.02 s apart


class Screen:
    """A running app, and methods that press its keys."""

    def __init__(self, app: Debugger, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    async def press(self, *keys: str) -> None:
        """Press keys, each after the effect of the previous one is shown."""
        for key in keys:
            await self.pilot.press(key)
            await self.still()

    async def do(self, *lines: str) -> None:
        """Run commands."""
        for line in lines:
            self.app.do(line)
            await self.still()

    async def still(self) -> None:
        """Wait until the app is idle."""
        await self.pilot.pause()
        await self.app.wait_until_idle()
        await self.pilot.pause()

    async def click(self, pane: str, text: str) -> None:
        """Click on a text in a pane."""
        widget = self.app.panes()[pane]
        inside = widget.scrollable_content_region
        for y in range(inside.height):
            x = widget.render_line(y).text.find(text)
            if x >= 0:
                await self.pilot.click(widget, offset=(x + 1 + len(text) // 2, y + 1))
                await self.still()
                return
        raise AssertionError(f"{pane} does not show {text!r}")

    def text(self, pane: str) -> str:
        """The text of a pane."""
        widget = self.app.panes()[pane]
        if isinstance(widget, LinesPane):
            return widget.page.text()
        assert isinstance(widget, GraphPane)
        return widget.picture.drawing.text() if widget.picture is not None else ""

    def line(self, name: str) -> str:
        """The text of a line at the bottom: `status` or `happened`."""
        return str(self.app.query_one(f"#{name}").render())  # type: ignore[attr-defined]

    def whole(self) -> str:
        """All characters of the screen."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    def besides_the_graph(self) -> str:
        """All characters of the screen, except the graph, which other versions of Graphviz lay out differently, and the
        ends of scroll bars, which are painted at idle time."""
        lines, graph = re.sub("[▁-▇](?=│)", " ", self.whole()).splitlines(), self.app.panes()["graph"]
        if graph.display:
            inside = graph.region.shrink((1, 1, 1, 1))
            for y in range(inside.y, inside.bottom):
                lines[y] = f"{lines[y][: inside.x]}{' ' * inside.width}{lines[y][inside.right :]}"
            last = lines[inside.bottom]
            lines[inside.bottom] = f"{last[: inside.x]}{'─' * inside.width}{last[inside.right :]}"
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def looks(self) -> str:
        """The text of the panes except the graph, with a line of letters below each line: one letter for each style.
        These colours are the app's own; those of borders are mixed by Textual."""
        letters: dict[str, str] = {}
        lines: list[str] = []
        for name, pane in self.app.panes().items():
            if pane.display and name != "graph":
                lines.append(f"[{name}]")
                for y in range(pane.scrollable_content_region.height):
                    pieces = [(text, look(style, pane.background_colour)) for text, style, _ in pane.render_line(y)]
                    lines += [
                        "".join(text for text, _ in pieces).rstrip(),
                        "".join(_lettered(letters, text, message) for text, message in pieces).rstrip(),
                    ]
        return "\n".join([*lines, "[looks]", *(f"{letter} {message}" for message, letter in letters.items())]) + "\n"

    @property
    def focused(self) -> str:
        return (self.app.focused.id or "") if self.app.focused is not None else ""


def look(style: Style | None, paper: str) -> str:
    """The style of a character: its colour, its background unless that is the paper, and whether it is bold."""
    assert style is not None and style.color is not None and style.bgcolor is not None
    sign, below = style.color.name.upper(), style.bgcolor.name.upper()
    return f"{sign}{'' if below == paper.upper() else f' on {below}'}{' strong' if style.bold else ''}"


def _lettered(letters: dict[str, str], text: str, said: str) -> str:
    """A letter for the style of each character; for a blank, only if its background is visible."""
    if text.isspace() and " on " not in said:
        return " " * len(text)
    return letters.setdefault(said, ascii_letters[len(letters)]) * len(text)


RUNS_OF_GARBAGE = 10
"""The most apps that are garbage: in a process that has run many tests, a collection takes longer than an app."""
_runs = itertools.count(1)


def shown(
    script: Callable[[Screen], Awaitable[None]],
    target: str,
    *words: str,
    size: tuple[int, int] = (120, 40),
    waits: bool = True,
    watches: bool = False,
    **more: Any,
) -> None:
    """Run the app on a program, and a script over it. The script begins once the app is idle if `waits` is set."""

    async def run() -> None:
        session = new_session(StartOptions(**more))
        if target:
            session.load_run(RunRequest(target, words, session.options))
        app = Debugger(session, watches_file=watches)
        async with app.run_test(size=size) as pilot:
            screen = Screen(app, pilot)
            await (screen.still() if waits else pilot.pause(0.3))
            await script(screen)

    asyncio.run(run())
    if next(_runs) % RUNS_OF_GARBAGE == 0:
        gc.unfreeze()  # an app is a cycle, and a long history in it has set all aside
        gc.collect()


ROOT = Path(__file__).resolve().parents[1]
PICTURES, TEXTS = ROOT / "docs" / "screens", ROOT / "tests" / "tui" / "screens"
FIB = "papers_examples/recursion/fib.py"
DEADLOCK = "papers_examples/roots/bounded_deadlock.py:five"
TOLD = ("run", "goto 152", "break line == 20 and fired", "select add", "why add")
FORKED = ("goto 60", "change 1 1", "compare fib", "difference")
TEXT_OF = {
    "fib_80x24": ((80, 24), FIB, "5", TOLD),
    "fib_120x40": ((120, 40), FIB, "5", TOLD),
    "fib_200x60": ((200, 60), FIB, "5", TOLD),
    "deadlock_120x40": ((120, 40), DEADLOCK, "10", ("run", "why-not multiply main/loop[0]")),
}
"""Screens that are kept as text: size, program, argument, and commands."""


LOOKS = [(name, theme) for name in ("fib_120x40", "deadlock_120x40") for theme in ("dark", "light")]
"""Screens whose colours are kept too."""


def text_of(name: str) -> str:
    """The text of one of these screens, as it is now."""
    return _after(name, "dark", Screen.besides_the_graph)


def looks_of(name: str, theme: str) -> str:
    """The text of one of these screens with its styles."""
    return _after(name, theme, Screen.looks)


def _after(name: str, theme: str, seen: Callable[[Screen], str]) -> str:
    """What `seen` returns for one of these screens after its commands."""
    size, target, word, lines = TEXT_OF[name]
    results: list[str] = []

    async def script(screen: Screen) -> None:
        screen.app.theme = f"tagloom-{theme}"
        await screen.do(*lines)
        results.append(seen(screen))

    shown(script, str(ROOT / target), word, size=size)
    return results[0]


def picture(name: str, size: tuple[int, int], theme: str, target: str, word: str, *lines: str) -> None:
    """A picture of the screen after some commands, without embedded fonts."""

    async def script(screen: Screen) -> None:
        screen.app.theme = theme
        for line in lines:
            await (screen.press(line.removeprefix("key ")) if line.startswith("key ") else screen.do(line))
        drawn = re.sub(r"@font-face \{.*?\}", "", screen.app.export_screenshot(title="tagloom debug"), flags=re.DOTALL)
        drawn = drawn.replace("Fira Code", "DejaVu Sans Mono")
        (PICTURES / name).write_text("\n".join(line.rstrip() for line in drawn.splitlines()) + "\n")

    shown(script, target, word, size=size)


if __name__ == "__main__":
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    for theme in ("dark", "light"):
        for size in SIZES:
            picture(f"debugger_{size[0]}x{size[1]}_{theme}.svg", size, f"tagloom-{theme}", FIB, "5", *TOLD)
    picture("deadlock.svg", (120, 40), "tagloom-dark", DEADLOCK, "10", "run", "why-not get main/loop[4]", "key 8")
    picture("digits.svg", (120, 40), "tagloom-dark", "papers_examples/tensorflow/digits.py", "2", "run", "goto 200")
    picture("beside.svg", (160, 48), "tagloom-dark", FIB, "5", *FORKED)
    for name in TEXT_OF:
        (TEXTS / f"{name}.txt").write_text(text_of(name), encoding="utf-8")
    for name, theme in LOOKS:
        (TEXTS / f"{name}_{theme}.txt").write_text(looks_of(name, theme), encoding="utf-8")
