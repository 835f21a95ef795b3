"""What all panes have: a border with the names of those that share the place, and keys of its own."""

from __future__ import annotations

from typing import Any

from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.widget import Widget

from ..panes.arrange import Slot, key_of
from ..panes.page import Row
from .themes import styled


class Pane(ScrollView, can_focus=True):
    """A place of the screen that shows one thing."""

    class Asked(Message):
        """Somebody wants a command done."""

        def __init__(self, line: str) -> None:
            self.line = line
            super().__init__()

    def __init__(self, pane: str) -> None:
        super().__init__(id=pane, classes="pane")
        self.pane = pane
        self.dark, self.paper = True, ""
        self._noted = ""

    def place(self, slot: Slot) -> None:
        """Stand there, with the names of the others above."""
        self.styles.offset = (slot.x, slot.y)
        self.styles.width, self.styles.height = slot.width, slot.height
        room = slot.width - 6
        long = next((long for long in (20, 3, 0) if _length(slot, long) <= room), 0)
        self.border_title = "  ".join(_named(each, each == slot.front, long) for each in slot.panes)

    def note(self, said: str) -> None:
        """Have this stand in the border below. To set it anew has all of the pane painted."""
        if said != self._noted:
            self._noted = self.border_subtitle = said

    def about(self) -> Row | None:
        """The row that commands are about, if the pane has one."""
        return None

    def dress(self, dark: bool, paper: str) -> None:
        """Be in these colours from now on: styles are asked for by the piece, and the theme would be looked up each
        time."""
        self.dark, self.paper = dark, paper
        self.refresh()

    def ink(self, colour: str = "", strong: bool = False, background: str = "") -> Style:
        """A style in the present theme."""
        return styled(colour, strong, self.dark, background or self.paper)

    def ask(self, line: str) -> None:
        """Say that a command is wanted."""
        if line:
            self.post_message(self.Asked(line))

    def sized(self, width: int, height: int) -> None:
        """Be so large inside. Only a scroll bar that comes or goes has the screen laid out, which takes 10 ms."""
        size = Size(width, height)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)

    def show(self, what: Any) -> None:
        """Show this from now on."""
        raise NotImplementedError


def _length(slot: Slot, long: int) -> int:
    return sum(2 + len(each if each == slot.front else each[:long]) + 2 for each in slot.panes)


def _named(pane: str, is_front: bool, long: int) -> str:
    """The name of a pane in a border, a click on which leads there."""
    if is_front:
        return f"{key_of(pane)} [b u]{pane}[/]"
    return f"[@click=app.front('{pane}')][$foreground 70%]{key_of(pane)}{' ' if long else ''}{pane[:long]}[/][/]"
