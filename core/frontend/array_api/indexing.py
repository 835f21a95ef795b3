"""Indexing: `x[...]` with static and computed keys, and the functions that gather and scatter elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...errors import Invalid, Usage
from ...ops.indexing import OPEN_BOUND, IndexKey, format_key
from ...types import broadcast_shape
from ..eager.apply import apply
from ..eager.array import ConcreteArray
from ..eager.op_functions import cache_single_op
from ..sizes import static_integer
from ..trace.captures import VariableBase, read_variable
from ..trace.source_location import user_location
from ..trace.symbol import ArrayOperators, Symbol
from .common import rank_of, resolve_optional_axis, shape_of, type_of

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


def scatter_max(x: Any, values: Any, /, *indices: Any) -> Any:
    return apply("scatter_max", x, values, *indices)


def scatter_min(x: Any, values: Any, /, *indices: Any) -> Any:
    return apply("scatter_min", x, values, *indices)


def scatter_mul(x: Any, values: Any, /, *indices: Any) -> Any:
    return apply("scatter_mul", x, values, *indices)


def scatter_index(x: Any, values: Any, key: Any, /) -> Any:
    key, bounds = key_and_bounds(key)
    return apply("scatter_index", x, values, *bounds, key=key)


def boolean_mask(x: Any, mask: Any, /) -> Any:
    return apply("boolean_mask", x, mask)


@cache_single_op
def index(x: Any, key: Any, /) -> Any:
    """The part of an array that a key selects, as in `x[1:, None]`: integers, slices, None, `...`, and arrays of
    indices or bools.

    A static key may also be text, such as "1:, None". Bounds of slices may be symbolic. Raises Invalid (V4) for a key
    that does not fit the axes.

    >>> index([[1, 2], [3, 4]], (slice(None), 0)).tolist()
    [1, 3]
    """
    return apply("index", x, key=key) if isinstance(key, str) else getitem(x, key)


def key_and_bounds(key: Any) -> tuple[str, list[Any]]:
    """A key as text, the form in which it is an attribute, and the symbolic bounds of its slices."""
    if isinstance(key, str):
        return key, []
    bounds: list[Any] = []
    entries = key if isinstance(key, tuple) else (key,)
    parts = tuple(normalize_slice(entry, bounds) if isinstance(entry, slice) else entry for entry in entries)
    return format_key(parts), bounds


def size(x: Any, /, *, axis: int | None = None) -> Any:
    return apply("size", x, axis=axis)


def shape(x: Any, /) -> tuple[Any, ...]:
    """The sizes of an array: ints, and in a trace a symbolic int64 for a size that is known only at run time. Functions
    that create and reshape arrays take them. Raises Invalid (V4) where the rank is unknown.

    >>> shape([[1, 2, 3]])
    (1, 3)
    """
    sizes = shape_of(x)
    return sizes if None not in sizes else tuple(x.shape)


def broadcast_like(x: Any, y: Any, /) -> Any:
    return apply("broadcast_like", x, y)


def reshape_like(x: Any, y: Any, /) -> Any:
    return apply("reshape_like", x, y)


def sum_like(x: Any, y: Any, /) -> Any:
    return apply("sum_like", x, y)


def getitem(x: Any, key: Any) -> Any:
    """`x[key]`: one node for the static part of the key, and a node for each index that is computed at run time."""
    entries = list(map(stack_indices, key if isinstance(key, tuple) else [key]))
    for entry in entries:
        if isinstance(entry, list):
            check_list(entry)
    is_array = len(entries) == 1 and isinstance(entries[0], ArrayOperators | np.ndarray | np.bool_ | list)
    if is_array and type_of(entries[0]).dtype is dtypes.bool:
        return apply("boolean_mask", x, entries[0])
    bounds: list[Any] = []
    entries = [normalize_entry(entry, bounds) for entry in expand_ellipsis(x, entries)]
    dynamic = [entry for entry in entries if isinstance(entry, DynamicIndex)]
    is_single = len(dynamic) == 1 and not any(type(entry) is int for entry in entries)
    if is_single or all(rank_of(entry.value) == 0 for entry in dynamic):
        return index_axis_by_axis(x, entries, bounds)
    return index_by_gather(x, entries, bounds)


def stack_indices(entry: Any) -> Any:
    """A list of indices, some of them symbolic, as an array; anything else unchanged."""
    if type(entry) is list and any(isinstance(part, Symbol) for part in entry):
        return apply("concat", *(apply("reshape", part, shape=(1,)) for part in entry), axis=0)
    return entry


class DynamicIndex:
    """An index that is computed at run time, or an array of indices."""

    def __init__(self, value: Any) -> None:
        self.value = value


def expand_ellipsis(x: Any, entries: list[Any]) -> list[Any]:
    """The entries with full slices for `...`, or at the end, so that there is one for each axis.

    Raises Usage for several `...`, Invalid (V4) for more indices than axes."""
    ellipses = [position for position, entry in enumerate(entries) if entry is Ellipsis]
    count = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if len(ellipses) > 1:
        raise Usage("more than one ... in the brackets", where=user_location(), required="one", python=IndexError)
    missing_count = rank_of(x) - count
    if missing_count < 0:
        required = f"{rank_of(x)} at most"
        raise Invalid(
            "more indices than axes", rule="V4", where=user_location(), required=required, got=count, python=IndexError
        )
    first = ellipses[0] if ellipses else len(entries)
    return [*entries[:first], *[slice(None)] * missing_count, *entries[first + 1 :]]


def normalize_entry(entry: Any, bounds: list[Any]) -> Any:
    """A static entry as Python's None, slice or int; an array of indices or a symbol as a DynamicIndex. Symbolic bounds
    of a slice are appended to `bounds`, and left open in the slice."""
    if entry is None:
        return None
    if isinstance(entry, slice):
        return normalize_slice(entry, bounds)
    if isinstance(entry, Symbol) or (
        isinstance(entry, ConcreteArray | np.ndarray | list) and np.ndim(np.asarray(entry))
    ):
        check_indices(entry)
        return DynamicIndex(entry)
    if isinstance(entry, bool | np.bool_):
        raise Usage("a bool is not an index", where=user_location(), got=entry, python=IndexError)
    if isinstance(entry, ConcreteArray):
        check_indices(entry)
    return static_integer(entry, "an index", IndexError)


def check_list(indices: list[Any]) -> None:
    """Raise Usage, which is an IndexError, for a list of something that is no number."""
    try:
        type_of(indices)
    except Usage as error:
        if not isinstance(error, TypeError):  # a ragged list
            raise
        message = "an index is not an integer"
        raise Usage(message, where=user_location(), got=repr(indices)[:80], python=IndexError) from None


def check_indices(indices: Any) -> None:
    """Raise Usage, which is an IndexError as in NumPy, unless these are integers."""
    type_ = type_of(indices)
    if type_.dtype is dtypes.bool:
        hint = "tl.nonzero(mask) gives indices"
        raise Usage("a mask is combined with other indices", where=user_location(), hint=hint, python=IndexError)
    if not type_.dtype.is_integer:
        raise Usage(
            "an index is not an integer",
            where=user_location(),
            required="an integer dtype",
            got=type_,
            hint="tl.astype(i, tl.int64) drops fractions",
            python=IndexError,
        )


def normalize_slice(entry: slice, bounds: list[Any]) -> slice:
    """A slice with integers as its bounds. Symbolic bounds are appended to `bounds`, and left open in the slice."""
    parts: list[Any] = []
    for bound in (entry.start, entry.stop, entry.step):
        bound = read_variable(bound) if isinstance(bound, VariableBase) else bound
        if isinstance(bound, Symbol):
            bounds.append(bound)
            parts.append(OPEN_BOUND)
        else:
            parts.append(None if bound is None else static_integer(bound, "the bound of a slice"))
    return slice(*parts)


def index_axis_by_axis(x: Any, entries: list[Any], bounds: list[Any]) -> Any:
    """Index by the static entries first, then by each computed index along its axis."""
    key: IndexKey = tuple(slice(None) if isinstance(entry, DynamicIndex) else entry for entry in entries)
    is_full = all(entry == slice(None) for entry in key)
    selected = x if is_full else apply("index", x, *bounds, key=format_key(key))
    axis = 0
    for entry in entries:
        if isinstance(entry, DynamicIndex):
            selected = apply("take", selected, entry.value, axis=axis)
            axis += rank_of(entry.value)
        elif type(entry) is not int:
            axis += 1
    return selected


def index_by_gather(x: Any, entries: list[Any], bounds: list[Any]) -> Any:
    """Index by several arrays of indices, which broadcast, along the first axes; new axes may precede them, and a
    static key may follow."""
    are_indices = [isinstance(entry, DynamicIndex) or type(entry) is int for entry in entries]
    start = are_indices.index(True)
    end = start + are_indices[start:].count(True)
    leading, indices, trailing = entries[:start], entries[start:end], entries[end:]
    if not all(are_indices[start:end]) or any(entry is not None for entry in leading):
        raise Usage(
            "arrays of indices cannot be combined with slices",
            where=user_location(),
            hint=_TAKE_HINT,
            python=IndexError,
        )
    check_broadcast([entry.value for entry in indices if isinstance(entry, DynamicIndex)])
    elements = apply("gather", x, *(entry.value if isinstance(entry, DynamicIndex) else entry for entry in indices))
    if all(entry == slice(None) for entry in (*leading, *trailing)):
        return elements
    rank = max(rank_of(entry.value) for entry in indices if isinstance(entry, DynamicIndex))
    return apply("index", elements, *bounds, key=format_key((*leading, *[slice(None)] * rank, *trailing)))


def check_broadcast(indices: list[Any]) -> None:
    """Raise Invalid (V4), which is an IndexError as in NumPy, if arrays of indices do not broadcast."""
    try:
        broadcast_shape([type_of(index).shape for index in indices])
    except Invalid as error:
        raise Invalid(
            error.message, rule="V4", where=user_location(), required=error.required, got=error.got, python=IndexError
        ) from None
