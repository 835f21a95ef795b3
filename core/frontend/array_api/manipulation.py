"""Manipulation of arrays: broadcasting, joining, splitting, reshaping, and moving elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import Invalid, Usage
from ...ops.indexing import format_key
from ...ops.op import MAX_ELEMENTS
from ...types import Shape, broadcast_shape
from ..eager.apply import apply
from ..eager.op_functions import cache_single_op
from ..sizes import open_shape, open_sizes, static_integer, static_integers, static_size
from ..trace.program_builder import to_operand
from ..trace.source_location import user_location
from ..trace.stacked_items import has_stacked_items
from ..trace.symbol import Symbol
from .common import (
    check_matrix,
    element_count,
    rank_of,
    resolve_axes,
    resolve_axis,
    shape_of,
    static_sizes,
    type_of,
)

MAX_CONCAT_OPERANDS = 32
"""The most arrays that one node joins: nodes on engines have room for some 60 operands."""


@cache_single_op
def broadcast_to(x: Any, /, shape: Any) -> Any:
    sizes, symbols = open_sizes(shape)
    return apply("broadcast_to", x, *symbols, shape=sizes)


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """The arrays, each broadcast to their common shape. Raises Invalid (V4) where there is none.

    >>> [x.tolist() for x in broadcast_arrays([1, 2], 0)]
    [[1, 2], [0, 0]]
    """
    shapes = [type_of(array).shape for array in arrays]
    try:
        shape = broadcast_shape(shapes)
    except Invalid as error:
        error.rule, error.where = "V4", user_location()
        raise
    if shape is not None and None not in shape:
        return tuple(apply("broadcast_to", array, shape=shape) for array in arrays)
    return tuple(functools.reduce(lambda x, y: apply("broadcast_like", x, y), arrays, array) for array in arrays)


def broadcast_shapes(*shapes: Any) -> tuple[int | None, ...]:
    """The shape to which arrays of these shapes broadcast; a size may be None, which is unknown.

    Raises Invalid where there is none.

    >>> broadcast_shapes((2, 1), (None, 3))
    (2, 3)
    """
    sizes = [tuple(shape) if isinstance(shape, tuple | list) else (shape,) for shape in shapes]
    static_shapes: list[Shape] = [
        tuple(None if n is None else static_size(n, "a size") for n in shape) for shape in sizes
    ]
    try:
        return broadcast_shape(static_shapes) or ()
    except Invalid as error:
        error.rule, error.where = "V4", user_location()
        raise


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    parts = _check_arrays(arrays)
    if axis is None:
        return concat_in_batches([apply("reshape", part, shape=(-1,)) for part in parts], 0)
    return concat_in_batches(parts, static_integer(axis, "an axis"))


def concat_in_batches(arrays: Sequence[Any], axis: int) -> Any:
    """Join any number of arrays, MAX_CONCAT_OPERANDS at a time."""
    while len(arrays) > MAX_CONCAT_OPERANDS:
        starts = range(0, len(arrays), MAX_CONCAT_OPERANDS)
        arrays = [apply("concat", *arrays[start : start + MAX_CONCAT_OPERANDS], axis=axis) for start in starts]
    return apply("concat", *arrays, axis=axis)


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Any:
    """Join arrays of the same shape along a new axis, which is number `axis` of the result.

    Raises Usage for an empty list, and for arrays with different numbers of axes.

    >>> stack([[1, 2], [3, 4]], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    if has_stacked_items(arrays):
        return moveaxis(Symbol(to_operand(arrays)), 0, axis)  # type: ignore[arg-type]
    parts = _check_arrays(arrays)
    if len({rank_of(part) for part in parts}) > 1:
        raise Usage(
            "the arrays to stack have different numbers of axes",
            where=user_location(),
            got=" and ".join(str(type_of(part)) for part in parts),
        )
    return concat_in_batches([expand_dims(part, axis=axis) for part in parts], resolve_axis(axis, parts[0], 1))


def _check_arrays(arrays: Any) -> list[Any]:
    """Raises Usage unless there is a list or tuple of at least one array."""
    is_list = isinstance(arrays, tuple | list)
    if not is_list or not arrays:
        raise Usage(
            "there are no arrays to join" if is_list else "the arrays to join are not in a list",
            where=user_location(),
            required="a list of at least one",
            got=repr(arrays)[:80],
        )
    if has_stacked_items(arrays):
        array = Symbol(to_operand(arrays))  # type: ignore[arg-type]
        return [array[k] for k in range(static_size(array.shape[0], "the length of the list"))]  # type: ignore[index]
    return list(arrays)


@cache_single_op
def expand_dims(x: Any, /, axis: Any = 0) -> Any:
    """Insert new axes of size 1; `axis` is the number of the new axis in the result, or a tuple of several.

    Raises Invalid (V4) for an axis out of range, or twice the same.

    >>> expand_dims([1, 2], axis=1).tolist()
    [[1], [2]]
    """
    return insert_axes(x, resolve_axes(axis, x, 1))


def insert_axes(x: Any, axes: Sequence[int]) -> Any:
    """x with new axes of size 1, which have these numbers, from 0, in the result."""
    rank = rank_of(x) + len(axes)
    return apply(
        "index", x, key=format_key(tuple(None if position in axes else slice(None) for position in range(rank)))
    )


@cache_single_op
def squeeze(x: Any, /, axis: Any) -> Any:
    return apply("squeeze", x, axis=resolve_axes(axis, x))


@cache_single_op
def flip(x: Any, /, *, axis: Any = None) -> Any:
    """Reverse the order of the elements along an axis, or several, or by default all.

    >>> flip([[1, 2], [3, 4]], axis=1).tolist()
    [[2, 1], [4, 3]]
    """
    axes = range(rank_of(x)) if axis is None else resolve_axes(axis, x)
    reverse = slice(None, None, -1)
    return apply(
        "index",
        x,
        key=format_key(tuple(reverse if position in axes else slice(None) for position in range(rank_of(x)))),
    )


@cache_single_op
def permute_dims(x: Any, /, axes: Any) -> Any:
    return apply("permute_dims", x, axes=static_integers(axes, "an axis"))


@cache_single_op
def matrix_transpose(x: Any, /) -> Any:
    """The array with its last two axes swapped. Raises Invalid (V4) where there are fewer than two.

    >>> matrix_transpose([[1, 2]]).tolist()
    [[1], [2]]
    """
    check_matrix(x)
    rank = rank_of(x)
    return apply("permute_dims", x, axes=(*range(rank - 2), rank - 1, rank - 2))


@cache_single_op
def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """Move axes to other positions; the other axes keep their order. `source` and `destination` are axes or tuples of
    axes. Raises Usage where their numbers differ.

    >>> moveaxis([[1, 2]], 0, 1).tolist()
    [[1], [2]]
    """
    sources, targets = resolve_axes(source, x), resolve_axes(destination, x)
    if len(sources) != len(targets):
        raise Usage("the numbers of axes differ", where=user_location(), required=len(sources), got=len(targets))
    other_axes = iter(position for position in range(rank_of(x)) if position not in sources)
    source_of_target = dict(zip(targets, sources, strict=True))
    return apply(
        "permute_dims",
        x,
        axes=tuple(
            source_of_target[position] if position in source_of_target else next(other_axes)
            for position in range(rank_of(x))
        ),
    )


@cache_single_op
def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    sizes, symbols = open_shape(shape)
    return apply("reshape", x, *symbols, shape=sizes)


@cache_single_op
def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    shift_values = shift if isinstance(shift, tuple | list) else (shift,)
    is_symbolic = any(isinstance(step, Symbol) for step in shift_values)
    steps = tuple(shift_values) if is_symbolic else static_integers(shift_values, "a shift")
    if axis is None:
        if is_symbolic:
            return apply("reshape_like", _roll_axis(apply("reshape", x, shape=(-1,)), sum(steps), 0), x)
        return apply("roll", x, shift=(reduce_shift(sum(steps), type_of(x).shape),), axis=None)
    axes = static_integers(axis, "an axis")
    shifts = steps * len(axes) if len(steps) == 1 else steps
    shifted_axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(shifted_axes) != len(shifts):
        raise Usage(
            "there is not one shift for each axis", where=user_location(), required=len(shifted_axes), got=len(shifts)
        )
    if is_symbolic:
        for step, position in zip(shifts, shifted_axes, strict=True):
            x = _roll_axis(x, step, resolve_axis(position, x))
        return x
    sizes = [shape_of(x)[resolve_axis(position, x)] for position in shifted_axes]
    return apply(
        "roll",
        x,
        shift=tuple(reduce_shift(step, (n,)) for step, n in zip(shifts, sizes, strict=True)),
        axis=shifted_axes,
    )


def _roll_axis(x: Any, shift: Any, axis: int) -> Any:
    """`x` rolled along one axis by a shift that may be symbolic: element i is element i - shift, modulo the size."""
    size = element_count(x, axis)
    numbers = np.arange(size) if type(size) is int else apply("arange", 0, size, 1)
    modulus = apply("maximum", size, 1)  # a remainder by 0 would trap; then there are no elements
    difference = apply("subtract", numbers, apply("remainder", shift, modulus))
    return apply("take", x, apply("remainder", difference, modulus), axis=axis)


def reduce_shift(shift: int, shape: Shape) -> int:
    """A shift modulo the number of elements, if that is static."""
    size = None if shape is None or None in shape else math.prod(filter(None, shape))
    return shift if not size or -size < shift < size else shift % size


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    if axis is None:
        return repeat(apply("reshape", x, shape=(-1,)), repeats, axis=0)
    position, shape = resolve_axis(axis, x), shape_of(x)
    if not (type(repeats) is int and 0 <= repeats <= MAX_ELEMENTS) or None in shape:
        return apply("repeat", x, repeats, axis=position)
    copies = apply(
        "broadcast_to", insert_axes(x, [position + 1]), shape=(*shape[: position + 1], repeats, *shape[position + 1 :])
    )
    return apply("reshape", copies, shape=(*shape[:position], (shape[position] or 0) * repeats, *shape[position + 1 :]))


def tile(x: Any, repetitions: Any, /) -> Any:
    """Repeat the whole array along each axis. `repetitions` is a number, or a tuple with one for each axis; the shorter
    of `repetitions` and the shape is padded with ones in front.

    Numbers may be symbolic. Raises Usage for a negative number; a symbolic one traps.

    >>> tile([1, 2], (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    sizes, symbols = open_sizes(repetitions)
    counts = iter(symbols)
    times = tuple(next(counts) if size is None else size for size in sizes)
    times = (*[1] * (rank_of(x) - len(times)), *times)
    tiled = insert_axes(x, range(len(times) - rank_of(x))) if len(times) > rank_of(x) else x
    for axis, count in enumerate(times):
        if isinstance(count, Symbol) or count != 1:
            tiled = tile_axis(tiled, count, axis)
    return tiled


def tile_axis(x: Any, count: Any, axis: int) -> Any:
    """Repeat an array along one axis: by broadcasting if all sizes are static, or the count is symbolic; else by taking
    indices modulo the size."""
    shape = shape_of(x)
    if isinstance(count, Symbol):
        sizes = tuple(x.shape)
        copies = broadcast_to(insert_axes(x, [axis]), (*sizes[:axis], count, *sizes[axis:]))
        return reshape(copies, (*sizes[:axis], count * sizes[axis], *sizes[axis + 1 :]))
    if None not in shape:
        copies = apply("broadcast_to", insert_axes(x, [axis]), shape=(*shape[:axis], count, *shape[axis:]))
        return apply("reshape", copies, shape=(*shape[:axis], count * (shape[axis] or 0), *shape[axis + 1 :]))
    if not count:
        return apply("index", x, key=format_key((*[slice(None)] * axis, slice(0, 0))))
    size = apply("size", x, axis=axis)
    element_total = apply("multiply", size, min(count, MAX_ELEMENTS + 1))
    return apply("take", x, apply("remainder", apply("arange", 0, element_total, 1), size), axis=axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts of an array along an axis, as a tuple. Raises Invalid (V4) where the size of the axis is not static.

    >>> [x.tolist() for x in unstack([[1, 2], [3, 4]], axis=1)]
    [[1, 3], [2, 4]]
    """
    position = resolve_axis(axis, x)
    hint = "loop with tl.while_loop, and take with tl.take(x, i, axis=...)"
    (size,) = static_sizes(x, "unstack", [position], hint)
    return tuple(apply("index", x, key=format_key((*[slice(None)] * position, k))) for k in range(size))
