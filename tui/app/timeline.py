"""The pane of the timeline: a click goes there, arrows go an event on and back."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip

from ..panes.page import Span
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
        self.timeline: Timeline | None = None

    def show(self, timeline: Timeline | None) -> None:
        self.timeline = timeline
        self.note(timeline.said if timeline is not None else "")
        self.repaint()

    def line(self, y: int) -> tuple[Span, ...]:
        rows = () if self.timeline is None else self.timeline.rows
        return rows[y].spans if y < len(rows) else ()

    def paint(self, line: tuple[Span, ...]) -> Strip:
        pieces = [Segment(span.text, self.ink(span.colour, span.strong)) for span in line]
        return Strip(pieces).adjust_cell_length(self.inside.width, self.ink())

    def action_ask(self, line: str) -> None:
        self.ask(line)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and self.timeline is not None and offset.x < len(self.timeline.goes):
            self.ask(self.timeline.goes[offset.x])
