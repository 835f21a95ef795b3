"""Walks over the objects of a call in machine code (`walk_kernel.py`), for graphs whose fields are numbers, references
to objects of the user's classes, and arrays of one shape.

A walk finds the same objects in the same order as `ObjectTable.follow`. Where it meets anything that its plan does not
foresee, it gives up, and `follow` reads the objects, or says what is different.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...core.dtypes import float64
from ...core.frontend.eager.array import ConcreteArray
from ...core.types import Type, intern_type
from ...core.value import Literal
from ..engines.auto import HelperThread
from ..engines.compiled.call_buffer import data_address
from ..engines.jit import compiler_process
from ..engines.protocol import PackedArrays
from .layouts import UNASSIGNED, ArrayLayout, ConstantLayout, Layout, NumberLayout, Pool, ReferenceLayout

MAX_WALKED_CLASSES = 62
"""The largest number of classes: a word has a bit for each."""
_MIN_OBJECTS, _MIN_ROWS = 64, 2
"""The capacity of the first walk for objects, and for arrays of the objects of each class."""
_FIRST_FIELD = 2
"""The first row of words that is a vector of a field: the rows before have the classes of objects, and their numbers
among those of a class."""
_ALIGNMENT = 64
"""Vectors of arrays begin at multiples of this many bytes."""


class Walk:
    """What a walk has read."""

    __slots__ = ("_arrays", "_capacity", "_count", "_memory", "_plan")

    def __init__(self, plan: WalkPlan, capacity: _WalkCapacity, memory: Any, arrays: Any, count: int) -> None:
        self._plan, self._capacity, self._memory, self._arrays, self._count = plan, capacity, memory, arrays, count

    @property
    def class_numbers(self) -> Any:
        """The number of the class of each object, in the plan."""
        return self._memory[: self._count]

    @property
    def class_rows(self) -> Any:
        """The number of each object among those of its class."""
        size = self._capacity.objects
        return self._memory[size : size + self._count]

    def pack_vectors(self) -> PackedArrays:
        """The vectors of all fields, as machine code takes them: in a tenth of the time that `vectors` takes."""
        words = self._memory[self._capacity.slots].tolist()
        return PackedArrays(words, (self._memory, self._arrays))

    def vectors(self) -> list[list[Any]]:
        """The vectors of each field, in the order of the plan; a constant has none."""
        plan, capacity = self._plan, self._capacity
        return [plan.read_vector(key, capacity, self._memory, self._arrays, self._count) for key in plan.positions]


def _slot_words(*names: str) -> list[int]:
    """The words of a concrete array that have the addresses of its slots of these names."""
    array = ConcreteArray(Literal(np.zeros(3), Type(float64, (3,))))
    words = (ctypes.c_int64 * (ConcreteArray.__basicsize__ // 8)).from_address(id(array))[:]
    return [words.index(id(getattr(array, name))) for name in names]


def is_walkable(layout: Layout) -> bool:
    """Whether walks read fields of a layout."""
    if isinstance(layout, ArrayLayout):
        shape = layout.type.shape
        return bool(shape) and None not in (shape or ()) and not layout.type.dtype.numpy.hasobject
    if isinstance(layout, ReferenceLayout):
        return not any(issubclass(owner, Pool) for owner in layout.classes)
    return isinstance(layout, NumberLayout | ConstantLayout)


def _array_bytes(layout: ArrayLayout) -> int:
    """The bytes of the elements of an array."""
    return layout.type.dtype.numpy.itemsize * prod(_sizes(layout))


def _sizes(layout: ArrayLayout) -> tuple[int, ...]:
    """The shape of an array, all of whose sizes are known."""
    return tuple(size or 0 for size in layout.type.shape or ())


class _WalkCapacity(NamedTuple):
    """The sizes of the arrays of a walk."""

    objects: int
    """The number of objects for which there is capacity."""
    capacities: Any
    """The number of objects of each class for whose arrays there is capacity."""
    offsets: Any
    """Where the vector of each field of arrays begins."""
    array_words: int
    """The size of all vectors of arrays."""
    slots: slice
    """The part of the memory that has the vectors as arguments."""
    memory_words: int
    """The size of the memory of the walk."""


class WalkPlan:
    """A plan for walks: the classes and fields of a graph as words, and the capacity that the last walk needed."""

    def __init__(self, kernel: Any, fields: Mapping[Any, Layout], classes: Mapping[type, frozenset[str]]) -> None:
        """A plan for fields, by their keys, whose layouts are walkable. `kernel` is the module `walk_kernel`. `classes`
        has all classes of objects, each with names that no instance may have as attributes of its own."""
        self._kernel, self._walk = kernel, kernel.load_walk()
        self._fields = fields
        self.classes = {owner: number for number, owner in enumerate(classes)}
        """The number of each class."""
        self._vectors: dict[Any, int] = {}
        """The row of each field in the words; for arrays, the number of the vector."""
        self._referents: list[Any] = []
        """The objects to which the plan refers by address."""
        self._plan = np.array(self._build_words(classes), np.int64)
        self.positions = {key: position for position, key in enumerate(fields)}
        """The position of each field."""
        self._capacity = self._plan_capacity(_MIN_OBJECTS, np.full(len(classes), _MIN_ROWS, np.int64))

    def _address(self, referent: Any) -> int:
        """The address of an object, which lives as long as the plan."""
        self._referents.append(referent)
        return id(referent)

    def _build_words(self, classes: Mapping[type, frozenset[str]]) -> list[int]:
        """The words of the plan, whose form `walk_kernel` states; numbers the vectors of all fields."""
        kernel, address = self._kernel, self._address
        header = [len(classes), *map(address, (None, True, int, float, bool, dict, ConcreteArray, np.ndarray))]
        words = [*header, *_slot_words("_value", "_type"), object.__basicsize__, 0, 0, 0]
        class_entries, row_count, array_count = len(words), _FIRST_FIELD, 0
        slots, slot_of = list[int](), dict[Any, int]()
        for key, layout in self._fields.items():
            slot_of[key] = len(slots)
            if isinstance(layout, ArrayLayout):
                slots += [0, 0, 0, *_sizes(layout)]
            elif not isinstance(layout, ConstantLayout):
                slots += [0, 0, 0]
        words += [0] * (kernel.CLASS_WORDS * len(classes))
        for owner, number in self.classes.items():
            own_fields = [(key, layout) for key, layout in self._fields.items() if key.owner is owner]
            first_field = len(words)
            for key, layout in own_fields:
                kind, *details = self._describe_field(layout)
                if kind == kernel.ARRAY:
                    self._vectors[key] = array_count
                    array_count += 1
                else:
                    self._vectors[key] = row_count
                    row_count += len(layout.types)
                words += [kind, address(key.name), self._vectors[key], *details, slot_of[key]]
            first_name = len(words)
            words += map(address, sorted(classes[owner]))
            entry = class_entries + kernel.CLASS_WORDS * number
            names = first_name, len(classes[owner])
            words[entry : entry + kernel.CLASS_WORDS] = [address(owner), first_field, len(own_fields), *names]
        words[kernel.ROW_COUNT], words[kernel.SLOTS], words[kernel.SLOT_WORDS] = row_count, len(words), len(slots)
        self._row_count, self._array_count, self._slot_words = row_count, array_count, len(slots)
        return words + slots

    def _describe_field(self, layout: Layout) -> tuple[int, int, int]:
        """The kind of a field, and the two words that depend on it."""
        kernel = self._kernel
        match layout:
            case ArrayLayout(type_):
                return kernel.ARRAY, self._address(intern_type(type_)), _array_bytes(layout)
            case NumberLayout(kind):
                return {"i": kernel.INTEGER, "f": kernel.FLOAT, "b": kernel.BOOLEAN}[kind], 0, 0
            case ReferenceLayout(classes, is_optional):
                return kernel.REFERENCE, sum(1 << self.classes[target] for target in classes), int(is_optional)
            case ConstantLayout(value):
                return kernel.ABSENT if value is UNASSIGNED else kernel.CONSTANT, self._address(value), 0
        raise AssertionError(f"no walk reads {layout}")

    def _plan_capacity(self, objects: int, capacities: Any) -> _WalkCapacity:
        """The capacity for this many objects, and arrays of this many objects of each class."""
        offsets, end = np.zeros(self._array_count, np.int64), 0
        for key, layout in self._fields.items():
            if isinstance(layout, ArrayLayout):
                offsets[self._vectors[key]] = end
                size = int(capacities[self.classes[key.owner]]) * _array_bytes(layout)
                end += -(-size // _ALIGNMENT) * _ALIGNMENT
        slots_begin = self._row_count * objects + len(self.classes)
        slots = slice(slots_begin, slots_begin + self._slot_words)
        table_words = 2 << (4 * objects - 1).bit_length()
        return _WalkCapacity(objects, capacities, offsets, end // 8, slots, slots.stop + table_words)

    def walk(self, objects: list[Any], classes: Iterable[type], outside: Iterable[int]) -> Walk | None:
        """Follow the fields of objects of these classes, and append the objects to which they lead. No object may have
        as its attributes one of the dicts `outside`, given by their identities. Returns None, with the list as before,
        if something is not as planned."""
        count, kernel = len(objects), self._kernel
        class_numbers = [self.classes.get(owner, -1) for owner in classes]
        if -1 in class_numbers:
            return None
        outside_ids = np.array([*outside], np.int64)
        capacity = self._capacity  # a call on another thread may replace it
        if max(count, len(outside_ids)) > capacity.objects:
            capacity = self._plan_capacity(max(count, len(outside_ids)), capacity.capacities)
        while True:
            memory, arrays = np.zeros(capacity.memory_words, np.int64), np.empty(capacity.array_words, np.int64)
            memory[:count] = class_numbers
            namespaces = list[Any]()
            total = self._walk(
                self._plan,
                id(objects),
                id(namespaces),
                count,
                outside_ids,
                memory,
                capacity.objects,
                data_address(arrays),
                capacity.offsets,
                capacity.capacities,
            )
            if total >= 0:
                return Walk(self, capacity, memory, arrays, total)
            del objects[count:]
            if total == kernel.UNPLANNED:
                return None
            if total == kernel.TOO_SMALL:
                capacity = self._plan_capacity(2 * capacity.objects, capacity.capacities)
            else:
                capacities = capacity.capacities.copy()
                capacities[kernel.TOO_SMALL - 1 - total] *= 2
                capacity = self._plan_capacity(capacity.objects, capacities)
            self._capacity = capacity

    @property
    def capacity(self) -> _WalkCapacity:
        """The capacity that the last walk needed."""
        return self._capacity

    @property
    def slot_bytes(self) -> int:
        """The size of the vectors of all fields as arguments."""
        return 8 * self._slot_words

    def walk_in(self, scratch: Scratch, objects: list[Any], outside: Any) -> bool:
        """`walk` in memory that is there: returns whether everything is as planned, and there is capacity. `outside` is
        an array."""
        capacity, count = scratch.capacity, len(objects)
        if capacity is not self._capacity or max(count, len(outside)) > capacity.objects:
            return False
        numbers = [self.classes.get(type(item), -1) for item in objects]
        if -1 in numbers:
            return False
        memory = scratch.memory
        memory.fill(0)
        memory[:count] = numbers
        sizes = capacity.objects, scratch.arrays_address, capacity.offsets, capacity.capacities
        namespaces = list[Any]()
        total: int = self._walk(self._plan, id(objects), id(namespaces), count, outside, memory, *sizes)
        return total >= 0

    def read_vector(self, key: Any, capacity: _WalkCapacity, memory: Any, arrays: Any, count: int) -> list[Any]:
        """The vector of a field after a walk in a capacity: of arrays, with a row for each object of the class; of
        others, one for each object."""
        number, layout = self._vectors[key], self._fields[key]
        if isinstance(layout, ConstantLayout):
            return []
        if isinstance(layout, ArrayLayout):
            rows = memory.item(self._row_count * capacity.objects + self.classes[key.owner])
            shape, dtype = (rows, *_sizes(layout)), layout.type.dtype.numpy
            return [np.ndarray(shape, dtype, arrays, capacity.offsets.item(number))]
        dtype = np.dtype({"f": np.float64, "b": np.bool_}.get(getattr(layout, "kind", "i"), np.int64))
        return [np.ndarray((count,), dtype, memory, 8 * capacity.objects * number)]


class Scratch:
    """Memory for the walks of a plan, one after another."""

    def __init__(self, plan: WalkPlan) -> None:
        capacity = self.capacity = plan.capacity
        self.memory, arrays = np.zeros(capacity.memory_words, np.int64), np.empty(capacity.array_words, np.int64)
        self.borrowed_arguments = self.memory, arrays
        self.arrays_address, address = data_address(arrays), data_address(self.memory)
        self.rows_address = address + 8 * capacity.objects
        """Where a walk writes the number of each object among those of its class."""
        self.slots_address = address + 8 * capacity.slots.start
        """Where a walk writes the vectors of all fields as arguments."""


_kernels: list[Any] = []
"""The module `walk_kernel`, once its machine code is loaded."""


@cache
def _start_loading() -> HelperThread:
    """Have the machine code of walks compiled, unless it is on disk, and loaded, on another thread."""
    return HelperThread(_load)


def find_kernel() -> Any:
    """The module `walk_kernel`, with its machine code loaded; None until then. The first call begins to load it."""
    _start_loading()
    return _kernels[0] if _kernels else None


def _load() -> None:
    from . import walk_kernel  # imports numba

    compiler_process.compile_and_wait(walk_kernel.TASK)
    if compiler_process.is_enabled() and walk_kernel.load_walk() is not None:
        _kernels.append(walk_kernel)
