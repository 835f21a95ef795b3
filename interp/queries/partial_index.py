"""The index of a run whose events are known only from some event on; the state there tells what was before.

For an activation that was open there, the state says which nodes had fired and which tokens had arrived; for those that
opened later, the events say everything. For one that had closed nothing is known, and queries say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ...core.errors import Usage
from ...core.graph.graph import Edge, Graph
from ...core.tag import ROOT, Site, Tag
from ...core.value import Value
from ..machine.event import CellAddress, Event, Token
from ..machine.state import State
from .index import EventIndex, EventIndexSegment
from .origin import EarlierOrigin, Origin, OriginId, TokenKey

BEFORE_BASE: OriginId = -(2**62)
"""A firing before the first known event."""


class _EventsFromBase(list[Event]):
    """Events by their numbers in the run; the first number is not 0."""

    def __init__(self, start: int, events: Sequence[Event] = ()) -> None:
        super().__init__(events)
        self.start = start

    def __len__(self) -> int:
        return self.start + super().__len__()

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return _EventsFromBase(self.start, super().__getitem__(slice(0, max(number.stop - self.start, 0))))
        if number < self.start:
            raise unknown_events_error(self.start)
        return super().__getitem__(number - self.start)


def unknown_events_error(start: int) -> Usage:
    """The error for an answer that needs events before the first known one."""
    hint = "`goto` an earlier event, or history.reveal, makes more known"
    return Usage("the answer is in events that are not known", got=f"those from {start:,} on", hint=hint)


class PartialIndex(EventIndex):
    """The index of a run from the state `before` on, which must not change."""

    def __init__(self, graph: Graph, arguments: Sequence[Value], before: State) -> None:
        super().__init__(graph, arguments)
        self._base_state = before
        self.events = _EventsFromBase(before.steps)
        self._own_segment = EventIndexSegment(before.steps)

    def firing_event(self, node: int, tag: Tag) -> OriginId | None:
        """As in `EventIndex`; BEFORE_BASE if it had fired before the base. Raises Usage if the activation had
        closed."""
        number = super().firing_event(node, tag)
        if number is not None:
            return number
        record = self._base_state.records.get(tag)
        if record is not None:
            return BEFORE_BASE if node in record.fired_nodes else None
        if self._had_closed(tag):
            raise unknown_events_error(self._base_state.steps)
        return None

    def sender(self, node: int, port: int, tag: Tag) -> OriginId | None:
        """As in `EventIndex`; BEFORE_BASE if the token existed at the base."""
        token = TokenKey(node, port, tag)
        if node < 0:
            return BEFORE_BASE if port in self._base_state.results else super().sender(*token)
        if self._existed_at_base(token):
            return BEFORE_BASE
        if tag not in self._base_state.records and self._had_closed(tag):
            raise unknown_events_error(self._base_state.steps)
        for source in self.sources.get(Edge(node, port), ()):
            number = self._source_firing(source, tag)
            if number is not None and number >= 0 and _has_token(self.events[number].sent, token):
                return number
        return self._injecting_edit(token) if self.edits else None

    def user(self, node: int, port: int, tag: Tag) -> OriginId | None:
        """As in `EventIndex`, for a token that was sent after the base: earlier firings consumed other tokens."""
        return None if node >= 0 and self.firing_event(node, tag) == BEFORE_BASE else super().user(node, port, tag)

    def _filling_store(self, cell: CellAddress) -> OriginId:
        block = self._base_state.cells.blocks.get(cell.handle)
        return BEFORE_BASE if block is not None and cell.number in block.writes else super()._filling_store(cell)

    def _existed_at_base(self, token: TokenKey) -> bool:
        """Whether a token was in flight, waiting, parked, throttled or already consumed at the base."""
        record = self._base_state.records.get(token.tag)
        if record is None:
            return False
        if token in self._base_tokens or token.port in record.waiting_operands.get(token.node, {}):
            return True
        return token.node in record.fired_nodes and self.graph.nodes[token.node].op != "merge"

    @cached_property
    def _base_tokens(self) -> set[tuple[int, int, Tag]]:
        before = self._base_state
        found = {token[:3] for token in before.flight}
        for block in before.cells.blocks.values():
            found |= {token[:3] for tokens in block.deferred_reads.values() for token in tokens}
        return found | {token[:3] for entries in before.throttled_tokens.values() for _, token in entries}

    def _source_firing(self, source: Any, tag: Tag) -> OriginId | None:
        number = super()._source_firing(source, tag)
        return None if number == BEFORE_BASE else number

    def origin(self, number: OriginId, token: Token | TokenKey | None = None) -> Origin:
        if number != BEFORE_BASE:
            return super().origin(number, token)
        return EarlierOrigin(
            self._base_state.steps, None if token is None or not self.edits else self.changed_value(token)
        )

    def users(self, number: OriginId) -> list[OriginId]:
        """As in `EventIndex`; raises Usage if a token of the argument was consumed before the base."""
        if -len(self.arguments) <= number < 0:
            raise unknown_events_error(self._base_state.steps)
        return super().users(number)

    def opened_tag(self, tag: Tag) -> Tag | None:
        record = self._base_state.records.get(tag)
        if record is not None:
            return record.tag
        return super().opened_tag(tag) or (tag if self._had_closed(tag) else None)

    def has_closed(self, tag: Tag) -> bool:
        return super().has_closed(tag) or (tag not in self._base_state.records and self._had_closed(tag))

    def _had_closed(self, tag: Tag) -> bool:
        """Whether an activation that was not open at the base may have closed before it, as far as is known."""
        records = self._base_state.records
        while tag.parent is not None and tag.parent not in records:
            tag = tag.parent
        if tag.parent is None:
            return tag == ROOT
        around = records[tag.parent]
        if not around.fired_nodes & self._openers.get(tag.site, frozenset()):
            return False
        if tag.site.kind == "call":
            return True
        iterations = [iteration for site, iteration in around.child_tags if site == tag.site]
        newest = max(iterations, default=-1)
        if tag.iteration < newest or newest < 0:
            return True
        return bool(
            records[tag.parent.child(tag.site, newest)].fired_nodes & self._iteration_openers.get(tag.site, frozenset())
        )

    @cached_property
    def _openers(self) -> dict[Site, frozenset[int]]:
        """The nodes that open a call, or the first iteration of a loop."""
        return self._nodes_by_site("call", "enter", "reenter")

    @cached_property
    def _iteration_openers(self) -> dict[Site, frozenset[int]]:
        """The nodes that open the next iteration."""
        return self._nodes_by_site("next_iteration")

    def _nodes_by_site(self, *ops: str) -> dict[Site, frozenset[int]]:
        found: dict[Site, set[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.site is not None and node.op in ops:
                found.setdefault(node.site, set()).add(number)
        return {site: frozenset(numbers) for site, numbers in found.items()}


def _has_token(sent: tuple[Token, ...], token: TokenKey) -> bool:
    return any(each[:2] == token[:2] for each in sent)
