"""How values, cells and bounds are said in messages about a graph."""

from __future__ import annotations

from ...core.graph.graph import Graph
from ...core.handle import Handle
from ...core.tag import Tag
from ...core.value import Value, shortly, show
from ..machine.event import Cell


def shown(graph: Graph, value: Value) -> str:
    """A value as a literal; a handle by the node that made the cells."""
    return f"{graph.nodes[value.node]} under {value.tag}" if isinstance(value, Handle) else show(value)


def briefly(graph: Graph, value: Value) -> str:
    """The same in a message, where an array of many elements is not written out."""
    return shown(graph, value) if isinstance(value, Handle) else shortly(value)


def cell_said(graph: Graph, cell: Cell) -> str:
    """A cell by its number and the node that made it."""
    handle, number = cell
    return f"cell {number} of {graph.nodes[handle.node]}, made under {handle.tag}"


def bound_said(tag: Tag, bound: int) -> str:
    """Why a token is held for an iteration."""
    return f"iteration {tag.iteration - bound} is still busy, and the bound of {tag.site} is {bound}"
