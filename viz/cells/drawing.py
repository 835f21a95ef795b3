"""The view in the character cells of a terminal, laid out by Graphviz.

Ranks are rows, with a channel between each and the next, in which arrows run along. What is drawn is data: rows of
cells, each with a character, the same in ASCII, a look, and what of the view it belongs to.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from ..view import View
from .ansi import to_text
from .badges import CellPositions, cell_positions, draw_badges
from .box_rows import BoxStyle
from .compress import compress_grid
from .grid import GridCell
from .legend import build_legend
from .paint import Canvas, paint
from .plan import plan_drawing


class Drawing(NamedTuple):
    """A view in cells."""

    rows: tuple[tuple[GridCell, ...], ...]
    legend: tuple[tuple[GridCell, ...], ...]
    """What its signs mean."""
    fits: bool
    """Whether it has the size that was wanted."""
    base_rows: tuple[tuple[GridCell, ...], ...]
    """Its rows without badges."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return max(map(len, self.rows), default=0), len(self.rows)

    def text(self, *, unicode: bool = True, colours: bool = False) -> str:
        """All characters, without blanks at the ends of lines."""
        return to_text(self.rows, unicode=unicode, colours=colours)

    def cell_positions(self) -> dict[str | int, list[tuple[int, int]]]:
        """For each box and frame, by name, and each arrow, by its number in the view, its cells: rows and columns."""
        return cell_positions(self.rows)


_BOX_STYLES = (
    BoxStyle(),
    BoxStyle(max_joined=2),
    BoxStyle(uses_letters=True, max_length=18),
    BoxStyle(uses_letters=True, max_length=12, max_joined=2),
    BoxStyle(uses_letters=True, max_length=8, max_joined=3),
)
"""Ways to write a view, the more legible first."""


WIDTH, HEIGHT = 120, 40
"""Columns and rows of a terminal that nobody knows."""

_MAX_EXCESS = 2.0
"""Where a drawing has more columns, or rows, by this factor than are wanted, it is not made less legible in vain."""


STYLE_COUNT = len(_BOX_STYLES)
"""How many ways there are to write a view."""


def draw_cells(view: View, *, width: int = WIDTH, height: int = HEIGHT, styles: int = STYLE_COUNT) -> Drawing:
    """A view drawn in so many columns and rows; where it cannot be, larger, and the drawing says so. Of the ways to
    write it only the first are tried, which are the more legible.

    Raises Usage where Graphviz cannot lay it out.
    """
    found: list[Drawing] = []
    for writing in _BOX_STYLES[:styles]:
        drawing = _draw(view, writing, width, height)
        if drawing.fits:
            return drawing
        if _excess(drawing.size, width, height) > _MAX_EXCESS:
            return _draw(view, writing, sys.maxsize, sys.maxsize)._replace(fits=False, legend=drawing.legend)
        found.append(drawing)
    return min(found, key=lambda drawing: _excess(drawing.size, width, height))


def redraw(drawing: Drawing, view: View, positions: CellPositions | None = None) -> Drawing:
    """The drawing of a view that has the boxes and arrows of another, which has been drawn, but other badges: without
    laying it out again. The legend stays. `where` are the places of the bare drawing, if somebody keeps them."""
    return drawing._replace(rows=draw_badges(drawing.base_rows, view, positions))


def _excess(size: tuple[int, int], width: int, height: int) -> float:
    return max(size[0] / max(width, 1), size[1] / max(height, 1))


def _draw(view: View, writing: BoxStyle, width: int, height: int) -> Drawing:
    plan = plan_drawing(view, writing, height)
    canvas = Canvas()
    paint(canvas, plan)
    grid = compress_grid(canvas.grid(), width, height)
    fits = len(grid) <= height and len(grid[0] if grid else ()) <= width
    bare = tuple(map(tuple, grid))
    return Drawing(draw_badges(bare, view), build_legend(view, writing, width), fits, bare)
