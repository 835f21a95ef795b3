"""Operations that sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interpreter import HloRegion, OperationCall
from ..operations import row, tl
from .common import check_table_size, dtype_of, rank_of, sizes_of, to_dtype
from .elementwise import total_order
from .regions import sorts_descending


@row("sort")
def sort(*operands: Any, operation: OperationCall, regions: list[HloRegion], dimension: int = -1) -> Any:
    """A comparator that orders numbers by size becomes a sort of tagloom. For any other comparator, the rank of an
    element is the number of elements that come before it."""
    axis, first = dimension % rank_of(operands[0]), operands[0]
    if sizes_of(first)[axis] < 2:
        return operands
    descending = sorts_descending(regions[0], dtype_of(first))
    keys = to_dtype(first, tl.uint8) if dtype_of(first).kind == "b" else first
    if descending is not None and len(operands) == 1:
        return to_dtype(tl.sort(keys, axis=axis, descending=descending), dtype_of(first))
    if descending is not None:
        order = tl.argsort(keys, axis=axis, descending=descending)
    else:
        order = order_of(regions[0], operands, axis)
    return tuple(tl.take_along_axis(operand, order, axis=axis) for operand in operands)


def order_of(comparator: HloRegion, operands: Any, axis: int) -> Any:
    """The stable order of elements along an axis by a comparator, which is applied to all pairs."""
    sizes = sizes_of(operands[0])
    size = sizes[axis]
    check_table_size(*sizes, size)
    axis_last = [tl.moveaxis(operand, axis, -1) for operand in operands]
    shape = (*(length for k, length in enumerate(sizes) if k != axis), size, size)
    columns = [tl.broadcast_to(tl.expand_dims(array, axis=-1), shape) for array in axis_last]
    rows = [tl.broadcast_to(tl.expand_dims(array, axis=-2), shape) for array in axis_last]
    pairs = [array for pair in zip(columns, rows, strict=True) for array in pair]
    (is_before,) = comparator.lift(*pairs)
    is_behind = tl.permute_dims(is_before, (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2))
    is_earlier = np.tri(size, k=-1, dtype=np.bool_)  # of two equal elements
    precedes = tl.logical_or(is_behind, tl.logical_and(tl.logical_not(is_before), is_earlier))
    ranks = tl.sum(tl.astype(precedes, tl.int64), axis=-1)
    return tl.moveaxis(tl.argsort(ranks, axis=-1), -1, axis)


@row("top_k", dialect="chlo")
def top_k(x: Any, *, k: int, largest: bool = True) -> Any:
    """Floats are in the total order of IEEE 754, as in XLA: 0.0 comes before -0.0."""
    keys = total_order(x) if dtype_of(x).kind == "f" else x
    order = tl.argsort(keys, axis=-1, descending=bool(largest))
    indices = tl.index(order, (..., slice(None, k)))
    return tl.take_along_axis(x, indices, axis=-1), tl.astype(indices, tl.int32)
