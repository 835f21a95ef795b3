"""Dispatch: what is found out once of an op on operands of some types, so that it need not be asked again.

Owns the tables of that, one for each op, bounded together, and the short way of concrete arrays through them. What is
not there, or might be an error, goes the long way, `Operators.apply`, which checks all and says what is wrong: the
tables decide how long an op takes, and nothing else. A key has the types of arrays by identity, the classes of Python's
numbers, and the attributes; of one array alone it is that identity.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...ops.cast import compose_casts
from ...ops.op import Kernel, Op
from ...types import Type, intern_type, type_of
from ...value import Literal, Value
from ..trace.operators import BITWISE_OPS, OPERATOR_METHODS, ArrayOperators
from ..trace.trace import current_region
from .array import ConcreteArray
from .recording import TAPE_STACK, record_eager_op

P = ParamSpec("P")
R = TypeVar("R")
DispatchKey: TypeAlias = "int | type | tuple[Any, ...]"
DispatchTable: TypeAlias = "dict[DispatchKey, DispatchEntry]"
MAX_ENTRIES = 4096
"""How many keys are kept; after that the tables begin anew."""


class FastPathMiss(Exception):
    """An op is to go the long way."""


@dataclass(slots=True, eq=False)
class DispatchEntry:
    """What is known of an op on operands of some types, with some attributes."""

    op: str
    types: tuple[Type, ...]
    """Those that the operands are taken for; kept, so that no other type gets the identity of one of an array."""
    attributes: Mapping[str, Any]
    compute: Callable[..., Value]
    """Makes the value; raises Doubt, or MemoryError, where only the long way knows."""
    result_type: Type | None
    """The type of the value, where values do not decide on it."""
    is_float: bool
    """Whether the value can have an adjoint."""


DISPATCH_TABLES: dict[object, DispatchTable] = {}
"""By op, or by function that turns out to be one op; they are emptied, and stay the same dicts."""
_APPLIED_OPS: ContextVar[list[tuple[DispatchEntry, tuple[Any, ...], ConcreteArray]] | None] = ContextVar(
    "applied", default=None
)
"""The ops that a function under `cache_single_op` has applied, if it is found out what it does."""


def dispatch_table(what: object) -> DispatchTable:
    """What is known of an op, or of a function."""
    return DISPATCH_TABLES.setdefault(what, {})


def dispatch_key(operands: Sequence[Any], attributes: Mapping[str, Any]) -> DispatchKey:
    """Under which key it stands what an op does; raises Doubt for attributes that nothing is known by."""
    kinds = [id(each._type) if type(each) is ConcreteArray else type(each) for each in operands]
    if attributes:
        return (*kinds, *attributes, *map(_typed_key, attributes.values()))
    return kinds[0] if len(kinds) == 1 else tuple(kinds)


_EXACT_KEY_CLASSES = frozenset({int, str, type(None), EllipsisType})


def _typed_key(value: Any) -> Any:
    """What is static as a part of a key: what is equal, but of another class, as 1 and True, is another."""
    kind = type(value)
    if kind in _EXACT_KEY_CLASSES:
        return value
    if kind is tuple or kind is slice:
        parts = value if kind is tuple else (value.start, value.stop, value.step)
        for each in parts:  # the usual ones are written out: 0.15 us less
            if type(each) is not int and each is not None:
                return kind, *map(_typed_key, parts)
        return parts if kind is tuple else (kind, parts)
    if kind is bool:
        return kind, value
    if isinstance(value, DType):
        return value
    raise FastPathMiss


def _snapshot_tables() -> list[DispatchTable]:
    """Those that there are now: other threads may use a new one."""
    return list(DISPATCH_TABLES.values())


def clear_tables() -> None:
    """Empty the tables."""
    for table in _snapshot_tables():
        table.clear()


def insert_entry(table: DispatchTable, key: DispatchKey, known: DispatchEntry) -> None:
    """Have it known under a key."""
    if sum(map(len, _snapshot_tables())) >= MAX_ENTRIES:
        clear_tables()
    table[key] = known


def build_entry(
    row: Op,
    operands: tuple[Any, ...],
    literals: Sequence[Literal],
    attributes: Mapping[str, Any],
    kernel: Kernel,
    made: Type,
) -> DispatchEntry:
    """What is known by now of an op that went the long way: its operands were taken for these literals, and this is the
    type of what it makes. It is kept where they are arrays and Python's numbers."""
    pairs = zip(operands, literals, strict=True)
    types = tuple(each._type if type(each) is ConcreteArray else taken.type for each, taken in pairs)
    is_sized = made.shape is not None and None not in made.shape
    known = DispatchEntry(
        row.name, types, attributes, kernel, intern_type(made) if is_sized else None, made.dtype.kind == "f"
    )
    try:
        makers = [_operand_converter(*pair) for pair in zip(operands, types, strict=True)]
        known.compute = _guard_kernel(row, makers, known)
        insert_entry(dispatch_table(row.name), dispatch_key(operands, attributes), known)
    except FastPathMiss:
        pass
    return known


def _exact_integer_range(dtype: DType) -> tuple[float, float]:
    """Between which numbers every integer is a number of a dtype."""
    most = 2.0 ** (np.finfo(dtype.numpy.name).nmant + 1) if dtype.kind == "f" else 0.0
    return dtype.range if dtype.is_integer else (-most, most)


def _operand_converter(operand: Any, type_: Type) -> Callable[[Any], Value] | None:
    """What makes an operand like this a value of this type; None where it is one. Raises Doubt for what is NumPy's."""
    kind, dtype = type(operand), type_.dtype
    if kind in (ConcreteArray, bool) or (kind is float and dtype is dtypes.float64):
        return None
    if kind not in (int, float):
        raise FastPathMiss
    if kind is float:
        high = float(np.finfo(np.float32).max)
        low = -high
    else:
        low, high = _exact_integer_range(dtype)
    make = float if dtype is dtypes.float64 else int if dtype is dtypes.int64 else dtype.numpy.type

    def convert(number: Any) -> Any:
        if low <= number <= high:
            return make(number)
        raise FastPathMiss

    return convert


def _guard_kernel(
    row: Op, makers: Sequence[Callable[[Any], Value] | None], known: DispatchEntry
) -> Callable[..., Value]:
    """A kernel that makes values of numbers, and stops before operands of which the op has no value."""
    kernel, undefined, attributes = known.compute, row.trap_condition, known.attributes
    when = undefined.predicate if undefined and known.types[-1].dtype.kind in undefined.dtype_kinds else None
    if when is None:
        return compose_casts(makers, kernel)

    def run(*given: Any) -> Value:
        values = [each if make is None else make(each) for each, make in zip(given, makers, strict=True)]
        if np.any(when(*values, **attributes)):
            raise FastPathMiss
        return kernel(*values)

    return run


_new_array = ConcreteArray.__new__


_tape_stack = TAPE_STACK.get


def wrap_and_record(known: DispatchEntry, operands: tuple[Any, ...], value: Value) -> ConcreteArray:
    """The array of a value that was computed outside of a trace, of which tapes under way are told, and a function
    under `cache_single_op`."""
    made, those = _new_array(ConcreteArray), _APPLIED_OPS.get()
    made._value, made._type = value, known.result_type or intern_type(type_of(value))
    if known.is_float and _tape_stack():
        record_eager_op(known, operands, made)
    if those is not None:
        those.append((known, operands, made))
    return made


def try_fast_path(op: str, operands: tuple[Any, ...], attributes: Mapping[str, Any]) -> ConcreteArray | None:
    """What an op gives that is known, on operands of these types; None where it has to go the long way."""
    try:
        table = DISPATCH_TABLES.get(op)
        known = None if table is None else table.get(dispatch_key(operands, attributes))
        if known is None or current_region() is not None:
            return None
        value = known.compute(*[each._value if type(each) is ConcreteArray else each for each in operands])
    except Exception:  # the long way tells what is wrong
        return None
    return wrap_and_record(known, operands, value)


MISSING = object()
"""What stands for an operand that was not given."""


def op_function(op: str, arity: int | None) -> Callable[..., Any]:
    """The function of an op that takes operands alone, or its operator."""
    return {1: _unary_function, 2: _binary_function}.get(arity or 0, _variadic_function)(op)


def _variadic_function(op: str) -> Callable[..., Any]:
    def call(*operands: Any) -> Any:
        return ArrayOperators.apply(op, *operands)

    return call


def _unary_function(op: str) -> Callable[..., Any]:
    """Written out, as the next one is: by way of `try_fast_path` an op takes 0.6 us longer."""
    find = dispatch_table(op).get

    def call(x: Any = MISSING, *more: Any) -> Any:
        if type(x) is ConcreteArray and not more:
            known = find(id(x._type))
            if known is not None and current_region() is None:
                try:
                    value = known.compute(x._value)
                except Exception:  # the long way tells what is wrong
                    return ArrayOperators.apply(op, x)
                made = _new_array(ConcreteArray)
                made._value, made._type = value, known.result_type or intern_type(type_of(value))
                if known.is_float and _tape_stack():
                    record_eager_op(known, (x,), made)
                return made
        return ArrayOperators.apply(op, *_drop_missing(x, *more))

    return call


def _binary_function(op: str) -> Callable[..., Any]:
    find = dispatch_table(op).get

    def call(x: Any = MISSING, y: Any = MISSING, *more: Any) -> Any:
        if not more:
            first, second = type(x), type(y)
            if first is ConcreteArray:
                known = find((id(x._type), id(y._type) if second is ConcreteArray else second))
            else:
                known = find((first, id(y._type))) if second is ConcreteArray else None
            if known is not None and current_region() is None:
                try:
                    value = known.compute(
                        x._value if first is ConcreteArray else x, y._value if second is ConcreteArray else y
                    )
                except Exception:  # the long way tells what is wrong
                    return ArrayOperators.apply(op, x, y)
                made = _new_array(ConcreteArray)
                made._value, made._type = value, known.result_type or intern_type(type_of(value))
                if known.is_float and _tape_stack():
                    record_eager_op(known, (x, y), made)
                return made
        return ArrayOperators.apply(op, *_drop_missing(x, y, *more))

    return call


def _drop_missing(*operands: Any) -> Sequence[Any]:
    return [each for each in operands if each is not MISSING]


def _swap_operands(call: Callable[..., Any]) -> Callable[..., Any]:
    def call_swapped(self: ConcreteArray, other: Any) -> Any:
        return call(other, self)

    return call_swapped


def _install_operators() -> None:
    """Concrete arrays have the operators of all, but those whose op depends on dtypes, by the short way."""
    for name, method in [*vars(ArrayOperators).items()]:
        if inspect.isfunction(method) and method in OPERATOR_METHODS and OPERATOR_METHODS[method][0] not in BITWISE_OPS:
            op, arity, is_swapped = OPERATOR_METHODS[method]
            call = op_function(op, arity)
            setattr(ConcreteArray, name, _swap_operands(call) if is_swapped else call)


_install_operators()


def cache_single_op(function: Callable[P, R]) -> Callable[P, R]:
    """A function of an array, and of what is static besides, that decides by types what it does. Where that turns out
    to be one op of the array, it is known from then on which."""

    long: Callable[..., Any] = function
    table = dispatch_table(function)
    find = table.get

    @functools.wraps(function)
    def call(x: Any = MISSING, /, *given: Any, **named: Any) -> Any:
        if type(x) is not ConcreteArray or current_region() is not None:
            return long(*_drop_missing(x, *given), **named)
        try:
            key: DispatchKey
            if named:
                key = (id(x._type), *map(_typed_key, given), tuple(named), *map(_typed_key, named.values()))
            elif not given:  # the usual ones are written out: 0.2 us less
                key = id(x._type)
            elif len(given) == 1:
                key = id(x._type), _typed_key(given[0])
            else:
                key = (id(x._type), *map(_typed_key, given))
            known = find(key)
            value: Any = known and known.compute(x._value)
        except Exception:  # the long way tells what is wrong
            return long(x, *given, **named)
        if known is None:
            return _call_and_cache(function, table, key, (x, *given), named)
        made = _new_array(ConcreteArray)
        made._value, made._type = value, known.result_type or intern_type(type_of(value))
        if known.is_float and _tape_stack():
            record_eager_op(known, (x,), made)
        return made

    return call


def _call_and_cache(
    function: Callable[..., Any],
    table: DispatchTable,
    key: DispatchKey,
    given: tuple[Any, ...],
    named: Mapping[str, Any],
) -> Any:
    """What a function gives; it is kept which op that is."""
    applied: list[tuple[DispatchEntry, tuple[Any, ...], ConcreteArray]] = []
    before = _APPLIED_OPS.set(applied)
    try:
        made = function(*given, **named)
    finally:
        _APPLIED_OPS.reset(before)
    for known, operands, result in applied:
        if result is made and len(operands) == 1 and operands[0] is given[0]:
            insert_entry(table, key, known)
    return made
