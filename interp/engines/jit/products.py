"""Sums and matrix products of C-contiguous arrays, for compiled code. Float sums accumulate in float64, integer sums in
64 bits. Float products accumulate in their own dtype (matrices.py).

The order of additions is free: the rows of the registry bound the error.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .inner import kernel

_reassociate_kernel: Any = partial(kernel, fastmath={"reassoc"})


@_reassociate_kernel
def sum_all(x, zero):  # type: ignore[no-untyped-def]
    """The sum of all elements, accumulated in vector registers, which takes a sixth of the time."""
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
    """The product of two integer matrices, modulo the range of the dtype."""
    made = np.zeros((x.shape[0], y.shape[1]), dtype)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(y.shape[1]):
                made[i, j] += x[i, k] * y[k, j]
    return made
