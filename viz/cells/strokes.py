"""What lines and heads of the table of looks are in character cells: which character joins which sides, and in ASCII.

Both are by the words that the table has for them, so a kind of arrow needs no more than its row there.
"""

from __future__ import annotations

from typing import NamedTuple

from .grid import DOWN, LEFT, RIGHT, UP

_LIGHT_GLYPHS = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"
_DOUBLE_GLYPHS = " ║║║═╝╗╣═╚╔╠═╩╦╬"


class Stroke(NamedTuple):
    """A kind of line: its characters by the sides that they join, and those of a line down and along in ASCII."""

    glyphs: str
    vertical: str
    horizontal: str

    def glyph(self, sides: int) -> str:
        """The character that joins these sides."""
        return self.glyphs[sides]

    def ascii(self, sides: int) -> str:
        """The same in ASCII, where a joint is low if it joins what is below, and high if it joins what is above."""
        if not sides & (LEFT | RIGHT):
            return self.vertical
        return {0: self.horizontal, UP: "`", DOWN: ",", UP | DOWN: "+"}[sides & (UP | DOWN)]


def _break_straight(down: str, along: str) -> str:
    """The light line, but broken where it runs straight."""
    return "".join({UP | DOWN: down, LEFT | RIGHT: along}.get(sides, sign) for sides, sign in enumerate(_LIGHT_GLYPHS))


STROKES = {
    "solid": Stroke(_LIGHT_GLYPHS, "|", "-"),
    "dotted": Stroke(_break_straight("┊", "┈"), ":", "."),
    "dashed": Stroke(_break_straight("╎", "╌"), "!", "~"),
    "bold": Stroke(_DOUBLE_GLYPHS, "#", "="),
}
"""The kinds of lines, by their style."""

HEADS: dict[str, tuple[str, str, str]] = {
    "normal": ("▼v", "▲^", "▶>"),
    "vee": ("▽V", "△A", "▹)"),
    "odot": ("◇o", "◆@", "◇o"),
    "dot": ("◉%", "◎&", "◉%"),
    "none": ("", "", ""),
}
"""The kinds of heads: down, up and to the right, in Unicode and in ASCII. Those that do not point differ up and down,
so that one between two boxes says at which it ends."""
