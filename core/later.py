"""Which nodes of a graph belong to the reverse pass: those that fire only once an adjoint has come."""

from __future__ import annotations

from .graph import Graph


def later_nodes(graph: Graph) -> frozenset[int]:
    """The routing nodes of further phases, and what gets tokens from them, directly or through others.

    What a pullback computes of forward values alone, before any adjoint comes, is not among them.
    """
    found = {number for number, node in enumerate(graph.nodes) if node.phase}
    waiting = list(found)
    for number in waiting:  # grows while it is walked
        for output in graph.nodes[number].outputs:
            for edge in output.edges:
                if edge.node not in found:
                    found.add(edge.node)
                    waiting.append(edge.node)
    return frozenset(found)
