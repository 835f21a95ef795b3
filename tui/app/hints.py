"""The key hints at the bottom; a click on one presses the key."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.widgets import Static

from ..panes.help import key_at
from ..panes.page import PageRow
from .themes import row_text

_TEXTUAL_KEYS = {
    "<": "less_than_sign",
    ">": "greater_than_sign",
    ".": "full_stop",
    "^p": "ctrl+p",
    "1-0": "ctrl+o",
    "Esc": "escape",
}
"""Textual's names for keys that are written differently here. Panes are chosen by letters, for the mouse."""


class KeyHints(Static):
    """The keys of the focused pane, or those that may follow the leader."""

    def __init__(self) -> None:
        super().__init__(id="hints")
        self._rows: tuple[PageRow, ...] = ()

    def show_rows(self, rows: tuple[PageRow, ...], dark: bool) -> None:
        self._rows = rows
        self.update(Text("\n", no_wrap=True).join(row_text(row, dark) for row in rows), layout=False)

    def on_click(self, event: events.Click) -> None:
        key = key_at(self._rows[event.y], event.x) if event.y < len(self._rows) else ""
        if key:
            self.app.simulate_key(_TEXTUAL_KEYS.get(key, key.lower() if len(key) > 1 else key))
