"""Grids of character cells: lines and arrow heads in Unicode and in ASCII, and conversion to text.

Line and head characters are keyed by the style names of the table of looks, so a new kind of arrow needs only its row
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from ..style import BLACK, GREY

UP, DOWN, LEFT, RIGHT, UNREMOVABLE = 1, 2, 4, 8, 16
"""The sides at which a cell is joined to its neighbours, as bits; and a bit for a cell that `compress` must keep."""


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


# Lines and arrow heads


_LIGHT_GLYPHS = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"
_DOUBLE_GLYPHS = " ║║║═╝╗╣═╚╔╠═╩╦╬"


class Stroke(NamedTuple):
    """A kind of line: its characters, indexed by the sides that they join; and a vertical and a horizontal piece in
    ASCII."""

    glyphs: str
    vertical: str
    horizontal: str

    def glyph(self, sides: int) -> str:
        """The character that joins these sides."""
        return self.glyphs[sides]

    def ascii(self, sides: int) -> str:
        """The ASCII character for these sides; a corner is a comma if it joins the cell below, a backquote if it joins
        the cell above."""
        if not sides & (LEFT | RIGHT):
            return self.vertical
        return {0: self.horizontal, UP: "`", DOWN: ",", UP | DOWN: "+"}[sides & (UP | DOWN)]


def break_straight(down: str, along: str) -> str:
    """The characters of a light line, with these two for its straight pieces."""
    return "".join({UP | DOWN: down, LEFT | RIGHT: along}.get(sides, sign) for sides, sign in enumerate(_LIGHT_GLYPHS))


STROKES = {
    "solid": Stroke(_LIGHT_GLYPHS, "|", "-"),
    "dotted": Stroke(break_straight("┊", "┈"), ":", "."),
    "dashed": Stroke(break_straight("╎", "╌"), "!", "~"),
    "bold": Stroke(_DOUBLE_GLYPHS, "#", "="),
}
"""The kinds of lines, by style."""

HEADS: dict[str, tuple[str, str, str]] = {
    "normal": ("▼v", "▲^", "▶>"),
    "vee": ("▽V", "△A", "▹)"),
    "odot": ("◇o", "◆@", "◇o"),
    "dot": ("◉%", "◎&", "◉%"),
    "none": ("", "", ""),
}
"""The kinds of arrow heads: down, up and to the right, each in Unicode and in ASCII. Heads that are not triangles
differ too between down and up, so that a head between two boxes shows at which of them the arrow ends."""


# Text, with or without colours


def to_text(rows: Iterable[Sequence[GridCell]], *, unicode: bool = True, colours: bool = False) -> str:
    """Rows of cells as text, one line each, without trailing blanks.

    Colours are the nearest of the 256 terminal colours. Black becomes the terminal's default colour, and grey is faint.
    """
    return "\n".join(_row_text(row, unicode, colours) for row in rows)


def _row_text(row: Sequence[GridCell], unicode: bool, colours: bool) -> str:
    text = "".join(cell.glyph if unicode else cell.ascii for cell in row).rstrip()
    if not colours:
        return text
    line = ""
    for look, run in groupby(row[: len(text)], sgr_parameters):
        run_text = "".join(cell.glyph if unicode else cell.ascii for cell in run)
        line += f"\x1b[{look}m{run_text}\x1b[0m" if look and run_text.strip() else run_text
    return line


def sgr_parameters(cell: GridCell) -> str:
    """The parameters of the SGR escape sequence for a cell's look."""
    colour = "" if cell.colour in ("", BLACK) else "2" if cell.colour == GREY else f"38;5;{nearest_colour(cell.colour)}"
    return ";".join(filter(None, ["1" if cell.bold else "", colour]))


def nearest_colour(colour: str) -> int:
    """The number of the colour in the terminal's colour cube that is nearest to #RRGGBB.

    >>> nearest_colour("#FF0000"), nearest_colour("#E69F00")
    (196, 178)
    """
    levels = (0, 95, 135, 175, 215, 255)
    red, green, blue = (
        min(range(6), key=lambda level: abs(levels[level] - int(colour[start : start + 2], 16))) for start in (1, 3, 5)
    )
    return 16 + 36 * red + 6 * green + blue
