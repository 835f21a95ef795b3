"""Events, tokens, cells and activations at the position of a run: as text, as data, and as lists for panes.

There may be millions of each, so a list has the first ones, and a count of the others. If the command `only` restricts
the views to an activation, the lists are restricted to its tag and those below.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import TagloomError, plural
from ...core.graph.graph import Graph
from ...core.tag import ENVIRONMENT, ROOT, Site, Tag
from ...core.types import OPAQUE_CLASSES, Handle
from ...core.value import MAX_PRINTED_ELEMENTS, Value, format_value
from ...interp.history.history import History
from ...interp.machine.activation import ActivationRecord
from ...interp.machine.cells import CellBlock, CellWrite
from ...interp.machine.event import Event, Token
from ...interp.machine.state import State
from ...interp.outcome.deadlock import deadlock_cause
from ...interp.outcome.outcome import abbreviate_value as abbreviate_for_text
from ...interp.outcome.outcome import build_deadlock, describe_cell, describe_value
from ...interp.outcome.residue import collect_residue
from ...interp.outcome.worker_lanes import describe_worker
from ...interp.queries.answers import FiringOrigin
from ...interp.queries.calls import Gate
from ...viz.activation_tree import Gates, describe_call, parameter_gates, variable_texts, without_captures
from ...viz.state_view import abbreviate_value
from .run_index import is_under
from .session import Session

MAX_LINES, MAX_ROWS = 40, 200
"""The most tokens in text, and in data: there may be millions."""


def describe_event(history: History, number: int, event: Event) -> str:
    """The text of an event: a firing, or a token that arrived and waits."""
    graph, place = history.graph, describe_worker(history.lanes, number)
    if event.is_firing:
        return str(FiringOrigin(number, graph, event, place=place))
    waits = "waits" if event.deferred_at is None else f"is deferred at {describe_cell(graph, event.deferred_at)}"
    token = event.token
    port = f"port {token.port} of {graph.nodes[token.node]}"
    came = f"{abbreviate_for_text(graph, token.value)} came to {port} under {token.tag}{place}"
    return f"{came} at event {number}, and {waits}"


@dataclass(frozen=True, slots=True)
class ArrayLiteral:
    """A large array in the data of a reply. `str` is its literal, which takes long to write, and which most users of a
    session never read."""

    array: Value

    def __str__(self) -> str:
        return format_value(self.array)


def value_data(graph: Graph, value: Value) -> str | ArrayLiteral:
    """A value as data: a literal, or, for a handle, the node that made the cells."""
    is_large = isinstance(value, np.ndarray) and value.size > MAX_PRINTED_ELEMENTS
    return ArrayLiteral(value) if is_large else describe_value(graph, value)


def describe_token(graph: Graph, token: Token) -> str:
    """A token in words: `3 for port 0 of fib.add under main/fib`."""
    value = abbreviate_for_text(graph, token.value)
    return f"{value} for port {token.port} of {graph.nodes[token.node]} under {token.tag}"


def event_data(history: History, number: int, event: Event) -> dict[str, Any]:
    """An event as data; values are literals, and `worker` is the rank of its worker, if there were several."""
    graph, rank = history.graph, None if history.lanes is None else history.lanes.rank(number)
    return {
        **({} if rank is None else {"worker": rank}),
        "event": number,
        "node": str(graph.nodes[event.token.node]),
        "op": graph.nodes[event.token.node].op,
        "port": event.token.port,
        "tag": str(event.token.tag),
        "token": value_data(graph, event.token.value),
        "fired": event.is_firing,
        "inputs": None if event.inputs is None else [value_data(graph, value) for value in event.inputs],
        "outputs": {str(output): value_data(graph, value) for output, value in event.outputs},
        "trap": event.trap,
    }


def token_data(graph: Graph, token: Token) -> dict[str, Any]:
    """A token as data."""
    return {
        "node": str(graph.nodes[token.node]),
        "port": token.port,
        "tag": str(token.tag),
        "value": value_data(graph, token.value),
    }


def describe_position(name: str, history: History) -> list[str]:
    """The position of a run, in two lines: the number of events so far, and the last event."""
    known_events = f" of {len(history):,} known" if len(history) > history.position else ""
    head = f"{name}: after {plural(history.position, 'event')}{known_events}, {plural(history.state.firings, 'firing')}"
    event, ending = history.last_event, describe_end(history)
    if event is None and history.base:
        return [f"{head}; earlier events are not known"]
    if event is None:
        return [f"{name}: at the beginning, {plural(len(history.state.flight), 'token')} in flight{ending}"]
    return [f"{head}{ending}", f"  {describe_event(history, history.position - 1, event)}"]


def position_data(name: str, history: History) -> dict[str, Any]:
    """The position of a run as data."""
    event = history.last_event
    return {
        "run": name,
        "position": history.position,
        "known": len(history),
        "base": history.base,
        "firings": history.state.firings,
        "flight": len(history.state.flight),
        "over": is_over(history),
        "stopped": why_stopped(history),
        "traps": len(history.state.trap_events),
        "results": results_data(history),
        "last": None if event is None else event_data(history, history.position - 1, event),
    }


def is_position(data: Mapping[str, Any]) -> bool:
    """Whether the data of a reply describe a position, as with step commands."""
    return "position" in data


def results_data(history: History) -> list[str | ArrayLiteral | None]:
    """The results by position, None for those that have not arrived."""
    state, graph = history.state, history.graph
    return [
        value_data(graph, state.results[number]) if number in state.results else None
        for number in range(len(graph.results))
    ]


def is_over(history: History) -> bool:
    """Whether no event can follow: nothing is in flight."""
    return not history.state.flight


def why_stopped(history: History) -> str | None:
    """Why the run cannot continue although tokens are in flight: a limit, or a violation in a fork."""
    at_end = history.position == len(history)
    return history.stop_error.message if at_end and history.stop_error is not None else None


def describe_end(history: History) -> str:
    """A clause that says why the run cannot continue from its position; empty if it can."""
    if history.position < len(history):
        return ""
    if (why := why_stopped(history)) is not None:
        return f"; {why}"
    if not is_over(history):
        return ""
    missing = history.graph.results and len(history.state.results) < len(history.graph.results)
    trapped = f", with {plural(len(history.state.trap_events), 'trap')}" if history.state.trap_events else ""
    return f"; it is over{trapped}{', and results are missing' if missing else ''}"


class DeadlockReport(NamedTuple):
    """The cause of a deadlock, as in the error of the run, and the read that waits for a cell that nothing fills, or
    else a node that waits for a token; None if the tokens that are missing left nothing behind."""

    lines: list[str]
    node: int | None


def describe_deadlock(history: History) -> DeadlockReport | None:
    """The report on a deadlock; None if the run has not deadlocked at its position."""
    state = history.state
    missing = tuple(position for position in range(len(history.graph.results)) if position not in state.results)
    is_end = history.position == len(history) and is_over(history) and why_stopped(history) is None
    if not is_end or not missing or state.trap_events:
        return None
    residue = collect_residue(state)
    error, cause = build_deadlock(history.graph, missing, residue), deadlock_cause(history.graph, missing, residue)
    lines = error.excerpt.splitlines() if error.excerpt else getattr(error, "__notes__", [])
    node = cause.reads[-1].node if cause is not None else residue[0].node if residue else None
    return DeadlockReport([*lines, f"  hint: {error.hint}"], node)


def waiting_tokens(state: State) -> Iterator[Token]:
    """The tokens that wait for partners: by tag in the order in which activations opened, then by node and port."""
    for tag, record in state.records.items():
        for node, operands in sorted(record.waiting_operands.items()):
            for port, value in sorted(operands.items(), key=lambda pair: pair[0]):
                yield Token(node, port, tag, value)


def describe_outputs(graph: Graph, event: Event, describe: Callable[[Graph, Value], str] = describe_value) -> str:
    """A clause with the results of a firing, or with its trap."""
    if event.trap is not None:
        return f"trap: {event.trap}"
    return ", ".join(describe(graph, value) for _, value in event.outputs) or "nothing"


def abbreviate_outputs(graph: Graph, event: Event) -> str:
    """Like `describe_outputs`, with large arrays abbreviated, for text."""
    return describe_outputs(graph, event, abbreviate_for_text)


MAX_SCANNED = 20_000
"""The most tokens or activations scanned for those under a tag: there may be millions, and each takes 0.5 us."""


class FlightListing(NamedTuple):
    """Tokens in flight, each with its position."""

    tokens: list[tuple[int, Token]]
    remaining_count: int
    """The number of tokens that are not listed."""
    unscanned_count: int
    """The number of tokens that were not scanned."""


def list_flight(session: Session, most: int) -> FlightListing:
    """The tokens in flight: the next to be delivered, then the others in the order of the schedule."""
    history, root = session.history, session.root_tag
    tokens, next_position = history.state.flight, history.next_choice
    if next_position is None:
        return FlightListing([], 0, 0)
    count = len(tokens)
    last_first = zip(range(count - 1, -1, -1), reversed(tokens), strict=True)
    order = last_first if history.schedule == "lifo" else enumerate(tokens)
    others = (entry for entry in order if entry[0] != next_position)
    ordered = chain([(next_position, tokens[next_position])], others)
    if root is None:
        first = list(islice(ordered, most))
        return FlightListing(first, count - len(first), 0)
    matches = [entry for entry in islice(ordered, MAX_SCANNED) if is_under(entry[1].tag, root)]
    return FlightListing(matches[:most], max(len(matches) - most, 0), max(count - MAX_SCANNED, 0))


class WaitingNode(NamedTuple):
    """A waiting node, with a copy of its operands by port."""

    tag: Tag
    node: int
    operands: dict[int, Value]


class StoreListing(NamedTuple):
    """The store: activations, with the nodes that wait in them, and throttled tokens."""

    entries: list[Tag | WaitingNode | Token]
    remaining_count: int
    """The number of tokens that are not listed."""


def list_store(session: Session, most: int) -> StoreListing:
    """The waiting-matching store by activation, and the throttled tokens."""
    state, root = session.history.state, session.root_tag
    entries: list[Tag | WaitingNode | Token] = list(islice(waiting_entries(state, root), most))
    listed_count = sum(len(entry.operands) for entry in entries if isinstance(entry, WaitingNode))
    count = state.waiting_count
    if root is not None:
        count = sum(
            len(operands) for _, rec in waiting_records(state, root) for operands in rec.waiting_operands.values()
        )
    throttled = [token for tag, pairs in state.throttled_tokens.items() if is_under(tag, root) for _, token in pairs]
    return StoreListing([*entries, *throttled[:most]], count - listed_count + max(len(throttled) - most, 0))


def waiting_records(state: State, root: Tag | None) -> Iterator[tuple[Tag, ActivationRecord]]:
    """The activations in which something waits, in the order in which they opened; with `root`, only that one and those
    below it. At most MAX_SCANNED activations are scanned."""
    records = state.records.items() if root is None else records_below(state, root)
    yield from ((tag, record) for tag, record in islice(records, MAX_SCANNED) if record.waiting_operands)


def records_below(state: State, root: Tag) -> Iterator[tuple[Tag, ActivationRecord]]:
    """An open activation and all below it, depth first. Without recursion, because tags may be very deep."""
    stack = [root] if root in state.records else []
    while stack:
        tag = stack.pop()
        record = state.records[tag]
        yield tag, record
        stack.extend(reversed(record.child_tags.values()))


def waiting_entries(state: State, root: Tag | None) -> Iterator[Tag | WaitingNode]:
    """The tags of the activations in which something waits, each followed by its waiting nodes."""
    for tag, record in waiting_records(state, root):
        yield tag
        yield from (
            WaitingNode(tag, node, operands.copy()) for node, operands in sorted(record.waiting_operands.items())
        )


class CellEntry(NamedTuple):
    """A cell of an array, with the store that filled it or a deferred read."""

    cell_number: int
    content: CellWrite | Token


class CellListing(NamedTuple):
    """Arrays of cells, each followed by the entries of its cells."""

    entries: list[Handle | CellEntry]
    remaining_count: int
    """The number of lines that are not listed."""
    array_count: int
    deferred_count: int
    """The number of deferred reads at these arrays."""


def list_cells(session: Session, most: int) -> CellListing:
    """The arrays of cells. If the views are restricted to an activation: the stores and deferred reads under its tag,
    and the arrays that have such entries or were created there."""
    heap, root = session.history.state.cells, session.root_tag
    if root is None:
        shown_entries = list(islice(cell_entries(heap.blocks, None), most))
        count = len(heap.blocks)
        for block in heap.blocks.values():
            count += len(block.writes) + sum(map(len, block.deferred_reads.values()))
        return CellListing(shown_entries, count - len(shown_entries), len(heap.blocks), heap.deferred_count)
    entries = list(cell_entries(heap.blocks, root))
    deferred = sum(isinstance(entry, CellEntry) and isinstance(entry.content, Token) for entry in entries)
    arrays = sum(isinstance(entry, Handle) for entry in entries)
    return CellListing(entries[:most], max(len(entries) - most, 0), arrays, deferred)


def cell_entries(blocks: Mapping[Handle, CellBlock], root: Tag | None) -> Iterator[Handle | CellEntry]:
    """Arrays of cells, each followed by its entries under the tag `root`. An array without such entries is left out,
    unless it was created there."""
    for handle, block in blocks.items():
        entries = (entry for entry in block_entries(block) if is_under(entry.content.tag, root))
        first = next(entries, None)
        if first is not None or is_under(handle.tag, root):
            yield handle
            yield from chain(() if first is None else (first,), entries)


def block_entries(block: CellBlock) -> Iterator[CellEntry]:
    """The entries of an array by cell: its first store, then the deferred reads."""
    for at in sorted({*block.writes, *block.deferred_reads}):
        yield from (CellEntry(at, put) for put in block.writes.get(at, ())[:1])
        yield from (CellEntry(at, token) for token in block.deferred_reads.get(at, ()))


def list_events(session: Session) -> Sequence[int]:
    """The numbers of the known events for which the condition of the command `events` holds. There are none if the
    condition does not compile for this run, for example because another program was loaded."""
    try:
        return session.run.index.find_matching(session.history, session.focus.event_condition, session.root_tag)
    except TagloomError:
        return ()


# The tree of activations


MAX_SIBLINGS, MAX_ENTRIES = 12, 300
"""The most siblings listed, those around the current activation; and the most activations in all."""
UNKNOWN_MARK = "…"
"""Shown instead of arguments that arrived before the first known event."""


class ActivationEntry(NamedTuple):
    """An activation of the tree at the current position; its row of text is built when it becomes visible."""

    tag: Tag
    depth: int
    tokens: int | None
    """The number of tokens in it; None if it has closed."""
    arguments: dict[Gate, tuple[int, Value]]
    results: dict[int, tuple[int, Value]]
    """Position and value of each argument and result, by gate. Both dicts are shared with the index, so they grow; a
    row ignores later positions."""
    outer_arguments: dict[Gate, tuple[int, Value]]
    """The arguments of the activation around it."""
    opened_before_base: bool
    """Whether it opened before the first known event, so that its arguments are unknown."""


class OmittedActivations(NamedTuple):
    """A row for activations that are not listed: their number."""

    remaining_count: int
    depth: int


def list_activations(session: Session) -> list[ActivationEntry | OmittedActivations]:
    """The activations that have opened up to the current position, including closed ones, depth first. If there are
    many siblings, those around the current activation are listed. Not recursive, because tags may be very deep."""
    history, index, entries = session.history, session.run.index, list[ActivationEntry | OmittedActivations]()
    current_children = {tag.parent: tag for tag in session.current_tag.self_and_ancestors() if tag.parent is not None}
    stack: list[tuple[Tag, int, dict[Gate, tuple[int, Value]]] | OmittedActivations] = [(ROOT, 0, {})]
    while stack and len(entries) < MAX_ENTRIES:
        item = stack.pop()
        if isinstance(item, OmittedActivations):
            entries.append(item)
            continue
        tag, depth, outer = item
        summary, record = index.activation(tag), history.state.records.get(tag)
        tokens, is_early = None if record is None else record.token_count, summary.open_position is None and tag != ROOT
        entries.append(ActivationEntry(tag, depth, tokens, summary.arguments, summary.results, outer, is_early))
        parent_children = current_children.get(tag)
        siblings, omitted_count = visible_siblings(
            summary.children,
            history.position,
            None if parent_children is None else index.activation(parent_children).open_position,
        )
        stack += [OmittedActivations(omitted_count, depth + 1)] if omitted_count else []
        stack += [(child, depth + 1, summary.arguments) for child in reversed(siblings)]
    return entries


def visible_siblings(children: list[tuple[int, Tag]], position: int, middle: int | None) -> tuple[list[Tag], int]:
    """Select the siblings to list: at most MAX_SIBLINGS of the activations that opened up to `position`, around the
    activation that opened at `middle`, or else the last ones. Returns these and the number of the others. `children`
    has each with the position at which it opened, ascending.

    >>> visible_siblings([(number, ROOT) for number in range(20)], position=15, middle=None) == ([ROOT] * 12, 4)
    True
    """
    count, first = bisect_right(children, position, key=itemgetter(0)), 0
    if count > MAX_SIBLINGS:
        at = count - 1 if middle is None else bisect_right(children, middle, key=itemgetter(0)) - 1
        first = max(0, min(at - MAX_SIBLINGS // 2, count - MAX_SIBLINGS))
    siblings = children[first : min(first + MAX_SIBLINGS, count)]
    return [tag for _, tag in siblings], count - len(siblings)


class ActivationTitles:
    """Builds the titles of activations at a position."""

    def __init__(self, graph: Graph, gates: Gates, position: int) -> None:
        self.graph, self.gates, self.position = graph, gates, position
        self.callees: dict[Site, str] = {**dict(graph.calls), ENVIRONMENT: graph.name}

    def title(self, entry: ActivationEntry) -> str:
        """A call as `fib(3) = 2`, without arrays that the activation around it got, too, and without what the function
        captures; an iteration as `loop[2]: i = 2, s = 1`, without arrays of which only the type would be visible."""
        arguments = self.arguments(entry)
        unknown = UNKNOWN_MARK if entry.opened_before_base else ""
        if entry.tag.site.kind == "loop":
            variables = ", ".join(variable_texts(self.graph, arguments))
            return f"{entry.tag.last_step}: {variables or unknown}"
        outer = [value for _, value in entry.outer_arguments.values()]
        (first_arguments, first_results), *others = self.gates.describe_phases(
            without_captures(self.graph, arguments), self.results(entry), outer=outer
        )
        phases = [(first_arguments or unknown, first_results), *others]
        return describe_call(self.callees.get(entry.tag.site, "?"), phases)

    def split_title(self, entry: ActivationEntry) -> tuple[str, str]:
        """The title in two parts: the second is the result of a call if it is a number, ` = 2`, else it is empty. Of
        several results it has only the first."""
        title, results = self.title(entry), self.results(entry)
        is_number = bool(results) and not isinstance(results[0][1], OPAQUE_CLASSES) and not np.ndim(results[0][1])
        if entry.tag.site.kind == "loop" or not is_number:
            return title, ""
        call, _, others = title.partition(" = ")
        return call, f" = {abbreviate_value(results[0][1])}{', …' if ',' in others else ''}"

    def arguments(self, entry: ActivationEntry) -> list[tuple[Gate, Value]]:
        """The arguments or loop variables that have arrived."""
        facts = ((gate, *entry.arguments[gate]) for gate in parameter_gates(self.graph, entry.arguments))
        return [(gate, value) for gate, at, value in facts if at <= self.position]

    def results(self, entry: ActivationEntry) -> list[tuple[int, Value]]:
        """The results that have arrived, by return node."""
        return [(node, value) for node, (at, value) in sorted(entry.results.items()) if at <= self.position]
