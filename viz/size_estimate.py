"""An estimate of the size of a picture, in a millisecond: a layout by Graphviz takes up to a second, and folding a view
until it fits needs many.

The height is the height of the longest path. Functions are side by side; the width of each is the width of its widest
rank, where boxes and frames are side by side. Arrows that pass by add to it. The constants are fitted to pictures of
the examples.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .collapse import clusters_by_depth
from .dot import MAX_LINE_LENGTH
from .style import BOX_LOOKS
from .view import Box, Cluster, View

CHARACTER_WIDTH, SMALL_CHARACTER_WIDTH = 6.2, 5.2
"""The mean widths of a letter in points, in a box's first and second line."""

BOX_MARGIN, BOX_SEPARATION = 6.0, 28.0
"""The points around the text of a box, and between boxes and frames."""

SHAPE_FACTORS = {
    "ellipse": 1.45, "octagon": 1.45, "house": 1.85, "invhouse": 1.85, "hexagon": 1.95,
    "trapezium": 2.05, "invtrapezium": 2.05, "parallelogram": 2.1,
}  # fmt: skip
"""How many times wider than its text Graphviz draws a shape; 1 for others."""

LEAST_BOX_WIDTH = 36.0
"""The width of a box of little text, in points."""

LINE_SPACING = 12.0
"""The points that an arrow takes where it passes between boxes."""

RANK_HEIGHT, FRAME_HEIGHT = 82.0, 18.0
"""The points from one rank to the next, and those that a frame adds."""


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
    widths = [rank_widths(cluster, ranks) for cluster in view.root.clusters]
    loose = rank_widths(replace(view.root, clusters=[]), ranks)
    width = sum(max(row_widths.values(), default=0) + BOX_SEPARATION for row_widths in widths)
    width += max(loose.get(rank, 0) + LINE_SPACING * crossing[rank] for rank in {*ranks.values()})
    depth = clusters_by_depth(view.root, ())[0][0] if view.root.clusters else 0
    return PictureSize(width, RANK_HEIGHT * (max(ranks.values()) + 1) + FRAME_HEIGHT * (depth + 1))


def box_width(box: Box) -> float:
    """The width of a box, without badges."""
    text = max(CHARACTER_WIDTH * min(len(box.title), MAX_LINE_LENGTH), SMALL_CHARACTER_WIDTH * len(box.subtitle))
    return max(LEAST_BOX_WIDTH, (BOX_MARGIN + text) * SHAPE_FACTORS.get(BOX_LOOKS[box.kind].shape, 1.0))


def rank_widths(outer: Cluster, ranks: Mapping[str, int]) -> Mapping[int, float]:
    """The width of a cluster's contents at each rank. Inner clusters are as wide everywhere as at their widest."""
    widths: dict[str, defaultdict[int, float]] = {}
    for cluster in reversed(list(outer.walk())):
        widths[cluster.name] = contents = defaultdict[int, float](float)
        for box in cluster.boxes.values():
            contents[ranks[box.name]] += box_width(box) + BOX_SEPARATION
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
