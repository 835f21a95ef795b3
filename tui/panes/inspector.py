"""The pane of one node: its op, its ports, what it fired on and gave, its values across tags, arrays, watches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from textwrap import wrap
from typing import Any

import numpy as np

from ...core.act import ROWS
from ...core.cells import Handle
from ...core.control import CONTROL
from ...core.errors import TagloomError, counted
from ...core.graph import Node
from ...core.ops.key import read_key
from ...core.tag import Tag
from ...core.value import Value, show
from ...interp.event import Event
from ...interp.questions.ask import tag_of
from ...interp.questions.contexts import fires_under
from ...interp.saying import shown
from ...viz.moment import brief, brief_tag
from ...viz.style import GREEN, GREY, LOOKS, ORANGE, SIGNS, SKY, kind_of
from ..session.asking import last_tag
from ..session.session import Session
from ..session.watching import watched
from .page import Page, Row, Span, empty, row
from .rule import does, needs

FIRINGS, VALUES = 8, 60
WIDE = 40
"""Longer sentences take several lines, where nobody says how much room there is."""
_BLOCKS = "▁▂▃▄▅▆▇█"


def inspector(session: Session, width: int = WIDE) -> Page:
    """The node that is selected, or the present one; sentences take as many lines as they need in so many columns."""
    number = _number(session)
    if number is None:
        return empty("there is no node here")
    node = session.history.graph.nodes[number]
    tag = _tag(session, str(node))
    rows = [*_head(node, max(width, 20)), *_ports(session, number, tag), *_firings(session, number), *_watches(session)]
    return Page(rows, f"{node}{'' if session.focus.node is None else ' (selected)'}")


def _number(session: Session) -> int | None:
    name = session.focus.node
    if name is None:
        return session.node
    return next((at for at, node in enumerate(session.history.graph.nodes) if str(node) == name), session.node)


def _tag(session: Session, name: str) -> Tag:
    text = session.focus.node_tag
    try:
        if text is not None:
            return tag_of(session.history.graph, text)
    except TagloomError:  # of another run
        pass
    return last_tag(session, name)


def _head(node: Node, width: int) -> Iterator[Row]:
    doc = CONTROL[node.op].doc if node.op in CONTROL else ROWS[node.op].doc
    about = {"node": str(node), "do": ""}
    yield row(Span(str(node), LOOKS[kind_of(node.op)].colour, True), (f"  {node.op}", ""), **about)
    where = f"{node.location}" if node.location else "made by no line"
    yield row((f"{where}{f', site {node.site}' if node.site else ''}", GREY), **about)
    for line in wrap(doc.split(". ")[0].strip().rstrip(".") + ".", width):
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
    node, record = history.graph.nodes[number], history.state.records.get(tag)
    if not fires_under(history.graph, history.ask.contexts, number, tag):
        yield row(("under ", GREY), (f"no activation of {history.ask.contexts[number]} yet", ORANGE), node=str(node))
        return
    last = _last_under(session, number, tag)
    held = {} if record is None else record.waiting.get(number, {})
    yield row(("under ", GREY), str(tag), tag=str(tag), node=str(node))
    for port, literal in enumerate(node.ports):
        if literal is not None:
            said = (show(literal.value), "")
        elif last is not None:
            came = _operand(node, last, port)
            said = ("no token", GREY) if came is None else (f"{SIGNS['fired'].sign} {shown(history.graph, came)}", GREY)
        elif record is not None and number in record.fired:
            said = (f"{SIGNS['fired'].sign} consumed earlier", GREY)
        elif port in held:
            said = (f"{SIGNS['waits'].sign} {shown(history.graph, held[port])}", SKY)
        else:
            said = ("no token yet", ORANGE)
        yield row((f"  port {port}  ", GREY), said, node=str(node), tag=str(tag))


def _operand(node: Node, event: Event, port: int) -> Value | None:
    """What a firing took from a port: a merge takes one token, of whichever port."""
    inputs = event.inputs or ()
    if node.op == "merge":
        return inputs[0] if port == event.token.port else None
    return inputs[port]


def _last_under(session: Session, number: int, tag: Tag) -> Event | None:
    """The firing under a tag, if it was one of the last up to here."""
    history = session.history
    record = history.state.records.get(tag)
    if record is not None and number not in record.fired:
        return None
    numbers = session.run.firings(number)
    found = (history[at] for at in islice(reversed(numbers), 2000))
    return next((event for event in found if event.token.tag == tag), None)


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


def array_rows(array: np.ndarray[Any, Any], chosen: str = "") -> Iterator[Row]:
    """An array: its type, statistics, and the slice that is chosen, or its first numbers."""
    yield row(("array ", GREY), f"{array.dtype}{list(array.shape)}")
    yield from _statistics(array)
    part = _sliced(array, chosen)
    if part is None:
        yield row((f"  it has no [{chosen}]", ORANGE))
        return
    if chosen:
        yield row((f"  [{chosen}] ", GREY), f"{list(part.shape) or 'a number'}")
    yield from _numbers(part)


def _sliced(array: np.ndarray[Any, Any], chosen: str) -> np.ndarray[Any, Any] | None:
    """The slice of an array; None where it has no such slice."""
    try:
        return np.asarray(array[read_key(chosen)]) if chosen else array
    except IndexError:
        return None


def _statistics(array: np.ndarray[Any, Any]) -> Iterator[Row]:
    if array.size and array.dtype != bool:
        finite = array[np.isfinite(array)]
        if finite.size:
            numbers = (("min", finite.min()), ("max", finite.max()), ("mean", finite.mean()), ("std", finite.std()))
            said = "  ".join(f"{name} {float(number):.4g}" for name, number in numbers)
            bad = array.size - finite.size
            yield row((f"  {said}", ""), (f"  {bad} not finite" if bad else "", ORANGE))
    elif array.size:
        yield row(f"  {int(array.sum()):,} of {array.size:,} true")


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
