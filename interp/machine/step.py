"""The step rule of the token machine: `step` reads a state and returns the next event. It changes nothing.

S1  A step delivers one token of the flight to its port.
S2  A node fires when every port that takes a token has one under the same tag; a merge fires when any port has one.
    Until then the token waits. Firing consumes those tokens.
S3  A firing sends its results at once, in the order of outputs, then of edges, to the end of the flight.
S4  A node fires at most once under a tag, and no port gets a second token under it.

Rules S5 to S10 and S17 are in `fire`, S11 in `state`, S13 in `cells`, S14 and S15 in `effects`, S16 in `k_bounds`.
S18, in `dead_tokens`, extends them for graphs of TensorFlow's executor.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.errors import Broken
from ...core.graph.graph import Edge
from ...core.tag import Tag
from ...core.value import Value, abbreviate
from .activation import ActivationRecord
from .effects import Outputs
from .event import CellAddress, ClosedActivation, Event, Token
from .fire import FiringRule
from .k_bounds import is_throttled, released_tokens
from .state import State


def step(state: State, position: int) -> Event:
    """The event that delivers the token at `position` of the flight (S1).

    Raises Broken if that would break S4, which never happens for a graph that keeps the rules V7 to V15.
    """
    token = state.flight[position]
    rule, record = state.rules[token.node], state.records[token.tag]
    inputs = match_operands(state, rule, record, token)
    if inputs is None:
        return event_without_firing(state, record, token, position, None)
    woken: tuple[Token, ...] = ()
    if rule.effect is None:
        outputs, trap = rule.fire(inputs, token.tag)
    else:
        outputs, trap, deferred_at, woken = rule.effect(state.cells.blocks, state.world, token, inputs)
        if deferred_at is not None:
            return event_without_firing(state, record, token, position, deferred_at)
    sent = emit_tokens(state, rule, token.tag, inputs, outputs) if outputs else ()
    closed, ends_wave = closed_activations(state, rule, record, token, sent), state.wave_remaining == 1
    if not state.loop_bounds:
        return Event(token, position, inputs, outputs, sent, trap, closed, ends_wave, None, woken)
    throttled = is_throttled(state, rule, record)
    release = released_tokens(state, record, rule, sent) if state.throttled_tokens else ()
    return Event(token, position, inputs, outputs, sent, trap, closed, ends_wave, None, woken, throttled, release)


def completes_operands(state: State, token: Token) -> bool:
    """Whether delivering this token completes the operands of its node; raises Broken as `step` does."""
    return match_operands(state, state.rules[token.node], state.records[token.tag], token) is not None


def event_without_firing(
    state: State, record: ActivationRecord, token: Token, position: int, deferred_at: CellAddress | None
) -> Event:
    """The event of a token that fires no node: it waits for other operands, or is a deferred read."""
    release = released_tokens(state, record, None, ()) if state.throttled_tokens else ()
    return Event(token, position, None, (), (), None, (), state.wave_remaining == 1, deferred_at, (), False, release)


def match_operands(state: State, rule: FiringRule, record: ActivationRecord, token: Token) -> tuple[Value, ...] | None:
    """S2: the operands by port, or None if the token must wait. Checks S4."""
    number, port, _, value = token
    if number in record.fired_nodes:
        raise duplicate_token(state, token, None)
    if rule.operands is None:
        return (value,)
    operands = list(rule.operands)
    operands[port] = value
    if rule.required_tokens > 1:
        operands_by_port = record.waiting_operands.get(number)
        if operands_by_port is None:
            return None
        if port in operands_by_port:
            raise duplicate_token(state, token, operands_by_port[port])
        if len(operands_by_port) + 1 < rule.required_tokens:
            return None
        for waiting_port, operand in operands_by_port.items():
            operands[waiting_port] = operand
    return tuple(operands)  # type: ignore[arg-type]  # every port is filled now


def emit_tokens(
    state: State, rule: FiringRule, tag: Tag, inputs: tuple[Value, ...], outputs: Outputs
) -> tuple[Token, ...]:
    """S3: the tokens that carry the results, all under one tag; S10 where they return."""
    destination = tag if rule.retag is None else rule.retag(state.child, tag, inputs)
    sent = []
    for output, value in outputs:
        edges, routes = rule.edges[output], rule.routes[output]
        if routes is not None:
            edges = routes.get(destination.site, routes[None])
        for node, port in edges:
            sent.append(Token(node, port, destination, value))
    return tuple(sent)


def closed_activations(
    state: State, rule: FiringRule, record: ActivationRecord, token: Token, sent: tuple[Token, ...]
) -> tuple[ClosedActivation, ...]:
    """S11: the activations that close when a node fires on `token` and sends `sent`, innermost first."""
    tokens, results = record.token_count - rule.required_tokens, record.results_returned + rule.returns_result
    if tokens or record.open_children:
        return ()
    target = sent[0].tag if sent and sent[0].node >= 0 else None
    still_open = () if target is None else (target, target.parent)
    return activations_to_close(state, record, (*record.fired_nodes, token.node), results, still_open)


def activations_to_close(
    state: State,
    record: ActivationRecord,
    fired_nodes: Iterable[int],
    results: int,
    still_open: tuple[Tag | None, ...] = (),
) -> tuple[ClosedActivation, ...]:
    """S11: the activations that close because this one has neither tokens nor children any more, innermost first. These
    `fired_nodes` fired in it, and this number of `results` has left it; the tags in `still_open` stay open."""
    closed: list[ClosedActivation] = []
    current, tokens, children = record, 0, 0
    while not (tokens or children):
        arguments, signature = current.arguments_received, current.signature
        if arguments < signature[0] or results < signature[1] or current.tag in still_open:
            break
        closed.append(ClosedActivation(current.tag, frozenset(fired_nodes)))
        parent = state.records.get(current.tag.parent) if current.tag.parent else None
        if parent is None:
            break
        current, fired_nodes = parent, parent.fired_nodes
        tokens, children, results = current.token_count, current.open_children - 1, current.results_returned
    return tuple(closed)


class DuplicateToken(Broken):
    """S4 is broken: `token` arrived at a port, or a node, that already had one under its tag."""

    def __init__(self, message: str, token: Token, **details: Any) -> None:
        super().__init__(message, rule="S4", tag=token.tag, **details)
        self.token = token


def duplicate_token(state: State, token: Token, previous: Value | None) -> DuplicateToken:
    """The error for a second token at a port or a node."""
    graph, node = state.graph, state.graph.nodes[token.node]
    sources = graph.sources().get(Edge(token.node, token.port), [])
    senders = [
        f"argument {graph.arguments[source.output][0]}" if source.node < 0 else str(graph.nodes[source.node])
        for source in sources
    ]
    got = f"{abbreviate(token.value)} on port {token.port}, from {' or '.join(senders)}"
    if previous is None:
        required = "one firing under a tag; it has fired already"
    else:
        required = f"one token on port {token.port}, which holds {abbreviate(previous)}"
    hint = "two edges end on this port; a merge is missing before it" if len(sources) > 1 else None
    return DuplicateToken(
        f"node {node} got a second token",
        token,
        where=node.origin,
        required=required,
        got=got,
        hint=hint or "two live tokens reach it under one tag; `tagloom show` draws the graph",
    )
