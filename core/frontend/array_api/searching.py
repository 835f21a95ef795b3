"""Searching, sorting, and what elements there are."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import Invalid
from ..api import apply
from ..trace.source_location import user_location
from .common import rank_of, static_integer, type_of


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
