"""What a terminal that has no letters but ASCII is sent: for each sign of the screen one that is like it."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter

from ...viz.cells.strokes import HEADS, STROKES
from ...viz.style import BADGE_LOOKS

_ASCII_GLYPHS = {
    **{stroke.glyph(sides): stroke.ascii(sides) for stroke in STROKES.values() for sides in range(16)},
    **{pair[0]: pair[1] for heads in HEADS.values() for pair in heads if pair},
    **{sign.glyph: sign.ascii for sign in BADGE_LOOKS.values()},
    **dict(zip("━┏┓┗┛┃", "_____'", strict=True)),
    **dict(zip("▁▂▃▄▅▆▇█", "_.:-=+#*", strict=True)),
    **dict(zip("←→↑↓◂▸▴▾", "<>^v<>^v", strict=True)),
    **dict(zip("┆⚑❯·∂↻▔▌", ":!>.d@-|", strict=True)),
}


@lru_cache(10_000)
def to_ascii(text: str) -> str:
    """A text of the screen, as wide, in ASCII; what is like no letter of that is a question mark.

    >>> to_ascii("╭─ 3 → fib.n ●✓ 数"), to_ascii("as it is")
    (',- 3 > fib.n *= ??', 'as it is')
    """
    return text if text.isascii() else "".join(map(_ascii_glyph, text))


def _ascii_glyph(sign: str) -> str:
    return sign if sign.isascii() else _ASCII_GLYPHS.get(sign, "?" * cell_len(sign))


class AsciiFilter(LineFilter):
    """Writes lines of the screen in ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]


_ASCII_FILTER = AsciiFilter()
"""Always the same one: Textual keeps the lines that it has filtered, by the filter."""


class AsciiApp(App[int]):
    """An app that can be told to write in ASCII."""

    writes_ascii = False

    def get_line_filters(self) -> list[LineFilter]:
        """What is done to each line before it is written."""
        return [*super().get_line_filters(), *([_ASCII_FILTER] if self.writes_ascii else [])]
