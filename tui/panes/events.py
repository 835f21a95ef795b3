"""The panes of what happened: the events, and the answers to commands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from ...core.graph import Graph
from ...interp.event import Event
from ...viz.moment import brief, brief_tag
from ...viz.style import GREY, ORANGE, SIGNS, SKY, VERMILLION
from ..session.reply import Reply
from ..session.session import Session
from .page import Lazy, Page, Row, Span, empty, row


def events(session: Session) -> Page:
    """The events that are known and listed, each a row; those ahead are faint."""
    history = session.history
    numbers = session.run.known.matching(history, session.focus)
    position, graph = history.position, history.graph
    at = bisect_left(numbers, position) - 1
    filters = [each for each in (session.focus.events, session.focus.only) if each]
    said = (
        " · ".join([f"{len(numbers):,} of {len(history):,}", *filters])
        if filters
        else f"{position:,} of {len(history):,}"
    )
    if not numbers:
        return empty("no event is such" if filters else "nothing has happened yet: s steps")._replace(said=said)
    make = lambda index: _event(graph, numbers[index], history[numbers[index]], position)  # noqa: E731
    return Page(Lazy(len(numbers), make), said, max(at, 0))


def _event(graph: Graph, number: int, event: Event, position: int) -> Row:
    token = event.token
    name = str(graph.nodes[token.node])
    sign = SIGNS[
        "trap" if event.trap is not None else "fired" if event.fired else "parked" if event.parked else "waits"
    ]
    if event.inputs is None:
        said = f"{brief(token.value)} at port {token.port}"
    else:
        came = event.trap or ", ".join(brief(value) for _, value in event.outputs) or "nothing"
        said = f"{', '.join(map(brief, event.inputs))} → {came}"
    faint = number >= position
    colours = (GREY, GREY, GREY) if faint else (sign.colour, "", "")
    return row(
        (f"{number:>5,} ", GREY),
        (f"{sign.sign} ", colours[0]),
        (f"{name} ", colours[1]),
        Span(said, colours[2], not faint and event.fired),
        (f"  {brief_tag(token.tag)}", GREY),
        do=f"goto {number + 1}",
        here=number + 1 == position,
        node=name,
        tag=str(token.tag),
    )


def answers(replies: Iterable[Reply]) -> Page:
    """What was commanded, and answered; a firing in an answer leads there."""
    lines = [(reply, number) for reply in replies for number in range(-1, len(reply.text))]
    if not lines:
        return empty("answers to commands come here; : gives one, h lists them")
    first = len(lines) - 1 - len(lines[-1][0].text)
    return Page(Lazy(len(lines), lambda at: _answer(*lines[at])), "", first, True)


def _answer(reply: Reply, number: int) -> Row:
    """A line of an answer; before its first stands the command."""
    if number < 0:
        return row((f"❯ {reply.command}", SKY if reply.ok else VERMILLION))
    line = reply.text[number]
    return row((f"  {line}", "" if reply.ok else ORANGE), do=_place(line))


def _place(line: str) -> str:
    """Where a line of an answer leads."""
    _, mark, rest = line.partition(" at event ")
    digits = rest.partition(":")[0].partition(",")[0].strip()
    return f"goto {int(digits) + 1}" if mark and digits.isdigit() else ""
