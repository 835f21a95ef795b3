"""Name scopes: the nodes that one call of a Python helper made, when a function was traced.

Each call has a number, so two of them are distinct, even if one instruction made both. Graphs that were
read from documents have no scopes.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..core.graph.graph import Graph, GraphNode
from ..core.program.program import ScopeEntry, TracedLocation


class NameScope(NamedTuple):
    """A call of a helper: its name, and the number of the call in the graph."""

    name: str
    number: int


def find_scopes(graph: Graph) -> list[tuple[NameScope, ...]]:
    """For each node, the scopes around it, outermost first. A scope of a single node is left out."""
    paths, count, functions = list[tuple[NameScope, ...]](), 0, list[str]()
    previous: tuple[tuple[ScopeEntry, NameScope], ...] = ()
    for node in graph.nodes:
        entries = node_scopes(node)
        common_depth = 0
        is_same_function = bool(functions) and functions[-1] == node.function
        while (
            is_same_function
            and common_depth < min(len(entries), len(previous))
            and entries[common_depth] == previous[common_depth][0]
        ):
            common_depth += 1
        opened_scopes = [(entry, NameScope(entry.name, count + at)) for at, entry in enumerate(entries[common_depth:])]
        count += len(opened_scopes)
        previous = (*previous[:common_depth], *opened_scopes)
        paths.append(tuple(scope for _, scope in previous))
        functions.append(node.function)
    sizes = Counter(scope for path in paths for scope in path)
    return [tuple(scope for scope in path if sizes[scope] > 1) for path in paths]


def node_scopes(node: GraphNode) -> tuple[ScopeEntry, ...]:
    """The calls of helpers in which a node was traced."""
    return node.location.scopes if isinstance(node.location, TracedLocation) else ()
