"""Reductions and cumulative reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .....core.types import Type
from ..operations import row, tl, unsupported
from .common import (
    axes_of,
    axis_position,
    cast,
    check_count,
    check_room,
    dtype_of,
    known_sizes,
    rank_of,
    scalar_like,
    shape_of,
    to_dtype,
)
from .elementwise import to_bool
from .indexing import sort
from .shapes import part, reshape


@row("sum")
def sum_(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, result: Type) -> Any:
    x = to_dtype(self, result.dtype)
    return tl.sum(x, axis=axes_of(dim, rank_of(x)), keepdims=keepdim, dtype=result.dtype)


@row("nansum")
def nansum(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, result: Type) -> Any:
    x = to_dtype(self, result.dtype)
    x = tl.where(tl.isnan(x), scalar_like(0, x), x) if dtype_of(x).kind == "f" else x
    return sum_(x, dim, keepdim, result=result)


@row("mean")
def mean(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, result: Type) -> Any:
    x = to_dtype(self, result.dtype)
    return tl.mean(x, axis=axes_of(dim, rank_of(x)), keepdims=keepdim)


@row("prod")
def prod(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, result: Type) -> Any:
    x = to_dtype(self, result.dtype)
    return tl.prod(x, axis=axes_of(dim, rank_of(x)), keepdims=keepdim, dtype=result.dtype)


def reduce_extreme(x: Any, dim: Any, keepdim: bool, function: str) -> Any:
    """The "max" or "min" along axes, of bools as well."""
    axes = axes_of(dim, rank_of(x))
    if dtype_of(x).kind == "b":
        return getattr(tl, "any" if function == "max" else "all")(x, axis=axes, keepdims=keepdim)
    return getattr(tl, function)(x, axis=axes, keepdims=keepdim)


@row("amax")
def amax(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return reduce_extreme(self, dim, keepdim, "max")


@row("amin")
def amin(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return reduce_extreme(self, dim, keepdim, "min")


@row("aminmax")
def aminmax(self: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    return amin(self, dim, keepdim), amax(self, dim, keepdim)


@row("max")
def max_(self: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    """The maximum of one array; along an axis, with the indices; or of two arrays."""
    return extreme_of(self, dim, keepdim, other, "max", "argmax", "maximum")


@row("min")
def min_(self: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    return extreme_of(self, dim, keepdim, other, "min", "argmin", "minimum")


def extreme_of(x: Any, dim: Any, keepdim: bool, other: Any, of_one: str, position: str, of_two: str) -> Any:
    """The extreme of one array; along an axis, with the indices; or of two arrays. The names are those of functions."""
    if other is not None:
        dtype = dtype_of(x) if dtype_of(x) is dtype_of(other) else tl.result_type(x, other)
        return getattr(tl, of_two)(*cast(dtype, x, other))
    if dim is None:
        return reduce_extreme(x, None, False, of_one)
    return reduce_extreme(x, dim, keepdim, of_one), extreme_position(x, dim, keepdim, position)


def extreme_position(x: Any, dim: Any, keepdim: bool, function: str) -> Any:
    """The indices of extremes along an axis, by "argmax" or "argmin"; without an axis, the index in the flat array."""
    x = tl.astype(x, tl.int8) if dtype_of(x).kind == "b" else x
    if rank_of(x) == 0:
        return np.zeros((), np.int64)
    if dim is None:
        flat = getattr(tl, function)(reshape(x, (-1,)), axis=0)
        return reshape(flat, (1,) * rank_of(x)) if keepdim else flat
    return getattr(tl, function)(x, axis=axis_position(dim, rank_of(x)), keepdims=keepdim)


@row("argmax")
def argmax(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    return extreme_position(self, dim, keepdim, "argmax")


@row("argmin")
def argmin(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    return extreme_position(self, dim, keepdim, "argmin")


@row("any")
def any_(self: Any, dim: Any = None, keepdim: bool = False, *, result: Type) -> Any:
    reduced = tl.any(to_bool(self), axis=axes_of(dim, rank_of(self)), keepdims=keepdim)
    return to_dtype(reduced, result.dtype)


@row("all")
def all_(self: Any, dim: Any = None, keepdim: bool = False, *, result: Type) -> Any:
    reduced = tl.all(to_bool(self), axis=axes_of(dim, rank_of(self)), keepdims=keepdim)
    return to_dtype(reduced, result.dtype)


@row("count_nonzero")
def count_nonzero(self: Any, dim: Any = None) -> Any:
    return tl.sum(tl.astype(to_bool(self), tl.int64), axis=axes_of(dim, rank_of(self)))


@row("var")
def var(self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None) -> Any:
    return tl.var(
        self, axis=axes_of(dim, rank_of(self)), correction=correction_of(unbiased, correction), keepdims=keepdim
    )


def correction_of(unbiased: bool, correction: Any) -> float:
    """The number that is subtracted from the number of elements, for the divisor of a variance."""
    return float(unbiased) if correction is None else float(correction)


@row("std")
def std(self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None) -> Any:
    return tl.sqrt(var(self, dim, unbiased, keepdim, correction=correction))


@row("var_mean")
def var_mean(
    self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    center = tl.mean(self, axis=axes_of(dim, rank_of(self)), keepdims=keepdim)
    return var(self, dim, unbiased, keepdim, correction=correction), center


@row("std_mean")
def std_mean(
    self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    spread, center = var_mean(self, dim, unbiased, keepdim, correction=correction)
    return tl.sqrt(spread), center


@row("linalg_vector_norm")
def vector_norm(
    self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, result: Type
) -> Any:
    return tl.linalg.vector_norm(to_dtype(self, result.dtype), axis=axes_of(dim, rank_of(self)), keepdims=keepdim,
                                 ord=float(ord))  # fmt: skip


@row("norm")
def norm(self: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, result: Type) -> Any:
    return vector_norm(self, 2 if p is None else p, dim, keepdim, result=result)


@row("linalg_norm")
def linalg_norm(
    self: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, result: Type
) -> Any:
    """The norm of matrices if there are an order and two axes; else the norm of vectors."""
    axes = axes_of(dim, rank_of(self))
    if ord is None or len(axes) == 1:
        return vector_norm(self, 2 if ord is None else ord, dim, keepdim, result=result)
    return matrix_norm(self, ord, axes, keepdim, result=result)


@row("linalg_matrix_norm")
def matrix_norm(
    self: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None, result: Type
) -> Any:
    axes = axes_of(list(dim), rank_of(self))
    matrices = tl.moveaxis(to_dtype(self, result.dtype), axes, (-2, -1))
    norms = tl.linalg.matrix_norm(matrices, ord=ord if isinstance(ord, str) else float(ord))
    return tl.expand_dims(norms, axis=tuple(sorted(axes))) if keepdim else norms


@row("logsumexp")
def logsumexp(self: Any, dim: Any, keepdim: bool = False, *, result: Type) -> Any:
    return tl.logsumexp(to_dtype(self, result.dtype), axis=axes_of(dim, rank_of(self)), keepdims=keepdim)


def cumulative(function: str, x: Any, dim: int, dtype: Any = None) -> Any:
    """A cumulative reduction by a function of this name; an array without axes is its own."""
    if rank_of(x) == 0:
        return x
    options = {} if dtype is None else {"dtype": dtype}
    return getattr(tl, function)(x, axis=axis_position(dim, rank_of(x)), **options)


@row("cumsum")
def cumsum(self: Any, dim: int, *, dtype: Any = None, result: Type) -> Any:
    return cumulative("cumulative_sum", to_dtype(self, result.dtype), dim, result.dtype)


@row("cumprod")
def cumprod(self: Any, dim: int, *, dtype: Any = None, result: Type) -> Any:
    return cumulative("cumulative_prod", to_dtype(self, result.dtype), dim, result.dtype)


@row("logcumsumexp")
def logcumsumexp(self: Any, dim: int) -> Any:
    return cumulative("cumlogsumexp", self, dim)


@row("cummax")
def cummax(self: Any, dim: int) -> Any:
    return cumulative_extreme(self, dim, "cummax")


@row("cummin")
def cummin(self: Any, dim: int) -> Any:
    return cumulative_extreme(self, dim, "cummin")


def cumulative_extreme(x: Any, dim: int, function: str) -> Any:
    """The extremes so far, and the last position where each was."""
    extremes = cumulative(function, x, dim)
    if rank_of(x) == 0:
        return extremes, np.zeros((), np.int64)
    axis = axis_position(dim, rank_of(x))
    size = shape_of(x)[axis]
    if size is None:
        raise unsupported("shape", f"{function} along an axis whose size is known only at run time")
    check_room(size)
    numbers = np.arange(size).reshape([-1 if k == axis else 1 for k in range(rank_of(x))])
    is_new = tl.equal(x, extremes)
    if dtype_of(x).kind == "f":
        is_new = tl.logical_or(is_new, tl.isnan(x))
    return extremes, tl.cummax(tl.where(is_new, numbers, np.int64(0)), axis=axis)


@row("median")
def median(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower one of two medians; NaN where an element is NaN, with the position of the first one."""
    if dim is None:
        return median(reshape(self, (-1,)), 0)[0]
    if rank_of(self) == 0:
        return self, np.zeros((), np.int64)
    axis = axis_position(dim, rank_of(self))
    values, order = sort(self, axis)
    position = (known_sizes(self, [axis])[0] - 1) // 2
    entry = slice(position, position + 1) if keepdim else position
    middle, index = part(values, axis, entry), part(order, axis, entry)
    if dtype_of(self).kind != "f":
        return middle, index
    has_nan = tl.any(tl.isnan(self), axis=axis, keepdims=keepdim)
    first = tl.argmax(tl.astype(tl.isnan(self), tl.int8), axis=axis, keepdims=keepdim)
    return tl.where(has_nan, scalar_like(math.nan, self), middle), tl.where(has_nan, first, index)


@row("diff")
def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    check_count(n)
    return tl.diff(self, n=n, axis=axis_position(dim, rank_of(self)), prepend=prepend, append=append)


@row("trace")
def trace(self: Any) -> Any:
    return tl.linalg.trace(self)


@row("dist")
def dist(self: Any, other: Any, p: Any = 2, *, result: Type) -> Any:
    return vector_norm(tl.subtract(self, other), p, result=result)


@row("renorm")
def renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """Parts along an axis whose norms are too large are scaled down."""
    axis = axis_position(dim, rank_of(self))
    other_axes = tuple(k for k in range(rank_of(self)) if k != axis)
    norms = tl.linalg.vector_norm(self, axis=other_axes, keepdims=True, ord=float(p))
    factor = tl.divide(scalar_like(maxnorm, self), tl.add(norms, scalar_like(1e-7, self)))
    return tl.multiply(self, tl.where(tl.greater(norms, scalar_like(maxnorm, self)), factor, scalar_like(1, self)))
