"""The panes of events and of answers to commands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from textwrap import wrap
from typing import Any

from ...core.graph.graph import Graph
from ...interp.machine.event import Event
from ...interp.outcome.worker_lanes import DRIVER_RANK, WorkerLanes
from ...viz.state_view import abbreviate_tag, abbreviate_value
from ...viz.style import ACTIVATION_COLOURS, BADGE_LOOKS, GREY, ORANGE, SKY, VERMILLION
from ..session.activation_mark import ActivationMark, mark_activation
from ..session.command import CommandReply
from ..session.listing import list_events
from ..session.session import Session
from .page import LazyRows, PageRow, PageSpan, PanePage, build_row, empty_page, mark_span


def events_page(session: Session) -> PanePage:
    """The known events that pass the filter, one row each; those after the current position are faint."""
    history = session.history
    numbers = list_events(session)
    position, graph = history.position, history.graph
    at = bisect_left(numbers, position) - 1
    filters = [
        filter_text for filter_text in (session.focus.event_condition, str(session.root_tag or "")) if filter_text
    ]
    subtitle = (
        " · ".join([f"{len(numbers):,} of {len(history):,}", *filters])
        if filters
        else f"{position:,} of {len(history):,}"
    )
    if not numbers:
        nothing = "earlier events are not known: s steps on" if history.base else "nothing has happened yet: s steps"
        return empty_page("no event matches" if filters else nothing)._replace(subtitle=subtitle)

    def make(index: int) -> PageRow:
        event = history[numbers[index]]
        mark = mark_activation(session, event.token.tag)
        return event_row(graph, numbers[index], event, mark, position, history.lanes)

    return PanePage(LazyRows(len(numbers), make), subtitle, max(at, 0))


def event_row(
    graph: Graph, number: int, event: Event, mark: ActivationMark, position: int, lanes: WorkerLanes | None = None
) -> PageRow:
    """The row of an event, with its worker if there were several; faint if it is after the current position."""
    rank = None if lanes is None else lanes.rank(number)
    worker = () if rank is None else (("driver " if rank == DRIVER_RANK else f"w{rank} ", lane_colour(rank)),)
    return build_row(
        (f"{number:>5,} ", GREY),
        *worker,
        mark_span(mark),
        *event_spans(graph, event, faint=number >= position),
        (f"  {abbreviate_tag(event.token.tag)}", GREY),
        command=f"goto {number + 1}",
        tail_count=1,
        is_current=number + 1 == position,
        node=str(graph.nodes[event.token.node]),
        tag=str(event.token.tag),
    )


def lane_colour(rank: int) -> str:
    """The colour of a worker."""
    return ACTIVATION_COLOURS[rank % len(ACTIVATION_COLOURS)]


def event_spans(graph: Graph, event: Event, *, faint: bool = False) -> tuple[PageSpan, ...]:
    """The text of an event: its sign, the node, and its operands and results, or the token that arrived and waits."""
    token = event.token
    sign = BADGE_LOOKS[
        "trap"
        if event.trap is not None
        else "fired"
        if event.is_firing
        else "deferred"
        if event.deferred_at
        else "waiting"
    ]
    if event.inputs is None:
        text = f"{abbreviate_value(token.value)} at port {token.port}"
    else:
        results = event.trap or ", ".join(abbreviate_value(value) for _, value in event.outputs) or "nothing"
        text = f"{', '.join(map(abbreviate_value, event.inputs))} → {results}"
    colours = (GREY, GREY, GREY) if faint else (sign.colour, "", "")
    name = str(graph.nodes[token.node])
    return (
        PageSpan(f"{sign.glyph} ", colours[0]),
        PageSpan(f"{name} ", colours[1]),
        PageSpan(text, colours[2], not faint and event.is_firing),
    )


def answers_page(replies: Iterable[CommandReply], width: int = 0) -> PanePage:
    """The commands and their answers; Enter on a firing in an answer goes to it. Long lines are wrapped."""
    rows, first, wide = list[PageRow](), 0, 0
    for reply in replies:
        first = len(rows)
        lines, longest = answer_rows(reply.command, reply.ok, reply.text, width)
        rows += lines
        wide = max(wide, longest)
    if not rows:
        return empty_page("answers to commands come here; : gives one, h lists them")
    return PanePage(rows, "", first, True, wide)


@lru_cache(maxsize=100)
def answer_rows(command: str, ok: bool, text: tuple[str, ...], width: int) -> tuple[tuple[PageRow, ...], int]:
    """The rows of a command and its answer, and the length of the longest."""
    lines = (wrap_line(f"  {line}", width, "" if ok else ORANGE, goto_command(line)) for line in text)
    rows = tuple(chain(wrap_line(f"❯ {command}", width, SKY if ok else VERMILLION), *lines))
    return rows, max(len(row.text) for row in rows)


def wrap_line(line: str, width: int, colour: str, command: str = "") -> Iterator[PageRow]:
    """A line, wrapped to the width."""
    indent = len(line) - len(line.lstrip()) + 2
    if not width or len(line) <= width or indent > width // 2:
        yield build_row((line, colour), command=command)
        return
    options: dict[str, Any] = {"subsequent_indent": " " * indent, "drop_whitespace": True, "break_on_hyphens": False}
    for piece in wrap(line, width, **options):
        yield build_row((piece, colour), command=command)


def goto_command(line: str) -> str:
    """The command that goes to the event in a line of an answer."""
    _, mark, rest = line.partition(" at event ")
    digits = rest.partition(":")[0].partition(",")[0].strip()
    return f"goto {int(digits) + 1}" if mark and digits.isdigit() else ""
