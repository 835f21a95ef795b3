"""The pane of the current call: its arguments, the values so far, and its result."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ...core.graph.graph import Graph
from ...viz.activation_tree import argument_texts, is_array_among
from ...viz.labels import NodeLabels, abbreviate_list, short_name
from ...viz.state_view import abbreviate_tag, abbreviate_value
from ...viz.style import GREEN, GREY, ORANGE, VERMILLION
from ..session.activation_mark import mark_activation
from ..session.call_frame import FrameInputs, FrameValue, find_call_frame
from ..session.session import Session
from .page import PageRow, PageSpan, PanePage, build_row, mark_span

MIN_SUMMARIZED_COUNT = 3
"""This many arrays in succession that an activation got from the one around it are one row."""

MAX_NAMES_LENGTH = 30
"""The most characters of the names in such a row."""


def call_page(session: Session) -> PanePage:
    """The frame of the current call."""
    frame, graph = find_call_frame(session), session.history.graph
    tag, variables, outer = frame.call
    own = variables[: len(variables) - frame.capture_count]
    labels, arguments = NodeLabels(graph), ", ".join(argument_texts((value for _, value in own), outer))
    mark = mark_activation(session, tag)._replace(is_current=True)
    where = (f"  {abbreviate_tag(tag)}", GREY)
    title = PageSpan(f"{frame.function}({arguments})", "", True)
    rows = [build_row(mark_span(mark, 0), title, where, tag=str(tag), tail_count=1)]
    rows += variable_rows(session, frame.call)
    for inputs in frame.iterations:
        step = (inputs.tag.last_step, VERMILLION)
        rows.append(build_row(mark_span(mark_activation(session, inputs.tag), 0), step, tag=str(inputs.tag)))
        rows += variable_rows(session, inputs)
    last = session.history.position - 1
    rows += [value_row(session, graph, labels, value, value.event == last) for value in frame.values]
    at = next((number for number, row in enumerate(rows) if row.is_current), None)
    results = ", ".join(map(abbreviate_value, frame.results))
    if results:
        rows.append(build_row(PageSpan(f"= {results}", GREEN, True), tag=str(tag)))
    else:
        rows.append(build_row(("no result yet" if frame.is_open else "no result", ORANGE), tag=str(tag)))
    return PanePage(rows, f"{mark.text} {title.text}", at)


def variable_rows(session: Session, inputs: FrameInputs) -> Iterator[PageRow]:
    """A row for each argument or loop variable; arrays in succession that the activation around it got, too, are one
    row."""
    tag, variables, outer = inputs
    for is_passed_on, group in groupby(variables, lambda variable: is_array_among(variable[1], outer)):
        pairs = list(group)
        if is_passed_on and len(pairs) >= MIN_SUMMARIZED_COUNT and tag.parent is not None:
            names = abbreviate_list((name for name, _ in pairs), MAX_NAMES_LENGTH)
            mark = mark_span(mark_activation(session, tag.parent), 0)
            yield build_row((f"  {names}", GREY), (" as in ", GREY), mark, tag=str(tag.parent), tail_count=2)
        else:
            for name, value in pairs:
                yield build_row((f"  {name} = ", ""), PageSpan(abbreviate_value(value), "", True), tag=str(tag))


def value_row(session: Session, graph: Graph, labels: NodeLabels, frame_value: FrameValue, is_last: bool) -> PageRow:
    """The row of a value: its name, the value, and the formula or the call that it comes from."""
    command = f"goto {frame_value.event + 1}"
    value, node = PageSpan(abbreviate_value(frame_value.value), "", True), graph.nodes[frame_value.node]
    name = short_name(node.name)
    if frame_value.call is not None:
        mark = mark_span(mark_activation(session, frame_value.call), 0)
        tag = str(frame_value.call)
        return build_row(f"  {name} = ", value, "  ", mark, command=command, is_current=is_last, tag=tag)
    formula, _ = labels.label_lines(frame_value.node)
    return build_row(f"  {name} = ", value, (f"  {formula}", GREY), command=command, is_current=is_last, node=str(node))
