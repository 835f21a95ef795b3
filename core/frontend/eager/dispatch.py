"""Dispatch tables: the kernels and result types of ops, cached by operand types.

Each op has a table, and all tables have one common bound. Concrete arrays take a fast path through the tables. A miss,
or anything that might be an error, takes the slow path, `apply`, which checks everything and reports errors: the tables
affect speed only. A key has the types of arrays by identity, the classes of Python numbers, and the attributes; the key
of a single array is that identity alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...ops.cast import compose_casts, narrow_value, widen_array
from ...ops.op import Kernel, Op, dynamic_size_count
from ...types import Type, intern_type, type_of
from ...value import Literal, Value
from ..trace.program_builder import current_region
from .array import ConcreteArray
from .recording import TAPE_STACK, record_eager_op

DispatchKey: TypeAlias = "int | type | tuple[Any, ...]"
DispatchTable: TypeAlias = "dict[DispatchKey, DispatchEntry]"
MAX_ENTRIES = 4096
"""The most keys in all tables together; when they are full, all are cleared."""


class FastPathMiss(Exception):
    """The op must take the slow path."""


@dataclass(slots=True, eq=False)
class DispatchEntry:
    """A cached op: its kernel and result type for certain operand types and attributes."""

    op: str
    types: tuple[Type, ...]
    """The types that the operands are converted to; kept alive, so that no other type gets the identity in a key."""
    attributes: Mapping[str, Any]
    compute: Callable[..., Value]
    """Computes the value; raises FastPathMiss or MemoryError where the slow path must decide."""
    result_type: Type | None
    """The type of the value; None where it depends on the operands' values."""
    is_float: bool
    """Whether the value can have an adjoint."""


DISPATCH_TABLES: dict[object, DispatchTable] = {}
"""The table of each op, and of each function under `cache_single_op`. Clearing keeps the dicts, which closures hold."""
APPLIED_OPS: ContextVar[list[tuple[DispatchEntry, tuple[Any, ...], ConcreteArray]] | None] = ContextVar(
    "applied_ops", default=None
)
"""The ops that a function under `cache_single_op` applies, while `_call_and_cache` observes it; else None."""


def dispatch_table(owner: object) -> DispatchTable:
    """The table of an op, or of a function under `cache_single_op`."""
    return DISPATCH_TABLES.setdefault(owner, {})


def dispatch_key(operands: Sequence[Any], attributes: Mapping[str, Any]) -> DispatchKey:
    """The key of operands and attributes; raises FastPathMiss for attributes that cannot be part of a key."""
    kinds = [id(operand._type) if type(operand) is ConcreteArray else type(operand) for operand in operands]
    if attributes:
        return (*kinds, *attributes, *map(typed_key, attributes.values()))
    return kinds[0] if len(kinds) == 1 else tuple(kinds)


_EXACT_KEY_CLASSES = frozenset({int, str, type(None), EllipsisType})


def typed_key(value: Any) -> Any:
    """A static value as part of a key, where equal values of different classes, such as 1 and True, differ."""
    kind = type(value)
    if kind in _EXACT_KEY_CLASSES:
        return value
    if kind is tuple or kind is slice:
        parts = value if kind is tuple else (value.start, value.stop, value.step)
        for part in parts:  # the common case inlined: 0.15 us less
            if type(part) is not int and part is not None:
                return kind, *map(typed_key, parts)
        return parts if kind is tuple else (kind, parts)
    if kind is bool:
        return kind, value
    if isinstance(value, DType):
        return value
    raise FastPathMiss


def _snapshot_tables() -> list[DispatchTable]:
    """The current tables, as a list: other threads may add one meanwhile."""
    return list(DISPATCH_TABLES.values())


def clear_tables() -> None:
    """Clear all tables."""
    for table in _snapshot_tables():
        table.clear()


def insert_entry(table: DispatchTable, key: DispatchKey, entry: DispatchEntry) -> None:
    """Insert an entry; clears all tables first when they are full."""
    if sum(map(len, _snapshot_tables())) >= MAX_ENTRIES:
        clear_tables()
    table[key] = entry


def build_entry(
    row: Op,
    operands: tuple[Any, ...],
    literals: Sequence[Literal],
    attributes: Mapping[str, Any],
    kernel: Kernel,
    result_type: Type,
) -> DispatchEntry:
    """Build the entry of an op that took the slow path, where its operands became `literals` and its result has the
    type `result_type`. Inserts the entry if all operands are concrete arrays or Python numbers."""
    pairs = zip(operands, literals, strict=True)
    types = tuple(operand._type if type(operand) is ConcreteArray else constant.type for operand, constant in pairs)
    is_sized = result_type.shape is not None and None not in result_type.shape
    sized_type, is_float = intern_type(result_type) if is_sized else None, result_type.dtype.kind == "f"
    entry = DispatchEntry(row.name, types, attributes, kernel, sized_type, is_float)
    if dynamic_size_count(row, attributes):  # whether it traps depends on values
        return entry
    try:
        converters = [operand_converter(*pair) for pair in zip(operands, types, strict=True)]
        entry.compute = guard_kernel(row, converters, entry)
        insert_entry(dispatch_table(row.name), dispatch_key(operands, attributes), entry)
    except FastPathMiss:
        pass
    return entry


def _exact_integer_range(dtype: DType) -> tuple[float, float]:
    """The range in which a dtype represents every integer exactly."""
    bound = 2.0 ** (dtype.limits.nmant + 1) if dtype.kind == "f" else 0.0
    return dtype.range if dtype.is_integer else (-bound, bound)


def operand_converter(operand: Any, type_: Type) -> Callable[[Any], Value] | None:
    """The function that converts operands of this class to a type, or None if they need no conversion. Raises
    FastPathMiss for NumPy operands."""
    kind, dtype = type(operand), type_.dtype
    if kind in (ConcreteArray, bool) or (kind is float and dtype is dtypes.float64):
        return None
    if kind not in (int, float):
        raise FastPathMiss
    if kind is float:
        high = float(dtype.limits.max)
        low = -high
    else:
        low, high = _exact_integer_range(dtype)
    constructor: Callable[[Any], Value] = (
        float
        if dtype is dtypes.float64
        else int
        if dtype is dtypes.int64
        else partial(narrow_value, dtype=dtype)
        if dtype in dtypes.FLOAT_FORMATS
        else dtype.numpy.type
    )

    def convert(number: Any) -> Any:
        if low <= number <= high:
            return constructor(number)
        raise FastPathMiss

    return convert


def guard_kernel(
    row: Op, converters: Sequence[Callable[[Any], Value] | None], entry: DispatchEntry
) -> Callable[..., Value]:
    """A kernel that converts its operands, and raises FastPathMiss where the op would trap."""
    kernel, trap_condition, attributes = entry.compute, row.trap_condition, entry.attributes
    traps = (
        trap_condition.predicate
        if trap_condition and entry.types[-1].dtype.kind in trap_condition.dtype_kinds
        else None
    )
    if traps is None:
        return compose_casts(converters, kernel)

    def run(*operands: Any) -> Value:
        values = [
            operand if convert is None else convert(operand)
            for operand, convert in zip(operands, converters, strict=True)
        ]
        if np.any(traps(*map(widen_array, values), **attributes)):
            raise FastPathMiss
        return kernel(*values)

    return run


_new_array = ConcreteArray.__new__


_tape_stack = TAPE_STACK.get


def wrap_and_record(entry: DispatchEntry, operands: tuple[Any, ...], value: Value) -> ConcreteArray:
    """Wrap a value that an op computed eagerly as an array, and record the op on active tapes and for
    `cache_single_op`."""
    result, applied_ops = _new_array(ConcreteArray), APPLIED_OPS.get()
    result._value, result._type = value, entry.result_type or intern_type(type_of(value))
    if entry.is_float and _tape_stack():
        record_eager_op(entry, operands, result)
    if applied_ops is not None:
        applied_ops.append((entry, operands, result))
    return result


def try_fast_path(op: str, operands: tuple[Any, ...], attributes: Mapping[str, Any]) -> ConcreteArray | None:
    """The result of an op from its dispatch table; None where the op must take the slow path."""
    try:
        table = DISPATCH_TABLES.get(op)
        entry = None if table is None else table.get(dispatch_key(operands, attributes))
        if entry is None or current_region() is not None:
            return None
        value = entry.compute(*[operand._value if type(operand) is ConcreteArray else operand for operand in operands])
    except Exception:  # the slow path reports the error
        return None
    return wrap_and_record(entry, operands, value)
