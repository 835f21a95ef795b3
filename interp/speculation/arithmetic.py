"""Arithmetic: Python's operators and builtins on numbers, as ops of a program.

Only exact operations have a graph. An int has at most 62 bits, which each operation asserts; a division by zero, or a
power that Python computes differently, is asserted or refused. Operators with an array operand are those of eager
arrays.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...core import dtypes
from ...core.errors import describe_class, with_article
from ...core.frontend.trace.symbol import ArrayOperators, array_namespace
from .layouts import (
    MAX_INTEGER,
    NUMBER_CLASSES,
    ArrayLayout,
    ConstantLayout,
    NotSpeculable,
    NumberLayout,
    NumpyLayout,
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
"""All integers up to this size are exact as floats."""
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
"""The op of each operator with eager arrays, before the dtype of the array decides between ops."""
MAX_POWER = 64
"""The largest exponent of a power of an int that is computed by products."""


def as_kind(staging: Staging, value: StagedValue, kind: str) -> Any:
    """A number converted to its own kind or a higher one: a Python number or a symbol."""
    leaf, own_kind = staging.leaf_of(value), number_kind(value.layout)
    if own_kind == kind:
        return leaf
    if isinstance(value.layout, ConstantLayout):
        return {"b": bool, "i": int, "f": float}[kind](leaf)
    return staging.emit("astype", leaf, dtype=dtypes.float64 if kind == "f" else dtypes.int64)


def binary(staging: Staging, name: str, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
    """A binary operator; `name` is the class name of its syntax, such as `Add`. Raises NotSpeculable if it has no exact
    meaning."""
    layouts = left.layout, right.layout
    if any(isinstance(layout, ArrayLayout) for layout in layouts):
        return _on_arrays(staging, name, left, right)
    kinds = [number_kind(layout) for layout in layouts]
    if all(isinstance(layout, ConstantLayout) for layout in layouts):
        return _fold(staging, name, [left, right], node)
    if None in kinds:
        raise NotSpeculable(f"`{name}` of {layouts[0]} and {layouts[1]} has no graph")
    if name in _BITS:
        return _bitwise(staging, name, left, right, node)
    if name in ("LShift", "RShift", "MatMult"):
        raise NotSpeculable(f"`{name}` of numbers has no graph")
    kind = "f" if "f" in kinds else "i"
    if name == "Pow":
        return _power(staging, left, right, kind, node)
    if name in ("Div", "FloorDiv", "Mod"):
        return _divide(staging, name, left, right, kind, node)
    operands = (as_kind(staging, left, kind), as_kind(staging, right, kind))
    if kind == "f":
        return staging.number("f", staging.emit(_OPS[name], *operands))
    if name == "Mult":
        return _multiply_integers(staging, operands, node)
    return staging.integer(staging.emit(_OPS[name], *operands), node)


def _bitwise(staging: Staging, name: str, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
    kinds = [number_kind(left.layout), number_kind(right.layout)]
    if "f" in kinds:
        raise NotSpeculable(f"`{name}` of floats")
    if kinds == ["b", "b"]:
        leaves = (staging.leaf_of(left), staging.leaf_of(right))
        return staging.number("b", staging.emit(f"logical_{_BITS[name]}", *leaves))
    operands = (as_kind(staging, left, "i"), as_kind(staging, right, "i"))
    return staging.integer(staging.emit(f"bitwise_{_BITS[name]}", *operands), node)


def _divide(
    staging: Staging, name: str, left: StagedValue, right: StagedValue, kind: str, node: ast.AST
) -> StagedValue:
    """`/`, `//` or `%` of numbers of a kind. The divisor is asserted not to be 0."""
    dividend, divisor = as_kind(staging, left, kind), as_kind(staging, right, kind)
    is_known = isinstance(right.layout, ConstantLayout)
    is_not_zero = bool(right.layout.value) if is_known else staging.emit("not_equal", divisor, 0)  # type: ignore[union-attr]
    reason = "Python raises ZeroDivisionError where it is"
    staging.check(is_not_zero, node, "the divisor is not 0", reason, raises=ZeroDivisionError)
    if name != "Div":
        if kind == "i" and not is_known:  # the op traps, before the assertion is seen
            divisor = staging.emit("where", is_not_zero, divisor, 1)
        return staging.number(kind, staging.emit(_OPS[name], dividend, divisor))
    if kind == "i":
        _check_exact(staging, left, node)
        _check_exact(staging, right, node)
        dividend, divisor = as_kind(staging, left, "f"), as_kind(staging, right, "f")
    return staging.number("f", staging.emit("divide", dividend, divisor))


def _multiply_integers(staging: Staging, operands: Sequence[Any], node: ast.AST) -> StagedValue:
    """The product of ints. It may wrap, so a product of floats says whether it has at most 62 bits."""
    floats = [
        float(operand) if isinstance(operand, int) else staging.emit("astype", operand, dtype=dtypes.float64)
        for operand in operands
    ]
    is_within = staging.emit("less", staging.emit("abs", staging.emit("multiply", *floats)), float(MAX_INTEGER))
    staging.check(is_within, node, "the integer has at most 62 bits", "an int of Python has no bound")
    return staging.number("i", staging.emit("multiply", *operands))


def _check_exact(staging: Staging, value: StagedValue, node: ast.AST) -> None:
    """Assert that a computed int is exact as a float; other numbers need no assertion."""
    if value.layout == NumberLayout("i"):
        is_exact = staging.emit("less_equal", staging.emit("abs", value.leaves[0]), EXACT_INTEGER)
        staging.check(is_exact, node, "the int is exact as a float", "Python compares and divides ints exactly")


def _power(staging: Staging, left: StagedValue, right: StagedValue, kind: str, node: ast.AST) -> StagedValue:
    exponent = right.layout.value if isinstance(right.layout, ConstantLayout) else None
    if kind == "f":
        return _power_of_floats(staging, as_kind(staging, left, "f"), as_kind(staging, right, "f"), exponent, node)
    if kind != "i" or type(exponent) is not int or not 0 <= exponent <= MAX_POWER:
        raise NotSpeculable("a power of an int by another exponent than a small constant has no exact graph")
    if exponent == 0:
        return staging.constant(1)
    result = base = staging.number("i", as_kind(staging, left, "i"))
    for _ in range(exponent - 1):
        result = binary(staging, "Mult", result, base, node)
    return result


def _power_of_floats(staging: Staging, base: Any, power: Any, exponent: Any, node: ast.AST) -> StagedValue:
    """A power of floats, which all engines compute by the function of the C library that Python calls, too."""
    is_positive = exponent is not None and exponent > 0
    if not is_positive or not float(exponent).is_integer():
        is_base = staging.emit("greater_equal" if is_positive else "greater", base, 0.0)
        reason = "Python returns a complex number, or raises ZeroDivisionError, where it is not"
        staging.check(is_base, node, "the base of the power is positive", reason)
    result = staging.emit("pow", base, power)
    is_finite = staging.emit("less", staging.emit("abs", result), math.inf)
    staging.check(is_finite, node, "the power is finite", "Python raises OverflowError where it is not")
    return staging.number("f", result)


def _fold(staging: Staging, name: str, values: list[StagedValue], node: ast.AST) -> StagedValue:
    """The result of an operator on constants."""
    constants = [value.layout.value for value in values]  # type: ignore[union-attr]
    if any(type(constant) not in (*NUMBER_CLASSES, str) for constant in constants):
        raise NotSpeculable(f"`{name}` of {', '.join(type(constant).__name__ for constant in constants)} has no graph")
    if name in ("Pow", "LShift", "RShift") and not all(
        abs(constant) <= MAX_POWER for constant in constants if type(constant) is int
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
        raise NotSpeculable(f"{ast.unparse(node)} is {describe_class(result)}")
    return staging.constant(result)


def _on_arrays(staging: Staging, name: str, *values: StagedValue) -> StagedValue:
    """An operator of eager arrays. The operators of symbols would be wrong: to them a scalar is a Python number, which
    promotes differently."""
    if name not in _ARRAY_OPS:
        raise NotSpeculable(f"`{name}` of arrays has no graph")
    operands = [_operand(staging, value, values) for value in values]
    array = next(operand for operand in operands if isinstance(operand, ArrayOperators))
    function = getattr(array_namespace(), array.resolve_op(_ARRAY_OPS[name]))
    return staging.wrap_array(staging.located(lambda: function(*operands)))


def _operand(staging: Staging, value: StagedValue, values: Sequence[StagedValue]) -> Any:
    """An operand of an operator with an array. A computed number takes the dtype of the array if that is exact."""
    array_dtypes = {operand.layout.type.dtype for operand in values if isinstance(operand.layout, ArrayLayout)}
    kind = value.layout.kind if isinstance(value.layout, NumberLayout) else ""
    if array_dtypes == {dtypes.float64} and kind in ("i", "f"):
        return as_kind(staging, value, "f")
    if array_dtypes == {dtypes.int64} and kind == "i":
        return value.leaves[0]
    return staging.array_operand(value)


def unary(staging: Staging, name: str, value: StagedValue, node: ast.AST) -> StagedValue:
    """A unary operator other than `not`."""
    kind = number_kind(value.layout)
    if isinstance(value.layout, ArrayLayout):
        return _on_arrays(staging, name, value)
    if isinstance(value.layout, ConstantLayout):
        return _fold(staging, name, [value], node)
    if kind is None or (name == "Invert" and kind == "f"):
        raise NotSpeculable(f"`{name}` of {with_article(value.layout)} has no graph")
    if kind == "f":
        return value if name == "UAdd" else staging.number("f", staging.emit("negative", value.leaves[0]))
    leaf = as_kind(staging, value, "i")
    if name == "UAdd":
        return staging.number("i", leaf)
    if name == "USub":
        return staging.number("i", staging.emit("negative", leaf))
    return staging.integer(staging.emit("bitwise_invert", leaf), node)


def compare(staging: Staging, name: str, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
    """A comparison of numbers, or with an array."""
    layouts = left.layout, right.layout
    if any(isinstance(layout, ArrayLayout) for layout in layouts):
        return _on_arrays(staging, name, left, right)
    if all(isinstance(layout, ConstantLayout) for layout in layouts):
        return _fold(staging, name, [left, right], node)
    kinds = [number_kind(layout) or "" for layout in layouts]
    kind = "f" if "f" in kinds else "i" if "i" in kinds else "b"
    if kind == "f":
        for operand in (left, right):
            _check_exact(staging, operand, node)
            layout = operand.layout
            if isinstance(layout, ConstantLayout) and type(layout.value) is int and abs(layout.value) > EXACT_INTEGER:
                raise NotSpeculable("a large int is compared with a float")
    if kind == "b":
        kind = "i"
    operands = [as_kind(staging, operand, kind) for operand in (left, right)]
    return staging.number("b", staging.emit(_COMPARISONS[name], *operands))


def _abs(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
    (value,) = values
    kind = number_kind(value.layout)
    if isinstance(value.layout, ConstantLayout) and kind is not None:
        return staging.constant(abs(value.layout.value))
    if kind is None:
        raise NotSpeculable(f"abs() of {with_article(value.layout)} has no graph")
    kind = "i" if kind == "b" else kind
    return staging.number(kind, staging.emit("abs", as_kind(staging, value, kind)))


def _extremum(comparison: str) -> Callable[..., StagedValue]:
    """`min` or `max` of arguments: a later one wins only if it is smaller, or larger."""

    def choose(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
        if len(values) < 2 or any(number_kind(value.layout) is None for value in values):
            raise NotSpeculable("min() and max() take two numbers or more in a graph")
        best = values[0]
        for value in values[1:]:

            def choose_between(best: StagedValue, value: StagedValue = value) -> StagedValue:
                wins = staging.truth(compare(staging, comparison, value, best, node), node)
                return staging.branch(wins, lambda: value, lambda: best)

            best = staging.dispatch(best, choose_between)
        return best

    return choose


def _convert(kind: str) -> Callable[..., StagedValue]:
    """`int`, `float` or `bool` of a number."""

    def convert(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
        if not values:
            return staging.constant({"b": False, "i": 0, "f": 0.0}[kind])
        if len(values) != 1:
            raise NotSpeculable("a conversion takes one argument in a graph")
        (value,) = values
        if kind == "b":
            truth = staging.truth(value, node)
            return staging.constant(truth) if isinstance(truth, bool) else staging.number("b", truth)
        if isinstance(value.layout, ArrayLayout | NumpyLayout) and value.layout.type.is_scalar:
            return _number_of_array(staging, value, kind, node)
        own_kind = number_kind(value.layout)
        if own_kind is None:
            raise NotSpeculable(f"a conversion of {with_article(value.layout)} has no graph")
        if kind == "i" and own_kind == "f":
            return truncate(staging, value, node)
        leaf = as_kind(staging, value, kind)
        return staging.constant(leaf) if isinstance(value.layout, ConstantLayout) else staging.number(kind, leaf)

    return convert


def _number_of_array(staging: Staging, value: StagedValue, kind: str, node: ast.AST) -> StagedValue:
    """`int` or `float` of an array without axes, whose dtype is of that kind."""
    if value.layout.types[0].dtype.kind != kind:
        raise NotSpeculable(f"a conversion of {with_article(value.layout)} has no graph")
    leaf = staging.emit("astype", value.leaves[0], dtype=dtypes.float64 if kind == "f" else dtypes.int64)
    return staging.number("f", leaf) if kind == "f" else staging.integer(leaf, node)


def truncate(staging: Staging, value: StagedValue, node: ast.AST) -> StagedValue:
    """`int` of a float."""
    if isinstance(value.layout, ConstantLayout):
        if not abs(value.layout.value) < MAX_INTEGER:
            raise NotSpeculable(f"int() of {value.layout} has no graph")
        return staging.constant(int(value.layout.value))
    leaf = value.leaves[0]
    is_within = staging.emit("less", staging.emit("abs", leaf), float(MAX_INTEGER))
    staging.check(is_within, node, "the integer has at most 62 bits", "an int of Python has no bound")
    safe = staging.emit("where", is_within, leaf, 0.0)
    return staging.number("i", staging.emit("astype", staging.emit("trunc", safe), dtype=dtypes.int64))


def _round_to_int(op: str) -> Callable[..., StagedValue]:
    """`math.floor` or `math.ceil`."""

    def convert(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
        (value,) = values
        kind = number_kind(value.layout)
        if kind is None:
            raise NotSpeculable(f"this rounding of {with_article(value.layout)} has no graph")
        if kind != "f":
            return staging.number("i", as_kind(staging, value, "i"))
        if isinstance(value.layout, ConstantLayout):
            raise NotSpeculable(f"`{ast.unparse(node)}` of a constant has no graph")
        return truncate(staging, staging.number("f", staging.emit(op, as_kind(staging, value, "f"))), node)

    return convert


MAX_DIGITS = 15
"""The largest number of digits to which a graph rounds."""
MAX_HALVED = 2.0**51
"""Floats up to this size have a fraction of a half."""
_SPLITTER = 2.0**27 + 1.0


def _round(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
    """`round` of a number, to a constant number of digits: to the even neighbour where it is exactly between two.

    Python rounds the exact value of a float. The product with a power of ten has a rounding error, which is computed
    exactly (Dekker 1971) and decides where the product is a half.
    """
    value, kind = values[0], number_kind(values[0].layout)
    layout = values[1].layout if len(values) == 2 else ConstantLayout(None)
    digits = layout.value if isinstance(layout, ConstantLayout) else ()
    if kind is None or len(values) > 2 or not (digits is None or (type(digits) is int and 0 <= digits <= MAX_DIGITS)):
        raise NotSpeculable(f"`{ast.unparse(node)}` has no graph")
    if kind != "f":
        return staging.number("i", as_kind(staging, value, "i"))
    if isinstance(value.layout, ConstantLayout):
        raise NotSpeculable(f"`{ast.unparse(node)}` of a constant has no graph")
    number, scale = as_kind(staging, value, "f"), 10.0 ** (digits or 0)
    product = staging.emit("multiply", number, scale)
    is_within = staging.emit("less", staging.emit("abs", product), MAX_HALVED)
    staging.check(is_within, node, "the float has a fraction", "Python rounds others in another way")
    nearest = staging.emit("round", product)
    if digits is None:
        return truncate(staging, staging.number("f", nearest), node)
    split = staging.emit("multiply", number, _SPLITTER)
    high = staging.emit("subtract", split, staging.emit("subtract", split, number))
    low = staging.emit("subtract", number, high)
    scale_high = scale * _SPLITTER - (scale * _SPLITTER - scale)
    scale_low = scale - scale_high
    error = staging.emit("subtract", staging.emit("multiply", high, scale_high), product)
    error = staging.emit("add", error, staging.emit("multiply", high, scale_low))
    error = staging.emit("add", error, staging.emit("multiply", low, scale_high))
    error = staging.emit("add", error, staging.emit("multiply", low, scale_low))
    distance = staging.emit("subtract", product, nearest)
    is_up = staging.emit("logical_and", staging.emit("equal", distance, 0.5), staging.emit("greater", error, 0.0))
    is_down = staging.emit("logical_and", staging.emit("equal", distance, -0.5), staging.emit("less", error, 0.0))
    nearest = staging.emit("where", is_up, staging.emit("add", nearest, 1.0), nearest)
    nearest = staging.emit("where", is_down, staging.emit("subtract", nearest, 1.0), nearest)
    return staging.number("f", staging.emit("divide", nearest, scale))


def _length(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
    (value,) = values
    if isinstance(value.layout, TupleLayout):
        return staging.constant(len(value.layout.items))
    if isinstance(value.layout, ConstantLayout) and type(value.layout.value) in (str, tuple):
        return staging.constant(len(value.layout.value))
    raise NotSpeculable(f"len() of {with_article(value.layout)} has no graph")


def _square_root(staging: Staging, values: list[StagedValue], node: ast.AST) -> StagedValue:
    if len(values) != 1 or number_kind(values[0].layout) is None:
        raise NotSpeculable("math.sqrt() takes a number in a graph")
    (value,) = values
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
    math.floor: _round_to_int("floor"),
    math.ceil: _round_to_int("ceil"),
    round: _round,
}
"""The builtins that a graph may call, each with its implementation for numbers and objects."""
