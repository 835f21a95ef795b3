"""Routes: at which column each arrow leaves, passes each rank and arrives.

Between two ranks lies a channel. In a channel a column belongs to one branch: a line along the channel with ends above
and below, which are all of the same output. So two arrows never share a cell but where they cross, or where one
output forks. Routes are the cheapest by bends, length and distance from where Graphviz has them, one arrow after the
other, the short ones first; an arrow may leave what its output has already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..style import LINES
from ..view import Arrow, View
from .box_rows import Plate
from .layout import Layout

_BEND, _STEP, _ASIDE, _LENGTH, _CLOSE = 4.0, 0.12, 0.06, 0.5, 2.0
"""What a bend costs, a column along a channel, a column away from where Graphviz passes, a rank, and being close to a
box."""


class Place(NamedTuple):
    """A box: its rank, the column at which it begins, and the columns inside it that arrows reach and leave."""

    rank: int
    column: int
    width: int
    inside: range
    outlets: dict[str, range]


@dataclass(slots=True, eq=False)
class Branch:
    """Part of a net in a channel: one line along it, with ends at columns of the ranks above and below."""

    net: int
    channel: int
    above: set[int] = field(default_factory=set)
    below: set[int] = field(default_factory=set)
    arrows: set[int] = field(default_factory=set)
    heads_above: dict[int, int] = field(default_factory=dict)
    """The columns at which arrows end at a box above, and which ones."""
    heads_below: dict[int, int] = field(default_factory=dict)
    row: int = 0
    """The row of the channel in which it runs along."""

    @property
    def reach(self) -> tuple[int, int]:
        """The first and the last column."""
        columns = self.above | self.below
        return min(columns), max(columns)

    @property
    def straight(self) -> bool:
        """Whether it goes down in one column."""
        return len(self.above | self.below) == 1


class Narrow(Exception):
    """That no column is left for an arrow at a box."""

    def __init__(self, *boxes: str) -> None:
        super().__init__(*boxes)
        self.boxes = boxes


@dataclass(slots=True)
class Routes:
    """All routes of a view."""

    places: dict[str, Place]
    columns: range
    branches: list[Branch] = field(default_factory=list)
    passes: dict[tuple[int, int], tuple[Branch, Branch]] = field(default_factory=dict)
    """For each rank and column at which something passes, the branches above and below."""


def places(rows: Sequence[Plate], found: Layout) -> dict[str, Place]:
    """Every box, by name."""
    known = {}
    for plate in rows:
        stand = found.plates[plate.name]
        for slot, start in plate.starts():
            column = stand.column + start
            inside = range(column + 1, column + max(len(slot.text) - 1, 2))
            outlets = {label: range(column + each.start, column + each.stop) for label, each in slot.outlets.items()}
            known[slot.box] = Place(stand.rank, column, len(slot.text), inside, outlets)
    return known


def route(view: View, rows: Sequence[Plate], found: Layout) -> Routes:
    """The routes of all arrows that no plate has. Raises Narrow where a box has to be wider."""
    return _Router(view, rows, found).all()


class _Router:
    """Routes arrow after arrow; its tables say which cells are taken."""

    def __init__(self, view: View, rows: Sequence[Plate], found: Layout) -> None:
        self.view, self.found = view, found
        self.places = places(rows, found)
        self.joined = {joint for plate in rows for joint in plate.joints}
        aside = 6 + 2 * len({(arrow.tail, arrow.label, LINES[arrow.link].style) for arrow in view.arrows})
        frames = found.frames.values()
        ends = [*(place.column for place in self.places.values()), *(frame.left for frame in frames)]
        left = min(ends, default=0) - aside
        ends = [*(place.column + place.width for place in self.places.values()), *(frame.right for frame in frames)]
        right = max(ends, default=0) + aside
        self.first = left
        self.routes = Routes(self.places, range(left, right))
        size = right - left
        self.blocked = np.zeros((found.ranks, size), bool)
        self.toll = np.zeros((found.ranks, size))
        self.owner: dict[tuple[int, int], Branch] = {}
        self.taken = np.zeros((found.ranks + 1, size), bool)
        """For each channel, by the rank below it, which columns are."""
        self.nets: dict[tuple[str, str, str, int], int] = {}
        self.trees: dict[int, dict[int, set[int]]] = {}
        """For each net, by rank, the columns below (or above) which it can be left."""
        self.reserved: dict[tuple[int, int], tuple[str, str]] = {}
        """Columns below labels of outputs: no other arrow can have them."""
        self._block(rows)
        self._reserve()

    def _block(self, rows: Sequence[Plate]) -> None:
        for plate in rows:
            stand = self.found.plates[plate.name]
            start = stand.column - self.first
            self.blocked[stand.rank, start : start + plate.width] = True
            self.toll[stand.rank, [start - 1, start + plate.width]] += _CLOSE
        for frame in self.found.frames.values():
            for column in (frame.left, frame.right):
                self.blocked[frame.first : frame.last + 1, column - self.first] = True

    def _reserve(self) -> None:
        for name, place in self.places.items():
            for label, columns in place.outlets.items():
                if label:
                    self.reserved |= {(place.rank + 1, column): (name, label) for column in columns}
                    self.taken[place.rank + 1, [column - self.first for column in columns]] = True

    def _is_free(self, channel: int, column: int, arrow: Arrow) -> bool:
        """Whether an arrow that leaves a box can leave it here."""
        holder = self.reserved.get((channel, column))
        if holder is None:
            return not self.taken[channel, column - self.first]
        return holder == (arrow.tail, arrow.label) and (channel, column) not in self.owner

    def all(self) -> Routes:
        """Route them."""
        drawn = [
            number
            for number, arrow in enumerate(self.view.arrows)
            if number not in self.joined and arrow.tail in self.places and arrow.head in self.places
        ]
        for number in sorted(drawn, key=self._priority):
            self._route(number, self.view.arrows[number])
        return self.routes

    def _priority(self, number: int) -> tuple[int, bool, float, int]:
        arrow = self.view.arrows[number]
        tail, head = self.places[arrow.tail], self.places[arrow.head]
        distance = abs(tail.rank - head.rank)
        meet = set(tail.outlets.get(arrow.label, tail.inside)) & set(head.inside)
        aside = abs(tail.column + tail.width / 2 - head.column - head.width / 2)
        return (distance or 99, not meet, aside, number)

    def _route(self, number: int, arrow: Arrow) -> None:
        tail, head = self.places[arrow.tail], self.places[arrow.head]
        step = -1 if head.rank < tail.rank else 1
        net = self.nets.setdefault((arrow.tail, arrow.label, LINES[arrow.link].style, step), len(self.nets))
        tree = self.trees.setdefault(net, {})
        if head.rank == tail.rank:
            self._beside(number, net, tree, tail, head)
            return
        path = self._path(number, net, tree, step)
        for (rank, column), (_, following) in path:
            channel = min(rank, rank + step) + 1
            branch = self._branch(net, channel, column, step)
            self._take(branch, following, below=step > 0)
            branch.arrows.add(number)
            tree.setdefault(rank, set()).add(column)
        last_rank, last = path[-1][1]
        branch = self.owner[min(last_rank, last_rank - step) + 1, last]
        (branch.heads_below if step > 0 else branch.heads_above)[last] = number
        for (rank, column), _ in path[1:]:
            ends = (self.owner[rank, column], self.owner[rank + 1, column])
            self.routes.passes[rank, column] = ends
        self._trace(number, path[0][0], arrow, step)

    def _trace(self, number: int, start: tuple[int, int], arrow: Arrow, step: int) -> None:
        """Say of all branches from the tail to where the arrow leaves its net that they are of this arrow too."""
        rank, column = start
        tail = self.places[arrow.tail]
        while rank != tail.rank:
            branch = self.owner[min(rank, rank - step) + 1, column]
            branch.arrows.add(number)
            (column,) = branch.above if step > 0 else branch.below
            rank -= step

    def _branch(self, net: int, channel: int, column: int, step: int) -> Branch:
        """The branch that leaves this column; a new one where there is none."""
        branch = self.owner.get((channel, column))
        if branch is None:
            branch = Branch(net, channel)
            self.routes.branches.append(branch)
            self._take(branch, column, below=step < 0)
        return branch

    def _take(self, branch: Branch, column: int, *, below: bool) -> None:
        (branch.below if below else branch.above).add(column)
        self.owner[branch.channel, column] = branch
        self.taken[branch.channel, column - self.first] = True

    def _beside(self, number: int, net: int, tree: dict[int, set[int]], tail: Place, head: Place) -> None:
        """An arrow between boxes of a rank runs below them."""
        channel = tail.rank + 1
        known, arrow = tree.get(tail.rank), self.view.arrows[number]
        outlets = tail.outlets.get(arrow.label, tail.inside)
        middle = head.column + head.width // 2
        start = min(known) if known else self._nearest(outlets, channel, middle, arrow)
        if start is None:
            raise Narrow(arrow.tail)
        branch = self._branch(net, channel, start, 1)
        end = self._nearest(head.inside, channel, start, Arrow("", "", "data"))
        if end is None:
            raise Narrow(arrow.head)
        tree.setdefault(tail.rank, set()).add(start)
        self._take(branch, end, below=False)
        branch.heads_above[end] = number
        branch.arrows.add(number)

    def _nearest(self, columns: Iterable[int], channel: int, wanted: int, arrow: Arrow) -> int | None:
        free = [column for column in columns if self._is_free(channel, column, arrow)]
        return min(free, key=lambda column: (abs(column - wanted), column), default=None)

    def _path(
        self, number: int, net: int, tree: dict[int, set[int]], step: int
    ) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """The cheapest way from the net, or from the tail, to the head: pairs of a rank and a column."""
        arrow = self.view.arrows[number]
        tail, head = self.places[arrow.tail], self.places[arrow.head]
        size = len(self.routes.columns)
        cost = np.full(size, np.inf)
        came: list[NDArray[np.intp]] = []
        for rank in range(tail.rank, head.rank + step, step):
            if rank != tail.rank:
                channel = min(rank, rank - step) + 1
                cost, origin = self._across(cost, channel)
                cost = cost + self._entry(rank, head, number, step, self._closed(rank, tree, step, arrow))
                came.append(origin)
            if rank != head.rank:
                self._start(cost, rank, tree, tail, arrow, step)
        best = int(np.argmin(cost))
        if not np.isfinite(cost[best]):
            raise Narrow(arrow.tail, arrow.head)
        return self._walked(best, came, tree, tail, head, step)

    def _start(
        self, cost: NDArray[np.float64], rank: int, tree: dict[int, set[int]], tail: Place, arrow: Arrow, step: int
    ) -> None:
        """It begins at what the net has at this rank, or at the tail."""
        if rank in tree:
            cost[[column - self.first for column in sorted(tree[rank])]] = 0
        elif rank == tail.rank:
            channel = min(rank, rank + step) + 1
            outlets = tail.outlets.get(arrow.label, tail.inside)
            middle = (outlets.start + outlets.stop - 1) / 2
            for column in outlets if step > 0 else tail.inside:
                if self._is_free(channel, column, arrow):
                    cost[column - self.first] = 0.02 * abs(column - middle)

    def _across(self, cost: NDArray[np.float64], channel: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The cost of each column on the other side of a channel, and the column that it comes from."""
        slope = _STEP * np.arange(len(cost))
        down, up = cost - slope, (cost + slope)[::-1]
        least, most = np.minimum.accumulate(down), np.minimum.accumulate(up)[::-1]
        left = np.maximum.accumulate(np.where(down == least, np.arange(len(cost)), 0))
        right = len(cost) - 1 - np.maximum.accumulate(np.where(up == most[::-1], np.arange(len(cost)), 0))[::-1]
        bent = np.minimum(least + slope, most - slope) + _BEND
        origin = np.where(least + slope <= most - slope, left, right)
        return np.minimum(cost, bent), np.where(cost <= bent, np.arange(len(cost)), origin)

    def _closed(self, rank: int, tree: dict[int, set[int]], step: int, arrow: Arrow) -> NDArray[np.bool_]:
        """The columns at which nothing can reach a rank; but straight on from what the net has is free."""
        channel = min(rank, rank - step) + 1
        closed: NDArray[np.bool_] = self.taken[channel].copy()
        tail = self.places[arrow.tail]
        known = tree.get(rank - step)
        if known is None and rank - step == tail.rank and step > 0:
            known = {column for column in tail.outlets.get(arrow.label, ()) if self._is_free(channel, column, arrow)}
        for column in known or ():
            branch = self.owner.get((channel, column))
            if branch is None or column not in (branch.below if step > 0 else branch.above):
                closed[column - self.first] = False
        return closed

    def _entry(self, rank: int, head: Place, number: int, step: int, closed: NDArray[np.bool_]) -> NDArray[np.float64]:
        """What it costs to be at each column of a rank."""
        size = len(self.routes.columns)
        if rank == head.rank:
            cost = np.full(size, np.inf)
            middle = (head.inside.start + head.inside.stop - 1) / 2
            for column in head.inside:
                cost[column - self.first] = 0.02 * abs(column - middle)
            return np.where(closed, np.inf, cost)
        following = min(rank, rank + step) + 1
        wanted = self.found.courses.get(number, {}).get(rank)
        columns = np.arange(size) + self.first
        cost = self.toll[rank] + _LENGTH + (0 if wanted is None else _ASIDE * np.abs(columns - wanted))
        return np.where(self.blocked[rank] | closed | self.taken[following], np.inf, cost)

    def _walked(
        self,
        best: int,
        came: Sequence[NDArray[np.intp]],
        tree: dict[int, set[int]],
        tail: Place,
        head: Place,
        step: int,
    ) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        path, column, rank = [], best, head.rank
        for origin in reversed(came):
            before = int(origin[column])
            path.append(((rank - step, before + self.first), (rank, column + self.first)))
            rank, column = rank - step, before
            if column + self.first in tree.get(rank, ()) or rank == tail.rank:
                break
        return path[::-1]
