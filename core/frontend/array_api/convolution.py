"""Convolution and pooling: products and reductions of windows. They are composed of functions of the standard, except
for `windows`, which is an op.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import Invalid, Usage
from ...ops.indexing import IndexKey
from ...ops.shape import window_extent
from ..eager.apply import apply
from ..sizes import static_integer, static_integers, static_shape
from ..trace.source_location import user_location
from .common import (
    check_numeric,
    numpy_scalar,
    rank_of,
    shape_of,
    type_of,
)
from .creation import zeros_like
from .indexing import index, scatter_index
from .manipulation import concat, permute_dims, reshape
from .numeric import max as largest
from .numeric import mean
from .numeric import sum as total
from .padding import pad

Pairs = list[tuple[int, int]]
"""For each spatial axis, a number before and a number after."""


def windows(x: Any, shape: Any, /, *, strides: Any = None, dilations: Any = None) -> Any:
    sizes = static_shape(shape)
    steps = (1,) * len(sizes) if strides is None else static_integers(strides, "a stride")
    options = {} if dilations is None else {"dilations": static_integers(dilations, "a dilation")}
    return apply("windows", x, shape=sizes, strides=steps, **options)


def conv(
    x: Any,
    weights: Any,
    /,
    *,
    strides: Any = None,
    padding: Any = 0,
    dilations: Any = None,
    input_dilations: Any = None,
    groups: int = 1,
) -> Any:
    """The convolution of neural networks (cross-correlation), over one or more spatial axes.

    x has the axes (samples, channels, *spatial), the weights (output channels, channels / groups, *kernel), the result
    (samples, output channels, *spatial). Each element of the result is the sum of products of the weights with a window
    of x. Channels and output channels form `groups` of equal size, and each group of outputs sees its group of channels
    only.

    `padding` zeros are added on both sides of the spatial axes first; it may also be a pair of numbers, before and
    after, for each spatial axis, or "VALID" (none), or "SAME": as many as give ceil(size / stride) windows, the odd one
    after. `strides` is the distance between windows, `dilations` the distance between elements in a window, and
    `input_dilations` the distance between elements of x, with zeros between them; all are 1 by default, and an integer,
    or one for each spatial axis.

    Raises Invalid (V4) for other numbers of axes, weights of unknown size, channels that the groups do not divide,
    different numbers of channels, and "SAME" with strides if sizes are unknown. Different numbers of channels that only
    the run knows are a trap.

    >>> conv([[[1.0, 2.0, 3.0]]], [[[1.0, 1.0]]]).tolist()
    [[[3.0, 5.0]]]
    >>> conv([[[1.0, 2.0, 3.0]]], [[[1.0, 1.0]]], padding="SAME", dilations=2).tolist()
    [[[2.0, 4.0, 2.0]]]
    """
    axes, sizes = _check_convolution(x, weights)
    group_count = _group_count(groups, sizes[0], "output channels")
    _check_channels(x, weights, sizes[1] * group_count, group_count)
    steps, spacings = _per_axis(strides, axes, "stride"), _per_axis(dilations, axes, "dilation")
    spread = _dilate(x, _per_axis(input_dilations, axes, "dilation"))
    extent = window_extent(sizes[2:], spacings)
    padded = _pad_axes(spread, _resolve_padding(padding, shape_of(spread)[2:], extent, steps))
    parts = windows(padded, sizes[2:], strides=steps, dilations=None if set(spacings) == {1} else spacings)
    samples, channels, *rest = shape_of(parts)
    outer = [samples, *rest[:axes]]
    # the windows are rows of one matrix if their channels are known, and at most one other size is open
    is_matrix = bool(channels) and (None not in outer or (outer.count(None) == 1 and 0 not in outer))
    if group_count == 1:
        sums = conv_by_matmul(parts, weights) if is_matrix else conv_by_position(parts, weights)
    elif is_matrix and sizes[0]:
        sums = conv_by_group_matmul(parts, weights, group_count)
    else:
        weight_groups = _slices(weights, 0, sizes[0] // group_count, group_count)
        part_groups = _slices(parts, 1, sizes[1], group_count)
        sums = concat(list(map(conv_by_position, part_groups, weight_groups)), axis=-1)
    return permute_dims(sums, (0, axes + 1, *range(1, axes + 1)))


def conv_transpose(
    x: Any,
    weights: Any,
    /,
    *,
    strides: Any = None,
    padding: Any = 0,
    output_padding: Any = 0,
    dilations: Any = None,
    groups: int = 1,
) -> Any:
    """The transposed convolution: the adjoint of `conv` with the same weights and options, along its x.

    x has the axes (samples, channels, *spatial), the weights (channels, output channels / groups, *kernel), the result
    (samples, output channels, *spatial). Along a spatial axis its size is `(size - 1) * stride - padding before and
    after + (kernel - 1) * dilation + 1 + output_padding`; `output_padding` chooses among the sizes for which a
    convolution has x's size. With padding "SAME" it is `size * stride`.

    Raises Invalid (V4) as `conv` does.

    >>> conv_transpose([[[1.0, 2.0]]], [[[1.0, 10.0]]], strides=2).tolist()
    [[[1.0, 10.0, 2.0, 20.0]]]
    """
    axes, sizes = _check_convolution(x, weights)
    group_count = _group_count(groups, sizes[0], "channels")
    _check_channels(x, weights, sizes[0], group_count)
    steps, spacings = _per_axis(strides, axes, "stride"), _per_axis(dilations, axes, "dilation")
    extra = _per_axis(output_padding, axes, "output padding", minimum=0)
    extent = window_extent(sizes[2:], spacings)
    if padding == "SAME":
        totals = [max(width - step, 0) for width, step in zip(extent, steps, strict=True)]
        pairs = [(total // 2, total - total // 2) for total in totals]
        extra = tuple(max(step - width, 0) + more for width, step, more in zip(extent, steps, extra, strict=True))
    else:
        pairs = _resolve_padding(padding, (), extent, steps)
    margins = [
        (width - 1 - before, width - 1 - after + more)
        for width, (before, after), more in zip(extent, pairs, extra, strict=True)
    ]
    padded = _pad_axes(_dilate(x, steps), [(max(before, 0), max(after, 0)) for before, after in margins])
    if any(min(margin) < 0 for margin in margins):
        padded = index(padded, (..., *(slice(max(-before, 0), min(after, 0) or None) for before, after in margins)))
    return conv(padded, _transpose_weights(weights, group_count), dilations=spacings, groups=group_count)


def _transpose_weights(weights: Any, groups: int) -> Any:
    """The weights of the adjoint: channels and output channels exchanged within each group, and the kernel reversed."""
    channels, outputs, *kernel = shape_of(weights)
    flipped = index(weights, (..., *[slice(None, None, -1)] * len(kernel)))
    per_group = reshape(flipped, (groups, (channels or 0) // groups, outputs, *kernel))
    exchanged = permute_dims(per_group, (0, 2, 1, *range(3, 3 + len(kernel))))
    return reshape(exchanged, (groups * (outputs or 0), (channels or 0) // groups, *kernel))


def _check_convolution(x: Any, weights: Any) -> tuple[int, tuple[int, ...]]:
    """The number of spatial axes, and the sizes of the weights; raises Invalid (V4) for arrays that cannot be
    convolved."""
    check_numeric(x, weights)
    axes, sizes = rank_of(x) - 2, shape_of(weights)
    if axes < 1 or len(sizes) != rank_of(x) or None in sizes:
        required = "as many axes, three or more, and weights whose sizes are known"
        raise Invalid(
            "these arrays cannot be convolved",
            rule="V4",
            where=user_location(),
            required=required,
            got=f"{type_of(x)} and {type_of(weights)}",
        )
    return axes, tuple(size for size in sizes if size is not None)


def _check_channels(x: Any, weights: Any, channels: int, groups: int) -> None:
    """Raises Invalid (V4) where x has different channels than the weights; open ones trap later."""
    if shape_of(x)[1] not in (None, channels):
        raise Invalid(
            "x and the weights have different channels",
            rule="V4",
            where=user_location(),
            required=f"{channels} channels of x",
            got=f"{shape_of(x)[1]}: x is {type_of(x)}, the weights are {type_of(weights)}, groups={groups}",
        )


def _group_count(groups: Any, channels: int, noun: str) -> int:
    """The number of groups; raises Usage unless it is from 1 up, Invalid (V4) where it does not divide the channels."""
    count = static_integer(groups, "the number of groups")
    if count < 1:
        raise Usage(
            "groups must be a positive number", where=user_location(), required="a number from 1 up", got=groups
        )
    if channels % count:
        message, required = f"the groups do not divide the {noun}", f"a divisor of {channels}"
        raise Invalid(message, rule="V4", where=user_location(), required=required, got=f"groups={count}")
    return count


def _per_axis(value: Any, axes: int, noun: str, minimum: int = 1) -> tuple[int, ...]:
    """A number for each spatial axis; a single number applies to all, and None is 1."""
    numbers = static_integers(1 if value is None else value, f"a {noun}")
    if len(numbers) not in (1, axes) or min(numbers) < minimum:
        required = f"one number from {minimum} up, or {axes}"
        message = f"there is not a {noun} for each spatial axis"
        raise Usage(message, where=user_location(), required=required, got=repr(value))
    return numbers * axes if len(numbers) == 1 else numbers


def _resolve_padding(padding: Any, sizes: Sequence[int | None], extent: Sequence[int], strides: Sequence[int]) -> Pairs:
    """The zeros to add before and after each spatial axis."""
    if padding == "VALID":
        return [(0, 0)] * len(extent)
    if padding == "SAME":
        return [_same_padding(*numbers) for numbers in zip(sizes, extent, strides, strict=True)]
    entries = list(padding) if isinstance(padding, tuple | list) else [padding]
    pairs = [] if isinstance(padding, str) else [static_integers(entry, "padding") for entry in entries]
    if len(pairs) == 1:
        pairs *= len(extent)
    if len(pairs) != len(extent) or any(len(pair) not in (1, 2) or min(pair) < 0 for pair in pairs):
        required = f'"SAME", "VALID", one number from 0 up, or {len(extent)} numbers or pairs'
        message = "there is not padding for each spatial axis"
        raise Usage(message, where=user_location(), required=required, got=repr(padding))
    return [(pair[0], pair[-1]) for pair in pairs]


def _same_padding(size: int | None, width: int, stride: int) -> tuple[int, int]:
    """The zeros on both sides of an axis that give ceil(size / stride) windows of a width."""
    if size is None and stride > 1:
        message, required = 'padding "SAME" with strides needs static sizes', "a known size, or numbers as padding"
        raise Invalid(message, rule="V4", where=user_location(), required=required, got="a size that is not known")
    windows_end = 0 if size is None else (-(-size // stride) - 1) * stride - size + 1
    missing = max(windows_end + width - 1, 0)
    return missing // 2, missing - missing // 2


def _pad_axes(x: Any, pairs: Sequence[tuple[int, int]]) -> Any:
    """x with zeros before and after each axis but those of samples and channels."""
    return pad(x, ((0, 0), (0, 0), *pairs))


def _dilate(x: Any, spacings: Sequence[int]) -> Any:
    """x with `spacing - 1` zeros between its elements along each of its last axes."""
    for axis, spacing in enumerate(spacings, rank_of(x) - len(spacings)):
        if spacing > 1:
            places: IndexKey = (*[slice(None)] * axis, slice(None, None, spacing))
            sizes = shape_of(x)
            if None in sizes:
                spread = scatter_index(zeros_like(concat([x] * spacing, axis=axis)), x, places)
                x = index(spread, (*places[:-1], slice(0, 1 - spacing)))
            else:
                shape = (*sizes[:axis], max((sizes[axis] or 0) * spacing - spacing + 1, 0), *sizes[axis + 1 :])
                zeros = apply("broadcast_to", numpy_scalar(0, type_of(x).dtype), shape=shape)
                x = scatter_index(zeros, x, places)
    return x


def _slices(x: Any, axis: int, size: int, count: int) -> list[Any]:
    """As many slices of a size along an axis; the last one has all that is left."""
    stops = [*range(size, size * count, size), None] if size else [0] * count
    return [index(x, ((slice(None),) * axis) + (slice(size * k, stop),)) for k, stop in enumerate(stops)]


def conv_by_matmul(parts: Any, weights: Any) -> Any:
    """The sums of a convolution as one matrix product: each window is a row, each output channel a column."""
    sizes = shape_of(weights)
    axes, inner = len(sizes) - 2, math.prod(size or 0 for size in sizes[1:])
    rows = permute_dims(parts, (0, *range(2, 2 + axes), 1, *range(2 + axes, 2 + 2 * axes)))
    outer = tuple(-1 if size is None else size for size in shape_of(rows)[: axes + 1])
    return apply("matmul", reshape(rows, (*outer, inner)), permute_dims(reshape(weights, (sizes[0], inner)), (1, 0)))


def conv_by_position(parts: Any, weights: Any) -> Any:
    """The sums of a convolution as matrix products over channels, one for each position in a window. Traps where the
    numbers of channels differ."""
    axes = len(shape_of(weights)) - 2
    positions = range(2 + axes, 2 + 2 * axes)
    rows = permute_dims(parts, (0, *range(2, 1 + axes), *positions, 1 + axes, 1))
    columns = permute_dims(weights, (*range(2, 2 + axes), 1, 0))
    products = apply("matmul", rows, columns)
    return total(products, axis=tuple(range(axes, 2 * axes)), dtype=type_of(products).dtype)


def conv_by_group_matmul(parts: Any, weights: Any, groups: int) -> Any:
    """The sums of a convolution as a stack of matrix products, one for each group of channels. At most one size of the
    windows is open, other than the channels."""
    outputs, channels, *kernel = shape_of(weights)
    samples, _, *rest = shape_of(parts)
    axes, inner = len(kernel), math.prod(size or 0 for size in shape_of(weights)[1:])
    outer = tuple(-1 if size is None else size for size in (samples, *rest[:axes]))
    grouped = reshape(parts, (outer[0], groups, channels, *outer[1:], *kernel))
    rows = permute_dims(grouped, (1, 0, *range(3, 3 + axes), 2, *range(3 + axes, 3 + 2 * axes)))
    row_count = -1 if -1 in outer else math.prod(outer)
    columns = permute_dims(reshape(weights, (groups, (outputs or 0) // groups, inner)), (0, 2, 1))
    products = apply("matmul", reshape(rows, (groups, row_count, inner)), columns)
    sums = permute_dims(
        reshape(products, (groups, *outer, (outputs or 0) // groups)), (*range(1, axes + 2), 0, axes + 2)
    )
    return reshape(sums, (*outer, outputs))


def max_pool(x: Any, shape: Any, /, *, strides: Any = None) -> Any:
    """The maximum of each window of the given shape over the last axes.

    `strides` is the distance of windows along these axes; by default the windows do not overlap.

    >>> max_pool([1, 5, 2, 3], (2,)).tolist()
    [5, 3]
    """
    sizes = static_shape(shape)
    return largest(windows(x, sizes, strides=sizes if strides is None else strides), axis=tuple(range(-len(sizes), 0)))


def mean_pool(x: Any, shape: Any, /, *, strides: Any = None) -> Any:
    """The mean of each window of the given shape over the last axes, of floats.

    `strides` is the distance of windows along these axes; by default the windows do not overlap.

    >>> mean_pool([1.0, 5.0, 2.0, 4.0], (2,)).tolist()
    [3.0, 3.0]
    """
    sizes = static_shape(shape)
    return mean(windows(x, sizes, strides=sizes if strides is None else strides), axis=tuple(range(-len(sizes), 0)))
