"""Choices: values whose alternatives differ in structure. The branches of a conditional give a number and None, two
strings, or two functions; or the iterations of a loop do."""

from __future__ import annotations

import enum
import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import describe_class
from ...types import Type
from ..trace.captures import VariableBase
from ..trace.choice import Choice
from ..trace.program_builder import UNIFY_RESULT, TracedValue, current_region
from ..trace.pytree import TreeDef, TreeType, has_attributes, only_result, unflatten
from ..trace.stacked_items import DICT_CLASSES, StackedItems, TracedSet, dict_like, has_stacked_items
from ..trace.symbol import array_namespace
from ..trace.text import AS_CHARACTERS, CodePoints, Text, is_text
from .open_lists import (
    UNIFY_CHOICES,
    DifferentItems,
    Scope,
    have_one_structure,
    open_like,
    to_code_points,
    unify_structures,
    zeros_of_type,
)
from .state import CONTAINERS, UNBOUND, AttributePlace, active_journal, is_unassigned
from .trees import split, static_objects, zeros_like

MAX_OPTIONS = 64
"""The most options of a choice."""
MAX_NESTING = 2
"""The most choices inside one another in an option."""


def unify_options(
    values: Sequence[Any],
    scopes: Sequence[Scope] | None = None,
    own_keys: Collection[tuple[Any, ...]] = (),
    *,
    depth: int = 0,
    is_repeated: bool = False,
) -> list[Any]:
    """These values with one structure: parts that differ become choices, each within its scope. Raises DifferentItems
    where a program cannot choose between them. `own_keys` are those of attributes that are merged, too. The values may
    be items of `depth` nested lists: their leaves are then columns, with an axis for each. With `is_repeated` a loop or
    a recursion turns the first value into the second. Then a string that gets longer becomes its code points; so do
    strings that have too many options for a choice."""
    scopes = scopes or [nullcontext] * len(values)
    if depth:
        with suppress(DifferentItems):
            columns = _columns_of_strings(values, scopes, depth)
            return unify_structures(columns, scopes, depth)
    else:
        if is_repeated:
            values = [values[0], with_longer_items(values[0], values[1], scopes[1])]
        with suppress(DifferentItems):
            values = unify_structures(values, scopes)
    if have_one_structure(list(map(split, values))):
        return list(values)
    kind = type(values[0])
    if all(type(value) is kind for value in values) and kind in (tuple, list, *DICT_CLASSES):
        keys = [list(value) if kind in DICT_CLASSES else list(range(len(value))) for value in values]
        if all(part_keys == keys[0] for part_keys in keys) and not any(map(has_stacked_items, values)):
            parts = [
                unify_options([value[key] for value in values], scopes, own_keys, is_repeated=is_repeated)
                for key in keys[0]
            ]
            rows = list(zip(*parts, strict=True))
            if kind in DICT_CLASSES:
                return [dict_like(values[0], dict(zip(keys[0], row, strict=True))) for row in rows]
            return [kind(row) for row in rows]
    if is_repeated and _is_prolonged(*values):
        return unify_structures(to_code_points(values, scopes), scopes)
    try:
        return _make_choices(values, scopes, own_keys, depth)
    except DifferentItems:
        if depth:
            raise
    return unify_structures(to_code_points(values, scopes), scopes)


UNIFY_CHOICES.cell_contents = unify_options


def _columns_of_strings(values: Sequence[Any], scopes: Sequence[Scope], depth: int) -> list[Any]:
    """Columns of strings as columns of their code points, if one of them has code points, or if one has the strings of
    another made longer, as in a recursion. Raises DifferentItems for others, and for a column with strings of several
    lengths."""
    if not any(isinstance(value, CodePoints) for value in values) and not _are_longer_strings(values):
        raise DifferentItems
    columns = list[Any]()
    for value, scope in zip(values, scopes, strict=True):
        if not isinstance(value, CodePoints):
            with scope():
                value = code_points_of_strings(value)
        columns.append(value)
    return columns


def _are_longer_strings(columns: Sequence[Any]) -> bool:
    """Whether the strings of each column have one length, and each of the longest ones contains one of the shortest."""
    if not all(map(_are_strings_of_one_length, columns)):
        return False
    shortest, *_, longest = sorted((column.options for column in columns), key=lambda options: len(options[0]))
    return len(shortest[0]) < len(longest[0]) and all(any(part in text for part in shortest) for text in longest)


def _are_strings(column: Any) -> bool:
    return isinstance(column, Choice) and all(type(option) is str for option in column.options)


def _are_strings_of_one_length(column: Any) -> bool:
    return _are_strings(column) and len({len(option) for option in column.options}) == 1


def code_points_of_strings(column: Any) -> Any:
    """A column of strings by their code points. Raises DifferentItems for others."""
    if isinstance(column, CodePoints):
        return column
    if not _are_strings(column):
        raise DifferentItems
    namespace, sizes = array_namespace(), np.array([len(option) for option in column.options])
    codes = np.zeros((len(sizes), sizes.max()), np.int64)
    for row, option in zip(codes, column.options, strict=True):
        row[: len(option)] = list(map(ord, option))
    rows, lengths = namespace.take(namespace.asarray(codes), column.number, axis=0), None
    if not _are_strings_of_one_length(column):
        lengths = namespace.take(namespace.asarray(sizes), column.number, axis=0)
    return type(AS_CHARACTERS.cell_contents(""))([StackedItems(rows, lengths)])


def _unify_result(previous: TreeType, result: Any) -> Any:
    """The result of a recursive function, with the structure that this and earlier results have together. None where
    that is no structure, or a choice between containers: these would contain such choices, without end."""
    try:
        unified = unify_options([_model_of(previous.treedef, previous.types), result], is_repeated=True)[1]
    except DifferentItems:
        return None
    has_containers = type(unified) is Choice and any(isinstance(option, CONTAINERS) for option in unified.options)
    return None if has_containers else unified


def _model_of(structure: TreeDef, types: Sequence[Type]) -> Any:
    """A value of this structure and these types. A list that is empty in all calls so far is one without a column."""
    known_result = only_result(structure, types)
    if known_result is not None:
        return known_result[0]
    remaining = iter(types)
    if structure.container is tuple:
        return tuple(_model_of(part, [next(remaining) for _ in range(part.size)]) for _, part in structure.children)
    return unflatten(structure, map(zeros_of_type, types))


UNIFY_RESULT.cell_contents = _unify_result


def _is_prolonged(before: Any, after: Any) -> bool:
    """Whether a string gets longer: an option of `after` that `before` does not have contains its longest option."""
    skeletons = [[_skeleton(option) for option in _options(value)] for value in (before, after)]
    return not any(None in skeleton for skeleton in skeletons) and bool(_longer_strings(*skeletons))


def _longer_strings(before: Sequence[Any], after: Sequence[Any]) -> list[str]:
    """The new ones among the skeletons of strings that contain the longest one before."""
    longest = max(before, key=len, default="")
    return [word for word in after if longest and longest in word and word not in before]


MIN_CHAIN = 3
"""If this many strings each contain the one before, the loop is taken to make ever longer strings. With fewer, they may
be words that are all known, such as "Fizz" and "FizzBuzz"."""


def with_longer_items(before: Any, after: Any, scope: Scope) -> Any:
    """What an iteration leaves, with code points in place of the strings in a list that get longer each time, as in
    `words.append(words[-1] + "a")`."""
    strings, later = dict[tuple[Any, ...], list[str]](), dict[tuple[Any, ...], list[str]]()
    _collect_strings(before, (), strings)
    _collect_strings(after, (), later)
    prolonged = {
        place
        for place, words in later.items()
        if _ITEM in place
        for longer in [_longer_strings(strings.get(place, ()), words)]
        if any("\0" in word for word in longer) or (longer and _chain_length(strings[place]) >= MIN_CHAIN)
    }
    if not prolonged:
        return after
    with scope():
        return _as_code_points(after, (), prolonged)


_ITEM = "item"
"""Stands, in the place of a string in a value, for any item of a list."""


def _chain_length(words: Sequence[str]) -> int:
    """How many of these words there are that each contain the one before."""
    chain = list[str]()
    for word in sorted(words, key=len):
        if not chain or chain[-1] in word:
            chain.append(word)
    return len(chain)


def _string_parts(value: Any, place: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], Any]]:
    """The parts of a value that may have strings in them, with their places."""
    if type(value) is StackedItems:
        return [(place, value.columns)]
    if type(value) is list:
        return [((*place, _ITEM), item) for item in value]
    if type(value) in DICT_CLASSES:
        return [((*place, key), part) for key, part in value.items()]
    return [((*place, k), part) for k, part in enumerate(value)] if type(value) is tuple else []


def _collect_strings(value: Any, place: tuple[Any, ...], strings: dict[tuple[Any, ...], list[str]]) -> None:
    """Add the skeletons of the strings in a value, by their places."""
    skeletons = [_skeleton(option) for option in _options(value)]
    if None not in skeletons:
        own = strings.setdefault(place, [])
        own += [word for word in skeletons if word is not None and word not in own]
    for part_place, part in _string_parts(value, place):
        _collect_strings(part, part_place, strings)


def _as_code_points(value: Any, place: tuple[Any, ...], prolonged: Collection[tuple[Any, ...]]) -> Any:
    """A value with code points in place of the strings at these places."""
    if place in prolonged and is_text(value) and not isinstance(value, CodePoints):
        is_column = isinstance(value, Choice) and getattr(value.number, "shape", ()) != ()
        return code_points_of_strings(value) if is_column else to_code_points([value], [nullcontext])[0]
    parts = [_as_code_points(part, part_place, prolonged) for part_place, part in _string_parts(value, place)]
    if type(value) is StackedItems:
        return StackedItems(parts[0], value.lengths)
    if type(value) in DICT_CLASSES:
        return dict_like(value, dict(zip(value, parts, strict=True)))
    return type(value)(parts) if type(value) in (list, tuple) else value


def _skeleton(option: Any) -> str | None:
    """A string with a null character in place of each value; None for what is no string."""
    if isinstance(option, Text):
        return "".join(part if isinstance(part, str) else "\0" for part in option.parts)
    return option if type(option) is str else None


def like_model(content: Any, model: Any) -> Any:
    """A piece of state with the structure that it has together with `model`: a list of symbolic length, or a choice.
    Raises DifferentItems where there is none."""
    try:
        return open_like(content, model)
    except DifferentItems:
        return unify_options([content, model], is_repeated=True)[0]


def _make_choices(
    values: Sequence[Any], scopes: Sequence[Scope], own_keys: Collection[tuple[Any, ...]], depth: int
) -> list[Any]:
    options: list[Any] = []
    numbers = [
        [_option_number(option, options, scope, own_keys) for option in _options(value)]
        for value, scope in zip(values, scopes, strict=True)
    ]
    if len(options) > MAX_OPTIONS:
        raise DifferentItems
    zeros = [zeros_like(option) for option in options]
    if any(zero is UNBOUND for zero in zeros):
        raise DifferentItems
    choices = list[Any]()
    for value, own_numbers, scope in zip(values, numbers, scopes, strict=True):
        content = list(zeros)
        if depth:
            with scope():
                content = [_zero_rows(option, value, depth) for option in options]
        for number, option in zip(own_numbers, _options(value), strict=True):
            content[number] = option
        number = own_numbers[0]
        if isinstance(value, Choice):
            number = value.number
            if not _is_first_numbering(own_numbers):
                with scope():
                    number = array_namespace().asarray(np.array(own_numbers))[number]
        elif depth:
            with scope():
                number = array_namespace().zeros(_shape_of(value, depth), dtype=dtypes.int64) + number
        choices.append(Choice(number, content))
    if not have_one_structure(list(map(split, choices))):
        raise DifferentItems
    return choices


def _shape_of(value: Any, depth: int) -> tuple[Any, ...]:
    """The sizes of the axes of items, of a value whose leaves are columns."""
    return tuple(split(value).leaves[0].shape[:depth])


def _zero_rows(option: Any, value: Any, depth: int) -> Any:
    """Columns of zeros like those of an option, as long as those of `value`: they stand for an option that no item has
    chosen, and are never read."""
    tree, namespace = split(option), array_namespace()
    if any(type(size) is not int for leaf in tree.leaves for size in leaf.shape[depth:]):
        raise DifferentItems  # items of a length that is known only in another branch
    leaves = [
        namespace.zeros((*_shape_of(value, depth), *leaf.shape[depth:]), dtype=leaf.dtype) for leaf in tree.leaves
    ]
    return tree.rebuild(leaves)


def _is_first_numbering(numbers: Sequence[int]) -> bool:
    """Whether the options of a choice keep their numbers."""
    return list(numbers) == list(range(len(numbers)))


def _options(value: Any) -> Sequence[Any]:
    return value.options if isinstance(value, Choice) else [value]


def _option_number(option: Any, options: list[Any], scope: Scope, own_keys: Collection[tuple[Any, ...]]) -> int:
    """The number of an option among these, to which it is added if it is new."""
    structure = split(option).treedef
    for number, known_option in enumerate(options):
        if split(known_option).treedef == structure:
            return number
    if is_unassigned(option):
        raise DifferentItems
    if _nesting(structure) > MAX_NESTING:
        raise DifferentItems
    with scope():
        if not all(_is_outer(part, own_keys) for part in static_objects(option)):
            raise DifferentItems
    options.append(option)
    return len(options) - 1


def _nesting(structure: TreeDef) -> int:
    """How many choices are inside one another in a structure."""
    inner = max((_nesting(part) for _, part in structure.children), default=0)
    return inner + (structure.container is Choice)


def created_attributes(contents: Iterable[Any], created: Collection[int]) -> list[AttributePlace]:
    """The attributes of instances of the user's classes among these pieces of state that are among the created objects,
    and of those that they refer to."""
    places, visited_ids = list[AttributePlace](), set[int]()
    pending = [instance for content in contents if not is_unassigned(content) for instance in static_objects(content)]
    for instance in pending:  # a worklist: the loop appends to it
        if id(instance) not in created or id(instance) in visited_ids or not has_attributes(instance):
            continue
        visited_ids.add(id(instance))
        for name, content in vars(instance).items():
            places.append(AttributePlace(instance, name, f"attribute {name} of {describe_class(instance)}"))
            pending += static_objects(content)
    return places


def _is_outer(value: Any, own_keys: Collection[tuple[Any, ...]]) -> bool:
    """Whether an object refers to no value that the region under trace computes, as far as its references are known."""
    region, pending, visited_ids = current_region(), [value], set[int]()
    for part in pending:  # a worklist: the loop appends to it
        if id(part) in visited_ids:
            continue
        visited_ids.add(id(part))
        traced_value = getattr(part, "_tagloom_value", None)
        if isinstance(traced_value, TracedValue):
            if traced_value.region is region:
                return False
            continue
        parts = _references(part, own_keys)
        if parts is None:
            return False
        pending += parts
    return True


_WITHOUT_REFERENCES = (str, bytes, int, float, complex, type(None), type, enum.Enum, range, np.ndarray, np.generic)


def _references(value: Any, own_keys: Collection[tuple[Any, ...]]) -> list[Any] | None:
    """What an object refers to, but for attributes that are merged; None if that is not known."""
    if isinstance(value, (*_WITHOUT_REFERENCES, VariableBase, ModuleType)) or hasattr(value, "_tagloom_literal"):
        return []
    if isinstance(value, BuiltinFunctionType):
        return [] if isinstance(value.__self__, ModuleType) else [value.__self__]
    if isinstance(value, FunctionType):
        cells = list(_cell_contents(value))
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, Choice):
        return [value.number, *value.options]
    if type(value) is TracedSet:
        return [value.content()]
    if type(value) is StackedItems:
        return split(value).leaves
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if not has_attributes(value):
        return None
    journal = active_journal()
    changed_keys = journal.originals.keys() if journal is not None else ()
    return [
        content
        for name, content in vars(value).items()
        if (key := AttributePlace(value, name, name).key) not in own_keys and key not in changed_keys
    ]


def _cell_contents(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # it has no value yet
            yield cell.cell_contents
