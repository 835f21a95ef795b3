"""The pane of the graph: laid out once, and drawn anew with the tokens where they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ...core.graph.graph import Graph
from ...viz.cells.badges import CellPositions, cell_positions
from ...viz.cells.drawing import Drawing, draw_cells, redraw
from ...viz.collapse import collapse_clusters, find_clusters, folding_order
from ...viz.graph_view import graph_view
from ...viz.state_view import overlay_state
from ...viz.view import View
from ..session.session import Session

MAX_TOKENS = 1000
"""So many tokens in flight are drawn, and those that wait in so many activations."""


MAX_EXCESS = 2.5
"""So many times as wide, or as high, as its place a graph may be before functions and loops are folded."""


MAX_SHRINK = 1.5
"""No way to write a graph makes it smaller by more."""


class LayoutRequest(NamedTuple):
    """How a graph is to be drawn: what is folded, and the size that it is to fit."""

    graph: Graph
    folded: tuple[str, ...]
    width: int
    height: int
    zoom: int = 0
    """Where it is larger than its place by more than MAX_EXCESS, inner loops and functions are folded until it is not.
    Each step of the zoom doubles that; below 0 it is folded until all of it is in sight."""
    unfolded: tuple[str, ...] = ()
    """The functions and loops that are not folded, however large the graph is then."""

    def matches(self, graph: Graph, folded: tuple[str, ...], opened: tuple[str, ...]) -> bool:
        return self.graph is graph and (self.folded, self.unfolded) == (folded, opened)


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """A graph that is laid out: the plain view, the drawing without tokens, the cells of each thing, and the clusters
    that are folded."""

    request: LayoutRequest
    view: View
    drawing: Drawing
    cell_positions: CellPositions
    folded: frozenset[str]
    folded_subjects: tuple[str, ...]
    """The functions and loops that are drawn as boxes."""
    nodes: Mapping[str, str]
    """The nodes that boxes are, by their names in the view."""
    commands: Mapping[str, str]
    """What a click on a box, or on a frame, commands, by its name in the view."""


class GraphPicture(NamedTuple):
    """The graph in cells."""

    drawing: Drawing
    focus_cell: tuple[int, int] | None
    """The row and column that the eye is to go to."""
    commands: Mapping[str, str]
    nodes: Mapping[str, str]
    """As drafts have them."""
    subtitle: str = ""
    highlighted_rows: Mapping[int, frozenset[str]] = {}
    """The boxes that the eye is to find first, by the rows in which they stand."""


def lay_out_graph(paper: LayoutRequest) -> GraphLayout:
    """A graph, laid out: this takes much longer than to draw tokens on it. Raises Usage where Graphviz does."""
    plain = graph_view(paper.graph)
    folded = find_clusters(plain, paper.folded) if paper.folded else set[str]()
    order, least = folding_order(plain, _protected_clusters(plain, paper) - folded)
    found = dict[int, tuple[Drawing, frozenset[str]]]()

    def fits(count: int) -> bool:
        here = frozenset(folded.union(order[:count]))
        drawing = _draw_view(collapse_clusters(plain, here) if here else plain, paper)
        found[count] = drawing, here
        return _excess(drawing, paper) <= 1

    count = least if fits(least) else bisect_left(range(least + 1, len(order)), True, key=fits) + least + 1
    if count not in found:
        count = min(count, len(order))
        fits(count)
    drawing, here = found[count]
    boxes = (collapse_clusters(plain, here) if here else plain).boxes
    nodes = {name: str(paper.graph.nodes[int(name[1:])]) for name in boxes if name[1:].isdigit() and name[0] == "n"}
    shut = tuple(each.subject for each in plain.root.walk() if each.name in here and each.name in boxes)
    commands = {name: f"select {node}" for name, node in nodes.items()} | dict(_fold_commands(plain, boxes))
    return GraphLayout(paper, plain, drawing, cell_positions(drawing.base_rows), here, shut, nodes, commands)


def _fold_commands(plain: View, boxes: Collection[str]) -> Iterator[tuple[str, str]]:
    """A frame is folded, and what is folded is unfolded."""
    for cluster in plain.root.walk():
        if cluster.subject:
            yield cluster.name, f"{'unfold' if cluster.name in boxes else 'fold'} {cluster.subject}"


def _protected_clusters(plain: View, paper: LayoutRequest) -> set[str]:
    """The clusters that are not folded by themselves: those that somebody opened, and the program's own function."""
    own = {each.name for each in plain.root.clusters if each.subject == paper.graph.name}
    return own | (find_clusters(plain, paper.unfolded) if paper.unfolded else set())


def _excess(drawing: Drawing, paper: LayoutRequest) -> float:
    """How many times larger a drawing is than it may be."""
    columns, rows = drawing.size
    far = MAX_EXCESS * 2**paper.zoom if paper.zoom >= 0 else 1
    return max(columns / paper.width, rows / paper.height) / far


def _draw_view(view: View, paper: LayoutRequest) -> Drawing:
    """A view as legible as can be in its pane; where it is not legible there, as wide as that, but higher, if it can
    be. What is much too large is not drawn in less legible ways in vain: each takes as long."""
    width, height, zoom = paper.width, paper.height, paper.zoom
    times = 2 ** max(zoom, 0)
    drawing = draw_cells(view, width=width * times, height=height * times, styles=1)
    if zoom > 0 or drawing.fits or _excess(drawing, paper) > MAX_SHRINK:
        return drawing
    if zoom < 0:
        return draw_cells(view, width=width, height=height)
    higher = draw_cells(view, width=width * 6 // 5, height=height * 3)
    return higher if higher.fits or _excess(higher, paper) <= _excess(drawing, paper) else drawing


def draw_tokens(draft: GraphLayout, session: Session) -> GraphPicture:
    """The graph with its tokens."""
    history, shut = session.history, draft.folded_subjects
    moment = overlay_state(draft.view, history.state, history.last_event, under=session.root_tag, limit=MAX_TOKENS)
    view = collapse_clusters(moment, draft.folded) if draft.folded else moment
    drawing = redraw(draft.drawing, view, draft.cell_positions)
    flight = len(history.state.flight)
    parts = [
        f"{MAX_TOKENS:,} of {flight:,} tokens" if flight > MAX_TOKENS else "",
        f"folded: {', '.join(shut[:3])}{' …' if len(shut) > 3 else ''} (_ opens)" if shut else "",
    ]
    said = " · ".join(filter(None, parts))
    lit = _boxes_by_row(draft.cell_positions, (name for name, box in view.boxes.items() if box.emphasized))
    return GraphPicture(drawing, _focus_cell(draft, session), draft.commands, draft.nodes, said, lit)


def _boxes_by_row(where: CellPositions, names: Iterable[str]) -> dict[int, frozenset[str]]:
    """Which of these boxes stand in a row, for each in which one does."""
    found: dict[int, set[str]] = {}
    for name in names:
        for row, _ in where.get(name, ()):
            found.setdefault(row, set()).add(name)
    return {row: frozenset(here) for row, here in found.items()}


def _focus_cell(draft: GraphLayout, session: Session) -> tuple[int, int] | None:
    """Where the present node stands, or what it is folded into."""
    name = f"n{session.current_node}"
    inside = (each.name for each in draft.view.root.walk() if any(name in inner.boxes for inner in each.walk()))
    shown = chain([name], (each for each in inside if each in draft.folded))
    cells = next((draft.cell_positions[each] for each in shown if each in draft.cell_positions), [])
    return cells[len(cells) // 2] if cells else None
