"""Events, tokens and positions of a run, as text and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.errors import plural
from ...core.graph.graph import Graph
from ...interp.history.history import History
from ...interp.machine.event import Event, Token
from ...interp.machine.state import State
from ...interp.outcome.describe import describe_cell, describe_value
from ...interp.queries.origin import FiringOrigin

MAX_LINES, MAX_ROWS = 40, 200
"""The most tokens in text, and in data: there may be millions."""


def describe_event(graph: Graph, number: int, event: Event) -> str:
    """An event: a firing, or a token that arrived and waits."""
    if event.fired:
        return str(FiringOrigin(number, graph, event))
    stays = "waits" if event.deferred_at is None else f"is parked at {describe_cell(graph, event.deferred_at)}"
    token = event.token
    came = (
        f"{describe_value(graph, token.value)} came to port {token.port} of {graph.nodes[token.node]} under {token.tag}"
    )
    return f"{came} at event {number}, and {stays}"


def event_data(graph: Graph, number: int, event: Event) -> dict[str, Any]:
    """An event as data; values are literals."""
    return {
        "event": number,
        "node": str(graph.nodes[event.token.node]),
        "op": graph.nodes[event.token.node].op,
        "port": event.token.port,
        "tag": str(event.token.tag),
        "token": describe_value(graph, event.token.value),
        "fired": event.fired,
        "inputs": None if event.inputs is None else [describe_value(graph, value) for value in event.inputs],
        "outputs": {str(output): describe_value(graph, value) for output, value in event.outputs},
        "trap": event.trap,
    }


def token_data(graph: Graph, token: Token) -> dict[str, Any]:
    """A token as data."""
    return {
        "node": str(graph.nodes[token.node]),
        "port": token.port,
        "tag": str(token.tag),
        "value": describe_value(graph, token.value),
    }


def last_event(history: History) -> Event | None:
    """The event before a history's position."""
    return history.last_event


def describe_position(name: str, history: History) -> list[str]:
    """The position of a run, in two lines: how far it is, and the last event."""
    known = f" of {len(history):,} known" if len(history) > history.position else ""
    head = f"{name}: after {plural(history.position, 'event')}{known}, {plural(history.state.firings, 'firing')}"
    event = last_event(history)
    if event is None and history.base:
        return [f"{head}; what is known begins here"]
    if event is None:
        return [
            f"{name}: at the beginning, {plural(len(history.state.flight), 'token')} in flight{_describe_end(history)}"
        ]
    return [f"{head}{_describe_end(history)}", f"  {describe_event(history.graph, history.position - 1, event)}"]


def position_data(name: str, history: History) -> dict[str, Any]:
    """The same as data."""
    event = last_event(history)
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
        "last": None if event is None else event_data(history.graph, history.position - 1, event),
    }


def is_position(data: Mapping[str, Any]) -> bool:
    """Whether the data of a reply describe a position, as those of step commands do."""
    return "position" in data


def results_data(history: History) -> list[str | None]:
    """The results by position, None for those that have not arrived."""
    state, graph = history.state, history.graph
    return [
        describe_value(graph, state.results[number]) if number in state.results else None
        for number in range(len(graph.results))
    ]


def is_over(history: History) -> bool:
    """Whether no event can follow: nothing is in flight."""
    return not history.state.flight


def why_stopped(history: History) -> str | None:
    """What keeps the run from continuing although tokens are in flight: a limit, or a violation in a fork."""
    at_end = history.position == len(history)
    return history.stop_error.message if at_end and history.stop_error is not None else None


def _describe_end(history: History) -> str:
    if history.position < len(history):
        return ""
    if (why := why_stopped(history)) is not None:
        return f"; {why}"
    if not is_over(history):
        return ""
    missing = history.graph.results and len(history.state.results) < len(history.graph.results)
    trapped = f", with {plural(len(history.state.trap_events), 'trap')}" if history.state.trap_events else ""
    return f"; it is over{trapped}{', and results are missing' if missing else ''}"


def waiting_tokens(state: State) -> Iterator[Token]:
    """The tokens that wait for partners: by tag in the order in which activations opened, then by node and port."""
    for tag, record in state.records.items():
        for node, held in sorted(record.waiting_operands.items()):
            for port, value in sorted(held.items(), key=lambda pair: pair[0]):
                yield Token(node, port, tag, value)


def describe_outputs(graph: Graph, event: Event) -> str:
    """The results of a firing, or that it trapped."""
    if event.trap is not None:
        return f"trap: {event.trap}"
    return ", ".join(describe_value(graph, value) for _, value in event.outputs) or "nothing"
