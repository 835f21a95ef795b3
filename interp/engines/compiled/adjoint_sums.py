"""In-place accumulation of adjoints. The gradient of a weight is summed over activations: each computes a matrix
product and adds it to the sum from its callees. Where that sum is unique, the product is added in place; where it is
all zeros, these zeros are never written.

The bits of a sum do not change: an element of a product is summed from 0, and then added to the accumulator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

from ....core.dtypes import DType
from ....core.ops.op import MAX_ELEMENTS, OPS
from ....core.ops.rules import resolve_axes
from ....core.program.program import Node, Operand, Region
from ....core.types import Type
from ....core.value import Literal
from ..jit.state import FEW_ROWS, PARALLEL_MIN_ELEMENTS, STRIDED_ADD_ARRAYS
from . import elementwise as arrays
from .elementwise import Transposed, TypedExpression, emit_empty
from .facts import ArrayFacts, ArrayFactTable
from .layout import numba_dtype, numpy_dtype

_MIN_ELEMENTS = 512
"""The fewest elements for which in-place accumulation pays."""
_TILE_ROWS, _TILE_BYTES, _MAX_PRODUCTS = 8, 128, 2**26
"""Bounds on a product that is added in place: a divisor of its rows, a divisor of the bytes of a row, and its most
multiplications. Within them all tiles are whole (jit.matrices)."""
_IN_PLACE_OPS = ("scatter_add", "scatter_index")
"""Ops that write into their first operand where it is unique and dead."""
_FRESH_OPS = (
    *("matmul", "permute_dims", "concat", "broadcast_to", "broadcast_like", "sum_like", "sum", "max", "min"),
    *_IN_PLACE_OPS,
)
"""Ops, besides elementwise ones, that return a unique array and keep no reference to an operand."""
_ALIASING_OPS = ("identity", "stop_gradient", "breakpoint")


def is_fresh(op: str) -> bool:
    """Whether an op returns a unique array and keeps no reference to an operand."""
    return op in _FRESH_OPS or (op in OPS and OPS[op].scalar is not None and op not in _ALIASING_OPS)


class SumEmitter(arrays.ArrayEmitter, Protocol):
    facts: ArrayFactTable

    def materialize(self, text: str) -> str: ...


@dataclass(frozen=True, slots=True)
class AccumulationPlan:
    """A plan for the nodes of a region that are not emitted one by one."""

    sums: frozenset[str]
    zeros: frozenset[str]
    """Nodes whose results are lazy zeros."""
    products: Mapping[str, Node]
    """For the name of each sum, the product that is added to its other operand."""
    transposes: frozenset[str]
    """Transpositions that are folded into products."""
    node_index: Mapping[str, int]
    """The position of each node, by name."""
    last_use: Mapping[str, int]
    """The position of the last use of each value; -1 where it has none."""

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
        return {value(each).text for each in node.inputs if self.is_last_use(each, node)}


class _DefUseChains:
    """The definitions and uses of a region's values."""

    def __init__(self, region: Region) -> None:
        self.region, self.nodes = region, region.nodes
        self.producer = {var.name: node for node in region.nodes for var in node.results}
        self.types = {var.name: var.type for var in region.parameters}
        self.types |= {var.name: var.type for node in region.nodes for var in node.results}
        self.use_indices: dict[str, list[int]] = {name: [] for name in self.types}
        for at, node in enumerate(region.nodes):
            for each in (each for each in node.inputs if isinstance(each, str)):
                self.use_indices[each].append(at)
        for each in (each for each in region.results if isinstance(each, str)):
            self.use_indices[each].append(len(region.nodes))
        self.fusible_values = _fusible_values(self)

    def users(self, name: str) -> list[Node]:
        return [self.nodes[at] for at in self.use_indices[name] if at < len(self.nodes)]

    def operand_type(self, operand: Operand) -> Type:
        return operand.type if isinstance(operand, Literal) else self.types[operand]


def plan_accumulation(region: Region) -> AccumulationPlan:
    """The plan for a region that is closed."""
    uses, sums, zeros, turned = _DefUseChains(region), set[str](), set[str](), set[str]()
    for node in reversed(region.nodes):
        if _is_accumulation(uses, node, sums):
            sums.add(node.name)
    for node in region.nodes:
        if _is_lazy_zeros(uses, node, sums):
            zeros.add(node.name)
        elif _is_implicit_transpose(uses, node, turned):
            turned.add(node.name)
    products = {
        node.name: found
        for node in region.nodes
        if node.name in sums and (found := _find_accumulated_product(uses, node))
    }
    last = {each: max(found, default=-1) for each, found in uses.use_indices.items()}
    for node in products.values():
        for each in (each for each in node.inputs if isinstance(each, str)):
            last[each] = max(last[each], last[node.name])
    for name in turned:
        (of,) = uses.producer[name].inputs
        if isinstance(of, str):
            last[of] = max(last[of], last[name])
    at = {node.name: number for number, node in enumerate(region.nodes)}
    return AccumulationPlan(frozenset(sums), frozenset(zeros), products, frozenset(turned), at, last)


def _element_count(type_: Type) -> int | None:
    """The static element count of an array, or None."""
    shape = [-1 if size is None else size for size in type_.shape or ()]
    return None if type_.is_scalar or -1 in shape else math.prod(shape)


def _is_accumulation(uses: _DefUseChains, node: Node, later: set[str]) -> bool:
    """Whether a node adds arrays that are computed one by one, and is in no fused loop."""
    if node.op != "add" or len({each for each in node.inputs if isinstance(each, str)}) != 2:
        return False
    made = node.results[0].type
    count = _element_count(made)
    if count is None or not _MIN_ELEMENTS <= count < PARALLEL_MIN_ELEMENTS or made.dtype.kind != "f":
        return False
    alike = all(uses.operand_type(each) == made and each not in uses.fusible_values for each in node.inputs)
    return alike and all(user.name in later for user in uses.users(node.name))


def _fusible_values(uses: _DefUseChains) -> set[str]:
    """The values of elementwise ops, except sums of a value that no elementwise op computes."""
    found = set[str]()
    for node in uses.nodes:
        is_by_elements = node.op in OPS and OPS[node.op].scalar is not None
        is_sum = node.op == "add" and _element_count(node.results[0].type) is not None
        if is_by_elements and (not is_sum or any(each in found for each in node.inputs)):
            found.add(node.name)
    return found


def _is_lazy_zeros(uses: _DefUseChains, node: Node, sums: set[str]) -> bool:
    """Whether a node makes zeros, and all of its uses accept lazy zeros."""
    if len(node.results) != 1:
        return False
    made = node.results[0].type
    if (
        node.op == "multiply_no_nan"
        and _is_zero(node.inputs[1])
        and _has_known_elements(made)
        and uses.operand_type(node.inputs[0]) == made
    ):
        return all(user.op in _IN_PLACE_OPS or user.name in sums for user in uses.users(node.name))
    return node.op in ("broadcast_to", "broadcast_like") and _is_zero(node.inputs[0]) and _has_known_elements(made)


def _has_known_elements(type_: Type) -> bool:
    """Whether an array's size is static, not 0, and not too large."""
    return 0 < (_element_count(type_) or 0) <= MAX_ELEMENTS


def _is_zero(operand: Operand) -> bool:
    """Whether an operand is the constant 0.0, not -0.0."""
    if not isinstance(operand, Literal) or not operand.type.is_scalar or operand.type.dtype.kind != "f":
        return False
    value = float(operand.value)  # type: ignore[arg-type]
    return value == 0.0 and math.copysign(1.0, value) > 0.0


def _is_implicit_transpose(uses: _DefUseChains, node: Node, others: set[str]) -> bool:
    if node.op != "permute_dims" or len(node.results[0].type.shape or ()) != 2:
        return False
    axes = node.attribute("axes")
    if tuple(resolve_axes(axes if isinstance(axes, tuple) else (axes,), uses.operand_type(node.inputs[0]))) != (1, 0):
        return False
    users = uses.users(node.name)
    return len(users) == len(uses.use_indices[node.name]) and all(
        _accepts_transposed(uses, user, node.name, others) for user in users
    )


def _accepts_transposed(uses: _DefUseChains, node: Node, name: str, others: set[str]) -> bool:
    """Whether a node is a product that accepts this matrix transposed: as its left factor, or as its right one where
    the left has few rows."""
    if (
        not _is_float_matmul(uses, node)
        or node.inputs[0] == node.inputs[1]
        or any(each in others for each in node.inputs)
    ):
        return False
    if any(_element_count(uses.operand_type(each)) is None for each in node.inputs):
        return False
    rows = (uses.operand_type(node.inputs[0]).shape or (None,))[0]
    return node.inputs[0] == name or (rows is not None and rows < FEW_ROWS)


def _is_float_matmul(uses: _DefUseChains, node: Node) -> bool:
    """Whether a node is a product of two float matrices of one dtype."""
    if node.op != "matmul":
        return False
    types = [uses.operand_type(each) for each in node.inputs]
    dtype = node.results[0].type.dtype
    return dtype.kind == "f" and all(each.dtype is dtype and len(each.shape or ()) == 2 for each in types)


def _find_accumulated_product(uses: _DefUseChains, sum_: Node) -> Node | None:
    """The product that a sum adds to its other operand; None unless the sum is its only use, the other operand does not
    feed it, all tiles are whole, and the types show that its factors fit."""
    for each in reversed(sum_.inputs):
        node = uses.producer.get(str(each))
        if node is None or not _is_float_matmul(uses, node) or len(uses.use_indices[str(each)]) != 1:
            continue
        if _operands_read(uses, node) & {*sum_.inputs} or any(
            _element_count(uses.operand_type(factor)) is None for factor in node.inputs
        ):
            continue
        rows, columns = node.results[0].type.shape or (0, 0)
        inner = (uses.operand_type(node.inputs[0]).shape or (0, 0))[1]
        if rows and columns and inner and _has_whole_tiles(rows, inner, columns, node.results[0].type.dtype):
            return node
    return None


def _operands_read(uses: _DefUseChains, product: Node) -> set[Operand]:
    """The values whose elements a product reads, transposed or not."""
    made = [uses.producer.get(str(each)) for each in product.inputs]
    return {*product.inputs, *(each for node in made if node and node.op == "permute_dims" for each in node.inputs)}


def _has_whole_tiles(rows: int, inner: int, columns: int, dtype: DType) -> bool:
    width = dtype.numpy.itemsize
    return rows % _TILE_ROWS == 0 and columns * width % _TILE_BYTES == 0 and rows * inner * columns < _MAX_PRODUCTS


def emit_special_node(
    writer: SumEmitter,
    plan: AccumulationPlan,
    node: Node,
    value: Callable[[Operand], TypedExpression],
    there: Callable[[Operand], TypedExpression],
) -> str:
    """Emit a node of the plan; `there` returns a materialized operand."""
    if node.name in plan.zeros:
        return _emit_lazy_zeros(writer, node)
    product = plan.products.get(node.name)
    if product is None:
        a, b = (value(each).text for each in node.inputs)
        return _emit_sum(writer, node, a, b, plan.dead_operands(node, value))
    (name,) = (each for each in node.inputs if each != product.name)
    factors, is_spent = list(map(there, product.inputs)), plan.is_last_use(name, node)
    return _emit_accumulated_product(writer, product, factors, value(name), is_spent=is_spent)


def _emit_lazy_zeros(writer: SumEmitter, node: Node) -> str:
    """Emit lazy zeros."""
    type_ = node.results[0].type
    text = writer.assign(
        f"e.lazy_zeros(({', '.join(map(str, type_.shape or ()))},), {numpy_dtype(numba_dtype(type_.dtype))})"
    )
    writer.facts.set_facts(text, ArrayFacts(is_unique=True, has_no_negative_zero=True, may_be_lazy=True))
    return text


def _emit_sum(writer: SumEmitter, node: Node, a: str, b: str, spent: set[str]) -> str:
    """Emit a sum; `spent` are its dead operands."""
    known, type_, pairs = writer.facts, node.results[0].type, ((a, b), (b, a))
    for one, other in pairs:
        if one in known.lazy and other not in known.no_negative_zero:
            writer.materialize(one)
    mine, made, head = known.unique & spent, writer.fresh_name(), "if"
    handed = {other for one, other in pairs if one in known.lazy}  # one of these may be returned as the sum
    for one, other in pairs:
        if one in known.lazy:
            writer.emit(f"{head} e.is_lazy({one}): {made} = {other}")
            head = "elif"
    with writer.block("else:") if handed else nullcontext():
        writer.emit(f"{made} = {_emit_array_sum(writer, type_, a, b, mine)}")
    known.mark_shared(handed - mine)
    known.set_facts(made, ArrayFacts(handed <= mine, bool({a, b} & known.no_negative_zero), {a, b} <= known.lazy))
    return made


def _emit_array_sum(writer: SumEmitter, type_: Type, a: str, b: str, mine: set[str]) -> str:
    """Emit the sum of two materialized arrays, in place where one of them is in `mine`: unique and dead."""
    sizes = [str(size) for size in type_.shape or ()]
    into = a if a in mine else b if b in mine else emit_empty(writer, sizes, type_)
    words = [f"w.data_address({into})", f"w.data_address({a})", str(type_.dtype.numpy.itemsize), f"w.data_address({b})"]
    writer.emit(f"strided_op({', '.join([str(STRIDED_ADD_ARRAYS), *words, str(_element_count(type_)), *['0'] * 10])})")
    for text in dict.fromkeys((into, a, b)):
        writer.emit(f"w.keep_alive({text})")
    return into


def _emit_accumulated_product(
    writer: SumEmitter, product: Node, factors: Sequence[TypedExpression], to: TypedExpression, *, is_spent: bool
) -> str:
    """Emit a matrix product that is added to an array."""
    known, type_ = writer.facts, product.results[0].type
    rows, columns = type_.shape or (0, 0)
    fact = ArrayFacts(is_unique=True, has_no_negative_zero=to.text in known.no_negative_zero)
    if not is_spent or to.text not in known.unique:
        made = emit_empty(writer, [str(rows), str(columns)], type_)
        width, count = type_.dtype.numpy.itemsize, rows * columns  # type: ignore[operator]
        writer.materialize(to.text)
        words = [f"w.data_address({made})", f"w.data_address({to.text})", str(width), "1", "1", "1", str(count)]
        writer.emit(f"strided_op({', '.join(['0', *words, '0', '0', '0', '1', '0', '0', '0', '1'])})")
        writer.emit(f"w.keep_alive({to.text})")
        how = "1"
    elif to.text in known.lazy:
        how = writer.assign(f"2 if e.is_lazy({to.text}) else 1")
        made = writer.assign(f"e.materialize_uninitialized({to.text})")
    else:
        made, how = to.text, "1"
    x, y = factors
    name = numba_dtype(type_.dtype)
    is_turned = "1" if isinstance(x, Transposed) else "0"
    writer.emit(f"matmul_accumulate_{name}(s, {made}, {x.text}, {y.text}, {is_turned}, {how})")
    known.set_facts(made, fact)
    return made
