"""Dicts and sets whose keys are known only at run time.

Such a dict has its entries stacked, as a list of symbolic length has its items: `{ENTRIES: StackedItems((keys,
values))}`, in the order in which they were added; a `TracedSet` has its items stacked. A key is found by comparing it
with all of them, so each use takes time proportional to their number. Keys are numbers, strings that are known while
tracing, and tuples of these.
"""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, KeysView, ValuesView
from types import FunctionType
from typing import Any, NamedTuple, NoReturn

from ... import dtypes
from ...errors import Invalid, describe_class
from ..trace.captures import read_variable
from ..trace.choice import Choice
from ..trace.program_builder import current_region
from ..trace.python_operations import perform
from ..trace.pytree import count_item_axes, unflatten
from ..trace.source_location import user_location
from ..trace.stacked_items import (
    ENTRIES,
    SET_METHODS,
    StackedItems,
    TracedSet,
    has_stacked_entries,
    has_stacked_items,
)
from ..trace.symbol import array_namespace
from ..trace.text import AS_CHARACTERS, TEXTS, is_text
from ..trace.unusable_value import UnusableValue
from . import library
from .choices import code_points_of_strings
from .convert import convert
from .nested_lists import (
    CALL_ON_ORIGIN,
    CHANGEABLE,
    copy_of,
    find_taken_item,
    is_from_here,
    item_origin,
    note_added_list,
    note_assigned_list,
    note_assigned_origin,
    note_changeable_option,
    note_default,
    note_origin,
    note_shared_lists,
    note_stacked_lists,
    was_taken_from,
)
from .open_lists import (
    DifferentItems,
    get_open_item,
    has_values_as_keys,
    is_value_key,
    item_count,
    join_columns,
    key_kinds,
    leaf_kind,
    lift,
    stack_items,
    stack_table,
    take_item,
    take_slice,
    unify_columns,
    unify_structures,
)
from .raising import located_exception, stage_assertion
from .ranges import CountedRange
from .staging import stage_branch
from .state import CONTAINERS, Variables, active_journal, record_lasting_effect, register_created
from .trees import is_rebuilt, is_symbolic, note_rebuilt, split
from .writes import announce_items


def is_open_table(container: Any) -> bool:
    """Whether the keys of a dict, the items of a set, or those of a view are known only at run time."""
    is_open_set = type(container) is TracedSet and container.stacked_items is not None
    return is_open_set or has_stacked_entries(container) or type(container) is TableView


def is_symbolic_key(key: Any) -> bool:
    """Whether a key, or a part of it, is known only when the program runs."""
    if type(key) is tuple:
        return any(map(is_symbolic_key, key))
    return isinstance(key, TEXTS) or is_symbolic(read_variable(key))


def may_grow(table: Any, key: Any) -> bool:
    """Whether a dict or set can take a symbolic key: all its keys are numbers, strings, or tuples of these. An
    OrderedDict cannot, nor can a class of the user that has `__missing__`."""
    is_of_python = isinstance(table, Counter | defaultdict) or not hasattr(type(table), "__missing__")
    is_plain = is_of_python and not isinstance(table, OrderedDict)
    return is_plain and is_value_key(key) and has_values_as_keys(table)


class TableView(UnusableValue):
    """`table.keys()`, `table.values()` or `table.items()` of a dict whose keys are known only at run time: what they
    are when the view is used."""

    __slots__ = ("part", "table")

    def __init__(self, table: dict[Any, Any], part: str) -> None:
        self.table, self.part = table, part

    def rows(self) -> StackedItems | None:
        """The keys, values or items now; None for an empty dict."""
        entries = stack_table(self.table)
        if entries is None or self.part == "items":
            return entries
        return _keys(entries) if self.part == "keys" else _values(entries)

    def fail(self, *arguments: object, **options: object) -> NoReturn:
        """Raise the error of a use other than loops, `in`, `len` and builtins that go through the view."""
        raise Invalid(
            f"{self.part}() of a dict whose keys are known only at run time is used as a value",
            rule="F4",
            where=user_location(),
            hint=f"loop over it, or make a list: list(x.{self.part}())",
        )

    __repr__ = __str__ = fail


class LiveEntries(CountedRange):
    """The positions of the entries of a dict while a loop iterates over it, or through a view of it."""

    is_live = True

    def __init__(self, container: Any) -> None:
        super().__init__(0, None, 1)
        self.view = container if type(container) is TableView else TableView(container, "keys")
        self.entries = stack_table(self.view.table)
        self.count = count_entries(self.view)

    def has(self, number: Any) -> Any:
        """Whether there is an entry at a position. A change of the number of entries is a trap: a RuntimeError."""
        if stack_table(self.view.table) is not self.entries:
            is_same = count_entries(self.view) == self.count
            stage_assertion(is_same, located_exception(RuntimeError("dictionary changed size during iteration")))
        return number < self.count

    def item(self, position: Any) -> Any:
        """The key, value or item at a position now."""
        rows = self.view.rows()
        if rows is None:
            _refuse_changed_loop()
        item = note_rebuilt(take_item(rows, position))
        row = item[1] if self.view.part == "items" else item
        if self.view.part != "keys" and type(row) in CHANGEABLE:
            note_origin(row, self.view.table, take_item(_keys(stack_table(self.view.table)), position))  # type: ignore[arg-type]
        return item


def is_dict_or_view(iterable: Any) -> bool:
    """Whether a loop over an iterable iterates over the entries of a dict in Python."""
    return type(iterable) in (dict, Counter, defaultdict, *_VIEWS)


_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


def guarded_items(iterable: Any) -> Iterator[Any]:
    """The items of a dict, or of a view, for a loop that may not give the dict symbolic keys: raises Invalid (F4)."""
    items, table = iter(iterable), iterable if isinstance(iterable, dict) else iterable.mapping
    while True:
        if len(table) == 1 and next(iter(table)) is ENTRIES:
            _refuse_changed_loop()
        try:
            item = next(items)
        except StopIteration:
            return
        yield item


def _refuse_changed_loop() -> NoReturn:
    raise Invalid(
        "a loop gives symbolic keys to the dict that it iterates over",
        rule="F4",
        where=user_location(),
        hint="loop over list(x)",
    )


class TableIterator(UnusableValue):
    """`iter(table)`, for `next`: the keys, values or items that a dict or view has when the iterator is made."""

    __slots__ = ("position", "rows")

    def __init__(self, table: Any) -> None:
        if type(table) is TracedSet:
            iter(table)  # a set has no order
        self.rows, self.position = rows_of(table), 0
        register_created(self)

    def take(self) -> tuple[Any, Callable[[], Any]]:
        """Whether there is a next item, and a function that gives it."""
        journal, position = active_journal(), self.position
        if journal is not None and id(self) not in journal.created_objects:
            record_lasting_effect("an iterator is advanced")
        self.position += 1
        return item_count(self.rows) > position, lambda: get_open_item(self.rows, position)

    def fail(self, *arguments: object, **options: object) -> NoReturn:
        """Raise the error of a use other than `next`."""
        raise Invalid(
            "iter() of a dict whose keys are known only at run time is used other than by next()",
            rule="F4",
            where=user_location(),
            hint="write a loop, or take an item of list(x)",
        )

    __repr__ = __str__ = fail


def rows_of(table: Any) -> list[Any]:
    """The keys of a dict, or the items of a set or a view, as a list of symbolic length."""
    stacked = table.rows() if type(table) is TableView else stack_table(table)
    if stacked is None:
        return register_created([])  # type: ignore[no-any-return]
    rows = _keys(stacked) if isinstance(table, dict) else stacked
    if type(table) is TableView:
        note_shared_lists(table.table, [rows])  # a value may be a list
    return register_created([rows])  # type: ignore[no-any-return]


def _keys(entries: StackedItems) -> StackedItems:
    return StackedItems(entries.columns[0])


def _values(entries: StackedItems) -> StackedItems:
    return StackedItems(entries.columns[1])


class _KeyPosition(NamedTuple):
    """The position of a key in a table; the number of keys if the key is not there."""

    position: Any
    count: Any

    @property
    def is_there(self) -> Any:
        return self.position < self.count


def _find(keys: StackedItems, key: Any) -> _KeyPosition:
    """The position of a key among these."""
    namespace, count = array_namespace(), item_count([keys])
    is_equal = _is_equal(keys.columns, _lookup_key(key))
    if is_equal is False:
        return _KeyPosition(count, count)
    is_key = namespace.concat([namespace.astype(is_equal, dtypes.int64), namespace.ones(1, dtype=dtypes.int64)])
    return _KeyPosition(namespace.argmax(is_key), count)


def find_known_key(table: dict[Any, Any], key: Any) -> tuple[Any, Any]:
    """The position of a symbolic key among those of a dict, which are known, and whether it is there."""
    place = _find(StackedItems(stack_items([(known_key,) for known_key in table]).columns[0]), key)
    return place.position, place.is_there


def _is_equal(columns: Any, key: Any) -> Any:
    """For each row of columns whether it is a key; False where no row can be."""
    namespace = array_namespace()
    if type(columns) is type(key) is tuple and any(map(_is_text, (*columns, *key))):
        parts = [_is_equal(*pair) for pair in zip(columns, key, strict=True)] if len(columns) == len(key) else [False]
        return False if any(part is False for part in parts) else functools.reduce(namespace.logical_and, parts)
    if _is_text(columns) or _is_text(key):
        return _is_equal_text(columns, key) if is_text(columns) and is_text(key) else False
    tree, own = split(columns), split(key)
    if tree.treedef != own.treedef:
        try:
            parts = unify_structures([columns, stack_items([key]).columns], depth=1)
        except (DifferentItems, Invalid):
            return False
        tree, own = map(split, parts)
        own = own._replace(leaves=[leaf[0] for leaf in own.leaves])
    is_equal: Any = None
    for column, leaf in zip(tree.leaves, map(read_variable, own.leaves), strict=True):
        kinds = leaf_kind(column), leaf_kind(leaf)
        if kinds == ("f", "f"):
            error = NotImplementedError("nan is looked up in a dict or set: Python finds it by its identity")
            stage_assertion(leaf == leaf, located_exception(error))
        part = namespace.equal(lift(column, *kinds), lift(leaf, *kinds))
        is_equal = part if is_equal is None else namespace.logical_and(is_equal, part)
    return is_equal


def _is_text(part: Any) -> bool:
    """Whether a part of a key, or a column of them, is a string with symbolic characters."""
    return isinstance(part, TEXTS)


def _is_equal_text(columns: Any, key: Any) -> Any:
    """For each string in a column, filled up with zeros, whether it has the characters of a key."""
    namespace = array_namespace()
    rows = stack_items(code_points_of_strings(columns).codes, 1)
    codes = AS_CHARACTERS.cell_contents(key).codes
    size = item_count(codes)
    zeros = namespace.zeros(rows.columns.shape[1], dtype=dtypes.int64)
    characters = namespace.concat([stack_items(codes).columns, zeros]) if codes else zeros
    is_equal = namespace.all(rows.columns == characters[: rows.columns.shape[1]], axis=1)
    return is_equal & (namespace.equal(rows.columns.shape[1] if rows.lengths is None else rows.lengths, size))


def _lookup_key(key: Any) -> Any:
    """A key that Python would look up, with tuples for named tuples. One without a hash is a TypeError; raises Invalid
    (F4) for an object that may equal a number."""
    if isinstance(key, tuple) and type(key).__eq__ is tuple.__eq__:
        return tuple(map(_lookup_key, key))
    if isinstance(key, TEXTS):
        return AS_CHARACTERS.cell_contents(key)
    if key is None or isinstance(key, str | bytes) or is_value_key(key):
        return key
    if isinstance(key, CONTAINERS):
        raise located_exception(TypeError(f"unhashable type: '{type(key).__name__}'"))
    raise Invalid(
        f"{describe_class(key)} is looked up among keys that are known only at run time",
        rule="F4",
        where=user_location(),
        hint="use numbers, and tuples of numbers",
    )


def _check_kinds(table: Any, key: Any) -> None:
    """Raises Invalid (F4) for a key that is not an int, float or bool, as the keys of a table are: arrays hold one
    kind."""
    kinds = key_kinds(table)
    if any(kind != key_kinds([key])[0] for kind in kinds):
        raise Invalid(
            "a dict or set gets keys of several kinds, and some of them are known only at run time",
            rule="F4",
            where=user_location(),
            required="ints, floats, bools, or tuples of these, all alike",
            hint="convert the keys, as in d[float(x)]",
        )


def _append(entries: StackedItems, row: Any, place: _KeyPosition, *, replaces: bool) -> StackedItems:
    """The entries, with a row at the end if its key, at `place`, is not among them. If it is, the row is dropped; with
    `replaces`, its value replaces that of the entry."""
    namespace, new = array_namespace(), stack_items([row])
    try:
        own, added = unify_columns([entries.columns, new.columns], 1)
    except DifferentItems:
        raise Invalid(
            "the entries of a dict or set whose keys are known only at run time differ in structure or dtype",
            rule="F4",
            where=user_location(),
            required="numbers, arrays of one dtype and shape, or tuples of these, all alike",
            hint="it is stored as arrays: give all its keys, and all its values, one structure",
        ) from None
    key_leaves = len(split(entries.columns[0]).leaves) if replaces else 0
    end, leaves = namespace.where(place.is_there, place.count, place.count + 1), list[Any]()
    rows = zip(own.leaves, added.leaves, count_item_axes(own.treedef, 1), strict=True)
    for number, (column, addition, item_axes) in enumerate(rows):
        joined_column = join_columns([column, addition], 0, item_axes)
        if replaces and number >= key_leaves:
            kinds = leaf_kind(joined_column), leaf_kind(addition)
            joined_column = namespace.scatter(joined_column, lift(addition, *kinds)[0], place.position)
        leaves.append(joined_column)
    return take_slice(StackedItems(unflatten(own.treedef, leaves)), slice(None, end))


def _branch(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    if test is True or test is False:
        return then() if test else otherwise()
    return stage_branch(test, then, otherwise, Variables(lambda: (), ()))


def _fail(key: Any) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise located_exception(KeyError(key))

    return fail


# Dicts


def _set_entries(table: dict[Any, Any], entries: StackedItems) -> None:
    dict.clear(table)
    dict.__setitem__(table, ENTRIES, entries)


def stack_entries(table: dict[Any, Any]) -> None:
    """Give a dict that has entries stacked ones."""
    entries = stack_table(table)
    assert entries is not None, "it has entries"
    if not has_stacked_entries(table):
        note_stacked_lists(id(table), table)
        announce_items(table)
        _set_entries(table, entries)


def get_entry(table: dict[Any, Any], key: Any) -> Any:
    """`table[key]`. A missing key is a trap, a KeyError; a Counter has 0 for it, and a defaultdict adds it."""
    if isinstance(table, Counter):
        return get_entry_or(table, key, 0)
    if isinstance(table, defaultdict) and table.default_factory is not None:
        return set_default(table, key, compute=_converted_factory(table.default_factory))
    taken_item = find_taken_item(table, key)
    return _note_value(table, key, get_entry_or(table, key, fail=_fail(key))) if taken_item is None else taken_item


def _converted_factory(factory: Callable[[], Any]) -> Callable[[], Any]:
    """A default_factory; what a class or a function of the user creates is known to be new."""
    if type(factory) is FunctionType:
        return convert(factory)
    if factory is set:
        return create_set
    return (lambda: register_created(factory())) if isinstance(factory, type) else factory


def _note_value(table: dict[Any, Any], key: Any, value: Any) -> Any:
    """Note that a value, if it can change, is that of a table at a key; returns it."""
    if type(value) in CHANGEABLE and has_stacked_entries(table):
        note_origin(value, table, key)
    return value


def _get(table: dict[Any, Any], key: Any, default: Any = None) -> Any:
    """`table.get(key, default)`. A change of the list, dict or set that it returns changes the entry, if there is
    one."""
    taken_item, entries = find_taken_item(table, key), stack_table(table)
    if entries is None:
        return default
    place = _find(_keys(entries), key)
    is_taken = taken_item is not None and type(default) in CHANGEABLE
    values = (lambda: taken_item) if is_taken else (lambda: take_item(_values(entries), place.position))
    result = _branch(place.is_there, values, lambda: default)
    if type(result) in CHANGEABLE and type(result) is type(default) and is_from_here(default) and is_rebuilt(result):
        note_default(result, table, key, place.is_there, default)
    elif type(result) is Choice and type(default) not in CHANGEABLE:
        note_changeable_option(result, table, key)
    else:
        note_shared_lists(table)  # what it returns may be a list of the table, or the default
    return result


def take_entry(table: dict[Any, Any], key: Any) -> Any:
    """`table[key]`, of a key that is there."""
    entries = stack_table(table)
    assert entries is not None, "it has the key"
    return take_item(_values(entries), _find(_keys(entries), key).position)


def get_entry_or(table: dict[Any, Any], key: Any, default: Any = None, fail: Callable[[], Any] | None = None) -> Any:
    """`table.get(key, default)`. With `fail`, a missing key calls it instead."""
    entries, otherwise = stack_table(table), fail or (lambda: default)
    if entries is None:
        return otherwise()
    place = _find(_keys(entries), key)
    return _branch(place.is_there, lambda: take_item(_values(entries), place.position), otherwise)


def set_entry(table: dict[Any, Any], key: Any, value: Any) -> None:
    """`table[key] = value`."""
    origin = item_origin(table)
    if origin is not None:
        CALL_ON_ORIGIN.cell_contents(origin, lambda option: set_entry(option, key, value))
        return
    note_assigned_list(table, key, value)
    note_stacked_lists(id(table), [*table.values(), value])
    announce_items(table)
    _check_kinds(table, key)
    key = _lookup_key(key)
    entries, stored = stack_table(table), copy_of(value) if was_taken_from(value, table) else value
    if entries is None:
        _set_entries(table, stack_items([(key, stored)]))
    else:
        _set_entries(table, _append(entries, (key, stored), _find(_keys(entries), key), replaces=True))
    note_assigned_origin(table, key, value)


def set_default(table: dict[Any, Any], key: Any, value: Any = None, compute: Callable[[], Any] | None = None) -> Any:
    """`table.setdefault(key, value)`; with `compute`, its result is the value where the key is not there."""
    taken_item = find_taken_item(table, key)
    if taken_item is not None:
        return taken_item
    origin = item_origin(table)
    if origin is not None:
        CALL_ON_ORIGIN.cell_contents(origin, lambda option: set_default(option, key, value, compute))
        return _note_value(table, key, take_entry(table, key))
    if compute is None:
        note_added_list(table, value)
    note_stacked_lists(id(table), [*table.values(), value])
    announce_items(table)
    _check_kinds(table, key)
    key = _lookup_key(key)
    entries, otherwise = stack_table(table), compute or (lambda: value)
    if entries is None:
        value = otherwise()
        _set_entries(table, stack_items([(key, value)]))
        return _note_value(table, key, value) if is_from_here(value) else value
    place = _find(_keys(entries), key)
    result = _branch(place.is_there, lambda: take_item(_values(entries), place.position), otherwise)
    _set_entries(table, _append(entries, (key, result if compute else value), place, replaces=False))
    return _note_value(table, key, result)


def delete_entry(table: dict[Any, Any], key: Any) -> None:
    """`del table[key]`. A missing key is a trap, a KeyError, but in a Counter."""
    origin = item_origin(table)
    if origin is not None:
        CALL_ON_ORIGIN.cell_contents(origin, lambda option: delete_entry(option, key))
        return
    announce_items(table)
    entries, is_required = stack_table(table), not isinstance(table, Counter)
    if entries is None:
        if is_required:
            raise located_exception(KeyError(key))
        return
    place = _find(_keys(entries), key)
    if is_required:
        _require(place, key)
    _set_entries(table, _drop_row(entries, place))


def _require(place: _KeyPosition, key: Any) -> None:
    if place.is_there is False:
        raise located_exception(KeyError(key))
    stage_assertion(place.is_there, located_exception(KeyError(key)))


def _drop_row(stacked: StackedItems, place: _KeyPosition) -> StackedItems:
    """The rows without the one at a place; all rows if there is none."""
    if place.is_there is False:
        return stacked
    parts = take_slice(stacked, slice(None, place.position)), take_slice(stacked, slice(place.position + 1, None))
    return stack_items(parts)


def has_key(table: Any, key: Any) -> Any:
    """`key in table`."""
    stacked = stack_table(table)
    if stacked is None or not is_value_key(_lookup_key(key)):
        return False
    return _find(_keys(stacked) if isinstance(table, dict) else stacked, key).is_there


def count_entries(table: Any) -> Any:
    """`len(table)`."""
    stacked = stack_table(table.table if type(table) is TableView else table)
    return 0 if stacked is None else item_count([stacked])


def call_dict_method(name: str, table: dict[Any, Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a method of a dict whose keys are, or with a key that is, known only at run time. Returns
    NotImplemented if Python knows all keys, or if the method has no counterpart."""
    is_open, key = is_open_table(table), arguments[:1]
    takes_key = name in ("get", "pop", "setdefault") and len(key) == 1 and not keywords
    if takes_key and (is_open or (is_symbolic_key(key[0]) and may_grow(table, key[0]))):
        if name == "get":
            return _get(table, *arguments)
        if name == "setdefault":
            return set_default(table, *arguments)
        return convert(library.pop_entry if len(arguments) == 1 else library.pop_entry_or)(table, *arguments)  # type: ignore[arg-type]
    if name == "update" and len(key) == 1 and not keywords and not isinstance(table, Counter):
        if not (is_open or is_open_table(key[0]) or type(key[0]) in (list, tuple)):
            return NotImplemented
        return convert(library.update_table)(table, pairs_of(key[0]))  # type: ignore[arg-type]
    if is_open and name == "clear":
        announce_items(table)
    if is_open and name == "copy":
        result = register_created(perform(table.copy))
        note_shared_lists(table, result)
        return result
    if is_open and name in ("keys", "values", "items") and not arguments:
        return TableView(table, name)
    return NotImplemented


def pairs_of(source: Any) -> Any:
    """The pairs of a key and a value in a source of `dict(source)`; a source other than a dict is unchanged."""
    if has_stacked_entries(source):
        source = TableView(source, "items")
    if type(source) is TableView:
        return rows_of(source)
    return list(source.items()) if isinstance(source, dict) else source


def create_table(*pairs: Any) -> dict[Any, Any]:
    """`{key: value, ...}`; each pair is a key and a value, or, for `**table`, the table alone."""
    table: dict[Any, Any] = register_created({})
    for pair in pairs:
        if len(pair) == 1:
            (source,) = pair
            if is_open_table(table) or is_open_table(source):
                convert(library.update_table)(table, pairs_of(source))  # type: ignore[arg-type]
            else:
                table.update(source)
        elif current_region() is not None and (is_open_table(table) or is_symbolic_key(pair[0])):
            if not (is_open_table(table) or may_grow(table, pair[0])):
                _refuse_key()
            set_entry(table, *pair)
        else:
            table[pair[0]] = pair[1]
    return table


def create_union(left: dict[Any, Any], right: dict[Any, Any]) -> dict[Any, Any]:
    """An empty dict of the class that `left | right` has. Raises Invalid (F4) for other classes than dict and
    defaultdict."""
    if not {type(left), type(right)} <= {dict, defaultdict}:
        _refuse_operator("|", left, right)
    model = left if type(left) is defaultdict else right
    empty: dict[Any, Any] = defaultdict(model.default_factory) if isinstance(model, defaultdict) else {}
    return register_created(empty)  # type: ignore[no-any-return]


def _refuse_operator(symbol: str, left: Any, right: Any) -> NoReturn:
    operands = f"{type(left).__name__} and {type(right).__name__}"
    raise Invalid(
        f"`{symbol}` is not supported for {operands} whose keys are known only at run time",
        rule="F4",
        where=user_location(),
        hint="loop over the entries",
    )


def _refuse_key() -> NoReturn:
    raise Invalid(
        "a dict or set gets a symbolic key beside keys that are not numbers",
        rule="F4",
        where=user_location(),
        hint="use two dicts, or numbers in place of the other keys",
    )


# Sets


def create_set(items: Iterable[Any] = ()) -> Any:
    """A set of these items, some of which may be symbolic."""
    if current_region() is None:
        return set(items)
    result = register_created(TracedSet())
    for item in items:
        _add(result, item)
    return result


def _add(items: TracedSet, item: Any) -> None:
    if items.stacked_items is None and not is_symbolic_key(item):
        set.add(items, item)
        return
    if not may_grow(items, item):
        _refuse_key()
    _check_kinds(items, item)
    item, stacked = _lookup_key(item), stack_table(items)
    rows = stack_items([item]) if stacked is None else _append(stacked, item, _find(stacked, item), replaces=False)
    items.replace(rows)


def _remove(items: TracedSet, item: Any, *, is_required: bool) -> None:
    stacked = stack_table(items)
    if stacked is None:
        if is_required:
            raise located_exception(KeyError(item))
        return
    place = _find(stacked, item)
    if is_required:
        _require(place, item)
    items.replace(_drop_row(stacked, place))


def _copy_set(items: Any) -> TracedSet:
    result: TracedSet = register_created(TracedSet())
    result.replace(items.content() if type(items) is TracedSet else frozenset(items))
    return result


def _is_known(*operands: Any) -> bool:
    """Whether Python knows all the items of these sets and other iterables."""
    return not any(is_open_table(operand) or _has_symbolic_keys(operand) for operand in operands)


def _has_symbolic_keys(items: Any) -> bool:
    if type(items) in (list, tuple, dict):
        return has_stacked_items(items) or any(map(is_symbolic_key, items))
    return not isinstance(items, set | frozenset | str | range) and not hasattr(items, "__next__")


def _to_items(operand: Any) -> Any:
    return rows_of(operand) if is_open_table(operand) else operand


def _combine(name: str, items: Any, others: tuple[Any, ...]) -> Any:
    """The set that a method, such as `union`, returns for a set and others."""
    if _is_known(items, *others):
        plain = (
            collection.known_items() if type(collection) is TracedSet else collection for collection in (items, *others)
        )
        first, *rest = plain
        return _copy_set(getattr(set(first), name)(*rest))
    result = items
    for other in others:
        result = convert(_COMBINATIONS[name])(_to_items(result), other, _to_items(other))  # type: ignore[arg-type]
    return _copy_set(result)


_COMBINATIONS: dict[str, Callable[..., Any]] = {
    "union": library.set_union,
    "intersection": library.set_intersection,
    "difference": library.set_difference,
    "symmetric_difference": library.set_symmetric_difference,
}
_SET_CHANGES = {"add", "discard", "remove", "clear", "pop", "update", "|=", "&=", "-=", "^="}
_SET_CHANGES |= {"intersection_update", "difference_update", "symmetric_difference_update"}
_SYMBOLS = {"|": "union", "&": "intersection", "-": "difference", "^": "symmetric_difference"}


def _is_subset(items: Any, other: Any) -> Any:
    if _is_known(items, other):
        return set(_plain_set(items)) <= set(_plain_set(other))
    return convert(library.is_subset)(_to_items(items), other)  # type: ignore[arg-type]


def _plain_set(items: Any) -> Any:
    return items.known_items() if type(items) is TracedSet else items


def _is_same_set(items: Any, other: Any) -> Any:
    if _is_known(items, other):
        return _plain_set(items) == _plain_set(other)
    return convert(library.is_same_set)(_to_items(items), _to_items(other), other)  # type: ignore[arg-type]


def operate_on_table(symbol: str, left: Any, right: Any) -> Any:
    """`left symbol right`, where Python's own method of one operand would look into a table with symbolic
    keys; NotImplemented for other operands. Raises Invalid (F4) for a Counter, and for a view."""
    is_of_counter = isinstance(left, Counter) or isinstance(right, Counter)
    is_of_view = isinstance(left, KeysView | ValuesView) or type(left) in _VIEWS
    if not (is_open_table(left) or is_open_table(right)) or not (
        is_of_counter or is_of_view or isinstance(left, frozenset)
    ):
        return NotImplemented
    if isinstance(left, frozenset) and type(right) is TracedSet:
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(symbol, symbol)
        return call_set_method(f"r{symbol}" if symbol in _SYMBOLS else mirrored, right, left)
    if is_of_counter or is_of_view:
        _refuse_operator(symbol, left, right)
    return NotImplemented


def _replace(items: TracedSet, result: Any) -> TracedSet:
    announce_items(items)
    items.replace(result.content())
    return items


def call_set_method(name: str, items: TracedSet, *arguments: Any) -> Any:
    """A method of a set that code under trace has created."""
    origin = item_origin(items) if name in _SET_CHANGES else None
    if origin is not None:
        result = CALL_ON_ORIGIN.cell_contents(origin, lambda option: call_set_method(name, option, *arguments))
        return items if name.endswith("=") else result
    if name == "contains":
        return has_key(items, *arguments) if items.stacked_items is not None else set.__contains__(items, *arguments)
    if name in ("add", "discard", "remove"):
        announce_items(items)
        (item,) = arguments
        if name == "add":
            _add(items, item)
        elif items.stacked_items is None and not is_symbolic_key(item):
            perform(getattr(set, name), items, item)
        else:
            _remove(items, item, is_required=name == "remove")
        return None
    if name == "clear":
        announce_items(items)
        items.replace(frozenset())
        return None
    if name == "copy":
        return _copy_set(items)
    if name == "pop":
        items.known_items()
        announce_items(items)
        return set.pop(items)
    is_reflected, symbol = name[0] == "r" and name[1:] in _SYMBOLS, name.removeprefix("r").removesuffix("=")
    if symbol in _SYMBOLS:
        (other,) = arguments
        if not isinstance(other, set | frozenset):
            return NotImplemented
        result = _combine(_SYMBOLS[symbol], *((other, (items,)) if is_reflected else (items, (other,))))
        return _replace(items, result) if name.endswith("=") else result
    if name in _COMBINATIONS:
        return _combine(name, items, arguments)
    if name.removesuffix("_update") in _COMBINATIONS or name == "update":
        operation = "union" if name == "update" else name.removesuffix("_update")
        _replace(items, _combine(operation, items, arguments))
        return None
    return _compare(name, items, *arguments)


def _compare(name: str, items: TracedSet, other: Any) -> Any:
    if name == "issubset":
        return _is_subset(items, other)
    if name == "issuperset":
        return _is_subset(other, items)
    if name == "isdisjoint":
        return array_namespace().equal(count_entries(_combine("intersection", items, (other,))), 0)
    if not isinstance(other, set | frozenset):
        return NotImplemented
    if name in ("==", "!="):
        is_same = _is_same_set(items, other)
        return is_same if name == "==" else _not(is_same)
    smaller, larger = (items, other) if name in ("<=", "<") else (other, items)
    is_subset = _is_subset(smaller, larger)
    if name in ("<=", ">="):
        return is_subset
    return _branch(is_subset, lambda: _not(_is_same_set(smaller, larger)), lambda: False)


def _not(value: Any) -> Any:
    return array_namespace().logical_not(value) if is_symbolic(value) else not value


SET_METHODS.cell_contents = call_set_method
