"""Hypothesis strategies for values of a dtype: edge values, at which kernels often fail, and arbitrary ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tagloom.core import dtypes
from tagloom.core.types import Type
from tagloom.core.value import admit

INF, NAN = math.inf, math.nan
INTEGERS = [0, 1, -1, 2, -2, 3, -7, 63, 64, 2**31, 2**53 + 1, -(2**62)]
FLOATS = [
    *(0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 7.0, 1e15 + 0.5, 2.0**53, 2.0**63, 1e300, 1.7976931348623157e308, INF),
    *(-0.0, -0.5, -1.0, -2.0, -2.5, -3.0, -7.0, -(2.0**53), -(2.0**63), -1e300, -1.7976931348623157e308, -INF),
    *(5e-324, -5e-324, 2.2250738585072014e-308, math.nextafter(1.0, 0.0), math.pi, NAN),
    *(709.78, 709.782712893384, 709.7827128933841, 710.0, -745.13, -745.14),
    *(math.nextafter(2.0**63, 0.0), math.nextafter(-(2.0**63), -INF)),
    *(127.5, -128.5, 255.5, 2.0**31, 2.0**32, -(2.0**31) - 1, 2.0**64),
]
SINGLE_FLOATS = [*(0.0, -0.0, 0.5, 1.0, -2.5, 3.0, -7.0, 1e-45, 3.4e38, 88.72, 88.73, -103.0, 2.0**24, 2.0**63, 127.5)]


def edges(dtype: dtypes.DType) -> list[Any]:
    """The edge values of a dtype, at which kernels often fail."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.is_integer:
        low, high = dtype.range
        near = [low, low + 1, high, high - 1, dtype.bits - 1, dtype.bits]
        results = [number for number in dict.fromkeys([*INTEGERS, *near]) if low <= number <= high]
    elif dtype in dtypes.FLOAT_FORMATS:
        limits = [
            *(dtype.limits.max, dtype.limits.smallest_normal, dtype.limits.smallest_subnormal),
            1 + dtype.limits.eps,
        ]
        results = [*(0.0, -0.0, 0.5, 1.0, -2.5, 3.0, -7.0, 10.1, 127.5, -60000.0), *map(float, limits), INF, -INF, NAN]
    else:
        results = FLOATS if dtype is dtypes.float64 else [*SINGLE_FLOATS, INF, -INF, NAN]
    return [admit(number, Type(dtype)) for number in results]


EDGES = {dtype: edges(dtype) for dtype in dtypes.ALL}


def of_bits(bits: int, dtype: dtypes.DType) -> Any:
    """The float of 16 bits with these bits."""
    return np.array(bits, np.uint16).view(dtype.numpy)[()]


def anything(dtype: dtypes.DType) -> st.SearchStrategy[Any]:
    """Any value of a dtype, often an edge value."""
    if dtype.kind == "b":
        return st.booleans()
    if dtype in dtypes.FLOAT_FORMATS:
        return st.sampled_from(EDGES[dtype]) | st.integers(0, 2**16 - 1).map(lambda bits: of_bits(bits, dtype))
    numbers = st.integers(*dtype.range) if dtype.is_integer else st.floats(width=dtype.bits)
    return st.sampled_from(EDGES[dtype]) | numbers.map(lambda number: admit(number, Type(dtype)))


ANY = {dtype: anything(dtype) for dtype in dtypes.ALL}
