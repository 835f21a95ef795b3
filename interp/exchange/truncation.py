"""Division that truncates, as in C: quotients are rounded toward zero, remainders have the sign of the dividend. Ops of
tagloom round down, as Python does."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operands import dtype_of, scalar_like
from .refusals import tl


def truncate_divide(x: Any, y: Any) -> Any:
    """The quotient of numbers of one dtype, rounded toward zero. Integers that are divided by 0 trap."""
    if dtype_of(x).kind == "f":
        return tl.trunc(tl.divide(x, y))
    quotient = tl.floor_divide(x, y)
    if dtype_of(x).kind == "u":
        return quotient
    is_rounded = tl.not_equal(tl.remainder(x, y), scalar_like(0, x))
    is_negative = has_other_sign(x, y)
    return tl.where(tl.logical_and(is_rounded, is_negative), tl.add(quotient, scalar_like(1, x)), quotient)


def truncate_remainder(x: Any, y: Any) -> Any:
    """The remainder of numbers of one dtype, with the sign of x. Integers that are divided by 0 trap."""
    if dtype_of(x).kind == "f":
        return tl.copysign(tl.remainder(tl.abs(x), tl.abs(y)), x)
    remainder = tl.remainder(x, y)
    if dtype_of(x).kind == "u":
        return remainder
    has_sign_of_y = tl.logical_and(tl.not_equal(remainder, scalar_like(0, x)), has_other_sign(x, y))
    return tl.where(has_sign_of_y, tl.subtract(remainder, y), remainder)


def has_other_sign(x: Any, y: Any) -> Any:
    """Whether exactly one of two integers is negative."""
    is_negative = tl.less(x, scalar_like(0, x))
    if isinstance(y, np.ndarray) and bool(np.all(y > 0)):
        return is_negative
    return tl.not_equal(is_negative, tl.less(y, scalar_like(0, y)))
