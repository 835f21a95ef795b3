"""The plan of a drawing: where everything is, before anything is painted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..view import View
from .box_rows import Plate, Writing, opened, plates
from .layout import Layout, layout
from .placement import Span
from .routes import Narrow, Routes, route
from .tracks import Border, Channel, rows_of


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
