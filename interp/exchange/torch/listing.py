"""The text of an exported program, one line a node; the graphs of `cond` and loops stand under their node."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..listing import Listing, abbreviate_name
from .graph import (
    ExportedGraph,
    ExportedNode,
    ExportedProgramData,
    ForeignArgument,
    OmittedArgument,
    ScalarType,
    ValueName,
)
from .operations import operator_name

IGNORED = frozenset(
    {"device", "layout", "pin_memory", "memory_format", "non_blocking", "cudnn_enable", "cudnn_enabled"}
)
"""The names of arguments that do not change what a node computes."""
GENERIC_GRAPH = re.compile(r"(?:\w+?_)??(cond|body|true|false|combine|submod)(?:_fn|_graph)?(?:_\d+)*")
"""The names of graphs that PyTorch generates."""


class ProgramListing(Listing):
    """The lines of the text of a program, and the line of each node."""

    def __init__(self, program: ExportedProgramData, name: str) -> None:
        self.lines: list[str] = []
        self.positions: dict[ExportedNode, tuple[int, int]] = {}
        self.result_positions: dict[ExportedGraph, tuple[int, int]] = {}
        self.names = {
            program_input.name: program_input.target
            for program_input in program.inputs
            if isinstance(program_input.target, str) and program_input.target
        }
        """The names of parameters and buffers in the module, by their names in the graph."""
        arguments = [program_input.name for program_input in program.inputs if program_input.kind == "user_input"]
        self.lines.append(f"{abbreviate_name(name)}({', '.join(map(abbreviate_name, arguments))}):")
        self.add_graph(program.graph, 2)
        super().__init__(self.lines, None, name, ".pt2")

    def add_graph(self, graph: ExportedGraph, column: int) -> None:
        indent = " " * column
        for node in graph.nodes:
            self.positions[node] = len(self.lines) + 1, column
            origin = f"  # {abbreviate_name(node.line)}" if node.line else ""
            self.lines.append(f"{indent}{self.describe_node(node)}{origin}")
            for inner in node.graphs:
                parameters = ", ".join(self.describe(parameter) for parameter in inner.parameters)
                self.lines.append(f"{indent}  {graph_name(inner)}({parameters}):")
                self.add_graph(inner, column + 4)
        self.result_positions[graph] = len(self.lines) + 1, column
        self.lines.append(f"{indent}return {', '.join(map(self.describe, graph.results))}")

    def describe_node(self, node: ExportedNode) -> str:
        """The line of a node."""
        operands = [
            f"{name}={self.describe(argument)}" if name and not is_tensor(argument) else self.describe(argument)
            for name, argument in node.arguments
            if not isinstance(argument, OmittedArgument) and name not in IGNORED
        ]
        names = ", ".join(map(self.describe, node.outputs)) or "_"
        return f"{names} = {abbreviate_name(operator_name(node.target))}({', '.join(operands)})"

    def describe(self, argument: Any) -> str:
        """An argument in words."""
        match argument:
            case ValueName():
                return abbreviate_name(self.names.get(argument, argument))
            case ScalarType():
                return abbreviate_name(f"dtype {int(argument)}")
            case ExportedGraph():
                return graph_name(argument)
            case ForeignArgument():
                return abbreviate_name(argument.kind)
            case list():
                return f"[{', '.join(map(self.describe, argument))}]"
        return abbreviate_name(repr(argument))


def is_tensor(argument: Any) -> bool:
    """Whether an argument is the name of a value, or a list of names."""
    return isinstance(argument, ValueName) or (
        isinstance(argument, list) and bool(argument) and all(isinstance(item, ValueName) for item in argument)
    )


def graph_name(graph: ExportedGraph) -> str:
    """The name of a graph; if PyTorch generated the name, the part that says its purpose.

    >>> [GENERIC_GRAPH.fullmatch(name)[1] for name in ("while_loop_cond_graph_0", "true_graph_0", "body_graph_0")]
    ['cond', 'true', 'body']
    """
    match = GENERIC_GRAPH.fullmatch(graph.name)
    return match[1] if match else abbreviate_name(graph.name)


def node_scopes(node: ExportedNode, surrounding: Sequence[str]) -> list[str]:
    """The scopes of a node: the modules around it, but for those around the node whose graph it is in, and its name. A
    node with graphs has none of its own, since the nodes in its graphs have names of their own."""
    modules = list(node.modules)
    if modules[: len(surrounding)] == list(surrounding):
        modules = modules[len(surrounding) :]
    label = f"<{operator_name(node.target).rpartition('.')[2]}>" if node.graphs else node.name
    return list(map(abbreviate_name, [*modules, label]))
