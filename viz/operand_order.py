"""The order of operands in a picture: the box of `a` is on the left of the box of `b` above `a - b`.

Graphviz minimizes crossings, and does not know operands. So a view is laid out, and operands that are side by side in
the wrong order get a constraint. The constraints stay if the layout with them has no more crossings and is not much
wider.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, pairwise
from typing import NamedTuple, TypeAlias

from .dot import to_dot
from .render import COORDINATE_FORMAT, render
from .view import BoxKind, View

ORDERED_KINDS: tuple[BoxKind, ...] = ("arithmetic", "comparison", "logic")
"""The kinds of boxes whose operands have an order that readers know."""

MAX_ARROWS = 150
"""The most arrows of a view whose operands are ordered: a second layout of a larger one takes long."""

MAX_GROWTH = 1.1
"""The most by which ordered operands may widen a picture, as a factor."""

_Pairs: TypeAlias = list[tuple[str, str]]


class BoxLayout(NamedTuple):
    """A layout of a view: the middle of each box in points, and the width of the picture."""

    middles: Mapping[str, tuple[float, float]]
    width: float


def order_operands(view: View) -> View:
    """The view with constraints that place operands in their order, where that costs no crossings. Raises Usage in the
    same cases as `render`."""
    pairs = operand_pairs(view)
    if not view.is_static or not pairs or len(view.arrows) > MAX_ARROWS:
        return view
    before = lay_out_boxes(view)
    swapped = swapped_pairs(pairs, before)
    if not swapped:
        return view
    ordered = replace(view, side_constraints=swapped)
    after = lay_out_boxes(ordered)
    is_better = (
        len(swapped_pairs(pairs, after)) < len(swapped)
        and count_crossings(view, after) <= count_crossings(view, before)
        and after.width <= before.width * MAX_GROWTH
    )
    return ordered if is_better else view


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
    """The middles of a view's boxes in Graphviz's layout."""
    layout = json.loads(render(to_dot(view), COORDINATE_FORMAT))
    middles = {
        box["name"]: (float(x), float(y))
        for box in layout.get("objects", ())
        if "pos" in box
        for x, y in [box["pos"].split(",")]
    }
    return BoxLayout(middles, float(layout["bb"].split(",")[2]))


def swapped_pairs(pairs: _Pairs, layout: BoxLayout) -> _Pairs:
    """The pairs that are side by side, the second on the left of the first."""
    places = ((pair, layout.middles[pair[0]], layout.middles[pair[1]]) for pair in pairs)
    return [pair for pair, first, second in places if first[1] == second[1] and first[0] > second[0]]


def count_crossings(view: View, layout: BoxLayout) -> int:
    """The pairs of arrows that cross, as straight lines between the middles of boxes, and share no box."""
    lines = [(arrow.tail, arrow.head) for arrow in view.arrows]
    places = layout.middles
    return sum(
        is_left(places[a], places[b], places[c]) != is_left(places[a], places[b], places[d])
        and is_left(places[c], places[d], places[a]) != is_left(places[c], places[d], places[b])
        for (a, b), (c, d) in combinations(lines, 2)
        if len({a, b, c, d}) == 4
    )


def is_left(start: tuple[float, float], end: tuple[float, float], point: tuple[float, float]) -> bool:
    """Whether a point is on the left of the line from `start` to `end`."""
    return (end[0] - start[0]) * (point[1] - start[1]) > (end[1] - start[1]) * (point[0] - start[0])
