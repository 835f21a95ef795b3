"""What if a token had another value: which token, what it was, what it is instead.

An edit is no event. No machine would do it, so what follows from it is a what-if, and says so. It changes a value and
nothing else: which tokens there are, and where, stays as it was.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ...core.errors import Usage, counted
from ...core.graph import Edge, Graph
from ...core.tag import Tag
from ...core.types import Type, type_of
from ...core.value import Value, admit, show
from ..event import Token
from ..questions.ask import tag_of
from ..state import State


class Slot(NamedTuple):
    """Where a token waits: at a port of a node, under a tag."""

    node: int
    port: int
    tag: Tag


Place: TypeAlias = int | Slot
"""Where a token is: its position in the flight, or where it waits."""
Named: TypeAlias = tuple[str, int, str | Tag]
"""The same by name, in flight or waiting: the node that it goes to, the port, and the tag as it is written."""


class Edit(NamedTuple):
    """A token as it was, where it was, and the value that it has instead."""

    place: Place
    token: Token
    value: Value

    def told(self, graph: Graph) -> str:
        """In words: `3 instead of 5 on port 1 of node fib.add under main/fib`."""
        number, port, tag, value = self.token
        return f"{show(self.value)} instead of {show(value)} on port {port} of node {graph.nodes[number]} under {tag}"


def edit(state: State, wanted: Place | Named, value: object) -> Edit:
    """The edit that gives the token at this place this value; changes nothing yet.

    Raises Usage where no token is there, and where the value is not of the type that the port takes.
    """
    place = _place(state, wanted)
    token = _token(state, place)
    try:
        return Edit(place, token, admit(value, _type(state.graph, token)))
    except Usage as error:
        error.message = f"the token for port {token.port} of node {state.graph.nodes[token.node]}: {error.message}"
        raise


def make(state: State, change: Edit) -> None:
    """Change the token in a state."""
    place, token, value = change
    if isinstance(place, int):
        state.flight[place] = token._replace(value=value)
        return
    record = state.records[token.tag].copy(state.era)  # its own, whoever shared the one before
    record.waiting[token.node][token.port] = value
    state.records[token.tag] = record


def _place(state: State, wanted: Place | Named) -> Place:
    """Where a token is that goes by name."""
    match wanted:
        case int():
            return wanted
        case Slot(node) if 0 <= node < len(state.graph.nodes):
            return wanted
        case (str(name), int(port), str() | Tag() as tag):
            under = tag_of(state.graph, tag) if isinstance(tag, str) else tag
            slot = Slot(state.graph.only(name), port, under)
            return next((place for place, token in enumerate(state.flight) if token[:3] == slot), slot)
    required = 'a position in the flight, or ("fib.add", 0, "main/fib"): a node, a port and a tag'
    raise Usage("this is no place of a token", required=required, got=repr(wanted))


def _token(state: State, place: Place) -> Token:
    if isinstance(place, Slot):
        record = state.records.get(place.tag)
        held = record.waiting.get(place.node, {}) if record is not None else {}
        if place.port in held:
            return Token(*place, held[place.port])
        node = state.graph.nodes[place.node]
        raise Usage(f"no token waits at port {place.port} of node {node}, or is in flight to it", tag=place.tag)
    if 0 <= place < len(state.flight):
        return state.flight[place]
    raise Usage(f"no token is at position {place} of the flight", got=f"{counted(len(state.flight), 'token')} there")


def _type(graph: Graph, token: Token) -> Type:
    """What the port takes: the type of the output that feeds it; of several, in a graph that breaks the rules, of the
    first that the token can be from."""
    fed = [graph.output(source).type for source in graph.sources()[Edge(token.node, token.port)]]
    return next((type_ for type_ in fed if type_.admits(type_of(token.value))), fed[0])
