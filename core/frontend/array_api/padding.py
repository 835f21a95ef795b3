"""Padding: elements added around an array, each of them one number or a copy of another element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ... import dtypes
from ...errors import Invalid, Usage
from ..eager.apply import apply
from ..sizes import static_integers
from ..trace.source_location import user_location
from .common import element_count, rank_of, type_of
from .creation import compute_eagerly, convert_fill_value, iota, zeros_like
from .manipulation import concat

Compute: TypeAlias = Callable[..., Any]
"""Applies an op by name: to symbols, or eagerly to numbers that are static."""
Source: TypeAlias = Callable[[Compute, Any, Any], Any]
"""For positions and the size of an axis, the positions of the elements to copy."""


def pad(x: Any, widths: Any, /, *, mode: str = "constant", value: Any = 0) -> Any:
    """Pad an array, as NumPy does.

    `widths` is the number of elements to add on both sides of every axis; or a pair of numbers, before and after; or a
    list of pairs, one for each axis, or one pair for all. `mode` says which elements these are, in NumPy's words:
    "constant" (`value`), "edge" (the first and the last one), "reflect" (the array mirrored at its first and last
    elements, which are not repeated), "symmetric" (mirrored behind them, so they are repeated), or "wrap" (the array
    repeated). A width may be larger than the array.

    Raises Usage for widths that are negative or do not fit the axes, for another mode, and for a `value` that does not
    fit the dtype; Invalid (V4) for an axis without elements to copy, which traps where its size is open.

    >>> pad([1, 2], (1, 2)).tolist(), pad([1, 2, 3], 2, mode="reflect").tolist()
    ([0, 1, 2, 0, 0], [3, 2, 1, 2, 3, 2, 1])
    >>> pad([[1, 2]], ((0, 1), (1, 0)), value=7).tolist()
    [[7, 1, 2], [7, 7, 7]]
    """
    pairs = _resolve_widths(widths, rank_of(x))
    if not isinstance(mode, str) or (mode != "constant" and mode not in _SOURCES):
        modes = ", ".join(["constant", *_SOURCES])
        raise Usage("this is not a mode of padding", where=user_location(), required=modes, got=repr(mode))
    padded = x
    for axis, pair in reversed([*enumerate(pairs)]):
        if mode == "constant":
            leading, trailing = (_constant_padding(padded, axis, width, value) for width in pair)
            padded = concat([*leading, padded, *trailing], axis=axis)
        elif any(pair):
            padded = _pad_with_copies(padded, axis, *pair, _SOURCES[mode])
    return padded


def _resolve_widths(widths: Any, rank: int) -> list[tuple[int, int]]:
    """The widths before and after each axis, by NumPy's rule: those of one pair, or of one number, are for all axes."""
    is_list = isinstance(widths, tuple | list) and any(isinstance(width, tuple | list) for width in widths)
    rows = [static_integers(row, "a width") for row in (widths if is_list else [widths])]
    lengths = {len(row) for row in rows}
    if len(rows) not in (1, rank) or len(lengths) != 1 or not lengths <= {1, 2} or min(map(min, rows)) < 0:
        raise Usage(
            "the widths do not fit the axes",
            where=user_location(),
            required=f"a number from 0 up, a pair (before, after), or {rank} pairs, one for each axis",
            got=repr(widths),
        )
    return [(row[0], row[-1]) for row in (rows * rank if len(rows) == 1 else rows)]


def _constant_padding(x: Any, axis: int, width: int, value: Any) -> list[Any]:
    """A list of the array that pads x on one side of an axis; empty for width 0."""
    if not width:
        return []
    # the sum has size 1 along the axis, even where the size of x is open
    reduced = apply("sum", zeros_like(x, dtype=dtypes.int64), axis=axis, keepdims=True)
    shape = tuple(width if position == axis else 1 for position in range(rank_of(x)))
    fill = apply("broadcast_to", convert_fill_value(value, type_of(x).dtype), shape=shape)
    return [apply("broadcast_like", fill, reduced)]


def _pad_with_copies(x: Any, axis: int, before: int, after: int, source: Source) -> Any:
    """x with elements added on both sides of an axis: at position k, counted from the first of x, the one at
    `source(k)`."""
    size = element_count(x, axis)
    if type(size) is int and size == 0:
        message, required = "an axis without elements has nothing to copy", "an element, or mode='constant'"
        raise Invalid(message, rule="V4", where=user_location(), required=required, got=type_of(x))
    numbers = iota(size + (before + after))
    compute = compute_eagerly if isinstance(numbers, np.ndarray) else apply
    return apply("take", x, source(compute, compute("subtract", numbers, before), size), axis=axis)


def _edge_source(compute: Compute, position: Any, size: Any) -> Any:
    return compute("maximum", compute("minimum", position, size - 1), 0)


def _reflect_source(compute: Compute, position: Any, size: Any) -> Any:
    """The positions run to the last element and back, with a period of twice the size less the two that are not
    repeated."""
    last = size - 1
    period = max(2 * last, 1) if type(last) is int else compute("maximum", 2 * last, 1)
    offset = compute("remainder", position, period)
    return compute("minimum", offset, compute("subtract", period, offset))


def _symmetric_source(compute: Compute, position: Any, size: Any) -> Any:
    """The positions run to the last element and back, with a period of twice the size."""
    offset = compute("remainder", position, 2 * size)
    return compute("minimum", offset, compute("subtract", 2 * size - 1, offset))


def _wrap_source(compute: Compute, position: Any, size: Any) -> Any:
    return compute("remainder", position, size)


_SOURCES: dict[str, Source] = {
    "edge": _edge_source,
    "reflect": _reflect_source,
    "symmetric": _symmetric_source,
    "wrap": _wrap_source,
}
