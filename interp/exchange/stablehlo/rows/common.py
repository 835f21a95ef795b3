"""Helpers of rows of several families."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.frontend.array_api.common import rank_of, shape_of
from .....core.types import Type
from ...operands import check_table_size, dtype_of, scalar_like, to_dtype
from ...refusals import tl

__all__ = [
    "check_table_size",
    "clamp_start",
    "dimension_numbers",
    "dtype_of",
    "known_shape",
    "move_axes",
    "rank_of",
    "scalar_like",
    "sizes_of",
    "to_dtype",
]  # fmt: skip


def sizes_of(x: Any) -> tuple[int, ...]:
    """The sizes of an operand, which are all static."""
    return known_shape(Type(dtype_of(x), shape_of(x)))


def known_shape(type_: Type) -> tuple[int, ...]:
    """The shape of a type whose sizes are all static."""
    return tuple(int(size or 0) for size in type_.shape or ())


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
        return tl.astype(tl.minimum(start, scalar_like(min(limit, dtype_of(start).range[1]), start)), tl.int64)
    wide = to_dtype(start, tl.int64)
    return tl.minimum(tl.maximum(wide, np.int64(0)), np.int64(limit))


def dimension_numbers(text: str) -> dict[str, list[int]]:
    """The numbers of an attribute of StableHLO.

    >>> dimension_numbers("#stablehlo.gather<offset_dims = [1, 2], index_vector_dim = 1>")
    {'offset_dims': [1, 2], 'index_vector_dim': [1]}
    """
    entries = re.findall(r"(\w+) = \[?([-\d, ]*)\]?", text)
    return {name: [int(number) for number in numbers.split(",") if number.strip()] for name, numbers in entries}
