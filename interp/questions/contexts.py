"""Where nodes fire: under the tags of which function, or of which loop."""

from __future__ import annotations

from ...core.graph import Edge, Graph, Source
from ...core.place import Places
from ...core.tag import ENVIRONMENT, Site
from ...core.validate_graph import graph_problems


def contexts(graph: Graph) -> dict[int, str | Site]:
    """The function or loop under whose tags each node fires; of a graph that breaks the rules nothing is known."""
    if graph_problems(graph):
        return {}
    places, callees = Places(graph), {ENVIRONMENT: graph.name, **dict(graph.calls)}
    found = dict[int, str | Site]()
    for number, node in enumerate(graph.nodes):
        if node.op == "return" and node.site is not None:
            found[number] = callees[node.site]
        elif node.op == "merge":
            found[number] = places.of[Source(number, 0)].context
        else:
            port = next(port for port, literal in enumerate(node.ports) if literal is None)
            found[number] = places.of[places.sources[Edge(number, port)][0]].context
    return found
