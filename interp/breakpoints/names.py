"""The names that expressions may use, as one table, from which help is generated. A row documents a name and evaluates
it.

An expression is evaluated after the event has been applied: names for the store or the flight describe them after the
event. A name without a value (`inputs[0]` of an event that fired nothing) evaluates to None.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias
from typing import Literal as Word

from ...core.graph.graph import Graph, GraphNode
from ..machine.event import Event
from ..machine.state import State
from .tag_pattern import site_names, sites_of
from .values import count_nonfinite

ExpressionKind: TypeAlias = Word["number", "truth", "text", "name", "tag", "value", "values"]
"""The kind of an expression, known before the run. A `name` is compared with a text, which must be a name in the graph;
a `value` is any value of the program; `values` are a tuple of values."""
Evaluator: TypeAlias = Callable[[State, Event], Any]


@dataclass(frozen=True, slots=True)
class GraphNames:
    """The names of nodes or sites of a graph, by keys. `key` returns the key of an event's node or site, and `names`
    maps each key to its names, the full one first."""

    key: Callable[[Event], Hashable]
    names: Callable[[Graph], Mapping[Hashable, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class ExpressionName:
    """A name, its meaning, and an example expression that uses it."""

    name: str
    kind: ExpressionKind
    doc: str
    example: str
    bind: Callable[[Graph], Evaluator]
    graph_names: GraphNames | None = None


_node_of: Callable[[Event], Hashable] = attrgetter("token.node")


def _node_names(names: Callable[[GraphNode], tuple[str, ...]]) -> GraphNames:
    return GraphNames(_node_of, lambda graph: {number: names(node) for number, node in enumerate(graph.nodes)})


def name_row(name: str, graph_names: GraphNames, doc: str, example: str) -> ExpressionName:
    """The row of a name that is compared with names of the graph."""

    def read(graph: Graph) -> Evaluator:
        full_names = {key: names[0] if names else None for key, names in graph_names.names(graph).items()}
        return lambda state, event: full_names.get(graph_names.key(event))

    return ExpressionName(name, "name", doc, example, read, graph_names)


def value_row(name: str, kind: ExpressionKind, doc: str, example: str, read: Evaluator) -> ExpressionName:
    """The row of a name whose value is read from the event and the state."""
    return ExpressionName(name, kind, doc, example, lambda graph: read)


def _bind_line(graph: Graph) -> Evaluator:
    lines = [None if node.location is None else node.location.line for node in graph.nodes]
    return lambda state, event: lines[event.token.node]


def _read_value(state: State, event: Event) -> Any:
    return event.outputs[0][1] if event.outputs else event.token.value


def _count_nonfinite(state: State, event: Event) -> int:
    return sum(count_nonfinite(value) for _, value in event.outputs[:1])


def _is_lost(state: State, event: Event) -> bool:
    if event.inputs is None:
        return not state.flight
    return bool(event.outputs) and not event.sent and event.trap is None


def _read_outputs(state: State, event: Event) -> tuple[Any, ...] | None:
    return tuple(value for _, value in event.outputs) or None


_SITE_NAMES = GraphNames(
    attrgetter("token.tag.site"), lambda graph: {site: site_names(site) for site in sites_of(graph)}
)

_NAME_ROWS = (
    name_row(
        "node",
        _node_names(lambda node: (str(node), node.name)),
        "the node that receives the token: `mul`, or `fib.mul` if several functions have a `mul`",
        "node == 'add'",
    ),
    name_row("function", _node_names(lambda node: (node.function,)), "the function of the node", "function == 'fib'"),
    name_row("op", _node_names(lambda node: (node.op,)), "the op of the node", "op == 'add'"),
    name_row(
        "site",
        _node_names(lambda node: () if node.site is None else site_names(node.site)),
        "the call or loop that the node enters or leaves; only nodes that change tags have one",
        "site == 'fib'",
    ),
    ExpressionName("line", "number", "the source line of the node", "line == 20", _bind_line),
    value_row("port", "number", "the port that receives the token", "port == 1", lambda state, event: event.token.port),
    value_row(
        "value",
        "value",
        "the first result of the firing; without a result, the value of the token",
        "value < 0",
        _read_value,
    ),
    value_row(
        "inputs",
        "values",
        "the operands of the firing, by port, with literals and triggers",
        "inputs[0] == 1",
        lambda state, event: event.inputs,
    ),
    value_row(
        "outputs",
        "values",
        "the results of the firing, by output; a switch has a result on output 0 or 1 only",
        "outputs[0] > 2",
        _read_outputs,
    ),
    value_row(
        "nonfinite",
        "number",
        "the number of elements of the first result that are infinite or NaN",
        "nonfinite > 0",
        _count_nonfinite,
    ),
    value_row(
        "fired",
        "truth",
        "whether the node fired; if not, the token waits for partners or is a deferred read",
        "fired",
        lambda s, event: event.is_firing,
    ),
    value_row(
        "trap",
        "text",
        "why the firing trapped; empty if it did not",
        "trap",
        lambda state, event: event.trap or "",
    ),
    value_row(
        "lost",
        "truth",
        "whether a value is lost: the node fired without a trap, and nothing uses its result (as on one side of a"
        " switch); or the token waits and no token is in flight any more",
        "lost and op != 'switch'",
        _is_lost,
    ),
    value_row(
        "deferred",
        "truth",
        "whether the token is a deferred read: it waits at an empty cell until a store fills it",
        "deferred",
        lambda state, event: event.deferred_at is not None,
    ),
    value_row(
        "woken",
        "number",
        "the number of deferred reads that continue, because this store fills their cell",
        "woken > 0",
        lambda s, e: len(e.woken),
    ),
    value_row(
        "throttled",
        "truth",
        "whether the tokens that were sent are throttled by the k-bound of a loop",
        "throttled",
        lambda state, event: event.is_throttled,
    ),
    value_row("tag", "tag", "the tag of the token", "tag matches 'main/**/fib'", lambda state, event: event.token.tag),
    value_row(
        "tag.depth",
        "number",
        "the number of calls and loops around the token",
        "tag.depth > 2",
        lambda s, e: e.token.tag.depth,
    ),
    value_row(
        "tag.iteration",
        "number",
        "the iteration, from 0, if the last step of the tag is a loop; else 0",
        "tag.iteration == 3",
        lambda state, event: event.token.tag.iteration,
    ),
    name_row("tag.site", _SITE_NAMES, "the call or loop that is the last step of the tag", "tag.site == 'fib'"),
    value_row("depth", "number", "short for tag.depth", "depth > 2", lambda state, event: event.token.tag.depth),
    value_row(
        "iteration",
        "number",
        "short for tag.iteration",
        "iteration == 3",
        lambda state, event: event.token.tag.iteration,
    ),
    value_row(
        "count",
        "number",
        "the number of firings of this node, this event included",
        "count == 10",
        lambda state, event: state.firings_by_node[event.token.node],
    ),
    value_row(
        "firings",
        "number",
        "the number of firings of all nodes, this event included",
        "firings > 100",
        lambda s, e: s.firings,
    ),
    value_row("step", "number", "the number of the event, from 1", "step == 40", lambda state, event: state.steps),
    value_row(
        "store",
        "number",
        "the number of tokens that wait for partners after the event",
        "store > 3",
        lambda s, e: s.waiting_count,
    ),
    value_row(
        "flight",
        "number",
        "the number of tokens in flight after the event",
        "flight == 0 and store > 0",
        lambda state, event: len(state.flight),
    ),
)
NAMES: dict[str, ExpressionName] = {row.name: row for row in _NAME_ROWS}
"""The names that expressions may use, in the order of help."""
NEW_NAMES = {"parked": "deferred", "held": "throttled"}
"""Old name -> new name: the parser takes old names for the new ones, with a DeprecationWarning."""


def item_evaluator(name: str, index: int) -> Evaluator:
    """The evaluator of `inputs[index]` or `outputs[index]`, which evaluates to None if there is no such operand or
    result."""
    if name == "outputs":
        return lambda state, event: next((value for output, value in event.outputs if output == index), None)

    def read(state: State, event: Event) -> Any:
        return event.inputs[index] if event.inputs is not None and index < len(event.inputs) else None

    return read


def max_items(name: str, graph: Graph) -> int:
    """The largest number of inputs or outputs of any node of the graph."""
    return max((len(node.ports if name == "inputs" else node.outputs) for node in graph.nodes), default=0)
