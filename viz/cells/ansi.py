"""Cells as terminal text, with or without colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ..style import BLACK, GREY
from .grid import GridCell


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
    for look, run in groupby(row[: len(text)], _sgr_parameters):
        said = "".join(cell.glyph if unicode else cell.ascii for cell in run)
        line += f"\x1b[{look}m{said}\x1b[0m" if look and said.strip() else said
    return line


def _sgr_parameters(cell: GridCell) -> str:
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
