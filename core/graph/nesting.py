"""Loop nesting: the innermost loop of each node of a graph, and the parent of each loop.

It follows the edges alone, in the order in which tokens would arrive, so it also works on graphs that break the rules.
A loop contains its gates (enter, next_iteration, exit, reenter and back) and the nodes between them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ..tag import Site
from .graph import Graph, OutputPort

LoopContext: TypeAlias = Site | None
"""The innermost loop around a node, or None in the body of a function."""

LOOP_GATES = ("enter", "next_iteration", "exit", "reenter", "back")
"""The routing ops that belong to the loop of their site."""


class LoopInfo:
    """The loop of each node of a graph, and of each loop. Nodes that no token can reach are in no loop.

    The first token that reaches a node decides.
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
            number, home = queue.popleft()
            if number not in self._loop_of_node:
                self._loop_of_node[number] = home
                queue.extend(self._propagate(number, home))

    def loop_of(self, number: int) -> LoopContext:
        """The innermost loop of a node."""
        node = self._graph.nodes[number]
        return node.site if node.op in LOOP_GATES else self._loop_of_node.get(number)

    def enclosing_loops(self, home: LoopContext) -> tuple[Site, ...]:
        """A loop and the loops around it, outermost first."""
        found: list[Site] = []
        while home is not None:
            found.append(home)
            home = self._parent_loops.get(home)
        return tuple(reversed(found))

    def _propagate(self, number: int, home: LoopContext) -> Iterator[tuple[int, LoopContext]]:
        """The nodes that get tokens when this one fires, each with the loop of those tokens."""
        node = self._graph.nodes[number]
        lives = home
        match node.op:
            case "enter":
                if node.site is not None and node.site not in self.enclosing_loops(home):
                    self._parent_loops.setdefault(node.site, home)
                lives = node.site
            case "next_iteration" | "reenter":
                lives = node.site
            case "exit":
                lives = self._parent_loops.get(node.site) if node.site else home
            case "back":
                lives = node.site
                out = self._parent_loops.get(node.site) if node.site else home
                yield from self._consumers(node.outputs[1:], out)
                yield from self._consumers(node.outputs[:1], lives)
                return
            case "call":
                lives = None
                yield from ((returned, home) for returned in self._returns_by_site.get(node.site, ()))
        yield from self._consumers(node.outputs, lives)

    def _consumers(self, outputs: Iterable[OutputPort], home: LoopContext) -> Iterator[tuple[int, LoopContext]]:
        """The consumers of these outputs, without returns: a return is in the loop of its call, not of the function it
        leaves."""
        for output in outputs:
            for edge in output.edges:
                if 0 <= edge.node < len(self._graph.nodes) and self._graph.nodes[edge.node].op != "return":
                    yield edge.node, home
