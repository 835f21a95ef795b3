"""The names of expressions: one table, from which help is generated. A row says what a name means and how to evaluate
it.

An expression is evaluated after the event has been applied: a name for the store or the flight describes them after the
event. A name without a value there (`inputs[0]` of an event that fired nothing) is None.
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

ExpressionKind: TypeAlias = Word["number", "truth", "text", "name", "tag", "value", "values"]
"""The kind of an expression, known before the run. A `name` is compared with a text that must be one of the graph's
names; a `value` is any value of the program; `values` are several, by number."""
Evaluator: TypeAlias = Callable[[State, Event], Any]


@dataclass(frozen=True, slots=True)
class GraphNames:
    """Names of things in a graph: `key` gives the thing that an event is about, `names` the names of each, the full one
    first."""

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


def _name_row(name: str, naming: GraphNames, doc: str, example: str) -> ExpressionName:
    def read(graph: Graph) -> Evaluator:
        shown = {key: names[0] if names else None for key, names in naming.names(graph).items()}
        return lambda state, event: shown.get(naming.key(event))

    return ExpressionName(name, "name", doc, example, read, naming)


def _value_row(name: str, kind: ExpressionKind, doc: str, example: str, read: Evaluator) -> ExpressionName:
    return ExpressionName(name, kind, doc, example, lambda graph: read)


def _bind_line(graph: Graph) -> Evaluator:
    lines = [None if node.location is None else node.location.line for node in graph.nodes]
    return lambda state, event: lines[event.token.node]


def _read_value(state: State, event: Event) -> Any:
    return event.outputs[0][1] if event.outputs else event.token.value


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
    _name_row(
        "node",
        _node_names(lambda node: (str(node), node.name)),
        "the node that the token came to: `mul`, or `fib.mul` where several functions have one",
        "node == 'add'",
    ),
    _name_row("function", _node_names(lambda node: (node.function,)), "the function of the node", "function == 'fib'"),
    _name_row("op", _node_names(lambda node: (node.op,)), "the op of the node", "op == 'add'"),
    _name_row(
        "site",
        _node_names(lambda node: () if node.site is None else site_names(node.site)),
        "the call or loop that the node belongs to, if it is one that changes tags",
        "site == 'fib'",
    ),
    ExpressionName("line", "number", "the line of the source that made the node", "line == 20", _bind_line),
    _value_row("port", "number", "the port that the token came to", "port == 1", lambda state, event: event.token.port),
    _value_row(
        "value",
        "value",
        "the first result where the node fired and has one, else what the token carried",
        "value < 0",
        _read_value,
    ),
    _value_row(
        "inputs",
        "values",
        "the operands of the firing, by port; literals and triggers are among them",
        "inputs[0] == 1",
        lambda state, event: event.inputs,
    ),
    _value_row(
        "outputs",
        "values",
        "the results of the firing, by output: of a switch, output 0 or 1",
        "outputs[0] > 2",
        _read_outputs,
    ),
    _value_row(
        "fired",
        "truth",
        "whether the node fired; if not, the token waits or is parked",
        "fired",
        lambda s, event: event.fired,
    ),
    _value_row(
        "trap",
        "text",
        "why the firing trapped; empty if it did not",
        "trap",
        lambda state, event: event.trap or "",
    ),
    _value_row(
        "lost",
        "truth",
        "whether something comes to nothing here: the node fired, did not trap and has a result, and no token was sent"
        " (as by the side of a switch that nothing uses); or the token waits and nothing is in flight any more",
        "lost and op != 'switch'",
        _is_lost,
    ),
    _value_row(
        "parked",
        "truth",
        "whether the token stays at an empty cell, until something is put there",
        "parked",
        lambda state, event: event.deferred_at is not None,
    ),
    _value_row(
        "woken", "number", "how many tokens leave the cell that is put here", "woken > 0", lambda s, e: len(e.woken)
    ),
    _value_row(
        "held",
        "truth",
        "whether a bound on the iterations of a loop holds back what was sent",
        "held",
        lambda state, event: event.is_throttled,
    ),
    _value_row("tag", "tag", "the tag of the token", "tag matches 'main/**/fib'", lambda state, event: event.token.tag),
    _value_row(
        "tag.depth", "number", "how many calls and loops are around", "tag.depth > 2", lambda s, e: e.token.tag.depth
    ),
    _value_row(
        "tag.iteration",
        "number",
        "which iteration the tag is, from 0, where its last step is a loop; else 0",
        "tag.iteration == 3",
        lambda state, event: event.token.tag.iteration,
    ),
    _name_row("tag.site", _SITE_NAMES, "the call or loop that is the last step of the tag", "tag.site == 'fib'"),
    _value_row("depth", "number", "short for tag.depth", "depth > 2", lambda state, event: event.token.tag.depth),
    _value_row(
        "iteration",
        "number",
        "short for tag.iteration",
        "iteration == 3",
        lambda state, event: event.token.tag.iteration,
    ),
    _value_row(
        "count",
        "number",
        "how often the node has fired, with this event",
        "count == 10",
        lambda state, event: state.firings_by_node[event.token.node],
    ),
    _value_row(
        "firings", "number", "how many nodes have fired, with this event", "firings > 100", lambda s, e: s.firings
    ),
    _value_row("step", "number", "the number of the event, from 1", "step == 40", lambda state, event: state.steps),
    _value_row("store", "number", "how many tokens wait after the event", "store > 3", lambda s, e: s.waiting_count),
    _value_row(
        "flight",
        "number",
        "how many tokens are in flight after the event",
        "flight == 0 and store > 0",
        lambda state, event: len(state.flight),
    ),
)
NAMES: dict[str, ExpressionName] = {row.name: row for row in _NAME_ROWS}
"""The names of expressions, in the order of help."""


def item_evaluator(name: str, index: int) -> Evaluator:
    """The evaluator of `inputs[index]` or `outputs[index]`: None if there is none."""
    if name == "outputs":
        return lambda state, event: next((value for output, value in event.outputs if output == index), None)

    def read(state: State, event: Event) -> Any:
        return event.inputs[index] if event.inputs is not None and index < len(event.inputs) else None

    return read


def max_items(name: str, graph: Graph) -> int:
    """The largest number of inputs or outputs of any node of the graph."""
    return max((len(node.ports if name == "inputs" else node.outputs) for node in graph.nodes), default=0)
