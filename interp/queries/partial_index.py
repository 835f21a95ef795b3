"""The index of a run that is known from some event on: what was before is known by what it left in the state there.

Of an activation that was open then, the state says which nodes had fired in it, and which tokens had come; of those
that opened later, the events say all. Of one that had closed by then nothing is known, and whoever asks is told so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ...core.errors import Usage
from ...core.graph.graph import Edge, Graph
from ...core.tag import ROOT, Site, Tag
from ...core.value import Value
from ..machine.event import Cell, Event, Token
from ..machine.state import State
from .index import Index, Part
from .origin import Arrival, Earlier, Number, Origin

BEFORE: Number = -(2**62)
"""Some firing before the events that are known."""


class _Since(list[Event]):
    """Events by their numbers in the run, of which the first is not 0."""

    def __init__(self, start: int, events: Sequence[Event] = ()) -> None:
        super().__init__(events)
        self.start = start

    def __len__(self) -> int:
        return self.start + super().__len__()

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return _Since(self.start, super().__getitem__(slice(0, max(number.stop - self.start, 0))))
        if number < self.start:
            raise unknown(self.start)
        return super().__getitem__(number - self.start)


def unknown(start: int) -> Usage:
    """What to say where an answer is in events before those that are known."""
    hint = "`goto` an earlier event, or history.reveal, makes more known"
    return Usage("the answer is in events that are not known", got=f"those from {start:,} on", hint=hint)


class Late(Index):
    """What is kept of a run from where `before` is its state, which nobody changes."""

    def __init__(self, graph: Graph, arguments: Sequence[Value], before: State) -> None:
        super().__init__(graph, arguments)
        self._before = before
        self.events = _Since(before.steps)
        self._last = Part(before.steps)

    def fired(self, node: int, tag: Tag) -> Number | None:
        """As ever; BEFORE where it had fired by then. Raises Usage where the activation had closed."""
        number = super().fired(node, tag)
        if number is not None:
            return number
        record = self._before.records.get(tag)
        if record is not None:
            return BEFORE if node in record.fired else None
        if self._had_closed(tag):
            raise unknown(self._before.steps)
        return None

    def sender(self, node: int, port: int, tag: Tag) -> Number | None:
        """As ever; BEFORE where the token was there by then."""
        token = Arrival(node, port, tag)
        if node < 0:
            return BEFORE if port in self._before.results else super().sender(*token)
        if self._was_there(token):
            return BEFORE
        if tag not in self._before.records and self._had_closed(tag):
            raise unknown(self._before.steps)
        for source in self.sources.get(Edge(node, port), ()):
            number = self._sent_by(source, tag)
            if number is not None and number >= 0 and _has(self.events[number].sent, token):
                return number
        return self._injected(token) if self.edits else None

    def user(self, node: int, port: int, tag: Tag) -> Number | None:
        """As ever, of a token that was sent since then: what had fired by then consumed another."""
        return None if node >= 0 and self.fired(node, tag) == BEFORE else super().user(node, port, tag)

    def _put(self, cell: Cell) -> Number:
        block = self._before.cells.blocks.get(cell.handle)
        return BEFORE if block is not None and cell.number in block.puts else super()._put(cell)

    def _was_there(self, token: Arrival) -> bool:
        """Whether a token was in flight by then, waited, was parked or held, or had been consumed."""
        record = self._before.records.get(token.tag)
        if record is None:
            return False
        if token in self._there or token.port in record.waiting.get(token.node, {}):
            return True
        return token.node in record.fired and self.graph.nodes[token.node].op != "merge"

    @cached_property
    def _there(self) -> set[tuple[int, int, Tag]]:
        before = self._before
        found = {token[:3] for token in before.flight}
        for block in before.cells.blocks.values():
            found |= {token[:3] for tokens in block.parked.values() for token in tokens}
        return found | {token[:3] for entries in before.held.values() for _, token in entries}

    def _sent_by(self, source: Any, tag: Tag) -> Number | None:
        number = super()._sent_by(source, tag)
        return None if number == BEFORE else number

    def origin(self, number: Number, token: Token | Arrival | None = None) -> Origin:
        if number != BEFORE:
            return super().origin(number, token)
        return Earlier(self._before.steps, None if token is None or not self.edits else self.changed_to(token))

    def users(self, number: Number) -> list[Number]:
        """As ever; raises Usage where what an argument sent was consumed by then."""
        if -len(self.arguments) <= number < 0:
            raise unknown(self._before.steps)
        return super().users(number)

    def opened(self, tag: Tag) -> Tag | None:
        record = self._before.records.get(tag)
        if record is not None:
            return record.tag
        return super().opened(tag) or (tag if self._had_closed(tag) else None)

    def has_closed(self, tag: Tag) -> bool:
        return super().has_closed(tag) or (tag not in self._before.records and self._had_closed(tag))

    def _had_closed(self, tag: Tag) -> bool:
        """Whether an activation that was not open then had been, for all that is known."""
        records = self._before.records
        while tag.parent is not None and tag.parent not in records:
            tag = tag.parent
        if tag.parent is None:
            return tag == ROOT
        around = records[tag.parent]
        if not around.fired & self._openers.get(tag.site, frozenset()):
            return False
        if tag.site.kind == "call":
            return True
        iterations = [iteration for site, iteration in around.children if site == tag.site]
        newest = max(iterations, default=-1)
        if tag.iteration < newest or newest < 0:
            return True
        return bool(records[tag.parent.child(tag.site, newest)].fired & self._going_on.get(tag.site, frozenset()))

    @cached_property
    def _openers(self) -> dict[Site, frozenset[int]]:
        """The nodes that open a call, or the first iteration of a loop."""
        return self._by_site("call", "enter", "reenter")

    @cached_property
    def _going_on(self) -> dict[Site, frozenset[int]]:
        """Those that open the next iteration."""
        return self._by_site("next_iteration")

    def _by_site(self, *ops: str) -> dict[Site, frozenset[int]]:
        found: dict[Site, set[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.site is not None and node.op in ops:
                found.setdefault(node.site, set()).add(number)
        return {site: frozenset(numbers) for site, numbers in found.items()}


def _has(sent: tuple[Token, ...], token: Arrival) -> bool:
    return any(each[:2] == token[:2] for each in sent)
