"""The graph of a page, laid out once, as SVG in which every box and every arrow has an id.

This module rewrites the SVG of Graphviz: colours become CSS variables, for light and dark pages, and names and tooltips
become the attributes that the page reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from html import escape
from itertools import chain
from typing import NamedTuple
from xml.etree import ElementTree

from ...core.graph.graph import Graph
from ..collapse import arrow_image, merge_key
from ..dot import to_dot
from ..graph_view import graph_view
from ..operand_order import order_operands
from ..pictures import trim_view
from ..render import ProgressCallback, render
from ..style import BLACK, GREY, PALETTE
from ..view import View, ViewArrow

_SVG = "{http://www.w3.org/2000/svg}"
_TITLE = "{http://www.w3.org/1999/xlink}title"
_COLOURS = {
    **{colour.lower(): f"var(--c{number})" for number, colour in enumerate(PALETTE)},
    BLACK: "var(--foreground)",
    GREY: "var(--muted)",
}
_SHAPES = ("path", "polygon", "polyline", "ellipse")
_SVG_ATTRIBUTES = {
    "d", "points", "cx", "cy", "rx", "ry", "x", "y", "fill", "stroke", "stroke-width", "stroke-dasharray",
    "text-anchor", "font-size", "font-weight",
}  # fmt: skip
_RANK_SPACING = "graph [ranksep=0.6]\n"
"""The distance between ranks; larger than in pictures, so that tokens can be seen to move."""


class PlayerPlan(NamedTuple):
    """A graph laid out: a box has the id `b-NAME`, an arrow `a-NUMBER`, by its number in the view."""

    svg: str
    view: View
    """The drawn view; large graphs have folded functions and loops."""
    drawn_boxes: dict[str, str]
    """For each box of the graph, the box drawn for it: itself, or the box that it is folded into."""
    arrow_numbers: dict[tuple[str, str, int], int]
    """The number of the arrow from a box of the graph to a port of another, if it is drawn."""


def build_plan(
    graph: Graph,
    most: int,
    fold: tuple[str, ...] = (),
    progress: ProgressCallback | None = None,
    *,
    full: bool = False,
) -> PlayerPlan:
    """Lay out a graph with at most `most` boxes and with these functions and loops folded, or in full; raises Usage if
    one of them does not exist, or Graphviz cannot lay the graph out."""
    plan = plan_view(graph, most, fold, full=full)
    spaced = f"{to_dot(order_operands(plan.view)).rstrip().removesuffix('}')}{_RANK_SPACING}}}"
    drawn = render(spaced, "svg", progress=progress).decode()
    return plan._replace(svg=rewrite_svg(drawn, plan.view))


def plan_view(graph: Graph, most: int, fold: tuple[str, ...] = (), *, full: bool = False) -> PlayerPlan:
    """The plan of a graph without its SVG."""
    full_view = graph_view(graph)
    view = trim_view(full_view, (), fold, most, full=full)
    drawn_boxes = {name: view.place_of(name) for name in full_view.boxes}
    return PlayerPlan("", view, drawn_boxes, arrow_numbers(full_view, view))


def arrow_numbers(full_view: View, view: View) -> dict[tuple[str, str, int], int]:
    """For each arrow of a view that is not inside a folded box, its number in the folded view."""
    drawn_numbers = {merge_key(arrow): number for number, arrow in enumerate(view.arrows)}
    images = ((arrow, merge_key(arrow_image(arrow, view.places))) for arrow in full_view.arrows)
    return {
        (arrow.tail, arrow.head, arrow.port): drawn_numbers[image] for arrow, image in images if image in drawn_numbers
    }


def rewrite_svg(svg: str, view: View) -> str:
    """Rewrite the SVG of Graphviz for a page."""
    root = ElementTree.fromstring(svg)
    top_group = root.find(f"{_SVG}g")
    assert top_group is not None
    names = arrows_by_edge(top_group, view)
    box = escape(root.get("viewBox", ""))
    parts = [f'<svg id="plan" class="plan" role="group" aria-label="the graph" viewBox="{box}" tabindex="-1">']
    parts.append(f'<g id="drawing" transform="{escape(top_group.get("transform", ""))}">')
    for group in top_group.findall(f"{_SVG}g"):
        parts += rewrite_group(group, view, names)
    return "".join([*parts, '<g id="marks"></g><g id="tokens"></g></g></svg>'])


def arrows_by_edge(svg_root: ElementTree.Element, view: View) -> dict[str, int]:
    """The number of the arrow for each edge, by the edge's id in the SVG. Parallel edges are in the order of
    arrows."""
    arrows: dict[str, list[int]] = defaultdict(list)
    for number, arrow in enumerate(view.arrows):
        tail, head = (arrow.head, arrow.tail) if arrow.is_reversed else (arrow.tail, arrow.head)
        arrows[f"{tail}->{head}"].append(number)
    edges: dict[str, list[str]] = defaultdict(list)
    for group in svg_root.findall(f"{_SVG}g"):
        if group.get("class", "").startswith("edge"):
            edges[group.findtext(f"{_SVG}title", "")].append(group.get("id", ""))
    numbers: dict[str, int] = {}
    for title, ids in edges.items():
        ids.sort(key=lambda id_: int(id_.removeprefix("edge")))
        numbers.update(zip(ids, arrows[title], strict=True))
    return numbers


def rewrite_group(group: ElementTree.Element, view: View, names: dict[str, int]) -> Iterator[str]:
    """Rewrite the group of a box, an arrow or a frame."""
    kind = group.get("class", "")
    title = group.findtext(f"{_SVG}title", "")
    tooltip = next((element.get(_TITLE, "") for element in group.iter() if element.get(_TITLE)), "")
    if kind.startswith("node"):
        tooltip = tooltip or _box_label(view, title)
        opening = f'<g id="b-{escape(title)}" class="{kind}" role="button" tabindex="-1">'
    elif kind.startswith("edge"):
        number = names[group.get("id", "")]
        opening = f'<g id="a-{number}" class="{kind}"{_reversed_attribute(view.arrows[number])}>'
    else:
        opening = f'<g class="{kind}" aria-hidden="true">'
    yield opening
    if tooltip:
        yield f"<title>{escape(tooltip)}</title>"
    yield from chain.from_iterable(map(rewrite_shape, group.iter()))
    yield "</g>"


def _reversed_attribute(arrow: ViewArrow) -> str:
    return ' data-reversed="1"' if arrow.is_reversed else ""


def _box_label(view: View, name: str) -> str:
    box = view.boxes[name]
    return f"{box.title}, {box.subtitle}" if box.subtitle else box.title


def rewrite_shape(element: ElementTree.Element) -> Iterator[str]:
    """A shape or text of Graphviz's SVG, with colours as CSS variables."""
    name = element.tag.removeprefix(_SVG)
    copied = {key: _COLOURS.get(value, value) for key, value in element.attrib.items() if key in _SVG_ATTRIBUTES}
    attributes = "".join(f' {key}="{escape(value)}"' for key, value in copied.items())
    opacity = ' fill-opacity="var(--fill-opacity)"' if element.get("fill-opacity") else ""
    if name in _SHAPES:
        yield f"<{name}{attributes}{opacity}/>"
    elif name == "text":
        yield f"<text{attributes}>{escape(element.text or '')}</text>"
