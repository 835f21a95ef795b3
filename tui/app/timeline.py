"""The timeline pane: a click goes to a position, arrow keys go one event forwards or back."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip

from ..panes.page import PageSpan
from ..panes.timeline import Timeline
from .pane import Pane


class TimelinePane(Pane):
    """A pane that shows a timeline of its own width."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "ask('event-back')", "back", show=False),
        Binding("right", "ask('event')", "on", show=False),
        Binding("home", "ask('start')", "start", show=False),
        Binding("end", "ask('run')", "end", show=False),
    ]

    def __init__(self) -> None:
        super().__init__("timeline")
        self.timeline: Timeline | None = None

    def show_content(self, timeline: Timeline | None) -> None:
        self.timeline = timeline
        self.set_subtitle(timeline.subtitle if timeline is not None else "")
        self.repaint_changed()

    def line_content(self, y: int) -> tuple[PageSpan, ...]:
        rows = () if self.timeline is None else self.timeline.rows
        return rows[y].spans if y < len(rows) else ()

    def paint_line(self, line: tuple[PageSpan, ...]) -> Strip:
        pieces = [Segment(span.text, self.make_style(span.colour, span.bold)) for span in line]
        return Strip(pieces).adjust_cell_length(self.inner_size.width, self.make_style())

    def action_ask(self, line: str) -> None:
        self.request_command(line)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and self.timeline is not None and offset.x < len(self.timeline.click_commands):
            self.request_command(self.timeline.click_commands[offset.x])
