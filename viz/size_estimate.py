"""An estimate of the size of a picture, in a millisecond: a layout by Graphviz takes up to a second, and folding a view
until it fits needs many.

The height is that of all ranks, each as high as its highest box. Functions are side by side; the width of each is the
width of its widest rank, where boxes and frames are side by side. Arrows that pass by add to it. The constants are
fitted to pictures of the examples.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .dot import wrap_title
from .style import BOX_LOOKS, SHAPE_FACTORS
from .view import Box, Cluster, View

CHARACTER_WIDTH, SMALL_CHARACTER_WIDTH = 6.2, 5.2
"""The mean widths of a letter in points, in a box's first and second line."""

BOX_MARGIN, BOX_SEPARATION = 11.5, 28.0
"""The points on both sides of the text of a box, and between boxes and frames."""

LEAST_BOX_SIZE = 36.0, 29.0
"""The width and height of a box of little text, in points."""

TITLE_HEIGHT, SUBTITLE_HEIGHT = 15.0, 14.0
"""The heights of the lines of a box, in points."""

LINE_SPACING = 12.0
"""The points that an arrow takes where it passes between boxes."""

RANK_SEPARATION, LABEL_HEIGHT, MARGIN_HEIGHT = 18.0, 16.0, 8.0
"""The points between ranks, those that the labels of arrows between two ranks add, and those around a picture."""

FRAME_TITLE_HEIGHT, FRAME_BORDER_HEIGHT = 24.0, 8.0
"""The points that a frame adds above its boxes and below them."""


class PictureSize(NamedTuple):
    """The size of a picture in points."""

    width: float
    height: float


def estimate_size(view: View) -> PictureSize:
    """The size of a view's picture, estimated without its badges."""
    ranks = rank_boxes(view)
    if not ranks:
        return PictureSize(0.0, 0.0)
    crossing = Counter[int]()
    for arrow in view.arrows:
        low, high = sorted((ranks[arrow.tail], ranks[arrow.head]))
        crossing.update(range(low + 1, high))
    widths = [rank_widths(cluster, ranks, view.title_width) for cluster in view.root.clusters]
    loose = rank_widths(replace(view.root, clusters=[]), ranks, view.title_width)
    width = sum(max(row_widths.values(), default=0) + BOX_SEPARATION for row_widths in widths)
    width += max(loose.get(rank, 0) + LINE_SPACING * crossing[rank] for rank in {*ranks.values()})
    return PictureSize(width, estimate_height(view, ranks))


def estimate_height(view: View, ranks: Mapping[str, int]) -> float:
    """The height of the picture of a view with boxes on these ranks."""
    heights = defaultdict[int, float](float)
    for name, box in view.boxes.items():
        heights[ranks[name]] = max(heights[ranks[name]], box_height(box, view.title_width))
    ends = [(ranks[arrow.tail], ranks[arrow.head]) for arrow in view.arrows if arrow.label or arrow.edge_count > 1]
    labelled_gaps = {sum(pair) // 2 for pair in ends if pair[0] != pair[1]}
    gaps = RANK_SEPARATION * max(ranks.values()) + LABEL_HEIGHT * len(labelled_gaps)
    return MARGIN_HEIGHT + sum(heights.values()) + gaps + estimate_frames(view.root, ranks)


def estimate_frames(root: Cluster, ranks: Mapping[str, int]) -> float:
    """The height that frames add: frames that begin at one rank, one inside the other, have their titles one below the
    other, and frames that end at one rank their lower borders."""
    extents = dict[str, tuple[int, int]]()
    for cluster in reversed(list(root.walk())):
        parts = [extents[inner.name] for inner in cluster.clusters if inner.name in extents]
        parts += [(ranks[name], ranks[name]) for name in cluster.boxes]
        if parts:
            extents[cluster.name] = min(first for first, _ in parts), max(last for _, last in parts)
    titles, borders = Counter[int](), Counter[int]()
    waiting = [(cluster, 1, 1) for cluster in root.clusters if cluster.name in extents]
    while waiting:
        cluster, title_count, border_count = waiting.pop()
        first, last = extents[cluster.name]
        titles[first], borders[last] = max(titles[first], title_count), max(borders[last], border_count)
        for inner in cluster.clusters:
            if inner.name in extents:
                begin, end = extents[inner.name]
                waiting.append((inner, 1 + title_count * (begin == first), 1 + border_count * (end == last)))
    return FRAME_TITLE_HEIGHT * titles.total() + FRAME_BORDER_HEIGHT * borders.total()


def box_width(box: Box, title_width: int) -> float:
    """The width of a box whose title is wrapped at a width, without badges."""
    title_length = max(map(len, wrap_title(box.title, title_width)))
    text = max(CHARACTER_WIDTH * title_length, SMALL_CHARACTER_WIDTH * len(box.subtitle))
    return max(LEAST_BOX_SIZE[0], (BOX_MARGIN + text) * shape_factor(box))


def box_height(box: Box, title_width: int) -> float:
    """The height of a box whose title is wrapped at a width, without badges."""
    text = TITLE_HEIGHT * len(wrap_title(box.title, title_width)) + SUBTITLE_HEIGHT * bool(box.subtitle)
    return max(LEAST_BOX_SIZE[1], text * shape_factor(box))


def shape_factor(box: Box) -> float:
    """How many times larger than its text a box is."""
    return SHAPE_FACTORS.get(BOX_LOOKS[box.kind].shape, 1.0)


def rank_widths(outer: Cluster, ranks: Mapping[str, int], title_width: int) -> Mapping[int, float]:
    """The width of a cluster's contents at each rank. Inner clusters are as wide everywhere as at their widest."""
    widths: dict[str, defaultdict[int, float]] = {}
    for cluster in reversed(list(outer.walk())):
        widths[cluster.name] = contents = defaultdict[int, float](float)
        for box in cluster.boxes.values():
            contents[ranks[box.name]] += box_width(box, title_width) + BOX_SEPARATION
        for inner in filter(None, (widths[inner.name] for inner in cluster.clusters)):
            for rank in range(min(inner), max(inner) + 1):
                contents[rank] += max(inner.values()) + BOX_SEPARATION
    return widths[outer.name]


def rank_boxes(view: View) -> dict[str, int]:
    """The rank of each box: the most arrows that lead to it from above. An arrow that closes a circle is left out."""
    leader = {name: name for name in view.boxes}
    for cluster in view.root.walk():
        leader.update((name, cluster.same_rank[0]) for name in cluster.same_rank)
    successors: dict[str, list[str]] = {name: [] for name in leader}
    for upper, lower in [*layout_order(view), *view.rank_constraints]:
        if leader[upper] != leader[lower]:
            successors[leader[upper]].append(leader[lower])
    order = list(reversed(postorder(successors)))
    position = {name: number for number, name in enumerate(order)}
    ranks = dict.fromkeys(order, 0)
    for name in order:
        for lower in successors[name]:
            if position[lower] > position[name]:
                ranks[lower] = max(ranks[lower], ranks[name] + 1)
    return {name: ranks[leader[name]] for name in leader}


def layout_order(view: View) -> list[tuple[str, str]]:
    """The pairs of boxes whose first the layout places above the second."""
    return [
        (arrow.head, arrow.tail) if arrow.is_reversed else (arrow.tail, arrow.head)
        for arrow in view.arrows
        if not arrow.is_unconstrained
    ]


def postorder(successors: Mapping[str, Sequence[str]]) -> list[str]:
    """The boxes of a depth-first search, each after those below it that it was the first to reach."""
    order, visited_names = list[str](), set[str]()
    for start in successors:
        waiting = [(start, iter(successors[start]))] if start not in visited_names else []
        visited_names.add(start)
        while waiting:
            name, remaining = waiting[-1]
            if (lower := next(remaining, None)) is None:
                waiting.pop()
                order.append(name)
            elif lower not in visited_names:
                visited_names.add(lower)
                waiting.append((lower, iter(successors[lower])))
    return order
