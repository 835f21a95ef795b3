"""Program order: the order in which a sequential evaluation meets nodes under tags.

The tags of a deep recursion share their links. A walk down the tree of links costs their number; written-out paths
would cost the square of the depth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import inf
from typing import TypeAlias

from ...core.graph.graph import Graph
from ...core.graph.phases import PhaseMap
from ...core.tag import ROOT, Site, Tag

TaggedNode: TypeAlias = tuple[Tag, int]
"""A node, by its number, under a tag."""

_ActivationPhase: TypeAlias = tuple[Tag, int]
"""An activation, in one of its phases."""


def program_order(graph: Graph, tagged_nodes: Iterable[TaggedNode]) -> dict[TaggedNode, int]:
    """The rank of each tagged node.

    The nodes of an activation rank by number, since lowering makes them in program order. The activations below a call
    or loop rank, phase by phase, with the first node that sends into that phase; iterations rank by number, in a
    reverse phase from the last to the first.
    """
    first: dict[tuple[Site, int], int] = {}
    for number, node in enumerate(graph.nodes):
        if node.site is not None and node.op in ("call", "enter", "reenter"):
            first.setdefault((node.site, node.phase), number)
    phases = _phases_of_nodes(graph)
    inside: defaultdict[_ActivationPhase, list[tuple[int, float, _ActivationPhase | None]]] = defaultdict(list)
    roots = [(ROOT, phase) for phase in sorted({0, *phases})]
    reached = set(roots)
    for tag, number in set(tagged_nodes):
        visit = tag, phases[number]
        inside[visit].append((number, -inf, None))
        while tag.parent is not None and visit not in reached:
            reached.add(visit)
            _, phase = visit
            sender = first.get((tag.site, phase), -1)
            iteration = -tag.iteration if phase % 2 else tag.iteration
            around = tag.parent, phases[sender]
            inside[around].append((sender, iteration, visit))
            tag, visit = tag.parent, around
    ranks: dict[TaggedNode, int] = {}
    ahead: list[tuple[_ActivationPhase, int | None]] = [(root, None) for root in reversed(roots)]
    while ahead:
        visit, leaf = ahead.pop()
        if leaf is not None:
            ranks[visit[0], leaf] = len(ranks)
            continue
        for number, _, below in sorted(inside[visit], key=lambda entry: entry[:2], reverse=True):
            ahead.append((visit, number) if below is None else (below, None))
    return ranks


def _phases_of_nodes(graph: Graph) -> list[int]:
    """The phase of its activation in which each node fires; one 0 follows the last."""
    if not any(node.phase for node in graph.nodes):
        return [0] * (len(graph.nodes) + 1)
    known, found = PhaseMap(graph), []
    for number, node in enumerate(graph.nodes):
        if node.op == "return":
            found.append(node.phase)
        elif node.op in ("enter", "reenter") and node.site is not None:
            around = known.loop_info.enclosing_loops(node.site)[:-1]
            found.append(known.phase_at(around[-1] if around else node.function, number))
        else:
            found.append(known.phase_of(number))
    return [*found, 0]
