"""Normalisation, softmax and resizing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .....core.types import Type
from ..operations import row, tl, unsupported
from .common import axis_position, check_room, dtype_of, known_sizes, rank_of, scalar_like, to_dtype
from .shapes import as_batch, reshape


@row("softmax", "special_softmax")
def softmax(self: Any, dim: int, dtype: Any = None, *, result: Type) -> Any:
    x = to_dtype(self, result.dtype)
    return tl.softmax(x, axis=axis_position(dim, rank_of(x))) if rank_of(x) else tl.ones_like(x)


@row("_safe_softmax")
def safe_softmax(self: Any, dim: int, dtype: Any = None, *, result: Type) -> Any:
    """Zeros where all elements are -inf."""
    x = to_dtype(self, result.dtype)
    return zero_disallowed_rows(softmax(x, dim, result=result), tl.not_equal(x, scalar_like(-math.inf, x)), dim)


def zero_disallowed_rows(weights: Any, is_allowed: Any, axis: int) -> Any:
    """Weights, but zeros along an axis where no element of `is_allowed` is true."""
    return tl.where(tl.any(is_allowed, axis=axis, keepdims=True), weights, scalar_like(0, weights))


@row("_softmax")
def internal_softmax(self: Any, dim: int, half_to_float: bool = False, dtype: Any = None, *, result: Type) -> Any:
    return softmax(self, dim, result=result)


@row("log_softmax", "special_log_softmax")
def log_softmax(self: Any, dim: int, dtype: Any = None, *, result: Type) -> Any:
    x = to_dtype(self, result.dtype)
    return tl.log_softmax(x, axis=axis_position(dim, rank_of(x))) if rank_of(x) else tl.zeros_like(x)


@row("_log_softmax")
def internal_log_softmax(self: Any, dim: int, half_to_float: bool, *, result: Type) -> Any:
    return log_softmax(self, dim, result=result)


@row("softmin")
def softmin(self: Any, dim: int, dtype: Any = None, *, result: Type) -> Any:
    return softmax(tl.negative(self), dim, result=result)


def normalize(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any, Any]:
    """An array with mean 0 and variance 1 along axes; the mean, and the inverse of the deviation."""
    center = tl.mean(x, axis=axes, keepdims=True)
    distance = tl.subtract(x, center)
    variance = tl.mean(tl.square(distance), axis=axes, keepdims=True)
    inverse = tl.reciprocal(tl.sqrt(tl.add(variance, scalar_like(epsilon, x))))
    return tl.multiply(distance, inverse), center, inverse


def scale_and_shift(x: Any, weight: Any, bias: Any) -> Any:
    """`weight * x + bias`; None for a weight or a bias leaves it out."""
    x = x if weight is None else tl.multiply(x, weight)
    return x if bias is None else tl.add(x, bias)


@row("layer_norm")
def layer_norm(input: Any, normalized_shape: list[int], weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


@row("native_layer_norm")
def native_layer_norm(input: Any, normalized_shape: list[int], weight: Any, bias: Any, eps: float) -> Any:
    axes = tuple(range(rank_of(input) - len(normalized_shape), rank_of(input)))
    normal, center, inverse = normalize(input, axes, eps)
    return scale_and_shift(normal, weight, bias), center, inverse


@row("rms_norm")
def rms_norm(input: Any, normalized_shape: list[int], weight: Any = None, eps: float | None = None) -> Any:
    axes = tuple(range(rank_of(input) - len(normalized_shape), rank_of(input)))
    epsilon = float(dtype_of(input).limits.eps) if eps is None else eps
    mean = tl.mean(tl.square(input), axis=axes, keepdims=True)
    normal = tl.multiply(input, tl.reciprocal(tl.sqrt(tl.add(mean, scalar_like(epsilon, input)))))
    return scale_and_shift(normal, weight, None)


@row("_fused_rms_norm")
def fused_rms_norm(input: Any, normalized_shape: list[int], weight: Any, eps: float | None) -> Any:
    """The second result only helps PyTorch to differentiate."""
    return rms_norm(input, normalized_shape, weight, eps), None


def normalize_groups(x: Any, groups: int, epsilon: float) -> tuple[Any, Any, Any]:
    """The channels of each sample normalised in groups; the mean and the inverse deviation of each."""
    sizes = tl.shape(x)
    flat = reshape(x, (sizes[0], groups, -1))
    normal, center, inverse = normalize(flat, (2,), epsilon)
    return reshape(normal, sizes), tl.squeeze(center, 2), tl.squeeze(inverse, 2)


def per_channel(x: Any, rank: int) -> Any:
    """A vector along the second axis of arrays of this rank."""
    return None if x is None else reshape(x, (-1, *[1] * (rank - 2)))


@row("group_norm")
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    rank = rank_of(input)
    return scale_and_shift(
        normalize_groups(input, num_groups, eps)[0], per_channel(weight, rank), per_channel(bias, rank)
    )


@row("native_group_norm")
def native_group_norm(
    input: Any,
    weight: Any,
    bias: Any,
    N: Any,  # noqa: N803
    C: Any,  # noqa: N803
    HxW: Any,  # noqa: N803
    group: int,
    eps: float,
) -> Any:
    normal, center, inverse = normalize_groups(input, group, eps)
    rank = rank_of(input)
    return scale_and_shift(normal, per_channel(weight, rank), per_channel(bias, rank)), center, inverse


@row("instance_norm")
def instance_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    rank = rank_of(input)
    if not use_input_stats:
        return normalize_by_statistics(input, weight, bias, running_mean, running_var, eps)
    if running_mean is not None:
        raise unsupported("construct", "instance normalisation that keeps statistics")
    normal = normalize(input, tuple(range(2, rank)), eps)[0]
    return scale_and_shift(normal, per_channel(weight, rank), per_channel(bias, rank))


def normalize_by_statistics(x: Any, weight: Any, bias: Any, center: Any, variance: Any, epsilon: float) -> Any:
    """An array normalised by the mean and variance of each channel, scaled and shifted."""
    inverse = tl.reciprocal(tl.sqrt(tl.add(variance, scalar_like(epsilon, variance))))
    rank = rank_of(x)
    normal = tl.multiply(tl.subtract(x, per_channel(center, rank)), per_channel(inverse, rank))
    return scale_and_shift(normal, per_channel(weight, rank), per_channel(bias, rank))


def batch_normalize(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, epsilon: float
) -> tuple[Any, Any, Any, Any, Any]:
    """The normalised array, the mean and the inverse deviation of the batch, and the new statistics."""
    if not training:
        return normalize_by_statistics(x, weight, bias, running_mean, running_var, epsilon), None, None, None, None
    rank = rank_of(x)
    axes = (0, *range(2, rank))
    normal, center, inverse = normalize(x, axes, epsilon)
    result = scale_and_shift(normal, per_channel(weight, rank), per_channel(bias, rank))
    means = []
    if running_mean is not None:
        unbiased = tl.var(x, axis=axes, correction=1.0)
        for running, batch_statistic in ((running_mean, reshape(center, (-1,))), (running_var, unbiased)):
            decayed_statistic = tl.multiply(running, scalar_like(1 - momentum, running))
            means.append(
                tl.add(
                    decayed_statistic,
                    tl.multiply(to_dtype(batch_statistic, dtype_of(running)), scalar_like(momentum, running)),
                )
            )
    new_mean, new_variance = means or (None, None)
    return result, reshape(center, (-1,)), reshape(inverse, (-1,)), new_mean, new_variance


STATISTICS = ("running_mean", "running_var")


@row("batch_norm", "cudnn_batch_norm", mutates=STATISTICS)
def batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    result, _, _, *statistics = batch_normalize(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return result, *statistics


@row("native_batch_norm", "_native_batch_norm_legit", mutates=STATISTICS)
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any = None, running_var: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    result, center, inverse, *statistics = batch_normalize(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    empty = np.zeros(0, dtype_of(input).numpy)
    return result, empty if center is None else center, empty if inverse is None else inverse, *statistics


@row("_native_batch_norm_legit_no_training")
def batch_norm_no_training(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> Any:
    empty = np.zeros(0, dtype_of(input).numpy)
    return normalize_by_statistics(input, weight, bias, running_mean, running_var, eps), empty, empty


@row("_native_batch_norm_legit_functional")
def batch_norm_functional(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    result, center, inverse, mean, variance = batch_normalize(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    empty = np.zeros(0, dtype_of(input).numpy)
    if center is None:
        return result, empty, empty, running_mean, running_var
    return result, center, inverse, mean, variance


# Resizing


def resized_sizes(x: Any, output_size: Any, scales: Any) -> list[int]:
    """The new sizes of the spatial axes."""
    if output_size is not None:
        if not all(isinstance(size, int) for size in output_size):
            raise unsupported("shape", "an image resized to sizes that are known only at run time")
        return list(output_size)
    sizes = known_sizes(x, range(2, rank_of(x)))
    return [math.floor(size * scale) for size, scale in zip(sizes, scales, strict=True)]


def nearest(x: Any, output_size: Any, scales: Any) -> Any:
    """An image resized by nearest neighbours: each element is that at or before its position."""
    sizes = resized_sizes(x, output_size, scales)
    check_room(*sizes)
    for axis, (size, new_size) in enumerate(zip(known_sizes(x, range(2, rank_of(x))), sizes, strict=True)):
        step = np.float32(1 / scales[axis]) if scales and scales[axis] else np.float32(size / new_size)
        positions = np.minimum(np.floor(np.arange(new_size, dtype=np.float32) * step).astype(np.int64), size - 1)
        if not np.array_equal(positions, np.arange(size)):
            x = tl.take(x, positions, axis=2 + axis)
    return x


def linear_neighbours(size: int, new_size: int, align_corners: bool, scale: float | None) -> tuple[Any, Any, Any]:
    """For each new element of an axis, the indices of the elements before and after it, and its distance from the
    first, from 0 to 1."""
    if align_corners:
        positions = np.arange(new_size) * ((size - 1) / (new_size - 1) if new_size > 1 else 0.0)
    else:
        step = 1 / scale if scale else size / new_size
        positions = np.maximum((np.arange(new_size) + 0.5) * step - 0.5, 0)
    lower = np.minimum(np.floor(positions).astype(np.int64), size - 1)
    return lower, np.minimum(lower + 1, size - 1), np.clip(positions - lower, 0, 1)


def interpolate(x: Any, output_size: Any, scales: Any, align_corners: bool) -> Any:
    """Linear interpolation along each spatial axis."""
    sizes = resized_sizes(x, output_size, scales)
    for axis, (size, new_size) in enumerate(zip(known_sizes(x, range(2, rank_of(x))), sizes, strict=True)):
        check_room(size, new_size)
        lower, upper, fractions = linear_neighbours(size, new_size, align_corners, scales[axis] if scales else None)
        fractions = fractions.reshape(-1, *[1] * (rank_of(x) - 3 - axis))
        parts = ((lower, 1 - fractions), (upper, fractions))
        x = tl.add(
            *(
                tl.multiply(tl.take(x, positions, axis=2 + axis), scalar_like(weights, x))
                for positions, weights in parts
            )
        )
    return x


def axis_scales(x: Any, depth: float | None, height: float | None, width: float | None, length: float | None) -> Any:
    """The scales of the spatial axes of an image, a list; None if one of them is not given."""
    scales = {5: [depth, height, width], 4: [height, width]}.get(rank_of(x), [length])
    return None if None in scales else [float(scale) for scale in scales if scale is not None]


@row("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(
    self: Any = None, output_size: Any = None, scales_h: Any = None, scales_w: Any = None, input: Any = None,
    scale_factors: Any = None, scales: Any = None, scales_d: Any = None,
) -> Any:  # fmt: skip
    x = input if self is None else self
    return nearest(x, output_size, scale_factors or axis_scales(x, scales_d, scales_h, scales_w, scales))


@row("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def upsample_linear(
    self: Any = None, output_size: Any = None, align_corners: bool = False, scales_h: Any = None, scales_w: Any = None,
    input: Any = None, scale_factors: Any = None, scales: Any = None, scales_d: Any = None,
) -> Any:  # fmt: skip
    x = input if self is None else self
    return interpolate(
        x, output_size, scale_factors or axis_scales(x, scales_d, scales_h, scales_w, scales), align_corners
    )


@row("im2col")
def im2col(self: Any, kernel_size: list[int], dilation: list[int], padding: list[int], stride: list[int]) -> Any:
    batch = as_batch(self, 2)
    padded = tl.pad(batch, ((0, 0), (0, 0), *((n, n) for n in padding)))
    parts = tl.windows(padded, tuple(kernel_size), strides=tuple(stride), dilations=tuple(dilation))
    count, channels, rows, columns = known_sizes(parts)[:4]
    permuted = tl.permute_dims(parts, (0, 1, 4, 5, 2, 3))
    result = reshape(permuted, (count, channels * math.prod(kernel_size), rows * columns))
    return result if batch is self else tl.squeeze(result, 0)
