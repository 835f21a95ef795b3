"""The event index of a run: for each node and tag, the event at which the node fired. It makes queries cheap.

A node fires at most once under a tag, and a port gets at most one token under a tag (S4). So (node, tag) identifies a
firing and (node, port, tag) a token. The index stores the events and the number of each firing's event; the sender of a
token follows from the edges of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from math import inf
from typing import Any, Protocol

from ...core.errors import Usage
from ...core.graph.graph import Edge, Graph, OutputRef
from ...core.ops.routing import ALL_ROUTING_OPS
from ...core.tag import ROOT, Site, Tag
from ...core.value import Value
from ..engines.interrupt import interrupt_between_steps
from ..machine.event import CellAddress, Event, Token
from ..machine.state import State
from ..outcome.worker_lanes import WorkerLanes, describe_worker
from .answers import ArgumentOrigin, EarlierOrigin, FiringOrigin, InjectedOrigin, Origin, OriginId, TokenEdit, TokenKey
from .contexts import Context, node_contexts

CELL_OPS = ("store", "get", "collect")
"""The ops that write and read cells. The index records their dependences, for which the graph has no edges."""


class NumberedEvents(Protocol):
    """Events by number."""

    def __getitem__(self, numbers: slice, /) -> Sequence[Event]: ...


class EventIndexSegment:
    """The index of the events from number `start` on."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.firing_events: dict[Tag, dict[int, OriginId]] = {}
        self.crossing_events: dict[Tag, dict[int, OriginId]] = {}
        """By the tag of tokens that were sent from another activation: the senders, with their events."""
        self.closing_events: dict[Tag, OriginId] = {}
        """By tag, the event at which the activation closed."""
        self.stores: dict[CellAddress, OriginId] = {}
        """By cell, the store that filled it."""
        self.reads: dict[OriginId, list[OriginId]] = {}
        """By store, the firings that read the cell it filled."""


class EventIndex:
    """The index of a run.

    `add` adds the events of the run in order. The index takes about 120 bytes for each firing, besides the events.
    Queries are about the position after `end_position` events; moving back deletes nothing. A fork shares the index of
    the common past with its parent.
    """

    def __init__(
        self,
        graph: Graph,
        arguments: Sequence[Value],
        events: Iterable[Event] = (),
        edits: Iterable[tuple[int, TokenEdit]] = (),
        lanes: WorkerLanes | None = None,
    ) -> None:
        """`arguments` are the arguments of the run, without the hidden ones. `edits` are the edits, each with the
        number of events before it; `lanes` are the workers of the events, if there were several."""
        self.graph, self.lanes = graph, lanes
        self.arguments: tuple[Value, ...] = (*[True] * graph.hidden_count, *arguments)
        self.edits = tuple(edits)
        self.events: list[Event] = []
        self.end_position = inf
        """Events from this number on have not happened yet; infinite if all have."""
        self.sources = graph.sources()
        self.sends_to_other_tag = [
            node.op in ALL_ROUTING_OPS and ALL_ROUTING_OPS[node.op].result_tag != "same" for node in graph.nodes
        ]
        """By node, whether it sends its tokens under a different tag than the tag of its firing."""
        self._shared_segments: tuple[tuple[EventIndexSegment, int], ...] = ()
        """The segments shared with other runs, each with its end in this run."""
        self._own_segment = EventIndexSegment()
        self._last_tag_firings: tuple[Tag | None, dict[int, OriginId]] = None, {}
        for event in events:
            self.add(event)

    @cached_property
    def contexts(self) -> dict[int, Context]:
        """The function or loop under whose tags each node fires; nothing for a graph that breaks the rules."""
        return node_contexts(self.graph)

    def __len__(self) -> int:
        """The number of events that have happened."""
        return int(min(len(self.events), self.end_position))

    # Adding events

    def catch_up(self, events: NumberedEvents, position: int) -> None:
        """Move to this position of a run and add the events that are not indexed yet. If interrupted, the next call
        continues."""
        with interrupt_between_steps() as interrupt:
            for event in events[len(self.events) : position]:
                self.add(event)
                if interrupt.is_requested:
                    raise KeyboardInterrupt
        self.end_position = position

    def fork(self, since: int) -> EventIndex:
        """The index of a run that shares this many events with this one."""
        fork = copy(self)
        fork.lanes = None if self.lanes is None else self.lanes.until(since)
        fork.events = self.events[:since]
        event_count = len(fork.events)
        fork._shared_segments = tuple(
            (segment, int(min(end, event_count))) for segment, end in self._segments() if segment.start < event_count
        )
        fork._own_segment, fork._last_tag_firings = EventIndexSegment(event_count), (None, {})
        return fork

    def add(self, event: Event) -> None:
        """Add the next event of the run."""
        number, segment = len(self.events), self._own_segment
        self.events.append(event)
        if event.inputs is None:
            return
        node, _, tag, _ = event.token
        last_tag, tag_firings = self._last_tag_firings
        if tag is not last_tag:  # a third of the time on fib: hashing a tag is a call
            tag_firings = segment.firing_events.setdefault(tag, {})
            self._last_tag_firings = tag, tag_firings
        tag_firings[node] = number
        if self.sends_to_other_tag[node] and event.sent:
            segment.crossing_events.setdefault(event.sent[0].tag, {})[node] = number
        for finished in event.closed:
            segment.closing_events[finished.tag] = number
        if self.graph.nodes[node].op in CELL_OPS and event.trap is None:
            if event.outputs:
                for store in self.filling_stores(event):
                    segment.reads.setdefault(store, []).append(number)
            else:
                segment.stores[CellAddress(*event.inputs[:2])] = number  # type: ignore[arg-type]

    def _segments(self) -> Iterator[tuple[EventIndexSegment, float]]:
        """All segments from the first on, each with its end."""
        yield from self._shared_segments
        yield self._own_segment, inf

    # Looking up

    def firing_event(self, node: int, tag: Tag) -> OriginId | None:
        """The event at which this node fired under this tag, or None."""
        for segment, end in self._segments():
            number = segment.firing_events.get(tag, _NO_FIRINGS).get(node)
            if number is not None and number < end and number < self.end_position:
                return number
        return None

    def crossing_event(self, node: int, tag: Tag) -> OriginId | None:
        """The event at which this node sent a token under this tag from another activation, or None."""
        for segment, end in self._segments():
            number = segment.crossing_events.get(tag, _NO_FIRINGS).get(node)
            if number is not None and number < end and number < self.end_position:
                return number
        return None

    def has_closed(self, tag: Tag) -> bool:
        """Whether the activation of a tag has closed."""
        return any(
            segment.closing_events.get(tag, inf) < min(end, self.end_position) for segment, end in self._segments()
        )

    def opened_tag(self, tag: Tag) -> Tag | None:
        """The interned tag object from the events, if its activation has ever opened. Look-ups with that object take
        constant time, whatever its depth."""
        for segment, end in self._segments():
            first = next(iter(segment.crossing_events.get(tag, _NO_FIRINGS).values()), None)
            if first is not None and first < end and first < self.end_position:
                return self.events[first].sent[0].tag
        return ROOT if tag == ROOT else None

    def sender(self, node: int, port: int, tag: Tag) -> OriginId | None:
        """The firing or argument that sent the token of this port under this tag, or None."""
        if node < 0:
            return self.crossing_event(self.graph.results[port], tag)
        for source in self.sources.get(Edge(node, port), ()):
            number = self._source_firing(source, tag)
            if number is not None and (number < 0 or sends_to(self.events[number], node, port)):
                return number
        return self._injecting_edit(TokenKey(node, port, tag)) if self.edits else None

    def _injecting_edit(self, token: TokenKey) -> OriginId | None:
        """The edit that injected this token, if any."""
        for at, (position, edit) in enumerate(self.edits):
            if edit.is_injection and position <= len(self) and edit.token[:3] == token:
                return -1 - len(self.arguments) - at
        return None

    def _source_firing(self, source: OutputRef, tag: Tag) -> OriginId | None:
        """The firing of a source that sends tokens under this tag, or the argument, whether or not it sent any."""
        if source.node < 0:
            return -1 - source.output if tag == ROOT else None
        return (self.crossing_event if self.sends_to_other_tag[source.node] else self.firing_event)(source.node, tag)

    def user(self, node: int, port: int, tag: Tag) -> OriginId | None:
        """The firing that consumed the token of this port under this tag, or None."""
        number = None if node < 0 else self.firing_event(node, tag)
        if number is None or self.graph.nodes[node].op != "merge":
            return number
        return number if self.events[number].token.port == port else None

    def filling_stores(self, event: Event) -> list[OriginId]:
        """The stores that filled the cells that a firing of `get` or `collect` read; empty for other ops and for
        traps."""
        if event.trap is not None:
            return []
        inputs: Any = event.inputs
        op = self.graph.nodes[event.token.node].op
        numbers = [inputs[1]] if op == "get" else range(inputs[0].size) if op == "collect" else []
        return [self._filling_store(CellAddress(inputs[0], number)) for number in numbers]

    def _filling_store(self, cell: CellAddress) -> OriginId:
        stores = ((segment.stores.get(cell), end) for segment, end in self._segments())
        return next(number for number, end in stores if number is not None and number < end)

    def operands(self, number: OriginId) -> tuple[tuple[int, OriginId], ...]:
        """For each token that this firing consumed, its port and its sender; for each cell that it read, -1 and the
        store that filled it."""
        if number < 0:
            return ()
        node, arrival_port, tag, _ = self.events[number].token
        row = self.graph.nodes[node]
        ports = [arrival_port] if row.op == "merge" else [p for p, literal in enumerate(row.ports) if literal is None]
        senders = ((port, self.sender(node, port, tag)) for port in ports)
        cells = ((-1, store) for store in self.filling_stores(self.events[number]))
        return (*((port, sender) for port, sender in senders if sender is not None), *cells)

    def users(self, number: OriginId) -> list[OriginId]:
        """The firings that consumed a token of this firing, argument or injection, or that read the cell that it
        filled, each once."""
        if number < -len(self.arguments):
            tokens = [self.edits[-1 - len(self.arguments) - number][1].token[:3]]
        elif number < 0:
            tokens = [(*edge, ROOT) for edge in self.graph.arguments[-1 - number][1].edges]
        else:
            tokens = [token[:3] for token in self.events[number].sent]
        consumers = (self.user(*token) for token in tokens)
        users = [user for user in consumers if user is not None]
        return list(dict.fromkeys([*users, *self._reads_of_store(number)]))

    def _reads_of_store(self, number: OriginId) -> Iterator[OriginId]:
        """The firings that read the cell that a store filled."""
        for segment, end in self._segments():
            yield from (
                reader for reader in segment.reads.get(number, ()) if reader < end and reader < self.end_position
            )

    def origin(self, number: OriginId, token: Token | TokenKey | None = None) -> Origin:
        """The origin with this number. If `token` is given, it is the origin of that token, and has the token's changed
        value."""
        new_value = None if token is None or not self.edits else self.changed_value(token)
        if number >= 0:
            return self.firing_origin(number, new_value)
        if number < -len(self.arguments):
            position, edit = self.edits[-1 - len(self.arguments) - number]
            return InjectedOrigin(position, self.graph, edit.token, new_value)
        name, _ = self.graph.arguments[-1 - number]
        return ArgumentOrigin(-1 - number, name, self.arguments[-1 - number], new_value)

    def firing_origin(self, number: int, changed_value: Value | None = None) -> FiringOrigin:
        """The firing of an event, by the number of the event; `changed_value` as in `FiringOrigin`."""
        place = describe_worker(self.lanes, number)
        return FiringOrigin(number, self.graph, self.events[number], changed_value, place)

    def changed_value(self, token: Token | TokenKey) -> Value | None:
        """The token's value after the last edit that changed it, or None."""
        values = [edit.value for edit in self._past_changes() if edit.token[:3] == token[:3]]
        return values[-1] if values else None

    def _past_changes(self) -> Iterator[TokenEdit]:
        """The edits so far that changed a token."""
        return (edit for position, edit in self.edits if position <= len(self) and not edit.is_injection)

    def changed_tokens(self, number: OriginId) -> tuple[TokenKey, ...]:
        """The tokens of a firing or argument that edits have changed so far."""
        tokens = dict.fromkeys(TokenKey(*edit.token[:3]) for edit in self._past_changes())
        return tuple(token for token in tokens if self.sender(*token) == number)


_NO_FIRINGS: Mapping[int, OriginId] = {}


def sends_to(event: Event, node: int, port: int) -> bool:
    """Whether an event sends a token to a port."""
    return any(token[0] == node and token[1] == port for token in event.sent)


BEFORE_BASE: OriginId = -(2**62)
"""The number of every origin before the first known event."""


class _EventsFromBase(list[Event]):
    """A list of events whose first index is not 0 but `start`, so that events have their numbers in the run."""

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
    """The error for a query that needs events before the first known one."""
    hint = "`goto` an earlier event, or history.reveal, computes earlier ones"
    return Usage("the answer needs events that are not known", got=f"those from {start:,} on", hint=hint)


class PartialIndex(EventIndex):
    """The index of a run whose events are known only from a base on. The state there must not change.

    For an activation that was open at the base, the state says which nodes had fired and which tokens had arrived; for
    those that opened later, the events say everything. Queries about an activation that had closed raise Usage.
    """

    def __init__(self, graph: Graph, arguments: Sequence[Value], base_state: State) -> None:
        super().__init__(graph, arguments)
        self._base_state = base_state
        self.events = _EventsFromBase(base_state.steps)
        self._own_segment = EventIndexSegment(base_state.steps)

    def firing_event(self, node: int, tag: Tag) -> OriginId | None:
        """As in `EventIndex`; BEFORE_BASE if it had fired before the base. Raises Usage if the activation had
        closed."""
        number = super().firing_event(node, tag)
        if number is not None:
            return number
        record = self._base_state.records.get(tag)
        if record is not None:
            return BEFORE_BASE if node in record.fired_nodes else None
        if self.had_closed(tag):
            raise unknown_events_error(self._base_state.steps)
        return None

    def sender(self, node: int, port: int, tag: Tag) -> OriginId | None:
        """As in `EventIndex`; BEFORE_BASE if the token existed at the base."""
        token = TokenKey(node, port, tag)
        if node < 0:
            return BEFORE_BASE if port in self._base_state.results else super().sender(*token)
        if self.existed_at_base(token):
            return BEFORE_BASE
        if tag not in self._base_state.records and self.had_closed(tag):
            raise unknown_events_error(self._base_state.steps)
        for source in self.sources.get(Edge(node, port), ()):
            number = self._source_firing(source, tag)
            if number is not None and number >= 0 and sends_to(self.events[number], node, port):
                return number
        return self._injecting_edit(token) if self.edits else None

    def user(self, node: int, port: int, tag: Tag) -> OriginId | None:
        """As in `EventIndex`, for a token that was sent after the base: earlier firings consumed other tokens."""
        return None if node >= 0 and self.firing_event(node, tag) == BEFORE_BASE else super().user(node, port, tag)

    def _filling_store(self, cell: CellAddress) -> OriginId:
        block = self._base_state.cells.blocks.get(cell.handle)
        return BEFORE_BASE if block is not None and cell.number in block.writes else super()._filling_store(cell)

    def existed_at_base(self, token: TokenKey) -> bool:
        """Whether a token was in flight, waiting, deferred, throttled or already consumed at the base."""
        record = self._base_state.records.get(token.tag)
        if record is None:
            return False
        if token in self._base_tokens or token.port in record.waiting_operands.get(token.node, {}):
            return True
        return token.node in record.fired_nodes and self.graph.nodes[token.node].op != "merge"

    @cached_property
    def _base_tokens(self) -> set[tuple[int, int, Tag]]:
        base = self._base_state
        base_tokens = {token[:3] for token in base.flight}
        for block in base.cells.blocks.values():
            base_tokens |= {token[:3] for tokens in block.deferred_reads.values() for token in tokens}
        return base_tokens | {token[:3] for entries in base.throttled_tokens.values() for _, token in entries}

    def _source_firing(self, source: Any, tag: Tag) -> OriginId | None:
        number = super()._source_firing(source, tag)
        return None if number == BEFORE_BASE else number

    def origin(self, number: OriginId, token: Token | TokenKey | None = None) -> Origin:
        """As in `EventIndex`; an `EarlierOrigin` for BEFORE_BASE."""
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
        return super().opened_tag(tag) or (tag if self.had_closed(tag) else None)

    def has_closed(self, tag: Tag) -> bool:
        return super().has_closed(tag) or (tag not in self._base_state.records and self.had_closed(tag))

    def had_closed(self, tag: Tag) -> bool:
        """Whether an activation that was not open at the base may have closed before it."""
        records = self._base_state.records
        while tag.parent is not None and tag.parent not in records:
            tag = tag.parent
        if tag.parent is None:
            return tag == ROOT
        parent_record = records[tag.parent]
        if not parent_record.fired_nodes & self.openers.get(tag.site, frozenset()):
            return False
        if tag.site.kind == "call":
            return True
        iterations = [iteration for site, iteration in parent_record.child_tags if site == tag.site]
        newest = max(iterations, default=-1)
        if tag.iteration < newest or newest < 0:
            return True
        return bool(
            records[tag.parent.child(tag.site, newest)].fired_nodes & self.iteration_openers.get(tag.site, frozenset())
        )

    @cached_property
    def openers(self) -> dict[Site, frozenset[int]]:
        """The nodes that open a call, or the first iteration of a loop."""
        return self.nodes_by_site("call", "enter", "reenter")

    @cached_property
    def iteration_openers(self) -> dict[Site, frozenset[int]]:
        """The nodes that open the next iteration."""
        return self.nodes_by_site("next_iteration")

    def nodes_by_site(self, *ops: str) -> dict[Site, frozenset[int]]:
        """The nodes of these ops, by site."""
        nodes: dict[Site, set[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.site is not None and node.op in ops:
                nodes.setdefault(node.site, set()).add(number)
        return {site: frozenset(numbers) for site, numbers in nodes.items()}
