"""Dispatch: the functions of ops, and caches of their kernels and result types by operand types.

Each op has a dispatch table, and all tables have one common bound. Concrete arrays take a fast path through the tables.
A miss, or anything that might be an error, takes the slow path, `ArrayOperators.apply`, which checks everything and
reports errors: the tables affect speed only. A key has the types of arrays by identity, the classes of Python numbers,
and the attributes; the key of a single array is that identity alone.

This module also derives the functions of ops from the rows of the registry: signature, documentation and behaviour. The
column `namespace` of a row names the module of its function. Functions of the standard that apply several ops, or that
convert their arguments, are written by hand in `array_api`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import EllipsisType, ModuleType
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...ops import __all__ as _families
from ...ops.cast import compose_casts
from ...ops.op import OPS, Kernel, Op
from ...types import Type, intern_type, type_of
from ...value import Literal, Value
from ..trace.program_builder import current_region
from ..trace.symbol import BITWISE_OPS, OPERATOR_METHODS, ArrayOperators
from .array import ConcreteArray
from .recording import TAPE_STACK, record_eager_op

P = ParamSpec("P")
R = TypeVar("R")
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
_APPLIED_OPS: ContextVar[list[tuple[DispatchEntry, tuple[Any, ...], ConcreteArray]] | None] = ContextVar(
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
        return (*kinds, *attributes, *map(_typed_key, attributes.values()))
    return kinds[0] if len(kinds) == 1 else tuple(kinds)


_EXACT_KEY_CLASSES = frozenset({int, str, type(None), EllipsisType})


def _typed_key(value: Any) -> Any:
    """A static value as part of a key, where equal values of different classes, such as 1 and True, differ."""
    kind = type(value)
    if kind in _EXACT_KEY_CLASSES:
        return value
    if kind is tuple or kind is slice:
        parts = value if kind is tuple else (value.start, value.stop, value.step)
        for part in parts:  # the common case inlined: 0.15 us less
            if type(part) is not int and part is not None:
                return kind, *map(_typed_key, parts)
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
    try:
        converters = [operand_converter(*pair) for pair in zip(operands, types, strict=True)]
        entry.compute = guard_kernel(row, converters, entry)
        insert_entry(dispatch_table(row.name), dispatch_key(operands, attributes), entry)
    except FastPathMiss:
        pass
    return entry


def _exact_integer_range(dtype: DType) -> tuple[float, float]:
    """The range in which a dtype represents every integer exactly."""
    bound = 2.0 ** (np.finfo(dtype.numpy.name).nmant + 1) if dtype.kind == "f" else 0.0
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
        high = float(np.finfo(np.float32).max)
        low = -high
    else:
        low, high = _exact_integer_range(dtype)
    constructor = float if dtype is dtypes.float64 else int if dtype is dtypes.int64 else dtype.numpy.type

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
        if np.any(traps(*values, **attributes)):
            raise FastPathMiss
        return kernel(*values)

    return run


_new_array = ConcreteArray.__new__


_tape_stack = TAPE_STACK.get


def wrap_and_record(entry: DispatchEntry, operands: tuple[Any, ...], value: Value) -> ConcreteArray:
    """Wrap a value that an op computed eagerly as an array, and record the op on active tapes and for
    `cache_single_op`."""
    result, applied_ops = _new_array(ConcreteArray), _APPLIED_OPS.get()
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


MISSING = object()
"""The default of an operand, marking that it was not passed."""


def op_function(op: str, arity: int | None) -> Callable[..., Any]:
    """The function, or operator method, of an op without attributes."""
    return {1: unary_function, 2: binary_function}.get(arity or 0, variadic_function)(op)


def variadic_function(op: str) -> Callable[..., Any]:
    """The function of an op with any number of operands, or more than two."""

    def call(*operands: Any) -> Any:
        return ArrayOperators.apply(op, *operands)

    return call


def unary_function(op: str) -> Callable[..., Any]:
    """The function of an op with one operand. It inlines `try_fast_path`, which saves 0.6 us per op."""
    find_entry = dispatch_table(op).get

    def call(x: Any = MISSING, *surplus: Any) -> Any:
        if type(x) is ConcreteArray and not surplus:
            entry = find_entry(id(x._type))
            if entry is not None and current_region() is None:
                try:
                    value = entry.compute(x._value)
                except Exception:  # the slow path reports the error
                    return ArrayOperators.apply(op, x)
                result = _new_array(ConcreteArray)
                result._value, result._type = value, entry.result_type or intern_type(type_of(value))
                if entry.is_float and _tape_stack():
                    record_eager_op(entry, (x,), result)
                return result
        return ArrayOperators.apply(op, *_drop_missing(x, *surplus))

    return call


def binary_function(op: str) -> Callable[..., Any]:
    """The function of an op with two operands; inlines `try_fast_path`."""
    find_entry = dispatch_table(op).get

    def call(x: Any = MISSING, y: Any = MISSING, *surplus: Any) -> Any:
        if not surplus:
            x_class, y_class = type(x), type(y)
            if x_class is ConcreteArray:
                entry = find_entry((id(x._type), id(y._type) if y_class is ConcreteArray else y_class))
            else:
                entry = find_entry((x_class, id(y._type))) if y_class is ConcreteArray else None
            if entry is not None and current_region() is None:
                try:
                    value = entry.compute(
                        x._value if x_class is ConcreteArray else x, y._value if y_class is ConcreteArray else y
                    )
                except Exception:  # the slow path reports the error
                    return ArrayOperators.apply(op, x, y)
                result = _new_array(ConcreteArray)
                result._value, result._type = value, entry.result_type or intern_type(type_of(value))
                if entry.is_float and _tape_stack():
                    record_eager_op(entry, (x, y), result)
                return result
        return ArrayOperators.apply(op, *_drop_missing(x, y, *surplus))

    return call


def _drop_missing(*operands: Any) -> Sequence[Any]:
    return [operand for operand in operands if operand is not MISSING]


def _swap_operands(call: Callable[..., Any]) -> Callable[..., Any]:
    def call_swapped(self: ConcreteArray, other: Any) -> Any:
        return call(other, self)

    return call_swapped


def _install_operators() -> None:
    """Give concrete arrays operators with a fast path, except those whose op depends on the dtype."""
    for name, method in [*vars(ArrayOperators).items()]:
        if inspect.isfunction(method) and method in OPERATOR_METHODS and OPERATOR_METHODS[method][0] not in BITWISE_OPS:
            op, arity, is_swapped = OPERATOR_METHODS[method]
            call = op_function(op, arity)
            setattr(ConcreteArray, name, _swap_operands(call) if is_swapped else call)


_install_operators()


def cache_single_op(function: Callable[P, R]) -> Callable[P, R]:
    """Cache a function of an array and static arguments. The function must decide by types alone which ops it applies;
    where it applies a single op to the array and returns its result, later calls go through the dispatch table."""

    slow_path: Callable[..., Any] = function
    table = dispatch_table(function)
    find_entry = table.get

    @functools.wraps(function)
    def call(x: Any = MISSING, /, *arguments: Any, **keywords: Any) -> Any:
        if type(x) is not ConcreteArray or current_region() is not None:
            return slow_path(*_drop_missing(x, *arguments), **keywords)
        try:
            key: DispatchKey
            if keywords:
                key = (id(x._type), *map(_typed_key, arguments), tuple(keywords), *map(_typed_key, keywords.values()))
            elif not arguments:  # the common cases inlined: 0.2 us less
                key = id(x._type)
            elif len(arguments) == 1:
                key = id(x._type), _typed_key(arguments[0])
            else:
                key = (id(x._type), *map(_typed_key, arguments))
            entry = find_entry(key)
            value: Any = entry and entry.compute(x._value)
        except Exception:  # the slow path reports the error
            return slow_path(x, *arguments, **keywords)
        if entry is None:
            return _call_and_cache(function, table, key, (x, *arguments), keywords)
        result = _new_array(ConcreteArray)
        result._value, result._type = value, entry.result_type or intern_type(type_of(value))
        if entry.is_float and _tape_stack():
            record_eager_op(entry, (x,), result)
        return result

    return call


def _call_and_cache(
    function: Callable[..., Any],
    table: DispatchTable,
    key: DispatchKey,
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
) -> Any:
    """Call a function, and cache the op that computed its result from the first argument alone, if there is one."""
    applied_ops: list[tuple[DispatchEntry, tuple[Any, ...], ConcreteArray]] = []
    token = _APPLIED_OPS.set(applied_ops)
    try:
        result = function(*arguments, **keywords)
    finally:
        _APPLIED_OPS.reset(token)
    for entry, operands, array in applied_ops:
        if array is result and len(operands) == 1 and operands[0] is arguments[0]:
            insert_entry(table, key, entry)
    return result


assert _families, "importing the families declares the ops"
_OPERAND_NAMES = ("x", "y", "z", "w")
_MODULES = {"tagloom": "tagloom.core.frontend.functions", "linalg": "tagloom.core.frontend.array_api.linalg"}
"""The module of the functions in each namespace."""


def derive_functions(namespace: str) -> dict[str, Callable[..., Any]]:
    """The functions of all ops in a namespace, by name."""
    return {row.name: derive_function(row, namespace) for row in OPS.values() if row.namespace == namespace}


def derive_function(row: Op, namespace: str) -> Callable[..., Any]:
    """The function of an op, with the row's signature and docstring."""
    signature = op_signature(row)
    function = function_with_attributes(row, signature) if row.attributes else op_function(row.name, row.arity)
    function.__module__, function.__name__, function.__qualname__ = _MODULES[namespace], row.name, row.name
    function.__doc__ = row.doc
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def op_signature(row: Op) -> inspect.Signature:
    """The signature: positional-only operands, attributes without a default, keyword-only attributes with one."""
    operand, keyword = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, operand) for name in _OPERAND_NAMES[: row.arity or 0]]
    if row.arity is None:
        parameters = [inspect.Parameter("operands", inspect.Parameter.VAR_POSITIONAL)]
    for name in row.attributes:
        if name in row.attribute_defaults:
            parameters.append(inspect.Parameter(name, keyword, default=row.attribute_defaults[name]))
        else:
            parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD))
    return inspect.Signature(parameters)


def function_with_attributes(row: Op, signature: inspect.Signature) -> Callable[..., Any]:
    """The function of an op with attributes, which binds its arguments by the signature."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        binding = signature.bind(*arguments, **keywords)
        binding.apply_defaults()
        attributes = {name: binding.arguments[name] for name in row.attributes}
        operands = [argument for name, argument in binding.arguments.items() if name not in attributes]
        return ArrayOperators.apply(row.name, *operands, **attributes)

    return cache_single_op(call) if row.arity == 1 else call


def document(*modules: ModuleType) -> None:
    """Copy the docstring of an op to the function of the same name in these modules, if that has none."""
    for module in modules:
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and name in OPS:
                function.__doc__ = function.__doc__ or OPS[name].doc
