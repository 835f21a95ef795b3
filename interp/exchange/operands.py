"""Operands of rows, as several importers read, convert and check them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dtypes import DType
from ...core.errors import Malformed
from ...core.frontend.array_api.common import shape_of, type_of
from ...core.frontend.trace.source_location import user_location
from .refusals import tl, unsupported

MAX_ELEMENTS = 2**26
"""The most elements of an array whose sizes are known before the run."""


def dtype_of(x: Any) -> DType:
    """The dtype of an operand."""
    return type_of(x).dtype


def to_dtype(x: Any, dtype: DType) -> Any:
    """An operand in a dtype."""
    return x if dtype_of(x) is dtype else tl.astype(x, dtype)


def scalar_like(value: float, x: Any) -> Any:
    """A number as a constant without axes, in the dtype of an operand."""
    return np.asarray(value, dtype_of(x).numpy)


def axis_position(axis: Any, rank: int) -> int:
    """An axis of an array of `rank` axes, counted from the first; raises Malformed if there is no such axis."""
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise Malformed("there is no such axis", where=user_location(), required=f"{-rank} to {rank - 1}", got=axis)
    return axis % rank


def known_sizes(x: Any, axes: Sequence[int] | None = None) -> tuple[int, ...]:
    """The sizes of an operand, along some axes or all; raises Unsupported for one that is known only at run time."""
    shape = shape_of(x)
    sizes = shape if axes is None else [shape[axis] for axis in axes]
    if any(size is None for size in sizes):
        raise unsupported("shape", "sizes must be known here before the run", got=type_of(x))
    return tuple(size for size in sizes if size is not None)


def check_room(*sizes: Any) -> None:
    """Raises Malformed if a size is negative, Unsupported if all sizes are known and give more than MAX_ELEMENTS
    elements."""
    static_sizes = [size for size in sizes if isinstance(size, int)]
    if any(size < 0 for size in static_sizes):
        raise Malformed("a size is negative", where=user_location(), got=static_sizes)
    if len(static_sizes) == len(sizes) and math.prod(static_sizes) > MAX_ELEMENTS:
        required = f"at most {MAX_ELEMENTS:,} elements"
        raise unsupported("limit", "this array is too large", required=required, got=static_sizes)


def check_table_size(*sizes: int) -> None:
    """Raises Unsupported for sizes of more than MAX_ELEMENTS elements, of an array that a row builds beside its
    operands and results, such as the weights of a resized axis."""
    if any(size < 0 for size in sizes) or math.prod(sizes) > MAX_ELEMENTS:
        required = f"at most {MAX_ELEMENTS:,} elements"
        raise unsupported("limit", "this operation needs a table that is too large", required=required, got=sizes)
