"""Functions for neural networks, beyond the standard: softmax, segment sums, convolution, pooling, clipping of
gradients.

They are composed of functions of the standard, except for `windows`, which is an op.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...autodiff.rows import Rows
from ...dtypes import DType
from ...errors import Invalid, Usage
from ..api import apply
from ..trace.pytree import flatten, unflatten
from ..trace.source_location import user_location
from ..trace.symbol import ArrayOperators
from .common import (
    astype,
    check_indices,
    check_numeric,
    element_count,
    numpy_scalar,
    rank_of,
    shape_of,
    static_integers,
    static_shape,
    static_size,
    type_of,
)
from .creation import convert_fill_value, iota, zeros_like
from .manipulation import concat, expand_dims, permute_dims, reshape
from .numeric import max as largest
from .numeric import mean
from .numeric import sum as total


def one_hot(indices: Any, count: int, /, *, dtype: DType | None = None) -> Any:
    """For each index a row of `count` numbers: 1 at its place, and 0 elsewhere; all 0 where it is outside.

    >>> one_hot([1, 0], 3, dtype=dtypes.int64).tolist()
    [[0, 1, 0], [1, 0, 0]]
    """
    check_indices(indices)
    wide = dtypes.uint64 if type_of(indices).dtype is dtypes.uint64 else dtypes.int64
    places = astype(iota(static_size(count, "the count")), wide)
    return astype(apply("equal", expand_dims(astype(indices, wide), -1), places), dtype or dtypes.float64)


def softmax(x: Any, /, *, axis: int = -1) -> Any:
    """Exponentials of floats, divided by their sum along an axis: positive numbers of which the sum is 1.

    >>> softmax([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    powers = apply("exp", apply("subtract", x, largest(x, axis=axis, keepdims=True)))
    return apply("divide", powers, total(powers, axis=axis, keepdims=True))


def log_softmax(x: Any, /, *, axis: int = -1) -> Any:
    """The logarithm of `softmax`, exact where that is near 0.

    >>> log_softmax([0.0, 0.0]).tolist()
    [-0.6931471805599453, -0.6931471805599453]
    """
    less = apply("subtract", x, largest(x, axis=axis, keepdims=True))
    return apply("subtract", less, apply("log", total(apply("exp", less), axis=axis, keepdims=True)))


def segment_sum(values: Any, segments: Any, count: int, /) -> Any:
    """Sums of the values, along their first axis, that are in each of `count` segments; `segments`, which has one axis,
    as long as that, says which is in which. Negative numbers count from the last segment; those outside trap.

    >>> segment_sum([1, 2, 4], [0, 1, 0], 2).tolist()
    [5, 2]
    """
    check_numeric(values)
    check_indices(segments)
    if rank_of(segments) != 1 or rank_of(values) == 0:
        required = "values with axes, and segments of one"
        raise Invalid(
            "which is in which?",
            rule="V4",
            where=user_location(),
            required=required,
            got=_describe_types(values, segments),
        )
    first, *rest = shape_of(values)
    if None in rest:
        raise Invalid("sizes of segments must be known", rule="V4", where=user_location(), got=type_of(values))
    nothing = apply(
        "broadcast_to", numpy_scalar(0, type_of(values).dtype), shape=(static_size(count, "the count"), *rest)
    )
    return apply("scatter_add", nothing, values, _check_segment_count(segments, first, values))


def _check_segment_count(segments: Any, first: int | None, values: Any) -> Any:
    """Segments, if they are as many as the values: a mask of these, which all hold, fits no others."""
    size = shape_of(segments)[0]
    if None not in (first, size):
        if first != size:
            what = "not a segment for each value"
            raise Invalid(what, rule="V4", where=user_location(), required=first, got=_describe_types(values, segments))
        return segments
    return apply("boolean_mask", segments, apply("greater_equal", iota(element_count(values, 0)), 0))


def pad(x: Any, widths: Any, /, *, value: Any = 0) -> Any:
    """With so many elements more before and behind each of the last axes: `widths` has a number, or a pair, for each.

    >>> pad([1, 2], (1,)).tolist()
    [0, 1, 2, 0]
    """
    pairs = [static_integers(each, "a width") for each in (widths if isinstance(widths, tuple | list) else (widths,))]
    if len(pairs) > rank_of(x) or any(len(pair) not in (1, 2) or min(pair) < 0 for pair in pairs):
        raise Usage("widths from 0 up, one or two for each axis", where=user_location(), got=repr(widths))
    made = x
    for back, pair in enumerate(reversed(pairs), 1):
        axis = rank_of(x) - back
        before, behind = pair[0], pair[-1]
        made = concat([*_padding(made, axis, before, value), made, *_padding(made, axis, behind, value)], axis=axis)
    return made


def _padding(x: Any, axis: int, width: int, value: Any) -> list[Any]:
    """So many elements of one value along an axis, as many as x has along the others."""
    if not width:
        return []
    rest = apply(
        "sum", zeros_like(x, dtype=dtypes.int64), axis=axis, keepdims=True
    )  # size 1 along it, whatever is there
    shape = tuple(width if at == axis else 1 for at in range(rank_of(x)))
    fill = apply("broadcast_to", convert_fill_value(value, type_of(x).dtype), shape=shape)
    return [apply("broadcast_like", fill, rest)]


def windows(x: Any, shape: Any, /, *, strides: Any = None) -> Any:
    wide = static_shape(shape)
    return apply(
        "windows", x, shape=wide, strides=(1,) * len(wide) if strides is None else static_integers(strides, "a stride")
    )


def conv(x: Any, weights: Any, /, *, strides: Any = None, padding: Any = 0) -> Any:
    """The convolution of a network: x has axes for samples, channels, and places; the weights for what comes out, the
    same channels, and places. Each place of the result is the sum of products with what lies around it; `padding` zeros
    are put around the places before, `strides` says how far apart they are: one number, or one for each axis of places.
    Channels that a type leaves open and that differ trap.

    >>> conv([[[1.0, 2.0, 3.0]]], [[[1.0, 1.0]]]).tolist()
    [[[3.0, 5.0]]]
    """
    check_numeric(x, weights)
    axes, sizes = rank_of(x) - 2, shape_of(weights)
    if axes < 1 or len(sizes) != rank_of(x) or None in sizes:
        required = "as many axes, three or more, and weights whose sizes are known"
        raise Invalid(
            "these do not convolve",
            rule="V4",
            where=user_location(),
            required=required,
            got=_describe_types(x, weights),
        )
    if shape_of(x)[1] not in (None, sizes[1]):
        raise Invalid("these have other channels", rule="V4", where=user_location(), required=sizes[1], got=type_of(x))
    around, steps = pad(x, _per_axis(padding, axes, "padding")), 1 if strides is None else strides
    parts = apply("windows", around, shape=sizes[2:], strides=_per_axis(steps, axes, "a stride"))
    made = _conv_by_matmul(parts, weights) if _has_matrix_shape(parts, axes) else _conv_by_position(parts, weights)
    return permute_dims(made, (0, axes + 1, *range(1, axes + 1)))


def _per_axis(given: Any, axes: int, what: str) -> tuple[int, ...]:
    """A number for each axis of places, where one may stand for all."""
    numbers = static_integers(given, what)
    if len(numbers) not in (1, axes):
        required = f"one number, or {axes}"
        raise Usage(f"{what} for each axis of places", where=user_location(), required=required, got=repr(given))
    return numbers * axes if len(numbers) == 1 else numbers


def _has_matrix_shape(parts: Any, axes: int) -> bool:
    """Whether the parts have a shape as rows of one matrix: the channels are known, and one more size is left open."""
    samples, channels, *rest = shape_of(parts)
    outer = [samples, *rest[:axes]]
    return bool(channels) and (None not in outer or (outer.count(None) == 1 and 0 not in outer))


def _conv_by_matmul(parts: Any, weights: Any) -> Any:
    """Each part as a row, and the weights as columns."""
    sizes = shape_of(weights)
    axes, inner = len(sizes) - 2, math.prod(size or 0 for size in sizes[1:])
    turned = permute_dims(parts, (0, *range(2, 2 + axes), 1, *range(2 + axes, 2 + 2 * axes)))
    kept = tuple(-1 if size is None else size for size in shape_of(turned)[: axes + 1])
    return apply("matmul", reshape(turned, (*kept, inner)), permute_dims(reshape(weights, (sizes[0], inner)), (1, 0)))


def _conv_by_position(parts: Any, weights: Any) -> Any:
    """A product for each place in a part, of rows of channels, which are as many as the weights have, or it traps."""
    axes = len(shape_of(weights)) - 2
    within = range(2 + axes, 2 + 2 * axes)
    rows = permute_dims(parts, (0, *range(2, 1 + axes), *within, 1 + axes, 1))
    columns = permute_dims(weights, (*range(2, 2 + axes), 1, 0))
    made = apply("matmul", rows, columns)
    return total(made, axis=tuple(range(axes, 2 * axes)), dtype=type_of(made).dtype)


def _describe_types(*arrays: Any) -> str:
    return " and ".join(str(type_of(each)) for each in arrays)


def max_pool(x: Any, shape: Any, /, *, strides: Any = None) -> Any:
    """The largest of each part of a shape, along the last axes; parts are `strides` apart, or one behind the other.

    >>> max_pool([1, 5, 2, 3], (2,)).tolist()
    [5, 3]
    """
    wide = static_shape(shape)
    return largest(windows(x, wide, strides=wide if strides is None else strides), axis=tuple(range(-len(wide), 0)))


def mean_pool(x: Any, shape: Any, /, *, strides: Any = None) -> Any:
    """The mean of each part of a shape, along the last axes; parts are `strides` apart, or one behind the other.

    >>> mean_pool([1.0, 5.0, 2.0, 4.0], (2,)).tolist()
    [3.0, 3.0]
    """
    wide = static_shape(shape)
    return mean(windows(x, wide, strides=wide if strides is None else strides), axis=tuple(range(-len(wide), 0)))


def clip_by_norm(x: Any, norm: Any, /) -> Any:
    """An array of floats, or `tl.Rows`, made as much shorter that its length, the root of the sum of its squares, is
    `norm` at most.

    >>> clip_by_norm([3.0, 4.0], 2.5).tolist()
    [1.5, 2.0]
    """
    length = apply("sqrt", _sum_of_squares(x))
    return _map_values(x, lambda each: apply("divide", apply("multiply", each, norm), apply("maximum", length, norm)))


def clip_by_global_norm(values: Any, norm: Any, /) -> tuple[Any, Any]:
    """Arrays of floats, and `tl.Rows`, nested at will, all made as much shorter that the length of all together is
    `norm` at most; and that length as it was. Where it is infinite they are NaN: nothing else would be a direction.

    >>> clipped, length = clip_by_global_norm({"w": 3.0, "b": 4.0}, 2.5)
    >>> clipped, length
    ({'w': 1.5, 'b': 2.0}, 5.0)
    """
    leaves, structure = flatten(values, leaf_class=Rows)
    if not leaves:
        raise Usage("there is nothing to clip", where=user_location(), required="arrays of floats", got=repr(values))
    length = apply("sqrt", functools.reduce(functools.partial(apply, "add"), map(_sum_of_squares, leaves)))
    share = apply("divide", norm, apply("maximum", length, norm))
    kept = apply("where", apply("isfinite", length), share, math.nan)
    clipped = [
        _map_values(leaf, lambda each: apply("multiply", each, astype(kept, type_of(each).dtype))) for leaf in leaves
    ]
    return unflatten(structure, clipped), length


def _sum_of_squares(x: Any) -> Any:
    """The sum of the squares of all elements: of rows, of those that they add up to."""
    one, other = (x.values, sum_duplicate_rows(x).values) if isinstance(x, Rows) else (x, x)
    return apply("sum", apply("multiply", one, other), axis=None, keepdims=False)


def _map_values(x: Any, change: Callable[[Any], Any]) -> Any:
    """An array, or the values of rows, changed."""
    return Rows(x.indices, change(x.values)) if isinstance(x, Rows) else change(x)


def sum_duplicate_rows(rows: Rows) -> Rows:
    """The same rows, where every duplicate has the sum over all duplicates of its index.

    >>> import tagloom as tl
    >>> sum_duplicate_rows(Rows(tl.asarray([5, 2, 5]), tl.asarray([[1.0], [2.0], [4.0]]))).values
    asarray([[5.],
             [2.],
             [5.]], dtype=float64)
    """
    numbers = ArrayOperators.apply("inverse_indices", rows.indices)
    zeros = ArrayOperators.apply("multiply_no_nan", rows.values, 0.0)
    totals = ArrayOperators.apply("scatter_add", zeros, rows.values, numbers)
    return Rows(rows.indices, ArrayOperators.apply("take", totals, numbers, axis=0))
