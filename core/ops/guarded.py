"""Scalar kernels with their edges guarded: plain functions of plain numbers that never raise.

Python raises on 1/0.0, log(0) and exp(1000); IEEE 754 has values there, and these functions give them. They compute on
Python's numbers and on those of machines alike: an integer that they make is of the type of their operands, so that
nothing turns into a float where integers are unsigned.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_EXP_HIGHEST = 709.782712893384
"""The largest float64 whose exponential is finite."""


def div(x: float, y: float) -> float:
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x or y != y:
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def floordiv(x: float, y: float) -> float:
    return x // y if y != 0.0 else div(x, y)


def integer_floordiv(x: int, y: int) -> int:
    """The lowest integer // -1 is by itself beyond machines, which wrap its negative."""
    if y == -1:
        return -x
    return x // y if y != 0 else y


def mod(x: float, y: float) -> float:
    return x % y if y != 0.0 else math.nan


def integer_mod(x: int, y: int) -> int:
    if y == -1:
        return x - x
    return x % y if y != 0 else y


def power(x: float, y: float) -> float:
    """C's pow, to the bit: Python's raises where that overflows, has a pole, or is undefined."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0.0 and y % 2.0 == 1.0 else math.inf
    except ValueError:
        if x != 0.0:
            return math.nan
        return -math.inf if math.copysign(1.0, x) < 0.0 and y % 2.0 == 1.0 else math.inf


def integer_power(x: int, y: int, one: int, mask: int) -> int:
    """Square and multiply modulo 2**64, so that intermediate numbers stay small: `mask` is 2**64 - 1."""
    if y < 0:
        return one - one
    made = one
    while y > 0:
        if y & one:
            made = made * x & mask
        x = x * x & mask
        y = y >> one
    return made


def exp(x: float) -> float:
    return math.exp(x) if not x > _EXP_HIGHEST else math.inf


def log(x: float) -> float:
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def sqrt(x: float) -> float:
    return math.sqrt(x) if not x < 0.0 else math.nan


def sin(x: float) -> float:
    return math.sin(x) if not math.isinf(x) else math.nan


def cos(x: float) -> float:
    return math.cos(x) if not math.isinf(x) else math.nan


def minimum(x: float, y: float) -> float:
    return x if x != x or x <= y else y


def maximum(x: float, y: float) -> float:
    return x if x != x or x >= y else y


def to_integer(x: float, low: int, high: int, integer: Callable[[float], int]) -> int:
    """Toward zero; beyond the range its nearest number; NaN gives 0. `integer` makes one of a number."""
    if x != x:
        return integer(0)
    if x >= high:
        return high
    return integer(x) if x > low else low


def nonzero(x: float) -> bool:
    return x != 0
