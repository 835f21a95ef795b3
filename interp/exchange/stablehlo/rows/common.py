"""Helpers of rows of several families."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.dtypes import DType
from .....core.frontend.array_api.common import rank_of, shape_of, type_of
from .....core.types import Type
from ...refusals import tl, unsupported

__all__ = [
    "check_room",
    "clamp_start",
    "dimension_numbers",
    "dtype_of",
    "known_shape",
    "move_axes",
    "numeric",
    "rank_of",
    "sizes_of",
    "to_dtype",
]  # fmt: skip

MAX_ELEMENTS = 2**26
"""The most elements of an array that a row makes beside its operands and results."""


def dtype_of(x: Any) -> DType:
    """The dtype of an operand."""
    return type_of(x).dtype


def sizes_of(x: Any) -> tuple[int, ...]:
    """The sizes of an operand, which are all static."""
    return known_shape(Type(dtype_of(x), shape_of(x)))


def known_shape(type_: Type) -> tuple[int, ...]:
    """The shape of a type whose sizes are all static."""
    return tuple(int(size or 0) for size in type_.shape or ())


def to_dtype(x: Any, dtype: DType) -> Any:
    """An operand in a dtype."""
    return x if dtype_of(x) is dtype else tl.astype(x, dtype)


def numeric(value: float, x: Any) -> Any:
    """A number in the dtype of an operand."""
    return np.asarray(value, dtype_of(x).numpy)


def move_axes(x: Any, order: Sequence[int]) -> Any:
    """An operand with its axes in another order."""
    return x if list(order) == list(range(len(order))) else tl.permute_dims(x, tuple(order))


def clamp_start(start: Any, limit: int) -> Any:
    """Where a slice begins, int64, moved into the range from 0 to `limit`."""
    if limit <= 0:
        return np.zeros((), np.int64) if rank_of(start) == 0 else np.zeros(sizes_of(start), np.int64)
    if isinstance(start, np.ndarray):
        return np.clip(start, 0, limit).astype(np.int64)
    if dtype_of(start).kind == "u":
        return tl.astype(tl.minimum(start, numeric(min(limit, dtype_of(start).range[1]), start)), tl.int64)
    wide = to_dtype(start, tl.int64)
    return tl.minimum(tl.maximum(wide, np.int64(0)), np.int64(limit))


def check_room(*sizes: int) -> None:
    """Raises Unsupported for an array of more than MAX_ELEMENTS that a row would make."""
    if math.prod(sizes) > MAX_ELEMENTS:
        required = f"at most {MAX_ELEMENTS:,} elements"
        raise unsupported("limit", "this operation needs a table that is too large", required=required, got=sizes)


def dimension_numbers(text: str) -> dict[str, list[int]]:
    """The numbers of an attribute of StableHLO.

    >>> dimension_numbers("#stablehlo.gather<offset_dims = [1, 2], index_vector_dim = 1>")
    {'offset_dims': [1, 2], 'index_vector_dim': [1]}
    """
    entries = re.findall(r"(\w+) = \[?([-\d, ]*)\]?", text)
    return {name: [int(number) for number in numbers.split(",") if number.strip()] for name, numbers in entries}
