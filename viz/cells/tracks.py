"""Tracks: in which row of its channel each branch runs along, and the borders of frames; as few rows as it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .routes import Branch


@dataclass(slots=True)
class Border:
    """The upper or lower side of a frame, in a channel."""

    cluster: str
    left: int
    right: int
    upper: bool
    """Whether it is the upper side, which belongs near the end of the channel."""
    depth: int
    row: int = 0


class Channel(NamedTuple):
    """What is between two ranks, and the columns in which boxes stand above and below it."""

    branches: Sequence[Branch]
    borders: Sequence[Border]
    above: frozenset[int]
    below: frozenset[int]


def rows_of(channels: Sequence[Channel], wanted: int) -> list[int]:
    """Give each branch and border of all channels its row; how many rows each channel has.

    Arrow heads have rows of their own, but in as many channels as it takes to have no more rows than are wanted, those
    first where it saves most.
    """
    airy = [tracks(channel, airy=True) for channel in channels]
    tight = [tracks(channel, airy=False) for channel in channels]
    chosen = list(airy)
    for number in sorted(range(len(channels)), key=lambda number: (tight[number] - airy[number], number)):
        if sum(chosen) > wanted:
            chosen[number] = tight[number]
    return [tracks(channel, airy=chosen[number] == airy[number]) for number, channel in enumerate(channels)]


def tracks(channel: Channel, *, airy: bool) -> int:
    """Give each branch and border its row; how many rows the channel has."""
    if not channel.branches and not channel.borders:
        return 0
    rows = 1 + max((border.depth for border in channel.borders), default=0)
    while not _placed(channel, rows, airy):
        rows += 1
    return rows


def _placed(channel: Channel, rows: int, airy: bool) -> bool:
    taken: list[list[tuple[int, int]]] = [[] for _ in range(rows)]
    for border in channel.borders:
        border.row = rows - 1 - border.depth if border.upper else border.depth
        if not 0 <= border.row < rows or _meets(taken[border.row], border.left, border.right):
            return False
        taken[border.row].append((border.left, border.right))
    put: list[Branch] = []
    for branch in sorted(channel.branches, key=lambda branch: (branch.reach[0] - branch.reach[1], branch.reach)):
        if branch.straight:
            continue
        options = [row for row in range(rows) if _fits(branch, row, rows, taken[row], channel, airy)]
        if not options:
            return False
        branch.row = min(options, key=lambda row: (_crossings(branch, row, put), _distance(branch, row, rows)))
        taken[branch.row].append(branch.reach)
        put.append(branch)
    return True


def _distance(branch: Branch, row: int, rows: int) -> float:
    """From the middle, if there is room."""
    return abs(row - (rows - 1) / 2)


def _fits(branch: Branch, row: int, rows: int, taken: Sequence[tuple[int, int]], channel: Channel, airy: bool) -> bool:
    left, right = branch.reach
    if _meets(taken, left, right) or (rows == 1 and _misleads(branch, channel)):
        return False
    for other in channel.branches:
        for heads, edge in ((other.heads_below, rows - 1), (other.heads_above, 0)):
            near = any(left - 1 <= column <= right + 1 for column in heads)
            if row == edge and near and (airy or other is not branch or _hides(branch, sorted(heads), channel)):
                return False
    return True


def _misleads(branch: Branch, channel: Channel) -> bool:
    """Whether a head would stand between two boxes as if it came from the one, though it comes from beside."""
    return bool(
        (branch.heads_below.keys() - branch.above) & channel.above
        or (branch.heads_above.keys() - branch.below) & channel.below
    )


def _hides(branch: Branch, heads: Sequence[int], channel: Channel) -> bool:
    """Whether a head in the line of its branch would hide that the line goes on behind it: it needs a plain piece of
    the line beside it."""
    left, right = branch.reach
    busy = {column for other in channel.branches if other is not branch for column in other.above | other.below}
    beside = {column + step for column in heads for step in (-1, 1) if left <= column + step <= right}
    return bool(beside & (busy | set(heads)))


def _meets(taken: Sequence[tuple[int, int]], left: int, right: int) -> bool:
    return any(left <= end + 1 and start <= right + 1 for start, end in taken)


def _crossings(branch: Branch, row: int, put: Sequence[Branch]) -> int:
    """How often it crosses others in this row."""
    left, right = branch.reach
    count = 0
    for other in put:
        start, end = other.reach
        count += sum(left < column < right for column in (other.above if row < other.row else other.below))
        count += sum(start < column < end for column in (branch.above if other.row < row else branch.below))
    return count
