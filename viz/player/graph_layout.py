"""The graph of a page, laid out, as SVG in which every box and every arrow has an id.

If parts of the graph are folded, there are several layouts: one as folded, and one for each part in which that part is
unfolded. The page changes from one to another.

This module rewrites the SVG of Graphviz: colours become CSS variables, for light and dark pages, and names and tooltips
become the attributes that the page reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape
from itertools import chain
from operator import itemgetter
from typing import NamedTuple
from xml.etree import ElementTree

from ...core.graph.graph import Graph
from ..arrow_labels import clear_labels
from ..collapse import MAX_BOXES, arrow_image, merge_key, select_blocks
from ..dot import POINTS_PER_INCH, ROW_DISTANCE, to_dot
from ..frame_titles import clear_titles
from ..graph_view import graph_view
from ..operand_order import order_operands
from ..pictures import trim_view
from ..render import ProgressCallback, render_svgs
from ..screen import Folding, arrange_functions, branch_names, folding_notes, unfold_clusters
from ..size_estimate import PictureSize, estimate_height, rank_boxes
from ..style import BLACK, GREY, PALETTE
from ..view import Bundle, View, ViewArrow

_SVG = "{http://www.w3.org/2000/svg}"
_TITLE = "{http://www.w3.org/1999/xlink}title"
_COLOURS = {
    **{colour.lower(): f"var(--c{number})" for number, colour in enumerate(PALETTE)},
    BLACK: "var(--foreground)",
    GREY: "var(--muted)",
    "white": "var(--background)",
}
_SHAPES = ("path", "polygon", "polyline", "ellipse")
_SVG_ATTRIBUTES = {
    "d", "points", "cx", "cy", "rx", "ry", "x", "y", "fill", "stroke", "stroke-width", "stroke-dasharray",
    "text-anchor", "font-size", "font-weight", "paint-order",
}  # fmt: skip
PANE = PictureSize(1230.0, 830.0)
"""The size in points for which the graph is folded. A page of 1,600 x 1,000 pixels shows it in a pane of 1,110 x 750,
so that the smallest letters, of 10 points, have 9 pixels."""

_MAX_ADDED_SPACING = 26.0
"""The most points by which the distance between ranks is larger than in pictures, so that tokens can be seen to
move."""

MAX_PLANS, MAX_LAYOUT_COST = 60, 40_000
"""The most layouts of a page, and their most cost, which for each is the square of the number of its boxes: a layout of
20 boxes takes a quarter of a second and 40 kB, one of 130 boxes ten seconds."""

EdgeKey = tuple[str, str, int]
"""An edge of a graph: the boxes at its ends, and the port."""


class PlayerPlan(NamedTuple):
    """A graph laid out: a box has the id `b-NAME`, an arrow `a-NUMBER`, by its number in the view."""

    svg: str
    view: View
    """The drawn view; large graphs have folded functions and loops."""
    drawn_boxes: dict[str, str]
    """For each box of the graph, the box drawn for it: itself, or the box that it is folded into."""
    arrow_numbers: dict[EdgeKey, int]
    """The number of the arrow from a box of the graph to a port of another, if it is drawn."""
    unfolded_box: str = ""
    """The folded box whose contents this plan draws; empty if it draws the graph as folded."""
    title: str = ""
    """The title of that box."""
    parent: int = 0
    """The number of the plan that has that box."""


class PlayerPlans(NamedTuple):
    """The plans of a graph: first the graph as folded, then a plan for each part that can be unfolded."""

    plans: Sequence[PlayerPlan]
    edges: dict[EdgeKey, int]
    """The number of each edge of the graph."""

    @property
    def view(self) -> View:
        """The view that is drawn at first."""
        return self.plans[0].view


def build_plans(
    graph: Graph,
    most: int,
    fold: tuple[str, ...] = (),
    progress: ProgressCallback | None = None,
    *,
    full: bool = False,
) -> PlayerPlans:
    """Lay out a graph with at most `most` boxes and with these functions and loops folded, or in full, and for each
    folded part with its contents; raises Usage if one of the functions and loops does not exist, or Graphviz cannot lay
    the graph out."""
    plans = plan_views(graph, most, fold, full=full)
    first = order_operands(plans.view)
    sources = map(spaced_dot, [first, *(plan.view for plan in plans.plans[1:])])
    drawn = map(clear_labels, map(clear_titles, render_svgs(list(sources), progress=progress)))
    return plans._replace(
        plans=[plan._replace(svg=rewrite_svg(svg, plan.view)) for plan, svg in zip(plans.plans, drawn, strict=True)]
    )


def spaced_dot(view: View) -> str:
    """DOT source of a view in which ranks have a larger distance, as far as the pane has room."""
    source, ranks = to_dot(view), rank_boxes(view)
    spare = (PANE.height - estimate_height(view, ranks)) / max(1, *ranks.values())
    if spare <= 0 or view.is_dense:
        return source
    distance = float(ROW_DISTANCE) + min(spare, _MAX_ADDED_SPACING) / POINTS_PER_INCH
    return f"{source.rstrip().removesuffix('}')}graph [ranksep={distance:.2f}]\n}}"


def plan_views(graph: Graph, most: int, fold: tuple[str, ...] = (), *, full: bool = False) -> PlayerPlans:
    """The plans of a graph without their SVGs."""
    full_view = graph_view(graph)
    first = plan_of(full_view, trim_view(full_view, (), fold, most, PANE, full=full))
    plans = [first, *unfolded_plans(full_view, first.view, full=full)]
    edges = dict.fromkeys((arrow.tail, arrow.head, arrow.port) for arrow in full_view.arrows)
    return PlayerPlans(plans, {key: number for number, key in enumerate(edges)})


def plan_of(full_view: View, view: View) -> PlayerPlan:
    """The plan of a graph that is drawn as a view."""
    drawn_boxes = {name: view.place_of(name) for name in full_view.boxes}
    return PlayerPlan("", view, drawn_boxes, arrow_numbers(full_view, view))


def unfolded_plans(full_view: View, view: View, *, full: bool) -> Iterator[PlayerPlan]:
    """For each part that is folded in a view, or inside such a part, the plan in which it and all around it are
    unfolded, and nothing else: outer parts first, at most MAX_PLANS with that of the view, none with more than
    MAX_BOXES boxes, and of MAX_LAYOUT_COST in all."""
    boxes = view.boxes
    granularities = [at for at, blocks in enumerate(full_view.blocks, 1) if any(b.box.name in boxes for b in blocks)]
    full_view = select_blocks(full_view, next(iter(granularities), 0))
    shown_bundles = [bundle for bundle in full_view.bundles if any(name in boxes for name in bundle.members)]
    is_bundled = not full and len(shown_bundles) < len(full_view.bundles)
    folded = [cluster.name for cluster in full_view.root.walk() if cluster.name in boxes]
    has_branches = bool(folded) or bool(branch_names(view))
    numbers, cost = dict[str, int](), len(boxes) ** 2
    bundles = [bundle for bundle in full_view.bundles if bundle not in shown_bundles] if is_bundled else []
    for part in folded_parts(full_view, folded, bundles):
        if len(numbers) + 1 == MAX_PLANS:
            break
        if part.outer and part.outer not in numbers:
            continue
        clusters = unfold_clusters(full_view, folded, [part.outer if part.bundle else part.box])
        subjects = (*(bundle.subject for bundle in shown_bundles), *filter(None, [part.bundle]))
        unfolded = Folding(is_bundled, subjects, tuple(clusters), has_branches=has_branches).apply(full_view)
        if len(unfolded.boxes) > MAX_BOXES:
            continue
        cost += len(unfolded.boxes) ** 2
        if cost > MAX_LAYOUT_COST:
            break
        drawn = arrange_functions(unfolded, PANE)
        drawn.caption = "; ".join(filter(None, [full_view.caption, *folding_notes(full_view, drawn)]))
        yield plan_of(full_view, drawn)._replace(
            unfolded_box=part.box, title=part.title, parent=numbers.get(part.outer, 0)
        )
        numbers[part.box] = len(numbers) + 1


class FoldedPart(NamedTuple):
    """A cluster or a bundle that is folded, or inside a folded cluster."""

    box: str
    """The name of the box that is drawn for it."""
    title: str
    bundle: str
    """The subject of a bundle; empty for a cluster."""
    outer: str
    """The name of the cluster around it; empty if that is unfolded."""


def folded_parts(view: View, folded: Collection[str], bundles: Iterable[Bundle]) -> list[FoldedPart]:
    """The parts of a view that are folded if these clusters and bundles are, outer ones before those inside."""
    depths = {view.root.name: 0}
    """The number of clusters that must be unfolded before the contents of a cluster are drawn."""
    parts = list[tuple[int, FoldedPart]]()
    for cluster in view.root.walk():
        depth, outer = depths[cluster.name], cluster.name if depths[cluster.name] else ""
        for inner in cluster.clusters:
            is_folded = depth > 0 or inner.name in folded
            depths[inner.name] = depth + is_folded
            if is_folded:
                parts.append((depth, FoldedPart(inner.name, inner.title, "", outer)))
        parts += [
            (depth, FoldedPart(bundle.box.name, bundle.box.title, bundle.subject, outer))
            for bundle in bundles
            if bundle.members[0] in cluster.boxes
        ]
    return [part for _, part in sorted(parts, key=itemgetter(0))]


def arrow_numbers(full_view: View, view: View) -> dict[EdgeKey, int]:
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
