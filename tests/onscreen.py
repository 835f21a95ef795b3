"""The app without a terminal: keys go in, and what its panes show comes out as text.

`python tests/onscreen.py`, in the repository's root, makes the pictures of docs/app.md anew.
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

    @property
    def focused(self) -> str:
        return (self.app.focused.id or "") if self.app.focused is not None else ""


def shown(
    script: Callable[[Screen], Awaitable[None]],
    target: str,
    *words: str,
    size: tuple[int, int] = (120, 40),
    **more: Any,
) -> None:
    """Run the app on a program, and a script over it."""

    async def run() -> None:
        session = new_session(Options(**more))
        if target:
            session.load(Start(target, words, session.options))
        app = Debugger(session)
        async with app.run_test(size=size) as pilot:
            screen = Screen(app, pilot)
            await screen.still()
            await script(screen)

    asyncio.run(run())
    gc.unfreeze()  # an app is a cycle, and a long history in it has set all aside
    gc.collect()


PICTURES = Path(__file__).resolve().parents[1] / "docs" / "screens"


def picture(name: str, size: tuple[int, int], theme: str, *lines: str) -> None:
    """A picture of the screen after some commands, without the fonts of others."""

    async def script(screen: Screen) -> None:
        screen.app.theme = theme
        await screen.do(*lines)
        drawn = re.sub(r"@font-face \{.*?\}", "", screen.app.export_screenshot(title="tagloom debug"), flags=re.DOTALL)
        drawn = drawn.replace("Fira Code", "DejaVu Sans Mono")
        (PICTURES / name).write_text("\n".join(line.rstrip() for line in drawn.splitlines()) + "\n")

    shown(script, "papers_examples/recursion/fib.py", "5", size=size)


if __name__ == "__main__":
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    told = ("run", "goto 152", "break line == 20 and fired", "select add", "why add")
    picture("debugger_dark.svg", (160, 45), "tagloom-dark", *told)
    picture("debugger_light.svg", (80, 24), "tagloom-light", *told)
