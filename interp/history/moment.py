"""A moment of a run in words, for tests to compare, independent of engine and program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...core.graph.graph import Graph
from ..machine.event import Event, Token
from ..machine.state import State
from ..outcome.describe import describe_value
from .advance import Advance


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a run at one position, in words; values are literals of the text form."""

    event: str
    """The last event: `main.add under main/fib: 1, 2 -> 3`, or `5 came to port 0 of main.add under main, and stays`;
    empty at the beginning."""
    results: tuple[str, ...]
    """The results that have arrived: `0: 8`."""
    flight: tuple[str, ...]
    """The tokens in flight, in order: `3 for port 0 of main.add under main`."""
    waiting_tokens: tuple[str, ...]
    """The tokens that wait for partners, are parked or are throttled, in alphabetical order."""
    cells: tuple[str, ...]
    """The full cells, in the order in which they were made: `2 of main.cells under main: 7`."""

    def __str__(self) -> str:
        """One line per entry, as `tagloom debug` writes it into tests."""
        parts = (
            ("result", self.results),
            ("flight:", self.flight),
            ("waits:", self.waiting_tokens),
            ("cell", self.cells),
        )
        lines = (f"{word} {said}" for word, part in parts for said in part)
        return "\n".join([f"event: {self.event}".rstrip(), *lines])


def moment(history: Advance) -> Moment:
    """The moment at the current position of a history."""
    graph, state = history.graph, history.state
    tokens = [
        Token(node, port, tag, value)
        for tag, record in state.records.items()
        for node, held in record.waiting_operands.items()
        for port, value in held.items()
    ]
    tokens += [
        token for block in state.cells.blocks.values() for parked in block.deferred_reads.values() for token in parked
    ]
    tokens += [token for entries in state.throttled_tokens.values() for _, token in entries]
    return Moment(
        "" if history.last_event is None else _describe_event(graph, history.last_event),
        tuple(f"{position}: {describe_value(graph, value)}" for position, value in sorted(state.results.items())),
        tuple(describe_token(graph, token) for token in state.flight),
        tuple(sorted(describe_token(graph, token) for token in tokens)),
        tuple(_describe_cells(graph, state)),
    )


def _describe_cells(graph: Graph, state: State) -> Iterator[str]:
    """The full cells; one that was stored to twice has its first value."""
    for handle, block in state.cells.blocks.items():
        for number, puts in sorted(block.writes.items()):
            yield f"{number} of {describe_value(graph, handle)}: {describe_value(graph, puts[0].inputs[2])}"


def describe_token(graph: Graph, token: Token) -> str:
    """`3 for port 0 of fib.add under main/fib`."""
    return f"{describe_value(graph, token.value)} for port {token.port} of {graph.nodes[token.node]} under {token.tag}"


def _describe_event(graph: Graph, event: Event) -> str:
    token = event.token
    place = f"{graph.nodes[token.node]} under {token.tag}"
    if event.inputs is None:
        return f"{describe_value(graph, token.value)} came to port {token.port} of {place}, and stays"
    inputs = ", ".join(describe_value(graph, value) for value in event.inputs)
    outputs = ", ".join(f"{describe_value(graph, value)} at {output}" for output, value in event.outputs)
    return f"{place}: {inputs} -> {event.trap or outputs or 'nothing'}"
