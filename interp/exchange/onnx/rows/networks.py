"""Operators of neural networks: products, convolutions, pooling, normalization."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..operators import operator, tl, unsupported
from ..storage import carrier_of, cast_to_storage, storage_of
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
)

Pairs = list[tuple[int, int]]


@operator("MatMul")
def mat_mul(x: Any, y: Any) -> Any:
    return tl.matmul(x, y)


@operator("Gemm")
def gemm(
    x: Any, y: Any, z: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0,  # noqa: N803
    broadcast: int = 1,
) -> Any:  # fmt: skip
    left, right = (tl.matrix_transpose(x) if transA else x), (tl.matrix_transpose(y) if transB else y)
    product = tl.matmul(left, right)
    product = product if alpha == 1.0 else scale_by(product, alpha)
    return product if z is None else tl.add(product, z if beta == 1.0 else scale_by(z, beta))


def scale_by(x: Any, factor: float) -> Any:
    """An array times a number, in its dtype."""
    return tl.multiply(x, scalar_like(factor, x))


@operator("Einsum")
def einsum(*operands: Any, equation: str) -> Any:
    return tl.einsum(equation.replace(" ", ""), *operands)


@operator("Det")
def det(x: Any) -> Any:
    return tl.linalg.det(x)


def spatial_padding(
    auto_pad: str, pads: Any, sizes: Sequence[int | None], extent: Sequence[int], strides: Sequence[int]
) -> Pairs:
    """The elements added before and after each spatial axis."""
    axes = len(extent)
    if auto_pad in ("NOTSET", ""):
        widths = [0] * (2 * axes) if pads is None else list(pads)
        return [(widths[axis], widths[axis + axes]) for axis in range(axes)]
    if auto_pad == "VALID":
        return [(0, 0)] * axes
    pairs = []
    for size, width, step in zip(sizes, extent, strides, strict=True):
        if size is None:
            raise unsupported("shape", f"auto_pad {auto_pad} needs sizes that are known before the run")
        total = max((-(-size // step) - 1) * step + width - size, 0)
        smaller_half, larger_half = total // 2, total - total // 2
        pairs.append((smaller_half, larger_half) if auto_pad == "SAME_UPPER" else (larger_half, smaller_half))
    return pairs


def extents(kernel: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """The lengths of a kernel's windows."""
    return [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]


def add_bias(sums: Any, bias: Any) -> Any:
    """Sums plus a number for each channel."""
    return sums if bias is None else tl.add(sums, per_channel(bias, rank_of(sums)))


def kernel_sizes(weights: Any, kernel_shape: Any) -> tuple[int, ...]:
    """The sizes of a kernel along the spatial axes; an attribute may repeat them."""
    sizes = known_sizes(weights, range(2, rank_of(weights)))
    require(kernel_shape is None or tuple(kernel_shape) == sizes, "kernel_shape is not the shape of the weights")
    return sizes


@operator("Conv")
def conv(
    x: Any, weights: Any, bias: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1,
    kernel_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    axes = rank_of(x) - 2
    steps, spacings = tuple(strides or [1] * axes), tuple(dilations or [1] * axes)
    extent = extents(kernel_sizes(weights, kernel_shape), spacings)
    padding = spatial_padding(auto_pad, pads, shape_of(x)[2:], extent, steps)
    if any(min(pair) < 0 for pair in padding):
        raise unsupported("attribute", "negative padding")
    sums = tl.conv(x, weights, strides=steps, padding=padding, dilations=spacings, groups=group)
    return add_bias(sums, bias)


@operator("ConvTranspose")
def conv_transpose(
    x: Any, weights: Any, bias: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1,
    kernel_shape: Any = None, output_padding: Any = None, output_shape: Any = None, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    axes = rank_of(x) - 2
    steps, spacings = tuple(strides or [1] * axes), tuple(dilations or [1] * axes)
    extra = list(output_padding or [0] * axes)
    extent = extents(kernel_sizes(weights, kernel_shape), spacings)
    if output_shape is not None or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        sizes = known_sizes(x, range(2, 2 + axes))
        output_sizes = (
            list(output_shape)[-axes:]
            if output_shape is not None
            else [n * s for n, s in zip(sizes, steps, strict=True)]
        )
        padding = []
        for k in range(axes):
            total = (sizes[k] - 1) * steps[k] + extra[k] + extent[k] - output_sizes[k]
            if total < 0:
                extra[k], total = extra[k] - total, 0
            smaller_half = total // 2
            padding.append(
                (smaller_half, total - smaller_half)
                if auto_pad == "SAME_UPPER"
                else (total - smaller_half, smaller_half)
            )
    else:
        padding = spatial_padding(auto_pad, pads, shape_of(x)[2:], extent, steps)
    sums = tl.conv_transpose(
        x, weights, strides=steps, padding=padding, output_padding=tuple(extra), dilations=spacings, groups=group
    )
    return add_bias(sums, bias)


def pool_windows(
    x: Any, kernel: Sequence[int], *, auto_pad: str, ceil_mode: int, dilations: Any, pads: Any, strides: Any, fill: Any
) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """The windows of an array along its spatial axes, behind its axes; positions beyond x are `fill`. And, for all
    samples and channels, which elements of the windows are x's, and which are x's or padding."""
    axes = len(kernel)
    steps, spacings = tuple(strides or [1] * axes), tuple(dilations or [1] * axes)
    extent, sizes = extents(kernel, spacings), known_sizes(x, range(2, 2 + axes))
    pairs = spatial_padding(auto_pad, pads, sizes, extent, steps)
    complete = []
    for size, (low, high), width, step in zip(sizes, pairs, extent, steps, strict=True):
        total = size + low + high - width
        count = (-(-total // step) if ceil_mode else total // step) + 1
        if ceil_mode and (count - 1) * step >= size + low:
            count -= 1  # a window that would begin behind the array
        complete.append((low, max((count - 1) * step + width - size - low, 0)))
    check_table_size(*(size + low + high for size, (low, high) in zip(sizes, complete, strict=True)))
    check_table_size(*(size + low + high for size, (low, high) in zip(sizes, pairs, strict=True)))
    beyond = [(0, max(last - high, 0)) for (_, last), (_, high) in zip(complete, pairs, strict=True)]
    ones = np.pad(np.ones(sizes, np.int64), complete)
    with_padding = np.pad(np.pad(np.ones(sizes, np.int64), pairs, constant_values=1), beyond)
    key = (*(slice(None, None, step) for step in steps), *(slice(None, None, step) for step in spacings))
    masks = [np.lib.stride_tricks.sliding_window_view(array, extent)[key] for array in (ones, with_padding)]
    padded = tl.pad(x, ((0, 0), (0, 0), *complete), value=fill)
    parts = tl.windows(padded, tuple(kernel), strides=steps, dilations=None if set(spacings) == {1} else spacings)
    return parts, masks


@operator("MaxPool")
def max_pool(
    x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None, pads: Any = None,
    storage_order: int = 0, strides: Any = None, output_count: int,
) -> Any:  # fmt: skip
    axes, options = len(kernel_shape), {"auto_pad": auto_pad, "ceil_mode": ceil_mode, "dilations": dilations}
    lowest = -np.inf if dtype_of(x).kind == "f" else dtype_of(x).range[0]
    parts, _ = pool_windows(x, kernel_shape, pads=pads, strides=strides, fill=scalar_like(lowest, x), **options)
    flat = tl.reshape(parts, (*tl.shape(parts)[: 2 + axes], math.prod(kernel_shape)))
    largest = tl.max(flat, axis=-1)
    if output_count < 2:
        return largest
    sizes = known_sizes(x)
    order = range(axes) if not storage_order else range(axes)[::-1]
    numbers = np.zeros(sizes[2:], np.int64)
    stride = 1
    for axis in reversed(order):
        numbers = numbers + np.arange(sizes[2 + axis]).reshape([-1 if k == axis else 1 for k in range(axes)]) * stride
        stride *= sizes[2 + axis]
    planes = np.arange(sizes[0] * sizes[1]).reshape(sizes[0], sizes[1], *[1] * axes) * math.prod(sizes[2:])
    positions, _ = pool_windows(
        np.broadcast_to(numbers + planes, sizes), kernel_shape, pads=pads, strides=strides, fill=np.int64(-1), **options
    )
    flat_positions = tl.reshape(positions, tl.shape(flat))
    return largest, tl.squeeze(tl.take_along_axis(flat_positions, tl.argmax(flat, axis=-1, keepdims=True), axis=-1), -1)


@operator("AveragePool")
def average_pool(
    x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0,
    dilations: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    axes, options = len(kernel_shape), {"auto_pad": auto_pad, "ceil_mode": ceil_mode, "dilations": dilations}
    parts, masks = pool_windows(x, kernel_shape, pads=pads, strides=strides, fill=scalar_like(0, x), **options)
    counts = masks[1 if count_include_pad else 0].sum(axis=tuple(range(-axes, 0)))
    return tl.divide(
        tl.sum(parts, axis=tuple(range(-axes, 0)), dtype=dtype_of(x)), np.asarray(counts, dtype_of(x).numpy)
    )


@operator("LpPool")
def lp_pool(
    x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None, p: float = 2,
    pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    axes, options = len(kernel_shape), {"auto_pad": auto_pad, "ceil_mode": ceil_mode, "dilations": dilations}
    parts, _ = pool_windows(x, kernel_shape, pads=pads, strides=strides, fill=scalar_like(0, x), **options)
    powers = tl.pow(tl.abs(parts), scalar_like(p, x))
    return tl.pow(tl.sum(powers, axis=tuple(range(-axes, 0))), scalar_like(1 / p, x))


def spatial_axes(x: Any) -> tuple[int, ...]:
    """All axes except the axes of samples and channels."""
    return tuple(range(2, rank_of(x)))


@operator("GlobalAveragePool")
def global_average_pool(x: Any) -> Any:
    return tl.mean(x, axis=spatial_axes(x), keepdims=True)


@operator("GlobalMaxPool")
def global_max_pool(x: Any) -> Any:
    return tl.max(x, axis=spatial_axes(x), keepdims=True)


@operator("GlobalLpPool")
def global_lp_pool(x: Any, *, p: float = 2) -> Any:
    powers = tl.sum(tl.pow(tl.abs(x), scalar_like(p, x)), axis=spatial_axes(x), keepdims=True)
    return tl.pow(powers, scalar_like(1 / p, x))


@operator("MaxUnpool", static=(2,))
def max_unpool(
    x: Any, indices: Any, output_shape: Any = None, *, kernel_shape: Any, pads: Any = None, strides: Any = None
) -> Any:
    """The elements at the indices that MaxPool returned, and zeros elsewhere. The indices are those of the smallest
    array that has these windows."""
    axes = len(kernel_shape)
    steps, widths = strides or [1] * axes, pads or [0] * (2 * axes)
    sizes = known_sizes(x)
    inferred = [*sizes[:2]]
    for k in range(axes):
        inferred.append((sizes[2 + k] - 1) * steps[k] - widths[k] - widths[k + axes] + kernel_shape[k])
    zeros = tl.broadcast_to(scalar_like(0, x), (math.prod(inferred),))
    result = tl.reshape(tl.scatter(zeros, tl.reshape(x, (-1,)), tl.reshape(indices, (-1,))), tuple(inferred))
    if output_shape is None:
        return result
    output_sizes = integers(output_shape)
    return tl.pad(
        result, tuple((0, size - inferred_size) for size, inferred_size in zip(output_sizes, inferred, strict=True))
    )


def per_channel(x: Any, rank: int) -> Any:
    """A vector along the second axis of arrays of this rank."""
    return tl.reshape(x, (-1, *[1] * (rank - 2)))


@operator("BatchNormalization")
def batch_normalization(
    x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, epsilon: float = 1e-5, momentum: float = 0.9,
    training_mode: int = 0, is_test: int = 0, spatial: int = 1, consumed_inputs: Any = None, output_count: int,
) -> Any:  # fmt: skip
    if not spatial:
        raise unsupported("attribute", "BatchNormalization with statistics for each position (spatial=0)")
    rank, dtype = rank_of(x), dtype_of(x)
    used_mean, used_variance = mean, variance
    if training_mode:
        axes = (0, *range(2, rank))
        used_mean, used_variance = tl.mean(x, axis=axes), tl.var(x, axis=axes)
    center, spread = per_channel(to_dtype(used_mean, dtype), rank), per_channel(to_dtype(used_variance, dtype), rank)
    normal = tl.divide(tl.subtract(x, center), tl.sqrt(tl.add(spread, scalar_like(epsilon, x))))
    result = tl.add(
        tl.multiply(normal, per_channel(to_dtype(scale, dtype), rank)), per_channel(to_dtype(bias, dtype), rank)
    )
    if not training_mode or output_count == 1:
        return result
    running = [
        tl.add(scale_by(running, momentum), scale_by(to_dtype(batch_statistic, dtype_of(running)), 1 - momentum))
        for running, batch_statistic in ((mean, used_mean), (variance, used_variance))
    ]
    return result, *running


@operator("InstanceNormalization")
def instance_normalization(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5, consumed_inputs: Any = None) -> Any:
    axes, rank = spatial_axes(x), rank_of(x)
    center, spread = tl.mean(x, axis=axes, keepdims=True), tl.var(x, axis=axes, keepdims=True)
    normal = tl.divide(tl.subtract(x, center), tl.sqrt(tl.add(spread, scalar_like(epsilon, x))))
    return tl.add(tl.multiply(normal, per_channel(scale, rank)), per_channel(bias, rank))


@operator("LayerNormalization", version=17)
def layer_normalization(
    x: Any, scale: Any, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1,
    output_count: int,
) -> Any:  # fmt: skip
    """The mean and the inverse of the deviation, which may be results, are computed in the dtype `stash_type`."""
    axes, wide = tuple(range(axis_position(axis, rank_of(x)), rank_of(x))), to_dtype(x, stash_type)
    center = tl.mean(wide, axis=axes, keepdims=True)
    distance = tl.subtract(wide, center)
    variance = tl.mean(tl.multiply(distance, distance), axis=axes, keepdims=True)
    inverse = tl.reciprocal(tl.sqrt(tl.add(variance, scalar_like(epsilon, wide))))
    normal = tl.multiply(to_dtype(tl.multiply(distance, inverse), dtype_of(x)), scale)
    return (normal if bias is None else tl.add(normal, bias), center, inverse)[:output_count]


@operator("LRN")
def lrn(x: Any, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    """Elements divided by a power of the sum of squares over neighbouring channels."""
    rank, low = rank_of(x), (size - 1) // 2
    padded = tl.pad(tl.multiply(x, x), ((0, 0), (low, size - 1 - low), *[(0, 0)] * (rank - 2)))
    channels_last = tl.moveaxis(padded, 1, -1)
    sums = tl.moveaxis(tl.sum(tl.windows(channels_last, (size,)), axis=-1), -1, 1)
    return tl.divide(x, tl.pow(tl.add(scale_by(sums, alpha / size), scalar_like(bias, x)), scalar_like(beta, x)))


@operator("Dropout")
def dropout_by_attribute(
    x: Any, *, ratio: float = 0.5, is_test: int = 0, consumed_inputs: Any = None, output_count: int
) -> Any:
    """Without training, all elements stay."""
    return (x, tl.equal(x, x) if output_count > 1 else None)[:output_count]


@operator("Dropout", version=12, static=(2,), is_folded=False, takes_storage=True)
def dropout(x: Any, ratio: Any = None, training: Any = None, *, seed: int | None = None, output_count: int) -> Any:
    rate = 0.5 if ratio is None else float(ratio) if isinstance(ratio, np.ndarray) else scalar(ratio)
    values, storage = carrier_of(x), storage_of(x)
    all_true = tl.broadcast_to(np.asarray(True), tl.shape(values))
    if training is None or not bool(training) or (isinstance(rate, float) and rate == 0):
        return (x, all_true)[:output_count]
    keep = tl.greater_equal(
        tl.uniform(tl.shape(values)), rate if isinstance(rate, float) else tl.astype(rate, tl.float64)
    )
    keep_rate = tl.subtract(1.0, tl.astype(rate, tl.float64)) if not isinstance(rate, float) else 1.0 - rate
    result = tl.where(
        keep,
        tl.divide(values, to_dtype(keep_rate, dtype_of(values)) if not isinstance(keep_rate, float) else keep_rate),
        scalar_like(0, values),
    )
    return (result if storage is None else cast_to_storage(result, storage), keep)[:output_count]


@operator("Col2Im", static=(1, 2))
def col2im(
    x: Any, image_shape: Any, block_shape: Any, *, dilations: Any = None, pads: Any = None, strides: Any = None
) -> Any:
    """The sums of blocks, each at its position in an image."""
    image, block = integers(image_shape), integers(block_shape)
    axes = len(image)
    steps, spacings, widths = strides or [1] * axes, dilations or [1] * axes, pads or [0] * (2 * axes)
    extent = extents(block, spacings)
    padded = [image[k] + widths[k] + widths[k + axes] for k in range(axes)]
    counts = [(padded[k] - extent[k]) // steps[k] + 1 for k in range(axes)]
    check_table_size(*counts, *block, COST)
    batch, columns, total = known_sizes(x)
    channels = columns // math.prod(block)
    corners = np.array(list(itertools.product(*(range(count) for count in counts)))) * np.array(steps)
    offsets = np.array(list(itertools.product(*(range(size) for size in block)))) * np.array(spacings)
    positions = offsets[:, None, :] + corners[None, :, :]
    numbers = np.ravel_multi_index(tuple(np.moveaxis(positions, -1, 0)), tuple(padded)).reshape(-1)
    parts = tl.reshape(x, (batch * channels, math.prod(block) * total))
    zeros = tl.broadcast_to(scalar_like(0, x), (math.prod(padded), batch * channels))
    sums = tl.scatter_add(zeros, tl.matrix_transpose(parts), numbers)
    result = tl.reshape(tl.matrix_transpose(sums), (batch, channels, *padded))
    return tl.index(
        result, (slice(None), slice(None), *(slice(widths[k], padded[k] - widths[k + axes]) for k in range(axes)))
    )


@operator("DeformConv")
def deform_conv(
    x: Any, weights: Any, offset: Any, bias: Any = None, mask: Any = None, *, dilations: Any = None, group: int = 1,
    kernel_shape: Any = None, offset_group: int = 1, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    """A convolution whose windows have an offset for each element, at which x is interpolated."""
    from .images import bilinear_at

    batch, channels, height, width = known_sizes(x)
    outputs, _, rows, columns = known_sizes(weights)
    steps, spacings, widths = strides or (1, 1), dilations or (1, 1), pads or (0, 0, 0, 0)
    out_height, out_width = known_sizes(offset, (2, 3))
    check_table_size(rows, columns, out_height, out_width)
    grid = np.meshgrid(np.arange(rows) * spacings[0], np.arange(columns) * spacings[1], indexing="ij")
    starts = np.meshgrid(
        np.arange(out_height) * steps[0] - widths[0], np.arange(out_width) * steps[1] - widths[1], indexing="ij"
    )
    base = [
        (tap_offset.reshape(-1, 1, 1) + window_start[None]).astype(dtype_of(x).numpy)
        for tap_offset, window_start in zip(grid, starts, strict=True)
    ]
    offsets = tl.reshape(offset, (batch, offset_group, rows * columns, 2, out_height, out_width))
    coordinates = [tl.add(tl.index(offsets, (slice(None), slice(None), slice(None), k)), base[k]) for k in range(2)]
    shape = (batch * offset_group, rows * columns * out_height * out_width)
    parts = bilinear_at(
        tl.reshape(x, (batch * offset_group, channels // offset_group, height, width)),
        *(tl.reshape(coordinate, shape) for coordinate in coordinates),
    )
    parts = tl.reshape(parts, (batch, offset_group, channels // offset_group, rows * columns, out_height, out_width))
    if mask is not None:
        parts = tl.multiply(parts, tl.reshape(mask, (batch, offset_group, 1, rows * columns, out_height, out_width)))
    groups_of_parts = tl.reshape(parts, (batch, group, channels // group * rows * columns, out_height * out_width))
    kernels = tl.reshape(weights, (group, outputs // group, channels // group * rows * columns))
    return add_bias(tl.reshape(tl.matmul(kernels, groups_of_parts), (batch, outputs, out_height, out_width)), bias)
