"""The panes of tokens: what is in flight, what waits for partners, what is in cells and parked at them."""

from __future__ import annotations

from ...core.errors import counted
from ...core.graph.graph import Graph
from ...core.handle import Handle
from ...core.tag import Tag
from ...interp.machine.cells import Block, Put
from ...interp.machine.event import Token
from ...interp.queries.why import could_fire
from ...viz.state_view import brief, brief_tag
from ...viz.style import GREEN, GREY, ORANGE, SIGNS, SKY, YELLOW
from ..session import listing
from ..session.listing import Waits
from ..session.session import Session
from .page import Page, Row, Span, empty, listed, row

MOST = 200
"""So many tokens are listed: there may be millions."""


def flight(session: Session) -> Page:
    """The tokens in flight: the next to be delivered, then the others in the order of the schedule."""
    history, graph, top = session.history, session.history.graph, session.only
    tokens, left, unlooked = listing.in_flight(session, MOST)
    following, count = history.next_choice, len(history.state.flight)
    rest = [f"and {left:,} more"] if left else []
    rest += [f"and {counted(unlooked, 'token')} that nobody has looked at"] if unlooked else []
    if not tokens and not unlooked:
        return _nothing_in_flight(session) if top is None else empty(f"nothing is in flight under {top}")
    ready = {each.position for each in could_fire(history.state, tokens)}
    make = lambda n: _in_flight(graph, *tokens[n], tokens[n][0] == following, tokens[n][0] in ready)  # noqa: E731
    said = f"{count:,}" if top is None else f"{len(tokens) + left:,} of {count:,}"
    here = 0 if tokens and tokens[0][0] == following else None
    return Page(listed(len(tokens), make, *rest), f"{said} · {history.schedule}", here)


def _nothing_in_flight(session: Session) -> Page:
    """That the run is over, and where to look then."""
    state = session.history.state
    rows = [row(("nothing is in flight:", GREY)), row(("the run is over", GREY))]
    if state.waiting:
        rows.append(row((f"4 shows {counted(state.waiting, 'token')} left waiting", GREY)))
    if state.cells.parked:
        rows.append(row((f"8 shows {counted(state.cells.parked, 'read')} left parked", GREY)))
    return Page(rows)


def _in_flight(graph: Graph, at: int, token: Token, is_next: bool, is_ready: bool) -> Row:
    sign, name = SIGNS["ready" if is_ready else "flight"], str(graph.nodes[token.node]) if token.node >= 0 else "result"
    tag = str(token.tag)
    return row(
        (f"{at:3} ", GREY),
        (f"{sign.sign} ", sign.colour),
        Span(f"{brief(token.value):>5} ", "", True),
        f"→ {name}",
        (f".{token.port}" if token.node >= 0 else f" {token.port}", GREY),
        (f"  {brief_tag(token.tag)}", GREY),
        here=is_next,
        do=f"select {name} {tag}" if token.node >= 0 else "",
        node=name,
        tag=tag,
        position=at,
    )


def store(session: Session) -> Page:
    """The waiting-matching store: by activation, the nodes that wait, with what they hold and what is missing."""
    graph, (found, left) = session.history.graph, listing.stored(session, MOST)
    if not found:
        return empty("no token waits for a partner")
    rest = [f"and {counted(left, 'token')} more"] if left else []
    return Page(
        listed(len(found), lambda number: _kept(graph, found[number]), *rest), f"{session.history.state.waiting:,}"
    )


def _kept(graph: Graph, found: Tag | Waits | Token) -> Row:
    match found:
        case Token():
            return _held(graph, found)
        case Waits():
            return _waits(graph, found)
    tag = str(found)
    return row((tag, GREY), do=f"only {tag}", tag=tag)


def _waits(graph: Graph, found: Waits) -> Row:
    tag, number, held = str(found.tag), found.node, found.held
    node, pieces = graph.nodes[number], list[tuple[str, str]]()
    for port, literal in enumerate(node.ports):
        if literal is None:
            said = (f"{SIGNS['waits'].sign}{brief(held[port])}", SKY) if port in held else ("_", GREY)
            pieces += [(f" {port}:", GREY), said]
    if node.triggered and len(node.ports) not in held:
        pieces.append((" trigger:_", GREY))
    return row(f"  {node}", *pieces, do=f"select {node} {tag}", node=str(node), tag=tag)


def _held(graph: Graph, token: Token) -> Row:
    sign, node = SIGNS["held"], graph.nodes[token.node]
    said = f"{sign.sign} {brief(token.value)} for {node} "
    return row((said, sign.colour), (brief_tag(token.tag), GREY), node=str(node), tag=str(token.tag))


def cells(session: Session) -> Page:
    """The arrays of cells: what each holds, and who is parked at which."""
    graph, blocks, top = session.history.graph, session.history.state.cells.blocks, session.only
    found, left, arrays, parked = listing.cells(session, MOST)
    if not found:
        return empty("the program has made no cells" if top is None else f"no cells are made or used under {top}")
    rows = [_array(graph, each, blocks[each]) if isinstance(each, Handle) else _cell(graph, *each) for each in found]
    rest = [f"and {left:,} more"] if left else []
    return Page(
        listed(len(rows), rows.__getitem__, *rest),
        counted(arrays, "array") + (f" · {parked:,} parked" if parked else ""),
    )


def _array(graph: Graph, handle: Handle, block: Block) -> Row:
    name, full = str(graph.nodes[handle.node]), f"{len(block.puts):,} of {handle.size:,} full"
    return row(Span(name, GREEN, True), (f"  {full}", GREY), node=name, tag=str(handle.tag))


def _cell(graph: Graph, at: int, who: Put | Token) -> Row:
    node, tag = str(graph.nodes[who.node]), str(who.tag)
    about = {"do": f"select {node} {tag}", "node": node, "tag": tag}
    if isinstance(who, Token):
        parked = (f"{SIGNS['parked'].sign} {node}", YELLOW)
        return row((f"  [{at}] ", ORANGE), parked, (f"  {brief_tag(who.tag)}", GREY), **about)
    return row(Span(f"  [{at}] {brief(who.inputs[2])}", "", True), (f"  by {node}", GREY), **about)
