"""Lists whose length is known only at run time.

Such a list is a Python list with `StackedItems` in it: arrays of the leaves of its items, with one row for each item.
So all items have one structure, and leaves of one dtype and shape, up to Python's conversion of numbers. A list becomes
one where a symbolic branch or loop changes its length, and where Python makes one from a symbolic number of items. The
list stays the same object, and everything that refers to it sees its new items.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import groupby
from types import CellType
from typing import Any, NoReturn

import numpy as np

from ... import dtypes
from ...errors import Invalid
from ...types import Type
from ..trace.captures import read_variable
from ..trace.choice import Choice
from ..trace.mutable_arrays import has_copied_arrays
from ..trace.numbers import DTYPES, higher_kind, number_kind, to_kind
from ..trace.program_builder import to_operand, unwrap_weak
from ..trace.python_operations import fail_as_python, perform
from ..trace.pytree import LEAF, TreeDef, count_item_axes, trim_lists, unflatten
from ..trace.source_location import user_location
from ..trace.stacked_items import (
    DICT_CLASSES,
    ENTRIES,
    REPEAT_ITEMS,
    TRIM_ROWS,
    StackedItems,
    TracedSet,
    dict_like,
    has_stacked_entries,
    has_stacked_items,
    is_stacked_array,
)
from ..trace.symbol import Symbol, array_namespace
from ..trace.text import AS_CHARACTERS, TEXTS, CodePoints, Text, is_text
from . import library
from .convert import convert
from .nested_lists import CHANGEABLE, find_taken_item, note_origin, note_shared_lists
from .raising import located_exception, stage_assertion
from .state import register_created
from .trees import Tree, note_copied, note_copied_records, request_records, split, static_objects

UNIFY_CHOICES: CellType = CellType()
"""`unify_options` of `choices.py`, which sets it."""
Scope = Callable[[], AbstractContextManager[Any]]


class DifferentItems(Exception):
    """Values cannot be items of one list of symbolic length, or such lists be one value."""


def item_count(container: Any) -> Any:
    """The length of a list or tuple, symbolic if it has stacked items."""
    count: Any = sum(type(item) is not StackedItems for item in container)
    for item in container:
        if type(item) is StackedItems:
            size = _columns(item)[0].shape[0]
            count = size if type(count) is int and count == 0 else count + size
    return read_variable(count)


def _columns(stacked: StackedItems) -> list[Any]:
    return split(stacked.columns).leaves


# Structures


def unify_structures(values: Sequence[Any], scopes: Sequence[Scope] | None = None, depth: int = 0) -> list[Any]:
    """These values with one structure: lists of different lengths have their items stacked, each within its scope.
    The leaves are arrays with `depth` axes of items of the lists around. Raises DifferentItems where that cannot be."""
    scopes = scopes or [nullcontext] * len(values)
    trees = [split(value) for value in values]
    if have_one_structure(trees):
        return list(values)
    kinds = {type(value) for value in values}
    if len(kinds) > 1 and not depth and any(isinstance(value, CodePoints) for value in values):
        values = to_code_points(values, scopes)
        kinds = {type(value) for value in values}
    have_code_points = all(issubclass(kind, CodePoints) for kind in kinds)
    if depth and not have_code_points and any(kind is Choice or issubclass(kind, TEXTS) for kind in kinds):
        return UNIFY_CHOICES.cell_contents(values, scopes, depth=depth)  # type: ignore[no-any-return]
    if len(kinds) > 1:
        raise DifferentItems
    (kind,) = kinds
    if issubclass(kind, CodePoints):
        return [kind(codes) for codes in unify_structures([value.codes for value in values], scopes, depth)]
    if kind is list:
        return _unify_lists(values, scopes, depth)
    if kind is StackedItems:
        return _unify_stacked(values, scopes, depth)
    if kind is TracedSet or (
        kind in DICT_CLASSES and any(has_stacked_entries(v) or list(v) != list(values[0]) for v in values)
    ):
        return _unify_tables(values, scopes, depth)
    keys = _keys(values[0])
    if keys is None or any(_keys(value) != keys for value in values):
        raise DifferentItems
    if kind in DICT_CLASSES and trees[0].treedef.container is not kind:  # its keys are neither strings nor integers
        return _unify_tables(values, scopes, depth)
    parts = [unify_structures([value[key] for value in values], scopes, depth) for key in keys]
    if kind in DICT_CLASSES:
        rows = [{key: part[k] for key, part in zip(keys, parts, strict=True)} for k in range(len(values))]
        return [dict_like(value, row) for value, row in zip(values, rows, strict=True)]
    return [tuple(part[k] for part in parts) for k in range(len(values))]


def to_code_points(values: Sequence[Any], scopes: Sequence[Scope]) -> list[Any]:
    """Strings as their code points, each within its scope. Raises DifferentItems for a value that is no string, and for
    a string with a float or an array in it."""
    texts = list[Any]()
    for value, scope in zip(values, scopes, strict=True):
        if not is_text(value):
            raise DifferentItems
        with scope():
            try:
                texts.append(AS_CHARACTERS.cell_contents(value))
            except Invalid:
                raise DifferentItems from None
    return texts


def _keys(value: Any) -> list[Any] | None:
    return list(range(len(value))) if type(value) is tuple else list(value) if type(value) in DICT_CLASSES else None


def _unify_lists(values: Sequence[list[Any]], scopes: Sequence[Scope], depth: int) -> list[Any]:
    count = len(values[0])
    if count and all(len(value) == count and not has_stacked_items(value) for value in values):
        try:
            parts = [unify_structures([value[k] for value in values], scopes, depth) for k in range(count)]
            return [[part[k] for part in parts] for k in range(len(values))]
        except DifferentItems:
            pass
    stacked: list[StackedItems | None] = []
    for value, scope in zip(values, scopes, strict=True):
        with scope():
            stacked.append(stack_items(value, depth) if value else None)
    model = next((column for column in stacked if column is not None), None)
    if model is None or (depth and any(column is None for column in stacked)):
        raise DifferentItems
    columns = [empty_items(model) if column is None else column for column in stacked]
    return [[column] for column in unify_structures(columns, scopes, depth)]


def _unify_stacked(values: Sequence[StackedItems], scopes: Sequence[Scope], depth: int) -> list[StackedItems]:
    """Stacked items with one structure; if some have lengths, all have them."""
    model = next(value.columns for value in values if _has_columns(value))
    columns, lengths = list[Any](), list[Any]()
    for value, scope in zip(values, scopes, strict=True):
        with scope():
            own = value.columns if _has_columns(value) else _empty_columns(model, value.lengths, depth)
            columns.append(own)
            lengths.append(_full_lengths(split(own).leaves[0], depth) if value.lengths is None else value.lengths)
    if all(value.lengths is None for value in values):
        lengths = [None] * len(values)
    return list(map(StackedItems, unify_structures(columns, scopes, depth + 1), lengths))


def _has_columns(stacked: StackedItems) -> bool:
    """Whether lists have not been empty all the time."""
    return type(stacked.columns) is not tuple or bool(stacked.columns)


def _empty_columns(model: Any, lengths: Any, depth: int) -> Any:
    """Columns like these, of lists that are all empty: as many as there are lengths."""
    tree, sizes = split(model), (*lengths.shape, 0) if depth else (0,)
    leaves = list[Any]()
    for leaf in tree.leaves:
        type_ = to_operand(unwrap_weak(leaf)).type
        if type_.dtype.kind not in "biuf" or type_.shape is None:
            raise DifferentItems
        inner = [size or 0 for size in type_.shape[depth + 1 :]]
        leaves.append(array_namespace().zeros((*sizes, *inner), dtype=type_.dtype))
    return unflatten(tree.treedef, leaves)


def _full_lengths(column: Any, depth: int) -> Any:
    """The lengths of lists that all have as many items: those along this axis of a column."""
    sizes = column.shape
    return array_namespace().broadcast_to(sizes[depth], sizes[:depth]) if depth else sizes[0]


def pad_lists(trees: Sequence[Tree], depth: int) -> list[Tree]:
    """These pieces of one structure, with equal sizes along the axes of the lists in them: shorter ones are filled up
    with zeros, and have lengths. The leaves have `depth` axes of the lists around."""
    structure, leaves = trees[0].treedef, [list[Any]() for _ in trees]
    if structure.container is None:
        return list(trees)
    is_stacked, children, position = structure.container is StackedItems, [], 0
    for key, part in structure.children:
        end = position + part.size
        parts = [Tree(tree.leaves[position:end], part) for tree in trees]
        parts = pad_lists(parts, depth + 1 if is_stacked and key == "columns" else depth)
        children.append((key, parts[0].treedef))
        for own, padded in zip(leaves, parts, strict=True):
            own += padded.leaves
        position = end
    padded_structure = replace(structure, children=tuple(children))
    if is_stacked and children[0][1].size:
        return _pad_rows([Tree(own, padded_structure) for own in leaves], depth)
    return [Tree(own, padded_structure) for own in leaves]


def _pad_rows(trees: Sequence[Tree], depth: int) -> list[Tree]:
    """Stacked items, filled up along this axis to the largest size."""
    structure, sizes = trees[0].treedef, [tree.leaves[0].shape[depth] for tree in trees]
    if all(type(size) is int and size == sizes[0] for size in sizes) or len(trees) == 1:
        return list(trees)
    has_own_lengths = len(structure.children) > 1
    if not has_own_lengths:
        structure = replace(structure, children=(*structure.children, ("lengths", LEAF)))
    is_known, namespace = all(type(size) is int for size in sizes), array_namespace()
    capacity = max(sizes) if is_known else functools.reduce(namespace.maximum, sizes)
    padded = list[Tree]()
    for tree, size in zip(trees, sizes, strict=True):
        columns, lengths = tree.leaves[:-1], tree.leaves[-1]
        if not has_own_lengths:
            columns, lengths = tree.leaves, _full_lengths(tree.leaves[0], depth)
        if not (is_known and size == capacity):
            columns = [_fill_up(column, depth, capacity - size) for column in columns]
        padded.append(Tree([*columns, lengths], structure))
    return padded


def _fill_up(column: Any, axis: int, count: Any) -> Any:
    """A column with so many zeros more along an axis."""
    namespace, sizes = array_namespace(), column.shape
    zeros = namespace.zeros((*sizes[:axis], count, *sizes[axis + 1 :]), dtype=column.dtype)
    return namespace.concat([column, zeros], axis=axis)


def have_one_structure(trees: Sequence[Tree]) -> bool:
    """Whether pieces of state have the same structure, with the keys of dicts in the same order."""
    first, *others = (tree.treedef for tree in trees)
    return all(other == first and other.has_order_of(first) for other in others)


def _unify_tables(values: Sequence[Any], scopes: Sequence[Scope], depth: int) -> list[Any]:
    """Dicts or sets with different keys, as ones whose keys are known only at run time."""
    if not all(map(has_values_as_keys, values)):
        raise DifferentItems
    if depth:
        return _unify_table_columns(values, scopes, depth)
    stacked: list[StackedItems | None] = []
    for value, scope in zip(values, scopes, strict=True):
        with scope():
            try:
                stacked.append(stack_table(value))
            except Invalid:
                raise DifferentItems from None
    model = next((entries for entries in stacked if entries is not None), None)
    kinds = [kind for value in values for kind in key_kinds(value)]
    if model is None or any(kind != kinds[0] for kind in kinds):
        raise DifferentItems
    filled_entries = [empty_items(model) if entries is None else entries for entries in stacked]
    unified = unify_structures(filled_entries, scopes, depth)
    if isinstance(values[0], TracedSet):
        return [TracedSet(stacked=stacked) for stacked in unified]
    return [dict_like(value, {ENTRIES: entries}) for value, entries in zip(values, unified, strict=True)]


def _unify_table_columns(values: Sequence[Any], scopes: Sequence[Scope], depth: int) -> list[Any]:
    """Dicts or sets that are items of lists, by columns: their entries get one structure, and lengths."""
    columns = list[StackedItems]()
    for value, scope in zip(values, scopes, strict=True):
        with scope():
            columns.append(_entry_columns(value, depth))
    unified = _unify_stacked(columns, scopes, depth)
    if isinstance(values[0], TracedSet):
        return [TracedSet(stacked=stacked) for stacked in unified]
    return [dict_like(value, {ENTRIES: entries}) for value, entries in zip(values, unified, strict=True)]


def _entry_columns(value: Any, depth: int) -> StackedItems:
    """The entries of dicts by columns, also of dicts that all have the same numbers as keys."""
    if type(value) is TracedSet and value.stacked_items is not None:
        return value.stacked_items
    if has_stacked_entries(value):
        return value[ENTRIES]  # type: ignore[no-any-return]
    tree, namespace = split(value), array_namespace()
    if not all(number_kind(key) is not None for key in value) or not tree.leaves:
        raise DifferentItems
    sizes = tree.leaves[0].shape[:depth]
    keys = namespace.broadcast_to(namespace.asarray(np.array(list(value))), (*sizes, len(value)))
    parts = pad_lists([split(part) for part in unify_structures(list(value.values()), depth=depth)], depth)
    rows = [namespace.stack(list(leaves), axis=depth) for leaves in zip(*(part.leaves for part in parts), strict=True)]
    return StackedItems((keys, unflatten(parts[0].treedef, rows)))


def has_values_as_keys(table: Any) -> bool:
    """Whether the keys of a dict, or the items of a set, are numbers, strings and tuples of these: arrays can hold
    them."""
    if has_stacked_entries(table) or (type(table) is TracedSet and table.stacked_items is not None):
        return True
    return all(map(is_value_key, table))


def is_value_key(key: Any) -> bool:
    """Whether a key is a number, a string, or a tuple of such keys."""
    if type(key) is tuple:
        return bool(key) and all(map(is_value_key, key))
    if isinstance(key, np.bool_ | np.int64 | np.float64):
        return True
    is_string = type(key) is str or is_string_choice(key) or isinstance(key, TEXTS)
    return is_string or number_kind(read_variable(key)) is not None


def is_string_choice(key: Any) -> bool:
    """Whether a value is one of several strings that are known."""
    return type(key) is Choice and all(type(option) is str for option in key.options)


def key_kinds(table: Any) -> list[Any]:
    """The kinds of numbers of the keys of a dict, or of the items of a set, nested as they are: one for all that are
    stacked."""

    def kinds(key: Any) -> Any:
        if type(key) is tuple:
            return tuple(map(kinds, key))
        if isinstance(key, (str, *TEXTS)) or is_string_choice(key):
            return str
        return None if key is None else leaf_kind(read_variable(key))

    if has_stacked_entries(table):
        return [kinds(table[ENTRIES].columns[0])] if _has_columns(table[ENTRIES]) else []
    if type(table) is TracedSet:
        content = table.content()
        if isinstance(content, StackedItems):
            return [kinds(content.columns)] if _has_columns(content) else []
        return list(map(kinds, content))
    return list(map(kinds, table))


def stack_table(table: Any) -> StackedItems | None:
    """The entries of a dict, or the items of a set, stacked; None for an empty one."""
    if type(table) is TracedSet:
        if table.stacked_items is not None:
            return table.stacked_items
        return stack_items(sorted(table, key=repr)) if len(table) else None
    if has_stacked_entries(table):
        return table[ENTRIES]  # type: ignore[no-any-return]
    return stack_items(list(table.items())) if table else None


def empty_items(model: StackedItems) -> StackedItems:
    """No items, of the structure and types of these."""
    tree = split(model.columns)
    return StackedItems(unflatten(tree.treedef, [_zeros(leaf, 0) for leaf in tree.leaves]))


def _zeros(leaf: Any, size: int | None = None) -> Any:
    return zeros_of_type(to_operand(unwrap_weak(leaf)).type, size)


def zeros_of_type(type_: Type, size: int | None = None) -> Any:
    """An array of zeros; sizes that the type leaves open are 0, and that of the first axis is `size`. Raises
    DifferentItems for a type that has no such array."""
    if type_.dtype.kind not in "biuf" or type_.shape is None:
        raise DifferentItems
    shape = [size or 0 for size in type_.shape]
    if size is not None:
        shape[0] = size
    return array_namespace().asarray(np.zeros(shape, type_.dtype.numpy))


def prototype(content: Any) -> Any:
    """A value of the structure and dtypes of a piece of state, without values of the program under trace."""
    tree = split(content)
    return unflatten(tree.treedef, [_zeros(leaf) for leaf in tree.leaves])


def open_like(content: Any, model: Any) -> Any:
    """A piece of state with the structure that it has together with `model`, and with columns of its numbers."""
    content, model = unify_structures([content, model])
    tree, model_tree = split(content), split(model)
    positions = column_positions(tree.treedef)
    leaves = [
        lift(leaf, leaf_kind(leaf), leaf_kind(opposite)) if k in positions else leaf
        for k, (leaf, opposite) in enumerate(zip(tree.leaves, model_tree.leaves, strict=True))
    ]
    return unflatten(tree.treedef, leaves)


def column_positions(treedef: TreeDef) -> frozenset[int]:
    """The positions of the leaves of a structure that are columns of stacked items."""
    return frozenset(k for k, is_column in enumerate(_walk_columns(treedef, False)) if is_column)


def _walk_columns(treedef: TreeDef, is_column: bool) -> Iterator[bool]:
    if treedef.container is None:
        yield is_column
    for _, part in treedef.children:
        yield from _walk_columns(part, is_column or treedef.container is StackedItems)


# Numbers


def leaf_kind(leaf: Any) -> str | None:
    """The kind of a number, or of the numbers of an array; None where it has none of Python's dtypes."""
    kind = number_kind(leaf)
    if kind is not None:
        return kind
    dtype = to_operand(unwrap_weak(leaf)).type.dtype
    return dtype.kind if dtype in DTYPES.values() else None


def lift(leaf: Any, *kinds: str | None) -> Any:
    """A number, or an array of numbers, as one of the highest of these kinds."""
    if None in kinds:
        return leaf
    kind = higher_kind(*(kind for kind in kinds if kind is not None))
    if number_kind(leaf) is not None:
        return to_kind(leaf, kind)
    return leaf if leaf_kind(leaf) == kind else array_namespace().astype(leaf, DTYPES[kind])


# Items


def stack_items(container: Sequence[Any], depth: int = 0) -> StackedItems:
    """All items of a list or tuple, stacked; their leaves are arrays with `depth` axes of the lists around. Raises
    Invalid (F4) where they have no common structure or dtype."""
    pieces = list[Any]()
    for is_stacked, run in groupby(container, lambda item: type(item) is StackedItems):
        part = list(run)
        pieces += [item.columns for item in part] if is_stacked else [_stack_known(part, depth)]
    if len(pieces) == 1:
        return StackedItems(pieces[0], container[0].lengths if is_stacked else None)
    if any(type(item) is StackedItems and item.lengths is not None for item in container):
        raise refuse_items()  # the items of the next piece would come after zeros
    try:
        trees = unify_columns(pieces, depth + 1)
    except DifferentItems:
        raise refuse_items() from None
    return StackedItems(join_trees(trees, depth))


def unify_columns(pieces: Sequence[Any], depth: int) -> list[Tree]:
    """Columns that can be joined, with `depth` axes of items: they have one structure, and lists of one size. Raises
    DifferentItems where that cannot be."""
    return pad_lists([split(piece) for piece in unify_structures(pieces, depth=depth)], depth)


def join_trees(trees: Sequence[Tree], axis: int) -> Any:
    """The columns of several pieces, one after the other along an axis."""
    structure = trees[0].treedef
    rows = zip(*(tree.leaves for tree in trees), count_item_axes(structure, axis + 1), strict=True)
    return unflatten(structure, [join_columns(columns, axis, item_axes) for *columns, item_axes in rows])


def _stack_known(items: Sequence[Any], depth: int) -> Any:
    values = list(map(read_variable, items))
    try:
        trees = pad_lists([split(value) for value in _unify_items([_to_item(v, depth) for v in values], depth)], depth)
    except DifferentItems:
        _request_records(values)
        raise refuse_items() from None
    if not trees[0].leaves:
        _request_records(values)
        raise refuse_items()
    note_copied(values)  # the list has copies of them
    columns = [_stack_leaves(leaves, depth) for leaves in zip(*(tree.leaves for tree in trees), strict=True)]
    return unflatten(trees[0].treedef, columns)


def _request_records(values: Sequence[Any]) -> None:
    request_records(item for value in values for item in static_objects(value))


def _unify_items(values: Sequence[Any], depth: int) -> list[Any]:
    try:
        return unify_structures(values, depth=depth)
    except DifferentItems:
        if depth:
            raise
        return UNIFY_CHOICES.cell_contents(values)  # type: ignore[no-any-return]


def _to_item(value: Any, depth: int) -> Any:
    return strings_to_choices(value if depth else with_lengths(value))


def with_lengths(value: Any) -> Any:
    """An item in which each list of symbolic length has its items in one piece, whose length may differ from item to
    item, and each empty list has the length 0."""
    if type(value) in (list, tuple) and has_stacked_items(value):
        return type(value)([stack_items(value)])
    if type(value) is list and not value:
        return [StackedItems((), 0)]
    if type(value) in (list, tuple):
        return type(value)(map(with_lengths, value))
    if type(value) in DICT_CLASSES and not value:
        return dict_like(value, {ENTRIES: StackedItems((), 0)})
    if type(value) is TracedSet:
        items = stack_table(value)
        return TracedSet(stacked=StackedItems((), 0) if items is None else items)
    if type(value) in DICT_CLASSES and not has_stacked_entries(value):
        return dict_like(value, {key: with_lengths(part) for key, part in value.items()})
    return value


def strings_to_choices(value: Any) -> Any:
    """An item in which each string is a choice with one option: its number is a column, which has a length. A string
    with parts of symbolic length has one part, whose length its rows can have in common."""
    if type(value) is str:
        return Choice(0, (value,))
    if isinstance(value, Text) and any(isinstance(part, CodePoints) for part in value.parts):
        try:
            return strings_to_choices(AS_CHARACTERS.cell_contents(value))
        except Invalid:  # it has a float in it
            return value
    if isinstance(value, CodePoints) and len(value.codes) > 1 and has_stacked_items(value.codes):
        return type(value)([stack_items(value.codes)])
    if type(value) in (tuple, list):
        return type(value)(map(strings_to_choices, value))
    if type(value) in DICT_CLASSES:
        return dict_like(value, {key: strings_to_choices(part) for key, part in value.items()})
    return value


def _stack_leaves(leaves: Sequence[Any], depth: int) -> Any:
    kinds = [leaf_kind(leaf) for leaf in leaves]
    leaves = [lift(leaf, *kinds) for leaf in leaves]
    if all(type(leaf) in (bool, int, float) for leaf in leaves):
        kind = higher_kind(*map(str, kinds))
        return array_namespace().asarray(np.array(leaves, DTYPES[kind].numpy))
    types = [to_operand(unwrap_weak(leaf)).type for leaf in leaves]
    if len({(type_.dtype, None if type_.shape is None else len(type_.shape)) for type_ in types}) > 1:
        raise refuse_items()
    return array_namespace().stack(list(leaves), axis=depth)


def join_columns(columns: Sequence[Any], axis: int, item_axes: int) -> Any:
    """Columns one after the other along an axis. As many axes as `item_axes` are those of lists, and have equal sizes
    but for this one. Raises Invalid (F4) where the dtypes or the other axes differ."""
    namespace, kinds = array_namespace(), [leaf_kind(column) for column in columns]
    columns = [lift(column, *kinds) for column in columns]
    types = [to_operand(column).type for column in columns]
    if len({type_.dtype for type_ in types}) > 1 or len({len(type_.shape or ()) for type_ in types}) > 1:
        raise refuse_items()
    inner = [type_.shape[item_axes:] for type_ in types if type_.shape is not None]
    if any(None in sizes or sizes != inner[0] for sizes in inner):
        # no items have no sizes yet: they take those of the others
        model = columns[-1]
        sizes = model.shape[item_axes:]
        for column in columns[:-1]:
            _require_sizes(column, sizes, item_axes)
        columns = [*(namespace.reshape(column, (*column.shape[:item_axes], *sizes)) for column in columns[:-1]), model]
    return namespace.concat(list(columns), axis=axis)


def _require_sizes(column: Any, sizes: Sequence[Any], item_axes: int) -> None:
    """Stage the assertion that the items of a column have these sizes, or that it has no items."""
    for axis, size in enumerate(sizes, start=item_axes):
        is_fit = column.shape[axis] == size
        for outer in range(item_axes):
            is_fit = is_fit | (column.shape[outer] == 0)
        if isinstance(is_fit, Symbol):
            words = "the arrays in a list whose length is known only at run time must have one shape"
            stage_assertion(is_fit, NotImplementedError(words))
        elif not is_fit:
            raise refuse_items()


def refuse_items() -> Invalid:
    """The error for items that no array can hold."""
    return Invalid(
        "the items of a list whose length is known only at run time differ in structure or dtype, or are not values",
        rule="F4",
        where=user_location(),
        required="numbers, arrays of one dtype and shape, or tuples and lists of these, all alike",
        hint="such a list is stored as arrays: use two lists, or give all items one structure",
    )


def take_item(stacked: StackedItems, index: Any) -> Any:
    """One of the items. An index out of range is a trap: an IndexError."""
    tree, namespace = split(stacked.columns), array_namespace()
    return rebuild_item(tree.treedef, [namespace.take(leaf, index, axis=0) for leaf in tree.leaves])


def rebuild_item(structure: TreeDef, leaves: Sequence[Any]) -> Any:
    """An item of a list, with these leaves, in which each list has as many items as its length says."""
    structure, leaves = trim_lists(structure, leaves)
    copied = range(len(leaves)) if has_copied_arrays() else ()  # the item may be one of these arrays
    return note_copied_records(Tree([], structure, frozenset(copied)).rebuild(list(leaves)))


def trim_rows(array: Any, lengths: Any, axis: int) -> Any:
    """An array of rows without the zeros that fill them up to one length. Rows of different lengths are a trap:
    NumPy's ValueError."""
    namespace = array_namespace()
    all_lengths = namespace.reshape(lengths, (-1,))
    length = namespace.max(namespace.concat([all_lengths, namespace.zeros(1, dtype=lengths.dtype)]))
    words = "setting an array element with a sequence. The requested array has an inhomogeneous shape"
    stage_assertion(namespace.all(all_lengths == length), located_exception(ValueError(words)))
    return array[(*(slice(None) for _ in range(axis)), slice(None, length))]


TRIM_ROWS.cell_contents = trim_rows


def take_slice(stacked: StackedItems, index: slice) -> StackedItems:
    """Some of the items."""
    tree = split(stacked.columns)
    return StackedItems(unflatten(tree.treedef, [leaf[index] for leaf in tree.leaves]))


def gather(stacked: StackedItems, positions: Any) -> StackedItems:
    """The items at these positions, an array."""
    tree = split(stacked.columns)
    namespace = array_namespace()
    return StackedItems(unflatten(tree.treedef, [namespace.take(leaf, positions, axis=0) for leaf in tree.leaves]))


def as_position(index: Any) -> Any:
    """An index of a list, or a slice, with integers in place of bools: `x[True]` is `x[1]`. Raises Python's TypeError
    for anything else."""
    if type(index) is slice:
        return slice(*(part if part is None else as_position(part) for part in (index.start, index.stop, index.step)))
    index = read_variable(index)
    if number_kind(index) not in ("b", "i"):
        check_index(index)
    return to_kind(index, "i") if number_kind(index) == "b" else index


def check_index(index: Any) -> None:
    """Raises Python's TypeError for an index of a list that is not an integer."""
    if isinstance(index, Symbol):
        type_ = index._type
        if not type_.is_scalar or type_.dtype.kind not in "biu":
            fail_as_python(TypeError(f"list indices must be integers or slices, not {type_}"))
    else:
        perform(operator.getitem, [None], index if not hasattr(index, "__index__") else 0)


def _known_position(container: Any, index: Any) -> bool:
    """Whether an item is not stacked, and no stacked one is between it and the end from which it is counted."""
    if type(index) is not int:
        return False
    part = container[: index + 1] if index >= 0 else container[index:]
    return len(part) == (index + 1 if index >= 0 else -index) and not has_stacked_items(part)


def _find_piece(container: Any, index: Any) -> tuple[Any, Any]:
    """The item of a list, or the stacked items that it is one of, and its index among these; None, and the index, where
    it is known only at run time."""
    if type(index) is not int:
        return None, index
    count = item_count(container) if index < 0 else 0
    position = index + count if index < 0 and type(count) is int else index
    for item in container if position >= 0 else ():
        size = item_count([item])
        if type(size) is not int:
            break
        if position < size:
            return item, position
        position -= size
    return None, index


def get_open_item(container: Any, index: Any) -> Any:
    """`container[index]`, of a list or tuple with stacked items, or with a symbolic slice."""
    index = as_position(index)
    if type(index) is slice:
        part = [take_slice(stack_items(container), index)] if len(container) else []
        if type(container) is not list:
            return tuple(part)
        note_shared_lists(container, part)
        return register_created(part)
    if _known_position(container, index):
        return container[index]
    piece, position = _find_piece(container, index)
    if piece is not None and type(piece) is not StackedItems:
        return piece
    taken_item = find_taken_item(container, index) if type(container) is list else None
    if taken_item is not None:
        return taken_item
    item = take_item(stack_items(container) if piece is None else piece, position)
    if type(item) in CHANGEABLE and type(container) is list:
        note_origin(item, container, index)
    return item


def unpack_items(container: Any, shape: Sequence[Any]) -> list[Any]:
    """The items of a list that are assigned to as many variables as a target has; `...` in its shape takes any number
    of items. Another number is a trap: a ValueError."""
    if not has_stacked_items(container):
        return list(container)
    count = item_count(container)
    before = shape.index(...) if ... in shape else len(shape)
    after = len(shape) - before - 1 if ... in shape else 0
    stage_assertion(count >= before + after, located_exception(ValueError("not enough values to unpack")))
    if ... not in shape:
        words = f"too many values to unpack (expected {before})"
        stage_assertion(count <= before, located_exception(ValueError(words)))
        return [get_open_item(container, k) for k in range(before)]
    part = get_open_item(container, slice(before, -after or None))
    first = [get_open_item(container, k) for k in range(before)]
    return [*first, *part, *(get_open_item(container, k - after) for k in range(after))]


def spread_items(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a call `f(*items)`, of which some are stacked items. Raises Invalid (F4) where their
    number is symbolic, and so which parameters get an item."""
    spread = list[Any]()
    for argument in arguments:
        if type(argument) is not StackedItems:
            spread.append(argument)
            continue
        count = item_count([argument])
        if type(count) is not int:
            argument.fail()
        spread += [get_open_item([argument], position) for position in range(count)]
    return tuple(spread)


def assign_open_item(container: list[Any], index: Any, value: Any) -> list[Any]:
    """The items of a list with stacked items after `container[index] = value`."""
    index = as_position(index)
    if _known_position(container, index):
        items = list(container)
        items[index] = value
        return items
    stacked = stack_items(container)
    try:
        row_columns = stack_items([value])
        columns = unify_columns([stacked.columns, row_columns.columns], 1)
    except DifferentItems:
        raise refuse_items() from None
    namespace, leaves = array_namespace(), list[Any]()
    for column, new in zip(columns[0].leaves, columns[1].leaves, strict=True):
        kinds = leaf_kind(column), leaf_kind(new)
        leaves.append(namespace.scatter(lift(column, *kinds), lift(new, *kinds)[0], index))
    return [StackedItems(unflatten(columns[0].treedef, leaves))]


def delete_open_item(container: Sequence[Any], index: Any) -> tuple[Any, list[Any]]:
    """The item at an index, and the items of the list without it."""
    index = as_position(index)
    if _known_position(container, index):
        items = list(container)
        item = items.pop(index)
        return item, items
    stacked = stack_items(container)
    item = take_item(stacked, index)
    if type(index) is int and index in (0, -1):
        return item, [take_slice(stacked, slice(1, None) if index == 0 else slice(None, -1))]
    if not (type(index) is int and index >= 0):
        index = array_namespace().where(index < 0, index + item_count(container), index)
    parts = take_slice(stacked, slice(None, index)), take_slice(stacked, slice(index + 1, None))
    return item, [stack_items(parts)]


def assign_open_slice(container: Sequence[Any], index: slice, values: Sequence[Any]) -> list[Any]:
    """The items of a list after `container[index] = values`, where its items or the bounds are known only at run time.
    Raises Invalid (F4) for a step other than 1 where the positions are known only at run time."""
    index, count, value_count = as_position(index), item_count(container), item_count(values)
    if index.step in (None, 1):
        start, stop = _clamp(index.start, count, 0), _clamp(index.stop, count, count)
        stop = max(start, stop) if type(start) is type(stop) is int else array_namespace().maximum(start, stop)
        return [
            *(_take_part(container, slice(None, start)) if not (type(start) is int and start == 0) else ()),
            *values,
            *(
                _take_part(container, slice(stop, None))
                if not (type(stop) is type(count) is int and stop == count)
                else ()
            ),
        ]
    positions = _known_positions(index, count)
    if type(value_count) is not int:
        _refuse_step()
    if len(positions) != value_count:
        words = f"attempt to assign sequence of size {value_count} to extended slice of size {len(positions)}"
        raise located_exception(ValueError(words))
    order = np.arange(count)
    order[positions] = np.arange(value_count) + count
    return [gather(stack_items([*container, *values]), array_namespace().asarray(order))]


def delete_open_slice(container: Sequence[Any], index: slice) -> list[Any]:
    """The items of a list after `del container[index]`. Raises Invalid (F4) as `assign_open_slice` does."""
    index, count = as_position(index), item_count(container)
    if index.step in (None, 1):
        return assign_open_slice(container, index, ())
    positions = _known_positions(index, count)
    rest = np.delete(np.arange(count), positions)
    return [gather(stack_items(container), array_namespace().asarray(rest))]


def _take_part(container: Sequence[Any], index: slice) -> list[Any]:
    """The items of a slice that has one bound."""
    if not has_stacked_items(container) and {type(index.start), type(index.stop)} == {int, type(None)}:
        return list(container[index])
    return [take_slice(stack_items(container), index)] if len(container) else []


def _clamp(bound: Any, count: Any, default: Any) -> Any:
    """A bound of a slice as a position in a list with this number of items."""
    if bound is None:
        return default
    if type(bound) is type(count) is int:
        return max(bound + count, 0) if bound < 0 else min(bound, count)
    namespace = array_namespace()
    return namespace.minimum(namespace.maximum(namespace.where(bound < 0, bound + count, bound), 0), count)


def _known_positions(index: slice, count: Any) -> list[int]:
    """The positions that a slice takes. Raises Invalid (F4) where they are known only at run time."""
    if any(part is not None and type(part) is not int for part in (index.start, index.stop, index.step, count)):
        _refuse_step()
    return list(range(*index.indices(count)))


def _refuse_step() -> NoReturn:
    raise Invalid(
        "a slice of a list with a step is assigned or deleted, and its items or bounds are known only at run time",
        rule="F4",
        where=user_location(),
        hint="assign the items in a loop",
    )


def insert_open_item(container: Sequence[Any], index: Any, value: Any) -> list[Any]:
    """The items of a list after `container.insert(index, value)`."""
    index = as_position(index)
    if not container or (type(index) is int and index == 0):
        return [value, *container]
    stacked = stack_items(container)
    return [take_slice(stacked, slice(None, index)), value, take_slice(stacked, slice(index, None))]


def repeat_items(container: Any, count: Any) -> Any:
    """`container * count`, of a list with a symbolic count."""
    if not container:
        return register_created([])
    namespace = array_namespace()
    items = stack_items(container)
    if len(container) == 1 and not has_stacked_items(container):
        positions = namespace.zeros(namespace.maximum(read_variable(count), 0), dtype=dtypes.int64)
    else:
        length = item_count(container)
        positions = namespace.arange(namespace.maximum(length * count, 0)) % namespace.maximum(length, 1)
    result = register_created([gather(items, positions)])
    note_shared_lists(container, result)
    return result


REPEAT_ITEMS.cell_contents = repeat_items


def _order_of_lists(stacked: StackedItems, is_reversed: bool) -> Any:
    """The order of lists of numbers, as Python compares them: the first items that differ decide, and then the
    lengths."""
    namespace, rows = array_namespace(), stacked.columns
    if leaf_kind(rows) is None or len(to_operand(rows).type.shape or ()) != 2:
        _refuse_lists()
    rows = namespace.astype(rows, dtypes.int64) if rows.dtype is dtypes.bool else rows
    lengths = _full_lengths(rows, 1) if stacked.lengths is None else stacked.lengths
    lowest = -np.inf if rows.dtype is dtypes.float64 else np.iinfo(np.int64).min
    is_item = namespace.arange(rows.shape[1]) < namespace.expand_dims(lengths, axis=1)
    rows = namespace.where(is_item, rows, namespace.asarray(lowest, dtype=rows.dtype))

    def sort(position: Any, order: Any) -> Any:
        column = namespace.take(namespace.take(rows, position, axis=1), order, axis=0)
        return namespace.take(order, namespace.argsort(column, descending=is_reversed, stable=True), axis=0)

    by_length = namespace.argsort(lengths, descending=is_reversed, stable=True)
    return convert(library.order_by_columns)(rows.shape[1], by_length, sort)  # type: ignore[arg-type]


def _refuse_lists() -> NoReturn:
    raise Invalid(
        "the items to sort contain lists whose length is known only at run time",
        rule="F4",
        where=user_location(),
        hint="sort by a number, or by a list of numbers: sorted(x, key=len)",
    )


def _sort_columns(columns: Any) -> Any:
    """Columns of sort keys, in which a column of strings is one of their ranks. Raises Invalid (F4) for other strings,
    and for lists of symbolic length."""
    if is_stacked_array(columns):
        _refuse_lists()
    if type(columns) is tuple:
        return tuple(map(_sort_columns, columns))
    if type(columns) is Choice and all(type(option) is str for option in columns.options):
        ranks = [sorted(columns.options).index(option) for option in columns.options]
        return array_namespace().take(array_namespace().asarray(np.array(ranks)), columns.number, axis=0)
    if type(columns) is Choice or isinstance(columns, TEXTS):
        raise Invalid(
            "the items to sort are strings that are known only at run time",
            rule="F4",
            where=user_location(),
            hint="sort by a number: sorted(x, key=...)",
        )
    return columns


def sort_open_items(items: Sequence[Any], keys: Sequence[Any], is_reversed: bool) -> list[Any]:
    """`sorted` of a list of symbolic length by keys, numbers, or tuples or lists of numbers: stable."""
    namespace, stacked = array_namespace(), stack_items(items)
    columns = stack_items(keys).columns
    if type(columns) is list and len(columns) == 1 and type(columns[0]) is StackedItems:
        return [gather(stacked, _order_of_lists(columns[0], is_reversed))]
    key_tree = split(_sort_columns(columns))
    if any(len(to_operand(leaf).type.shape or ()) != 1 for leaf in key_tree.leaves):
        raise refuse_items()
    order: Any = None
    for column in reversed(key_tree.leaves):
        key = namespace.astype(column, dtypes.int64) if column.dtype is dtypes.bool else column
        key = key if order is None else namespace.take(key, order, axis=0)
        step = namespace.argsort(key, descending=is_reversed, stable=True)
        order = step if order is None else namespace.take(order, step, axis=0)
    return [gather(stacked, order)]
