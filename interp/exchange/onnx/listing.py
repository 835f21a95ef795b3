"""The text of a model, a line a node: what the debugger shows as its source, and where errors point.

Nodes are evaluated in Python frames that stand in this text, so that all that is traced in them has its place in the
model, and the names of the model's nodes as scopes.
"""

from __future__ import annotations

import ast
import itertools
import linecache
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import onnx

from ....core.escape import escape_line
from ....core.frontend.trace.source_location import definition_location

MAX_NAME_LENGTH = 60
MAX_LINE_LENGTH = 400


class Listing:
    """The lines of a model's text, and the line of each node."""

    def __init__(self, model: onnx.ModelProto, file: str | None, name: str) -> None:
        """`file` is the path of the model, if it has one; a model without a file gets one of this name, with a number
        if another has that."""
        self.lines: list[str] = []
        self.places: dict[int, tuple[int, int]] = {}
        """The line and the column of each node, by the identity of its message."""
        self.messages: list[onnx.NodeProto | onnx.GraphProto] = []
        """The nodes and their graphs: protobuf makes other objects for them when nobody refers to these."""
        self.add_graph(model.graph, model.graph.name or "model", "")
        for function in model.functions:
            self.lines.append("")
            self.add_header(function.name, function.input, "")
            self.add_nodes(function.node, "  ")
            self.lines.append(f"  return {names(function.output)}")
        text = [f"{line[:MAX_LINE_LENGTH]}\n" for line in self.lines]
        self.file = file or free_file(name, text)
        linecache.cache[self.file] = (sum(map(len, text)), None, text, self.file)
        definition_location(self.code(1, 0, "<model>"))

    def add_header(self, name: str, inputs: Sequence[str], indent: str) -> None:
        self.lines.append(f"{indent}{clean(name)}({names(inputs)})")

    def add_graph(self, graph: onnx.GraphProto, name: str, indent: str) -> None:
        self.add_header(name, [parameter.name for parameter in graph.input], indent)
        self.add_nodes(graph.node, f"{indent}  ")
        self.lines.append(f"{indent}  return {names(result.name for result in graph.output)}")

    def add_nodes(self, nodes: Sequence[onnx.NodeProto], indent: str) -> None:
        for node in nodes:
            graphs = [attribute for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
            values = [
                f"{clean(attribute.name)}={describe(attribute)}"
                for attribute in node.attribute
                if attribute not in graphs
            ]
            operands = ", ".join([*map(clean, node.input), *values])
            self.lines.append(f"{indent}{names(node.output)} = {clean(node.op_type)}({operands})")
            self.places[id(node)] = len(self.lines), len(indent)
            self.messages.append(node)
            for attribute in graphs:
                self.messages.append(attribute.g)
                self.add_graph(attribute.g, attribute.name, f"{indent}  ")

    def code(self, line: int, column: int, name: str) -> CodeType:
        """The code of a call that stands in a line."""
        end = max(len(self.lines[line - 1].encode()), column + 1)
        return call_code(self.file, line, column, end, name)

    def call_at(self, node: onnx.NodeProto, scopes: Sequence[str], action: Callable[[], Any]) -> Any:
        """What an action returns, called in the line of a node, in scopes. A node without a line, of the body of an
        operator, is in the line that is running."""
        if id(node) not in self.places:
            return action()
        line, column = self.places[id(node)]
        codes = [self.code(1, 0, name) for name in ("<model>", *scopes[:-1])]
        for code in (self.code(line, column, scopes[-1]), *reversed(codes)):
            action = _Frame(code, action)
        return action()


class _Frame:
    """A call of an action from a frame with this code."""

    def __init__(self, code: CodeType, action: Callable[[], Any]) -> None:
        self.code, self.action = code, action

    def __call__(self) -> Any:
        return eval(self.code, {"__builtins__": {}, "evaluate": self.action})


def free_file(name: str, text: list[str]) -> str:
    """The name of a file for a text, which no other text has."""
    for number in itertools.count(1):
        file = f"{name}.onnx" if number == 1 else f"{name}_{number}.onnx"
        if file not in linecache.cache or linecache.cache[file][2:3] == (text,):
            return file
    raise AssertionError("there are more numbers than texts")


@lru_cache(maxsize=4096)
def call_code(file: str, line: int, column: int, end: int, name: str) -> CodeType:
    """The code of `evaluate()`, as if it were these columns of a line of a file, in a function with this name."""
    place = {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": end}
    call = ast.Call(ast.Name("evaluate", ast.Load(), **place), [], [], **place)
    return compile(ast.Expression(call), file, "eval").replace(co_name=name, co_qualname=name)


def node_scopes(node: onnx.NodeProto) -> list[str]:
    """The scopes of a node: the parts of its name, or what it computes.

    >>> node_scopes(onnx.helper.make_node("Add", ["a", "b"], ["c"], name="/layer/add"))
    ['layer', 'add']
    >>> node_scopes(onnx.helper.make_node("Add", ["a", "b"], ["c"]))
    ['c = Add']
    """
    parts = [clean(part) for part in node.name.split("/") if part]
    return parts or [f"{names(node.output[:1])} = {clean(node.op_type)}"]


def names(values: Any) -> str:
    return ", ".join(map(clean, values))


def clean(name: str) -> str:
    """A name as it may stand in a line."""
    return escape_line(name)[:MAX_NAME_LENGTH]


def describe(attribute: onnx.AttributeProto) -> str:
    """An attribute's value, in short."""
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
