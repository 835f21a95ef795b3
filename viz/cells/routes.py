"""Routes: the columns at which each arrow leaves, passes each rank and arrives.

Between two ranks is a channel. The arrows of one output form a net; the part of a net in a channel is a branch, a
horizontal line with ends above and below. A column of a channel belongs to one branch, so two arrows share a cell only
where they cross, or where they come from the same output. Arrows are routed one after the other, short ones first, with
the fewest bends, the least length and the least distance from Graphviz's course. A route may start anywhere on the
existing routes of its net.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
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
class Branch:
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
    branches: list[Branch] = field(default_factory=list)
    rank_passes: dict[tuple[int, int], tuple[Branch, Branch]] = field(default_factory=dict)
    """For each rank and column that a route passes, the branches above and below."""


def routed_boxes(rows: Sequence[BoxRow], layout: CellLayout) -> dict[str, RoutedBox]:
    """Every box, by name."""
    known = {}
    for row in rows:
        placement = layout.placements[row.name]
        for slot, start in row.box_starts():
            column = placement.column + start
            inside = range(column + 1, column + max(len(slot.text) - 1, 2))
            outlets = {label: range(column + each.start, column + each.stop) for label, each in slot.outlets.items()}
            known[slot.box] = RoutedBox(placement.rank, column, len(slot.text), inside, outlets)
    return known


def route_arrows(view: View, rows: Sequence[BoxRow], layout: CellLayout) -> Routes:
    """Route all arrows that are not inside a row of boxes. Raises BoxTooNarrow if a box must be wider."""
    return _ArrowRouter(view, rows, layout).route_all()


class _ArrowRouter:
    """Routes one arrow after the other, and records the occupied cells."""

    def __init__(self, view: View, rows: Sequence[BoxRow], layout: CellLayout) -> None:
        self.view, self.layout = view, layout
        self.boxes = routed_boxes(rows, layout)
        self.joint_arrows = {joint for row in rows for joint in row.joints}
        aside = 6 + 2 * len({(arrow.tail, arrow.label, LINE_LOOKS[arrow.link].style) for arrow in view.arrows})
        frames = layout.frames.values()
        ends = [*(box.column for box in self.boxes.values()), *(frame.left_column for frame in frames)]
        left = min(ends, default=0) - aside
        ends = [
            *(box.column + box.width for box in self.boxes.values()),
            *(frame.right_column for frame in frames),
        ]
        right = max(ends, default=0) + aside
        self.first_column = left
        self.routes = Routes(self.boxes, range(left, right))
        size = right - left
        self.blocked = np.zeros((layout.ranks, size), bool)
        self.proximity_cost = np.zeros((layout.ranks, size))
        self.owner: dict[tuple[int, int], Branch] = {}
        self.occupied = np.zeros((layout.ranks + 1, size), bool)
        """For each channel, by the rank below it, the occupied columns."""
        self.nets: dict[tuple[str, str, str, int], int] = {}
        self.trees: dict[int, dict[int, set[int]]] = {}
        """For each net and rank, the columns from which a new route can branch off, downwards or upwards."""
        self.reserved: dict[tuple[int, int], tuple[str, str]] = {}
        """Columns below labels of outputs, which no other arrow may use."""
        self.block_cells(rows)
        self.reserve_outlets()

    def block_cells(self, rows: Sequence[BoxRow]) -> None:
        """Exclude the cells of boxes and frame borders from routes, and set a cost for cells beside boxes."""
        for row in rows:
            placement = self.layout.placements[row.name]
            start = placement.column - self.first_column
            self.blocked[placement.rank, start : start + row.width] = True
            self.proximity_cost[placement.rank, [start - 1, start + row.width]] += _PROXIMITY_COST
        for frame in self.layout.frames.values():
            for column in (frame.left_column, frame.right_column):
                self.blocked[frame.first_rank : frame.last_rank + 1, column - self.first_column] = True

    def reserve_outlets(self) -> None:
        """Reserve the columns below labelled outlets for the arrows of those outlets."""
        for name, box in self.boxes.items():
            for label, columns in box.outlets.items():
                if label:
                    self.reserved |= {(box.rank + 1, column): (name, label) for column in columns}
                    self.occupied[box.rank + 1, [column - self.first_column for column in columns]] = True

    def _is_free(self, channel: int, column: int, arrow: ViewArrow) -> bool:
        """Whether an arrow can leave its box at this column."""
        holder = self.reserved.get((channel, column))
        if holder is None:
            return not self.occupied[channel, column - self.first_column]
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
        meet = set(tail.outlets.get(arrow.label, tail.inlets)) & set(head.inlets)
        aside = abs(tail.column + tail.width / 2 - head.column - head.width / 2)
        return (distance or 99, not meet, aside, number)

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
            branch = self.find_or_add_branch(net, channel, column, step)
            self._occupy(branch, following, below=step > 0)
            branch.arrows.add(number)
            tree.setdefault(rank, set()).add(column)
        last_rank, last = path[-1][1]
        branch = self.owner[min(last_rank, last_rank - step) + 1, last]
        (branch.heads_below if step > 0 else branch.heads_above)[last] = number
        for (rank, column), _ in path[1:]:
            ends = (self.owner[rank, column], self.owner[rank + 1, column])
            self.routes.rank_passes[rank, column] = ends
        self.mark_shared_branches(number, path[0][0], arrow, step)

    def mark_shared_branches(self, number: int, start: tuple[int, int], arrow: ViewArrow, step: int) -> None:
        """Add the arrow to all existing branches between its tail and the point where its own route begins."""
        rank, column = start
        tail = self.boxes[arrow.tail]
        while rank != tail.rank:
            branch = self.owner[min(rank, rank - step) + 1, column]
            branch.arrows.add(number)
            (column,) = branch.columns_above if step > 0 else branch.columns_below
            rank -= step

    def find_or_add_branch(self, net: int, channel: int, column: int, step: int) -> Branch:
        """The branch at this column of a channel; a new one if there is none."""
        branch = self.owner.get((channel, column))
        if branch is None:
            branch = Branch(net, channel)
            self.routes.branches.append(branch)
            self._occupy(branch, column, below=step < 0)
        return branch

    def _occupy(self, branch: Branch, column: int, *, below: bool) -> None:
        (branch.columns_below if below else branch.columns_above).add(column)
        self.owner[branch.channel, column] = branch
        self.occupied[branch.channel, column - self.first_column] = True

    def route_within_rank(
        self, number: int, net: int, tree: dict[int, set[int]], tail: RoutedBox, head: RoutedBox
    ) -> None:
        """Route an arrow between boxes of the same rank below them."""
        channel = tail.rank + 1
        known, arrow = tree.get(tail.rank), self.view.arrows[number]
        outlets = tail.outlets.get(arrow.label, tail.inlets)
        middle = head.column + head.width // 2
        start = min(known) if known else self._nearest_free_column(outlets, channel, middle, arrow)
        if start is None:
            raise BoxTooNarrow(arrow.tail)
        branch = self.find_or_add_branch(net, channel, start, 1)
        end = self._nearest_free_column(head.inlets, channel, start, ViewArrow("", "", "data"))
        if end is None:
            raise BoxTooNarrow(arrow.head)
        tree.setdefault(tail.rank, set()).add(start)
        self._occupy(branch, end, below=False)
        branch.heads_above[end] = number
        branch.arrows.add(number)

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
        closed: NDArray[np.bool_] = self.occupied[channel].copy()
        tail = self.boxes[arrow.tail]
        known = tree.get(rank - step)
        if known is None and rank - step == tail.rank and step > 0:
            known = {column for column in tail.outlets.get(arrow.label, ()) if self._is_free(channel, column, arrow)}
        for column in known or ():
            branch = self.owner.get((channel, column))
            if branch is None or column not in (branch.columns_below if step > 0 else branch.columns_above):
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
        return np.where(self.blocked[rank] | closed | self.occupied[following], np.inf, cost)

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


# Tracks: the rows of a channel for its branches and frame borders, as few rows as possible


@dataclass(slots=True)
class Border:
    """The upper or lower side of a frame, in a channel."""

    cluster: str
    left_column: int
    right_column: int
    is_upper: bool
    """Whether it is the upper side, which is near the bottom of the channel."""
    depth: int
    row: int = 0


class Channel(NamedTuple):
    """The space between two ranks, and the columns that boxes occupy above and below it."""

    branches: Sequence[Branch]
    borders: Sequence[Border]
    columns_above: frozenset[int]
    columns_below: frozenset[int]


def assign_rows(channels: Sequence[Channel], most: int) -> list[int]:
    """Assign a row to each branch and border of all channels; returns the number of rows of each channel.

    Arrow heads have separate rows, if there are at most `most` rows then. If there are more, heads share rows with
    lines, first in the channels where that saves most.
    """
    airy = [assign_tracks(channel, separates_heads=True) for channel in channels]
    tight = [assign_tracks(channel, separates_heads=False) for channel in channels]
    chosen = list(airy)
    for number in sorted(range(len(channels)), key=lambda number: (tight[number] - airy[number], number)):
        if sum(chosen) > most:
            chosen[number] = tight[number]
    return [
        assign_tracks(channel, separates_heads=chosen[number] == airy[number])
        for number, channel in enumerate(channels)
    ]


def assign_tracks(channel: Channel, *, separates_heads: bool) -> int:
    """Assign a row to each branch and border; returns the number of rows of the channel."""
    if not channel.branches and not channel.borders:
        return 0
    rows = max(1 + max((border.depth for border in channel.borders), default=0), max_overlap(channel))
    while not try_rows(channel, rows, separates_heads):
        rows += 1
    return rows


def max_overlap(channel: Channel) -> int:
    """The largest number of branches across one column, each of which needs a row."""
    crowd = Counter[int]()
    for branch in channel.branches:
        if not branch.is_straight:
            left, right = branch.extent
            crowd.update(range(left, right + 2))
    return max(crowd.values(), default=0)


def try_rows(channel: Channel, rows: int, airy: bool) -> bool:
    """Assign rows of a channel to its borders and branches; return whether this many rows suffice."""
    extents: list[list[tuple[int, int]]] = [[] for _ in range(rows)]
    for border in channel.borders:
        border.row = rows - 1 - border.depth if border.is_upper else border.depth
        reach = (border.left_column, border.right_column)
        if not 0 <= border.row < rows or any(overlap(reach, other, ()) for other in extents[border.row]):
            return False
        extents[border.row].append(reach)
    put: list[Branch] = []
    upright = frozenset(column for branch in channel.branches for column in branch.columns_above | branch.columns_below)
    for branch in sorted(channel.branches, key=lambda branch: (branch.extent[0] - branch.extent[1], branch.extent)):
        if branch.is_straight:
            continue
        options = [
            row
            for row in range(rows)
            if not any(overlap(branch.extent, reach, upright) for reach in extents[row])
            and _fits(branch, row, rows, channel, upright, airy)
        ]
        if not options:
            return False
        crossings = count_crossings(branch, rows, put)
        branch.row = min(options, key=lambda row: (crossings[row], abs(row - (rows - 1) / 2)))
        extents[branch.row].append(branch.extent)
        put.append(branch)
    return True


def _fits(branch: Branch, row: int, rows: int, channel: Channel, upright: frozenset[int], airy: bool) -> bool:
    """Whether a branch in this row obstructs no arrow head."""
    if rows == 1 and is_misleading(branch, channel):
        return False
    if row in (0, rows - 1):
        for other in channel.branches:
            for heads, edge in ((other.heads_below, rows - 1), (other.heads_above, 0)):
                near = row == edge and any(overlap(branch.extent, (column, column), upright) for column in heads)
                if near and (airy or other is not branch or hides_line(branch, sorted(heads), channel)):
                    return False
    return True


def is_misleading(branch: Branch, channel: Channel) -> bool:
    """Whether an arrow head between two boxes would seem to belong to an arrow from the opposite box, although its
    arrow comes from the side."""
    return bool(
        (branch.heads_below.keys() - branch.columns_above) & channel.columns_above
        or (branch.heads_above.keys() - branch.columns_below) & channel.columns_below
    )


def hides_line(branch: Branch, heads: Sequence[int], channel: Channel) -> bool:
    """Whether a head painted over the line of its branch would hide that the line continues behind it; it does not
    if the cells beside it are a plain line."""
    left, right = branch.extent
    busy = {
        column
        for other in channel.branches
        if other is not branch
        for column in other.columns_above | other.columns_below
    }
    beside = {column + step for column in heads for step in (-1, 1) if left <= column + step <= right}
    return bool(beside & (busy | set(heads)))


def overlap(one: tuple[int, int], other: tuple[int, int], upright: Container[int]) -> bool:
    """Whether two lines in a row touch, or in ASCII would look like one line that passes behind those between them."""
    between = range(min(one[1], other[1]) + 1, max(one[0], other[0]))
    return all(column in upright for column in between)


def count_crossings(branch: Branch, rows: int, put: Sequence[Branch]) -> list[int]:
    """How often the branch would cross others, for each row."""
    left, right = branch.extent
    change = [0] * (rows + 1)
    for other in put:
        start, end = other.extent
        ours_above, ours_below = (
            _count_between(branch.columns_above, start, end),
            _count_between(branch.columns_below, start, end),
        )
        theirs_above, theirs_below = (
            _count_between(other.columns_above, left, right),
            _count_between(other.columns_below, left, right),
        )
        change[0] += theirs_above + ours_below
        change[other.row] += theirs_below - theirs_above
        change[other.row + 1] += ours_above - ours_below
    return list(accumulate(change))


def _count_between(columns: Iterable[int], left: int, right: int) -> int:
    return sum(left < column < right for column in columns)
