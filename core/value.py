"""Values, which tokens carry. A scalar of bool, int64 or float64 is a Python number, of another dtype a NumPy scalar;
anything else is a read-only array.

This module admits, compares and formats values; `core.text.literals` reads them. Two values are the same if their types
and their bits are: -0.0 is not 0.0, and 1 is not 1.0. All NaNs of a dtype are one value, since the processor chooses
the bits of a NaN.
"""

from __future__ import annotations

import builtins
import math
import reprlib
import struct
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import dtypes
from .dtypes import DType
from .errors import Usage
from .types import (
    OPAQUE_CLASSES,
    DeadTokenValue,
    Handle,
    Type,
    describe_integer,
    element_classes,
    ragged_array_error,
    type_of,
)

Value: TypeAlias = builtins.bool | int | float | np.generic | npt.NDArray[np.generic] | Handle | DeadTokenValue


def admit(value: object, expected: Type | None = None) -> Value:
    """The value for a Python object, of type `expected` if given.

    Python numbers and lists of them convert to the expected dtype: ints to any number, floats to any float. Arrays of
    `ml_dtypes` of 8 bits or fewer convert to the smallest dtype that contains all their values, if that is expected,
    since an imported function has this for them. Arrays are copied and made read-only, so that no token changes later.

    Raises Usage where the object is not a value of the expected type.

    >>> from tagloom.core.dtypes import float64, int8
    >>> admit(3, Type(float64)), admit(3, Type(int8))
    (3.0, np.int8(3))
    >>> import ml_dtypes
    >>> from tagloom.core.dtypes import float16
    >>> admit(np.array([1.5, -448], ml_dtypes.float8_e4m3fn), Type(float16, (2,)))
    array([   1.5, -448. ], dtype=float16)
    """
    if expected is not None and expected.is_scalar and dtypes.BY_PYTHON.get(type(value)) is expected.dtype:
        type_of(value)  # raises Usage for an integer beyond int64
        return value  # type: ignore[return-value]
    if expected is not None and _is_convertible(expected.dtype, value):
        array = _convert_numbers(value, expected.dtype)
        if expected.admits(Type(expected.dtype, array.shape)):
            return _normalize_array(array, expected.dtype)
    carrier = dtypes.carrier_of(value.dtype) if isinstance(value, np.ndarray | np.generic) else None
    if expected is not None and carrier is expected.dtype:
        value = np.asarray(value).astype(expected.dtype.numpy)
    own_type = type_of(value)
    if expected is None or expected.admits(own_type):
        return normalize(value, own_type)
    is_large = np.size(value) > MAX_PRINTED_ELEMENTS  # type: ignore[arg-type]
    description = abbreviate(value) if is_large else f"{format_value(value)} of type {own_type}"
    raise Usage("a value of the wrong type", required=expected, got=description, python=TypeError)


_ALIGNED_C_CONTIGUOUS = 0x0101
"""NumPy's flags of arrays that are C-contiguous and aligned."""


def borrow(value: object, expected: Type) -> Value:
    """As `admit`, but without a copy if the array has the form of a value already. The borrower must neither write to
    the array nor pass on anything that shares its elements.

    >>> array = np.zeros(3)
    >>> borrow(array, Type(dtypes.float64, (3,))) is array
    True
    """
    numpy_dtype = expected.dtype.numpy
    if type(value) is np.ndarray and (value.dtype is numpy_dtype or value.dtype == numpy_dtype):
        shape, sizes = value.shape, expected.shape
        fits = shape and (shape == sizes or sizes is None or _match_sizes(shape, sizes))
        if fits and value.flags.num & _ALIGNED_C_CONTIGUOUS == _ALIGNED_C_CONTIGUOUS:
            return value
    if type(value) is int and (expected is _INTEGER or expected == _INTEGER) and -(2**63) <= value < 2**63:
        return value  # at a tenth of the time that `admit` takes
    if type(value) is float and (expected is _FLOAT or expected == _FLOAT):
        return value
    return admit(value, expected)


_INTEGER, _FLOAT = Type(dtypes.int64), Type(dtypes.float64)


def _match_sizes(shape: tuple[int, ...], sizes: tuple[int | None, ...]) -> builtins.bool:
    """Whether a shape has these sizes, None for any."""
    if len(shape) != len(sizes):
        return False
    for size, expected_size in zip(shape, sizes, strict=True):  # noqa: SIM110 (`all` takes twice as long)
        if size != expected_size is not None:
            return False
    return True


def _is_convertible(dtype: DType, value: object) -> builtins.bool:
    """Whether these are Python numbers that may become this dtype."""
    allowed: dict[str, set[type]] = {"b": {builtins.bool}, "f": {int, float}, "h": set()}
    return element_classes(value) <= allowed.get(dtype.kind, {int})


def _convert_numbers(value: Any, dtype: DType) -> npt.NDArray[np.generic]:
    """Python numbers as an array of a dtype; raises Usage where one does not fit."""
    try:
        if dtype.kind != "f":
            return np.asarray(value, dtype=dtype.numpy)
        wide_array = np.asarray(value, dtype=np.float64)
        narrow_array = round_floats(wide_array, dtype)
        if np.any(np.isinf(narrow_array) & np.isfinite(wide_array)):
            raise OverflowError
        return narrow_array
    except OverflowError:
        noun, got = ("integer", describe_integer(value)) if isinstance(value, int) else ("number", reprlib.repr(value))
        raise Usage(f"this {noun} does not fit into {dtype!r}", got=got, python=OverflowError) from None
    except ValueError:
        raise ragged_array_error(value) from None


def round_floats(array: npt.NDArray[np.floating[Any]], dtype: DType) -> npt.NDArray[Any]:
    """Floats rounded to another float dtype, once: to the nearest number, of two equally near ones to the even one, and
    beyond the range to infinity.

    `ml_dtypes` rounds float64 to bfloat16 through float32, where a number may become a tie. So float32 is rounded to
    odd first (Boldo and Melquiond, When double rounding is odd, 2005).

    >>> round_floats(np.array([1.00390625 + 2.0**-40]), dtypes.bfloat16).astype(np.float64)
    array([1.0078125])
    """
    with np.errstate(all="ignore"):
        if dtype is dtypes.bfloat16 and array.dtype == np.float64:
            single = array.astype(np.float32)
            bits = single.view(np.uint32)
            bits -= np.abs(single) > np.abs(array)  # toward zero
            bits |= (single != array) & (array == array)
            array = single
        return array.astype(dtype.numpy)


def normalize(value: object, type_: Type) -> Value:
    """The canonical form of a value: a scalar if it has no axes, else a read-only C-contiguous array of the type's
    dtype."""
    if isinstance(value, np.ndarray) and value.size > _BLOCK_ELEMENTS:
        return _normalize_array(_copy_in_blocks(value, type_.dtype), type_.dtype)
    return _normalize_array(np.array(value, dtype=type_.dtype.numpy, order="C"), type_.dtype)


_BLOCK_ELEMENTS = 2**20
"""Copies of more elements are made in blocks of about this many, which take a millisecond or two."""


def _copy_in_blocks(array: npt.NDArray[Any], dtype: DType) -> npt.NDArray[np.generic]:
    """A C-contiguous copy of a large array. Between two blocks, Python sees Ctrl-C."""
    copy = np.empty(array.shape, dtype.numpy)
    source = np.asarray(array)
    target = copy
    if source.flags.c_contiguous:
        source, target = source.reshape(-1), copy.reshape(-1)
    rows = max(1, _BLOCK_ELEMENTS * len(source) // source.size)
    for start in range(0, len(source), rows):
        target[start : start + rows] = source[start : start + rows]
    return copy


def _normalize_array(array: npt.NDArray[np.generic], dtype: DType) -> Value:
    if array.ndim == 0:
        return array.item() if dtype in dtypes.PYTHON_DTYPES else array[()]
    array.setflags(write=False)  # 0.09 us, and `array.flags.writeable = False` 0.4
    return array


def is_same_value(first: object, second: object) -> builtins.bool:
    """Whether two values have the same type and the same bits.

    >>> is_same_value(float("nan"), float("nan")), is_same_value(0.0, -0.0), is_same_value(1, 1.0)
    (True, False, False)
    """
    return fingerprint(first) == fingerprint(second)


def fingerprint(value: object) -> tuple[str, tuple[int, ...], Any]:
    """A hashable key of a value's type and bits. All NaNs of a dtype have one key."""
    match value:
        case Handle():
            return repr(value.dtype), (value.node, value.size), value.tag
        case DeadTokenValue():
            return "dead", (value.node, value.port), value.tag
        case builtins.bool():
            return "|b1", (), b"\1" if value else b"\0"
        case int():
            return "<i8", (), value.to_bytes(8, "little", signed=True)
        case float():
            return "<f8", (), struct.pack("<d", value if value == value else math.nan)
    array = np.asarray(value)
    if is_float_array(array):
        with np.errstate(invalid="ignore"):  # bfloat16 warns of signalling NaNs
            array = np.where(np.isnan(array), np.array(math.nan, array.dtype), array)
    return array.dtype.str, array.shape, array.tobytes()


def is_float_array(array: npt.NDArray[Any]) -> builtins.bool:
    """Whether an array of NumPy has a float dtype; the kind of bfloat16 is not 'f' there."""
    return array.dtype.kind == "f" or array.dtype == dtypes.bfloat16.numpy


def format_value(value: object) -> str:
    """A value as a literal of the text form, which includes its type.

    >>> format_value(True), format_value(-3), format_value(float("inf")), format_value(np.array([1.0, 2.5]))
    ('true', '-3', 'inf', '[1.0, 2.5]')
    >>> format_value(np.uint8(7)), format_value(np.zeros((2, 0)))
    ('uint8(7)', 'float64[2, 0]([])')
    """
    if isinstance(value, OPAQUE_CLASSES):
        return str(value)
    array = np.asarray(value)
    numbers, dtype = format_numbers(array), dtypes.from_numpy(array.dtype)
    if dtype is None:
        return numbers
    if not array.size:
        return f"{Type(dtype, array.shape)}([])"
    return numbers if dtype in dtypes.PYTHON_DTYPES else f"{dtype!r}({numbers})"


MAX_PRINTED_ELEMENTS = 32
"""Messages print arrays of up to this many elements in full."""


def abbreviate(value: object, max_elements: int = MAX_PRINTED_ELEMENTS) -> str:
    """A value as text for messages: a literal, or for an array of more than `max_elements` its type, its first three
    elements and its last.

    >>> abbreviate(3), abbreviate(np.arange(3)), abbreviate(np.arange(3000).reshape(3, 1000))
    ('3', '[0, 1, 2]', 'int64[3, 1000](0, 1, 2, ..., 2999)')
    """
    if isinstance(value, OPAQUE_CLASSES) or np.size(value) <= max_elements:  # type: ignore[arg-type]
        return format_value(value)
    elements = np.asarray(value).flat  # makes no copy
    return f"{type_of(value)}({', '.join(map(format_element, elements[:3]))}, ..., {format_element(elements[-1])})"


MAX_ELEMENT_LENGTH = 7
"""The most characters of a float in an abbreviated array; longer ones have four digits."""


def format_element(element: Any) -> str:
    """An element of an array, in few characters if it is a float.

    >>> format_element(np.float64(1 / 3)), format_element(np.float64(10.5)), format_element(np.int32(-7))
    ('0.3333', '10.5', '-7')
    """
    text = format_numbers(np.asarray(element))
    return f"{element:.4g}" if is_float_array(element) and len(text) > MAX_ELEMENT_LENGTH else text


def format_numbers(array: npt.NDArray[Any]) -> str:
    """The numbers of an array, as a literal has them, without their type.

    >>> format_numbers(np.array([[True, False]])), format_numbers(np.float32(0.1))
    ('[[true, false]]', '0.1')
    """
    if array.ndim:
        return f"[{', '.join(map(format_numbers, array))}]"
    if array.dtype.kind == "b":
        return "true" if array else "false"
    if dtypes.from_numpy(array.dtype) in dtypes.FLOAT_FORMATS:
        return format_narrow_float(array[()])
    return "nan" if array.dtype.kind == "f" and array != array else str(array[()])


def format_narrow_float(number: Any) -> str:
    """The shortest decimal that rounds to a float of 16 bits, as Python prints its own floats.

    >>> format_narrow_float(np.float16(0.1)), format_narrow_float(dtypes.bfloat16.numpy.type(3000))
    ('0.1', '3000.0')
    """
    exact = float(number)
    if not math.isfinite(exact):
        return repr(math.nan if exact != exact else exact)
    decimals = (float(f"{exact:.{digits}g}") for digits in range(1, 6))
    return repr(next(decimal for decimal in decimals if _rounds_to(decimal, number)))


def _rounds_to(decimal: float, number: Any) -> builtins.bool:
    """Whether a float64 becomes this float of 16 bits. The constructor is fast, but rounds to bfloat16 twice."""
    dtype = dtypes.from_numpy(number.dtype)
    assert dtype is not None
    with np.errstate(over="ignore"):
        is_near = type(number)(decimal) == number
    return bool(is_near) and float(round_floats(np.array(decimal), dtype)) == float(number)


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant in a program or on a port. Equal literals have the same type and the same bits."""

    value: Value
    type: Type

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, Literal) and self.type == other.type and is_same_value(self.value, other.value)

    def __hash__(self) -> int:
        return hash((self.type, fingerprint(self.value)))

    def __str__(self) -> str:
        return format_value(self.value)


def literal(value: object, expected: Type | None = None) -> Literal:
    """A literal from a Python object; raises Usage as `admit` does."""
    admitted = admit(value, expected)
    return Literal(admitted, type_of(admitted))
