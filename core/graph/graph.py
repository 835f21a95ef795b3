"""Graphs: flat, static, cyclic. The machines run them.

A graph has numbered nodes, each with ports and outputs; an output has edges to ports. A port takes a token or holds a
literal, which needs no token. A node with nothing but literals has one more port, its trigger, whose value is ignored.
The body of a function appears exactly once, whatever the number of its call sites.

This module owns the data and the builder. `validate` says which graphs are well-formed, and `lower` makes them from
programs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ...deprecation import renamed_attributes
from ..display import SvgReprMixin
from ..errors import Usage, require_class
from ..ops.routing import DEAD_TOKEN_OPS
from ..program.program import PHASE, Location, UniqueNames
from ..tag import ENVIRONMENT, Site
from ..types import Type
from ..value import Literal, literal

T = TypeVar("T")

MAX_SUGGESTED_NODES = 8
"""The most nodes that are listed where a name is unknown."""


class Edge(NamedTuple):
    """The target of an edge: a port of a node."""

    node: int
    port: int


class OutputRef(NamedTuple):
    """The source of tokens: an output of a node. Node -1 is the environment, whose outputs are the arguments."""

    node: int
    output: int


@dataclass(frozen=True, slots=True)
class NodeOutput:
    """A typed output of a node, or of the environment, and the ports it feeds, ordered by node, then port."""

    type: Type
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One application of an op. `ports` has a literal, or None for a port that takes tokens; a trigger is the last
    port."""

    name: str
    op: str
    ports: tuple[Literal | None, ...]
    outputs: tuple[NodeOutput, ...]
    function: str
    site: Site | None = None
    has_trigger: bool = False
    attributes: tuple[tuple[str, Any], ...] = ()
    location: Location | None = None

    def __str__(self) -> str:
        return f"{self.function}.{self.name}"

    @property
    def phase(self) -> int:
        """The phase of a call or loop that a routing node belongs to: 0, or the number of a pullback's phase."""
        return next((value for name, value in self.attributes if name == PHASE), 0)

    @property
    def origin(self) -> Location | str:
        """The source line, or the node's own name if it has no location."""
        return self.location or str(self)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Graph(SvgReprMixin):
    """Nodes by number; `arguments` are outputs of the environment, `results` the return nodes to it.

    `calls` has the function that each call site calls, by its name.
    """

    name: str
    nodes: tuple[GraphNode, ...]
    arguments: tuple[tuple[str, NodeOutput], ...]
    results: tuple[int, ...]
    calls: tuple[tuple[Site, str], ...] = ()
    hidden_count: int = 0
    """The number of hidden arguments, which come first: triggers that the environment supplies itself."""
    capture_count: int = field(default=0, compare=False)
    """The number of arguments that a traced function captures, such as weights, which come last. Documents do not have
    it."""

    def without_captures(self, arguments: Sequence[T]) -> Sequence[T]:
        """The visible arguments of a run without those that the function captures."""
        return arguments[: len(arguments) - self.capture_count]

    @property
    def has_dead_tokens(self) -> bool:
        """Whether nodes of the graph send dead tokens, as TensorFlow's executor does (S18)."""
        return any(node.op in DEAD_TOKEN_OPS for node in self.nodes)

    def sources(self) -> dict[Edge, list[OutputRef]]:
        """For each port with edges, the outputs that feed it."""
        sources: dict[Edge, list[OutputRef]] = {}
        for number, (_, argument) in enumerate(self.arguments):
            for edge in argument.edges:
                sources.setdefault(edge, []).append(OutputRef(-1, number))
        for number, node in enumerate(self.nodes):
            for position, output in enumerate(node.outputs):
                for edge in output.edges:
                    sources.setdefault(edge, []).append(OutputRef(number, position))
        return sources

    def output(self, source: OutputRef) -> NodeOutput:
        return self.arguments[source.output][1] if source.node < 0 else self.nodes[source.node].outputs[source.output]

    def find(self, name: str) -> list[int]:
        """The numbers of the nodes called `name` or `function.name`; if there are none, of those whose names end in
        `.name`, as in `i` for `loop.i`. Raises Usage where there are none at all."""
        numbers = [number for number, node in enumerate(self.nodes) if name in (node.name, str(node))]
        if not numbers:
            numbers = [number for number, node in enumerate(self.nodes) if name and node.name.endswith(f".{name}")]
        if not numbers:
            raise Usage(f"no node is called {name!r}", hint=self._suggest_node(name), python=KeyError)
        return numbers

    def _suggest_node(self, name: str) -> str:
        """A hint for a name that no node has: a similar name, or the first names."""
        names = {short: str(node) for node in self.nodes for short in (str(node), node.name)}
        if matches := get_close_matches(name, names, 1):
            return f"did you mean {names[matches[0]]}?"
        more = len(self.nodes) - MAX_SUGGESTED_NODES
        rest = [f"... {more} more"] if more > 0 else []
        return f"choose from {', '.join([*map(str, self.nodes[:MAX_SUGGESTED_NODES]), *rest])}"

    def only(self, name: str) -> int:
        """The number of the only node with this name; raises Usage where there is none, or more than one."""
        numbers = self.find(name)
        if len(numbers) > 1:
            names = ", ".join(str(self.nodes[number]) for number in numbers)
            raise Usage(f"several nodes are called {name!r}", required="one", got=names)
        return numbers[0]


PortInput: TypeAlias = OutputRef | Literal | None
"""The input of a port of a new node: an output, a literal, or None for a port to be connected later."""


def _as_port_input(value: object) -> PortInput:
    """The input of a port; a plain value becomes a literal."""
    return value if value is None or isinstance(value, OutputRef | Literal) else literal(value)


class GraphBuilder:
    """Builds a graph node by node; ports that close a cycle are connected later. It checks nothing.

    >>> from tagloom.core.dtypes import int64
    >>> builder = GraphBuilder("double")
    >>> x = builder.argument("x", Type(int64))
    >>> (y,) = builder.node("add", "y", [x, x], [Type(int64)])
    >>> graph = builder.build([y])
    >>> [str(node) for node in graph.nodes]
    ['double.y', 'double.return']
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: dict[Site, str] = {}
        self._arguments: list[tuple[str, Type]] = []
        self._nodes: list[dict[str, Any]] = []
        self._edges: list[tuple[OutputRef, Edge]] = []
        self._connected: set[OutputRef] = set()
        self._names: defaultdict[str, UniqueNames] = defaultdict(lambda: UniqueNames(reserved_names=()))
        """The names in use, by function."""

    def argument(self, name: str, type_: Type) -> OutputRef:
        """An argument of the graph, supplied by the environment."""
        self._arguments.append((name, type_))
        return OutputRef(-1, len(self._arguments) - 1)

    def node(
        self,
        op: str,
        name: str,
        inputs: Iterable[object],
        types: Sequence[Type],
        *,
        function: str | None = None,
        trigger: OutputRef | None = None,
        **details: Any,
    ) -> list[OutputRef]:
        """Add a node with outputs of these types and return its outputs. A name already in use gets a number.

        An input is an output of an earlier node, a literal or plain value, or None, to be connected later.
        """
        number, ports = len(self._nodes), [_as_port_input(port) for port in inputs]
        if trigger is not None:
            ports.append(trigger)
        owner = function or self.name
        self._nodes.append(
            {
                "name": self._names[owner].fresh_name(name),
                "op": op,
                "ports": [port if isinstance(port, Literal) else None for port in ports],
                "types": list(types),
                "function": owner,
                "has_trigger": trigger is not None,
                **details,
            }
        )
        for position, port in enumerate(ports):
            if isinstance(port, OutputRef):
                self.connect(port, number, position)
        return [OutputRef(number, position) for position in range(len(types))]

    def connect(self, source: OutputRef, node: int, port: int) -> None:
        """Add an edge to a port; the node gets more ports if it has too few."""
        ports = self._nodes[node]["ports"]
        ports.extend([None] * (port + 1 - len(ports)))
        self._edges.append((source, Edge(node, port)))
        self._connected.add(source)

    def connect_new_port(self, source: OutputRef, node: int) -> None:
        """Add an edge to a new port of a merge."""
        self.connect(source, node, len(self._nodes[node]["ports"]))

    def has_edges(self, source: OutputRef) -> bool:
        """Whether a source has an edge yet."""
        return source in self._connected

    def type(self, source: OutputRef) -> Type:
        if source.node < 0:
            return self._arguments[source.output][1]
        type_: Type = self._nodes[source.node]["types"][source.output]
        return type_

    def build(
        self, results: Iterable[OutputRef] = (), *, return_nodes: Iterable[int] = (), hidden_count: int = 0
    ) -> Graph:
        """The graph. `results` get return nodes to the environment; `return_nodes` are such nodes that exist
        already."""
        new_return_nodes = [
            self.node("return", "return", [source], [self.type(source)], site=ENVIRONMENT)[0].node for source in results
        ]
        edges: dict[OutputRef, list[Edge]] = {}
        for source, edge in self._edges:
            edges.setdefault(source, []).append(edge)

        def output(source: OutputRef, type_: Type) -> NodeOutput:
            return NodeOutput(type_, tuple(sorted(edges.get(source, []))))

        nodes = []
        for number, details in enumerate(self._nodes):
            types, ports = details["types"], details["ports"]
            outputs = tuple(output(OutputRef(number, position), type_) for position, type_ in enumerate(types))
            fields = {key: value for key, value in details.items() if key not in ("types", "ports")}
            nodes.append(GraphNode(ports=tuple(ports), outputs=outputs, **fields))
        arguments = tuple(
            (name, output(OutputRef(-1, number), type_)) for number, (name, type_) in enumerate(self._arguments)
        )
        return Graph(
            self.name,
            tuple(nodes),
            arguments,
            (*return_nodes, *new_return_nodes),
            tuple(self.calls.items()),
            hidden_count,
        )


__getattr__ = renamed_attributes(__name__, OutputPort="NodeOutput")


def require_graph(value: object) -> None:
    """Raise Usage, which is also a TypeError, if this is not a graph."""
    require_class(value, Graph, how="f.trace(10).graph is the graph of a function f")
