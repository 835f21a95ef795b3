"""The command line, with completion and history; and the key hints at the bottom, where a click presses the key."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.widgets.input import Selection

from ..panes.help import key_at
from ..panes.page import PageRow
from ..session.session import Session, complete_line
from .pane import textual_key
from .themes import row_text


def command_for_pasted_file(text: str) -> str:
    """The command that opens a file, if the text is its path or address, as terminals paste it when a file is dropped
    on them; else empty.

    >>> command_for_pasted_file("no such file.py")
    ''
    """
    try:
        (path,) = shlex.split(text)
        if path.startswith("file:"):
            path = unquote(urlsplit(path).path)
        word = f'"{path}"' if "'" in path else shlex.quote(path)
        return f"load {word} " if Path(path).is_file() else ""
    except (ValueError, OSError):  # not one word, an open quotation mark, no address, or a path that cannot be read
        return ""


class CommandSuggester(Suggester):
    """Suggests a completion of the last word of a line."""

    def __init__(self, session: Session) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.session = session

    async def get_suggestion(self, value: str) -> str | None:
        return complete_line(self.session, value)


class CommandLine(Input):
    """The command line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave", show=False),
        Binding("tab", "cursor_right_all", "complete", show=False, priority=True),
        Binding("up", "older(1)", "older", show=False),
        Binding("down", "older(-1)", "newer", show=False),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__(
            id="line",
            placeholder="a command; Tab completes, Up recalls earlier ones, Esc leaves",
            compact=True,
            select_on_focus=False,
        )
        self.suggester = CommandSuggester(session)
        self.history: list[str] = []
        self._history_index = 0
        self._previous_focus: Widget | None = None
        self.display = False

    def open_with(self, line: str) -> None:
        """Open the command line with this text. Suggested arguments are selected, so that typing replaces them; a line
        that ends in a space expects more words."""
        self.value, self._history_index = line, 0
        self._previous_focus = self.screen.focused
        self.display = True
        self.screen.add_class("typing")  # it replaces the line of the last event
        self.screen.set_focus(self)  # at once: what is typed next is for this line
        arguments = line.find(" ") + 1
        is_complete = arguments and not line.endswith(" ")
        self.selection = Selection(arguments if is_complete else len(line), len(line))

    def add_to_history(self, line: str) -> None:
        """Add a line to the history."""
        self.history = [*(entry for entry in self.history if entry != line), line]

    def action_leave(self) -> None:
        self.display = False
        self.screen.remove_class("typing")
        self.screen.set_focus(self._previous_focus)

    def action_cursor_right_all(self) -> None:
        self.action_cursor_right() if self.cursor_position < len(self.value) else self._accept_suggestion()

    def _accept_suggestion(self) -> None:
        if self._suggestion:
            self.value = self._suggestion
            self.cursor_position = len(self.value)

    def action_older(self, by: int) -> None:
        self._history_index = min(max(self._history_index + by, 0), len(self.history))
        self.value = self.history[-self._history_index] if self._history_index else ""
        self.cursor_position = len(self.value)


# Key hints


class KeyHints(Static):
    """The daily keys, or those that may follow the leader."""

    def __init__(self) -> None:
        super().__init__(id="hints")
        self._rows: tuple[PageRow, ...] = ()

    def show_rows(self, rows: tuple[PageRow, ...], dark: bool) -> None:
        self._rows = rows
        self.update(Text("\n", no_wrap=True).join(row_text(row, dark) for row in rows), layout=False)

    def on_click(self, event: events.Click) -> None:
        key = key_at(self._rows[event.y], event.x) if event.y < len(self._rows) else ""
        if key:
            self.app.simulate_key(textual_key(key))
