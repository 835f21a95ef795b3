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
from typing import Any

from ..core.graph import Graph
from ..core.tag import ENVIRONMENT, ROOT, Site, Tag
from ..core.value import Value, fingerprint
from .activation import Record
from .event import Event, Token
from .fire import rules


class State:
    """What a machine knows between two steps."""

    def __init__(self, graph: Graph, arguments: Sequence[Value]) -> None:
        """The first state of a run: the arguments in flight under the root tag, triggers before them."""
        self.graph = graph
        self.rules = rules(graph)
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
        self.era = object()
        """Which records are this state's own: see `fork`."""
        root = self._open(ROOT)
        root.arrived = len(graph.arguments)
        values = [True] * graph.hidden + list(arguments)
        for (_, output), value in zip(graph.arguments, values, strict=True):
            self.flight.extend(Token(edge.node, edge.port, ROOT, value) for edge in output.edges)
        root.tokens = len(self.flight)
        self.ahead = len(self.flight)
        """How many tokens of the wave under way are still to be delivered."""

    def fork(self) -> State:
        """An equal state that goes its own way, in time that grows with what is open, but by little: records are shared
        until one of the two changes them."""
        made = copy(self)
        made.records, made.flight, made.results = self.records.copy(), self.flight.copy(), self.results.copy()
        made.traps, made.counts, made.opened = self.traps.copy(), self.counts.copy(), self.opened.copy()
        self.era, made.era = object(), object()
        return made

    @property
    def live(self) -> int:
        """How many tokens there are, in flight and waiting."""
        return len(self.flight) + self.waiting

    def child(self, tag: Tag, site: Site, iteration: int) -> Tag:
        """The tag below `tag`: the interned one where that activation is open, else a new one."""
        record = self.records.get(tag)
        known = record.children.get((site, iteration)) if record is not None else None
        return known if known is not None else tag.child(site, iteration)

    def apply(self, event: Event) -> None:
        """Do what an event says."""
        (number, port, tag, value), position, inputs, _, sent, trap, closed, *_ = event
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
            record.waiting.setdefault(number, {})[port] = value
            self.waiting += 1
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
            self._send(sent, record, rule.arrives)
        for finished in closed:
            self._close(finished.tag)
        self.ahead = self.ahead - 1 or len(self.flight)

    def revert(self, event: Event) -> None:
        """Undo an event: the last one that was applied."""
        (number, port, tag, _), position, inputs, _, sent, trap, closed, *_ = event
        self.ahead = 1 if event.ends_wave else self.ahead + 1
        for finished in reversed(closed):
            reopened = self._open(finished.tag)
            reopened.fired = set(finished.fired)
            reopened.arrived, reopened.left = reopened.wanted
        record = self._mine(tag)
        self.steps -= 1
        if inputs is None:
            del record.waiting[number][port]
            if not record.waiting[number]:
                del record.waiting[number]
            self.waiting -= 1
        else:
            rule = self.rules[number]
            if sent:
                self._unsend(sent, rule.arrives)
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
        self.flight.insert(position, event.token)

    def _send(self, sent: tuple[Token, ...], record: Record, arrives: bool) -> None:
        """The tokens of one firing, which are all under one tag."""
        node, position, tag, value = sent[0]
        if node < 0:
            self.results[position] = value
            return
        target = record if tag is record.tag else self._mine(tag) if tag in self.records else self._begin(tag)
        target.tokens += len(sent)
        target.arrived += arrives
        self.flight.extend(sent)

    def _unsend(self, sent: tuple[Token, ...], arrives: bool) -> None:
        node, position, tag, _ = sent[0]
        if node < 0:
            del self.results[position]
            return
        for _ in sent:
            self.flight.pop()
        target = self._mine(tag)
        target.tokens -= len(sent)
        target.arrived -= arrives
        if target.is_blank() and tag is not ROOT:
            self._close(tag)
            self.opened[tag.site] -= 1

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
        opened = {site: count for site, count in self.opened.items() if count}
        counts = list(self.counts), opened, self.firings, self.steps, self.waiting, self.ahead
        return flight, records, results, list(self.traps), counts


def _signatures(graph: Graph) -> dict[Site, tuple[int, int]]:
    """For every site, how many values enter an activation of it, and how many leave."""
    found = {ENVIRONMENT: (len(graph.arguments), 0)}
    for node in graph.nodes:
        if node.site is not None and node.op in ("call", "enter", "return"):
            coming, going = found.get(node.site, (0, 0))
            found[node.site] = (coming + (node.op != "return"), going + (node.op == "return"))
    return found
