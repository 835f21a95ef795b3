"""Operators that create arrays, and draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .....core.dtypes import DType
from .....core.types import Type
from ..operations import row, tl, unsupported
from .common import check_room, dtype_of, is_number, known_sizes, rank_of, scalar_like, to_dtype


def full_array(sizes: list[Any], value: Any, dtype: DType) -> Any:
    """An array of one value."""
    check_room(*sizes)
    element = to_dtype(value, dtype)
    if all(isinstance(size, int) for size in sizes):
        return tl.broadcast_to(element, tuple(sizes)) if sizes else element
    return tl.full(tuple(sizes), element)


@row("full")
def full(size: list[Any], fill_value: Any, *, dtype: Any = None, result: Type) -> Any:
    return full_array(size, fill_value, result.dtype)


@row("zeros", "empty", "empty_permuted", "empty_strided")
def zeros(size: list[Any], *, dtype: Any = None, physical_layout: Any = None, stride: Any = None, result: Type) -> Any:
    """Elements that PyTorch leaves uninitialised are zeros."""
    return full_array(size, 0, result.dtype)


@row("ones")
def ones(size: list[Any], *, dtype: Any = None, result: Type) -> Any:
    return full_array(size, 1, result.dtype)


@row("full_like")
def full_like(self: Any, fill_value: Any, *, dtype: Any = None, result: Type) -> Any:
    return full_array(list(tl.shape(self)), fill_value, result.dtype)


@row("zeros_like", "empty_like")
def zeros_like(self: Any, *, dtype: Any = None, result: Type) -> Any:
    return full_array(list(tl.shape(self)), 0, result.dtype)


@row("ones_like")
def ones_like(self: Any, *, dtype: Any = None, result: Type) -> Any:
    return full_array(list(tl.shape(self)), 1, result.dtype)


@row("new_full")
def new_full(self: Any, size: list[Any], fill_value: Any, *, dtype: Any = None, result: Type) -> Any:
    return full_array(size, fill_value, result.dtype)


@row("new_zeros", "new_empty", "new_empty_strided")
def new_zeros(self: Any, size: list[Any], *, stride: Any = None, dtype: Any = None, result: Type) -> Any:
    return full_array(size, 0, result.dtype)


@row("new_ones")
def new_ones(self: Any, size: list[Any], *, dtype: Any = None, result: Type) -> Any:
    return full_array(size, 1, result.dtype)


@row("scalar_tensor")
def scalar_tensor(s: Any, *, dtype: Any = None, result: Type) -> Any:
    return to_dtype(s, result.dtype)


@row("arange")
def arange(end: Any, start: Any = 0, step: Any = 1, *, dtype: Any = None, result: Type) -> Any:
    bounds = (start, end, step)
    if all(map(is_number, bounds)):
        count = max(math.ceil((end - start) / step), 0)
        check_room(count)
        if result.dtype.kind == "f":
            return (start + step * np.arange(count, dtype=np.float64)).astype(result.dtype.numpy)
        return np.arange(start, end, step).astype(result.dtype.numpy)
    wide = [to_dtype(bound, tl.float64 if result.dtype.kind == "f" else tl.int64) for bound in bounds]
    return to_dtype(tl.arange(*wide), result.dtype)


@row("linspace")
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, result: Type) -> Any:
    if not is_number(start) or not is_number(end):
        first, last = (to_dtype(bound, result.dtype) for bound in (start, end))
        return tl.linspace(first, last, steps, dtype=result.dtype)
    check_room(steps)
    return np.linspace(start, end, steps).astype(result.dtype.numpy)


@row("logspace")
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, result: Type) -> Any:
    check_room(steps)
    return np.logspace(start, end, steps, base=base).astype(result.dtype.numpy)


@row("eye")
def eye(n: int, m: int | None = None, *, dtype: Any = None, result: Type) -> Any:
    check_room(n, n if m is None else m)
    return np.eye(n, m).astype(result.dtype.numpy)


@row("tril")
def tril(self: Any, diagonal: int = 0) -> Any:
    return tl.tril(self, k=diagonal)


@row("triu")
def triu(self: Any, diagonal: int = 0) -> Any:
    return tl.triu(self, k=diagonal)


@row("tril_indices")
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, result: Type) -> Any:
    check_room(row, col)
    return np.array(np.tril_indices(row, offset, col)).astype(result.dtype.numpy)


@row("triu_indices")
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, result: Type) -> Any:
    check_room(row, col)
    return np.array(np.triu_indices(row, offset, col)).astype(result.dtype.numpy)


# Draws are tagloom's, with its seed.


def uniform(sizes: Any, dtype: DType) -> Any:
    """Draws from [0, 1)."""
    return to_dtype(tl.uniform(tuple(sizes)), dtype)


@row("rand", is_folded=False)
def rand(size: list[Any], *, dtype: Any = None, generator: Any = None, result: Type) -> Any:
    return uniform(size, result.dtype)


@row("rand_like", is_folded=False)
def rand_like(self: Any, *, dtype: Any = None, generator: Any = None, result: Type) -> Any:
    return uniform(tl.shape(self), result.dtype)


@row("randn", is_folded=False)
def randn(size: list[Any], *, dtype: Any = None, generator: Any = None, result: Type) -> Any:
    return to_dtype(tl.normal(tuple(size)), result.dtype)


@row("randn_like", is_folded=False)
def randn_like(self: Any, *, dtype: Any = None, generator: Any = None, result: Type) -> Any:
    return to_dtype(tl.normal(tuple(tl.shape(self))), result.dtype)


@row("randint", is_folded=False)
def randint(high: int, size: list[Any], low: int = 0, *, dtype: Any = None, generator: Any = None, result: Type) -> Any:
    return random_integers(low, high, size, result.dtype)


@row("randint_like", is_folded=False)
def randint_like(self: Any, high: int, low: int = 0, *, dtype: Any = None, result: Type) -> Any:
    return random_integers(low, high, tl.shape(self), result.dtype)


def random_integers(low: int, high: int, sizes: Any, dtype: DType) -> Any:
    """Draws of integers from [low, high)."""
    steps = tl.floor(tl.multiply(tl.uniform(tuple(sizes)), np.float64(high - low)))
    return to_dtype(tl.add(tl.astype(steps, tl.int64), np.int64(low)), dtype)


@row("bernoulli", is_folded=False)
def bernoulli(self: Any, p: Any = None, *, generator: Any = None) -> Any:
    rate = self if p is None else p
    draws = tl.less(tl.uniform(tuple(tl.shape(self))), to_dtype(rate, tl.float64))
    return to_dtype(draws, dtype_of(self))


@row("normal", is_folded=False)
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None, result: Type
) -> Any:
    shape = size if size is not None else tl.shape(std if is_number(mean) else mean)
    draws = to_dtype(tl.normal(tuple(shape)), result.dtype)
    return tl.add(to_dtype(mean, result.dtype), tl.multiply(to_dtype(std, result.dtype), draws))


@row("dropout", is_folded=False)
def dropout(input: Any, p: float, train: bool) -> Any:
    """Without training, all elements stay."""
    return input if not train or p == 0 else drop(input, p)[0]


@row("native_dropout", is_folded=False)
def native_dropout(input: Any, p: float, train: bool | None) -> Any:
    if train is False or p == 0:
        return input, tl.broadcast_to(np.asarray(True), tl.shape(input))
    return drop(input, p)


def drop(x: Any, rate: float) -> tuple[Any, Any]:
    """An array with elements replaced by 0 at random, the others scaled, and which elements stay."""
    if rate >= 1:
        return full_array(list(tl.shape(x)), 0, dtype_of(x)), full_array(list(tl.shape(x)), False, tl.bool)
    keep = tl.greater_equal(tl.uniform(tuple(tl.shape(x))), rate)
    return tl.where(keep, tl.divide(x, scalar_like(1 - rate, x)), scalar_like(0, x)), keep


@row("feature_dropout", "alpha_dropout", is_folded=False)
def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """Without training, all elements stay."""
    if not train or p == 0:
        return input
    if rank_of(input) < 2:
        raise unsupported("shape", "dropout of channels needs an axis of channels")
    sizes = known_sizes(input, (0, 1))
    keep = tl.greater_equal(tl.uniform((*sizes, *[1] * (rank_of(input) - 2))), p)
    return tl.where(keep, tl.divide(input, scalar_like(1 - p, input)), scalar_like(0, input))
