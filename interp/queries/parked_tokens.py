"""Tokens that stay: at which cell, and what could fill it; for which iteration, and what keeps that busy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, TypeAlias
from typing import Literal as Word

from ...core.graph.graph import Edge
from ...core.handle import Handle
from ...core.tag import ROOT, Tag
from ...core.types import type_of
from ...core.value import Value
from ..machine.event import Cell
from ..machine.state import State
from .causes import Reason, Unfilled, Unfired
from .index import Index
from .origin import Arrival

MOST_CELLS = 1_000
"""How many empty cells are followed of those that one `collect` waits for."""

What: TypeAlias = Word["waits", "sent"]


class Staying:
    """The tokens of a state that stay, found once for all that is asked of them."""

    def __init__(self, index: Index, state: State) -> None:
        self.index = index
        self.state = state
        self.nodes = index.graph.nodes

    # At cells

    @cached_property
    def parked(self) -> dict[Arrival, Cell]:
        return {
            Arrival(*token[:3]): Cell(handle, number)
            for handle, block in self.state.cells.blocks.items()
            for number, tokens in block.parked.items()
            for token in tokens
        }

    @cached_property
    def stores(self) -> list[int]:
        return [number for number, node in enumerate(self.nodes) if node.op == "store"]

    @cached_property
    def sent_to_stores(self) -> dict[tuple[int, Tag], dict[int, Value]]:
        """What has been sent to each firing of a store that is to come, by port, literals included."""
        found = defaultdict[tuple[int, Tag], dict[int, Value]](dict)
        for tag, record in self.state.records.items():
            for number in self.stores:
                if number in record.waiting:
                    found[number, tag].update(record.waiting[number])
        held = (token for entries in self.state.held.values() for _, token in entries)
        for tokens in (self.state.flight, held):
            for number, port, tag, value in tokens:
                if number in self.stores:
                    found[number, tag][port] = value
        for (number, _), operands in found.items():
            literals = enumerate(self.nodes[number].ports)
            operands.update({port: literal.value for port, literal in literals if literal is not None})
        return found

    @cached_property
    def known_stores(self) -> dict[Cell, list[tuple[int, Tag]]]:
        """By cell, the stores to come that have been sent its handle and its number."""
        found = defaultdict[Cell, list[tuple[int, Tag]]](list)
        for place, operands in self.sent_to_stores.items():
            if 0 in operands and 1 in operands:
                handle: Any = operands[0]
                number: Any = operands[1]
                found[Cell(handle, number)].append(place)
        return found

    def wanted(self, cell: Cell) -> Iterator[Cell]:
        """The cell, and where tokens are parked at it that wait for all cells, the others that are empty."""
        yield cell
        tokens = self.state.cells.blocks[cell.handle].parked.get(cell.number, ())
        if tokens and all(self.nodes[token.node].op == "collect" for token in tokens):
            puts, found = self.state.cells.blocks[cell.handle].puts, 0
            for number in range(cell.number + 1, cell.handle.size):
                if number not in puts and (found := found + 1) < MOST_CELLS:
                    yield Cell(cell.handle, number)

    def stores_to(self, cell: Cell) -> tuple[Reason, ...]:
        """The stores that will fill a cell if they fire; and if there are some of which one cannot tell, those."""
        known = [Unfired(*place) for place in self.known_stores.get(cell, ())]
        maybe = tuple(self._maybe(cell))
        return (*known, Unfilled(maybe, self._not_begun(maybe))) if maybe or not known else tuple(known)

    def _not_begun(self, stores: Iterable[tuple[int, Tag | None]]) -> tuple[tuple[Tag, int], ...]:
        """The iterations that are held in which stores stand that have got nothing yet."""
        loops = {self.index.contexts.get(node) for node, tag in stores if tag is None}
        return tuple((tag, self.bound(tag)) for tag in self.state.held if tag.site in loops)

    def _maybe(self, cell: Cell) -> Iterator[tuple[int, Tag | None]]:
        for (node, tag), operands in self.sent_to_stores.items():
            known = (operands.get(0, cell.handle), operands.get(1, cell.number)) == cell
            if known and not (0 in operands and 1 in operands) and self._takes(node, cell.handle):
                yield node, tag
        for node in self.stores:
            index = self.nodes[node].ports[1]
            fits = (index is None or index.value == cell.number) and self._takes(node, cell.handle)
            if fits and not self._is_over(node):
                yield node, None

    def _takes(self, store: int, handle: Handle) -> bool:
        """Whether a handle of this type may come to a store."""
        fed = self.index.sources.get(Edge(store, 0), ())
        return any(self.index.graph.output(source).type.admits(type_of(handle)) for source in fed)

    def _is_over(self, store: int) -> bool:
        """Whether it stands where there is one activation only, and has fired in it, or been sent something."""
        graph, contexts = self.index.graph, self.index.contexts
        if contexts.get(store) != graph.name or graph.name in dict(graph.calls).values():
            return False
        return self.index.fired(store, ROOT) is not None or (store, ROOT) in self.sent_to_stores

    # For iterations

    def bound(self, tag: Tag) -> int:
        """The bound that holds what is sent into this iteration; another loop's, where rules are broken."""
        return self.state.bounds.get(tag.site, max(self.state.bounds.values(), default=0))

    @cached_property
    def moving(self) -> dict[Tag, list[Arrival]]:
        """What is in flight or parked, by tag."""
        found = defaultdict[Tag, list[Arrival]](list)
        for node, port, tag, _ in self.state.flight:
            found[tag].append(Arrival(node, port, tag))
        for token in self.parked:
            found[token.tag].append(token)
        return found

    def under(self, top: Tag) -> Iterator[tuple[Arrival, What]]:
        """The tokens that keep an activation busy: what lies or waits under its tag or below it, held tokens too, but
        not those that are held for itself."""
        ahead = [top]
        while ahead:
            tag = ahead.pop()
            record = self.state.records.get(tag)
            if record is None:
                continue
            for node, ports in record.waiting.items():
                if self.state.rules[node].counts:
                    yield Arrival(node, next(iter(ports)), tag), "waits"
            for token in self.moving.get(tag, ()):
                if self.state.rules[token.node].counts:
                    yield token, "sent"
            for _, held in self.state.held.get(tag, ()) if tag != top else ():
                yield Arrival(*held[:3]), "sent"
            ahead += record.children.values()
