"""Panes of lines. Most have a cursor, and Enter or a click runs the command of a line; in the timeline a click goes to
a position."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip

from ...viz.style import GREY, ORANGE, SKY
from ..panes.page import LazyRows, PageRow, PageSpan, PanePage
from ..panes.timeline import Timeline
from .pane import Pane
from .themes import tint


class LinesPane(Pane):
    """A pane that shows a page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False),
        Binding("down", "move(1)", "down", show=False),
        Binding("pageup", "leaf(-1)", "page up", show=False),
        Binding("pagedown", "leaf(1)", "page down", show=False),
        Binding("home", "move(-1000000000)", "first", show=False),
        Binding("end", "move(1000000000)", "last", show=False),
        Binding("left", "aside(-8)", "left", show=False),
        Binding("right", "aside(8)", "right", show=False),
        Binding("enter", "choose", "do", show=False),
    ]

    def __init__(self, pane: str) -> None:
        super().__init__(pane)
        self.page = PanePage(())
        self.cursor = 0

    def show_content(self, page: PanePage) -> None:
        before, self.page = self.page, page
        if page == before:
            return
        self.set_subtitle(page.subtitle)
        rows, at = page.rows, page.target_row or 0
        visible_rows = rows[at : at + max(self.size.height, 1)] if isinstance(rows, LazyRows) else rows
        width = (
            max((len(visible_row.text) for visible_row in visible_rows), default=0)
            if page.width is None
            else page.width
        )
        self.set_virtual_size(width, len(rows))
        has_moved = page.target_row is not None and (page.target_row, len(rows)) != (
            before.target_row,
            len(before.rows),
        )
        self.cursor = (
            page.target_row if has_moved and page.target_row is not None else min(self.cursor, max(len(rows) - 1, 0))
        )
        if has_moved:
            self._scroll_to_target()
        self.repaint_changed()

    def _scroll_to_target(self) -> None:
        """Scroll to the target row of the page."""
        if self.page.is_target_first and self.cursor == self.page.target_row:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        else:
            self._scroll_to_cursor(margin=3)

    def _scroll_to_cursor(self, margin: int = 0) -> None:
        """Scroll until the cursor is visible."""
        top, tall = round(self.scroll_y), self.scrollable_content_region.height
        if tall <= 0:
            return
        margin = min(margin, max((tall - 1) // 2, 0))
        if not top + margin <= self.cursor < top + tall - margin:
            target = self.cursor - (tall // 2 if margin else 0 if self.cursor < top else tall - 1)
            self.scroll_to(y=max(target, 0), animate=False, force=True)

    def cursor_row(self) -> PageRow | None:
        return self.page.rows[self.cursor] if self.cursor < len(self.page.rows) else None

    def line_content(self, y: int) -> tuple[tuple[PageSpan, ...], str]:
        """The spans of a line, and the background colour."""
        number = y + round(self.scroll_y)
        if number >= len(self.page.rows):
            return (), ""
        row = self.page.rows[number]
        if row.indent:
            top, size = round(self.scroll_y), self.inner_size
            row = row.outdent(self.page.hidden_indent(top, size.height, size.width))
        spans = row.spans if round(self.scroll_x) else row.fit(self.inner_size.width)
        if number == self.cursor and self.has_focus:
            return spans, tint(SKY, self.dark, 0.35)
        return spans, tint(ORANGE, self.dark, 0.22) if row.is_current else ""

    def paint_line(self, line: tuple[tuple[PageSpan, ...], str]) -> Strip:
        (spans, background), width, left = line, self.inner_size.width, round(self.scroll_x)
        base = self.make_style(background=background)
        strip = Strip(
            Segment(span.text, self.make_style(span.colour, span.bold, background, span.underlined)) for span in spans
        )
        visible = strip.crop_extend(left, left + width, base)
        ellipsis = Strip([Segment("…", self.make_style(GREY, background=background))])
        if left and strip.cell_length:
            visible = Strip.join([ellipsis, visible.crop(1)])
        return Strip.join([visible.crop(0, width - 1), ellipsis]) if strip.cell_length > left + width else visible

    def action_move(self, by: int) -> None:
        self.cursor = min(max(self.cursor + by, 0), max(len(self.page.rows) - 1, 0))
        self._scroll_to_cursor()
        self.repaint_changed()

    def action_leaf(self, way: int) -> None:
        self.action_move(way * max(self.scrollable_content_region.height - 1, 1))

    def action_aside(self, by: int) -> None:
        self.scroll_to(x=max(self.scroll_x + by, 0), animate=False)

    def action_choose(self) -> None:
        row = self.cursor_row()
        if row is not None:
            self.request_command(row.command)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or (number := offset.y + round(self.scroll_y)) >= len(self.page.rows):
            return
        self.cursor = number
        self.repaint_changed()
        self.action_choose()

    def on_resize(self, event: Any) -> None:
        self._scroll_to_target()


# The timeline


class TimelinePane(Pane):
    """A pane that shows a timeline as wide as itself."""

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
