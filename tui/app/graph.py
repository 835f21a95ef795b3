"""The pane of the graph: it pans by arrows and by dragging, zooms, and follows what happens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, NamedTuple, TypeAlias

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.strip import Strip

from ...viz.cells.grid import BLANK, Cell
from ..panes.graph import Picture
from ..panes.page import Row
from .pane import Pane
from .themes import tinted

MOST_KEPT = 2000
"""So many lines are kept as they were painted: when the graph scrolls, most are the same."""


_SIGN = itemgetter(Cell._fields.index("sign"))

_NOTHING: frozenset[str] = frozenset()

_Run: TypeAlias = tuple[tuple[str, bool], str]
"""A text, all of which has a colour and is strong or is not."""


class _Line(NamedTuple):
    """What a line is painted from: its cells, those without badges, and the boxes in it that are lit."""

    row: tuple[Cell, ...]
    bare: tuple[Cell, ...]
    lit: frozenset[str]

    def is_as(self, other: _Line) -> bool:
        return self.row is other.row and self.bare is other.bare and self.lit == other.lit


class GraphPane(Pane):
    """A pane that shows a picture in cells."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "pan(0, -2)", "up", show=False),
        Binding("down", "pan(0, 2)", "down", show=False),
        Binding("left", "pan(-4, 0)", "left", show=False),
        Binding("right", "pan(4, 0)", "right", show=False),
        Binding("pageup", "pan(0, -15)", "up", show=False),
        Binding("pagedown", "pan(0, 15)", "down", show=False),
    ]

    def __init__(self) -> None:
        super().__init__("graph")
        self.picture: Picture | None = None
        self.follows = True
        self.said = "the graph is laid out …"
        self._grabbed: tuple[Offset, Offset] | None = None
        self._dragged = False
        self._kept: dict[int, tuple[_Line, Strip]] = {}
        self._kept_how: tuple[object, ...] = ()
        self._runs: dict[int, tuple[Sequence[Cell], list[_Run]]] = {}
        """By lines of the picture, as texts: nothing of how the pane looks is in them."""

    def show(self, picture: Picture | None) -> None:
        before, self.picture = self.picture, picture
        if picture is not None:
            self.sized(*picture.drawing.size)
            if self.follows and (
                before is None or before.at != picture.at or before.drawing.size != picture.drawing.size
            ):
                self.reveal()
        self._say()
        self.repaint()

    def told(self, said: str) -> None:
        """Say something about the layout: in the middle where there is no graph yet, else in the border."""
        self.said = said
        self._say()
        self.repaint()

    def _say(self) -> None:
        """Say in the border where there is more of it."""
        if self.picture is None:
            return
        (wide, high), (x, y) = self.picture.drawing.size, self.scroll_offset
        size = self.scrollable_content_region.size
        ways = (("◂", x > 0), ("▸", x + size.width < wide), ("▴", y > 0), ("▾", y + size.height < high))
        more = "".join(sign for sign, there in ways if there)
        manner = "" if self.follows else "stands still"
        more = f"more {more}" if more else ""
        self.note(" · ".join(filter(None, [self.said, more, self.picture.said, manner])))

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_x(old_value, new_value)
        self._say()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._say()

    def reveal(self) -> None:
        """Scroll so that what has just happened can be seen, in the middle if it could not."""
        if self.picture is None or self.picture.at is None:
            return
        row, column = self.picture.at
        size = self.scrollable_content_region.size
        x, y = round(self.scroll_x), round(self.scroll_y)
        if not (x + 4 <= column < x + size.width - 10):
            x = max(column - size.width // 2, 0)
        if not (y + 2 <= row < y + size.height - 2):
            y = max(row - size.height // 2, 0)
        self.scroll_to(x, y, animate=False, force=True)

    def _margin(self) -> int:
        """How many columns stand left of a picture that is narrower than the pane."""
        return max((self.inside.width - self.virtual_size.width) // 2, 0)

    def _above(self) -> int:
        """How many rows stand above a picture that is lower than the pane: it hangs somewhat above the middle."""
        return max((self.inside.height - self.virtual_size.height) // 3, 0)

    def line(self, y: int) -> _Line | str:
        """A line of the picture, or a text in the middle of the line."""
        if self.picture is None:
            return self.said if y == self.inside.height // 2 else ""
        number, drawing = y + round(self.scroll_y) - self._above(), self.picture.drawing
        if not 0 <= number < len(drawing.rows):
            return ""
        return _Line(drawing.rows[number], drawing.bare[number], self.picture.lit.get(number, _NOTHING))

    def paint(self, line: _Line | str) -> Strip:
        wide = self.inside.width
        if isinstance(line, str):
            return Strip([Segment(line.center(wide), self.ink())])
        how = (wide, round(self.scroll_x), self._margin(), self.dark, self.paper)
        if how != self._kept_how or len(self._kept) > MOST_KEPT:
            self._kept, self._kept_how = {}, how
        if len(self._runs) > MOST_KEPT:
            self._runs = {}
        kept = self._kept.get(id(line.row))
        if kept is None or not kept[0].is_as(line):
            kept = self._kept[id(line.row)] = (line, self._strip(line, wide, round(self.scroll_x)))
        return kept[1]

    def _strip(self, line: _Line, wide: int, left: int) -> Strip:
        """A line of the picture, from a column on."""
        margin, pieces = self._margin(), list[Segment]()
        if not line.lit:
            pieces = [Segment(text, self.ink(colour, strong)) for (colour, strong), text in self._texts(line.row)]
        else:
            pairs = zip(line.row, line.bare, strict=True)
            for (colour, strong, is_lit), both in groupby(pairs, lambda pair: _look(pair[0], pair[1], line.lit)):
                said = "".join((plain if is_lit else cell).sign for cell, plain in both)
                under = tinted(colour, self.dark, 0.35) if is_lit else ""
                pieces.append(Segment(said, self.ink(colour, strong, under)))
        strip = Strip(pieces, len(line.row)).crop(left, left + wide)
        if margin:
            strip = Strip.join([Strip([Segment(" " * margin, self.ink())], margin), strip])
        return strip.adjust_cell_length(wide, self.ink())

    def _texts(self, row: Sequence[Cell]) -> list[_Run]:
        """A line of the picture as texts, which are found out once."""
        kept = self._runs.get(id(row))
        if kept is None or kept[0] is not row:
            kept = self._runs[id(row)] = (row, _runs(row))
        return kept[1]

    def action_pan(self, across: int, down: int) -> None:
        self.scroll_to(max(self.scroll_x + across, 0), max(self.scroll_y + down, 0), animate=False, force=True)

    def about(self) -> Row | None:
        return None

    def cell(self, at: Offset) -> Cell:
        """The cell at a place of the pane."""
        if self.picture is None:
            return BLANK
        row, column = at.y + round(self.scroll_y) - self._above(), at.x + round(self.scroll_x) - self._margin()
        rows = self.picture.drawing.rows
        return rows[row][column] if 0 <= row < len(rows) and 0 <= column < len(rows[row]) else BLANK

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._grabbed, self._dragged = (event.screen_offset, self.scroll_offset), False
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._grabbed is None or event.screen_offset == self._grabbed[0]:
            return
        self._dragged = True
        start, scrolled = self._grabbed
        wanted = scrolled + start - event.screen_offset
        self.scroll_to(max(wanted.x, 0), max(wanted.y, 0), animate=False, force=True)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._grabbed = None
        self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or self._dragged or self.picture is None:
            return
        commands = self.picture.commands
        self.ask(
            next((commands[name] for name in self.cell(offset).of if isinstance(name, str) and name in commands), "")
        )


def _runs(row: Sequence[Cell]) -> list[_Run]:
    """A row as texts, each in one look. Blanks go with what is before them, of whatever look they are: nobody sees it,
    and a line of the graph has a third of the pieces then, each of which takes 1 us until it is on the terminal."""
    found: list[_Run] = []
    text, begun, colour, strong = "".join(map(_SIGN, row)), 0, "", False
    for at, cell in enumerate(row):
        if cell.sign != " " and (cell.colour != colour or cell.strong != strong):
            if text[begun:at].strip():
                found.append(((colour, strong), text[begun:at]))
                begun = at
            colour, strong = cell.colour, cell.strong
    return [*found, ((colour, strong), text[begun:])]


def _look(cell: Cell, plain: Cell, lit: frozenset[str]) -> tuple[str, bool, bool]:
    """The colour of a cell, whether it is strong, and whether it is of a box that is lit, and of no badge over it."""
    return cell.colour, cell.strong, cell.colour == plain.colour and not lit.isdisjoint(plain.of)
