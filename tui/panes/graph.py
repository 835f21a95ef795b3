"""The pane of the graph: laid out once, and drawn anew with the tokens where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...core.graph import Graph
from ...viz.cells.badges import Places, places
from ...viz.cells.drawing import Drawing, draw_cells, redrawn
from ...viz.collapse import LARGEST, collapsed, fitted, named
from ...viz.flat import graph_view
from ...viz.moment import on_view
from ...viz.view import View
from ..session.session import Session
from .tokens import only_tag

MANY = 1000
"""So many tokens in flight are drawn, and those that wait in so many activations."""


class Paper(NamedTuple):
    """How a graph is to be drawn: what is folded, and the size that it is to fit."""

    graph: Graph
    folded: tuple[str, ...]
    width: int
    height: int
    zoom: int = 0
    """0 is the whole of it, if it is legible so; below, the whole of it; above, larger than its pane."""

    def is_of(self, graph: Graph, folded: tuple[str, ...]) -> bool:
        return self.graph is graph and self.folded == folded


@dataclass(frozen=True, slots=True)
class Draft:
    """A graph that is laid out: the plain view, the drawing without tokens, and the cells of each thing."""

    paper: Paper
    plain: View
    drawing: Drawing
    places: Places


class Picture(NamedTuple):
    """The graph in cells."""

    drawing: Drawing
    at: tuple[int, int] | None
    """The row and column that the eye is to go to."""
    commands: dict[str, str]
    """What a click on a box, or on a frame, commands, by its name in the view."""
    nodes: dict[str, str]
    """The nodes that boxes are, by their names in the view."""
    said: str = ""


def laid_out(paper: Paper) -> Draft:
    """A graph, laid out: this takes much longer than to draw tokens on it. Raises Usage where Graphviz does."""
    plain = graph_view(paper.graph)
    drawing = _drawn(_trimmed(plain, paper.folded), paper)
    return Draft(paper, plain, drawing, places(drawing.bare))


def _drawn(view: View, paper: Paper) -> Drawing:
    """A view as large as is wanted: where the whole is not legible in its pane, as wide as that, but higher."""
    width, height, zoom = paper.width, paper.height, paper.zoom
    if zoom < 0:
        return draw_cells(view, width=width, height=height)
    if zoom > 0:
        return draw_cells(view, width=width * 2**zoom, height=height * 2**zoom, ways=1)
    drawing = draw_cells(view, width=width, height=height, ways=1)
    return drawing if drawing.fits else draw_cells(view, width=width * 6 // 5, height=height * 3)


def _trimmed(view: View, folded: tuple[str, ...]) -> View:
    return fitted(collapsed(view, named(view, folded)) if folded else view, LARGEST)


def picture(draft: Draft, session: Session) -> Picture:
    """The graph with its tokens."""
    history, paper = session.history, draft.paper
    last = history[history.position - 1] if history.position else None
    moment = on_view(draft.plain, history.state, last, top=only_tag(session), among=MANY)
    view = _trimmed(moment, paper.folded)
    drawing = redrawn(draft.drawing, view, draft.places)
    nodes = {
        name: str(paper.graph.nodes[int(name[1:])]) for name in view.boxes if name[1:].isdigit() and name[0] == "n"
    }
    columns, rows = drawing.size
    flight = len(history.state.flight)
    parts = [
        f"{MANY:,} of {flight:,} tokens" if flight > MANY else "",
        f"{columns}x{rows}",
        f"folded: {', '.join(paper.folded)}" if paper.folded else "",
    ]
    said = " · ".join(filter(None, parts))
    return Picture(drawing, _eye(draft, session), _commands(draft.plain, view, nodes), nodes, said)


def _eye(draft: Draft, session: Session) -> tuple[int, int] | None:
    """Where the present node stands."""
    cells = draft.places.get(f"n{session.node}", [])
    return cells[len(cells) // 2] if cells else None


def _commands(plain: View, view: View, nodes: dict[str, str]) -> dict[str, str]:
    """A box is selected, a frame is folded, and what is folded is unfolded."""
    found = {name: f"select {node}" for name, node in nodes.items()}
    boxes = view.boxes
    for cluster in plain.outside.all():
        if cluster.subject:
            found[cluster.name] = f"{'unfold' if cluster.name in boxes else 'fold'} {cluster.subject}"
    return found
