"""The titles of frames in Graphviz's pictures, where no arrow crosses them.

Graphviz places the title of a frame at its upper left corner, and routes arrows across it. The space above the boxes
in a frame is as wide as the frame, so a title moves to the right until no arrow crosses it. If arrows are everywhere,
the title interrupts them in SVG. Boxes and arrows stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from .operand_order import points_along

LETTER_WIDTHS = {
    **dict.fromkeys(" ijl", 0.35),
    **dict.fromkeys(",.-/:;()[]f|", 0.46),
    **dict.fromkeys("_rt!", 0.5),
    **dict.fromkeys("cszx*", 0.65),
    **dict.fromkeys("aekovy", 0.69),
    **dict.fromkeys("bdghnpqu0123456789", 0.72),
}
"""The widths of bold letters of DejaVu Sans, which is wider than Helvetica, as parts of the size of the font."""

LETTER_WIDTH = 0.85
"""The width of other letters, of which `m` and `w` are wider."""

TITLE_MARGIN = 4.0
"""The least space between a title and an arrow, and between a title and the border of its frame, in points."""

_BACKGROUND = re.compile(r'<polygon fill="([^"]*)" stroke="none"')
_CLUSTER = re.compile(r'<g id="clust\d+" class="(cluster[^"]*)".*?</g>\s*</g>', re.DOTALL)
_EDGE = re.compile(r'<g id="edge\d+" class="edge.*?<path [^>]*?\bd="([^"]*)"', re.DOTALL)
_NAME = re.compile(r"<title>(.*?)</title>")
_OUTLINE = re.compile(r'\b(?:points|d)="([^"]*)"')
_SECOND_MENTION = re.compile(r"^\s*\w+ -> \w+;\n", re.MULTILINE)
_TITLE = re.compile(r'(<text [^>]*?\bx=")([-\d.]+)(" y="([-\d.]+)"[^>]*?font-size="([\d.]+)"[^>]*>)(.*?)</text>')

Interval: TypeAlias = tuple[float, float]
Polyline: TypeAlias = Sequence[tuple[float, float]]


class FrameTitle(NamedTuple):
    """The title of a frame in an SVG: its left and right ends, its top and bottom, and the ends of the frame."""

    start: float
    end: float
    top: float
    bottom: float
    frame: Interval


def clear_titles(svg: str) -> str:
    """An SVG of Graphviz, in which the titles of frames are where no arrow crosses them. If no such place is wide
    enough for a title, it is where the fewest arrows cross it, and interrupts them."""
    arrows, titles = arrow_lines(svg), list[str]()
    background = _BACKGROUND.search(svg)
    halo = f'<text paint-order="stroke" stroke="{background[1] if background else "white"}" stroke-width="5"'

    def clear(cluster: re.Match[str]) -> str:
        title = find_title(cluster[0])
        if title is None or not crossing_count(title, arrows):
            return cluster[0]
        place = best_place(title, arrows)
        moved = _TITLE.sub(lambda text: f"{text[1]}{place.start:.2f}{text[3]}{text[6]}</text>", cluster[0], count=1)
        if not crossing_count(place, arrows):
            return moved
        text = _TITLE.search(moved)
        assert text is not None
        titles.append(f'<g class="{cluster[1]}">{text[0].replace("<text", halo, 1)}</g>\n')
        return moved.replace(text[0], "")

    cleared = _CLUSTER.sub(clear, svg)
    end = cleared.rindex("</g>")
    return f"{cleared[:end]}{''.join(titles)}{cleared[end:]}"


def best_place(title: FrameTitle, arrows: Sequence[Polyline]) -> FrameTitle:
    """The first place of a title where the fewest arrows cross it."""
    return min(title_places(title, arrows), key=lambda place: crossing_count(place, arrows), default=title)


def title_shifts(svg: str) -> dict[str, float]:
    """How far titles move to the right in an SVG of Graphviz, in points, by the name of the cluster. Titles that stay
    are left out."""
    arrows, shifts = arrow_lines(svg), dict[str, float]()
    for cluster in _CLUSTER.finditer(svg):
        title, name = find_title(cluster[0]), _NAME.search(cluster[0])
        if title is not None and name is not None and crossing_count(title, arrows):
            shifts[unescape(name[1])] = best_place(title, arrows).start - title.start
    return {name: shift for name, shift in shifts.items() if shift}


def shift_titles(layout: str, shifts: Mapping[str, float]) -> str:
    """DOT source with coordinates, in which the titles of clusters are further to the right. Edges that are mentioned
    again without attributes, in a second subgraph, are left out, since a reader would take them for other edges."""
    layout = _SECOND_MENTION.sub("", layout)
    for name, shift in shifts.items():
        place = re.search(rf'subgraph {re.escape(name)} \{{.*?\blp="([-\d.]+)', layout, re.DOTALL)
        assert place is not None
        layout = f"{layout[: place.start(1)]}{float(place[1]) + shift:.2f}{layout[place.end(1) :]}"
    return layout


def arrow_lines(svg: str) -> list[Polyline]:
    """The lines of the arrows of an SVG."""
    return [points_along(re.sub("[A-Z]", " ", curve)) for curve in _EDGE.findall(svg)]


def frame_titles(svg: str) -> Iterator[FrameTitle]:
    """The titles of the frames of an SVG."""
    for cluster in _CLUSTER.finditer(svg):
        yield from filter(None, [find_title(cluster[0])])


def find_title(cluster: str) -> FrameTitle | None:
    """The title in the SVG of a frame; None if it has none."""
    title, outline = _TITLE.search(cluster), _OUTLINE.search(cluster)
    if title is None or outline is None:
        return None
    left, base, size = float(title[2]), float(title[4]), float(title[5])
    xs = [float(x) for x in re.findall(r"([-\d.]+),[-\d.]+", outline[1])]
    width = letter_width(unescape(title[6]), size)
    return FrameTitle(left, left + width, base - size, base + size / 4, (min(xs), max(xs)))


def letter_width(text: str, size: float) -> float:
    """The width of a bold text in a font of a size."""
    return size * sum(LETTER_WIDTHS.get(letter, LETTER_WIDTH) for letter in text)


def crossing_count(title: FrameTitle, arrows: Sequence[Polyline]) -> int:
    """How many parts of arrows cross a title."""
    return sum(start < title.end and title.start < end for start, end in crossings(title, arrows))


def title_places(title: FrameTitle, arrows: Sequence[Polyline]) -> Iterator[FrameTitle]:
    """The places of a title at the left of its frame, and behind each arrow, from left to right."""
    width = title.end - title.start
    for start in sorted([title.start, *(end + TITLE_MARGIN for _, end in crossings(title, arrows))]):
        if title.start <= start <= title.frame[1] - TITLE_MARGIN - width:
            yield title._replace(start=start, end=start + width)


def crossings(title: FrameTitle, arrows: Sequence[Polyline]) -> Iterator[Interval]:
    """The parts of arrows that are as high as a title, from left to right."""
    for line in arrows:
        for (x, y), (next_x, next_y) in pairwise(line):
            if min(y, next_y) < title.bottom and title.top < max(y, next_y):
                slope = (next_x - x) / (next_y - y) if next_y != y else 0.0
                ends = [x + slope * (min(max(end, title.top), title.bottom) - y) for end in (y, next_y)]
                yield min(ends) if slope else min(x, next_x), max(ends) if slope else max(x, next_x)
