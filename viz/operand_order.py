"""The order of operands in a picture: the box of `a` is on the left of the box of `b` above `a - b`.

Graphviz minimizes crossings, and does not know operands. So a view is laid out, and operands that are side by side in
the wrong order get a constraint. The constraints stay if each pair that they put in order costs at most one crossing,
and the layout is not much wider.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import NamedTuple, TypeAlias

from .dot import to_dot
from .render import COORDINATE_FORMAT, render
from .view import BoxKind, SideConstraints, View

ORDERED_KINDS: tuple[BoxKind, ...] = ("arithmetic", "comparison", "logic")
"""The kinds of boxes whose operands have an order that readers know."""

MAX_ARROWS = 150
"""The most arrows of a view whose operands are ordered: a second layout of a larger one takes long."""

MAX_GROWTH = 1.1
"""The most by which ordered operands may widen a picture, as a factor."""

CONSTRAINT_FORMS = ((0, True), (1, True), (1, False))
"""How constraints are tried: in how many clusters, and whether crossings are minimized a second time."""

CURVE_PIECES = 4
"""The straight pieces that stand for each curve of an arrow, where crossings are counted."""

_Pairs: TypeAlias = list[tuple[str, str]]
_Point: TypeAlias = tuple[float, float]


class ArrowCurve(NamedTuple):
    """An arrow in a layout: its boxes, and points along it."""

    tail: str
    head: str
    points: list[_Point]


class BoxLayout(NamedTuple):
    """A layout of a view: the middle of each box in points, the width and the height of the picture, and the curves of
    the visible arrows."""

    middles: Mapping[str, _Point]
    width: float
    height: float
    curves: Sequence[ArrowCurve]


def order_operands(view: View) -> View:
    """The view with constraints that place operands in their order, where each pair that this mends costs at most one
    crossing. Raises Usage in the same cases as `render`."""
    pairs = operand_pairs(view)
    if not view.is_static or not pairs or len(view.arrows) > MAX_ARROWS:
        return view
    before = lay_out_boxes(view)
    swapped = swapped_pairs(pairs, before)
    if not swapped:
        return view
    for depth, has_second_pass in CONSTRAINT_FORMS:
        ordered = replace(view, side_constraints=SideConstraints(tuple(swapped), depth, has_second_pass))
        after = lay_out_boxes(ordered)
        mended = len(swapped) - len(swapped_pairs(pairs, after))
        added_crossings = count_crossings(after) - count_crossings(before)
        if mended > 0 and added_crossings <= mended and after.width <= before.width * MAX_GROWTH:
            return ordered
    return view


def operand_pairs(view: View) -> _Pairs:
    """The pairs of boxes that are successive operands of an op; of results of calls, also the boxes of these calls."""
    return list(dict.fromkeys(_find_pairs(view)))


def _find_pairs(view: View) -> Iterator[tuple[str, str]]:
    operands: dict[str, list[tuple[int, str]]] = defaultdict(list)
    kinds = {name: box.kind for name, box in view.boxes.items()}
    for arrow in view.arrows:
        if arrow.link == "data" and kinds.get(arrow.head) in ORDERED_KINDS:
            operands[arrow.head].append((arrow.port, arrow.tail))
    above = {lower: upper for upper, lower in view.rank_constraints}
    for tails in operands.values():
        for left, right in pairwise(dict.fromkeys(tail for _, tail in sorted(tails))):
            yield left, right
            if left in above and right in above and above[left] != above[right]:
                yield above[left], above[right]


def lay_out_boxes(view: View) -> BoxLayout:
    """A view's boxes and arrows in Graphviz's layout."""
    layout = json.loads(render(to_dot(view), COORDINATE_FORMAT))
    middles = {
        box["name"]: (float(x), float(y))
        for box in layout.get("objects", ())
        if "pos" in box
        for x, y in [box["pos"].split(",")]
    }
    names = {box["_gvid"]: box["name"] for box in layout.get("objects", ())}
    curves = [
        ArrowCurve(names[edge["tail"]], names[edge["head"]], points_along(edge["pos"]))
        for edge in layout.get("edges", ())
        if "pos" in edge and edge.get("style") != "invis"
    ]
    _, _, width, height = map(float, layout["bb"].split(","))
    return BoxLayout(middles, width, height, curves)


def points_along(position: str) -> list[_Point]:
    """Points along the Bezier curves of an arrow, whose control points are written as Graphviz does.

    >>> points_along("e,9,9 0,0 0,0 4,4 4,4")
    [(0.0, 0.0), (0.625, 0.625), (2.0, 2.0), (3.375, 3.375), (4.0, 4.0)]
    """
    texts = (text for text in position.split(";")[0].split() if text[0] not in "se")
    control = [(float(x), float(y)) for x, y in (text.split(",") for text in texts)]
    points = control[:1]
    for first in range(0, len(control) - 3, 3):
        for piece in range(1, CURVE_PIECES + 1):
            t = piece / CURVE_PIECES
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            curve = control[first : first + 4]
            points.append(
                (
                    sum(weight * x for weight, (x, _) in zip(weights, curve, strict=True)),
                    sum(weight * y for weight, (_, y) in zip(weights, curve, strict=True)),
                )
            )
    return points


def swapped_pairs(pairs: _Pairs, layout: BoxLayout) -> _Pairs:
    """The pairs that are side by side, the second on the left of the first."""
    places = ((pair, layout.middles[pair[0]], layout.middles[pair[1]]) for pair in pairs)
    return [pair for pair, first, second in places if first[1] == second[1] and first[0] > second[0]]


def count_crossings(layout: BoxLayout) -> int:
    """The pairs of arrows that cross and share no box."""
    return sum(
        not {one.tail, one.head} & {other.tail, other.head} and do_cross(one.points, other.points)
        for one, other in combinations(layout.curves, 2)
    )


def do_cross(one: Sequence[_Point], other: Sequence[_Point]) -> bool:
    """Whether two lines of straight pieces cross.

    >>> do_cross([(0, 0), (1, 1)], [(0, 1), (1, 0)]), do_cross([(0, 0), (1, 1)], [(0, 1), (0, 2), (1, 2)])
    (True, False)
    """
    if any(
        max(point[axis] for point in first) < min(point[axis] for point in second)
        for axis in (0, 1)
        for first, second in ((one, other), (other, one))
    ):
        return False
    return any(
        is_left(a, b, c) != is_left(a, b, d) and is_left(c, d, a) != is_left(c, d, b)
        for a, b in pairwise(one)
        for c, d in pairwise(other)
    )


def is_left(start: _Point, end: _Point, point: _Point) -> bool:
    """Whether a point is on the left of the line from `start` to `end`."""
    return (end[0] - start[0]) * (point[1] - start[1]) > (end[1] - start[1]) * (point[0] - start[0])
