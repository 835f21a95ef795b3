"""Application of ops: `apply` adds a node to the program under trace, or computes eagerly outside a trace."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...dtypes import promote
from ...errors import Exhausted, Invalid, Trap, Usage
from ...ops.effects import trap_class
from ...ops.op import (
    Kernel,
    Op,
    build_kernel,
    describe_trapping_element,
    lookup_op,
    operand_count,
    raise_column_error,
    trap_message,
)
from ...types import Type
from ...value import Literal, Value, abbreviate
from ..trace.captures import VariableBase, read_variable
from ..trace.program_builder import (
    TracedOperand,
    TracedValue,
    current_region,
    emit_op,
    leak_error,
    to_operand,
    to_weak_operand,
    unwrap_weak,
    weak_number,
    weak_value_of,
)
from ..trace.source_location import user_location
from ..trace.symbol import Symbol
from .array import ConcreteArray, result_like
from .dispatch import build_entry, try_fast_path, wrap_and_record
from .recording import TAPE_STACK, record_traced_op


def apply(op: str, *operands: Any, **attributes: Any) -> Any:
    """Apply an op by name. In a trace this adds a node; else it computes, and raises Trap where the op traps.

    Operands are symbols, arrays, variables, numbers, or lists of numbers. Raises Usage for an unknown op or another
    number of operands, Invalid (V4) where the types do not fit, (F2) for a symbol of a finished trace.
    """
    array = try_fast_path(op, operands, attributes)
    if array is not None:
        return array
    row = lookup_op(op)
    count = operand_count(row, attributes)
    if count not in (None, len(operands)):
        raise Usage(f"{op} takes {count} operands", where=user_location(), got=len(operands), python=TypeError)
    if any(isinstance(operand, VariableBase) for operand in operands):
        return apply(op, *map(read_variable, operands), **attributes)
    if row.promotes_integers_to_float and has_integers_to_promote(operands):
        return apply(op, *map(promote_integer_to_float, operands), **attributes)
    promoted = promote_operands(row, list(map(unwrap_weak, operands)))
    region = current_region()
    if region is not None:
        result = emit_op(region, op, promoted, tuple(attributes.items()))
        result.weak_value = weak_result_value(op, operands, result.type)
        symbol = Symbol(result)
        if TAPE_STACK.get():
            record_traced_op(op, operands, promoted, attributes, symbol)
        return symbol
    leaked = [operand for operand in promoted if isinstance(operand, TracedValue)]
    if leaked:
        raise leak_error(leaked)
    literals = [operand for operand in promoted if isinstance(operand, Literal)]
    value, kernel, type_ = compute_with_kernel(op, literals, attributes)
    if not any(isinstance(operand, ConcreteArray) for operand in operands):
        return result_like(operands, value)
    recorded_operands = tuple(
        operand if type(operand) in (ConcreteArray, bool, int, float) else ConcreteArray(constant)
        for operand, constant in zip(operands, literals, strict=True)
    )
    return wrap_and_record(
        build_entry(row, recorded_operands, literals, attributes, kernel, type_), recorded_operands, value
    )


def has_integers_to_promote(operands: Sequence[object]) -> bool:
    """Whether all operands are of integer dtypes, except for Python numbers, and one is not a Python number."""
    strong_operands = [operand for operand in map(unwrap_weak, operands) if weak_number(operand) is None]
    return bool(strong_operands) and all(to_operand(operand).type.dtype.is_integer for operand in strong_operands)


def promote_integer_to_float(operand: Any) -> Any:
    """An operand of an integer dtype as float64. A Python number is unchanged: it takes that dtype."""
    return operand if weak_number(unwrap_weak(operand)) is not None else apply("astype", operand, dtype=dtypes.float64)


def weak_result_value(op: str, operands: Sequence[object], type_: Type) -> int | float | None:
    """The weak value of a result that is computed from weak values and Python numbers alone; else None."""
    same_dtype_operands = operands[slice(*lookup_op(op).same_dtype_operands)]
    is_weak = any(weak_value_of(operand) is not None for operand in same_dtype_operands)
    if (
        op == "astype"
        or not is_weak
        or any(weak_number(unwrap_weak(operand)) is None for operand in same_dtype_operands)
    ):
        return None
    return {"i": 1, "f": 1.0}.get(type_.dtype.kind) if type_.is_scalar else None


def promote_operands(row: Op, operands: Sequence[object]) -> list[TracedOperand]:
    """The operands as values; Python numbers take the promoted dtype of the other operands.

    If all are Python numbers, ints take float64 where one is a float, or where the op promotes integers to float.
    Operands that need not share the dtype, such as the condition of `where` or indices, do not take part.
    """
    same_dtype_positions = range(len(operands))[slice(*row.same_dtype_operands)]
    weak_flags = [type(operand) in (int, float) and k in same_dtype_positions for k, operand in enumerate(operands)]
    values = [None if is_weak else to_operand(operand) for operand, is_weak in zip(operands, weak_flags, strict=True)]
    strong_dtypes = [value.type.dtype for value in values[slice(*row.same_dtype_operands)] if value is not None]
    has_float = any(type(operands[k]) is float for k in same_dtype_positions)
    if not strong_dtypes and (has_float or row.promotes_integers_to_float):
        strong_dtypes = [dtypes.float64]
    common_dtype = functools.reduce(
        lambda first, second: first and promote(first, second),
        strong_dtypes,
        strong_dtypes[0] if strong_dtypes else None,
    )
    return [
        to_weak_operand(operand, common_dtype) if value is None else value
        for operand, value in zip(operands, values, strict=True)
    ]


def compute(op: str, operands: list[Literal], attributes: dict[str, Any]) -> Value:
    """Compute an op eagerly; raises Invalid, Trap or Exhausted where it has no value."""
    return compute_with_kernel(op, operands, attributes)[0]


def compute_with_kernel(op: str, operands: list[Literal], attributes: dict[str, Any]) -> tuple[Value, Kernel, Type]:
    """The value of an op, the kernel that computed it, and its type by the type rule."""
    row = lookup_op(op)
    types = [operand.type for operand in operands]
    try:
        type_ = row.type_rule(*types, **attributes)
    except Invalid as error:
        error.rule, error.where, error.message = "V4", user_location(), f"{error.function or op}: {error.message}"
        raise
    values = tuple(operand.value for operand in operands)
    try:
        message = trap_message(row, values, tuple(attributes.items()))
        if message is None:
            kernel = build_kernel(row, types, type_, tuple(attributes.items()), may_alias=True)
            return kernel(*values), kernel, type_
    except MemoryError:
        got = f"{op} of {', '.join(map(str, types))}"
        raise Exhausted("a result does not fit into memory", rule="S12", where=user_location(), got=got) from None
    except Exception as error:
        raise_column_error(row, values, error)
    got, python = ", ".join(map(abbreviate, values)), trap_class(op, message)
    trap = Trap(message, where=user_location(), got=got, python=python)
    for line in describe_trapping_element(op, values, tuple(attributes.items()), message):
        trap.add_note(line)
    raise trap
