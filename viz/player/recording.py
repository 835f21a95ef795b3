"""Where every token of a run was, after each event: what the page replays.

Read off the events alone. A token has a number, and each event moves a few tokens; whoever carries the moves out, from
the beginning, has the tokens that the machine has, in flight in the machine's order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from ...core.errors import Usage
from ...core.graph.graph import Edge, Graph
from ...core.tag import ROOT, Tag
from ...core.value import Value
from ...core.world import World
from ...interp.machine.cells import Heap
from ...interp.machine.event import Cell, Event, Token
from ...interp.machine.fire import rules
from ...interp.queries.why import READS


class Place(IntEnum):
    """Where a token is. READY is in flight too, and its delivery would fire its node."""

    GONE = 0
    FLIGHT = 1
    READY = 2
    WAITS = 3
    PARKED = 4
    HELD = 5
    CAME = 6


Move: TypeAlias = tuple[int, Place]
"""A token by its number, and where it is from then on. One that joins the flight joins it behind all others."""

Key: TypeAlias = tuple[int, Tag]
"""A node, under a tag."""


class Origin(NamedTuple):
    """Where a token came from: a node, or -1 for the arguments, and which output, or argument, of it."""

    node: int
    output: int


class Recording(NamedTuple):
    """All tokens of a run, by number, and how each event moved them. The value of an argument that nothing was ever
    delivered of is None."""

    graph: Graph
    events: Sequence[Event]
    tokens: list[Token]
    origins: list[Origin]
    first: list[Move]
    moves: list[list[Move]]
    """For each event."""


def recorded(graph: Graph, events: Sequence[Event], arguments: Sequence[Value] | None = None) -> Recording:
    """The recording of a run, all of whose events are there. Raises Usage where they are of no run of a machine.

    What the arguments were, the events tell too, but of those that were never delivered.
    """
    made = _Recorder(graph)
    first = made.begin(arguments)
    return Recording(graph, events, made.tokens, made.origins, first, [made.see(event) for event in events])


def arguments_of(recording: Recording) -> list[Value]:
    """The arguments, triggers left out; "?" for those that the events do not tell."""
    graph = recording.graph
    known: dict[int, Value] = {}
    for number, _ in recording.first:
        value = recording.tokens[number].value
        if value is not None:
            known[recording.origins[number].output] = value
    return [known.get(position, "?") for position in range(graph.hidden, len(graph.arguments))]  # type: ignore[arg-type]


def live_after(recording: Recording, position: int) -> dict[int, Place]:
    """The tokens that are live after so many events, and where; those in flight are in its order."""
    live: dict[int, Place] = {}
    for moves in (recording.first, *recording.moves[:position]):
        move(live, moves)
    return live


def move(live: dict[int, Place], moves: Iterable[Move]) -> None:
    """Carry moves out."""
    for number, place in moves:
        flies = place in (Place.FLIGHT, Place.READY)
        if not place or (flies and live.get(number) not in (Place.FLIGHT, Place.READY)):
            live.pop(number, None)
        if place:
            live[number] = place


class _Recorder:
    """Follows a run by its events."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tokens: list[Token] = []
        self.origins: list[Origin] = []
        self._rules = rules(graph)
        self._flight: deque[int] = deque()
        self._ready: set[int] = set()
        self._flying: dict[Key, set[int]] = {}
        """What is in flight for a node."""
        self._waiting: dict[Key, dict[int, int]] = {}
        """What waits for partners, by port."""
        self._parked: dict[Cell, list[int]] = {}
        self._held: dict[tuple[int, int, int, Tag], int] = {}
        """What a bound holds, by the step that held it, node, port and tag."""
        self._fired: set[Key] = set()
        self._cells, self._world = Heap(), World()
        """What reads look at, of which none does anything to the world."""
        self._unknown: set[int] = set()
        """Arguments whose value nobody has said yet."""
        self._steps = 0

    def begin(self, arguments: Sequence[Value] | None) -> list[Move]:
        """The arguments, in flight."""
        made, hidden = [], self.graph.hidden
        for position, (_, output) in enumerate(self.graph.arguments):
            value = True if position < hidden else None if arguments is None else arguments[position - hidden]
            for edge in output.edges:
                number = self._new(Token(edge.node, edge.port, ROOT, value), Origin(-1, position))  # type: ignore[arg-type]
                if value is None:
                    self._unknown.add(number)
                made.append(number)
        return [self._join(number) for number in made]

    def see(self, event: Event) -> list[Move]:
        """How an event moves tokens."""
        number = self._deliver(event)
        moves = self._stays(number, event) if event.inputs is None else self._fires(number, event)
        for step, token in event.released:
            moves.append(self._join(self._held.pop((step, *token[:3]))))
        self._steps += 1
        return moves

    def _deliver(self, event: Event) -> int:
        """Take the token of an event out of the flight."""
        position = event.position
        if position >= len(self._flight) or self.tokens[self._flight[position]][:3] != event.token[:3]:
            raise Usage("these events are of no run of a machine", hint="a what-if has no page")
        number = self._flight[position]
        del self._flight[position]
        self._ready.discard(number)
        self._flying[event.token.node, event.token.tag].discard(number)
        if number in self._unknown:
            self._tell(self.origins[number], event.token.value)
        return number

    def _tell(self, origin: Origin, value: Value) -> None:
        """The value of an argument is known, for all tokens of it."""
        for number in [each for each in self._unknown if self.origins[each] == origin]:
            self.tokens[number] = self.tokens[number]._replace(value=value)
            self._unknown.discard(number)

    def _stays(self, number: int, event: Event) -> list[Move]:
        node, port, tag, _ = event.token
        if event.parked is not None:
            self._cells.park(event.parked, event.token)
            self._parked.setdefault(event.parked, []).append(number)
            return [(number, Place.PARKED)]
        self._waiting.setdefault((node, tag), {})[port] = number
        return [(number, Place.WAITS), *self._judged(self._flying[node, tag])]

    def _fires(self, number: int, event: Event) -> list[Move]:
        node, _, tag, _ = event.token
        key, rule = (node, tag), self._rules[node]
        gone = [*(self._waiting.pop(key, {}).values() if rule.needs > 1 else ()), number]
        moves = [(each, Place.GONE) for each in sorted(gone)]
        self._fired.add(key)
        moves += self._judged(self._flying.pop(key))
        if rule.acts is not None:
            self._cells.apply(event, rule.node.op)
        moves += [self._begins(each, event.held) for each in self._sent(event)]
        if rule.node.op == "store":
            moves += self._stored(event)
        for closed in event.closed:
            self._fired.difference_update((each, closed.tag) for each in closed.fired)
        return moves

    def _stored(self, event: Event) -> list[Move]:
        """The tokens that a store wakes, and those in flight that now find their cell full."""
        assert event.inputs is not None
        handle, index, *_ = event.inputs
        woken = self._parked.pop(Cell(handle, index), []) if event.woken else []  # type: ignore[arg-type]
        moves = [self._join(each) for each in woken]
        reads = [each for each in self._flight if self._rules[self.tokens[each].node].node.op in READS]
        return [*moves, *self._judged(reads)]

    def _sent(self, event: Event) -> list[int]:
        """New tokens, each with the output that it came from."""
        node, left = event.token.node, list(event.sent)
        made = []
        for output, _ in event.outputs if event.sent else ():
            edges = {Edge(-1, position) for position, number in enumerate(self.graph.results) if number == node}
            edges.update(self.graph.nodes[node].outputs[output].edges)
            while left and Edge(left[0].node, left[0].port) in edges:
                edges.discard(Edge(left[0].node, left[0].port))
                made.append(self._new(left.pop(0), Origin(node, output)))
        return made + [self._new(token, Origin(node, 0)) for token in left]

    def _new(self, token: Token, origin: Origin) -> int:
        self.tokens.append(token)
        self.origins.append(origin)
        return len(self.tokens) - 1

    def _begins(self, number: int, held: bool) -> Move:
        node, port, tag, _ = self.tokens[number]
        if node < 0:
            return number, Place.CAME
        if held:
            self._held[self._steps + 1, node, port, tag] = number
            return number, Place.HELD
        return self._join(number)

    def _join(self, number: int) -> Move:
        """A token joins the flight, behind all others."""
        self._flight.append(number)
        node, _, tag, _ = self.tokens[number]
        self._flying.setdefault((node, tag), set()).add(number)
        if not self._would_fire(number):
            return number, Place.FLIGHT
        self._ready.add(number)
        return number, Place.READY

    def _judged(self, numbers: Iterable[int]) -> list[Move]:
        """Those in flight of whom it is no longer true whether they would fire their node."""
        moves: list[Move] = []
        for number in sorted(numbers):
            would = self._would_fire(number)
            if would and number not in self._ready:
                self._ready.add(number)
                moves.append((number, Place.READY))
            elif not would and number in self._ready:
                self._ready.discard(number)
                moves.append((number, Place.FLIGHT))
        return moves

    def _would_fire(self, number: int) -> bool:
        """Whether the delivery of a token in flight would fire its node: S2, S4 and S13."""
        node, port, tag, _ = self.tokens[number]
        rule, waiting = self._rules[node], self._waiting.get((node, tag), {})
        if (node, tag) in self._fired or len(waiting) < rule.needs - 1 or port in waiting:
            return False
        return rule.node.op not in READS or self._finds(number, waiting)

    def _finds(self, number: int, waiting: dict[int, int]) -> bool:
        """Whether a read finds what it wants, be it a trap (S13); not where an operand is not known."""
        token = self.tokens[number]
        rule = self._rules[token.node]
        operands = list(rule.operands or ())
        for port, each in [*waiting.items(), (token.port, number)]:
            operands[port] = self.tokens[each].value
        if rule.acts is None or any(operand is None for operand in operands):
            return False
        return rule.acts(self._cells.blocks, self._world, token, tuple(operands)).parked is None
