"""Storage types: numbers of 8 bits or fewer that ONNX only stores, casts, quantizes and moves.

A program has no dtypes for them. A value of such a type is an array of its carrier, the smallest dtype that contains
all its values exactly, and the importer remembers the type (`StorageArray`). A cast into the type rounds to its values,
by tables made from `ml_dtypes`; a cast out of it is exact.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ....core import dtypes
from ....core.dtypes import DType
from ....core.frontend.array_api.common import type_of
from ..functions import CapturedConstants
from .operators import require, tl

Floats: TypeAlias = npt.NDArray[np.floating[Any]]


class StorageType(enum.Enum):
    """A storage type, by its number among ONNX's element types."""

    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28

    @property
    def numpy(self) -> np.dtype[Any]:
        """The dtype of NumPy that `ml_dtypes` defines."""
        dtype: np.dtype[Any] = np.dtype(NUMPY[self])
        return dtype

    @property
    def is_integer(self) -> bool:
        return self in INTEGERS

    @property
    def carrier(self) -> DType:
        """The smallest dtype that contains all values exactly."""
        if self.is_integer:
            return dtypes.int8 if self.range[0] else dtypes.uint8
        return dtypes.bfloat16 if self is StorageType.FLOAT8E8M0 else dtypes.float16

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type."""
        information: Any = ml_dtypes.iinfo(self.numpy)  # type: ignore[no-untyped-call]
        return int(information.min), int(information.max)


NUMPY = {
    StorageType.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    StorageType.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    StorageType.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    StorageType.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    StorageType.UINT4: ml_dtypes.uint4,
    StorageType.INT4: ml_dtypes.int4,
    StorageType.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
    StorageType.FLOAT8E8M0: ml_dtypes.float8_e8m0fnu,
    StorageType.UINT2: ml_dtypes.uint2,
    StorageType.INT2: ml_dtypes.int2,
    StorageType.FLOAT6E2M3: ml_dtypes.float6_e2m3fn,
    StorageType.FLOAT6E3M2: ml_dtypes.float6_e3m2fn,
}
INTEGERS = StorageType.UINT4, StorageType.INT4, StorageType.UINT2, StorageType.INT2
UNSIGNED_ZERO = StorageType.FLOAT8E4M3FNUZ, StorageType.FLOAT8E5M2FNUZ
"""The types that have signs, and no -0."""
FINITE = StorageType.FLOAT4E2M1, StorageType.FLOAT6E2M3, StorageType.FLOAT6E3M2
"""The floats without infinities and NaN: a cast limits all numbers to their range."""


class StorageArray(NamedTuple):
    """A value of a storage type: an array of its carrier. Loops and branches carry it as they carry its array."""

    carrier: Any
    type: StorageType


def storage_type(element: int) -> StorageType | None:
    """The storage type of an element type of ONNX; None if it is a dtype of programs, or unknown."""
    return BY_ELEMENT.get(element)


BY_ELEMENT = {type_.value: type_ for type_ in StorageType}


def storage_of(value: Any) -> StorageType | None:
    """The storage type of a value; None if it has a dtype of programs."""
    return value.type if isinstance(value, StorageArray) else None


def carrier_of(value: Any) -> Any:
    """The carrier of a value, for rows that know no storage types; a value without one, unchanged."""
    return value.carrier if isinstance(value, StorageArray) else value


def with_storage(carrier: Any, type_: StorageType | None) -> Any:
    """The value of a storage type whose carrier this is; the carrier, if there is no type."""
    return carrier if type_ is None else StorageArray(carrier, type_)


def unpack_carrier(array: npt.NDArray[Any], type_: StorageType) -> npt.NDArray[Any]:
    """The carrier of an array of a storage type, or of other numbers, which are converted as NumPy does."""
    return array.astype(type_.numpy).astype(type_.carrier.numpy)


def cast_to_storage(x: Any, type_: StorageType, *, saturate: bool = True, round_mode: str = "up") -> StorageArray:
    """An operand as a value of a storage type, by the tables of ONNX's operator Cast. Integers lose their higher bits,
    as do floats after they have lost their fractions. `round_mode` counts for FLOAT8E8M0 only. Raises Malformed for a
    rounding that ONNX does not have."""
    require(round_mode in STARTS, "round_mode is none of up, down and nearest")
    if isinstance(x, StorageArray) and x.type is type_:
        return x
    values = carrier_of(x)
    dtype = type_of(values).dtype
    if type_.is_integer:
        return StorageArray(low_bits(values if dtype.kind in "iu" else tl.astype(values, tl.int32), type_), type_)
    is_wide = dtype in (dtypes.float32, dtypes.float64)
    numbers = values if is_wide else tl.astype(values, tl.float32)
    return StorageArray(round_to_storage(numbers, type_, saturate, round_mode), type_)


def low_bits(x: Any, type_: StorageType) -> Any:
    """The low bits of integers, read as an integer of a storage type."""
    least, greatest = type_.range
    mask, sign = np.asarray(greatest - least, type_of(x).dtype.numpy), np.asarray(-least, type_.carrier.numpy)
    bits = tl.astype(tl.bitwise_and(x, mask), type_.carrier)
    return tl.subtract(tl.bitwise_xor(bits, sign), sign) if least else bits


def round_to_storage(x: Any, type_: StorageType, saturate: bool, round_mode: str) -> Any:
    """Numbers of float32 or float64 rounded to values of a storage type, in its carrier."""
    starts, magnitudes = rounding_constants(type_, type_of(x).dtype, saturate, round_mode)
    result = tl.take(magnitudes, tl.searchsorted(starts, tl.abs(x), side="right"))
    if type_ is not StorageType.FLOAT8E8M0:
        result = tl.copysign(result, tl.astype(x, type_.carrier))
    if type_ in UNSIGNED_ZERO:
        result = tl.add(result, np.asarray(0, type_.carrier.numpy))
    return tl.where(tl.isnan(x), unpack_carrier(np.asarray(np.nan), type_), result)


@cache
def rounding_constants(type_: StorageType, dtype: DType, saturate: bool, round_mode: str) -> tuple[Any, Any]:
    """The tables of a rounding as constants, the same in all programs."""
    starts, magnitudes = rounding_tables(type_, dtype, saturate, round_mode)
    name = type_.name.lower()
    return CONSTANTS.admit(starts, f"{name}_starts"), CONSTANTS.admit(magnitudes, f"{name}_magnitudes")


CONSTANTS = CapturedConstants()


def rounding_tables(
    type_: StorageType, dtype: DType, saturate: bool, round_mode: str = "up"
) -> tuple[Floats, npt.NDArray[Any]]:
    """For each magnitude but the first, the least number of the dtype that is rounded to it; and the magnitudes, in
    increasing order.

    >>> starts, magnitudes = rounding_tables(StorageType.FLOAT4E2M1, dtypes.float32, True)
    >>> magnitudes
    array([0. , 0.5, 1. , 1.5, 2. , 3. , 4. , 6. ], dtype=float16)
    >>> starts
    array([0.25000003, 0.75      , 1.2500001 , 1.75      , 2.5000002 ,
           3.5       , 5.0000005 ], dtype=float32)
    """
    has_only_powers = type_ is StorageType.FLOAT8E8M0
    information: Any = ml_dtypes.finfo(type_.numpy)  # type: ignore[no-untyped-call]
    codes = np.arange(2 ** (information.bits - (not has_only_powers)), dtype=np.uint8)
    magnitudes = codes.view(type_.numpy).astype(np.float64)
    magnitudes = magnitudes[np.isfinite(magnitudes)]
    greatest = magnitudes[-1]
    beyond = greatest + 2.0 ** (np.frexp(greatest)[1] - 1 - information.nmant)
    lower, upper = magnitudes, np.append(magnitudes[1:], beyond)
    starts = (STARTS[round_mode] if has_only_powers else nearest_even_starts)(lower, upper, dtype.numpy)
    if saturate or type_ in FINITE:
        return starts[:-1], magnitudes.astype(type_.carrier.numpy)
    overflow = np.asarray(np.inf).astype(type_.numpy).astype(np.float64)
    magnitudes = np.append(magnitudes, overflow)
    if has_only_powers:  # no zero
        starts, magnitudes = np.append(dtype.numpy.type(lower[0]), starts), np.append(np.nan, magnitudes)
    return starts, magnitudes.astype(type_.carrier.numpy)


Starts: TypeAlias = Callable[[Floats, Floats, np.dtype[Any]], Floats]
"""Returns the least numbers, in a dtype, that are rounded to the upper ones of pairs of neighbours."""


def convert(numbers: Floats, dtype: np.dtype[Any]) -> Floats:
    """Numbers in a dtype; those beyond it become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers, dtype)


def nearest_even_starts(lower: Floats, upper: Floats, dtype: np.dtype[Any]) -> Floats:
    """For rounding to the nearer neighbour; from the middle, to the one whose code is even."""
    middles = nearest_up_starts(lower, upper, dtype)
    is_lower_even = np.arange(len(middles)) % 2 == 0
    starts: Floats = np.where(is_lower_even, np.nextafter(middles, dtype.type(np.inf)), middles)
    return starts


def nearest_up_starts(lower: Floats, upper: Floats, dtype: np.dtype[Any]) -> Floats:
    """For rounding to the nearer neighbour; from the middle, to the upper one."""
    return convert((lower + upper) / 2, dtype)


def up_starts(lower: Floats, upper: Floats, dtype: np.dtype[Any]) -> Floats:
    """For rounding up: all numbers above the lower neighbour."""
    starts: Floats = np.nextafter(convert(lower, dtype), dtype.type(np.inf))
    return starts


def down_starts(lower: Floats, upper: Floats, dtype: np.dtype[Any]) -> Floats:
    """For rounding down: only the upper neighbour itself."""
    return convert(upper, dtype)


STARTS: dict[str, Starts] = {"up": up_starts, "down": down_starts, "nearest": nearest_up_starts}
"""The roundings of positive numbers to powers of two, by ONNX's name."""
