"""Dtypes: their limits and kinds, promotion and conversion; and the standard's inspection interface."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid, Usage
from ..eager.apply import apply
from ..eager.op_functions import cache_single_op
from ..trace.source_location import user_location
from ..trace.symbol import API_VERSIONS, CPU, check_device
from .common import require_dtype, type_of

DTYPE_KINDS: dict[str, str] = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "",
    "numeric": "iuf",
}
"""The kinds of dtypes that the standard names."""


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """The limits of a floating-point dtype: the result of `finfo`."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """The limits of an integer dtype: the result of `iinfo`."""

    bits: int
    max: int
    min: int
    dtype: DType


@cache_single_op
def astype(x: Any, dtype: DType, /, *, copy: builtins.bool = True, device: Any = None) -> Any:
    check_device(device)
    require_dtype(dtype)
    return apply("astype", x, dtype=dtype)


def dtype_of(x: Any) -> DType:
    """The dtype of an array; a dtype itself."""
    return x if isinstance(x, DType) else type_of(x).dtype


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating-point dtype, or of the dtype of an array. Raises Usage for another dtype.

    The fields are `bits`, `eps`, `max`, `min`, `smallest_normal` and `dtype`.

    >>> finfo(dtypes.float32).bits
    32
    """
    dtype = dtype_of(type)
    if dtype.kind != "f":
        raise Usage(
            "finfo needs a floating-point dtype", where=user_location(), required="a float dtype", got=repr(dtype)
        )
    info = dtype.limits
    return FloatInfo(info.bits, float(info.eps), float(info.max), float(info.min), float(info.smallest_normal), dtype)


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype, or of the dtype of an array. Raises Usage for another dtype.

    The fields are `bits`, `max`, `min` and `dtype`.

    >>> iinfo(dtypes.int8).max
    127
    """
    dtype = dtype_of(type)
    if not dtype.is_integer:
        raise Usage(
            "iinfo needs an integer dtype",
            where=user_location(),
            required="an integer dtype",
            got=repr(dtype),
            python=TypeError,
        )
    low, high = dtype.range
    return IntegerInfo(dtype.bits, high, low, dtype)


def isdtype(dtype: DType, kind: Any) -> builtins.bool:
    """Whether a dtype equals `kind`, a dtype; or is of the kind that `kind` names; or matches one of a tuple of these.

    The kinds are "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" and
    "numeric". Raises Usage for another kind.

    >>> isdtype(dtypes.int8, "integral"), isdtype(dtypes.int8, ("bool", dtypes.float64))
    (True, False)
    """
    require_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, option) for option in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if not isinstance(kind, str) or kind not in DTYPE_KINDS:
        raise Usage(
            "there is no such kind of dtypes",
            where=user_location(),
            required=", ".join(DTYPE_KINDS),
            got=repr(kind),
            python=ValueError if isinstance(kind, str) else TypeError,
        )
    return dtype.kind in DTYPE_KINDS[kind] and dtype.kind in "biuf"


def can_cast(from_: Any, to: DType, /) -> builtins.bool:
    """Whether a dtype, or the dtype of an array, promotes to the dtype `to` by type promotion alone. int64 does not
    promote to float64.

    >>> can_cast(dtypes.int8, dtypes.int16), can_cast(dtypes.int64, dtypes.float64)
    (True, False)
    """
    require_dtype(to)
    return dtypes.promote(dtype_of(from_), to) is to


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype to which arrays and dtypes promote. Python numbers take the dtype of the others, if it admits them.

    Raises Invalid (V4) where there is no common dtype, Usage where there are only Python numbers.

    >>> result_type(dtypes.int8, dtypes.uint8), result_type(dtypes.float32, 1)
    (int16, float32)
    """
    strong_dtypes = [
        dtype_of(argument) for argument in arrays_and_dtypes if builtins.type(argument) not in (bool, int, float)
    ]
    weak_classes = [
        builtins.type(argument) for argument in arrays_and_dtypes if builtins.type(argument) in (bool, int, float)
    ]
    if not strong_dtypes:
        raise Usage(
            "there is no array or dtype",
            where=user_location(),
            required="at least one array or dtype",
            got=repr(weak_classes),
        )
    common: DType | None = strong_dtypes[0]
    for dtype in strong_dtypes[1:]:
        common = common and dtypes.promote(common, dtype)
    allowed_classes = {"b": (bool,), "f": (int, float)}.get(common.kind, (int,)) if common else ()
    if common is None or not all(argument in allowed_classes for argument in weak_classes):
        hint = "convert one with tl.astype(x, dtype)"
        raise Invalid(
            "these dtypes do not promote to a common one",
            rule="V4",
            where=user_location(),
            got=arrays_and_dtypes,
            hint=hint,
            python=TypeError,
        )
    return common


class NamespaceInfo:
    """The inspection interface of the standard: capabilities, devices and dtypes of this library."""

    def capabilities(self) -> dict[str, Any]:
        """The optional features, and the largest number of axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device of new arrays, always "cpu"."""
        return CPU

    def devices(self) -> list[str]:
        """All devices: "cpu" alone."""
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType | None]:
        """The default dtypes of floats, integers and indices; None for complex numbers, which do not exist here."""
        check_device(device)
        integer, floating = dtypes.int64, dtypes.float64
        return {"real floating": floating, "complex floating": None, "integral": integer, "indexing": integer}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes by name: of a kind as in `isdtype`, or all."""
        check_device(device)
        return {repr(dtype): dtype for dtype in dtypes.ALL if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """The inspection interface of the standard: capabilities, devices and dtypes of this library."""
    return NamespaceInfo()


API_VERSION = API_VERSIONS[-1]
