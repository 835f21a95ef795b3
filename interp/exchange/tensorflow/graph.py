"""Graphs of TensorFlow as data: their nodes by name, with edges resolved to nodes and output numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ....core.errors import Malformed
from ..refusals import unsupported
from .messages import Message
from .operations import output_offset
from .tensors import ElementType, read_attribute

MAX_NODES = 2**18
"""The most nodes of a graph."""
ARGUMENT = "_Arg"
"""The op of a node that stands for a parameter of a function."""
ALIASES = {f"Ref{name}": name for name in ("Enter", "Exit", "Identity", "Merge", "NextIteration", "Switch")}
"""Ops on references to arrays, which are the same on arrays."""


ARITIES = {"Enter": 1, "Exit": 1, "Identity": 1, "LoopCond": 1, "NextIteration": 1, "Switch": 2, "_SwitchN": 2}
"""The numbers of inputs of the ops that route values. A Merge has at least one."""


class Endpoint(NamedTuple):
    """An output of a node."""

    node: str
    port: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ForeignNode:
    """A node: its data inputs, the nodes after which it runs, and its attributes, as messages."""

    name: str
    op: str
    inputs: tuple[Endpoint, ...]
    controls: tuple[str, ...]
    messages: Mapping[str, Message]

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute."""
        return read_attribute(self.messages[name]) if name in self.messages else default

    def integer(self, name: str, default: int) -> int:
        """The value of an attribute that is an integer; raises Malformed if it is not."""
        value = self.attribute(name, default)
        if type(value) is not int:
            raise Malformed(f"attribute {name} of node {self.name} is not a number", got=value)
        return value

    @property
    def predecessors(self) -> Iterator[str]:
        """The nodes whose values it takes, or after which it runs."""
        yield from (endpoint.node for endpoint in self.inputs)
        yield from self.controls


class GraphArgument(NamedTuple):
    """A parameter of a graph: its node, and its type."""

    node: str
    element: ElementType
    shape: tuple[int | None, ...] | None = None


@dataclass(eq=False)
class ForeignGraph:
    """A graph, or the body of a function. `results` has the outputs that it returns, `control_results` the nodes that
    have to run."""

    name: str
    nodes: dict[str, ForeignNode]
    arguments: list[GraphArgument]
    results: list[Endpoint]
    control_results: list[str] = field(default_factory=list)

    @cached_property
    def consumers(self) -> dict[str, list[ForeignNode]]:
        """The nodes that take values of a node, by its name."""
        result: dict[str, list[ForeignNode]] = {name: [] for name in self.nodes}
        for node in self.nodes.values():
            for name in dict.fromkeys(endpoint.node for endpoint in node.inputs):
                result[name].append(node)
        return result

    @cached_property
    def used_endpoints(self) -> set[Endpoint]:
        """The outputs that a node takes or the graph returns."""
        return {endpoint for node in self.nodes.values() for endpoint in node.inputs} | set(self.results)

    def source(self, endpoint: Endpoint, ops: Collection[str]) -> Endpoint:
        """The output from which a value comes through nodes of these ops, which take their value as first input."""
        visited = set()
        while endpoint not in visited:
            visited.add(endpoint)
            node = self.nodes[endpoint.node]
            if node.op not in ops or not node.inputs:
                break
            endpoint = node.inputs[0]
        return endpoint

    def reachable_nodes(self, names: Sequence[str]) -> set[str]:
        """The nodes on which nodes depend, these included."""
        reached, pending = set(names), list(names)
        while pending:
            unvisited = [name for name in self.nodes[pending.pop()].predecessors if name not in reached]
            reached.update(unvisited)
            pending += unvisited
        return reached


class GraphLibrary(NamedTuple):
    """The functions of a graph: their signatures, and their bodies."""

    signatures: Mapping[str, Message]
    definitions: Mapping[str, Message]

    def output_offset(self, op: str, output: str) -> int:
        """The number of the first value of an output of an op, or of a function."""
        if op in self.signatures:
            names = [argument.name for argument in self.signatures[op].output_arg]
            return names.index(output) if output in names else 0
        return output_offset(op, output)


def read_library(message: Message) -> GraphLibrary:
    """The functions of a graph."""
    definitions = {function.signature.name: function for function in message.library.function}
    return GraphLibrary({name: definition.signature for name, definition in definitions.items()}, definitions)


def read_nodes(messages: Sequence[Message], library: GraphLibrary, arguments: Sequence[str]) -> dict[str, ForeignNode]:
    """Nodes by name; `arguments` are the names of those that stand for parameters."""
    if len(messages) > MAX_NODES:
        raise Malformed("this graph is too large", required=f"at most {MAX_NODES:,} nodes", got=f"{len(messages):,}")
    ops = dict.fromkeys(arguments, ARGUMENT)
    for message in messages:
        if not message.name or message.name in ops:
            raise Malformed("each node of a graph has a name of its own", got=repr(message.name))
        ops[message.name] = message.op
    nodes = {name: ForeignNode(name, ARGUMENT, (), (), {}) for name in arguments}
    for message in messages:
        data = [read_endpoint(text, ops, library) for text in message.input if not text.startswith("^")]
        controls = dict.fromkeys(text[1:] for text in message.input if text.startswith("^"))
        for name in (*(endpoint.node for endpoint in data), *controls):
            if name not in ops:
                raise Malformed(f"node {message.name} takes a value of {name!r}, which does not exist")
        op = ALIASES.get(message.op, message.op)
        if len(data) != ARITIES.get(op, len(data)) or (op == "Merge" and not data):
            raise Malformed(
                f"{op} {message.name} takes the wrong number of values", required=ARITIES.get(op), got=len(data)
            )
        nodes[message.name] = ForeignNode(message.name, op, tuple(data), tuple(controls), message.attr)
    return nodes


def read_endpoint(text: str, ops: Mapping[str, str], library: GraphLibrary) -> Endpoint:
    """The output that a text names: NODE or NODE:NUMBER in graphs, and NODE:OUTPUT:NUMBER in functions."""
    name, *numbers = text.split(":")
    try:
        if len(numbers) == 2:
            return Endpoint(name, library.output_offset(ops.get(name, ""), numbers[0]) + int(numbers[1]))
        port = int(numbers[0]) if numbers else 0
    except ValueError:
        port = -1
    if len(numbers) > 2 or port < 0:
        raise Malformed("this is not the name of a value", required="NODE or NODE:NUMBER", got=repr(text[:60]))
    return Endpoint(name, port)


def read_function(definition: Message, library: GraphLibrary) -> ForeignGraph:
    """The body of a function."""
    signature = definition.signature
    for argument in (*signature.input_arg, *signature.output_arg):
        if argument.number_attr or argument.type_attr:
            message = f"function {signature.name} of the graph has attributes as parameters, and is not imported"
            raise unsupported("construct", message)
    names = [argument.name for argument in signature.input_arg]
    nodes = read_nodes(definition.node_def, library, names)
    ops = {name: node.op for name, node in nodes.items()}
    results = []
    for argument in signature.output_arg:
        if argument.name not in definition.ret:
            raise Malformed(f"function {signature.name} does not declare the value of its result {argument.name}")
        results.append(existing_endpoint(definition.ret[argument.name], ops, library))
    controls = [name for name in definition.control_ret.values() if name in nodes]
    arguments = [GraphArgument(parameter.name, ElementType(parameter.type)) for parameter in signature.input_arg]
    return ForeignGraph(signature.name, nodes, arguments, results, controls)


def existing_endpoint(text: str, ops: Mapping[str, str], library: GraphLibrary) -> Endpoint:
    """The output that a text names; raises Malformed if the graph has no such node."""
    endpoint = read_endpoint(text, ops, library)
    if endpoint.node not in ops:
        raise Malformed(f"there is no node {endpoint.node!r}")
    return endpoint


def read_graph(
    message: Message, name: str, inputs: Sequence[str] | None, outputs: Sequence[str] | None
) -> ForeignGraph:
    """The graph of a GraphDef between `inputs` and `outputs`. Without names, its parameters are the placeholders on
    which results depend, and its results are the first outputs of the nodes that no node follows."""
    library = read_library(message)
    nodes = read_nodes(message.node, library, [])
    ops = {node_name: node.op for node_name, node in nodes.items()}
    if outputs is None:
        consumed_names = {node_name for node in nodes.values() for node_name in node.predecessors}
        ends = [node for node in nodes.values() if node.name not in consumed_names and node.op not in NO_RESULTS]
        ends = [node for node in ends if node.op not in ROUTING] or ends
        return_nodes = [node for node in nodes.values() if node.op == "_Retval"]
        return_nodes.sort(key=lambda node: node.integer("index", 0))
        results = [node.inputs[0] for node in return_nodes if node.inputs] or [Endpoint(node.name) for node in ends]
    else:
        results = [existing_endpoint(text, ops, library) for text in outputs]
    if inputs is None:
        reached_names = ForeignGraph(name, nodes, [], results).reachable_nodes([endpoint.node for endpoint in results])
        parameters = [node for node in nodes.values() if node.op in PLACEHOLDERS and node.name in reached_names]
        if any(node.op == ARGUMENT for node in parameters):
            parameters.sort(key=lambda node: node.integer("index", 0))
    else:
        parameters = [nodes[existing_endpoint(text, ops, library).node] for text in inputs]
    arguments = [argument_of(node) for node in parameters]
    for argument in arguments:
        nodes[argument.node] = ForeignNode(argument.node, ARGUMENT, (), (), {})
    return ForeignGraph(name, nodes, arguments, results)


PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", ARGUMENT})
NO_RESULTS = PLACEHOLDERS | {
    "Const",
    "NoOp",
    "_Retval",
    "VarHandleOp",
    "VariableV2",
    "Assert",
    "NextIteration",
    "SaveV2",
}
"""Ops of nodes whose values a graph does not return, though no node takes them."""
ROUTING = frozenset({"Exit", "Merge", "Switch"})
"""Ops of nodes whose values a graph returns only if it has no other ends: a loop has an Exit for each variable."""


def argument_of(node: ForeignNode) -> GraphArgument:
    """The parameter that a node becomes."""
    dtype = node.attribute("dtype", node.attribute("T"))
    if not isinstance(dtype, ElementType):
        raise Malformed(f"node {node.name} has no dtype, so it cannot be a parameter")
    shape = node.attribute("shape")
    return GraphArgument(node.name, dtype, shape if isinstance(shape, tuple) else None)
