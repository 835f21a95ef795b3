"""The pane of the current call: its arguments, the values so far, and its result."""

from __future__ import annotations

from ...core.graph.graph import Graph
from ...core.tag import Tag
from ...viz.labels import NodeLabels, short_name
from ...viz.state_view import abbreviate_tag, abbreviate_value
from ...viz.style import GREEN, GREY, ORANGE, VERMILLION
from ..session.activation_mark import mark_activation
from ..session.call_frame import FrameValue, find_call_frame
from ..session.session import Session
from .page import PageRow, PageSpan, PanePage, build_row, mark_span


def call_page(session: Session) -> PanePage:
    """The frame of the current call."""
    frame, graph = find_call_frame(session), session.history.graph
    labels, arguments = NodeLabels(graph), ", ".join(abbreviate_value(value) for _, value in frame.arguments)
    mark = mark_activation(session, frame.tag)._replace(is_current=True)
    where = (f"  {abbreviate_tag(frame.tag)}", GREY)
    title = PageSpan(f"{frame.function}({arguments})", "", True)
    rows = [build_row(mark_span(mark, 0), title, where, tag=str(frame.tag), tail_count=1)]
    rows += [variable_row(name, abbreviate_value(value), frame.tag) for name, value in frame.arguments]
    for tag, variables in frame.iterations:
        rows.append(build_row(mark_span(mark_activation(session, tag), 0), (tag.last_step, VERMILLION), tag=str(tag)))
        rows += [variable_row(name, abbreviate_value(value), tag) for name, value in variables]
    last = session.history.position - 1
    rows += [value_row(session, graph, labels, value, value.event == last) for value in frame.values]
    at = next((number for number, row in enumerate(rows) if row.is_current), None)
    results = ", ".join(map(abbreviate_value, frame.results))
    if results:
        rows.append(build_row(PageSpan(f"= {results}", GREEN, True), tag=str(frame.tag)))
    else:
        rows.append(build_row(("no result yet" if frame.is_open else "no result", ORANGE), tag=str(frame.tag)))
    return PanePage(rows, f"{mark.text} {title.text}", at)


def variable_row(name: str, text: str, tag: Tag) -> PageRow:
    """The row of an argument or a loop variable."""
    return build_row((f"  {name} = ", ""), PageSpan(text, "", True), tag=str(tag))


def value_row(session: Session, graph: Graph, labels: NodeLabels, frame_value: FrameValue, is_last: bool) -> PageRow:
    """The row of a value: its name, the value, and the formula or the call that it comes from."""
    command = f"goto {frame_value.event + 1}"
    value = PageSpan(abbreviate_value(frame_value.value), "", True)
    if isinstance(frame_value.source, Tag):
        mark = mark_span(mark_activation(session, frame_value.source), 0)
        return build_row(
            f"  {frame_value.source.last_step} = ",
            value,
            "  ",
            mark,
            command=command,
            is_current=is_last,
            tag=str(frame_value.source),
        )
    node, (formula, _) = graph.nodes[frame_value.source], labels.label_lines(frame_value.source)
    name = short_name(node.name)
    return build_row(f"  {name} = ", value, (f"  {formula}", GREY), command=command, is_current=is_last, node=str(node))
