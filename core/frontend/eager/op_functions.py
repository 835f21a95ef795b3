"""The functions of ops: derived from the rows of the registry, with a fast path through the dispatch tables.

A row gives its function the signature, the documentation and the behaviour; the column `namespace` names its module.
Functions of the standard that apply several ops, or that convert their arguments, are written by hand in `array_api`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from ...ops import __all__ as _families
from ...ops.op import OPS, Op
from ...types import intern_type, type_of
from ..trace.program_builder import current_region
from ..trace.symbol import BITWISE_OPS, OPERATOR_METHODS, ArrayOperators
from .apply import apply
from .array import ConcreteArray
from .dispatch import APPLIED_OPS, DispatchEntry, DispatchKey, DispatchTable, dispatch_table, insert_entry, typed_key
from .recording import TAPE_STACK, record_eager_op

P = ParamSpec("P")
R = TypeVar("R")
_new_array = ConcreteArray.__new__
_tape_stack = TAPE_STACK.get
MISSING = object()
"""The default of an operand, marking that it was not passed."""


def op_function(op: str, arity: int | None) -> Callable[..., Any]:
    """The function, or operator method, of an op without attributes."""
    return {1: unary_function, 2: binary_function}.get(arity or 0, variadic_function)(op)


def variadic_function(op: str) -> Callable[..., Any]:
    """The function of an op with any number of operands, or more than two."""

    def call(*operands: Any) -> Any:
        return apply(op, *operands)

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
                    return apply(op, x)
                result = _new_array(ConcreteArray)
                result._value, result._type = value, entry.result_type or intern_type(type_of(value))
                if entry.is_float and _tape_stack():
                    record_eager_op(entry, (x,), result)
                return result
        return apply(op, *_drop_missing(x, *surplus))

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
                    return apply(op, x, y)
                result = _new_array(ConcreteArray)
                result._value, result._type = value, entry.result_type or intern_type(type_of(value))
                if entry.is_float and _tape_stack():
                    record_eager_op(entry, (x, y), result)
                return result
        return apply(op, *_drop_missing(x, y, *surplus))

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
                key = (id(x._type), *map(typed_key, arguments), tuple(keywords), *map(typed_key, keywords.values()))
            elif not arguments:  # the common cases inlined: 0.2 us less
                key = id(x._type)
            elif len(arguments) == 1:
                key = id(x._type), typed_key(arguments[0])
            else:
                key = (id(x._type), *map(typed_key, arguments))
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
    token = APPLIED_OPS.set(applied_ops)
    try:
        result = function(*arguments, **keywords)
    finally:
        APPLIED_OPS.reset(token)
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
        return apply(row.name, *operands, **attributes)

    return cache_single_op(call) if row.arity == 1 else call


def document(*modules: ModuleType) -> None:
    """Copy the docstring of an op to the function of the same name in these modules, if that has none."""
    for module in modules:
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and name in OPS:
                function.__doc__ = function.__doc__ or OPS[name].doc
