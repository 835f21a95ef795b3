"""Helpers of rows of several families."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.dtypes import DType
from .....core.errors import Malformed
from .....core.frontend.array_api.common import rank_of, shape_of, type_of
from .....core.frontend.trace.source_location import user_location
from ..operations import tl, unsupported

__all__ = ["axes_of", "axis_position", "check_room", "dtype_of", "elements", "integer", "known_sizes", "numeric",
           "rank_of", "scalar", "shape_of", "to_dtype", "type_of", "vector"]  # fmt: skip

MAX_ELEMENTS = 2**26
"""The most elements of an array whose sizes are known before the run."""


def dtype_of(x: Any) -> DType:
    """The dtype of an operand."""
    return type_of(x).dtype


def to_dtype(x: Any, dtype: DType) -> Any:
    """An operand in a dtype."""
    return x if dtype_of(x) is dtype else tl.astype(x, dtype)


def numeric(value: float, x: Any) -> Any:
    """A number in the dtype of an operand."""
    return np.asarray(value, dtype_of(x).numpy)


def scalar(x: Any) -> Any:
    """An operand of one element, without axes."""
    return x if shape_of(x) == () else tl.reshape(x, ())


def integer(constant: Any) -> int:
    """A constant of one element as an integer."""
    return int(np.asarray(constant).reshape(()))


def axis_position(axis: int, rank: int) -> int:
    """An axis of an array of `rank` axes, counted from the first; raises Malformed if there is no such axis."""
    if not -rank <= axis < rank:
        raise Malformed("there is no such axis", where=user_location(), required=f"{-rank} to {rank - 1}", got=axis)
    return axis % rank


def axes_of(constant: Any, rank: int) -> tuple[int, ...]:
    """The axes that a constant names."""
    return tuple(axis_position(int(axis), rank) for axis in np.asarray(constant).reshape(-1))


def known_sizes(x: Any, axes: Sequence[int] | None = None) -> tuple[int, ...]:
    """The sizes of an operand, along some axes or all; raises Unsupported for one that is known only at run time."""
    shape = shape_of(x)
    sizes = shape if axes is None else [shape[axis] for axis in axes]
    if any(size is None for size in sizes):
        raise unsupported("shape", "sizes must be known here before the run", got=type_of(x))
    return tuple(size for size in sizes if size is not None)


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


def check_room(*sizes: Any) -> None:
    """Raises Malformed if a size is negative, Unsupported if all sizes are known and give more than MAX_ELEMENTS
    elements."""
    known = [size for size in sizes if isinstance(size, int)]
    if any(size < 0 for size in known):
        raise Malformed("a size is negative", where=user_location(), got=list(known))
    if len(known) == len(sizes) and math.prod(known) > MAX_ELEMENTS:
        required = f"at most {MAX_ELEMENTS:,} elements"
        raise unsupported("limit", "this array is too large", required=required, got=list(known))
