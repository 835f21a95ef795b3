"""Sequences of arrays. A sequence of static length is a tuple of arrays. If its length is known only at run time, it is
packed: the elements of all items in one array, and a row of sizes for each item. So it is a value like any other, which
loops carry and branches choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....core.dtypes import DType
from ....core.frontend.array_api.common import shape_of, type_of
from .operators import require, tl, unsupported


@dataclass(frozen=True, slots=True)
class ItemSequence:
    """A sequence of static length; `element` is the dtype of its items, if there are none."""

    items: tuple[Any, ...]
    element: DType

    @property
    def dtype(self) -> DType:
        return type_of(self.items[0]).dtype if self.items else self.element


class PackedSequence(NamedTuple):
    """A sequence of symbolic length: the elements of all items in order, and the shapes of the items, one in a row. A
    row of an item with fewer axes than others begins with -1."""

    elements: Any
    shapes: Any

    @property
    def dtype(self) -> DType:
        return type_of(self.elements).dtype

    @property
    def length(self) -> Any:
        return tl.shape(self.shapes)[0]

    @property
    def rank(self) -> int:
        return shape_of(self.shapes)[1] or 0

    @property
    def starts(self) -> Any:
        """The start of each item in the elements, and the end of the last one."""
        sizes = tl.prod(tl.where(self.shapes < 0, np.int64(1), self.shapes), axis=1)
        return tl.cumulative_sum(sizes, include_initial=True)

    def with_rank(self, rank: int) -> PackedSequence:
        """The same sequence, whose rows have room for items of more axes."""
        new_columns = rank - self.rank
        if new_columns <= 0:
            return self
        padding = tl.full((self.length, new_columns), -1, dtype=tl.int64)
        return PackedSequence(self.elements, tl.concat([padding, self.shapes], axis=1))


def size_row(item: Any, rank: int) -> Any:
    """The row of sizes of an item, as a matrix of one row."""
    sizes = tl.shape(item)
    row = [*[-1] * (rank - len(sizes)), *sizes]
    if all(isinstance(size, int) for size in row):
        return np.array([row], np.int64).reshape(1, rank)
    return tl.stack([tl.stack(list(map(tl.asarray, row)))])


def pack(sequence: ItemSequence | PackedSequence, rank: int = 0) -> PackedSequence:
    """A sequence in packed form, with room for items of `rank` axes."""
    if isinstance(sequence, PackedSequence):
        return sequence.with_rank(rank)
    rank = max([rank, *(len(shape_of(item)) for item in sequence.items)])
    if not sequence.items:
        return PackedSequence(tl.zeros(0, dtype=sequence.element), np.zeros((0, rank), np.int64))
    elements = tl.concat([tl.reshape(item, (-1,)) for item in sequence.items])
    rows = (
        tl.concat([size_row(item, rank) for item in sequence.items])
        if rank
        else np.zeros((len(sequence.items), 0), np.int64)
    )
    return PackedSequence(elements, rows)


OUT_OF_RANGE = "a position in a sequence is out of range"


def position_of(length: Any, position: Any, end: int = 0) -> Any:
    """A position from 0: a negative one counts from the end. The last one is `length - 1 + end`."""
    require(position >= -length, OUT_OF_RANGE)
    require(position < length + end, OUT_OF_RANGE)
    if isinstance(position, int):
        return position + length if position < 0 else position
    position = tl.astype(position, tl.int64)
    return tl.where(position < 0, position + length, position)


def insert(sequence: ItemSequence | PackedSequence, item: Any, position: Any = None) -> ItemSequence | PackedSequence:
    """The sequence with one more item, by default at the end."""
    if isinstance(sequence, ItemSequence) and (position is None or isinstance(position, np.ndarray)):
        count = len(sequence.items)
        index = count if position is None else position_of(count, int(position), end=1)
        return ItemSequence((*sequence.items[:index], item, *sequence.items[index:]), type_of(item).dtype)
    rank = len(shape_of(item))
    packed = pack(sequence, rank)
    flat, row = tl.reshape(item, (-1,)), size_row(item, packed.rank)
    if position is None:
        return PackedSequence(tl.concat([packed.elements, flat]), tl.concat([packed.shapes, row]))
    index = position_of(packed.length, position, end=1)
    start = packed.starts[index]
    elements = tl.concat([packed.elements[:start], flat, packed.elements[start:]])
    return PackedSequence(elements, tl.concat([packed.shapes[:index], row, packed.shapes[index:]]))


def erase(sequence: ItemSequence | PackedSequence, position: Any = None) -> ItemSequence | PackedSequence:
    """The sequence without one item, by default the last."""
    if isinstance(sequence, ItemSequence) and (position is None or isinstance(position, np.ndarray)):
        items = list(sequence.items)
        del items[position_of(len(items), -1 if position is None else int(position))]
        return ItemSequence(tuple(items), sequence.dtype)
    packed = pack(sequence)
    index = position_of(packed.length, np.int64(-1) if position is None else position)
    starts = packed.starts
    elements = tl.concat([packed.elements[: starts[index]], packed.elements[starts[index + 1] :]])
    return PackedSequence(elements, tl.concat([packed.shapes[:index], packed.shapes[index + 1 :]]))


def item_at(sequence: ItemSequence | PackedSequence, position: Any) -> Any:
    """An item of a sequence. Items of symbolic length must have one number of axes, or the run traps."""
    if isinstance(sequence, ItemSequence) and isinstance(position, np.ndarray):
        return sequence.items[position_of(len(sequence.items), int(position))]
    packed = pack(sequence)
    index = position_of(packed.length, position)
    starts, row = packed.starts, packed.shapes[index]
    if packed.rank:
        tl.assert_(tl.all(row >= 0), "the items of a sequence have different numbers of axes")
    part = packed.elements[starts[index] : starts[index + 1]]
    return tl.reshape(part, tuple(row[axis] for axis in range(packed.rank)))


def length_of(sequence: ItemSequence | PackedSequence) -> Any:
    """The number of items, int64."""
    if isinstance(sequence, ItemSequence):
        return np.asarray(len(sequence.items), np.int64)
    return tl.asarray(sequence.length)


def join(sequence: ItemSequence | PackedSequence, axis: int, *, new_axis: bool) -> Any:
    """The items concatenated along an axis, or stacked along a new one."""
    if isinstance(sequence, ItemSequence):
        if not sequence.items:
            raise unsupported("shape", "a sequence without items is joined")
        return (tl.stack if new_axis else tl.concat)(list(sequence.items), axis=axis)
    rank = sequence.rank
    position = axis + rank + new_axis if axis < 0 else axis
    sizes = [sequence.shapes[0, k] for k in range(rank)]
    if not new_axis and position == 0:
        return tl.reshape(sequence.elements, (tl.sum(sequence.shapes[:, 0]), *sizes[1:]))
    tl.assert_(tl.all(sequence.shapes == sequence.shapes[:1]), "the items of a sequence have different shapes")
    stack = tl.moveaxis(tl.reshape(sequence.elements, (sequence.length, *sizes)), 0, position)
    if new_axis:
        return stack
    sizes[position] = sizes[position] * sequence.length
    return tl.reshape(stack, tuple(sizes))


def unpack(elements: np.ndarray[Any, Any], shapes: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The items of a packed sequence that a run has returned."""
    items, start = [], 0
    for row in np.asarray(shapes):
        shape = tuple(int(size) for size in row if size >= 0)
        size = int(np.prod(shape))
        items.append(np.asarray(elements)[start : start + size].reshape(shape))
        start += size
    return items
