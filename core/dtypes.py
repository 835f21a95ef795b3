"""The element types: what kind of number a value holds.

A dtype is a class, so that it serves as an annotation and as a value: `def f(n: tl.int64)`.
"""

from __future__ import annotations

import builtins

import numpy as np


class DType(type):
    """The class of all dtypes. `kind` is 'b' (bool), 'i' (signed integer) or 'f' (floating point)."""

    kind: str
    numpy: np.dtype[np.generic]

    def __repr__(cls) -> str:
        return cls.__name__


class int64(metaclass=DType):  # noqa: N801 - the name is the Array API's
    """64-bit signed integers; arithmetic wraps."""

    kind = "i"
    numpy = np.dtype(np.int64)


class float64(metaclass=DType):  # noqa: N801
    """64-bit IEEE 754 floating point."""

    kind = "f"
    numpy = np.dtype(np.float64)


class bool(metaclass=DType):  # noqa: N801
    """Truth values."""

    kind = "b"
    numpy = np.dtype(np.bool_)


ALL: tuple[DType, ...] = (bool, int64, float64)
BY_NUMPY: dict[np.dtype[np.generic], DType] = {dtype.numpy: dtype for dtype in ALL}
BY_PYTHON: dict[type, DType] = {builtins.bool: bool, int: int64, float: float64}
