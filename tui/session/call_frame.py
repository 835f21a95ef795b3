"""The current call as a frame: its arguments, the values that it has computed so far, and its results.

Inside a loop, the variables and values of the current iteration are in the frame, too. A call that the current one
makes counts as a value once its result has come.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from ...core.tag import ENVIRONMENT, Tag
from ...core.value import Value
from ...viz.activation_tree import gate_name, parameter_gates
from .session import Session


class FrameValue(NamedTuple):
    """A value of a frame: the node that computed it, the value and the event; for a result of a call, the node that
    returns it, and the call."""

    node: int
    value: Value
    event: int
    call: Tag | None = None


class FrameInputs(NamedTuple):
    """An activation of a frame, with its arguments or loop variables by name."""

    tag: Tag
    variables: list[tuple[str, Value]]
    outer: list[Value]
    """The arguments or loop variables of the activation around it."""


class CallFrame(NamedTuple):
    """The innermost call around the current tag, at the current position."""

    function: str
    call: FrameInputs
    iterations: list[FrameInputs]
    """The current iterations of the loops that it is in, outermost first."""
    values: list[FrameValue]
    """The values in the order in which they came."""
    results: list[Value]
    is_open: bool
    capture_count: int
    """How many of the call's arguments, the last ones, are captured by the function of the run."""


def find_call_frame(session: Session) -> CallFrame:
    """The frame of the current call."""
    history, index = session.history, session.run.index
    graph, position = history.graph, history.position
    tags = list[Tag]()
    for tag in session.current_tag.self_and_ancestors():
        tags.insert(0, tag)
        if tag.site.kind == "call":
            break
    inputs = list[FrameInputs]()
    outer = list[Value]()
    if tags[0].parent is not None:
        outer = [value for at, value in index.activation(tags[0].parent).arguments.values() if at <= position]
    values = list[FrameValue]()
    for tag in tags:
        summary = index.activation(tag)
        facts = ((gate, *summary.arguments[gate]) for gate in parameter_gates(graph, summary.arguments))
        inputs.append(
            FrameInputs(tag, [(gate_name(graph, gate), value) for gate, at, value in facts if at <= position], outer)
        )
        outer = [value for _, value in inputs[-1].variables]
        for number in summary.computations[: bisect_left(summary.computations, position)]:
            event = history[number]
            if event.outputs:
                values.append(FrameValue(event.token.node, event.outputs[0][1], number))
        for _, child in summary.children:
            if child.site.kind == "call":
                results = index.activation(child).results.items()
                values += [
                    FrameValue(node, value, at - 1, child)
                    for node, (at, value) in results
                    if at <= position and not graph.nodes[node].phase
                ]
    call = tags[0]
    returned_values = sorted(index.activation(call).results.items())
    return CallFrame(
        graph.name if call.site == ENVIRONMENT else dict(graph.calls).get(call.site, "?"),
        inputs[0],
        inputs[1:],
        sorted(values, key=lambda value: value.event),
        [value for node, (at, value) in returned_values if at <= position and not graph.nodes[node].phase],
        call in history.state.records,
        graph.capture_count if call.site == ENVIRONMENT else 0,
    )
