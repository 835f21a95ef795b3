"""The pane of one node: its op, its ports, what it fired on and gave, its values across tags, arrays, watches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from ...core.errors import Usage, counted
from ...core.graph.graph import Node
from ...core.handle import Handle
from ...core.tag import Tag
from ...core.value import show
from ...interp.outcome.describe import shown
from ...interp.queries.contexts import fires_under
from ...viz.state_view import brief, brief_tag
from ...viz.style import GREEN, GREY, LOOKS, ORANGE, SIGNS, SKY, kind_of
from ..session.node import Port, array, inspected_tag, ports, sentence
from ..session.rule import does, needs
from ..session.session import Session
from ..session.watch_commands import watched
from .page import Page, Row, Span, empty, row

FIRINGS, VALUES = 8, 60
WIDE = 40
"""Longer sentences take several lines, where nobody says how much room there is."""
_BLOCKS = "▁▂▃▄▅▆▇█"


def inspector(session: Session, width: int = WIDE) -> Page:
    """The node that is selected, or the present one; sentences take as many lines as they need in so many columns."""
    number = session.inspected
    if number is None:
        return empty("there is no node here")
    node, tag = session.history.graph.nodes[number], inspected_tag(session, number)
    rows = [*_head(node, max(width, 20)), *_ports(session, number, tag), *_firings(session, number), *_watches(session)]
    return Page(rows, f"{node}{' (selected)' if str(node) == session.focus.node else ''}")


def _head(node: Node, width: int) -> Iterator[Row]:
    about = {"node": str(node), "do": ""}
    yield row(Span(str(node), LOOKS[kind_of(node.op)].colour, True), (f"  {node.op}", ""), **about)
    where = f"{node.location}" if node.location else "made by no line"
    yield row((f"{where}{f', site {node.site}' if node.site else ''}", GREY), **about)
    for line in wrap(f"{sentence(node.op)}.", width):
        yield row(line, **about)
    for title, said in (("fires ", needs(node)), ("then ", does(node))):
        first, *others = wrap(said, width, initial_indent=" " * len(title), subsequent_indent="  ")
        yield row((title, GREY), first[len(title) :], **about)
        for line in others:
            yield row(line, **about)
    types = ", ".join(str(output.type) for output in node.outputs)
    yield row(("gives ", GREY), types or "nothing")


def _ports(session: Session, number: int, tag: Tag) -> Iterator[Row]:
    history = session.history
    node = history.graph.nodes[number]
    if not fires_under(history.graph, history.ask.contexts, number, tag):
        yield row(("under ", GREY), (f"no activation of {history.ask.contexts[number]} yet", ORANGE), node=str(node))
        return
    yield row(("under ", GREY), str(tag), tag=str(tag), node=str(node))
    try:
        for port in ports(session, number, tag):
            yield row((f"  port {port.number}  ", GREY), _port(session, port), node=str(node), tag=str(tag))
    except Usage as error:
        yield row((f"  {error.message}", GREY))


def _port(session: Session, port: Port) -> tuple[str, str]:
    """What a port has, and its colour."""
    said = shown(session.history.graph, port.value)
    match port.has:
        case "literal":
            return show(port.value), ""
        case "took":
            return f"{SIGNS['fired'].sign} {said}", GREY
        case "passed":
            return "no token", GREY
        case "earlier":
            return f"{SIGNS['fired'].sign} consumed earlier", GREY
        case "holds":
            return f"{SIGNS['waits'].sign} {said}", SKY
        case "nothing":
            return "no token yet", ORANGE


def _firings(session: Session, number: int) -> Iterator[Row]:
    history, graph = session.history, session.history.graph
    numbers = session.run.firings(number)
    yield row((counted(history.state.counts[number], "firing"), GREY))
    values = [history[at].outputs[0][1] for at in numbers[-VALUES:] if history[at].outputs]
    spark = sparkline(values)
    if spark:
        said = (brief(values[0]), brief(values[-1]))
        yield row((f"  {said[0]} ", GREY), (spark, SKY), (f" {said[1]}", GREY))
    for at in reversed(numbers[-FIRINGS:]):
        event = history[at]
        came = event.trap or ", ".join(brief(value) for _, value in event.outputs) or "nothing"
        gave = Span(f"{', '.join(map(brief, event.inputs or ()))} → {came}", "", True)
        yield row(
            (f"  {at:>5,} ", GREY),
            gave,
            (f"  {brief_tag(event.token.tag)}", GREY),
            do=f"goto {at + 1}",
            node=str(graph.nodes[number]),
            tag=str(event.token.tag),
        )
    if values and not isinstance(values[-1], Handle) and np.ndim(values[-1]):
        yield from array_rows(np.asarray(values[-1]), session.focus.slice)


def sparkline(values: Sequence[Any]) -> str:
    """Numbers as a line of blocks; empty where they are no numbers, or fewer than two.

    >>> sparkline([1, 2, 3]), sparkline([1]), sparkline([2, 2])
    ('▁▅█', '', '▄▄')
    """
    if len(values) < 2 or any(isinstance(value, Handle) or np.ndim(value) for value in values):
        return ""
    numbers = np.asarray(values, dtype=np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return ""
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        return "".join(_BLOCKS[3] if np.isfinite(number) else "?" for number in numbers)
    levels = np.round((np.clip(numbers, low, high) - low) / (high - low) * 7)
    return "".join(_BLOCKS[int(level)] if np.isfinite(level) else "?" for level in levels)


def array_rows(value: np.ndarray[Any, Any], chosen: str = "") -> Iterator[Row]:
    """An array: its type, statistics, and the slice that is chosen, or its first numbers."""
    seen = array(value, chosen)
    yield row(("array ", GREY), seen.type)
    if seen.statistics:
        said = "  ".join(f"{name} {number:.4g}" for name, number in seen.statistics.items())
        yield row(f"  {said}", (f"  {seen.odd} not finite" if seen.odd else "", ORANGE))
    elif value.size and value.dtype == bool:
        yield row(f"  {seen.odd:,} of {value.size:,} true")
    if seen.part is None:
        yield row((f"  it has no [{chosen}]", ORANGE))
        return
    if chosen:
        yield row((f"  [{chosen}] ", GREY), f"{list(seen.part.shape) or 'a number'}")
    yield from _numbers(seen.part)


def _numbers(array: np.ndarray[Any, Any]) -> Iterator[Row]:
    flat = array.reshape(-1, array.shape[-1]) if array.ndim > 1 and array.shape[-1] else array.reshape(1, -1)
    for line in flat[:4]:
        more = " …" if len(line) > 6 else ""
        yield row("  ", (" ".join(f"{brief(each[()]):>7}" for each in line[:6]) + more, GREEN))
    if len(flat) > 4:
        yield row((f"  and {len(flat) - 4:,} rows more", GREY))


def _watches(session: Session) -> Iterator[Row]:
    lines, _ = watched(session)
    for line in lines:
        yield row((line.strip(), SKY))
