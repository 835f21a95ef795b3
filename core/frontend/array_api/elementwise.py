"""Functions of the standard that compute element by element, and are made of others."""

from __future__ import annotations

from typing import Any

from ...dtypes import DType
from ..api import apply
from ..trace.trace import unwrap_weak
from .common import astype, check_numeric, type_of


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Each element, or the nearest number from `min` to `max`, of the dtype of x; None is no bound. NaN if one of the
    three is.

    >>> clip([-2.0, 0.5, 3.0], 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    check_numeric(x)
    dtype = type_of(x).dtype
    above = x if min is None else apply("maximum", x, _convert_bound(min, dtype))
    return astype(above if max is None else apply("minimum", above, _convert_bound(max, dtype)), dtype)


def _convert_bound(bound: Any, dtype: DType) -> Any:
    """A bound of another integer dtype as the nearest number of this one."""
    if type(unwrap_weak(bound)) in (int, float) or not (dtype.is_integer and type_of(bound).dtype.is_integer):
        return bound
    (low, high), (lowest, highest) = dtype.range, type_of(bound).dtype.range
    above = bound if low <= lowest else apply("maximum", bound, low)
    return astype(above if high >= highest else apply("minimum", above, high), dtype)


def positive(x: Any, /) -> Any:
    """The number itself.

    >>> positive(-2.5)
    -2.5
    """
    check_numeric(x)
    return apply("identity", x)


def reciprocal(x: Any, /) -> Any:
    """1 / x, of floats.

    >>> reciprocal(4.0)
    0.25
    """
    return apply("divide", 1.0, x)


def square(x: Any, /) -> Any:
    """x * x.

    >>> square(-3)
    9
    """
    return apply("multiply", x, x)
