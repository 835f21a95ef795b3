"""The operations of expressions on values: comparison, arithmetic, truth, formatting. They raise nothing, for any
values.

Numbers compare with numbers, truth values with truth values, texts with texts, and other values by == and != with other
values; a comparison of different kinds is false, even `!=`. Scalars are computed exactly, whatever their dtype. Arrays
compare element by element: the comparison must hold for all elements, and there must be at least one. A computation
without a result (a division by zero, a sum with a truth value, a number beyond 2^1024) is None, and None equals
nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from ...core.tag import Tag
from ...core.types import type_of
from ...core.value import format_value, is_float_array

CompareFunction: TypeAlias = Callable[[object, object], bool]
ComputeFunction: TypeAlias = Callable[[object, object], object]

_NUMBER_TYPES = (int, float)
_MAX_BITS = 1024
_MAX_ELEMENTS = 20
_EQUALITY_OPERATORS = (operator.eq, operator.ne)


def comparison(sign: str) -> CompareFunction:
    """The comparison function of an operator.

    >>> less = comparison("<")
    >>> less(1, 2.5), less(np.array([1, 2]), 3), less(np.array([1, 4]), 3), less(True, 2), less(None, 2)
    (True, True, False, False, False)
    """
    holds: Callable[[Any, Any], Any] = _COMPARISONS[sign]

    def compare(left: Any, right: Any) -> bool:
        if type(left) in _NUMBER_TYPES and type(right) in _NUMBER_TYPES:
            return holds(left, right)  # type: ignore[no-any-return]
        return _compare_general(holds, left, right)

    return compare


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def count_nonfinite(value: object) -> int:
    """The number of elements of a value that are infinite or NaN.

    >>> count_nonfinite(np.array([1.0, np.nan, -np.inf])), count_nonfinite(3), count_nonfinite(float("inf"))
    (2, 0, 1)
    """
    array = np.asarray(value)
    return int(np.count_nonzero(~np.isfinite(array))) if is_float_array(array) else 0


def _compare_general(holds: Callable[[Any, Any], Any], left: object, right: object) -> bool:
    left, right = _widen(left), _widen(right)
    kind = _value_kind(left)
    if kind != _value_kind(right) or kind == "nothing" or (kind != "number" and holds not in _EQUALITY_OPERATORS):
        return False
    try:
        with np.errstate(all="ignore"):
            result = holds(left, right)
            return bool(result.size and result.all()) if isinstance(result, np.ndarray) else bool(result)
    except Exception:  # shapes that do not fit, or the == of a foreign object
        return False


def computation(sign: str) -> ComputeFunction:
    """The arithmetic function of an operator.

    >>> computation("//")(np.int8(7), 2), computation("+")(np.int8(127), 1)
    (3, 128)
    >>> computation("/")(1, 0), computation("*")(True, 2)
    (None, None)
    """
    calculate: Callable[[Any, Any], Any] = _COMPUTATIONS[sign]
    is_division = sign in ("/", "//", "%")

    def compute(left: Any, right: Any) -> object:
        if type(left) not in _NUMBER_TYPES or type(right) not in _NUMBER_TYPES:
            return _compute_general(calculate, left, right, is_division)
        if is_division and not right:
            return None
        try:
            return _limit_bits(calculate(left, right))
        except OverflowError:  # an integer beyond float64 beside a float
            return None

    return compute


def _compute_general(calculate: Callable[[Any, Any], Any], left: Any, right: Any, is_division: bool) -> object:
    left, right = _widen(left), _widen(right)
    if not (_value_kind(left) == _value_kind(right) == "number") or (is_division and not np.all(right)):
        return None
    try:
        with np.errstate(all="ignore"):
            return _limit_bits(calculate(left, right))
    except (ArithmeticError, ValueError, MemoryError):  # shapes or numbers that do not fit
        return None


_COMPUTATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def negate(value: object) -> object:
    """The negative of a number; None for any other value."""
    return _multiply(-1, value)


_multiply = computation("*")


def is_true(value: object) -> bool:
    """Whether a value counts as true: true, a text that is not empty, a number other than 0, and an array with at least
    one element if all its elements are true. No other value does.

    >>> is_true(True), is_true(0), is_true(np.array([1.0, 2.0])), is_true(""), is_true(object())
    (True, False, True, False, False)
    """
    if type(value) is bool:
        return value
    if isinstance(value, np.ndarray):
        return bool(value.size) and _value_kind(value) != "other" and bool(value.all())
    return isinstance(value, bool | int | float | str | np.bool | np.number) and bool(value)


def format_operand(value: object) -> str:
    """A value as text for people: numbers and arrays as literals, a large array as its type, None as `?`.

    >>> format_operand(np.int8(3)), format_operand(None), format_operand((1, 2.5)), format_operand(np.zeros((30, 2)))
    ('int8(3)', '?', '1, 2.5', 'float64[30, 2]')
    """
    match value:
        case None:
            return "?"
        case str() | Tag():
            return str(value)
        case tuple():
            return ", ".join(map(format_operand, value))
    try:
        is_large = isinstance(value, np.ndarray) and value.size > _MAX_ELEMENTS
        return str(type_of(value)) if is_large else format_value(value)
    except Exception:  # the repr of a foreign object
        return f"<{type(value).__name__}>"


def _widen(value: object) -> Any:
    """A scalar as a Python number or bool; an array of narrow numbers in int64 or float64."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and is_float_array(value):
        return value.astype(np.float64)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.dtype.itemsize < 8:
        return value.astype(np.int64)
    return value


def _value_kind(value: object) -> Literal["nothing", "number", "truth", "text", "other"]:
    match value:
        case None:
            return "nothing"
        case bool():
            return "truth"
        case int() | float():
            return "number"
        case str():
            return "text"
        case np.ndarray() if value.dtype.kind == "b":
            return "truth"
        case np.ndarray() if value.dtype.kind in "iu" or is_float_array(value):
            return "number"
    return "other"


def _limit_bits(value: Any) -> object:
    return None if isinstance(value, int) and value.bit_length() > _MAX_BITS else value
