"""The grid of cells that a drawing is."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

UP, DOWN, LEFT, RIGHT, UNREMOVABLE = 1, 2, 4, 8, 16
"""The sides at which a cell is joined, as bits; and a bit for a cell that cannot be removed."""


class GridCell(NamedTuple):
    """A character, its ASCII replacement, a colour of the table of looks, the boxes and arrows that own the cell,
    and the sides at which it is joined."""

    glyph: str = " "
    ascii: str = " "
    colour: str = ""
    bold: bool = False
    owners: tuple[str | int, ...] = ()
    sides: int = 0


def text_cells(text: str, cell: GridCell) -> list[GridCell]:
    """Text as cells with the look of a given cell."""
    return [cell._replace(glyph=sign, ascii=_ASCII_GLYPHS.get(sign, sign if sign.isascii() else "?")) for sign in text]


_ASCII_GLYPHS = {"\u2026": "~", "\u21bb": "@"}
"""ASCII replacements: of the ellipsis, and of the sign before a loop's title."""

Grid: TypeAlias = list[list[GridCell]]
"""Rows of cells, all of the same length."""

BLANK = GridCell()
