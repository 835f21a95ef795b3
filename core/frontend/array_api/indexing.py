"""Indexing: what stands in the brackets of `x[...]`, static or not, and the functions that take and put elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...errors import Invalid, Usage
from ...ops.indexing import IndexKey, format_key
from ..api import apply
from ..eager.array import ConcreteArray
from ..eager.dispatch import cache_single_op
from ..trace.source_location import user_location
from ..trace.symbol import ArrayOperators, Symbol
from .common import rank_of, resolve_optional_axis, static_integer, type_of

_TAKE_HINT = "tl.take(x, indices, axis=...) takes along one axis, tl.gather(x, i, j) along the first ones"


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    return apply("take", x, indices, axis=resolve_optional_axis(axis, x))


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    return apply("take_along_axis", x, indices, axis=static_integer(axis, "an axis"))


def gather(x: Any, /, *indices: Any) -> Any:
    return apply("gather", x, *indices)


def scatter(x: Any, values: Any, /, *indices: Any) -> Any:
    return apply("scatter", x, values, *indices)


def scatter_add(x: Any, values: Any, /, *indices: Any) -> Any:
    return apply("scatter_add", x, values, *indices)


def scatter_index(x: Any, values: Any, key: Any, /) -> Any:
    return apply("scatter_index", x, values, key=_key_text(key))


def boolean_mask(x: Any, mask: Any, /) -> Any:
    return apply("boolean_mask", x, mask)


@cache_single_op
def index(x: Any, key: Any, /) -> Any:
    """What a static key takes: `x[1:, None]`, or the same as text.

    >>> index([[1, 2], [3, 4]], (slice(None), 0)).tolist()
    [1, 3]
    """
    return apply("index", x, key=_key_text(key))


def _key_text(key: Any) -> str:
    return key if isinstance(key, str) else format_key(key if isinstance(key, tuple) else (key,))


def size(x: Any, /, *, axis: int | None = None) -> Any:
    return apply("size", x, axis=axis)


def broadcast_like(x: Any, y: Any, /) -> Any:
    return apply("broadcast_like", x, y)


def reshape_like(x: Any, y: Any, /) -> Any:
    return apply("reshape_like", x, y)


def sum_like(x: Any, y: Any, /) -> Any:
    return apply("sum_like", x, y)


@cache_single_op
def getitem(x: Any, key: Any) -> Any:
    """`x[key]`: what is static of a key in one node, and a node for each index that the run computes."""
    entries = list(key) if isinstance(key, tuple) else [key]
    if len(entries) == 1 and _is_mask(entries[0]):
        return apply("boolean_mask", x, entries[0])
    entries = [_normalize_entry(each) for each in _expand_ellipsis(x, entries)]
    late = [each for each in entries if isinstance(each, _DynamicIndex)]
    if all(_index_rank(each) == 0 for each in late):
        return _index_axis_by_axis(x, entries)
    if len(late) == 1 and not any(type(each) is int for each in entries):
        return _index_axis_by_axis(x, entries)
    return _index_by_gather(x, entries)


class _DynamicIndex:
    """An index that the run computes, or an array of them."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _index_rank(late: _DynamicIndex) -> int:
    return rank_of(late.value)


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, ArrayOperators | np.ndarray | np.bool_ | list) and type_of(entry).dtype is dtypes.bool


def _expand_ellipsis(x: Any, entries: list[Any]) -> list[Any]:
    """With a full slice for each axis that `...` stands for."""
    places = [at for at, each in enumerate(entries) if each is Ellipsis]
    taken = sum(each is not None and each is not Ellipsis for each in entries)
    if len(places) > 1:
        raise Usage("more than one ... in the brackets", where=user_location(), required="one")
    missing = rank_of(x) - taken
    if missing < 0:
        required = f"{rank_of(x)} at most"
        raise Invalid("more indices than axes", rule="V4", where=user_location(), required=required, got=taken)
    at = places[0] if places else len(entries)
    return [*entries[:at], *[slice(None)] * missing, *entries[at + 1 :]]


def _normalize_entry(entry: Any) -> Any:
    """An entry that is static as Python's own, and any other as one that is late."""
    if entry is None:
        return None
    if isinstance(entry, slice):
        return slice(*(None if part is None else _static_bound(part) for part in (entry.start, entry.stop, entry.step)))
    if isinstance(entry, Symbol) or (
        isinstance(entry, ConcreteArray | np.ndarray | list) and np.ndim(np.asarray(entry))
    ):
        if type_of(entry).dtype is dtypes.bool:
            raise Usage(
                "a mask stands alone in the brackets", where=user_location(), hint="tl.nonzero(mask) gives indices"
            )
        return _DynamicIndex(entry)
    if isinstance(entry, bool | np.bool_):
        raise Usage("a truth value is no index", where=user_location(), got=entry)
    return static_integer(entry, "an index")


def _static_bound(part: Any) -> int:
    if isinstance(part, Symbol):
        hint = "take a part of a size that is known: tl.take(x, start + tl.arange(3), axis=0)"
        raise Usage("the bounds of a slice are static", where=user_location(), got=part, hint=hint)
    return static_integer(part, "the bound of a slice")


def _index_axis_by_axis(x: Any, entries: list[Any]) -> Any:
    key: IndexKey = tuple(slice(None) if isinstance(each, _DynamicIndex) else each for each in entries)
    made = (
        x
        if all(each == slice(None) for each in key if each is not None) and None not in key
        else _index_statically(x, key)
    )
    axis = 0
    for each in entries:
        if isinstance(each, _DynamicIndex):
            made = apply("take", made, each.value, axis=axis)
            axis += _index_rank(each)
        elif type(each) is not int:
            axis += 1
    return made


def _index_statically(x: Any, key: IndexKey) -> Any:
    return apply("index", x, key=format_key(key))


def _index_by_gather(x: Any, entries: list[Any]) -> Any:
    """Arrays of indices, which broadcast, along the first axes; before them new axes, and behind any static key."""
    are_indices = [isinstance(each, _DynamicIndex) or type(each) is int for each in entries]
    begin = are_indices.index(True)
    end = begin + are_indices[begin:].count(True)
    before, chosen, behind = entries[:begin], entries[begin:end], entries[end:]
    if not all(are_indices[begin:end]) or any(each is not None for each in before):
        raise Usage("several arrays of indices, and slices", where=user_location(), hint=_TAKE_HINT)
    made = apply("gather", x, *(each.value if isinstance(each, _DynamicIndex) else each for each in chosen))
    if all(each == slice(None) for each in (*before, *behind)):
        return made
    rank = max(_index_rank(each) for each in chosen if isinstance(each, _DynamicIndex))
    return _index_statically(made, (*before, *[slice(None)] * rank, *behind))


ArrayOperators.getitem = staticmethod(getitem)
ConcreteArray.__getitem__ = getitem  # type: ignore[method-assign]  # without a call in between
