"""Program order: the order in which a sequential evaluation meets the firings of a run. Traps and residue are listed in
it, and it is the same under every schedule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import inf
from typing import TypeAlias

from ...core.graph.graph import Graph
from ...core.graph.nesting import PhaseMap
from ...core.tag import ROOT, Site, Tag

TaggedNode: TypeAlias = tuple[Tag, int]
"""A node, by its number, under a tag."""

_ActivationPhase: TypeAlias = tuple[Tag, int]
"""An activation, in one of its phases."""


def program_order(graph: Graph, tagged_nodes: Iterable[TaggedNode]) -> dict[TaggedNode, int]:
    """The rank of each tagged node in program order: the order in which a sequential evaluation meets nodes under tags.

    The nodes of an activation rank by number, since lowering makes them in program order. The activations below a call
    or loop rank, phase by phase, with the first node that sends into that phase; iterations rank by number, in a
    reverse phase from the last to the first.

    The tags of a deep recursion share their ancestors. A walk down the tree of tags takes time linear in the depth;
    written-out paths would take quadratic time.
    """
    first: dict[tuple[Site, int], int] = {}
    for number, node in enumerate(graph.nodes):
        if node.site is not None and node.op in ("call", "enter", "reenter"):
            first.setdefault((node.site, node.phase), number)
    phases = phases_of_nodes(graph)
    children: defaultdict[_ActivationPhase, list[tuple[int, float, _ActivationPhase | None]]] = defaultdict(list)
    roots = [(ROOT, phase) for phase in sorted({0, *phases})]
    visited = set(roots)
    for tag, number in set(tagged_nodes):
        visit = tag, phases[number]
        children[visit].append((number, -inf, None))
        while tag.parent is not None and visit not in visited:
            visited.add(visit)
            _, phase = visit
            sender = first.get((tag.site, phase), -1)
            iteration = -tag.iteration if phase % 2 else tag.iteration
            parent = tag.parent, phases[sender]
            children[parent].append((sender, iteration, visit))
            tag, visit = tag.parent, parent
    ranks: dict[TaggedNode, int] = {}
    stack: list[tuple[_ActivationPhase, int | None]] = [(root, None) for root in reversed(roots)]
    while stack:
        visit, leaf = stack.pop()
        if leaf is not None:
            ranks[visit[0], leaf] = len(ranks)
            continue
        for number, _, child in sorted(children[visit], key=lambda entry: entry[:2], reverse=True):
            stack.append((visit, number) if child is None else (child, None))
    return ranks


def phases_of_nodes(graph: Graph) -> list[int]:
    """For each node, the phase of its activation in which it fires; then a 0, the phase of node -1."""
    if not any(node.phase for node in graph.nodes):
        return [0] * (len(graph.nodes) + 1)
    phase_map, phases = PhaseMap(graph), []
    for number, node in enumerate(graph.nodes):
        if node.op == "return":
            phases.append(node.phase)
        elif node.op in ("enter", "reenter") and node.site is not None:
            loops = phase_map.loop_info.enclosing_loops(node.site)[:-1]
            phases.append(phase_map.phase_at(loops[-1] if loops else node.function, number))
        else:
            phases.append(phase_map.phase_of(number))
    return [*phases, 0]
