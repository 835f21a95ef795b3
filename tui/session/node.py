"""A node: its op, its ports under a tag, and its arrays. Panes draw this, and `inspect` prints it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ...core.errors import Usage
from ...core.graph.graph import GraphNode
from ...core.ops.effects import ALL_OPS
from ...core.ops.indexing import parse_key
from ...core.ops.routing import ROUTING_OPS
from ...core.tag import Tag
from ...core.value import Value
from ...interp.machine.event import Event
from ...interp.queries.ask import parse_tag
from .query_commands import last_firing_tag
from .session import Session

SCAN_LIMIT = 2000
"""The number of a node's firings, the last ones and the first ones in an activation, that are scanned for one under a
tag, which takes 0.5 ms; after that the index of all events is used."""


def op_summary(op: str) -> str:
    """What an op does, in one sentence."""
    doc = ROUTING_OPS[op].doc if op in ROUTING_OPS else ALL_OPS[op].doc
    return doc.split(". ")[0].strip().rstrip(".")


def inspected_tag(session: Session, number: int) -> Tag:
    """The tag under which a node is inspected: the selected one, or that of its last firing."""
    text, graph = session.focus.node_tag, session.history.graph
    try:
        if text is not None and session.focus.node_name == str(graph.nodes[number]):
            return parse_tag(graph, text)
    except Usage:  # of another run
        pass
    return last_firing_tag(session, str(graph.nodes[number]))


def find_firing(session: Session, number: int, tag: Tag) -> Event | None:
    """The firing of a node under a tag, if it is among the known events so far; raises Usage if only earlier events
    could tell."""
    history, run = session.history, session.run
    record = history.state.records.get(tag)
    if record is not None and number not in record.fired_nodes:
        return None
    numbers, opened = run.firings(number), run.index.activation(tag).open_position
    first, is_whole = bisect_left(numbers, opened or 0), opened is not None or not history.base
    near = (history[at] for at in chain(reversed(numbers[-SCAN_LIMIT:]), numbers[first : first + SCAN_LIMIT]))
    found = next((event for event in near if event.token.tag == tag), None)
    if found is not None or (is_whole and len(numbers) - first <= 2 * SCAN_LIMIT):
        return found
    at = history.ask.index.firing_event(number, tag)
    return None if at is None or at < history.base else history[at]


def has_fired(session: Session, number: int, tag: Tag) -> bool:
    """Whether a node has fired under a tag so far."""
    record = session.history.state.records.get(tag)
    return find_firing(session, number, tag) is not None if record is None else number in record.fired_nodes


PortStatus: TypeAlias = Literal["literal", "took", "passed", "earlier", "holds", "nothing"]
"""The status of a port: its literal; the firing took its token; nothing, since a merge took another port's token; its
token was taken before the first known event; a token waits; nothing yet."""


class PortState(NamedTuple):
    """A port of a node, and its status under a tag."""

    number: int
    status: PortStatus
    value: Value = 0
    """The literal, taken or waiting value, if known."""


def ports(session: Session, number: int, tag: Tag) -> Iterator[PortState]:
    """The ports of a node under a tag."""
    history = session.history
    node, record, last = history.graph.nodes[number], history.state.records.get(tag), find_firing(session, number, tag)
    held: Mapping[int, Value] = {} if record is None else record.waiting_operands.get(number, {})
    for port, literal in enumerate(node.ports):
        if literal is not None:
            yield PortState(port, "literal", literal.value)
        elif last is not None:
            yield _consumed_port(node, last, port)
        elif record is not None and number in record.fired_nodes:
            yield PortState(port, "earlier")
        elif port in held:
            yield PortState(port, "holds", held[port])
        else:
            yield PortState(port, "nothing")


def _consumed_port(node: GraphNode, event: Event, port: int) -> PortState:
    """What a firing took from a port: a merge takes one token, from any port."""
    inputs = event.inputs or ()
    if node.op != "merge":
        return PortState(port, "took", inputs[port])
    return PortState(port, "took", inputs[0]) if port == event.token.port else PortState(port, "passed")


class ArraySummary(NamedTuple):
    """An array, as far as it is shown."""

    type: str
    statistics: dict[str, float]
    """Min, max, mean and std of the finite numbers; empty for truth values."""
    nonfinite_or_true_count: int
    """The number of elements that are not finite; for truth values, of those that are true."""
    selection: np.ndarray[Any, Any] | None
    """The chosen slice, or all; None if the array has no such slice."""


def summarize_array(value: np.ndarray[Any, Any], chosen: str = "") -> ArraySummary:
    """The summary of an array and its chosen slice.

    >>> summarize_array(np.array([1.0, 3.0, np.inf]), "1:").statistics["mean"]
    2.0
    >>> summarize_array(np.arange(3), "9").selection is None
    True
    """
    kind, part = f"{value.dtype}{list(value.shape)}", _select(value, chosen)
    if value.dtype == bool:
        return ArraySummary(kind, {}, int(value.sum()), part)
    finite = value[np.isfinite(value)]
    if not finite.size:
        return ArraySummary(kind, {}, value.size, part)
    numbers = (("min", finite.min()), ("max", finite.max()), ("mean", finite.mean()), ("std", finite.std()))
    return ArraySummary(kind, {name: float(number) for name, number in numbers}, value.size - finite.size, part)


def _select(value: np.ndarray[Any, Any], chosen: str) -> np.ndarray[Any, Any] | None:
    try:
        return np.asarray(value[parse_key(chosen)]) if chosen else value
    except IndexError:
        return None
