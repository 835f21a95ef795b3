"""Tracks: the rows of a channel for its branches and frame borders, as few rows as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from .routes import Branch


@dataclass(slots=True)
class Border:
    """The upper or lower side of a frame, in a channel."""

    cluster: str
    left_column: int
    right_column: int
    is_upper: bool
    """Whether it is the upper side, which belongs near the end of the channel."""
    depth: int
    row: int = 0


class Channel(NamedTuple):
    """The space between two ranks, and the columns that boxes occupy above and below it."""

    branches: Sequence[Branch]
    borders: Sequence[Border]
    columns_above: frozenset[int]
    columns_below: frozenset[int]


def assign_rows(channels: Sequence[Channel], wanted: int) -> list[int]:
    """Assign a row to each branch and border of all channels; returns the number of rows of each channel.

    Arrow heads have rows of their own, except in as many channels as must give them up to keep to `wanted` rows, those
    first where it saves most.
    """
    airy = [assign_tracks(channel, separates_heads=True) for channel in channels]
    tight = [assign_tracks(channel, separates_heads=False) for channel in channels]
    chosen = list(airy)
    for number in sorted(range(len(channels)), key=lambda number: (tight[number] - airy[number], number)):
        if sum(chosen) > wanted:
            chosen[number] = tight[number]
    return [
        assign_tracks(channel, separates_heads=chosen[number] == airy[number])
        for number, channel in enumerate(channels)
    ]


def assign_tracks(channel: Channel, *, separates_heads: bool) -> int:
    """Assign a row to each branch and border; returns the number of rows of the channel."""
    if not channel.branches and not channel.borders:
        return 0
    rows = max(1 + max((border.depth for border in channel.borders), default=0), _max_overlap(channel))
    while not _try_rows(channel, rows, separates_heads):
        rows += 1
    return rows


def _max_overlap(channel: Channel) -> int:
    """The most branches that run through one column, which need a row each."""
    crowd = Counter[int]()
    for branch in channel.branches:
        if not branch.is_straight:
            left, right = branch.extent
            crowd.update(range(left, right + 2))
    return max(crowd.values(), default=0)


def _try_rows(channel: Channel, rows: int, airy: bool) -> bool:
    taken: list[list[tuple[int, int]]] = [[] for _ in range(rows)]
    for border in channel.borders:
        border.row = rows - 1 - border.depth if border.is_upper else border.depth
        reach = (border.left_column, border.right_column)
        if not 0 <= border.row < rows or any(_overlap(reach, other, ()) for other in taken[border.row]):
            return False
        taken[border.row].append(reach)
    put: list[Branch] = []
    upright = frozenset(column for branch in channel.branches for column in branch.columns_above | branch.columns_below)
    for branch in sorted(channel.branches, key=lambda branch: (branch.extent[0] - branch.extent[1], branch.extent)):
        if branch.is_straight:
            continue
        options = [
            row
            for row in range(rows)
            if not any(_overlap(branch.extent, reach, upright) for reach in taken[row])
            and _fits(branch, row, rows, channel, upright, airy)
        ]
        if not options:
            return False
        crossings = _count_crossings(branch, rows, put)
        branch.row = min(options, key=lambda row: (crossings[row], abs(row - (rows - 1) / 2)))
        taken[branch.row].append(branch.extent)
        put.append(branch)
    return True


def _fits(branch: Branch, row: int, rows: int, channel: Channel, upright: frozenset[int], airy: bool) -> bool:
    """Whether a branch in this row obstructs no arrow head."""
    if rows == 1 and _is_misleading(branch, channel):
        return False
    if row in (0, rows - 1):
        for other in channel.branches:
            for heads, edge in ((other.heads_below, rows - 1), (other.heads_above, 0)):
                near = row == edge and any(_overlap(branch.extent, (column, column), upright) for column in heads)
                if near and (airy or other is not branch or _hides_line(branch, sorted(heads), channel)):
                    return False
    return True


def _is_misleading(branch: Branch, channel: Channel) -> bool:
    """Whether a head between two boxes would seem to come from the upper one, although it comes from the side."""
    return bool(
        (branch.heads_below.keys() - branch.columns_above) & channel.columns_above
        or (branch.heads_above.keys() - branch.columns_below) & channel.columns_below
    )


def _hides_line(branch: Branch, heads: Sequence[int], channel: Channel) -> bool:
    """Whether a head in the line of its branch would hide that the line continues behind it: it needs a plain piece
    of line beside it."""
    left, right = branch.extent
    busy = {
        column
        for other in channel.branches
        if other is not branch
        for column in other.columns_above | other.columns_below
    }
    beside = {column + step for column in heads for step in (-1, 1) if left <= column + step <= right}
    return bool(beside & (busy | set(heads)))


def _overlap(one: tuple[int, int], other: tuple[int, int], upright: Container[int]) -> bool:
    """Whether two lines in a row touch, or in ASCII would look like one line that passes behind those between them."""
    between = range(min(one[1], other[1]) + 1, max(one[0], other[0]))
    return all(column in upright for column in between)


def _count_crossings(branch: Branch, rows: int, put: Sequence[Branch]) -> list[int]:
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
