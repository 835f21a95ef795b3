"""Containers: Python's operations on lists and dicts, as ops of a program.

A list has a length, and its items are a slice of the vector that all lists of its place share. A key of a dict is a
field. An index is asserted to be in range. A list that grows has room for a number of new items; if that is too small,
the graph runs again with more room.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import with_article
from . import arithmetic, library
from .heap import (
    CHANGES,
    ITEMS,
    KEYS,
    LENGTH,
    LIMIT,
    OPTION,
    SET_GAINS,
    SET_IS_CLEARED,
    SET_LOSES,
    START,
    FieldKey,
)
from .layouts import (
    ANY_TEXT,
    MISSING,
    NONE,
    ConstantLayout,
    CounterPool,
    DefaultDictPool,
    DequePool,
    DictPool,
    ListPool,
    NotSpeculable,
    OrderedDictPool,
    Pool,
    ReferenceLayout,
    SequencePool,
    SetPool,
    TablePool,
    TextLayout,
    UnionLayout,
    class_name,
    join,
    number_kind,
    options_of,
    parts,
)
from .staging import NONE_VALUE, NewObject, StagedValue, Staging


def length(staging: Staging, pool: type, owner: StagedValue) -> Any:
    """The length of a list or dict."""
    if issubclass(pool, DictPool):
        sizes = staging.dispatch(
            dict_keys(staging, pool, owner), lambda keys: staging.number("i", len(staging.items(keys)))
        )
        return sizes.leaves[0]
    if not issubclass(pool, SequencePool):
        raise NotSpeculable(f"the length of {with_article(class_name(pool))} has no graph")
    return _number(staging, pool, LENGTH, owner)


def dict_keys(staging: Staging, pool: type, owner: StagedValue) -> StagedValue:
    """The tuple of the keys of a dict, in order. The graph adds no key to a dict of its pool, and removes none."""
    key = FieldKey(pool, KEYS)
    if staging.layout_of_key(key) == MISSING:  # all dicts of the pool are created later
        assert staging.current_node is not None
        staging.check(False, staging.current_node, "it is not reached", "no dict of this place was seen")
    return staging.drop_missing(staging.row(key, owner))


def _number(staging: Staging, pool: type, name: str, owner: StagedValue) -> Any:
    key = FieldKey(pool, name)
    staging.layout_of_key(key)
    return staging.emit("take", staging.leaves_of(key)[0], owner.leaves[0], axis=0)


def _cell(staging: Staging, pool: type, owner: StagedValue, position: Any) -> Any:
    """The row of an item in the vectors of all lists of a pool."""
    return staging.emit("add", _number(staging, pool, START, owner), position)


def read_cell(staging: Staging, pool: type, owner: StagedValue, position: Any) -> StagedValue:
    """The item of a list at a position that is in range."""
    key = FieldKey(pool, ITEMS)
    layout = staging.layout_of_key(key)
    if layout == MISSING:  # no list with an item was seen: the code that follows has no layout to begin with
        assert staging.current_node is not None
        staging.check(False, staging.current_node, "it is not reached", "all lists of this place were empty")
    cell = _cell(staging, pool, owner, position)
    leaves = tuple(staging.emit("take", leaf, cell, axis=0) for leaf in staging.leaves_of(key))
    return StagedValue(layout, leaves)


def _position(staging: Staging, pool: type, owner: StagedValue, index: StagedValue, node: ast.AST) -> Any:
    """The position of an index, which is asserted to be in range."""
    if number_kind(index.layout) not in ("i", "b"):
        raise NotSpeculable(f"an item of a list under {with_article(index.layout)} has no graph")
    count, position = length(staging, pool, owner), arithmetic.as_kind(staging, index, "i")
    if not isinstance(index.layout, ConstantLayout):
        is_negative = staging.emit("less", position, 0)
        position = staging.emit("where", is_negative, staging.emit("add", position, count), position)
        is_inside = staging.emit("greater_equal", position, 0)
        is_inside = staging.emit("logical_and", is_inside, staging.emit("less", position, count))
    elif position < 0:
        is_inside = staging.emit("greater_equal", count, -position)
        position = staging.emit("add", position, count)
    else:
        is_inside = staging.emit("greater", count, position)
    reason = "Python raises IndexError where it is not"
    staging.check(is_inside, node, "the index is in range", reason, raises=IndexError)
    return position


def _dict_key(staging: Staging, pool: type[Pool], index: StagedValue) -> FieldKey:
    """The field of a key. A computed key turns the dicts into lists of pairs, and generation restarts."""
    if not isinstance(index.layout, ConstantLayout) or type(index.layout.value) not in (str, int):
        staging.make_table(pool)
    return FieldKey(pool, index.layout.value)


def find(staging: Staging, pool: type[Pool], owner: StagedValue, value: StagedValue) -> Any:
    """The position of a key of a dict, or of an item of a set; -1 if it is not there."""
    if any(staging.has_own_comparison(part) for part in parts(value.layout)):
        raise NotSpeculable("a key with a comparison of its own has no graph")
    function = library.find_key if issubclass(pool, TablePool) else library.find_item
    position = staging.call_library(function, [owner, _as_key(staging, value)])
    assert number_kind(position.layout) == "i"
    return staging.leaf_of(position)


def _as_key(staging: Staging, value: StagedValue) -> StagedValue:
    """A key or an item of a set. Constant strings become strings, which one op compares."""
    are_texts = all(
        isinstance(option, TextLayout) or (isinstance(option, ConstantLayout) and type(option.value) is str)
        for option in options_of(value.layout)
    )
    return staging.coerce(value, join(value.layout, ANY_TEXT)) if are_texts else value


def _is_found(staging: Staging, position: Any) -> Any:
    return staging.emit("greater_equal", position, 0)


def _check_key(staging: Staging, position: Any, node: ast.AST) -> Any:
    """A position that is asserted to be one."""
    reason = "Python raises KeyError where not"
    is_found = _is_found(staging, position)
    staging.check(is_found, node, "the key is there", reason, raises=KeyError)
    return staging.emit("where", is_found, position, 0)


def _set_cell(
    staging: Staging, pool: type, owner: StagedValue, position: Any, value: StagedValue, node: ast.AST
) -> None:
    cell = _cell(staging, pool, owner, position)
    staging.write_heap(FieldKey(pool, ITEMS), value, node, lambda: cell)


def _value_at(staging: Staging, pool: type, owner: StagedValue, position: Any) -> StagedValue:
    """The value of a pair of a dict."""
    return staging.items(read_cell(staging, pool, owner, position))[1]


def _make_default(
    staging: Staging, pool: type[Pool], owner: StagedValue, index: StagedValue, node: ast.AST
) -> StagedValue | None:
    """The value that a dict has under a key that is not there; None where Python raises KeyError."""
    if issubclass(pool, CounterPool):
        return staging.constant(0)
    if not issubclass(pool, DefaultDictPool):
        return None
    key = FieldKey(pool, OPTION)
    factory = staging.row(key, owner)
    if factory.layout == NONE:
        return None
    assert isinstance(node, ast.expr)
    value = staging.call_value(factory, [], {}, node)
    pair = staging.tuple_of([_as_key(staging, index), value])
    _append(staging, pool, owner, [pair], node)
    return value


def read_item(staging: Staging, pool: type[Pool], owner: StagedValue, index: StagedValue, node: ast.AST) -> StagedValue:
    """`owner[index]`."""
    if issubclass(pool, ListPool | DequePool):
        return read_cell(staging, pool, owner, _position(staging, pool, owner, index, node))
    if issubclass(pool, DictPool):
        return staging.read_row(_dict_key(staging, pool, index), owner, node)
    if issubclass(pool, TablePool):
        position = find(staging, pool, owner, index)
        if issubclass(pool, CounterPool | DefaultDictPool):

            def make() -> StagedValue:
                value = _make_default(staging, pool, owner, index, node)
                return _value_at(staging, pool, owner, _check_key(staging, position, node)) if value is None else value

            return staging.branch(_is_found(staging, position), lambda: _value_at(staging, pool, owner, position), make)
        return _value_at(staging, pool, owner, _check_key(staging, position, node))
    raise NotSpeculable(f"an item of {with_article(class_name(pool))} has no graph")


def write_item(
    staging: Staging, pool: type[Pool], owner: StagedValue, index: StagedValue, value: StagedValue, node: ast.AST
) -> None:
    """`owner[index] = value`."""
    if issubclass(pool, ListPool | DequePool):
        _set_cell(staging, pool, owner, _position(staging, pool, owner, index, node), value, node)
    elif issubclass(pool, DictPool):
        key = _dict_key(staging, pool, index)
        may_add = MISSING in options_of(staging.layout_of_key(key))
        if may_add and FieldKey(pool, KEYS) in staging.requirements.fields:
            staging.make_table(pool)
        staging.write_heap(key, value, node, lambda: staging.index_in(key, owner))
    elif issubclass(pool, TablePool):
        position = find(staging, pool, owner, index)

        def replace_value() -> StagedValue:
            old_key = staging.items(read_cell(staging, pool, owner, position))[0]
            _set_cell(staging, pool, owner, position, staging.tuple_of([old_key, value]), node)
            return NONE_VALUE

        def add() -> StagedValue:
            return _append(staging, pool, owner, [staging.tuple_of([_as_key(staging, index), value])], node)

        if FieldKey(pool, ITEMS) not in staging.requirements.fields or (
            staging.layout_of_key(FieldKey(pool, ITEMS)) == MISSING
        ):
            add()  # no key was seen
            return
        staging.branch(_is_found(staging, position), replace_value, add)
    else:
        raise NotSpeculable(f"an item of {with_article(class_name(pool))} is assigned")


def delete_item(staging: Staging, pool: type[Pool], owner: StagedValue, index: StagedValue, node: ast.AST) -> None:
    """`del owner[index]`."""
    if issubclass(pool, DictPool):
        staging.make_table(pool)
    if issubclass(pool, ListPool | DequePool):
        position = _position(staging, pool, owner, index, node)
    elif issubclass(pool, TablePool):
        position = _check_key(staging, find(staging, pool, owner, index), node)
    else:
        raise NotSpeculable(f"an item of {with_article(class_name(pool))} is deleted")
    staging.call_library(library.remove_at, [owner, staging.number("i", position)])


def write_length(staging: Staging, pool: type, owner: StagedValue, count: Any, node: ast.AST) -> None:
    """Write the length of a container."""
    staging.write_heap(FieldKey(pool, LENGTH), staging.number("i", count), node, lambda: owner.leaves[0])


def _change_length(staging: Staging, pool: type, owner: StagedValue, count: Any, change: int, node: ast.AST) -> None:
    write_length(staging, pool, owner, count, node)
    _note_change(staging, pool, owner, change, node)


def _note_change(staging: Staging, pool: type, owner: StagedValue, change: int, node: ast.AST) -> None:
    """Note that a set has changed, in one of the ways of `SET_GAINS`, or that a deque or dict over which the program
    has a loop has."""
    key = FieldKey(pool, CHANGES)
    if issubclass(pool, SetPool):
        is_cleared = change == SET_IS_CLEARED
        changes = change if is_cleared else staging.emit("bitwise_or", _number(staging, pool, CHANGES, owner), change)
    elif key in staging.requirements.fields:
        changes = staging.emit("add", _number(staging, pool, CHANGES, owner), 1)
    else:
        return
    staging.write_heap(key, staging.number("i", changes), node, lambda: owner.leaves[0])


def forget_order(staging: Staging, owner: StagedValue, node: ast.AST) -> None:
    """Note that a graph does not know the order of a new set."""

    def forget(pool: type, instance: StagedValue) -> StagedValue:
        _note_change(staging, pool, instance, SET_GAINS | SET_LOSES, node)
        return NONE_VALUE

    staging.for_each_class(owner, node, forget)


def _append(
    staging: Staging, pool: type, owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    (value,) = values
    count = length(staging, pool, owner)
    cell = _cell(staging, pool, owner, count)
    has_capacity = staging.emit("less", cell, _number(staging, pool, LIMIT, owner))
    claim = "the list has room for an item more"
    staging.check(has_capacity, node, claim, "the graph runs again with more room where it has not", capacity_key=pool)
    cell = staging.emit("where", has_capacity, cell, 0)
    staging.write_heap(FieldKey(pool, ITEMS), value, node, lambda: cell)
    _change_length(staging, pool, owner, staging.emit("add", count, 1), SET_GAINS, node)
    return NONE_VALUE


def _pop(staging: Staging, pool: type, owner: StagedValue, values: Sequence[StagedValue], node: ast.AST) -> StagedValue:
    if values:
        raise NotSpeculable("pop() of an item other than the last has no graph")
    position = _position(staging, pool, owner, staging.constant(-1), node)
    value = read_cell(staging, pool, owner, position)
    _change_length(staging, pool, owner, position, SET_LOSES, node)
    return value


def _clear(
    staging: Staging, pool: type, owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    _change_length(staging, pool, owner, 0, SET_IS_CLEARED, node)
    return NONE_VALUE


def new_list(staging: Staging, items: Sequence[StagedValue], node: ast.expr) -> StagedValue:
    """A new list of these items. All lists that one expression of the source creates share a pool."""
    pool = staging.pool_of_site(list, node)
    value = staging.allocate(pool, node)
    for item in items:
        _append(staging, pool, value, [item], node)
    return value


def new_container(staging: Staging, python_class: type, items: Sequence[StagedValue], node: ast.expr) -> StagedValue:
    """A new set or deque of these items."""
    pool = staging.pool_of_site(python_class, node)
    value = staging.allocate(pool, node)
    option = FieldKey(pool, OPTION)
    if option in staging.requirements.fields:
        staging.write_heap(option, NONE_VALUE, node, lambda: staging.index_in(option, value), is_new=True)
    add = _add if python_class is set else _append
    for item in items:
        add(staging, pool, value, [item], node)
    return value


def new_dict(staging: Staging, items: Sequence[tuple[StagedValue, StagedValue]], node: ast.expr) -> StagedValue:
    """A new dict of these items."""
    pool = staging.pool_of_site(dict, node)
    if issubclass(pool, TablePool):
        value = staging.allocate(pool, node)
        for index, item in items:
            write_item(staging, pool, value, index, item, node)
        return value
    keys = [_dict_key(staging, pool, key) for key, _ in items]
    value = staging.allocate(pool, node)
    new = NewObject(value.leaves[0], pool)
    for key, (_, item) in zip(keys, items, strict=True):
        staging.write_heap(key, item, node, lambda key=key: staging.index_in(key, value), is_new=True)  # type: ignore[misc]
        new = new.assign(key.name)
    if FieldKey(pool, KEYS) in staging.requirements.fields:
        names = staging.tuple_of([staging.constant(key.name) for key in dict.fromkeys(keys)])
        key_of_keys = FieldKey(pool, KEYS)
        staging.write_heap(key_of_keys, names, node, lambda: staging.index_in(key_of_keys, value), is_new=True)
    staging.publish(new)
    staging.note_creation_orders(new)
    return value


def _append_to_deque(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    """`append` of a deque, which first loses an item if it is full."""
    limit = staging.row(FieldKey(pool, OPTION), owner)

    def make_room(option: StagedValue) -> StagedValue:
        if option.layout != NONE:
            is_positive = staging.emit("greater", staging.leaf_of(option), 0)
            staging.check(is_positive, node, "the deque may have items", "one without items stays as it is")
            is_full = staging.emit("equal", length(staging, pool, owner), staging.leaf_of(option))
            first = staging.number("i", 0)
            staging.branch(is_full, lambda: staging.call_library(library.remove_at, [owner, first]), lambda: NONE_VALUE)
        return NONE_VALUE

    staging.dispatch(limit, make_room)
    return _append(staging, pool, owner, values, node)


def _append_left(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    if staging.layout_of_key(FieldKey(pool, OPTION)) != NONE:
        raise NotSpeculable("appendleft() of a deque with a maximum length has no graph")
    return staging.call_library(library.add_first, [owner, *values])


def _pop_left(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    position = _position(staging, pool, owner, staging.constant(0), node)
    value = read_cell(staging, pool, owner, position)
    staging.call_library(library.remove_at, [owner, staging.number("i", position)])
    return value


def _add(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    """`add` of a set."""
    value = _as_key(staging, values[0])
    is_in = contains_key(staging, pool, owner, value)
    return staging.branch(
        staging.truth(is_in, node), lambda: NONE_VALUE, lambda: _append(staging, pool, owner, [value], node)
    )


def _remove(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    """`remove` of a set or list."""
    if staging.layout_of_key(FieldKey(pool, ITEMS)) == MISSING:
        staging.check(False, node, "it is not reached", "the container was empty in all calls")
    position = find(staging, pool, owner, values[0])
    is_found, raises = _is_found(staging, position), KeyError if issubclass(pool, SetPool) else ValueError
    reason = f"Python raises {raises.__name__} where it is not"
    staging.check(is_found, node, "the item is there", reason, raises=raises)
    place = staging.number("i", staging.emit("where", is_found, position, 0))
    return staging.call_library(library.remove_at, [owner, place])


def _discard(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    if staging.layout_of_key(FieldKey(pool, ITEMS)) == MISSING:
        return NONE_VALUE
    position = find(staging, pool, owner, values[0])
    place = staging.number("i", position)
    return staging.branch(
        _is_found(staging, position),
        lambda: staging.call_library(library.remove_at, [owner, place]),
        lambda: NONE_VALUE,
    )


def _get(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    """`get` of a dict."""
    default = values[1] if len(values) == 2 else NONE_VALUE
    has_key = staging.truth(contains_key(staging, pool, owner, values[0]), node)
    if issubclass(pool, DictPool):
        return staging.branch(has_key, lambda: read_item(staging, pool, owner, values[0], node), lambda: default)

    def read() -> StagedValue:
        position = staging.emit("maximum", find(staging, pool, owner, values[0]), 0)
        return _value_at(staging, pool, owner, position)

    return staging.branch(has_key, read, lambda: default)


def _pop_key(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    """`pop` of a dict."""

    def pop() -> StagedValue:
        position = _check_key(staging, find(staging, pool, owner, values[0]), node)
        value = _value_at(staging, pool, owner, position)
        staging.call_library(library.remove_at, [owner, staging.number("i", position)])
        return value

    if len(values) == 1:
        return pop()
    has_key = staging.truth(contains_key(staging, pool, owner, values[0]), node)
    return staging.branch(has_key, pop, lambda: values[1])


def _set_default(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    """`setdefault` of a dict."""
    default = values[1] if len(values) == 2 else NONE_VALUE
    has_key = staging.truth(contains_key(staging, pool, owner, values[0]), node)

    def add() -> StagedValue:
        _append(staging, pool, owner, [staging.tuple_of([_as_key(staging, values[0]), default])], node)
        return default

    return staging.branch(has_key, lambda: _get(staging, pool, owner, values[:1], node), add)


def _move_to_end(
    staging: Staging, pool: type[Pool], owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    position = _check_key(staging, find(staging, pool, owner, values[0]), node)
    return staging.call_library(library.move_to_end, [owner, staging.number("i", position)])


METHODS: dict[type, dict[tuple[str, int], Callable[..., StagedValue]]] = {
    ListPool: {("append", 1): _append, ("pop", 0): _pop, ("clear", 0): _clear, ("remove", 1): _remove},
    DequePool: {
        ("append", 1): _append_to_deque,
        ("appendleft", 1): _append_left,
        ("pop", 0): _pop,
        ("popleft", 0): _pop_left,
        ("clear", 0): _clear,
    },
    SetPool: {("add", 1): _add, ("remove", 1): _remove, ("discard", 1): _discard, ("clear", 0): _clear},
    DictPool: {("get", 1): _get, ("get", 2): _get},
    TablePool: {
        ("get", 1): _get,
        ("get", 2): _get,
        ("pop", 1): _pop_key,
        ("pop", 2): _pop_key,
        ("setdefault", 1): _set_default,
        ("setdefault", 2): _set_default,
        ("clear", 0): _clear,
    },
    OrderedDictPool: {("move_to_end", 1): _move_to_end},
}
"""The methods that a graph may call, by name and number of arguments, of the containers of each kind of pools."""
LIBRARY: dict[tuple[str, int], Callable[..., Any]] = {
    ("extend", 1): library.extend,
    ("insert", 2): library.insert,
    ("pop", 1): library.pop,
    ("index", 1): library.find,
    ("count", 1): library.count,
    ("copy", 0): library.copy,
    ("reverse", 0): library.reverse,
}
"""More methods of lists, by name and number of arguments, each with its implementation in Python."""
_VIEWS = {"keys": library.keys_of, "values": library.values_of, "items": library.pairs_of}


def call_method(
    staging: Staging, pool: type[Pool], owner: StagedValue, name: str, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    """`owner.name(*values)`."""
    key = name, len(values)
    if issubclass(pool, ListPool) and key in LIBRARY:
        return staging.call_library(LIBRARY[key], [owner, *values])
    for kind, methods in METHODS.items():
        if issubclass(pool, kind) and key in methods:
            return methods[key](staging, pool, owner, values, node)
    if issubclass(pool, DictPool) and key in METHODS[TablePool]:
        staging.make_table(pool)
    raise NotSpeculable(f"method {name} of {with_article(class_name(pool))} with {len(values)} arguments has no graph")


def list_view(staging: Staging, owner: StagedValue, view: str, node: ast.AST) -> StagedValue:
    """The keys, values or items of a dict, as a new list, for a function that reads them once."""

    def read(pool: type[Pool], instance: StagedValue) -> StagedValue:
        if issubclass(pool, DictPool):
            staging.make_table(pool)
        if not issubclass(pool, TablePool):
            raise NotSpeculable(f"{view} of {with_article(class_name(pool))} have no graph")
        return staging.call_library(_VIEWS[view], [instance])

    return staging.for_each_class(owner, node, read)


def contains_key(staging: Staging, pool: type[Pool], owner: StagedValue, index: StagedValue) -> StagedValue:
    """Whether a dict has a key, or a set an item."""
    if issubclass(pool, TablePool | SetPool):
        if staging.layout_of_key(FieldKey(pool, ITEMS)) == MISSING:
            return staging.constant(False)
        return staging.number("b", _is_found(staging, find(staging, pool, owner, index)))
    if not issubclass(pool, DictPool):
        raise NotSpeculable(f"`in` {with_article(class_name(pool))} has no graph")
    key = _dict_key(staging, pool, index)
    layout = staging.layout_of_key(key)
    if not isinstance(layout, UnionLayout) or MISSING not in layout.options:
        return staging.constant(layout != MISSING)
    option = staging.emit("take", staging.leaves_of(key)[0], staging.index_in(key, owner), axis=0)
    return staging.number("b", staging.emit("not_equal", option, layout.options.index(MISSING)))


@dataclass(frozen=True)
class Iteration:
    """An iteration by position, from 0: whether there is an item, and the item."""

    has_item: Callable[[Any], Any]
    item: Callable[[Any], StagedValue]


def iterate_list(staging: Staging, owner: StagedValue, node: ast.AST) -> Iteration:
    """The iteration of a list. As in Python, its length is read before each item."""
    assert isinstance(owner.layout, ReferenceLayout)
    if not all(issubclass(pool, ListPool) for pool in owner.layout.classes):
        return _iterate_container(staging, owner, node)

    def has_item(position: Any) -> Any:
        def is_before_end(pool: type, instance: StagedValue) -> StagedValue:
            return staging.number("b", staging.emit("less", position, length(staging, pool, instance)))

        return staging.for_each_class(owner, node, is_before_end).leaves[0]

    def item(position: Any) -> StagedValue:
        return staging.for_each_class(owner, node, lambda pool, instance: read_cell(staging, pool, instance, position))

    return Iteration(has_item, item)


def _iterate_container(
    staging: Staging,
    owner: StagedValue,
    node: ast.AST,
    read_item: Callable[[StagedValue], StagedValue] = lambda item: item,
) -> Iteration:
    """The iteration of a deque or dict, which is asserted not to get or lose items."""

    def read_number(name: str) -> Any:
        def read(pool: type[Pool], instance: StagedValue) -> StagedValue:
            if not issubclass(pool, DequePool | TablePool):
                raise NotSpeculable(f"a loop over {with_article(class_name(pool))} has no graph")
            return staging.number("i", _number(staging, pool, name, instance))

        return staging.for_each_class(owner, node, read).leaves[0]

    size, changes = read_number(LENGTH), read_number(CHANGES)

    def has_item(position: Any) -> Any:
        is_same = staging.emit("equal", read_number(CHANGES), changes)
        staging.check(
            is_same, node, "the loop does not add or remove items", "Python raises RuntimeError where it does"
        )
        return staging.emit("less", position, size)

    def item(position: Any) -> StagedValue:
        value = staging.for_each_class(owner, node, lambda pool, instance: read_cell(staging, pool, instance, position))
        return read_item(value)

    return Iteration(has_item, item)


def iterate_dict(staging: Staging, owner: StagedValue, view: str, node: ast.AST) -> Iteration:
    """The iteration of the keys, values or items of a dict."""
    position = {"keys": 0, "values": 1}.get(view)

    def read(pair: StagedValue) -> StagedValue:
        return pair if position is None else staging.items(pair)[position]

    return _iterate_container(staging, owner, node, read)


RAW_OPERATIONS: dict[Any, Callable[..., StagedValue]] = {}
"""Operations of `library` on containers of all classes."""


def _raw(function: Any) -> Callable[[Callable[..., StagedValue]], Callable[..., StagedValue]]:
    def add(operation: Callable[..., StagedValue]) -> Callable[..., StagedValue]:
        RAW_OPERATIONS[function] = operation
        return operation

    return add


@_raw(library.item_at)
def _item_at(
    staging: Staging, pool: type, owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    return read_cell(staging, pool, owner, staging.leaf_of(values[0]))


@_raw(library.count_items)
def _count_items(
    staging: Staging, pool: type, owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    return staging.number("i", length(staging, pool, owner))


@_raw(library.set_item)
def _set_item(
    staging: Staging, pool: type, owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    _set_cell(staging, pool, owner, staging.leaf_of(values[0]), values[1], node)
    return NONE_VALUE


RAW_OPERATIONS[library.add_item] = _append


@_raw(library.drop_item)
def _drop_item(
    staging: Staging, pool: type, owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    count = staging.emit("subtract", length(staging, pool, owner), 1)
    _change_length(staging, pool, owner, count, SET_LOSES, node)
    return NONE_VALUE


def reverse_items(staging: Staging, owner: StagedValue, node: ast.AST) -> Iteration:
    """The iteration of `reversed` of a list. As in Python, it begins at the item that is last when it begins, and ends
    early if the list has become shorter than the position."""
    size = staging.for_each_class(
        owner, node, lambda pool, instance: staging.number("i", length(staging, pool, instance))
    )
    last = staging.emit("subtract", size.leaves[0], 1)

    def index(position: Any) -> Any:
        return staging.emit("subtract", last, position)

    def has_item(position: Any) -> Any:
        has_begun = staging.emit("greater_equal", index(position), 0)
        is_inside = iterate_list(staging, owner, node).has_item(index(position))
        return staging.emit("logical_and", has_begun, is_inside)

    return Iteration(has_item, lambda position: iterate_list(staging, owner, node).item(index(position)))


def enumerate_items(staging: Staging, inner: Iteration) -> Iteration:
    """The iteration of `enumerate`."""

    def item(position: Any) -> StagedValue:
        number = staging.number("i", position)
        return staging.tuple_of([number, inner.item(position)])

    return Iteration(inner.has_item, item)


def zip_items(staging: Staging, parts: Sequence[Iteration]) -> Iteration:
    """The iteration of `zip`: it ends where the first of its parts ends."""

    def has_item(position: Any) -> Any:
        has_all: Any = True
        for part in parts:
            has_one = part.has_item(position)
            has_all = has_one if has_all is True else staging.emit("logical_and", has_all, has_one)
        return has_all

    return Iteration(has_item, lambda position: staging.tuple_of([part.item(position) for part in parts]))
