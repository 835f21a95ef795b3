"""The plan of a drawing: the positions of everything, before it is painted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..view import View
from .box_rows import BoxRow, BoxStyle, build_box_rows, without_outer_frame
from .layout import CellLayout, lay_out_rows
from .placement import FrameSpan
from .routes import BoxTooNarrow, Routes, route_arrows
from .tracks import Border, Channel, assign_rows


@dataclass(slots=True)
class DrawingPlan:
    """The positions of everything in a drawing."""

    view: View
    rows: list[BoxRow]
    layout: CellLayout
    routes: Routes
    borders: dict[int, list[Border]]
    heights: list[int]
    """The number of rows of each channel; channel k is above rank k."""

    def row_of(self, rank: int) -> int:
        """The row of the boxes of a rank."""
        return sum(self.heights[: rank + 1]) + rank


def plan_drawing(view: View, writing: BoxStyle, height: int) -> DrawingPlan:
    """Plan the drawing of a view in a style, in at most `height` rows if possible."""
    shown = without_outer_frame(view)
    wider = Counter[str]()
    while True:
        rows = build_box_rows(shown, writing, wider)
        found = lay_out_rows(shown, rows)
        try:
            routes = route_arrows(shown, rows, found)
            break
        except BoxTooNarrow as narrow:
            wider.update(narrow.boxes)
    borders = _frame_borders(shown, found)
    stood = [_box_columns(rows, found, rank) for rank in range(-1, found.ranks + 1)]
    channels = [
        Channel(
            [branch for branch in routes.branches if branch.channel == channel],
            borders.get(channel, []),
            stood[channel],
            stood[channel + 1],
        )
        for channel in range(found.ranks + 1)
    ]
    heights = assign_rows(channels, height - found.ranks)
    return DrawingPlan(shown, rows, found, routes, borders, heights)


def _box_columns(rows: Sequence[BoxRow], found: CellLayout, rank: int) -> frozenset[int]:
    """The columns of a rank that boxes occupy."""
    stands = ((found.placements[plate.name], plate.width) for plate in rows)
    return frozenset(
        column for stand, width in stands if stand.rank == rank for column in range(stand.column, stand.column + width)
    )


def _frame_borders(view: View, found: CellLayout) -> dict[int, list[Border]]:
    """Upper and lower sides of frames, by channel."""
    borders: dict[int, list[Border]] = {}
    inner_first = [cluster for cluster in view.root.walk() if cluster.name in found.frames][::-1]
    for cluster in inner_first:
        span = found.frames[cluster.name]
        for upper, channel in ((True, span.first_rank), (False, span.last_rank + 1)):
            others = borders.setdefault(channel, [])
            inside = [other.depth + 1 for other in others if other.is_upper == upper and _is_within(other, span)]
            others.append(Border(cluster.name, span.left_column, span.right_column, upper, max(inside, default=0)))
    return borders


def _is_within(border: Border, span: FrameSpan) -> bool:
    return span.left_column < border.left_column and border.right_column < span.right_column
