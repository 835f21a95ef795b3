"""Layouts: what a graph assumes of a Python value, as a lattice.

A layout says which values of a program stand for a Python value. A constant has none; a number has one; a reference to
an object is the object's index in the table of the call, -1 for None. A value that may be of several layouts is a tag,
and the values of all of them. `join` is the least layout above two; the layout of a place can be widened a finite
number of times (`height`), which bounds how often a graph can be built.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

import numpy as np

from ...core import dtypes
from ...core.dtypes import DType
from ...core.frontend.eager.array import ConcreteArray
from ...core.types import Type
from ...core.value import literal
from .recording import python_function

NUMBER_CLASSES: dict[type, str] = {bool: "b", int: "i", float: "f"}
NUMBER_DTYPES: dict[str, DType] = {"b": dtypes.bool, "i": dtypes.int64, "f": dtypes.float64}
NUMBER_NAMES = {"b": "bool", "i": "int", "f": "float"}
MAX_INTEGER = 2**62
"""Integers of a graph are between -MAX_INTEGER and MAX_INTEGER, so a sum of two does not wrap."""
MAX_CLASSES = 4
"""The largest number of classes that the objects at one place may have."""
MAX_HEIGHT = 16
"""The largest number of layouts that one place takes in succession."""
MAX_TEMPLATES = 24
"""The largest number of templates of a string. A string that grows in a loop or recursion has one more in each round of
inference, and the time of a round grows with their square."""
MAX_OPTIONS = 4
"""The largest number of options of a union."""


class NotSpeculable(BaseException):
    """Something cannot be part of a graph; the message says why. It derives from BaseException, so that `except
    Exception` in code of the user does not catch it."""


class ShapesDiffer(NotSpeculable):
    """Arrays of one attribute have different shapes in one call, so that they have no common vector."""


class Pool:
    """The base of classes that stand for the lists, or dicts, of one place of a program: each place has a subclass."""

    python_class: type[Any]
    place: object


class SequencePool(Pool):
    """The containers of one place. Their items are in one vector, `items`, from `start` on; `length` is their
    number."""


class ListPool(SequencePool):
    """The lists of one place."""

    python_class = list


class DequePool(SequencePool):
    """The deques of one place."""

    python_class = deque


class SetPool(SequencePool):
    """The sets of one place. A set is a list of its items: a graph does not know their order, so no loop reads it."""

    python_class = set


class DictPool(Pool):
    """The dicts of one place. Each key, a string or an int, is a field, as an attribute of an object is."""

    python_class = dict


class TablePool(SequencePool):
    """The dicts of one place, with keys that a call computes. A dict is a list of its pairs of key and value, in
    order."""

    python_class: type[Any] = dict


class OrderedDictPool(TablePool):
    """The dicts of class `OrderedDict` of one place."""

    python_class = OrderedDict


class DefaultDictPool(TablePool):
    """The dicts of class `defaultdict` of one place."""

    python_class = defaultdict


class CounterPool(TablePool):
    """The dicts of class `Counter` of one place."""

    python_class = Counter


class ArrayPool(Pool):
    """The arrays of NumPy of one place. Their elements are a field."""

    python_class = np.ndarray


POOLS: dict[type, type[Pool]] = {
    list: ListPool,
    dict: DictPool,
    np.ndarray: ArrayPool,
    deque: DequePool,
    set: SetPool,
    OrderedDict: OrderedDictPool,
    defaultdict: DefaultDictPool,
    Counter: CounterPool,
}
STATIC_CONTAINERS = (list, dict)
"""The classes of containers that may be static."""


_NAMED_TUPLE_METHODS = {"__new__", "__repr__", "__getnewargs__", "__replace__", "__annotate__", "__annotate_func__"}
"""The special methods that `collections.namedtuple` and `typing.NamedTuple` define."""


@cache
def is_named_tuple(owner: type) -> bool:
    """Whether a class comes from `collections.namedtuple` or `typing.NamedTuple`, and defines no special methods of its
    own: its instances are tuples with names for their items."""
    if type(owner) is not type or owner.__bases__ != (tuple,) or "_field_defaults" not in owner.__dict__:
        return False
    special = {name for name, member in owner.__dict__.items() if name.startswith("__") and callable(member)}
    return owner.__dict__.get("__slots__") == () and special <= _NAMED_TUPLE_METHODS


def class_name(owner: type) -> str:
    """The name of a class; `list` or `dict` for a pool."""
    return owner.python_class.__name__ if issubclass(owner, Pool) else owner.__qualname__


class Unassigned:
    """The value of a variable that is not assigned."""

    def __repr__(self) -> str:
        return "nothing"


UNASSIGNED = Unassigned()


@dataclass(frozen=True)
class ConstantLayout:
    """One value, which is part of the graph."""

    value: Any

    def _key(self) -> Any:
        kind = type(self.value)
        if kind is float:
            return kind, repr(self.value)
        return (kind, self.value) if kind in (bool, int, str, type(None)) else (kind, id(self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantLayout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        value = python_function(self.value)
        kind = type(value)
        if kind in (bool, int, float, str, type(None), Unassigned):
            return repr(value)
        if kind in (FunctionType, BuiltinFunctionType, type):
            return str(value.__qualname__)
        return f"one {kind.__qualname__}"  # its own __repr__ is code of the user

    types: tuple[Type, ...] = ()
    height = 0


@dataclass(frozen=True)
class NumberLayout:
    """A Python number of one class: `b` bool, `i` int, `f` float."""

    kind: str

    def __str__(self) -> str:
        return NUMBER_NAMES[self.kind]

    @property
    def types(self) -> tuple[Type, ...]:
        return (Type(NUMBER_DTYPES[self.kind]),)

    height = 1


@dataclass(frozen=True)
class ReferenceLayout:
    """An object of one of these classes, or None if `is_optional`. A list or dict is of the class of its pool."""

    classes: frozenset[type]
    is_optional: bool

    def __str__(self) -> str:
        names = sorted({class_name(owner) for owner in self.classes})
        return " | ".join([*names, *(["None"] if self.is_optional else [])])

    def class_of(self, value: Any) -> type | None:
        """The class of these that a value has, if any."""
        kind = type(value)
        if kind in self.classes:
            return kind
        if kind not in POOLS:
            return None
        return next((owner for owner in self.classes if issubclass(owner, Pool) and owner.python_class is kind), None)

    types = (Type(dtypes.int64),)

    @property
    def height(self) -> int:
        return len(self.classes) + self.is_optional


@dataclass(frozen=True)
class StaticObject:
    """An object that each call reaches by the same path, such as a layer of a model. Each of its attributes or items
    has values of its own in the graph."""

    place: object
    """The argument, variable, attribute or item that has it."""
    owner: type
    size: int = 0
    """The length of a list."""

    def __str__(self) -> str:
        return f"{self.owner.__qualname__} of {self.size}" if self.owner is list else self.owner.__qualname__


@dataclass(frozen=True)
class StaticLayout:
    """The object at the end of a static path; it may differ from call to call."""

    object: StaticObject

    def __str__(self) -> str:
        return str(self.object)

    types: tuple[Type, ...] = ()
    height = 1


@dataclass(frozen=True)
class ArrayLayout:
    """An array of this type."""

    type: Type

    def __str__(self) -> str:
        return str(self.type)

    @property
    def types(self) -> tuple[Type, ...]:
        return (self.type,)

    @property
    def height(self) -> int:
        return 1 + (1 if self.type.shape is None else sum(size is None for size in self.type.shape))


@dataclass(frozen=True)
class NumpyLayout:
    """The elements of an array of NumPy of this type; without axes, a scalar of NumPy."""

    type: Type
    is_view: bool = False
    """Whether they are elements of another array, too."""

    def __str__(self) -> str:
        return f"numpy {self.type}"

    @property
    def types(self) -> tuple[Type, ...]:
        return (self.type,)

    @property
    def height(self) -> int:
        return 1 + sum(size is None for size in self.type.shape or ())


@dataclass(frozen=True)
class TupleLayout:
    """A tuple or named tuple of this length, or a list that the call created."""

    items: tuple[Layout, ...]
    kind: type = tuple

    def __str__(self) -> str:
        text = ", ".join(map(str, self.items))
        if self.kind is list:
            return f"[{text}]"
        return f"({text})" if self.kind is tuple else f"{self.kind.__qualname__}({text})"

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(type_ for item in self.items for type_ in item.types)

    @property
    def height(self) -> int:
        return 1 + sum(item.height for item in self.items)


@dataclass(frozen=True)
class Slot:
    """A value in a text: a number of a kind, or "s" for a string of the table; with a conversion and a format."""

    kind: str
    conversion: str = ""
    format: str = ""

    def text_of(self, value: Any) -> str:
        """The text of a value.

        >>> Slot("f", "", ".2f").text_of(0.5), Slot("i").text_of(3)
        ('0.50', '3')
        """
        conversions: dict[str, Callable[[Any], Any]] = {"s": str, "r": repr, "a": ascii}
        return format(conversions[self.conversion](value) if self.conversion else value, self.format)


@dataclass(frozen=True)
class TextLayout:
    """A string made from one of these templates: the number of the template, then the values in its slots."""

    templates: tuple[tuple[str | Slot, ...], ...]

    def __str__(self) -> str:
        return "str"

    def slots(self, position: int) -> list[Slot]:
        """The slots of a template."""
        return [part for part in self.templates[position] if isinstance(part, Slot)]

    def count(self, is_float: bool) -> int:
        """The largest number of floats, or of other values, in a template."""
        return max(sum((s.kind == "f") == is_float for s in self.slots(k)) for k in range(len(self.templates)))

    @property
    def types(self) -> tuple[Type, ...]:
        integers, floats = [Type(dtypes.int64)] * (1 + self.count(False)), [Type(dtypes.float64)] * self.count(True)
        return (*integers, *floats)

    height = 4


@dataclass(frozen=True)
class UnionLayout:
    """A value of one of several layouts: the number of the layout, and the values of all."""

    options: tuple[Layout, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.options))

    @property
    def types(self) -> tuple[Type, ...]:
        return (Type(dtypes.int64), *(type_ for option in self.options for type_ in option.types))

    @property
    def height(self) -> int:
        return sum(1 + option.height for option in self.options)


Layout: TypeAlias = (
    ConstantLayout
    | NumberLayout
    | ReferenceLayout
    | StaticLayout
    | ArrayLayout
    | NumpyLayout
    | TupleLayout
    | TextLayout
    | UnionLayout
)

NONE = ConstantLayout(None)
MISSING = ConstantLayout(UNASSIGNED)
ANY_TEXT = TextLayout(((Slot("s"),),))
"""Any string. A graph knows only its number in the table of strings."""


def has_any_text(layout: Layout) -> bool:
    """Whether a layout admits any string."""
    return isinstance(layout, TextLayout) and ANY_TEXT.templates[0] in layout.templates


def is_tuple_layout(layout: Layout) -> bool:
    """Whether a value is a tuple, of any class."""
    return isinstance(layout, TupleLayout) or (isinstance(layout, ConstantLayout) and type(layout.value) is tuple)


def options_of(layout: Layout) -> tuple[Layout, ...]:
    """The options of a union; any other layout is its only option."""
    return layout.options if isinstance(layout, UnionLayout) else (layout,)


def join(first: Layout, second: Layout) -> Layout:
    """The least layout above both. Raises NotSpeculable if it would have too many options.

    >>> print(join(ConstantLayout(1), ConstantLayout(2)), join(ConstantLayout(1), NumberLayout("f")))
    int 1 | float
    """
    if first == second:
        return first
    simple = _join_simple(first, second)
    if simple is not None:
        return simple
    options = list(options_of(first))
    for new_option in options_of(second):
        for position, option in enumerate(options):
            joined_option = new_option if new_option == option else _join_simple(option, new_option)
            if joined_option is not None:
                options[position] = joined_option
                break
        else:
            options.append(new_option)
    texts = [option for option in options if isinstance(option, TextLayout)]
    if texts:
        strings = [option for option in options if isinstance(option, ConstantLayout) and type(option.value) is str]
        options = [option for option in options if option not in strings]
        for string in strings:
            position = next(k for k, option in enumerate(options) if isinstance(option, TextLayout))
            options[position] = join(options[position], string)
    if len(options) > MAX_OPTIONS:
        strings = [option for option in options if isinstance(option, ConstantLayout) and type(option.value) is str]
        if len(strings) > 1:
            options = [*(option for option in options if option not in strings), ANY_TEXT]
    if len(options) > MAX_OPTIONS:
        raise NotSpeculable(f"a value has more than {MAX_OPTIONS} layouts: {', '.join(map(str, options))}")
    return UnionLayout(tuple(options)) if len(options) > 1 else options[0]


def _join_simple(first: Layout, second: Layout) -> Layout | None:
    """The least layout above both, if it is not a union; else None."""
    kinds = number_kind(first), number_kind(second)
    if kinds[0] is not None and kinds[0] == kinds[1]:
        return NumberLayout(kinds[0])
    match first, second:
        case (ReferenceLayout(), ConstantLayout(value=None)) | (ConstantLayout(value=None), ReferenceLayout()):
            reference = first if isinstance(first, ReferenceLayout) else second
            assert isinstance(reference, ReferenceLayout)
            return ReferenceLayout(reference.classes, True)
        case ReferenceLayout(), ReferenceLayout():
            classes = first.classes | second.classes
            if len(classes) > MAX_CLASSES:
                raise NotSpeculable(f"an object may be of one of {len(classes)} classes")
            return ReferenceLayout(classes, first.is_optional or second.is_optional)
        case TextLayout(), TextLayout():
            new_templates = tuple(template for template in second.templates if template not in first.templates)
            if len(first.templates) + len(new_templates) > MAX_TEMPLATES:
                raise NotSpeculable(f"a string has more than {MAX_TEMPLATES} templates")
            return TextLayout(first.templates + new_templates) if new_templates else first
        case (TextLayout(), ConstantLayout(value=str(text))) | (ConstantLayout(value=str(text)), TextLayout()):
            layout = first if isinstance(first, TextLayout) else second
            assert isinstance(layout, TextLayout)
            if has_any_text(layout):
                return layout
            return join(layout, TextLayout(((text,),)))
        case ArrayLayout(), ArrayLayout():
            joined_type = first.type.join(second.type)
            has_rank = joined_type is not None and joined_type.shape is not None
            return ArrayLayout(joined_type) if joined_type is not None and has_rank else None
        case NumpyLayout(), NumpyLayout():
            joined_type = first.type.join(second.type)
            has_rank = joined_type is not None and joined_type.shape is not None
            return (
                NumpyLayout(joined_type, first.is_view or second.is_view)
                if joined_type is not None and has_rank
                else None
            )
        case TupleLayout(), TupleLayout() if len(first.items) == len(second.items) and first.kind is second.kind:
            return TupleLayout(tuple(join(*pair) for pair in zip(first.items, second.items, strict=True)), first.kind)
    return None


def number_kind(layout: Layout) -> str | None:
    """The kind of a number, constant or not; None for another layout."""
    if isinstance(layout, NumberLayout):
        return layout.kind
    return NUMBER_CLASSES.get(type(layout.value)) if isinstance(layout, ConstantLayout) else None


def parts(layout: Layout) -> Iterator[Layout]:
    """A layout and the layouts of its parts."""
    yield layout
    for part in layout.items if isinstance(layout, TupleLayout) else options_of(layout):
        if part is not layout:
            yield from parts(part)


def is_new_list(layout: Layout) -> bool:
    """Whether a value is a list that the call created, whose items have layouts of their own."""
    return isinstance(layout, TupleLayout) and layout.kind is list


def references(layout: Layout) -> Iterator[ReferenceLayout]:
    """The references among a layout and its parts."""
    return (part for part in parts(layout) if isinstance(part, ReferenceLayout))


def static_objects(layout: Layout) -> Iterator[StaticObject]:
    """The static objects among a layout and its parts."""
    return (part.object for part in parts(layout) if isinstance(part, StaticLayout))


def replace_class(layout: Layout, owner: type, new: type) -> Layout:
    """A layout with its references to class `owner` replaced by references to `new`."""
    match layout:
        case ReferenceLayout(classes, is_optional) if owner in classes:
            return ReferenceLayout(classes - {owner} | {new}, is_optional)
        case TupleLayout(items, kind):
            return TupleLayout(tuple(replace_class(item, owner, new) for item in items), kind)
        case UnionLayout(options):
            return UnionLayout(tuple(replace_class(option, owner, new) for option in options))
    return layout


def is_within(layout: Layout, bound: Layout) -> bool:
    """Whether every value of a layout is a value of a bound.

    >>> is_within(NumberLayout("i"), UnionLayout((NumberLayout("f"), NumberLayout("i"))))
    True
    """
    try:
        return join(bound, layout) == bound  # in this order: options keep the order of the first
    except NotSpeculable:
        return False


def zero_leaves(layout: Layout) -> Iterator[Any]:
    """Placeholders for the values of a layout where there is no value; they are never read."""
    for type_ in layout.types:
        if type_.is_scalar:
            yield type_.dtype.numpy.type(0).item()
        else:
            yield ConcreteArray(literal(np.zeros([size or 0 for size in type_.shape or ()], type_.dtype.numpy)))
