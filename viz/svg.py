"""A small SVG writer for charts: shapes and escaped text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..core.escape import escape_line
from .style import FONT, Theme


class SvgCanvas:
    """An SVG image under construction; lengths are pixels from the upper left corner."""

    def __init__(self, width: float, height: float, theme: Theme) -> None:
        self.width, self.height, self.theme = width, height, theme
        self._elements: list[str] = []

    def text(
        self, x: float, y: float, text: str, *, size: float = 12, anchor: str = "start", muted: bool = False
    ) -> None:
        """Add a line of text at a baseline; `anchor` is start, middle or end."""
        colour = self.theme.muted if muted else self.theme.foreground
        details = f'font-size="{format_length(size)}" text-anchor="{anchor}" fill="{colour}"'
        self._elements.append(
            f'<text x="{format_length(x)}" y="{format_length(y)}" {details}>{escape_text(text)}</text>'
        )

    def rect(self, x: float, y: float, width: float, height: float, colour: str, tip: str = "") -> None:
        """Add a filled rectangle with a tooltip."""
        numbers = (("x", x), ("y", y), ("width", width), ("height", height))
        geometry = " ".join(f'{name}="{format_length(number)}"' for name, number in numbers)
        title = f"<title>{escape_text(tip)}</title>" if tip else ""
        self._elements.append(f'<rect {geometry} fill="{self.theme.resolve_colour(colour)}">{title}</rect>')

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> None:
        ends = f'x1="{format_length(x1)}" y1="{format_length(y1)}" x2="{format_length(x2)}" y2="{format_length(y2)}"'
        self._elements.append(
            f'<line {ends} stroke="{self.theme.resolve_colour(colour)}" stroke-width="{format_length(width)}"/>'
        )

    def polyline(self, points: Sequence[tuple[float, float]], colour: str, width: float = 1) -> None:
        """Add a line through points; a single point is a dot."""
        details = f'stroke="{self.theme.resolve_colour(colour)}" stroke-width="{format_length(width)}"'
        points_text = " ".join(
            f"{format_length(x)},{format_length(y)}" for x, y in (points if len(points) > 1 else (*points, *points))
        )
        self._elements.append(f'<polyline points="{points_text}" fill="none" stroke-linecap="round" {details}/>')

    def to_svg(self, title: str) -> str:
        """The SVG source; screen readers read the title."""
        size = f'width="{format_length(self.width)}" height="{format_length(self.height)}"'
        box = f'viewBox="0 0 {format_length(self.width)} {format_length(self.height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} font-family="{escape(FONT)}" role="img">'
        background = f'<rect width="100%" height="100%" fill="{self.theme.background}"/>'
        return "\n".join([head, f"<title>{escape_text(title)}</title>", background, *self._elements, "</svg>", ""])


def escape_text(text: str) -> str:
    """Text escaped for SVG; control characters become Python escapes."""
    return escape(escape_line(text))


def format_length(number: float) -> str:
    """A length as text with at most two decimals.

    >>> format_length(3.0), format_length(2.345), format_length(1 / 3)
    ('3', '2.35', '0.33')
    """
    return f"{number:.2f}".rstrip("0").rstrip(".")
