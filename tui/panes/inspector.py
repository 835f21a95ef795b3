"""The inspector pane: one node's op, ports, operands and results, values across tags, arrays, and watches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from ...core.errors import Usage, plural
from ...core.graph.graph import Graph, GraphNode
from ...core.tag import Tag
from ...core.types import OPAQUE_CLASSES
from ...core.value import Value, format_element, format_numbers, format_value
from ...interp.outcome.outcome import describe_value
from ...interp.queries.contexts import fires_under
from ...viz.state_view import abbreviate_tag, abbreviate_value
from ...viz.style import BADGE_LOOKS, BOX_LOOKS, GREEN, GREY, ORANGE, SKY, kind_of
from ..session.activation_mark import mark_activation
from ..session.mark_commands import describe_watches
from ..session.node import (
    PortState,
    describe_effect,
    describe_firing_rule,
    describe_helpers,
    inspected_tag,
    op_summary,
    ports,
    summarize_array,
)
from ..session.session import Session
from .page import PageRow, PageSpan, PanePage, build_row, empty_page, mark_span

MAX_FIRINGS, MAX_VALUES = 8, 60
MAX_ELEMENTS = 6
"""The most elements shown of an array at a port, and in a row of an array."""

ELEMENT_WIDTH = 7
"""The columns of an element of an array."""

DEFAULT_WIDTH = 40
"""The default width at which sentences are wrapped."""
_BAR_GLYPHS = "▁▂▃▄▅▆▇█"


def inspector_page(session: Session, width: int = DEFAULT_WIDTH) -> PanePage:
    """The selected node, or else the current one; sentences are wrapped to `width` columns."""
    number = session.inspected_node
    if number is None:
        return empty_page("there is no node here")
    node, tag = session.history.graph.nodes[number], inspected_tag(session, number)
    rows = [
        *header_rows(node, max(width, 20)),
        *port_rows(session, number, tag),
        *firing_rows(session, number),
        *_watch_rows(session),
    ]
    mark = " (selected)" if str(node) == session.focus.node_name else " (found)" if number == session.found_node else ""
    return PanePage(rows, f"{node}{mark}")


def header_rows(node: GraphNode, width: int) -> Iterator[PageRow]:
    """The node: its op, its line of source, and the op's description."""
    about = {"node": str(node), "command": ""}
    yield build_row(PageSpan(str(node), BOX_LOOKS[kind_of(node.op)].colour, True), (f"  {node.op}", ""), **about)
    where = f"{node.location}" if node.location else "no line of source"
    yield build_row((f"{where}{f', site {node.site}' if node.site else ''}", GREY), **about)
    for line in wrap(describe_helpers(node), width, subsequent_indent="  "):
        yield build_row((line, GREY), **about)
    for line in wrap(f"{op_summary(node.op)}.", width):
        yield build_row(line, **about)
    for title, text in (("fires ", describe_firing_rule(node)), ("then ", describe_effect(node))):
        first, *others = wrap(text, width, initial_indent=" " * len(title), subsequent_indent="  ")
        yield build_row((title, GREY), first[len(title) :], **about)
        for line in others:
            yield build_row(line, **about)
    types = ", ".join(str(output.type) for output in node.outputs)
    yield build_row(("gives ", GREY), types or "nothing")


def port_rows(session: Session, number: int, tag: Tag) -> Iterator[PageRow]:
    """The ports of a node under a tag."""
    history = session.history
    node = history.graph.nodes[number]
    if not fires_under(history.graph, history.ask.contexts, number, tag):
        yield build_row(
            ("under ", GREY), (f"no activation of {history.ask.contexts[number]} yet", ORANGE), node=str(node)
        )
        return
    mark = mark_activation(session, tag)
    yield build_row(("under ", GREY), mark_span(mark, 0), str(tag), tag=str(tag), node=str(node), tail_count=1)
    try:
        for port in ports(session, number, tag):
            yield build_row(
                (f"  port {port.number}  ", GREY), describe_port(session, port), node=str(node), tag=str(tag)
            )
    except Usage as error:
        yield build_row((f"  {error.message}", GREY))


def describe_port(session: Session, port: PortState) -> tuple[str, str]:
    """The state of a port in words, and its colour."""
    text = describe_operand(session.history.graph, port.value)
    match port.status:
        case "literal":
            return format_value(port.value), ""
        case "consumed":
            return f"{BADGE_LOOKS['fired'].glyph} {text}", GREY
        case "unused":
            return "no token", GREY
        case "consumed_earlier":
            return f"{BADGE_LOOKS['fired'].glyph} consumed earlier", GREY
        case "waiting":
            return f"{BADGE_LOOKS['waiting'].glyph} {text}", SKY
        case "empty":
            return "no token yet", ORANGE


def describe_operand(graph: Graph, value: Value) -> str:
    """A value at a port: a number with all its digits, an array with its first elements."""
    if isinstance(value, OPAQUE_CLASSES) or not np.ndim(value):
        return describe_value(graph, value)
    array = np.asarray(value)
    elements = ", ".join(describe_element(element, array.size) for element in array.flat[:MAX_ELEMENTS])
    if array.ndim == 1 and array.size <= MAX_ELEMENTS:
        return f"[{elements}]"
    return f"{array.dtype}{list(array.shape)} {elements}, \u2026" if array.size else abbreviate_value(value)


def firing_rows(session: Session, number: int) -> Iterator[PageRow]:
    """The last firings of a node, with its values as a sparkline or an array."""
    history, graph = session.history, session.history.graph
    numbers = session.run.firings(number)
    yield build_row((plural(history.state.firings_by_node[number], "firing"), GREY))
    values = [history[at].outputs[0][1] for at in numbers[-MAX_VALUES:] if history[at].outputs]
    spark = sparkline(values)
    if spark:
        ends = (abbreviate_value(values[0]), abbreviate_value(values[-1]))
        yield build_row((f"  {ends[0]} ", GREY), (spark, SKY), (f" {ends[1]}", GREY))
    for at in reversed(numbers[-MAX_FIRINGS:]):
        event = history[at]
        results = event.trap or ", ".join(abbreviate_value(value) for _, value in event.outputs) or "nothing"
        firing = PageSpan(f"{', '.join(map(abbreviate_value, event.inputs or ()))} → {results}", "", True)
        yield build_row(
            (f"  {at:>5,} ", GREY),
            mark_span(mark_activation(session, event.token.tag)),
            firing,
            (f"  {abbreviate_tag(event.token.tag)}", GREY),
            command=f"goto {at + 1}",
            tail_count=1,
            node=str(graph.nodes[number]),
            tag=str(event.token.tag),
        )
    if values and not isinstance(values[-1], OPAQUE_CLASSES) and np.ndim(values[-1]):
        yield from array_rows(np.asarray(values[-1]), session.focus.array_slice)


def sparkline(values: Sequence[Any]) -> str:
    """Numbers as a line of block characters; empty if they are not numbers, or fewer than two.

    >>> sparkline([1, 2, 3]), sparkline([1]), sparkline([2, 2])
    ('▁▅█', '', '▄▄')
    """
    if len(values) < 2 or any(isinstance(value, OPAQUE_CLASSES) or np.ndim(value) for value in values):
        return ""
    numbers = np.asarray(values, dtype=np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return ""
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        return "".join(_BAR_GLYPHS[3] if np.isfinite(number) else "?" for number in numbers)
    levels = np.round((np.clip(numbers, low, high) - low) / (high - low) * 7)
    return "".join(_BAR_GLYPHS[int(level)] if np.isfinite(level) else "?" for level in levels)


def array_rows(value: np.ndarray[Any, Any], chosen: str = "") -> Iterator[PageRow]:
    """An array: its type, statistics, and the chosen slice, or else its first elements."""
    summary = summarize_array(value, chosen)
    yield build_row(("array ", GREY), summary.type)
    if summary.statistics:
        statistics = "  ".join(f"{name} {number:.4g}" for name, number in summary.statistics.items())
        yield build_row(
            f"  {statistics}",
            (f"  {summary.nonfinite_or_true_count} not finite" if summary.nonfinite_or_true_count else "", ORANGE),
        )
    elif value.size and value.dtype == bool:
        yield build_row(f"  {summary.nonfinite_or_true_count:,} of {value.size:,} true")
    if summary.selection is None:
        yield build_row((f"  there is no slice [{chosen}]", ORANGE))
        return
    if chosen:
        yield build_row((f"  [{chosen}] ", GREY), f"{list(summary.selection.shape) or 'a number'}")
    yield from _number_rows(summary.selection)


def _number_rows(array: np.ndarray[Any, Any]) -> Iterator[PageRow]:
    flat = array.reshape(-1, array.shape[-1]) if array.ndim > 1 and array.shape[-1] else array.reshape(1, -1)
    for line in flat[:4]:
        more = " …" if len(line) > MAX_ELEMENTS else ""
        texts = (f"{describe_element(value, array.size):>{ELEMENT_WIDTH}}" for value in line[:MAX_ELEMENTS])
        yield build_row("  ", (" ".join(texts) + more, GREEN))
    if len(flat) > 4:
        yield build_row((f"  and {len(flat) - 4:,} rows more", GREY))


def describe_element(value: Any, size: int) -> str:
    """A NumPy scalar that is an element of an array of this size. Long floats have four digits, so that rows fit, but
    all digits if there is no other element.

    >>> third = np.float64(1 / 3)
    >>> describe_element(third, 6), describe_element(third, 1)
    ('0.3333', '0.3333333333333333')
    """
    return format_numbers(np.asarray(value)) if size == 1 else format_element(value)


def _watch_rows(session: Session) -> Iterator[PageRow]:
    lines, _ = describe_watches(session)
    for line in lines:
        yield build_row((line.strip(), SKY))
