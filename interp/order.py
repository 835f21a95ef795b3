"""Program order: the order in which a sequential evaluation would meet nodes under tags.

No path is written out here. The tags of a deep recursion share their links, so walking down the tree that they make
costs as much as there are links, where paths would cost the square of the depth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from ..core.graph import Graph
from ..core.tag import ROOT, Site, Tag

Place: TypeAlias = tuple[Tag, int]
"""A node, by its number, under a tag."""


def program_order(graph: Graph, places: Iterable[Place]) -> dict[Place, int]:
    """The rank of each of these places.

    The nodes of an activation rank by number, as lowering makes them in program order. What is below a call or loop
    ranks with the first node that sends into it, and iterations by number.
    """
    first: dict[Site, int] = {}
    for number, node in enumerate(graph.nodes):
        if node.site is not None and node.op in ("call", "enter"):
            first.setdefault(node.site, number)
    inside: defaultdict[Tag, list[tuple[int, int, Tag | None]]] = defaultdict(list)
    reached = {ROOT}
    for tag, number in set(places):
        inside[tag].append((number, -1, None))
        while tag.parent is not None and tag not in reached:
            reached.add(tag)
            inside[tag.parent].append((first.get(tag.site, -1), tag.iteration, tag))
            tag = tag.parent
    ranks: dict[Place, int] = {}
    ahead: list[tuple[Tag, int | None]] = [(ROOT, None)]
    while ahead:
        tag, leaf = ahead.pop()
        if leaf is not None:
            ranks[tag, leaf] = len(ranks)
            continue
        for number, _, below in sorted(inside[tag], key=lambda entry: entry[:2], reverse=True):
            ahead.append((tag, number) if below is None else (below, None))
    return ranks
