"""The graph pane: the graph is laid out once, and redrawn with the tokens of each step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...core.graph.graph import Graph
from ...core.tag import Tag
from ...viz.collapse import folding_order, select_blocks
from ...viz.graph_view import graph_view
from ...viz.screen import (
    SCREEN,
    Folding,
    adjust_folding,
    arrange_functions,
    best_arrangement,
    branch_names,
    choose_folding,
)
from ...viz.size_estimate import PictureSize
from ...viz.state_view import overlay_state
from ...viz.terminal.badges import CellPositions, cell_positions
from ...viz.terminal.drawing import Drawing, draw_cells, redraw
from ...viz.view import View
from ..session.activation_mark import ActivationMark, mark_activation
from ..session.session import Focus, Session

MAX_TOKENS = 1000
"""The most tokens in flight, and activations with waiting tokens, that are drawn."""


POINTS_PER_COLUMN, POINTS_PER_ROW = 11.0, 27.0
"""The width and height in points of a picture that take a cell of the pane."""

MAX_EXCESS = 1.25
"""How many times larger than the pane a graph that is folded for it may be, by the estimate."""

MAX_SHRINK = 1.5
"""The most by which a less legible style can shrink a graph, as a factor."""


class LayoutRequest(NamedTuple):
    """A request to lay out a graph: its folded clusters, and the size that it should fit."""

    graph: Graph
    folded: tuple[str, ...]
    width: int
    height: int
    zoom: int = 0
    """The zoom. At 0 the graph is folded for the pane, if it almost fits there with LEAST_BOXES boxes, or else as in
    every other picture, for a screen, but without frames of branches. Each step doubles that screen; below 0 it is the
    pane."""
    unfolded: tuple[str, ...] = ()
    """The functions, loops and bundles that the user has unfolded."""
    is_full: bool = False
    """Whether each node is drawn."""

    @property
    def pane(self) -> PictureSize:
        """The size of the pane in points."""
        return PictureSize(self.width * POINTS_PER_COLUMN, self.height * POINTS_PER_ROW)

    @property
    def screen(self) -> PictureSize:
        """The size in points for which the graph is folded, if it does not fit the pane."""
        return self.pane if self.zoom < 0 else PictureSize(*(side * 2**self.zoom for side in SCREEN))

    def matches(self, graph: Graph, focus: Focus) -> bool:
        """Whether the layout is of this graph, with the folding that the focus has."""
        folding = (focus.folded_names, focus.unfolded_names, focus.is_full)
        return self.graph is graph and (self.folded, self.unfolded, self.is_full) == folding

    def is_resized(self, other: LayoutRequest) -> bool:
        """Whether another request is for the same graph in the same folding, of any size."""
        foldings = ((request.folded, request.unfolded, request.is_full) for request in (self, other))
        return self.graph is other.graph and len(set(foldings)) == 1

    def find_folding(self, view: View) -> Folding:
        """What is folded in the view of the graph. It has at most MAX_BOXES boxes."""
        chosen = Folding() if self.is_full else self.choose_folding(view)
        folding = adjust_folding(view, chosen, self.folded, self.unfolded)
        order, least = folding_order(folding.apply(view))
        return folding._replace(clusters=(*folding.clusters, *order[:least]))

    def choose_folding(self, view: View) -> Folding:
        """The folding of a view at this zoom."""
        if self.zoom == 0:
            folding = choose_folding(view, self.pane)
            if best_arrangement(folding.apply(view), self.pane)[0] <= MAX_EXCESS:
                return folding
        folding = choose_folding(view, self.screen)
        has_branches = self.zoom != 0 or not branch_names(view).isdisjoint(folding.clusters)
        return folding._replace(has_branches=folding.has_branches and has_branches)


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """The layout of a graph: the plain view, the drawing without tokens, and the cells of each box and
    arrow."""

    request: LayoutRequest
    view: View
    """The view of the graph, in full."""
    folding: Folding
    places: Mapping[str, str]
    """For each bundled or folded box, the box that is drawn for it."""
    drawing: Drawing
    cell_positions: CellPositions
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
    """`commands` and `nodes` belong to the layout."""
    subtitle: str = ""
    highlighted_rows: Mapping[int, frozenset[str]] = {}
    """The highlighted boxes, by row."""
    has_found_node: bool = False
    """Whether the cell is that of a node that the user looked for, which is shown even if the run is not followed."""


def lay_out_graph(request: LayoutRequest) -> GraphLayout:
    """Lay out a graph, which takes much longer than drawing tokens on it. Raises Usage if Graphviz fails."""
    view = graph_view(request.graph)
    folding = request.find_folding(view)
    drawn = arrange_functions(folding.apply(view), request.screen)
    drawing = draw_view(drawn, request)
    boxes = drawn.boxes
    nodes = {name: str(request.graph.nodes[int(name[1:])]) for name in boxes if name[1:].isdigit() and name[0] == "n"}
    folded_subjects = tuple(
        cluster.subject for cluster in view.root.walk() if cluster.subject and cluster.name in boxes
    )
    unfoldable = select_blocks(view, folding.granularity)
    commands = {name: f"select {node}" for name, node in nodes.items()} | dict(fold_commands(unfoldable, boxes))
    positions = cell_positions(drawing.base_rows)
    return GraphLayout(request, view, folding, drawn.places, drawing, positions, folded_subjects, nodes, commands)


def draft_layout(request: LayoutRequest) -> GraphLayout | None:
    """A first layout of a graph that the user has unfolded far: the graph in its default folding. None if the
    default folding is requested."""
    folded = request._replace(zoom=min(request.zoom, 0), unfolded=(), is_full=False)
    return None if folded == request else replace(lay_out_graph(folded), request=request)


def fold_commands(plain: View, boxes: Collection[str]) -> Iterator[tuple[str, str]]:
    """Commands for clicks: on a frame to fold it, on a folded box or a bundle to unfold it."""
    for bundle in plain.bundles:
        if bundle.box.name in boxes:
            yield bundle.box.name, f"unfold {bundle.subject}"
    for cluster in plain.root.walk():
        if cluster.subject:
            yield cluster.name, f"{'unfold' if cluster.name in boxes else 'fold'} {cluster.subject}"


def draw_view(view: View, request: LayoutRequest) -> Drawing:
    """Draw a view in the most legible style that fits the pane; if none does, exceed the height rather than the width.
    For a graph that is far too large, less legible styles are not tried, because each takes as long."""
    times = 2 ** max(request.zoom, 0)
    width, height = request.width * times, request.height * times
    drawing = draw_cells(view, width=width, height=height, style_count=1)
    if request.zoom > 0 or drawing.fits or max(drawing.size[0] / width, drawing.size[1] / height) > MAX_SHRINK:
        return drawing
    if request.zoom < 0:
        return draw_cells(view, width=width, height=height)
    higher = draw_cells(view, width=width, height=height * 3)
    return higher if higher.fits or higher.size[0] < drawing.size[0] else drawing


def draw_tokens(layout: GraphLayout, session: Session) -> GraphPicture:
    """Draw the graph with its tokens."""
    history, folded = session.history, layout.folded_subjects
    marks = dict[Tag, ActivationMark]()

    def mark_of(tag: Tag) -> tuple[str, str, bool]:
        mark = marks[tag] = marks.get(tag) or mark_activation(session, tag)
        return mark.text, mark.colour, not mark.is_current

    moment = overlay_state(
        layout.view, history.state, history.last_event, under=session.root_tag, limit=MAX_TOKENS, mark_of=mark_of
    )
    view = layout.folding.apply(moment)
    drawing = redraw(layout.drawing, view, layout.cell_positions)
    flight = len(history.state.flight)
    difference, position = session.shown_difference, f"{history.position:,} of {len(history):,}"
    parts = [
        f"{session.run.name} at {position}" if session.other_run is not None else "",
        f"≠ {difference.node}" if difference is not None and difference.node else "",
        f"{MAX_TOKENS:,} of {flight:,} tokens" if flight > MAX_TOKENS else "",
        f"folded: {', '.join(folded[:3])}{' …' if len(folded) > 3 else ''} (_ unfolds)" if folded else "",
    ]
    subtitle = " · ".join(filter(None, parts))
    lit = {name for name, box in view.boxes.items() if box.emphasized}
    if difference is not None and (number := session.node_number(difference.node)) is not None:
        lit.add(view.place_of(f"n{number}"))
    if session.found_node is not None:
        lit = {view.place_of(f"n{session.found_node}")}
    highlighted = boxes_by_row(layout.cell_positions, lit)
    focus_cell, has_found_node = _focus_cell(layout, session), session.found_node is not None
    return GraphPicture(
        drawing, focus_cell, layout.commands, layout.nodes, subtitle, highlighted, has_found_node=has_found_node
    )


def boxes_by_row(positions: CellPositions, names: Iterable[str]) -> dict[int, frozenset[str]]:
    """Which of these boxes are in each row."""
    names_by_row: dict[int, set[str]] = {}
    for name in names:
        for row, _ in positions.get(name, ()):
            names_by_row.setdefault(row, set()).add(name)
    return {row: frozenset(boxes) for row, boxes in names_by_row.items()}


def _focus_cell(layout: GraphLayout, session: Session) -> tuple[int, int] | None:
    """The cell of the found node, or else of the current one, or of the box that it is folded into."""
    found_node = session.found_node
    name = f"n{session.current_node if found_node is None else found_node}"
    cells = layout.cell_positions.get(layout.places.get(name, name), [])
    return cells[len(cells) // 2] if cells else None
