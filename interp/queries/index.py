"""The index of a run: at which event each node fired, under each tag; so that questions have cheap answers.

A node fires at most once under a tag, and a port gets at most one token under it (S4). So (node, tag) names a firing,
and (node, port, tag) a token, and all that has to be kept beside the events is at which of them each node fired. Who
sent a token is read from the edges of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from math import inf
from typing import Any, Protocol

from ...core.graph.graph import Edge, Graph, OutputRef
from ...core.ops.routing import ROUTING_OPS
from ...core.tag import ROOT, Tag
from ...core.value import Value
from ..engines.interrupt import interrupt_between_steps
from ..machine.event import CellAddress, Event, Token
from .contexts import Context, node_contexts
from .origin import ArgumentOrigin, FiringOrigin, InjectedOrigin, Origin, OriginId, TokenEdit, TokenKey

CELL_OPS = ("store", "get", "collect")
"""The ops that put into cells and read them: what is put goes to what reads it by no edge."""


class NumberedEvents(Protocol):
    """Events by number."""

    def __getitem__(self, number: int) -> Event: ...


class EventIndexSegment:
    """What is kept of the events from `start` on, by their numbers."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.firing_events: dict[Tag, dict[int, OriginId]] = {}
        self.crossing_events: dict[Tag, dict[int, OriginId]] = {}
        """By the tag of what they sent, the nodes that sent from another activation."""
        self.closing_events: dict[Tag, OriginId] = {}
        """At which each activation closes, of those that do."""
        self.puts: dict[CellAddress, OriginId] = {}
        """By which store each cell was filled."""
        self.gets: dict[OriginId, list[OriginId]] = {}
        """By store, the firings that got what it put."""


class EventIndex:
    """What is kept of a run so that questions have cheap answers.

    `add` takes the events of the run in their order. It keeps the events themselves, and some 120 bytes for each
    firing. Questions are about the moment when `end_position` of them have happened: who goes back forgets nothing. A
    branch has what is kept of its past in common with the run that it is a branch of.
    """

    def __init__(
        self,
        graph: Graph,
        arguments: Sequence[Value],
        events: Iterable[Event] = (),
        edits: Iterable[tuple[int, TokenEdit]] = (),
    ) -> None:
        """`arguments` are those of the run, as values; the hidden ones are not among them. `edits` are the tokens that
        were changed, each with how many events had happened then."""
        self.graph = graph
        self.arguments: tuple[Value, ...] = (*[True] * graph.hidden_count, *arguments)
        self.edits = tuple(edits)
        self.events: list[Event] = []
        self.end_position = inf
        """Events from this number on have not happened yet; but for this, all have."""
        self.sources = graph.sources()
        self.sends_to_other_tag = [
            node.op in ROUTING_OPS and ROUTING_OPS[node.op].result_tag != "same" for node in graph.nodes
        ]
        """Whether a node sends under another tag than its own."""
        self._shared_segments: tuple[tuple[EventIndexSegment, int], ...] = ()
        """The parts before the last, each with where it ends for this run."""
        self._own_segment = EventIndexSegment()
        self._last_tag_firings: tuple[Tag | None, dict[int, OriginId]] = None, {}
        for event in events:
            self.add(event)

    @cached_property
    def contexts(self) -> dict[int, Context]:
        """The function or loop under whose tags each node fires; of a graph that breaks the rules nothing is known."""
        return node_contexts(self.graph)

    def __len__(self) -> int:
        """How many events have happened."""
        return int(min(len(self.events), self.end_position))

    # Seeing

    def catch_up(self, walk: NumberedEvents, position: int) -> None:
        """Stand where this walk over the run does: see what has not been seen of it. Where that is interrupted, it goes
        on from there the next time."""
        with interrupt_between_steps() as interrupt:
            for number in range(len(self.events), position):
                self.add(walk[number])
                if interrupt.is_requested:
                    raise KeyboardInterrupt
        self.end_position = position

    def fork(self, since: int) -> EventIndex:
        """That of a run that has so many events in common with this one."""
        made = copy(self)
        made.events = self.events[:since]
        seen = len(made.events)
        made._shared_segments = tuple(
            (part, int(min(end, seen))) for part, end in self._segments() if part.start < seen
        )
        made._own_segment, made._last_tag_firings = EventIndexSegment(seen), (None, {})
        return made

    def add(self, event: Event) -> None:
        """The next event of the run."""
        number, last = len(self.events), self._own_segment
        self.events.append(event)
        if event.inputs is None:
            return
        node, _, tag, _ = event.token
        latest, under = self._last_tag_firings
        if tag is not latest:  # a third of the time on fib: hashing a tag is a call
            under = last.firing_events.setdefault(tag, {})
            self._last_tag_firings = tag, under
        under[node] = number
        if self.sends_to_other_tag[node] and event.sent:
            last.crossing_events.setdefault(event.sent[0].tag, {})[node] = number
        for finished in event.closed:
            last.closing_events[finished.tag] = number
        if self.graph.nodes[node].op in CELL_OPS and event.trap is None:
            if event.outputs:
                for put in self.filling_stores(event):
                    last.gets.setdefault(put, []).append(number)
            else:
                last.puts[CellAddress(*event.inputs[:2])] = number  # type: ignore[arg-type]

    def _segments(self) -> Iterator[tuple[EventIndexSegment, float]]:
        """All parts, each with where it ends, from the first on."""
        yield from self._shared_segments
        yield self._own_segment, inf

    # What happened

    def firing_event(self, node: int, tag: Tag) -> OriginId | None:
        """The event at which this node fired under this tag, if it did."""
        for part, end in self._segments():
            number = part.firing_events.get(tag, _NO_FIRINGS).get(node)
            if number is not None and number < end and number < self.end_position:
                return number
        return None

    def crossing_event(self, node: int, tag: Tag) -> OriginId | None:
        """The event at which this node sent something under this tag, from another activation, if it did."""
        for part, end in self._segments():
            number = part.crossing_events.get(tag, _NO_FIRINGS).get(node)
            if number is not None and number < end and number < self.end_position:
                return number
        return None

    def has_closed(self, tag: Tag) -> bool:
        return any(part.closing_events.get(tag, inf) < min(end, self.end_position) for part, end in self._segments())

    def opened_tag(self, tag: Tag) -> Tag | None:
        """The tag itself, if its activation has ever opened, as the events have it: that one is found again in a time
        that does not grow with its depth."""
        for part, end in self._segments():
            first = next(iter(part.crossing_events.get(tag, _NO_FIRINGS).values()), None)
            if first is not None and first < end and first < self.end_position:
                return self.events[first].sent[0].tag
        return ROOT if tag == ROOT else None

    def sender(self, node: int, port: int, tag: Tag) -> OriginId | None:
        """Who sent the token of this port under this tag; None if nobody has."""
        if node < 0:
            return self.crossing_event(self.graph.results[port], tag)
        for source in self.sources.get(Edge(node, port), ()):
            number = self._source_firing(source, tag)
            if number is not None and (number < 0 or _has_token(self.events[number].sent, node, port)):
                return number
        return self._injecting_edit(TokenKey(node, port, tag)) if self.edits else None

    def _injecting_edit(self, token: TokenKey) -> OriginId | None:
        """The edit that put this token into the flight, if one did."""
        for at, (position, edit) in enumerate(self.edits):
            if edit.is_injection and position <= len(self) and edit.token[:3] == token:
                return -1 - len(self.arguments) - at
        return None

    def _source_firing(self, source: OutputRef, tag: Tag) -> OriginId | None:
        """The firing of a source, whatever it sent, whose tokens are under this tag."""
        if source.node < 0:
            return -1 - source.output if tag == ROOT else None
        return (self.crossing_event if self.sends_to_other_tag[source.node] else self.firing_event)(source.node, tag)

    def user(self, node: int, port: int, tag: Tag) -> OriginId | None:
        """The firing that consumed the token of this port under this tag; None if none has."""
        number = None if node < 0 else self.firing_event(node, tag)
        if number is None or self.graph.nodes[node].op != "merge":
            return number
        return number if self.events[number].token.port == port else None

    def filling_stores(self, event: Event) -> list[OriginId]:
        """The stores that filled what a firing of `get`, or of `collect`, got; of another op, or of a trap, none."""
        if event.trap is not None:
            return []
        inputs: Any = event.inputs
        op = self.graph.nodes[event.token.node].op
        numbers = [inputs[1]] if op == "get" else range(inputs[0].size) if op == "collect" else []
        return [self._filling_store(CellAddress(inputs[0], number)) for number in numbers]

    def _filling_store(self, cell: CellAddress) -> OriginId:
        found = ((part.puts.get(cell), end) for part, end in self._segments())
        return next(number for number, end in found if number is not None and number < end)

    def operands(self, number: OriginId) -> tuple[tuple[int, OriginId], ...]:
        """For each token that this firing consumed, its port, and who sent it; and for each cell that it read, -1 and
        the store that filled it."""
        if number < 0:
            return ()
        node, came, tag, _ = self.events[number].token
        row = self.graph.nodes[node]
        ports = [came] if row.op == "merge" else [p for p, literal in enumerate(row.ports) if literal is None]
        senders = ((port, self.sender(node, port, tag)) for port in ports)
        cells = ((-1, put) for put in self.filling_stores(self.events[number]))
        return (*((port, sender) for port, sender in senders if sender is not None), *cells)

    def users(self, number: OriginId) -> list[OriginId]:
        """The firings that consumed what this firing, or argument, sent, in the order of the tokens, or that read the
        cell that it filled: each once."""
        if number < -len(self.arguments):
            sent = [self.edits[-1 - len(self.arguments) - number][1].token[:3]]
        elif number < 0:
            sent = [(*edge, ROOT) for edge in self.graph.arguments[-1 - number][1].edges]
        else:
            sent = [token[:3] for token in self.events[number].sent]
        found = (self.user(*token) for token in sent)
        users = [user for user in found if user is not None]
        return list(dict.fromkeys([*users, *self._reads_of_store(number)]))

    def _reads_of_store(self, number: OriginId) -> Iterator[OriginId]:
        """The firings that got what a store put."""
        for part, end in self._segments():
            yield from (got for got in part.gets.get(number, ()) if got < end and got < self.end_position)

    def origin(self, number: OriginId, token: Token | TokenKey | None = None) -> Origin:
        """A firing, or an argument, in full; as the origin of a token that it sent, with how that was changed."""
        changed = None if token is None or not self.edits else self.changed_value(token)
        if number >= 0:
            return FiringOrigin(number, self.graph, self.events[number], changed)
        if number < -len(self.arguments):
            after, edit = self.edits[-1 - len(self.arguments) - number]
            return InjectedOrigin(after, self.graph, edit.token, changed)
        name, _ = self.graph.arguments[-1 - number]
        return ArgumentOrigin(-1 - number, name, self.arguments[-1 - number], changed)

    def changed_value(self, token: Token | TokenKey) -> Value | None:
        """The value that a token was given last, if it was changed in the past."""
        found = [edit.value for edit in self._past_changes() if edit.token[:3] == token[:3]]
        return found[-1] if found else None

    def _past_changes(self) -> Iterator[TokenEdit]:
        """What was changed in the past."""
        return (edit for at, edit in self.edits if at <= len(self) and not edit.is_injection)

    def changed_tokens(self, number: OriginId) -> tuple[TokenKey, ...]:
        """The tokens of a firing, or of an argument, that were changed in the past."""
        tokens = dict.fromkeys(TokenKey(*edit.token[:3]) for edit in self._past_changes())
        return tuple(token for token in tokens if self.sender(*token) == number)


_NO_FIRINGS: Mapping[int, OriginId] = {}


def _has_token(sent: tuple[Token, ...], node: int, port: int) -> bool:
    return any(token[0] == node and token[1] == port for token in sent)
