"""Drawings of views in the character cells of a terminal, laid out by Graphviz.

A rank is a row of boxes; between two ranks is a channel, in which arrows run sideways. A drawing is data: rows of
cells, each with a character, its ASCII replacement, a look, and the boxes or arrows of the view that it belongs to.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NamedTuple

from ..style import BADGE_LOOKS, BOX_LOOKS, LINE_LOOKS
from ..view import BoxKind, LinkKind, View
from .badges import CellPositions, cell_positions, draw_badges
from .box_rows import BOX_DELIMITERS, BoxStyle, named_operands
from .compress import compress_grid
from .grid import BLANK, HEADS, LEFT, RIGHT, STROKES, Grid, GridCell, text_cells, to_text
from .paint import Canvas, paint, plan_drawing


class Drawing(NamedTuple):
    """A view drawn in cells."""

    rows: tuple[tuple[GridCell, ...], ...]
    legend: tuple[tuple[GridCell, ...], ...]
    """The meaning of its signs."""
    fits: bool
    """Whether it fits the size that was requested."""
    base_rows: tuple[tuple[GridCell, ...], ...]
    """Its rows without badges."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return max(map(len, self.rows), default=0), len(self.rows)

    def text(self, *, unicode: bool = True, colours: bool = False) -> str:
        """The drawing as text, without trailing blanks."""
        return to_text(self.rows, unicode=unicode, colours=colours)

    def cell_positions(self) -> dict[str | int, list[tuple[int, int]]]:
        """The cells (row, column) of each box and frame, by name, and of each arrow, by number in the view."""
        return cell_positions(self.rows)


_BOX_STYLES = (
    BoxStyle(),
    BoxStyle(max_joined=2),
    BoxStyle(uses_letters=True, max_length=18),
    BoxStyle(uses_letters=True, max_length=12, max_joined=2),
    BoxStyle(uses_letters=True, max_length=8, max_joined=3),
)
"""The styles in which boxes can be written, most legible first."""


WIDTH, HEIGHT = 120, 40
"""The size assumed for a terminal of unknown size."""

_MAX_STYLE_EXCESS = 2.0
"""If a drawing exceeds the requested columns or rows by more than this factor, less legible styles are not tried."""


_WHOLE_TITLE_LENGTH = 64
"""The most characters of a title in a drawing with room for whole titles."""

STYLE_COUNT = len(_BOX_STYLES)
"""The number of styles."""


def draw_cells(
    view: View,
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    max_width: int | None = None,
    style_count: int = STYLE_COUNT,
) -> Drawing:
    """Draw a view in at most `width` columns and `height` rows; if that is impossible, draw it larger and set `fits` to
    False. Only the first `style_count` styles, the most legible ones, are tried.

    The drawing fits in `max_width` columns, too, by default `width`; but titles are whole only if `width` is enough.

    Raises Usage if Graphviz cannot lay it out.
    """
    drawings: list[Drawing] = []
    for style in _BOX_STYLES[:style_count]:
        drawing = draw_with_style(view, style, width if max_width is None else max_width, height)
        if drawing.fits:
            return draw_details(view, style, max(width, drawing.size[0]), height) or drawing
        if _excess(drawing.size, width, height) > _MAX_STYLE_EXCESS:
            roomy = draw_with_style(view, style._replace(has_names=True), sys.maxsize, sys.maxsize)
            return roomy._replace(fits=False, legend=drawing.legend)
        drawings.append(drawing)
    return min(drawings, key=lambda drawing: _excess(drawing.size, width, height))


def draw_details(view: View, style: BoxStyle, width: int, height: int) -> Drawing | None:
    """Draw a view with what the style leaves out: the ends of titles, and the names that formulas give to other boxes.
    If both do not fit, then one of them. None if nothing is left out, or if it does not fit."""
    is_cut = any(len(box.title) > style.max_length for box in view.boxes.values())
    whole = style._replace(max_length=_WHOLE_TITLE_LENGTH) if is_cut else style
    styles = [base._replace(has_names=True) for base in (whole, style)] if named_operands(view) else []
    for detailed in dict.fromkeys([*styles[:1], whole, *styles[1:]]):
        if detailed != style:
            drawing = draw_with_style(view, detailed, width, height)
            if drawing.fits:
                return drawing
    return None


def redraw(drawing: Drawing, view: View, positions: CellPositions | None = None) -> Drawing:
    """Replace the badges of a drawing by the badges of `view`, which must have the same boxes and arrows as the drawn
    view. `positions` are the cells of the drawing without badges, computed if not given."""
    return drawing._replace(rows=draw_badges(drawing.base_rows, view, positions))


def _excess(size: tuple[int, int], width: int, height: int) -> float:
    return max(size[0] / max(width, 1), size[1] / max(height, 1))


def draw_with_style(view: View, style: BoxStyle, width: int, height: int) -> Drawing:
    """Draw a view in one style, compressed to fit if possible."""
    plan = plan_drawing(view, style, height)
    canvas = Canvas()
    paint(canvas, plan)
    grid = compress_grid(canvas.grid(), width, height)
    fits = len(grid) <= height and len(grid[0] if grid else ()) <= width
    bare = tuple(map(tuple, add_margin(grid, width)))
    return Drawing(draw_badges(bare, view), build_legend(view, style, width), fits, bare)


def add_margin(grid: Grid, width: int) -> Grid:
    """The grid with a blank column at the right, where the badge of a box has room, unless none of its rows ends in a
    box, or the column would make it too wide."""
    if not grid or len(grid[0]) == width or all(row[-1] == BLANK for row in grid):
        return grid
    return [[*row, BLANK] for row in grid]


# The legend: the meaning of the signs in a drawing


LINK_MEANINGS: dict[LinkKind, str] = {
    "data": "data",
    "predicate": "predicate",
    "trigger": "trigger",
    "order": "order of effects",
    "call": "call, return",
    "back": "next iteration",
    "before": "previous iteration",
    "control": "control",
    "cell": "through a cell",
    "below": "is below",
}
"""The meaning of each kind of arrow."""

LETTER_KINDS: tuple[BoxKind, ...] = (
    "merge", "switch", "call", "return", "enter", "exit", "next_iteration", "reenter", "back", "pullback",
)  # fmt: skip
"""Kinds of boxes that are named in words, if there is room."""

_SELF_EVIDENT_KINDS: tuple[BoxKind, ...] = ("argument", "result")
"""Kinds of boxes whose letters are signs that need no words."""


def build_legend(view: View, style: BoxStyle, width: int) -> tuple[tuple[GridCell, ...], ...]:
    """Rows of cells, if possible no wider than `width`, that explain arrows, letters and badges."""
    entries = [*arrow_entries(view), *badge_entries(view), *letter_entries(view, style)]
    rows: list[list[GridCell]] = []
    for entry in entries:
        if rows and len(rows[-1]) + len(entry) + 3 <= width:
            rows[-1] += [GridCell()] * 3 + entry
        else:
            rows.append(list(entry))
    return tuple(map(tuple, rows))


def arrow_entries(view: View) -> Iterable[list[GridCell]]:
    """The legend of the kinds of arrows in a view."""
    links = {arrow.link for arrow in view.arrows}
    for link, meaning in LINK_MEANINGS.items():
        if link in links:
            look = LINE_LOOKS[link]
            line, head = STROKES[look.style], HEADS[look.head][2]
            cell = GridCell(colour=look.colour)
            signs = [(line.glyph(LEFT | RIGHT), line.horizontal)] * 2 + ([(head[0], head[1])] if head else [])
            yield [cell._replace(glyph=sign, ascii=plain) for sign, plain in signs] + text_cells(
                f" {meaning}", GridCell()
            )


def badge_entries(view: View) -> Iterable[list[GridCell]]:
    """The legend of the badges in a view."""
    for mark in view.marks:
        sign = BADGE_LOOKS[mark]
        if mark != "more":
            first = GridCell(sign.glyph, sign.ascii, sign.colour, True)
            yield [first, *text_cells(f" {sign.meaning}", GridCell())]


def letter_entries(view: View, style: BoxStyle) -> Iterable[list[GridCell]]:
    """The legend of the letters in a view: those that replace words, and those of kinds without characters of their own
    in BOX_DELIMITERS."""
    kinds = {box.kind for box in view.boxes.values()}
    for kind, look in BOX_LOOKS.items():
        if kind in kinds and _has_letter(kind, style):
            letter = text_cells(look.letter, GridCell(colour=look.colour, bold=True))
            yield letter + text_cells(f" {kind.replace('_', ' ')}", GridCell())


def _has_letter(kind: BoxKind, style: BoxStyle) -> bool:
    return (
        kind in LETTER_KINDS
        if kind in BOX_DELIMITERS and style.uses_letters
        else kind not in (*BOX_DELIMITERS, *_SELF_EVIDENT_KINDS)
    )
