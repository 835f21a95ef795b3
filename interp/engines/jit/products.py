"""Sums and matrix products for compiled code, of arrays in C order. Sums of floats are added in float64, of integers in
64 bits. Products of floats are of their own dtype (matrices.py).

The order of additions is free: rows of the registry say how far results may be apart.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .inner import kernel

_reassociate_kernel: Any = partial(kernel, fastmath={"reassoc"})


@_reassociate_kernel
def sum_all(x, zero):  # type: ignore[no-untyped-def]
    """The sum of all elements; as many at a time as vector registers take, which takes a sixth of the time."""
    flat, sum_ = x.reshape(-1), zero
    for i in range(flat.size):
        sum_ += flat[i]
    return sum_


@kernel
def sum_middle_axis(x, wide):  # type: ignore[no-untyped-def]
    """Sums along the middle one of three axes."""
    made = np.zeros((x.shape[0], x.shape[2]), wide)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(x.shape[2]):
                made[i, j] += x[i, k, j]
    return made


@kernel
def integer_matmul(x, y, dtype):  # type: ignore[no-untyped-def]
    """The product of two matrices of integers, modulo what the dtype holds."""
    made = np.zeros((x.shape[0], y.shape[1]), dtype)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(y.shape[1]):
                made[i, j] += x[i, k] * y[k, j]
    return made
