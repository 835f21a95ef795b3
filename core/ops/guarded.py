"""Scalar kernels with their edges guarded: plain functions of plain numbers that never raise.

Python raises on 1/0.0, log(0) and exp(1000); IEEE 754 has values there, and these functions give them.
"""

from __future__ import annotations

import math

_EXP_HIGHEST = 709.782712893384
"""The largest float64 whose exponential is finite."""


def div(x: float, y: float) -> float:
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x or y != y:
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def floordiv(x: float, y: float) -> float:
    if isinstance(x, int):
        return x // y if y != 0 else 0
    return x // y if y != 0.0 else div(x, y)


def mod(x: float, y: float) -> float:
    if isinstance(x, int):
        return x % y if y != 0 else 0
    return x % y if y != 0.0 else math.nan


def power(x: float, y: float) -> float:
    if isinstance(x, int):
        return _integer_power(x, int(y))
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0.0 and y % 2.0 == 1.0 else math.inf
    except ValueError:
        if x != 0.0:
            return math.nan
        return -math.inf if math.copysign(1.0, x) < 0.0 and y % 2.0 == 1.0 else math.inf


def _integer_power(x: int, y: int) -> int:
    """Square and multiply modulo 2**64, so that intermediate numbers stay small."""
    return pow(x, y, 2**64) if y >= 0 else 0


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


def to_integer(x: float, low: int, high: int) -> int:
    """Toward zero; beyond the range its nearest number; NaN gives 0."""
    if x != x:
        return 0
    if x >= high:
        return high
    return int(x) if x > low else low
