"""Cells in differentiated code: their gradient rules, and the check of D4 that each array of cells has one thread of
handles, made before anything is derived."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

from ..errors import Invalid
from ..ops.op import OpBuilder
from ..program.program import Function, Node, Operand, Program, Region, Var
from ..types import HandleType, Type
from .activity import is_differentiable

Contributions: TypeAlias = list[tuple[Operand, Operand]]
"""Pairs of an operand and a term to add to its adjoint."""


def _put_adjoints(do: OpBuilder, adjoint: Operand, inputs: Sequence[Operand]) -> Contributions:
    """The adjoint of the value put is that of its cell. The array before the put keeps the same adjoint: no other put
    reads the adjoint of this cell."""
    handle, index, value = inputs
    return [(handle, adjoint), (value, do("take", adjoint, index, axis=0))]


def _collect_adjoints(do: OpBuilder, adjoint: Operand, inputs: Sequence[Operand]) -> Contributions:
    return [(inputs[0], adjoint)]


CELL_GRADIENTS: Mapping[str, Callable[[OpBuilder, Operand, Sequence[Operand]], Contributions]] = {
    "put": _put_adjoints,
    "collect": _collect_adjoints,
}
"""The gradient rules of cells. The adjoint of an array of cells is an array that flows back along the thread of
handles. A get adds to that array, so it needs no rule here."""


def check_cell_threads(function: Function, putting: Set[str]) -> Iterator[Invalid]:
    """The violations of D4 in a differentiated function; `putting` has the functions that put to cells."""

    def puts(node: Node) -> bool:
        nodes = (node, *(inner for region in node.regions for inner in region.walk()))
        return any(n.op == "put" or (n.op == "call" and n.attribute("function") in putting) for n in nodes)

    yield from _check_region(function.body, puts)


def functions_with_ops(program: Program, *ops: str) -> Set[str]:
    """The functions that contain one of these ops, or call one that does: a fixed point."""
    found: set[str] = set()
    while True:
        more = {
            function.name
            for function in program.functions
            for node in function.body.walk()
            if node.op in ops or (node.op == "call" and node.attribute("function") in found)
        }
        if more == found:
            return found
        found = more


def _check_region(region: Region, puts: Callable[[Node], bool]) -> Iterator[Invalid]:
    types: dict[str, Type] = {}
    gone: dict[str, Node] = {}
    """The handles that a put has replaced, with the node that put."""
    used = {name for phase in region.phases() for node in phase.nodes for name in node.inputs if isinstance(name, str)}
    used |= {name for phase in region.phases() for name in phase.results if isinstance(name, str)}
    for phase in region.phases():
        types.update(phase.parameters)
        for node in phase.nodes:
            handles = [name for name in node.inputs if isinstance(name, str) and _is_float_handle(name, types)]
            for name in handles:
                if name in gone and node.op != "cell_zeros":
                    yield _thread_error(node, f"{name} is used again after a put to it, by {gone[name].name}")
            if puts(node):
                gone.update((name, node) for name in handles)
            if node.op == "put" and handles and node.name not in used:
                yield _thread_error(node, "the handle that a put gives is not used")
            for inner in node.regions:
                yield from _check_region(inner, puts)
            types.update(node.results)
        for name in (name for name in phase.results if isinstance(name, str) and name in gone):
            yield _thread_error(gone[name], f"{name} leaves a region after a put to it")


def _is_float_handle(name: str, types: dict[str, Type]) -> bool:
    type_ = types.get(name)
    return type_ is not None and isinstance(type_.dtype, HandleType) and is_differentiable(Var(name, type_))


def _thread_error(node: Node, said: str) -> Invalid:
    return Invalid(
        f"cells that are differentiated are used along one thread: {said}",
        rule="D4",
        where=node.location or node.name,
        hint="go on with the handle that the last put gave: a = tl.put(a, i, x)",
    )
