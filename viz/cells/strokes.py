"""Lines in character cells: which character joins which sides, for each kind of line; heads; and all this in ASCII."""

from __future__ import annotations

from typing import NamedTuple

from ..view import Link
from .grid import DOWN, LEFT, RIGHT, UP

_LIGHT = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"
_DOUBLE = " ║║║═╝╗╣═╚╔╠═╩╦╬"


class Stroke(NamedTuple):
    """A kind of line: its characters by the sides that they join, and those of a line down and along in ASCII."""

    joins: str
    down: str
    along: str

    def sign(self, sides: int) -> str:
        """The character that joins these sides."""
        return self.joins[sides]

    def ascii(self, sides: int) -> str:
        """The same in ASCII."""
        if not sides & (LEFT | RIGHT):
            return self.down
        return self.along if not sides & (UP | DOWN) else "+"


def _broken(down: str, along: str) -> str:
    """The light line, but broken where it runs straight."""
    return "".join({UP | DOWN: down, LEFT | RIGHT: along}.get(sides, sign) for sides, sign in enumerate(_LIGHT))


STROKES = {
    "line": Stroke(_LIGHT, "|", "-"),
    "dotted": Stroke(_broken("┊", "┈"), ":", "."),
    "dashed": Stroke(_broken("╎", "╌"), "!", "~"),
    "double": Stroke(_DOUBLE, "#", "="),
}
"""The kinds of lines, by the names that `plates.stroke` gives them."""

FULL, OPEN, ROUND = ("▼v", "▲^", "▶>"), ("▽v", "△^", "▷>"), ("◇o", "◆@", "◇o")

HEADS: dict[Link, tuple[str, str, str]] = {
    "data": FULL,
    "predicate": ROUND,
    "trigger": OPEN,
    "order": OPEN,
    "call": FULL,
    "back": FULL,
    "control": ROUND,
    "below": ("", "", ""),
}
"""The heads of each kind of arrow: down, up and to the right, in Unicode and in ASCII."""
