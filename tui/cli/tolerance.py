"""Whether two programs gave the same results up to rounding: `x * x * x` is not `x ** 3` to the last bit.

Floats are close if they differ by at most `TOLERANCES` of the larger of 1 and the required one; NaN is close to NaN,
and an infinity only to itself. Everything else must be equal.
"""

from __future__ import annotations

import re

import numpy as np

from ...core.dtypes import DType, float32, float64
from ...core.types import type_of
from ...core.value import Value, is_same_value

TOLERANCES: dict[DType, float] = {float64: 1e-9, float32: 1e-5}

_DECIMAL = re.compile(r"(-?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+))")


def is_close(got: Value, required: Value) -> bool:
    """Whether two values have one type and are equal, floats nearly.

    >>> is_close(0.1 + 0.2, 0.3), is_close(1, 1.0), is_close(float("nan"), float("nan")), is_close(0.0, float("inf"))
    (True, False, True, False)
    """
    kind = type_of(required)
    if kind.dtype not in TOLERANCES or type_of(got) != kind:
        return is_same_value(got, required)
    return _are_all_close(got, required, TOLERANCES[kind.dtype])


def are_lines_close(got: str, required: str) -> bool:
    """Whether two printed lines are equal, floats in them nearly.

    >>> are_lines_close("x is 0.30000000000000004", "x is 0.3"), are_lines_close("x is 3", "x is 3.0")
    (True, False)
    """
    near = TOLERANCES[float32 if "float32(" in required else float64]
    mine, right = _DECIMAL.split(got), _DECIMAL.split(required)
    numbers, required_numbers = (np.array(each[1::2], dtype=np.float64) for each in (mine, right))
    return mine[::2] == right[::2] and _are_all_close(numbers, required_numbers, near)


def _are_all_close(got: Value, required: Value, near: float) -> bool:
    one, other = (np.asarray(each, dtype=np.float64) for each in (got, required))
    with np.errstate(all="ignore"):
        close = np.isfinite(other) & (np.abs(one - other) <= near * np.maximum(1, np.abs(other)))
    return bool(np.all(close | (one == other) | (np.isnan(one) & np.isnan(other))))
