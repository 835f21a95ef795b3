"""What of a graph runs back: the phase of a function, or of a loop, that a node is of, and what waits for adjoints.

Phases are read off the numbers of nodes, which lowering makes phase by phase (L11): a phase of a function begins with
its entry merges, one of a loop with its `reenter`, or where it goes forwards again, its `enter`. What a pullback
computes of forward values alone belongs to its phase, and fires before any adjoint comes; which nodes do not is read
off the edges.

>>> [primal_phase(phase) for phase in range(1, 8)]
[0, 1, 0, 3, 2, 1, 0]
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TypeAlias

from ..tag import Site
from .graph import Graph
from .nesting import LoopInfo

ContextOwner: TypeAlias = str | Site
"""A function by its name, or a loop by its site."""


class PhaseMap:
    """The home of each node, and the phase of it that the node belongs to, the first being 0."""

    def __init__(self, graph: Graph) -> None:
        self.loop_info = LoopInfo(graph)
        self.owners: list[ContextOwner] = [
            self.loop_info.loop_of(n) or node.function for n, node in enumerate(graph.nodes)
        ]
        self._phase_starts: dict[ContextOwner, list[tuple[int, int]]] = {}
        first: dict[tuple[ContextOwner, int], int] = {}
        for number, node in enumerate(graph.nodes):
            if node.phase and node.op == "call":
                for edge in (edge for output in node.outputs[:1] for edge in output.edges):
                    if 0 <= edge.node < len(graph.nodes):
                        key: tuple[ContextOwner, int] = (graph.nodes[edge.node].function, node.phase)
                        first[key] = min(edge.node, first.get(key, edge.node))
            elif node.phase and node.op in ("reenter", "enter") and node.site is not None:
                first.setdefault((node.site, node.phase), number)
        for (home, phase), number in sorted(first.items(), key=lambda entry: entry[1]):
            self._phase_starts.setdefault(home, []).append((number, phase))

    def phase_at(self, home: ContextOwner, number: int) -> int:
        """The phase of a function or loop that has begun where a node of it stands."""
        begun = self._phase_starts.get(home, [])
        before = bisect_right(begun, number, key=lambda entry: entry[0])
        return begun[before - 1][1] if before else 0

    def phase_of(self, number: int) -> int:
        """The phase that a node belongs to."""
        return self.phase_at(self.owners[number], number)


def adjoint_dependent_nodes(graph: Graph) -> frozenset[int]:
    """The nodes that fire only once an adjoint has come: the routing nodes of further phases, and what gets tokens from
    them, directly or through others."""
    found = {number for number, node in enumerate(graph.nodes) if node.phase}
    waiting = list(found)
    for number in waiting:  # grows while it is walked
        for output in graph.nodes[number].outputs:
            for edge in output.edges:
                if edge.node not in found:
                    found.add(edge.node)
                    waiting.append(edge.node)
    return frozenset(found)


def primal_phase(phase: int) -> int:
    """The phase that a further phase goes back through: each derivation adds to the phases there are as many again,
    which go back through them from the last to the first."""
    return (1 << phase.bit_length()) - 1 - phase
