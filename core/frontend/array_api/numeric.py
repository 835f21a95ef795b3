"""Functions on numbers: elementwise functions composed of several ops, reductions and cumulative sums, sorting,
searching and sets."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid, Usage
from ...ops.indexing import format_key
from ..eager.apply import apply
from ..eager.op_functions import cache_single_op
from ..sizes import static_integer
from ..trace.program_builder import unwrap_weak
from ..trace.source_location import user_location
from .common import (
    astype,
    check_dtype,
    check_floating,
    check_numeric,
    element_count,
    numpy_scalar,
    rank_of,
    resolve_axis,
    resolve_optional_axis,
    shape_of,
    static_axis,
    static_number,
    static_sizes,
    type_of,
    widen,
)
from .manipulation import concat, expand_dims


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Limit each element to the range from `min` to `max`, numbers or arrays that broadcast; None is not a bound.

    The result has the dtype of x. It is NaN where x or a bound is NaN. Raises Invalid (V4) where x is not of numbers.

    >>> clip([-2.0, 0.5, 3.0], 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    check_numeric(x)
    dtype = type_of(x).dtype
    limited = x if min is None else apply("maximum", x, convert_bound(min, dtype))
    return astype(limited if max is None else apply("minimum", limited, convert_bound(max, dtype)), dtype)


def convert_bound(bound: Any, dtype: DType) -> Any:
    """A bound of another integer dtype, converted to the nearest number of this one."""
    if type(unwrap_weak(bound)) in (int, float) or not (dtype.is_integer and type_of(bound).dtype.is_integer):
        return bound
    (low, high), (lowest, highest) = dtype.range, type_of(bound).dtype.range
    limited = bound if low <= lowest else apply("maximum", bound, low)
    return astype(limited if high >= highest else apply("minimum", limited, high), dtype)


def positive(x: Any, /) -> Any:
    """x unchanged: the unary operator `+`. Raises Invalid (V4) where x is not of numbers.

    >>> positive(-2.5)
    -2.5
    """
    check_numeric(x)
    return apply("identity", x)


def reciprocal(x: Any, /) -> Any:
    """The elementwise reciprocal 1 / x of floats. Raises Invalid (V4) where x is not of floats.

    >>> reciprocal(4.0)
    0.25
    """
    check_floating(x, "reciprocal")
    return apply("divide", 1.0, x)


def square(x: Any, /) -> Any:
    """The elementwise square x * x.

    >>> square(-3)
    9
    """
    return apply("multiply", x, x)


def _reduce(op: str, x: Any, axis: Any, keepdims: bool) -> Any:
    return apply(op, x, axis=static_axis(axis), keepdims=keepdims)


@cache_single_op
def sum(x: Any, /, *, axis: Any = None, dtype: DType | None = None, keepdims: bool = False) -> Any:
    return astype(_reduce("sum", _convert_operand(x, dtype), axis, keepdims), dtype)


@cache_single_op
def prod(x: Any, /, *, axis: Any = None, dtype: DType | None = None, keepdims: bool = False) -> Any:
    return astype(_reduce("prod", _convert_operand(x, dtype), axis, keepdims), dtype)


def _convert_operand(x: Any, dtype: DType | None) -> Any:
    """The operand of a sum or product with result dtype `dtype`: converted first, except for integers, which are
    accumulated in 64 bits."""
    check_dtype(dtype)
    check_numeric(x)
    return x if dtype is None or (dtype.is_integer and type_of(x).dtype.is_integer) else astype(x, dtype)


@cache_single_op
def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce("max", x, axis, keepdims)


@cache_single_op
def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce("min", x, axis, keepdims)


@cache_single_op
def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce("all", x, axis, keepdims)


@cache_single_op
def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _reduce("any", x, axis, keepdims)


@cache_single_op
def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return _reduce("argmax", x, axis, keepdims)


@cache_single_op
def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return _reduce("argmin", x, axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The number of elements that are true, or not zero, int64: along an axis, or several, or by default of all.

    >>> count_nonzero([[1, 0], [2, 3]], axis=0).tolist()
    [2, 1]
    """
    return sum(astype(astype(x, dtypes.bool), dtypes.int64), axis=axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of floats along an axis, or several, or by default of all elements. The mean of no elements is NaN.

    Raises Invalid (V4) for other dtypes.

    >>> mean([1.0, 2.0, 6.0])
    3.0
    """
    check_floating(x, "mean")
    total = sum(widen(x), axis=axis, keepdims=keepdims)
    return astype(apply("divide", total, _count_as_float(element_count(x, axis), total)), type_of(x).dtype)


def _count_as_float(count: Any, reference: Any) -> Any:
    return float(count) if type(count) is int else astype(count, type_of(reference).dtype)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance of floats along an axis, or several, or by default of all elements: the sum of the squared distances
    to the mean, divided by the number of elements minus `correction`.

    Raises Invalid (V4) for other dtypes, Usage for a `correction` that is not a Python number.

    >>> float(var([1.0, 3.0])), float(var([1.0, 3.0], correction=1))
    (1.0, 2.0)
    """
    return astype(_variance("var", x, axis, correction, keepdims), type_of(x).dtype)


def _variance(name: str, x: Any, axis: Any, correction: Any, keepdims: bool) -> Any:
    """The variance, in the name of a function; float32 for floats of 16 bits."""
    check_floating(x, name)
    correction, wide = static_number(correction, "correction"), widen(x)
    distances = apply("subtract", wide, mean(wide, axis=axis, keepdims=True))
    total = sum(apply("multiply", distances, distances), axis=axis, keepdims=keepdims)
    count = element_count(x, axis)
    if type(count) is int:
        return apply("divide", total, builtins.max(count - correction, 0.0))
    return apply("divide", total, apply("maximum", apply("subtract", _count_as_float(count, total), correction), 0.0))


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation of floats: the square root of the variance, with the parameters of `var`.

    >>> float(std([1.0, 5.0]))
    2.0
    """
    return astype(apply("sqrt", _variance("std", x, axis, correction, keepdims)), type_of(x).dtype)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Any:
    return _cumulative("cumulative_sum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Any:
    return _cumulative("cumulative_prod", x, axis, dtype, 1 if include_initial else None)


def _cumulative(op: str, x: Any, axis: int | None, dtype: DType | None, first: int | None) -> Any:
    """A cumulative sum or product, preceded by `first` along the axis unless that is None."""
    position = resolve_axis(resolve_optional_axis(axis, x), x)
    results = astype(apply(op, _convert_operand(x, dtype), axis=position), dtype)
    if first is None:
        return results
    sizes = tuple(1 if index == position else size for index, size in enumerate(shape_of(results)))
    initial = numpy_scalar(first, type_of(results).dtype)
    if None in sizes:  # a sum has size 1 along its axis, even where sizes are open
        initial_part = apply("broadcast_like", initial, apply("sum", results, axis=position, keepdims=True))
    else:
        initial_part = apply("broadcast_to", initial, shape=sizes)
    return concat([initial_part, results], axis=position)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbouring elements along an axis, taken n times.

    `prepend` and `append` are arrays that are joined to x along the axis first. Raises Usage for a negative n, Invalid
    (V4) where x is not of numbers.

    >>> diff([1, 4, 9]).tolist()
    [3, 5]
    """
    position = resolve_axis(axis, x)
    if static_integer(n, "n") < 0:
        raise Usage("n is negative", where=user_location(), required="n from 0 up", got=n)
    check_numeric(x)
    parts = [part for part in (prepend, x, append) if part is not None]
    result = concat(parts, axis=position) if len(parts) > 1 else x
    leading_key = [slice(None)] * position
    for _ in range(n):
        later_elements = apply("index", result, key=format_key((*leading_key, slice(1, None))))
        result = apply(
            "subtract", later_elements, apply("index", result, key=format_key((*leading_key, slice(None, -1))))
        )
    return result


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


def nonzero(x: Any, /) -> tuple[Any, ...]:
    if rank_of(x) == 0:
        raise Invalid(
            "nonzero needs an array with axes",
            rule="V4",
            where=user_location(),
            required="an array with axes",
            got=type_of(x),
        )
    return tuple(apply("nonzero", x, axis=axis) for axis in range(rank_of(x)))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    return apply("searchsorted", x1 if sorter is None else apply("take", x1, sorter, axis=0), x2, side=side)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return apply("sort", x, axis=static_integer(axis, "an axis"), descending=descending)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return apply("argsort", x, axis=static_integer(axis, "an axis"), descending=descending)


def _apply_unique(op: str, x: Any, axis: int | None) -> Any:
    options = {} if axis is None else {"axis": static_integer(axis, "an axis")}
    return apply(op, x, **options)


def unique_values(x: Any, /, *, axis: int | None = None) -> Any:
    return _apply_unique("unique_values", x, axis)


def unique_indices(x: Any, /, *, axis: int | None = None) -> Any:
    return _apply_unique("unique_indices", x, axis)


def inverse_indices(x: Any, /, *, axis: int | None = None) -> Any:
    return _apply_unique("inverse_indices", x, axis)


def value_counts(x: Any, /, *, axis: int | None = None) -> Any:
    return _apply_unique("value_counts", x, axis)


def unique_all(x: Any, /, *, axis: int | None = None) -> UniqueAll:
    """The distinct elements in ascending order; the index of the first occurrence of each; for each element of x, the
    position of its value among them; and the number of occurrences of each.

    Indices and counts are int64. The number of distinct elements is known only at run time. With an `axis` the elements
    are the parts of x along it, in lexicographic order.

    >>> [x.tolist() for x in unique_all([3, 1, 3])]
    [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """
    parts = unique_values(x, axis=axis), unique_indices(x, axis=axis), inverse_indices(x, axis=axis)
    return UniqueAll(*parts, value_counts(x, axis=axis))


def unique_counts(x: Any, /, *, axis: int | None = None) -> UniqueCounts:
    """The distinct elements in ascending order, and the number of occurrences of each, int64; with an `axis`, the
    parts of x along it.

    >>> [x.tolist() for x in unique_counts([3, 1, 3])]
    [[1, 3], [1, 2]]
    """
    return UniqueCounts(unique_values(x, axis=axis), value_counts(x, axis=axis))


def unique_inverse(x: Any, /, *, axis: int | None = None) -> UniqueInverse:
    """The distinct elements in ascending order; and for each element of x, the position of its value among them,
    int64; with an `axis`, the parts of x along it.

    >>> [x.tolist() for x in unique_inverse([3, 1, 3])]
    [[1, 3], [1, 0, 1]]
    """
    return UniqueInverse(unique_values(x, axis=axis), inverse_indices(x, axis=axis))


def logsumexp(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The logarithm of the sum of the exponentials of floats along axes, without overflow; -inf without elements.

    >>> float(logsumexp([1000.0, 1000.0]))
    1000.6931471805599
    """
    check_floating(x, "logsumexp")
    count = element_count(x, axis)
    if type(count) is int and count == 0:
        return apply("log", sum(x, axis=axis, keepdims=keepdims))
    wide = widen(x)
    largest = apply("stop_gradient", max(wide, axis=axis, keepdims=True))
    shift = apply("where", apply("isfinite", largest), largest, 0.0)
    powers = apply("exp", apply("subtract", wide, shift))
    logarithm = apply("add", apply("log", sum(powers, axis=axis, keepdims=True)), shift)
    return astype(logarithm if keepdims else sum(logarithm, axis=axis), type_of(x).dtype)


def cummax(x: Any, /, *, axis: int | None = None) -> Any:
    """The running maximum along an axis, which may be omitted if there is only one. From the first NaN on the result is
    NaN. The size of the axis must be static.

    >>> cummax([1, 3, 2]).tolist()
    [1, 3, 3]
    """
    return _scan_by_doubling("cummax", "maximum", x, axis)


def cummin(x: Any, /, *, axis: int | None = None) -> Any:
    """The running minimum along an axis; otherwise as `cummax`.

    >>> cummin([3, 1, 2]).tolist()
    [3, 1, 1]
    """
    return _scan_by_doubling("cummin", "minimum", x, axis)


def cumlogsumexp(x: Any, /, *, axis: int | None = None) -> Any:
    """The running `logsumexp` along an axis; otherwise as `cummax`.

    >>> cumlogsumexp([0.0, 0.0]).tolist()
    [0.0, 0.6931471805599453]
    """
    check_floating(x, "cumlogsumexp")
    return _scan_by_doubling("cumlogsumexp", "logaddexp", x, axis)


def _scan_by_doubling(function: str, op: str, x: Any, axis: int | None) -> Any:
    """The scan of an associative op, in the name of a function: step k combines each element with the one 2^k positions
    before it."""
    check_numeric(x)
    position = resolve_axis(resolve_optional_axis(axis, x), x)
    (size,), shift = static_sizes(x, function, [position]), 1
    leading_key = [slice(None)] * position
    while shift < size:
        first = apply("index", x, key=format_key((*leading_key, slice(None, shift))))
        later_elements = apply("index", x, key=format_key((*leading_key, slice(shift, None))))
        earlier = apply("index", x, key=format_key((*leading_key, slice(None, -shift))))
        x, shift = concat([first, apply(op, earlier, later_elements)], axis=position), 2 * shift
    return x


class TopK(NamedTuple):
    """The result of `topk`."""

    values: Any
    indices: Any


def topk(x: Any, k: int, /, *, axis: int = -1) -> TopK:
    """The k largest elements along an axis, the largest first, and their indices, int64. Of equal elements the first
    come first. k is static.

    >>> [part.tolist() for part in topk([3, 5, 1, 5], 2)]
    [[5, 5], [1, 3]]
    """
    position = resolve_axis(axis, x)
    count, size = static_integer(k, "k"), shape_of(x)[position]
    if count < 0 or (size is not None and count > size):
        required = "from 0 up" if size is None else f"from 0 to {size}, the size of the axis"
        raise Usage("k is out of range", where=user_location(), required=required, got=count)
    key = format_key((*[slice(None)] * position, slice(None, count)))
    indices = apply("index", argsort(x, axis=position, descending=True), key=key)
    return TopK(apply("take_along_axis", x, indices, axis=position), indices)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Whether each element of x1 equals an element of x2; with `invert` whether it equals none. bool, of x1's shape.
    NaN equals nothing.

    >>> isin([1, 2, 3], [3, 1]).tolist()
    [True, False, True]
    """
    if type(x2) in (list, tuple) and not x2:  # it has no dtype
        x2 = np.zeros(0, type_of(x1).dtype.numpy)
    equal = apply("equal", expand_dims(x1, axis=-1), apply("reshape", x2, shape=(-1,)))
    is_member = any(equal, axis=-1)
    return apply("logical_not", is_member) if invert else is_member
