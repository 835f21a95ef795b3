"""Runs that are over before anybody would look at them: they need no thread of their own.

A program is straight if it is one function without loops, whose ops compute element by element, or add up all of an
array. Then no result has more elements than the arguments' sizes say, and what a run takes is known beforehand.
So it is where types tell all sizes, all loops count up to a number, and nothing recurs: then a program is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ....core import dtypes
from ....core.ops.op import OPS
from ....core.program.program import STRUCTURED, Node, Operand, Program, Region
from ....core.types import Type
from ....core.value import Literal
from .chains import by_numpy
from .components import recurs
from .counted_loops import counter
from .phases import Begun, Key, begun

LONG = 2**27
"""How much work makes a run long; a unit takes 0.1 ns to 1 ns."""
_MOST_NODES = 1000
"""How many nodes such a program has: its frames are on whichever stack it is called from."""
_NUMPY_S = 16
"""The work of an element of one of NumPy's loops."""
_WORK = {"pow": 64, "floor_divide": 8, "remainder": 8}
"""That of other ops, where it is not 1; `pow` is that of integers."""
_PRODUCTS = 8
"""How many multiplications of a product of matrices of floats are a unit, where these take longer than to read them."""
_NODE = 100
"""The work of a node besides that on elements."""


class Straight(NamedTuple):
    """The work of a program for an element, its arrays, and the sizes of its literals from the last axis on."""

    work: int
    arrays: int
    sizes: tuple[int, ...]

    def elements(self, given: Sequence[Any]) -> int:
        """How many elements an array has at most."""
        return math.prod(_largest([self.sizes, *(each.shape[::-1] for each in given)]))

    def cost(self, given: Sequence[Any]) -> Cost:
        """What a run on these arrays takes."""
        elements = self.elements(given)
        return Cost(elements * self.work, elements * self.arrays * 8)


class Cost(NamedTuple):
    """What a run takes at most: work, and bytes of what it makes."""

    work: int
    bytes: int

    def cost(self, given: Sequence[Any]) -> Cost:
        """The same for all arguments."""
        return self


Brief: TypeAlias = Straight | Cost


def straight(program: Program) -> Straight | None:
    """What a program takes; None where that depends on more than sizes."""
    nodes = list(program.main.body.walk())
    if len(list(program.reachable())) > 1 or len(nodes) > _MOST_NODES or not all(map(_is_straight, nodes)):
        return None
    literals = [np.shape(each.value) for node in nodes for each in node.inputs if isinstance(each, Literal)]  # type: ignore[arg-type]
    arrays = sum(not var.type.is_scalar for node in nodes for var in node.results)
    return Straight(sum(map(_work, nodes)), arrays, _largest([shape[::-1] for shape in literals]))


def bounded(program: Program) -> Cost | None:
    """What a program takes, if that is the same for all arguments."""
    count = sum(1 for function in program.reachable() for _ in function.body.walk())
    return None if count > _MOST_NODES or recurs(program) else _Bounds(program).of((program.entry, 0))


class _Unbounded(Exception):
    """The arguments decide."""


class _Bounds:
    """What the phases of functions take that do not recur."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.known: dict[Key, Cost] = {}

    def of(self, key: Key) -> Cost | None:
        try:
            return self.function(key)
        except _Unbounded:
            return None

    def function(self, key: Key) -> Cost:
        if key not in self.known:
            self.known[key] = self.region(self.program[key[0]].body, key[1])
        return self.known[key]

    def region(self, region: Region, number: int) -> Cost:
        which, phases = begun(region), list(region.phases())
        types = {var.name: var.type for phase in phases for var in phase.parameters}
        types |= {var.name: var.type for phase in phases for node in phase.nodes for var in node.results}
        costs = [
            self.begun(which[node.name]) if node.name in which else _of_node(node, types)
            for node in phases[number].nodes
        ]
        return Cost(sum(each.work for each in costs), sum(each.bytes for each in costs))

    def begun(self, begun: Begun) -> Cost:
        root, number = begun
        match root.op:
            case "call":
                return self.function((root.attribute("function"), number))
            case "cond":
                costs = [self.region(each, number) for each in root.regions]
                return Cost(max(each.work for each in costs), max(each.bytes for each in costs))
        once, trips = self.region(root.regions[1], number), _trips(root)
        return Cost(trips * (once.work + _NODE), trips * once.bytes)


def _trips(loop: Node) -> int:
    """How many iterations a loop has at most; one that wraps goes on."""
    found = counter(loop)
    begins = loop.inputs[found.index] if found else None
    if found is None or found.invariant is not None or not isinstance(begins, Literal):
        raise _Unbounded
    begin = int(begins.value)  # type: ignore[arg-type]
    trips = max(0, -((begin - found.bound) // found.step))
    if begin + trips * found.step > dtypes.int64.range[1]:
        raise _Unbounded
    return trips


def _of_node(node: Node, types: dict[str, Type]) -> Cost:
    if node.op not in OPS:
        raise _Unbounded
    shapes = [_type(each, types).shape for each in node.inputs] + [each.type.shape for each in node.results]
    sizes = [[-1 if size is None else size for size in shape or ()] for shape in shapes]
    if any(-1 in each for each in sizes):
        raise _Unbounded
    elements, made = max(map(math.prod, sizes)), node.results[0].type
    many = math.prod(sizes[-1])
    work = _work(node) * elements
    if node.op == "matmul":
        work = max(work, many * sizes[0][-1] // (_PRODUCTS if made.dtype.kind == "f" else 1))
    return Cost(work + _NODE, many * made.dtype.numpy.itemsize)


def _type(operand: Operand, types: dict[str, Type]) -> Type:
    return operand.type if isinstance(operand, Literal) else types[operand]


def _largest(sizes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """For each axis, from the last one on, the largest size."""
    return tuple(max(each) for each in zip_longest(*sizes, fillvalue=1))


def _is_straight(node: Node) -> bool:
    if node.op in STRUCTURED:
        return node.op == "cond"
    if node.op == "sum":
        return node.attribute("axis") is None
    return node.op in OPS and OPS[node.op].scalar is not None


def _work(node: Node) -> int:
    return _NUMPY_S if by_numpy(node) else _WORK.get(node.op, 1)
