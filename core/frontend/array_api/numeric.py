"""Functions on numbers: elementwise functions composed of several ops, reductions and cumulative sums, sorting,
searching and sets."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

from ... import dtypes
from ...dtypes import DType
from ...errors import Invalid, Usage
from ...ops.indexing import format_key
from ..api import apply
from ..eager.dispatch import cache_single_op
from ..trace.source_location import user_location
from ..trace.trace import unwrap_weak
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
    static_integer,
    static_number,
    type_of,
)
from .manipulation import concat


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Each element, or the nearest number from `min` to `max`, of the dtype of x; None is no bound. NaN if one of the
    three is.

    >>> clip([-2.0, 0.5, 3.0], 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    check_numeric(x)
    dtype = type_of(x).dtype
    above = x if min is None else apply("maximum", x, _convert_bound(min, dtype))
    return astype(above if max is None else apply("minimum", above, _convert_bound(max, dtype)), dtype)


def _convert_bound(bound: Any, dtype: DType) -> Any:
    """A bound of another integer dtype as the nearest number of this one."""
    if type(unwrap_weak(bound)) in (int, float) or not (dtype.is_integer and type_of(bound).dtype.is_integer):
        return bound
    (low, high), (lowest, highest) = dtype.range, type_of(bound).dtype.range
    above = bound if low <= lowest else apply("maximum", bound, low)
    return astype(above if high >= highest else apply("minimum", above, high), dtype)


def positive(x: Any, /) -> Any:
    """The number itself.

    >>> positive(-2.5)
    -2.5
    """
    check_numeric(x)
    return apply("identity", x)


def reciprocal(x: Any, /) -> Any:
    """1 / x, of floats.

    >>> reciprocal(4.0)
    0.25
    """
    return apply("divide", 1.0, x)


def square(x: Any, /) -> Any:
    """x * x.

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
    """What is to be added as another dtype: converted first, but that integers are added in 64 bits all the same."""
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
    """How many elements are not zero, or true, along axes, int64.

    >>> count_nonzero([[1, 0], [2, 3]], axis=0).tolist()
    [2, 1]
    """
    return sum(astype(astype(x, dtypes.bool), dtypes.int64), axis=axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of floats along axes; of none it is NaN.

    >>> mean([1.0, 2.0, 6.0])
    3.0
    """
    check_floating(x, "mean")
    total = sum(x, axis=axis, keepdims=keepdims)
    return apply("divide", total, _count_as_float(element_count(x, axis), total))


def _count_as_float(count: Any, like: Any) -> Any:
    return float(count) if type(count) is int else astype(count, type_of(like).dtype)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance of floats along axes: the mean of the squares of what they differ from their mean by, where
    `correction` fewer are counted.

    >>> float(var([1.0, 3.0])), float(var([1.0, 3.0], correction=1))
    (1.0, 2.0)
    """
    return _variance("var", x, axis, correction, keepdims)


def _variance(name: str, x: Any, axis: Any, correction: Any, keepdims: bool) -> Any:
    check_floating(x, name)
    fewer = static_number(correction, "correction")
    apart = apply("subtract", x, mean(x, axis=axis, keepdims=True))
    total = sum(apply("multiply", apart, apart), axis=axis, keepdims=keepdims)
    count = element_count(x, axis)
    if type(count) is int:
        return apply("divide", total, builtins.max(count - fewer, 0.0))
    return apply("divide", total, apply("maximum", apply("subtract", _count_as_float(count, total), fewer), 0.0))


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The square root of the variance.

    >>> float(std([1.0, 5.0]))
    2.0
    """
    return apply("sqrt", _variance("std", x, axis, correction, keepdims))


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Any:
    return _cumulative("cumulative_sum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Any:
    return _cumulative("cumulative_prod", x, axis, dtype, 1 if include_initial else None)


def _cumulative(op: str, x: Any, axis: int | None, dtype: DType | None, first: int | None) -> Any:
    along = resolve_axis(resolve_optional_axis(axis, x), x)
    made = astype(apply(op, _convert_operand(x, dtype), axis=along), dtype)
    if first is None:
        return made
    sizes = tuple(1 if at == along else size for at, size in enumerate(shape_of(made)))
    dtype = type_of(made).dtype
    if None in sizes:  # a sum has size 1 along its axis, whatever is there
        before = apply("broadcast_like", numpy_scalar(first, dtype), apply("sum", made, axis=along, keepdims=True))
    else:
        before = apply("broadcast_to", numpy_scalar(first, dtype), shape=sizes)
    return concat([before, made], axis=along)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """What each element along an axis is more than the one before it, n times over.

    >>> diff([1, 4, 9]).tolist()
    [3, 5]
    """
    along = resolve_axis(axis, x)
    if static_integer(n, "n") < 0:
        raise Usage("fewer than no differences", where=user_location(), required="n from 0 up", got=n)
    check_numeric(x)
    parts = [each for each in (prepend, x, append) if each is not None]
    made = concat(parts, axis=along) if len(parts) > 1 else x
    before = [slice(None)] * along
    for _ in range(n):
        later = apply("index", made, key=format_key((*before, slice(1, None))))
        made = apply("subtract", later, apply("index", made, key=format_key((*before, slice(None, -1)))))
    return made


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def nonzero(x: Any, /) -> tuple[Any, ...]:
    if rank_of(x) == 0:
        raise Invalid(
            "nonzero of no axes", rule="V4", where=user_location(), required="an array with axes", got=type_of(x)
        )
    return tuple(apply("nonzero", x, axis=axis) for axis in range(rank_of(x)))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    return apply("searchsorted", x1 if sorter is None else apply("take", x1, sorter, axis=0), x2, side=side)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return apply("sort", x, axis=static_integer(axis, "an axis"), descending=descending)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return apply("argsort", x, axis=static_integer(axis, "an axis"), descending=descending)


def unique_values(x: Any, /) -> Any:
    return apply("unique_values", x)


def unique_indices(x: Any, /) -> Any:
    return apply("unique_indices", x)


def inverse_indices(x: Any, /) -> Any:
    return apply("inverse_indices", x)


def value_counts(x: Any, /) -> Any:
    return apply("value_counts", x)


def unique_all(x: Any, /) -> UniqueAll:
    """The different elements, where each comes first, which of them each element is, and how many of each there are.

    >>> [x.tolist() for x in unique_all([3, 1, 3])]
    [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """
    return UniqueAll(unique_values(x), unique_indices(x), inverse_indices(x), value_counts(x))


def unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements, and how many of each there are.

    >>> [x.tolist() for x in unique_counts([3, 1, 3])]
    [[1, 3], [1, 2]]
    """
    return UniqueCounts(unique_values(x), value_counts(x))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different elements, and which of them each element is.

    >>> [x.tolist() for x in unique_inverse([3, 1, 3])]
    [[1, 3], [1, 0, 1]]
    """
    return UniqueInverse(unique_values(x), inverse_indices(x))
