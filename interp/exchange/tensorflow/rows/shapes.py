"""Ops of shapes, and those that move elements."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.errors import Malformed
from .....core.frontend.trace.source_location import user_location
from ..operations import operation, require, tl, unsupported
from ..tensors import ElementType
from .common import (
    axes_of,
    axis_position,
    check_room,
    dtype_of,
    elements,
    integer,
    known_sizes,
    rank_of,
    scalar,
    scalar_like,
    shape_of,
    to_dtype,
    vector,
)

INT32 = ElementType(3)
"""The dtype of shapes if a node names none."""


@operation("Shape")
def shape(x: Any, *, out_type: ElementType = INT32) -> Any:
    return vector(tl.shape(x), out_type.dtype)


@operation("ShapeN")
def shape_n(*arrays: Any, out_type: ElementType = INT32) -> Any:
    return [vector(tl.shape(array), out_type.dtype) for array in arrays]


@operation("Size")
def size(x: Any, *, out_type: ElementType = INT32) -> Any:
    sizes = tl.shape(x)
    if all(isinstance(size, int) for size in sizes):
        return np.asarray(math.prod(sizes), out_type.dtype.numpy)
    return to_dtype(tl.size(x), out_type.dtype)


@operation("Rank")
def rank(x: Any) -> Any:
    return np.asarray(rank_of(x), np.int32)


@operation("Reshape")
def reshape(x: Any, target: Any) -> Any:
    return tl.reshape(x, tuple(elements(target)))


@operation("ExpandDims", static=(1,))
def expand_dims(x: Any, axis: Any) -> Any:
    return tl.expand_dims(x, axis=axis_position(integer(axis), rank_of(x) + 1))


@operation("Squeeze")
def squeeze(x: Any, *, squeeze_dims: Sequence[int] = ()) -> Any:
    sizes = shape_of(x)
    axes = axes_of(squeeze_dims, rank_of(x)) if squeeze_dims else [k for k, size in enumerate(sizes) if size == 1]
    if not squeeze_dims:
        known_sizes(x)
    return tl.squeeze(x, axis=tuple(axes)) if len(axes) else x


@operation("Transpose", static=(1,))
def transpose(x: Any, order: Any) -> Any:
    return tl.permute_dims(x, axes_of(order, rank_of(x)))


@operation("ConcatV2")
def concat_v2(*operands: Any) -> Any:
    *arrays, axis = operands
    return concat(axis, *arrays)


@operation("Concat")
def concat(axis: Any, *arrays: Any) -> Any:
    if not isinstance(axis, np.ndarray):
        raise unsupported("shape", "the axis of a concatenation must be a constant")
    return tl.concat(list(arrays), axis=axis_position(integer(axis), rank_of(arrays[0])))


@operation("ConcatOffset", static=(0,))
def concat_offset(axis: Any, *shapes: Any) -> Any:
    """Where each array begins in a concatenation."""
    position, start = integer(axis), scalar_like(0, shapes[0])
    offsets = []
    for sizes in shapes:
        is_axis = np.arange(known_sizes(sizes)[0]) == position
        offsets.append(tl.where(is_axis, start, scalar_like(0, sizes)))
        start = tl.add(start, tl.index(sizes, position))
    return offsets


@operation("Pack")
def pack(*arrays: Any, axis: int = 0) -> Any:
    return tl.stack(list(arrays), axis=axis)


@operation("Unpack")
def unpack(x: Any, *, num: int, axis: int = 0) -> Any:
    position = axis_position(axis, rank_of(x))
    require(tl.shape(x)[position] == num, "Unpack does not give as many arrays as the length of the axis")
    check_room(num, 256)
    return [tl.index(x, (*[slice(None)] * position, k)) for k in range(num)]


@operation("Split", static=(0,))
def split(axis: Any, x: Any, *, num_split: int) -> Any:
    position = axis_position(integer(axis), rank_of(x))
    (total,) = known_sizes(x, [position])
    check_room(num_split, 256)
    require(num_split > 0 and total % num_split == 0, "Split does not divide the axis into equal parts")
    return split_axis(x, position, [total // num_split] * num_split)


@operation("SplitV", static=(1, 2))
def split_v(x: Any, sizes: Any, axis: Any, *, num_split: int) -> Any:
    position = axis_position(integer(axis), rank_of(x))
    (total,) = known_sizes(x, [position])
    widths = [int(width) for width in np.asarray(sizes)]
    if -1 in widths:
        widths[widths.index(-1)] = total - sum(width for width in widths if width != -1)
    require(len(widths) == num_split and sum(widths) == total and min(widths, default=0) >= 0,
            "SplitV does not divide the axis")  # fmt: skip
    return split_axis(x, position, widths)


def split_axis(x: Any, axis: int, widths: Sequence[int]) -> list[Any]:
    """The parts of an array along an axis, of these widths."""
    stops = itertools.accumulate(widths, initial=0)
    return [tl.index(x, (*[slice(None)] * axis, slice(a, b))) for a, b in itertools.pairwise(stops)]


@operation("StridedSlice")
def strided_slice(
    x: Any, begin: Any, end: Any, strides: Any, *, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,
    new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Any:  # fmt: skip
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    return tl.index(x, slice_key(x, begin, end, strides, masks))


def slice_key(x: Any, begin: Any, end: Any, strides: Any, masks: Sequence[int]) -> tuple[Any, ...]:
    """The key of a slice in Python's form; a bit of a mask replaces one of its entries."""
    if not isinstance(strides, np.ndarray):
        raise unsupported("shape", "the steps of a slice must be constants")
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = masks
    first, last, steps = elements(begin), elements(end), elements(strides)
    key: list[Any] = []
    for k, (start, stop, step) in enumerate(zip(first, last, steps, strict=True)):
        bit = 1 << k
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(start)
        else:
            key.append(slice(None if begin_mask & bit else start, None if end_mask & bit else stop, step))
    return tuple(key) if any(entry is Ellipsis for entry in key) else (*key, Ellipsis)


@operation("Slice", has_effect=True)
def slice_(x: Any, begin: Any, sizes: Any) -> Any:
    """A size of -1 stands for the rest of the axis."""
    bounds = zip(elements(begin), elements(sizes), tl.shape(x), strict=True)
    return tl.index(x, tuple(slice(*slice_bounds(start, size, total)) for start, size, total in bounds))


def slice_bounds(start: Any, size: Any, total: Any) -> tuple[Any, Any]:
    """The first position of a slice and that behind its last, which are checked: before the run if they are known."""
    zero, minus_one = np.int64(0), np.int64(-1)
    if isinstance(size, int):
        end = total if size == -1 else start + size
    else:
        end = tl.where(tl.equal(size, minus_one), np.asarray(total) if isinstance(total, int) else total, start + size)
    if all(isinstance(bound, int) for bound in (start, size, total)):
        require(0 <= start <= end <= total, "Slice is not inside the array")
    else:
        first, last, limit = (np.asarray(bound) if isinstance(bound, int) else bound for bound in (start, end, total))
        conditions = [tl.less_equal(zero, first), tl.less_equal(first, last), tl.less_equal(last, limit)]
        tl.assert_(functools.reduce(tl.logical_and, conditions), "the slice is not inside the array")
    return start, end


@operation("Tile")
def tile(x: Any, repetitions: Any) -> Any:
    counts = elements(repetitions)
    check_room(*known_sizes(x), *counts)
    return tl.tile(x, tuple(counts))


@operation("BroadcastTo")
def broadcast_to(x: Any, target: Any) -> Any:
    sizes = elements(target)
    check_room(*sizes)
    return tl.broadcast_to(x, tuple(sizes))


@operation("BroadcastArgs")
def broadcast_args(x: Any, y: Any) -> Any:
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return np.array(np.broadcast_shapes(tuple(x.tolist()), tuple(y.tolist())), x.dtype)
    raise unsupported("shape", "the shapes of BroadcastArgs must be constants")


@operation("BroadcastGradientArgs", outputs=("r0", "r1"))
def broadcast_gradient_args(x: Any, y: Any) -> Any:
    """The axes along which each operand is repeated."""
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
        raise unsupported("shape", "the shapes of BroadcastGradientArgs must be constants")
    count = max(x.size, y.size)
    first, second = ([1] * (count - operand.size) + operand.tolist() for operand in (x, y))
    pairs = list(zip(first, second, strict=True))
    results = ([k for k, pair in enumerate(pairs) if pair[side] == 1] for side in (0, 1))
    return [np.array(axes, x.dtype) for axes in results]


@operation("Fill", ignored=("index_type",))
def fill(sizes: Any, value: Any) -> Any:
    target = elements(sizes)
    check_room(*target)
    return tl.broadcast_to(scalar(value), tuple(target)) if target else scalar(value)


@operation("Range")
def range_(start: Any, limit: Any, step: Any) -> Any:
    dtype = dtype_of(start)
    if all(isinstance(bound, np.ndarray) for bound in (start, limit, step)):
        require(bool(step != 0), "the step of a range is 0")
        require(bool(start <= limit if step > 0 else start >= limit), "the step of a range leads away from its limit")
        if dtype.kind == "f":
            number = math.ceil((limit - start) / step)
            check_room(number)
            return (start + np.arange(number).astype(dtype.numpy) * step).astype(dtype.numpy)
        number = -((start.item() - limit.item()) // step.item())
        check_room(number)
        return np.arange(start.item(), limit.item(), step.item(), dtype=dtype.numpy)
    if dtype.kind == "f":
        count = tl.ceil(tl.divide(tl.subtract(limit, start), step))
        numbers = tl.arange(tl.astype(tl.maximum(count, scalar_like(0, start)), tl.int64))
        return tl.add(start, tl.multiply(tl.astype(numbers, dtype), step))
    wide = [
        int(bound) if isinstance(bound, np.ndarray) else to_dtype(bound, tl.int64) for bound in (start, limit, step)
    ]
    return to_dtype(tl.arange(*wide, dtype=tl.int64), dtype)


@operation("LinSpace")
def lin_space(start: Any, stop: Any, count: Any) -> Any:
    if not isinstance(count, np.ndarray):
        raise unsupported("shape", "the number of elements of LinSpace must be a constant")
    number = integer(count)
    check_room(number)
    steps = np.arange(number).astype(dtype_of(start).numpy)
    step = tl.divide(tl.subtract(stop, start), scalar_like(max(number - 1, 1), start))
    return tl.add(start, tl.multiply(step, steps))


@operation("Pad", static=(1,))
def pad(x: Any, widths: Any) -> Any:
    return pad_v2(x, widths, scalar_like(0, x))


@operation("PadV2", static=(1,))
def pad_v2(x: Any, widths: Any, value: Any) -> Any:
    return tl.pad(x, padding_pairs(widths), value=value)


@operation("MirrorPad", static=(1,))
def mirror_pad(x: Any, widths: Any, *, mode: str) -> Any:
    """REFLECT repeats no edge, SYMMETRIC does."""
    pairs = padding_pairs(widths)
    for axis, (low, high) in enumerate(pairs):
        (count,) = known_sizes(x, [axis])
        edge = mode != "SYMMETRIC"
        require(max(low, high) <= count - edge, "MirrorPad is wider than the array")
        positions = np.concatenate([
            np.arange(low)[::-1] + edge, np.arange(count), count - 1 - edge - np.arange(high),
        ]).astype(np.int64)  # fmt: skip
        x = tl.take(x, positions, axis=axis)
    return x


def padding_pairs(widths: Any) -> tuple[tuple[int, int], ...]:
    """The widths before and after each axis."""
    pairs = tuple((int(low), int(high)) for low, high in np.asarray(widths))
    check_room(*(width for pair in pairs for width in pair if width < 0))
    return pairs


@operation("ReverseV2", static=(1,))
def reverse_v2(x: Any, axes: Any) -> Any:
    positions = axes_of(axes, rank_of(x))
    return tl.flip(x, axis=positions) if positions else x


@operation("Roll", static=(1, 2))
def roll(x: Any, shift: Any, axis: Any) -> Any:
    return tl.roll(x, tuple(np.asarray(shift).reshape(-1).tolist()), axis=axes_of(axis, rank_of(x)))


@operation("Diag")
def diag(x: Any) -> Any:
    if rank_of(x) != 1:
        raise unsupported("shape", "Diag of an array with several axes")
    return matrix_diag(x)


@operation("MatrixDiag")
def matrix_diag(x: Any) -> Any:
    (count,) = known_sizes(x, [rank_of(x) - 1])
    check_room(count, count)
    eye = np.eye(count, dtype=bool)
    return tl.where(eye, tl.expand_dims(x, axis=-1), scalar_like(0, x))


@operation("MatrixDiagPart", "DiagPart")
def matrix_diag_part(x: Any) -> Any:
    count = min(known_sizes(x)[-2:])
    positions = np.arange(count)
    return tl.index(x, (..., positions, positions))


@operation("MatrixBandPart", static=(1, 2))
def matrix_band_part(x: Any, lower: Any, upper: Any) -> Any:
    rows, columns = known_sizes(x)[-2:]
    check_room(rows, columns)
    lower_width, upper_width = integer(lower), integer(upper)
    distance = np.arange(rows)[:, None] - np.arange(columns)
    is_in_band = ((lower_width < 0) | (distance <= lower_width)) & ((upper_width < 0) | (-distance <= upper_width))
    return tl.where(is_in_band, x, scalar_like(0, x))


def batch_axes(x: Any, count: int) -> int:
    """A number of batch axes, counted from the first."""
    position = count + rank_of(x) if count < 0 else count
    if not 0 <= position <= rank_of(x):
        raise Malformed("there are no such batch axes", where=user_location(), got=count)
    return position
