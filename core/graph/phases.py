"""Phases: which nodes of a graph belong to a reverse pass, and which nodes there wait for adjoints.

Node numbers tell the phase, since lowering makes nodes phase by phase (L11): a phase of a function begins with its
entry merges, a reverse phase of a loop with its `reenter`, a forward phase with its `enter`. A node of a pullback that
uses only forward values belongs to the pullback's phase but fires before any adjoint arrives; the edges tell which
nodes do wait for adjoints.

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
"""A function, by name, or a loop, by site."""


class PhaseMap:
    """The function or loop of each node, and the phase of it that the node belongs to, counted from 0."""

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
        """The phase of a function or loop that its node `number` belongs to."""
        begun = self._phase_starts.get(home, [])
        before = bisect_right(begun, number, key=lambda entry: entry[0])
        return begun[before - 1][1] if before else 0

    def phase_of(self, number: int) -> int:
        """The phase that a node belongs to."""
        return self.phase_at(self.owners[number], number)


def adjoint_dependent_nodes(graph: Graph) -> frozenset[int]:
    """The nodes that fire only after an adjoint arrives: routing nodes of further phases, and the nodes that depend on
    them."""
    found = {number for number, node in enumerate(graph.nodes) if node.phase}
    waiting = list(found)
    for number in waiting:  # the loop appends to it
        for output in graph.nodes[number].outputs:
            for edge in output.edges:
                if edge.node not in found:
                    found.add(edge.node)
                    waiting.append(edge.node)
    return frozenset(found)


def primal_phase(phase: int) -> int:
    """The phase that a further phase goes back through. Each differentiation doubles the phases: the new ones go back
    through the old ones, from the last to the first."""
    return (1 << phase.bit_length()) - 1 - phase
