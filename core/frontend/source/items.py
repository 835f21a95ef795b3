"""Items: lists, tuples, dicts and ranges of known length, indexed by symbolic values.

The items become arrays, one for each of their leaves, from which the program takes one element; an item that is
assigned is chosen place by place. So all items must have one structure, and leaves of one type, up to Python's
conversion of numbers.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ... import dtypes
from ...errors import Invalid, describe_class
from ...types import HandleType
from ..trace.captures import read_variable
from ..trace.choice import Choice
from ..trace.mutable_arrays import is_basic_key
from ..trace.numbers import DTYPES, higher_kind, number_kind, to_kind
from ..trace.program_builder import to_operand
from ..trace.python_operations import perform
from ..trace.source_location import user_location
from ..trace.stacked_items import DICT_CLASSES, TracedSet, has_stacked_entries, has_stacked_items
from ..trace.symbol import Symbol, array_namespace
from ..trace.text import TEXTS
from .array_writes import change_known_array, set_elements
from .choices import unify_options
from .nested_lists import (
    CALL_ON_ORIGIN,
    CHANGEABLE,
    ItemOrigin,
    are_different_places,
    are_same,
    contents_of,
    copy_of,
    find_taken_item,
    former_items,
    has_fixed_place,
    has_shared_lists,
    is_choice,
    is_taken_from,
    is_valid,
    item_origin,
    items_of,
    note_assigned_list,
    note_assigned_origin,
    note_list_choice,
    note_options,
    note_outdated,
    note_taken_again,
    parallel_parts,
    reachable_origins,
    valid_origins,
    was_taken_from,
)
from .open_lists import (
    DifferentItems,
    as_position,
    assign_open_item,
    assign_open_slice,
    delete_open_item,
    delete_open_slice,
    get_open_item,
    has_values_as_keys,
    item_count,
    pad_lists,
    rebuild_item,
    sort_open_items,
    stack_items,
    take_item,
    unify_structures,
    with_lengths,
)
from .raising import located_exception, stage_assertion
from .staging import stage_branch
from .state import CONTAINERS, ItemsPlace, Variables, record_write
from .tables import find_known_key, is_open_table, is_symbolic_key, may_grow, set_entry, stack_entries, take_entry
from .trees import (
    is_array,
    is_one_of_several,
    is_rebuilt,
    is_symbolic,
    note_copied_arrays,
    note_rebuilt,
    split,
    static_objects,
)
from .writes import (
    announce_items,
    announce_items_in_place,
    is_reordered,
    note_in_place,
    note_row_write,
    replace_items,
)
from .writes import delete_item as delete_known_item
from .writes import set_item as set_known_item

MAX_ASSIGNED_ITEMS = 256
"""The most items of a list that a symbolic index may assign to: each is a node of the program."""


def is_symbolic_index(index: Any) -> bool:
    """Whether an index, or a part of it, is known only when the program runs."""
    if type(index) in (tuple, list):
        return any(map(is_symbolic_index, index))
    if type(index) is slice:
        return any(is_symbolic(read_variable(part)) for part in (index.start, index.stop, index.step))
    return is_symbolic(read_variable(index))


def get_item(container: Any, index: Any) -> Any:
    """`container[index]`, where the index is symbolic. Raises Invalid (F4) where the items have different structures or
    types, and for a string."""
    container, index = read_variable(container), read_variable(index)
    if type(container) is deque:
        container = list(container)
    if has_stacked_items(container) or (type(container) in (list, tuple) and type(index) is slice):
        return get_open_item(container, index)
    if isinstance(container, Counter):
        return get_or_default(container, index, 0)
    if isinstance(container, dict):
        position, is_there = find_key(container, index)
        if hasattr(type(container), "__missing__"):
            _refuse(
                f"{describe_class(container)} has a symbolic key",
                "it may create an item; use x.get(key, 0)",
            )
        if is_there is False:
            raise located_exception(KeyError(index))
        stage_assertion(is_there, located_exception(KeyError(index)))
        values = list(container.values())
        are_changeable = all(type(value) in CHANGEABLE for value in values)
        return _select_list(values, position, index) if are_changeable else select(values, position)
    if isinstance(container, np.ndarray):
        part = array_namespace().asarray(container)[index]
        if is_array(part) and is_basic_key(index):  # it shares its elements with the array
            note_copied_arrays([container])
        return part
    if isinstance(container, range):
        position = as_position(index)
        return container.start + array_namespace().asarray(np.arange(len(container)))[position] * container.step
    if type(container) is list and is_symbolic(index) and any(type(item) in CHANGEABLE for item in container):
        return _select_list(container, index)
    if isinstance(container, list | tuple | str) and is_symbolic(index):
        return select(container, index)
    if isinstance(container, list | tuple | str) and type(index) is not list:
        _refuse(
            f"{describe_class(container)} is sliced by a symbolic value",
            "tl.asarray(x)[a:b] takes a part of an array",
        )
    return perform(operator.getitem, container, index)


def select(items: Sequence[Any], index: Any) -> Any:
    """The item of this number, by arrays of the leaves of all. An index out of range is a trap: an IndexError."""
    index = as_position(index)
    if not items:
        raise located_exception(IndexError("list index out of range"))
    try:
        trees = pad_lists([split(item) for item in unify_options(list(map(read_variable, items)))], 0)
    except DifferentItems:
        _refuse("items of different structures are indexed by a symbolic value", "compare the index: if i == 0: ...")
    columns = [_column(leaves) for leaves in zip(*(tree.leaves for tree in trees), strict=True)]
    if not columns:  # equal objects
        columns = [array_namespace().zeros(len(items), dtype=dtypes.bool)]
        columns[0][index]
        return items[0]
    return rebuild_item(trees[0].treedef, [column[index] for column in columns])


def _select_list(container: list[Any], index: Any, key: Any = None) -> Any:
    """`container[index]`, an item of a list of lists, dicts or sets, or of the values of a dict, where `key` is its
    key: a change of the item also changes the container there."""
    taken_item = find_taken_item(container, index)
    if taken_item is not None:
        return taken_item
    item = _select_items(container, index)
    if any(item is option for option in container):  # all are empty
        item = note_rebuilt(copy_of(item))
    if type(item) in CHANGEABLE and is_rebuilt(item):
        note_options(item, container, index, key)
        note_list_choice(item, _position(container, index), container)
    return item


def _select_items(options: Sequence[Any], index: Any) -> Any:
    """A copy of the option with this number. Options whose lengths are known only at run time are no rows of an array:
    the program compares the number with one after the other."""
    keys = [list(option) for option in options if type(option) in DICT_CLASSES]
    if not any(map(_has_open_length, options)) and all(key == keys[0] for key in keys):
        return select(options, index)
    position = _position(options, index)

    def choose_from(number: int) -> Any:
        option = options[number]
        if number == len(options) - 1:
            return copy_of(option)
        return _branch(position == number, lambda: copy_of(option), lambda: choose_from(number + 1))

    return choose_from(0)


def _has_open_length(option: Any) -> bool:
    is_open_list = has_stacked_items(option) and type(item_count(option)) is not int
    return is_open_list or type(option) is TracedSet or has_stacked_entries(option)


def call_on_origin(origin: ItemOrigin, call: Callable[[list[Any]], Any]) -> Any:
    """What a method of a list returns that changes it where it comes from: an item in an array, or the one that is
    chosen of several lists."""
    if is_choice(origin):
        return call_on_chosen(origin, call)
    changed = copy_of(origin.item)
    result = call(changed)
    _change_list(origin.item, changed)
    if any(isinstance(getattr(item, "columns", item), CONTAINERS) for item in items_of(changed)):
        note_reordered(origin.item)
    return result


def call_on_chosen(origin: ItemOrigin, call: Callable[[list[Any]], Any]) -> Any:
    """What a method of a list returns that is one of several: it changes the one that is chosen."""
    options = origin.container
    position = _position(options, origin.index)

    def call_from(number: int) -> Any:
        if number == len(options) - 1:
            return call(options[number])
        return _branch(position == number, lambda: call(options[number]), lambda: call_from(number + 1))

    return call_from(0)


def _position(container: Sequence[Any], index: Any) -> Any:
    """The position of an item, from an index that may be negative. One out of range is a trap: an IndexError."""
    return array_namespace().asarray(np.arange(len(container)))[as_position(index)]


def _column(leaves: Sequence[Any]) -> Any:
    """An array of these leaves."""
    kinds = [number_kind(leaf) for leaf in leaves]
    if None not in kinds:
        kind = higher_kind(*(kind for kind in kinds if kind is not None))
        leaves = [to_kind(leaf, kind) for leaf in leaves]
        if not any(map(is_symbolic, leaves)):
            return array_namespace().asarray(np.array(leaves, DTYPES[kind].numpy))
        return array_namespace().stack(leaves)
    types = {to_operand(leaf).type for leaf in leaves}
    if len(types) > 1:
        _refuse("items of different types are indexed by a symbolic value", "give them one dtype and shape")
    return array_namespace().stack(list(leaves))


def find_key(table: dict[Any, Any], key: Any) -> tuple[Any, Any]:
    """The position of a symbolic key among those of a dict, and whether it is there; 0 where it is not."""
    key = read_variable(key)
    if isinstance(key, (tuple, Choice, *TEXTS)) and table and has_values_as_keys(table):
        return find_known_key(table, key)
    if not is_symbolic(key) or number_kind(key) is None:
        _refuse("a dict has a symbolic key that is not a number", "use an array, or nested dicts")
    namespace = array_namespace()
    positions = [position for position, entry in enumerate(table) if type(entry) in (bool, int, float)]
    if not positions:
        return 0, False
    keys = [entry for entry in table if type(entry) in (bool, int, float)]
    kind = higher_kind("i", *(number_kind(operand) or "i" for operand in (key, *keys)))
    is_equal = namespace.equal(namespace.asarray(np.array(keys, DTYPES[kind].numpy)), to_kind(key, kind))
    number = namespace.argmax(namespace.astype(is_equal, dtypes.int64))
    if positions != list(range(len(table))):
        number = namespace.asarray(np.array(positions))[number]
    return number, namespace.any(is_equal)


def get_or_default(table: dict[Any, Any], key: Any, default: Any = None) -> Any:
    """`table.get(key, default)`, with a symbolic key."""
    position, is_there = find_key(table, key)
    if is_there is False:
        return default
    return _choose(is_there, select(list(table.values()), position), default)


def set_item(value: Any, container: Any, key: Any) -> None:
    """`container[index] = value`; where the index is symbolic, each item may be the one. A symbolic key that is not
    among those of a dict is a trap: a NotImplementedError. Raises Invalid (F4) for a long list and an empty dict."""
    if is_taken_from(value, container, key):  # as `x[i] += [y]` assigns it
        return
    if isinstance(container, Symbol) and not isinstance(container.dtype, HandleType):
        set_elements(container, key, value)
        return
    if isinstance(container, np.ndarray):
        change_known_array(container, key, value)
    origin = item_origin(container)
    if origin is not None and is_choice(origin) and not (type(container) is list and _have_one_count(origin.container)):
        call_on_chosen(origin, lambda option: set_item(value, option, key))
        return
    if origin is not None:
        changed = copy_of(container)
        set_item(value, changed, key)
        _change_list(container, changed)
        if isinstance(value, CONTAINERS):
            note_reordered(container)
            if not is_choice(origin):
                note_assigned_origin(container, key, value)
        return
    if has_stacked_items(container) and type(key) is not slice:
        note_assigned_list(container, key, value)
        announce_items(container)
        item = copy_of(value) if was_taken_from(value, container) else value
        replace_items(container, assign_open_item(list(container), key, item))
        note_assigned_origin(container, key, value)
        return
    is_searched = isinstance(container, dict) and (
        is_open_table(container) or (is_symbolic_key(key) and may_grow(container, key) and _can_stack(container, value))
    )
    if is_searched:
        set_entry(container, key, value)
        return
    if type(container) is list and type(key) is slice and _is_open_slice(container, key, value):
        announce_items(container)
        replace_items(container, assign_open_slice(list(container), key, list(value)))
        return
    if not is_symbolic_index(key):
        set_known_item(value, container, key)
        return
    index = read_variable(key)
    if isinstance(container, dict) and not container:
        _refuse("an item of a dict is assigned at a symbolic key", "give the dict its keys before, or use a list")
    elif isinstance(container, dict):
        position, is_there = find_key(container, index)
        words = "an item of a dict is assigned at a symbolic key that is not among its keys: the dict would grow"
        stage_assertion(is_there, located_exception(NotImplementedError(words)))
        keys = list(container)
    elif isinstance(container, list) and is_symbolic(index):
        keys = list(range(len(container)))
        if not keys:
            raise located_exception(IndexError("list assignment index out of range"))
        position = _position(container, index)
    else:
        set_known_item(value, container, key)
        return
    _check_count(keys)
    for number, known_key in enumerate(keys):
        set_known_item(_choose(position == number, value, container[known_key]), container, known_key)


def delete_item(container: Any, key: Any) -> None:
    """`del container[key]`, also of a list whose items are known only at run time, or at a symbolic index."""
    origin = item_origin(container) if type(container) in CHANGEABLE else None
    if origin is not None:
        call_on_origin(origin, lambda option: delete_item(option, key))
        return
    is_open = type(container) in (list, deque) and (has_stacked_items(container) or is_symbolic_index(key))
    if is_open and type(key) is slice:
        announce_items(container)
        replace_items(container, delete_open_slice(list(container), read_variable(key)))
    elif is_open:
        take_out(container, key)
    else:
        delete_known_item(container, key)


def take_out(container: Any, index: Any) -> Any:
    """`container.pop(index)`, of a list or deque whose items are known only at run time, or at a symbolic index."""
    announce_items(container)
    items = list(container)
    if not items:
        raise located_exception(IndexError("pop from empty list"))
    if has_stacked_items(items) or not all(type(item) is list for item in items):
        item, rest = delete_open_item(items, index)
    else:
        _check_count(items)
        item, position = _select_list(items, read_variable(index)), _position(items, read_variable(index))
        pairs = enumerate(itertools.pairwise(items))
        rest = [_choose(position > number, before, after) for number, (before, after) in pairs]
    replace_items(container, rest)
    return item


def _check_count(items: Sequence[Any]) -> None:
    if len(items) > MAX_ASSIGNED_ITEMS:
        _refuse(
            f"one of {len(items)} items is assigned or taken out at a symbolic index",
            f"up to {MAX_ASSIGNED_ITEMS} are chosen one by one; use an array, and x = tl.scatter(x, value, i)",
        )


def _is_open_slice(container: list[Any], index: slice, values: Any) -> bool:
    """Whether the items or bounds of a slice of a list, or the items assigned to it, are known only at run time."""
    return is_symbolic_index(index) or has_stacked_items(container) or has_stacked_items(values)


@contextmanager
def refresh_taken_items(*, in_arrays: bool = False) -> Iterator[None]:
    """Read lists again after the block, if it changes one of the lists that they may be. With `in_arrays`, also lists
    in lists of symbolic length, whose items the block does not move."""
    before = [(origin, contents_of(origin.container)) for origin in valid_origins() if in_arrays or is_choice(origin)]
    yield
    for origin, contents in before:
        if not are_same(contents_of(origin.container), contents):
            _replace_items(origin.item, _take_again(origin), origin)


def change_origin(origin: ItemOrigin, call: Callable[[Any], Any]) -> Any:
    """What `call_on_origin` returns; other names of what it changes get the new items."""
    with refresh_taken_items():
        return call_on_origin(origin, call)


CALL_ON_ORIGIN.cell_contents = change_origin


def _change_list(row: list[Any], items: list[Any]) -> None:
    """Give a list these items, also where it comes from."""
    origin = item_origin(row)
    if origin is None:
        announce_items_in_place(row)
        ItemsPlace(row).write(items)
        return
    if not is_choice(origin):
        _write_in_array(items, origin)
    else:
        position = _position(origin.container, origin.index)
        for number, option in enumerate(origin.container):
            _change_list(option, _choose(position == number, items, list(option)))
    _replace_items(row, items, origin)


def _have_one_count(containers: Sequence[Any]) -> bool:
    """Whether lists are known to have as many items."""
    count, *counts = map(item_count, containers)
    return all(type(other_count) is int and other_count == count for other_count in (count, *counts))


def _write_in_array(items: Any, origin: ItemOrigin) -> None:
    """Give an item of a list with stacked items these items, and so other lists that may be this one. A list that was
    taken from there before items moved may be this one, too: it must not be read any more."""
    container, index = origin.container, place_of(origin)
    if has_shared_lists(container):
        kind = "set" if type(items) is TracedSet else "dict" if isinstance(items, dict) else "list"
        new = "each[:]" if kind == "list" else f"{kind}(each)"
        is_table = isinstance(container, dict)
        copies = f"{{k: {new} for k, each in x.items()}}" if is_table else f"[{new} for each in x]"
        _refuse(
            f"a {kind} is changed that may be an item of two lists, or be twice in one, whose length is known only at "
            "run time",
            f"copy the {kind}s in it: x = {copies}",
        )
    places = [place for place in reachable_origins() if place.container is container and place.item is not origin.item]
    others = list(filter(is_valid, places))
    aliases = origin.region.specialization.aliases
    was_reordered, count = is_reordered(container), aliases.reordering_counts[id(container)]

    def write() -> None:
        written = copy_of(items)
        set_item(written, container, index)
        aliases.item_origins.pop(id(written), None)  # code under trace has no such list

    if origin.default is None:
        write()
    else:
        stack_entries(container)
        _branch(origin.condition, write, lambda: None)
        aliases.renamed_lists[id(origin.default)] = origin.default
    if not was_reordered:
        note_in_place(container)
    aliases.reordering_counts[id(container)] = count
    note_row_write(container)
    current = {id(place.item) for place in (origin, *others)}
    copied = [item for item in former_items(container) if id(item) not in current and is_one_of_several(item)]
    note_outdated([*copied, *(place.item for place in places if id(place.item) not in current)])
    for other in others:
        is_elsewhere = are_different_places(other.index, origin.index)
        _replace_items(other.item, other.item if is_elsewhere else _take_again(other), other)


def _replace_items(row: list[Any], items: list[Any], origin: ItemOrigin) -> None:
    """Give a list the items that it has where it comes from, and so the lists that were taken from it."""
    inner = [inner_origin for inner_origin in valid_origins() if inner_origin.container is row]
    if items is not row:
        items = _keep_parts(row, items, origin)
        record_write(ItemsPlace(row))
        ItemsPlace(row).write(items)
    note_taken_again(origin)
    for inner_origin in inner:
        _replace_items(inner_origin.item, _take_again(inner_origin), inner_origin)


def _keep_parts(row: Any, items: Any, origin: ItemOrigin) -> Any:
    """New items of one of several lists or dicts. A list in it that is one of those at this place stays the object that
    it is, with its new items."""
    if not is_choice(origin) or type(row) is TracedSet:
        return items
    have_same_keys = list(row) == list(items) if isinstance(row, dict) else len(row) == len(items)
    if not have_same_keys:
        return items
    parts = {id(part): group for part, group in parallel_parts(row, origin.container)}
    kept = copy_of(items)
    for key in row if isinstance(row, dict) else range(len(row)):
        own = item_origin(row[key]) if type(row[key]) in CHANGEABLE else None
        if own is not None and is_choice(own) and are_same(own.container, parts.get(id(row[key]), ())):
            _replace_items(row[key], items[key], own)
            kept[key] = row[key]
    return kept


def _take_again(origin: ItemOrigin) -> Any:
    """The items that a list, dict or set has now where it comes from."""
    if is_choice(origin):
        return copy_of(_select_items(origin.container, origin.index))
    if isinstance(origin.container, dict) and origin.default is not None:
        taken_item = _branch(
            origin.condition, lambda: take_entry(origin.container, origin.index), lambda: copy_of(origin.item)
        )
        return copy_of(taken_item)
    if isinstance(origin.container, dict):
        return copy_of(take_entry(origin.container, origin.index))
    return copy_of(take_item(stack_items(origin.container), place_of(origin)))


def place_of(origin: ItemOrigin) -> Any:
    """The index of an item now: one that is negative counts from the end that its list had when the item was taken."""
    if has_fixed_place(origin):
        return origin.index
    return array_namespace().where(origin.index < 0, origin.index + item_count(origin.items), origin.index)


def note_reordered(row: Any) -> None:
    """Note for the lists that a row comes from that lists in it are moved or replaced."""
    origin = item_origin(row)
    while origin is not None:
        announce_items(origin.container)
        origin = item_origin(origin.container)


def _can_stack(table: dict[Any, Any], value: Any) -> bool:
    """Whether arrays can hold the values of a dict, and one more."""
    values = [*table.values(), value]
    try:
        unify_structures(values)
    except (DifferentItems, Invalid):
        return False
    return all(
        split(with_lengths(value)).leaves and not static_objects(value) and type(value) is not Choice
        for value in values
    )


def _branch(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    return stage_branch(test, then, otherwise, Variables(lambda: (), ()))


def _choose(test: Any, then: Any, otherwise: Any) -> Any:
    return _branch(test, lambda: then, lambda: otherwise)


def _refuse(what: str, hint: str) -> NoReturn:
    raise Invalid(what, rule="F4", where=user_location(), hint=hint)


def sort_items(
    is_less: Callable[[Any, Any], Any], items: Sequence[Any], keys: Sequence[Any], is_reversed: bool
) -> list[Any]:
    """`sorted` of items by these keys, some of which are symbolic: stable. Numbers that are their own keys are sorted
    as an array; else neighbours change places, as often as that may be needed."""
    if has_stacked_items(items):
        return sort_open_items(items, keys, is_reversed)
    namespace = array_namespace()
    if all(key is item for key, item in zip(keys, items, strict=True)) and all(number_kind(key) for key in keys):
        column = _column(keys)
        is_bool = column.dtype is dtypes.bool
        ordered = namespace.sort(namespace.astype(column, dtypes.int64) if is_bool else column, descending=is_reversed)
        return [ordered[k] != 0 if is_bool else ordered[k] for k in range(len(items))]
    are_changeable = len(items) > 1 and all(type(item) in CHANGEABLE and type(item) is type(items[0]) for item in items)
    if are_changeable:
        own_keys = [copy_of(key) if type(key) in CHANGEABLE else key for key in keys]  # branches choose between them
        positions = sort_items(is_less, range(len(items)), own_keys, is_reversed)
        return [
            _select_list(list(items), position) if is_symbolic(position) else items[position] for position in positions
        ]
    pairs = [(key, item) for key, item in zip(keys, items, strict=True)]
    for end in range(len(pairs) - 1, 0, -1):
        for k in range(end):
            first, second = pairs[k], pairs[k + 1]
            is_wrong = is_less(first[0], second[0]) if is_reversed else is_less(second[0], first[0])
            if is_symbolic(is_wrong):
                pairs[k], pairs[k + 1] = _choose(is_wrong, (second, first), (first, second))
            elif is_wrong:
                pairs[k], pairs[k + 1] = second, first
    return [item for _, item in pairs]
