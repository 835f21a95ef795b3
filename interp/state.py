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
from typing import Any

from ..core.graph import Graph
from ..core.tag import ENVIRONMENT, ROOT, Site, Tag
from ..core.value import Value, fingerprint
from .event import Event, Token
from .fire import rules


class Record:
    """The activation record of a tag."""

    __slots__ = ("arrived", "children", "fired", "left", "open", "parent", "tag", "tokens", "waiting", "wanted")

    def __init__(self, tag: Tag, parent: Record | None, wanted: tuple[int, int]) -> None:
        self.tag = tag
        self.parent = parent
        self.wanted = wanted
        """How many arguments or loop variables come in, and how many results go out."""
        self.children: dict[tuple[Site, int], Tag] = {}
        """The interned tags of the open activations below."""
        self.waiting: dict[int, dict[int, Value]] = {}
        """What has been delivered and waits for partners: by node, then port."""
        self.fired: set[int] = set()
        self.tokens = 0
        """The tokens in this activation, in flight or waiting."""
        self.open = 0
        """The open activations directly below."""
        self.arrived = 0
        self.left = 0

    def snapshot(self) -> Any:
        waiting = {node: {p: fingerprint(v) for p, v in held.items()} for node, held in self.waiting.items()}
        counts = (self.tokens, self.open, self.arrived, self.left)
        return waiting, frozenset(self.fired), counts, frozenset(self.children)

    def is_blank(self) -> bool:
        """Whether nothing has ever happened in it."""
        return not (self.tokens or self.open or self.arrived or self.left or self.fired or self.waiting)


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
        root = self._open(ROOT)
        root.arrived = len(graph.arguments)
        values = [True] * graph.hidden + list(arguments)
        for (_, output), value in zip(graph.arguments, values, strict=True):
            self.flight.extend(Token(edge.node, edge.port, ROOT, value) for edge in output.edges)
        root.tokens = len(self.flight)

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
        (number, port, tag, value), position, inputs, _, sent, trap, closed = event
        if position == 0:
            self.flight.popleft()
        elif position == len(self.flight) - 1:
            self.flight.pop()
        else:
            del self.flight[position]
        self.steps += 1
        record = self.records[tag]
        if inputs is None:
            record.waiting.setdefault(number, {})[port] = value
            self.waiting += 1
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
            self._close(self.records[finished.tag])

    def revert(self, event: Event) -> None:
        """Undo an event: the last one that was applied."""
        (number, port, tag, _), position, inputs, _, sent, trap, closed = event
        for finished in reversed(closed):
            reopened = self._open(finished.tag)
            reopened.fired = set(finished.fired)
            reopened.arrived, reopened.left = reopened.wanted
        record = self.records[tag]
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
        target = record if tag is record.tag else self.records.get(tag) or self._begin(tag)
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
        target = self.records[tag]
        target.tokens -= len(sent)
        target.arrived -= arrives
        if target.is_blank() and tag is not ROOT:
            self._close(target)
            self.opened[tag.site] -= 1

    def _begin(self, tag: Tag) -> Record:
        self.opened[tag.site] = self.opened.get(tag.site, 0) + 1
        return self._open(tag)

    def _open(self, tag: Tag) -> Record:
        parent = self.records.get(tag.parent) if tag.parent else None
        record = self.records[tag] = Record(tag, parent, self.signatures.get(tag.site, (0, 0)))
        if parent is not None:
            parent.open += 1
            parent.children[tag.site, tag.iteration] = tag
        return record

    def _close(self, record: Record) -> None:
        tag, parent = record.tag, record.parent
        del self.records[tag]
        if parent is not None:
            parent.open -= 1
            del parent.children[tag.site, tag.iteration]

    def snapshot(self) -> Any:
        """The state as plain data: equal snapshots are equal states."""
        flight = [(token.node, token.port, token.tag, fingerprint(token.value)) for token in self.flight]
        records = {tag: record.snapshot() for tag, record in self.records.items()}
        results = {position: fingerprint(value) for position, value in self.results.items()}
        opened = {site: count for site, count in self.opened.items() if count}
        counts = list(self.counts), opened, self.firings, self.steps, self.waiting
        return flight, records, results, list(self.traps), counts


def _signatures(graph: Graph) -> dict[Site, tuple[int, int]]:
    """For every site, how many values enter an activation of it, and how many leave."""
    found = {ENVIRONMENT: (len(graph.arguments), 0)}
    for node in graph.nodes:
        if node.site is not None and node.op in ("call", "enter", "return"):
            coming, going = found.get(node.site, (0, 0))
            found[node.site] = (coming + (node.op != "return"), going + (node.op == "return"))
    return found
