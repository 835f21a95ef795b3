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


class Limits(NamedTuple):
    """The rows of a channel, and those in which a branch may run."""

    rows: int
    first: int
    last: int


def rows_of(channels: Sequence[tuple[Sequence[Branch], Sequence[Border]]], wanted: int) -> list[int]:
    """Give each branch and border of all channels its row; how many rows each channel has.

    Arrow heads have rows of their own, but in as many channels as it takes to have no more rows than are wanted, those
    first where it saves most.
    """
    airy = [tracks(*channel, airy=True) for channel in channels]
    tight = [tracks(*channel, airy=False) for channel in channels]
    chosen = list(airy)
    for number in sorted(range(len(channels)), key=lambda number: (tight[number] - airy[number], number)):
        if sum(chosen) > wanted:
            chosen[number] = tight[number]
    return [
        tracks(*channel, airy=chosen[number] == airy[number]) if channel[0] or channel[1] else 0
        for number, channel in enumerate(channels)
    ]


def tracks(branches: Sequence[Branch], borders: Sequence[Border], *, airy: bool) -> int:
    """Give each branch and border its row; how many rows the channel has."""
    rows = max(_least(branches, borders), 1) if branches or borders else 0
    while True:
        if _placed(branches, borders, rows, airy):
            return rows
        rows += 1


def _least(branches: Sequence[Branch], borders: Sequence[Border]) -> int:
    return 1 + max((border.depth for border in borders), default=0)


def _placed(branches: Sequence[Branch], borders: Sequence[Border], rows: int, airy: bool) -> bool:
    taken: list[list[tuple[int, int]]] = [[] for _ in range(rows)]
    for border in borders:
        border.row = rows - 1 - border.depth if border.upper else border.depth
        if not 0 <= border.row < rows or _meets(taken[border.row], border.left, border.right):
            return False
        taken[border.row].append((border.left, border.right))
    put: list[Branch] = []
    for branch in sorted(branches, key=lambda branch: (branch.reach[0] - branch.reach[1], branch.reach)):
        if branch.straight:
            continue
        options = [row for row in range(rows) if _fits(branch, row, rows, taken[row], branches, airy)]
        if not options:
            return False
        branch.row = min(options, key=lambda row: (_crossings(branch, row, put), _distance(branch, row, rows)))
        taken[branch.row].append(branch.reach)
        put.append(branch)
    return True


def _distance(branch: Branch, row: int, rows: int) -> float:
    """From the middle, if there is room."""
    return abs(row - (rows - 1) / 2)


def _fits(
    branch: Branch, row: int, rows: int, taken: Sequence[tuple[int, int]], branches: Sequence[Branch], airy: bool
) -> bool:
    left, right = branch.reach
    if _meets(taken, left, right):
        return False
    for other in branches:
        for heads, edge in ((other.heads_below, rows - 1), (other.heads_above, 0)):
            near = any(left - 1 <= column <= right + 1 for column in heads)
            if row == edge and near and (airy or other is not branch):
                return False
    return True


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
