"""The grid of cells that a drawing is."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

UP, DOWN, LEFT, RIGHT, UNREMOVABLE = 1, 2, 4, 8, 16
"""The sides that a cell is joined to; and that it cannot be left out."""


class GridCell(NamedTuple):
    """A character, the same in ASCII, a colour of the table of looks, the boxes and arrows that it is of, and the
    sides that it is joined to."""

    glyph: str = " "
    ascii: str = " "
    colour: str = ""
    bold: bool = False
    owners: tuple[str | int, ...] = ()
    sides: int = 0


def text_cells(text: str, cell: GridCell) -> list[GridCell]:
    """A text in the look of a cell, a sign each."""
    return [cell._replace(glyph=sign, ascii=_ASCII_GLYPHS.get(sign, sign if sign.isascii() else "?")) for sign in text]


_ASCII_GLYPHS = {"\u2026": "~", "\u21bb": "@"}
"""What some signs are in ASCII: an ellipsis, and what a loop has before its title."""

Grid: TypeAlias = list[list[GridCell]]
"""Rows of cells, of one length."""

BLANK = GridCell()
