"""Division that truncates, as in C."""

from __future__ import annotations

import numpy as np
import pytest
import tagloom as tl
from tagloom.interp.exchange.truncation import truncate_divide, truncate_remainder


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_integers_divide_as_in_c(dtype: type[np.integer]) -> None:
    """For all pairs of integers of 8 bits, the quotient is rounded toward zero, and the remainder has the sign of the
    dividend; a constant divisor gives the same."""
    limits = np.iinfo(dtype)
    numbers = np.arange(limits.min, limits.max + 1).astype(dtype)
    x, y = (each.reshape(-1) for each in np.meshgrid(numbers, numbers[numbers != 0]))
    quotient = np.trunc(x.astype(np.float64) / y).astype(np.int64).astype(dtype)
    for divisor in (y, tl.asarray(y)):
        assert np.array_equal(np.asarray(truncate_divide(tl.asarray(x), divisor)), quotient)
        assert np.array_equal(np.asarray(truncate_remainder(tl.asarray(x), divisor)), np.fmod(x, y))


def test_floats_divide_as_in_c() -> None:
    """The remainder of floats is that of C's fmod, -0.0 included."""
    x, y = np.array([5.5, -5.5, 5.5, -5.5, -3.0]), np.array([3.0, 3.0, -3.0, -3.0, 3.0])
    remainder = np.asarray(truncate_remainder(tl.asarray(x), tl.asarray(y)))
    assert np.array_equal(remainder, np.fmod(x, y)) and np.signbit(remainder[-1])
    assert np.array_equal(np.asarray(truncate_divide(tl.asarray(x), tl.asarray(y))), np.trunc(x / y))
