"""Reductions, over axes and over windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....core.dtypes import DType
from ...export.stablehlo import neutral_element
from ..interpreter import HloRegion, OperationCall
from ..module import OperationBlock, constant_elements
from ..operations import row, tl, unsupported
from .common import check_table_size, dtype_of, move_axes, rank_of, scalar_like, sizes_of
from .regions import chooses_largest, single_operations
from .shapes import pad_array

Axes = tuple[int, ...]


def _sum(x: Any, axes: Axes) -> Any:
    return tl.any(x, axis=axes) if dtype_of(x).kind == "b" else tl.sum(x, axis=axes, dtype=dtype_of(x))


def _product(x: Any, axes: Axes) -> Any:
    return tl.all(x, axis=axes) if dtype_of(x).kind == "b" else tl.prod(x, axis=axes, dtype=dtype_of(x))


def _largest(x: Any, axes: Axes) -> Any:
    return tl.any(x, axis=axes) if dtype_of(x).kind == "b" else tl.max(x, axis=axes)


def _smallest(x: Any, axes: Axes) -> Any:
    return tl.all(x, axis=axes) if dtype_of(x).kind == "b" else tl.min(x, axis=axes)


REDUCTIONS: dict[str, Callable[[Any, Axes], Any]] = {
    "add": _sum, "multiply": _product, "maximum": _largest, "minimum": _smallest,
}  # fmt: skip
"""The reductions whose region is one operation of numbers."""
BOOL_REDUCTIONS: dict[str, Callable[[Any, Axes], Any]] = {
    "or": lambda x, axes: tl.any(x, axis=axes), "and": lambda x, axes: tl.all(x, axis=axes),
}  # fmt: skip
COMBINATIONS = {
    "add": "add", "multiply": "multiply", "maximum": "maximum", "minimum": "minimum", "or": "logical_or",
    "and": "logical_and",
}  # fmt: skip
CUMULATIVE = {
    "add": "cumulative_sum", "multiply": "cumulative_prod", "maximum": "cummax", "minimum": "cummin",
}  # fmt: skip


def reduction_of(operation: str | None, dtype: DType) -> Callable[[Any, Axes], Any] | None:
    """The reduction by one operation; None where there is none for the dtype."""
    if operation in BOOL_REDUCTIONS:
        return BOOL_REDUCTIONS[operation] if dtype.kind == "b" else None
    return REDUCTIONS.get(operation or "")


def combine_start(operation: str, start: Any, reduced: Any) -> Any:
    """The combination of a reduced array with the start value of the reduction."""
    dtype = dtype_of(reduced)
    if isinstance(start, np.ndarray) and start.size == 1:
        neutral = np.asarray(neutral_element(operation, dtype), dtype.numpy)
        if start.reshape(()) == neutral:
            return reduced
    name = COMBINATIONS[operation]
    if dtype.kind == "b":
        name = "logical_or" if operation in ("or", "add", "maximum") else "logical_and"
    return getattr(tl, name)(start, reduced)


@row("reduce")
def reduce(*operands: Any, operation: OperationCall, regions: list[HloRegion], dimensions: Sequence[int]) -> Any:
    """A reduction by one operation becomes a reduction of tagloom; the search for the largest or smallest element
    becomes argmax or argmin; any other region is applied in a loop, element by element."""
    count = len(operands) // 2
    arrays, starts = operands[:count], operands[count:]
    axes = tuple(dimensions)
    needs_values = operation.operation.results[0] in operation.interpreter.used_values
    return reduce_arrays(
        arrays, starts, regions[0], axes, has_positions=has_positions(operation, axes), needs_values=needs_values
    )


def reduce_arrays(
    arrays: Sequence[Any],
    starts: Sequence[Any],
    region: HloRegion,
    axes: Axes,
    *,
    has_positions: bool = False,
    needs_values: bool = True,
) -> list[Any]:
    """Arrays reduced along axes. With `has_positions`, the second array has the positions along the axis. Without
    `needs_values`, the first result is unused and may be None."""
    sizes = sizes_of(arrays[0])
    kept_sizes = tuple(size for axis, size in enumerate(sizes) if axis not in axes)
    if any(sizes[axis] == 0 for axis in axes):
        return [tl.broadcast_to(start, kept_sizes) for start in starts]
    if not axes:
        return region.lift(*(tl.broadcast_to(start, sizes) for start in starts), *arrays)
    names = single_operations(region.block)
    if names is not None:
        reductions = [reduction_of(name, dtype_of(array)) for name, array in zip(names, arrays, strict=True)]
        if all(reductions):
            rows = zip(names, reductions, arrays, starts, strict=True)
            return [combine_start(name, start, reduced(array, axes)) for name, reduced, array, start in rows if reduced]
    if has_positions and len(axes) == 1:
        largest = chooses_largest(region, dtype_of(arrays[0]), dtype_of(arrays[1]))
        if largest is not None:
            return find_extremes(arrays, starts, region, axes[0], largest, needs_values)
    return reduce_in_loop(arrays, starts, region, axes)


def has_positions(call: OperationCall, axes: Axes) -> bool:
    """Whether the second operand of a reduction is an iota along its axis."""
    operation = call.operation
    if len(operation.operands) != 4 or len(axes) != 1:
        return False
    value, axis = operation.operands[1], axes[0]
    producers = call.interpreter.producers
    while value in producers:
        producer = producers[value]
        if producer.name == "stablehlo.iota":
            return bool(producer.attributes["iota_dimension"] == axis)
        if producer.name != "stablehlo.broadcast_in_dim" or axis not in producer.attributes["broadcast_dimensions"]:
            return False
        value, axis = producer.operands[0], producer.attributes["broadcast_dimensions"].index(axis)
    return False


def find_extremes(
    arrays: Sequence[Any], starts: Sequence[Any], region: HloRegion, axis: int, largest: bool, needs_values: bool
) -> list[Any]:
    """The largest or smallest element along an axis, and its index: the first such element, and NaN before all."""
    indices = (tl.argmax if largest else tl.argmin)(arrays[0], axis=axis)
    least = -math.inf if largest else math.inf
    dtype = dtype_of(arrays[0])
    if dtype.is_integer:
        least = dtype.range[0] if largest else dtype.range[1]
    numbers = tl.astype(indices, dtype_of(arrays[1]))
    is_constant = all(isinstance(start, np.ndarray) for start in starts)
    is_neutral = is_constant and starts[0] == least and starts[1] == 0
    values = (tl.max if largest else tl.min)(arrays[0], axis=axis) if needs_values or not is_neutral else None
    if is_neutral:
        return [values, numbers]
    shape = sizes_of(values)
    return region.lift(*(tl.broadcast_to(start, shape) for start in starts), values, numbers)


def reduce_in_loop(arrays: Sequence[Any], starts: Sequence[Any], region: HloRegion, axes: Axes) -> list[Any]:
    """Reduce in the order of the elements, one after another."""
    sizes = sizes_of(arrays[0])
    kept_axes = [axis for axis in range(len(sizes)) if axis not in axes]
    shape, total = tuple(sizes[axis] for axis in kept_axes), math.prod(sizes[axis] for axis in axes)
    rows = [tl.reshape(move_axes(array, [*axes, *kept_axes]), (total, *shape)) for array in arrays]

    def step(k: Any, totals: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        elements = [tl.take(array, k, axis=0) for array in rows]
        return k + 1, tuple(region.lift(*totals, *elements))

    initial = tuple(tl.broadcast_to(start, shape) if shape else start for start in starts)
    _, totals = tl.while_loop(lambda k, _: tl.less(k, np.int64(total)), step, np.int64(0), initial)
    return list(totals)


@row("reduce_window")
def reduce_window(
    *operands: Any,
    regions: list[HloRegion],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Any = None,
) -> Any:
    """A reduction over windows. If the windows end, or begin, with each element in turn, it is cumulative. The start
    value of a sum or product counts once in a window, as in XLA, which does not read outside the array."""
    count = len(operands) // 2
    arrays, starts = operands[:count], operands[count:]
    rank = rank_of(arrays[0])
    ones = (1,) * rank
    strides, spread = tuple(window_strides or ones), tuple(base_dilations or ones)
    dilations, pairs = tuple(window_dilations or ones), padding_pairs(padding, rank)
    names = single_operations(regions[0].block)
    if count == 1 and names is not None and strides == spread == dilations == ones:
        result = cumulative(arrays[0], starts[0], names[0], tuple(window_dimensions), pairs)
        if result is not None:
            return result
    parts = []
    for array, start in zip(arrays, starts, strict=True):
        low, high = zip(*pairs, strict=True) if rank else ((), ())
        fill = start
        if count == 1 and names is not None and names[0] in COMBINATIONS:
            fill = scalar_like(neutral_element(names[0], dtype_of(array)), array)
        full = pad_array(array, fill, low, high, [step - 1 for step in spread])
        counts = [
            max((size - ((width - 1) * dilation + 1)) // step + 1, 0)
            for size, width, dilation, step in zip(sizes_of(full), window_dimensions, dilations, strides, strict=True)
        ]
        check_table_size(*counts, *window_dimensions)
        if 0 in counts:
            return [tl.broadcast_to(initial, tuple(counts)) for initial in starts]
        parts.append(tl.windows(full, tuple(window_dimensions), strides=strides,
                                dilations=None if dilations == ones else dilations))  # fmt: skip
    return reduce_arrays(parts, starts, regions[0], tuple(range(rank, 2 * rank)))


def padding_pairs(attribute: Any, rank: int) -> list[tuple[int, int]]:
    """The numbers of elements before and behind each axis, of an attribute that is an array of pairs."""
    if attribute is None:
        return [(0, 0)] * rank
    elements, _ = constant_elements(attribute)
    table = np.broadcast_to(elements if elements.size == 1 else elements.reshape(rank, 2), (rank, 2))
    return [(int(low), int(high)) for low, high in table]


def cumulative(
    x: Any, start: Any, operation: str, window: tuple[int, ...], pairs: Sequence[tuple[int, int]]
) -> Any | None:
    """The cumulative reduction that is equal to a reduction over windows as long as one axis, which end or begin with
    each element; None if the windows are others."""
    wide = [axis for axis, width in enumerate(window) if width > 1]
    dtype = dtype_of(x)
    if len(wide) != 1 or operation not in CUMULATIVE or dtype.kind == "b":
        return None
    (axis,), size = wide, sizes_of(x)[wide[0]]
    is_unpadded_elsewhere = all(pair == (0, 0) for k, pair in enumerate(pairs) if k != axis)
    neutral = np.asarray(neutral_element(operation, dtype), dtype.numpy)
    is_neutral = isinstance(start, np.ndarray) and start.size == 1 and bool(start.reshape(()) == neutral)
    if not (
        is_unpadded_elsewhere and is_neutral and window[axis] == size and pairs[axis] in ((size - 1, 0), (0, size - 1))
    ):
        return None
    is_reversed = pairs[axis] == (0, size - 1)
    options = {"dtype": dtype} if operation in ("add", "multiply") else {}
    forward = tl.flip(x, axis=axis) if is_reversed else x
    result = getattr(tl, CUMULATIVE[operation])(forward, axis=axis, **options)
    return tl.flip(result, axis=axis) if is_reversed else result


@row("map")
def map_(*operands: Any, regions: list[HloRegion]) -> Any:
    return regions[0].lift(*operands)


@row("select_and_scatter")
def select_and_scatter(
    x: Any,
    source: Any,
    start: Any,
    *,
    regions: list[HloRegion],
    window_dimensions: Sequence[int] | None = None,
    window_strides: Sequence[int] | None = None,
    padding: Any = None,
) -> Any:
    """The elements of `source` added up at the largest elements of their windows of x, as the gradient of a maximum
    over windows does."""
    rank = rank_of(x)
    window, strides = tuple(window_dimensions or (1,) * rank), tuple(window_strides or (1,) * rank)
    pairs, sizes = padding_pairs(padding, rank), sizes_of(x)
    selection = single_comparison(regions[0].block)
    if selection not in ("GE", "LE") or single_operations(regions[1].block) != ["add"]:
        raise unsupported("op", "select_and_scatter is imported for the gradient of a maximum or minimum only")
    dtype = dtype_of(x)
    least, most = (-math.inf, math.inf) if dtype.kind == "f" else dtype.range
    fill = scalar_like(least if selection == "GE" else most, x)
    low, high = zip(*pairs, strict=True)
    full = pad_array(x, fill, low, high, [0] * rank)
    counts = sizes_of(source)
    check_table_size(*counts, *window)
    total = math.prod(sizes)
    numbers = np.pad(np.arange(total).reshape(sizes), pairs, constant_values=total)
    view = np.lib.stride_tricks.sliding_window_view(numbers, window)[tuple(slice(None, None, step) for step in strides)]
    shape = (*counts, math.prod(window))
    parts = tl.reshape(tl.windows(full, window, strides=strides), shape)
    selected_positions = (tl.argmax if selection == "GE" else tl.argmin)(parts, axis=-1, keepdims=True)
    positions = tl.squeeze(
        tl.take_along_axis(np.ascontiguousarray(view).reshape(shape), selected_positions, axis=-1), -1
    )
    zeros = tl.broadcast_to(scalar_like(0, source), (total + 1,))
    sums = tl.scatter_add(zeros, tl.reshape(source, (-1,)), tl.reshape(positions, (-1,)))
    result = tl.reshape(tl.index(sums, slice(None, total)), sizes)
    return combine_start("add", start, result)


def single_comparison(block: OperationBlock) -> str | None:
    """The direction of the comparison, if a block compares its two parameters; None for another block."""
    if len(block.operations) != 2 or block.operations[0].name != "stablehlo.compare":
        return None
    comparison = block.operations[0]
    if comparison.operands != block.parameters or block.results != comparison.results:
        return None
    return str(comparison.attributes["comparison_direction"]).rstrip(">").rpartition(" ")[2]
