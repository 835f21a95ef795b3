"""A live page: the graph of a program, and a token machine in JavaScript that runs it in the browser.

The page has the columns of a run that has not begun; its scripts make the others. What the machine cannot run is
refused here, before a page is written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...core.dtypes import FLOAT_FORMATS
from ...core.errors import Usage
from ...core.graph.graph import Graph, GraphNode
from ...core.json.graph import graph_to_json
from ...core.json.value import uint64_to_json, value_to_json
from ...core.ops.effects import has_formats
from ...core.ops.op import OPS
from ...core.ops.routing import ROUTING_OPS
from ...core.types import HandleType, Type, element_type
from ...core.value import Value
from ..render import ProgressCallback
from .columns import PlayerColumns, source_excerpts
from .graph_layout import build_plans
from .page import PlayerPage, PlayerSelection, PlayerSummary, badge_glyphs, build_html, describe_start
from .recording import record_tokens, whole_segment

LIVE_EFFECTS = frozenset({"cells", "store", "get", "print", "breakpoint", "uniform", "normal", "integers"})
"""The effect ops of the machine in the page."""


def unsupported_reason(graph: Graph) -> str | None:
    """Why the machine in the page cannot run this graph; None if it can. It knows the ops that have a scalar column,
    those that route tokens, and LIVE_EFFECTS, on scalars."""
    if graph.has_dead_tokens:
        return "its machine has no dead tokens, which this graph sends"
    for node in graph.nodes:
        if node.op == "callback":
            return f"{node} calls a Python function, and the page has no Python"
        if node.op == "print" and has_formats(dict(node.attributes)["text"]):
            return f"{node} formats a number, and the page has no Python"
        if not has_op(node):
            return f"the machine of the page has no op {node.op}, which {node} needs: it computes on scalars only"
        if node.op == "bitcast" and any(
            port and port.type.dtype in FLOAT_FORMATS for port in (*node.ports, *node.outputs)
        ):
            return f"the machine of the page cannot represent floats of 16 bits, which {node} needs"
        if not all(is_scalar(output.type) for output in node.outputs) or not all(
            port is None or port.type.is_scalar for port in node.ports
        ):
            return f"{node} has a value that is an array, and the machine computes on scalars only"
    for name, output in graph.arguments:
        if not is_scalar(output.type):
            return f"the argument {name} is an array, and the machine computes on scalars only"
    return None


def has_op(node: GraphNode) -> bool:
    """Whether the machine in the page has the op of a node."""
    if node.op in OPS:
        return OPS[node.op].scalar is not None
    return node.op in ROUTING_OPS or node.op in LIVE_EFFECTS


def is_scalar(type_: Type) -> bool:
    """Whether a value is a number, or a handle of cells that hold numbers."""
    return element_type(type_).is_scalar if isinstance(type_.dtype, HandleType) else type_.is_scalar


def build_live_page(
    graph: Graph,
    arguments: Sequence[Value],
    schedule: str = "waves",
    choice: PlayerSelection | None = None,
    progress: ProgressCallback | None = None,
    *,
    seed: int = 0,
    bound: int | None = None,
) -> PlayerPage:
    """The page that runs a graph in the browser, first on these arguments and by this schedule. `choice` has the
    largest number of events of a run, and the drawing's options.

    Raises Usage where the machine in the page cannot run the graph.
    """
    choice = choice or PlayerSelection()
    reason = unsupported_reason(graph)
    if reason is not None:
        raise Usage("a page cannot run this program", got=reason, hint="without --live, a page plays a recorded run")
    plans = build_plans(graph, choice.max_boxes, choice.fold, progress)
    segment = whole_segment(record_tokens(graph, (), arguments))
    names = describe_start(graph, arguments)
    data = PlayerColumns(segment, plans, source_excerpts(graph)).to_json()
    data |= PlayerSummary(*names, schedule, "", "", "", "")._asdict()
    data |= {"note": "", "has_waves": int(schedule == "waves"), "badges": badge_glyphs()}
    data["live"] = {
        "graph": json.dumps(graph_to_json(graph), separators=(",", ":")),
        "arguments": [value_to_json(argument) for argument in arguments],
        "schedule": schedule,
        "seed": str(uint64_to_json(seed)),
        "bound": bound,
        "max_events": choice.max_events,
        "edges": list(plans.edges),
    }
    return PlayerPage(names[0], build_html(data, plans.plans[0].svg, choice), plans.view.caption)
