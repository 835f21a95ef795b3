"""ASCII output for terminals without Unicode: each character of the screen is replaced by a similar one."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter

from ...viz.style import BADGE_LOOKS
from ...viz.terminal.grid import HEADS, STROKES

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
    """Text of the screen in ASCII, of the same width; characters without a similar one become question marks.

    >>> to_ascii("╭─ 3 → fib.n ●✓ 数"), to_ascii("as it is")
    (',- 3 > fib.n *= ??', 'as it is')
    """
    return text if text.isascii() else "".join(map(_ascii_glyph, text))


def _ascii_glyph(sign: str) -> str:
    return sign if sign.isascii() else _ASCII_GLYPHS.get(sign, "?" * cell_len(sign))


class AsciiFilter(LineFilter):
    """A Textual line filter that converts lines to ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]


_ASCII_FILTER = AsciiFilter()
"""The only instance: Textual caches filtered lines by filter."""


class AsciiApp(App[int]):
    """An app that can write in ASCII."""

    writes_ascii = False

    def get_line_filters(self) -> list[LineFilter]:
        """The filters applied to each line before it is written."""
        return [*super().get_line_filters(), *([_ASCII_FILTER] if self.writes_ascii else [])]
