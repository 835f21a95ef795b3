"""A walk over Python objects in machine code, for speculated functions: it follows the references in their attributes,
and writes the attributes into vectors, by functions of Python's C API.

A plan, which `walk.py` makes, says what to read: a header, then the classes, then the fields of each class and the
names that its instances must not have. It refers to classes, names and types by address, so whoever has the plan keeps
them alive. The walk holds Python's lock, and keeps alive the objects that it reads more than once. Code of the user may
run all the same: when a dict compares keys that are not strings, or when the dict of an object is created and Python
collects garbage. Where an object is not as the plan says, the walk gives up, and Python reads the objects.
"""

from __future__ import annotations

import ctypes
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numba import float64, int64, types

from ..engines.jit.cache import load_module
from ..engines.jit.compiler_process import CompileTask
from ..engines.jit.memory import kernel
from ..engines.jit.memory import peek as peek_word

UNPLANNED, TOO_SMALL = -1, -2
"""Results of a walk: an object is not as the plan says, or the buffers are too small."""
REFERENCE, INTEGER, FLOAT, BOOLEAN, ARRAY, CONSTANT, ABSENT = range(7)
"""The kinds of fields. A constant is one object, and has no vector; an absent attribute has none either."""
HEADER = (
    "class_count",
    "none",
    "true",
    "int",
    "float",
    "bool",
    "dict",
    "array",
    "numpy_array",
    "value_word",
    "type_word",
    "head_bytes",
    "row_count",
    "slots",
    "slot_words",
)
"""The words of a plan's header: the number of classes; the addresses of objects, of the classes of numbers, dicts and
concrete arrays and NumPy's; the words of a concrete array that have its slots; the size of the head of an object; the
number of rows of words; and the position and number of the words in the plan for which a walk returns vectors as
arguments: for each vector 0, and room for its address, then its sizes, of which the walk fills the first."""
CLASS_COUNT, NONE, TRUE, INT_CLASS, FLOAT_CLASS, BOOL_CLASS = range(6)
DICT_CLASS, ARRAY_CLASS, NUMPY_CLASS, VALUE_WORD, TYPE_WORD, HEAD, ROW_COUNT, SLOTS, SLOT_WORDS = range(6, len(HEADER))
CLASS_WORDS = 5
"""The words of a class: its address, the positions of its fields and of the names that its instances must not have in
the plan, each with their number."""
FIELD_WORDS = 6
"""The words of a field: its kind, its name, its vector, two that depend on the kind, and the position of its vector
among the arguments. A reference has a bit for
each class that it may refer to, and whether it may be None; an array has its type and the bytes of its elements; a
constant has its address."""
MAX_INTEGER = 2**62
"""The least integer that no field may have."""
_NAMESPACE = -2
"""The position that the table of addresses has for the dict of an object's attributes."""
_C_CONTIGUOUS = 1
_DATA, _FLAGS = 0, 6
"""The words of a NumPy array, after the head of the object, which are part of NumPy's binary interface."""

peek: Any = peek_word
_get_item: Any = types.ExternalFunction("PyDict_GetItemWithError", int64(int64, int64))
_get_attributes: Any = types.ExternalFunction("PyObject_GenericGetDict", int64(int64, int64))
_get_list_item: Any = types.ExternalFunction("PyList_GetItem", int64(int64, int64))
_append: Any = types.ExternalFunction("PyList_Append", types.int32(int64, int64))
_to_integer: Any = types.ExternalFunction("PyLong_AsLongLong", int64(int64))
_to_float: Any = types.ExternalFunction("PyFloat_AsDouble", float64(int64))
_release: Any = types.ExternalFunction("Py_DecRef", types.void(int64))
_get_error: Any = types.ExternalFunction("PyErr_Occurred", int64())
_clear_error: Any = types.ExternalFunction("PyErr_Clear", types.void())
_copy: Any = types.ExternalFunction("memcpy", int64(int64, int64, int64))


@kernel
def _find_slot(table, address):  # type: ignore[no-untyped-def]
    """The slot of an address in an open hash table, or the free slot for it. A free slot has the address 0."""
    mask = len(table) - 1
    slot = ((address >> 4) * 0x9E3779B1) & mask
    while table[slot, 0] != 0 and table[slot, 0] != address:
        slot = (slot + 1) & mask
    return slot


@kernel
def _claim_namespace(table, namespace):  # type: ignore[no-untyped-def]
    """Note that a dict has the attributes of an object or variables; returns whether the table did not have it."""
    slot = _find_slot(table, namespace)
    if table[slot, 0] != 0:
        return False
    table[slot, 0], table[slot, 1] = namespace, _NAMESPACE
    return True


@kernel
def _find_class(plan, owner):  # type: ignore[no-untyped-def]
    """The number of the class at an address; the number of classes if the plan does not have it."""
    number = 0
    while number < plan[CLASS_COUNT] and plan[len(HEADER) + CLASS_WORDS * number] != owner:
        number += 1
    return number


@kernel
def _copy_array(plan, field, value, target):  # type: ignore[no-untyped-def]
    """Copy the elements of a concrete array; returns whether it has the planned type and is contiguous."""
    type_, array = peek(value, plan[TYPE_WORD]), peek(value, plan[VALUE_WORD])
    is_planned = False
    if array != 0 and type_ == plan[field + 3] and peek(array, plan[HEAD] // 8 - 1) == plan[NUMPY_CLASS]:
        body = array + plan[HEAD]
        is_planned = peek(body, _FLAGS) & _C_CONTIGUOUS != 0
        if is_planned:
            _copy(target, peek(body, _DATA), plan[field + 4])
    return is_planned


@kernel
def _read_number(plan, kind, value, owner, words, vector, position):  # type: ignore[no-untyped-def]
    """Write a number into a vector; returns whether it is of the planned class and size."""
    if kind == INTEGER and owner == plan[INT_CLASS]:
        integer = _to_integer(value)
        if integer == -1 and _get_error() != 0:  # it has more than 64 bits
            _clear_error()
        elif -MAX_INTEGER < integer < MAX_INTEGER:
            words[vector, position] = integer
            return True
    elif kind == FLOAT and owner == plan[FLOAT_CLASS]:
        words.view(np.float64)[vector, position] = _to_float(value)
        return True
    elif kind == BOOLEAN and owner == plan[BOOL_CLASS]:
        words.view(np.uint8)[vector, position] = value == plan[TRUE]
        return True
    return False


@kernel
def _follow(plan, objects, namespaces, count, outside, table, words, base, offsets, capacities, row_counts):  # type: ignore[no-untyped-def]
    """`walk`, without clearing errors of Python.

    The list of objects is a worklist: an object that a reference leads to for the first time is appended. The table has
    the position of each object by its address."""
    class_word, capacity = plan[HEAD] // 8 - 1, min(words.shape[1], len(table) // 4)
    if count > capacity or len(outside) > capacity:
        return TOO_SMALL
    for position in range(len(outside)):
        _claim_namespace(table, outside[position])
    for position in range(count):
        address = _get_list_item(objects, position)
        slot = _find_slot(table, address)
        table[slot, 0], table[slot, 1] = address, position
    position = 0
    while position < count:
        number = words[0, position]
        row = words[1, position] = row_counts[number]
        if row == capacities[number]:
            return TOO_SMALL - 1 - number
        row_counts[number] += 1
        entry = len(HEADER) + CLASS_WORDS * number
        attributes = _get_attributes(_get_list_item(objects, position), 0)
        if attributes == 0:
            return UNPLANNED
        is_kept = _append(namespaces, attributes) == 0
        _release(attributes)
        if not is_kept or peek(attributes, class_word) != plan[DICT_CLASS] or not _claim_namespace(table, attributes):
            return UNPLANNED
        for name in range(plan[entry + 3], plan[entry + 3] + plan[entry + 4]):
            if _get_item(attributes, plan[name]) != 0:
                return UNPLANNED
        for field in range(plan[entry + 1], plan[entry + 1] + FIELD_WORDS * plan[entry + 2], FIELD_WORDS):
            kind, vector = plan[field], plan[field + 2]
            value = _get_item(attributes, plan[field + 1])
            if kind == ABSENT and value == 0:
                continue
            if value == 0 or kind == ABSENT or (kind == CONSTANT and value != plan[field + 3]):
                return UNPLANNED
            owner = peek(value, class_word)
            if kind == REFERENCE and value == plan[NONE]:
                if plan[field + 4] == 0:
                    return UNPLANNED
                words[vector, position] = -1
            elif kind == REFERENCE:
                slot = _find_slot(table, value)
                if table[slot, 0] == 0:
                    target = _find_class(plan, owner)
                    if target == plan[CLASS_COUNT]:
                        return UNPLANNED
                    if count == capacity:
                        return TOO_SMALL
                    if _append(objects, value) != 0:
                        return UNPLANNED
                    table[slot, 0], table[slot, 1], words[0, count] = value, count, target
                    count += 1
                index = table[slot, 1]
                if index < 0 or (plan[field + 3] >> words[0, index]) & 1 == 0:
                    return UNPLANNED
                words[vector, position] = index
            elif kind == ARRAY:
                target = base + offsets[vector] + row * plan[field + 4]
                if owner != plan[ARRAY_CLASS] or not _copy_array(plan, field, value, target):
                    return UNPLANNED
            elif kind != CONSTANT and not _read_number(plan, kind, value, owner, words, vector, position):
                return UNPLANNED
        position += 1
    return count


@kernel
def _pack(plan, count, words_address, row_bytes, base, offsets, row_counts, slots):  # type: ignore[no-untyped-def]
    """Write the vectors of all fields as arguments: for each 0, its address, and its sizes."""
    for word in range(plan[SLOT_WORDS]):
        slots[word] = plan[plan[SLOTS] + word]
    for number in range(plan[CLASS_COUNT]):
        entry = len(HEADER) + CLASS_WORDS * number
        for field in range(plan[entry + 1], plan[entry + 1] + FIELD_WORDS * plan[entry + 2], FIELD_WORDS):
            kind, vector, slot = plan[field], plan[field + 2], plan[field + 5]
            if kind == ARRAY:
                slots[slot + 1], slots[slot + 2] = base + offsets[vector], row_counts[number]
            elif kind not in (CONSTANT, ABSENT):
                slots[slot + 1], slots[slot + 2] = words_address + row_bytes * vector, count


@kernel
def walk(plan, objects, namespaces, count, outside, memory, size, base, offsets, capacities):  # type: ignore[no-untyped-def]
    """Follow the references of the first `count` of a list of objects, and append the objects that they lead to, and
    to the list `namespaces` the dicts of the attributes of all.

    `memory` is zeros, but for the first row. It has rows of `size` words, then a word for each class, the slots, and a
    hash table. Row 0 has the number of the class of each object, row 1 its number among those of its class. The other
    rows are vectors of fields; vectors of bools have a byte for each object. The words of the classes receive the
    numbers of their objects, which have `capacities`. The vectors of arrays begin at the address `base`, each at its
    offset; they have a row for each object of their class. `outside` has the addresses of dicts with variables that the
    program reads.

    Returns the number of objects; UNPLANNED; TOO_SMALL if `memory` is; or TOO_SMALL - 1 - k if there are more objects
    of class k.
    """
    words_end = plan[ROW_COUNT] * size
    slots_begin = words_end + plan[CLASS_COUNT]
    table_begin = slots_begin + plan[SLOT_WORDS]
    words = memory[:words_end].reshape((plan[ROW_COUNT], size))
    row_counts, table = memory[words_end:slots_begin], memory[table_begin:].reshape((-1, 2))
    result = _follow(plan, objects, namespaces, count, outside, table, words, base, offsets, capacities, row_counts)
    if _get_error() != 0:
        _clear_error()
        return UNPLANNED
    if result >= 0:
        slots = memory[slots_begin:table_begin]
        _pack(plan, result, memory.ctypes.data, 8 * size, base, offsets, row_counts, slots)
    return result


_TEXT = f"""\
# {blake2b(Path(__file__).read_bytes()).hexdigest()}
from numba import int64, njit
from {__package__} import walk_kernel
@njit(int64(int64[::1], int64, int64, int64, int64[::1], int64[::1], int64, int64, int64[::1], int64[::1]),
 cache=True, error_model="numpy", no_cfunc_wrapper=True)
def walk(plan, objects, namespaces, count, outside, memory, size, base, offsets, capacities):
 return walk_kernel.walk(plan, objects, namespaces, count, outside, memory, size, base, offsets, capacities)
"""
TASK = CompileTask("walk_kernel", _TEXT)
"""What a compiler process needs to compile the walk. The machine code depends on the text of this file, too."""


@cache
def load_walk() -> Any:
    """The walk in machine code; compiles it unless it is on disk. Returns None where objects or NumPy's arrays have
    another form than here."""
    return load_module(TASK.name, TASK.text).walk if _is_known_form() else None


def _is_known_form() -> bool:
    """Whether the head of an object ends with its class, and what follows in an array is as in NumPy 2."""
    array, head = np.zeros(3), object.__basicsize__
    words = (ctypes.c_int64 * ((head >> 3) + _FLAGS + 1)).from_address(id(array))[:]
    body = words[head >> 3 :]
    return (
        words[(head >> 3) - 1] == id(np.ndarray)
        and body[_DATA] == array.__array_interface__["data"][0]
        and body[_FLAGS] & 0xFFFFFFFF == array.flags.num
    )
