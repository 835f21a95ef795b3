"""The widget of a notebook: a page of the player, and a history in the kernel that moves with it.

A step on the page moves the history, and after each cell the page shows the position of the history. anywidget, which
connects the two, comes with `pip install "tagloom[notebook]"`.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from ...core.escape import escape_line
from ...interp.history.history import History
from .page import HEIGHT, PlayerSelection, page_of_beginning, read_asset


class HistoryWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """A page that plays a history, as a widget. `position` is the number of events before the shown moment."""

    _esm = read_asset("widget.js")
    html = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(HEIGHT).tag(sync=True)
    position = traitlets.Int().tag(sync=True)
    _events: Any = None
    """The events of the notebook's shell; a widget whose page is refused is closed, too, and has none."""

    def __init__(self, history: History, choice: PlayerSelection) -> None:
        position = history.position
        try:
            page = page_of_beginning(history, choice)
        finally:
            history.jump(position)
        self.history, self.event_count = history, min(len(history), choice.max_events)
        super().__init__(html=page.html, title=escape_line(page.name), position=min(position, self.event_count))
        self.observe(self.move_history, "position")
        self._events = shell_events()
        if self._events is not None:
            self._events.register("post_run_cell", self.follow_history)

    def move_history(self, change: Any) -> None:
        """Move the history to the position of the page."""
        position = min(max(int(change["new"]), 0), self.event_count)
        if position != min(self.history.position, self.event_count):
            self.history.jump(position)

    def follow_history(self, *_: Any) -> None:
        """Show the position of the history, or the last one that the page has."""
        self.position = min(self.history.position, self.event_count)

    def close(self) -> None:
        """Remove the widget."""
        if self._events is not None:
            self._events.unregister("post_run_cell", self.follow_history)
            self._events = None
        super().close()


def shell_events() -> Any:
    """The events of the notebook's shell; None outside of IPython."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return None if shell is None else shell.events
