"""The nesting of a graph: the innermost loop and the phase of each node, and the parent of each loop.

Loops follow from the edges alone, in the order in which tokens would arrive, so that graphs which break the rules have
loops too. A loop contains its gates (enter, next_iteration, exit, reenter and back) and the nodes between them.

Phases follow from the numbers of nodes, since lowering makes nodes phase by phase (L11): a phase of a function begins
with its entry merges, a reverse phase of a loop with its `reenter`, a forward phase with its `enter`. A node of a
pullback that uses only forward values belongs to the pullback's phase but fires before any adjoint arrives; the edges
tell which nodes do wait for adjoints.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ..tag import Site
from .graph import Graph, NodeOutput

LoopContext: TypeAlias = Site | None
"""The innermost loop around a node, or None in the body of a function."""

LOOP_GATES = ("enter", "next_iteration", "exit", "reenter", "back")
"""The routing ops that belong to the loop of their site."""


class LoopInfo:
    """The innermost loop around each node and each loop of a graph. Nodes that no token can reach are in no loop.

    The loop of a node is that of the first token that reaches it.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._loop_of_node: dict[int, LoopContext] = {}
        self._parent_loops: dict[Site, LoopContext] = {}
        self._returns_by_site: dict[LoopContext, list[int]] = {}
        for number, node in enumerate(graph.nodes):
            if node.op == "return":
                self._returns_by_site.setdefault(node.site, []).append(number)
        queue = deque(self._consumers((output for _, output in graph.arguments), None))
        while queue:
            number, loop = queue.popleft()
            if number not in self._loop_of_node:
                self._loop_of_node[number] = loop
                queue.extend(self._propagate(number, loop))

    def loop_of(self, number: int) -> LoopContext:
        """The innermost loop of a node."""
        node = self._graph.nodes[number]
        return node.site if node.op in LOOP_GATES else self._loop_of_node.get(number)

    def enclosing_loops(self, loop: LoopContext) -> tuple[Site, ...]:
        """A loop and the loops around it, outermost first."""
        loops: list[Site] = []
        while loop is not None:
            loops.append(loop)
            loop = self._parent_loops.get(loop)
        return tuple(reversed(loops))

    def _propagate(self, number: int, loop: LoopContext) -> Iterator[tuple[int, LoopContext]]:
        """The nodes that get tokens when this one fires, each with the loop of those tokens."""
        node = self._graph.nodes[number]
        output_loop = loop
        match node.op:
            case "enter":
                if node.site is not None and node.site not in self.enclosing_loops(loop):
                    self._parent_loops.setdefault(node.site, loop)
                output_loop = node.site
            case "next_iteration" | "reenter":
                output_loop = node.site
            case "exit":
                output_loop = self._parent_loops.get(node.site) if node.site else loop
            case "back":
                output_loop = node.site
                outer_loop = self._parent_loops.get(node.site) if node.site else loop
                yield from self._consumers(node.outputs[1:], outer_loop)
                yield from self._consumers(node.outputs[:1], output_loop)
                return
            case "call":
                output_loop = None
                yield from ((return_node, loop) for return_node in self._returns_by_site.get(node.site, ()))
        yield from self._consumers(node.outputs, output_loop)

    def _consumers(self, outputs: Iterable[NodeOutput], loop: LoopContext) -> Iterator[tuple[int, LoopContext]]:
        """The consumers of these outputs, except returns: a return is in the loop of its call, not in the callee."""
        for output in outputs:
            for edge in output.edges:
                if 0 <= edge.node < len(self._graph.nodes) and self._graph.nodes[edge.node].op != "return":
                    yield edge.node, loop


ContextOwner: TypeAlias = str | Site
"""A function, by name, or a loop, by site."""


class PhaseMap:
    """The function or loop of each node, and the phase of the node in it, counted from 0."""

    def __init__(self, graph: Graph) -> None:
        self.loop_info = LoopInfo(graph)
        self.owners: list[ContextOwner] = [
            self.loop_info.loop_of(n) or node.function for n, node in enumerate(graph.nodes)
        ]
        self._phase_starts: dict[ContextOwner, list[tuple[int, int]]] = {}
        first_nodes: dict[tuple[ContextOwner, int], int] = {}
        for number, node in enumerate(graph.nodes):
            if node.phase and node.op == "call":
                for edge in (edge for output in node.outputs[:1] for edge in output.edges):
                    if 0 <= edge.node < len(graph.nodes):
                        key: tuple[ContextOwner, int] = (graph.nodes[edge.node].function, node.phase)
                        first_nodes[key] = min(edge.node, first_nodes.get(key, edge.node))
            elif node.phase and node.op in ("reenter", "enter") and node.site is not None:
                first_nodes.setdefault((node.site, node.phase), number)
        for (owner, phase), number in sorted(first_nodes.items(), key=lambda entry: entry[1]):
            self._phase_starts.setdefault(owner, []).append((number, phase))

    def phase_at(self, owner: ContextOwner, number: int) -> int:
        """The phase of a function or loop that its node `number` belongs to."""
        starts = self._phase_starts.get(owner, [])
        count = bisect_right(starts, number, key=lambda entry: entry[0])
        return starts[count - 1][1] if count else 0

    def phase_of(self, number: int) -> int:
        """The phase that a node belongs to."""
        return self.phase_at(self.owners[number], number)


def adjoint_dependent_nodes(graph: Graph) -> frozenset[int]:
    """The nodes that fire only after an adjoint arrives: routing nodes of further phases, and the nodes that depend on
    them."""
    dependent = {number for number, node in enumerate(graph.nodes) if node.phase}
    worklist = list(dependent)
    for number in worklist:  # a worklist: the loop appends to it
        for output in graph.nodes[number].outputs:
            for edge in output.edges:
                if edge.node not in dependent:
                    dependent.add(edge.node)
                    worklist.append(edge.node)
    return frozenset(dependent)


def primal_phase(phase: int) -> int:
    """The phase that a further phase reverses. Each differentiation doubles the phases: the new ones reverse the old
    ones, from the last to the first.

    >>> [primal_phase(phase) for phase in range(1, 8)]
    [0, 1, 0, 3, 2, 1, 0]
    """
    return (1 << phase.bit_length()) - 1 - phase
