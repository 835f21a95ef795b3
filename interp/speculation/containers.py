"""Containers: Python's operations on lists and dicts, as ops of a program.

A list has a length, and its items are a slice of the vector that all lists of its place share. A key of a dict is a
field. An index is asserted to be in range. A list that grows has room for a number of new items; if that is too small,
the graph runs again with more room.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from ...core.errors import with_article
from . import arithmetic, library
from .heap import ITEMS, KEYS, LENGTH, LIMIT, START, FieldKey
from .layouts import (
    MISSING,
    ConstantLayout,
    DictPool,
    ListPool,
    NotSpeculable,
    UnionLayout,
    class_name,
    number_kind,
    options_of,
)
from .staging import NONE_VALUE, NewObject, StagedValue, Staging


def length(staging: Staging, pool: type, owner: StagedValue) -> Any:
    """The length of a list or dict."""
    if issubclass(pool, DictPool):
        sizes = staging.dispatch(
            dict_keys(staging, pool, owner), lambda keys: staging.number("i", len(staging.items(keys)))
        )
        return sizes.leaves[0]
    if not issubclass(pool, ListPool):
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


def _dict_key(pool: type, index: StagedValue) -> FieldKey:
    if not isinstance(index.layout, ConstantLayout) or type(index.layout.value) not in (str, int):
        raise NotSpeculable("a key of a dict other than an int or a constant string has no graph")
    return FieldKey(pool, index.layout.value)


def _choose_key(
    staging: Staging,
    pool: type,
    index: StagedValue,
    on_key: Callable[[FieldKey], StagedValue],
    on_other_key: Callable[[Any], StagedValue | None],
) -> StagedValue:
    """Apply `on_key` to the key of a dict. A computed int is compared with each int that is a key of a dict of the
    pool; for another one, `on_other_key` has the result, unless it asserts that there is none. It gets whether the key
    is one of those."""
    if isinstance(index.layout, ConstantLayout) or number_kind(index.layout) not in ("i", "b"):
        return on_key(_dict_key(pool, index))
    number, keys = arithmetic.as_kind(staging, index, "i"), staging.int_keys(pool)
    are_equal = [staging.emit("equal", number, key.name) for key in keys]
    otherwise = on_other_key(reduce(partial(staging.emit, "logical_or"), are_equal) if keys else False)

    def choose_from(position: int) -> StagedValue:
        if position == len(keys) - (otherwise is None):
            return on_key(keys[position]) if otherwise is None else otherwise
        return staging.branch(are_equal[position], lambda: on_key(keys[position]), lambda: choose_from(position + 1))

    return choose_from(0)


def read_item(staging: Staging, pool: type, owner: StagedValue, index: StagedValue, node: ast.AST) -> StagedValue:
    """`owner[index]`."""
    if issubclass(pool, ListPool):
        return read_cell(staging, pool, owner, _position(staging, pool, owner, index, node))
    if issubclass(pool, DictPool):

        def check(is_key: Any) -> None:
            staging.check(is_key, node, "the dict has the key", "Python raises KeyError where not", raises=KeyError)

        return _choose_key(staging, pool, index, lambda key: staging.read_row(key, owner, node), check)
    raise NotSpeculable(f"an item of {with_article(class_name(pool))} has no graph")


def write_item(
    staging: Staging, pool: type, owner: StagedValue, index: StagedValue, value: StagedValue, node: ast.AST
) -> None:
    """`owner[index] = value`."""
    if issubclass(pool, ListPool):
        position = _position(staging, pool, owner, index, node)
        cell = _cell(staging, pool, owner, position)
        staging.write_heap(FieldKey(pool, ITEMS), value, node, lambda: cell)
    elif issubclass(pool, DictPool):

        def write(key: FieldKey) -> StagedValue:
            may_add = MISSING in options_of(staging.layout_of_key(key))
            if may_add and FieldKey(pool, KEYS) in staging.requirements.fields:
                raise NotSpeculable("a dict that may get a key, and whose keys are read, has no graph")
            staging.write_heap(key, value, node, lambda: staging.index_in(key, owner))
            return NONE_VALUE

        def check_is_old(is_key: Any) -> None:
            staging.check(is_key, node, "the key is one of earlier calls", "another one needs a field of its own")

        _choose_key(staging, pool, index, write, check_is_old)
    else:
        raise NotSpeculable(f"an item of {with_article(class_name(pool))} is assigned")


def _write_length(staging: Staging, pool: type, owner: StagedValue, count: Any, node: ast.AST) -> None:
    staging.write_heap(FieldKey(pool, LENGTH), staging.number("i", count), node, lambda: owner.leaves[0])


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
    _write_length(staging, pool, owner, staging.emit("add", count, 1), node)
    return NONE_VALUE


def _pop(staging: Staging, pool: type, owner: StagedValue, values: Sequence[StagedValue], node: ast.AST) -> StagedValue:
    if values:
        raise NotSpeculable("pop() of an item other than the last has no graph")
    position = _position(staging, pool, owner, staging.constant(-1), node)
    value = read_cell(staging, pool, owner, position)
    _write_length(staging, pool, owner, position, node)
    return value


def _clear(
    staging: Staging, pool: type, owner: StagedValue, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    _write_length(staging, pool, owner, 0, node)
    return NONE_VALUE


def new_list(staging: Staging, items: Sequence[StagedValue], node: ast.expr) -> StagedValue:
    """A new list of these items. All lists that one expression of the source creates share a pool."""
    pool = staging.pool_of_site(list, node)
    value = staging.allocate(pool, node)
    for item in items:
        _append(staging, pool, value, [item], node)
    return value


def new_dict(staging: Staging, items: Sequence[tuple[StagedValue, StagedValue]], node: ast.expr) -> StagedValue:
    """A new dict of these items, whose keys are constant strings or ints."""
    pool = staging.pool_of_site(dict, node)
    keys = [_dict_key(pool, key) for key, _ in items]
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


METHODS: dict[str, tuple[int, Callable[..., StagedValue]]] = {
    "append": (1, _append),
    "pop": (0, _pop),
    "clear": (0, _clear),
}
"""The methods of lists that a graph may call, each with its number of arguments."""
LIBRARY: dict[tuple[str, int], Callable[..., Any]] = {
    ("extend", 1): library.extend,
    ("insert", 2): library.insert,
    ("pop", 1): library.pop,
    ("index", 1): library.find,
    ("count", 1): library.count,
    ("copy", 0): library.copy,
    ("reverse", 0): library.reverse,
}
"""More methods, by name and number of arguments, each with its implementation in Python."""


def call_method(
    staging: Staging, pool: type, owner: StagedValue, name: str, values: Sequence[StagedValue], node: ast.AST
) -> StagedValue:
    """`owner.name(*values)`."""
    if issubclass(pool, ListPool) and (name, len(values)) in LIBRARY:
        return staging.call_library(LIBRARY[name, len(values)], [owner, *values])
    if issubclass(pool, DictPool) and name == "get" and len(values) in (1, 2):
        has_key = staging.truth(contains_key(staging, pool, owner, values[0]), node)
        default = values[1] if len(values) == 2 else NONE_VALUE
        return staging.branch(has_key, lambda: read_item(staging, pool, owner, values[0], node), lambda: default)
    if not issubclass(pool, ListPool) or name not in METHODS or len(values) != METHODS[name][0]:
        raise NotSpeculable(
            f"method {name} of {with_article(class_name(pool))} with {len(values)} arguments has no graph"
        )
    return METHODS[name][1](staging, pool, owner, values, node)


def contains_key(staging: Staging, pool: type, owner: StagedValue, index: StagedValue) -> StagedValue:
    """Whether a dict has a key."""
    if not issubclass(pool, DictPool):
        raise NotSpeculable(f"`in` {with_article(class_name(pool))} has no graph")

    def has(key: FieldKey) -> StagedValue:
        layout = staging.layout_of_key(key)
        if not isinstance(layout, UnionLayout) or MISSING not in layout.options:
            return staging.constant(layout != MISSING)
        option = staging.emit("take", staging.leaves_of(key)[0], staging.index_in(key, owner), axis=0)
        return staging.number("b", staging.emit("not_equal", option, layout.options.index(MISSING)))

    return _choose_key(staging, pool, index, has, lambda _: staging.constant(False))


@dataclass(frozen=True)
class Iteration:
    """An iteration by position, from 0: whether there is an item, and the item."""

    has_item: Callable[[Any], Any]
    item: Callable[[Any], StagedValue]


def iterate_list(staging: Staging, owner: StagedValue, node: ast.AST) -> Iteration:
    """The iteration of a list. As in Python, its length is read before each item."""

    def has_item(position: Any) -> Any:
        def is_before_end(pool: type, instance: StagedValue) -> StagedValue:
            return staging.number("b", staging.emit("less", position, length(staging, pool, instance)))

        return staging.for_each_class(owner, node, is_before_end).leaves[0]

    def item(position: Any) -> StagedValue:
        return staging.for_each_class(owner, node, lambda pool, instance: read_cell(staging, pool, instance, position))

    return Iteration(has_item, item)


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
