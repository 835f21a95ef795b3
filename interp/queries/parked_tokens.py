"""Parked and throttled tokens: which cell a deferred read waits for and what could fill it, and what keeps the
iteration busy that a throttled token waits for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, TypeAlias
from typing import Literal as Word

from ...core.graph.graph import Edge
from ...core.tag import ROOT, Tag
from ...core.types import Handle, type_of
from ...core.value import Value
from ..machine.event import CellAddress
from ..machine.state import State
from .causes import Reason, UnfilledCell, UnfiredNode
from .index import EventIndex
from .origin import TokenKey

MAX_CELLS = 1_000
"""The most empty cells that the search follows for one `collect`."""

TokenStatus: TypeAlias = Word["waits", "sent"]


class ParkedTokens:
    """The parked and throttled tokens of a state, computed once for all queries."""

    def __init__(self, index: EventIndex, state: State) -> None:
        self.index = index
        self.state = state
        self.nodes = index.graph.nodes

    # At cells

    @cached_property
    def cell_by_token(self) -> dict[TokenKey, CellAddress]:
        return {
            TokenKey(*token[:3]): CellAddress(handle, number)
            for handle, block in self.state.cells.blocks.items()
            for number, tokens in block.deferred_reads.items()
            for token in tokens
        }

    @cached_property
    def store_nodes(self) -> list[int]:
        return [number for number, node in enumerate(self.nodes) if node.op == "store"]

    @cached_property
    def store_operands(self) -> dict[tuple[int, Tag], dict[int, Value]]:
        """The operands, by port, that each pending firing of a store has received, literals included."""
        found = defaultdict[tuple[int, Tag], dict[int, Value]](dict)
        for tag, record in self.state.records.items():
            for number in self.store_nodes:
                if number in record.waiting_operands:
                    found[number, tag].update(record.waiting_operands[number])
        held = (token for entries in self.state.throttled_tokens.values() for _, token in entries)
        for tokens in (self.state.flight, held):
            for number, port, tag, value in tokens:
                if number in self.store_nodes:
                    found[number, tag][port] = value
        for (number, _), operands in found.items():
            literals = enumerate(self.nodes[number].ports)
            operands.update({port: literal.value for port, literal in literals if literal is not None})
        return found

    @cached_property
    def stores_by_cell(self) -> dict[CellAddress, list[tuple[int, Tag]]]:
        """By cell, the pending stores that have received its handle and its number."""
        found = defaultdict[CellAddress, list[tuple[int, Tag]]](list)
        for place, operands in self.store_operands.items():
            if 0 in operands and 1 in operands:
                handle: Any = operands[0]
                number: Any = operands[1]
                found[CellAddress(handle, number)].append(place)
        return found

    def awaited_cells(self, cell: CellAddress) -> Iterator[CellAddress]:
        """The cell; and if deferred reads of all cells are parked at it, the other empty cells."""
        yield cell
        tokens = self.state.cells.blocks[cell.handle].deferred_reads.get(cell.number, ())
        if tokens and all(self.nodes[token.node].op == "collect" for token in tokens):
            puts, found = self.state.cells.blocks[cell.handle].writes, 0
            for number in range(cell.number + 1, cell.handle.size):
                if number not in puts and (found := found + 1) < MAX_CELLS:
                    yield CellAddress(cell.handle, number)

    def filling_reasons(self, cell: CellAddress) -> tuple[Reason, ...]:
        """The stores that will fill a cell if they fire; if the cell of some stores is not known yet, those too."""
        known = [UnfiredNode(*place) for place in self.stores_by_cell.get(cell, ())]
        maybe = tuple(self._possible_stores(cell))
        return (*known, UnfilledCell(maybe, self._throttled_iterations(maybe))) if maybe or not known else tuple(known)

    def _throttled_iterations(self, stores: Iterable[tuple[int, Tag | None]]) -> tuple[tuple[Tag, int], ...]:
        """The throttled iterations that contain stores which have received nothing yet."""
        loops = {self.index.contexts.get(node) for node, tag in stores if tag is None}
        return tuple((tag, self.bound(tag)) for tag in self.state.throttled_tokens if tag.site in loops)

    def _possible_stores(self, cell: CellAddress) -> Iterator[tuple[int, Tag | None]]:
        for (node, tag), operands in self.store_operands.items():
            known = (operands.get(0, cell.handle), operands.get(1, cell.number)) == cell
            if known and not (0 in operands and 1 in operands) and self._accepts_handle(node, cell.handle):
                yield node, tag
        for node in self.store_nodes:
            index = self.nodes[node].ports[1]
            fits = (index is None or index.value == cell.number) and self._accepts_handle(node, cell.handle)
            if fits and not self._has_been_used(node):
                yield node, None

    def _accepts_handle(self, store: int, handle: Handle) -> bool:
        """Whether a store accepts a handle of this type."""
        fed = self.index.sources.get(Edge(store, 0), ())
        return any(self.index.graph.output(source).type.admits(type_of(handle)) for source in fed)

    def _has_been_used(self, store: int) -> bool:
        """Whether the store belongs to a context with a single activation, and has fired or received a token there."""
        graph, contexts = self.index.graph, self.index.contexts
        if contexts.get(store) != graph.name or graph.name in dict(graph.calls).values():
            return False
        return self.index.firing_event(store, ROOT) is not None or (store, ROOT) in self.store_operands

    # For iterations

    def bound(self, tag: Tag) -> int:
        """The bound that throttles the tokens of this iteration; another loop's, if the graph breaks the rules."""
        return self.state.loop_bounds.get(tag.site, max(self.state.loop_bounds.values(), default=0))

    @cached_property
    def tokens_by_tag(self) -> dict[Tag, list[TokenKey]]:
        """The tokens in flight or parked, by tag."""
        found = defaultdict[Tag, list[TokenKey]](list)
        for node, port, tag, _ in self.state.flight:
            found[tag].append(TokenKey(node, port, tag))
        for token in self.cell_by_token:
            found[token.tag].append(token)
        return found

    def tokens_below(self, top: Tag) -> Iterator[tuple[TokenKey, TokenStatus]]:
        """The tokens that keep an activation busy: those under its tag or below it, throttled ones included, except
        those that are throttled for this activation itself."""
        ahead = [top]
        while ahead:
            tag = ahead.pop()
            record = self.state.records.get(tag)
            if record is None:
                continue
            for node, ports in record.waiting_operands.items():
                if self.state.rules[node].counts_as_busy:
                    yield TokenKey(node, next(iter(ports)), tag), "waits"
            for token in self.tokens_by_tag.get(tag, ()):
                if self.state.rules[token.node].counts_as_busy:
                    yield token, "sent"
            for _, held in self.state.throttled_tokens.get(tag, ()) if tag != top else ():
                yield TokenKey(*held[:3]), "sent"
            ahead += record.child_tags.values()
