"""The app without a terminal: keys go in, and what its panes show comes out as text.

`python tests/onscreen.py`, in the repository's root, makes the pictures of docs/app.md anew, and the texts of
tests/tui/screens.
"""

from __future__ import annotations

import asyncio
import gc
import os
import re
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tagloom.tui.app.app import Debugger
from tagloom.tui.app.graph import GraphPane
from tagloom.tui.app.lines import Lines
from tagloom.tui.begin import Options, Start
from tagloom.tui.session.commands import new_session
from textual.pilot import Pilot

SIZES = ((80, 24), (120, 40), (200, 60))


class Screen:
    """An app that runs, and hands that press its keys."""

    def __init__(self, app: Debugger, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    async def press(self, *keys: str) -> None:
        """Press keys, each after what came of the one before has been shown."""
        for key in keys:
            await self.pilot.press(key)
            await self.still()

    async def do(self, *lines: str) -> None:
        """Give commands."""
        for line in lines:
            self.app.do(line)
            await self.still()

    async def still(self) -> None:
        """Wait until nothing goes on."""
        await self.pilot.pause()
        await self.app.settled()
        await self.pilot.pause()

    async def click(self, pane: str, text: str) -> None:
        """Click on a text that a pane shows."""
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
        """What a pane shows."""
        widget = self.app.panes()[pane]
        if isinstance(widget, Lines):
            return widget.page.text()
        assert isinstance(widget, GraphPane)
        return widget.picture.drawing.text() if widget.picture is not None else ""

    def line(self, name: str) -> str:
        """What a line at the bottom says: `status` or `happened`."""
        return str(self.app.query_one(f"#{name}").render())  # type: ignore[attr-defined]

    def whole(self) -> str:
        """All characters of the screen."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    def besides_the_graph(self) -> str:
        """All characters of the screen, but for the graph, which another Graphviz may lay out otherwise, and the ends
        of scroll bars, which are painted when there is time."""
        lines, graph = re.sub("[▁-▇](?=│)", " ", self.whole()).splitlines(), self.app.panes()["graph"]
        if graph.display:
            inside = graph.region.shrink((1, 1, 1, 1))
            for y in range(inside.y, inside.bottom):
                lines[y] = f"{lines[y][: inside.x]}{' ' * inside.width}{lines[y][inside.right :]}"
            last = lines[inside.bottom]
            lines[inside.bottom] = f"{last[: inside.x]}{'─' * inside.width}{last[inside.right :]}"
        return "\n".join(line.rstrip() for line in lines) + "\n"

    @property
    def focused(self) -> str:
        return (self.app.focused.id or "") if self.app.focused is not None else ""


def shown(
    script: Callable[[Screen], Awaitable[None]],
    target: str,
    *words: str,
    size: tuple[int, int] = (120, 40),
    waits: bool = True,
    **more: Any,
) -> None:
    """Run the app on a program, and a script over it, which begins when all is laid out, if it waits for that."""

    async def run() -> None:
        session = new_session(Options(**more))
        if target:
            session.load(Start(target, words, session.options))
        app = Debugger(session)
        async with app.run_test(size=size) as pilot:
            screen = Screen(app, pilot)
            await (screen.still() if waits else pilot.pause(0.3))
            await script(screen)

    asyncio.run(run())
    gc.unfreeze()  # an app is a cycle, and a long history in it has set all aside
    gc.collect()


ROOT = Path(__file__).resolve().parents[1]
PICTURES, TEXTS = ROOT / "docs" / "screens", ROOT / "tests" / "tui" / "screens"
FIB = "papers_examples/recursion/fib.py"
DEADLOCK = "papers_examples/roots/bounded_deadlock.py:five"
TOLD = ("run", "goto 152", "break line == 20 and fired", "select add", "why add")
TEXT_OF = {
    "fib_80x24": ((80, 24), FIB, "5", TOLD),
    "fib_120x40": ((120, 40), FIB, "5", TOLD),
    "fib_200x60": ((200, 60), FIB, "5", TOLD),
    "deadlock_120x40": ((120, 40), DEADLOCK, "10", ("run", "why-not multiply main/loop[0]")),
}
"""Screens that are kept as text: their size, the program, its argument, and commands."""


def text_of(name: str) -> str:
    """One of these screens, as it is now."""
    size, target, word, lines = TEXT_OF[name]
    seen: list[str] = []

    async def script(screen: Screen) -> None:
        await screen.do(*lines)
        seen.append(screen.besides_the_graph())

    shown(script, str(ROOT / target), word, size=size)
    return seen[0]


def picture(name: str, size: tuple[int, int], theme: str, target: str, word: str, *lines: str) -> None:
    """A picture of the screen after some commands, without the fonts of others."""

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
    for name in TEXT_OF:
        (TEXTS / f"{name}.txt").write_text(text_of(name), encoding="utf-8")
