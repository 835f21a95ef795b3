"""Stacked items: they represent, in a list, dict or set, items whose number is known only at run time."""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CellType
from typing import Any, NoReturn

from ...errors import Invalid
from .choice import Choice
from .source_location import user_location
from .text import CodePoints, FormattedValue, Text
from .unusable_value import UnusableValue

_PACKAGE = __name__.partition(".")[0]
DICT_CLASSES = (dict, OrderedDict, defaultdict)
"""Python's classes of dicts that nest values; a Counter has numbers of its own."""


@dataclass(frozen=True, eq=False, repr=False)
class StackedItems(UnusableValue):
    """Items of a list, as many as the run says: a value that is nested as each of them, whose leaves are arrays with
    the items along the first axis.

    `[*stacked, x]`, as a Python list, is a list with these items and then x. So Python's own `append`, `extend`, `+`
    and `copy` of lists are right. All other code that reads items of a list must handle stacked ones, and Python's own
    use of them as an item raises Invalid (F4).

    Lists of different lengths that are items of one list are rows of one length, filled up with zeros; `lengths` says
    how many items each one has, and is None if all have as many. It is an array with an axis for each list around. So
    an item of any list is one row of each array, and a list that is no item of another one needs no lengths. Lists that
    have been empty so far have no columns, `()`, but lengths.
    """

    columns: Any
    lengths: Any = None

    def fail(self, *arguments: object, **options: object) -> NoReturn:
        """Raise the error of a use as an item."""
        hint = "loop over it, index it, or take its len(); tl.asarray(xs) makes an array of a list of numbers"
        message = "a list whose length is known only at run time is used where its length must be known"
        if type(item_length(self.columns)) is int:
            message = "code that is not converted uses a list whose items are known only at run time"
        raise Invalid(message, rule="F4", where=user_location(), hint=hint)

    __repr__ = __str__ = fail


def item_length(columns: Any) -> Any:
    """The length of the first axis of nested arrays; None if there is none."""
    while type(columns) in (list, tuple, *DICT_CLASSES, StackedItems) or isinstance(
        columns, Choice | Text | CodePoints
    ):
        if isinstance(columns, Choice | Text | CodePoints):
            columns = _first_column(columns)
            continue
        if type(columns) is StackedItems and columns.lengths is not None:
            columns = columns.lengths
            break
        parts = columns.columns if type(columns) is StackedItems else columns
        columns = (
            next(iter(parts.values() if type(parts) in DICT_CLASSES else parts), None)
            if type(parts) in (list, tuple, *DICT_CLASSES)
            else parts
        )
    shape = getattr(columns, "shape", None) or (None,)
    return shape[0]


def _first_column(columns: Choice | Text | CodePoints) -> Any:
    """A column of a choice or string whose leaves are columns."""
    if isinstance(columns, Choice):
        return columns.number
    if isinstance(columns, CodePoints):
        return columns.codes
    part = next(part for part in columns.parts if not isinstance(part, str))
    return part.value if isinstance(part, FormattedValue) else part


def has_stacked_items(container: Any) -> bool:
    """Whether a list, tuple or deque has stacked items, so that Python does not know them, nor always their number."""
    return type(container) in (list, tuple, deque) and any(type(item) is StackedItems for item in container)


def is_stacked_array(value: Any) -> bool:
    """Whether a list or tuple has stacked items, or a list or tuple in it."""
    return type(value) in (list, tuple) and (has_stacked_items(value) or any(map(is_stacked_array, value)))


def stack_as_array(items: Sequence[Any], axis: int = 0) -> Any:
    """The array that NumPy makes of a list of numbers, arrays or such lists, where some items are stacked. The items
    lie along this axis, after the axes of the lists around."""
    namespace, pieces = sys.modules[_PACKAGE], list[Any]()
    for item in items:
        is_stacked = type(item) is StackedItems
        part = item.columns if is_stacked else item
        array = stack_as_array(part, axis + is_stacked) if type(part) in (list, tuple) else part
        if is_stacked and item.lengths is not None:
            array = TRIM_ROWS.cell_contents(array, item.lengths, axis)
        pieces.append(array if is_stacked else namespace.expand_dims(array, axis=axis))
    return pieces[0] if len(pieces) == 1 else namespace.concat(pieces, axis=axis)


class EntriesKey(str):
    """The class of `ENTRIES`, the only key of a dict whose keys are known only at run time: `{ENTRIES:
    StackedItems((keys, values))}`. Code that uses it like a key of its own raises Invalid (F4)."""

    __slots__ = ()

    def fail(self, *arguments: object, **options: object) -> NoReturn:
        """Raise the error of a use."""
        raise Invalid(
            "a dict whose keys are known only at run time is used where they must be known",
            rule="F4",
            where=user_location(),
            hint="loop over it, take its items by x[key], or take its len()",
        )

    __add__ = __mod__ = __mul__ = __contains__ = __iter__ = __getitem__ = fail
    __lt__ = __le__ = __gt__ = __ge__ = fail


ENTRIES = EntriesKey("entries")
"""The only key of a dict whose keys are known only at run time."""


def has_stacked_entries(container: Any) -> bool:
    """Whether the keys of a dict are known only at run time."""
    return isinstance(container, dict) and len(container) == 1 and next(iter(container)) is ENTRIES


REPEAT_ITEMS: CellType = CellType()
"""The implementation of `items * n`, of a list and a symbolic integer. `core/frontend/source/open_lists.py` sets it."""
TRIM_ROWS: CellType = CellType()
"""A function of an array of rows, their lengths and the axis along which they lie, which returns the rows without the
zeros behind them; lengths that differ are a trap. `core/frontend/source/open_lists.py` sets it."""
SET_METHODS: CellType = CellType()
"""The implementation of the methods of `TracedSet`: a function of the method's name, the set and the arguments.
`core/frontend/source/tables.py` sets it."""


def _method(name: str) -> Any:
    def method(self: TracedSet, *arguments: Any) -> Any:
        return SET_METHODS.cell_contents(name, self, *arguments)

    method.__name__ = name
    return method


def dict_like(model: dict[Any, Any], items: dict[Any, Any]) -> Any:
    """A dict with these items, of the class of `model`: a defaultdict has its default factory.

    >>> dict_like(defaultdict(int), {"a": 1})
    defaultdict(<class 'int'>, {'a': 1})
    """
    return defaultdict(model.default_factory, items) if isinstance(model, defaultdict) else type(model)(items)


class TracedSet(set[Any]):
    """A set that code under trace has created. If their number is known only at run time, the items are in
    `stacked_items`, and the set of Python is empty."""

    def __init__(self, items: Any = (), stacked: StackedItems | None = None) -> None:
        super().__init__(items)
        self.stacked_items = stacked

    def content(self) -> frozenset[Any] | StackedItems:
        """The items, which do not change with the set."""
        return frozenset(set.__iter__(self)) if self.stacked_items is None else self.stacked_items

    def replace(self, content: frozenset[Any] | StackedItems) -> None:
        """Give the set other items."""
        set.clear(self)
        self.stacked_items = content if isinstance(content, StackedItems) else None
        if not isinstance(content, StackedItems):
            set.update(self, content)

    def known_items(self) -> set[Any]:
        """The items as a set of Python; raises Invalid (F4) where they are known only at run time."""
        if self.stacked_items is not None:
            self.stacked_items.fail()
        return set(set.__iter__(self))

    def __iter__(self) -> Iterator[Any]:
        if self.stacked_items is not None:
            raise Invalid(
                "a loop goes through a set whose items are known only at run time",
                rule="F4",
                where=user_location(),
                got="a set, whose order Python does not define",
                hint="write for x in sorted(s), or use a dict, which keeps its order",
            )
        return set.__iter__(self)

    def __len__(self) -> int:
        return len(self.known_items()) if self.stacked_items is not None else set.__len__(self)

    def __repr__(self) -> str:
        return repr(self.known_items())

    def __reduce__(self) -> Any:
        return set, (list(self.known_items()),)

    __hash__ = None
    add, discard, remove, clear, copy, pop = map(_method, ("add", "discard", "remove", "clear", "copy", "pop"))
    update, union, __contains__ = _method("update"), _method("union"), _method("contains")
    intersection, difference = _method("intersection"), _method("difference")
    symmetric_difference = _method("symmetric_difference")
    intersection_update, difference_update = _method("intersection_update"), _method("difference_update")
    symmetric_difference_update = _method("symmetric_difference_update")
    issubset, issuperset, isdisjoint = _method("issubset"), _method("issuperset"), _method("isdisjoint")
    __or__, __and__, __sub__, __xor__ = _method("|"), _method("&"), _method("-"), _method("^")
    __ror__, __rand__, __rsub__, __rxor__ = _method("r|"), _method("r&"), _method("r-"), _method("r^")
    __ior__, __iand__, __isub__, __ixor__ = _method("|="), _method("&="), _method("-="), _method("^=")
    __le__, __lt__, __ge__, __gt__ = _method("<="), _method("<"), _method(">="), _method(">")
    __eq__, __ne__ = _method("=="), _method("!=")


TracedSet.__name__ = "set"  # in messages
