"""The names of expressions: one table, from which help is made. A row says what a name is, and how it is read.

An expression is read after an event has been applied: what a name says of the store or the flight is what the event
left there. Where a name has nothing to say (`inputs[0]` of what did not fire) it is None.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias
from typing import Literal as Word

from ...core.graph.graph import Graph, Node
from ..machine.event import Event
from ..machine.state import State
from .tag_pattern import names_of, sites_of

Kind: TypeAlias = Word["number", "truth", "text", "name", "tag", "value", "values"]
"""What is known of an expression before the run. A `name` is compared with a text that must be one of the graph's; a
`value` is whatever the program computes with; `values` are several, by number."""
Read: TypeAlias = Callable[[State, Event], Any]


@dataclass(frozen=True, slots=True)
class Naming:
    """The names that something of a graph goes by: `key` says which thing an event is about, `names` what each is
    called, in full first."""

    key: Callable[[Event], Hashable]
    names: Callable[[Graph], Mapping[Hashable, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Row:
    """A name, what it means, and an expression that has it."""

    name: str
    kind: Kind
    doc: str
    example: str
    read: Callable[[Graph], Read]
    naming: Naming | None = None


_node: Callable[[Event], Hashable] = attrgetter("token.node")


def _by_node(names: Callable[[Node], tuple[str, ...]]) -> Naming:
    return Naming(_node, lambda graph: {number: names(node) for number, node in enumerate(graph.nodes)})


def _named(name: str, naming: Naming, doc: str, example: str) -> Row:
    def read(graph: Graph) -> Read:
        shown = {key: names[0] if names else None for key, names in naming.names(graph).items()}
        return lambda state, event: shown.get(naming.key(event))

    return Row(name, "name", doc, example, read, naming)


def _plain(name: str, kind: Kind, doc: str, example: str, read: Read) -> Row:
    return Row(name, kind, doc, example, lambda graph: read)


def _line(graph: Graph) -> Read:
    lines = [None if node.location is None else node.location.line for node in graph.nodes]
    return lambda state, event: lines[event.token.node]


def _value(state: State, event: Event) -> Any:
    return event.outputs[0][1] if event.outputs else event.token.value


def _lost(state: State, event: Event) -> bool:
    if event.inputs is None:
        return not state.flight
    return bool(event.outputs) and not event.sent and event.trap is None


def _outputs(state: State, event: Event) -> tuple[Any, ...] | None:
    return tuple(value for _, value in event.outputs) or None


_SITES = Naming(attrgetter("token.tag.site"), lambda graph: {site: names_of(site) for site in sites_of(graph)})

_ROWS = (
    _named(
        "node",
        _by_node(lambda node: (str(node), node.name)),
        "the node that the token came to: `mul`, or `fib.mul` where several functions have one",
        "node == 'add'",
    ),
    _named("function", _by_node(lambda node: (node.function,)), "the function of the node", "function == 'fib'"),
    _named("op", _by_node(lambda node: (node.op,)), "the op of the node", "op == 'add'"),
    _named(
        "site",
        _by_node(lambda node: () if node.site is None else names_of(node.site)),
        "the call or loop that the node belongs to, if it is one that changes tags",
        "site == 'fib'",
    ),
    Row("line", "number", "the line of the source that made the node", "line == 20", _line),
    _plain("port", "number", "the port that the token came to", "port == 1", lambda state, event: event.token.port),
    _plain(
        "value",
        "value",
        "the first result where the node fired and has one, else what the token carried",
        "value < 0",
        _value,
    ),
    _plain(
        "inputs",
        "values",
        "the operands of the firing, by port; literals and triggers are among them",
        "inputs[0] == 1",
        lambda state, event: event.inputs,
    ),
    _plain(
        "outputs",
        "values",
        "the results of the firing, by output: of a switch, output 0 or 1",
        "outputs[0] > 2",
        _outputs,
    ),
    _plain(
        "fired",
        "truth",
        "whether the node fired; if not, the token waits or is parked",
        "fired",
        lambda s, event: event.fired,
    ),
    _plain(
        "trap",
        "text",
        "why the firing trapped; empty if it did not",
        "trap",
        lambda state, event: event.trap or "",
    ),
    _plain(
        "lost",
        "truth",
        "whether something comes to nothing here: the node fired, did not trap and has a result, and no token was sent"
        " (as by the side of a switch that nothing uses); or the token waits and nothing is in flight any more",
        "lost and op != 'switch'",
        _lost,
    ),
    _plain(
        "parked",
        "truth",
        "whether the token stays at an empty cell, until something is put there",
        "parked",
        lambda state, event: event.parked is not None,
    ),
    _plain(
        "woken", "number", "how many tokens leave the cell that is put here", "woken > 0", lambda s, e: len(e.woken)
    ),
    _plain(
        "held",
        "truth",
        "whether a bound on the iterations of a loop holds back what was sent",
        "held",
        lambda state, event: event.held,
    ),
    _plain("tag", "tag", "the tag of the token", "tag matches 'main/**/fib'", lambda state, event: event.token.tag),
    _plain(
        "tag.depth", "number", "how many calls and loops are around", "tag.depth > 2", lambda s, e: e.token.tag.depth
    ),
    _plain(
        "tag.iteration",
        "number",
        "which iteration the tag is, from 0, where its last step is a loop; else 0",
        "tag.iteration == 3",
        lambda state, event: event.token.tag.iteration,
    ),
    _named("tag.site", _SITES, "the call or loop that is the last step of the tag", "tag.site == 'fib'"),
    _plain("depth", "number", "short for tag.depth", "depth > 2", lambda state, event: event.token.tag.depth),
    _plain(
        "iteration",
        "number",
        "short for tag.iteration",
        "iteration == 3",
        lambda state, event: event.token.tag.iteration,
    ),
    _plain(
        "count",
        "number",
        "how often the node has fired, with this event",
        "count == 10",
        lambda state, event: state.counts[event.token.node],
    ),
    _plain("firings", "number", "how many nodes have fired, with this event", "firings > 100", lambda s, e: s.firings),
    _plain("step", "number", "the number of the event, from 1", "step == 40", lambda state, event: state.steps),
    _plain("store", "number", "how many tokens wait after the event", "store > 3", lambda s, e: s.waiting),
    _plain(
        "flight",
        "number",
        "how many tokens are in flight after the event",
        "flight == 0 and store > 0",
        lambda state, event: len(state.flight),
    ),
)
NAMES: dict[str, Row] = {row.name: row for row in _ROWS}
"""The names of expressions, in the order of help."""


def item(name: str, index: int) -> Read:
    """Reads `inputs[index]` or `outputs[index]`: None where there is none."""
    if name == "outputs":
        return lambda state, event: next((value for output, value in event.outputs if output == index), None)

    def read(state: State, event: Event) -> Any:
        return event.inputs[index] if event.inputs is not None and index < len(event.inputs) else None

    return read


def most_items(name: str, graph: Graph) -> int:
    """How many inputs or outputs a node of the graph has at most."""
    return max((len(node.ports if name == "inputs" else node.outputs) for node in graph.nodes), default=0)
