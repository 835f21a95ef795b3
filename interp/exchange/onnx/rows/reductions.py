"""Operators that reduce along axes, and those that normalize along them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..operators import operator, tl
from .common import axis_position, dtype_of, integers, rank_of, scalar_like, shape_of, to_dtype
from .shapes import flatten


def _sum(x: Any, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    return tl.sum(x, axis=axes, dtype=dtype_of(x), keepdims=keepdims)


def _mean(x: Any, axes: Any, keepdims: bool) -> Any:
    if dtype_of(x).kind == "f":
        return tl.mean(x, axis=axes, keepdims=keepdims)
    return tl.astype(tl.trunc(tl.mean(tl.astype(x, tl.float64), axis=axes, keepdims=keepdims)), dtype_of(x))


def _of_floats(compute: Callable[[Any, Any, bool], Any]) -> Callable[[Any, Any, bool], Any]:
    """A reduction that computes in floats, of 32 bits or more."""

    def reduce(x: Any, axes: Any, keepdims: bool) -> Any:
        dtype = dtype_of(x)
        wide = to_dtype(x, dtype.compute_dtype if dtype.kind == "f" else tl.float64)
        return to_dtype(compute(wide, axes, keepdims), dtype)

    return reduce


def _extreme(function: str) -> Callable[[Any, Any, bool], Any]:
    def reduce(x: Any, axes: Any, keepdims: bool) -> Any:
        dtype, is_largest = dtype_of(x), function == "max"
        if dtype.kind == "b":
            return (tl.any if is_largest else tl.all)(x, axis=axes, keepdims=keepdims)
        low, high = (-np.inf, np.inf) if dtype.kind == "f" else dtype.range
        identity = scalar_like(low if is_largest else high, x)  # the largest of nothing is the least number of all
        if any(shape_of(x)[axis] == 0 for axis in positions(x, axes)):
            return tl.full(tl.shape(tl.sum(x, axis=axes, keepdims=keepdims)), identity)
        return getattr(tl, function)(pad_open_axes(x, axes, identity), axis=axes, keepdims=keepdims)

    return reduce


def positions(x: Any, axes: tuple[int, ...] | None) -> list[int]:
    """The axes of a reduction, from 0; None means all."""
    rank = rank_of(x)
    return list(range(rank)) if axes is None else [axis_position(axis, rank) for axis in axes]


def pad_open_axes(x: Any, axes: tuple[int, ...] | None, identity: Any) -> Any:
    """An operand of a reduction, with an identity at the end of each axis that the run may find empty."""
    open_axes = [axis for axis in positions(x, axes) if shape_of(x)[axis] is None]
    widths = [(0, int(axis in open_axes)) for axis in range(rank_of(x))]
    return tl.pad(x, widths, value=identity) if open_axes else x


def _logsumexp(x: Any, axes: Any, keepdims: bool) -> Any:
    return tl.logsumexp(pad_open_axes(x, axes, scalar_like(-np.inf, x)), axis=axes, keepdims=keepdims)


REDUCTIONS: dict[str, Callable[[Any, Any, bool], Any]] = {
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceProd": lambda x, axes, keepdims: tl.prod(x, axis=axes, dtype=dtype_of(x), keepdims=keepdims),
    "ReduceMax": _extreme("max"),
    "ReduceMin": _extreme("min"),
    "ReduceL1": lambda x, axes, keepdims: _sum(tl.abs(x), axes, keepdims),
    "ReduceL2": _of_floats(lambda x, axes, keepdims: tl.sqrt(_sum(tl.multiply(x, x), axes, keepdims))),
    "ReduceLogSum": _of_floats(lambda x, axes, keepdims: tl.log(_sum(x, axes, keepdims))),
    "ReduceLogSumExp": _of_floats(_logsumexp),
    "ReduceSumSquare": lambda x, axes, keepdims: _sum(tl.multiply(x, x), axes, keepdims),
}


def register_reduction(name: str, reduce: Callable[[Any, Any, bool], Any]) -> None:
    """The rows of a reduction: its axes were an attribute, and are an operand."""

    @operator(name)
    def by_attribute(x: Any, *, axes: Any = None, keepdims: int = 1) -> Any:
        return reduce(x, None if axes is None else tuple(axes), bool(keepdims))

    @operator(name, version=13 if name == "ReduceSum" else 18, static=(1,))
    def by_operand(x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        axis_numbers = () if axes is None else integers(axes)
        if not axis_numbers and noop_with_empty_axes:
            return reduce(tl.expand_dims(x, axis=0), (0,), False)
        return reduce(x, axis_numbers or None, bool(keepdims))


for _name, _reduce in REDUCTIONS.items():
    register_reduction(_name, _reduce)


def register_search(name: str, function: str) -> None:
    @operator(name)
    def search(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        if not select_last_index:
            return getattr(tl, function)(x, axis=axis, keepdims=bool(keepdims))
        last = tl.shape(x)[axis] - 1
        return tl.subtract(last, getattr(tl, function)(tl.flip(x, axis=axis), axis=axis, keepdims=bool(keepdims)))


register_search("ArgMax", "argmax")
register_search("ArgMin", "argmin")


def along_flat_columns(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function along an axis, as early versions apply it: to a matrix whose columns are all axes from this one on."""

    def compute(x: Any, *, axis: int = 1) -> Any:
        columns = flatten(x, axis=axis_position(axis, rank_of(x)))
        return tl.reshape(function(columns, axis=-1), tl.shape(x))

    return compute


def hardmax(x: Any, *, axis: int = -1) -> Any:
    """1 at the first of the largest elements along an axis, 0 elsewhere."""
    position = axis_position(axis, rank_of(x))
    indices = tl.argmax(x, axis=position, keepdims=True)
    count = tl.shape(x)[position]
    numbers = tl.arange(count)
    shape = tuple(-1 if axis == position else 1 for axis in range(rank_of(x)))
    return tl.astype(tl.equal(indices, tl.reshape(numbers, shape)), dtype_of(x))


for _name, _function in (("Softmax", tl.softmax), ("LogSoftmax", tl.log_softmax), ("Hardmax", hardmax)):
    operator(_name)(along_flat_columns(_function))


@operator("Softmax", version=13)
def softmax(x: Any, *, axis: int = -1) -> Any:
    return tl.softmax(x, axis=axis)


@operator("LogSoftmax", version=13)
def log_softmax(x: Any, *, axis: int = -1) -> Any:
    return tl.log_softmax(x, axis=axis)


operator("Hardmax", version=13)(hardmax)


@operator("LpNormalization")
def lp_normalization(x: Any, *, axis: int = -1, p: int = 2) -> Any:
    wide = to_dtype(x, dtype_of(x).compute_dtype)
    powers = tl.abs(wide) if p == 1 else wide * wide
    total = tl.sum(powers, axis=axis, keepdims=True)
    norm = total if p == 1 else tl.sqrt(total)
    is_zero = tl.equal(norm, 0.0)
    quotient = tl.divide(wide, tl.where(is_zero, scalar_like(1, wide), norm))
    return to_dtype(tl.where(is_zero, scalar_like(0, wide), quotient), dtype_of(x))


@operator("CumSum", static=(1,))
def cum_sum(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    return _cumulate(tl.cumulative_sum, x, int(axis), exclusive, reverse)


@operator("CumProd", static=(1,))
def cum_prod(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    return _cumulate(tl.cumulative_prod, x, int(axis), exclusive, reverse)


def _cumulate(function: Any, x: Any, axis: int, exclusive: int, reverse: int) -> Any:
    """A cumulative function along an axis, without each element itself, or from the end."""
    position, source = axis_position(axis, rank_of(x)), tl.flip(x, axis=axis) if reverse else x
    totals = function(source, axis=position, dtype=dtype_of(x), include_initial=bool(exclusive))
    if exclusive:
        totals = tl.index(totals, (*[slice(None)] * position, slice(None, -1)))
    return tl.flip(totals, axis=axis) if reverse else totals
