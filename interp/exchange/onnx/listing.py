"""The text of a model, a line a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import onnx

from ..listing import MAX_NAME_LENGTH, Listing, abbreviate_name


class ModelListing(Listing):
    """The lines of a model's text, and the line of each node."""

    def __init__(self, model: onnx.ModelProto, file: str | None, name: str) -> None:
        """`file` is the path of the model, if it has one; a model without a file gets one of this name, with a number
        if another has that."""
        self.lines: list[str] = []
        self.positions: dict[int, tuple[int, int]] = {}
        """The line and the column of each node, by the identity of its message."""
        self.messages: list[onnx.NodeProto | onnx.GraphProto] = []
        """The nodes and their graphs: protobuf makes other objects for them when nobody refers to these."""
        self.add_graph(model.graph, model.graph.name or "model", "")
        for function in model.functions:
            self.lines.append("")
            self.add_header(function.name, function.input, "")
            self.add_nodes(function.node, "  ")
            self.lines.append(f"  return {join_names(function.output)}")
        super().__init__(self.lines, file, name, ".onnx")

    def add_header(self, name: str, inputs: Sequence[str], indent: str) -> None:
        self.lines.append(f"{indent}{abbreviate_name(name)}({join_names(inputs)})")

    def add_graph(self, graph: onnx.GraphProto, name: str, indent: str) -> None:
        self.add_header(name, [parameter.name for parameter in graph.input], indent)
        self.add_nodes(graph.node, f"{indent}  ")
        self.lines.append(f"{indent}  return {join_names(result.name for result in graph.output)}")

    def add_nodes(self, nodes: Sequence[onnx.NodeProto], indent: str) -> None:
        for node in nodes:
            graphs = [attribute for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
            values = [
                f"{abbreviate_name(attribute.name)}={describe_attribute(attribute)}"
                for attribute in node.attribute
                if attribute not in graphs
            ]
            operands = ", ".join([*map(abbreviate_name, node.input), *values])
            self.lines.append(f"{indent}{join_names(node.output)} = {abbreviate_name(node.op_type)}({operands})")
            self.positions[id(node)] = len(self.lines), len(indent)
            self.messages.append(node)
            for attribute in graphs:
                self.messages.append(attribute.g)
                self.add_graph(attribute.g, attribute.name, f"{indent}  ")

    def call_in_line(self, node: onnx.NodeProto, scopes: Sequence[str], action: Callable[[], Any]) -> Any:
        """Call an action from the line of a node, in scopes; returns its result. A node without a line, of the body of
        an operator, is in the current line."""
        if id(node) not in self.positions:
            return action()
        return self.call_at(self.positions[id(node)], scopes, action)


def node_scopes(node: onnx.NodeProto) -> list[str]:
    """The scopes of a node: the parts of its name, or what it computes.

    >>> node_scopes(onnx.helper.make_node("Add", ["a", "b"], ["c"], name="/layer/add"))
    ['layer', 'add']
    >>> node_scopes(onnx.helper.make_node("Add", ["a", "b"], ["c"]))
    ['c = Add']
    """
    parts = [abbreviate_name(part) for part in node.name.split("/") if part]
    return parts or [f"{join_names(node.output[:1])} = {abbreviate_name(node.op_type)}"]


def join_names(values: Iterable[str]) -> str:
    """Names as they stand in a line, separated by commas."""
    return ", ".join(map(abbreviate_name, values))


def describe_attribute(attribute: onnx.AttributeProto) -> str:
    """The value of an attribute, abbreviated."""
    kinds = onnx.AttributeProto
    match attribute.type:
        case kinds.TENSOR:
            return f"tensor of {list(attribute.t.dims)}"
        case kinds.STRING:
            return repr(attribute.s.decode(errors="replace"))[:MAX_NAME_LENGTH]
        case kinds.INT:
            return str(attribute.i)
        case kinds.FLOAT:
            return f"{attribute.f:g}"
        case kinds.INTS:
            return str(list(attribute.ints[:16]))
        case kinds.FLOATS:
            return str([float(f"{number:g}") for number in attribute.floats[:16]])
    return "..."
