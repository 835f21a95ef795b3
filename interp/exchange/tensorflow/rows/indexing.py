"""Gathers, scatters, sorts and searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.dtypes import DType
from ..operations import operation, require, tl, unsupported
from ..tensors import ElementType
from .common import (
    axis_position,
    check_room,
    dtype_of,
    elements,
    integer,
    known_sizes,
    rank_of,
    scalar,
    scalar_like,
    to_dtype,
)
from .shapes import INT32, batch_axes, slice_key

INT64 = ElementType(9)


def as_index(x: Any) -> Any:
    """Indices of which a negative one is out of range, as in TensorFlow: tagloom would count it from the end, so they
    are unsigned. A negative constant is Malformed."""
    if isinstance(x, np.ndarray):
        require(bool(np.all(x >= 0)), "an index is negative")
        return to_dtype(x, tl.int64)
    return to_dtype(x, tl.uint64)


@operation("GatherV2", static=(2,))
def gather_v2(x: Any, indices: Any, axis: Any, *, batch_dims: int = 0) -> Any:
    count = batch_axes(indices, batch_dims)
    position = axis_position(integer(axis), rank_of(x))
    if not count:
        return tl.take(x, as_index(indices), axis=position)
    if position != count:
        raise unsupported("attribute", "GatherV2 with batch_dims and an axis that is not the first after them")
    return tl.gather(x, *batch_positions(indices, count, rank_of(indices)), as_index(indices))


@operation("Gather")
def gather(x: Any, indices: Any) -> Any:
    return tl.take(x, as_index(indices), axis=0)


def batch_positions(indices: Any, count: int, rank: int) -> list[Any]:
    """The indices along the first `count` axes, of shapes that broadcast with `indices`, of `rank` axes."""
    sizes = known_sizes(indices, range(count))
    return [np.arange(size).reshape([-1 if k == axis else 1 for k in range(rank)]) for axis, size in enumerate(sizes)]


def split_last_axis(indices: Any) -> list[Any]:
    """The indices along each axis: the slices of `indices` along its last axis."""
    (depth,) = known_sizes(indices, [rank_of(indices) - 1])
    return [tl.index(as_index(indices), (..., k)) for k in range(depth)]


@operation("GatherNd", ignored=("bad_indices_policy",))
def gather_nd(x: Any, indices: Any) -> Any:
    positions = split_last_axis(indices)
    if not positions:
        return tl.broadcast_to(x, (*tl.shape(indices)[:-1], *tl.shape(x)))
    return tl.gather(x, *positions)


@operation("ScatterNd", ignored=("bad_indices_policy",))
def scatter_nd(indices: Any, updates: Any, sizes: Any) -> Any:
    """Updates at equal indices are summed."""
    target = elements(sizes)
    check_room(*target)
    base = tl.full(tuple(target), scalar_like(0, updates))
    return scatter(tl.scatter_add, base, indices, updates)


def scatter(function: Any, x: Any, indices: Any, updates: Any) -> Any:
    """An array with updates at the positions that `indices` has along its last axis."""
    positions = split_last_axis(indices)
    if not positions:
        raise unsupported("shape", "a scatter without indices")
    row_shape = tuple(tl.shape(x)[len(positions) :])
    flat = [tl.reshape(position, (-1,)) for position in positions]
    count = tl.shape(flat[0])[0]
    return function(x, tl.reshape(updates, (count, *row_shape)), *flat)


SCATTERS = {
    "TensorScatterUpdate": tl.scatter, "TensorScatterAdd": tl.scatter_add, "TensorScatterMax": tl.scatter_max,
    "TensorScatterMin": tl.scatter_min,
}  # fmt: skip


def register_scatter(name: str) -> None:
    @operation(name, ignored=("bad_indices_policy",))
    def compute(x: Any, indices: Any, updates: Any) -> Any:
        return scatter(SCATTERS[name], x, indices, updates)


for _name in SCATTERS:
    register_scatter(_name)


@operation("TensorScatterSub", ignored=("bad_indices_policy",))
def tensor_scatter_sub(x: Any, indices: Any, updates: Any) -> Any:
    return scatter(tl.scatter_add, x, indices, tl.negative(updates))


@operation("TensorStridedSliceUpdate")
def tensor_strided_slice_update(
    x: Any, begin: Any, end: Any, strides: Any, value: Any, *, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Any:  # fmt: skip
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    return tl.scatter_index(x, value, slice_key(x, begin, end, strides, masks))


@operation("StridedSliceGrad")
def strided_slice_grad(
    sizes: Any, begin: Any, end: Any, strides: Any, dy: Any, *, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Any:  # fmt: skip
    """Zeros, except the gradient at the positions of a slice."""
    target = elements(sizes)
    check_room(*target)
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    x = tl.full(tuple(target), scalar_like(0, dy))
    return tl.scatter_index(x, dy, slice_key(x, begin, end, strides, masks))


@operation("OneHot")
def one_hot(indices: Any, depth: Any, on: Any, off: Any, *, axis: int = -1) -> Any:
    if not isinstance(depth, np.ndarray):
        raise unsupported("shape", "the depth of OneHot must be a constant")
    count = integer(depth)
    check_room(count)
    positions = tl.expand_dims(indices, axis=axis_position(axis, rank_of(indices) + 1))
    rank = rank_of(positions)
    positions = to_dtype(positions, tl.int64)
    numbers = np.arange(count)
    numbers = numbers.reshape([-1 if k == axis_position(axis, rank) else 1 for k in range(rank)])
    return tl.where(tl.equal(positions, numbers), scalar(on), scalar(off))


@operation("Where")
def true_positions(x: Any) -> Any:
    condition = x if dtype_of(x).kind == "b" else tl.not_equal(x, scalar_like(0, x))
    return tl.stack(list(tl.nonzero(condition)), axis=1)


@operation("TopKV2", static=(1,), outputs=("values", "indices"))
def top_k(x: Any, k: Any, *, sorted: bool = True, index_type: ElementType = INT32) -> Any:
    return largest_elements(x, integer(k), index_type.dtype)


@operation("TopK", outputs=("values", "indices"))
def top_k_by_attribute(x: Any, *, k: int, sorted: bool = True) -> Any:
    return largest_elements(x, k, tl.int32)


def largest_elements(x: Any, count: int, dtype: DType) -> list[Any]:
    """The largest elements along the last axis, and their positions."""
    order = tl.argsort(x, axis=-1, descending=True, stable=True)
    positions = tl.index(order, (..., slice(0, count)))
    return [tl.take_along_axis(x, positions, axis=-1), to_dtype(positions, dtype)]


@operation("Unique", outputs=("y", "idx"))
def unique(x: Any, *, out_idx: ElementType = INT32) -> Any:
    """The distinct elements, in the order of their first occurrences."""
    values, first, inverse, _ = tl.unique_all(x)
    order = tl.argsort(first)
    ranks = tl.argsort(order)
    return [tl.take(values, order, axis=0), to_dtype(tl.take(ranks, inverse, axis=0), out_idx.dtype)]


def register_segment(name: str, function: str, start: str) -> None:
    @operation(name, static=(2,))
    def compute(x: Any, segments: Any, count: Any) -> Any:
        """Elements of a negative segment are left out: they go to a row before the others."""
        number, dtype = integer(count), dtype_of(x)
        check_room(number)
        rank = rank_of(segments)
        element: Any = dtype.numpy
        limits: Any = dtype.limits if dtype.kind == "f" else np.iinfo(element)
        low, high = limits.min, limits.max
        first = {"zero": 0, "one": 1, "lowest": low, "highest": high}[start]
        row_shape = tuple(tl.shape(x)[rank:])
        ids = tl.reshape(to_dtype(segments, tl.int64), (-1,))
        positions = tl.add(tl.maximum(ids, np.int64(-1)), np.int64(1))
        base = tl.full((number + 1, *row_shape), scalar_like(first, x))
        rows = tl.reshape(x, (tl.shape(positions)[0], *row_shape))
        return tl.index(getattr(tl, function)(base, rows, positions), slice(1, None))


for _name, _function, _start in (
    ("UnsortedSegmentSum", "scatter_add", "zero"), ("UnsortedSegmentProd", "scatter_mul", "one"),
    ("UnsortedSegmentMax", "scatter_max", "lowest"), ("UnsortedSegmentMin", "scatter_min", "highest"),
):  # fmt: skip
    register_segment(_name, _function, _start)


def register_arg(name: str, function: str, last: float) -> None:
    @operation(name, static=(1,))
    def compute(x: Any, axis: Any = None, *, output_type: ElementType = INT64) -> Any:
        """NaN is the last that is chosen."""
        position = 0 if axis is None else axis_position(integer(axis), rank_of(x))
        if dtype_of(x).kind == "f":
            x = tl.where(tl.isnan(x), scalar_like(last, x), x)
        return to_dtype(getattr(tl, function)(x, axis=position), output_type.dtype)


for _name, _function, _last in (("ArgMax", "argmax", -np.inf), ("ArgMin", "argmin", np.inf)):
    register_arg(_name, _function, _last)


@operation("ReverseSequence", has_effect=True)
def reverse_sequence(x: Any, lengths: Any, *, seq_dim: int, batch_dim: int = 0) -> Any:
    """The first elements of each sequence, as many as `lengths` says, in the opposite order."""
    rank = rank_of(x)
    sequence_axis, batch_axis = axis_position(seq_dim, rank), axis_position(batch_dim, rank)
    (count,) = known_sizes(x, [sequence_axis])
    numbers = np.arange(count).reshape([-1 if k == sequence_axis else 1 for k in range(rank)])
    if isinstance(lengths, np.ndarray):
        require(bool(np.all(lengths <= count)), "a sequence is longer than the array")
    else:
        tl.assert_(tl.all(tl.less_equal(lengths, scalar_like(count, lengths))), "a sequence is longer than the array")
    last = tl.reshape(to_dtype(lengths, tl.int64), tuple(-1 if k == batch_axis else 1 for k in range(rank)))
    positions = tl.where(tl.less(numbers, last), tl.subtract(tl.subtract(last, np.int64(1)), numbers), numbers)
    return tl.take_along_axis(x, tl.broadcast_to(positions, tuple(tl.shape(x))), axis=sequence_axis)
