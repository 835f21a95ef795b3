"""Calls whose objects machine code reads and that change nothing: the path of most calls, without an `ObjectTable`.

A `QuickCall` checks all that a graph assumes before a run, and uses the same memory for one call after another. Where
anything differs, it returns None, and the call takes the general path, which says what differs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from ...core.frontend.eager.array import ConcreteArray
from ..engines.compiled.call_buffer import data_address
from ..engines.compiled.engine import prepare_frame
from .heap import ObjectTable, VariableKey
from .layouts import (
    MAX_INTEGER,
    NUMBER_CLASSES,
    UNASSIGNED,
    ArrayLayout,
    ConstantLayout,
    Layout,
    NumberLayout,
    Pool,
    ReferenceLayout,
    TupleLayout,
    parts,
)
from .walk import Scratch, WalkPlan

_WORD_CODES = {"i": "q", "b": "q", "f": "d"}
"""The struct format of a number, by kind."""


class _CallMemory(NamedTuple):
    """The memory of a call: the next one uses it again."""

    scratch: Scratch
    run_frame: Any
    words: Any
    """The words of the call buffer."""
    begin: int
    """The byte of these where the arguments begin."""
    table: ObjectTable
    """What decodes results."""
    vectors_address: int
    """Where the arguments that a walk packs begin."""


class QuickCall:
    """Calls of one graph whose fields `plan` reads."""

    def __init__(
        self,
        program: Any,
        plan: WalkPlan,
        arguments: Mapping[str, Layout],
        constants: Iterable[tuple[VariableKey, Any]],
        result: Layout,
        needs_rows: bool,
    ) -> None:
        """`program` returns a value of the layout `result`, and takes the `arguments`, the rows of objects if
        `needs_rows`, and the vectors of the plan. Each of the variables outside is one of the `constants`."""
        self._program, self._plan, self._arguments, self._result = program, plan, list(arguments.items()), result
        self._needs_rows = needs_rows
        keys = list(constants)
        self._constants = [(_read_function(key), key.name, value) for key, value in keys]
        self._outside_ids = np.array(sorted({id(key.container) for key, _ in keys}), np.int64)
        codes = "".join(map(_argument_codes, arguments.values())) + "qqq" * needs_rows
        self._first_arguments = Struct(codes)
        self._idle_memory = list[_CallMemory]()
        """The memory that no call uses, if any: a finalizer may call the function while it runs."""

    def call(self, roots: Mapping[str, Any]) -> tuple[Any] | None:
        """The result of a call; None if it must take the general path. Raises KeyboardInterrupt at Ctrl-C."""
        for get, name, value in self._constants:
            if get(name, UNASSIGNED) is not value:
                return None
        objects, arrays = list[Any](), list[Any]()  # which the run reads, and which must live as long
        first_words = self._encode(roots, objects, arrays)
        if first_words is None:
            return None
        memory = self._idle_memory.pop() if self._idle_memory else self._allocate()
        if memory is None:
            return None
        scratch, plan = memory.scratch, self._plan
        if not plan.walk_in(scratch, objects, self._outside_ids):
            return None  # where it lacks capacity, the general path enlarges it, and the next call allocates memory
        if self._needs_rows:
            first_words += (0, scratch.rows_address, len(objects))
        self._first_arguments.pack_into(memory.words, memory.begin, *first_words)
        ctypes.memmove(memory.vectors_address, scratch.slots_address, plan.slot_bytes)
        results = memory.run_frame.run()
        if results is None:
            return None
        memory.table.objects = objects
        value = memory.table.decode(self._result, iter(results))
        memory.table.objects = []
        self._idle_memory[:] = [memory]
        return (value,)

    def _encode(self, roots: Mapping[str, Any], objects: list[Any], arrays: list[Any]) -> list[Any] | None:
        """The words of the arguments, whose objects and arrays are appended; None if one has another layout."""
        words = list[Any]()
        for name, layout in self._arguments:
            value = roots[name]
            if type(layout) is ReferenceLayout:
                if type(value) in layout.classes:
                    index = next((k for k, other in enumerate(objects) if other is value), len(objects))
                    if index == len(objects):
                        objects.append(value)
                    words.append(index)
                elif value is None and layout.is_optional:
                    words.append(-1)
                else:
                    return None
            elif type(layout) is NumberLayout:
                kind = layout.kind
                if NUMBER_CLASSES.get(type(value)) != kind or (kind == "i" and abs(value) >= MAX_INTEGER):
                    return None
                words.append(value)
            elif type(layout) is ArrayLayout:
                if type(value) is not ConcreteArray or not layout.type.admits(value._type):
                    return None
                array: Any = value._value
                arrays.append(array)
                words += (0, data_address(array), *array.shape)
            elif layout.value is not value:  # type: ignore[union-attr]
                return None
        return words

    def _allocate(self) -> _CallMemory | None:
        """New memory of a call; None if the machine code of the program may take long."""
        scratch = Scratch(self._plan)
        run_frame = prepare_frame(self._program, scratch.borrowed_arguments)
        if run_frame is None:
            return None
        words, position = run_frame.words
        address = ctypes.addressof(words) + 8 * position + self._first_arguments.size
        return _CallMemory(scratch, run_frame, words, 8 * position, ObjectTable({}, {}), address)


def _argument_codes(layout: Layout) -> str:
    """The struct format of the words of an argument."""
    if isinstance(layout, ArrayLayout):
        return "q" * (2 + len(layout.type.shape or ()))
    return "".join(_WORD_CODES[getattr(layout, "kind", "i")] for _ in layout.types)


def _read_function(key: VariableKey) -> Callable[[str, Any], Any]:
    """What reads a variable, as `get` of a dict does."""
    return key.container.get if type(key.container) is dict else lambda name, default: key.read()


def is_quick_argument(layout: Layout) -> bool:
    """Whether quick calls take arguments of a layout."""
    if isinstance(layout, ReferenceLayout):
        return not any(issubclass(owner, Pool) for owner in layout.classes)
    if isinstance(layout, ArrayLayout):
        return bool(layout.type.shape)
    return isinstance(layout, NumberLayout | ConstantLayout)


def is_quick_result(layout: Layout) -> bool:
    """Whether quick calls return values of a layout."""
    kinds = NumberLayout | ArrayLayout | ConstantLayout | ReferenceLayout | TupleLayout
    return all(isinstance(part, kinds) for part in parts(layout))
