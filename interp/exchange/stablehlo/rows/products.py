"""Products of arrays, and convolutions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.types import Type
from ..operations import require, row, tl, unsupported
from .common import dimension_numbers, known_shape, move_axes, rank_of, scalar_like, sizes_of, to_dtype
from .reductions import padding_pairs
from .shapes import pad_array


@row("dot_general")
def dot_general(x: Any, y: Any, *, result: Type, dot_dimension_numbers: str) -> Any:
    numbers = dimension_numbers(dot_dimension_numbers)
    pairs = [(numbers.get(f"{side}_batching_dimensions", []), numbers.get(f"{side}_contracting_dimensions", []))
             for side in ("lhs", "rhs")]  # fmt: skip
    return product(x, y, pairs[0], pairs[1], result)


@row("dot")
def dot(x: Any, y: Any, *, result: Type) -> Any:
    return product(x, y, ([], [rank_of(x) - 1]), ([], [0]), result)


def product(x: Any, y: Any, left: tuple[list[int], list[int]], right: tuple[list[int], list[int]], result: Type) -> Any:
    """The sums of products over pairs of axes, `left[1]` of x and `right[1]` of y, for each index of the pairs
    `left[0]` and `right[0]`."""
    x, y = to_dtype(x, result.dtype), to_dtype(y, result.dtype)
    if result.dtype.kind == "b":
        raise unsupported("dtype", "products of bools are not imported")
    free_axes = [[axis for axis in range(rank_of(array)) if axis not in (*batch, *contracted)]
            for array, (batch, contracted) in ((x, left), (y, right))]  # fmt: skip
    sizes = sizes_of(x)
    batch, inner = [sizes[axis] for axis in left[0]], math.prod(sizes[axis] for axis in left[1])
    rows, columns = (
        math.prod(sizes[axis] for axis in free_axes[0]),
        math.prod(sizes_of(y)[axis] for axis in free_axes[1]),
    )
    x = move_axes(x, [*left[0], *free_axes[0], *left[1]])
    y = move_axes(y, [*right[0], *right[1], *free_axes[1]])
    first = (*batch, inner) if not free_axes[0] and not batch else (*batch, rows, inner)
    second = (*batch, inner) if not free_axes[1] and not batch else (*batch, inner, columns)
    total = tl.matmul(as_shape(x, first), as_shape(y, second))
    return as_shape(total, known_shape(result))


def as_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """An array in this shape; the array itself if it has it."""
    return x if sizes_of(x) == shape else tl.reshape(x, shape)


@row("convolution")
def convolution(
    x: Any,
    weights: Any,
    *,
    result: Type,
    dimension_numbers: str,
    window_strides: Sequence[int] | None = None,
    padding: Any = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
) -> Any:
    if 0 in known_shape(result):
        return tl.broadcast_to(np.zeros((), result.dtype.numpy), known_shape(result))
    layout = re.search(r"\[(.*?)\]x\[(.*?)\]->\[(.*?)\]", dimension_numbers)
    require(layout is not None, "the layout of a convolution cannot be read")
    assert layout is not None
    inputs, kernel, outputs = ([axis.strip() for axis in part.split(",")] for part in layout.groups())
    rank = len(inputs) - 2
    spatial = [str(axis) for axis in range(rank)]
    x = to_dtype(move_axes(x, [inputs.index(axis) for axis in ("b", "f", *spatial)]), result.dtype)
    weights = to_dtype(move_axes(weights, [kernel.index(axis) for axis in ("o", "i", *spatial)]), result.dtype)
    reversed_axes = tuple(2 + axis for axis, is_reversed in enumerate(window_reversal or ()) if is_reversed)
    if reversed_axes:
        weights = tl.flip(weights, axis=reversed_axes)
    if batch_group_count > 1:
        x, feature_group_count = groups_of_samples(x, batch_group_count), batch_group_count
    pairs, spread = padding_pairs(padding, rank), list(lhs_dilation or [1] * rank)
    if any(min(pair) < 0 for pair in pairs):
        edges = list(zip((0, 0), (0, 0), strict=True)) + pairs
        low, high = zip(*edges, strict=True)
        x = pad_array(x, scalar_like(0, x), low, high, [0, 0, *(step - 1 for step in spread)])
        pairs, spread = [(0, 0)] * rank, [1] * rank
    sums = tl.conv(
        x,
        weights,
        strides=tuple(window_strides or [1] * rank),
        padding=tuple(pairs),
        dilations=tuple(rhs_dilation or [1] * rank),
        input_dilations=None if set(spread) <= {1} else tuple(spread),
        groups=feature_group_count,
    )
    order = [("b", "f", *spatial).index(axis) for axis in outputs]
    return as_shape(move_axes(sums, order), known_shape(result))


def groups_of_samples(x: Any, count: int) -> Any:
    """An array whose samples are in groups, with the groups as groups of channels."""
    batch, channels, *spatial_sizes = sizes_of(x)
    parts = tl.reshape(x, (count, batch // count, channels, *spatial_sizes))
    groups_first = tl.moveaxis(parts, 0, 1)
    return tl.reshape(groups_first, (batch // count, count * channels, *spatial_sizes))
