"""The grid of cells that a drawing is."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

UP, DOWN, LEFT, RIGHT, FIXED = 1, 2, 4, 8, 16
"""The sides that a cell is joined to; and that it cannot be left out."""


class Cell(NamedTuple):
    """A character, the same in ASCII, a colour of the table of looks, the boxes and arrows that it is of, and the
    sides that it is joined to."""

    sign: str = " "
    ascii: str = " "
    colour: str = ""
    strong: bool = False
    of: tuple[str | int, ...] = ()
    sides: int = 0


def spelled(text: str, cell: Cell) -> list[Cell]:
    """A text in the look of a cell, a sign each."""
    return [cell._replace(sign=sign, ascii=_PLAIN.get(sign, sign if sign.isascii() else "?")) for sign in text]


_PLAIN = {"\u2026": "~", "\u21bb": "@"}
"""What some signs are in ASCII: an ellipsis, and what a loop has before its title."""

Grid: TypeAlias = list[list[Cell]]
"""Rows of cells, of one length."""

BLANK = Cell()
