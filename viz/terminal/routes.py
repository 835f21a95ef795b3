"""Global routing: the columns at which each arrow leaves its box, passes each rank and arrives.

Between two ranks is a channel. The arrows of one output form a net; the horizontal line of a net in a channel is its
trunk, with ends above and below. A column of a channel belongs to one trunk, so two arrows share a cell only where they
cross, or where they come from the same output.

Nets are routed sequentially, short ones first: each arrow takes the cheapest path, by dynamic programming over the
ranks, from any point of the tree that its net has so far. The cost counts bends, length, and the distance from
Graphviz's course. `tracks` then assigns a row of its channel to each trunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..style import LINE_LOOKS
from ..view import View, ViewArrow
from .box_rows import BoxRow
from .layout import CellLayout

_BEND_COST, _STEP_COST, _DETOUR_COST, _RANK_COST, _PROXIMITY_COST = 4.0, 0.12, 0.06, 0.5, 2.0
"""Costs of a bend, of a column along a channel, of a column of distance from Graphviz's course, of a rank, and of
closeness to a box."""


class RoutedBox(NamedTuple):
    """A box: its rank, its first column, and the columns inside it at which arrows arrive and leave."""

    rank: int
    column: int
    width: int
    inlets: range
    outlets: dict[str, range]


@dataclass(slots=True, eq=False)
class Trunk:
    """The part of a net in one channel: a horizontal line with ends at columns of the ranks above and below."""

    net: int
    channel: int
    columns_above: set[int] = field(default_factory=set)
    columns_below: set[int] = field(default_factory=set)
    arrows: set[int] = field(default_factory=set)
    heads_above: dict[int, int] = field(default_factory=dict)
    """The arrows that end at a box above, by column."""
    heads_below: dict[int, int] = field(default_factory=dict)
    row: int = 0
    """The row of the channel in which the line runs."""

    @property
    def extent(self) -> tuple[int, int]:
        """The first and the last column."""
        columns = self.columns_above | self.columns_below
        return min(columns), max(columns)

    @property
    def is_straight(self) -> bool:
        """Whether it is one vertical line."""
        return len(self.columns_above | self.columns_below) == 1


class BoxTooNarrow(Exception):
    """No column is left for an arrow at a box."""

    def __init__(self, *boxes: str) -> None:
        super().__init__(*boxes)
        self.boxes = boxes


@dataclass(slots=True)
class Routes:
    """All routes of a view."""

    boxes: dict[str, RoutedBox]
    columns: range
    trunks: list[Trunk] = field(default_factory=list)
    rank_passes: dict[tuple[int, int], tuple[Trunk, Trunk]] = field(default_factory=dict)
    """For each rank and column that a route passes, the trunks above and below."""


def routed_boxes(rows: Sequence[BoxRow], layout: CellLayout) -> dict[str, RoutedBox]:
    """Every box, by name."""
    boxes = {}
    for row in rows:
        placement = layout.placements[row.name]
        for item, start in row.box_starts():
            column = placement.column + start
            interior = range(column + 1, column + max(len(item.text) - 1, 2))
            outlets = {
                label: range(column + outlet.start, column + outlet.stop) for label, outlet in item.outlets.items()
            }
            boxes[item.box] = RoutedBox(placement.rank, column, len(item.text), interior, outlets)
    return boxes


def route_arrows(view: View, rows: Sequence[BoxRow], layout: CellLayout) -> Routes:
    """Route all arrows that are not inside a row of boxes. Raises BoxTooNarrow if a box must be wider."""
    return _ArrowRouter(view, rows, layout).route_all()


class _ArrowRouter:
    """Routes one arrow after the other, and records the occupied cells."""

    def __init__(self, view: View, rows: Sequence[BoxRow], layout: CellLayout) -> None:
        self.view, self.layout = view, layout
        self.boxes = routed_boxes(rows, layout)
        self.joint_arrows = {joint for row in rows for joint in row.joints}
        margin = 6 + 2 * len({(arrow.tail, arrow.label, LINE_LOOKS[arrow.link].style) for arrow in view.arrows})
        frames = layout.frames.values()
        ends = [*(box.column for box in self.boxes.values()), *(frame.left_column for frame in frames)]
        left = min(ends, default=0) - margin
        ends = [
            *(box.column + box.width for box in self.boxes.values()),
            *(frame.right_column for frame in frames),
        ]
        right = max(ends, default=0) + margin
        self.first_column = left
        self.routes = Routes(self.boxes, range(left, right))
        size = right - left
        self.blocked_cells = np.zeros((layout.ranks, size), bool)
        self.proximity_cost = np.zeros((layout.ranks, size))
        self.owner: dict[tuple[int, int], Trunk] = {}
        self.occupied_columns = np.zeros((layout.ranks + 1, size), bool)
        """For each channel, by the rank below it, the occupied columns."""
        self.nets: dict[tuple[str, str, str, int], int] = {}
        self.trees: dict[int, dict[int, set[int]]] = {}
        """For each net and rank, the columns from which a new route can branch off, downwards or upwards."""
        self.reserved_columns: dict[tuple[int, int], tuple[str, str]] = {}
        """Columns below labels of outputs, which no other arrow may use."""
        self.block_cells(rows)
        self.reserve_outlets()

    def block_cells(self, rows: Sequence[BoxRow]) -> None:
        """Exclude the cells of boxes and frame borders from routes, and set a cost for cells beside boxes."""
        for row in rows:
            placement = self.layout.placements[row.name]
            start = placement.column - self.first_column
            self.blocked_cells[placement.rank, start : start + row.width] = True
            self.proximity_cost[placement.rank, [start - 1, start + row.width]] += _PROXIMITY_COST
        for frame in self.layout.frames.values():
            for column in (frame.left_column, frame.right_column):
                self.blocked_cells[frame.first_rank : frame.last_rank + 1, column - self.first_column] = True

    def reserve_outlets(self) -> None:
        """Reserve the columns below labelled outlets for the arrows of those outlets."""
        for name, box in self.boxes.items():
            for label, columns in box.outlets.items():
                if label:
                    self.reserved_columns |= {(box.rank + 1, column): (name, label) for column in columns}
                    self.occupied_columns[box.rank + 1, [column - self.first_column for column in columns]] = True

    def _is_free(self, channel: int, column: int, arrow: ViewArrow) -> bool:
        """Whether an arrow can leave its box at this column."""
        holder = self.reserved_columns.get((channel, column))
        if holder is None:
            return not self.occupied_columns[channel, column - self.first_column]
        return holder == (arrow.tail, arrow.label) and (channel, column) not in self.owner

    def route_all(self) -> Routes:
        """Route all arrows."""
        drawn = [
            number
            for number, arrow in enumerate(self.view.arrows)
            if number not in self.joint_arrows and arrow.tail in self.boxes and arrow.head in self.boxes
        ]
        for number in sorted(drawn, key=self.routing_priority):
            self.route_arrow(number, self.view.arrows[number])
        return self.routes

    def routing_priority(self, number: int) -> tuple[int, bool, float, int]:
        """The sort key of an arrow: short and straight arrows are routed first."""
        arrow = self.view.arrows[number]
        tail, head = self.boxes[arrow.tail], self.boxes[arrow.head]
        distance = abs(tail.rank - head.rank)
        shared_columns = set(tail.outlets.get(arrow.label, tail.inlets)) & set(head.inlets)
        offset = abs(tail.column + tail.width / 2 - head.column - head.width / 2)
        return (distance or 99, not shared_columns, offset, number)

    def route_arrow(self, number: int, arrow: ViewArrow) -> None:
        """Route one arrow from the existing routes of its output."""
        tail, head = self.boxes[arrow.tail], self.boxes[arrow.head]
        step = -1 if head.rank < tail.rank else 1
        net = self.nets.setdefault((arrow.tail, arrow.label, LINE_LOOKS[arrow.link].style, step), len(self.nets))
        tree = self.trees.setdefault(net, {})
        if head.rank == tail.rank:
            self.route_within_rank(number, net, tree, tail, head)
            return
        path = self.cheapest_path(number, net, tree, step)
        for (rank, column), (_, following) in path:
            channel = min(rank, rank + step) + 1
            trunk = self.find_or_add_trunk(net, channel, column, step)
            self._occupy(trunk, following, below=step > 0)
            trunk.arrows.add(number)
            tree.setdefault(rank, set()).add(column)
        last_rank, last = path[-1][1]
        trunk = self.owner[min(last_rank, last_rank - step) + 1, last]
        (trunk.heads_below if step > 0 else trunk.heads_above)[last] = number
        for (rank, column), _ in path[1:]:
            ends = (self.owner[rank, column], self.owner[rank + 1, column])
            self.routes.rank_passes[rank, column] = ends
        self.mark_shared_trunks(number, path[0][0], arrow, step)

    def mark_shared_trunks(self, number: int, start: tuple[int, int], arrow: ViewArrow, step: int) -> None:
        """Add the arrow to all existing trunks between its tail and the point where its own route begins."""
        rank, column = start
        tail = self.boxes[arrow.tail]
        while rank != tail.rank:
            trunk = self.owner[min(rank, rank - step) + 1, column]
            trunk.arrows.add(number)
            (column,) = trunk.columns_above if step > 0 else trunk.columns_below
            rank -= step

    def find_or_add_trunk(self, net: int, channel: int, column: int, step: int) -> Trunk:
        """The trunk at this column of a channel; a new one if there is none."""
        trunk = self.owner.get((channel, column))
        if trunk is None:
            trunk = Trunk(net, channel)
            self.routes.trunks.append(trunk)
            self._occupy(trunk, column, below=step < 0)
        return trunk

    def _occupy(self, trunk: Trunk, column: int, *, below: bool) -> None:
        (trunk.columns_below if below else trunk.columns_above).add(column)
        self.owner[trunk.channel, column] = trunk
        self.occupied_columns[trunk.channel, column - self.first_column] = True

    def route_within_rank(
        self, number: int, net: int, tree: dict[int, set[int]], tail: RoutedBox, head: RoutedBox
    ) -> None:
        """Route an arrow between boxes of the same rank below them."""
        channel = tail.rank + 1
        starts, arrow = tree.get(tail.rank), self.view.arrows[number]
        outlets = tail.outlets.get(arrow.label, tail.inlets)
        middle = head.column + head.width // 2
        start = min(starts) if starts else self._nearest_free_column(outlets, channel, middle, arrow)
        if start is None:
            raise BoxTooNarrow(arrow.tail)
        trunk = self.find_or_add_trunk(net, channel, start, 1)
        end = self._nearest_free_column(head.inlets, channel, start, ViewArrow("", "", "data"))
        if end is None:
            raise BoxTooNarrow(arrow.head)
        tree.setdefault(tail.rank, set()).add(start)
        self._occupy(trunk, end, below=False)
        trunk.heads_above[end] = number
        trunk.arrows.add(number)

    def _nearest_free_column(self, columns: Iterable[int], channel: int, target: int, arrow: ViewArrow) -> int | None:
        free = [column for column in columns if self._is_free(channel, column, arrow)]
        return min(free, key=lambda column: (abs(column - target), column), default=None)

    def cheapest_path(
        self, number: int, net: int, tree: dict[int, set[int]], step: int
    ) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """The cheapest path from the net, or from the tail, to the head: for each channel its start and its end, each a
        pair of a rank and a column."""
        arrow = self.view.arrows[number]
        tail, head = self.boxes[arrow.tail], self.boxes[arrow.head]
        size = len(self.routes.columns)
        cost = np.full(size, np.inf)
        origins: list[NDArray[np.intp]] = []
        for rank in range(tail.rank, head.rank + step, step):
            if rank != tail.rank:
                channel = min(rank, rank - step) + 1
                cost, origin = self.cross_channel(cost, channel)
                cost = cost + self.entry_costs(rank, head, number, step, self.closed_columns(rank, tree, step, arrow))
                origins.append(origin)
            if rank != head.rank:
                self.seed_costs(cost, rank, tree, tail, arrow, step)
        best = int(np.argmin(cost))
        if not np.isfinite(cost[best]):
            raise BoxTooNarrow(arrow.tail, arrow.head)
        return self.trace_route(best, origins, tree, tail, head, step)

    def seed_costs(
        self,
        cost: NDArray[np.float64],
        rank: int,
        tree: dict[int, set[int]],
        tail: RoutedBox,
        arrow: ViewArrow,
        step: int,
    ) -> None:
        """Set the costs at which a path starts from the net at this rank, or from the tail."""
        if rank in tree:
            cost[[column - self.first_column for column in sorted(tree[rank])]] = 0
        elif rank == tail.rank:
            channel = min(rank, rank + step) + 1
            outlets = tail.outlets.get(arrow.label, tail.inlets)
            middle = (outlets.start + outlets.stop - 1) / 2
            for column in outlets if step > 0 else tail.inlets:
                if self._is_free(channel, column, arrow):
                    cost[column - self.first_column] = 0.02 * abs(column - middle)

    def cross_channel(self, cost: NDArray[np.float64], channel: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The cost to reach each column on the other side of a channel, and the column from which it is reached."""
        slope = _STEP_COST * np.arange(len(cost))
        down, up = cost - slope, (cost + slope)[::-1]
        least, most = np.minimum.accumulate(down), np.minimum.accumulate(up)[::-1]
        left = np.maximum.accumulate(np.where(down == least, np.arange(len(cost)), 0))
        right = len(cost) - 1 - np.maximum.accumulate(np.where(up == most[::-1], np.arange(len(cost)), 0))[::-1]
        bent = np.minimum(least + slope, most - slope) + _BEND_COST
        origin = np.where(least + slope <= most - slope, left, right)
        return np.minimum(cost, bent), np.where(cost <= bent, np.arange(len(cost)), origin)

    def closed_columns(self, rank: int, tree: dict[int, set[int]], step: int, arrow: ViewArrow) -> NDArray[np.bool_]:
        """The columns of a rank that no path can reach through the channel before it. Columns in which the net itself
        can continue straight are open."""
        channel = min(rank, rank - step) + 1
        closed: NDArray[np.bool_] = self.occupied_columns[channel].copy()
        tail = self.boxes[arrow.tail]
        continuing = tree.get(rank - step)
        if continuing is None and rank - step == tail.rank and step > 0:
            continuing = {
                column for column in tail.outlets.get(arrow.label, ()) if self._is_free(channel, column, arrow)
            }
        for column in continuing or ():
            trunk = self.owner.get((channel, column))
            if trunk is None or column not in (trunk.columns_below if step > 0 else trunk.columns_above):
                closed[column - self.first_column] = False
        return closed

    def entry_costs(
        self, rank: int, head: RoutedBox, number: int, step: int, closed: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """The cost to pass each column of a rank, or to end there if it is the rank of the head."""
        size = len(self.routes.columns)
        if rank == head.rank:
            cost = np.full(size, np.inf)
            middle = (head.inlets.start + head.inlets.stop - 1) / 2
            for column in head.inlets:
                cost[column - self.first_column] = 0.02 * abs(column - middle)
            return np.where(closed, np.inf, cost)
        following = min(rank, rank + step) + 1
        target = self.layout.courses.get(number, {}).get(rank)
        columns = np.arange(size) + self.first_column
        cost = (
            self.proximity_cost[rank] + _RANK_COST + (0 if target is None else _DETOUR_COST * np.abs(columns - target))
        )
        return np.where(self.blocked_cells[rank] | closed | self.occupied_columns[following], np.inf, cost)

    def trace_route(
        self,
        best: int,
        origins: Sequence[NDArray[np.intp]],
        tree: dict[int, set[int]],
        tail: RoutedBox,
        head: RoutedBox,
        step: int,
    ) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """The path from the tail to the column `best` at the head, as pairs of (rank, column)."""
        path, column, rank = [], best, head.rank
        for origin in reversed(origins):
            before = int(origin[column])
            path.append(((rank - step, before + self.first_column), (rank, column + self.first_column)))
            rank, column = rank - step, before
            if column + self.first_column in tree.get(rank, ()) or rank == tail.rank:
                break
        return path[::-1]
