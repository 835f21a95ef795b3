"""A view drawn in the character cells of a terminal, laid out by Graphviz.

Ranks are rows; between two ranks is a channel, in which arrows run sideways. A drawing is data: rows of cells, each
with a character, its ASCII replacement, a look, and the boxes or arrows of the view that it belongs to.
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

_MAX_EXCESS = 2.0
"""If a drawing exceeds the requested columns or rows by more than this factor, less legible styles are not tried."""


STYLE_COUNT = len(_BOX_STYLES)
"""The number of styles."""


def draw_cells(view: View, *, width: int = WIDTH, height: int = HEIGHT, styles: int = STYLE_COUNT) -> Drawing:
    """Draw a view in at most `width` columns and `height` rows; if that is impossible, larger, with `fits` false. Only
    the first `styles` styles, the most legible, are tried.

    Raises Usage if Graphviz cannot lay it out.
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
    """Redraw with the badges of `view`, which must have the boxes and arrows of the drawn one; the layout and the
    legend stay. `positions` are the cells of the bare drawing, computed if not given."""
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
