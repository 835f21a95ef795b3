"""Pytrees: values nested in tuples, lists, dicts (also OrderedDict and defaultdict), named tuples and dataclasses.

`flatten` splits a nested value into its leaves and its structure, and `unflatten` is the inverse: programs have flat
values only. Anything that is not a container is a leaf. A list is a container, as a tuple is. An argument that is a
list of Python numbers, or of numbers of one NumPy class, has one leaf, however many items: `StackedItems`, which an
array holds. Where an array is required, a list of Python numbers is how one writes it, and a leaf. A collection of
another class, such as a deque, is refused: as one leaf, its items would be stacked into an array.

Static leaves are Python objects that are not values of a program, such as a string or a model. When arguments are
flattened, these are part of the structure. Strings, numbers, enums and the like are compared by value, all other
objects by identity.
"""

from __future__ import annotations

import array
import dataclasses
import enum
import functools
import inspect
import reprlib
import sys
from collections import OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import FunctionType, GeneratorType, MappingProxyType, ModuleType
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from ...dtypes import PYTHON_DTYPES, from_numpy
from ...errors import Invalid, TagloomError
from ...ops.effects import format_text
from ...types import Handle, Type
from .captures import VariableBase, is_read, read_variable
from .choice import Choice
from .source_location import is_installed_file, user_location
from .stacked_items import (
    DICT_CLASSES,
    ENTRIES,
    EntriesKey,
    StackedItems,
    TracedSet,
    dict_like,
    has_stacked_entries,
    item_length,
    stack_as_array,
)
from .text import TEXTS, CodePoints, FormattedValue, Text
from .unusable_value import UnusableValue

BUFFERS = (array.array, memoryview, bytearray)
"""Python's classes of arrays of numbers."""
_VALUE_CLASSES = (bool, int, float, complex, list, np.ndarray, np.generic, Handle, *BUFFERS)
_VALUE_ATTRIBUTES = ("_tagloom_value", "_tagloom_literal", "__array__", "__array_interface__", "__dlpack__")
_COMPARED_BY_VALUE = (str, bytes, type(None), range, bool, int, float)


class Static:
    """An annotation for static parameters: with `training: tl.Static`, the argument remains a Python object, even a
    number, and is not a value of the program. Each distinct argument gets its own trace. Numbers, strings and enums are
    compared by value, other objects by identity.
    """


class StaticLeaf:
    """A Python object that is part of a structure.

    >>> StaticLeaf("relu") == StaticLeaf("relu"), StaticLeaf([]) == StaticLeaf([]), StaticLeaf(1) == StaticLeaf(1.0)
    (True, False, False)
    """

    __slots__ = ("_static_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._static_key = _static_key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticLeaf) and self._static_key == other._static_key

    def __hash__(self) -> int:
        return hash(self._static_key)

    def __str__(self) -> str:
        if _is_compared_by_value(self.value):
            text = str(self.value) if isinstance(self.value, enum.Enum) else repr(self.value)
            return text if len(text) <= 40 else f"{text[:36]}..."
        name = getattr(self.value, "__name__", None) or getattr(self.value, "name", None)
        kind = type(self.value).__name__
        return f"<{kind} {name}>" if isinstance(name, str) else f"<{kind}>"


def _is_compared_by_value(value: Any) -> bool:
    """Whether an object is compared by value, not by identity."""
    if isinstance(value, tuple | frozenset):
        return type(value) in (tuple, frozenset) and all(map(_is_compared_by_value, value))
    return type(value) in _COMPARED_BY_VALUE or isinstance(value, enum.Enum | np.generic)


def _static_key(value: Any) -> tuple[Any, ...]:
    if type(value) is set:  # its elements may change
        return set, id(value), frozenset(map(_static_key, value))
    if not _is_compared_by_value(value):
        return type(value), id(value)
    if isinstance(value, tuple | frozenset):
        parts = map(_static_key, value)
        return type(value), tuple(parts) if isinstance(value, tuple) else frozenset(parts)
    if isinstance(value, np.generic):
        return type(value), str(value.dtype), value.tobytes()
    return type(value), value.hex() if isinstance(value, float) else value


def is_static(value: object) -> bool:
    """Whether an object is static: not a number, not an array, and not convertible to one."""
    kind = type(value)
    return not (issubclass(kind, _VALUE_CLASSES) or any(hasattr(kind, mark) for mark in _VALUE_ATTRIBUTES))


TreeKey: TypeAlias = str | int
"""The key of a part of a container: a key of a dict, the name of a field, or a position as a string."""


@dataclass(frozen=True, slots=True)
class TreeDef:
    """The structure of a nested value: a container class and its children by key, a leaf, or a static leaf.

    Dicts with the same keys have the same structure: the children are sorted, and `key_order` keeps the dict's order.
    The order is part of the structure of an OrderedDict, and `default_factory` of that of a defaultdict.
    `assigned_names` are the names of the variables that a function assigns; their values follow the leaves of its
    results.

    >>> print(flatten((1, {"b": 2, "a": (3, 4)}))[1])
    (value, {b, a: (value, value)})
    """

    container: type | None = None
    children: tuple[tuple[TreeKey, TreeDef], ...] = ()
    key_order: tuple[TreeKey, ...] = field(default=(), compare=False)
    static_leaf: StaticLeaf | None = None
    default_factory: StaticLeaf | None = None
    assigned_names: tuple[str, ...] = field(default=(), compare=False)

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.container is None else sum(part.size for _, part in self.children)

    def has_order_of(self, other: TreeDef) -> bool:
        """Whether the dicts of another value of this structure have their keys in the same order, so that loops over
        them agree."""
        return self.key_order == other.key_order and all(
            part.has_order_of(other_part)
            for (_, part), (_, other_part) in zip(self.children, other.children, strict=True)
        )

    def __str__(self) -> str:
        return (
            "one value"
            if self.container is None
            else _abbreviate(_format(self, iter([LEAF_WORD] * self.size)), self.size)
        )


LEAF = TreeDef()
NONE = TreeDef(type(None), (("none", LEAF),))
"""The structure of the result of a function or branch that returns None. It has one leaf, False, since every call and
every cond has a result."""
EMPTY_LIST = TreeDef(list, (("0", TreeDef(StackedItems, (("columns", LEAF),))),))
"""The structure of a packed list, whose items one array has. A function that returns an empty list has such a
result."""
_NO_MORE_LEAVES = object()
MAX_DEPTH = 64
"""The maximal nesting of a value, equal to NumPy's maximal number of dimensions."""
MAX_LEAVES = 10_000
"""The most leaves of a value; each becomes a parameter, result or loop variable."""
LEAF_WORD = "value"
"""The text of a leaf in the text of a structure."""
MAX_MESSAGE_LENGTH = 160
"""The most characters of a structure in a message."""


class TreeType(NamedTuple):
    """The static type of a nested value: its structure and the types of its leaves.

    >>> from tagloom.core.dtypes import int64
    >>> print(flat_tuple_type([Type(int64), Type(int64, (3,))]))
    (int64, int64[3])
    """

    treedef: TreeDef
    types: tuple[Type, ...]

    def __str__(self) -> str:
        return _abbreviate(_format(self.treedef, iter(map(str, self.types))), len(self.types))


def leaf_type(type_: Type) -> TreeType:
    """The tree type of a single value."""
    return TreeType(LEAF, (type_,))


def flat_tuple_type(types: Sequence[Type]) -> TreeType:
    """The tree type of a flat tuple."""
    return TreeType(flat_treedef(len(types)), tuple(types))


def result_treedef(structure: TreeDef) -> TreeDef:
    """The structure of the result of a function that returns a value without leaves: it has one, as NONE has.

    >>> result = result_treedef(flatten({"a": ()})[1])
    >>> result.size, unflatten(result, [False])
    (1, {'a': ()})
    """
    return NONE if structure == static_treedef(None) else replace(NONE, children=(*NONE.children, ("value", structure)))


def only_result(structure: TreeDef, types: Sequence[Type]) -> tuple[Any] | None:
    """The only value that a result of this structure and these types can have, in a tuple: None, a string, an empty
    list and the like. None for a result whose value depends on the run."""
    if structure.container is type(None):
        return (unflatten(structure, [False]),)
    if structure.container is Choice and structure.size == 1 and len(structure.children) == 2:
        return (unflatten(structure.children[1][1], []),)
    return ([],) if structure == EMPTY_LIST and types[0].shape == (0,) else None


def flat_treedef(size: int) -> TreeDef:
    """The structure of a flat tuple."""
    return TreeDef(tuple, tuple((str(k), LEAF) for k in range(size)))


def compound_type(kind: type, parts: Sequence[tuple[TreeKey, TreeType]]) -> TreeType:
    """The tree type of a dict or class instance with these parts, in this order."""
    order = tuple(key for key, _ in parts) if kind is dict else ()
    sorted_parts = sorted(parts, key=_item_key) if kind is dict else parts
    structure = TreeDef(kind, tuple((key, tree_type.treedef) for key, tree_type in sorted_parts), order)
    return TreeType(structure, tuple(type_ for _, tree_type in sorted_parts for type_ in tree_type.types))


def is_number_list(value: object) -> bool:
    """Whether this is a list of Python numbers, or of such lists, which NumPy takes for an array.

    >>> is_number_list([[1, 2], []]), is_number_list([1, "a"])
    (True, False)
    """
    return type(value) is list and all(
        type(part) in (bool, int, float, complex) or is_number_list(part) for part in value
    )


def pack_numbers(numbers: list[Any]) -> list[Any]:
    """A list of numbers of Python, or of one class of NumPy, as a packed list: one array has its items, also where
    these are lists of equal lengths. Lists of different lengths have an array each.

    >>> flatten(pack_numbers([[1, 2, 3], [4, 5, 6]]))[0], flatten(pack_numbers([[1], [2, 3]]))[0]
    ([[[1, 2, 3], [4, 5, 6]]], [[1], [2, 3]])
    """
    if not numbers:
        return []
    shape = _shape_of(numbers)
    if shape is None:
        return [pack_numbers(item) if type(item) is list else item for item in numbers]
    columns: Any = numbers if is_number_list(numbers) else np.asarray(numbers)
    for _ in shape:
        columns = [StackedItems(columns)]
    return columns  # type: ignore[no-any-return]


def _shape_of(numbers: Any) -> tuple[int, ...] | None:
    """The shape of an array with these items; None where lists have different lengths, or are empty."""
    if type(numbers) is not list:
        return ()
    shapes = set(map(_shape_of, numbers))
    shape = shapes.pop() if len(shapes) == 1 else None
    return None if shape is None else (len(numbers), *shape)


PLAIN_CLASSES: dict[type, str] = {
    range: "tl.arange(n) makes an array, and list(range(n)) a list",
    Mapping: "dict(x) is a plain dict of values",
    Set: "sorted(x) is a list of the elements, in order",
}
"""Hints for collections that are not sequences. A collection of any other class gets the hint for lists."""


@functools.cache
def is_other_collection(kind: type) -> bool:
    """Whether instances of a class hold several values, but are neither containers that can be rebuilt nor arrays.

    >>> is_other_collection(deque), is_other_collection(list), is_other_collection(np.ndarray)
    (True, False, False)
    """
    if kind in (tuple, list, *DICT_CLASSES, str, bytes) or is_named_tuple(kind) or dataclasses.is_dataclass(kind):
        return False
    if issubclass(kind, (*BUFFERS, np.ndarray, np.generic, VariableBase, UnusableValue)):
        return False
    is_array = any(hasattr(kind, mark) for mark in (*_VALUE_ATTRIBUTES, "VALUE_HINT"))
    methods = {name for base in kind.__mro__ for name in vars(base)}  # not those of a metaclass, as enums have
    has_items = methods >= {"__len__", "__getitem__"}  # NumPy makes arrays of all that have these
    return not is_array and (has_items or issubclass(kind, Sequence | Mapping | Set))


def refuse_collection(value: object, *, hint: str = "") -> NoReturn:
    """Raises Invalid (F4) for a collection that is not a container."""
    plain = next((text for kind, text in PLAIN_CLASSES.items() if issubclass(type(value), kind)), None)
    advice = plain or "list(x) keeps its items apart, and tl.stack(list(x)) makes one array of them"
    raise Invalid(
        f"this {type(value).__name__} is neither a value nor a container of values",
        rule="F4",
        where=user_location(),
        required="values nested in tuples, lists, dicts, named tuples and dataclasses",
        got=reprlib.repr(value),
        hint=advice + hint,
        python=TypeError,
    )


def is_argument_leaf(value: object) -> bool:
    """As `is_number_list`, for arguments. Raises Invalid (F4) for a collection whose class is Python's or derived from
    one: as a static object, it would keep the items that it has when the function is traced."""
    kind: Any = type(value)
    if is_other_collection(kind) and issubclass(kind, (list, tuple, dict, deque, UserList, UserDict)):
        refuse_collection(value, hint="; a parameter annotated tl.Static takes it as it is")
    return is_number_list(value)


def flatten(
    value: object,
    *,
    like: TreeDef | None = None,
    by_reference: bool = False,
    constants_are_static: bool = False,
    keep_variables: bool = False,
    is_leaf: Callable[[Any], bool] | None = is_number_list,
    packs_numbers: bool = False,
) -> tuple[list[Any], TreeDef]:
    """The leaves of a nested value, in order, and its structure.

    A variable becomes a leaf: its current value, or the variable itself with `keep_variables`. With `by_reference`,
    variables and static objects are part of the structure; with `constants_are_static`, None is, and in containers
    strings and members of an enum are. A container for which `is_leaf` is true is a leaf, unless it is a list and the
    structure `like` has a list at its place. With `packs_numbers`, a list of Python numbers is one leaf, an array of
    its items (`pack_numbers`), unless `like` has something else at its place.

    Raises Invalid for a value that could not be rebuilt: a dict whose keys are not strings or integers, an instance of
    a class that cannot be called with its fields, a value that contains itself; and, except `by_reference`, for another
    collection (F4).

    >>> leaves, structure = flatten({"b": 1, "a": (2, [3, None], [4, 5])})
    >>> leaves, unflatten(structure, leaves)
    ([2, 3, None, [4, 5], 1], {'b': 1, 'a': (2, [3, None], [4, 5])})
    """
    leaves: list[Any] = []
    structure = _flatten_into(value, like, leaves, 0, (by_reference, constants_are_static, is_leaf, packs_numbers))
    return (leaves if keep_variables else list(map(read_variable, leaves))), structure


def unflatten(structure: TreeDef, leaves: Iterable[Any]) -> Any:
    """The nested value with these leaves. Classes are called with their fields by name.

    Raises Invalid where an instance does not keep a field unchanged.
    """
    remaining = iter(leaves)
    value = _build_value(structure, remaining)
    assert next(remaining, _NO_MORE_LEAVES) is _NO_MORE_LEAVES, "as many leaves as the structure has"
    return value


def unflatten_result(structure: TreeDef, leaves: Iterable[Any]) -> Any:
    """The nested value with these concrete leaves, in which lists have their items in place of stacked ones, and the
    options that are chosen stand in place of choices."""
    value = unflatten(structure, leaves)
    if not has_open_parts(structure):
        return value
    with record_classes(dict.fromkeys(_plain_classes(structure), True)):
        return resolve_parts(value)


def _plain_classes(structure: TreeDef) -> Iterator[type]:
    """The classes in a structure whose instances are records, and that are not dataclasses."""
    kind: Any = structure.container
    if kind is not None and not dataclasses.is_dataclass(kind) and not issubclass(kind, _OTHER_CONTAINERS):
        yield kind
    for _, part in structure.children:
        yield from _plain_classes(part)


def has_open_parts(structure: TreeDef) -> bool:
    """Whether a part of a structure is stacked items of a list, or a choice."""
    if structure.container in (StackedItems, Choice, TracedSet) or is_text_class(structure.container):
        return True
    for _, part in structure.children:  # noqa: SIM110 - each call of a function asks, and `any` is slower
        if part.container is not None and has_open_parts(part):
            return True
    return False


def is_text_structure(structure: TreeDef | None) -> bool:
    """Whether this is the structure of a string, or of one of several."""
    if structure is None:
        return False
    if structure.container is Choice:
        return all(is_text_structure(part) for _, part in structure.children[1:])
    is_string = structure.static_leaf is not None and type(structure.static_leaf.value) is str
    return is_string or is_text_class(structure.container)


def is_text_class(kind: Any) -> bool:
    """Whether a container is a string with symbolic values in it."""
    return isinstance(kind, type) and issubclass(kind, TEXTS)


def resolve_parts(value: Any) -> Any:
    """A concrete value whose lists have their items in place of stacked ones, and options in place of choices; strings
    are those of Python."""
    if type(value) is Choice:
        return resolve_parts(value.options[int(value.number)])
    if isinstance(value, CodePoints):
        return "".join(chr(int(code)) for code in resolve_parts(list(value.codes)))
    if isinstance(value, Text):
        return "".join(map(_part_as_string, value.parts))
    if type(value) in (list, tuple):
        rows = [row for item in value for row in (_rows(item) if type(item) is StackedItems else [item])]
        items = list(map(resolve_parts, rows))
        return items if type(value) is list else tuple(items)
    if has_stacked_entries(value):
        return dict_like(value, {_known_key(key): resolve_parts(item) for key, item in _rows(value[ENTRIES])})
    if type(value) in DICT_CLASSES:
        return dict_like(value, {key: resolve_parts(part) for key, part in value.items()})
    if type(value) is TracedSet:
        return value.known_items() if value.stacked_items is None else set(map(_known_key, _rows(value.stacked_items)))
    parts = parts_of(value, type(value))
    return value if parts is None else build_record(type(value), {str(k): resolve_parts(part) for k, part in parts})


def _part_as_string(part: Any) -> str:
    """A concrete part of a string, as `print` shows it."""
    if isinstance(part, str):
        return part
    if isinstance(part, TEXTS):
        return str(resolve_parts(part))
    value, specification = part if isinstance(part, FormattedValue) else (part, "")
    return format_text(f"{{:{specification}}}", (value,))


def _rows(stacked: StackedItems) -> list[Any]:
    columns, structure = flatten(stacked.columns, by_reference=True, constants_are_static=True, is_leaf=None)
    rows = zip(*map(_column_items, columns), strict=True)
    return [unflatten(*trim_lists(structure, row)) for row in rows]


def trim_lists(structure: TreeDef, leaves: Sequence[Any]) -> tuple[TreeDef, Sequence[Any]]:
    """The structure and leaves of an item of a list, in which each list has as many items as its length says.

    >>> columns, lengths = np.array([[5, 0], [6, 7]]), np.array([1, 2])
    >>> leaves, structure = flatten([StackedItems(columns, lengths)])
    >>> [trim_lists(structure, row)[1] for row in zip(*leaves)]
    [[array([5])], [array([6, 7])]]
    """
    if not has_lengths(structure):
        return structure, leaves
    if structure.container is StackedItems:
        if len(structure.children) == 1:  # the lists in it are cut when they are taken
            return structure, leaves
        *columns, length = leaves
        return replace(structure, children=structure.children[:1]), [column[:length] for column in columns]
    children, trimmed = list[tuple[TreeKey, TreeDef]](), list[Any]()
    for (key, part), own_leaves in zip(structure.children, _leaves_of_parts(structure, leaves), strict=True):
        part, own_leaves = trim_lists(part, own_leaves)
        if part.size or part.container is not StackedItems:  # a list without columns is empty
            children.append((key, part))
            trimmed += own_leaves
    keys = {key for key, _ in children}
    key_order = tuple(key for key in structure.key_order if key in keys)
    return replace(structure, children=tuple(children), key_order=key_order), trimmed


def has_lengths(structure: TreeDef) -> bool:
    """Whether stacked items in a value of this structure have lengths."""
    is_stacked = structure.container is StackedItems and len(structure.children) > 1
    return is_stacked or any(has_lengths(part) for _, part in structure.children)


def _leaves_of_parts(structure: TreeDef, leaves: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The leaves of each part of a container."""
    position = 0
    for _, part in structure.children:
        yield leaves[position : position + part.size]
        position += part.size


def _column_items(column: Any) -> Any:
    """The items of a column; numbers are of Python if their dtype is that of a class of Python.

    >>> list(_column_items(np.array([1, 2]))), list(_column_items(np.array([1.5], np.float32)))
    ([1, 2], [np.float32(1.5)])
    """
    is_python = isinstance(column, np.ndarray) and column.ndim == 1 and from_numpy(column.dtype) in PYTHON_DTYPES
    return column.tolist() if is_python else column


def _known_key(key: Any) -> Any:
    """A key of a dict, or an item of a set, with numbers and strings of Python."""
    if isinstance(key, (Choice, *TEXTS)):
        return resolve_parts(key)
    return tuple(map(_known_key, key)) if type(key) is tuple else np.asarray(key).item()


def read_variables(value: object) -> Any:
    """A nested value in which the current values of variables replace the variables, and deferred values have their
    nodes."""
    if value is None or type(value) is TracedSet:  # a set has no variables
        return value
    leaves, structure = flatten(value, keep_variables=True)
    return unflatten(structure, map(read_variable, leaves)) if any(map(is_read, leaves)) else value


def expose_static_leaves(structure: TreeDef) -> tuple[TreeDef, list[StaticLeaf | None]]:
    """The structure with static leaves turned into ordinary leaves, and for each leaf its static object or None."""
    if structure.static_leaf is not None:
        return LEAF, [structure.static_leaf]
    if structure.container is None:
        return LEAF, [None]
    inner = [(key, *expose_static_leaves(part)) for key, part in structure.children]
    parts = tuple((key, part) for key, part, _ in inner)
    return replace(structure, children=parts), [leaf for *_, leaves in inner for leaf in leaves]


def flatten_like(structure: TreeDef, value: object, noun: str) -> list[Any]:
    """The leaves of an adjoint or tangent, called `noun` in messages; raises Invalid (D3) where it has another
    structure than its value."""
    if not structure.size:
        return []
    if structure.container is type(None):
        own_structure = result_treedef(flatten(value, constants_are_static=True)[1])
        leaves: list[Any] = [False]
    elif structure == EMPTY_LIST and type(value) is list and not value:
        return [np.zeros(0)]
    else:
        value = Choice(0, (value,)) if structure.container is Choice and is_python_constant(value) else value
        leaves, own_structure = flatten(value, like=structure, packs_numbers=True)
    if own_structure != structure:
        required, got = describe_difference(structure, own_structure)
        raise Invalid(
            f"{noun} does not have the structure of its value",
            rule="D3",
            where=user_location(),
            required=required,
            got=got,
        )
    return leaves


def leaf_names(structure: TreeDef, name: str) -> list[str]:
    """A name for every leaf: the name of the value, then the keys on the path to the leaf. Characters of keys that
    identifiers do not admit become `_`.

    >>> leaf_names(flatten(({"a b": 1}, 2))[1], "p")
    ['p_0_a_b', 'p_1']
    """
    structure = _skip_packed_lists(structure)
    if structure.container is None:
        return [name]
    names: list[str] = []
    for key, part in structure.children:
        suffix = "".join(letter if f"_{letter}".isidentifier() else "_" for letter in str(key))
        names += leaf_names(part, f"{name}_{suffix}")
    return names


def leaf_paths(structure: TreeDef, name: str) -> list[str]:
    """For every leaf, the Python expression that takes it out of the value with this name, for messages.

    >>> leaf_paths(flatten({"layers": [1, (2, 3)], 7: 4})[1], "params")
    ['params[7]', "params['layers'][0]", "params['layers'][1][0]", "params['layers'][1][1]"]
    """
    structure = _skip_packed_lists(structure)
    if structure.container is None:
        return [name]
    return [path for key, part in structure.children for path in leaf_paths(part, name + path_step(structure, key))]


def array_treedef(structure: TreeDef) -> TreeDef:
    """The structure with a leaf for each list of numbers that an array holds, since functions of arrays take it as that
    array."""
    if _skip_packed_lists(structure).container is None:
        return LEAF
    parts = tuple((key, array_treedef(part)) for key, part in structure.children)
    return structure if is_packed_list(structure) else replace(structure, children=parts)


def _skip_packed_lists(structure: TreeDef) -> TreeDef:
    """The structure of the items of a packed list, or of a packed list of such lists: they have its name."""
    while is_packed_list(structure):
        structure = element_treedef(structure)
    return structure


def element_treedef(structure: TreeDef, mapped: Iterator[bool] | None = None) -> TreeDef:
    """The structure of the elements of arrays along one axis, where the arrays nest so: those of a packed list are its
    items. `mapped` says of which leaves elements are taken; None means all."""
    if structure.container is None:
        if mapped is not None:
            next(mapped)
        return LEAF
    if is_packed_list(structure):
        ((_, stacked),) = structure.children
        item = stacked.children[0][1]
        flags = [True] * item.size if mapped is None else [next(mapped) for _ in range(item.size)]
        return item if any(flags) else structure
    parts = tuple((key, element_treedef(part, mapped)) for key, part in structure.children)
    return replace(structure, children=parts)


def count_item_axes(structure: TreeDef, count: int = 0) -> list[int]:
    """For every leaf, along how many of its axes the items of lists are.

    >>> count_item_axes(flatten(([[1], [2]], 3), packs_numbers=True)[1])
    [2, 0]
    """
    if structure.container is None:
        return [count]
    is_stacked = structure.container is StackedItems
    return [
        axes
        for key, part in structure.children
        for axes in count_item_axes(part, count + (is_stacked and key == "columns"))
    ]


def path_step(structure: TreeDef, key: TreeKey) -> str:
    """The expression that takes a part out of a container, behind the container's name."""
    if structure.container in (tuple, list):
        return f"[{key}]"
    return f"[{key!r}]" if structure.container in DICT_CLASSES else f".{key}"


def label_leaves(structure: TreeDef, leaves: Iterable[Any]) -> list[tuple[str, Any]]:
    """Every leaf with its path, in the order in which the value was written; then the assigned variables by name.

    >>> label_leaves(*reversed(flatten({"r": (1, 2), "n": 3})))
    [('r.0', 1), ('r.1', 2), ('n', 3)]
    """
    remaining = iter(leaves)
    return [*_label_subtree(structure, remaining, ()), *zip(structure.assigned_names, remaining, strict=False)]


def describe_difference(first: TreeDef, second: TreeDef, name: str = "") -> tuple[str, str]:
    """Two different structures as text; of long ones, only the first part that differs, and its path from `name`.

    >>> describe_difference(flat_treedef(2), flat_treedef(3))
    ('(value, value)', '(value, value, value)')
    """
    path = ""
    while _is_long(first) or _is_long(second):
        keys, other_keys = ([key for key, _ in structure.children] for structure in (first, second))
        if first.container is not second.container or keys != other_keys:
            break
        pairs = zip(first.children, second.children, strict=True)
        key, part, opposite = next((key, part, opposite) for (key, part), (_, opposite) in pairs if part != opposite)
        path += path_step(first, key)
        first, second = part, opposite
    location = f" at {name}{path}" if path else ""
    return f"{first}{location}", f"{second}{location}"


def array_hint(first: TreeDef, second: TreeDef) -> str | None:
    """The hint for two different structures where one has a list at the place of a single value; else None."""
    if first.container is not second.container:
        containers = {first.container, second.container}
        advice = "a list is not an array: tl.asarray(xs) makes one of numbers, tl.stack(xs) one of arrays"
        return advice if containers == {None, list} else None
    pairs = zip(first.children, second.children, strict=False)
    return next((hint for (_, part), (_, opposite) in pairs if (hint := array_hint(part, opposite))), None)


def is_named_tuple(kind: object) -> bool:
    """Whether this is a named tuple class."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


@functools.cache
def check_rebuildable(kind: type, keys: tuple[str, ...]) -> None:
    """Raises Invalid where a class cannot be called with its fields by name, or has parameters that are not fields."""
    signature, problem = inspect.signature(kind), None
    try:
        signature.bind(**dict.fromkeys(keys))
        named_parameters = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        unstored_names = [name for name in named_parameters if name not in keys]
        problem = f"argument {unstored_names[0]} is not a field" if unstored_names else None
    except TypeError as error:
        problem = str(error)
    if problem is not None:
        raise Invalid(
            f"an instance of {kind.__name__} cannot be rebuilt from its fields",
            where=user_location(),
            required=f"{kind.__name__}({', '.join(f'{key}=...' for key in keys)})",
            got=problem,
            hint="a dataclass or NamedTuple without an __init__ of its own, and without InitVar, can be",
        )


def static_treedef(value: object) -> TreeDef:
    """The structure of a static object."""
    return TreeDef(StaticLeaf, static_leaf=StaticLeaf(value))


FlattenOptions: TypeAlias = tuple[bool, bool, Callable[[Any], bool] | None, bool]
"""`by_reference`, `constants_are_static`, `is_leaf` and `packs_numbers` of `flatten`."""


def _flatten_into(value: Any, like: TreeDef | None, leaves: list[Any], depth: int, options: FlattenOptions) -> TreeDef:
    kind: Any = type(value)
    by_reference, constants_are_static, is_leaf, packs_numbers = options
    is_list = kind is list and packs_numbers and _is_packable(value, like)
    if is_list:
        value = pack_numbers(value)
    elif kind is list and like is not None and is_packed_list(like):
        value = _pack_like(value, like)
    elif kind is list and like is not None and like.container is list:
        value = _unpack_like(value, like)
    if depth > MAX_DEPTH:
        raise Invalid(f"a value is nested deeper than {MAX_DEPTH}, or contains itself", where=user_location())
    if kind is TracedSet and value.stacked_items is None and not by_reference:
        refuse_collection(value.known_items())
    parts = None if not is_list and _is_opaque(value, kind, like, is_leaf) else parts_of(value, kind, by_reference)
    if parts is None:
        is_part = depth > 0 or value is None
        if is_part and is_python_constant(value) and (constants_are_static or like == static_treedef(value)):
            return static_treedef(value)
        if by_reference and (isinstance(value, VariableBase) or is_static(value)):
            return static_treedef(value)
        if not by_reference and is_other_collection(kind):
            refuse_collection(value)
        leaves.append(value)
        if len(leaves) > MAX_LEAVES:
            raise Invalid(
                f"a value has more than {MAX_LEAVES:,} leaves",
                where=user_location(),
                hint="put many numbers into an array, as in tl.asarray; or a recursion nests its arguments ever deeper",
            )
        return LEAF
    if kind is Choice:
        options = by_reference, True, is_leaf, packs_numbers
    elif issubclass(kind, (*TEXTS, FormattedValue)):
        options = by_reference, True, None, False
    elif kind is StackedItems and packs_numbers:
        options = by_reference, constants_are_static, is_number_list, False
    elif kind is not StackedItems and (dataclasses.is_dataclass(kind) or is_named_tuple(kind)):
        check_rebuildable(kind, tuple(str(key) for key, _ in parts))
    like_parts = dict(like.children) if like is not None and like.container is kind else {}
    inner = tuple((key, _flatten_into(part, like_parts.get(key), leaves, depth + 1, options)) for key, part in parts)
    factory = StaticLeaf(value.default_factory) if kind is defaultdict else None
    return TreeDef(kind, inner, tuple(value) if kind in DICT_CLASSES else (), default_factory=factory)


def _is_packable(numbers: list[Any], like: TreeDef | None) -> bool:
    """Whether a list can be packed, in a value that should have this structure."""
    return (like is None or is_packed_list(like)) and (is_number_list(numbers) or len(_numpy_classes(numbers)) == 1)


def _numpy_classes(numbers: list[Any]) -> set[type | None]:
    """The classes of the items of a list, and of those of lists in it, which should be numbers of NumPy; None stands
    for all others."""
    classes = set[type | None]()
    for item in numbers:
        if type(item) is list:
            classes |= _numpy_classes(item)
        else:
            classes.add(type(item) if isinstance(item, np.number | np.bool_) else None)
            if None in classes:
                return {None, list}
    return classes


def _pack_like(items: list[Any], like: TreeDef) -> list[Any]:
    """A list of values as a packed list, if this structure is that of numbers or arrays."""
    axes = 0
    while is_packed_list(like):
        axes, like = axes + 1, element_treedef(like)
    is_held = [type(item) for item in items] == [StackedItems]
    if is_held or not items or like.container is not None:
        return items
    columns: Any = stack_as_array(items) if _has_symbolic_items(items) else np.asarray(items)
    for _ in range(axes):
        columns = [StackedItems(columns)]
    return columns  # type: ignore[no-any-return]


def _unpack_like(items: list[Any], like: TreeDef) -> list[Any]:
    """A packed list with its items one by one, if this structure has as many values."""
    count = len(like.children)
    if [type(item) for item in items] != [StackedItems] or any(
        part.container not in (None, list) for _, part in like.children
    ):
        return items
    length = item_length(items[0].columns)
    if type(length) is not int or length != count:
        return items
    return [_column_at(items[0].columns, position) for position in range(count)]


def has_packed_rows(structure: TreeDef) -> bool:
    """Whether one array has the items of all lists in a list, in a value of this structure.

    >>> [has_packed_rows(flatten(value, packs_numbers=True)[1]) for value in ([[1, 2], [3, 4]], [[1], [2, 3]], [1])]
    [True, False, False]
    """
    is_held = is_packed_list(structure) and is_packed_list(element_treedef(structure))
    return is_held or any(has_packed_rows(part) for _, part in structure.children)


def separate_rows(value: Any) -> Any:
    """A value under trace in which each list in a list is a list of its own, if the number of lists is known."""
    if type(value) is list and [type(item) for item in value] == [StackedItems] and type(value[0].columns) is list:
        count = item_length(value[0].columns)
        if type(count) is int:
            return [separate_rows(_column_at(value[0].columns, position)) for position in range(count)]
    if type(value) in (list, tuple):
        return type(value)(map(separate_rows, value))
    if type(value) in DICT_CLASSES:
        return dict_like(value, {key: separate_rows(part) for key, part in value.items()})
    parts = None if isinstance(value, (StackedItems, *TEXTS)) else parts_of(value, type(value))
    return value if parts is None else type(value)(**{str(key): separate_rows(part) for key, part in parts})


def _column_at(columns: Any, position: int) -> Any:
    """The item at a position of stacked numbers, or of stacked lists of numbers."""
    if type(columns) is list:
        return [StackedItems(_column_at(part.columns, position)) for part in columns]
    return columns[position]


def _has_symbolic_items(items: list[Any]) -> bool:
    """Whether a list, or a list in it, has symbolic values or stacked ones, and no values that arrays do not hold."""
    parts = [_has_symbolic_items(item) if type(item) is list else _is_symbolic(item) for item in items]
    return any(parts)


def _is_symbolic(value: Any) -> bool:
    return type(value) is StackedItems or hasattr(value, "_tagloom_value")


def is_packed_list(structure: TreeDef) -> bool:
    """Whether this is the structure of a packed list: one array has all of its items."""
    return (
        structure.container is list
        and [part.container for _, part in structure.children] == [StackedItems]
        and len(structure.children[0][1].children) == 1
    )


def is_python_constant(value: Any) -> bool:
    """Whether an object is a constant of Python, which is compared by value: None, a string, a member of an enum."""
    return value is None or type(value) is str or (isinstance(value, enum.Enum) and is_static(value))


def _is_opaque(value: Any, kind: Any, like: TreeDef | None, is_leaf: Callable[[Any], bool] | None) -> bool:
    """Whether a container is a leaf."""
    is_required = kind is list and like is not None and like.container is list
    return not is_required and is_leaf is not None and is_leaf(value)


_OTHER_CONTAINERS = (type(None), tuple, list, dict, set, Choice, StackedItems, StaticLeaf, *TEXTS)
"""The classes of containers whose instances are not records."""


def parts_of(value: Any, kind: Any, by_reference: bool = False) -> list[tuple[TreeKey, Any]] | None:
    """The parts of a container by key; None for a leaf. Only `by_reference`, an instance of a dataclass may be one."""
    if kind is tuple or kind is list:
        return [(str(k), part) for k, part in enumerate(value)]
    if kind is OrderedDict:
        check_keys(value, Invalid)
        return list(value.items())
    if kind in DICT_CLASSES:
        return sorted_items(value)
    if kind is TracedSet:
        return [("items", value.content())]
    if issubclass(kind, Text):
        return [(str(k), part) for k, part in enumerate(value.parts)]
    if issubclass(kind, CodePoints):
        return [("codes", value.codes)]
    if kind is StackedItems:
        lengths = [] if value.lengths is None else [("lengths", value.lengths)]
        return [("columns", value.columns), *lengths]
    if kind is Choice:
        return [("number", value.number), *((str(k), option) for k, option in enumerate(value.options))]
    if is_named_tuple(kind):
        return [(key, getattr(value, key)) for key in kind._fields]
    is_nested = is_record_class(kind)
    if dataclasses.is_dataclass(kind):
        return init_fields(value) if is_nested or not by_reference else None
    return _parts_of_record(value) if is_nested else None


def _parts_of_record(value: Any) -> list[tuple[TreeKey, Any]]:
    """The attributes of an instance that is no dataclass, by name. Raises Invalid for one that refers to another of its
    class, as in a linked list, which may be of any length."""
    for content in vars(value).values():
        options = content.options if type(content) is Choice else [content]
        if any(type(option) is type(value) for option in options):
            raise Invalid(f"a {type(value).__name__} refers to another one", rule="F4", where=user_location())
    return sorted(vars(value).items())


RECORD_CLASSES: ContextVar[Mapping[type, bool]] = ContextVar("record classes", default=MappingProxyType({}))
"""Classes of the user whose instances the program under trace takes for records, or for objects, otherwise than those
of other classes of their kind: an object is static, and a record is nested values."""


@contextmanager
def record_classes(classes: Mapping[type, bool]) -> Iterator[None]:
    """Within it, instances of these classes are records if the class has True here, else objects."""
    token = RECORD_CLASSES.set(classes)
    try:
        yield
    finally:
        RECORD_CLASSES.reset(token)


def is_record_class(kind: type) -> bool:
    """Whether the instances of a class are records: by default, those of dataclasses are."""
    return RECORD_CLASSES.get().get(kind, dataclasses.is_dataclass(kind))


def sorted_items(value: dict[Any, Any]) -> list[tuple[TreeKey, Any]]:
    """The items of a dict, by key: integers before strings; raises Invalid for keys of other classes."""
    check_keys(value, Invalid)
    return sorted(value.items(), key=_item_key)


def check_keys(keys: Iterable[Any], error: type[TagloomError]) -> None:
    """Raises `error` where keys of a dict are neither strings nor integers."""
    other_keys = [key for key in keys if type(key) not in (str, int, EntriesKey)]
    if other_keys:
        raise error(
            "the keys of a dict are not all strings or integers",
            where=user_location(),
            required="strings or integers",
            got=repr(other_keys[0]),
        )


def is_record(value: Any) -> bool:
    """Whether a value is an instance of a dataclass of the user, or of another class of records: its parts are
    attributes.

    >>> @dataclass
    ... class Point:
    ...     x: int
    >>> is_record(Point(1)), is_record(Point), is_record((1,))
    (True, False, False)
    """
    kind = type(value)
    return is_record_class(kind) and not issubclass(kind, UnusableValue)


def is_dataclass_instance(value: Any) -> bool:
    """Whether a value is an instance of a dataclass of the user, also where the program under trace takes it for an
    object."""
    kind = type(value)
    return dataclasses.is_dataclass(kind) and not issubclass(kind, UnusableValue)


def is_user_object(value: Any) -> bool:
    """Whether a value is static, and an instance of a class outside of tagloom, all of whose state is in its
    attributes."""
    return is_static(value) and has_attributes(value) and type(value).__module__.split(".")[0] != "tagloom"


def has_attributes(value: Any) -> bool:
    """Whether an object is an instance of a class, all of whose state is in its attributes."""
    is_of_user = not is_installed_file(getattr(sys.modules.get(type(value).__module__), "__file__", None) or "")
    is_plain = not isinstance(value, Iterator | GeneratorType | FunctionType | type | ModuleType | list | dict | tuple)
    return is_of_user and is_plain and hasattr(value, "__dict__")


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an instance of a dataclass: its fields, then those that its class neither has nor caches.

    >>> @dataclass
    ... class Point:
    ...     x: int
    >>> attributes_of(Point(1))
    {'x': 1}
    """
    names = [field_.name for field_ in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
    own = {name: getattr(value, name) for name in names if hasattr(value, name)}
    others = {
        name: content
        for name, content in getattr(value, "__dict__", {}).items()
        if not name.startswith("_tagloom") and not hasattr(type(value), name)
    }
    return {**own, **others}


def init_fields(value: Any) -> list[tuple[TreeKey, Any]]:
    """The fields that __init__ takes. Raises Invalid for another field, unless __post_init__ can compute it again."""
    kind, parts = type(value), list[tuple[TreeKey, Any]]()
    for field_ in dataclasses.fields(value):
        if field_.init:
            parts.append((field_.name, getattr(value, field_.name)))
        elif not hasattr(kind, "__post_init__") and getattr(value, field_.name, field_.default) is not field_.default:
            raise Invalid(
                f"field {field_.name} of {kind.__name__} is not a parameter of the class, so it would be lost",
                where=user_location(),
                hint="leave init=False out, or compute the field in __post_init__",
            )
    return parts


def _build_value(structure: TreeDef, leaves: Iterator[Any]) -> Any:
    kind: Any = structure.container
    if kind is None:
        return next(leaves)
    if structure.static_leaf is not None:
        return structure.static_leaf.value
    if kind is type(None):
        next(leaves)
        return _build_value(structure.children[1][1], leaves) if structure != NONE else None
    if kind is tuple or kind is list:
        return kind(_build_value(part, leaves) for _, part in structure.children)
    parts = {key: _build_value(part, leaves) for key, part in structure.children}
    if kind in DICT_CLASSES:
        factory = structure.default_factory
        items = {key: parts[key] for key in structure.key_order}
        return kind(items) if factory is None else defaultdict(factory.value, items)
    if kind is Choice:
        number, *options = parts.values()
        return Choice(number, options)
    if issubclass(kind, TEXTS):
        return kind(parts["codes"] if issubclass(kind, CodePoints) else tuple(parts.values()))
    if kind is TracedSet:
        result = TracedSet()
        result.replace(parts.get("items", frozenset()))
        return result
    return build_record(kind, {str(key): part for key, part in parts.items()})


def build_record(kind: Any, fields: dict[str, Any]) -> Any:
    """An instance of a class with these attributes. A dataclass or named tuple is called with them; raises Invalid
    where the instance does not keep one unchanged."""
    if not (dataclasses.is_dataclass(kind) or is_named_tuple(kind)):
        instance = object.__new__(kind)
        vars(instance).update(fields)
        return instance
    instance = kind(**fields)
    changed_keys = [key for key, part in fields.items() if getattr(instance, key) is not part]
    if changed_keys:
        raise Invalid(
            f"an instance of {kind.__name__} changes its field {changed_keys[0]}",
            where=user_location(),
            hint="tagloom flattens values and rebuilds them from their fields; compute in a method instead",
        )
    return instance


def _label_subtree(structure: TreeDef, leaves: Iterator[Any], path: tuple[str, ...]) -> list[tuple[str, Any]]:
    if structure.container is None:
        return [(".".join(path), next(leaves))]
    if structure == NONE:
        next(leaves)
        return []
    if structure.container is type(None):
        next(leaves)
        return [(".".join(path), _build_value(structure.children[1][1], leaves))]
    if structure.container is Choice:
        return _label_choice(structure, leaves, path)
    if is_text_class(structure.container):
        return [(".".join(path), resolve_parts(_build_value(structure, leaves)))]
    if structure.static_leaf is not None:
        return [(".".join(path), unflatten(structure, []))]
    if _skip_packed_lists(structure).container is None:
        leaf = next(leaves)
        return [(".".join(path), leaf if len(leaf) else [])]
    if any(part.container is StackedItems for _, part in structure.children):
        return _label_items(structure, leaves, path)
    parts = {key: _label_subtree(part, leaves, (*path, str(key))) for key, part in structure.children}
    return [pair for key in structure.key_order or parts for pair in parts[key]]


def _label_items(structure: TreeDef, leaves: Iterator[Any], path: tuple[str, ...]) -> list[tuple[str, Any]]:
    """The leaves of the items of a list, some of which are stacked."""
    rows, position = list[tuple[str, Any]](), 0
    for _, part in structure.children:
        own = [next(leaves) for _ in range(part.size)]
        is_stacked = part.container is StackedItems
        item = part.children[0][1] if is_stacked else part
        for k in range(len(own[0]) if is_stacked else 1):
            row = trim_lists(item, [leaf[k] for leaf in own]) if is_stacked else (item, own)
            rows += _label_subtree(row[0], iter(row[1]), (*path, str(position)))
            position += 1
    return rows


def _label_choice(structure: TreeDef, leaves: Iterator[Any], path: tuple[str, ...]) -> list[tuple[str, Any]]:
    """The leaves of the option that is chosen; the option itself, if it has none."""
    number = int(next(leaves))
    options = [(part, [next(leaves) for _ in range(part.size)]) for _, part in structure.children[1:]]
    part, own_leaves = options[number]
    if not own_leaves:
        return [(".".join(path), unflatten(part, []))]
    return _label_subtree(part, iter(own_leaves), path)


def _is_long(structure: TreeDef) -> bool:
    return (
        structure.container is not None
        and len(_format(structure, iter([LEAF_WORD] * structure.size))) > MAX_MESSAGE_LENGTH
    )


def _abbreviate(text: str, size: int) -> str:
    return text if len(text) <= MAX_MESSAGE_LENGTH else f"{text[: MAX_MESSAGE_LENGTH // 2]} ... ({size:,} values)"


def _format(structure: TreeDef, words: Iterator[str]) -> str:
    """A structure as text, with these words for its leaves."""
    if structure.container is None:
        return next(words)
    if structure.static_leaf is not None:
        return str(structure.static_leaf)
    parts = {key: _format(part, words) for key, part in structure.children}
    if structure.container is type(None):
        return parts.get("value", "None")
    if structure.container is tuple:
        return f"({', '.join(parts.values())}{',' * (len(parts) == 1)})"
    if structure.container is list:
        return f"[{', '.join(parts.values())}]"
    if structure.container is StackedItems:
        return f"*{parts['columns']}"
    if is_text_class(structure.container):
        return "a string"
    if structure.container is Choice:
        return " or ".join(list(parts.values())[1:])
    items = ", ".join(
        str(key) if parts[key] == LEAF_WORD else f"{key}: {parts[key]}" for key in structure.key_order or parts
    )
    if structure.container not in DICT_CLASSES:
        return f"{structure.container.__name__}({items})"
    if structure.default_factory is not None:
        return f"defaultdict({structure.default_factory}, {{{items}}})"
    return f"{{{items}}}" if structure.container is dict else f"OrderedDict({{{items}}})"


def _item_key(item: tuple[TreeKey, Any]) -> tuple[bool, TreeKey]:
    return isinstance(item[0], str), item[0]
