"""The state of a token machine: the flight, and an activation record for every open tag.

`apply` and `revert` are the only things that change a state; each is the other's inverse. The record of a tag is
the centre: it knows what waits under the tag and what has fired, interns the tags below it, and counts what is
alive in it. S11 says when it closes.

S11 An activation closes when no token is in it, no activation below it is open, its arguments (an iteration: its
    loop variables) have come in and its results have gone out. Its tag is released with it. What is counted
    reaches the parent only when a record opens or closes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.tag import ENVIRONMENT, ROOT, Site, Tag
from ...core.value import Value, fingerprint
from ...core.world import World
from .activation import Record
from .cells import Heap
from .event import Event, Token
from .fire import Rule, bounds, is_watched, rules


def check_seed(seed: int) -> None:
    """Raises Usage where random numbers cannot come from that."""
    if type(seed) is not int or not 0 <= seed < 2**64:
        raise Usage("a seed is an integer from 0, below 2**64", got=repr(seed))


class State:
    """What a machine knows between two steps."""

    def __init__(
        self,
        graph: Graph,
        arguments: Sequence[Value],
        *,
        seed: int = 0,
        bound: int | None = None,
        clocked: bool = False,
        world: World | None = None,
    ) -> None:
        """The first state of a run: the arguments in flight under the root tag, triggers before them.

        `seed` is that of random numbers; `bound` takes the place of the bounds that loops have; effects go to `world`.
        `clocked` says that the schedule is `waves`, on which held tokens are released between waves.
        """
        self.graph = graph
        self._seed, self._bound = seed, bound
        self.bounds = bounds(graph, bound)
        """The bounds on the iterations of loops, by site; where there is none, nobody is counted as busy."""
        self.watched = frozenset(number for number, node in enumerate(graph.nodes) if is_watched(node))
        """The nodes that may take long, or more than the machine: what makes arrays, and effects."""
        self.clocked = clocked
        self.world = World() if world is None else world
        self.signatures = _signatures(graph)
        self.records: dict[Tag, Record] = {}
        self.flight: deque[Token] = deque()
        self.results: dict[int, Value] = {}
        """The results that have come, by position."""
        self.traps: list[Event] = []
        self.counts = [0] * len(graph.nodes)
        """Firings by node."""
        self.opened: dict[Site, int] = {}
        """How many activations each site has had: calls, or iterations of a loop."""
        self.firings = 0
        self.steps = 0
        self.waiting = 0
        """How many tokens wait, in all records."""
        self.cells = Heap()
        self.held: dict[Tag, tuple[tuple[int, Token], ...]] = {}
        """What is held for iterations, with the number of the step that held it."""
        self.holding = 0
        """How many tokens are held."""
        self.era = object()
        """Which records are this state's own: see `fork`."""
        root = self._open(ROOT)
        root.arrived = len(graph.arguments)
        values = [True] * graph.hidden + list(arguments)
        for (_, output), value in zip(graph.arguments, values, strict=True):
            self.flight.extend(Token(edge.node, edge.port, ROOT, value) for edge in output.edges)
        root.tokens = len(self.flight)
        root.busy = len(self.flight) if self.bounds else 0
        self.ahead = len(self.flight)
        """How many tokens of the wave under way are still to be delivered."""

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rule of every node: worked out when the first is asked for, which an engine may never do."""
        return rules(self.graph, self._seed, self._bound)

    def fork(self) -> State:
        """An equal state that goes its own way, in time that grows with what is open, but by little: records are shared
        until one of the two changes them."""
        made = copy(self)
        made.records, made.flight, made.results = self.records.copy(), self.flight.copy(), self.results.copy()
        made.traps, made.counts, made.opened = self.traps.copy(), self.counts.copy(), self.opened.copy()
        made.cells, made.held = self.cells.fork(), self.held.copy()
        self.era, made.era = object(), object()
        return made

    @property
    def live(self) -> int:
        """How many tokens there are: in flight, waiting, parked and held."""
        return len(self.flight) + self.waiting + self.cells.parked + self.holding

    def child(self, tag: Tag, site: Site, iteration: int) -> Tag:
        """The tag below `tag`: the interned one where that activation is open, else a new one."""
        record = self.records.get(tag)
        known = record.children.get((site, iteration)) if record is not None else None
        return known if known is not None else tag.child(site, iteration)

    def apply(self, event: Event) -> None:
        """Do what an event says."""
        token, position, inputs, _, sent, trap, closed, _, parked, woken, held, released = event
        number, port, tag, value = token
        if position == 0:
            self.flight.popleft()
        elif position == len(self.flight) - 1:
            self.flight.pop()
        else:
            del self.flight[position]
        self.steps += 1
        record = self.records[tag]
        if record.era is not self.era:
            record = self._own(record)
        if inputs is None:
            if parked is None:
                record.waiting.setdefault(number, {})[port] = value
                self.waiting += 1
            else:
                self.cells.park(parked, token)
            if released:
                self._release(released)
            self.ahead = self.ahead - 1 or len(self.flight)
            return
        rule = self.rules[number]
        if rule.needs > 1:
            del record.waiting[number]
            self.waiting -= rule.needs - 1
        record.fired.add(number)
        record.tokens -= rule.needs
        record.left += rule.leaves
        self.counts[number] += 1
        self.firings += 1
        if trap is not None:
            self.traps.append(event)
        if sent:
            self._send(sent, record, rule.arrives, held)
        if rule.acts is not None:
            self.cells.apply(event, rule.node.op)
            self.flight.extend(woken)
        if self.bounds:
            self._count_busy(event, rule, 1)
            self._release(released)
        for finished in closed:
            self._close(finished.tag)
        self.ahead = self.ahead - 1 or len(self.flight)

    def revert(self, event: Event) -> None:
        """Undo an event: the last one that was applied."""
        (number, port, tag, _), position, inputs, _, sent, trap, closed, _, parked, woken, held, released = event
        self.ahead = 1 if event.ends_wave else self.ahead + 1
        for finished in reversed(closed):
            reopened = self._open(finished.tag)
            reopened.fired = set(finished.fired)
            reopened.arrived, reopened.left = reopened.wanted
        if released:
            self._hold_again(released)
        for _ in woken:
            self.flight.pop()
        record = self._mine(tag)
        if parked is not None:
            self.cells.unpark(parked)
        elif inputs is None:
            del record.waiting[number][port]
            if not record.waiting[number]:
                del record.waiting[number]
            self.waiting -= 1
        else:
            rule = self.rules[number]
            if rule.acts is not None:
                self.cells.revert(event, rule.node.op)
            if self.bounds:
                self._count_busy(event, rule, -1)
            if sent:
                self._unsend(sent, rule.arrives and sent[0].tag is not tag.parent, held)
            if trap is not None:
                self.traps.pop()
            self.firings -= 1
            self.counts[number] -= 1
            record.left -= rule.leaves
            record.tokens += rule.needs
            record.fired.remove(number)
            if rule.needs > 1:
                tokens = [p for p, literal in enumerate(rule.node.ports) if literal is None and p != port]
                record.waiting[number] = {p: inputs[p] for p in tokens}
                self.waiting += rule.needs - 1
        self.steps -= 1
        self.flight.insert(position, event.token)

    def _send(self, sent: tuple[Token, ...], record: Record, arrives: bool, held: bool) -> None:
        """The tokens of one firing, which are all under one tag."""
        node, position, tag, value = sent[0]
        if node < 0:
            self.results[position] = value
            return
        target = record if tag is record.tag else self.records.get(tag) or self._begin(tag)
        if target.era is not self.era:
            target = self._own(target)
        target.tokens += len(sent)
        target.arrived += arrives and tag is not record.tag.parent
        if held:
            self.held[tag] = (*self.held.get(tag, ()), *((self.steps, token) for token in sent))
            self.holding += len(sent)
            self.busier(tag.parent, len(sent))
        else:
            self.flight.extend(sent)

    def _unsend(self, sent: tuple[Token, ...], arrives: bool, held: bool) -> None:
        node, position, tag, _ = sent[0]
        if node < 0:
            del self.results[position]
            return
        if held:
            self._keep_held(tag, self.held[tag][: -len(sent)])
            self.holding -= len(sent)
            self.busier(tag.parent, -len(sent))
        else:
            for _ in sent:
                self.flight.pop()
        target = self._mine(tag)
        target.tokens -= len(sent)
        target.arrived -= arrives
        if target.is_blank() and tag is not ROOT:
            self._close(tag)
            self.opened[tag.site] -= 1

    def _release(self, released: tuple[tuple[int, Token], ...]) -> None:
        """S16: held tokens join the flight."""
        for step, token in released:
            self._keep_held(token.tag, tuple(entry for entry in self.held[token.tag] if entry != (step, token)))
            self.flight.append(token)
            self.busier(token.tag, 1)
            self.busier(token.tag.parent, -1)
        self.holding -= len(released)

    def _hold_again(self, released: tuple[tuple[int, Token], ...]) -> None:
        for entry in released:
            self.flight.pop()
            tag = entry[1].tag
            self.held[tag] = tuple(sorted((*self.held.get(tag, ()), entry), key=lambda held: held[0]))
            self.busier(tag.parent, 1)
            self.busier(tag, -1)
        self.holding += len(released)

    def _keep_held(self, tag: Tag, entries: tuple[tuple[int, Token], ...]) -> None:
        if entries:
            self.held[tag] = entries
        else:
            del self.held[tag]

    def _count_busy(self, event: Event, rule: Rule, by: int) -> None:
        """What a firing makes busy, and what it leaves."""
        if event.sent and event.sent[0].node >= 0 and not event.held:
            self.busier(event.sent[0].tag, by * self.counted(event.sent))
        self.busier(event.token.tag, -by * rule.needs * rule.counts)

    def counted(self, sent: tuple[Token, ...]) -> int:
        """How many of these tokens make the iteration busy that they are in: not those bound for the reverse pass."""
        return sum(self.rules[token.node].counts for token in sent)

    def busier(self, at: Tag | None, by: int) -> None:
        """Count more tokens, or fewer, that are not held in an activation, and it in those around it."""
        while at is not None and by and at in self.records:
            record = self._mine(at)
            before, record.busy = record.busy, record.busy + by
            by = (record.busy > 0) - (before > 0)
            at = at.parent

    def _begin(self, tag: Tag) -> Record:
        self.opened[tag.site] = self.opened.get(tag.site, 0) + 1
        return self._open(tag)

    def _mine(self, tag: Tag) -> Record:
        """The record of an open tag, to be changed."""
        record = self.records[tag]
        return record if record.era is self.era else self._own(record)

    def _own(self, record: Record) -> Record:
        made = self.records[record.tag] = record.copy(self.era)
        return made

    def _open(self, tag: Tag) -> Record:
        record = self.records[tag] = Record(tag, self.signatures.get(tag.site, (0, 0)), self.era)
        if tag.parent in self.records:
            parent = self._mine(tag.parent)
            parent.open += 1
            parent.children[tag.site, tag.iteration] = tag
        return record

    def _close(self, tag: Tag) -> None:
        del self.records[tag]
        if tag.parent in self.records:
            parent = self._mine(tag.parent)
            parent.open -= 1
            del parent.children[tag.site, tag.iteration]

    def snapshot(self) -> Any:
        """The state as plain data: equal snapshots are equal states."""
        flight = [(token.node, token.port, token.tag, fingerprint(token.value)) for token in self.flight]
        records = {tag: record.snapshot() for tag, record in self.records.items()}
        results = {position: fingerprint(value) for position, value in self.results.items()}
        held = {
            tag: [(step, t.node, t.port, fingerprint(t.value)) for step, t in entries]
            for tag, entries in self.held.items()
        }
        opened = {site: count for site, count in self.opened.items() if count}
        counts = list(self.counts), opened, self.firings, self.steps, self.waiting, self.ahead
        return flight, records, results, list(self.traps), counts, self.cells.snapshot(), held, self.holding


def _signatures(graph: Graph) -> dict[Site, tuple[int, int]]:
    """For every site, how many values enter an activation of it, and how many leave."""
    found = {ENVIRONMENT: (len(graph.arguments), 0)}
    for node in graph.nodes:
        if node.site is not None and node.op in ("call", "enter", "reenter", "return"):
            coming, going = found.get(node.site, (0, 0))
            found[node.site] = (coming + (node.op != "return"), going + (node.op == "return"))
    return found
