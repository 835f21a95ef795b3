"""The labels of arrows in Graphviz's pictures, beside their own arrows.

Graphviz gives the label of an arrow a place of its own in the layout. For arrows that do not order their boxes, and for
some that go around others, this place is far from the arrow, or nearer to another one. Such a label moves to a place
beside its arrow where it covers nothing, if there is one. Boxes and arrows stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise, product
from math import ceil, hypot
from typing import NamedTuple

from .frame_titles import Polyline, frame_titles, letter_width
from .operand_order import points_along

MAX_LABEL_DISTANCE = 10.0
"""The most points between a label and its arrow."""

LABEL_GAPS = (3.0, 6.0, 10.0)
"""The points between a point of an arrow and a label that is moved to it, in order of preference: a label needs more of
them beside a sloping arrow."""

_LEAST_GAP = 1.5
"""The least points between an arrow and a label that is moved to it."""

_TOLERANCE = 2.0
"""The points by which the estimate of a label's rectangle may be too large."""

_STEP = 6.0
"""The most points between two samples of a line."""

_PARTS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82, 0.12, 0.88)
"""The parts of an arrow at which its label may be, in order of preference."""

_END = r'(?=<g id="(?:edge|node|clust)\d|<g class=|</g>\s*</svg>|\Z)'
_EDGE = re.compile(rf'<g id="edge\d+" class="edge.*?{_END}', re.DOTALL)
_PATH = re.compile(r'<path [^>]*?\bd="([^"]*)"')
_TEXT = re.compile(
    r'(<text [^>]*?\bx=")([-\d.]+)(" y=")([-\d.]+)("[^>]*?font-size="([\d.]+)"[^>]*>)(.*?)(?=</text>)', re.DOTALL
)
_NODE = re.compile(rf'<g id="node\d+" class="node.*?{_END}', re.DOTALL)
_ELLIPSE = re.compile(r'<ellipse [^>]*?\bcx="([-\d.]+)" cy="([-\d.]+)" rx="([-\d.]+)" ry="([-\d.]+)"')
_POINT = re.compile(r"([-\d.]+),([-\d.]+)")
_OUTLINE = re.compile(r'<(?:polygon|path) [^>]*?\b(?:points|d)="([^"]*)"')


class Rect(NamedTuple):
    """A rectangle of a picture."""

    start: float
    top: float
    end: float
    bottom: float

    def distance(self, point: tuple[float, float]) -> float:
        """How far a point is from the rectangle; 0 inside."""
        x, y = point
        return hypot(max(self.start - x, 0.0, x - self.end), max(self.top - y, 0.0, y - self.bottom))

    def overlaps(self, other: Rect) -> bool:
        is_beside = self.end <= other.start or other.end <= self.start
        return not (is_beside or self.bottom <= other.top or other.bottom <= self.top)

    def inset(self, border: float) -> Rect:
        """The rectangle without a border."""
        return Rect(self.start + border, self.top + border, self.end - border, self.bottom - border)


class ArrowLabel(NamedTuple):
    """The label of an arrow: the part of the SVG that has the arrow, its number among the arrows, and its rectangle."""

    start: int
    end: int
    arrow: int
    rect: Rect


def clear_labels(svg: str) -> str:
    """An SVG of Graphviz, in which labels are beside their own arrows, and cover nothing. A label of several rows,
    which has tokens, stays, as does one for which there is no free place."""
    lines, labels = label_lines(svg), list(arrow_labels(svg))
    taken = [*box_rects(svg), *(Rect(title.start, title.top, title.end, title.bottom) for title in frame_titles(svg))]
    rects = {label.arrow: label.rect for label in labels}
    pieces, end = list[str](), 0
    for label in labels:
        obstacles = [*taken, *(rect for arrow, rect in rects.items() if arrow != label.arrow)]
        is_free = not any(label.rect.inset(_TOLERANCE).overlaps(obstacle) for obstacle in obstacles)
        if is_free and is_beside(label.rect, label.arrow, lines):
            continue
        place = free_place(label, lines, obstacles)
        if place is not None:
            rects[label.arrow] = place
            x, y = place.start - label.rect.start, place.top - label.rect.top
            pieces += [svg[end : label.start], shift_texts(svg[label.start : label.end], x, y)]
            end = label.end
    return "".join([*pieces, svg[end:]])


def free_place(label: ArrowLabel, lines: Sequence[Polyline], obstacles: Sequence[Rect]) -> Rect | None:
    """The first place beside an arrow where its label overlaps no obstacle and is nearest to its own arrow. If there is
    none, and the label is far from its arrow, the first place without an obstacle."""
    places = label_places(label.rect, lines[label.arrow])
    free = [place for place in places if not any(place.overlaps(obstacle) for obstacle in obstacles)]
    nearest = (place for place in free if is_beside(place, label.arrow, lines))
    is_far = line_distance(label.rect, lines[label.arrow], MAX_LABEL_DISTANCE) > MAX_LABEL_DISTANCE
    return next(nearest, free[0] if is_far and free else None)


def label_places(rect: Rect, line: Polyline) -> Iterator[Rect]:
    """The places of a label on the right, on the left, above and below points of a line."""
    width, height = rect.end - rect.start, rect.bottom - rect.top
    for gap, part in product(LABEL_GAPS, _PARTS):
        x, y = line[round(part * (len(line) - 1))]
        for left, top in (
            (x + gap, y - height / 2),
            (x - gap - width, y - height / 2),
            (x - width / 2, y - gap - height),
            (x - width / 2, y + gap),
        ):
            place = Rect(left, top, left + width, top + height)
            if min(map(place.distance, line)) >= _LEAST_GAP:
                yield place


def is_beside(rect: Rect, arrow: int, lines: Sequence[Polyline]) -> bool:
    """Whether a label is near its arrow, and no other arrow is nearer."""
    distance = line_distance(rect, lines[arrow], MAX_LABEL_DISTANCE)
    if distance > MAX_LABEL_DISTANCE:
        return False
    others = (line for number, line in enumerate(lines) if number != arrow)
    return all(line_distance(rect, line, distance) >= distance for line in others)


def line_distance(rect: Rect, line: Polyline, limit: float) -> float:
    """The distance of a line from a rectangle; just some number above `limit` if the line's extent is farther than
    that."""
    xs, ys = [x for x, _ in line], [y for _, y in line]
    if (
        min(xs, default=0.0) > rect.end + limit
        or max(xs, default=0.0) < rect.start - limit
        or min(ys, default=0.0) > rect.bottom + limit
        or max(ys, default=0.0) < rect.top - limit
    ):
        return limit + 1.0
    return min(map(rect.distance, line), default=limit + 1.0)


def label_lines(svg: str) -> list[Polyline]:
    """The lines of the arrows of an SVG, sampled closely, in the order of the SVG; an arrow without a line has none."""
    paths = (_PATH.search(edge[0]) for edge in _EDGE.finditer(svg))
    return [list(sample(points_along(re.sub("[A-Z]", " ", path[1])))) if path else [] for path in paths]


def sample(line: Polyline) -> Iterator[tuple[float, float]]:
    """The points of a line, and as many between them that two are at most _STEP apart."""
    for (x, y), (next_x, next_y) in pairwise(line):
        count = max(1, ceil(hypot(next_x - x, next_y - y) / _STEP))
        yield from ((x + (next_x - x) * k / count, y + (next_y - y) * k / count) for k in range(count))
    yield from line[-1:]


def arrow_labels(svg: str) -> Iterator[ArrowLabel]:
    """The labels of one row in an SVG."""
    for number, edge in enumerate(_EDGE.finditer(svg)):
        texts = [text for text in _TEXT.finditer(edge[0]) if text[7].strip()]
        if texts and len({text[4] for text in texts}) == 1 and _PATH.search(edge[0]):
            size, base = float(texts[0][6]), float(texts[0][4])
            left, last = float(texts[0][2]), texts[-1]
            right = float(last[2]) + letter_width(unescape(last[7]), float(last[6]))
            yield ArrowLabel(*edge.span(), number, Rect(left, base - 0.8 * size, right, base + 0.2 * size))


def shift_texts(edge: str, x: float, y: float) -> str:
    """The SVG of an arrow with its texts moved."""
    return _TEXT.sub(
        lambda text: f"{text[1]}{float(text[2]) + x:.2f}{text[3]}{float(text[4]) + y:.2f}{text[5]}{text[7]}", edge
    )


def box_rects(svg: str) -> Iterator[Rect]:
    """The rectangles around the boxes of an SVG."""
    for node in _NODE.finditer(svg):
        outline, ellipse = _OUTLINE.search(node[0]), _ELLIPSE.search(node[0])
        if ellipse is not None:
            x, y, width, height = map(float, ellipse.groups())
            yield Rect(x - width, y - height, x + width, y + height)
        elif outline is not None:
            points = [(float(x), float(y)) for x, y in _POINT.findall(outline[1])]
            xs, ys = [x for x, _ in points], [y for _, y in points]
            yield Rect(min(xs), min(ys), max(xs), max(ys))
