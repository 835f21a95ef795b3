"""Reductions and cumulative ops."""

from __future__ import annotations

import math
from typing import Any

from ...truncation import truncate_divide
from ..operations import operation, tl
from .common import axes_of, axis_position, dtype_of, integer, rank_of, scalar_like, to_dtype


def register_reduction(name: str, function: str) -> None:
    @operation(name, static=(1,))
    def compute(x: Any, axes: Any, *, keep_dims: bool = False) -> Any:
        positions = axes_of(axes, rank_of(x))
        if not positions:
            return x
        return to_dtype(getattr(tl, function)(x, axis=positions, keepdims=keep_dims), dtype_of(x))


for _name, _function in (
    ("Sum", "sum"), ("Prod", "prod"), ("Max", "max"), ("Min", "min"), ("All", "all"), ("Any", "any"),
):  # fmt: skip
    register_reduction(_name, _function)


@operation("Mean", static=(1,))
def mean(x: Any, axes: Any, *, keep_dims: bool = False) -> Any:
    """That of integers is a sum of 64 bits, divided toward zero."""
    positions = axes_of(axes, rank_of(x))
    if not positions:
        return x
    if dtype_of(x).kind == "f":
        return tl.mean(x, axis=positions, keepdims=keep_dims)
    total = tl.sum(x, axis=positions, keepdims=keep_dims)
    sizes = [tl.shape(x)[axis] for axis in positions]
    count = scalar_like(math.prod(size for size in sizes if isinstance(size, int)), total)
    for size in sizes:
        count = count if isinstance(size, int) else tl.multiply(count, to_dtype(size, dtype_of(total)))
    return to_dtype(truncate_divide(total, count), dtype_of(x))


@operation("EuclideanNorm", static=(1,))
def euclidean_norm(x: Any, axes: Any, *, keep_dims: bool = False) -> Any:
    positions = axes_of(axes, rank_of(x))
    return tl.sqrt(tl.sum(tl.square(x), axis=positions, keepdims=keep_dims)) if positions else tl.abs(x)


def register_cumulative(name: str, function: str, start: float) -> None:
    @operation(name, static=(1,))
    def compute(x: Any, axis: Any, *, exclusive: bool = False, reverse: bool = False) -> Any:
        position = axis_position(integer(axis), rank_of(x))
        source = tl.flip(x, axis=position) if reverse else x
        if exclusive:
            leading = [slice(None)] * position
            first = tl.full(
                tuple(1 if k == position else size for k, size in enumerate(tl.shape(x))), scalar_like(start, x)
            )
            source = tl.concat([first, tl.index(source, (*leading, slice(0, -1)))], axis=position)
        result = to_dtype(getattr(tl, function)(source, axis=position), dtype_of(x))
        return tl.flip(result, axis=position) if reverse else result


for _name, _function, _start in (("Cumsum", "cumulative_sum", 0), ("Cumprod", "cumulative_prod", 1)):
    register_cumulative(_name, _function, _start)
