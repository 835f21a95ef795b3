"""The layout by Graphviz, in cells of a terminal.

Graphviz gets boxes of their size in cells, and returns their order, their positions, and the courses of arrows between
them. This module draws nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..render import COORDINATE_FORMAT, render
from ..view import Cluster, View, ViewArrow
from .box_rows import JOINT_WIDTH, BoxRow
from .placement import FrameSpan, Placement, place_rows

_POINTS_PER_COLUMN = 10
"""The width of a column in the layout, in points."""

Point = tuple[float, float]


class CellLayout(NamedTuple):
    """The layout of a view; rows of boxes and clusters by name."""

    placements: dict[str, Placement]
    frames: dict[str, FrameSpan]
    courses: dict[int, dict[int, float]]
    """For each arrow, by number in the view, the column at which it passes each rank."""

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return max((stand.rank for stand in self.placements.values()), default=-1) + 1


def lay_out_rows(view: View, plates: Sequence[BoxRow], *, timeout: float = 120) -> CellLayout:
    """Lay out rows of boxes, which contain each box of the view once.

    Raises Usage in the same cases as `render`.
    """
    said = json.loads(render(_dot(view, plates), COORDINATE_FORMAT, timeout=timeout))
    objects = {thing["name"]: thing for thing in said.get("objects", ())}
    middles = {
        plate.name: tuple(map(float, objects[f"p{number}"]["pos"].split(","))) for number, plate in enumerate(plates)
    }
    heights = sorted({y for _, y in middles.values()}, reverse=True)
    rank = {y: number for number, y in enumerate(heights)}
    wanted = {
        plate.name: Placement(
            rank[middles[plate.name][1]], round(middles[plate.name][0] / _POINTS_PER_COLUMN - plate.width / 2)
        )
        for plate in plates
    }
    courses = {
        int(edge["arrow"]): _spline_columns(edge["pos"], heights) for edge in said.get("edges", ()) if "arrow" in edge
    }
    stands, frames = place_rows(view, plates, wanted, courses)
    return CellLayout(stands, frames, courses)


def _dot(view: View, plates: Sequence[BoxRow]) -> str:
    """DOT source of rows of boxes: tables of fixed size, with a port for each box and each of its outlets."""
    node_of = {slot.box: f"p{number}" for number, plate in enumerate(plates) for slot in plate.boxes}
    joined = {joint for plate in plates for joint in plate.joints}
    lines = ["digraph {", "newrank=true nodesep=0.15 ranksep=0.6", "node [shape=plain]"]
    lines += [f"p{number} [label=<{_row_table(plate)}>]" for number, plate in enumerate(plates)]
    lines += _cluster_lines(view.root, node_of, plates)
    for number, arrow in enumerate(view.arrows):
        if number not in joined and arrow.tail in node_of and arrow.head in node_of:
            lines.append(_edge(number, arrow, node_of, plates))
    lines += [
        f"{node_of[upper]} -> {node_of[lower]} [style=invis weight=0]"
        for upper, lower in view.rank_constraints
        if node_of[upper] != node_of[lower]
    ]
    return "\n".join([*lines, "}"])


def _row_table(plate: BoxRow) -> str:
    cells = ""
    for number, slot in enumerate(plate.boxes):
        outlets = sorted((columns.start, columns.stop, label) for label, columns in slot.outlets.items() if label)
        start = outlets[0][0] if outlets else len(slot.text)
        cells += _table_cell(JOINT_WIDTH) if number else ""
        cells += _table_cell(start, f"b{number}")
        for place, (start, _, _) in enumerate(outlets):
            end = outlets[place + 1][0] if place + 1 < len(outlets) else len(slot.text)
            cells += _table_cell(end - start, f"b{number}o{place}")
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>{cells}</tr></table>'


def _table_cell(columns: int, port: str = "") -> str:
    named = f' port="{port}"' if port else ""
    return f'<td{named} fixedsize="true" width="{columns * _POINTS_PER_COLUMN}" height="{_POINTS_PER_COLUMN}"></td>'


def _edge(number: int, arrow: ViewArrow, node_of: dict[str, str], plates: Sequence[BoxRow]) -> str:
    ends = []
    for box, label in ((arrow.tail, arrow.label), (arrow.head, "")):
        node = node_of[box]
        slots = plates[int(node[1:])].boxes
        position = next(position for position, slot in enumerate(slots) if slot.box == box)
        labels = sorted((columns.start, name) for name, columns in slots[position].outlets.items() if name)
        outlet = next((f"o{place}" for place, (_, name) in enumerate(labels) if name == label), "") if label else ""
        ends.append(f"{node}:b{position}{outlet}")
    if arrow.is_reversed:
        ends.reverse()
    free = " constraint=false" if arrow.is_unconstrained else ""
    return f"{ends[0]} -> {ends[1]} [arrow={number} dir=none{free}]"


def _cluster_lines(cluster: Cluster, node_of: dict[str, str], plates: Sequence[BoxRow]) -> list[str]:
    lines = [f"{node}" for node in dict.fromkeys(node_of[name] for name in cluster.boxes)]
    level = list(dict.fromkeys(node_of[name] for name in cluster.same_rank))
    if len(level) > 1:
        lines.append(f"{{rank=same; {'; '.join(level)}}}")
    for inner in cluster.clusters:
        lines += [
            f"subgraph {_cluster_name(inner)} {{ margin={_POINTS_PER_COLUMN}",
            *_cluster_lines(inner, node_of, plates),
            "}",
        ]
    return lines


def _cluster_name(cluster: Cluster) -> str:
    return "cluster" + re.sub(r"\W", "_", cluster.name.removeprefix("cluster"))


def _spline_columns(pos: str, heights: Sequence[float]) -> dict[int, float]:
    """The columns at which a spline crosses the heights of the ranks."""
    points: list[Point] = []
    for word in pos.split():
        parts = word.split(",")
        if parts[0] not in "es":
            points.append((float(parts[0]), float(parts[1])))
    path = [_bezier_point(points[at : at + 4], step / 8) for at in range(0, len(points) - 3, 3) for step in range(9)]
    found: dict[int, float] = {}
    for (x, y), (further, lower) in pairwise(path):
        for rank, height in enumerate(heights):
            if min(y, lower) <= height <= max(y, lower) and y != lower:
                found.setdefault(rank, (x + (further - x) * (height - y) / (lower - y)) / _POINTS_PER_COLUMN)
    return found


def _bezier_point(points: Sequence[Point], t: float) -> Point:
    """A point of a Bezier curve."""
    a, b, c, d = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = points
    return a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3
