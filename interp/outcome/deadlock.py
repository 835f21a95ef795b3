"""The cause of a deadlock, from the tokens that wait: the cell that nothing fills, and the reads that lead to it.

A read of an empty cell is deferred. If the store to that cell waits for another deferred read, the search continues
there; it ends at a cell for which no store waits, at a store that waits for something else, or where it began.
"""

from __future__ import annotations

import linecache
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...core.frontend.trace.source_location import has_traced
from ...core.graph.graph import Edge, Graph, GraphNode
from ...core.ops.routing import ALL_ROUTING_OPS
from ...core.tag import ROOT, Site, Tag
from ...core.types import Handle
from ..machine.event import CellAddress
from .residue import ResidueToken

MAX_SEARCHED_NODES = 10_000
"""The most nodes that one search upstream visits."""
MAX_READS = 6
"""The most reads of a chain that a report lists."""
MAX_OTHER_READS = 2
"""The most other reads of the last cell that it lists."""


class WaitingRead(NamedTuple):
    """A deferred read: its node and tag, and the empty cell."""

    node: int
    tag: Tag
    cell: CellAddress


class DeadlockCause(NamedTuple):
    """The deferred reads, in which each read waits for the next, and why the cell of the last one is not filled: the
    store that would fill it waits for something else, the last read waits for an earlier one, or there is no store."""

    reads: tuple[WaitingRead, ...]
    store: tuple[int, Tag] | None
    """The store that would fill the cell of the last read."""
    is_cycle: bool
    other_reads: tuple[WaitingRead, ...] = ()
    """Other deferred reads of the cell of the last read."""


class WaitingTokens:
    """The tokens that a run left, as the search needs them."""

    def __init__(self, graph: Graph, residue: Sequence[ResidueToken]) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.reads: dict[tuple[int, Tag], WaitingRead] = {}
        self.reads_by_activation: dict[tuple[Tag, Site], WaitingRead] = {}
        """The first deferred read below each call and loop, by the tag around it and its site."""
        operands: dict[tuple[int, Tag], dict[int, object]] = {}
        for token in residue:
            node = graph.nodes[token.node]
            if isinstance(token.blocked_on, CellAddress):
                read = WaitingRead(token.node, token.tag, token.blocked_on)
                self.reads.setdefault((token.node, token.tag), read)
                for tag in token.tag.self_and_ancestors():
                    if tag.parent is None or (tag.parent, tag.site) in self.reads_by_activation:
                        break
                    self.reads_by_activation[tag.parent, tag.site] = read
            elif node.op == "store" and token.blocked_on is None:
                operands.setdefault((token.node, token.tag), {})[token.port] = token.value
        self.stores: dict[CellAddress, tuple[int, Tag]] = {}
        """By cell, the store that has its handle and its number, and waits for the value."""
        for (number, tag), values in operands.items():
            literals = graph.nodes[number].ports
            handle, cell = (values.get(at, getattr(literals[at], "value", None)) for at in (0, 1))
            if isinstance(handle, Handle) and isinstance(cell, int):
                self.stores.setdefault(CellAddress(handle, cell), (number, tag))

    def read_behind(self, node: int, tag: Tag) -> WaitingRead | None:
        """The nearest deferred read that a node waits for under a tag, by the edges of the graph; None if there is
        none."""
        queue, visited = deque([(node, tag)]), {(node, tag)}
        while queue and len(visited) < MAX_SEARCHED_NODES:
            number, at = queue.popleft()
            if (number, at) in self.reads:
                return self.reads[number, at]
            for port in range(len(self.graph.nodes[number].ports)):
                for source in self.sources.get(Edge(number, port), ()):
                    sender = None if source.node < 0 else sending_tag(self.graph.nodes[source.node], at)
                    if isinstance(sender, Site):
                        if (at, sender) in self.reads_by_activation:
                            return self.reads_by_activation[at, sender]
                    elif sender is not None and (source.node, sender) not in visited:
                        visited.add((source.node, sender))
                        queue.append((source.node, sender))
        return None


def sending_tag(node: GraphNode, tag: Tag) -> Tag | Site | None:
    """The tag under which a node fires to send a token under this tag; its site, if that is a tag of a call or loop
    below this one; None if it never sends under this tag."""
    row = ALL_ROUTING_OPS.get(node.op)
    match "same" if row is None else row.result_tag:
        case "same":
            return tag
        case "child" if tag.parent is not None and (tag.site, tag.iteration) == (node.site, 0):
            return tag.parent
        case "next" if tag.parent is not None and tag.site == node.site and tag.iteration:
            return tag.parent.child(tag.site, tag.iteration - 1)
        case "parent":
            return node.site
    return None


def deadlock_cause(graph: Graph, missing: Sequence[int], residue: Sequence[ResidueToken]) -> DeadlockCause | None:
    """Why the missing results of a deadlocked run never come; None if no read is deferred."""
    waiting = WaitingTokens(graph, residue)
    if not waiting.reads:
        return None
    starts = (waiting.read_behind(graph.results[position], ROOT) for position in missing)
    read: WaitingRead | None = next(
        (start for start in starts if start is not None), next(iter(waiting.reads.values()))
    )
    reads: dict[WaitingRead, None] = {}
    store = None
    while read is not None and read not in reads:
        reads[read] = None
        store = waiting.stores.get(read.cell)
        read = None if store is None else waiting.read_behind(*store)
    chain = tuple(reads)
    if read is not None:
        return DeadlockCause(chain[chain.index(read) :], store, True)
    last = chain[-1]
    others = tuple(
        other_read for other_read in waiting.reads.values() if other_read.cell == last.cell and other_read != last
    )
    return DeadlockCause(chain, store, False, others)


def describe_cause(graph: Graph, cause: DeadlockCause) -> Iterator[str]:
    """The cause in words: a line for the cell that is not filled, then one for each read."""
    first, last = (describe_array_cell(graph, cause.reads[at].cell) for at in (0, -1))
    if cause.is_cycle:
        yield f"{first} waits for itself"
    elif cause.store is not None:
        node = graph.nodes[cause.store[0]]
        yield f"{last} is not filled: {node} ({node.origin}) gets no value under {cause.store[1]}"
    else:
        yield f"nothing fills {last}"
    lines = []
    for at, read in enumerate(cause.reads):
        before = cause.reads[at - 1] if at or cause.is_cycle else None
        purpose = "" if before is None else f", to fill {describe_array_cell(graph, before.cell)}"
        node = graph.nodes[read.node]
        lines.append(f"{node.origin} reads {describe_array_cell(graph, read.cell)} under {read.tag}{purpose}")
    if len(lines) > MAX_READS:
        half = MAX_READS // 2
        lines = [*lines[:half], f"... {len(lines) - 2 * half:,} more reads ...", *lines[-half:]]
    yield from lines
    for read in cause.other_reads[:MAX_OTHER_READS]:
        yield f"{graph.nodes[read.node].origin} reads {last} under {read.tag}, too"


def describe_array_cell(graph: Graph, cell: CellAddress) -> str:
    """A cell by the name of the array in the source, and its number: `a[3]`; with the tag of the array, if that is not
    the first activation."""
    made_under = "" if cell.handle.tag == ROOT else f" of {cell.handle.tag}"
    return f"{array_name(graph.nodes[cell.handle.node])}[{cell.number}]{made_under}"


def array_name(node: GraphNode) -> str:
    """The name that the source gives to the cells that a node makes; the name of the node, if it gives none."""
    location = node.location
    if location is not None and has_traced(location.file):
        linecache.checkcache(location.file)
        match = _ASSIGNMENT.match(linecache.getline(location.file, location.line))
        if match is not None:
            return match[1]
    return node.name


_ASSIGNMENT = re.compile(r"\s*(\w+)\s*(?::[^=]+)?=[^=].*\bcells\(")
"""`a = tl.cells(...)`, as a line of Python."""
