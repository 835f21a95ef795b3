"""Loop fusion: a chain of elementwise ops on arrays of one shape becomes one loop, which reads each element of each
operand once and writes only the results that are used elsewhere.

Operands and results of NumPy's own loops (jit.numpy_loops) are kept in blocks that fit into the first-level cache, so a
chain that calls such loops runs several loops over each block: its stages. The run polls between blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeAlias

from ....core import dtypes
from ....core.dtypes import DType
from ....core.ops.op import MAX_ELEMENTS, OPS
from ....core.program.program import Node, Operand, Region
from ....core.types import Shape, Type
from ....core.value import Literal
from ..jit import kernels
from ..jit.kernels import UFUNC_OPS
from .layout import is_narrow_array

BLOCK_ELEMENTS = 2048
"""The elements of a block: with 4,096, a chain of three exponentials took 4 % longer."""
_MAX_NODES = 64
"""The maximal number of nodes of a chain."""


@dataclass(frozen=True, slots=True)
class FusedLoop:
    """The nodes of one fused loop, in order. `outputs` are the results that are used elsewhere, `inputs` the arrays
    that are defined elsewhere. Unless all sizes are static, each output depends on all inputs, so that it has the shape
    to which these broadcast."""

    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    inputs: tuple[Operand, ...]
    sum_node: Node | None = None
    """A sum over all axes of one of the results, accumulated in the loop."""


@dataclass(frozen=True, slots=True)
class FusedChain:
    """Nodes of a region that are computed together, in order, and their loops. A node may be in several loops, which
    recompute it: that costs less than an array."""

    nodes: tuple[Node, ...]
    loops: tuple[FusedLoop, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The values, scalars included, that the chain uses and other nodes define."""
        names = {node.name for node in self.nodes}
        operands = (operand for node in self.nodes for operand in node.inputs)
        return tuple(
            dict.fromkeys(operand for operand in operands if isinstance(operand, str) and operand not in names)
        )


FusionPart: TypeAlias = Node | FusedChain
DependencySet: TypeAlias = frozenset[Operand]
"""The arrays on which a value depends."""


def is_ufunc_node(node: Node) -> bool:
    """Whether one of NumPy's loops computes a node."""
    return node.op in UFUNC_OPS and node.results[0].type.dtype.kind == "f"


def ufunc_dtype(node: Node) -> DType:
    """The operand and result dtype of the NumPy loop that computes a node."""
    return dtypes.float32 if OPS[node.op].computes_in_float32(node.results[0].type.dtype) else dtypes.float64


def ufunc_name(node: Node) -> str:
    """The name of the NumPy loop that computes a node."""
    return f"{node.op}32" if ufunc_dtype(node) is dtypes.float32 else node.op


def plan_fusion(region: Region, excluded: Set[str] = frozenset()) -> list[FusionPart]:
    """Partition the nodes of a region into chains and single nodes; nodes in `excluded` join no chain. Scalars that
    cannot trap are computed before the chain in which they occur."""
    planner, types = FusionPlanner(region), {var.name: var.type for var in region.parameters}
    for node in region.nodes:
        operand_types = [operand.type if isinstance(operand, Literal) else types[operand] for operand in node.inputs]
        types.update((var.name, var.type) for var in node.results)
        if node.name not in excluded and is_fusible(node, operand_types):
            planner.add(node, operand_types)
        elif is_total_on_scalars(node, operand_types):
            planner.parts.append(node)
        elif node.op == "sum" and node.attribute("axis") is None and planner.is_output_of_open_chain(node.inputs[0]):
            planner.close_chain(node)
        else:
            planner.close_chain()
            planner.parts.append(node)
    planner.close_chain()
    return planner.parts


class FusionPlanner:
    """The partition built so far, and the open chain."""

    def __init__(self, region: Region) -> None:
        self.region, self.parts = region, list[FusionPart]()
        self.open_nodes = list[Node]()
        self.shape: Shape = None
        """The common shape of the open chain's arrays, as far as it is known."""
        self.input_shapes = dict[Operand, Shape]()

    def add(self, node: Node, types: Sequence[Type]) -> None:
        """Add a node to the open chain, or open one with it."""
        open_names = {open_node.name for open_node in self.open_nodes}
        arrays = [
            (operand, type_.shape)
            for operand, type_ in zip(node.inputs, types, strict=True)
            if not type_.is_scalar and operand not in open_names
        ]
        shape = self.shape if self.open_nodes else arrays[0][1]
        for _, other in arrays:
            shape = merge_shapes(shape, other)
        if self.open_nodes and (shape is None or len(self.open_nodes) == _MAX_NODES):
            self.close_chain()
            self.add(node, types)
        elif shape is None:
            self.parts.append(node)
        else:
            self.open_nodes.append(node)
            self.shape = shape
            self.input_shapes.update(arrays)

    def is_output_of_open_chain(self, operand: Operand) -> bool:
        """Whether the open chain defines an operand."""
        return any(node.name == operand for node in self.open_nodes)

    def close_chain(self, sum_node: Node | None = None) -> None:
        """Close the open chain; `sum_node`, if given, is a sum of one of its results, which joins it."""
        if self.open_nodes:
            names = {node.name for node in (*self.open_nodes, *([sum_node] if sum_node else []))}
            other_operands = [
                operand for node in self.region.nodes if node.name not in names for operand in node.inputs
            ]
            outside_uses = {operand for operand in (*other_operands, *self.region.results) if isinstance(operand, str)}
            has_static_sizes = all(None not in (shape or ()) for shape in self.input_shapes.values())
            results = outside_uses | set(sum_node.inputs if sum_node else ())
            loops = partition_loops(
                self.open_nodes, {str(result) for result in results}, list(self.input_shapes), has_static_sizes
            )
            self.parts.append(
                FusedChain(tuple(self.open_nodes), attach_sum(loops, sum_node, outside_uses) if sum_node else loops)
            )
        self.open_nodes, self.shape, self.input_shapes = [], None, {}


def partition_loops(
    nodes: Sequence[Node], used_names: Set[str], inputs: Sequence[Operand], has_static_sizes: bool
) -> tuple[FusedLoop, ...]:
    """Partition a chain into loops: results that depend on the same arrays have one shape, and so share a loop."""
    dependencies: dict[Operand, DependencySet] = {
        input_: frozenset() if has_static_sizes else frozenset({input_}) for input_ in inputs
    }
    for node in nodes:
        dependencies[node.name] = frozenset[Operand]().union(
            *(dependencies[input_] for input_ in node.inputs if input_ in dependencies)
        )
    user_dependencies: dict[Operand, set[DependencySet]] = {dependency: set() for dependency in dependencies}
    computed_dependencies: dict[Operand, DependencySet] = {}
    for node in reversed(nodes):
        users = user_dependencies[node.name]
        if node.name in used_names or not users or (is_ufunc_node(node) and len(users) > 1):
            computed_dependencies[node.name] = dependencies[node.name]
        for input_ in set(node.inputs) & dependencies.keys():
            user_dependencies[input_] |= (
                {computed_dependencies[node.name]} if node.name in computed_dependencies else users
            )
    outputs = {
        name for name, group in computed_dependencies.items() if name in used_names or user_dependencies[name] - {group}
    }
    groups = sorted(
        dict.fromkeys(computed_dependencies[node.name] for node in nodes if node.name in computed_dependencies), key=len
    )
    return tuple(
        build_loop(
            nodes,
            [name for name in computed_dependencies if computed_dependencies[name] == group],
            computed_dependencies,
            outputs,
            dependencies,
        )
        for group in groups
    )


def attach_sum(loops: Sequence[FusedLoop], sum_node: Node, used_names: Set[str]) -> tuple[FusedLoop, ...]:
    """The same loops, with a sum attached to the loop that computes its operand; that array is written only if it has
    other uses."""
    (name,) = sum_node.inputs
    is_used = name in used_names or any(name in loop.inputs for loop in loops)
    return tuple(
        replace(loop, outputs=tuple(output for output in loop.outputs if is_used or output != name), sum_node=sum_node)
        if name in loop.outputs
        else loop
        for loop in loops
    )


def build_loop(
    nodes: Sequence[Node],
    results: Sequence[Operand],
    computed_dependencies: Mapping[Operand, DependencySet],
    outputs: Set[Operand],
    dependencies: Mapping[Operand, DependencySet],
) -> FusedLoop:
    """Build the loop that computes these results from the results of earlier loops."""
    live = set(results)
    for node in reversed(nodes):
        if node.name in live:
            live |= {input_ for input_ in node.inputs if input_ in dependencies and input_ not in computed_dependencies}
    inner = tuple(node for node in nodes if node.name in live)
    names = {node.name for node in inner}
    inputs = dict.fromkeys(
        input_ for node in inner for input_ in node.inputs if input_ in dependencies and input_ not in names
    )
    return FusedLoop(
        inner, tuple(node.name for node in inner if node.name in outputs and node.name in results), tuple(inputs)
    )


def merge_shapes(first: Shape, second: Shape) -> Shape:
    """The common shape of two shapes if they may be equal, else None."""
    if first is None or second is None or len(first) != len(second):
        return None
    pairs = list(zip(first, second, strict=True))
    if any(size != other_size and None not in (size, other_size) for size, other_size in pairs):
        return None
    return tuple(size if size is not None else other_size for size, other_size in pairs)


def is_fusible(node: Node, operand_types: Sequence[Type]) -> bool:
    """Whether a node is elementwise and never traps."""
    if not is_elementwise(node) or node.op in ("identity", "stop_gradient") or node.results[0].type.is_scalar:
        return False
    if any(map(is_narrow_array, (*operand_types, node.results[0].type))):
        return False
    result = Type(node.results[0].type.dtype)
    scalars = [Type(type_.dtype) for type_ in operand_types]
    return kernels.trap_condition(node.op, scalars, result, ["x"] * len(operand_types)) is None


def is_elementwise(node: Node) -> bool:
    """Whether an op computes each element of its result from the same element of its operands."""
    return node.op in OPS and OPS[node.op].scalar is not None


def is_total_on_scalars(node: Node, operand_types: Sequence[Type]) -> bool:
    """Whether a node has only scalars and never traps."""
    if not is_elementwise(node) or not all(type_.is_scalar for type_ in (*operand_types, node.results[0].type)):
        return False
    return kernels.trap_condition(node.op, operand_types, node.results[0].type, ["x"] * len(operand_types)) is None


@dataclass(frozen=True, slots=True)
class LoopStages:
    """The stages of a block: the stage that computes each node, the first stage at which its value can be read, and the
    values that are stored for another stage."""

    stage_of: dict[str, int]
    ready_stage: dict[str, int]
    stored_values: frozenset[str]

    @property
    def count(self) -> int:
        return max(self.ready_stage.values()) + 1


def assign_stages(loop: FusedLoop) -> LoopStages:
    """Assign stages: a result of a NumPy loop can be read one stage after its operands."""
    stage_of: dict[str, int] = {}
    ready_stage: dict[str, int] = {}
    stored_values = {*loop.outputs, *(map(str, loop.sum_node.inputs) if loop.sum_node else ())}
    for node in loop.nodes:
        inner = [operand for operand in node.inputs if operand in stage_of]
        stage_of[node.name] = max((ready_stage[operand] for operand in inner), default=0)  # type: ignore[index]
        ready_stage[node.name] = stage_of[node.name] + is_ufunc_node(node)
        stored_values |= {str(other_node) for other_node in inner if ready_stage[other_node] < stage_of[node.name]}  # type: ignore[index]
        if is_ufunc_node(node):
            same_dtype = {
                other_node.name for other_node in loop.nodes if other_node.results[0].type.dtype is ufunc_dtype(node)
            }
            stored_values |= same_dtype & {node.name, *map(str, inner)}
    return LoopStages(stage_of, ready_stage, frozenset(stored_values))


def exceeds_max_elements(sizes: Sequence[str]) -> str:
    """Text of the check that an array of these sizes has too many elements; a size of 0 counts as 1."""
    if all(size.isdigit() for size in sizes):
        return repr(math.prod(max(int(size), 1) for size in sizes) > MAX_ELEMENTS)
    if len(sizes) == 1:
        return f"{sizes[0]} > {MAX_ELEMENTS}"
    product = " * ".join(f"float64(max({size}, 1))" for size in sizes)
    return f"{product} > {float(MAX_ELEMENTS)}"
