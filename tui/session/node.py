"""The inspection of a node: its op and firing rule, its ports under a tag, and its arrays. The inspector pane shows it,
and `inspect` prints it. Rules have the numbers of docs/semantics.md, section 4."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ...core.errors import Usage
from ...core.graph.graph import GraphNode
from ...core.ops.effects import ALL_OPS, EFFECT_OPS
from ...core.ops.indexing import parse_key
from ...core.ops.routing import ALL_ROUTING_OPS
from ...core.tag import ROOT, Tag
from ...core.value import Value
from ...interp.machine.event import Event
from ...interp.queries.ask import parse_tag
from ...viz.scopes import node_scopes
from .command import CommandArguments
from .session import Session

SCAN_LIMIT = 2000
"""The number of a node's firings that are scanned for one under a tag, at both ends of an activation. The scan takes
0.5 ms; if it does not succeed, the index of all events is used."""


def op_summary(op: str) -> str:
    """What an op does, in one sentence."""
    doc = ALL_ROUTING_OPS[op].doc if op in ALL_ROUTING_OPS else ALL_OPS[op].doc
    return doc.partition(">>>")[0].split(". ")[0].strip().rstrip(".")


_EFFECTS_BY_OP = {
    "merge": "passes it on (S6)",
    "switch": "sends port 0 by its predicate (S6)",
    "call": "sends it into the call (S7)",
    "enter": "sends it into the loop (S7)",
    "return": "sends it back to the caller (S8)",
    "exit": "sends it out of the loop (S8)",
    "next_iteration": "sends it to the next iteration (S9)",
    "reenter": "sends it into the iteration of port 1 (S17)",
    "back": "sends it to the previous iteration, or out (S17)",
    "dead_switch": "sends port 0 by its predicate, and a dead token to the other output (S18)",
    "live_merge": "passes on the live one (S18)",
    "after": "passes on port 0, or a dead token if any is dead (S18)",
    "any_live": "says whether any is live (S18)",
    "trigger": "sends true, whether they are dead or not (S18)",
    "cells": "makes empty cells (S13)",
    "store": "fills a cell (S13)",
    "get": "reads a cell, once it is full (S13)",
    "collect": "gathers cells, once all are full (S13)",
}


def describe_helpers(node: GraphNode) -> str:
    """The calls of helpers, such as layers, that a node is in, outermost first; empty if it is in none."""
    names = " > ".join(scope.name for scope in node_scopes(node))
    return f"in {names}" if names else ""


def describe_firing_rule(node: GraphNode) -> str:
    """The tokens that a node waits for, as text."""
    ports = [f"port {port}" for port, literal in enumerate(node.ports) if literal is None]
    if node.has_trigger:
        ports.append("trigger")
    if len(ports) < 2:
        return f"once {''.join(ports) or 'nothing'} has a token (S2)"
    condition = "any has a token" if node.op == "merge" else "all have tokens"
    return f"once {condition}: {', '.join(ports)} (S2)"


def describe_effect(node: GraphNode) -> str:
    """The effect of a node's firing, as text."""
    if node.op in _EFFECTS_BY_OP:
        return _EFFECTS_BY_OP[node.op]
    if node.op in EFFECT_OPS and EFFECT_OPS[node.op].resource is not None:
        return "has its effect, exactly once (S14)"
    if node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw is not None:
        return "draws a number from its tag and the seed (S15)"
    return "computes, under the same tag (S5)"


def parse_node_and_tag(session: Session, words: CommandArguments) -> tuple[str, Tag]:
    """Take NODE [TAG] from a command: the node's name, and the tag; without TAG, the tag of `last_firing_tag`."""
    name, text = words.next_word("a node"), words.optional_word()
    words.expect_end()
    session.find_node(name)
    return name, parse_tag(session.history.graph, text) if text is not None else last_firing_tag(session, name)


def last_firing_tag(session: Session, name: str) -> Tag:
    """The tag of a node's last firing; if it has not fired, one under which it could fire."""
    run, node = session.run, session.find_node(name)
    numbers = run.firings(node)
    if numbers:
        return run.history[numbers[-1]].token.tag
    context = run.history.ask.contexts.get(node)
    for tag in session.current_tag.self_and_ancestors():
        if context in (tag.site, dict(run.history.graph.calls).get(tag.site)):
            return tag
    return ROOT


def inspected_tag(session: Session, number: int) -> Tag:
    """The tag under which a node is inspected: the selected tag, or the tag of its last firing."""
    text, graph = session.focus.node_tag, session.history.graph
    try:
        if text is not None and session.focus.node_name == str(graph.nodes[number]):
            return parse_tag(graph, text)
    except Usage:  # a tag of another run
        pass
    return last_firing_tag(session, str(graph.nodes[number]))


def find_firing(session: Session, number: int, tag: Tag) -> Event | None:
    """The firing of a node under a tag, if it is among the known events so far; raises Usage if it could also be among
    earlier events, which are not known."""
    history, run = session.history, session.run
    record = history.state.records.get(tag)
    if record is not None and number not in record.fired_nodes:
        return None
    numbers, opened = run.firings(number), run.index.activation(tag).open_position
    first, is_complete = bisect_left(numbers, opened or 0), opened is not None or not history.base
    scan = (history[at] for at in chain(reversed(numbers[-SCAN_LIMIT:]), numbers[first : first + SCAN_LIMIT]))
    firing = next((event for event in scan if event.token.tag == tag), None)
    if firing is not None or (is_complete and len(numbers) - first <= 2 * SCAN_LIMIT):
        return firing
    at = history.ask.index.firing_event(number, tag)
    return None if at is None or at < history.base else history[at]


def has_fired(session: Session, number: int, tag: Tag) -> bool:
    """Whether a node has fired under a tag so far."""
    record = session.history.state.records.get(tag)
    return find_firing(session, number, tag) is not None if record is None else number in record.fired_nodes


PortStatus: TypeAlias = Literal["literal", "consumed", "unused", "consumed_earlier", "waiting", "empty"]
"""The status of a port. `literal`: it has a literal; `consumed`: the firing consumed its token; `unused`: the firing of
a merge consumed another port's token; `consumed_earlier`: its token was consumed before the first known event;
`waiting`: a token waits there; `empty`: no token has arrived."""


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
    operands: Mapping[int, Value] = {} if record is None else record.waiting_operands.get(number, {})
    for port, literal in enumerate(node.ports):
        if literal is not None:
            yield PortState(port, "literal", literal.value)
        elif last is not None:
            yield consumed_port(node, last, port)
        elif record is not None and number in record.fired_nodes:
            yield PortState(port, "consumed_earlier")
        elif port in operands:
            yield PortState(port, "waiting", operands[port])
        else:
            yield PortState(port, "empty")


def consumed_port(node: GraphNode, event: Event, port: int) -> PortState:
    """The state of a port after a firing: most nodes consume a token at each port, a merge only at one."""
    inputs = event.inputs or ()
    if node.op != "merge":
        return PortState(port, "consumed", inputs[port])
    return PortState(port, "consumed", inputs[0]) if port == event.token.port else PortState(port, "unused")


class ArraySummary(NamedTuple):
    """A summary of an array: its type, statistics, and a slice of it."""

    type: str
    statistics: dict[str, float]
    """Min, max, mean and std of the finite numbers; empty for truth values."""
    nonfinite_or_true_count: int
    """The number of elements that are not finite; for truth values, of those that are true."""
    selection: np.ndarray[Any, Any] | None
    """The chosen slice, or all; None if the array has no such slice."""


def summarize_array(value: np.ndarray[Any, Any], chosen: str = "") -> ArraySummary:
    """The summary of an array of numbers or truth values, and the slice `chosen`, such as `0, 2:5`; empty is all.

    >>> summarize_array(np.array([1.0, 3.0, np.inf]), "1:").statistics["mean"]
    2.0
    >>> summarize_array(np.arange(3), "9").selection is None
    True
    """
    kind, part = f"{value.dtype}{list(value.shape)}", None
    with suppress(IndexError):
        part = np.asarray(value[parse_key(chosen)]) if chosen else value
    if value.dtype == bool:
        return ArraySummary(kind, {}, int(value.sum()), part)
    finite = value[np.isfinite(value)]
    if not finite.size:
        return ArraySummary(kind, {}, value.size, part)
    numbers = (("min", finite.min()), ("max", finite.max()), ("mean", finite.mean()), ("std", finite.std()))
    return ArraySummary(kind, {name: float(number) for name, number in numbers}, value.size - finite.size, part)
