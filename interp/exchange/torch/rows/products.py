"""Products of matrices, convolutions and linear algebra."""

from __future__ import annotations

import math
from typing import Any

from .....core.types import Type
from ..operations import row, tl, unsupported
from .common import axis_position, dtype_of, known_sizes, per_axis, rank_of, scalar_like
from .elementwise import scale
from .networks import per_channel, scale_and_shift, zero_disallowed_rows
from .shapes import as_batch, reshape


@row("mm", "bmm")
def mm(self: Any, mat2: Any) -> Any:
    return tl.matmul(self, mat2)


@row("matmul", "linalg_matmul")
def matmul(self: Any, other: Any) -> Any:
    return tl.matmul(self, other)


@row("mv")
def mv(self: Any, vec: Any) -> Any:
    return tl.matmul(self, vec)


@row("dot", "vdot", "inner")
def dot(self: Any, tensor: Any = None, other: Any = None) -> Any:
    return tl.matmul(self, other if tensor is None else tensor)


def affine(offset: Any, product: Any, beta: Any, alpha: Any, result: Type) -> Any:
    """`beta * offset + alpha * product`. With beta 0 the offset does not count, not even if it is NaN."""
    product = scale(product, alpha, result)
    return product if beta == 0 else tl.add(scale(offset, beta, result), product)


@row("addmm")
def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, result: Type) -> Any:
    return affine(self, tl.matmul(mat1, mat2), beta, alpha, result)


@row("baddbmm")
def baddbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, result: Type) -> Any:
    return affine(self, tl.matmul(batch1, batch2), beta, alpha, result)


@row("addbmm")
def addbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, result: Type) -> Any:
    total = tl.sum(tl.matmul(batch1, batch2), axis=0, dtype=result.dtype)
    return affine(self, total, beta, alpha, result)


@row("addmv")
def addmv(self: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1, result: Type) -> Any:
    return affine(self, tl.matmul(mat, vec), beta, alpha, result)


@row("addr")
def addr(self: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1, result: Type) -> Any:
    return affine(self, outer(vec1, vec2), beta, alpha, result)


@row("outer", "ger")
def outer(self: Any, vec2: Any) -> Any:
    return tl.multiply(tl.expand_dims(self, axis=1), vec2)


@row("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    product = tl.matmul(input, tl.matrix_transpose(weight) if rank_of(weight) == 2 else weight)
    return product if bias is None else tl.add(product, bias)


@row("bilinear")
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    product = tl.einsum("...i,oij,...j->...o", input1, weight, input2)
    return product if bias is None else tl.add(product, bias)


@row("einsum")
def einsum(equation: str, tensors: list[Any], *, path: Any = None) -> Any:
    return tl.einsum(equation.replace(" ", ""), *tensors)


@row("tensordot")
def tensordot(self: Any, other: Any, dims_self: list[int], dims_other: list[int]) -> Any:
    return tl.tensordot(self, other, axes=(tuple(dims_self), tuple(dims_other)))


@row("kron")
def kron(self: Any, other: Any) -> Any:
    rank = max(rank_of(self), rank_of(other))
    first, second = ([*[1] * (rank - rank_of(array)), *known_sizes(array)] for array in (self, other))
    x = reshape(self, [size for length in first for size in (length, 1)])
    y = reshape(other, [size for length in second for size in (1, length)])
    return reshape(tl.multiply(x, y), [a * b for a, b in zip(first, second, strict=True)])


@row("cross", "linalg_cross")
def cross(self: Any, other: Any, dim: int | None = None) -> Any:
    rank = rank_of(self)
    return tl.linalg.cross(self, other, axis=axis_position(-1 if dim is None else dim, rank) - rank)


@row("cdist")
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = None) -> Any:
    difference = tl.subtract(tl.expand_dims(x1, axis=-2), tl.expand_dims(x2, axis=-3))
    return tl.linalg.vector_norm(difference, axis=-1, ord=float(p))


@row("linalg_det", "det")
def det(A: Any = None, self: Any = None) -> Any:  # noqa: N803
    return tl.linalg.det(self if A is None else A)


@row("linalg_inv", "inverse")
def inv(A: Any = None, self: Any = None) -> Any:  # noqa: N803
    return tl.linalg.inv(self if A is None else A)


@row("linalg_solve")
def solve(A: Any, B: Any, *, left: bool = True) -> Any:  # noqa: N803
    if not left:
        return tl.matrix_transpose(tl.linalg.solve(tl.matrix_transpose(A), tl.matrix_transpose(B)))
    return tl.linalg.solve(A, B)


@row("linalg_cholesky", "cholesky")
def cholesky(self: Any, *, upper: bool = False) -> Any:
    return tl.linalg.cholesky(self, upper=upper)


@row("linalg_solve_triangular")
def solve_triangular(
    self: Any,
    B: Any,  # noqa: N803
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Any:
    if not left or unitriangular:
        raise unsupported("attribute", "a triangular system with left=False or unitriangular=True")
    return tl.linalg.triangular_solve(self, B, lower=not upper)


# Convolutions


def convolve(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, *,
    is_transposed: bool = False, output_padding: Any = 0,
) -> Any:  # fmt: skip
    """A convolution over all axes of the weights but the first two. The samples may have no axis."""
    axes = rank_of(weight) - 2
    batch = as_batch(x, axes)
    widths = padding.upper() if isinstance(padding, str) else tuple((n, n) for n in per_axis(padding, axes))
    options = {"strides": per_axis(stride, axes), "dilations": per_axis(dilation, axes), "groups": groups}
    if is_transposed:
        extra = per_axis(output_padding, axes)
        sums = tl.conv_transpose(batch, weight, padding=widths, output_padding=extra, **options)
    else:
        sums = tl.conv(batch, weight, padding=same_padding(widths, weight, options), **options)
    sums = scale_and_shift(sums, None, per_channel(bias, rank_of(sums)))
    return sums if batch is x else tl.squeeze(sums, 0)


def same_padding(widths: Any, weight: Any, options: dict[str, Any]) -> Any:
    """The padding "SAME" as widths, the odd one after."""
    if widths != "SAME":
        return widths
    kernel = known_sizes(weight)[2:]
    totals = [step * (size - 1) for size, step in zip(kernel, options["dilations"], strict=True)]
    return tuple((total // 2, total - total // 2) for total in totals)


@row("conv1d", "conv2d", "conv3d")
def conv(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    return convolve(input, weight, bias, stride, padding, dilation, groups)


@row("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    return convolve(
        input, weight, bias, stride, padding, dilation, groups, is_transposed=True, output_padding=output_padding
    )


@row("convolution")
def convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int,
) -> Any:  # fmt: skip
    return convolve(
        input, weight, bias, stride, padding, dilation, groups, is_transposed=transposed, output_padding=output_padding
    )


# Attention


@row("scaled_dot_product_attention")
def attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """A mask is of bools, or of numbers that are added to the scores. A row without allowed positions gives zeros."""
    if dropout_p:
        raise unsupported("attribute", "attention with dropout", hint="call model.eval() before the export")
    if enable_gqa:
        repeats = known_sizes(query, [rank_of(query) - 3])[0] // known_sizes(key, [rank_of(key) - 3])[0]
        key, value = (tl.repeat(array, repeats, axis=rank_of(array) - 3) for array in (key, value))
    (width,) = known_sizes(query, [rank_of(query) - 1])
    factor = scalar_like(1 / math.sqrt(width) if scale is None else scale, query)
    scores = tl.matmul(tl.multiply(query, factor), tl.matrix_transpose(key))
    is_allowed = None
    if is_causal:
        query_count, key_count = tl.shape(scores)[-2:]
        is_allowed = tl.greater_equal(tl.expand_dims(tl.arange(query_count), axis=1), tl.arange(key_count))
    elif attn_mask is not None and dtype_of(attn_mask).kind == "b":
        is_allowed = attn_mask
    elif attn_mask is not None:
        scores = tl.add(scores, attn_mask)
        is_allowed = tl.not_equal(attn_mask, scalar_like(-math.inf, attn_mask))
    if is_allowed is None:
        return tl.matmul(tl.softmax(scores, axis=-1), value)
    weights = tl.softmax(tl.where(is_allowed, scores, scalar_like(-math.inf, scores)), axis=-1)
    return tl.matmul(weights if is_causal else zero_disallowed_rows(weights, is_allowed, -1), value)


@row("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None,
    scale: float | None = None,
) -> Any:  # fmt: skip
    """The second result only helps PyTorch to differentiate."""
    return attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale), None
