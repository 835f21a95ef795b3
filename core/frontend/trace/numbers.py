"""Numbers: symbolic scalars of bool, int64 and float64 combine under Python's operators as Python's numbers do.

Of two numbers of different kinds, the lower one is converted: bool < int64 < float64. Functions such as `tl.add`, and
values of other dtypes, keep the promotion of the Array API standard.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import DType
from .captures import read_variable
from .program_builder import TracedValue

_PACKAGE = __name__.partition(".")[0]
KINDS = "bif"
"""The kinds of numbers, from the lowest to the highest."""
DTYPES: dict[str, DType] = {"b": dtypes.bool, "i": dtypes.int64, "f": dtypes.float64}
"""The dtype of the numbers of a kind."""
_CLASSES: dict[type, str] = {bool: "b", int: "i", float: "f"}
_ARITHMETIC = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "pow",
    "negative",
    "abs",
    "positive",
)
_ORDER = ("less", "less_equal", "greater", "greater_equal")


def number_kind(value: Any) -> str | None:
    """The kind of a number, a Python number or a symbolic scalar of one of Python's dtypes; None for anything else.

    >>> number_kind(True), number_kind(2), number_kind(0.5), number_kind("a")
    ('b', 'i', 'f', None)
    """
    kind = _CLASSES.get(type(value))
    if kind is not None:
        return kind
    traced_value = getattr(value, "_tagloom_value", None)
    if (
        not isinstance(traced_value, TracedValue)
        or not traced_value.type.is_scalar
        or traced_value.type.dtype not in DTYPES.values()
    ):
        return None
    return traced_value.type.dtype.kind


def higher_kind(*kinds: str) -> str:
    """The highest of these kinds.

    >>> higher_kind("b", "f", "i")
    'f'
    """
    return max(kinds, key=KINDS.index)


def to_kind(value: Any, kind: str) -> Any:
    """A number as one of a higher kind. A weak value stays: it takes any dtype that fits."""
    if type(value) in _CLASSES:
        return {"b": bool, "i": int, "f": float}[kind](value) if kind != _CLASSES[type(value)] else value
    traced_value = value._tagloom_value
    if traced_value.type.dtype.kind == kind or traced_value.weak_value is not None:
        return value
    return _astype(value, DTYPES[kind])


def _astype(value: Any, dtype: DType) -> Any:
    return sys.modules[_PACKAGE].astype(value, dtype)


def unify_numbers(first: Any, second: Any) -> str | None:
    """The kind of a value that may be either of two numbers: the higher one, if they differ. None where they are of one
    kind, or not both are numbers."""
    kinds = number_kind(first), number_kind(second)
    if kinds[0] is None or kinds[1] is None or kinds[0] == kinds[1]:
        return None
    return higher_kind(kinds[0], kinds[1])


def convert_operands(op: str, *operands: Any) -> tuple[Any, ...]:
    """The operands of a Python operator, with numbers converted as Python does. A number takes the dtype of an array of
    a higher kind."""
    operands = tuple(map(read_variable, operands))
    kinds = [number_kind(operand) for operand in operands]
    if None in kinds:
        return _convert_beside_array(operands, kinds)
    target = higher_kind(*(kind for kind in kinds if kind is not None))
    if target == "b" and op in (*_ARITHMETIC, *_ORDER):
        target = "i"
    is_inverse = op == "pow" and type(operands[1]) is int and operands[1] < 0
    if target == "i" and is_inverse:
        return to_kind(operands[0], "f"), operands[1]
    return tuple(to_kind(operand, target) for operand in operands)


def _convert_beside_array(operands: tuple[Any, ...], kinds: list[str | None]) -> tuple[Any, ...]:
    if len(operands) == 1 or kinds[0] is kinds[1] is None:
        return operands
    number, array = operands if kinds[1] is None else operands[::-1]
    type_ = getattr(array, "_type", None)
    array_dtype = dtypes.from_numpy(array.dtype) if isinstance(array, np.ndarray) else type_ and type_.dtype
    kind = array_dtype.kind if array_dtype else "b"
    has_axes = array.ndim > 0 if isinstance(array, np.ndarray) else type_ is not None and not type_.is_scalar
    if type(number) in (int, float) or not has_axes or kind not in "iuf":
        return operands
    own_kind = number_kind(number)
    if own_kind == "f" or (own_kind == "i" and kind != "f"):
        return operands
    dtype = dtypes.BY_NAME[array.dtype.name] if isinstance(array, np.ndarray) else type_.dtype  # type: ignore[union-attr]
    converted = int(number) if type(number) is bool else _astype(number, dtype)
    return (converted, array) if kinds[1] is None else (array, converted)
