"""What all panes have: a border with the names of those that share the place, and keys of its own."""

from __future__ import annotations

from typing import Any

from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView

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

    def place(self, slot: Slot) -> None:
        """Stand there, with the names of the others above."""
        self.styles.offset = (slot.x, slot.y)
        self.styles.width, self.styles.height = slot.width, slot.height
        names = (self._named(each, each == self.pane, len(slot.panes), slot.width) for each in slot.panes)
        self.border_title = " ".join(names)

    def _named(self, pane: str, is_front: bool, count: int, width: int) -> str:
        said = pane if width >= 11 * count or is_front else pane[:3]
        said = f"[dim]{key_of(pane)}[/] {said}"
        return f"[b]{said}[/]" if is_front else f"[@click=app.front('{pane}')]{said}[/]"

    def about(self) -> Row | None:
        """The row that commands are about, if the pane has one."""
        return None

    def ink(self, colour: str = "", strong: bool = False, background: str = "") -> Style:
        """A style in the present theme."""
        return styled(colour, strong, self.app.current_theme.dark, background)

    def ask(self, line: str) -> None:
        """Say that a command is wanted."""
        if line:
            self.post_message(self.Asked(line))

    def sized(self, width: int, height: int) -> None:
        """Be so large inside."""
        size = Size(width, height)
        if size != self.virtual_size:
            self.virtual_size = size

    def show(self, what: Any) -> None:
        """Show this from now on."""
        raise NotImplementedError
