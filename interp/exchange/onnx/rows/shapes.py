"""Operators that move elements: shapes, slices, gathers, scatters, sorts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core import dtypes
from .....core.types import Type
from ..operators import NeedsConstantOperand, SizeVector, as_single_value, operator, tl, unsupported
from ..storage import carrier_of, storage_of, with_storage
from .common import (
    COST,
    axis_position,
    check_table_size,
    dtype_of,
    integers,
    known_sizes,
    rank_of,
    require,
    scalar,
    scalar_like,
    shape_of,
    to_dtype,
    type_of,
)

INT64_MAX = int(np.iinfo(np.int64).max)


def vector(sizes: Sequence[Any]) -> Any:
    """Sizes as a vector: a constant if all are known."""
    if all(isinstance(size, int) for size in sizes):
        return np.array(sizes, np.int64).reshape(len(sizes))
    return SizeVector(tuple(sizes))


def elements(x: Any) -> list[Any]:
    """The elements of a vector whose size is known: Python integers if it is a constant."""
    if isinstance(x, np.ndarray):
        return [int(number) for number in x.reshape(-1)]
    if isinstance(x, SizeVector):
        return list(x.parts)
    (count,) = known_sizes(x)
    return [tl.astype(tl.index(x, k), tl.int64) for k in range(count)]


@operator("Shape", is_folded=False)
def shape(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    return vector(tl.shape(x)[start:end])


@operator("Size", is_folded=False)
def size(x: Any) -> Any:
    sizes = tl.shape(x)
    if all(isinstance(size, int) for size in sizes):
        return np.asarray(math.prod(sizes), np.int64)
    return tl.size(x)


@operator("Reshape")
def reshape_by_attribute(x: Any, *, shape: Any = (), consumed_inputs: Any = None) -> Any:
    return reshape(x, np.array(shape, np.int64))


@operator("Reshape", version=5, takes_sizes=True)
def reshape(x: Any, target: Any, *, allowzero: int = 0) -> Any:
    """A size of 0 copies the size of x, one of -1 is inferred."""
    own_sizes, sizes = tl.shape(x), elements(target)
    if allowzero:
        return tl.reshape(x, tuple(sizes))
    target_sizes = [
        size_or_own(size, own_sizes[axis]) if axis < len(own_sizes) else size for axis, size in enumerate(sizes)
    ]
    return tl.reshape(x, tuple(target_sizes))


def size_or_own(size: Any, own_size: Any) -> Any:
    """A size, or the size of x if it is 0."""
    if isinstance(size, int):
        return own_size if size == 0 else size
    return tl.where(tl.equal(size, 0), np.int64(own_size) if isinstance(own_size, int) else own_size, size)


@operator("Flatten")
def flatten(x: Any, *, axis: int = 1) -> Any:
    sizes = tl.shape(x)
    position = axis if axis == len(sizes) else axis_position(axis, len(sizes))
    rows, columns = sizes[:position], sizes[position:]
    if all(isinstance(size, int) for size in sizes):
        return tl.reshape(x, (math.prod(rows), math.prod(columns)))
    if all(isinstance(column, int) for column in columns) and math.prod(columns):
        return tl.reshape(x, (-1, math.prod(columns)))
    product = math.prod(columns[1:], start=columns[0]) if columns else 1
    first = math.prod(rows[1:], start=rows[0]) if rows else 1
    return tl.reshape(x, (first, product))


@operator("Squeeze")
def squeeze_by_attribute(x: Any, *, axes: Any = None) -> Any:
    positions = [k for k, size in enumerate(shape_of(x)) if size == 1] if axes is None else axes
    return tl.squeeze(x, tuple(positions)) if len(positions) else x


@operator("Squeeze", version=13, static=(1,), takes_sizes=True)
def squeeze(x: Any, axes: Any = None) -> Any:
    if isinstance(x, SizeVector):
        return size_scalar(x.parts[0]) if len(x.parts) == 1 else x
    return squeeze_by_attribute(x, axes=None if axes is None else integers(axes))


@operator("Unsqueeze")
def unsqueeze_by_attribute(x: Any, *, axes: Any) -> Any:
    rank = rank_of(x) + len(axes)
    return tl.expand_dims(x, axis=tuple(axis_position(axis, rank) for axis in axes))


@operator("Unsqueeze", version=13, static=(1,), takes_sizes=True)
def unsqueeze(x: Any, axes: Any) -> Any:
    x = as_single_value(x)
    if not isinstance(x, np.ndarray) and type_of(x) == Type(dtypes.int64) and axes.size == 1:
        return SizeVector((x,))
    return unsqueeze_by_attribute(x, axes=integers(axes))


@operator("Concat", takes_sizes=True)
def concat(*arrays: Any, axis: int = 1) -> Any:
    if all(isinstance(array, SizeVector | np.ndarray) for array in arrays) and not all(map(is_array, arrays)):
        return vector([part for array in arrays for part in elements(array)])
    arrays = tuple(map(as_single_value, arrays))
    position = axis_position(axis, rank_of(arrays[0]))
    return tl.concat(list(arrays), axis=position) if len(arrays) > 1 else arrays[0]


@operator("Split")
def split_by_attribute(x: Any, *, axis: int = 0, split: Any = None, output_count: int) -> Any:
    sizes = None if split is None else np.array(split, np.int64)
    return split_by_operand(x, sizes, axis=axis, output_count=output_count)


@operator("Split", version=13, static=(1,))
def split_by_operand(
    x: Any, sizes: Any = None, *, axis: int = 0, num_outputs: int | None = None, output_count: int
) -> Any:
    """Without sizes the parts are equal, but for the last."""
    position, widths = axis_position(axis, rank_of(x)), sizes
    if widths is None:
        (total,), count = known_sizes(x, [position]), num_outputs or output_count
        check_table_size(count, COST)
        width = -(-total // count)
        widths = [max(min(width, total - width * k), 0) for k in range(count)]
    stops = np.cumsum([0, *integers(widths)])
    require(len(stops) == output_count + 1, "Split does not have as many parts as results")
    require(min(widths, default=0) >= 0, "Split makes a part of negative size")
    require(tl.shape(x)[position] == int(stops[-1]), "the parts of Split do not add up to the length of the axis")
    pairs = itertools.pairwise(stops)
    return tuple(tl.index(x, (*[slice(None)] * position, slice(int(a), int(b)))) for a, b in pairs)


@operator("Slice")
def slice_by_attributes(x: Any, *, starts: Any, ends: Any, axes: Any = None) -> Any:
    return slice_(x, np.array(starts), np.array(ends), None if axes is None else np.array(axes))


@operator("Slice", version=10, static=(3, 4), takes_sizes=True)
def slice_(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    """Bounds beyond an axis are clamped."""
    if isinstance(x, SizeVector):
        if isinstance(starts, np.ndarray) and isinstance(ends, np.ndarray):
            step = 1 if steps is None else int(steps.reshape(-1)[0])
            bounds = slice_bounds(int(starts.reshape(-1)[0]), int(ends.reshape(-1)[0]), step, len(x.parts))
            return vector(x.parts[slice(*bounds)])
        x = x.as_array()
    first, last = elements(starts), elements(ends)
    positions = range(len(first)) if axes is None else integers(axes)
    strides = [1] * len(first) if steps is None else integers(steps)
    key: list[Any] = [slice(None)] * rank_of(x)
    for start, end, axis, step in zip(first, last, positions, strides, strict=True):
        position = axis_position(axis, rank_of(x))
        key[position] = slice(*slice_bounds(start, end, step, tl.shape(x)[position]))
    return tl.index(x, tuple(key))


def slice_bounds(start: Any, end: Any, step: int, size: Any) -> tuple[Any, Any, int]:
    """The bounds of a slice as Python has them. ONNX clamps them into the axis, in which Python's negative bounds
    count from the end."""
    if all(isinstance(bound, int) for bound in (start, end, size)):
        first = min(max(start + size if start < 0 else start, 0), size - (step < 0))
        last = min(max(end + size if end < 0 else end, -1 if step < 0 else 0), size)
        if step < 0:
            first = max(first, -1)
            return (first, None if last < 0 else last, step) if first >= 0 else (0, 0, step)
        return first, last, step
    if isinstance(start, int) and isinstance(end, int) and step > 0:
        return start, None if end >= INT64_MAX // 2 else end, step
    if isinstance(start, int) and isinstance(end, int):
        return None if start >= INT64_MAX // 2 or start == -1 else start, None if end <= -INT64_MAX // 2 else end, step
    if step < 0:
        raise NeedsConstantOperand(1 if isinstance(end, int) else 2)
    return start, end, step


@operator("Gather", takes_sizes=True)
def gather(x: Any, indices: Any, *, axis: int = 0) -> Any:
    """Negative indices count from the end."""
    if isinstance(x, SizeVector):
        if isinstance(indices, np.ndarray) and indices.ndim < 2:
            sizes = [x.parts[index] for index in integers(indices)]
            return vector(sizes) if indices.ndim else size_scalar(sizes[0])
        x = x.as_array()
    return tl.take(x, to_dtype(indices, tl.int64), axis=axis_position(axis, rank_of(x)))


def size_scalar(size: Any) -> Any:
    """A size as a scalar."""
    return np.asarray(size, np.int64) if isinstance(size, int) else size


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


@operator("GatherElements")
def gather_elements(x: Any, indices: Any, *, axis: int = 0) -> Any:
    """The indices may have smaller sizes than x along the other axes."""
    coordinates = element_coordinates(indices, axis_position(axis, rank_of(x)))
    return tl.gather(x, *coordinates)


def element_coordinates(indices: Any, axis: int) -> list[Any]:
    """The indices along each axis of elements whose index along one axis is in `indices`."""
    sizes, rank = tl.shape(indices), rank_of(indices)
    coordinates = []
    for dimension in range(rank):
        if dimension == axis:
            coordinates.append(to_dtype(indices, tl.int64))
        else:
            numbers = tl.reshape(tl.arange(sizes[dimension]), tuple(-1 if k == dimension else 1 for k in range(rank)))
            coordinates.append(tl.broadcast_to(numbers, tuple(sizes)))
    return coordinates


@operator("GatherND")
def gather_nd(x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    """The last axis of the indices has coordinates along the first axes of x, behind those that both share."""
    depth = shape_of(indices)[-1]
    if depth is None:
        raise unsupported("shape", "the number of indices of GatherND is not known")
    rank = rank_of(indices) - 1
    sizes = tl.shape(x)
    coordinates = []
    for axis in range(batch_dims):
        coordinates.append(tl.reshape(tl.arange(sizes[axis]), tuple(-1 if k == axis else 1 for k in range(rank))))
    for k in range(depth):
        coordinates.append(to_dtype(tl.index(indices, (..., k)), tl.int64))
    return tl.gather(x, *tl.broadcast_arrays(*coordinates)) if batch_dims else tl.gather(x, *coordinates)


SCATTERS = {
    "none": tl.scatter,
    "add": tl.scatter_add,
    "mul": tl.scatter_mul,
    "max": tl.scatter_max,
    "min": tl.scatter_min,
}


@operator("Scatter", "ScatterElements")
def scatter_elements(x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none") -> Any:
    coordinates = element_coordinates(indices, axis_position(axis, rank_of(x)))
    flat = [tl.reshape(index, (-1,)) for index in coordinates]
    return SCATTERS[reduction](x, tl.reshape(updates, (-1,)), *flat)


@operator("ScatterND")
def scatter_nd(x: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    depth = shape_of(indices)[-1]
    if depth is None:
        raise unsupported("shape", "the number of indices of ScatterND is not known")
    sizes = tl.shape(x)
    slice_sizes = tuple(sizes[depth:])
    coordinates = [tl.reshape(to_dtype(tl.index(indices, (..., k)), tl.int64), (-1,)) for k in range(depth)]
    return SCATTERS[reduction](x, tl.reshape(updates, (-1, *slice_sizes)), *coordinates)


@operator("TensorScatter")
def tensor_scatter(past: Any, update: Any, starts: Any = None, *, axis: int = -2, mode: str = "linear") -> Any:
    """Each batch of the cache with the update from a position on; a circular one begins again at the end."""
    position = axis_position(axis, rank_of(past))
    sizes, limit = tl.shape(update), tl.shape(past)[position]
    first = tl.zeros(sizes[0], dtype=tl.int64) if starts is None else starts
    coordinates = []
    for dimension in range(position + 1):
        shape = tuple(-1 if k == dimension else 1 for k in range(position + 1))
        coordinates.append(tl.reshape(tl.arange(sizes[dimension]), shape))
    coordinates[-1] = tl.add(coordinates[-1], tl.reshape(first, (-1, *[1] * position)))
    if mode == "circular":
        coordinates[-1] = tl.remainder(coordinates[-1], limit)
    flat = [tl.reshape(index, (-1,)) for index in tl.broadcast_arrays(*coordinates)]
    return tl.scatter(past, tl.reshape(update, (-1, *sizes[position + 1 :])), *flat)


@operator("Compress")
def compress(x: Any, condition: Any, *, axis: int | None = None) -> Any:
    source = tl.reshape(x, (-1,)) if axis is None else x
    position = 0 if axis is None else axis_position(axis, rank_of(x))
    return tl.take(source, tl.nonzero(condition)[0], axis=position)


@operator("NonZero")
def non_zero(x: Any) -> Any:
    source = x if rank_of(x) else tl.reshape(x, (1,))
    if dtype_of(x).kind == "b":
        return tl.stack(list(tl.nonzero(source)))
    return tl.stack(list(tl.nonzero(tl.not_equal(source, scalar_like(0, x)))))


@operator("Range")
def range_(start: Any, limit: Any, delta: Any) -> Any:
    dtype = dtype_of(start)
    start, limit, delta = map(scalar, (start, limit, delta))
    if all(isinstance(bound, np.ndarray) for bound in (start, limit, delta)) and dtype.kind in "iu":
        count = len(range(int(start), int(limit), int(delta)))
        return tl.add(start, tl.multiply(tl.astype(tl.arange(count), dtype), delta))
    if dtype.kind == "f":
        count = tl.ceil(tl.divide(tl.subtract(limit, start), delta))
        numbers = tl.arange(tl.astype(tl.maximum(count, scalar_like(0, start)), tl.int64))
        return tl.add(start, tl.multiply(tl.astype(numbers, dtype), delta))
    return tl.arange(start, limit, delta, dtype=dtype)


@operator("Tile", version=6, takes_sizes=True)
def tile(x: Any, repeats: Any) -> Any:
    counts = elements(repeats)
    require(len(counts) == rank_of(x), "Tile needs a number for each axis")
    return tl.tile(x, tuple(counts))


@operator("Expand", takes_sizes=True)
def expand(x: Any, target: Any) -> Any:
    """x broadcast together with a shape."""
    sizes = elements(target)
    if all(isinstance(size, int) for size in (*sizes, *tl.shape(x))):
        return tl.broadcast_to(x, np.broadcast_shapes(known_sizes(x), tuple(sizes)))
    return tl.broadcast_like(x, tl.broadcast_to(scalar_like(0, x), tuple(sizes)))


@operator("ConstantOfShape", takes_sizes=True, takes_storage=True)
def constant_of_shape(target: Any, *, value: Any = None) -> Any:
    fill = np.float32(0) if value is None else carrier_of(value).reshape(())
    return with_storage(tl.broadcast_to(np.asarray(fill), tuple(elements(target))), storage_of(value))


@operator("EyeLike")
def eye_like(x: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    rows, columns = tl.shape(x)
    return to_dtype(tl.eye(rows, columns, k=k, dtype=tl.int64), dtype_of(x) if dtype is None else dtype)


@operator("Transpose")
def transpose(x: Any, *, perm: Any = None) -> Any:
    return tl.permute_dims(x, tuple(range(rank_of(x)))[::-1] if perm is None else tuple(perm))


@operator("Trilu", static=(1,))
def trilu(x: Any, k: Any = None, *, upper: int = 1) -> Any:
    diagonal = 0 if k is None else int(k)
    if dtype_of(x).kind == "b":
        return tl.astype((tl.triu if upper else tl.tril)(tl.astype(x, tl.int8), k=diagonal), tl.bool)
    return (tl.triu if upper else tl.tril)(x, k=diagonal)


@operator("OneHot")
def one_hot(indices: Any, depth: Any, values: Any, *, axis: int = -1) -> Any:
    """The second value at the index, along a new axis, and the first elsewhere; negative indices count from the end."""
    count = int(depth.reshape(-1)[0]) if isinstance(depth, np.ndarray) else tl.astype(scalar(depth), tl.int64)
    position = axis_position(axis, rank_of(indices) + 1)
    wide = to_dtype(indices, tl.int64)
    numbers = tl.reshape(tl.arange(count), tuple(-1 if k == position else 1 for k in range(rank_of(indices) + 1)))
    is_hot = tl.equal(tl.expand_dims(tl.where(tl.less(wide, 0), tl.add(wide, count), wide), axis=position), numbers)
    return tl.where(is_hot, tl.index(values, 1), tl.index(values, 0))


@operator("TopK")
def top_k_by_attribute(x: Any, *, k: int, axis: int = -1) -> Any:
    return top_k(x, np.array([k]), axis=axis)


@operator("TopK", version=10)
def top_k(x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    """Of equal elements the first come first."""
    position = axis_position(axis, rank_of(x))
    order = tl.argsort(x, axis=position, descending=bool(largest))
    count = int(k.reshape(-1)[0]) if isinstance(k, np.ndarray) else scalar(k)
    require(count >= 0, "TopK takes a negative number of elements")
    require(count <= tl.shape(x)[position], "TopK takes more elements than there are")
    indices = tl.index(order, (*[slice(None)] * position, slice(None, count)))
    return tl.take_along_axis(x, indices, axis=position), indices


@operator("Unique")
def unique(x: Any, *, axis: int | None = None, sorted: int = 1) -> Any:
    """Unsorted, the parts are in the order of their first occurrence."""
    parts = tl.unique_all(x, axis=axis)
    if sorted:
        return parts.values, parts.indices, reshape_flat(parts.inverse_indices), parts.counts
    order = tl.argsort(parts.indices)
    rank = tl.argsort(order)
    values = tl.take(parts.values, order, axis=0 if axis is None else axis_position(axis, rank_of(x)))
    inverse = tl.take(rank, reshape_flat(parts.inverse_indices), axis=0)
    return values, tl.take(parts.indices, order, axis=0), inverse, tl.take(parts.counts, order, axis=0)


def reshape_flat(x: Any) -> Any:
    """The elements of an array as a vector."""
    return x if rank_of(x) == 1 else tl.reshape(x, (-1,))


@operator("Pad")
def pad_by_attribute(
    x: Any, *, pads: Any = None, paddings: Any = None, mode: str = "constant", value: float = 0.0
) -> Any:
    return pad(x, np.array(paddings if pads is None else pads), scalar_like(value, x), mode=mode)


@operator("Pad", version=11, static=(1, 3))
def pad(x: Any, pads: Any, value: Any = None, axes: Any = None, *, mode: str = "constant") -> Any:
    """Negative numbers take elements away."""
    rank, widths = rank_of(x), integers(pads)
    positions = range(rank) if axes is None else [axis_position(axis, rank) for axis in integers(axes)]
    require(len(widths) == 2 * len(positions), "Pad needs two numbers for each axis")
    pairs = [(0, 0)] * rank
    for k, axis in enumerate(positions):
        pairs[axis] = widths[k], widths[k + len(positions)]
    if any(min(pair) < 0 for pair in pairs):
        x = tl.index(x, tuple(slice(max(-low, 0), min(high, 0) or None) for low, high in pairs))
        pairs = [(max(low, 0), max(high, 0)) for low, high in pairs]
    if not any(map(any, pairs)):
        return x
    fill = scalar_like(0, x) if value is None else scalar(value)
    return tl.pad(x, tuple(pairs), mode=mode, value=fill if mode == "constant" else 0)


@operator("DepthToSpace")
def depth_to_space(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    batch, channels, height, width = tl.shape(x)
    depth = channels // (blocksize * blocksize)
    if mode == "DCR":
        parts = tl.reshape(x, (batch, blocksize, blocksize, depth, height, width))
        permuted = tl.permute_dims(parts, (0, 3, 4, 1, 5, 2))
    else:
        parts = tl.reshape(x, (batch, depth, blocksize, blocksize, height, width))
        permuted = tl.permute_dims(parts, (0, 1, 4, 2, 5, 3))
    return tl.reshape(permuted, (batch, depth, height * blocksize, width * blocksize))


@operator("SpaceToDepth")
def space_to_depth(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    batch, channels, height, width = tl.shape(x)
    parts = tl.reshape(x, (batch, channels, height // blocksize, blocksize, width // blocksize, blocksize))
    permuted = tl.permute_dims(parts, (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return tl.reshape(permuted, (batch, channels * blocksize * blocksize, height // blocksize, width // blocksize))


@operator("ReverseSequence")
def reverse_sequence(x: Any, lengths: Any, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    """The first elements of each sequence along the time axis reversed, as many as `lengths` has for it."""
    rank, count = rank_of(x), tl.shape(x)[time_axis]
    times = tl.reshape(tl.arange(count), tuple(-1 if k == time_axis else 1 for k in range(rank)))
    ends = tl.reshape(to_dtype(lengths, tl.int64), tuple(-1 if k == batch_axis else 1 for k in range(rank)))
    positions = tl.where(tl.less(times, ends), tl.subtract(tl.subtract(ends, 1), times), times)
    return tl.take_along_axis(x, tl.broadcast_to(positions, tl.shape(x)), axis=time_axis)
