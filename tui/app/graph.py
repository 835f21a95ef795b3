"""The graph pane: it scrolls by arrow keys and by dragging, zooms, and follows the run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, NamedTuple, TypeAlias

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip

from ...viz.terminal.grid import BLANK, GridCell
from ..panes.graph import GraphPicture
from ..panes.page import PageRow
from .pane import Pane
from .themes import tint

MAX_CACHED_LINES = 2000
"""The number of painted lines in the cache: when the graph scrolls, most lines stay the same."""


_GLYPH = itemgetter(GridCell._fields.index("glyph"))

_NO_BOXES: frozenset[str] = frozenset()

_TextRun: TypeAlias = tuple[tuple[str, bool], str]
"""A piece of text in one colour, bold or not."""


class _GraphLine(NamedTuple):
    """The data of a painted line: its cells, its cells without badges, and its highlighted boxes."""

    row: tuple[GridCell, ...]
    base_row: tuple[GridCell, ...]
    highlighted: frozenset[str]

    def is_same(self, other: _GraphLine) -> bool:
        return self.row is other.row and self.base_row is other.base_row and self.highlighted == other.highlighted


class GraphPane(Pane):
    """A pane that shows a picture in cells."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "pan(0, -2)", "up", show=False),
        Binding("down", "pan(0, 2)", "down", show=False),
        Binding("left", "pan(-4, 0)", "left", show=False),
        Binding("right", "pan(4, 0)", "right", show=False),
        Binding("pageup", "pan(0, -15)", "up", show=False),
        Binding("pagedown", "pan(0, 15)", "down", show=False),
        Binding("enter", "restart_layout", "lay out", show=False),
    ]

    class LayoutRequested(Message):
        """A request to lay the graph out again after that was stopped."""

    def __init__(self, pane: str = "graph") -> None:
        super().__init__(pane)
        self.picture: GraphPicture | None = None
        self.is_following = True
        self.message = "laying out the graph …"
        self._drag_start: tuple[Offset, Offset] | None = None
        self._is_dragged = False
        self._strip_cache: dict[int, tuple[_GraphLine, Strip]] = {}
        self._strip_cache_key: tuple[object, ...] = ()
        self._text_run_cache: dict[int, tuple[Sequence[GridCell], list[_TextRun]]] = {}
        """Text runs by line of the picture, independent of the pane's look."""

    def show_content(self, picture: GraphPicture | None) -> None:
        before, self.picture = self.picture, picture
        if picture is not None:
            self.set_virtual_size(*picture.drawing.size)
            if (self.is_following or picture.has_found_node) and (
                before is None or before.focus_cell != picture.focus_cell or before.drawing.size != picture.drawing.size
            ):
                self.scroll_to_event()
        self._update_subtitle()
        self.repaint_changed()

    def show_message(self, message: str) -> None:
        """Show a message about the layout: in the middle if there is no graph yet, else in the border."""
        self.message = message
        self._update_subtitle()
        self.repaint_changed()

    def _update_subtitle(self) -> None:
        """Show in the border in which directions the graph continues."""
        if self.picture is None:
            return
        (columns, rows), (x, y) = self.picture.drawing.size, self.scroll_offset
        size = self.scrollable_content_region.size
        directions = (("◂", x > 0), ("▸", x + size.width < columns), ("▴", y > 0), ("▾", y + size.height < rows))
        more = "".join(sign for sign, is_hidden in directions if is_hidden)
        mode = "" if self.is_following else "not following"
        more = f"more {more}" if more else ""
        self.set_subtitle(" · ".join(filter(None, [self.message, more, mode, self.picture.subtitle])))

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_x(old_value, new_value)
        self._update_subtitle()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._update_subtitle()

    def scroll_to_event(self) -> None:
        """Scroll to the last event; if it was out of sight, to the middle of the pane."""
        if self.picture is None or self.picture.focus_cell is None:
            return
        row, column = self.picture.focus_cell
        size = self.scrollable_content_region.size
        x, y = round(self.scroll_x), round(self.scroll_y)
        if not (x + 4 <= column < x + size.width - 10):
            x = max(column - size.width // 2, 0)
        if not (y + 2 <= row < y + size.height - 2):
            y = max(row - size.height // 2, 0)
        self.scroll_to(x, y, animate=False, force=True)

    def _left_margin(self) -> int:
        """The columns left of a picture that is narrower than the pane."""
        return max((self.inner_size.width - self.virtual_size.width) // 2, 0)

    def _top_margin(self) -> int:
        """The rows above a picture that is lower than the pane; it is placed slightly above the middle."""
        return max((self.inner_size.height - self.virtual_size.height) // 3, 0)

    def line_content(self, y: int) -> _GraphLine | str:
        """A line of the picture, or a message in the middle line."""
        if self.picture is None:
            return self.message if y == self.inner_size.height // 2 else ""
        number, drawing = y + round(self.scroll_y) - self._top_margin(), self.picture.drawing
        if not 0 <= number < len(drawing.rows):
            return ""
        return _GraphLine(
            drawing.rows[number], drawing.base_rows[number], self.picture.highlighted_rows.get(number, _NO_BOXES)
        )

    def paint_line(self, line: _GraphLine | str) -> Strip:
        width = self.inner_size.width
        if isinstance(line, str):
            return Strip([Segment(line.center(width), self.make_style())])
        key = (width, round(self.scroll_x), self._left_margin(), self.dark, self.background_colour)
        if key != self._strip_cache_key or len(self._strip_cache) > MAX_CACHED_LINES:
            self._strip_cache, self._strip_cache_key = {}, key
        if len(self._text_run_cache) > MAX_CACHED_LINES:
            self._text_run_cache = {}
        cached = self._strip_cache.get(id(line.row))
        if cached is None or not cached[0].is_same(line):
            cached = self._strip_cache[id(line.row)] = (line, self._build_strip(line, width, round(self.scroll_x)))
        return cached[1]

    def _build_strip(self, line: _GraphLine, width: int, left: int) -> Strip:
        """Paint a line of the picture from a column on."""
        margin, pieces = self._left_margin(), list[Segment]()
        if not line.highlighted:
            pieces = [
                Segment(text, self.make_style(colour, strong)) for (colour, strong), text in self._text_runs(line.row)
            ]
        else:
            pairs = zip(line.row, line.base_row, strict=True)
            for (colour, strong, is_lit), both in groupby(
                pairs, lambda pair: cell_look(pair[0], pair[1], line.highlighted)
            ):
                glyphs = "".join((plain if is_lit else cell).glyph for cell, plain in both)
                background = tint(colour, self.dark, 0.35) if is_lit else ""
                pieces.append(Segment(glyphs, self.make_style(colour, strong, background)))
        strip = Strip(pieces, len(line.row)).crop(left, left + width)
        if margin:
            strip = Strip.join([Strip([Segment(" " * margin, self.make_style())], margin), strip])
        return strip.adjust_cell_length(width, self.make_style())

    def _text_runs(self, row: Sequence[GridCell]) -> list[_TextRun]:
        """The text runs of a line, cached."""
        cached = self._text_run_cache.get(id(row))
        if cached is None or cached[0] is not row:
            cached = self._text_run_cache[id(row)] = (row, split_text_runs(row))
        return cached[1]

    def action_pan(self, across: int, down: int) -> None:
        self.scroll_to(max(self.scroll_x + across, 0), max(self.scroll_y + down, 0), animate=False, force=True)

    def action_restart_layout(self) -> None:
        self.post_message(self.LayoutRequested())

    def cursor_row(self) -> PageRow | None:
        return None

    def cell_at(self, offset: Offset) -> GridCell:
        """The cell at an offset in the pane."""
        if self.picture is None:
            return BLANK
        row, column = (
            offset.y + round(self.scroll_y) - self._top_margin(),
            offset.x + round(self.scroll_x) - self._left_margin(),
        )
        rows = self.picture.drawing.rows
        return rows[row][column] if 0 <= row < len(rows) and 0 <= column < len(rows[row]) else BLANK

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._drag_start, self._is_dragged = (event.screen_offset, self.scroll_offset), False
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag_start is None or event.screen_offset == self._drag_start[0]:
            return
        self._is_dragged = True
        start, scrolled = self._drag_start
        target = scrolled + start - event.screen_offset
        self.scroll_to(max(target.x, 0), max(target.y, 0), animate=False, force=True)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._drag_start = None
        self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or self._is_dragged:
            return
        if self.picture is None:
            self.action_restart_layout()
            return
        commands = self.picture.commands
        self.request_command(
            next(
                (commands[name] for name in self.cell_at(offset).owners if isinstance(name, str) and name in commands),
                "",
            )
        )


def split_text_runs(row: Sequence[GridCell]) -> list[_TextRun]:
    """Split a row into texts of one look each. Blanks are joined to the text before them, because their look is
    invisible; the graph then has a third of the pieces, and each piece takes 1 us to reach the terminal."""
    runs: list[_TextRun] = []
    text, start, colour, bold = "".join(map(_GLYPH, row)), 0, "", False
    for at, cell in enumerate(row):
        if cell.glyph != " " and (cell.colour != colour or cell.bold != bold):
            if text[start:at].strip():
                runs.append(((colour, bold), text[start:at]))
                start = at
            colour, bold = cell.colour, cell.bold
    return [*runs, ((colour, bold), text[start:])]


def cell_look(cell: GridCell, base_cell: GridCell, highlighted: frozenset[str]) -> tuple[str, bool, bool]:
    """The colour of a cell, whether it is bold, and whether it belongs to a highlighted box without a badge over it."""
    return cell.colour, cell.bold, cell.colour == base_cell.colour and not highlighted.isdisjoint(base_cell.owners)
