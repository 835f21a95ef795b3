"""Code generation for matrix products and sums, and for sums of adjoints in place.

`jit.matrices` computes products and sums. The gradient of a weight is summed over activations: each activation computes
a matrix product and adds it to the sum from its callees. If no other value refers to that sum, the product is added in
place; if the sum is all zeros, these zeros are never written. `plan_accumulation` finds such nodes in a region,
`emit_special_node` emits them.

The bits of a sum do not change: an element of a product is summed from 0, and then added to the accumulator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from ....core import dtypes
from ....core.ops.op import MAX_ELEMENTS, OPS
from ....core.ops.type_rules import resolve_axes
from ....core.program.program import Node, Operand, Region
from ....core.types import Type
from ....core.value import Literal
from ..jit.kernels import LANE_TYPES, lane
from ..jit.state import FEW_ROWS, PARALLEL_MIN_ELEMENTS, STRIDED_ADD_ARRAYS
from .data_movement import emit_axis_sum, emit_copy, emit_strided_call, emit_subarray
from .elementwise import (
    broadcast_sizes,
    emit_broadcast_copy,
    emit_element_copy,
    emit_empty,
    emit_full_sum,
    flat_expression,
    rounded_format,
)
from .emitter import ArrayFacts, FunctionEmitter, Transposed, TypedExpression
from .layout import is_narrow_array, numba_dtype, numpy_dtype, tuple_expression

_MIN_ELEMENTS = 512
"""The minimal number of elements for which in-place accumulation is faster."""
_TILE_ROWS, _TILE_BYTES, _MAX_PRODUCTS = 8, 128, 2**26
"""Conditions on a product that is added in place: divisors of the number of rows and of the bytes of a row, so that all
tiles are whole (jit.matrices), and the maximal number of multiplications."""
_IN_PLACE_OPS = ("scatter", "scatter_add", "scatter_index")
"""Ops that write into their first operand where it is unique and dead."""
_FRESH_OPS = (
    *("matmul", "permute_dims", "concat", "broadcast_to", "broadcast_like", "sum_like", "sum", "max", "min"),
    *_IN_PLACE_OPS,
)
"""Ops, besides elementwise ones, that return a unique array and keep no reference to an operand."""
_ALIASING_OPS = ("identity", "stop_gradient", "breakpoint")


def emit_sum(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a sum over all axes, or along one."""
    (operand,) = inputs
    type_, result = operand.type, node.results[0].type
    if type_.is_scalar:
        return operand.text
    kind, axis, rank = LANE_TYPES[lane(result.dtype)], node.attribute("axis"), len(type_.shape or ())
    if axis is None:
        return emit_full_sum(emitter, node, operand.text, numba_dtype(type_.dtype))
    sizes = operand.sizes
    leading_sizes, trailing_sizes = sizes[: axis % rank], sizes[axis % rank + 1 :]
    leading, size, trailing = count_expression(leading_sizes), sizes[axis % rank], count_expression(trailing_sizes)
    shape = [*leading_sizes, *["1"] * node.attribute("keepdims"), *trailing_sizes]
    if is_machine_float(type_):
        folded_sizes = [leading, size, trailing] if trailing_sizes else [leading, size]
        strides = [trailing, "0", "1"] if trailing_sizes else ["1", "0"]
        return emit_axis_sum(emitter, operand, shape, strides, result, folded_sizes)
    view = emit_subarray(emitter, operand, "0", [leading, size, trailing])
    sums = emitter.assign(f"p.sum_middle_axis({view}, np.{kind})")
    if result.is_scalar:
        return emitter.assign(rounded_format(result).format(f"{sums}[0, 0]"))
    rows = TypedExpression(sums, Type(dtypes.uint64 if kind == "uint64" else dtypes.int64, (None, None)))
    cast = emit_broadcast_copy(emitter, rows, [leading, trailing], Type(result.dtype))
    return emit_subarray(emitter, TypedExpression(cast, result), "0", shape)


def emit_matmul(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a product: of two matrices, or of two stacks of matrices."""
    result, (left, right) = node.results[0].type, (input_.sizes for input_ in inputs)
    inner, right_inner = left[-1], right[-2:][0]
    if inner != right_inner:
        emitter.emit_trap(node, inputs, f"{inner} != {right_inner}")
    leading = [TypedExpression(text, Type(type_.dtype, (type_.shape or ())[:-2])) for text, type_ in inputs]
    has_stacks = any(value.type.shape for value in leading)
    stack = (
        broadcast_sizes(emitter, leading, lambda condition: emitter.emit_trap(node, inputs, condition))
        if has_stacks
        else []
    )
    shape = [*stack, *left[-2:-1], *(right[-1:] if len(right) > 1 else [])]
    if shape:
        emitter.emit_size_check(node, inputs, shape)
        emitter.emit_memory_charge(shape, result.dtype)
    if transposed := emit_transposed_matmul(emitter, result, inputs):
        return transposed
    factors = [emit_factor(emitter, value, result) for value in inputs]
    x = factors[0].text if len(left) > 1 else emit_subarray(emitter, factors[0], "0", ["1", inner])
    y = factors[1].text if len(right) > 1 else emit_subarray(emitter, factors[1], "0", [right_inner, "1"])
    shapes = [type_.shape or () for _, type_ in inputs]
    shapes = [shapes[0] if len(left) > 1 else (1, *shapes[0]), shapes[1] if len(right) > 1 else (*shapes[1], 1)]
    if stack:
        matrices = [
            TypedExpression(text, Type(factor.type.dtype, shape))
            for text, factor, shape in zip((x, y), factors, shapes, strict=True)
        ]
        product = emit_stacked_matmul(emitter, result, matrices, stack)
    else:
        product = emitter.assign(matmul_expression(result, x, y))
    if result.is_scalar:
        return emitter.assign(f"{LANE_TYPES[lane(result.dtype)]}({product}[0, 0])")
    if len(shape) == len(left) == len(right):
        return product
    return emit_subarray(emitter, TypedExpression(product, result), "0", shape)


def emit_transposed_matmul(emitter: FunctionEmitter, result: Type, factors: Sequence[TypedExpression]) -> str | None:
    """Emit a product of a matrix and a transposed matrix, in either order; None if neither is."""
    texts, name = ", ".join(value.text for value in factors), numba_dtype(result.dtype)
    if isinstance(factors[0], Transposed):
        return emitter.assign(f"matmul_transposed_left_{name}(s, {texts})")
    return emitter.assign(f"matmul_transposed_right_{name}({texts})") if isinstance(factors[1], Transposed) else None


def emit_factor(emitter: FunctionEmitter, value: TypedExpression, result: Type) -> TypedExpression:
    """Emit a factor in the dtype in which it is multiplied: the result's dtype if that is a float, else its own."""
    if result.dtype.kind != "f" or value.type.dtype is result.dtype:
        return value
    type_ = Type(result.dtype, value.type.shape)
    return TypedExpression(emit_broadcast_copy(emitter, value, value.sizes, type_), type_)


def matmul_expression(result: Type, x: str, y: str) -> str:
    """Text of the product of two matrices."""
    if result.dtype.kind == "f":
        return f"matmul_{numba_dtype(result.dtype)}(s, {x}, {y})"
    return f"p.integer_matmul(s, {x}, {y}, {numpy_dtype(numba_dtype(result.dtype))})"


def emit_stacked_matmul(
    emitter: FunctionEmitter, result: Type, factors: Sequence[TypedExpression], stack: Sequence[str]
) -> str:
    """Emit the products of two stacks of matrices, one after another."""
    count, stacks = count_expression(stack), list[tuple[str, list[str]]]()
    for factor in factors:
        sizes = [emitter.assign(size) for size in factor.sizes[-2:]]
        copy = emit_broadcast_copy(emitter, factor, [*stack, *sizes])
        stacks.append((copy, sizes))
    (_, (rows, _)), (_, (_, columns)) = stacks
    sizes = [count, rows, columns]
    product = emitter.assign(f"e.empty({tuple_expression(sizes)}, {numpy_dtype(numba_dtype(result.dtype))})")
    flat, index = emitter.assign(flat_expression(product)), emitter.fresh_name("i")
    with emitter.block(f"for {index} in range({count}):"):
        emitter.emit_poll()
        texts = [
            emitter.assign(f"e.subarray({copy}, {index} * {height} * {width}, ({height}, {width},))")
            for copy, (height, width) in stacks
        ]
        matrix = emitter.assign(matmul_expression(result, *texts))
        emit_element_copy(emitter, flat, matrix, f"{index} * {matrix}.size")
    return product


def count_expression(sizes: Sequence[str]) -> str:
    """Text of the number of elements of an array of these sizes."""
    return f"({' * '.join(sizes)})" if sizes else "1"


def is_fresh(op: str) -> bool:
    """Whether an op returns a unique array and keeps no reference to an operand."""
    return op in _FRESH_OPS or (op in OPS and OPS[op].scalar is not None and op not in _ALIASING_OPS)


@dataclass(frozen=True, slots=True)
class AccumulationPlan:
    """The nodes of a region that `emit_special_node` emits, or that are part of another node's code."""

    sums: frozenset[str]
    zeros: frozenset[str]
    """Nodes whose results are lazy zeros."""
    products: Mapping[str, Node]
    """The product that a sum adds to its other operand, by the name of the sum."""
    transposes: frozenset[str]
    """Transpositions that are folded into products."""
    node_index: Mapping[str, int]
    """The position of each node, by name."""
    last_use: Mapping[str, int]
    """The position of the last use of each value, by name; -1 if it is unused."""

    @property
    def special_nodes(self) -> frozenset[str]:
        return self.sums | self.zeros

    @property
    def fused_nodes(self) -> frozenset[str]:
        return self.transposes | {node.name for node in self.products.values()}

    def is_last_use(self, operand: Operand, node: Node) -> bool:
        """Whether this is the last use of a value, and the node's only one."""
        return (
            isinstance(operand, str)
            and self.last_use.get(operand) == self.node_index[node.name]
            and node.inputs.count(operand) == 1
        )

    def dead_operands(self, node: Node, value: Callable[[Operand], TypedExpression]) -> set[str]:
        """The operands of a node that are dead after it."""
        return {value(input_).text for input_ in node.inputs if self.is_last_use(input_, node)}


class DefUseChains:
    """The definitions and uses of a region's values."""

    def __init__(self, region: Region) -> None:
        self.region, self.nodes = region, region.nodes
        self.producer = {var.name: node for node in region.nodes for var in node.results}
        self.types = {var.name: var.type for var in region.parameters}
        self.types |= {var.name: var.type for node in region.nodes for var in node.results}
        self.use_indices: dict[str, list[int]] = {name: [] for name in self.types}
        for index, node in enumerate(region.nodes):
            for operand in (input_ for input_ in node.inputs if isinstance(input_, str)):
                self.use_indices[operand].append(index)
        for name in (result for result in region.results if isinstance(result, str)):
            self.use_indices[name].append(len(region.nodes))
        self.fusible_values = fusible_values(self)

    def users(self, name: str) -> list[Node]:
        return [self.nodes[index] for index in self.use_indices[name] if index < len(self.nodes)]

    def operand_type(self, operand: Operand) -> Type:
        return operand.type if isinstance(operand, Literal) else self.types[operand]


def plan_accumulation(region: Region) -> AccumulationPlan:
    """The plan for a closed region (`TapeLayout.closed_phase`)."""
    uses, sums, zeros, transposes = DefUseChains(region), set[str](), set[str](), set[str]()
    for node in reversed(region.nodes):
        if is_accumulation(uses, node, sums):
            sums.add(node.name)
    for node in region.nodes:
        if is_lazy_zeros(uses, node, sums):
            zeros.add(node.name)
        elif is_implicit_transpose(uses, node, transposes):
            transposes.add(node.name)
    products = {
        node.name: product
        for node in region.nodes
        if node.name in sums and (product := find_accumulated_product(uses, node))
    }
    last_use = {name: max(indices, default=-1) for name, indices in uses.use_indices.items()}
    for node in products.values():
        for input_ in (input_ for input_ in node.inputs if isinstance(input_, str)):
            last_use[input_] = max(last_use[input_], last_use[node.name])
    for name in transposes:
        (operand,) = uses.producer[name].inputs
        if isinstance(operand, str):
            last_use[operand] = max(last_use[operand], last_use[name])
    node_index = {node.name: number for number, node in enumerate(region.nodes)}
    return AccumulationPlan(frozenset(sums), frozenset(zeros), products, frozenset(transposes), node_index, last_use)


def static_element_count(type_: Type) -> int | None:
    """The static element count of an array, or None."""
    shape = [-1 if size is None else size for size in type_.shape or ()]
    return None if type_.is_scalar or -1 in shape else math.prod(shape)


def is_accumulation(uses: DefUseChains, node: Node, accumulations: set[str]) -> bool:
    """Whether a node adds two arrays of the result's shape, outside fused loops, and only such sums use the result."""
    if node.op != "add" or len({input_ for input_ in node.inputs if isinstance(input_, str)}) != 2:
        return False
    result = node.results[0].type
    count = static_element_count(result)
    if count is None or not _MIN_ELEMENTS <= count < PARALLEL_MIN_ELEMENTS or not is_machine_float(result):
        return False
    has_whole_operands = all(
        uses.operand_type(input_) == result and input_ not in uses.fusible_values for input_ in node.inputs
    )
    return has_whole_operands and all(user.name in accumulations for user in uses.users(node.name))


def fusible_values(uses: DefUseChains) -> set[str]:
    """The values of elementwise ops. A sum of static size counts only if one of its operands is such a value."""
    values = set[str]()
    for node in uses.nodes:
        is_by_elements = node.op in OPS and OPS[node.op].scalar is not None
        is_sum = node.op == "add" and static_element_count(node.results[0].type) is not None
        if is_by_elements and (not is_sum or any(input_ in values for input_ in node.inputs)):
            values.add(node.name)
    return values


def is_lazy_zeros(uses: DefUseChains, node: Node, sums: set[str]) -> bool:
    """Whether a node makes zeros, and all of its uses accept lazy zeros."""
    if len(node.results) != 1 or is_narrow_array(node.results[0].type):
        return False
    result = node.results[0].type
    has_elements = 0 < (static_element_count(result) or 0) <= MAX_ELEMENTS
    if (
        node.op == "multiply_no_nan"
        and is_zero(node.inputs[1])
        and has_elements
        and uses.operand_type(node.inputs[0]) == result
    ):
        return all(user.op in _IN_PLACE_OPS or user.name in sums for user in uses.users(node.name))
    return node.op in ("broadcast_to", "broadcast_like") and is_zero(node.inputs[0]) and has_elements


def is_zero(operand: Operand) -> bool:
    """Whether an operand is the constant 0.0, not -0.0."""
    if not isinstance(operand, Literal) or not operand.type.is_scalar or operand.type.dtype.kind != "f":
        return False
    value = float(operand.value)  # type: ignore[arg-type]
    return value == 0.0 and math.copysign(1.0, value) > 0.0


def is_implicit_transpose(uses: DefUseChains, node: Node, transposes: set[str]) -> bool:
    """Whether a node transposes a matrix, and all of its users are products that accept it transposed. `transposes` are
    the nodes for which this is known already."""
    if node.op != "permute_dims" or len(node.results[0].type.shape or ()) != 2:
        return False
    axes = node.attribute("axes")
    if tuple(resolve_axes(axes if isinstance(axes, tuple) else (axes,), uses.operand_type(node.inputs[0]))) != (1, 0):
        return False
    users = uses.users(node.name)
    return len(users) == len(uses.use_indices[node.name]) and all(
        accepts_transposed(uses, user, node.name, transposes) for user in users
    )


def accepts_transposed(uses: DefUseChains, node: Node, name: str, transposes: set[str]) -> bool:
    """Whether a node is a product that accepts this matrix transposed: as its left factor, or as its right one where
    the left has few rows."""
    if (
        not is_float_matmul(uses, node)
        or node.inputs[0] == node.inputs[1]
        or any(input_ in transposes for input_ in node.inputs)
    ):
        return False
    if any(static_element_count(uses.operand_type(input_)) is None for input_ in node.inputs):
        return False
    rows = (uses.operand_type(node.inputs[0]).shape or (None,))[0]
    return node.inputs[0] == name or (rows is not None and rows < FEW_ROWS)


def is_float_matmul(uses: DefUseChains, node: Node) -> bool:
    """Whether a node is a product of two float matrices of one dtype."""
    if node.op != "matmul":
        return False
    types = [uses.operand_type(input_) for input_ in node.inputs]
    dtype = node.results[0].type.dtype
    return is_machine_float(types[0]) and all(type_.dtype is dtype and len(type_.shape or ()) == 2 for type_ in types)


def is_machine_float(type_: Type) -> bool:
    """Whether generated code computes arrays of this type as floats."""
    return type_.dtype.kind == "f" and not is_narrow_array(type_)


def find_accumulated_product(uses: DefUseChains, sum_: Node) -> Node | None:
    """The product that a sum adds to its other operand. None unless the sum is the product's only use, the product does
    not read the other operand, all tiles are whole, and the shapes of the factors are static."""
    for input_ in reversed(sum_.inputs):
        node = uses.producer.get(str(input_))
        if node is None or not is_float_matmul(uses, node) or len(uses.use_indices[str(input_)]) != 1:
            continue
        if operands_read(uses, node) & {*sum_.inputs} or any(
            static_element_count(uses.operand_type(factor)) is None for factor in node.inputs
        ):
            continue
        rows, columns = node.results[0].type.shape or (0, 0)
        inner = (uses.operand_type(node.inputs[0]).shape or (0, 0))[1]
        row_bytes = (columns or 0) * node.results[0].type.dtype.numpy.itemsize
        has_whole_tiles = rows and columns and inner and rows % _TILE_ROWS == 0 and row_bytes % _TILE_BYTES == 0
        if has_whole_tiles and rows * inner * columns < _MAX_PRODUCTS:  # type: ignore[operator]
            return node
    return None


def operands_read(uses: DefUseChains, product: Node) -> set[Operand]:
    """The values whose elements a product reads, transposed or not."""
    producers = [uses.producer.get(str(input_)) for input_ in product.inputs]
    return {
        *product.inputs,
        *(input_ for node in producers if node and node.op == "permute_dims" for input_ in node.inputs),
    }


def emit_special_node(
    emitter: FunctionEmitter,
    plan: AccumulationPlan,
    node: Node,
    value: Callable[[Operand], TypedExpression],
    materialized_value: Callable[[Operand], TypedExpression],
) -> str:
    """Emit a node of the plan; `materialized_value` returns a materialized operand."""
    if node.name in plan.zeros:
        return emit_lazy_zeros(emitter, node)
    product = plan.products.get(node.name)
    if product is None:
        a, b = (value(input_).text for input_ in node.inputs)
        return emit_accumulation(emitter, node, a, b, plan.dead_operands(node, value))
    (name,) = (input_ for input_ in node.inputs if input_ != product.name)
    factors, is_dead = list(map(materialized_value, product.inputs)), plan.is_last_use(name, node)
    return emit_accumulated_product(emitter, product, factors, value(name), is_dead=is_dead)


def emit_lazy_zeros(emitter: FunctionEmitter, node: Node) -> str:
    """Emit lazy zeros."""
    type_ = node.results[0].type
    text = emitter.assign(
        f"e.lazy_zeros(({', '.join(map(str, type_.shape or ()))},), {numpy_dtype(numba_dtype(type_.dtype))})"
    )
    emitter.facts.set_facts(text, ArrayFacts(is_unique=True, has_no_negative_zero=True, may_be_lazy=True))
    return text


def emit_accumulation(emitter: FunctionEmitter, node: Node, a: str, b: str, dead_operands: set[str]) -> str:
    """Emit a sum of two arrays, each of which may be lazy zeros; `dead_operands` are dead after the sum."""
    facts, type_, pairs = emitter.facts, node.results[0].type, ((a, b), (b, a))
    for first, second in pairs:
        if first in facts.lazy and second not in facts.no_negative_zero:
            emitter.materialize(first)
    reusable, result, head = facts.unique & dead_operands, emitter.fresh_name(), "if"
    aliased = {second for first, second in pairs if first in facts.lazy}  # one of these may be returned as the sum
    for first, second in pairs:
        if first in facts.lazy:
            emitter.emit(f"{head} e.is_lazy({first}): {result} = {second}")
            head = "elif"
    with emitter.block("else:") if aliased else nullcontext():
        emitter.emit(f"{result} = {emit_array_sum(emitter, type_, a, b, reusable)}")
    facts.mark_shared(aliased - reusable)
    facts.set_facts(
        result, ArrayFacts(aliased <= reusable, bool({a, b} & facts.no_negative_zero), {a, b} <= facts.lazy)
    )
    return result


def emit_array_sum(emitter: FunctionEmitter, type_: Type, a: str, b: str, reusable: set[str]) -> str:
    """Emit the sum of two materialized arrays, in place where one of them is in `reusable`: unique and dead."""
    sizes = [str(size) for size in type_.shape or ()]
    result = a if a in reusable else b if b in reusable else emit_empty(emitter, sizes, type_)
    words = [str(type_.dtype.numpy.itemsize), b, str(static_element_count(type_))]
    emit_strided_call(emitter, STRIDED_ADD_ARRAYS, result, TypedExpression(a, type_), words)
    return result


def emit_accumulated_product(
    emitter: FunctionEmitter,
    product: Node,
    factors: Sequence[TypedExpression],
    accumulator_value: TypedExpression,
    *,
    is_dead: bool,
) -> str:
    """Emit a matrix product that is added to an array."""
    facts, type_ = emitter.facts, product.results[0].type
    facts_of_sum = ArrayFacts(is_unique=True, has_no_negative_zero=accumulator_value.text in facts.no_negative_zero)
    if not is_dead or accumulator_value.text not in facts.unique:
        emitter.materialize(accumulator_value.text)
        accumulator, mode = emit_copy(emitter, accumulator_value), "1"
    elif accumulator_value.text in facts.lazy:
        mode = emitter.assign(f"2 if e.is_lazy({accumulator_value.text}) else 1")
        accumulator = emitter.assign(f"e.materialize_uninitialized({accumulator_value.text})")
    else:
        accumulator, mode = accumulator_value.text, "1"
    x, y = factors
    name = numba_dtype(type_.dtype)
    is_transposed = "1" if isinstance(x, Transposed) else "0"
    emitter.emit(f"matmul_accumulate_{name}(s, {accumulator}, {x.text}, {y.text}, {is_transposed}, {mode})")
    facts.set_facts(accumulator, facts_of_sum)
    return accumulator
