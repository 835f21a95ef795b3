"""Pooling: the maximum or the mean of each window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.frontend.trace.program_builder import suspend_tracing
from ..operations import row, tl, unsupported
from .common import check_count, check_room, dtype_of, known_sizes, per_axis, rank_of, scalar_like
from .shapes import as_batch, part, reshape


def window_bounds(
    sizes: Sequence[int], kernel: Sequence[int], steps: Sequence[int], padding: Sequence[int], spacings: Sequence[int],
    ceil_mode: bool,
) -> list[tuple[int, int]]:  # fmt: skip
    """The numbers of elements that windows reach beyond each axis, before and after; a negative one if some are left
    out."""
    bounds = []
    for size, length, step, width, spacing in zip(sizes, kernel, steps, padding, spacings, strict=True):
        extent = (length - 1) * spacing + 1
        total = size + 2 * width - extent
        count = (-(-total // step) if ceil_mode else total // step) + 1
        if ceil_mode and (count - 1) * step >= size + width:
            count -= 1  # a window that would begin behind the image
        bounds.append((width, max((count - 1) * step + extent - size - width, 0)))
    return bounds


def windows_of(
    x: Any, axes: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, fill: Any
) -> tuple[Any, tuple[int, ...], tuple[int, ...], list[tuple[int, int]]]:
    """The windows along new last axes; their shape, their distances, and the padding."""
    kernel = per_axis(kernel_size, axes)
    steps = per_axis(stride, axes) if stride not in ([], None) else kernel
    spacings, widths = per_axis(dilation, axes), per_axis(padding, axes)
    bounds = window_bounds(known_sizes(x, range(2, 2 + axes)), kernel, steps, widths, spacings, ceil_mode)
    padded = tl.pad(x, ((0, 0), (0, 0), *bounds), value=fill) if any(map(any, bounds)) else x
    parts = tl.windows(padded, kernel, strides=steps, dilations=None if set(spacings) == {1} else spacings)
    return parts, kernel, steps, bounds


def max_pool(
    x: Any, axes: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, with_indices: bool
) -> Any:
    """The maxima of windows; `with_indices`, also the indices of the maxima among the elements of an image."""
    images = as_batch(x, axes)
    lowest = -math.inf if dtype_of(x).kind == "f" else dtype_of(x).range[0]
    options = kernel_size, stride, padding, dilation, ceil_mode
    parts, kernel, _, _ = windows_of(images, axes, *options, scalar_like(lowest, x))
    largest = tl.max(parts, axis=tuple(range(-axes, 0)))
    if not with_indices:
        return largest if images is x else tl.squeeze(largest, 0)
    sizes = known_sizes(images, range(2, 2 + axes))
    check_room(*sizes, *kernel)
    numbers = np.arange(math.prod(sizes)).reshape(1, 1, *sizes)
    with suspend_tracing():
        indices = np.asarray(windows_of(numbers, axes, *options, np.int64(-1))[0])
    flat = reshape(parts, (*tl.shape(parts)[: 2 + axes], math.prod(kernel)))
    flat_indices = indices.reshape(*indices.shape[: 2 + axes], math.prod(kernel))
    positions = tl.expand_dims(chosen_position(flat, flat_indices >= 0), axis=-1)
    flat_indices = tl.broadcast_to(flat_indices, (*tl.shape(positions)[:-1], math.prod(kernel)))
    chosen_indices = tl.squeeze(tl.take_along_axis(flat_indices, positions, axis=-1), -1)
    return (largest, chosen_indices) if images is x else (tl.squeeze(largest, 0), tl.squeeze(chosen_indices, 0))


def chosen_position(x: Any, is_inside: np.ndarray[Any, Any]) -> Any:
    """The position along the last axis that PyTorch reports for the maximum: that of the last NaN, or else of the first
    largest element that is not padding."""
    count = is_inside.shape[-1]
    is_largest = tl.logical_and(tl.equal(x, tl.max(x, axis=-1, keepdims=True)), is_inside)
    ranks = tl.where(is_largest, count - np.arange(count), np.int64(0))
    if dtype_of(x).kind == "f":
        ranks = tl.where(tl.isnan(x), count + 1 + np.arange(count), ranks)
    return tl.argmax(ranks, axis=-1)


def register_pools(axes: int) -> None:
    @row(f"max_pool{axes}d")
    def compute(
        self: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        return max_pool(self, axes, kernel_size, stride, padding, dilation, ceil_mode, False)

    @row(f"max_pool{axes}d_with_indices")
    def compute_with_indices(
        self: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        return max_pool(self, axes, kernel_size, stride, padding, dilation, ceil_mode, True)

    @row(f"avg_pool{axes}d")
    def compute_mean(
        self: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        return mean_pool(self, axes, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    @row(f"adaptive_avg_pool{axes}d", f"_adaptive_avg_pool{axes}d")
    def compute_adaptive(self: Any, output_size: Any) -> Any:
        return adaptive_pool(self, axes, output_size, "mean")

    @row(f"adaptive_max_pool{axes}d")
    def compute_adaptive_max(self: Any, output_size: Any) -> Any:
        return adaptive_max_pool(self, axes, output_size)


for _axes in (1, 2, 3):
    register_pools(_axes)


def mean_pool(
    x: Any, axes: int, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor: int | None,
) -> Any:  # fmt: skip
    """The means of windows. Elements beyond the padding never count; elements of the padding count with
    `count_include_pad`."""
    images = as_batch(x, axes)
    parts, kernel, steps, bounds = windows_of(
        images, axes, kernel_size, stride, padding, 1, ceil_mode, scalar_like(0, x)
    )
    last = tuple(range(-axes, 0))
    sums = tl.sum(parts, axis=last, dtype=dtype_of(x))
    sizes, widths = known_sizes(images, range(2, 2 + axes)), per_axis(padding, axes)
    if divisor is not None:
        counts = np.asarray(divisor)
    else:
        check_room(*(size + low + high for size, (low, high) in zip(sizes, bounds, strict=True)))
        ones = np.ones(
            [size + 2 * width if count_include_pad else size for size, width in zip(sizes, widths, strict=True)]
        )
        edges = [
            (0 if count_include_pad else low, max(high - width if count_include_pad else high, 0))
            for (low, high), width in zip(bounds, widths, strict=True)
        ]
        element_counts = np.pad(ones, edges)
        trimmed_counts = element_counts[
            tuple(slice(0, size + sum(pair)) for size, pair in zip(sizes, bounds, strict=True))
        ]
        key = (*(slice(None, None, step) for step in steps), *[slice(None)] * axes)
        counts = np.lib.stride_tricks.sliding_window_view(trimmed_counts, kernel)[key].sum(axis=last)
    means = tl.divide(sums, np.asarray(counts, dtype_of(x).numpy))
    return means if images is x else tl.squeeze(means, 0)


def adaptive_bounds(size: int, new_size: int) -> list[tuple[int, int]]:
    """The windows that cover an axis."""
    check_count(new_size)
    return [(k * size // new_size, -(-(k + 1) * size // new_size)) for k in range(new_size)]


def adaptive_sizes(x: Any, axes: int, output_size: Any) -> list[tuple[int, int, int]]:
    """For each spatial axis, its number, its size and the new size."""
    first = rank_of(x) - axes
    sizes = known_sizes(x, range(first, first + axes))
    new_sizes = per_axis(output_size, axes)
    return [
        (first + k, size, size if new_size is None else new_size)
        for k, (size, new_size) in enumerate(zip(sizes, new_sizes, strict=True))
    ]


def adaptive_pool(x: Any, axes: int, output_size: Any, function: str) -> Any:
    """The function, such as "mean", of windows that cover an image."""
    for axis, size, new_size in adaptive_sizes(x, axes, output_size):
        if size == new_size:
            continue
        if size % new_size == 0:
            shape = tl.shape(x)
            parts = reshape(x, (*shape[:axis], new_size, size // new_size, *shape[axis + 1 :]))
            x = getattr(tl, function)(parts, axis=axis + 1)
            continue
        means = [
            getattr(tl, function)(part(x, axis, slice(*bounds)), axis=axis)
            for bounds in adaptive_bounds(size, new_size)
        ]
        x = tl.stack(means, axis=axis)
    return x


def adaptive_max_pool(x: Any, axes: int, output_size: Any) -> Any:
    """The maxima of windows that cover an image, if these have one size, and their indices."""
    sizes = adaptive_sizes(x, axes, output_size)
    if any(size % new_size for _, size, new_size in sizes):
        raise unsupported("shape", "adaptive_max_pool with windows of several sizes")
    kernel = [size // new_size for _, size, new_size in sizes]
    return max_pool(x, axes, kernel, None, 0, 1, False, True)
