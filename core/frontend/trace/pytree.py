"""Structures: how values nest in tuples, dicts, named tuples and dataclasses.

Owns taking a nested value apart into leaves, and putting it together again: programs know flat values only. It
refuses to know what a leaf means; whatever does not nest is one. Lists are leaves, since they are arrays. Of arguments,
what is no value at all, as a string or a model, is part of the structure.


Fixed parts of nested values: Python objects that are no values of a program, and that a trace takes as they are.

Owns which objects those are, and when two are the same: strings and the like by what they are, anything else by
identity.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...errors import Invalid
from ...handle import Handle
from ...types import Type
from .captures import Held, read
from .source_location import here

_VALUES = (bool, int, float, complex, list, np.ndarray, np.generic, Handle)
_MARKS = ("_tagloom_value", "_tagloom_literal", "__array__", "__array_interface__", "__dlpack__")
_PLAIN = (str, bytes, type(None), range, bool, int, float)


class Static:
    """An annotation: `training: tl.Static` takes an argument as Python has it, numbers too, and not as a value of the
    program. Each argument gives a trace of its own; numbers, strings and enums are the same where they are equal, any
    other where it is the same object.
    """


class Fixed:
    """A Python object as a part of a structure.

    >>> Fixed("relu") == Fixed("relu"), Fixed([]) == Fixed([]), Fixed(1) == Fixed(1.0)
    (True, False, False)
    """

    __slots__ = ("_static_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._static_key = _static_key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and self._static_key == other._static_key

    def __hash__(self) -> int:
        return hash(self._static_key)

    def __str__(self) -> str:
        if _is_plain(self.value):
            said = str(self.value) if isinstance(self.value, enum.Enum) else repr(self.value)
            return said if len(said) <= 40 else f"{said[:36]}..."
        name = getattr(self.value, "__name__", None) or getattr(self.value, "name", None)
        kind = type(self.value).__name__
        return f"<{kind} {name}>" if isinstance(name, str) else f"<{kind}>"


def _is_plain(value: Any) -> bool:
    """Whether an object is known by what it is, and not by which it is."""
    if isinstance(value, tuple | frozenset):
        return type(value) in (tuple, frozenset) and all(map(_is_plain, value))
    return type(value) in _PLAIN or isinstance(value, enum.Enum | np.generic)


def _static_key(value: Any) -> tuple[Any, ...]:
    if not _is_plain(value):
        return type(value), id(value)
    if isinstance(value, tuple | frozenset):
        parts = map(_static_key, value)
        return type(value), tuple(parts) if isinstance(value, tuple) else frozenset(parts)
    if isinstance(value, np.generic):
        return type(value), str(value.dtype), value.tobytes()
    return type(value), value.hex() if isinstance(value, float) else value


def is_fixed(value: object) -> bool:
    """Whether an object is no value: no number, no array, nothing that offers one."""
    kind = type(value)
    return not (issubclass(kind, _VALUES) or any(hasattr(kind, mark) for mark in _MARKS))


@dataclass(frozen=True, slots=True)
class Structure:
    """How a value nests: the class that holds it together and its parts by key, or a leaf, or an object that is fixed.

    Dicts with the same keys have the same structure; the parts are sorted, and `order` is that of the dict. `behind`
    are the names of what follows the leaves of a function's results: the variables that it assigns.

    >>> print(flatten((1, {"b": 2, "a": (3, 4)}))[1])
    (·, {b, a: (·, ·)})
    """

    kind: type | None = None
    parts: tuple[tuple[str, Structure], ...] = ()
    order: tuple[str, ...] = field(default=(), compare=False)
    fixed: Fixed | None = None
    behind: tuple[str, ...] = field(default=(), compare=False)

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(part.size for _, part in self.parts)

    def __str__(self) -> str:
        return "one value" if self.kind is None else _cut(_shown(self, iter(["·"] * self.size)), self.size)


LEAF = Structure()
_NONE = object()
DEEPEST = 64
"""How deep values nest: as deep as NumPy's arrays have dimensions."""
MOST_LEAVES = 10_000
"""How many leaves a value has; each is a parameter, a result or a loop variable of its own."""
LONGEST = 160
"""How many characters of a structure a message shows."""


class Form(NamedTuple):
    """What is known of a nested value before the program runs: its structure, and the types of its leaves.

    >>> from tagloom.core.dtypes import int64
    >>> print(several([Type(int64), Type(int64, (3,))]))
    (int64, int64[3])
    """

    structure: Structure
    types: tuple[Type, ...]

    def __str__(self) -> str:
        return _cut(_shown(self.structure, iter(map(str, self.types))), len(self.types))


def leaf(type_: Type) -> Form:
    """The form of one value."""
    return Form(LEAF, (type_,))


def several(types: Sequence[Type]) -> Form:
    """The form of a flat tuple."""
    return Form(flat(len(types)), tuple(types))


def flat(size: int) -> Structure:
    """The structure of a flat tuple."""
    return Structure(tuple, tuple((str(k), LEAF) for k in range(size)))


def compound(kind: type, parts: Sequence[tuple[str, Form]]) -> Form:
    """The form of a dict or an instance of a class with these parts, in their order."""
    order = tuple(key for key, _ in parts) if kind is dict else ()
    ordered = sorted(parts, key=_key) if kind is dict else parts
    structure = Structure(kind, tuple((key, form.structure) for key, form in ordered), order)
    return Form(structure, tuple(type_ for _, form in ordered for type_ in form.types))


def flatten(
    value: object, *, by_reference: bool = False, keep: bool = False, whole: type | None = None
) -> tuple[list[Any], Structure]:
    """The leaves of a nested value, in order, and its structure. Of variables the leaf is what they hold here, or with
    `keep` the variable; `by_reference` they are part of the structure, as everything that is no value. Named tuples of
    the class `whole` are leaves.

    Raises Invalid for what could not be put together again: a dict whose keys are not strings, a class that cannot
    be called with its fields, a value that contains itself.

    >>> leaves, structure = flatten({"b": 1, "a": (2, [3])})
    >>> leaves, unflatten(structure, leaves)
    ([2, [3], 1], {'b': 1, 'a': (2, [3])})
    """
    leaves: list[Any] = []
    structure = _apart(value, leaves, 0, by_reference, whole)
    return (leaves if keep else list(map(read, leaves))), structure


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The nested value with these leaves; a class is called with its fields by name.

    Raises Invalid where an instance does not keep what it was given.
    """
    given = iter(leaves)
    made = _together(structure, given)
    assert next(given, _NONE) is _NONE, "as many leaves as the structure has"
    return made


def settled(value: object) -> Any:
    """A nested value with what its variables hold here in their places."""
    if value is None:
        return None
    leaves, structure = flatten(value, keep=True)
    return unflatten(structure, map(read, leaves)) if any(isinstance(leaf, Held) for leaf in leaves) else value


def opened(structure: Structure) -> tuple[Structure, list[Fixed | None]]:
    """A structure in which what is fixed is a leaf, and for each of its leaves the object that is fixed there, if one
    is."""
    if structure.fixed is not None:
        return LEAF, [structure.fixed]
    if structure.kind is None:
        return LEAF, [None]
    inner = [(key, *opened(part)) for key, part in structure.parts]
    parts = tuple((key, part) for key, part, _ in inner)
    return Structure(structure.kind, parts, structure.order), [each for _, _, found in inner for each in found]


def leaves_as(structure: Structure, value: object, what: str) -> list[Any]:
    """The leaves of an adjoint, or a tangent; raises Invalid (D3) where it does not nest so."""
    if not structure.size:
        return []
    leaves, form = flatten(value)
    if form != structure:
        required, got = compared(structure, form)
        raise Invalid(f"{what} nests as its value does", rule="D3", where=here(), required=required, got=got)
    return leaves


def leaf_names(structure: Structure, name: str) -> list[str]:
    """A name for every leaf: that of the value, with the keys on the way.

    >>> leaf_names(flatten(({"a b": 1}, 2))[1], "p")
    ['p_0_a_b', 'p_1']
    """
    if structure.kind is None:
        return [name]
    return [inner for key, part in structure.parts for inner in leaf_names(part, f"{name}_{_word(key)}")]


def labelled(structure: Structure, leaves: Iterable[Any]) -> list[tuple[str, Any]]:
    """The leaves with the way to each, in the order in which the value was written, and what is behind them.

    >>> labelled(*reversed(flatten({"r": (1, 2), "n": 3})))
    [('r.0', 1), ('r.1', 2), ('n', 3)]
    """
    rest = iter(leaves)
    return [*_labelled(structure, rest, ()), *zip(structure.behind, rest, strict=False)]


def compared(one: Structure, other: Structure) -> tuple[str, str]:
    """Two different structures as they read; where they are long, the first part in which they differ, and its place.

    >>> compared(flat(2), flat(3))
    ('(·, ·)', '(·, ·, ·)')
    """
    place: list[str] = []
    while _is_long(one) or _is_long(other):
        pairs = [(key, mine, theirs) for (key, mine), (_, theirs) in zip(one.parts, other.parts, strict=False)]
        if one.kind is not other.kind or _keys(one) != _keys(other):
            break
        key, one, other = next(pair for pair in pairs if pair[1] != pair[2])
        place.append(key)
    said = f" at {'.'.join(place)}" if place else ""
    return f"{one}{said}", f"{other}{said}"


def is_named_tuple(kind: object) -> bool:
    """Whether this is a class of named tuples."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


@functools.cache
def check_class(kind: type, keys: tuple[str, ...]) -> None:
    """Raises Invalid where a class cannot be called with its fields by name, or is called with more than those."""
    signature, said = inspect.signature(kind), None
    try:
        signature.bind(**dict.fromkeys(keys))
        more = [
            own.name for own in signature.parameters.values() if own.kind not in (own.VAR_POSITIONAL, own.VAR_KEYWORD)
        ]
        lost = [name for name in more if name not in keys]
        said = f"argument {lost[0]} is kept in no field" if lost else None
    except TypeError as error:
        said = str(error)
    if said is not None:
        raise Invalid(
            f"an instance of {kind.__name__} cannot be rebuilt from its fields",
            where=here(),
            required=f"{kind.__name__}({', '.join(f'{key}=...' for key in keys)})",
            got=said,
            hint="a dataclass or NamedTuple without an __init__ of its own, and without InitVar, can be",
        )


def fixed(value: object) -> Structure:
    """The structure of an object that is no value."""
    return Structure(Fixed, fixed=Fixed(value))


def _apart(value: Any, leaves: list[Any], depth: int, by_reference: bool, whole: type | None) -> Structure:
    kind: Any = type(value)
    if depth > DEEPEST:
        raise Invalid(f"a value is nested deeper than {DEEPEST}, or contains itself", where=here())
    if kind is tuple:
        parts = [(str(k), part) for k, part in enumerate(value)]
    elif kind is dict:
        parts = _items(value)
    elif is_named_tuple(kind) and kind is not whole:
        parts = [(key, getattr(value, key)) for key in kind._fields]
    elif dataclasses.is_dataclass(kind):
        parts = _fields(value)
    elif by_reference and (isinstance(value, Held) or is_fixed(value)):
        return fixed(value)
    else:
        leaves.append(value)
        if len(leaves) > MOST_LEAVES:
            raise Invalid(
                f"a value has more than {MOST_LEAVES:,} leaves",
                where=here(),
                hint="a recursion seems to nest its arguments further and further; many numbers are an array",
            )
        return LEAF
    if kind not in (tuple, dict):
        check_class(kind, tuple(key for key, _ in parts))
    order = tuple(value) if kind is dict else ()
    inner = tuple((key, _apart(part, leaves, depth + 1, by_reference, whole)) for key, part in parts)
    return Structure(kind, inner, order)


def _items(value: dict[Any, Any]) -> list[tuple[str, Any]]:
    wrong = [key for key in value if type(key) is not str]
    if wrong:
        raise Invalid("the keys of a dict are not all strings", where=here(), required="strings", got=repr(wrong[0]))
    return sorted(value.items(), key=_key)


def _fields(value: Any) -> list[tuple[str, Any]]:
    """The fields that the class is called with; what it makes of them itself, it makes again."""
    kind, parts = type(value), []
    for own in dataclasses.fields(value):
        if own.init:
            parts.append((own.name, getattr(value, own.name)))
        elif not hasattr(kind, "__post_init__") and getattr(value, own.name, own.default) is not own.default:
            raise Invalid(
                f"field {own.name} of {kind.__name__} is no argument of the class, so it would be lost",
                where=here(),
                hint="leave init=False out, or compute the field in __post_init__",
            )
    return parts


def _together(structure: Structure, leaves: Iterator[Any]) -> Any:
    kind = structure.kind
    if kind is None:
        return next(leaves)
    if structure.fixed is not None:
        return structure.fixed.value
    if kind is tuple:
        return tuple([_together(part, leaves) for _, part in structure.parts])
    parts = {key: _together(part, leaves) for key, part in structure.parts}
    if kind is dict:
        return {key: parts[key] for key in structure.order}
    built = kind(**parts)
    changed = [key for key, part in parts.items() if getattr(built, key) is not part]
    if changed:
        raise Invalid(
            f"an instance of {kind.__name__} does not keep its field {changed[0]} as it was given",
            where=here(),
            hint="a value is taken apart and put together on its way through the program; compute in a method instead",
        )
    return built


def _labelled(structure: Structure, leaves: Iterator[Any], place: tuple[str, ...]) -> list[tuple[str, Any]]:
    if structure.kind is None:
        return [(".".join(place), next(leaves))]
    parts = {key: _labelled(part, leaves, (*place, key)) for key, part in structure.parts}
    return [pair for key in structure.order or parts for pair in parts[key]]


def _keys(structure: Structure) -> list[str]:
    return [key for key, _ in structure.parts]


def _is_long(structure: Structure) -> bool:
    return structure.kind is not None and len(_shown(structure, iter(["·"] * structure.size))) > LONGEST


def _cut(said: str, size: int) -> str:
    return said if len(said) <= LONGEST else f"{said[: LONGEST // 2]} ... ({size:,} values)"


def _shown(structure: Structure, words: Iterator[str]) -> str:
    if structure.kind is None:
        return next(words)
    if structure.fixed is not None:
        return str(structure.fixed)
    parts = {key: _shown(part, words) for key, part in structure.parts}
    if structure.kind is tuple:
        return f"({', '.join(parts.values())}{',' * (len(parts) == 1)})"
    said = ", ".join(key if parts[key] == "·" else f"{key}: {parts[key]}" for key in structure.order or parts)
    return f"{{{said}}}" if structure.kind is dict else f"{structure.kind.__name__}({said})"


def _word(key: str) -> str:
    """A key as a part of an identifier."""
    return "".join(letter if f"_{letter}".isidentifier() else "_" for letter in key)


def _key(item: tuple[str, Any]) -> str:
    return item[0]
