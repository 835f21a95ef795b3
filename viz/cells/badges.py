"""Badges in the grid: tokens on their arrows, marks beside their boxes, in the room that is there.

A sign takes the place of a piece of the line that its token is on; its value stands beside it where nothing else is.
Nothing moves for a badge, so that a graph stands still while its tokens run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from ..style import SIGNS
from ..view import Badge, View
from .box_rows import cut, one_wide
from .grid import DOWN, FIXED, LEFT, RIGHT, UP, Cell, spelled

BLOCK = "█*"
"""What a box begins with that is to be found first, in Unicode and in ASCII."""

Places: TypeAlias = dict[str | int, list[tuple[int, int]]]
"""The cells of each box, frame and arrow: rows and columns."""

_LONGEST = 12
"""Longer values are cut."""


def marked(bare: Sequence[tuple[Cell, ...]], view: View, where: Places | None = None) -> tuple[tuple[Cell, ...], ...]:
    """A grid of a view with what changes from moment to moment: badges, of each thing as many as there is room for and
    how many more, and what is strong. `where` are its places, if somebody knows them. Rows in which nothing is are the
    bare ones themselves."""
    grid = Marked(bare)
    where = places(bare) if where is None else where
    used: set[tuple[int, int]] = set()
    for name, box in view.boxes.items():
        if box.strong and name in where:
            _strengthen(grid, where[name])
            row, column = where[name][0]
            grid.set(row, column, grid[row][column]._replace(sign=BLOCK[0], ascii=BLOCK[1]))
        if box.badges and name in where:
            _beside(grid, used, max(where[name]), box.badges, name)
    for number, arrow in enumerate(view.arrows):
        if arrow.strong:
            _strengthen(grid, where.get(number, ()))
        if arrow.badges and number in where:
            own = [place for place in where[number] if grid[place[0]][place[1]].of == (number,)]
            _on_line(grid, used, own or where[number], arrow.badges, number)
    return grid.rows()


class Marked:
    """A grid over another, of which those rows are copied that change: of 500 boxes, a moment marks some."""

    def __init__(self, bare: Sequence[tuple[Cell, ...]]) -> None:
        self._bare = bare
        self._changed: dict[int, list[Cell]] = {}

    def __getitem__(self, row: int) -> Sequence[Cell]:
        return self._changed.get(row) or self._bare[row]

    def set(self, row: int, column: int, cell: Cell) -> None:
        if row not in self._changed:
            self._changed[row] = list(self._bare[row])
        self._changed[row][column] = cell

    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        return tuple(tuple(self._changed.get(number, row)) for number, row in enumerate(self._bare))


def _strengthen(grid: Marked, where: Iterable[tuple[int, int]]) -> None:
    for row, column in where:
        grid.set(row, column, grid[row][column]._replace(strong=True))


def places(grid: Sequence[Sequence[Cell]]) -> Places:
    """The cells of each thing, rows and columns, in order."""
    found: Places = {}
    for row, cells in enumerate(grid):
        for column, cell in enumerate(cells):
            for thing in cell.of:
                found.setdefault(thing, []).append((row, column))
    return found


def _sayings(badges: Sequence[Badge], thing: str | int) -> Iterator[list[Cell]]:
    """Ways to say badges, from the longest to a single sign."""
    for longest in (_LONGEST, 5, 0):
        for many in range(len(badges), 0, -1):
            said: list[Cell] = []
            for badge in badges[:many]:
                said += [Cell()] * bool(said) + _said(badge, longest, thing)
            if many < len(badges):
                more = Badge("more", str(len(badges) - many))
                said += _said(more, 3, thing)
            yield said
    yield _said(badges[0], 0, thing)


def _said(badge: Badge, longest: int, thing: str | int) -> list[Cell]:
    sign = SIGNS[badge.mark]
    text = cut(one_wide(badge.text), longest) if longest else ""
    cell = Cell(colour=sign.colour, strong=True, of=(thing,))
    first = cell._replace(sign=sign.sign, ascii=sign.ascii)
    return [first, *spelled(text, cell)]


def _room(grid: Marked, row: int, column: int) -> int:
    """How many cells are free from here to the right; of several not the last, which keeps words apart."""
    cells = grid[row]
    end = column
    while end < len(cells) and cells[end] == Cell():
        end += 1
    return end - column if end == len(cells) else max(end - column - 1, min(end - column, 1))


def _beside(
    grid: Marked, used: set[tuple[int, int]], last: tuple[int, int], badges: Sequence[Badge], name: str
) -> None:
    """Right of a box; where there is no room, in the place of its end."""
    row, column = last
    room = _room(grid, row, column + 1)
    for said in _sayings(badges, name):
        if len(said) <= room:
            _put(grid, used, row, column + 1, said)
            return
    _put(grid, used, row, column, said)


def _on_line(
    grid: Marked, used: set[tuple[int, int]], line: Iterable[tuple[int, int]], badges: Sequence[Badge], number: int
) -> None:
    """On a piece of a line: beside it, or along it."""
    free = [place for place in line if place not in used]
    if not free:
        return
    down = sorted(
        (place for place in free if grid[place[0]][place[1]].sides in (UP | DOWN, UP | DOWN | FIXED)),
        key=lambda place: grid[place[0]][place[1]].sides & FIXED,
    )
    for said in _sayings(badges, number):
        for row, column in down:
            if len(said) - 1 <= _room(grid, row, column + 1):
                _put(grid, used, row, column, said)
                return
        for row, column in free:
            if len(said) > 1 and _runs_along(grid, used, row, column, len(said), number):
                _put(grid, used, row, column, said)
                return
    _put(grid, used, *(down or free)[0], said)


def _runs_along(grid: Marked, used: set[tuple[int, int]], row: int, column: int, length: int, number: int) -> bool:
    """Whether a line runs along for so long here, with no other line across, and on at both ends."""
    cells = grid[row][column : column + length]
    whole = all(cell.sides == LEFT | RIGHT and cell.of == (number,) for cell in cells)
    return len(cells) == length and whole and not any((row, column + each) in used for each in range(length))


def _put(grid: Marked, used: set[tuple[int, int]], row: int, column: int, said: Sequence[Cell]) -> None:
    for place, cell in enumerate(said):
        under = grid[row][column + place]
        grid.set(row, column + place, cell._replace(of=cell.of or under.of, sides=under.sides))
        used.add((row, column + place))
