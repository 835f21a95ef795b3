"""The one rule of the token machine: `step` reads a state and says what happens next. It changes nothing.

S1  A step delivers one token of the flight to its port.
S2  A node fires when every port that takes a token has one under the same tag, a merge when any has; until then
    the token waits. Firing consumes those tokens.
S3  Results are sent at once, in the order of outputs, then of edges, to the end of the flight.
S4  A node fires at most once under a tag, and no port gets a second token under it.

S5 to S10 are in `fire`, S11 in `state`.
"""

from __future__ import annotations

from ..core.errors import Broken
from ..core.graph import Edge
from ..core.tag import Tag
from ..core.value import Value, show
from .event import Closed, Event, Token
from .state import Record, State


def step(state: State, position: int) -> Event:
    """What happens when the token at `position` of the flight is delivered.

    Raises Broken where that would break S4, which happens on no graph that keeps the rules V7 to V15.
    """
    token = state.flight[position]
    number, port, tag, value = token
    rule = state.rules[number]
    record = state.records[tag]
    if number in record.fired:
        raise second_token(state, token, None)
    if rule.operands is None:
        inputs: tuple[Value, ...] = (value,)
    else:
        operands = list(rule.operands)
        operands[port] = value
        if rule.needs > 1:
            held = record.waiting.get(number)
            if held is not None and port in held:
                raise second_token(state, token, held[port])
            if held is None or len(held) + 1 < rule.needs:
                return Event(token, position, None, (), (), None, ())
            for other, operand in held.items():
                operands[other] = operand
        inputs = tuple(operands)  # type: ignore[arg-type]  # every port is filled now
    if rule.trap is not None:
        message = rule.trap(inputs)
        if message is not None:
            return Event(token, position, inputs, (), (), message, _closed(state, record, token, ()))
    outputs = rule.compute(inputs, tag)
    destination = tag if rule.retag is None else rule.retag(state, tag)
    sent: list[Token] = []
    for output, result in outputs:
        edges, routes = rule.edges[output], rule.routes[output]
        if routes is not None:
            edges = routes.get(destination.site, routes[None])
        for node, entry in edges:
            sent.append(Token(node, entry, destination, result))
    tokens = tuple(sent)
    return Event(token, position, inputs, outputs, tokens, None, _closed(state, record, token, tokens))


def _closed(state: State, record: Record, token: Token, sent: tuple[Token, ...]) -> tuple[Closed, ...]:
    """S11: the activations that close when a node fires on `token` and sends these."""
    rule = state.rules[token.node]
    target: Tag | None = sent[0].tag if sent and sent[0].node >= 0 else None
    tokens = record.tokens - rule.needs + (len(sent) if target is token.tag else 0)
    if tokens or record.open:
        return ()
    if record.arrived < record.wanted[0] or record.left + rule.leaves < record.wanted[1]:
        return ()
    opens = target is not None and target not in state.records
    if opens and target is not None and target.parent == record.tag:
        return ()
    closed = [Closed(record.tag, frozenset((*record.fired, token.node)))]
    parent = record.parent
    while parent is not None:
        opened = opens and target is not None and target.parent == parent.tag
        if parent.tokens or parent.open > 1 or opened or target == parent.tag:
            break
        if parent.arrived < parent.wanted[0] or parent.left < parent.wanted[1]:
            break
        closed.append(Closed(parent.tag, frozenset(parent.fired)))
        parent = parent.parent
    return tuple(closed)


def second_token(state: State, token: Token, held: Value | None) -> Broken:
    """S4: what to say when a port or a node gets a token too many."""
    node = state.graph.nodes[token.node]
    sources = state.graph.sources().get(Edge(token.node, token.port), [])
    makers = ["an argument" if source.node < 0 else str(state.graph.nodes[source.node]) for source in sources]
    got = f"{show(token.value)} on port {token.port}, from {' or '.join(makers)}"
    if held is None:
        required = "one firing under a tag; it has fired already"
    else:
        required = f"one token on port {token.port}, which holds {show(held)}"
    hint = "two edges end on this port; a merge is missing before it" if len(sources) > 1 else None
    return Broken(
        f"node {node} got a second token",
        rule="S4",
        where=node.where,
        tag=token.tag,
        required=required,
        got=got,
        hint=hint or "two live tokens reach it under one tag; `tagloom show` draws the graph",
    )
