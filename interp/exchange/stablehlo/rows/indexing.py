"""Operations that read elements at computed positions, or write them there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.frontend.array_api.common import shape_of
from ..interpreter import HloRegion
from ..module import OperationBlock
from ..operations import row, tl, unsupported
from .common import clamp_start, dimension_numbers, dtype_of, move_axes, rank_of, sizes_of
from .regions import single_operations

UPDATES = {"add": "scatter_add", "multiply": "scatter_mul", "maximum": "scatter_max", "minimum": "scatter_min"}


@row("dynamic_slice")
def dynamic_slice(x: Any, *starts: Any, slice_sizes: Sequence[int]) -> Any:
    """A slice whose start is moved so that all of it is in the array."""
    for axis, (start, size, total) in enumerate(zip(starts, slice_sizes, sizes_of(x), strict=True)):
        if size < total:
            first = clamp_start(start, total - size)
            x = tl.take(x, positions_from(first, size), axis=axis)
    return x


def positions_from(first: Any, size: int) -> Any:
    """`size` consecutive positions from `first` on."""
    if isinstance(first, np.ndarray):
        return np.arange(int(first), int(first) + size)
    return tl.reshape(first, (1,)) if size == 1 else tl.add(first, np.arange(size))


@row("dynamic_update_slice")
def dynamic_update_slice(x: Any, update: Any, *starts: Any) -> Any:
    """x with a slice replaced, whose start is moved so that all of it is in the array."""
    sizes, update_sizes = sizes_of(x), sizes_of(update)
    if sizes == update_sizes:
        return update
    key: list[Any] = []
    for start, size, total in zip(starts, update_sizes, sizes, strict=True):
        if size == total:
            key.append(slice(None))
            continue
        first = clamp_start(start, total - size)
        first = int(first) if isinstance(first, np.ndarray) else first
        key.append(slice(first, first + size))
    return tl.scatter_index(x, update, tuple(key))


@row("gather")
def gather(x: Any, starts: Any, *, dimension_numbers: str, slice_sizes: Sequence[int]) -> Any:
    """Slices of equal sizes. Each start is moved so that the whole slice is in the array. The axes that are taken whole
    come last: `tl.gather` does not change them."""
    numbers = read_numbers(dimension_numbers)
    sizes, rank = sizes_of(x), rank_of(x)
    collapsed = {*numbers.get("collapsed_slice_dims", []), *numbers.get("operand_batching_dims", [])}
    index = StartIndices(starts, numbers, "start_index_map", "start_indices_batching_dims", "operand_batching_dims")
    indexed = [axis for axis in range(rank) if axis in collapsed or slice_sizes[axis] < sizes[axis]]
    unindexed = [axis for axis in range(rank) if axis not in indexed]
    ranges = [axis for axis in indexed if axis not in collapsed]
    batch_rank = len(index.batch_sizes)
    positions = []
    for axis in indexed:
        first = clamp_start(index.start(axis), sizes[axis] - slice_sizes[axis])
        positions.append(spread_range(first, batch_rank, ranges, axis, slice_sizes[axis]))
    x = move_axes(x, [*indexed, *unindexed])
    if not positions:
        parts = tl.broadcast_to(x, (*index.batch_sizes, *sizes_of(x)))
    else:
        full = (*index.batch_sizes, *(slice_sizes[axis] for axis in ranges))
        positions[0] = positions[0] if shape_of(positions[0]) == full else tl.broadcast_to(positions[0], full)
        parts = tl.gather(x, *positions)
    offsets = numbers.get("offset_dims", [])
    kept_axes = [axis for axis in range(rank) if axis not in collapsed]
    slice_axes = [*ranges, *unindexed]
    order, batch = [], iter(range(batch_rank))
    for position in range(batch_rank + len(offsets)):
        order.append(
            batch_rank + slice_axes.index(kept_axes[offsets.index(position)]) if position in offsets else next(batch)
        )
    return move_axes(parts, order)


def read_numbers(attribute: str) -> dict[str, list[int]]:
    return dimension_numbers(attribute)


class StartIndices:
    """The starts of slices: an array with a vector of indices for each position of its other axes."""

    def __init__(self, starts: Any, numbers: dict[str, list[int]], axes: str, own_batch: str, other_batch: str) -> None:
        self.starts, rank = starts, rank_of(starts)
        (self.vector_axis,) = numbers.get("index_vector_dim") or [0]
        self.axes = numbers.get(axes, [])
        self.batch_axes = dict(zip(numbers.get(other_batch, []), numbers.get(own_batch, []), strict=True))
        sizes = sizes_of(starts)
        self.has_vector = self.vector_axis < rank
        self.index_axes = [axis for axis in range(rank) if axis != self.vector_axis]
        self.batch_sizes = tuple(sizes[axis] for axis in self.index_axes)

    def has(self, axis: int) -> bool:
        return axis in self.axes or axis in self.batch_axes

    def start(self, axis: int) -> Any:
        """The start of slices along an axis: one number, or one for each position."""
        if axis in self.axes:
            if not self.has_vector:
                return self.starts
            part: Any = (*[slice(None)] * self.vector_axis, self.axes.index(axis))
            return np.asarray(self.starts[part]) if isinstance(self.starts, np.ndarray) else tl.index(self.starts, part)
        if axis in self.batch_axes:
            position = self.index_axes.index(self.batch_axes[axis])
            shape = [size if k == position else 1 for k, size in enumerate(self.batch_sizes)]
            return np.broadcast_to(np.arange(self.batch_sizes[position]).reshape(shape), self.batch_sizes).copy()
        return np.zeros((), np.int64)


def spread_range(first: Any, batch_rank: int, ranges: Sequence[int], axis: int, size: int) -> Any:
    """The positions of slices along an axis, from `first` on, along a separate axis behind the axes of the batch."""
    extra = len(ranges)
    if rank_of(first) and extra:
        shape = (*sizes_of(first), *[1] * extra)
        first = first.reshape(shape) if isinstance(first, np.ndarray) else tl.reshape(first, shape)
    if axis not in ranges:
        return first
    offsets = np.arange(size).reshape([size if ranged_axis == axis else 1 for ranged_axis in ranges])
    return first + offsets if isinstance(first, np.ndarray) else tl.add(first, offsets)


def update_function(block: OperationBlock) -> str:
    """The name of the function that combines elements with updates as the region of a scatter says."""
    if block.results == (block.parameters[1],):
        return "scatter"
    names = single_operations(block)
    function = UPDATES.get(names[0], "") if names else ""
    if not function:
        raise unsupported("op", "scatter whose region is neither one operation nor the update is not imported")
    return function


@row("scatter")
def scatter(
    *operands: Any, regions: list[HloRegion], scatter_dimension_numbers: str, unique_indices: bool = False
) -> Any:
    """Windows of the updates put into x, or combined with its elements. A window that is not all in x is dropped, as
    in XLA."""
    if len(operands) != 3:
        raise unsupported("op", "scatter of several arrays at once is not imported")
    x, starts, updates = operands
    function = update_function(regions[0].block)
    numbers = dimension_numbers(scatter_dimension_numbers)
    if rank_of(x) == 0:  # a vector of one element
        return tl.reshape(scatter_windows(function, tl.reshape(x, (1,)), starts, updates, numbers, {0}), ())
    inserted = {*numbers.get("inserted_window_dims", []), *numbers.get("input_batching_dims", [])}
    return scatter_windows(function, x, starts, updates, numbers, inserted)


def scatter_windows(
    function: str, x: Any, starts: Any, updates: Any, numbers: dict[str, list[int]], inserted: set[int]
) -> Any:
    """A scatter into an array of at least one axis; along the axes in `inserted` a window has one element.

    The axes of x are split into those with indices, of which `ranges` are axes of the window, and those that the window
    covers as a whole. A window that is not all in x goes to a row behind the last one, which is cut off.
    """
    sizes, update_sizes = sizes_of(x), sizes_of(updates)
    if 0 in sizes or 0 in update_sizes:
        return x
    index = StartIndices(
        starts, numbers, "scatter_dims_to_operand_dims", "scatter_indices_batching_dims", "input_batching_dims"
    )
    axes, window_axes = range(len(sizes)), numbers.get("update_window_dims", [])
    update_axes = dict(zip([axis for axis in axes if axis not in inserted], window_axes, strict=True))
    window = {axis: update_sizes[update_axis] for axis, update_axis in update_axes.items()}
    indexed = [axis for axis in axes if axis in inserted or index.has(axis) or window[axis] < sizes[axis]]
    unindexed = [axis for axis in axes if axis not in indexed]
    ranges = [axis for axis in indexed if axis not in inserted]
    batch_axes = [axis for axis in range(len(update_sizes)) if axis not in window_axes]
    updates = move_axes(updates, [*batch_axes, *(update_axes[axis] for axis in (*ranges, *unindexed))])
    if not indexed:  # one window that is all of x, at each position
        indexed, ranges, unindexed = [0], [0], unindexed[1:]
    order = [*indexed, *unindexed]
    rows = move_axes(x, order)
    positions, is_whole = window_positions(index, sizes, window, indexed, ranges)
    if is_whole is not None:
        positions[0] = tl.where(is_whole, positions[0], np.int64(sizes[indexed[0]]))
        rows = tl.concat([rows, tl.index(rows, slice(0, 1))], axis=0)
    full = (*index.batch_sizes, *(window[axis] for axis in ranges))
    if shape_of(positions[0]) != full:
        positions[0] = tl.broadcast_to(positions[0], full)
    result = getattr(tl, function)(rows, updates, *positions)
    if is_whole is not None:
        result = tl.index(result, slice(None, sizes[indexed[0]]))
    return move_axes(result, [order.index(axis) for axis in axes])


def window_positions(
    index: StartIndices, sizes: Sequence[int], window: dict[int, int], indexed: list[int], ranges: list[int]
) -> tuple[list[Any], Any | None]:
    """The positions of the elements of windows along each indexed axis, moved into the array; and whether each window
    is completely in the array without being moved, None if all windows are known to be."""
    positions, is_whole = [], None
    for axis in indexed:
        first, limit = index.start(axis), sizes[axis] - window.get(axis, 1)
        positions.append(
            spread_range(clamp_start(first, limit), len(index.batch_sizes), ranges, axis, window.get(axis, 1))
        )
        check = is_inside(first, limit)
        if check is not None:
            is_whole = check if is_whole is None else tl.logical_and(is_whole, check)
    if is_whole is not None and rank_of(is_whole) and ranges:
        is_whole = tl.reshape(is_whole, (*index.batch_sizes, *[1] * len(ranges)))
    return positions, is_whole


def is_inside(first: Any, limit: int) -> Any | None:
    """Whether slices that begin at `first` are in the array, which they are from 0 to `limit`. None if all are known
    to be."""
    if isinstance(first, np.ndarray):
        return None if bool(np.all((first >= 0) & (first <= limit))) else (first >= 0) & (first <= limit)
    if dtype_of(first).kind == "u":
        return tl.less_equal(first, np.asarray(limit, dtype_of(first).numpy))
    wide = tl.astype(first, tl.int64)
    return tl.logical_and(tl.greater_equal(wide, np.int64(0)), tl.less_equal(wide, np.int64(limit)))
