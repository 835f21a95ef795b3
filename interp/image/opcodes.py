"""The table of opcodes, derived from the registry of ops: numbers for the operations of an image's nodes.

Values are computed in one of four wide dtypes, bool, int64, uint64 and float64, and then cast to the node's dtype. So
an op has one scalar kernel for each wide dtype that it takes, not one for each dtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from ...core import dtypes
from ...core.dtypes import DType, promote
from ...core.graph.graph import Graph, GraphNode
from ...core.ops.op import OPS, Op, fault_error
from ...core.types import Type


class Opcode(IntEnum):
    """The opcodes other than scalar kernels, whose codes begin at FIRST_KERNEL."""

    PASS = 0
    """Pass on operand 0: merges, and identity ops."""
    SWITCH = 1
    CALL = 2
    """Send to the activation of a call, or to the first iteration of a loop."""
    RETURN = 3
    NEXT_ITERATION = 4
    EXIT = 5
    RESULT = 6
    """A return to the environment."""
    FALLBACK = 7
    """Leave the machine loop, and fire the node by the rule of the reference."""
    BREAKPOINT = 8
    """Stop before the node fires. No image has this opcode; a run sets it for the nodes to stop at."""
    REENTER = 9
    BACK = 10
    FUTURE = 11
    """Send a future, and note the firing for a batch (`fast.futures`). No image has this opcode; a run sets it."""
    ELEMENT = 12
    """Send the element of an array at an index (`fast.futures`). No image has this opcode; a run sets it."""


FIRST_KERNEL = 13

_ROUTING_OPCODES = {
    "merge": Opcode.PASS,
    "switch": Opcode.SWITCH,
    "call": Opcode.CALL,
    "enter": Opcode.CALL,
    "return": Opcode.RETURN,
    "next_iteration": Opcode.NEXT_ITERATION,
    "exit": Opcode.EXIT,
    "reenter": Opcode.REENTER,
    "back": Opcode.BACK,
}
WIDE_DTYPES = (dtypes.bool, dtypes.int64, dtypes.uint64, dtypes.float64)
CAST_DTYPES: tuple[DType | None, ...] = (
    None, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.float32,
    dtypes.float16, dtypes.bfloat16,
)  # fmt: skip
"""The dtypes narrower than the wide ones, by cast number; 0 means no cast."""


class ScalarKernel(NamedTuple):
    """A scalar kernel: an op on operands of wide dtypes."""

    op: str
    operands: tuple[DType, ...]
    result: DType
    attributes: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return f"{self.op} {', '.join(map(repr, self.operands))} -> {self.result!r}"


UNCOMPILABLE_OPS: dict[str, str] = {}
"""The ops whose scalar function numba cannot compile, and why. Their kernels compute nothing, and programs with them
are refused."""


def check_compilable(graph: Graph) -> None:
    """Raise Usage, with the name of the op, for a graph with an op whose scalar function does not compile."""
    for node in graph.nodes if UNCOMPILABLE_OPS else ():
        if node.op in UNCOMPILABLE_OPS:
            raise fault_error(node.op, UNCOMPILABLE_OPS[node.op])


@cache
def scalar_kernels() -> tuple[ScalarKernel, ...]:
    """All kernels, in the order of the registry, but those that may trap last. The opcode of the first is
    FIRST_KERNEL."""
    kernels = [kernel for row in OPS.values() for kernel in kernels_of(row)]
    return tuple(sorted(kernels, key=lambda kernel: _can_trap(kernel)))


def first_trapping_opcode() -> int:
    """The opcode of the first kernel that may trap."""
    return FIRST_KERNEL + next(
        (n for n, kernel in enumerate(scalar_kernels()) if _can_trap(kernel)), len(scalar_kernels())
    )


def _can_trap(kernel: ScalarKernel) -> bool:
    condition = OPS[kernel.op].trap_condition
    return condition is not None and kernel.operands[-1].kind in condition.dtype_kinds


def kernels_of(row: Op) -> Iterator[ScalarKernel]:
    """The kernels of an op, one for each combination of wide dtypes that it takes."""
    if row.name in ("identity", "stop_gradient") or row.scalar is None:
        return
    if row.attributes == ("dtype",):
        yield from conversion_kernels() if row.name == "astype" else dtype_kernels(row)
        return
    for operands in product(WIDE_DTYPES, repeat=row.arity or 0):
        try:
            result = row.type_rule(*map(Type, operands)).dtype
        except Exception:  # Invalid; or a broken row, which concerns only programs that use it
            continue
        if all(has_computed_bits(operand, result) for operand in operands) or row.name == "where":
            yield ScalarKernel(row.name, operands, result)


def has_computed_bits(operand: DType, result: DType) -> bool:
    """Whether an operand has the dtype that the op computes in. Operands that promote to it have the same word there,
    and need no kernel of their own."""
    return operand is result or result is dtypes.bool or promote(operand, result) is operand


def dtype_kernels(row: Op) -> Iterator[ScalarKernel]:
    """A kernel for each wide dtype and each target dtype, unless a cast alone is enough."""
    for source, target in product(WIDE_DTYPES, dtypes.ALL):
        try:
            function = row.scalar_kernel(source, target).function
            operand = next(dtype for dtype in dtypes.ALL if _is_convertible(dtype, source, target))
            row.type_rule(Type(operand), dtype=target)
        except Exception:  # dtypes that it does not take; or a broken row
            continue
        if function not in (int, float) and operand not in dtypes.FLOAT_FORMATS:  # float64 does not say which
            yield ScalarKernel(row.name, (source,), target, (("dtype", target),))


def _is_convertible(dtype: DType, wide: DType, target: DType) -> bool:
    """Whether values of a dtype are computed in `wide`, and have as many bits as those of `target`."""
    return wide_dtype(dtype) is wide and dtype.bits == target.bits


def conversion_kernels() -> Iterator[ScalarKernel]:
    """The kernels of `astype`. Casts between integers only drop bits, and need none. A number is rounded to 16 bits
    from float64; the cast of other ops goes through float32."""
    conversions: list[tuple[DType, DType]] = [
        (dtypes.int64, dtypes.bool), (dtypes.float64, dtypes.bool),
        (dtypes.int64, dtypes.float64), (dtypes.uint64, dtypes.float64),
    ]  # fmt: skip
    conversions += [(dtypes.float64, target) for target in dtypes.BY_NAME.values() if target.is_integer]
    conversions += product((dtypes.int64, dtypes.uint64, dtypes.float64), dtypes.FLOAT_FORMATS)
    for source, target in conversions:
        yield ScalarKernel("astype", (source,), target, (("dtype", target),))


@cache
def opcodes_by_kernel() -> dict[tuple[str, tuple[DType, ...], DType | None], int]:
    """The opcode of each kernel, by op, operands and, for ops with a dtype attribute, result."""
    return {
        (kernel.op, kernel.operands, kernel.result if kernel.attributes else None): FIRST_KERNEL + number
        for number, kernel in enumerate(scalar_kernels())
    }


def wide_dtype(dtype: DType) -> DType:
    """The wide dtype that values of this dtype are computed in."""
    if dtype.is_integer:
        return dtype if dtype is dtypes.uint64 else dtypes.int64
    return dtypes.float64 if dtype.kind == "f" else dtypes.bool


def cast_code(dtype: DType) -> int:
    """The number of the cast to this dtype."""
    return CAST_DTYPES.index(dtype) if dtype in CAST_DTYPES else 0


def opcode_of(node: GraphNode, types: Sequence[Type], is_result: bool) -> int:
    """The opcode of a node whose ports have these types."""
    if is_result:
        return Opcode.RESULT
    if node.op in _ROUTING_OPCODES:
        return _ROUTING_OPCODES[node.op]
    if node.op == "breakpoint":
        return Opcode.PASS
    if node.op not in OPS:
        return Opcode.FALLBACK
    row = OPS[node.op]
    operands = types[: row.arity]
    if row.scalar is None or not all(type_.is_scalar for type_ in (*operands, node.outputs[0].type)):
        return Opcode.FALLBACK
    return scalar_opcode(row, [type_.dtype for type_ in operands], node.outputs[0].type.dtype)


def scalar_opcode(row: Op, operands: Sequence[DType], result: DType) -> int:
    """The opcode of an op on scalars of these dtypes."""
    match row.name:
        case "identity" | "stop_gradient":
            return Opcode.PASS
        case "astype":
            return conversion_opcode(operands[0], result)
        case _ if row.attributes == ("dtype",):
            code = opcodes_by_kernel().get((row.name, (wide_dtype(operands[0]),), result))
            is_cast = row.scalar_kernel(operands[0], result).function in (int, float)
            return Opcode.PASS if is_cast else Opcode.FALLBACK if code is None else code
        case "where":
            return opcodes_by_kernel()["where", (dtypes.bool, *[wide_dtype(promote_all(operands[1:]))] * 2), None]
    return opcodes_by_kernel().get(
        (row.name, (wide_dtype(promote_all(operands)),) * len(operands), None), Opcode.FALLBACK
    )


def promote_all(operands: Sequence[DType]) -> DType:
    """The dtype that all of these are promoted to."""
    dtype: DType = operands[0]
    for operand in operands[1:]:
        dtype = promote(dtype, operand) or dtype
    return dtype


def conversion_opcode(source: DType, target: DType) -> int:
    """The opcode of a cast between dtypes."""
    if target in dtypes.FLOAT_FORMATS:
        wide = wide_dtype(source)
        return opcodes_by_kernel()["astype", (dtypes.int64 if wide is dtypes.bool else wide,), target]
    if source.kind == "f":
        if target.kind == "f":
            return Opcode.PASS
        return opcodes_by_kernel()["astype", (dtypes.float64,), target]
    if target.kind == "b":
        return Opcode.PASS if source.kind == "b" else opcodes_by_kernel()["astype", (dtypes.int64,), target]
    if target.kind == "f":
        dtype = dtypes.uint64 if source is dtypes.uint64 else dtypes.int64
        return opcodes_by_kernel()["astype", (dtype,), dtypes.float64]
    return Opcode.PASS
