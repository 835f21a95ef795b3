"""Lines and arrow heads in character cells: the character that joins given sides, in Unicode and in ASCII.

Both are keyed by the style names of the table of looks, so a new kind of arrow needs only its row there.
"""

from __future__ import annotations

from typing import NamedTuple

from .grid import DOWN, LEFT, RIGHT, UP

_LIGHT_GLYPHS = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"
_DOUBLE_GLYPHS = " ║║║═╝╗╣═╚╔╠═╩╦╬"


class Stroke(NamedTuple):
    """A kind of line: its characters by the sides that they join, and its vertical and horizontal lines in ASCII."""

    glyphs: str
    vertical: str
    horizontal: str

    def glyph(self, sides: int) -> str:
        """The character that joins these sides."""
        return self.glyphs[sides]

    def ascii(self, sides: int) -> str:
        """The ASCII character for these sides; a joint is low if it joins what is below, and high if it joins what
        is above."""
        if not sides & (LEFT | RIGHT):
            return self.vertical
        return {0: self.horizontal, UP: "`", DOWN: ",", UP | DOWN: "+"}[sides & (UP | DOWN)]


def _break_straight(down: str, along: str) -> str:
    """The light line, broken where it runs straight."""
    return "".join({UP | DOWN: down, LEFT | RIGHT: along}.get(sides, sign) for sides, sign in enumerate(_LIGHT_GLYPHS))


STROKES = {
    "solid": Stroke(_LIGHT_GLYPHS, "|", "-"),
    "dotted": Stroke(_break_straight("┊", "┈"), ":", "."),
    "dashed": Stroke(_break_straight("╎", "╌"), "!", "~"),
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
"""The kinds of heads: down, up and to the right, in Unicode and in ASCII. Heads that do not point differ up and
down, so that a head between two boxes shows at which of them it ends."""
