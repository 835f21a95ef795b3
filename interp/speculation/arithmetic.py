"""Arithmetic: what Python's operators and builtins do with numbers, as ops of a program.

Only what is exact is here. An int has at most 62 bits, which each operation asserts; a division by zero, or a power
that Python computes otherwise, is asserted or refused. Operators with an array on one side are those of eager arrays.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...core import dtypes
from ...core.frontend.trace.symbol import ArrayOperators, array_namespace
from .layouts import (
    MAX_INTEGER,
    NUMBER_CLASSES,
    ArrayLayout,
    ConstantLayout,
    NotSpeculable,
    NumberLayout,
    TupleLayout,
    number_kind,
)
from .staging import StagedValue, Staging

SPECIAL_METHODS = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "truediv",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "Pow": "pow",
    "MatMult": "matmul",
    "BitAnd": "and",
    "BitOr": "or",
    "BitXor": "xor",
    "LShift": "lshift",
    "RShift": "rshift",
}
"""The names of the special methods of operators, without `__`."""
EXACT_INTEGER = 2**53
"""Integers up to this size are floats."""
_PYTHON: dict[str, Callable[..., Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "MatMult": operator.matmul,
    "USub": operator.neg,
    "UAdd": operator.pos,
    "Invert": operator.invert,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
}
_OPS = {"Add": "add", "Sub": "subtract", "Mult": "multiply", "FloorDiv": "floor_divide", "Mod": "remainder"}
_BITS = {"BitAnd": "and", "BitOr": "or", "BitXor": "xor"}
_COMPARISONS = {
    "Lt": "less",
    "LtE": "less_equal",
    "Gt": "greater",
    "GtE": "greater_equal",
    "Eq": "equal",
    "NotEq": "not_equal",
}
_ARRAY_OPS = {
    **_OPS,
    **_COMPARISONS,
    "Div": "divide",
    "Pow": "pow",
    "MatMult": "matmul",
    "BitAnd": "logical_and",
    "BitOr": "logical_or",
    "BitXor": "logical_xor",
    "USub": "negative",
    "UAdd": "positive",
    "Invert": "logical_not",
}
"""What an operator does with eager arrays: the op, before the dtype of the array decides."""
MAX_POWER = 64
"""The largest exponent of a power of an int that is computed by products."""


def as_kind(staging: Staging, value: StagedValue, kind: str) -> Any:
    """The value of a number as one of a kind that is not lower: a Python number, or a symbol."""
    leaf, own = staging.leaf_of(value), number_kind(value.layout)
    if own == kind:
        return leaf
    if isinstance(value.layout, ConstantLayout):
        return {"b": bool, "i": int, "f": float}[kind](leaf)
    return staging.emit("astype", leaf, dtype=dtypes.float64 if kind == "f" else dtypes.int64)


def binary(staging: Staging, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
    """A binary operator; `name` is that of its syntax. Raises NotSpeculable where it has no exact meaning."""
    layouts = one.layout, other.layout
    if any(isinstance(each, ArrayLayout) for each in layouts):
        return _on_arrays(staging, name, one, other)
    kinds = [number_kind(each) for each in layouts]
    if all(isinstance(each, ConstantLayout) for each in layouts):
        return _fold(staging, name, [one, other], node)
    if None in kinds:
        raise NotSpeculable(f"`{name}` of {layouts[0]} and {layouts[1]} has no graph")
    emit = staging.emit
    if name in _BITS:
        if "f" in kinds:
            raise NotSpeculable(f"`{name}` of floats")
        if kinds == ["b", "b"]:
            leaves = (staging.leaf_of(one), staging.leaf_of(other))
            return staging.number("b", emit(f"logical_{_BITS[name]}", *leaves))
        operands = (as_kind(staging, one, "i"), as_kind(staging, other, "i"))
        return staging.integer(emit(f"bitwise_{_BITS[name]}", *operands), node)
    if name in ("LShift", "RShift", "MatMult"):
        raise NotSpeculable(f"`{name}` of numbers has no graph")
    kind = "f" if "f" in kinds else "i"
    if name == "Pow":
        return _power(staging, one, other, kind, node)
    operands = (as_kind(staging, one, kind), as_kind(staging, other, kind))
    if name in ("Div", "FloorDiv", "Mod"):
        if kind == "f" and name != "Div":
            raise NotSpeculable(f"`{name}` of floats has no exact graph")
        is_known = isinstance(other.layout, ConstantLayout)
        is_not_zero = bool(other.layout.value) if is_known else emit("not_equal", operands[1], 0)  # type: ignore[union-attr]
        staging.check(is_not_zero, node, "the divisor is not 0", "Python raises ZeroDivisionError where it is")
        if name == "Div":
            if kind == "i":
                for each in (one, other):
                    if isinstance(each.layout, NumberLayout) and each.layout.kind == "i":
                        _check_exact(staging, each, node)
                operands = (as_kind(staging, one, "f"), as_kind(staging, other, "f"))
            return staging.number("f", emit("divide", *operands))
        divisor = operands[1] if is_known else emit("where", is_not_zero, operands[1], 1)
        return staging.number("i", emit(_OPS[name], operands[0], divisor))
    if kind == "f":
        return staging.number("f", emit(_OPS[name], *operands))
    if name == "Mult":
        floats = [
            float(each) if isinstance(each, int) else emit("astype", each, dtype=dtypes.float64) for each in operands
        ]
        product = emit("multiply", *floats)
        within = emit("less", emit("abs", product), float(MAX_INTEGER))
        staging.check(within, node, "the integer has at most 62 bits", "an int of Python has no bound")
        return staging.number("i", emit("multiply", *operands))
    return staging.integer(emit(_OPS[name], *operands), node)


def _check_exact(staging: Staging, value: StagedValue, node: ast.AST) -> None:
    within = staging.emit("less_equal", staging.emit("abs", value.leaves[0]), EXACT_INTEGER)
    staging.check(within, node, "the int is exact as a float", "Python compares and divides ints exactly")


def _power(staging: Staging, one: StagedValue, other: StagedValue, kind: str, node: ast.AST) -> StagedValue:
    exponent = other.layout.value if isinstance(other.layout, ConstantLayout) else None
    if kind != "i" or type(exponent) is not int or not 0 <= exponent <= MAX_POWER:
        raise NotSpeculable("a power other than of an int, by a small constant, has no exact graph")
    if exponent == 0:
        return staging.constant(1)
    result = base = staging.number("i", as_kind(staging, one, "i"))
    for _ in range(exponent - 1):
        result = binary(staging, "Mult", result, base, node)
    return result


def _fold(staging: Staging, name: str, values: list[StagedValue], node: ast.AST) -> StagedValue:
    """The result of an operator on constants."""
    constants = [value.layout.value for value in values]  # type: ignore[union-attr]
    if any(type(each) not in (*NUMBER_CLASSES, str) for each in constants):
        raise NotSpeculable(f"`{name}` of {', '.join(type(each).__name__ for each in constants)} has no graph")
    if name in ("Pow", "LShift", "RShift") and not all(
        abs(each) <= MAX_POWER for each in constants if type(each) is int
    ):
        raise NotSpeculable(f"`{name}` of large constants")
    if name not in _PYTHON:
        raise NotSpeculable(f"`{name}` of constants")
    try:
        result = _PYTHON[name](*constants)
    except Exception as error:
        staging.check(False, node, "it raises nothing", f"Python raises {type(error).__name__}")
        raise NotSpeculable(str(error)) from None
    if type(result) is int and abs(result) >= MAX_INTEGER:
        raise NotSpeculable(f"{ast.unparse(node)} has more than 62 bits")
    if type(result) not in (*NUMBER_CLASSES, str):
        raise NotSpeculable(f"{ast.unparse(node)} is a {type(result).__name__}")
    return staging.constant(result)


def _on_arrays(staging: Staging, name: str, *values: StagedValue) -> StagedValue:
    """An operator of eager arrays. The operators of symbols would be wrong: they take a scalar for a Python number,
    which has another promotion."""
    if name not in _ARRAY_OPS:
        raise NotSpeculable(f"`{name}` of arrays has no graph")
    operands = [_operand(staging, value, values) for value in values]
    array = next(each for each in operands if isinstance(each, ArrayOperators))
    function = getattr(array_namespace(), array.resolve_op(_ARRAY_OPS[name]))
    return staging.wrap_array(staging.located(lambda: function(*operands)))


def _operand(staging: Staging, value: StagedValue, values: Sequence[StagedValue]) -> Any:
    """An operand beside an array. A number that is computed takes the dtype of the array, where that is exact."""
    array_dtypes = {each.layout.type.dtype for each in values if isinstance(each.layout, ArrayLayout)}
    kind = value.layout.kind if isinstance(value.layout, NumberLayout) else ""
    if array_dtypes == {dtypes.float64} and kind in ("i", "f"):
        return as_kind(staging, value, "f")
    if array_dtypes == {dtypes.int64} and kind == "i":
        return value.leaves[0]
    return staging.array_operand(value)


def unary(staging: Staging, name: str, value: StagedValue, node: ast.AST) -> StagedValue:
    """A unary operator but `not`."""
    kind = number_kind(value.layout)
    if isinstance(value.layout, ArrayLayout):
        return _on_arrays(staging, name, value)
    if isinstance(value.layout, ConstantLayout):
        return _fold(staging, name, [value], node)
    if kind is None or (name == "Invert" and kind == "f"):
        raise NotSpeculable(f"`{name}` of a {value.layout} has no graph")
    if kind == "f":
        return value if name == "UAdd" else staging.number("f", staging.emit("negative", value.leaves[0]))
    leaf = as_kind(staging, value, "i")
    if name == "UAdd":
        return staging.number("i", leaf)
    if name == "USub":
        return staging.number("i", staging.emit("negative", leaf))
    return staging.integer(staging.emit("bitwise_invert", leaf), node)


def compare(staging: Staging, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
    """A comparison of numbers, or with an array."""
    layouts = one.layout, other.layout
    if any(isinstance(each, ArrayLayout) for each in layouts):
        return _on_arrays(staging, name, one, other)
    if all(isinstance(each, ConstantLayout) for each in layouts):
        return _fold(staging, name, [one, other], node)
    kinds = [number_kind(each) or "" for each in layouts]
    kind = "f" if "f" in kinds else "i" if "i" in kinds else "b"
    if kind == "f":
        for each in (one, other):
            if isinstance(each.layout, NumberLayout) and each.layout.kind == "i":
                _check_exact(staging, each, node)
            elif number_kind(each.layout) == "i" and abs(each.layout.value) > EXACT_INTEGER:  # type: ignore[union-attr]
                raise NotSpeculable("a large int is compared with a float")
    if kind == "b":
        kind = "i"
    operands = [as_kind(staging, each, kind) for each in (one, other)]
    return staging.number("b", staging.emit(_COMPARISONS[name], *operands))


def _abs(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
    (value,) = values
    kind = number_kind(value.layout)
    if isinstance(value.layout, ConstantLayout) and kind is not None:
        return staging.constant(abs(value.layout.value))
    if kind is None:
        raise NotSpeculable(f"abs() of a {value.layout} has no graph")
    kind = "i" if kind == "b" else kind
    return staging.number(kind, staging.emit("abs", as_kind(staging, value, kind)))


def _extremum(comparison: str) -> Callable[..., StagedValue]:
    """`min` or `max` of arguments: a later one wins only if it is smaller, or larger."""

    def choose(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
        if len(values) < 2 or any(number_kind(value.layout) is None for value in values):
            raise NotSpeculable("min() and max() take two numbers or more in a graph")
        best = values[0]
        for value in values[1:]:

            def go_on(best: StagedValue, value: StagedValue = value) -> StagedValue:
                wins = staging.truth(compare(staging, comparison, value, best, node), node)
                return staging.branch(wins, lambda: value, lambda: best)

            best = staging.dispatch(best, go_on)
        return best

    return choose


def _convert(kind: str) -> Callable[..., StagedValue]:
    """`int`, `float` or `bool` of a number."""

    def convert(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
        if len(values) != 1:
            raise NotSpeculable("a conversion takes one argument in a graph")
        (value,) = values
        if kind == "b":
            truth = staging.truth(value, node)
            return staging.constant(truth) if isinstance(truth, bool) else staging.number("b", truth)
        if isinstance(value.layout, ArrayLayout) and value.layout.type.is_scalar:
            if value.layout.type.dtype.kind != kind:
                raise NotSpeculable(f"a conversion of a {value.layout} has no graph")
            dtype = dtypes.float64 if kind == "f" else dtypes.int64
            leaf = staging.emit("astype", value.leaves[0], dtype=dtype)
            return staging.number("f", leaf) if kind == "f" else staging.integer(leaf, node)
        own = number_kind(value.layout)
        if own is None:
            raise NotSpeculable(f"a conversion of a {value.layout} has no graph")
        if kind == "i" and own == "f":
            if isinstance(value.layout, ConstantLayout):
                raise NotSpeculable("int() of a constant float")
            leaf = value.leaves[0]
            within = staging.emit("less", staging.emit("abs", leaf), float(MAX_INTEGER))
            staging.check(within, node, "the integer has at most 62 bits", "an int of Python has no bound")
            safe = staging.emit("where", within, leaf, 0.0)
            return staging.number("i", staging.emit("astype", staging.emit("trunc", safe), dtype=dtypes.int64))
        leaf = as_kind(staging, value, kind)
        return staging.constant(leaf) if isinstance(value.layout, ConstantLayout) else staging.number(kind, leaf)

    return convert


def _length(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
    (value,) = values
    if isinstance(value.layout, TupleLayout):
        return staging.constant(len(value.layout.items))
    raise NotSpeculable(f"len() of a {value.layout} has no graph")


def _square_root(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
    if len(values) != 1 or number_kind(values[0].layout) is None:
        raise NotSpeculable("math.sqrt() takes a number in a graph")
    (value,) = values
    if isinstance(value.layout, NumberLayout) and value.layout.kind == "i":
        _check_exact(staging, value, node)
    operand = as_kind(staging, value, "f")
    is_valid = staging.emit("logical_not", staging.emit("less", operand, 0.0))
    staging.check(is_valid, node, "it is not negative", "Python raises ValueError where it is")
    return staging.number("f", staging.emit("sqrt", operand))


BUILTINS: dict[Any, Callable[..., StagedValue]] = {
    abs: _abs,
    min: _extremum("Lt"),
    max: _extremum("Gt"),
    int: _convert("i"),
    float: _convert("f"),
    bool: _convert("b"),
    len: _length,
    math.sqrt: _square_root,
}
"""The builtins that a graph may call, each with what it does with numbers and objects."""
