"""Gathers, scatters, sorts and searches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..operations import require, row, tl, unsupported
from .common import FULL, axis_position, check_room, dtype_of, known_sizes, rank_of, scalar_like, shape_of, to_dtype
from .shapes import part, permute, reshape, slice_entry


def split_masks(indices: list[Any]) -> list[Any]:
    """Arrays of indices: a mask becomes one for each of its axes."""
    entries: list[Any] = []
    for entry in indices:
        if entry is not None and dtype_of(entry).kind == "b":
            if not isinstance(entry, np.ndarray):
                entries += list(tl.nonzero(entry))
            else:
                entries += list(np.nonzero(entry))
        else:
            entries.append(entry)
    return entries


def front_indexed_axes(x: Any, indices: list[Any]) -> tuple[list[int], list[Any], int]:
    """The order of axes that moves those with indices to the front, the indices, and the position of their axes in
    the result."""
    entries = split_masks(indices)
    entries += [None] * (rank_of(x) - len(entries))
    positions = [axis for axis, entry in enumerate(entries) if entry is not None]
    unindexed_axes = [axis for axis, entry in enumerate(entries) if entry is None]
    is_adjacent = positions == list(range(positions[0], positions[0] + len(positions))) if positions else True
    return (
        [*positions, *unindexed_axes],
        [entries[axis] for axis in positions],
        positions[0] if positions and is_adjacent else 0,
    )


@row("index", "_unsafe_index")
def index(self: Any, indices: list[Any]) -> Any:
    """As NumPy: indices broadcast; their axes stand where the indexed ones did if these are adjacent, else first."""
    if len(indices) == 1 and indices[0] is not None and dtype_of(indices[0]).kind == "b":
        return tl.boolean_mask(self, indices[0])
    order, arrays, position = front_indexed_axes(self, indices)
    if not arrays:
        return self
    if len(arrays) == 1:
        return tl.take(self, arrays[0], axis=position)
    elements = tl.gather(permute(self, order), *arrays)
    count = rank_of(elements) - (rank_of(self) - len(arrays))
    if not position:
        return elements
    result_axes = [*range(count, count + position), *range(count), *range(count + position, rank_of(elements))]
    return permute(elements, result_axes)


@row("index_put", "_unsafe_index_put")
def index_put(self: Any, indices: list[Any], values: Any, accumulate: bool = False) -> Any:
    x, updates = self, to_dtype(values, dtype_of(self))
    mask = indices[0] if len(indices) == 1 else None
    if mask is not None and dtype_of(mask).kind == "b" and rank_of(updates) == 0:
        mask = reshape(mask, (*tl.shape(mask), *[1] * (rank_of(x) - rank_of(mask))))
        return tl.where(mask, tl.add(x, updates) if accumulate else updates, x)
    order, arrays, position = front_indexed_axes(self, indices)
    front = permute(x, order)
    arrays = list(tl.broadcast_arrays(*arrays)) if len(arrays) > 1 else arrays
    count, row_shape = rank_of(arrays[0]), tl.shape(front)[len(arrays) :]
    outer = row_shape[:position]
    updates = tl.broadcast_to(updates, (*outer, *tl.shape(arrays[0]), *row_shape[position:]))
    updates = permute(updates, [*range(position, position + count), *range(position),
                                *range(position + count, rank_of(updates))])  # fmt: skip
    total = math.prod(tl.shape(arrays[0])) if None not in shape_of(arrays[0]) else -1
    flat = [reshape(array, (-1,)) for array in arrays]
    function = tl.scatter_add if accumulate else tl.scatter
    result = function(front, reshape(updates, (total, *row_shape)), *flat)
    return permute(result, np.argsort(order).tolist())


@row("index_select")
def index_select(self: Any, dim: int, index: Any) -> Any:
    if rank_of(self) == 0:
        return self
    return tl.take(self, reshape(index, (-1,)), axis=axis_position(dim, rank_of(self)))


@row("embedding")
def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    return tl.take(weight, indices, axis=0)


@row("take")
def take(self: Any, index: Any) -> Any:
    return tl.take(reshape(self, (-1,)), index, axis=0)


@row("gather")
def gather(self: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """The index may be smaller than the array along other axes."""
    if rank_of(self) == 0:
        return tl.broadcast_to(self, tl.shape(index))
    axis = axis_position(dim, rank_of(self))
    key = tuple(
        FULL if k == axis or size == array_size else slice(0, size)
        for k, (size, array_size) in enumerate(zip(shape_of(index), shape_of(self), strict=True))
    )
    x = self if all(entry == FULL for entry in key) else tl.index(self, key)
    return tl.take_along_axis(x, index, axis=axis)


@row("take_along_dim")
def take_along_dim(self: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None:
        return take(self, reshape(indices, (-1,)))
    axis, rank = axis_position(dim, rank_of(self)), rank_of(self)
    sizes = [tuple(1 if k == axis else size for k, size in enumerate(tl.shape(array))) for array in (self, indices)]
    common = tl.broadcast_shapes(*sizes)
    x, positions = (
        tl.broadcast_to(array, tuple(tl.shape(array)[axis] if k == axis else common[k] for k in range(rank)))
        for array in (self, indices)
    )
    return tl.take_along_axis(x, positions, axis=axis)


def axis_scatter_operands(x: Any, dim: int, index: Any, updates: Any) -> tuple[Any, list[Any]]:
    """The operands of a scatter along one axis: the updates as a vector, and the indices along each axis."""
    axis = axis_position(dim, rank_of(x))
    sizes = known_sizes(index)
    check_room(*sizes)
    grid = np.indices(sizes)
    positions: list[Any] = [grid[k].reshape(-1) for k in range(len(sizes))]
    positions[axis] = reshape(index, (-1,))
    if rank_of(updates):
        updates = tl.index(updates, tuple(slice(0, size) for size in sizes))
        updates = reshape(updates, (-1,))
    else:
        updates = tl.broadcast_to(updates, (math.prod(sizes),))
    return updates, positions


REDUCTIONS = {"add": "scatter_add", "sum": "scatter_add", "multiply": "scatter_mul", "prod": "scatter_mul",
              "amax": "scatter_max", "amin": "scatter_min"}  # fmt: skip


@row("scatter")
def scatter(self: Any, dim: int, index: Any, src: Any = None, value: Any = None, reduce: str | None = None) -> Any:
    updates = to_dtype(value if src is None else src, dtype_of(self))
    if reduce is not None and reduce not in REDUCTIONS:
        raise unsupported("attribute", f"a scatter that reduces by {reduce!r}")
    function = tl.scatter if reduce is None else getattr(tl, REDUCTIONS[reduce])
    if rank_of(self) == 0:
        vector = reshape(self, (1,))
        return reshape(function(vector, reshape(updates, (-1,)), reshape(index, (-1,))), ())
    flat, positions = axis_scatter_operands(self, dim, index, updates)
    return function(self, flat, *positions)


@row("scatter_add")
def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    return scatter(self, dim, index, src, None, "add")


@row("scatter_reduce")
def scatter_reduce(self: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    dtype = dtype_of(self)
    flat, positions = axis_scatter_operands(self, dim, index, to_dtype(src, dtype))
    base = self
    count = tl.scatter_add(tl.zeros_like(base), tl.ones_like(flat), *positions)
    if not include_self:
        lowest, highest = (-math.inf, math.inf) if dtype.kind == "f" else dtype.range
        start = {"sum": 0, "mean": 0, "prod": 1, "amax": lowest, "amin": highest}[reduce]
        base = tl.where(tl.greater(count, scalar_like(0, count)), to_dtype(start, dtype), base)
    if reduce != "mean":
        require(reduce in REDUCTIONS, "scatter_reduce reduces by sum, prod, mean, amax or amin")
        return getattr(tl, REDUCTIONS[reduce])(base, flat, *positions)
    sums = tl.scatter_add(base, flat, *positions)
    unit = scalar_like(1, count)
    divisor = tl.add(count, unit) if include_self else tl.maximum(count, unit)
    return tl.divide(sums, divisor) if dtype.kind == "f" else tl.floor_divide(sums, divisor)


def scatter_along_axis(function: Any, x: Any, dim: int, index: Any, updates: Any) -> Any:
    """An array with updates at indices along one axis."""
    axis = axis_position(dim, rank_of(x))
    axis_first = tl.moveaxis(x, axis, 0) if axis else x
    values = to_dtype(updates, dtype_of(x))
    if rank_of(values):
        values = tl.moveaxis(values, axis, 0) if axis else values
    else:
        values = tl.broadcast_to(values, (*tl.shape(reshape(index, (-1,))), *tl.shape(axis_first)[1:]))
    result = function(axis_first, values, reshape(index, (-1,)))
    return tl.moveaxis(result, 0, axis) if axis else result


@row("index_add")
def index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    values = source if alpha == 1 else tl.multiply(source, scalar_like(alpha, source))
    return scatter_along_axis(tl.scatter_add, self, dim, index, values)


@row("index_copy")
def index_copy(self: Any, dim: int, index: Any, source: Any) -> Any:
    return scatter_along_axis(tl.scatter, self, dim, index, source)


@row("index_fill")
def index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    return scatter_along_axis(tl.scatter, self, dim, index, value)


@row("masked_select")
def masked_select(self: Any, mask: Any) -> Any:
    x, broadcast_mask = tl.broadcast_arrays(self, mask)
    return tl.boolean_mask(x, broadcast_mask)


@row("masked_scatter")
def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    broadcast_mask = tl.broadcast_to(mask, tl.shape(self))
    if 0 in shape_of(source):
        require(
            tl.logical_not(tl.any(broadcast_mask)),
            "masked_scatter needs an element for each position that the mask selects",
        )
        return self
    numbers = tl.cumulative_sum(tl.astype(reshape(broadcast_mask, (-1,)), tl.int64), axis=0)
    positions = tl.maximum(tl.subtract(numbers, np.int64(1)), np.int64(0))
    values = reshape(tl.take(reshape(source, (-1,)), positions, axis=0), tl.shape(self))
    return tl.where(broadcast_mask, values, self)


@row("nonzero")
def nonzero(self: Any) -> Any:
    return tl.stack(list(tl.nonzero(self)), axis=1)


@row("argwhere")
def argwhere(self: Any) -> Any:
    return nonzero(self)


@row("one_hot")
def one_hot(self: Any, num_classes: int = -1) -> Any:
    if num_classes < 0:
        raise unsupported("shape", "one_hot without a number of classes")
    return tl.one_hot(self, num_classes, dtype=tl.int64)


@row("select_scatter")
def select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
    return tl.scatter_index(self, src, (*[FULL] * axis_position(dim, rank_of(self)), index))


@row("slice_scatter")
def slice_scatter(self: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    axis = axis_position(dim, rank_of(self))
    entry = slice_entry(self, axis, start, end, step)
    return src if entry == FULL else tl.scatter_index(self, src, (*[FULL] * axis, entry))


@row("bucketize")
def bucketize(self: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    return searchsorted(boundaries, self, out_int32=out_int32, right=right)


@row("searchsorted")
def searchsorted(
    sorted_sequence: Any, self: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    if rank_of(sorted_sequence) != 1 or sorter is not None:
        raise unsupported("shape", "a search in several sequences, or in one that is not sorted")
    side = side or ("right" if right else "left")
    values = to_dtype(self, dtype_of(sorted_sequence))
    positions = tl.searchsorted(sorted_sequence, reshape(values, (-1,)), side=side)
    shape = tl.shape(values)
    return to_dtype(reshape(positions, shape), tl.int32 if out_int32 else tl.int64)


@row("topk")
def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    axis = axis_position(dim, rank_of(self))
    order = tl.argsort(self, axis=axis, descending=largest)
    positions = part(order, axis, slice(0, k))
    return tl.take_along_axis(self, positions, axis=axis), positions


@row("sort")
def sort(self: Any, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    if rank_of(self) == 0:
        return self, np.zeros((), np.int64)
    axis = axis_position(dim, rank_of(self))
    order = tl.argsort(self, axis=axis, descending=descending)
    return tl.take_along_axis(self, order, axis=axis), order


@row("argsort")
def argsort(self: Any, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    return sort(self, dim, descending)[1]


@row("msort")
def msort(self: Any) -> Any:
    return tl.sort(self, axis=0)


@row("kthvalue")
def kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    axis = axis_position(dim, rank_of(self))
    values, order = sort(self, dim)
    entry = slice(k - 1, k) if keepdim else k - 1
    return part(values, axis, entry), part(order, axis, entry)


@row("bincount")
def bincount(self: Any, weights: Any = None, minlength: int = 0) -> Any:
    if not isinstance(self, np.ndarray):
        raise unsupported("shape", "bincount of numbers that are known only at run time")
    count = max(int(self.max(initial=-1)) + 1, minlength)
    check_room(count)
    values = np.ones(self.shape, np.int64) if weights is None else weights
    values = values if dtype_of(values).kind == "i" else to_dtype(values, tl.float64)
    return tl.scatter_add(np.zeros(count, dtype_of(values).numpy), values, self)
