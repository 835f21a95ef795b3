"""The panes of tokens: what is in flight, what waits for partners, what is in cells and parked at them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from ...core.cells import Handle
from ...core.errors import counted
from ...core.graph import Graph
from ...core.tag import Tag
from ...core.value import Value
from ...interp.activation import Record
from ...interp.event import Token
from ...interp.questions.ask import tag_of
from ...interp.questions.why import could_fire
from ...viz.moment import brief, brief_tag
from ...viz.style import GREEN, GREY, ORANGE, SIGNS, SKY, YELLOW
from ..session.known import is_under
from ..session.session import Session
from .page import Lazy, Page, Row, Span, empty, row

MOST = 200
"""So many tokens are listed: there may be millions."""

LOOKED = 20_000
"""Of so many activations."""


def only_tag(session: Session) -> Tag | None:
    """The activation that alone is shown."""
    return None if session.focus.only is None else tag_of(session.history.graph, session.focus.only)


def flight(session: Session) -> Page:
    """The tokens in flight: the next to be delivered, then the others in the order of the schedule."""
    history, top = session.history, only_tag(session)
    tokens, following, graph = history.state.flight, history.next_choice, history.graph
    count = len(tokens)
    last_first = zip(range(count - 1, -1, -1), reversed(tokens), strict=True)
    order = last_first if history.schedule == "lifo" else enumerate(tokens)
    kept = list(islice(((at, token) for at, token in order if is_under(token.tag, top)), MOST))
    ready = {each.position for each in could_fire(history.state, kept)}
    if not kept:
        return _nothing_in_flight(session) if top is None else empty(f"nothing is in flight under {top}")
    make = lambda n: _in_flight(graph, *kept[n], kept[n][0] == following, kept[n][0] in ready)  # noqa: E731
    here = next((number for number, (at, _) in enumerate(kept) if at == following), None)
    return Page(Lazy(len(kept), make), f"{count:,} · {history.schedule}", here)


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
    history, top = session.history, only_tag(session)
    records = islice(history.state.records.items(), LOOKED)
    waiting = ((tag, record) for tag, record in records if record.waiting and is_under(tag, top))
    found: list[Tag | _Waits | Token] = list(islice(_stored(waiting), MOST))
    held = (token for tag, held in history.state.held.items() if is_under(tag, top) for _, token in held)
    found += islice(held, MOST)
    if not found:
        return empty("no token waits for a partner")
    return Page(Lazy(len(found), lambda number: _kept(history.graph, found[number])), f"{history.state.waiting:,}")


class _Waits(NamedTuple):
    """A node that waits, with what it has, as it is when somebody looks: its row is made when that is seen."""

    tag: Tag
    node: int
    held: dict[int, Value]


def _stored(waiting: Iterator[tuple[Tag, Record]]) -> Iterator[Tag | _Waits]:
    for tag, record in waiting:
        yield tag
        yield from (_Waits(tag, number, held.copy()) for number, held in sorted(record.waiting.items()))


def _kept(graph: Graph, found: Tag | _Waits | Token) -> Row:
    match found:
        case Token():
            return _held(graph, found)
        case _Waits():
            return _waits(graph, found)
    tag = str(found)
    return row((tag, GREY), do=f"only {tag}", tag=tag)


def _waits(graph: Graph, found: _Waits) -> Row:
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
    history = session.history
    blocks, graph = history.state.cells.blocks, history.graph
    rows = list(islice(_cells(graph, session), MOST))
    if not rows:
        return empty("the program has made no cells")
    parked = history.state.cells.parked
    return Page(rows, counted(len(blocks), "array") + (f" · {parked:,} parked" if parked else ""))


def _cells(graph: Graph, session: Session) -> Iterator[Row]:
    for handle, block in session.history.state.cells.blocks.items():
        full = f"{len(block.puts):,} of {handle.size:,} full"
        yield row(
            Span(_name(graph, handle), GREEN, True), (f"  {full}", GREY), node=_name(graph, handle), tag=str(handle.tag)
        )
        for at in sorted({*block.puts, *block.parked}):
            if at in block.puts:
                put = block.puts[at][0]
                node = str(graph.nodes[put.node])
                said = Span(f"  [{at}] {brief(put.inputs[2])}", "", True)
                yield row(said, (f"  by {node}", GREY), do=f"select {node} {put.tag}", node=node, tag=str(put.tag))
            for token in block.parked.get(at, ()):
                node = str(graph.nodes[token.node])
                pieces = (
                    (f"  [{at}] ", ORANGE),
                    (f"{SIGNS['parked'].sign} {node}", YELLOW),
                    (f"  {brief_tag(token.tag)}", GREY),
                )
                yield row(*pieces, do=f"select {node} {token.tag}", node=node, tag=str(token.tag))


def _name(graph: Graph, handle: Handle) -> str:
    return str(graph.nodes[handle.node])
