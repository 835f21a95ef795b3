"""The recording of a run: the place of every token after each event, for the page to replay.

It is computed from the events alone. Tokens are numbered, and each event moves a few of them. The moves up to a
position, applied in order, yield the machine's live tokens there, with those in flight in the machine's order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from ...core.errors import Usage, plural
from ...core.graph.graph import Edge, Graph
from ...core.tag import ROOT, Tag
from ...core.value import Value
from ...core.world import World
from ...interp.machine.cells import CellHeap
from ...interp.machine.event import CellAddress, Event, Token
from ...interp.machine.fire import build_rules
from ...interp.queries.why_not import READ_OPS


class TokenPlace(IntEnum):
    """The place of a token. A READY token is in flight, and its delivery would fire its node."""

    CONSUMED = 0
    IN_FLIGHT = 1
    READY = 2
    WAITING = 3
    DEFERRED = 4
    THROTTLED = 5
    RETURNED = 6


Move: TypeAlias = tuple[int, TokenPlace]
"""The number of a token, and its new place. A token that joins the flight is appended to it."""

NodeInstance: TypeAlias = tuple[int, Tag]
"""A node under a tag."""


class TokenOrigin(NamedTuple):
    """The origin of a token: a node and one of its outputs, or -1 and an argument."""

    node: int
    output: int


class TokenRecording(NamedTuple):
    """All tokens of a run, by number, and their moves at each event. An unknown argument, none of whose tokens was ever
    delivered, has the value None."""

    graph: Graph
    events: Sequence[Event]
    tokens: list[Token]
    origins: list[TokenOrigin]
    initial_moves: list[Move]
    moves: list[list[Move]]
    """The moves of each event."""


def record_tokens(graph: Graph, events: Sequence[Event], arguments: Sequence[Value] | None = None) -> TokenRecording:
    """The recording of a run, from all of its events. Raises Usage if no run of the machine has these events.

    Without `arguments`, their values are taken from the events; those that were never delivered are unknown.
    """
    recorder = _TokenRecorder(graph)
    first = recorder.start(arguments)
    return TokenRecording(
        graph, events, recorder.tokens, recorder.origins, first, [recorder.record(event) for event in events]
    )


def recorded_arguments(recording: TokenRecording) -> list[Value]:
    """The arguments without triggers; "?" for those that the events do not contain."""
    graph = recording.graph
    values: dict[int, Value] = {}
    for number, _ in recording.initial_moves:
        value = recording.tokens[number].value
        if value is not None:
            values[recording.origins[number].output] = value
    return [values.get(position, "?") for position in range(graph.hidden_count, len(graph.arguments))]  # type: ignore[arg-type]


def live_tokens(recording: TokenRecording, position: int) -> dict[int, TokenPlace]:
    """The live tokens after `position` events, with their places; those in flight are in the machine's order."""
    live: dict[int, TokenPlace] = {}
    for moves in (recording.initial_moves, *recording.moves[:position]):
        apply_moves(live, moves)
    return live


def apply_moves(live: dict[int, TokenPlace], moves: Iterable[Move]) -> None:
    """Apply moves to the live tokens."""
    for number, state in moves:
        flies = state in (TokenPlace.IN_FLIGHT, TokenPlace.READY)
        if not state or (flies and live.get(number) not in (TokenPlace.IN_FLIGHT, TokenPlace.READY)):
            live.pop(number, None)
        if state:
            live[number] = state


class _TokenRecorder:
    """Tracks the tokens of a run through its events."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tokens: list[Token] = []
        self.origins: list[TokenOrigin] = []
        self._rules = build_rules(graph)
        self._flight: deque[int] = deque()
        self._ready_nodes: set[int] = set()
        self._flight_by_node: dict[NodeInstance, set[int]] = {}
        """The tokens in flight for each node and tag."""
        self._waiting_nodes: dict[NodeInstance, dict[int, int]] = {}
        """The tokens that wait for partners, by port."""
        self._deferred_reads: dict[CellAddress, list[int]] = {}
        self._throttled: dict[tuple[int, int, int, Tag], int] = {}
        """The throttled tokens, by the step that throttled them, node, port and tag."""
        self._fired: set[NodeInstance] = set()
        self._cells, self._world = CellHeap(), World()
        """The cells and the world that reads look at; no read changes the world."""
        self._unknown_arguments: set[int] = set()
        """Arguments whose value no event has shown yet."""
        self._steps = 0

    def start(self, arguments: Sequence[Value] | None) -> list[Move]:
        """Put the arguments in flight."""
        numbers, hidden = [], self.graph.hidden_count
        for position, (_, output) in enumerate(self.graph.arguments):
            value = True if position < hidden else None if arguments is None else arguments[position - hidden]
            for edge in output.edges:
                number = self._add_token(Token(edge.node, edge.port, ROOT, value), TokenOrigin(-1, position))  # type: ignore[arg-type]
                if value is None:
                    self._unknown_arguments.add(number)
                numbers.append(number)
        return [self.join_flight(number) for number in numbers]

    def record(self, event: Event) -> list[Move]:
        """The moves of an event."""
        number = self._deliver(event)
        moves = self.record_delivery(number, event) if event.inputs is None else self.record_firing(number, event)
        for step, token in event.released:
            moves.append(self.join_flight(self._throttled.pop((step, *token[:3]))))
        self._steps += 1
        return moves

    def _deliver(self, event: Event) -> int:
        """Take the token of an event out of the flight."""
        position = event.position
        if position >= len(self._flight) or self.tokens[self._flight[position]][:3] != event.token[:3]:
            raise Usage("no run of the machine has these events", hint="an edited fork cannot be shown on a page")
        number = self._flight[position]
        del self._flight[position]
        self._ready_nodes.discard(number)
        self._flight_by_node[event.token.node, event.token.tag].discard(number)
        if number in self._unknown_arguments:
            self.resolve_argument(self.origins[number], event.token.value)
        return number

    def resolve_argument(self, origin: TokenOrigin, value: Value) -> None:
        """Set the value of an argument for all of its tokens."""
        for number in [
            unknown_argument for unknown_argument in self._unknown_arguments if self.origins[unknown_argument] == origin
        ]:
            self.tokens[number] = self.tokens[number]._replace(value=value)
            self._unknown_arguments.discard(number)

    def record_delivery(self, number: int, event: Event) -> list[Move]:
        """The moves of a token that waits for partners, or of a deferred read."""
        node, port, tag, _ = event.token
        if event.deferred_at is not None:
            self._cells.defer(event.deferred_at, event.token)
            self._deferred_reads.setdefault(event.deferred_at, []).append(number)
            return [(number, TokenPlace.DEFERRED)]
        self._waiting_nodes.setdefault((node, tag), {})[port] = number
        return [(number, TokenPlace.WAITING), *self.update_readiness(self._flight_by_node[node, tag])]

    def record_firing(self, number: int, event: Event) -> list[Move]:
        """The moves of a firing: of the consumed tokens, the sent ones, and those whose readiness changes."""
        node, _, tag, _ = event.token
        key, rule = (node, tag), self._rules[node]
        consumed = [*(self._waiting_nodes.pop(key, {}).values() if rule.required_tokens > 1 else ()), number]
        moves = [(token, TokenPlace.CONSUMED) for token in sorted(consumed)]
        self._fired.add(key)
        moves += self.update_readiness(self._flight_by_node.pop(key))
        if rule.effect is not None:
            self._cells.apply(event, rule.node.op)
        moves += [self.place_token(token, event.is_throttled) for token in self.add_sent_tokens(event)]
        if rule.node.op == "store":
            moves += self.record_store(event)
        for closed in event.closed:
            self._fired.difference_update((fired_node, closed.tag) for fired_node in closed.fired_nodes)
        return moves

    def record_store(self, event: Event) -> list[Move]:
        """The moves of the deferred reads that a store wakes, and of reads in flight whose cell is now full."""
        assert event.inputs is not None
        handle, index, *_ = event.inputs
        woken = self._deferred_reads.pop(CellAddress(handle, index), []) if event.woken else []  # type: ignore[arg-type]
        moves = [self.join_flight(token) for token in woken]
        reads = [number for number in self._flight if self._rules[self.tokens[number].node].node.op in READ_OPS]
        return [*moves, *self.update_readiness(reads)]

    def add_sent_tokens(self, event: Event) -> list[int]:
        """Add the tokens that an event sent, each with its origin."""
        node, left = event.token.node, list(event.sent)
        numbers = []
        for output, _ in event.outputs if event.sent else ():
            edges = {Edge(-1, position) for position, number in enumerate(self.graph.results) if number == node}
            edges.update(self.graph.nodes[node].outputs[output].edges)
            while left and Edge(left[0].node, left[0].port) in edges:
                edges.discard(Edge(left[0].node, left[0].port))
                numbers.append(self._add_token(left.pop(0), TokenOrigin(node, output)))
        return numbers + [self._add_token(token, TokenOrigin(node, 0)) for token in left]

    def _add_token(self, token: Token, origin: TokenOrigin) -> int:
        self.tokens.append(token)
        self.origins.append(origin)
        return len(self.tokens) - 1

    def place_token(self, number: int, is_throttled: bool) -> Move:
        """The move of a new token: into flight, throttled by a k-bound, or out of the program as a result."""
        node, port, tag, _ = self.tokens[number]
        if node < 0:
            return number, TokenPlace.RETURNED
        if is_throttled:
            self._throttled[self._steps + 1, node, port, tag] = number
            return number, TokenPlace.THROTTLED
        return self.join_flight(number)

    def join_flight(self, number: int) -> Move:
        """Append a token to the flight."""
        self._flight.append(number)
        node, _, tag, _ = self.tokens[number]
        self._flight_by_node.setdefault((node, tag), set()).add(number)
        if not self.would_fire(number):
            return number, TokenPlace.IN_FLIGHT
        self._ready_nodes.add(number)
        return number, TokenPlace.READY

    def update_readiness(self, numbers: Iterable[int]) -> list[Move]:
        """The moves of tokens in flight that have become READY, or are READY no longer."""
        moves: list[Move] = []
        for number in sorted(numbers):
            would = self.would_fire(number)
            if would and number not in self._ready_nodes:
                self._ready_nodes.add(number)
                moves.append((number, TokenPlace.READY))
            elif not would and number in self._ready_nodes:
                self._ready_nodes.discard(number)
                moves.append((number, TokenPlace.IN_FLIGHT))
        return moves

    def would_fire(self, number: int) -> bool:
        """Whether the delivery of a token in flight would fire its node: S2, S4 and S13."""
        node, port, tag, _ = self.tokens[number]
        rule, waiting = self._rules[node], self._waiting_nodes.get((node, tag), {})
        if (node, tag) in self._fired or len(waiting) < rule.required_tokens - 1 or port in waiting:
            return False
        return rule.node.op not in READ_OPS or self.read_succeeds(number, waiting)

    def read_succeeds(self, number: int, waiting: dict[int, int]) -> bool:
        """Whether a read would succeed or trap instead of being deferred (S13); false if an operand is unknown."""
        token = self.tokens[number]
        rule = self._rules[token.node]
        operands = list(rule.operands or ())
        for port, token_number in [*waiting.items(), (token.port, number)]:
            operands[port] = self.tokens[token_number].value
        if rule.effect is None or any(operand is None for operand in operands):
            return False
        return rule.effect(self._cells.blocks, self._world, token, tuple(operands)).deferred_at is None


# The part of a recording that a page shows: all of it, a range of events, or an activation and those below it


MAX_EVENTS = 5_000
"""The default limit on events: a page with that many plays smoothly."""


class PlayerSegment(NamedTuple):
    """Some events of a run, by number, with the tokens that are live before the first event, and the moves at each."""

    recording: TokenRecording
    event_numbers: Sequence[int]
    initial_moves: Sequence[Move]
    moves: Sequence[Sequence[Move]]
    note: str = ""
    """A sentence about omitted events; empty if there are none."""


def select_segment(
    recording: TokenRecording, first: int = 0, most: int = MAX_EVENTS, under: str = "", *, is_over: bool = True
) -> PlayerSegment:
    """At most `most` events from event number `first` on, restricted to the activation `under` if it is not empty.
    `is_over` says whether the run ends with the recording.

    Raises Usage if there are none.
    """
    if most < 1 or first < 0:
        raise Usage("a page needs at least one event, from event 0 on", got=f"{most} events from {first} on")
    total = len(recording.events)
    full_segment = segment_below(recording, find_tag(recording, under)) if under else whole_segment(recording)
    positions = [index for index, number in enumerate(full_segment.event_numbers) if number >= first]
    if not positions and total:
        raise Usage("the run has no event there", required=f"an event before {total:,}", got=f"{first:,}")
    start = positions[0] if positions else 0
    shown_numbers = full_segment.event_numbers[start : start + most]
    live = live_tokens(
        TokenRecording(
            *recording[:4], list(full_segment.initial_moves), [list(move) for move in full_segment.moves[:start]]
        ),
        start,
    )
    segment = PlayerSegment(recording, shown_numbers, list(live.items()), full_segment.moves[start : start + most])
    return segment._replace(note=describe_omission(segment, under, is_over))


def describe_omission(segment: PlayerSegment, activation: str, is_over: bool) -> str:
    """A note that says which events a page leaves out; empty if it has all."""
    total, count = len(segment.recording.events), len(segment.event_numbers)
    if count == total and is_over:
        return ""
    events = f"{count:,} of {plural(total, 'event')} are" if is_over else f"{plural(count, 'event')} are"
    continuation = "" if is_over else "; the run goes on"
    if activation:
        return f"{events} shown: those under {activation}, from {segment.event_numbers[0]:,} on{continuation}"
    return f"{events} shown: {segment.event_numbers[0]:,} to {segment.event_numbers[-1]:,}{continuation}"


def whole_segment(recording: TokenRecording) -> PlayerSegment:
    """The segment with all events of a recording."""
    return PlayerSegment(recording, range(len(recording.events)), recording.initial_moves, recording.moves)


def find_tag(recording: TokenRecording, text: str) -> Tag:
    """The tag that is written this way; raises Usage if the run has none."""
    for token in recording.tokens:
        if str(token.tag) == text:
            return token.tag
    raise Usage("the run has no such activation", got=repr(text), hint="a tag is written main/fib/loop[2]")


def segment_below(recording: TokenRecording, tag: Tag) -> PlayerSegment:
    """The events that move a token of an activation or one below it, with only those tokens."""
    cache: dict[Tag, bool] = {}
    is_inside = [is_below(token.tag, tag, cache) for token in recording.tokens]
    moves = [
        [move for move in event_moves if is_inside[move[0]] and move[1] is not TokenPlace.RETURNED]
        for event_moves in recording.moves
    ]
    numbers = [number for number, event_moves in enumerate(moves) if event_moves]
    first = [move for move in recording.initial_moves if is_inside[move[0]]]
    return PlayerSegment(recording, numbers, first, [moves[number] for number in numbers])


def is_below(tag: Tag, root: Tag, cache: dict[Tag, bool]) -> bool:
    """Whether `tag` is `root` or below it; `cache` caches answers."""
    path = []
    ancestor: Tag | None = tag
    while ancestor is not None and ancestor not in cache and ancestor is not root and ancestor.depth >= root.depth:
        path.append(ancestor)
        ancestor = ancestor.parent
    result = ancestor is not None and cache.get(ancestor, ancestor == root)
    cache.update(dict.fromkeys(path, result))
    return result
