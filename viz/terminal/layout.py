"""The layout by Graphviz, in cells of a terminal: the positions of boxes and frames in whole columns.

Graphviz lays out boxes of the right size, and returns their positions and the courses of arrows between them. These
coordinates are rounded to columns, and boxes that then touch are moved apart. Finally, boxes move by a few columns
where that straightens arrows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ..render import COORDINATE_FORMAT, render
from ..view import Cluster, View, ViewArrow
from .box_rows import JOINT_WIDTH, BoxRow

_POINTS_PER_COLUMN = 10
"""The width of a column in the layout, in points."""

Point = tuple[float, float]


class CellLayout(NamedTuple):
    """The layout of a view: the positions of rows of boxes and of frames, by name."""

    placements: dict[str, Placement]
    frames: dict[str, FrameSpan]
    courses: dict[int, dict[int, float]]
    """For each arrow, by number in the view, the column at which it passes each rank."""

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return max((placement.rank for placement in self.placements.values()), default=-1) + 1


def lay_out_rows(view: View, rows: Sequence[BoxRow], *, timeout: float = 120) -> CellLayout:
    """Lay out rows of boxes, which contain each box of the view once.

    Raises Usage in the same cases as `render`.
    """
    graphviz_layout = json.loads(render(write_dot(view, rows), COORDINATE_FORMAT, timeout=timeout))
    objects = {thing["name"]: thing for thing in graphviz_layout.get("objects", ())}
    middles = {row.name: tuple(map(float, objects[f"p{number}"]["pos"].split(","))) for number, row in enumerate(rows)}
    heights = sorted({y for _, y in middles.values()}, reverse=True)
    rank = {y: number for number, y in enumerate(heights)}
    targets = {
        row.name: Placement(
            rank[middles[row.name][1]], round(middles[row.name][0] / _POINTS_PER_COLUMN - row.width / 2)
        )
        for row in rows
    }
    courses = {
        int(edge["arrow"]): spline_columns(edge["pos"], heights)
        for edge in graphviz_layout.get("edges", ())
        if "arrow" in edge
    }
    placements, frames = place_rows(view, rows, targets, courses)
    return CellLayout(placements, frames, courses)


def write_dot(view: View, rows: Sequence[BoxRow]) -> str:
    """DOT source of rows of boxes: tables of fixed size, with a port for each box and each of its outlets."""
    node_of = {item.box: f"p{number}" for number, row in enumerate(rows) for item in row.boxes}
    joint_numbers = {joint for row in rows for joint in row.joints}
    lines = ["digraph {", "newrank=true nodesep=0.15 ranksep=0.6", "node [shape=plain]"]
    lines += [f"p{number} [label=<{row_table(row)}>]" for number, row in enumerate(rows)]
    lines += cluster_lines(view.root, node_of, rows)
    for number, arrow in enumerate(view.arrows):
        if number not in joint_numbers and arrow.tail in node_of and arrow.head in node_of:
            lines.append(dot_edge(number, arrow, node_of, rows))
    lines += [
        f"{node_of[upper]} -> {node_of[lower]} [style=invis weight=0]"
        for upper, lower in view.rank_constraints
        if node_of[upper] != node_of[lower]
    ]
    return "\n".join([*lines, "}"])


def row_table(row: BoxRow) -> str:
    """An HTML table for Graphviz: a row of boxes, with a cell for each of their outlets."""
    cells = ""
    for number, item in enumerate(row.boxes):
        outlets = sorted((columns.start, columns.stop, label) for label, columns in item.outlets.items() if label)
        start = outlets[0][0] if outlets else len(item.text)
        cells += table_cell(JOINT_WIDTH) if number else ""
        cells += table_cell(start, f"b{number}")
        for index, (start, _, _) in enumerate(outlets):
            end = outlets[index + 1][0] if index + 1 < len(outlets) else len(item.text)
            cells += table_cell(end - start, f"b{number}o{index}")
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>{cells}</tr></table>'


def table_cell(columns: int, port: str = "") -> str:
    """A cell of an HTML table for Graphviz, as wide as these columns."""
    attribute = f' port="{port}"' if port else ""
    return f'<td{attribute} fixedsize="true" width="{columns * _POINTS_PER_COLUMN}" height="{_POINTS_PER_COLUMN}"></td>'


def dot_edge(number: int, arrow: ViewArrow, node_of: dict[str, str], rows: Sequence[BoxRow]) -> str:
    """The DOT line of an arrow between the outlet of its tail and the box of its head."""
    ends = []
    for box, label in ((arrow.tail, arrow.label), (arrow.head, "")):
        node = node_of[box]
        items = rows[int(node[1:])].boxes
        position = next(position for position, item in enumerate(items) if item.box == box)
        labels = sorted((columns.start, name) for name, columns in items[position].outlets.items() if name)
        outlet = next((f"o{index}" for index, (_, name) in enumerate(labels) if name == label), "") if label else ""
        ends.append(f"{node}:b{position}{outlet}")
    if arrow.is_reversed:
        ends.reverse()
    free = " constraint=false" if arrow.is_unconstrained else ""
    return f"{ends[0]} -> {ends[1]} [arrow={number} dir=none{free}]"


def cluster_lines(cluster: Cluster, node_of: dict[str, str], rows: Sequence[BoxRow]) -> list[str]:
    """The DOT lines of a cluster, with those inside it."""
    lines = [f"{node}" for node in dict.fromkeys(node_of[name] for name in cluster.boxes)]
    level = list(dict.fromkeys(node_of[name] for name in cluster.same_rank))
    if len(level) > 1:
        lines.append(f"{{rank=same; {'; '.join(level)}}}")
    for inner in cluster.clusters:
        lines += [
            f"subgraph {_cluster_name(inner)} {{ margin={_POINTS_PER_COLUMN}",
            *cluster_lines(inner, node_of, rows),
            "}",
        ]
    return lines


def _cluster_name(cluster: Cluster) -> str:
    return "cluster" + re.sub(r"\W", "_", cluster.name.removeprefix("cluster"))


def spline_columns(pos: str, heights: Sequence[float]) -> dict[int, float]:
    """The columns at which a spline crosses the heights of the ranks."""
    points: list[Point] = []
    for word in pos.split():
        parts = word.split(",")
        if parts[0] not in "es":
            points.append((float(parts[0]), float(parts[1])))
    path = [bezier_point(points[at : at + 4], step / 8) for at in range(0, len(points) - 3, 3) for step in range(9)]
    columns: dict[int, float] = {}
    for (x, y), (further, lower) in pairwise(path):
        for rank, height in enumerate(heights):
            if min(y, lower) <= height <= max(y, lower) and y != lower:
                columns.setdefault(rank, (x + (further - x) * (height - y) / (lower - y)) / _POINTS_PER_COLUMN)
    return columns


def bezier_point(points: Sequence[Point], t: float) -> Point:
    """A point of a Bezier curve."""
    a, b, c, d = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = points
    return a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3


# Placement


_MARGIN = 2
"""The columns between a frame and its contents."""

_MAX_SHIFT = 6
"""The most columns by which a box moves to straighten arrows."""

ArrowCourses: TypeAlias = Mapping[int, Mapping[int, float]]
"""For each arrow, by number in the view, the column at which it passes each rank."""


class Placement(NamedTuple):
    """The position of a row of boxes: its rank, counted from above, and its first column."""

    rank: int
    column: int


class FrameSpan(NamedTuple):
    """The columns of a frame's sides, and the first and last rank inside it."""

    left_column: int
    right_column: int
    first_rank: int
    last_rank: int


class _Gap(NamedTuple):
    """A constraint: the second thing begins at least `columns` columns to the right of the first."""

    first_name: str
    second_name: str
    columns: int


def place_rows(
    view: View, rows: Sequence[BoxRow], targets: dict[str, Placement], courses: ArrowCourses
) -> tuple[dict[str, Placement], dict[str, FrameSpan]]:
    """Move rows of boxes until none touches another or a frame, and then to straighten arrows. Returns their positions
    and those of the frames, without frames if there is no room for them."""
    width = {row.name: row.width for row in rows}
    home = {item.box: row.name for row in rows for item in row.boxes}
    members = rows_by_frame(view.root, home)
    spans = {name: frame_span(inner_names, targets, width) for name, inner_names in members.items()}
    columns = {name: target.column for name, target in targets.items()}
    columns |= {f"{name}<": span.left_column for name, span in spans.items()}
    columns |= {f"{name}>": span.right_column for name, span in spans.items()}
    between = list(gaps_in_rows(targets, width))
    framed = [*between, *gaps_around_frames(view, members, spans, targets, width)]
    new_columns = satisfy_gaps(columns, framed)
    if new_columns is None:
        spans, framed, new_columns = {}, between, satisfy_gaps(columns, between) or columns
    straighten(view, rows, targets, courses, new_columns, framed)
    placements = {name: Placement(target.rank, new_columns[name]) for name, target in targets.items()}
    frames = {
        name: FrameSpan(new_columns[f"{name}<"], new_columns[f"{name}>"], span.first_rank, span.last_rank)
        for name, span in spans.items()
    }
    return placements, frames


def satisfy_gaps(columns: dict[str, int], gaps: Sequence[_Gap]) -> dict[str, int] | None:
    """The columns, moved to the right as far as the gaps require; None if the gaps contradict each other."""
    shifted = dict(columns)
    for _ in range(len(columns) + 1):
        violated = [gap for gap in gaps if shifted[gap.second_name] < shifted[gap.first_name] + gap.columns]
        if not violated:
            return shifted
        for gap in violated:
            shifted[gap.second_name] = max(shifted[gap.second_name], shifted[gap.first_name] + gap.columns)
    return None


def rows_by_frame(cluster: Cluster, home: dict[str, str]) -> dict[str, set[str]]:
    """The rows of boxes inside each frame, at any depth; frames without any are left out."""
    names_by_frame: dict[str, set[str]] = {}
    for inner in cluster.clusters:
        inner_rows = rows_by_frame(inner, home)
        own_rows = {home[name] for descendant in inner.walk() for name in descendant.boxes}
        if own_rows:
            names_by_frame[inner.name] = own_rows
        names_by_frame |= inner_rows
    return names_by_frame


def frame_span(names: Iterable[str], targets: dict[str, Placement], width: dict[str, int]) -> FrameSpan:
    """The columns and ranks of the frame around these boxes."""
    placements = [(targets[name], width[name]) for name in names]
    ranks = [placement.rank for placement, _ in placements]
    left = min(placement.column for placement, _ in placements) - _MARGIN
    return FrameSpan(
        left, max(placement.column + wide for placement, wide in placements) + _MARGIN - 1, min(ranks), max(ranks)
    )


def gaps_in_rows(targets: dict[str, Placement], width: dict[str, int]) -> Iterable[_Gap]:
    """The gaps between neighbours in a rank."""
    ordered = sorted(targets, key=lambda name: (targets[name], name))
    for left, right in pairwise(ordered):
        if targets[left].rank == targets[right].rank:
            yield _Gap(left, right, width[left] + 2)


def gaps_around_frames(
    view: View,
    members: dict[str, set[str]],
    spans: dict[str, FrameSpan],
    targets: dict[str, Placement],
    width: dict[str, int],
) -> Iterable[_Gap]:
    """The gaps between the borders of frames, the boxes inside them, and boxes and frames outside."""
    titles = {cluster.name: cluster.title for cluster in view.root.walk()}
    for name, span in spans.items():
        left, right = f"{name}<", f"{name}>"
        yield _Gap(left, right, len(titles[name]) + 8)
        for row in targets:
            if row in members[name]:
                yield _Gap(left, row, _MARGIN)
                yield _Gap(row, right, width[row] + _MARGIN - 1)
            elif span.first_rank <= targets[row].rank <= span.last_rank:
                middle = targets[row].column + width[row] / 2
                rightmost = middle * 2 > span.left_column + span.right_column
                yield _Gap(right, row, 2) if rightmost else _Gap(row, left, width[row] + 1)
        for other_name, other_span in spans.items():
            if members[other_name] < members[name] or (
                members[other_name] == members[name] and other_name.startswith(f"{name}_")
            ):
                yield _Gap(left, f"{other_name}<", _MARGIN)
                yield _Gap(f"{other_name}>", right, _MARGIN)
            elif not members[name] & members[other_name] and name < other_name and share_ranks(span, other_span):
                first, second = (name, other_name) if span.left_column < other_span.left_column else (other_name, name)
                yield _Gap(f"{first}>", f"{second}<", 2)


def share_ranks(first: FrameSpan, second: FrameSpan) -> bool:
    """Whether two frames have a rank in common."""
    return (
        first.first_rank <= second.last_rank + 1
        and second.first_rank <= first.last_rank + 1
        and not (first.last_rank < second.first_rank or second.last_rank < first.first_rank)
    )


class _ArrowEnd(NamedTuple):
    """An end of an arrow at a row of boxes: the columns where it can be, relative to the start of the row, and the
    columns of the other row (or the course, if `other_row` is empty) with which it should align."""

    own_columns: range
    other_row: str
    other_columns: range
    course_column: float


def straighten(
    view: View,
    rows: Sequence[BoxRow],
    placements: Mapping[str, Placement],
    courses: ArrowCourses,
    columns: dict[str, int],
    gaps: Sequence[_Gap],
) -> None:
    """Change `columns`, within the gaps, so that more arrows are straight."""
    ends = arrow_ends(view, rows, placements, courses)
    for _ in range(3):
        for row in rows:
            name = row.name
            least = max(
                (columns[gap.first_name] + gap.columns for gap in gaps if gap.second_name == name), default=-(10**6)
            )
            most = min(
                (columns[gap.second_name] - gap.columns for gap in gaps if gap.first_name == name), default=10**6
            )
            current = columns[name]
            options = [current + step for step in range(-_MAX_SHIFT, _MAX_SHIFT + 1) if least <= current + step <= most]
            if options:
                columns[name] = min(
                    options, key=lambda column: (bend_cost(ends[name], column, columns), abs(column - current), column)
                )


def bend_cost(ends: Sequence[_ArrowEnd], column: int, columns: Mapping[str, int]) -> float:
    """The cost of the bends in arrows at a row of boxes that begins at `column`."""
    cost = 0.0
    for end in ends:
        if end.other_row:
            start = columns[end.other_row]
            apart = max(column + end.own_columns.start, start + end.other_columns.start) - min(
                column + end.own_columns.stop, start + end.other_columns.stop
            )
            cost += 0 if apart < 0 else 4 + 0.1 * apart
        else:
            cost += 0.1 * max(
                column + end.own_columns.start - end.course_column,
                end.course_column - column - end.own_columns.stop + 1,
                0,
            )
    return cost


def arrow_ends(
    view: View, rows: Sequence[BoxRow], placements: Mapping[str, Placement], courses: ArrowCourses
) -> dict[str, list[_ArrowEnd]]:
    """The arrow ends at each row of boxes."""
    row_of = {item.box: (row, item, start) for row in rows for item, start in row.box_starts()}
    joint_numbers = {joint for row in rows for joint in row.joints}
    ends: dict[str, list[_ArrowEnd]] = {row.name: [] for row in rows}
    for number, arrow in enumerate(view.arrows):
        if number in joint_numbers or arrow.tail not in row_of or arrow.head not in row_of:
            continue
        (tail, item, start), (head, head_item, end_start) = row_of[arrow.tail], row_of[arrow.head]
        outlet = item.outlets.get(arrow.label, range(1, len(item.text) - 1))
        leaving = range(start + outlet.start, start + outlet.stop)
        reaching = range(end_start + 1, end_start + max(len(head_item.text) - 1, 2))
        first, last = placements[tail.name].rank, placements[head.name].rank
        if abs(first - last) == 1:
            ends[tail.name].append(_ArrowEnd(leaving, head.name, reaching, 0))
            ends[head.name].append(_ArrowEnd(reaching, tail.name, leaving, 0))
        elif first != last:
            step = 1 if last > first else -1
            for name, own, rank in ((tail.name, leaving, first + step), (head.name, reaching, last - step)):
                if rank in courses.get(number, {}):
                    ends[name].append(_ArrowEnd(own, "", own, courses[number][rank]))
    return ends
