"""The keys at the bottom: a click on one is as good as the key."""

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
"""What Textual calls the keys that are not called as they are written here. To choose a pane the mouse has letters."""


class KeyHints(Static):
    """The keys that help where one is, or may follow the leader."""

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
