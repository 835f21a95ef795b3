"""Operations that move elements, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .....core.types import Type
from ..interpreter import OperationCall, Splat
from ..operations import row, tl
from .common import known_shape, move_axes, rank_of, sizes_of, to_dtype

SMALL = 64
"""The most elements of an iota that is a literal of the program."""


@row("constant")
def constant(*, operation: OperationCall) -> Any:
    return operation.interpreter.constant(operation.operation)


@row("iota")
def iota(*, result: Type, iota_dimension: int) -> Any:
    """The numbers of the positions along an axis."""
    shape = known_shape(result)
    sizes = [size if axis == iota_dimension else 1 for axis, size in enumerate(shape)]
    if result.dtype.kind == "b" or int(np.prod(shape)) <= SMALL:
        return np.broadcast_to(np.arange(sizes[iota_dimension]).reshape(sizes), shape).astype(result.dtype.numpy)
    numbers = to_dtype(tl.arange(shape[iota_dimension]), result.dtype)
    if tuple(sizes) != shape:
        numbers = tl.broadcast_to(tl.reshape(numbers, tuple(sizes)) if len(shape) > 1 else numbers, shape)
    return numbers


@row("broadcast_in_dim", takes_splats=True)
def broadcast_in_dim(x: Any, *, result: Type, broadcast_dimensions: Sequence[int]) -> Any:
    """Axis k of the operand becomes axis `broadcast_dimensions[k]`. A scalar is kept as one."""
    shape = known_shape(result)
    if isinstance(x, Splat):
        return Splat(x.value, shape)
    if rank_of(x) == 0:
        return Splat(x, shape) if shape else x
    order = sorted(range(len(broadcast_dimensions)), key=lambda axis: broadcast_dimensions[axis])
    permuted, sizes = move_axes(x, order), sizes_of(x)
    expanded_shape = [1] * len(shape)
    for axis, target in enumerate(broadcast_dimensions):
        expanded_shape[target] = sizes[axis]
    aligned = tuple(expanded_shape)
    while len(aligned) > len(sizes) and aligned[0] == 1:  # broadcasting adds axes in front by itself
        aligned = aligned[1:]
    if aligned != sizes_of(permuted):
        permuted = tl.reshape(permuted, aligned)
    return permuted if aligned == shape else tl.broadcast_to(permuted, shape)


@row("reshape", takes_splats=True)
def reshape(x: Any, *, result: Type) -> Any:
    shape = known_shape(result)
    if isinstance(x, Splat):
        return Splat(x.value, shape) if shape else x.value
    if isinstance(x, np.ndarray):
        return x.reshape(shape)
    return x if sizes_of(x) == shape else tl.reshape(x, shape)


@row("transpose", takes_splats=True)
def transpose(x: Any, *, result: Type, permutation: Sequence[int]) -> Any:
    if isinstance(x, Splat):
        return Splat(x.value, known_shape(result))
    return np.transpose(x, permutation).copy() if isinstance(x, np.ndarray) else move_axes(x, permutation)


@row("slice")
def slice_(x: Any, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int]) -> Any:
    bounds = zip(start_indices, limit_indices, strides, sizes_of(x), strict=True)
    return tl.index(x, tuple(slice_of(*bound) for bound in bounds)) if rank_of(x) else x


def slice_of(start: int, limit: int, stride: int, size: int) -> slice:
    """A slice without redundant bounds."""
    return slice(start or None, None if limit >= size else limit, None if stride == 1 else stride)


@row("reverse")
def reverse(x: Any, *, dimensions: Sequence[int]) -> Any:
    return tl.flip(x, axis=tuple(dimensions)) if dimensions else x


@row("concatenate")
def concatenate(*parts: Any, dimension: int) -> Any:
    return tl.concat(list(parts), axis=dimension) if len(parts) > 1 else parts[0]


@row("pad")
def pad(
    x: Any,
    value: Any,
    *,
    edge_padding_low: Sequence[int],
    edge_padding_high: Sequence[int],
    interior_padding: Sequence[int],
) -> Any:
    return pad_array(x, value, edge_padding_low, edge_padding_high, interior_padding)


def pad_array(x: Any, value: Any, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Any:
    """x with elements `value` between its own elements and at both ends of its axes; negative numbers at the ends
    remove elements."""
    sizes = sizes_of(x)
    if any(interior):
        spread = tuple(max(size + (size - 1) * inner, 0) for size, inner in zip(sizes, interior, strict=True))
        key = tuple(slice(None, None, inner + 1 if inner else None) for inner in interior)
        filled = tl.broadcast_to(value, spread)
        x, sizes = filled if 0 in sizes else tl.scatter_index(filled, x, key), spread
    widths = tuple((max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True))
    if any(map(any, widths)):
        x = tl.pad(x, widths, value=value)
    if min([*low, *high], default=0) < 0:
        ends = zip(sizes_of(x), low, high, strict=True)
        x = tl.index(x, tuple(slice_of(max(-a, 0), max(size - max(-b, 0), 0), 1, size) for size, a, b in ends))
    return x


@row("get_dimension_size")
def get_dimension_size(x: Any, *, dimension: int) -> Any:
    return np.asarray(sizes_of(x)[dimension], np.int32)
