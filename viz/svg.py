"""SVG by hand, for pictures that are charts and no graphs: shapes and text, escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .style import FONT, Theme


class Sheet:
    """An SVG that grows by shapes; lengths are pixels, from the upper left corner."""

    def __init__(self, width: float, height: float, theme: Theme) -> None:
        self.width, self.height, self.theme = width, height, theme
        self._parts: list[str] = []

    def text(
        self, x: float, y: float, said: str, *, size: float = 12, anchor: str = "start", faint: bool = False
    ) -> None:
        """A line of text on a base line; `anchor` is start, middle or end."""
        colour = self.theme.faint if faint else self.theme.ink
        details = f'font-size="{_n(size)}" text-anchor="{anchor}" fill="{colour}"'
        self._parts.append(f'<text x="{_n(x)}" y="{_n(y)}" {details}>{_said(said)}</text>')

    def bar(self, x: float, y: float, width: float, height: float, colour: str, tip: str = "") -> None:
        """A filled rectangle, with what is said where one points at it."""
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        title = f"<title>{_said(tip)}</title>" if tip else ""
        self._parts.append(f'<rect {place} fill="{self.theme.colour(colour)}">{title}</rect>')

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> None:
        ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
        self._parts.append(f'<line {ends} stroke="{self.theme.colour(colour)}" stroke-width="{_n(width)}"/>')

    def path(self, points: Sequence[tuple[float, float]], colour: str, width: float = 1) -> None:
        """A line from point to point; a single one is a dot."""
        details = f'stroke="{self.theme.colour(colour)}" stroke-width="{_n(width)}"'
        places = " ".join(f"{_n(x)},{_n(y)}" for x, y in (points if len(points) > 1 else (*points, *points)))
        self._parts.append(f'<polyline points="{places}" fill="none" stroke-linecap="round" {details}/>')

    def source(self, title: str) -> str:
        """The SVG, with a title for those who cannot see it."""
        size = f'width="{_n(self.width)}" height="{_n(self.height)}"'
        box = f'viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} font-family="{escape(FONT)}" role="img">'
        paper = f'<rect width="100%" height="100%" fill="{self.theme.paper}"/>'
        return "\n".join([head, f"<title>{_said(title)}</title>", paper, *self._parts, "</svg>", ""])


def _said(text: str) -> str:
    """Text as it stands in SVG; what cannot be printed as Python writes it."""
    return escape("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))


def _n(number: float) -> str:
    """A length, the same text every time.

    >>> _n(3.0), _n(2.345), _n(1 / 3)
    ('3', '2.35', '0.33')
    """
    return f"{number:.2f}".rstrip("0").rstrip(".")
