"""The heap of a call: the objects that a graph reads, as a table of indices and vectors of fields.

An object is an index into the table of its call, so identity and aliases are exact, and no pointer enters the graph. A
field is a vector per class and attribute. Lists and dicts are objects, too: the items of the lists of one place are one
vector, and a key of dicts is a field. `ObjectTable` encodes what a graph reads, and checks every layout while it does;
`changes` finds what the graph has changed. Only attributes that the program reads are followed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from types import CellType, GetSetDescriptorType, MappingProxyType, MemberDescriptorType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...core import dtypes
from ...core.errors import describe_class
from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.eager.variable import Variable
from ...core.types import Type, type_of
from ...core.value import Literal, literal
from ..engines.protocol import PackedArrays
from ..training.optimizers import Optimizer
from .dataclass_fields import dataclass_of
from .layouts import (
    ANY_TEXT,
    MAX_INTEGER,
    MISSING,
    NONE,
    NUMBER_CLASSES,
    POOLS,
    STATIC_CONTAINERS,
    UNASSIGNED,
    ArrayLayout,
    ArrayPool,
    ConstantLayout,
    DefaultDictPool,
    DictPool,
    Layout,
    NotSpeculable,
    NumberLayout,
    NumpyLayout,
    Pool,
    ReferenceLayout,
    SequencePool,
    SetPool,
    ShapesDiffer,
    Slot,
    StaticLayout,
    StaticObject,
    TablePool,
    TextLayout,
    TupleLayout,
    UnionLayout,
    class_name,
    has_any_text,
    is_named_tuple,
    join,
    options_of,
    references,
    replace_class,
    static_objects,
    zero_leaves,
)
from .walk import Walk, WalkPlan


@dataclass(frozen=True)
class FieldKey:
    """An attribute of the instances of a class, a key of dicts, KEYS of dicts, or one of ITEMS, LENGTH, START, LIMIT
    and CHANGES of lists."""

    owner: type
    name: Any
    """The name of an attribute, or the key: a string or an int."""

    def __str__(self) -> str:
        if issubclass(self.owner, DictPool):
            return f"{self.owner.place}[{self.name!r}]" if self.name is not KEYS else f"keys of {self.owner.place}"
        if issubclass(self.owner, ArrayPool):
            return f"elements of {self.owner.place}"
        if issubclass(self.owner, SequencePool):
            return f"{self.owner.place}[]" if self.name == ITEMS else f"{self.name} of {self.owner.place}"
        return f"{self.owner.__qualname__}.{self.name}"

    @property
    def is_items(self) -> bool:
        """Whether it stands for the items of lists, whose vectors have a row for each item."""
        return self.name == ITEMS and issubclass(self.owner, SequencePool)


ITEMS, LENGTH, START, LIMIT = "items", "length", "start", "limit"
"""The fields of lists: the items of all lists, and for each list its length, the start of its items, and the limit of
their end."""
CHANGES = "changes"
"""The field of deques and dicts that counts how often a run has added or removed items; for a set, the flags below."""
SET_GAINS, SET_LOSES, SET_IS_CLEARED = 1, 2, 4
"""How a run has changed a set since its last `clear`. A graph does not know the order of a set that both gains and
loses items, since a hash table keeps the places of lost ones."""
OPTION = "option"
"""The field of deques and of defaultdicts that has the attribute in `OPTIONS`."""
OPTIONS: dict[type, str] = {deque: "maxlen", defaultdict: "default_factory"}


KEYS = object()
"""The field of dicts that has the tuple of their keys: no key itself, as strings are."""


@dataclass(frozen=True, eq=False)
class VariableKey:
    """A variable outside of the program: of a module, by the dict of its globals, of a function, by its cell, or of a
    class."""

    container: Any
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableKey) and self.container is other.container and self.name == other.name

    def __hash__(self) -> int:
        return hash((id(self.container), self.name))

    def __str__(self) -> str:
        return f"{self.container.__qualname__}.{self.name}" if isinstance(self.container, type) else self.name

    def read(self) -> Any:
        """The current value, or UNASSIGNED."""
        if isinstance(self.container, CellType):
            try:
                return self.container.cell_contents
            except ValueError:
                return UNASSIGNED
        namespace = self.container.__dict__ if isinstance(self.container, type) else self.container
        return namespace.get(self.name, UNASSIGNED)

    def write(self, value: Any) -> None:
        """Assign the variable."""
        if isinstance(self.container, CellType):
            self.container.cell_contents = value
        elif isinstance(self.container, type):
            type.__setattr__(self.container, self.name, value)
        else:
            self.container[self.name] = value


@dataclass(frozen=True)
class AllocationKey:
    """The fresh objects of a class, or lists or dicts of a pool: the index of the next one, and the end of their
    range."""

    owner: type

    def __str__(self) -> str:
        return f"next {class_name(self.owner)}"


@dataclass(frozen=True)
class PlaceKey:
    """An attribute of a static object, an item of a static list or dict, or the value of a `tl.Variable`."""

    owner: StaticObject
    name: str | int

    def __str__(self) -> str:
        is_item = self.owner.owner in POOLS
        return f"{self.owner.place}[{self.name!r}]" if is_item else f"{self.owner.place}.{self.name}"

    def read(self, instance: Any) -> Any:
        """The current value of this attribute or item of an object, or UNASSIGNED."""
        if type(instance) is list:
            return instance[int(self.name)]
        if type(instance) is Variable:
            return getattr(instance, str(self.name))
        return dict.get(attributes_of(instance), self.name, UNASSIGNED)

    def write(self, instance: Any, value: Any) -> None:
        """Write this attribute or item of an object."""
        if type(instance) is list:
            instance[int(self.name)] = value
        elif type(instance) is dict:
            instance[self.name] = value
        elif type(instance) is Variable:
            instance.assign(value)
        else:
            object.__setattr__(instance, str(self.name), value)


def slot_name(optimizer: Optimizer, variable: Variable) -> str | None:
    """The name under which an optimizer has the slots of a variable; None before its first step."""
    return optimizer._names.get(variable._resource.creation_order)


def place_names(static: StaticObject, instance: Any, words: set[str]) -> list[str | int]:
    """The attributes or items of a static object that code with these words may read: all items of a list, and all
    attributes of tagloom's own objects."""
    if type(instance) is list:
        return list(range(len(instance)))
    if type(instance) is Variable:
        return ["value"]
    if isinstance(instance, Optimizer):
        return ["rate", "slots"]
    is_slots = any(issubclass(key.owner.owner, Optimizer) for key in places_of(static.place))
    return [name for name in attributes_of(instance) if type(name) is str and (is_slots or name in words)]


def attributes_of(instance: Any) -> dict[Any, Any]:
    """The attributes of an object, in a dict of their own if the object has slots; a dict has its items."""
    if type(instance) is dict:
        return instance
    return _attribute_reader(type(instance))(instance)


def _attribute_reader(owner: type) -> Callable[[Any], dict[Any, Any]]:
    """What reads the attributes of the instances of a class."""
    slots = slots_of(owner)
    if has_dict(owner):
        return partial(_read_dict_and_slots, slots) if slots else _get_dict
    return partial(_read_slots, [(name, slot.__get__) for name, slot in slots.items()])


_get_dict: Callable[[Any], dict[Any, Any]] = attrgetter("__dict__")


def _read_slots(slots: Sequence[tuple[str, Callable[[Any], Any]]], instance: Any) -> dict[Any, Any]:
    """The attributes of an object that has slots only."""
    attributes = {}
    for name, read in slots:
        try:
            attributes[name] = read(instance)
        except AttributeError:  # not assigned
            continue
    return attributes


def _read_dict_and_slots(slots: Mapping[str, MemberDescriptorType], instance: Any) -> dict[Any, Any]:
    """The attributes of an object that has slots and a dict."""
    own_attributes = {name: value for name, value in instance.__dict__.items() if name not in slots}
    return own_attributes | _read_slots([(name, slot.__get__) for name, slot in slots.items()], instance)


def slots_of(owner: type) -> dict[str, MemberDescriptorType]:
    """The slots of the instances of a class, by name, which it or a base lists in `__slots__`; none if another class
    attribute of the same name hides it."""
    bases = owner.__mro__[:-1]
    if not any("__slots__" in base.__dict__ for base in bases):
        return {}
    members = {name: (base, member) for base in reversed(bases) for name, member in base.__dict__.items()}
    return {
        name: member
        for name, (base, member) in members.items()
        if type(member) is MemberDescriptorType and member.__objclass__ is base and member.__name__ == name
    }


def has_dict(owner: type) -> bool:
    """Whether the instances of a class have a `__dict__`."""
    return owner.__dictoffset__ != 0


def places_of(place: object) -> Iterator[PlaceKey]:
    """The attributes and items of static objects on the path to a place, from the last to the first."""
    while True:
        if isinstance(place, _ItemPlace):
            place = place.place
        elif isinstance(place, PlaceKey):
            yield place
            place = place.owner.place
        else:
            return


def _is_static_place(place: object) -> bool:
    """Whether one path of attributes and items leads to a place."""
    while isinstance(place, _ItemPlace):
        place = place.place
    return not isinstance(place, FieldKey)


MAX_STATIC_ITEMS = 64
"""The largest number of items of a static list or dict: loops over it are unrolled."""

HeapKey: TypeAlias = FieldKey | VariableKey | PlaceKey | AllocationKey
"""A location, other than a local variable, that a program reads or writes."""
OutsideKey: TypeAlias = VariableKey | PlaceKey
"""A key that has its own values in a graph, not rows of vectors."""


def is_compact(layout: Layout) -> bool:
    """Whether the vectors of a field have rows only for the objects of its class, since some of its values are arrays.
    Then the row of an object is looked up. Other vectors have a row for each object of the table."""
    return any(not type_.is_scalar for type_ in layout.types)


CapacityKey: TypeAlias = type | AllocationKey
"""What has a capacity: the lists of a pool, for more items, or the fresh objects of a class."""
MIN_CAPACITY = 8
"""The initial capacity."""

_SINGLE = NumberLayout | ReferenceLayout | ArrayLayout | NumpyLayout
"""Layouts with one value, which columns hold directly; for other layouts they hold lists of values."""


class LayoutMiss(Exception):
    """A value is not of the layout that a graph assumes."""

    def __init__(self, place: str, required: object, got: object) -> None:
        super().__init__(f"{place} is {got}, not {required}")
        self.place = place


def static_attribute(owner: type, name: str, default: Any = None) -> Any:
    """The attribute of a class, from it or a base, without a call of descriptors."""
    for base in owner.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return default


SPECIAL_ATTRIBUTES = ("__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__del__")
"""Attributes of a class that run code when an attribute of an instance is accessed, or an instance is dropped."""
_PLAIN_SPECIALS = (object.__getattribute__, None, object.__setattr__, object.__delattr__, None)


def class_problem(owner: type) -> str | None:
    """The reason, in words, for which instances of a class cannot be in a table; None if they can."""
    if owner.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return f"{owner.__qualname__} is tagloom's"
    if type(owner) is not type:
        return f"{owner.__qualname__} has the metaclass {type(owner).__name__}"
    for base in owner.__mro__[:-1]:
        if not base.__flags__ & 1 << 9:  # Py_TPFLAGS_HEAPTYPE: the class comes from a class statement
            return f"{owner.__qualname__} derives from {base.__qualname__}"
    if has_dict(owner) and not isinstance(static_attribute(owner, "__dict__"), GetSetDescriptorType):
        return f"{owner.__qualname__} has a __dict__ of its own"
    for name, plain in zip(SPECIAL_ATTRIBUTES, _PLAIN_SPECIALS, strict=True):
        if static_attribute(owner, name) is not plain and dataclass_of(owner, name) is None:
            return f"{owner.__qualname__} has {name}"
    return None


def layout_of(value: Any) -> Layout:
    """The lowest layout of a Python value, other than a constant: for a number, that of its class.

    An object that cannot be in a table is a constant: code that needs more than its identity is refused later. Raises
    NotSpeculable for an object with a finalizer, which Python calls in the middle of a call.
    """
    kind = NUMBER_CLASSES.get(type(value))
    if kind is not None:
        return NumberLayout(kind) if kind != "i" or abs(value) < MAX_INTEGER else ConstantLayout(value)
    if value is None:
        return NONE
    if type(value) is ConcreteArray:
        return ArrayLayout(value._type)
    if type(value) in NUMPY_SCALARS:
        return NumpyLayout(type_of(value))
    if is_tuple(value):
        return TupleLayout(tuple(map(layout_of, value)), type(value))
    if is_object(value):
        return ReferenceLayout(frozenset([type(value)]), False)
    if static_attribute(type(value), "__del__") is not None:
        raise NotSpeculable(f"{type(value).__qualname__} has __del__")
    return ConstantLayout(value)


NUMPY_SCALARS = (np.float64, np.int64, np.bool_)
"""The classes of scalars and elements of arrays of NumPy that can be in a graph. Beside these, Python's numbers are
promoted as arrays are."""


def is_pooled(value: Any) -> bool:
    """Whether a value belongs to a pool: a list, a dict, or an array of NumPy of these dtypes."""
    kind = type(value)
    if kind is np.ndarray:
        return bool(value.ndim > 0 and value.dtype.type in NUMPY_SCALARS)
    return kind in POOLS


def is_tuple(value: Any) -> bool:
    """Whether a value is a tuple or a named tuple, whose items are values of their own."""
    kind: Any = type(value)
    return kind is tuple or is_named_tuple(kind)


def is_object(value: Any) -> bool:
    """Whether a value is an object of the user that can be in a table."""
    return type(type(value)) is type and not issubclass(type(value), type) and class_problem(type(value)) is None


class FollowPlan(NamedTuple):
    """A plan for following the fields of the objects of one class."""

    add_row: Callable[[int], None]
    """Adds the index of an object to the rows of the class."""
    read_attributes: Callable[[Any], dict[Any, Any]]
    """Reads the attributes of an object that is no list or dict."""
    dicts: list[dict[Any, Any]]
    """The attributes of the objects, or the dicts themselves."""
    references: Sequence[tuple[FieldKey, str, frozenset[type], bool, Callable[[int], None]]]
    """The fields of references: each with its name, its classes, whether it may be None, and what adds an index."""
    nested_fields: Sequence[FieldKey]
    """Fields whose values may lead to objects, such as tuples."""
    columns: Sequence[FieldKey]
    """The fields of numbers, arrays and constants."""


class ObjectTable:
    """The objects that a call reaches, each with its index."""

    def __init__(
        self,
        fields: Mapping[FieldKey, Layout],
        class_level_names: Mapping[type, frozenset[str]],
        capacities: Mapping[CapacityKey, int] = MappingProxyType({}),
        allocations: Sequence[AllocationKey] = (),
        texts: Sequence[str] = (),
        plan: WalkPlan | None = None,
        changed_arrays: Set[type] = frozenset(),
    ) -> None:
        """`fields` has the layouts of the attributes to follow. No instance of a class may have an attribute of its own
        under one of its `class_level_names`: the graph takes what the class has. Each list of a pool that may grow has
        capacity for this many items more (`capacities`), and there are this many fresh objects for each of the
        `allocations`. With a plan, machine code follows the fields, if it can. The graph changes elements of arrays of
        NumPy of the pools `changed_arrays` only."""
        self._changed_arrays = changed_arrays
        self._walk_plan = plan
        self._walk: Walk | None = None
        """What machine code has read."""
        self.capacities, self.allocations = capacities, allocations
        self.fresh_indices: dict[type, range] = {}
        """The indices of the fresh objects of each class, which the graph may allocate."""
        self.unordered_sets: set[int] = set()
        """The indices of new sets whose order a run does not know."""
        self.texts = [*texts]
        """The table of strings: first the constants that the graph compares, then strings that it knows only by
        number."""
        self.text_numbers = {text: number for number, text in enumerate(texts)}
        self.static_objects: dict[StaticObject, Any] = {}
        self._static_by_id: dict[int, StaticObject] = {}
        """The static objects, and the dicts of their attributes, by identity."""
        self.indices: dict[int, int] = {}
        self.objects: list[Any] = []
        self.classes: list[type] = []
        """The class of each object, which for lists and dicts is their pool."""
        self.rows: dict[type, list[int]] = {}
        """The indices of the objects of each class."""
        self.cells: dict[type, int] = {}
        """The number of items in the lists of each pool."""
        self._array_owners: dict[int, type] = {}
        """For each array of NumPy that has the elements of arrays of the table, by identity, the pool of one of them.
        Where there are several, none of their pools changes."""
        self.columns: dict[FieldKey, list[Any]] = {}
        """The values of each field, one for each object of its class, or for each item of its lists."""
        self.layouts, self.class_level_names = fields, class_level_names
        self.keys: dict[type, list[FieldKey]] = {}
        """The fields of each class; none, like the columns, if machine code reads the objects."""

    @property
    def is_walked(self) -> bool:
        """Whether machine code has read the objects."""
        return self._walk is not None

    def pack_vectors(self) -> PackedArrays:
        """The vectors of all fields, in the order of the plan, where machine code has read the objects."""
        assert self._walk is not None
        return self._walk.pack_vectors()

    def unpack(self, leaves: Iterable[Any]) -> list[Any]:
        """Arguments of a program as values, where `pack_vectors` packs some."""
        if self._walk is None:
            return list(leaves)
        vectors = [*chain.from_iterable(self._walk.vectors())]
        return [leaf for item in leaves for leaf in (vectors if type(item) is PackedArrays else (item,))]

    def index(self, instance: Any, owner: type) -> int:
        """The index of an object of a class, which is added to the table if it is new; raises LayoutMiss for a list or
        dict of another pool."""
        if id(instance) in self._static_by_id:
            static = self._static_by_id[id(instance)]
            raise LayoutMiss(
                str(static.place),
                f"{describe_class(instance)} of its own",
                "shared with other attributes or variables",
            )
        index = self.indices.setdefault(id(instance), len(self.objects))
        if index == len(self.objects):
            self.objects.append(instance)
            self.classes.append(owner)
        elif self.classes[index] is not owner:
            places = [pool.place for pool in (owner, self.classes[index]) if issubclass(pool, Pool)]
            raise LayoutMiss(str(places[0]), f"{describe_class(instance)} of its own", f"shared with {places[1]}")
        return index

    def leaves_of(self, value: Any, layout: Layout, place: object) -> Sequence[Any]:
        """What `encode` yields: for objects and constants in a fifth of the time."""
        if type(layout) is ReferenceLayout and type(value) in layout.classes:
            return (self.index(value, type(value)),)
        if type(layout) is ConstantLayout and layout.value is value:
            return ()
        return list(self.encode(value, layout, place))

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
            case ReferenceLayout(_, is_optional):
                owner = layout.class_of(value)
                if owner is not None:
                    yield self.index(value, owner)
                    return
                if value is None and is_optional:
                    yield -1
                    return
            case StaticLayout(static):
                if self._bind(static, value):
                    return
            case ArrayLayout(type_):
                if type(value) is ConcreteArray and type_.admits(value._type):
                    yield value._value
                    return
            case NumpyLayout(type_):
                if type_.is_scalar and type(value) is type_.dtype.numpy.type:
                    yield value
                    return
            case TupleLayout(items, kind):
                contents: Any = value
                if kind is not list and type(value) is kind and len(contents) == len(items):
                    for item, element in zip(items, contents, strict=True):
                        yield from self.encode(element, item, place)
                    return
            case TextLayout(templates):
                if type(value) is str and (value,) in templates:
                    yield from self._text_leaves(layout, templates.index((value,)), ())
                    return
                if type(value) is str and ANY_TEXT.templates[0] in templates:
                    number = self.text_numbers.setdefault(value, len(self.texts))
                    self.texts += [value] if number == len(self.texts) else []
                    yield from self._text_leaves(layout, templates.index(ANY_TEXT.templates[0]), (number,))
                    return
            case UnionLayout(options):
                yield from self._encode_option(value, options, place)
                return
        raise LayoutMiss(str(place), layout, layout_of(value))

    def _text_leaves(self, layout: TextLayout, template: int, integers: tuple[int, ...]) -> Iterator[Any]:
        yield template
        yield from integers
        yield from list(zero_leaves(layout))[1 + len(integers) :]

    def _bind(self, static: StaticObject, value: Any) -> bool:
        """Bind a static object to an instance. Returns whether that is possible: two static objects are never one
        instance, and share no dict."""
        if type(value) is not static.owner or (type(value) is list and len(value) != static.size):
            return False
        ids = [id(value)]
        if has_dict(type(value)) and type(value) is not Variable:
            ids.append(id(value.__dict__))
        if any(self._static_by_id.get(identity, static) != static or identity in self.indices for identity in ids):
            return False
        if self.static_objects.setdefault(static, value) is not value:
            return False
        self._static_by_id.update(dict.fromkeys(ids, static))
        return True

    def encode_place(self, key: PlaceKey, layout: Layout) -> list[Any]:
        """The values of an attribute of a static object, whose own values must be encoded before; zeros if this call
        has no such object."""
        if key.owner not in self.static_objects:
            return list(zero_leaves(layout))
        return [*self.leaves_of(key.read(self.static_objects[key.owner]), layout, key)]

    def check_static_values(
        self, values: Mapping[PlaceKey, Any], slots: Mapping[tuple[StaticObject, StaticObject], str]
    ) -> None:
        """Raises LayoutMiss where an attribute of a static object is not what it must be, or an optimizer has the slots
        of a variable under another name."""
        for key, value in values.items():
            if key.owner in self.static_objects:
                now = key.read(self.static_objects[key.owner])
                if ConstantLayout(now) != ConstantLayout(value):
                    raise LayoutMiss(str(key), ConstantLayout(value), ConstantLayout(now))
        for (owner, variable), name in slots.items():
            if owner in self.static_objects and variable in self.static_objects:
                now = slot_name(self.static_objects[owner], self.static_objects[variable])
                if now != name:
                    raise LayoutMiss(f"the slots of {variable.place}", name, now)

    def check_separate_arrays(self, arguments: Iterable[Any], keys: Iterable[PlaceKey]) -> None:
        """Raises LayoutMiss if two arguments or attributes are the same array, since a tape identifies arrays by
        identity."""
        arrays = [
            *arguments,
            *(key.read(self.static_objects[key.owner]) for key in keys if key.owner in self.static_objects),
        ]
        seen_ids = set[int]()
        for array in arrays:
            if type(array) is ConcreteArray:
                if id(array) in seen_ids:
                    raise LayoutMiss("an array", "at one place", "at two")
                seen_ids.add(id(array))

    def _encode_option(self, value: Any, options: Sequence[Layout], place: object) -> Iterator[Any]:
        for tag, option in enumerate(options):
            try:
                leaves = list(self.encode(value, option, place))
            except LayoutMiss:
                continue
            yield tag
            for position, other_option in enumerate(options):
                yield from leaves if position == tag else zero_leaves(other_option)
            return
        raise LayoutMiss(str(place), UnionLayout(tuple(options)), layout_of(value))

    def follow(self, containers: Iterable[Any] = ()) -> None:
        """Follow the fields of all objects, including objects found on the way; raises LayoutMiss. The loop runs for
        each object, so it handles references inline; numbers and arrays are read afterwards, a column at a time.
        `containers` have the other variables that the graph reads."""
        outside = {*self._static_by_id, *map(id, containers)}
        if self._walk_plan is not None:
            self._walk = self._walk_plan.walk(self.objects, self.classes, outside)
            if self._walk is not None:
                return
        for key in self.layouts:
            self.columns[key] = []
            self.keys.setdefault(key.owner, []).append(key)
        objects, classes, indices, get = self.objects, self.classes, self.indices, dict.get
        plans: dict[type, FollowPlan] = {}
        is_pool, last_owner, count = False, None, len(objects)
        for position, instance in enumerate(objects):  # a worklist: the loop appends to it
            owner = classes[position]
            if owner is not last_owner:
                last_owner, is_pool = owner, issubclass(owner, Pool)
                if owner not in plans:
                    plans[owner] = self._plan(owner)
                add_row, read_attributes, dicts, references, nested_keys, _ = plans[owner]
            add_row(position)
            if is_pool and issubclass(owner, SequencePool | ArrayPool):
                (self._follow_list if issubclass(owner, SequencePool) else self._follow_array)(instance, owner)
                count = len(objects)
                continue
            attributes = instance if is_pool else read_attributes(instance)
            dicts.append(attributes)
            for key, name, target_classes, is_optional, add in references:
                value = get(attributes, name, UNASSIGNED)
                if value is None and is_optional:
                    add(-1)
                elif type(value) in target_classes:
                    index = indices.setdefault(id(value), count)
                    if index == count:
                        objects.append(value)
                        classes.append(type(value))
                        count += 1
                    add(index)
                else:
                    self._encode_rows([value], key)
                    count = len(objects)
            for key in nested_keys:
                is_single = key.name is not KEYS
                self._encode_rows([get(attributes, key.name, UNASSIGNED) if is_single else tuple(attributes)], key)
                count = len(objects)
        for owner, plan in plans.items():
            for name in self.class_level_names.get(owner, ()):
                if any(dict.__contains__(attributes, name) for attributes in plan.dicts):
                    raise LayoutMiss(f"{owner.__qualname__}.{name}", "an attribute of the class", "one of the instance")
            for key in plan.columns:
                self._encode_column(key, plan.dicts)
        self._check_namespaces({owner: self._namespaces(owner, plan) for owner, plan in plans.items()}, outside)
        for allocation in self.allocations:
            self._allocate(allocation)

    def _plan(self, owner: type) -> FollowPlan:
        """The plan for the objects of a class."""
        references, nested_keys, columns = list[Any](), list[FieldKey](), list[FieldKey]()
        for key in self.keys.get(owner, ()):
            layout = self.layouts[key]
            if isinstance(layout, ReferenceLayout):
                references.append((key, key.name, layout.classes, layout.is_optional, self.columns[key].append))
            else:
                is_column = isinstance(layout, NumberLayout | ArrayLayout | ConstantLayout)
                (columns if is_column else nested_keys).append(key)
        add_row, read_attributes = self.rows.setdefault(owner, []).append, _attribute_reader(owner)
        return FollowPlan(add_row, read_attributes, [], references, nested_keys, columns)

    def _encode_column(self, key: FieldKey, dicts: Sequence[dict[Any, Any]]) -> None:
        """Append the numbers, arrays or constants that objects have under a key, by the dicts of their attributes;
        dict's own method reads them, as Python does, since `__dict__` may be of a subclass."""
        get, name, layout = dict.get, key.name, self.layouts[key]
        values = [get(attributes, name, UNASSIGNED) for attributes in dicts]
        if isinstance(layout, ConstantLayout) and all(value is layout.value for value in values):
            return
        if isinstance(layout, ArrayLayout) and {*map(type, values)} == {ConcreteArray}:
            types = {id(value._type): value._type for value in values}
            if all(map(layout.type.admits, types.values())):
                self.columns[key] += [value._value for value in values]
                return
        self._encode_rows(values, key)

    def _allocate(self, key: AllocationKey) -> None:
        """Add the fresh objects of a class to the table: indices without objects, until a run has taken them."""
        count, first = max(MIN_CAPACITY, self.capacities.get(key, 0)), len(self.objects)
        self.fresh_indices[key.owner] = indices = range(first, first + count)
        self.objects += [None] * count
        self.classes += [key.owner] * count
        self.rows.setdefault(key.owner, []).extend(indices)
        if issubclass(key.owner, SequencePool):
            start, capacity = self.cells.get(key.owner, 0), self.list_capacity(key.owner)
            self.cells[key.owner] = start + count * capacity
            starts = [start + k * capacity for k in range(count)]
            limits = [start + capacity for start in starts]
            numbers = {LENGTH: [0] * count, START: starts, LIMIT: limits, CHANGES: [0] * count}
            for field in self.keys.get(key.owner, ()):
                self.columns[field] += numbers.get(field.name, ())

    def list_capacity(self, pool: type) -> int:
        """The number of items that a list of a pool may get in a run."""
        return self.capacities.get(pool, 0) if FieldKey(pool, LIMIT) in self.layouts else 0

    def allocation(self, key: AllocationKey) -> list[Any]:
        """The index of the first fresh object of a class, and the end of their range."""
        indices = self.fresh_indices[key.owner]
        return [indices.start, indices.stop]

    def materialize(self, key: AllocationKey, end: int) -> None:
        """Create the objects that a run has taken: those before an index."""
        owner, indices = key.owner, self.fresh_indices[key.owner]
        self.fresh_indices[owner] = range(indices.start, end)
        for index in self.fresh_indices[owner]:
            if issubclass(owner, ArrayPool):
                type_ = self.layouts[FieldKey(owner, ITEMS)].types[0]
                self.objects[index] = np.empty([size or 0 for size in type_.shape or ()], type_.dtype.numpy)
            elif issubclass(owner, DefaultDictPool):
                layout = self.layouts.get(FieldKey(owner, OPTION))
                if not isinstance(layout, ConstantLayout):
                    raise LayoutMiss(str(owner.place), "a new dict with one default", "one of several")
                self.objects[index] = owner.python_class(layout.value)
            else:
                self.objects[index] = owner.python_class() if issubclass(owner, Pool) else object.__new__(owner)

    def _namespaces(self, owner: type, plan: FollowPlan) -> Sequence[dict[Any, Any]]:
        """The dicts that objects of a class have themselves."""
        if issubclass(owner, TablePool):
            return [self.objects[row] for row in self.rows[owner]]
        if issubclass(owner, Pool) or plan.read_attributes is _get_dict:
            return plan.dicts
        return [self.objects[row].__dict__ for row in self.rows[owner]] if has_dict(owner) else []

    def _check_namespaces(self, dicts: Mapping[type, Sequence[dict[Any, Any]]], containers: Iterable[int]) -> None:
        """Raises LayoutMiss if one dict has the attributes of two objects, or is itself an object, or has variables of
        a module. Its keys then have several vectors, so the graph would miss a write by another name."""
        seen_ids, count = set(containers), 0
        size = len(seen_ids)
        for own_dicts in dicts.values():
            seen_ids.update(map(id, own_dicts))
            count += len(own_dicts)
        if len(seen_ids) == size + count:
            return
        seen_ids = set(containers)
        for owner, own_dicts in dicts.items():
            for namespace in map(id, own_dicts):
                if namespace in seen_ids:
                    place = owner.place if issubclass(owner, Pool) else f"{owner.__qualname__}.__dict__"
                    raise LayoutMiss(str(place), "a dict of its own", "shared with other attributes or variables")
                seen_ids.add(namespace)

    def _follow_list(self, container: Any, owner: type[Pool]) -> None:
        instance = items_of(container)
        start = self.cells.get(owner, 0)
        end = start + len(instance)
        limit = end + self.list_capacity(owner)
        self.cells[owner] = limit
        numbers = {LENGTH: len(instance), START: start, LIMIT: limit, CHANGES: 0}
        for key in self.keys.get(owner, ()):
            if key.is_items:
                self._encode_rows(instance, key)
                if limit > end:
                    zero = list(zero_leaves(self.layouts[key]))
                    is_single = isinstance(self.layouts[key], _SINGLE)
                    self.columns[key] += (zero if is_single else [zero]) * (limit - end)
            elif key.name == OPTION:
                self._encode_rows([getattr(container, OPTIONS[owner.python_class])], key)
            else:
                self.columns[key].append(numbers[key.name])

    def _follow_array(self, instance: Any, owner: type[Pool]) -> None:
        """Raises LayoutMiss for an array that the graph may change, if it is read-only or shares its elements with
        another: the graph would miss the change by its other name."""
        base = instance
        while type(base.base) is np.ndarray:
            base = base.base
        other = self._array_owners.get(id(base))
        may_change = owner in self._changed_arrays
        is_shared = other is not None and (may_change or other in self._changed_arrays)
        is_foreign = base.base is not None and bool(self._changed_arrays)
        if is_shared or is_foreign or (may_change and not instance.flags.writeable):
            raise LayoutMiss(str(owner.place), "an array of its own", "read-only, or shared with another array")
        self._array_owners[id(base)] = owner
        for key in self.keys.get(owner, ()):
            layout: Any = self.layouts[key]
            if instance.dtype.type not in NUMPY_SCALARS or not layout.type.admits(type_of(instance)):
                raise LayoutMiss(str(key), layout, f"an array of NumPy of shape {instance.shape}")
            self.columns[key].append(instance)

    def _encode_rows(self, values: Sequence[Any], key: FieldKey) -> None:
        """Append values to the column of a field; numbers are checked later, all at once."""
        column, layout = self.columns[key], self.layouts[key]
        if type(layout) is NumberLayout:
            column += values
        elif type(layout) is ReferenceLayout:  # the common case, without a generator
            for value in values:
                if value is None and layout.is_optional:
                    column.append(-1)
                    continue
                owner = layout.class_of(value)
                if owner is None:
                    raise LayoutMiss(str(key), layout, layout_of(value))
                column.append(self.index(value, owner))
        elif isinstance(layout, ArrayLayout | NumpyLayout):
            column += [leaf for value in values for leaf in self.encode(value, layout, key)]
        else:
            column += [list(self.encode(value, layout, key)) for value in values]

    def vectors(self, key: FieldKey) -> list[Any]:
        """The vectors of a field, one for each of its values; objects of other classes have zeros there."""
        if self._walk is not None and self._walk_plan is not None:
            return self._walk.vectors()[self._walk_plan.positions[key]]
        layout, column, rows = self.layouts[key], self.columns[key], self.rows.get(key.owner, [])
        if isinstance(layout, NumberLayout):
            classes = {*map(type, column)}
            if classes - {next(c for c, kind in NUMBER_CLASSES.items() if kind == layout.kind)}:
                wrong_value = next(value for value in column if NUMBER_CLASSES.get(type(value)) != layout.kind)
                raise LayoutMiss(str(key), layout, layout_of(wrong_value))
        parts: list[list[Any]]
        if isinstance(layout, _SINGLE):
            parts = [column]
        else:
            parts = [list(part) for part in zip(*column, strict=True)] or [[] for _ in layout.types]
        count = self.cells.get(key.owner, 0) if key.is_items else len(rows)
        fills = [0] * len(parts)
        if isinstance(layout, UnionLayout) and MISSING in layout.options:
            fills[0] = layout.options.index(MISSING)
        return [
            self._vector(part, type_, rows, key, count, fill)
            for part, type_, fill in zip(parts, layout.types, fills, strict=True)
        ]

    def _vector(self, part: list[Any], type_: Type, rows: list[int], key: FieldKey, count: int, fill: int) -> Any:
        """The values of a column, and `fill` for the fresh objects, up to a count, in the rows of their objects."""
        sizes: tuple[Any, ...] = type_.shape or ()
        if None in sizes:
            shapes = {np.shape(array) for array in part} or {tuple(size or 0 for size in sizes)}
            if len(shapes) != 1:
                raise ShapesDiffer(f"the arrays of {key} have different shapes in one call")
            sizes = shapes.pop()
        layout = self.layouts[key]
        try:
            if isinstance(layout, ArrayLayout | NumpyLayout) and sizes and part:  # twice as fast as np.array
                values = np.ascontiguousarray(np.concatenate(part)).reshape(len(part), *sizes)
            else:
                values = np.array(part, type_.dtype.numpy).reshape(len(part), *sizes)
        except OverflowError:
            raise LayoutMiss(str(key), "an int of 62 bits", "a larger int") from None
        if (
            type_.dtype is dtypes.int64
            and not isinstance(layout, ReferenceLayout)  # indices are small
            and not sizes
            and values.size
            and max(-values.min(), values.max()) >= MAX_INTEGER
        ):
            raise LayoutMiss(str(key), "an int of 62 bits", "a larger int")
        if len(part) < count:
            values = np.concatenate([values, np.full((count - len(part), *sizes), fill, type_.dtype.numpy)])
        if count == len(self.objects) or key.is_items or is_compact(layout):
            return values
        vector = np.zeros((len(self.objects), *sizes), type_.dtype.numpy)
        vector[rows] = values
        return vector

    def class_rows(self) -> Any:
        """The number of each object among those of its class."""
        if self._walk is not None:
            return self._walk.class_rows
        rows = np.zeros(len(self.objects), np.int64)
        for indices in self.rows.values():
            rows[indices] = np.arange(len(indices))
        return rows

    def class_numbers(self, numbers: Mapping[type, int]) -> Any:
        """The number of the class of each object."""
        if self._walk is not None and self._walk_plan is not None:
            return np.array([numbers.get(owner, -1) for owner in self._walk_plan.classes], np.int64)[
                self._walk.class_numbers
            ]
        return np.array([numbers[owner] for owner in self.classes], np.int64)

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
                if index in self.unordered_sets:
                    raise LayoutMiss(class_name(self.classes[index]), "a set with a known order", "one without")
                return None if index < 0 else self.objects[index]
            case ArrayLayout():
                value = next(leaves)
                is_value = isinstance(value, np.ndarray) and value.ndim and not value.flags.writeable
                return ConcreteArray(Literal(value, type_of(value)) if is_value else literal(value))
            case NumpyLayout(type_, is_view):
                value = next(leaves)
                if is_view:
                    raise NotSpeculable("a view of an array of NumPy is returned")
                return np.array(value) if type_.shape else type_.dtype.numpy.type(value)
            case StaticLayout(static):
                return self.static_objects[static]
            case TupleLayout(items, kind):
                elements = [self.decode(item, leaves) for item in items]
                return elements if kind is list else tuple.__new__(kind, elements)
            case TextLayout(templates):
                tag = int(next(leaves))
                integers = iter([int(next(leaves)) for _ in range(layout.count(False))])
                floats = iter([float(next(leaves)) for _ in range(layout.count(True))])
                return "".join(self._text_part(part, integers, floats) for part in templates[tag])
            case UnionLayout(options):
                tag, parts = int(next(leaves)), [[next(leaves) for _ in option.types] for option in options]
                return self.decode(options[tag], iter(parts[tag]))

    def _text_part(self, part: str | Slot, integers: Iterator[int], floats: Iterator[float]) -> str:
        if isinstance(part, str):
            return part
        value: Any = next(floats) if part.kind == "f" else next(integers)
        value = bool(value) if part.kind == "b" else self.texts[value] if part.kind == "s" else value
        return part.text_of(value)

    def _rows_of(self, owner: type) -> Sequence[int]:
        """The indices of the objects of a class."""
        if self._walk is not None and self._walk_plan is not None:
            rows: list[int] = np.flatnonzero(self._walk.class_numbers == self._walk_plan.classes[owner]).tolist()
            return rows
        return self.rows.get(owner, [])

    def changes(self, key: FieldKey, before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[Any, str, Any]]:
        """The objects whose field a graph has changed, with the name and the new value; new objects are left out."""
        indices = self._rows_of(key.owner) if is_compact(self.layouts[key]) else range(len(self.objects))
        fresh = self.fresh_indices.get(key.owner, ())
        for row in _changed_rows(before, after):
            if indices[row] not in fresh:
                yield self.objects[indices[row]], key.name, self.decode_row(key, after, row)

    def objects_given_attribute(self, key: FieldKey, before: Sequence[Any], after: Sequence[Any]) -> Iterator[int]:
        """The identities of the objects to which a graph has added an attribute; new objects are left out."""
        layout = self.layouts[key]
        if isinstance(layout, UnionLayout) and MISSING in layout.options:
            missing_option = layout.options.index(MISSING)
            indices = self.rows.get(key.owner, []) if is_compact(layout) else range(len(self.objects))
            fresh = self.fresh_indices.get(key.owner, ())
            for row in np.flatnonzero(
                (np.asarray(before[0]) == missing_option) & (np.asarray(after[0]) != missing_option)
            ):
                if indices[row] not in fresh:
                    yield id(self.objects[indices[row]])

    def new_attributes(
        self,
        owner: type,
        orders: Iterable[tuple[str, ...]],
        late_names: Set[FieldKey],
        after: Mapping[str, Sequence[Any]],
    ) -> Iterator[tuple[Any, str, Any]]:
        """The attributes of the new objects of a class, as (object, name, value), in the order in which a graph has
        assigned them. `after` has the vectors of fields by name, `orders` the orders of the first attributes, and
        `late_names` attributes that objects may get later. Raises LayoutMiss if the order is not known."""
        first = self.rows[owner].index(self.fresh_indices[owner].start) if self.fresh_indices[owner] else 0
        for position, index in enumerate(self.fresh_indices[owner]):
            values = dict[str, Any]()
            for name, vectors in after.items():
                if name is KEYS:
                    continue
                key = FieldKey(owner, name)
                row = first + position if is_compact(self.layouts[key]) else index
                value = self.decode_row(key, vectors, row)
                if value is not UNASSIGNED:
                    values[name] = value
            possible = set[tuple[str, ...] | None]()
            for order in orders:
                late_attributes = values.keys() - {*order}
                are_late = all(FieldKey(owner, name) in late_names for name in late_attributes)
                if are_late and values.keys() >= {*order}:
                    possible.add((*order, *late_attributes) if len(late_attributes) < 2 else None)
            names = possible.pop() if len(possible) == 1 else None
            if names is None:
                raise LayoutMiss(class_name(owner), "an object whose attributes have one order", "one of several")
            yield from ((self.objects[index], name, values[name]) for name in names)

    def decode_row(self, key: FieldKey, vectors: Sequence[Any], row: int) -> Any:
        """The Python value of a row of a field."""
        leaves = [part[row] if part.ndim == 1 else part[row].copy() for part in vectors]  # a view would keep all rows
        return self.decode(self.layouts[key], iter(leaves))

    def array_changes(self, owner: type, before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """The arrays of NumPy of a pool that a graph has created or changed, each with its elements."""
        rows, fresh = self.rows.get(owner, ()), self.fresh_indices.get(owner, ())
        changed = {*_changed_rows(before, after), *(row for row, index in enumerate(rows) if index in fresh)}
        for row in sorted(changed):
            if self.objects[rows[row]] is not None:  # not a fresh one that was not taken
                yield self.objects[rows[row]], after[0][row]

    def list_changes(
        self, owner: type, before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]
    ) -> Iterator[tuple[Any, list[tuple[int, Any]], int, list[Any]]]:
        """The containers of a pool that a graph has changed: each with its new items by position, the length of the
        part that it keeps, and the items after that part. `before` and `after` have the vectors of fields by name."""
        indices = np.array(self.rows.get(owner, ()), np.int64)
        starts, lengths, new_lengths = (
            np.asarray(vector)[indices]
            for vector in (before.get(START, before[LENGTH])[0], before[LENGTH][0], after[LENGTH][0])
        )
        rows = _changed_rows(before[ITEMS], after[ITEMS]) if ITEMS in after else []
        key = FieldKey(owner, ITEMS)
        for index, start, length, new_length in zip(
            indices.tolist(), starts.tolist(), lengths.tolist(), new_lengths.tolist(), strict=True
        ):
            common = min(length, new_length)
            own_rows = rows[bisect_left(rows, start) : bisect_left(rows, start + common)]
            if own_rows or length != new_length:
                items = [(row - start, self.decode_row(key, after[ITEMS], row)) for row in own_rows]
                tail = [self.decode_row(key, after[ITEMS], start + k) for k in range(common, new_length)]
                yield self.objects[index], items, common, tail

    def note_unordered_sets(self, owner: type[SetPool], changes: Sequence[Any]) -> None:
        """Note the new sets of a pool whose order a run does not know. Raises LayoutMiss if there is an older one."""
        for index in self.rows.get(owner, ()):
            if int(changes[index]) & SET_GAINS and int(changes[index]) & SET_LOSES:
                if index not in self.fresh_indices.get(owner, ()):
                    raise LayoutMiss(str(owner.place), "a set that gains or loses items", "one that does both")
                self.unordered_sets.add(index)

    def set_changes(
        self, owner: type[SetPool], before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]
    ) -> Iterator[tuple[set[Any], bool, list[Any]]]:
        """The sets of a pool that a graph has changed: each, whether it was cleared, and its items after that."""
        for index in self.rows.get(owner, ()):
            change = int(after[CHANGES][0][index])
            if change and index not in self.unordered_sets:
                start, length = int(before.get(START, before[LENGTH])[0][index]), int(after[LENGTH][0][index])
                items = [self.decode_row(FieldKey(owner, ITEMS), after[ITEMS], start + k) for k in range(length)]
                yield self.objects[index], bool(change & SET_IS_CLEARED), items


def _changed_rows(before: Sequence[Any], after: Sequence[Any]) -> list[int]:
    """The rows in which vectors differ, in order."""
    positions = set[int]()
    for old, new in zip(before, after, strict=True):
        old, new = np.asarray(old), np.asarray(new)
        if old.dtype.kind == "f":  # by bits, since -0.0 is not 0.0
            old, new = old.view(f"i{old.itemsize}"), new.view(f"i{new.itemsize}")
        different = old != new
        if different.ndim > 1:
            different = different.any(axis=tuple(range(1, different.ndim)))
        positions.update(different.nonzero()[0].tolist())
    return sorted(positions)


def items_of(container: Any) -> Sequence[Any]:
    """The items of a container; for a dict, its pairs of key and value.

    >>> items_of({"a": 1}), items_of(deque([2, 3]))
    ([('a', 1)], [2, 3])
    """
    if isinstance(container, dict):
        return list(container.items())
    return container if type(container) is list else list(container)


def write_dict(instance: dict[Any, Any], items: Sequence[tuple[int, Any]], length: int, tail: Sequence[Any]) -> None:
    """Write pairs of a dict by position, and replace those from `length` on. The order of the keys becomes that of the
    pairs.

    >>> table = {"a": 1, "b": 2, "c": 3}
    >>> write_dict(table, [(1, ("c", 4))], 2, [("b", 5)])
    >>> table
    {'a': 1, 'c': 4, 'b': 5}
    """
    old_pairs, new_pairs = list(instance.items()), dict(items)
    common = next((k for k, (key, _) in items if key != old_pairs[k][0]), length)
    pairs = [new_pairs.get(position, old_pairs[position]) for position in range(common, length)]
    for key, _ in old_pairs[common:]:
        del instance[key]
    for position, (key, value) in items:
        if position < common:
            instance[key] = value
    for key, value in (*pairs, *tail):
        instance[key] = value


def write_deque(instance: deque[Any], items: Sequence[tuple[int, Any]], length: int, tail: Sequence[Any]) -> None:
    """Write items of a deque by position, and replace those from `length` on.

    >>> queue = deque([1, 2, 3])
    >>> write_deque(queue, [(0, 2), (1, 3)], 2, [4])
    >>> queue
    deque([2, 3, 4])
    """
    for position, value in items:
        instance[position] = value
    while len(instance) > length:
        instance.pop()
    instance.extend(tail)


def write_set(instance: set[Any], is_cleared: bool, items: Sequence[Any]) -> None:
    """Change a set, which is cleared first or not, to have these items, as `add` or `discard` does. The items that it
    keeps come first.

    >>> values = {1, 2, 3}
    >>> write_set(values, False, [1, 2, 3, 5])
    >>> values
    {1, 2, 3, 5}
    """
    if is_cleared:
        instance.clear()
    for item in instance.difference(items):
        instance.discard(item)
    for item in items:
        instance.add(item)


def write_list(instance: list[Any], items: Sequence[tuple[int, Any]], length: int, tail: Sequence[Any]) -> None:
    """Write items of a list by position, and replace the items from `length` on."""
    for position, value in items:
        instance[position] = value
    instance[length:] = tail


class Observation:
    """The layouts of arguments, fields and variables, joined over all observed calls."""

    def __init__(self) -> None:
        self.arguments: dict[str, Layout] = {}
        self.fields: dict[FieldKey, Layout] = {}
        self.variables: dict[OutsideKey, Layout] = {}
        self.has_static_objects = False
        """Whether objects with one path are static."""
        self.general_classes: set[type] = set()
        """The classes whose instances are in the table, since the paths to them differ."""
        self.general_places: set[object] = set()
        """The places of lists and dicts that are in the table."""
        self.instances: dict[StaticObject, Any] = {}
        """The static objects of the last call that was observed."""
        self._static_by_id: dict[int, StaticObject] = {}
        self.is_outdated = False
        """Whether objects must be observed again, since some are represented in another way from now on."""
        self.widening_count = 0
        """The number of times that a layout was widened."""
        self.pools: dict[tuple[type, object], type] = {}
        """The pool of the lists, or dicts, of each place."""
        self.merged_pools: dict[type, type] = {}
        """Pools that were merged into another, since one list was in both."""
        self._pool_by_id: dict[int, type] = {}
        self.table_places: set[object] = set()
        """The places of dicts with keys that a call computes."""
        self.retired_pools: set[type] = set()
        """The pools of dicts of these places, before that was known."""
        self.capacities: dict[CapacityKey, int] = {}
        """The number of new items for which the lists of a pool have room, and the number of fresh objects of a
        class."""

    def layout(self, key: FieldKey) -> Layout:
        """The layout of a field; MISSING if none was observed."""
        if issubclass(key.owner, SequencePool) and key.name in (LENGTH, START, LIMIT, CHANGES):
            return NumberLayout("i")
        return self.fields.get(key, MISSING)

    def canonical_class(self, owner: type) -> Any:
        """The pool that a pool was merged into; any other class is itself."""
        while owner in self.merged_pools:
            owner = self.merged_pools[owner]
        return owner

    def observe(self, roots: Mapping[str, Any], fields: Sequence[FieldKey], variables: Sequence[OutsideKey]) -> bool:
        """Join the layouts of arguments, by name, and of these fields and variables of all objects that they reach.
        Returns whether all must be observed again, since some objects turned out not to be static."""
        names: dict[type | StaticObject, list[Any]] = {}
        keys: list[FieldKey | PlaceKey] = [
            *fields,
            *(variable for variable in variables if isinstance(variable, PlaceKey)),
        ]
        for key in keys:
            names.setdefault(key.owner, []).append(key)
        worklist, seen_ids = list(roots.values()), set[int]()
        self._pool_by_id, self._static_by_id, self.instances = {}, {}, {}
        for name, value in roots.items():
            self._join(self.arguments, name, value)
        for variable in variables:
            if isinstance(variable, VariableKey):
                value = variable.read()
                self._join(self.variables, variable, value)
                worklist.append(value)
        for value in worklist:  # a worklist: the loop appends to it
            if is_tuple(value):
                worklist += value
            elif id(value) in self._static_by_id and id(value) not in seen_ids:
                seen_ids.add(id(value))
                for key in names.get(self._static_by_id[id(value)], ()):
                    content = key.read(value)
                    self._join(self.variables, key, content)
                    worklist.append(content)
            elif id(value) not in seen_ids and (is_pooled(value) or is_object(value)):
                seen_ids.add(id(value))
                owner = self.canonical_class(self._pool_by_id[id(value)]) if is_pooled(value) else type(value)
                for key in names.get(owner, ()):
                    for content in _contents(value, key):
                        self._join(self.fields, key, content)
                        worklist.append(content)
        is_outdated, self.is_outdated = self.is_outdated, False
        if is_outdated:
            self.forget_layouts()
        return is_outdated

    def make_table(self, pool: type[Pool]) -> None:
        """From now on, treat the dicts of the places of a pool as lists of pairs."""
        for (base, place), own in list(self.pools.items()):
            if base is DictPool and self.canonical_class(own) is pool:
                self.table_places.add(place)
                self.retired_pools |= {own, pool}
        self.is_outdated = True

    def allow_static_objects(self) -> bool:
        """From now on, treat objects with one path as static; returns whether that is new."""
        is_new = not self.has_static_objects
        if is_new:
            self.has_static_objects = True
            self.forget_layouts()
        return is_new

    def forget_layouts(self) -> None:
        """Drop all layouts that were observed."""
        self.widening_count += 1
        for layouts in (self.arguments, self.fields, self.variables):
            layouts.clear()

    def make_general(self, static: StaticObject) -> None:
        """From now on, keep a static object in the table, with all objects of its class, or with the lists or dicts of
        its place."""
        if static.owner in STATIC_CONTAINERS:
            self.general_places.add(static.place)
        else:
            self.general_classes.add(static.owner)
        self.is_outdated = True

    def _find_static(self, value: Any, place: object) -> StaticObject | None:
        """The static object that stands for a value, by its first path; None if the value is not static."""
        owner = type(value)
        is_container = owner in POOLS and owner not in STATIC_CONTAINERS
        if not self.has_static_objects or not _is_static_place(place) or is_container:
            return None
        if id(value) in self._static_by_id:
            return self._static_by_id[id(value)]
        if owner in POOLS:
            is_static = place not in self.general_places and len(value) <= MAX_STATIC_ITEMS
            is_static = is_static and id(value) not in self._pool_by_id and place not in self.table_places
        else:
            is_static = is_object(value) or issubclass(owner, Variable | Optimizer)
            if (
                is_static
                and owner not in self.general_classes
                and any(p.owner.owner is owner for p in places_of(place))
            ):
                self.general_classes.add(owner)  # as a node of a tree, which has others below
                self.is_outdated = True
            is_static = is_static and owner not in self.general_classes
        if not is_static:
            return None
        static = StaticObject(place, owner, len(value) if owner is list else 0)
        self._static_by_id[id(value)], self.instances[static] = static, value
        return static

    def layout_of(self, value: Any, place: object) -> Layout:
        """The lowest layout of a value that was seen at a place."""
        static = self._find_static(value, place)
        if static is not None:
            return StaticLayout(static)
        if isinstance(place, FieldKey) and issubclass(place.owner, ArrayPool):
            return NumpyLayout(type_of(value))
        if is_pooled(value):
            return ReferenceLayout(frozenset([self._pool_of(value, place)]), False)
        if is_tuple(value):
            items = tuple(self.layout_of(item, _ItemPlace(place, k)) for k, item in enumerate(value))
            return TupleLayout(items, type(value))
        return layout_of(value)

    def _pool_of(self, value: Any, place: object) -> Any:
        """The pool of a list or dict: that of its place, merged with the pools of other places that have the same list
        or dict."""
        if id(value) in self._static_by_id:
            self.make_general(self._static_by_id[id(value)])
        pool = self.pool(type(value), place)
        known_pool = self.canonical_class(self._pool_by_id.setdefault(id(value), pool))
        if known_pool is not pool:
            self._unite_pools([known_pool, pool])
        return self.canonical_class(known_pool)

    def pool(self, python_class: type, place: object) -> Any:
        """The pool of the lists, or of the dicts, of a place."""
        base = TablePool if python_class is dict and place in self.table_places else POOLS[python_class]
        pool = self.pools.get((base, place))
        if pool is None:
            pool = self.pools[base, place] = type(f"{python_class.__name__} {place}", (base,), {"place": place})
        return self.canonical_class(pool)

    def merge_pools(self, pool: type, merged_pool: type) -> None:
        """Merge a pool into another, which replaces it in all layouts."""
        self.merged_pools[merged_pool] = pool
        self.widening_count += 1
        places: list[dict[Any, Layout]] = [self.arguments, self.fields, self.variables]
        for layouts in places:
            for key in list(layouts):
                layouts[key] = replace_class(layouts[key], merged_pool, pool)
        for key in [old_key for old_key in self.fields if old_key.owner is merged_pool]:
            layout, new = self.fields.pop(key), FieldKey(pool, key.name)
            self.set_layout(self.fields, new, join(self.fields[new], layout) if new in self.fields else layout)

    def set_layout(self, layouts: dict[Any, Layout], key: Any, layout: Layout) -> None:
        """Set the layout of a place. All lists of a place are of one pool, and so are all dicts."""
        layouts[key] = layout
        for reference in references(layout):
            for python_class in POOLS:
                pools = [pool for pool in reference.classes if issubclass(pool, Pool)]
                self._unite_pools(sorted((pool for pool in pools if pool.python_class is python_class), key=str))

    def _unite_pools(self, pools: Sequence[type[Pool]]) -> None:
        """Merge pools of one class of containers. If some dicts of these are lists of pairs, then all are."""
        pools = list(dict.fromkeys(map(self.canonical_class, pools)))
        dict_pools = [pool for pool in pools if issubclass(pool, DictPool)]
        if 0 < len(dict_pools) < len(pools):
            for dict_pool in dict_pools:
                self.make_table(dict_pool)
            return
        for pool in pools[1:]:
            self.merge_pools(pools[0], pool)

    def _join(self, layouts: dict[Any, Layout], key: Any, value: Any) -> None:
        layout = self.layout_of(value, key)
        before = layouts.get(key)
        if type(value) is str and before is not None and any(has_any_text(option) for option in options_of(before)):
            return
        try:
            joined_layout = layout if before is None else join(before, layout)
        except NotSpeculable as error:
            if isinstance(key, FieldKey) and key.name is KEYS:  # too many kinds of dicts
                self.make_table(key.owner)
                return
            raise NotSpeculable(f"{key}: {error}") from None
        if joined_layout != before:
            self.widening_count += 1
        self.set_layout(layouts, key, joined_layout)
        if self.has_static_objects:
            self._separate(joined_layout)

    def _separate(self, layout: Layout) -> None:
        """Keep all objects of a class in the table if one of them is there, and static lists of one place if their
        lengths differ."""
        for reference in references(layout):
            if not self.general_classes.issuperset(reference.classes):
                self.general_classes |= reference.classes
                self.is_outdated = True
        lists = [static_list for static_list in static_objects(layout) if static_list.owner is list]
        for static_list in lists:
            if sum(static_list.place == other_list.place for other_list in lists) > 1:
                self.make_general(static_list)


@dataclass(frozen=True)
class _ItemPlace:
    """An item of the tuples of a place."""

    place: object
    position: int

    def __str__(self) -> str:
        return f"{self.place}[{self.position}]"


def _contents(value: Any, key: FieldKey) -> Sequence[Any]:
    """The values that an object has under a key: one, or all items of a list."""
    if issubclass(key.owner, SequencePool):
        if key.name == OPTION:
            return (getattr(value, OPTIONS[type(value)]),)
        return items_of(value) if key.is_items else ()
    if type(value) is np.ndarray:
        return (value,)
    if key.name is KEYS:
        return (tuple(value),)
    return (dict.get(attributes_of(value), key.name, UNASSIGNED),)
