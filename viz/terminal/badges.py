"""Badges in the grid: tokens on their arrows and marks beside their boxes, where there is room.

The sign of a token replaces a cell of its arrow's line; the value is written beside it if that space is free. The graph
is never moved to make room for a badge, so it does not move while tokens do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from ..style import BADGE_LOOKS
from ..view import Badge, Box, View, count_by_mark
from .box_rows import BOX_DELIMITERS, abbreviate, to_single_width
from .grid import DOWN, LEFT, RIGHT, UNREMOVABLE, UP, GridCell, text_cells

EMPHASIS_GLYPHS = "█*"
"""The first character of a highlighted box, in Unicode and in ASCII."""

CellPositions: TypeAlias = dict[str | int, list[tuple[int, int]]]
"""The cells (row, column) of each box, frame and arrow."""

_MAX_LENGTH = 12
"""The most characters of a value; longer ones are cut."""

_BRACKETS = "[", "]"
"""The ends of boxes of other kinds than those in BOX_DELIMITERS."""

_LONG_BOX = 7
"""The columns between the ends of a box that has enough letters to lose one."""

_COUNT_LENGTH = 6
"""The most characters of the number of badges that are not shown."""


def draw_badges(
    bare: Sequence[tuple[GridCell, ...]], view: View, positions: CellPositions | None = None
) -> tuple[tuple[GridCell, ...], ...]:
    """The grid with badges (as many as there is room for, then a count) and highlighted boxes and arrows. `positions`
    are the cells of each box and arrow, computed if not given. Unchanged rows are the same objects as in `bare`."""
    grid = GridOverlay(bare)
    positions = cell_positions(bare) if positions is None else positions
    used_cells: set[tuple[int, int]] = set()
    for name, box in view.boxes.items():
        if box.emphasized and name in positions:
            _embolden(grid, positions[name])
            row, column = positions[name][0]
            grid.set(row, column, grid[row][column]._replace(glyph=EMPHASIS_GLYPHS[0], ascii=EMPHASIS_GLYPHS[1]))
        if box.badges and name in positions:
            draw_beside_box(grid, used_cells, min(positions[name]), max(positions[name]), box)
    for number, arrow in enumerate(view.arrows):
        if arrow.emphasized:
            _embolden(grid, positions.get(number, ()))
        if arrow.badges and number in positions:
            own = [cell for cell in positions[number] if grid[cell[0]][cell[1]].owners == (number,)]
            draw_on_line(grid, used_cells, own or positions[number], arrow.badges, number)
    return grid.rows()


class GridOverlay:
    """A copy-on-write grid: only rows that change are copied, because a step marks few of many boxes."""

    def __init__(self, base: Sequence[tuple[GridCell, ...]]) -> None:
        self._base = base
        self._changed_rows: dict[int, list[GridCell]] = {}

    def __getitem__(self, row: int) -> Sequence[GridCell]:
        return self._changed_rows.get(row) or self._base[row]

    def set(self, row: int, column: int, cell: GridCell) -> None:
        if row not in self._changed_rows:
            self._changed_rows[row] = list(self._base[row])
        self._changed_rows[row][column] = cell

    def rows(self) -> tuple[tuple[GridCell, ...], ...]:
        return tuple(tuple(self._changed_rows.get(number, row)) for number, row in enumerate(self._base))


def _embolden(grid: GridOverlay, positions: Iterable[tuple[int, int]]) -> None:
    for row, column in positions:
        grid.set(row, column, grid[row][column]._replace(bold=True))


def cell_positions(grid: Sequence[Sequence[GridCell]]) -> CellPositions:
    """The cells (row, column) of each box, frame and arrow, in order."""
    positions: CellPositions = {}
    for row, cells in enumerate(grid):
        for column, cell in enumerate(cells):
            for element in cell.owners:
                positions.setdefault(element, []).append((row, column))
    return positions


def badge_variants(badges: Sequence[Badge], element: str | int) -> Iterator[list[GridCell]]:
    """Texts for badges, from the longest to a single sign."""
    has_owners = any(badge.owner for badge in badges)
    owned = [(_MAX_LENGTH, True), (5, True)] if has_owners else []
    for longest, with_owner in (*owned, (_MAX_LENGTH, False), (5, False), (0, False)):
        for count in range(len(badges), 0, -1):
            cells: list[GridCell] = []
            for badge in badges[:count]:
                length = max(longest, _COUNT_LENGTH) if badge.mark == "more" else longest
                cells += [*[GridCell()] * bool(cells), *badge_cells(badge, length, element, with_owner)]
            if count < len(badges):
                remaining = Badge("more", str(count_by_mark(badges[count:]).total()))
                cells += badge_cells(remaining, _COUNT_LENGTH, element)
            yield cells
    yield list(badge_cells(badges[0], 0, element))


@lru_cache(maxsize=1024)
def badge_cells(badge: Badge, longest: int, element: str | int, with_owner: bool = False) -> tuple[GridCell, ...]:
    """The cells of a badge: its sign, its text, cut to `longest` characters, and the activation that it belongs to."""
    sign = BADGE_LOOKS[badge.mark]
    text = (abbreviate(to_single_width(badge.text), longest) if longest else "") + (badge.owner if with_owner else "")
    colour = sign.colour if badge.mark == "dead" else badge.colour or sign.colour
    cell = GridCell(colour=colour, bold=not badge.is_dim, owners=(element,))
    first = cell._replace(glyph=sign.glyph, ascii=sign.ascii)
    return (first, *text_cells(text, cell))


def count_free_cells(grid: GridOverlay, row: int, column: int) -> int:
    """The number of free cells from here to the right, not counting the last of several, which separates words."""
    cells = grid[row]
    end = column
    while end < len(cells) and cells[end] == GridCell():
        end += 1
    return end - column if end == len(cells) else max(end - column - 1, min(end - column, 1))


def draw_beside_box(
    grid: GridOverlay, used_cells: set[tuple[int, int]], first: tuple[int, int], last: tuple[int, int], box: Box
) -> None:
    """Draw the badges of a box to its right; if there is no room, the sign of the first one to the left of the box, or
    else over the last letter in it, and in a box of few letters over its end. `first` and `last` are the ends of the
    box."""
    row, column = last
    room = count_free_cells(grid, row, column + 1)
    for variant in badge_variants(box.badges, box.name):
        if len(variant) <= room:
            _write_cells(grid, used_cells, row, column + 1, variant)
            return
    is_long = last[1] - first[1] >= _LONG_BOX
    closing_length = len(BOX_DELIMITERS.get(box.kind, _BRACKETS)[1]) if is_long else 0
    is_left_free = first[1] > 0 and grid[row][first[1] - 1] == GridCell()
    _write_cells(grid, used_cells, row, first[1] - 1 if is_left_free else column - closing_length, variant)


def draw_on_line(
    grid: GridOverlay,
    used_cells: set[tuple[int, int]],
    line: Iterable[tuple[int, int]],
    badges: Sequence[Badge],
    number: int,
) -> None:
    """Draw badges on a piece of a line: beside it, or along it."""
    free = [cell for cell in line if cell not in used_cells]
    if not free:
        return
    down = sorted(
        (cell for cell in free if grid[cell[0]][cell[1]].sides in (UP | DOWN, UP | DOWN | UNREMOVABLE)),
        key=lambda cell: grid[cell[0]][cell[1]].sides & UNREMOVABLE,
    )
    for variant in badge_variants(badges, number):
        for row, column in down:
            if len(variant) - 1 <= count_free_cells(grid, row, column + 1):
                _write_cells(grid, used_cells, row, column, variant)
                return
        for row, column in free:
            if len(variant) > 1 and is_free_run(grid, used_cells, row, column, len(variant), number):
                _write_cells(grid, used_cells, row, column, variant)
                return
    _write_cells(grid, used_cells, *(down or free)[0], variant)


def is_free_run(
    grid: GridOverlay, used_cells: set[tuple[int, int]], row: int, column: int, length: int, number: int
) -> bool:
    """Whether a line runs along this row for `length` cells and continues at both ends, without another line across
    it."""
    cells = grid[row][column : column + length]
    is_unbroken = all(cell.sides == LEFT | RIGHT and cell.owners == (number,) for cell in cells)
    return (
        len(cells) == length
        and is_unbroken
        and not any((row, column + offset) in used_cells for offset in range(length))
    )


def _write_cells(
    grid: GridOverlay, used_cells: set[tuple[int, int]], row: int, column: int, cells: Sequence[GridCell]
) -> None:
    for offset, cell in enumerate(cells):
        cell_below = grid[row][column + offset]
        grid.set(row, column + offset, cell._replace(owners=cell.owners or cell_below.owners, sides=cell_below.sides))
        used_cells.add((row, column + offset))
