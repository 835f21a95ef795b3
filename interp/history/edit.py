"""Edits of a state for a what-if: a change of a token's value, or an injected token.

An edit is not an event, since no machine would make it; the outcome of a run after an edit has the schedule `what-if`.
A change replaces the value of a token and nothing else. An injection adds a token at the end of the flight, under an
open tag; it counts as a token of its activation, so that the activation closes when it should.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ...core.errors import Usage, plural
from ...core.graph.graph import Edge, Graph
from ...core.tag import Tag
from ...core.types import Type, type_of
from ...core.value import Value, abbreviate, admit
from ..machine.event import Token
from ..machine.state import State
from ..queries.ask import parse_tag
from ..queries.contexts import check_node_tag, node_contexts


class TokenSlot(NamedTuple):
    """The place of a waiting token: a port of a node, under a tag."""

    node: int
    port: int
    tag: Tag


TokenPlace: TypeAlias = int | TokenSlot
"""The place of a token: its position in the flight, or its slot."""
NamedPlace: TypeAlias = tuple[str, int, str | Tag]
"""The place of a token in flight or waiting, by name: its node, its port, and its tag, also as text."""


class TokenChange(NamedTuple):
    """A change of a token: its place, the token before, and its new value."""

    place: TokenPlace
    token: Token
    value: Value

    @property
    def is_injection(self) -> bool:
        """False: a firing, or the environment, sent the token."""
        return False

    def describe(self, graph: Graph) -> str:
        """The change in words: `3 instead of 5 on port 1 of node fib.add under main/fib`."""
        number, port, tag, value = self.token
        values = f"{abbreviate(self.value)} instead of {abbreviate(value)}"
        return f"{values} on port {port} of node {graph.nodes[number]} under {tag}"


class TokenInjection(NamedTuple):
    """An injection: a token that no firing sent."""

    token: Token

    @property
    def value(self) -> Value:
        """The value of the token."""
        return self.token.value

    @property
    def is_injection(self) -> bool:
        """True."""
        return True

    def describe(self, graph: Graph) -> str:
        """The injection in words: `3 injected on port 1 of node fib.add under main/fib`."""
        number, port, tag, value = self.token
        return f"{abbreviate(value)} injected on port {port} of node {graph.nodes[number]} under {tag}"


Edit: TypeAlias = TokenChange | TokenInjection


def build_change(state: State, location: TokenPlace | NamedPlace, value: object) -> TokenChange:
    """The edit that changes the value of the token at this place. It is not applied.

    Raises Usage if no token is there, or if the value does not have the type of the port.
    """
    place = resolve_place(state, location)
    token = token_at(state, place)
    try:
        return TokenChange(place, token, admit(value, port_type(state.graph, token)))
    except Usage as error:
        error.message = f"the token for port {token.port} of node {state.graph.nodes[token.node]}: {error.message}"
        raise


def build_injection(state: State, node: str, port: int, tag: str | Tag, value: object) -> TokenInjection:
    """The edit that adds a token to the flight. It is not applied.

    Raises Usage if no token can ever arrive at that port, if the activation is not open, or if the value does not have
    the type of the port.
    """
    graph, number = state.graph, state.graph.only(node)
    parsed_tag = parse_tag(graph, tag) if isinstance(tag, str) else tag
    check_node_tag(graph, node_contexts(graph), number, parsed_tag)
    record = state.records.get(parsed_tag)
    if record is None:
        raise Usage(
            "this activation is not open, so it takes no token",
            tag=parsed_tag,
            hint="inject the token while it is open",
            python=KeyError,
        )
    token = Token(number, port, record.tag, False)
    type_ = port_type(graph, token)
    try:
        return TokenInjection(token._replace(value=admit(value, type_)))
    except Usage as error:
        error.message = f"port {port} of node {graph.nodes[number]}: {error.message}"
        raise


def apply_edit(state: State, change: Edit) -> None:
    """Apply an edit to a state."""
    if isinstance(change, TokenInjection):
        add_token(state, change.token)
        return
    place, token, value = change
    if isinstance(place, int):
        state.flight[place] = token._replace(value=value)
        return
    record = state.records[token.tag].copy(state.owner)  # always a copy: the record may be shared
    record.waiting_operands[token.node][token.port] = value
    state.records[token.tag] = record


def add_token(state: State, token: Token) -> None:
    """Add a token to the flight, and update the counts of its activation and, for k-bounds, of the ancestors."""
    record = state.records[token.tag].copy(state.owner)
    state.records[token.tag] = record
    record.token_count += 1
    state.flight.append(token)
    state.wave_remaining = state.wave_remaining or 1
    if state.loop_bounds:
        state.add_busy(token.tag, state.count_busy_tokens((token,)))


def resolve_place(state: State, location: TokenPlace | NamedPlace) -> TokenPlace:
    """Resolve a place given by name."""
    match location:
        case int():
            return location
        case TokenSlot(node) if 0 <= node < len(state.graph.nodes):
            return location
        case (str(name), int(port), str() | Tag() as tag):
            parsed_tag = parse_tag(state.graph, tag) if isinstance(tag, str) else tag
            slot = TokenSlot(state.graph.only(name), port, parsed_tag)
            return next((place for place, token in enumerate(state.flight) if token[:3] == slot), slot)
    required = 'a position in the flight, or ("fib.add", 0, "main/fib"): a node, a port and a tag'
    raise Usage("this does not identify a token", required=required, got=repr(location), python=TypeError)


def token_at(state: State, place: TokenPlace) -> Token:
    """The token at a place; raises Usage if there is none."""
    if isinstance(place, TokenSlot):
        record = state.records.get(place.tag)
        operands = record.waiting_operands.get(place.node, {}) if record is not None else {}
        if place.port in operands:
            return Token(*place, operands[place.port])
        node = state.graph.nodes[place.node]
        message = f"no token waits at port {place.port} of node {node}, or is in flight to it"
        raise Usage(message, tag=place.tag, python=KeyError)
    if 0 <= place < len(state.flight):
        return state.flight[place]
    got = f"{plural(len(state.flight), 'token')} there"
    raise Usage(f"no token is at position {place} of the flight", got=got, python=IndexError)


def port_type(graph: Graph, token: Token) -> Type:
    """The type of a port, which is the type of the output that feeds it. In a graph that breaks the rules, several
    outputs may feed it: then the type of the first that may send this token. Raises Usage if no token can ever arrive
    there."""
    node = graph.nodes[token.node]
    ports = [str(port) for port, literal in enumerate(node.ports) if literal is None]
    if str(token.port) not in ports:
        required = f"port {' or '.join(ports)}" if ports else None
        message = f"no token comes to port {token.port} of node {node}"
        raise Usage(message, required=required, got=token.port, python=IndexError)
    sources = graph.sources().get(Edge(token.node, token.port))
    if not sources:
        raise Usage(f"nothing feeds port {token.port} of node {node}, so that it has no type")
    types = [graph.output(source).type for source in sources]
    return next((type_ for type_ in types if type_.admits(type_of(token.value))), types[0])
