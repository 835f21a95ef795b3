"""The pane of the timeline: a click goes there, arrows go an event on and back."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip

from ..panes.timeline import Timeline
from .pane import Pane


class TimelinePane(Pane):
    """A pane that shows a timeline, which is as wide as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "ask('event-back')", "back", show=False),
        Binding("right", "ask('event')", "on", show=False),
        Binding("home", "ask('start')", "start", show=False),
        Binding("end", "ask('run')", "end", show=False),
    ]

    def __init__(self) -> None:
        super().__init__("timeline")
        self.line: Timeline | None = None

    def show(self, line: Timeline | None) -> None:
        self.line = line
        self.note(line.said if line is not None else "")
        self.refresh()

    def render_line(self, y: int) -> Strip:
        wide = self.size.width
        if self.line is None or y >= len(self.line.rows):
            return Strip.blank(wide, self.ink())
        spans = self.line.rows[y].spans
        pieces = [Segment(span.text, self.ink(span.colour, span.strong)) for span in spans]
        return Strip(pieces).adjust_cell_length(wide, self.ink())

    def action_ask(self, line: str) -> None:
        self.ask(line)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and self.line is not None and offset.x < len(self.line.goes):
            self.ask(self.line.goes[offset.x])
