"""Operators of shapes: views of the elements of an array in another arrangement, joins and repetitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.types import Type
from ..graph import TensorMeta
from ..operations import require, row, tl, unsupported
from ..storage import contiguous_copies, reshape_copies
from .common import (
    FULL,
    axes_of,
    axis_position,
    cast,
    check_count,
    check_room,
    dtype_of,
    known_sizes,
    per_axis,
    rank_of,
    scalar_like,
    shape_of,
    to_dtype,
)


def reshape(x: Any, sizes: Sequence[Any]) -> Any:
    """An array of these sizes; the array itself if it has them."""
    return x if tuple(sizes) == tuple(shape_of(x)) and None not in shape_of(x) else tl.reshape(x, tuple(sizes))


def permute(x: Any, order: Sequence[int]) -> Any:
    """An array with its axes in this order."""
    return x if list(order) == list(range(len(order))) else tl.permute_dims(x, tuple(order))


def part(x: Any, axis: int, entry: Any) -> Any:
    """An array indexed along one axis."""
    return tl.index(x, (*[FULL] * axis, entry))


def as_batch(x: Any, axes: int) -> Any:
    """Samples with `axes` spatial axes; a single one becomes a batch of one."""
    return x if rank_of(x) == axes + 2 else tl.expand_dims(x, axis=0)


@row("view", is_view=True)
def view(self: Any, size: Any = None, dtype: Any = None) -> Any:
    if size is None:
        if dtype_of(self).bits != dtype.bits:
            raise unsupported("dtype", f"the bits of {dtype_of(self)!r} are not read as {dtype!r}")
        return tl.bitcast(self, dtype)
    return reshape(self, size)


@row("_unsafe_view")
def unsafe_view(self: Any, size: list[Any]) -> Any:
    return reshape(self, size)


@row("reshape", is_view=True, copies=reshape_copies)
def reshape_(self: Any, shape: list[Any]) -> Any:
    return reshape(self, shape)


@row("view_as", "reshape_as", is_view=True, copies=reshape_copies)
def view_as(self: Any, other: Any) -> Any:
    return reshape(self, tl.shape(other))


@row("ravel", is_view=True, copies=reshape_copies)
def ravel(self: Any) -> Any:
    return reshape(self, (-1,))


@row("flatten", is_view=True, copies=reshape_copies)
def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    rank = rank_of(self)
    if not rank:
        return tl.reshape(self, (1,))
    first, last = axis_position(start_dim, rank), axis_position(end_dim, rank)
    sizes = tl.shape(self)
    if first == last:
        return self
    return reshape(self, (*sizes[:first], flat_size(sizes[first : last + 1]), *sizes[last + 1 :]))


def flat_size(sizes: Sequence[Any]) -> Any:
    """The size of an axis that replaces axes of these sizes: -1, which the run computes, if one is known only then."""
    return math.prod(sizes) if all(isinstance(size, int) for size in sizes) else -1


@row("unflatten", is_view=True)
def unflatten(self: Any, dim: int, sizes: list[Any]) -> Any:
    axis, shape = axis_position(dim, rank_of(self)), tl.shape(self)
    return reshape(self, (*shape[:axis], *sizes, *shape[axis + 1 :]))


@row("permute", is_view=True)
def permute_(self: Any, dims: list[int]) -> Any:
    return permute(self, [axis_position(axis, rank_of(self)) for axis in dims])


@row("transpose", "swapdims", is_view=True)
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    order = list(range(rank_of(self)))
    if order:
        first, second = axis_position(dim0, len(order)), axis_position(dim1, len(order))
        order[first], order[second] = second, first
    return permute(self, order)


@row("swapaxes", is_view=True)
def swapaxes(self: Any, axis0: int, axis1: int) -> Any:
    return transpose(self, axis0, axis1)


@row("t", "numpy_T", is_view=True)
def t(self: Any) -> Any:
    return permute(self, range(rank_of(self))[::-1])


@row("mT", "mH", "adjoint", is_view=True)
def matrix_transpose(self: Any) -> Any:
    return tl.matrix_transpose(self)


@row("movedim", "moveaxis", is_view=True)
def movedim(self: Any, source: Any, destination: Any) -> Any:
    return tl.moveaxis(self, tuple(per_axis(source, 1)), tuple(per_axis(destination, 1)))


@row("unsqueeze", is_view=True)
def unsqueeze(self: Any, dim: int) -> Any:
    return tl.expand_dims(self, axis=axis_position(dim, rank_of(self) + 1))


@row("squeeze", is_view=True)
def squeeze(self: Any, dim: Any = None) -> Any:
    shape = shape_of(self)
    axes = tuple(axis for axis in axes_of(dim, len(shape)) if shape[axis] == 1)
    return tl.squeeze(self, axes) if axes else self


@row("expand", is_view=True)
def expand(self: Any, size: list[Any], *, implicit: bool = False) -> Any:
    """A size of -1 stands for the array's own size."""
    rank, sizes = rank_of(self), tl.shape(self)
    extra = len(size) - rank
    shape = [
        sizes[k - extra] if isinstance(requested_size, int) and requested_size == -1 else requested_size
        for k, requested_size in enumerate(size)
    ]
    return self if shape == list(shape_of(self)) else tl.broadcast_to(self, tuple(shape))


@row("expand_as", is_view=True)
def expand_as(self: Any, other: Any) -> Any:
    return tl.broadcast_to(self, tl.shape(other))


@row("broadcast_to", is_view=True)
def broadcast_to(self: Any, size: list[Any]) -> Any:
    return expand(self, size)


@row("select", is_view=True)
def select(self: Any, dim: int, index: Any) -> Any:
    return part(self, axis_position(dim, rank_of(self)), index)


@row("select_copy")
def select_copy(self: Any, dim: int, index: Any) -> Any:
    return select(self, dim, index)


def slice_entry(x: Any, axis: int, start: Any, end: Any, step: int) -> slice:
    """The slice of Python with bounds of PyTorch: a number behind the end of every axis means the end."""
    size = shape_of(x)[axis]
    first = None if isinstance(start, int) and start == 0 else start
    last = None if isinstance(end, int) and (end >= 2**62 or end == size) else end
    return slice(first, last, None if step == 1 else step)


@row("slice", is_view=True)
def slice_(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    axis = axis_position(dim, rank_of(self))
    entry = slice_entry(self, axis, start, end, step)
    return self if entry == FULL else part(self, axis, entry)


@row("narrow", is_view=True)
def narrow(self: Any, dim: int, start: Any, length: Any) -> Any:
    end = start + length if isinstance(start, int) and isinstance(length, int) else tl.add(start, length)
    return slice_(self, dim, start, end)


@row("unbind", is_view=True)
def unbind(self: Any, dim: int = 0) -> Any:
    axis = axis_position(dim, rank_of(self))
    (count,) = known_sizes(self, [axis])
    check_count(count)
    return [part(self, axis, k) for k in range(count)]


def split_at(x: Any, axis: int, bounds: Sequence[Any]) -> list[Any]:
    """The parts of an array between bounds."""
    return [slice_(x, axis, start, end) for start, end in itertools.pairwise(bounds)]


@row("split", is_view=True)
def split(self: Any, split_size: Any = None, dim: int = 0, split_sizes: Any = None) -> Any:
    sizes = split_sizes if split_sizes is not None else split_size
    if isinstance(sizes, list):
        return split_with_sizes(self, sizes, dim)
    axis = axis_position(dim, rank_of(self))
    (total,) = known_sizes(self, [axis])
    require(sizes > 0 or total == 0, "an array is split into parts of no elements")
    check_count(total // max(sizes, 1))
    return split_at(self, axis, [*range(0, total, max(sizes, 1)), total]) if total else [self]


@row("split_with_sizes", is_view=True)
def split_with_sizes(self: Any, split_sizes: list[Any], dim: int = 0) -> Any:
    axis = axis_position(dim, rank_of(self))
    bounds = [0]
    for size in split_sizes:
        last = bounds[-1]
        are_static = isinstance(last, int) and isinstance(size, int)
        bounds.append(
            last + size if are_static else tl.add(*(np.int64(x) if isinstance(x, int) else x for x in (last, size)))
        )
    return split_at(self, axis, bounds)


@row("chunk", is_view=True)
def chunk(self: Any, chunks: int, dim: int = 0) -> Any:
    (total,) = known_sizes(self, [axis_position(dim, rank_of(self))])
    return split(self, max(-(-total // chunks), 1), dim)


@row("tensor_split", is_view=True)
def tensor_split(self: Any, sections: int | None = None, dim: int = 0, indices: Any = None) -> Any:
    axis = axis_position(dim, rank_of(self))
    (total,) = known_sizes(self, [axis])
    if sections is None:
        return split_at(self, axis, [0, *indices, total])
    check_count(sections)
    width, remainder = divmod(total, sections)
    return split_with_sizes(self, [width + (k < remainder) for k in range(sections)], dim)


@row("diagonal", is_view=True)
def diagonal_of(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    rank = rank_of(self)
    first, second = axis_position(dim1, rank), axis_position(dim2, rank)
    other_axes = [axis for axis in range(rank) if axis not in (first, second)]
    matrices = permute(self, [*other_axes, first, second])
    rows, columns = known_sizes(matrices, [rank - 2, rank - 1])
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    check_room(count)
    numbers = np.arange(count)
    flat = reshape(matrices, (*tl.shape(matrices)[:-2], rows * columns))
    positions = (numbers - min(offset, 0)) * columns + numbers + max(offset, 0)
    return tl.take(flat, positions, axis=rank - 2)


@row("diag_embed")
def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    rank = rank_of(self) + 1
    first, second = axis_position(dim1, rank), axis_position(dim2, rank)
    (count,) = known_sizes(self, [rank - 2])
    size = count + abs(offset)
    check_room(size, size)
    is_diagonal = np.eye(size, size, offset, dtype=bool)
    positions = np.clip(np.arange(size) - max(offset, 0), 0, max(count - 1, 0))
    spread = tl.take(self, positions, axis=rank - 2) if count else tl.broadcast_to(scalar_like(0, self), (size,))
    matrices = tl.where(is_diagonal, tl.expand_dims(spread, axis=rank - 2), scalar_like(0, self))
    return tl.moveaxis(matrices, (-2, -1), (first, second))


@row("diag")
def diag(self: Any, diagonal: int = 0) -> Any:
    return diag_embed(self, diagonal) if rank_of(self) == 1 else diagonal_of(self, diagonal)


@row("unfold", is_view=True)
def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    """The windows along an axis, whose elements are along a new last axis."""
    axis = axis_position(dimension, rank_of(self))
    axis_last = tl.moveaxis(self, axis, -1)
    return tl.moveaxis(tl.windows(axis_last, (size,), strides=(step,)), -2, axis)


def strided_copies(source: TensorMeta, result: TensorMeta) -> bool:
    """`as_strided` is a view. Raises Unsupported if the elements of its operand are not all those in memory."""
    if contiguous_copies(source, result) is not False or source.offset != 0:
        raise unsupported("construct", "as_strided of a tensor whose elements do not lie one after the other")
    return False


@row("as_strided", is_view=True, copies=strided_copies)
def as_strided(self: Any, size: list[int], stride: list[int], storage_offset: int | None = None) -> Any:
    """The elements of an array whose elements lie one after the other."""
    check_room(*size)
    positions = np.asarray(storage_offset or 0)
    for count, width in zip(size, stride, strict=True):
        positions = positions[..., None] + np.arange(count) * width
    return tl.take(reshape(self, (-1,)), positions, axis=0)


# Joins and repetitions


@row("cat", "concat", "concatenate")
def cat(tensors: list[Any], dim: int = 0, *, result: Type) -> Any:
    """An array without elements and with one axis is left out, even if the other arrays have more axes."""
    arrays = [array for array in tensors if shape_of(array) != (0,)] or tensors[:1]
    arrays = [to_dtype(array, result.dtype) for array in arrays]
    axis = axis_position(dim, rank_of(arrays[0]))
    return arrays[0] if len(arrays) == 1 else tl.concat(arrays, axis=axis)


@row("stack")
def stack(tensors: list[Any], dim: int = 0, *, result: Type) -> Any:
    return tl.stack(cast(result.dtype, *tensors), axis=axis_position(dim, rank_of(tensors[0]) + 1))


@row("hstack")
def hstack(tensors: list[Any], *, result: Type) -> Any:
    arrays = [tl.reshape(array, (1,)) if rank_of(array) == 0 else array for array in tensors]
    return cat(arrays, 0 if rank_of(arrays[0]) == 1 else 1, result=result)


@row("vstack")
def vstack(tensors: list[Any], *, result: Type) -> Any:
    return cat([tl.reshape(array, (1, -1)) if rank_of(array) < 2 else array for array in tensors], 0, result=result)


@row("repeat")
def repeat(self: Any, repeats: list[Any]) -> Any:
    extra = len(repeats) - rank_of(self)
    x = reshape(self, (*[1] * extra, *tl.shape(self))) if extra else self
    return tl.tile(x, tuple(repeats))


@row("tile")
def tile(self: Any, dims: list[Any]) -> Any:
    return repeat(self, [*[1] * (rank_of(self) - len(dims)), *dims])


@row("repeat_interleave")
def repeat_interleave(self: Any = None, repeats: Any = None, dim: int | None = None, output_size: Any = None) -> Any:
    if self is None:
        return tl.repeat(tl.arange(tl.shape(repeats)[0]), repeats, axis=0)
    x = reshape(self, (-1,)) if dim is None else self
    axis = axis_position(0 if dim is None else dim, rank_of(x))
    if isinstance(repeats, np.ndarray):
        repeats = repeats.reshape(-1)
        repeats = int(repeats[0]) if repeats.size == 1 else repeats
    return tl.repeat(x, repeats, axis=axis)


@row("flip")
def flip(self: Any, dims: list[int]) -> Any:
    return tl.flip(self, axis=axes_of(dims, rank_of(self))) if dims else self


@row("fliplr")
def fliplr(self: Any) -> Any:
    return tl.flip(self, axis=1)


@row("flipud")
def flipud(self: Any) -> Any:
    return tl.flip(self, axis=0)


@row("rot90")
def rot90(self: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    first, second = axes_of(list(dims), rank_of(self))
    match k % 4:
        case 0:
            return self
        case 1:
            return transpose(tl.flip(self, axis=second), first, second)
        case 2:
            return tl.flip(self, axis=(first, second))
    return tl.flip(transpose(self, first, second), axis=second)


@row("roll")
def roll(self: Any, shifts: Any, dims: Any = ()) -> Any:
    moves = tuple(per_axis(shifts, 1))
    if not dims:
        return reshape(tl.roll(reshape(self, (-1,)), moves[0], axis=0), tl.shape(self))
    return tl.roll(self, moves, axis=axes_of(dims, rank_of(self)))


@row("meshgrid")
def meshgrid(tensors: list[Any], indexing: str = "ij") -> Any:
    vectors = [reshape(array, (-1,)) for array in tensors]
    return list(tl.meshgrid(*vectors, indexing=indexing))


@row("broadcast_tensors")
def broadcast_tensors(tensors: list[Any]) -> Any:
    return list(tl.broadcast_arrays(*tensors))


def register_least_rank(rank: int) -> None:
    @row(f"atleast_{rank}d", is_view=True)
    def compute(self: Any) -> Any:
        """An array with fewer axes gets new ones: before the others, and the third one behind them."""
        new_axes = max(rank - rank_of(self), 0)
        leading_axes = new_axes - (rank == 3 and rank_of(self) in (1, 2))
        return reshape(self, (*[1] * leading_axes, *tl.shape(self), *[1] * (new_axes - leading_axes)))


for _rank in (1, 2, 3):
    register_least_rank(_rank)


# Padding


@row("constant_pad_nd")
def constant_pad_nd(self: Any, pad: list[Any], value: Any = 0) -> Any:
    """The numbers of elements before and after each axis, the last axis first. A negative one removes elements."""
    pairs = padding_pairs(pad, rank_of(self))
    x = self
    for axis, (low, high) in enumerate(pairs):
        if low < 0 or high < 0:
            x = slice_(x, axis, max(-low, 0), high if high < 0 else None)
    widths = tuple((max(low, 0), max(high, 0)) for low, high in pairs)
    return tl.pad(x, widths, value=to_dtype(value, dtype_of(self))) if any(map(any, widths)) else x


def padding_pairs(pad: Sequence[Any], rank: int) -> list[tuple[int, int]]:
    """For each axis, the numbers of elements before and after it."""
    if not all(isinstance(width, int) for width in pad) or len(pad) % 2 or len(pad) > 2 * rank:
        raise unsupported("shape", "padding of widths that are known only at run time, or of axes that do not exist")
    pairs = [(pad[2 * k], pad[2 * k + 1]) for k in range(len(pad) // 2)][::-1]
    return [(0, 0)] * (rank - len(pairs)) + pairs


MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@row("pad")
def pad_(self: Any, pad: list[Any], mode: str = "constant", value: Any = None) -> Any:
    if mode == "constant":
        return constant_pad_nd(self, pad, value or 0)
    if mode not in MODES:
        raise unsupported("attribute", f"padding in the mode {mode!r}")
    return tl.pad(self, tuple(padding_pairs(pad, rank_of(self))), mode=MODES[mode])


@row("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(self: Any, padding: list[Any]) -> Any:
    return pad_(self, padding, "reflect")


@row("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(self: Any, padding: list[Any]) -> Any:
    return pad_(self, padding, "replicate")


@row("pixel_shuffle")
def pixel_shuffle(self: Any, upscale_factor: int) -> Any:
    *outer, channels, height, width = known_sizes(self)
    r, rank = upscale_factor, len(outer)
    split_axes = tl.reshape(self, (*outer, channels // (r * r), r, r, height, width))
    order = [*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2]
    return tl.reshape(tl.permute_dims(split_axes, tuple(order)), (*outer, channels // (r * r), height * r, width * r))


@row("pixel_unshuffle")
def pixel_unshuffle(self: Any, downscale_factor: int) -> Any:
    *outer, channels, height, width = known_sizes(self)
    r, rank = downscale_factor, len(outer)
    split_axes = tl.reshape(self, (*outer, channels, height // r, r, width // r, r))
    order = [*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3]
    return tl.reshape(tl.permute_dims(split_axes, tuple(order)), (*outer, channels * r * r, height // r, width // r))


@row("channel_shuffle")
def channel_shuffle(self: Any, groups: int) -> Any:
    batch, channels, *spatial = known_sizes(self)
    split_axes = tl.reshape(self, (batch, groups, channels // groups, *spatial))
    return tl.reshape(tl.permute_dims(split_axes, (0, 2, 1, *range(3, 3 + len(spatial)))), (batch, channels, *spatial))
