"""SVG by hand, for pictures that are charts and no graphs: shapes and text, escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .style import FONT, Theme


class SvgCanvas:
    """An SVG that grows by shapes; lengths are pixels, from the upper left corner."""

    def __init__(self, width: float, height: float, theme: Theme) -> None:
        self.width, self.height, self.theme = width, height, theme
        self._elements: list[str] = []

    def text(
        self, x: float, y: float, said: str, *, size: float = 12, anchor: str = "start", muted: bool = False
    ) -> None:
        """A line of text on a base line; `anchor` is start, middle or end."""
        colour = self.theme.muted if muted else self.theme.foreground
        details = f'font-size="{_format_length(size)}" text-anchor="{anchor}" fill="{colour}"'
        self._elements.append(
            f'<text x="{_format_length(x)}" y="{_format_length(y)}" {details}>{_escape_text(said)}</text>'
        )

    def rect(self, x: float, y: float, width: float, height: float, colour: str, tip: str = "") -> None:
        """A filled rectangle, with what is said where one points at it."""
        numbers = (("x", x), ("y", y), ("width", width), ("height", height))
        place = " ".join(f'{name}="{_format_length(number)}"' for name, number in numbers)
        title = f"<title>{_escape_text(tip)}</title>" if tip else ""
        self._elements.append(f'<rect {place} fill="{self.theme.resolve_colour(colour)}">{title}</rect>')

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> None:
        ends = (
            f'x1="{_format_length(x1)}" y1="{_format_length(y1)}" x2="{_format_length(x2)}" y2="{_format_length(y2)}"'
        )
        self._elements.append(
            f'<line {ends} stroke="{self.theme.resolve_colour(colour)}" stroke-width="{_format_length(width)}"/>'
        )

    def polyline(self, points: Sequence[tuple[float, float]], colour: str, width: float = 1) -> None:
        """A line from point to point; a single one is a dot."""
        details = f'stroke="{self.theme.resolve_colour(colour)}" stroke-width="{_format_length(width)}"'
        places = " ".join(
            f"{_format_length(x)},{_format_length(y)}" for x, y in (points if len(points) > 1 else (*points, *points))
        )
        self._elements.append(f'<polyline points="{places}" fill="none" stroke-linecap="round" {details}/>')

    def to_svg(self, title: str) -> str:
        """The SVG, with a title for those who cannot see it."""
        size = f'width="{_format_length(self.width)}" height="{_format_length(self.height)}"'
        box = f'viewBox="0 0 {_format_length(self.width)} {_format_length(self.height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} font-family="{escape(FONT)}" role="img">'
        paper = f'<rect width="100%" height="100%" fill="{self.theme.background}"/>'
        return "\n".join([head, f"<title>{_escape_text(title)}</title>", paper, *self._elements, "</svg>", ""])


def _escape_text(text: str) -> str:
    """Text as it stands in SVG; what cannot be printed as Python writes it."""
    return escape("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))


def _format_length(number: float) -> str:
    """A length, the same text every time.

    >>> _format_length(3.0), _format_length(2.345), _format_length(1 / 3)
    ('3', '2.35', '0.33')
    """
    return f"{number:.2f}".rstrip("0").rstrip(".")
