"""The graph pane: the graph is laid out once, and redrawn with the tokens of each step."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...core.graph.graph import Graph
from ...viz.collapse import bundle_to_fit, collapse_clusters, find_clusters, folding_order
from ...viz.graph_view import graph_view
from ...viz.state_view import overlay_state
from ...viz.terminal.badges import CellPositions, cell_positions
from ...viz.terminal.drawing import Drawing, draw_cells, redraw
from ...viz.view import View
from ..session.session import Focus, Session

MAX_TOKENS = 1000
"""The most tokens in flight, and activations with waiting tokens, that are drawn."""


MAX_PANE_RATIO = 2.5
"""How many times wider or higher than its pane a graph may be before functions and loops are folded."""


MAX_SHRINK = 1.5
"""The most by which a less legible style can shrink a graph, as a factor."""


class LayoutRequest(NamedTuple):
    """A request to lay out a graph: its folded clusters, and the size that it should fit."""

    graph: Graph
    folded: tuple[str, ...]
    width: int
    height: int
    zoom: int = 0
    """The zoom. A graph that is larger than its pane by more than MAX_PANE_RATIO has inner loops and functions folded
    until it fits. Each step of the zoom doubles that limit; below 0 the whole graph fits the pane."""
    unfolded: tuple[str, ...] = ()
    """The functions, loops and bundles that stay unfolded, however large the graph becomes."""
    is_full: bool = False
    """Whether each node is drawn, without bundles."""

    def matches(self, graph: Graph, focus: Focus) -> bool:
        """Whether the layout is of this graph, with the folding that the focus has."""
        folding = (focus.folded_names, focus.unfolded_names, focus.is_full)
        return self.graph is graph and (self.folded, self.unfolded, self.is_full) == folding

    def bundle(self, view: View) -> View:
        """The view of the graph with its bundles drawn as one box each, if there are to be any."""
        return view if self.is_full else bundle_to_fit(view, self.unfolded)


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """The layout of a graph: the plain view, the drawing without tokens, the cells of each box and arrow, and the
    names of the folded clusters."""

    request: LayoutRequest
    view: View
    """The view of the graph, neither bundled nor folded."""
    places: Mapping[str, str]
    """For each bundled or folded box, the box that is drawn for it."""
    drawing: Drawing
    cell_positions: CellPositions
    folded: frozenset[str]
    folded_subjects: tuple[str, ...]
    """The functions and loops that are drawn as boxes."""
    nodes: Mapping[str, str]
    """The nodes of boxes, by the box's name in the view."""
    commands: Mapping[str, str]
    """The command for a click on a box or a frame, by its name in the view."""


class GraphPicture(NamedTuple):
    """The graph in cells, with tokens."""

    drawing: Drawing
    focus_cell: tuple[int, int] | None
    """The row and column to scroll to."""
    commands: Mapping[str, str]
    nodes: Mapping[str, str]
    """`commands` and `nodes` are those of the layout."""
    subtitle: str = ""
    highlighted_rows: Mapping[int, frozenset[str]] = {}
    """The highlighted boxes, by row."""


DRAFT_BOXES = 24
"""The most boxes of a draft, which is laid out within a second."""


def lay_out_graph(request: LayoutRequest) -> GraphLayout:
    """Lay out a graph, which takes much longer than drawing tokens on it. Raises Usage if Graphviz fails."""
    whole, plain, folded = prepare_view(request)
    order, least = folding_order(plain, protected_clusters(plain, request) - folded)
    drawings = dict[int, tuple[Drawing, frozenset[str]]]()

    def fits(count: int) -> bool:
        here = frozenset(folded.union(order[:count]))
        drawing = draw_view(collapse_clusters(plain, here) if here else plain, request)
        drawings[count] = drawing, here
        return _size_ratio(drawing, request) <= 1

    count = least if fits(least) else bisect_left(range(least + 1, len(order)), True, key=fits) + least + 1
    if count not in drawings:
        count = min(count, len(order))
        fits(count)
    return build_layout(request, whole, plain, *drawings[count])


def draft_layout(request: LayoutRequest) -> GraphLayout | None:
    """A first layout of a large graph, with functions and loops folded until it has few boxes; None if the graph is
    small, or cannot be folded that far."""
    whole, plain, folded = prepare_view(request)
    order, least = folding_order(plain, protected_clusters(plain, request) - folded, DRAFT_BOXES)
    here = frozenset(folded.union(order[:least]))
    if len(plain.boxes) <= DRAFT_BOXES or not here:
        return None
    view = collapse_clusters(plain, here)
    if len(view.boxes) > 2 * DRAFT_BOXES:
        return None
    drawing = draw_cells(view, width=request.width, height=request.height, style_count=1)
    return build_layout(request, whole, plain, drawing, here)


def prepare_view(request: LayoutRequest) -> tuple[View, View, set[str]]:
    """The view of a graph, the same with bundles, and the names of the clusters that the user has folded."""
    whole = graph_view(request.graph)
    plain = request.bundle(whole)
    return whole, plain, find_clusters(plain, request.folded) if request.folded else set[str]()


def build_layout(
    request: LayoutRequest, whole: View, plain: View, drawing: Drawing, folded: frozenset[str]
) -> GraphLayout:
    """The layout with the drawing of a view whose clusters are folded."""
    drawn = collapse_clusters(plain, folded) if folded else plain
    boxes = drawn.boxes
    nodes = {name: str(request.graph.nodes[int(name[1:])]) for name in boxes if name[1:].isdigit() and name[0] == "n"}
    folded_subjects = tuple(each.subject for each in plain.root.walk() if each.name in folded and each.name in boxes)
    commands = {name: f"select {node}" for name, node in nodes.items()} | dict(fold_commands(plain, boxes))
    positions = cell_positions(drawing.base_rows)
    return GraphLayout(request, whole, drawn.places, drawing, positions, folded, folded_subjects, nodes, commands)


def fold_commands(plain: View, boxes: Collection[str]) -> Iterator[tuple[str, str]]:
    """Commands for clicks: on a frame to fold it, on a folded box or a bundle to unfold it."""
    for bundle in plain.bundles:
        if bundle.box.name in boxes:
            yield bundle.box.name, f"unfold {bundle.subject}"
    for cluster in plain.root.walk():
        if cluster.subject:
            yield cluster.name, f"{'unfold' if cluster.name in boxes else 'fold'} {cluster.subject}"


def protected_clusters(plain: View, request: LayoutRequest) -> set[str]:
    """The clusters that are not folded automatically: those that the user unfolded, and the program's entry
    function."""
    own = {each.name for each in plain.root.clusters if each.subject == request.graph.name}
    bundles = {bundle.subject for bundle in plain.bundles}
    return own | find_clusters(plain, [name for name in request.unfolded if name not in bundles])


def _size_ratio(drawing: Drawing, request: LayoutRequest) -> float:
    """How many times larger a drawing is than its limit."""
    columns, rows = drawing.size
    far = MAX_PANE_RATIO * 2**request.zoom if request.zoom >= 0 else 1
    return max(columns / request.width, rows / request.height) / far


def draw_view(view: View, request: LayoutRequest) -> Drawing:
    """Draw a view in the most legible style that fits the pane; if none does, exceed the height rather than the width.
    For a graph that is far too large, less legible styles are not tried, because each takes as long."""
    width, height, zoom = request.width, request.height, request.zoom
    times = 2 ** max(zoom, 0)
    drawing = draw_cells(view, width=width * times, height=height * times, style_count=1)
    if zoom > 0 or drawing.fits or _size_ratio(drawing, request) > MAX_SHRINK:
        return drawing
    if zoom < 0:
        return draw_cells(view, width=width, height=height)
    higher = draw_cells(view, width=width * 6 // 5, height=height * 3)
    return higher if higher.fits or _size_ratio(higher, request) <= _size_ratio(drawing, request) else drawing


def draw_tokens(layout: GraphLayout, session: Session) -> GraphPicture:
    """Draw the graph with its tokens."""
    history, folded = session.history, layout.folded_subjects
    moment = overlay_state(layout.view, history.state, history.last_event, under=session.root_tag, limit=MAX_TOKENS)
    bundled = layout.request.bundle(moment)
    view = collapse_clusters(bundled, layout.folded) if layout.folded else bundled
    drawing = redraw(layout.drawing, view, layout.cell_positions)
    flight = len(history.state.flight)
    parts = [
        f"{MAX_TOKENS:,} of {flight:,} tokens" if flight > MAX_TOKENS else "",
        f"folded: {', '.join(folded[:3])}{' …' if len(folded) > 3 else ''} (_ unfolds)" if folded else "",
    ]
    subtitle = " · ".join(filter(None, parts))
    highlighted = boxes_by_row(layout.cell_positions, (name for name, box in view.boxes.items() if box.emphasized))
    return GraphPicture(drawing, _focus_cell(layout, session), layout.commands, layout.nodes, subtitle, highlighted)


def boxes_by_row(positions: CellPositions, names: Iterable[str]) -> dict[int, frozenset[str]]:
    """Which of these boxes are in each row."""
    names_by_row: dict[int, set[str]] = {}
    for name in names:
        for row, _ in positions.get(name, ()):
            names_by_row.setdefault(row, set()).add(name)
    return {row: frozenset(boxes) for row, boxes in names_by_row.items()}


def _focus_cell(layout: GraphLayout, session: Session) -> tuple[int, int] | None:
    """The cell of the current node, or of the box that it is folded into."""
    name = f"n{session.current_node}"
    cells = layout.cell_positions.get(layout.places.get(name, name), [])
    return cells[len(cells) // 2] if cells else None
