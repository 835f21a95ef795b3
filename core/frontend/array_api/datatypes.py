"""Dtypes: what they are, what they promote to, and conversion."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid, Usage
from ..api import apply
from ..eager.dispatch import cache_single_op
from ..trace.source_location import user_location
from ..trace.symbol import API_VERSIONS, CPU, check_device
from .common import type_of

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
    """What `finfo` says of a floating-point dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """What `iinfo` says of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


@cache_single_op
def astype(x: Any, dtype: DType, /, *, copy: builtins.bool = True, device: Any = None) -> Any:
    check_device(device)
    if not isinstance(dtype, DType):
        raise Usage(
            "astype wants a dtype", where=user_location(), got=repr(dtype), required="as in tl.astype(x, tl.int64)"
        )
    return apply("astype", x, dtype=dtype)


def _dtype_of(it: Any) -> DType:
    return it if isinstance(it, DType) else type_of(it).dtype


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating-point dtype, or of an array's.

    >>> finfo(dtypes.float32).bits
    32
    """
    dtype = _dtype_of(type)
    if dtype.kind != "f":
        raise Usage("finfo is of floats", where=user_location(), required="float32 or float64", got=repr(dtype))
    of: Any = np.finfo(dtype.numpy.name)
    return FloatInfo(of.bits, float(of.eps), float(of.max), float(of.min), float(of.smallest_normal), dtype)


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype, or of an array's.

    >>> iinfo(dtypes.int8).max
    127
    """
    dtype = _dtype_of(type)
    if not dtype.is_integer:
        raise Usage("iinfo is of integers", where=user_location(), required="an integer dtype", got=repr(dtype))
    low, high = dtype.range
    return IntegerInfo(dtype.bits, high, low, dtype)


def isdtype(dtype: DType, kind: Any) -> builtins.bool:
    """Whether a dtype is another, or of a kind that the standard names, or of one of several.

    >>> isdtype(dtypes.int8, "integral"), isdtype(dtypes.int8, ("bool", dtypes.float64))
    (True, False)
    """
    if not isinstance(dtype, DType):
        raise Usage("this is no dtype", where=user_location(), got=repr(dtype))
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if not isinstance(kind, str) or kind not in DTYPE_KINDS:
        raise Usage(
            "there is no such kind of dtypes", where=user_location(), required=", ".join(DTYPE_KINDS), got=repr(kind)
        )
    return dtype.kind in DTYPE_KINDS[kind] and dtype.kind in "biuf"


def can_cast(from_: Any, to: DType, /) -> builtins.bool:
    """Whether values of a dtype, or an array, promote to another by themselves.

    >>> can_cast(dtypes.int8, dtypes.int16), can_cast(dtypes.int64, dtypes.float64)
    (True, False)
    """
    if not isinstance(to, DType):
        raise Usage("this is no dtype", where=user_location(), required="as in tl.float64", got=repr(to))
    return dtypes.promote(_dtype_of(from_), to) is to


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that these promote to; Python's numbers take that of the others.

    >>> result_type(dtypes.int8, dtypes.uint8), result_type(dtypes.float32, 1)
    (int16, float32)
    """
    strong = [_dtype_of(each) for each in arrays_and_dtypes if builtins.type(each) not in (bool, int, float)]
    weak = [builtins.type(each) for each in arrays_and_dtypes if builtins.type(each) in (bool, int, float)]
    if not strong:
        raise Usage("of what dtypes?", where=user_location(), required="at least one array or dtype", got=repr(weak))
    found: DType | None = strong[0]
    for dtype in strong[1:]:
        found = found and dtypes.promote(found, dtype)
    allowed = {"b": (bool,), "f": (int, float)}.get(found.kind, (int,)) if found else ()
    if found is None or not all(each in allowed for each in weak):
        hint = "convert one with tl.astype(x, dtype)"
        raise Invalid(
            "dtypes that do not promote to one", rule="V4", where=user_location(), got=arrays_and_dtypes, hint=hint
        )
    return found


class NamespaceInfo:
    """What the standard asks of a library about itself."""

    def capabilities(self) -> dict[str, Any]:
        """What it does that not all do."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return CPU

    def devices(self) -> list[str]:
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType | None]:
        """The dtypes of Python's numbers, and of indices; there are no complex ones."""
        check_device(device)
        integer, floating = dtypes.int64, dtypes.float64
        return {"real floating": floating, "complex floating": None, "integral": integer, "indexing": integer}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes of a kind, or of all."""
        check_device(device)
        return {repr(each): each for each in dtypes.ALL if kind is None or isdtype(each, kind)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """What the standard asks of a library about itself."""
    return NamespaceInfo()


API_VERSION = API_VERSIONS[-1]
