"""Seam carving for grids: remove one cell from each row (or column) without breaking lines or boxes.

A seam runs from top to bottom through blanks and horizontal lines. Where it steps sideways between two rows, the cells
that it steps over move in only one of these rows; so it steps only over cells that are not joined to the other row, and
that would not seem joined to it afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .grid import DOWN, LEFT, RIGHT, UNREMOVABLE, UP, Grid, GridCell

_MAX_COMPRESSION = 1.5
"""Grids that exceed the size by more than this factor are not compressed: they never have that much space."""

_PROHIBITIVE_COST = 10**6
"""A cost that no seam is worth."""


def compress_grid(grid: Grid, width: int, height: int) -> Grid:
    """Remove seams until the grid fits, or no seam is left; a grid that is far too large is returned unchanged."""
    if len(grid) > _MAX_COMPRESSION * height or len(grid[0] if grid else ()) > _MAX_COMPRESSION * width:
        return grid
    narrow = remove_seams(grid, width, LEFT | RIGHT, UP, DOWN)
    return _transpose(remove_seams(_transpose(narrow), height, UP | DOWN, LEFT, RIGHT))


def _transpose(grid: Grid) -> Grid:
    return [list(column) for column in zip(*grid, strict=True)]


def remove_seams(grid: Grid, width: int, along: int, up: int, down: int) -> Grid:
    """Remove the straightest seams, one after another, until rows have `width` cells or no seam is left."""
    while grid and len(grid[0]) > width:
        seam = cheapest_seam(grid, along, up, down)
        if seam is None:
            return grid
        grid = [row[:column] + row[column + 1 :] for row, column in zip(grid, seam, strict=True)]
    return grid


def cheapest_seam(grid: Grid, along: int, up: int, down: int) -> list[int] | None:
    """The straightest seam, as the column to remove from each row; None if there is no seam."""
    costs = removal_costs(grid[0], along)
    steps: list[list[int]] = []
    for above, row in pairwise(grid):
        costs, step = next_row_costs(costs, removal_costs(row, along), *passable_columns(above, row, up, down))
        steps.append(step)
    column = min(range(len(costs)), key=lambda index: costs[index])
    if costs[column] >= _PROHIBITIVE_COST:
        return None
    seam = [column]
    for step in reversed(steps):
        column = step[column]
        seam.append(column)
    return seam[::-1]


def removal_costs(row: Sequence[GridCell], along: int) -> list[int]:
    """The cost to remove each cell of a row; space with more space to its right is cheap, blanks cheaper than lines."""
    free = [cell.sides in (0, along) and not cell.sides & UNREMOVABLE for cell in row]
    return [
        (1 if row[column].sides else 0)
        if free[column] and column + 1 < len(row) and free[column + 1]
        else _PROHIBITIVE_COST
        for column in range(len(row))
    ]


def passable_columns(
    above: Sequence[GridCell], row: Sequence[GridCell], up: int, down: int
) -> tuple[list[bool], list[bool]]:
    """Whether a seam can step to each column from the column on its left, and back.

    The cells that it steps over move in only one of the two rows. They must neither be joined to the other row, nor
    seem joined to it after the move.
    """
    loose = [not (upper.sides & down or lower.sides & up) for upper, lower in zip(above, row, strict=True)]
    moved = [False, *(would_join(upper, lower, up, down) for upper, lower in zip(above[1:], row, strict=False))]
    joins = [False, *(would_join(upper, lower, up, down) for upper, lower in zip(above, row[1:], strict=False))]
    right = [free and not clash for free, clash in zip(loose, moved, strict=True)]
    return right, [free and not clash for free, clash in zip(loose, joins, strict=True)]


def would_join(upper: GridCell, lower: GridCell, up: int, down: int) -> bool:
    """Whether two cells that are not joined would seem joined if one were above the other."""
    if not (upper.sides and lower.sides):
        return False
    corners = all(cell.sides & (UP | DOWN) and cell.sides & (LEFT | RIGHT) for cell in (upper, lower))
    return bool(corners or upper.sides & down or lower.sides & up or upper.sides & lower.sides & UNREMOVABLE)


def next_row_costs(
    costs: Sequence[int], room: Sequence[int], right: Sequence[bool], left: Sequence[bool]
) -> tuple[list[int], list[int]]:
    """The costs of a row and their predecessors, from the costs of the row before it."""
    size = len(costs)
    best = list(costs)
    origin = list(range(size))
    for column in range(1, size):
        if right[column] and best[column - 1] + 1 < best[column]:
            best[column], origin[column] = best[column - 1] + 1, origin[column - 1]
    for column in range(size - 2, -1, -1):
        if left[column + 1] and best[column + 1] + 1 < best[column]:
            best[column], origin[column] = best[column + 1] + 1, origin[column + 1]
    return [cost + more for cost, more in zip(best, room, strict=True)], origin
