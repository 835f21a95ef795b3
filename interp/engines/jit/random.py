"""Random numbers in compiled code: the same as those of core.ops.random, from the same keys.

Python's unbounded integers are 64-bit words here. Casts are explicit, since numba makes a float of the sum of an
unsigned and a signed integer.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np
from numba import float64, int64, uint64

from . import c_math, intrinsics
from .memory import kernel


@kernel
def splitmix64(seed, number):  # type: ignore[no-untyped-def]
    """Word `number` of the SplitMix64 sequence of a seed (core/hashing.py)."""
    z = seed + (number + uint64(1)) * uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@kernel
def child_key(key, site, iteration):  # type: ignore[no-untyped-def]
    """The key of a tag, from the key of its parent."""
    return splitmix64(key ^ site, uint64(iteration))


@kernel
def draw_key(seed, node, key):  # type: ignore[no-untyped-def]
    """The key of a draw; its element i has splitmix64(base, i)."""
    return splitmix64(key ^ node, seed)


@kernel
def _unit_interval(word, offset):  # type: ignore[no-untyped-def]
    return float64((word >> uint64(11)) + offset) * 2.0**-53


@kernel
def uniform(key):  # type: ignore[no-untyped-def]
    """A float64 from 0 to below 1."""
    return _unit_interval(splitmix64(key, uint64(0)), uint64(0))


_multiply_high: Any = intrinsics.multiply_high
_log, _cos = c_math.log, c_math.cos


@kernel
def normal(key):  # type: ignore[no-untyped-def]
    """A float64 of the standard normal distribution, by Box and Muller's transform."""
    first = _unit_interval(splitmix64(key, uint64(0)), uint64(1))
    second = _unit_interval(splitmix64(key, uint64(1)), uint64(0))
    return sqrt(-2.0 * _log(first)) * _cos(2.0 * pi * second)


@kernel
def integers(key, low, high):  # type: ignore[no-untyped-def]
    """A number from `low` to `high` (exclusive), which is greater."""
    size = uint64(high) - uint64(low)
    rejection_bound, number = (uint64(0) - size) % size, uint64(0)
    while True:
        word = splitmix64(key, number)
        if word * size >= rejection_bound:
            return low + int64(_multiply_high(word, size))
        number += uint64(1)


@kernel
def permutation(key, size):  # type: ignore[no-untyped-def]
    """The integers from 0 to below `size` in random order (Fisher and Yates)."""
    numbers = np.arange(size)
    for last in range(size - 1, 0, -1):
        position = integers(splitmix64(key, uint64(last)), 0, last + 1)
        numbers[last], numbers[position] = numbers[position], numbers[last]
    return numbers
