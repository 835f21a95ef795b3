"""The heap of a call: the objects that a graph reads, as a table of indices and vectors of fields.

An object is an index into the table of its call, so identity and aliases are exact, and no pointer enters the graph. A
field is a vector per class and attribute. `ObjectTable` encodes what a graph reads, and checks every layout while it
does; `changes` finds what the graph has changed. Only attributes that the program reads are followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CellType, GetSetDescriptorType
from typing import Any, TypeAlias

import numpy as np

from ...core import dtypes
from ...core.frontend.eager.array import ConcreteArray
from ...core.types import Type
from ...core.value import literal
from .layouts import (
    MAX_INTEGER,
    NONE,
    NUMBER_CLASSES,
    UNASSIGNED,
    ArrayLayout,
    ConstantLayout,
    Layout,
    NotSpeculable,
    NumberLayout,
    ReferenceLayout,
    TupleLayout,
    UnionLayout,
    join,
    zero_leaves,
)


@dataclass(frozen=True)
class FieldKey:
    """An attribute of the instances of a class."""

    owner: type
    name: str

    def __str__(self) -> str:
        return f"{self.owner.__qualname__}.{self.name}"


@dataclass(frozen=True, eq=False)
class VariableKey:
    """A variable outside of the program: of a module, by the dict of its globals, or of a function, by its cell."""

    container: Any
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableKey) and self.container is other.container and self.name == other.name

    def __hash__(self) -> int:
        return hash((id(self.container), self.name))

    def __str__(self) -> str:
        return self.name

    def read(self) -> Any:
        """The value now, or UNASSIGNED."""
        if isinstance(self.container, CellType):
            try:
                return self.container.cell_contents
            except ValueError:
                return UNASSIGNED
        return self.container.get(self.name, UNASSIGNED)

    def write(self, value: Any) -> None:
        """Assign the variable."""
        if isinstance(self.container, CellType):
            self.container.cell_contents = value
        else:
            self.container[self.name] = value


HeapKey: TypeAlias = FieldKey | VariableKey
"""What a program reads and writes besides its local variables."""


def is_compact(layout: Layout) -> bool:
    """Whether the vectors of a field have rows for the objects of its class only, since some of its values are arrays:
    then the row of an object is looked up. Other vectors have a row for each object of the table."""
    return any(not type_.is_scalar for type_ in layout.types)


class LayoutMiss(Exception):
    """A value is not of the layout that a graph assumes."""

    def __init__(self, place: str, required: object, got: object) -> None:
        super().__init__(f"{place} is {got}, not {required}")
        self.place = place


_MISSING = object()


def static_attribute(owner: type, name: str, default: Any = None) -> Any:
    """What the class and its bases have under a name, without descriptors being called."""
    for each in owner.__mro__:
        value = each.__dict__.get(name, _MISSING)
        if value is not _MISSING:
            return value
    return default


SPECIAL_ATTRIBUTES = ("__getattribute__", "__getattr__", "__setattr__", "__delattr__")
"""Attributes of a class that change what an access to an attribute of an instance does."""
_PLAIN_SPECIALS = (object.__getattribute__, None, object.__setattr__, object.__delattr__)


def class_problem(owner: type) -> str | None:
    """Why instances of a class cannot be in a table, in words; None if they can."""
    if owner.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return f"{owner.__qualname__} is tagloom's"
    if type(owner) is not type:
        return f"{owner.__qualname__} has the metaclass {type(owner).__name__}"
    for each in owner.__mro__[:-1]:
        if not each.__flags__ & 1 << 9:  # Py_TPFLAGS_HEAPTYPE: the class comes from a class statement
            return f"{owner.__qualname__} derives from {each.__qualname__}"
        if "__slots__" in each.__dict__:
            return f"{each.__qualname__} has __slots__"
    if not isinstance(static_attribute(owner, "__dict__"), GetSetDescriptorType):
        return f"{owner.__qualname__} has a __dict__ of its own"
    for name, plain in zip(SPECIAL_ATTRIBUTES, _PLAIN_SPECIALS, strict=True):
        if static_attribute(owner, name) is not plain:
            return f"{owner.__qualname__} has {name}"
    return None


def layout_of(value: Any) -> Layout:
    """The lowest layout of a Python value, apart from constants: a number is one of its class.

    An object that cannot be in a table is a constant: code that needs more than its identity is refused later."""
    kind = NUMBER_CLASSES.get(type(value))
    if kind is not None:
        return NumberLayout(kind) if kind != "i" or abs(value) < MAX_INTEGER else ConstantLayout(value)
    if value is None:
        return NONE
    if type(value) is ConcreteArray:
        return ArrayLayout(value._type)
    if type(value) is tuple:
        return TupleLayout(tuple(map(layout_of, value)))
    if is_object(value):
        return ReferenceLayout(frozenset([type(value)]), False)
    return ConstantLayout(value)


def is_object(value: Any) -> bool:
    """Whether a value is an object of the user that can be in a table."""
    return type(type(value)) is type and not issubclass(type(value), type) and class_problem(type(value)) is None


class ObjectTable:
    """The objects that a call reaches, each with its index."""

    def __init__(self, fields: Mapping[FieldKey, Layout], absent_names: Mapping[type, frozenset[str]]) -> None:
        """`fields` has the layouts of the attributes to follow. No instance of a class may have an attribute of its own
        under one of its `absent_names`: the graph takes what the class has."""
        self.indices: dict[int, int] = {}
        self.objects: list[Any] = []
        self.rows: dict[type, list[int]] = {}
        """The indices of the objects of each class."""
        self.columns: dict[FieldKey, list[Any]] = {key: [] for key in fields}
        """The values of each field, one for each object of its class."""
        self.layouts, self.absent_names = fields, absent_names
        self.keys: dict[type, list[FieldKey]] = {}
        for key in fields:
            self.keys.setdefault(key.owner, []).append(key)

    def index(self, instance: Any) -> int:
        """The index of an object, which joins the table if it is new."""
        index = self.indices.setdefault(id(instance), len(self.objects))
        if index == len(self.objects):
            self.objects.append(instance)
        return index

    def encode(self, value: Any, layout: Layout, place: object) -> Iterator[Any]:
        """The values that stand for a Python value; raises LayoutMiss where it has another layout."""
        match layout:
            case NumberLayout(kind):
                if NUMBER_CLASSES.get(type(value)) == kind and (kind != "i" or abs(value) < MAX_INTEGER):
                    yield value
                    return
            case ConstantLayout():
                if layout == ConstantLayout(value):
                    return
            case ReferenceLayout(classes, is_optional):
                if type(value) in classes:
                    yield self.index(value)
                    return
                if value is None and is_optional:
                    yield -1
                    return
            case ArrayLayout(type_):
                if type(value) is ConcreteArray and type_.admits(value._type):
                    yield value._value
                    return
            case TupleLayout(items):
                if type(value) is tuple and len(value) == len(items):
                    for item, each in zip(items, value, strict=True):
                        yield from self.encode(each, item, place)
                    return
            case UnionLayout(options):
                yield from self._encode_option(value, options, place)
                return
        raise LayoutMiss(str(place), layout, layout_of(value))

    def _encode_option(self, value: Any, options: Sequence[Layout], place: object) -> Iterator[Any]:
        for tag, option in enumerate(options):
            try:
                leaves = list(self.encode(value, option, place))
            except LayoutMiss:
                continue
            yield tag
            for position, each in enumerate(options):
                yield from leaves if position == tag else zero_leaves(each)
            return
        raise LayoutMiss(str(place), UnionLayout(tuple(options)), layout_of(value))

    def follow(self) -> None:
        """Follow the fields of all objects, those found on the way included; raises LayoutMiss."""
        position = 0
        while position < len(self.objects):
            instance = self.objects[position]
            owner, attributes = type(instance), instance.__dict__
            self.rows.setdefault(owner, []).append(position)
            for name in self.absent_names.get(owner, ()):
                if dict.__contains__(attributes, name):  # of dict, as Python does: `__dict__` may be of a subclass
                    raise LayoutMiss(f"{owner.__qualname__}.{name}", "an attribute of the class", "one of the instance")
            for key in self.keys.get(owner, ()):
                value = dict.get(attributes, key.name, UNASSIGNED)
                layout = self.layouts[key]
                if type(layout) is ReferenceLayout:  # the common case, without a generator
                    if value is None and layout.is_optional:
                        value = -1
                    elif type(value) in layout.classes:
                        value = self.index(value)
                    else:
                        raise LayoutMiss(str(key), layout, layout_of(value))
                elif type(layout) is not NumberLayout:
                    value = list(self.encode(value, layout, key))
                self.columns[key].append(value)
            position += 1

    def vectors(self, key: FieldKey) -> list[Any]:
        """The vectors of a field, one for each of its values; an object of another class has zeros there."""
        layout, column, rows = self.layouts[key], self.columns[key], self.rows.get(key.owner, [])
        if isinstance(layout, NumberLayout):
            classes = {*map(type, column)}
            if classes - {next(c for c, kind in NUMBER_CLASSES.items() if kind == layout.kind)}:
                wrong = next(each for each in column if NUMBER_CLASSES.get(type(each)) != layout.kind)
                raise LayoutMiss(str(key), layout, layout_of(wrong))
        parts: list[list[Any]]
        if isinstance(layout, NumberLayout | ReferenceLayout):
            parts = [column]
        else:
            parts = [list(part) for part in zip(*column, strict=True)] or [[] for _ in layout.types]
        return [self._vector(part, type_, rows, key) for part, type_ in zip(parts, layout.types, strict=True)]

    def _vector(self, part: list[Any], type_: Type, rows: list[int], key: FieldKey) -> Any:
        sizes: tuple[Any, ...] = type_.shape or ()
        if None in sizes:
            shapes = {np.shape(each) for each in part} or {tuple(size or 0 for size in sizes)}
            if len(shapes) != 1:
                raise NotSpeculable(f"the arrays of {key} have different shapes in one call")
            sizes = shapes.pop()
        try:
            values = np.array(part, type_.dtype.numpy).reshape(len(part), *sizes)
        except OverflowError:
            raise LayoutMiss(str(key), "an int of 62 bits", "a larger int") from None
        if (
            type_.dtype is dtypes.int64
            and not sizes
            and values.size
            and max(-values.min(), values.max()) >= MAX_INTEGER
        ):
            raise LayoutMiss(str(key), "an int of 62 bits", "a larger int")
        if len(part) == len(self.objects) or is_compact(self.layouts[key]):
            return values
        vector = np.zeros((len(self.objects), *sizes), type_.dtype.numpy)
        vector[rows] = values
        return vector

    def class_rows(self) -> Any:
        """The number of each object among those of its class."""
        rows = np.zeros(len(self.objects), np.int64)
        for indices in self.rows.values():
            rows[indices] = np.arange(len(indices))
        return rows

    def class_numbers(self, numbers: Mapping[type, int]) -> Any:
        """The number of the class of each object."""
        return np.array([numbers[type(each)] for each in self.objects], np.int64)

    def decode(self, layout: Layout, leaves: Iterator[Any]) -> Any:
        """The Python value of a layout that these values stand for."""
        match layout:
            case NumberLayout(kind):
                value = next(leaves)
                return bool(value) if kind == "b" else int(value) if kind == "i" else float(value)
            case ConstantLayout(value):
                return value
            case ReferenceLayout():
                index = int(next(leaves))
                return None if index < 0 else self.objects[index]
            case ArrayLayout():
                return ConcreteArray(literal(next(leaves)))
            case TupleLayout(items):
                return tuple(self.decode(item, leaves) for item in items)
            case UnionLayout(options):
                tag, parts = int(next(leaves)), [[next(leaves) for _ in option.types] for option in options]
                return self.decode(options[tag], iter(parts[tag]))

    def changes(self, key: FieldKey, before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[Any, str, Any]]:
        """The objects whose field a graph has changed, with the name and the new value."""
        positions = set[int]()
        for old, new in zip(before, after, strict=True):
            old, new = np.asarray(old), np.asarray(new)
            different = (old != new) | (np.signbit(old) != np.signbit(new)) if old.dtype.kind == "f" else old != new
            positions.update(np.flatnonzero(different.any(axis=tuple(range(1, different.ndim)))).tolist())
        indices = self.rows.get(key.owner, []) if is_compact(self.layouts[key]) else range(len(self.objects))
        for row in sorted(positions):
            yield (
                self.objects[indices[row]],
                key.name,
                self.decode(self.layouts[key], iter([part[row] for part in after])),
            )


class Observation:
    """The layouts of arguments, fields and variables, joined over all that was seen."""

    def __init__(self) -> None:
        self.arguments: dict[str, Layout] = {}
        self.fields: dict[FieldKey, Layout] = {}
        self.variables: dict[VariableKey, Layout] = {}
        self.climbs = 0
        """How often a layout has become a wider one."""

    def observe(self, roots: Mapping[str, Any], fields: Sequence[FieldKey], variables: Sequence[VariableKey]) -> None:
        """Join the layouts of arguments by name, and of these fields and variables, in what they reach."""
        names: dict[type, list[FieldKey]] = {}
        for key in fields:
            names.setdefault(key.owner, []).append(key)
        pending, seen = list(roots.values()), set[int]()
        for name, value in roots.items():
            self._join(self.arguments, name, value)
        for variable in variables:
            value = variable.read()
            self._join(self.variables, variable, value)
            pending.append(value)
        for value in pending:  # a worklist: the loop appends to it
            if type(value) is tuple:
                pending += value
            elif id(value) not in seen and is_object(value):
                seen.add(id(value))
                attributes = value.__dict__
                for key in names.get(type(value), ()):
                    content = dict.get(attributes, key.name, UNASSIGNED)
                    self._join(self.fields, key, content)
                    pending.append(content)

    def _join(self, layouts: dict[Any, Layout], key: Any, value: Any) -> None:
        before, layout = layouts.get(key), layout_of(value)
        try:
            joined = layout if before is None else join(before, layout)
        except NotSpeculable as error:
            raise NotSpeculable(f"{key}: {error}") from None
        if before is not None and joined != before:
            self.climbs += 1
        layouts[key] = joined
