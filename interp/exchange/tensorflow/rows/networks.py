"""Products of matrices, and ops of neural networks. Images have their channels last, unless data_format says NCHW."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..operations import operation, require, tl, unsupported
from ..tensors import ElementType
from .common import dtype_of, known_sizes, rank_of, scalar_like, shape_of, to_dtype
from .indexing import as_index


@operation("MatMul", ignored=("grad_a", "grad_b"))
def mat_mul(x: Any, y: Any, *, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    left = tl.matrix_transpose(x) if transpose_a else x
    right = tl.matrix_transpose(y) if transpose_b else y
    return tl.matmul(left, right)


@operation("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", ignored=("grad_x", "grad_y"))
def batch_mat_mul(x: Any, y: Any, *, adj_x: bool = False, adj_y: bool = False, Tout: ElementType | None = None) -> Any:  # noqa: N803
    result = mat_mul(x, y, transpose_a=adj_x, transpose_b=adj_y)
    return result if Tout is None else to_dtype(result, Tout.dtype)


@operation("Einsum")
def einsum(*operands: Any, equation: str) -> Any:
    return tl.einsum(equation.replace(" ", ""), *operands)


@operation("BiasAdd", "BiasAddV1")
def bias_add(x: Any, bias: Any, *, data_format: str = "NHWC") -> Any:
    if data_format == "NCHW":
        bias = tl.reshape(bias, (-1, *[1] * (rank_of(x) - 2)))
    return tl.add(x, bias)


@operation("BiasAddGrad")
def bias_add_grad(x: Any, *, data_format: str = "NHWC") -> Any:
    channel = 1 if data_format == "NCHW" else rank_of(x) - 1
    return tl.sum(x, axis=tuple(axis for axis in range(rank_of(x)) if axis != channel))


@operation("Softmax")
def softmax(x: Any) -> Any:
    return tl.softmax(x, axis=-1)


@operation("LogSoftmax")
def log_softmax(x: Any) -> Any:
    return tl.log_softmax(x, axis=-1)


@operation("SoftmaxCrossEntropyWithLogits", outputs=("loss", "backprop"))
def softmax_cross_entropy(logits: Any, labels: Any) -> Any:
    losses = tl.negative(tl.sum(tl.multiply_no_nan(tl.log_softmax(logits, axis=-1), labels), axis=-1))
    return [losses, tl.subtract(tl.softmax(logits, axis=-1), labels)]


@operation("SparseSoftmaxCrossEntropyWithLogits", outputs=("loss", "backprop"))
def sparse_softmax_cross_entropy(logits: Any, labels: Any) -> Any:
    (classes,) = known_sizes(logits, [rank_of(logits) - 1])
    one_hot = tl.equal(tl.expand_dims(labels, axis=-1), np.arange(classes, dtype=dtype_of(labels).numpy))
    positions = tl.expand_dims(as_index(labels), axis=-1)
    log_probabilities = tl.take_along_axis(tl.log_softmax(logits, axis=-1), positions, axis=-1)
    return [
        tl.negative(tl.squeeze(log_probabilities, -1)),
        tl.subtract(tl.softmax(logits, axis=-1), to_dtype(one_hot, dtype_of(logits))),
    ]


@operation("L2Loss")
def l2_loss(x: Any) -> Any:
    return tl.multiply(tl.sum(tl.square(x)), scalar_like(0.5, x))


def to_channels_first(x: Any, data_format: str) -> Any:
    """An image with its channels before its sizes."""
    if data_format in ("NHWC", "NDHWC"):
        return tl.permute_dims(x, (0, rank_of(x) - 1, *range(1, rank_of(x) - 1)))
    require(data_format in ("NCHW", "NCDHW"), "data_format is none of TensorFlow's")
    return x


def from_channels_first(x: Any, data_format: str) -> Any:
    """The inverse of `to_channels_first`."""
    return tl.permute_dims(x, (0, *range(2, rank_of(x)), 1)) if data_format in ("NHWC", "NDHWC") else x


def spatial_entries(values: Sequence[int], data_format: str) -> tuple[int, ...]:
    """The entries for the spatial axes; those for batches and channels must be 1."""
    entries = tuple(values[1:-1]) if data_format in ("NHWC", "NDHWC") else tuple(values[2:])
    if math.prod(values) != math.prod(entries):
        raise unsupported("attribute", "strides along batches or channels")
    return entries


def padding_of(
    padding: str, sizes: Sequence[int | None], extents: Sequence[int], strides: Sequence[int], explicit: Sequence[int],
    data_format: str,
) -> list[tuple[int, int]]:  # fmt: skip
    """The padding before and after each spatial axis."""
    if padding == "VALID":
        return [(0, 0)] * len(extents)
    if padding == "EXPLICIT":
        pairs = list(zip(explicit[::2], explicit[1::2], strict=True))
        return pairs[1:-1] if data_format in ("NHWC", "NDHWC") else pairs[2:]
    require(padding == "SAME", "padding is none of TensorFlow's")
    pairs = []
    for size, extent, stride in zip(sizes, extents, strides, strict=True):
        if size is None:
            raise unsupported("shape", "padding SAME needs sizes that are known before the run")
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


@operation("Conv2D", "Conv3D", ignored=("use_cudnn_on_gpu",))
def conv(
    x: Any, weights: Any, *, strides: Sequence[int], padding: str, data_format: str = "", dilations: Sequence[int] = (),
    explicit_paddings: Sequence[int] = (),
) -> Any:  # fmt: skip
    form = data_format or ("NHWC" if rank_of(x) == 4 else "NDHWC")
    image, steps = to_channels_first(x, form), spatial_entries(strides, form)
    kernel = tl.permute_dims(weights, (rank_of(weights) - 1, rank_of(weights) - 2, *range(rank_of(weights) - 2)))
    spacings = spatial_entries(dilations, form) if dilations else (1,) * len(steps)
    return convolve(image, kernel, steps, spacings, padding, explicit_paddings, form, 1)


@operation("DepthwiseConv2dNative")
def depthwise_conv(
    x: Any, weights: Any, *, strides: Sequence[int], padding: str, data_format: str = "NHWC",
    dilations: Sequence[int] = (), explicit_paddings: Sequence[int] = (),
) -> Any:  # fmt: skip
    image, steps = to_channels_first(x, data_format), spatial_entries(strides, data_format)
    height, width, channels, factor = known_sizes(weights)
    kernel = tl.reshape(tl.permute_dims(weights, (2, 3, 0, 1)), (channels * factor, 1, height, width))
    spacings = spatial_entries(dilations, data_format) if dilations else (1, 1)
    return convolve(image, kernel, steps, spacings, padding, explicit_paddings, data_format, channels)


def convolve(
    image: Any, kernel: Any, steps: Sequence[int], spacings: Sequence[int], padding: str, explicit: Sequence[int],
    form: str, groups: int,
) -> Any:  # fmt: skip
    """A convolution of an image with its channels first."""
    extents = [(size - 1) * step + 1 for size, step in zip(known_sizes(kernel)[2:], spacings, strict=True)]
    pairs = padding_of(padding, shape_of(image)[2:], extents, steps, explicit, form)
    depth, channels = shape_of(kernel)[1], shape_of(image)[1]
    if groups == 1 and depth is not None and channels is not None and depth and channels != depth:
        groups = channels // depth
    result = tl.conv(image, kernel, strides=tuple(steps), padding=pairs, dilations=tuple(spacings), groups=groups)
    return from_channels_first(result, form)


def pooling_windows(
    x: Any, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str, fill: Any
) -> Any:
    """The windows of an image with its channels first, each as one axis behind the others."""
    image, sizes, steps = (
        to_channels_first(x, data_format),
        spatial_entries(ksize, data_format),
        spatial_entries(strides, data_format),
    )
    pairs = padding_of(padding, shape_of(image)[2:], sizes, steps, (), data_format)
    padded = tl.pad(image, ((0, 0), (0, 0), *pairs), value=fill)
    parts = tl.windows(padded, sizes, strides=steps)
    return tl.reshape(parts, (*tl.shape(parts)[: 2 + len(sizes)], math.prod(sizes)))


@operation("MaxPool", "MaxPool3D")
def max_pool(
    x: Any, *, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str = "",
    explicit_paddings: Sequence[int] = (),
) -> Any:  # fmt: skip
    form = data_format or ("NHWC" if rank_of(x) == 4 else "NDHWC")
    require(not explicit_paddings, "MaxPool with explicit padding is not imported")
    lowest = -np.inf if dtype_of(x).kind == "f" else dtype_of(x).range[0]
    return from_channels_first(
        tl.max(pooling_windows(x, ksize, strides, padding, form, scalar_like(lowest, x)), axis=-1), form
    )


@operation("AvgPool", "AvgPool3D")
def avg_pool(x: Any, *, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str = "") -> Any:
    """Padding is left out of the averages."""
    form = data_format or ("NHWC" if rank_of(x) == 4 else "NDHWC")
    sums = tl.sum(pooling_windows(x, ksize, strides, padding, form, scalar_like(0, x)), axis=-1)
    sizes = known_sizes(to_channels_first(x, form), range(2, rank_of(x)))
    windows, steps = spatial_entries(ksize, form), spatial_entries(strides, form)
    ones = np.pad(np.ones(sizes), padding_of(padding, sizes, windows, steps, (), form))
    view = np.lib.stride_tricks.sliding_window_view(ones, windows)[tuple(slice(None, None, step) for step in steps)]
    counts = view.sum(tuple(range(-len(windows), 0))).astype(dtype_of(x).numpy)
    return from_channels_first(tl.divide(sums, counts), form)


@operation(
    "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3",
    outputs=("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"),
)  # fmt: skip
def fused_batch_norm(
    x: Any, scale: Any, offset: Any, mean: Any, variance: Any, *, epsilon: float = 1e-4, data_format: str = "NHWC",
    is_training: bool = True, exponential_avg_factor: float = 1.0,
) -> Any:  # fmt: skip
    if is_training and exponential_avg_factor != 1.0:
        raise unsupported("attribute", "FusedBatchNorm with an average over batches")
    channel = rank_of(x) - 1 if data_format in ("NHWC", "NDHWC") else 1
    axes = tuple(axis for axis in range(rank_of(x)) if axis != channel)
    own_mean, own_variance = (tl.mean(x, axis=axes), tl.var(x, axis=axes)) if is_training else (mean, variance)
    shape = tuple(-1 if axis == channel else 1 for axis in range(rank_of(x)))
    factor = tl.multiply(scale, tl.reciprocal(tl.sqrt(tl.add(own_variance, scalar_like(epsilon, own_variance)))))
    centred = tl.subtract(x, tl.reshape(own_mean, shape))
    y = tl.add(tl.multiply(centred, tl.reshape(factor, shape)), tl.reshape(offset, shape))
    if not is_training:
        return [y, own_mean, own_variance, own_mean, own_variance, own_variance]
    count = math.prod(known_sizes(x, axes))
    unbiased = tl.multiply(own_variance, scalar_like(count / max(count - 1, 1), own_variance))
    return [y, own_mean, unbiased, own_mean, own_variance, own_variance]


LINEAR_ALGEBRA = {"MatrixDeterminant": "det", "Cholesky": "cholesky"}


def register_linear_algebra(name: str, function: str) -> None:
    @operation(name)
    def compute(x: Any) -> Any:
        return getattr(tl.linalg, function)(x)


for _name, _function in LINEAR_ALGEBRA.items():
    register_linear_algebra(_name, _function)


@operation("MatrixInverse")
def matrix_inverse(x: Any, *, adjoint: bool = False) -> Any:
    return tl.linalg.inv(tl.matrix_transpose(x) if adjoint else x)


@operation("MatrixSolve")
def matrix_solve(x: Any, y: Any, *, adjoint: bool = False) -> Any:
    return tl.linalg.solve(tl.matrix_transpose(x) if adjoint else x, y)
