"""Helpers of rows of several families."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .....core.dtypes import DType
from .....core.frontend.array_api.common import rank_of, shape_of, type_of
from ... import operands
from ...operands import check_room, known_sizes
from ..operations import tl, unsupported

__all__ = [
    "FULL",
    "axes_of",
    "axis_position",
    "cast",
    "check_count",
    "check_room",
    "common_dtype",
    "dtype_of",
    "is_number",
    "known_sizes",
    "per_axis",
    "rank_of",
    "scalar_like",
    "shape_of",
    "to_dtype",
    "type_of",
]  # fmt: skip

FULL = slice(None)
MAX_PARTS = 2**14
"""The most arrays that a row makes of one."""


def is_number(x: Any) -> bool:
    """Whether an operand is a number of Python."""
    return isinstance(x, bool | int | float)


def dtype_of(x: Any) -> DType:
    """The dtype of an operand; for a number of Python, PyTorch's default."""
    if isinstance(x, bool):
        return tl.bool  # type: ignore[no-any-return]
    if is_number(x):
        return tl.int64 if isinstance(x, int) else tl.float32  # type: ignore[no-any-return]
    return type_of(x).dtype


def to_dtype(x: Any, dtype: DType) -> Any:
    """An operand in a dtype. A number of Python that does not fit wraps, as in PyTorch."""
    if is_number(x):
        if isinstance(x, float) and dtype.is_integer and not math.isfinite(x):
            raise unsupported("dtype", f"{x} has no value in {dtype!r}")
        if dtype.is_integer:
            return np.asarray(int(x) & (2**dtype.bits - 1), np.uint64).astype(dtype.numpy)
        return np.asarray(x).astype(dtype.numpy)
    return x if dtype_of(x) is dtype else tl.astype(x, dtype)


def cast(dtype: DType, *values: Any) -> list[Any]:
    """Operands in one dtype."""
    return [to_dtype(x, dtype) for x in values]


def scalar_like(value: float, x: Any) -> Any:
    """A number in the dtype of an operand."""
    return np.asarray(value).astype(dtype_of(x).numpy)


def common_dtype(*values: Any) -> DType:
    """The dtype in which PyTorch computes with operands (`torch.result_type`): that of the arrays with axes, unless one
    without axes, or else a number, is of a higher kind: bool, integer, float.

    >>> common_dtype(np.zeros(2, np.int8), 3), common_dtype(np.zeros(2, np.int8), 0.5)
    (int8, float32)
    """
    groups: tuple[list[Any], ...] = ([], [], [])
    for x in values:
        groups[2 if is_number(x) else 0 if rank_of(x) else 1].append(dtype_of(x))
    result: DType | None = None
    for dtypes in filter(None, groups):
        candidate = dtypes[0]
        for dtype in dtypes[1:]:
            candidate = promote(candidate, dtype)
        if result is None or kind_order(candidate) > kind_order(result):
            result = candidate
    assert result is not None
    return result


def kind_order(dtype: DType) -> int:
    """The rank of a dtype among bool, integer and float."""
    return "bif".find(dtype.kind.replace("u", "i"))


def promote(first: DType, second: DType) -> DType:
    """The dtype that holds the values of both dtypes; for a float and an integer, the float's dtype."""
    if first is second:
        return first
    if kind_order(first) != kind_order(second):
        return first if kind_order(first) > kind_order(second) else second
    return tl.result_type(first, second)  # type: ignore[no-any-return]


def axis_position(axis: Any, rank: int) -> int:
    """An axis of an array of `rank` axes, counted from the first; raises Malformed if there is no such axis. An array
    without axes takes axis 0."""
    return operands.axis_position(axis, max(rank, 1))


def axes_of(axes: Any, rank: int) -> tuple[int, ...]:
    """The axes that an argument names; all, if it is None or empty."""
    if axes is None or axes == []:
        return tuple(range(rank))
    axis_list = axes if isinstance(axes, list) else [axes]
    return tuple(axis_position(axis, rank) for axis in axis_list) if rank else ()


def per_axis(numbers: Any, count: int) -> tuple[int, ...]:
    """A number for each of `count` axes; one stands for all."""
    number_list = numbers if isinstance(numbers, list) else [numbers]
    return tuple(number_list * count if len(number_list) == 1 else number_list)


def check_count(count: int) -> None:
    """Raises Unsupported for more parts of an array than MAX_PARTS."""
    if count > MAX_PARTS:
        raise unsupported("limit", "an array is cut into too many parts", required=f"at most {MAX_PARTS:,}", got=count)
