"""A view of a flat graph: each function a cluster, each loop a cluster inside the one that it stands in, and what runs
back through one of them a cluster in it.

A loop's gates (enter, next_iteration, exit, reenter, back) stand in its cluster. Layout follows the tokens of one
activation, from top to bottom: edges that start another one (a next iteration, a call of the same function) are laid
out as if they ran the other way. A function stands below those that call it, and beside those that it calls back.
"""

from __future__ import annotations

from typing import TypeAlias

from ..core.graph.graph import Edge, Graph, Source
from ..core.graph.phases import Home, Phases
from ..core.ops.effect_op import ACTS, resource_of
from ..core.tag import ENVIRONMENT, Site
from .labels import Words, phase_title, titled
from .style import kind_of
from .view import Cluster, Link, View

_LABELS = {
    "switch": ("T", "F"),
    "exit": ("", "trips"),
    "back": ("", "out"),
    **{row.name: ("", "") for row in ACTS.values() if row.resource},
}
"""What is written at the outputs of ops with several."""

_Place: TypeAlias = tuple[tuple[Home, int], ...]
"""A function, and the loops around a node in it, outermost first; and of each the phase of what is inside it."""


def graph_view(graph: Graph) -> View:
    """The view of a graph, valid or not: each node once, each edge once, the same text every time.

    Nodes are called n0, n1, ... by their numbers, arguments a0, a1, ..., results r0, r1, .... An arrow is data,
    predicate, trigger, order, call, back or before.
    """
    view = View(graph.name)
    for position, (name, output) in enumerate(graph.arguments):
        view.outside.box(f"a{position}", "argument", name, tooltip=f"argument {name}: {output.type}")
        view.outside.level.append(f"a{position}")
    _draw_nodes(view, graph)
    _draw_edges(view, graph)
    for position, number in enumerate(graph.results):
        view.outside.box(f"r{position}", "result", "result", tooltip=f"result {position}")
        view.arrow(f"n{number}", f"r{position}", "data", tooltip=f"result {position}")
    _keep_returns_below_calls(view, graph)
    return view


def _draw_nodes(view: View, graph: Graph) -> None:
    phases, words, entries = Phases(graph), Words(graph), _entries(graph)
    begins = {node.site: number for number, node in reversed([*enumerate(graph.nodes)]) if node.op == "enter"}
    clusters: dict[_Place, Cluster] = {}
    for number, node in enumerate(graph.nodes):
        loops = [loop for loop in phases.nesting.around(phases.nesting.of(number)) if loop.function == node.function]
        homes: list[Home] = [node.function, *loops]
        inner = [begins.get(loop, number) for loop in loops]
        place = tuple((home, phases.at(home, at)) for home, at in zip(homes, [*inner, number], strict=True))
        cluster = _cluster(view, clusters, place)
        where = f" ({node.location})" if node.location else ""
        cluster.box(f"n{number}", kind_of(node.op), *words.of(number), f"{node}: {node.op}{where}")
        if number in entries:
            cluster.level.append(f"n{number}")


def _cluster(view: View, clusters: dict[_Place, Cluster], place: _Place) -> Cluster:
    """The cluster of a function, of a loop in it, or of a phase of one of them; made, inside the one around it, where
    it is not there yet."""
    if place not in clusters:
        *around, (home, phase) = place
        if phase:
            outer, title = _cluster(view, clusters, (*around, (home, 0))), phase_title(phase)
            clusters[place] = outer.cluster("pullback", title, f"{title} of {home}", f"{home}.{title}")
        elif isinstance(home, Site):
            outer = _cluster(view, clusters, tuple(around))
            clusters[place] = outer.cluster("loop", titled("while", home.name), f"loop {home}", str(home))
        else:
            clusters[place] = view.outside.cluster("function", home, f"function {home}", home)
    return clusters[place]


def _entries(graph: Graph) -> set[int]:
    """The merges through which values come into a function or a loop; those of one stand side by side."""
    entering = [output for _, output in graph.arguments]
    entering += [output for node in graph.nodes if node.op in ("call", "enter", "reenter") for output in node.outputs]
    fed = {edge.node for output in entering for edge in output.edges if 0 <= edge.node < len(graph.nodes)}
    return {number for number in fed if graph.nodes[number].op == "merge"}


def _draw_edges(view: View, graph: Graph) -> None:
    reached = _reached(graph)
    for position, (_, output) in enumerate(graph.arguments):
        for edge in output.edges:
            _draw_edge(view, graph, reached, Source(-1, position), edge)
    for number, node in enumerate(graph.nodes):
        for position, output in enumerate(node.outputs):
            for edge in output.edges:
                _draw_edge(view, graph, reached, Source(number, position), edge)


def _draw_edge(view: View, graph: Graph, reached: dict[str, set[str]], source: Source, edge: Edge) -> None:
    link = _link(graph, source, edge)
    tail, head = f"n{source.node}" if source.node >= 0 else f"a{source.output}", f"n{edge.node}"
    said = _label(graph, source), f"{graph.output(source).type}, to port {edge.port}"
    turned = free = False
    if link in ("call", "back", "before"):
        maker, taker = graph.nodes[source.node], graph.nodes[edge.node]
        turned = link != "call" or maker.function == taker.function
        free = not turned and (maker.op != "call" or maker.function in reached.get(taker.function, ()))
    view.arrow(tail, head, link, *said, port=edge.port, turned=turned, free=free)


def _link(graph: Graph, source: Source, edge: Edge) -> Link:
    """What kind of edge this is; one that ends nowhere is data."""
    if not 0 <= edge.node < len(graph.nodes):
        return "data"
    taker = graph.nodes[edge.node]
    made_by = graph.nodes[source.node].op if source.node >= 0 else ""
    if taker.triggered and edge.port == len(taker.ports) - 1:
        return "order" if resource_of(taker.op) else "trigger"
    if made_by == "next_iteration":
        return "back"
    if made_by == "back" and source.output == 0:
        return "before"
    if made_by and (made_by == "call" or (taker.op == "return" and taker.site != ENVIRONMENT)):
        return "call"
    if resource_of(made_by) and source.output == 1:
        return "order"
    return "predicate" if taker.op == "switch" and edge.port == 1 else "data"


def _label(graph: Graph, source: Source) -> str:
    """What is written at the beginning of an edge: which output it leaves, where there are several."""
    if source.node < 0 or len(graph.nodes[source.node].outputs) < 2:
        return ""
    labels = _LABELS.get(graph.nodes[source.node].op, ())
    return labels[source.output] if source.output < len(labels) else str(source.output)


def _reached(graph: Graph) -> dict[str, set[str]]:
    """The functions that each function calls, itself or by way of others."""
    reached: dict[str, set[str]] = {}
    for site, callee in graph.calls:
        reached.setdefault(site.function, set()).add(callee)
    for middle in list(reached):
        for functions in reached.values():
            if middle in functions:
                functions |= reached[middle]
    return reached


def _keep_returns_below_calls(view: View, graph: Graph) -> None:
    calls: dict[tuple[str, Site | None], list[int]] = {}
    for number, node in enumerate(graph.nodes):
        if node.op == "call":
            calls.setdefault((node.function, node.site), []).append(number)
    for number, node in enumerate(graph.nodes):
        if node.op == "return":
            for call in calls.get((node.function, node.site), ()):
                view.above.append((f"n{call}", f"n{number}"))
