"""The state of a token machine: the flight, and an activation record for every open tag.

Only `apply` and `revert` change a state; each is the inverse of the other. The record of a tag holds the operands that
wait under it and the nodes that have fired, interns the child tags, and counts the tokens alive in it. S11 says when it
closes.

S11 An activation closes when no token is in it, no activation below it is open, its arguments (of an iteration, its
    loop variables) have come in and its results have gone out. Its tag is released with it. A parent's counts change
    only when a child record opens or closes.
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
from .activation import ActivationRecord
from .cells import CellHeap
from .event import Event, Token
from .fire import FiringRule, build_rules, loop_bounds, needs_limit_check


def check_seed(seed: int) -> None:
    """Raises Usage for an invalid seed of random numbers."""
    if type(seed) is not int or not 0 <= seed < 2**64:
        python = ValueError if type(seed) is int else TypeError
        raise Usage("seed must be an integer from 0 up, below 2**64", got=repr(seed), python=python)


class State:
    """The state of a machine between two steps."""

    def __init__(
        self,
        graph: Graph,
        arguments: Sequence[Value] | None,
        *,
        seed: int = 0,
        bound: int | None = None,
        is_clocked: bool = False,
        world: World | None = None,
    ) -> None:
        """The initial state of a run: the triggers and the arguments are in flight under the root tag. Without
        arguments (None), a state without any activation, of a machine that gets its tokens from others.

        `seed` seeds random numbers; `bound` overrides the k-bounds of all loops; effects go to `world`. `is_clocked`
        says that the schedule is `waves`, under which throttled tokens are released between waves.
        """
        self.graph = graph
        self._seed, self._bound = seed, bound
        self.loop_bounds = loop_bounds(graph, bound)
        """The k-bounds of loops, by site; if it is empty, busy tokens are not counted."""
        self.limit_checked_nodes = frozenset(
            number for number, node in enumerate(graph.nodes) if needs_limit_check(node)
        )
        """The nodes that may take long or allocate much memory: those that make arrays or have effects."""
        self.is_clocked = is_clocked
        self.world = World() if world is None else world
        self.signatures = activation_signatures(graph)
        self.records: dict[Tag, ActivationRecord] = {}
        self.flight: deque[Token] = deque()
        self.results: dict[int, Value] = {}
        """The results that have arrived, by position."""
        self.trap_events: list[Event] = []
        self.firings_by_node = [0] * len(graph.nodes)
        """The number of firings, by node."""
        self.activations_by_site: dict[Site, int] = {}
        """The number of activations so far, by site: calls, or iterations of a loop."""
        self.firings = 0
        self.steps = 0
        self.waiting_count = 0
        """The number of operands that wait, in all records."""
        self.cells = CellHeap()
        self.throttled_tokens: dict[Tag, tuple[tuple[int, Token], ...]] = {}
        """The throttled tokens, by iteration, with the number of the step that sent them."""
        self.throttled_count = 0
        """The number of throttled tokens."""
        self.owner = object()
        """Marks the records that belong to this state alone: see `fork`."""
        if arguments is not None:
            self._open_root(arguments)
        self.wave_remaining = len(self.flight)
        """The number of tokens of the current wave that are still to be delivered."""

    def _open_root(self, arguments: Sequence[Value]) -> None:
        root = self._open_record(ROOT)
        root.arguments_received = len(self.graph.arguments)
        values = [True] * self.graph.hidden_count + list(arguments)
        for (_, output), value in zip(self.graph.arguments, values, strict=True):
            self.flight.extend(Token(edge.node, edge.port, ROOT, value) for edge in output.edges)
        root.token_count = len(self.flight)
        root.busy_count = len(self.flight) if self.loop_bounds else 0

    @cached_property
    def rules(self) -> tuple[FiringRule, ...]:
        """The rule of every node, built on first use, since some engines never need them."""
        return build_rules(self.graph, self._seed, self._bound)

    def fork(self) -> State:
        """An equal, independent state. Both share each record until one of them changes it, so that forking is
        cheap."""
        fork = copy(self)
        fork.records, fork.flight, fork.results = self.records.copy(), self.flight.copy(), self.results.copy()
        fork.trap_events, fork.firings_by_node, fork.activations_by_site = (
            self.trap_events.copy(),
            self.firings_by_node.copy(),
            self.activations_by_site.copy(),
        )
        fork.cells, fork.throttled_tokens = self.cells.fork(), self.throttled_tokens.copy()
        self.owner, fork.owner = object(), object()
        return fork

    @property
    def live_count(self) -> int:
        """The number of live tokens: in flight, waiting, deferred at cells, and throttled."""
        return len(self.flight) + self.waiting_count + self.cells.deferred_count + self.throttled_count

    def child(self, tag: Tag, site: Site, iteration: int) -> Tag:
        """The child tag of `tag`: the interned one where that activation is open, else a new one."""
        record = self.records.get(tag)
        child_tag = record.child_tags.get((site, iteration)) if record is not None else None
        return child_tag if child_tag is not None else tag.child(site, iteration)

    def apply(self, event: Event) -> None:
        """Apply an event."""
        token, position, inputs, _, sent, trap, closed, _, deferred_at, woken, throttled, released = event
        number, port, tag, value = token
        if position == 0:
            self.flight.popleft()
        elif position == len(self.flight) - 1:
            self.flight.pop()
        else:
            del self.flight[position]
        self.steps += 1
        record = self.records[tag]
        if record.owner is not self.owner:
            record = self._copy_record(record)
        if inputs is None:
            if deferred_at is None:
                record.waiting_operands.setdefault(number, {})[port] = value
                self.waiting_count += 1
            else:
                self.cells.defer(deferred_at, token)
            if released:
                self._release(released)
            self.wave_remaining = self.wave_remaining - 1 or len(self.flight)
            return
        rule = self.rules[number]
        if rule.required_tokens > 1:
            del record.waiting_operands[number]
            self.waiting_count -= rule.required_tokens - 1
        record.fired_nodes.add(number)
        record.token_count -= rule.required_tokens
        record.results_returned += rule.returns_result
        self.firings_by_node[number] += 1
        self.firings += 1
        if trap is not None:
            self.trap_events.append(event)
        if sent:
            self._apply_send(sent, record, rule.sends_argument, throttled)
        if rule.effect is not None:
            self.cells.apply(event, rule.node.op)
            self.flight.extend(woken)
        if self.loop_bounds:
            self._update_busy(event, rule, 1)
            self._release(released)
        for finished in closed:
            self.close_record(finished.tag)
        self.wave_remaining = self.wave_remaining - 1 or len(self.flight)

    def revert(self, event: Event) -> None:
        """Undo an event, which must be the last one applied."""
        (number, port, tag, _), position, inputs, _, sent, trap, closed, _, deferred_at, woken, throttled, released = (
            event
        )
        self.wave_remaining = 1 if event.ends_wave else self.wave_remaining + 1
        for finished in reversed(closed):
            reopened = self._open_record(finished.tag)
            reopened.fired_nodes = set(finished.fired_nodes)
            reopened.arguments_received, reopened.results_returned = reopened.signature
        if released:
            self._revert_release(released)
        for _ in woken:
            self.flight.pop()
        record = self._writable_record(tag)
        if deferred_at is not None:
            self.cells.undo_defer(deferred_at)
        elif inputs is None:
            del record.waiting_operands[number][port]
            if not record.waiting_operands[number]:
                del record.waiting_operands[number]
            self.waiting_count -= 1
        else:
            rule = self.rules[number]
            if rule.effect is not None:
                self.cells.revert(event, rule.node.op)
            if self.loop_bounds:
                self._update_busy(event, rule, -1)
            if sent:
                self._revert_send(sent, rule.sends_argument and sent[0].tag is not tag.parent, throttled)
            if trap is not None:
                self.trap_events.pop()
            self.firings -= 1
            self.firings_by_node[number] -= 1
            record.results_returned -= rule.returns_result
            record.token_count += rule.required_tokens
            record.fired_nodes.remove(number)
            if rule.required_tokens > 1:
                tokens = [p for p, literal in enumerate(rule.node.ports) if literal is None and p != port]
                record.waiting_operands[number] = {p: inputs[p] for p in tokens}
                self.waiting_count += rule.required_tokens - 1
        self.steps -= 1
        self.flight.insert(position, event.token)

    def _apply_send(self, sent: tuple[Token, ...], record: ActivationRecord, arrives: bool, throttled: bool) -> None:
        """Add the tokens of one firing, which all have the same tag."""
        node, position, tag, value = sent[0]
        if node < 0:
            self.results[position] = value
            return
        target = record if tag is record.tag else self.records.get(tag) or self._start_activation(tag)
        if target.owner is not self.owner:
            target = self._copy_record(target)
        target.token_count += len(sent)
        target.arguments_received += arrives and tag is not record.tag.parent
        if throttled:
            self.throttled_tokens[tag] = (*self.throttled_tokens.get(tag, ()), *((self.steps, token) for token in sent))
            self.throttled_count += len(sent)
            self.add_busy(tag.parent, len(sent))
        else:
            self.flight.extend(sent)

    def receive(self, tokens: Sequence[Token], *, is_argument: bool) -> None:
        """Add tokens that a firing on another machine sent, all under one tag. `is_argument` says that they enter an
        activation, as an argument or a loop variable."""
        tag = tokens[0].tag
        target = self._writable_record(tag) if tag in self.records else self._start_activation(tag)
        target.token_count += len(tokens)
        target.arguments_received += is_argument
        self.flight.extend(tokens)

    def _revert_send(self, sent: tuple[Token, ...], arrives: bool, throttled: bool) -> None:
        node, position, tag, _ = sent[0]
        if node < 0:
            del self.results[position]
            return
        if throttled:
            self._set_throttled(tag, self.throttled_tokens[tag][: -len(sent)])
            self.throttled_count -= len(sent)
            self.add_busy(tag.parent, -len(sent))
        else:
            for _ in sent:
                self.flight.pop()
        target = self._writable_record(tag)
        target.token_count -= len(sent)
        target.arguments_received -= arrives
        if target.is_blank() and tag is not ROOT:
            self.close_record(tag)
            self.activations_by_site[tag.site] -= 1

    def _release(self, released: tuple[tuple[int, Token], ...]) -> None:
        """S16: throttled tokens join the flight."""
        for step, token in released:
            self._set_throttled(
                token.tag, tuple(entry for entry in self.throttled_tokens[token.tag] if entry != (step, token))
            )
            self.flight.append(token)
            self.add_busy(token.tag, 1)
            self.add_busy(token.tag.parent, -1)
        self.throttled_count -= len(released)

    def _revert_release(self, released: tuple[tuple[int, Token], ...]) -> None:
        for entry in released:
            self.flight.pop()
            tag = entry[1].tag
            self.throttled_tokens[tag] = tuple(
                sorted((*self.throttled_tokens.get(tag, ()), entry), key=lambda throttled: throttled[0])
            )
            self.add_busy(tag.parent, 1)
            self.add_busy(tag, -1)
        self.throttled_count += len(released)

    def _set_throttled(self, tag: Tag, entries: tuple[tuple[int, Token], ...]) -> None:
        if entries:
            self.throttled_tokens[tag] = entries
        else:
            del self.throttled_tokens[tag]

    def _update_busy(self, event: Event, rule: FiringRule, sign: int) -> None:
        """Update the busy counts for the tokens that a firing consumes and sends; `sign` is -1 to undo that."""
        if event.sent and event.sent[0].node >= 0 and not event.is_throttled:
            self.add_busy(event.sent[0].tag, sign * self.count_busy_tokens(event.sent))
        self.add_busy(event.token.tag, -sign * rule.required_tokens * rule.counts_as_busy)

    def count_busy_tokens(self, sent: tuple[Token, ...]) -> int:
        """The number of these tokens that make their iteration busy: all but those bound for the reverse pass."""
        return sum(self.rules[token.node].counts_as_busy for token in sent)

    def add_busy(self, tag: Tag | None, change: int) -> None:
        """Change the busy count of an activation; if it becomes zero or stops being zero, change the counts of its
        ancestors."""
        while tag is not None and change and tag in self.records:
            record = self._writable_record(tag)
            old_count, record.busy_count = record.busy_count, record.busy_count + change
            change = (record.busy_count > 0) - (old_count > 0)
            tag = tag.parent

    def _start_activation(self, tag: Tag) -> ActivationRecord:
        self.activations_by_site[tag.site] = self.activations_by_site.get(tag.site, 0) + 1
        return self._open_record(tag)

    def _writable_record(self, tag: Tag) -> ActivationRecord:
        """The record of an open tag, safe to change."""
        record = self.records[tag]
        return record if record.owner is self.owner else self._copy_record(record)

    def _copy_record(self, record: ActivationRecord) -> ActivationRecord:
        duplicate = self.records[record.tag] = record.copy(self.owner)
        return duplicate

    def _open_record(self, tag: Tag) -> ActivationRecord:
        record = self.records[tag] = ActivationRecord(tag, self.signatures.get(tag.site, (0, 0)), self.owner)
        if tag.parent in self.records:
            parent = self._writable_record(tag.parent)
            parent.open_children += 1
            parent.child_tags[tag.site, tag.iteration] = tag
        return record

    def close_record(self, tag: Tag) -> None:
        """Close the activation of a tag (S11)."""
        del self.records[tag]
        if tag.parent in self.records:
            parent = self._writable_record(tag.parent)
            parent.open_children -= 1
            del parent.child_tags[tag.site, tag.iteration]

    def snapshot(self) -> Any:
        """The state as plain data: equal snapshots are equal states."""
        flight = [(token.node, token.port, token.tag, fingerprint(token.value)) for token in self.flight]
        records = {tag: record.snapshot() for tag, record in self.records.items()}
        results = {position: fingerprint(value) for position, value in self.results.items()}
        throttled = {
            tag: [(step, t.node, t.port, fingerprint(t.value)) for step, t in entries]
            for tag, entries in self.throttled_tokens.items()
        }
        open_counts = {site: count for site, count in self.activations_by_site.items() if count}
        counts = (
            list(self.firings_by_node),
            open_counts,
            self.firings,
            self.steps,
            self.waiting_count,
            self.wave_remaining,
        )
        return (
            flight,
            records,
            results,
            list(self.trap_events),
            counts,
            self.cells.snapshot(),
            throttled,
            self.throttled_count,
        )


def activation_signatures(graph: Graph) -> dict[Site, tuple[int, int]]:
    """The number of values that enter and leave an activation, for every site."""
    signatures = {ENVIRONMENT: (len(graph.arguments), 0)}
    for node in graph.nodes:
        if node.site is not None and node.op in ("call", "enter", "reenter", "return"):
            inputs, outputs = signatures.get(node.site, (0, 0))
            signatures[node.site] = (inputs + (node.op != "return"), outputs + (node.op == "return"))
    return signatures
