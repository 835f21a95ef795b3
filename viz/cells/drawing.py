"""The view in the character cells of a terminal, laid out by Graphviz.

Ranks are rows, with a channel between each and the next, in which arrows run along. What is drawn is data: rows of
cells, each with a character, the same in ASCII, a look, and what of the view it belongs to.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..view import View
from .ansi import printed
from .apart import Span
from .badges import marked, places
from .grid import Cell
from .layout import Layout, layout
from .legend import legend
from .paint import Canvas, paint
from .plates import Plate, Writing, opened, plates
from .routes import Narrow, Routes, route
from .seams import carved
from .tracks import Border, Channel, rows_of


class Drawing(NamedTuple):
    """A view in cells."""

    rows: tuple[tuple[Cell, ...], ...]
    legend: tuple[tuple[Cell, ...], ...]
    """What its signs mean."""
    fits: bool
    """Whether it has the size that was wanted."""
    bare: tuple[tuple[Cell, ...], ...]
    """Its rows without badges."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return max(map(len, self.rows), default=0), len(self.rows)

    def text(self, *, unicode: bool = True, colours: bool = False) -> str:
        """All characters, without blanks at the ends of lines."""
        return printed(self.rows, unicode=unicode, colours=colours)

    def places(self) -> dict[str | int, list[tuple[int, int]]]:
        """For each box and frame, by name, and each arrow, by its number in the view, its cells: rows and columns."""
        return places(self.rows)


@dataclass(slots=True)
class Plan:
    """Where everything is, before anything is painted."""

    view: View
    plates: list[Plate]
    layout: Layout
    routes: Routes
    borders: dict[int, list[Border]]
    heights: list[int]
    """Rows of each channel; channel k lies above rank k."""

    def row_of(self, rank: int) -> int:
        """The row in which the boxes of a rank stand."""
        return sum(self.heights[: rank + 1]) + rank


_WRITINGS = (
    Writing(),
    Writing(joined=2),
    Writing(letters=True, longest=18),
    Writing(letters=True, longest=12, joined=2),
    Writing(letters=True, longest=8, joined=3),
)
"""Ways to write a view, the more legible first."""


WIDTH, HEIGHT = 120, 40
"""Columns and rows of a terminal that nobody knows."""

_FAR = 2.0
"""Where a drawing has more columns, or rows, by this factor than are wanted, it is not made less legible in vain."""


def draw_cells(view: View, *, width: int = WIDTH, height: int = HEIGHT) -> Drawing:
    """A view drawn in so many columns and rows; where it cannot be, larger, and the drawing says so.

    Raises Usage where Graphviz cannot lay it out.
    """
    found: list[Drawing] = []
    for writing in _WRITINGS:
        drawing = _drawn(view, writing, width, height)
        if drawing.fits:
            return drawing
        if _excess(drawing.size, width, height) > _FAR:
            return _drawn(view, writing, sys.maxsize, sys.maxsize)._replace(fits=False, legend=drawing.legend)
        found.append(drawing)
    return min(found, key=lambda drawing: _excess(drawing.size, width, height))


def redrawn(drawing: Drawing, view: View) -> Drawing:
    """The drawing of a view that has the boxes and arrows of another, which has been drawn, but other badges: without
    laying it out again. The legend stays."""
    return drawing._replace(rows=tuple(map(tuple, marked(drawing.bare, view))))


def _excess(size: tuple[int, int], width: int, height: int) -> float:
    return max(size[0] / max(width, 1), size[1] / max(height, 1))


def _drawn(view: View, writing: Writing, width: int, height: int) -> Drawing:
    plan = planned(view, writing, height)
    canvas = Canvas()
    paint(canvas, plan)
    grid = carved(canvas.grid(), width, height)
    fits = len(grid) <= height and len(grid[0] if grid else ()) <= width
    bare = tuple(map(tuple, grid))
    return Drawing(tuple(map(tuple, marked(bare, view))), legend(view, writing, width), fits, bare)


def planned(view: View, writing: Writing, height: int) -> Plan:
    """Where everything is, if it is written so, in so many rows if it can be."""
    shown = opened(view)
    wider = Counter[str]()
    while True:
        rows = plates(shown, writing, wider)
        found = layout(shown, rows)
        try:
            routes = route(shown, rows, found)
            break
        except Narrow as narrow:
            wider.update(narrow.boxes)
    borders = _borders(shown, found)
    stood = [_stood(rows, found, rank) for rank in range(-1, found.ranks + 1)]
    channels = [
        Channel(
            [branch for branch in routes.branches if branch.channel == channel],
            borders.get(channel, []),
            stood[channel],
            stood[channel + 1],
        )
        for channel in range(found.ranks + 1)
    ]
    heights = rows_of(channels, height - found.ranks)
    return Plan(shown, rows, found, routes, borders, heights)


def _stood(rows: Sequence[Plate], found: Layout, rank: int) -> frozenset[int]:
    """The columns of a rank in which boxes stand."""
    stands = ((found.plates[plate.name], plate.width) for plate in rows)
    return frozenset(
        column for stand, width in stands if stand.rank == rank for column in range(stand.column, stand.column + width)
    )


def _borders(view: View, found: Layout) -> dict[int, list[Border]]:
    """Upper and lower sides of frames, by channel."""
    borders: dict[int, list[Border]] = {}
    inner_first = [cluster for cluster in view.outside.all() if cluster.name in found.frames][::-1]
    for cluster in inner_first:
        span = found.frames[cluster.name]
        for upper, channel in ((True, span.first), (False, span.last + 1)):
            others = borders.setdefault(channel, [])
            inside = [other.depth + 1 for other in others if other.upper == upper and _within(other, span)]
            others.append(Border(cluster.name, span.left, span.right, upper, max(inside, default=0)))
    return borders


def _within(border: Border, span: Span) -> bool:
    return span.left < border.left and border.right < span.right
