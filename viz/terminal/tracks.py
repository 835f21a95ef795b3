"""Track assignment, the second half of channel routing: a row of its channel for each trunk and each frame border.

Each channel gets as few rows as possible: the longest trunks are placed first, each in the free row with the fewest
crossings, and a row is added if one of them finds none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from .routes import Trunk


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

    trunks: Sequence[Trunk]
    borders: Sequence[Border]
    columns_above: frozenset[int]
    columns_below: frozenset[int]


def assign_rows(channels: Sequence[Channel], most: int) -> list[int]:
    """Assign a row to each trunk and border of all channels; returns the number of rows of each channel.

    Arrow heads have separate rows, if there are at most `most` rows then. If there are more, heads share rows with
    lines, first in the channels where that saves most.
    """
    with_head_rows = [assign_tracks(channel, separates_heads=True) for channel in channels]
    without_head_rows = [assign_tracks(channel, separates_heads=False) for channel in channels]
    heights = list(with_head_rows)
    for number in sorted(
        range(len(channels)), key=lambda number: (without_head_rows[number] - with_head_rows[number], number)
    ):
        if sum(heights) > most:
            heights[number] = without_head_rows[number]
    return [
        assign_tracks(channel, separates_heads=heights[number] == with_head_rows[number])
        for number, channel in enumerate(channels)
    ]


def assign_tracks(channel: Channel, *, separates_heads: bool) -> int:
    """Assign a row to each trunk and border; returns the number of rows of the channel."""
    if not channel.trunks and not channel.borders:
        return 0
    rows = max(1 + max((border.depth for border in channel.borders), default=0), max_overlap(channel))
    while not try_rows(channel, rows, separates_heads):
        rows += 1
    return rows


def max_overlap(channel: Channel) -> int:
    """The largest number of trunks across one column; each trunk needs a row."""
    counts = Counter[int]()
    for trunk in channel.trunks:
        if not trunk.is_straight:
            left, right = trunk.extent
            counts.update(range(left, right + 2))
    return max(counts.values(), default=0)


def try_rows(channel: Channel, rows: int, separates_heads: bool) -> bool:
    """Assign rows of a channel to its borders and trunks; return whether this many rows suffice."""
    extents: list[list[tuple[int, int]]] = [[] for _ in range(rows)]
    for border in channel.borders:
        border.row = rows - 1 - border.depth if border.is_upper else border.depth
        extent = (border.left_column, border.right_column)
        if not 0 <= border.row < rows or any(
            overlap(extent, placed_extent, ()) for placed_extent in extents[border.row]
        ):
            return False
        extents[border.row].append(extent)
    placed_trunks: list[Trunk] = []
    vertical_columns = frozenset(
        column for trunk in channel.trunks for column in trunk.columns_above | trunk.columns_below
    )
    for trunk in sorted(channel.trunks, key=lambda trunk: (trunk.extent[0] - trunk.extent[1], trunk.extent)):
        if trunk.is_straight:
            continue
        options = [
            row
            for row in range(rows)
            if not any(overlap(trunk.extent, extent, vertical_columns) for extent in extents[row])
            and _fits(trunk, row, rows, channel, vertical_columns, separates_heads)
        ]
        if not options:
            return False
        crossings = count_crossings(trunk, rows, placed_trunks)
        trunk.row = min(options, key=lambda row: (crossings[row], abs(row - (rows - 1) / 2)))
        extents[trunk.row].append(trunk.extent)
        placed_trunks.append(trunk)
    return True


def _fits(
    trunk: Trunk, row: int, rows: int, channel: Channel, vertical_columns: frozenset[int], separates_heads: bool
) -> bool:
    """Whether a trunk in this row obstructs no arrow head."""
    if rows == 1 and is_misleading(trunk, channel):
        return False
    if row in (0, rows - 1):
        for neighbour in channel.trunks:
            for heads, edge in ((neighbour.heads_below, rows - 1), (neighbour.heads_above, 0)):
                is_adjacent = row == edge and any(
                    overlap(trunk.extent, (column, column), vertical_columns) for column in heads
                )
                if is_adjacent and (
                    separates_heads or neighbour is not trunk or hides_line(trunk, sorted(heads), channel)
                ):
                    return False
    return True


def is_misleading(trunk: Trunk, channel: Channel) -> bool:
    """Whether an arrow head between two boxes would seem to belong to an arrow from the opposite box, although its
    arrow comes from the side."""
    return bool(
        (trunk.heads_below.keys() - trunk.columns_above) & channel.columns_above
        or (trunk.heads_above.keys() - trunk.columns_below) & channel.columns_below
    )


def hides_line(trunk: Trunk, heads: Sequence[int], channel: Channel) -> bool:
    """Whether a head painted over the line of its trunk would hide that the line continues behind it; it does not
    if the cells beside it are a plain line."""
    left, right = trunk.extent
    occupied = {
        column
        for neighbour in channel.trunks
        if neighbour is not trunk
        for column in neighbour.columns_above | neighbour.columns_below
    }
    beside = {column + step for column in heads for step in (-1, 1) if left <= column + step <= right}
    return bool(beside & (occupied | set(heads)))


def overlap(first: tuple[int, int], second: tuple[int, int], vertical_columns: Container[int]) -> bool:
    """Whether two lines in a row touch, or in ASCII would look like one line that passes behind those between them."""
    between = range(min(first[1], second[1]) + 1, max(first[0], second[0]))
    return all(column in vertical_columns for column in between)


def count_crossings(trunk: Trunk, rows: int, placed_trunks: Sequence[Trunk]) -> list[int]:
    """How often the trunk would cross others, for each row."""
    left, right = trunk.extent
    change = [0] * (rows + 1)
    for placed_trunk in placed_trunks:
        start, end = placed_trunk.extent
        ours_above, ours_below = (
            _count_between(trunk.columns_above, start, end),
            _count_between(trunk.columns_below, start, end),
        )
        theirs_above, theirs_below = (
            _count_between(placed_trunk.columns_above, left, right),
            _count_between(placed_trunk.columns_below, left, right),
        )
        change[0] += theirs_above + ours_below
        change[placed_trunk.row] += theirs_below - theirs_above
        change[placed_trunk.row + 1] += ours_above - ours_below
    return list(accumulate(change))


def _count_between(columns: Iterable[int], left: int, right: int) -> int:
    return sum(left < column < right for column in columns)
