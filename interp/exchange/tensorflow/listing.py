"""The text of a graph, one line a node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ....core.errors import TagloomError
from ..listing import Listing, abbreviate_name
from .graph import Endpoint, ForeignGraph, ForeignNode
from .messages import Message
from .tensors import ElementType, read_shape, read_tensor

STRUCTURED = frozenset(
    {"Case", "Exit", "If", "LoopCond", "Merge", "StatelessCase", "StatelessIf", "StatelessWhile", "While"}
)
"""The ops on whose lines whole loops and conditionals are evaluated, with all their nodes."""
UNNAMED_SCOPE = re.compile(r"_*\d+|(while|cond)(_\d+)?")
"""A part of a node's name that TensorFlow gives to copies of a function, and to nodes in a loop or a conditional."""
SHOWN_ATTRIBUTES = ("frame_name", "cond", "body", "then_branch", "else_branch", "f", "dtype", "Tout", "DstT")
"""The attributes that a line shows."""


class GraphListing(Listing):
    """The lines of the text of a graph and its functions, and the line of each node."""

    def __init__(self, graphs: Sequence[ForeignGraph], name: str) -> None:
        self.lines: list[str] = []
        self.positions: dict[tuple[str, str], tuple[int, int]] = {}
        """The line and the column of a node, by the name of its graph and its own."""
        for graph in graphs:
            self.add_graph(graph)
        super().__init__(self.lines, None, name, ".pb")

    def add_graph(self, graph: ForeignGraph) -> None:
        names = ", ".join(abbreviate_name(argument.node) for argument in graph.arguments)
        self.positions[graph.name, ""] = len(self.lines) + 1, 0
        self.lines.append(f"{abbreviate_name(graph.name)}({names})")
        for node in sort_nodes(graph):
            self.lines.append(f"  {describe_node(node)}")
            self.positions[graph.name, node.name] = len(self.lines), 2
        self.lines += [f"  return {', '.join(map(describe_endpoint, graph.results))}", ""]

    def line_of(self, graph: ForeignGraph) -> int:
        """The line where a graph begins."""
        return self.positions[graph.name, ""][0]


def sort_nodes(graph: ForeignGraph) -> list[ForeignNode]:
    """The nodes on which results depend, each after the nodes that it depends on, except in loops."""
    order: dict[str, ForeignNode] = {}
    opened = {argument.node for argument in graph.arguments}
    pending = [*(endpoint.node for endpoint in graph.results), *graph.control_results][::-1]
    while pending:
        node = graph.nodes[pending[-1]]
        pending_predecessors = [name for name in node.predecessors if name not in opened]
        opened.add(node.name)
        if pending_predecessors and node.name not in order:
            pending += pending_predecessors[::-1]
            opened.update(pending_predecessors)
        else:
            pending.pop()
            if node.op != "_Arg":
                order.setdefault(node.name, node)
    return list(order.values())


def describe_node(node: ForeignNode) -> str:
    """The line of a node."""
    operands = [*map(describe_endpoint, node.inputs), *(f"^{abbreviate_name(name)}" for name in node.controls)]
    operands += [
        f"{name}={text}"
        for name in SHOWN_ATTRIBUTES
        if name in node.messages
        for text in describe_attribute(node.messages[name])
    ]
    if "value" in node.messages:
        operands.append(describe_constant(node.messages["value"].tensor))
    return f"{abbreviate_name(node.name)} = {abbreviate_name(node.op)}({', '.join(operands)})"


def describe_attribute(message: Message) -> Iterable[str]:
    """An attribute in words, if it can be shown."""
    if "s" in message:
        yield abbreviate_name(message.s.decode(errors="replace"))
    elif "func" in message:
        yield abbreviate_name(message.func.name)
    elif "type" in message:
        try:
            yield str(ElementType(message.type).dtype.numpy)
        except TagloomError:
            yield str(message.type)


def describe_constant(tensor: Message) -> str:
    """A constant in words: its elements if there are few."""
    try:
        array = read_tensor(tensor)
        return str(array.tolist()) if array.size <= 8 else f"array of {list(array.shape)}"
    except (TagloomError, AttributeError):
        return f"constant of {list(read_shape(tensor.tensor_shape) or ())}"


def describe_endpoint(endpoint: Endpoint) -> str:
    return f"{abbreviate_name(endpoint.node)}:{endpoint.port}" if endpoint.port else abbreviate_name(endpoint.node)


def node_scopes(node: ForeignNode) -> list[str]:
    """The scopes of a node: the parts of its name, without those that only number the copies of a function, or say that
    it is in a loop or a conditional. A loop or a conditional has none, since the names of the nodes in it begin with
    its own."""
    if node.op in STRUCTURED:
        return [f"<{node.op}>"]
    parts = [abbreviate_name(part) for part in node.name.split("/") if part and not UNNAMED_SCOPE.fullmatch(part)]
    return parts or [abbreviate_name(node.name)]
