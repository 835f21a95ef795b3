"""Helpers of rows of several families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.dtypes import DType
from .....core.frontend.array_api.common import rank_of, shape_of, type_of
from ...operands import axis_position, check_room, dtype_of, known_sizes, scalar_like, to_dtype
from ..operations import tl

__all__ = [
    "axes_of",
    "axis_position",
    "check_room",
    "dtype_of",
    "elements",
    "integer",
    "known_sizes",
    "rank_of",
    "scalar",
    "scalar_like",
    "shape_of",
    "to_dtype",
    "type_of",
    "vector",
]  # fmt: skip


def scalar(x: Any) -> Any:
    """An operand of one element, without axes."""
    return x if shape_of(x) == () else tl.reshape(x, ())


def integer(constant: Any) -> int:
    """A constant of one element as an integer."""
    return int(np.asarray(constant).reshape(()))


def axes_of(constant: Any, rank: int) -> tuple[int, ...]:
    """The axes that a constant names."""
    return tuple(axis_position(int(axis), rank) for axis in np.asarray(constant).reshape(-1))


def vector(sizes: Sequence[Any], dtype: DType) -> Any:
    """Sizes as a vector: a constant if all are known."""
    if all(isinstance(size, int) for size in sizes):
        return np.array(sizes, dtype.numpy).reshape(len(sizes))
    parts = [np.asarray(size, dtype.numpy) if isinstance(size, int) else to_dtype(size, dtype) for size in sizes]
    return tl.stack(parts)


def elements(x: Any) -> list[Any]:
    """The elements of a vector whose size is known: Python integers if it is a constant."""
    if isinstance(x, np.ndarray):
        return [int(number) for number in x.reshape(-1)]
    (count,) = known_sizes(x)
    return [to_dtype(tl.index(x, k), tl.int64) for k in range(count)]
