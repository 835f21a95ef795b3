"""Descriptions of values, cells and k-bounds for messages about a graph."""

from __future__ import annotations

from ...core.graph.graph import Graph
from ...core.tag import Tag
from ...core.types import Handle
from ...core.value import Value, abbreviate, format_value
from ..machine.event import CellAddress


def describe_value(graph: Graph, value: Value) -> str:
    """A value as a literal; a handle by the node that made the cells."""
    return f"{graph.nodes[value.node]} under {value.tag}" if isinstance(value, Handle) else format_value(value)


def abbreviate_value(graph: Graph, value: Value) -> str:
    """The same for messages: large arrays are abbreviated."""
    return describe_value(graph, value) if isinstance(value, Handle) else abbreviate(value)


def describe_cell(graph: Graph, cell: CellAddress) -> str:
    """A cell by its number and the node that made it."""
    handle, number = cell
    return f"cell {number} of {graph.nodes[handle.node]}, made under {handle.tag}"


def describe_bound(tag: Tag, bound: int) -> str:
    """Why a token is throttled."""
    return f"iteration {tag.iteration - bound} is still busy, and the bound of {tag.site} is {bound}"
