"""Chains of ops on arrays of one shape, as one loop: each element of each operand is read once, and only what is used
elsewhere is written.

What functions of NumPy's own loops (jit.loops) take and give lies in blocks that fit into a processor's nearest memory,
so a chain with such functions in it is several loops over each block, its stages. Between blocks a run looks at whether
it is to end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeAlias

from ....core import dtypes
from ....core.dtypes import DType
from ....core.ops.op import MOST_ELEMENTS, OPS
from ....core.program.program import Node, Operand, Region
from ....core.types import Shape, Type
from ....core.value import Literal
from ..jit import kernels
from ..jit.clib import NUMPY_S

BLOCK = 2048
"""How many elements are computed at a time: with 4,096, a chain of three exponentials took 4 % longer."""
_MOST_NODES = 64
"""How many nodes a chain has at most: the text of those that may turn out to be of several shapes is there twice."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Nodes that are one loop, in order; `kept` are those whose results are used elsewhere, `given` the arrays that
    come from elsewhere. Each result that is kept depends on all of these, so that it is of the shape that they
    broadcast to; or all sizes are known."""

    nodes: tuple[Node, ...]
    kept: tuple[str, ...]
    given: tuple[Operand, ...]
    total: Node | None = None
    """The sum over all axes of one of its results, which is added up as it is computed."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Nodes of a region that are computed together, in order, and the loops that compute them. Some of them are in
    several, if that costs less than an array."""

    nodes: tuple[Node, ...]
    loops: tuple[Loop, ...]

    @property
    def given(self) -> tuple[str, ...]:
        """What it uses of other nodes, scalars too."""
        names = {node.name for node in self.nodes}
        used = (operand for node in self.nodes for operand in node.inputs)
        return tuple(dict.fromkeys(each for each in used if isinstance(each, str) and each not in names))


Part: TypeAlias = Node | Chain
Group: TypeAlias = frozenset[Operand]
"""The arrays that something depends on."""


def by_numpy(node: Node) -> bool:
    """Whether a node's values are those of one of NumPy's loops."""
    return node.op in NUMPY_S and node.results[0].type.dtype.kind == "f"


def computed_in(node: Node) -> DType:
    """The dtype of what one of NumPy's loops takes and gives."""
    return dtypes.float32 if OPS[node.op].computes_narrow(node.results[0].type.dtype) else dtypes.float64


def called(node: Node) -> str:
    """The name of the loop of NumPy's that computes a node."""
    return f"{node.op}32" if computed_in(node) is dtypes.float32 else node.op


def planned(region: Region, apart: Set[str] = frozenset()) -> list[Part]:
    """The nodes of a region, those that may be one loop together, but for those that stand `apart`. Scalars that cannot
    trap are computed before the chain that they stand in."""
    plan, types = _Plan(region), {var.name: var.type for var in region.parameters}
    for node in region.nodes:
        given = [operand.type if isinstance(operand, Literal) else types[operand] for operand in node.inputs]
        types.update((var.name, var.type) for var in node.results)
        if node.name not in apart and _is_link(node, given):
            plan.add(node, given)
        elif _is_free(node, given):
            plan.parts.append(node)
        elif _is_total(node) and plan.is_made(node.inputs[0]):
            plan.close(node)
        else:
            plan.close()
            plan.parts.append(node)
    plan.close()
    return plan.parts


class _Plan:
    """The parts that are known, and the chain that nodes are being added to."""

    def __init__(self, region: Region) -> None:
        self.region, self.parts = region, list[Part]()
        self.open, self.shape = list[Node](), None
        self.given = dict[Operand, Shape]()

    shape: Shape

    def add(self, node: Node, types: Sequence[Type]) -> None:
        """Add a node to the chain, or begin one with it."""
        inside = {each.name for each in self.open}
        arrays = [
            (operand, type_.shape)
            for operand, type_ in zip(node.inputs, types, strict=True)
            if not type_.is_scalar and operand not in inside
        ]
        shape = self.shape if self.open else arrays[0][1]
        for _, other in arrays:
            shape = _joined(shape, other)
        if self.open and (shape is None or len(self.open) == _MOST_NODES):
            self.close()
            self.add(node, types)
        elif shape is None:
            self.parts.append(node)
        else:
            self.open.append(node)
            self.shape = shape
            self.given.update(arrays)

    def is_made(self, operand: Operand) -> bool:
        """Whether the chain makes this."""
        return any(node.name == operand for node in self.open)

    def close(self, total: Node | None = None) -> None:
        """What comes next is another part; the last of this one is a sum, if one is given."""
        if self.open:
            names = {node.name for node in (*self.open, *([total] if total else []))}
            others = [operand for node in self.region.nodes if node.name not in names for operand in node.inputs]
            used = {operand for operand in (*others, *self.region.results) if isinstance(operand, str)}
            known = all(None not in (shape or ()) for shape in self.given.values())
            wanted = used | set(total.inputs if total else ())
            loops = _loops(self.open, {str(each) for each in wanted}, list(self.given), known)
            self.parts.append(Chain(tuple(self.open), _adding(loops, total, used) if total else loops))
        self.open, self.shape, self.given = [], None, {}


def _loops(nodes: Sequence[Node], used: Set[str], given: Sequence[Operand], known: bool) -> tuple[Loop, ...]:
    """The loops of a chain: results that depend on the same arrays are of one shape, and so in one loop."""
    whose: dict[Operand, Group] = {each: frozenset() if known else frozenset({each}) for each in given}
    for node in nodes:
        whose[node.name] = frozenset[Operand]().union(*(whose[each] for each in node.inputs if each in whose))
    wanted: dict[Operand, set[Group]] = {each: set() for each in whose}
    made: dict[Operand, Group] = {}
    for node in reversed(nodes):
        in_ = wanted[node.name]
        if node.name in used or not in_ or (by_numpy(node) and len(in_) > 1):
            made[node.name] = whose[node.name]
        for each in set(node.inputs) & whose.keys():
            wanted[each] |= {made[node.name]} if node.name in made else in_
    kept = {name for name, group in made.items() if name in used or wanted[name] - {group}}
    groups = sorted(dict.fromkeys(made[node.name] for node in nodes if node.name in made), key=len)
    return tuple(_loop(nodes, [name for name in made if made[name] == group], made, kept, whose) for group in groups)


def _adding(loops: Sequence[Loop], total: Node, used: Set[str]) -> tuple[Loop, ...]:
    """These loops, the one that makes what is summed up with the sum; the array is kept only if it is used."""
    (name,) = total.inputs
    is_used = name in used or any(name in loop.given for loop in loops)
    return tuple(
        replace(loop, kept=tuple(each for each in loop.kept if is_used or each != name), total=total)
        if name in loop.kept
        else loop
        for loop in loops
    )


def _loop(
    nodes: Sequence[Node],
    results: Sequence[Operand],
    made: Mapping[Operand, Group],
    kept: Set[Operand],
    arrays: Mapping[Operand, Group],
) -> Loop:
    """The loop that makes these results, of what other loops have made before."""
    needed = set(results)
    for node in reversed(nodes):
        if node.name in needed:
            needed |= {each for each in node.inputs if each in arrays and each not in made}
    inner = tuple(node for node in nodes if node.name in needed)
    names = {node.name for node in inner}
    given = dict.fromkeys(each for node in inner for each in node.inputs if each in arrays and each not in names)
    return Loop(inner, tuple(node.name for node in inner if node.name in kept and node.name in results), tuple(given))


def _joined(one: Shape, other: Shape) -> Shape:
    """The shape of arrays of both shapes, if they may be one; else None."""
    if one is None or other is None or len(one) != len(other):
        return None
    pairs = list(zip(one, other, strict=True))
    if any(mine != theirs and None not in (mine, theirs) for mine, theirs in pairs):
        return None
    return tuple(mine if mine is not None else theirs for mine, theirs in pairs)


def _is_link(node: Node, given: Sequence[Type]) -> bool:
    """Whether each element of a node's array is computed from the operands' by itself, and has a value."""
    if not _by_elements(node) or node.op in ("identity", "stop_gradient") or node.results[0].type.is_scalar:
        return False
    result = Type(node.results[0].type.dtype)
    scalars = [Type(type_.dtype) for type_ in given]
    return kernels.trap_condition(node.op, scalars, result, ["x"] * len(given)) is None


def _by_elements(node: Node) -> bool:
    return node.op in OPS and OPS[node.op].scalar is not None


def _is_total(node: Node) -> bool:
    return node.op == "sum" and node.attribute("axis") is None


def _is_free(node: Node, given: Sequence[Type]) -> bool:
    """Whether a node is of scalars alone, and always has a value."""
    if not _by_elements(node) or not all(type_.is_scalar for type_ in (*given, node.results[0].type)):
        return False
    return kernels.trap_condition(node.op, given, node.results[0].type, ["x"] * len(given)) is None


@dataclass(frozen=True, slots=True)
class Stages:
    """In which loop of a block each node is computed, from where on its value is there, and which values lie in
    memory, since another loop wants them."""

    of: dict[str, int]
    ready: dict[str, int]
    stored: frozenset[str]

    @property
    def count(self) -> int:
        return max(self.ready.values()) + 1


def staged(loop: Loop) -> Stages:
    """What NumPy computes is there from the stage after that of its operands on."""
    of: dict[str, int] = {}
    ready: dict[str, int] = {}
    stored = {*loop.kept, *(map(str, loop.total.inputs) if loop.total else ())}
    for node in loop.nodes:
        inner = [operand for operand in node.inputs if operand in of]
        of[node.name] = max((ready[operand] for operand in inner), default=0)  # type: ignore[index]
        ready[node.name] = of[node.name] + by_numpy(node)
        stored |= {str(each) for each in inner if ready[each] < of[node.name]}  # type: ignore[index]
        if by_numpy(node):
            lying = {each.name for each in loop.nodes if each.results[0].type.dtype is computed_in(node)}
            stored |= lying & {node.name, *map(str, inner)}
    return Stages(of, ready, frozenset(stored))


def too_many(sizes: Sequence[str]) -> str:
    """Text of whether an array of these sizes has too many elements; sizes of 0 count as 1."""
    if all(size.isdigit() for size in sizes):
        return repr(math.prod(max(int(size), 1) for size in sizes) > MOST_ELEMENTS)
    if len(sizes) == 1:
        return f"{sizes[0]} > {MOST_ELEMENTS}"
    product = " * ".join(f"float64(max({size}, 1))" for size in sizes)
    return f"{product} > {float(MOST_ELEMENTS)}"
