"""Upper bounds on the cost of a run: a run that is certainly short needs no thread of its own.

A program is elementwise if it is one function without loops whose ops are elementwise or sum a whole array. Then no
result has more elements than the arguments' shapes broadcast to, and the cost of a run follows from these shapes. A
program is bounded if types give all sizes, all loops count up to a constant, and nothing recurs: its cost is a
constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ....core import dtypes
from ....core.ops.op import OPS
from ....core.program.program import STRUCTURED_OPS, Node, Operand, Program, Region
from ....core.types import Type
from ....core.value import Literal
from .chains import is_ufunc_node
from .layout import PhaseKey, PhaseStart, is_recursive, phase_starts
from .source import find_induction_variable

LONG_WORK = 2**27
"""The work of a long run; a unit takes 0.1 ns to 1 ns."""
_MOST_NODES = 1000
"""The most nodes of a program with a bound: its frames are on the calling thread's stack."""
_UFUNC_WORK = 16
"""The work per element of a NumPy loop."""
_OP_WORK = {"pow": 64, "floor_divide": 8, "remainder": 8}
"""The work per element of other ops, where it is not 1; `pow` is that of integers."""
_PRODUCTS_PER_UNIT = 8
"""Multiplications per unit of work in a float matrix product, where they take longer than loading the operands."""
_NODE_WORK = 100
"""The work of a node apart from its elements."""


class ElementwiseCost(NamedTuple):
    """The cost of an elementwise program: its work per element, its number of arrays, and the sizes of its literals,
    last axis first."""

    work_per_element: int
    array_count: int
    literal_sizes: tuple[int, ...]

    def max_elements(self, given: Sequence[Any]) -> int:
        """The most elements that an array has."""
        return math.prod(_max_sizes([self.literal_sizes, *(each.shape[::-1] for each in given)]))

    def cost(self, given: Sequence[Any]) -> RunCost:
        """The cost of a run on these arrays: work and bytes."""
        elements = self.max_elements(given)
        return RunCost(elements * self.work_per_element, elements * self.array_count * 8)


class RunCost(NamedTuple):
    """An upper bound on a run: work, and bytes of results."""

    work: int
    bytes: int

    def cost(self, given: Sequence[Any]) -> RunCost:
        """The same bound, whatever the arguments."""
        return self


CostModel: TypeAlias = ElementwiseCost | RunCost


def elementwise_cost(program: Program) -> ElementwiseCost | None:
    """The cost model of an elementwise program; None where cost depends on more than sizes."""
    nodes = list(program.main.body.walk())
    if len(list(program.reachable_functions())) > 1 or len(nodes) > _MOST_NODES or not all(map(_is_elementwise, nodes)):
        return None
    literals = [np.shape(each.value) for node in nodes for each in node.inputs if isinstance(each, Literal)]  # type: ignore[arg-type]
    arrays = sum(not var.type.is_scalar for node in nodes for var in node.results)
    return ElementwiseCost(sum(map(_node_work, nodes)), arrays, _max_sizes([shape[::-1] for shape in literals]))


def constant_cost(program: Program) -> RunCost | None:
    """The cost of a bounded program; None where it depends on the arguments."""
    count = sum(1 for function in program.reachable_functions() for _ in function.body.walk())
    return (
        None if count > _MOST_NODES or is_recursive(program) else _CostEstimator(program).estimate((program.entry, 0))
    )


class _DataDependentCost(Exception):
    """Raised where the cost depends on the arguments."""


class _CostEstimator:
    """The cost of phases of functions that do not recur."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.phase_costs: dict[PhaseKey, RunCost] = {}

    def estimate(self, key: PhaseKey) -> RunCost | None:
        try:
            return self.function_cost(key)
        except _DataDependentCost:
            return None

    def function_cost(self, key: PhaseKey) -> RunCost:
        if key not in self.phase_costs:
            self.phase_costs[key] = self.region_cost(self.program[key[0]].body, key[1])
        return self.phase_costs[key]

    def region_cost(self, region: Region, number: int) -> RunCost:
        which, phases = phase_starts(region), list(region.phases())
        types = {var.name: var.type for phase in phases for var in phase.parameters}
        types |= {var.name: var.type for phase in phases for node in phase.nodes for var in node.results}
        costs = [
            self.phase_start_cost(which[node.name]) if node.name in which else _node_cost(node, types)
            for node in phases[number].nodes
        ]
        return RunCost(sum(each.work for each in costs), sum(each.bytes for each in costs))

    def phase_start_cost(self, begun: PhaseStart) -> RunCost:
        root, number = begun
        match root.op:
            case "call":
                return self.function_cost((root.attribute("function"), number))
            case "cond":
                costs = [self.region_cost(each, number) for each in root.regions]
                return RunCost(max(each.work for each in costs), max(each.bytes for each in costs))
        once, trips = self.region_cost(root.regions[1], number), _max_trip_count(root)
        return RunCost(trips * (once.work + _NODE_WORK), trips * once.bytes)


def _max_trip_count(loop: Node) -> int:
    """The most iterations of a loop; a counter that wraps continues."""
    found = find_induction_variable(loop)
    begins = loop.inputs[found.index] if found else None
    if found is None or found.bound_index is not None or not isinstance(begins, Literal):
        raise _DataDependentCost
    begin = int(begins.value)  # type: ignore[arg-type]
    trips = max(0, -((begin - found.bound) // found.step))
    if begin + trips * found.step > dtypes.int64.range[1]:
        raise _DataDependentCost
    return trips


def _node_cost(node: Node, types: dict[str, Type]) -> RunCost:
    if node.op not in OPS:
        raise _DataDependentCost
    shapes = [_operand_type(each, types).shape for each in node.inputs] + [each.type.shape for each in node.results]
    sizes = [[-1 if size is None else size for size in shape or ()] for shape in shapes]
    if any(-1 in each for each in sizes):
        raise _DataDependentCost
    elements, made = max(map(math.prod, sizes)), node.results[0].type
    many = math.prod(sizes[-1])
    work = _node_work(node) * elements
    if node.op == "matmul":
        work = max(work, many * sizes[0][-1] // (_PRODUCTS_PER_UNIT if made.dtype.kind == "f" else 1))
    return RunCost(work + _NODE_WORK, many * made.dtype.numpy.itemsize)


def _operand_type(operand: Operand, types: dict[str, Type]) -> Type:
    return operand.type if isinstance(operand, Literal) else types[operand]


def _max_sizes(sizes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The largest size of each axis, last axis first."""
    return tuple(max(each) for each in zip_longest(*sizes, fillvalue=1))


def _is_elementwise(node: Node) -> bool:
    if node.op in STRUCTURED_OPS:
        return node.op == "cond"
    if node.op == "sum":
        return node.attribute("axis") is None
    return node.op in OPS and OPS[node.op].scalar is not None


def _node_work(node: Node) -> int:
    return _UFUNC_WORK if is_ufunc_node(node) else _OP_WORK.get(node.op, 1)
