"""Arrays whose elements change in place, as NumPy's do.

A value of a program never changes. A `MutableArray` stands for the value that an array of NumPy has at this point of
the trace; an assignment to its elements gives it another value. All names of the array are this one object, so each of
them sees the change.

Other arrays share its elements. An `ArrayView` is its part at a basic index: it takes its value from the array where it
is used. A `PossibleView` is a part or a copy, which NumPy decides by the layout in memory: it must not be used after a
change.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from ...errors import Invalid
from ...types import Type
from .program_builder import TracedValue, current_aliases, current_region, enter_region
from .source_location import user_location
from .symbol import Symbol, array_namespace


class SharedArray(Symbol):
    """An array whose elements are, or may be, those of an array that changes in place."""

    __slots__ = ()

    @property
    def T(self) -> Any:  # noqa: N802 - the standard's name
        """The transpose of a matrix, as a possible view."""
        return note_possible_view(super().T, self)

    @property
    def mT(self) -> Any:  # noqa: N802 - the standard's name
        """The array with its last two axes swapped, as a possible view."""
        return note_possible_view(super().mT, self)

    def __copy__(self) -> MutableArray:
        """A new array with the same elements."""
        return MutableArray(self._tagloom_value)

    def __deepcopy__(self, memo: object) -> MutableArray:
        """A new array with the same elements."""
        return MutableArray(self._tagloom_value)

    def __iadd__(self, operand: Any) -> NoReturn:  # type: ignore[misc]
        """Refuse a change by code that is not converted, such as `operator.iadd(x, 1)`."""
        raise Invalid(
            "an array is changed by a function that is not converted",
            rule="F4",
            where=user_location(),
            got=repr(self),
            hint="write an augmented assignment, such as x += 1",
        )

    __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = __imatmul__ = __iadd__
    __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = __iadd__


class MutableArray(SharedArray):
    """An array that code under trace has created, and may change."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return take_part(self, key)


class RenamedArray(MutableArray):
    """An array that a loop changes, and whose name it has given to another array: its elements are symbolic."""

    __slots__ = ()

    @property
    def _tagloom_value(self) -> TracedValue:  # type: ignore[override]
        raise Invalid(
            "an array is used by a name from before a loop that swaps arrays, as in a, b = b, a",
            rule="F4",
            where=user_location(),
            got="an array from before the loop",
            hint="make a copy before the loop: y = x.copy()",
        )

    def __repr__(self) -> str:
        return "<renamed array>"


class ArrayView(MutableArray):
    """The part of an array at a basic index: what is assigned to its elements is assigned to those of the array."""

    __slots__ = ("_parts", "base", "key")

    def __init__(self, base: MutableArray, key: Any, part: TracedValue) -> None:
        self.base, self.key = base, key
        self._parts = [(base._tagloom_value, part)]
        """The values of the array so far, each with that of the part."""

    @property
    def _tagloom_value(self) -> TracedValue:  # type: ignore[override]
        region, base_value = current_region(), self.base._tagloom_value
        if region is None:
            return self._parts[-1][1]
        own = base_value.region  # after a branch or body has ended, its region is not around the present one
        if own.specialization is region.specialization and own not in (region, *region.enclosing_regions()):
            region = own
        reachable = [region, *region.enclosing_regions()]
        for source, part in self._parts:
            is_there = any(part.region is scope and scope.values.get(part.name) is part for scope in reachable)
            if source is base_value and is_there:
                return part
        with enter_region(region):
            self._parts.append((base_value, array_namespace().index(Symbol(base_value), self.key)._tagloom_value))
        return self._parts[-1][1]

    @property
    def _type(self) -> Type:
        return self._parts[0][1].type


class PossibleView(SharedArray):
    """An array that may share the elements of others: the reshaped form of one, or one of several. It cannot change. If
    it may be a part of an array, it must not be used after that array has changed."""

    __slots__ = ("_base_value", "_value", "base", "source")

    def __init__(self, value: TracedValue, base: MutableArray | None = None, source: Any = None) -> None:
        self._value, self.base = value, base
        self.source = source
        """The array from which this one was taken, if it is one."""
        self._base_value = None if base is None else base._tagloom_value

    @property
    def _tagloom_value(self) -> TracedValue:  # type: ignore[override]
        if current_region() is not None and self.base is not None and self.base._tagloom_value is not self._base_value:
            raise Invalid(
                "this array may share its elements with another array, which has changed since",
                rule="F4",
                where=user_location(),
                got=self._value.type,
                hint="make a copy before the change: y = y.copy()",
            )
        return self._value

    @property
    def _type(self) -> Type:
        return self._value.type

    def __getitem__(self, key: Any) -> Any:
        result = Symbol.__getitem__(self, key)
        return note_possible_view(result, self) if is_basic_key(key) else result


def take_part(array: MutableArray, key: Any) -> Any:
    """`array[key]`: a view for a basic index, an element, or a new array."""
    result = Symbol.__getitem__(array, key)
    if result._type.is_scalar or not is_basic_key(key):
        return result
    return ArrayView(array, key, result._tagloom_value)


def is_basic_key(key: Any) -> bool:
    """Whether the part of an array at this index is a view, or an element: no entry is a list, an array or a bool."""
    return all(map(_is_basic, key if type(key) is tuple else (key,)))


def _is_basic(entry: Any) -> bool:
    is_integer = isinstance(entry, int | np.integer) and not isinstance(entry, bool)
    return entry is None or entry is ... or is_integer or type(entry) is slice or _is_symbolic_integer(entry)


def _is_symbolic_integer(entry: Any) -> bool:
    return isinstance(entry, Symbol) and entry._type.is_scalar and entry._type.dtype.kind in "iu"


def note_possible_view(result: Any, array: Any) -> Any:
    """The result of an operation that NumPy may perform without copying the elements of an array."""
    if not has_other_names(array) or type(result) is not Symbol or result._type.is_scalar:
        return result
    return PossibleView(result._tagloom_value, shared_base(array), array)


def has_other_names(array: Any) -> bool:
    """Whether the elements of an array are those of an array that changes in place, as far as the trace knows."""
    return isinstance(array, SharedArray)


def shared_base(array: Any) -> MutableArray | None:
    """The array whose elements this one has or may have; None if it has its own, which never change, or may be one of
    several."""
    while isinstance(array, ArrayView | PossibleView):
        array = array.base
    return array if isinstance(array, MutableArray) else None


class CopiedArrayChange(BaseException):
    """Raised where code changes an array that is a copy, since a loop carries it. The loop may be traced again such
    that it is an array of its own."""

    def __init__(self, copy: LoopCopy, refusal: Invalid) -> None:
        super().__init__()
        self.copy, self.refusal = copy, refusal


class LoopCopy(NamedTuple):
    """An array that a loop carries, as a part of a place that the loop changes."""

    array: Any
    loop: Any
    key: tuple[Any, ...]
    """The key of the place."""
    position: int
    """The position among the leaves of the place."""


def loop_copy(array: Any) -> LoopCopy | None:
    """The array carried by a loop that is this array, or that it may be a part of."""
    copies, part = current_aliases().loop_copies, array
    while part is not None:
        if id(part) in copies and copies[id(part)].loop.is_traced:
            return copies[id(part)]  # type: ignore[no-any-return]
        part = getattr(part, "source", None)
    return None


def copied_arrays(owner: Any) -> dict[int, Any]:
    """The notes on copies of arrays, by identity, among which those of this array are: copies of an array of NumPy
    count in all functions under trace."""
    region = current_region()
    if region is None:
        return {}
    specialization = region.specialization
    is_known = isinstance(owner, np.ndarray)
    return specialization.program_builder.copied_arrays if is_known else specialization.aliases.copied_arrays


def has_copied_arrays() -> bool:
    """Whether the trace has copies of arrays that may change."""
    region = current_region()
    if region is None:
        return False
    return bool(region.specialization.aliases.copied_arrays or region.specialization.program_builder.copied_arrays)


def owner_of(array: Any) -> Any:
    """The array that has the elements of this one, also of a concrete array of NumPy; None if they never change."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array if isinstance(array, np.ndarray) else shared_base(array)
