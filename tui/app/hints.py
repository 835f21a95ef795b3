"""The line of keys at the bottom: a click on one is as good as the key."""

from __future__ import annotations

from textual import events
from textual.widgets import Static

from ..panes.help import key_at
from ..panes.page import Row
from .themes import text_of

_NAMES = {
    "<": "less_than_sign",
    ">": "greater_than_sign",
    ".": "full_stop",
    "^p": "ctrl+p",
    "1-0": "ctrl+o",
    "Esc": "escape",
}
"""What Textual calls the keys that are not called as they are written here. To choose a pane the mouse has letters."""


class Hints(Static):
    """The keys that help where one is."""

    def __init__(self) -> None:
        super().__init__(id="hints")
        self._row = Row(())

    def show(self, row: Row, dark: bool) -> None:
        self._row = row
        self.update(text_of(row, dark), layout=False)

    def on_click(self, event: events.Click) -> None:
        key = key_at(self._row, event.x)
        if key:
            self.app.simulate_key(_NAMES.get(key, key.lower() if len(key) > 1 else key))
