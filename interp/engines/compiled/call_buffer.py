"""The call buffer: the memory that a run shares with generated code. It holds the state, the results, the arguments and
the steps of a tag.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from struct import Struct, pack_into, unpack_from
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core import dtypes
from ....core.dtypes import DType
from ....core.types import Type
from ....core.value import Value, admit
from ..jit.kernels import lane
from ..jit.state import (
    OPERANDS,
    POOL_REQUESTED,
    SLOT_WORDS,
    STACK_FLOOR,
    TAPE_END,
    TAPE_HIGH_WATER,
    TAPE_LAST_ROW,
    TAPE_NEXT,
)

_STRUCT_CODES = {"b": "q", "i": "q", "u": "Q", "f": "d"}
"""The struct format of a scalar in a word, by lane."""
_TYPE_STRINGS = {each: each.numpy.str for each in dtypes.ALL}
"""The typestrings of dtypes in NumPy's array interface: `dtype.str` takes 0.1 us."""
_OBJECT_HEADER_BYTES, _ssize_at_address = object.__basicsize__, ctypes.c_ssize_t.from_address


def data_address(array: Any) -> int:
    """The address of an array's elements. In NumPy's C struct it is the first field after the object header;
    `array.ctypes.data` takes ten times as long, 1 us."""
    return _ssize_at_address(id(array) + _OBJECT_HEADER_BYTES).value


_address_check = np.zeros(3)
assert data_address(_address_check[1:]) == _address_check.ctypes.data + 8
_idle_step_blocks = list[Any]()
"""Unused memory for the steps of tags."""
_MAX_IDLE_STEP_BLOCKS, _MIN_IDLE_WORDS = 4, 2**17
_MAX_INLINE_STEP_WORDS = 2**10
"""The most words of steps that are placed behind the state: to zero these takes 0.05 us."""


def take_value(words: Any, at: int, type_: Type) -> Value:
    """Take the value from a slot, which no longer owns it. An array without a reference count was lent to the run."""
    shape, dtype = type_.shape, type_.dtype
    if not shape:
        return read_scalar(words, at, dtype)
    counter, address, *sizes = words[at : at + 2 + len(shape)].tolist()
    memory = _mem_info_class()(counter) if counter else None
    if 0 not in sizes:
        return np.asarray(_ArrayInterface(memory, address, tuple(sizes), dtype))
    nothing: npt.NDArray[Any] = np.empty(sizes, dtype.numpy)
    nothing.setflags(write=False)
    return nothing


class _ArrayInterface:
    """A memory owner from which NumPy makes an array without copying, and which the array keeps alive. The array cannot
    be made writable, since this object, unlike the memory, exposes no buffer."""

    __slots__ = ("__array_interface__", "memory")

    def __init__(self, memory: Any, address: int, sizes: tuple[int, ...], dtype: DType) -> None:
        self.memory = memory
        self.__array_interface__ = {
            "version": 3,
            "shape": sizes,
            "typestr": _TYPE_STRINGS[dtype],
            "data": (address, True),
        }


@cache
def _mem_info_class() -> Any:
    """The type of objects that own memory allocated by generated code, made from the address of its reference count."""
    from numba.core.runtime.nrt import MemInfo

    return MemInfo


def _copy_to_slot(array: Any) -> list[int]:
    """The words of a slot that holds a copy of an array and owns a reference to it."""
    from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

    counter: int = _nrt_python.meminfo_alloc(max(1, array.nbytes))
    memory = _mem_info_class()(counter)
    memory.acquire()  # besides the reference of this object
    ctypes.memmove(memory.data, array.ctypes.data, array.nbytes)
    return [counter, memory.data, *array.shape]


def read_scalar(words: Any, at: int, dtype: DType) -> Value:
    """Read a scalar from a word."""
    (number,) = unpack_from(_STRUCT_CODES[lane(dtype)], words, 8 * at)
    if dtype is dtypes.bool:
        return bool(number)
    made: Value = number if dtype in dtypes.PYTHON_DTYPES else dtype.numpy.type(number)
    return made


def _allocate_words(count: int) -> Any:
    """Allocate words, reusing those of an earlier run where possible: to get memory from the system takes 15 us."""
    with suppress(IndexError):
        found = _idle_step_blocks.pop() if count >= _MIN_IDLE_WORDS else None
        if found is not None and found.size >= count:
            return found
    return np.empty(count, np.int64)


def arguments_struct(types: Sequence[Type]) -> Struct:
    """The struct layout of arguments of these types, one after another."""
    codes = (f"{2 + len(each.shape)}q" if each.shape else _STRUCT_CODES[lane(each.dtype)] for each in types)
    return Struct("".join(codes))


class CallBuffer:
    """The memory of one run; jit.state defines the words of its state. They are read by `item`, which takes half as
    long as an index. The results, the arguments and, where few, the steps of a tag follow the state, so that a short
    run allocates memory once."""

    def __init__(
        self, arguments: Sequence[Value], form: Struct, operands: int, results: int, deepest: int, seed: int
    ) -> None:
        self._stack_size = 0
        self.is_stop_requested = False
        """Whether a stop was requested. Results are meaningless after that: loops over elements exit early, and ops
        that use their results may trap."""
        self._results_at = OPERANDS + SLOT_WORDS * max(1, operands)
        begin = self._results_at + SLOT_WORDS * results
        self._steps_at = begin + form.size // 8
        steps = 2 * (deepest + 2)
        self._steps = _allocate_words(steps) if steps > _MAX_INLINE_STEP_WORDS else None
        memory: Any = np.zeros(self._steps_at + (steps if self._steps is None else 0), np.int64)
        self.state: npt.NDArray[np.int64] = memory
        self.address = data_address(memory)
        self.results_address, self.arguments_address = self.address + 8 * self._results_at, self.address + 8 * begin
        self.state[5] = self.address + 8 * self._steps_at if self._steps is None else data_address(self._steps)
        self.state[6] = seed if seed < 2**63 else seed - 2**64  # its bits
        self.borrowed_arguments = list[npt.NDArray[Any]]()
        """The arguments that generated code reads; they live as long as this buffer, even if the code does not stop."""
        found = list[Any]()
        for each in arguments:
            if isinstance(each, np.ndarray):  # it has no reference count
                self.borrowed_arguments.append(each)
                found += (0, data_address(each), *each.shape)
            else:
                found.append(each.item() if isinstance(each, np.generic) else each)
        form.pack_into(memory, 8 * begin, *found)

    def recycle(self) -> None:
        """Recycle the memory of a run whose outcome has been read."""
        steps = self._steps
        if (
            steps is not None
            and steps.size >= _MIN_IDLE_WORDS
            and not self.state.item(4)
            and len(_idle_step_blocks) < _MAX_IDLE_STEP_BLOCKS
        ):
            _idle_step_blocks.append(steps)

    def set_host_callback(self, function: Any) -> None:
        """Set the function that performs host calls, by number; it must live as long as the run."""
        self.state[7] = ctypes.cast(function, ctypes.c_void_p).value or 0

    def store_reply(self, value: Value, type_: Type) -> None:
        """Store the result of a host call."""
        if type_.is_scalar:
            memory: Any = self.state
            number = value.item() if isinstance(value, np.generic) else value
            pack_into(_STRUCT_CODES[lane(type_.dtype)], memory, 8 * OPERANDS, number)
        else:
            owned = _copy_to_slot(np.asarray(value))
            self.state[OPERANDS : OPERANDS + len(owned)] = owned

    def set_stack_limit(self, size: int, lowest: int = 0) -> None:
        """Limit the stack to so many bytes, and to addresses above `lowest`."""
        self.state[3] = self._stack_size = size
        self.state[STACK_FLOOR] = lowest

    @property
    def stack_floor(self) -> int | None:
        """The lowest stack address allowed; None if generated code has not begun."""
        found: int = self.state.item(3)
        return None if found == self._stack_size else found

    def set_thread_pool(self, address: int) -> None:
        self.state[8] = address

    def release_tape_rows(self) -> None:
        """Release the arrays in records of a run that ended by an exception."""
        row = self.state.item(TAPE_LAST_ROW)
        while row:
            before, counter = (ctypes.c_int64 * 2).from_address(row)
            if counter:
                _mem_info_class()(counter)
            row = before
        self.state[TAPE_LAST_ROW] = 0

    @property
    def wants_thread_pool(self) -> bool:
        """Whether generated code met a loop worth sharing, without a thread pool."""
        return bool(self.state.item(8) == POOL_REQUESTED)

    def request_stop(self) -> None:
        """Request that the run stops."""
        self.is_stop_requested = True
        self.state[0] = 1

    @property
    def exit_reason(self) -> int:
        """Why generated code stopped by itself; 0 if it did not."""
        return self.state.item(1)

    @property
    def trap_number(self) -> int:
        return self.state.item(2)

    def tag_steps(self) -> list[tuple[int, int]]:
        """The steps of a trap's tag, from the root: a site number and an iteration each."""
        steps = self.state[self._steps_at :] if self._steps is None else self._steps
        noted = steps[: 2 * int(self.state[4])].reshape(-1, 2)
        return [(int(site), int(iteration)) for site, iteration in noted[::-1]]

    def take_operand(self, at: int, type_: Type) -> Value:
        """Take an operand of the trapping node; each can be taken once."""
        return self._own_value(take_value(self.state, OPERANDS + SLOT_WORDS * at, type_))

    def borrow_operand(self, at: int, type_: Type) -> Value:
        """Borrow an operand of a host call; the caller neither changes nor keeps it."""
        return take_value(self.state, OPERANDS + SLOT_WORDS * at, type_)

    def take_result(self, at: int, type_: Type) -> Value:
        """Take a result; each can be taken once."""
        return self._own_value(take_value(self.state, self._results_at + SLOT_WORDS * at, type_))

    def discard_results(self, types: Sequence[Type]) -> None:
        """Release the results, if there are any."""
        for at, type_ in enumerate(types):
            if not type_.is_scalar and self.state.item(self._results_at + SLOT_WORDS * at):
                take_value(self.state, self._results_at + SLOT_WORDS * at, type_)

    def _own_value(self, value: Value) -> Value:
        """The value itself, or a copy if it shares memory with an argument, which its owner may change."""
        base: Any = value.base if isinstance(value, np.ndarray) else None
        return admit(value) if type(base) is _ArrayInterface and base.memory is None else value


# The arena for the records of a run: it reserves addresses for as much memory as the run may use; memory is committed
# as it is used. What a short run has used is kept for the next one, since to get it from the system takes as long
# again.


_MAX_IDLE_BLOCKS = 4
_MAX_IDLE_BYTES = 2**26
"""An arena of which more was used is returned to the system."""
_MIN_BLOCK_BYTES = 2**20
_idle_blocks: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []


class RecordArena:
    """A context in which the records of a run have an arena of so many bytes; of fewer, where the system refuses. A
    class, since each run has one: a generator takes twice as long, 2 us."""

    __slots__ = ("_begin", "_call_buffer", "_memory", "_size")

    def __init__(self, words: CallBuffer, size: int) -> None:
        self._call_buffer, self._size = words, size

    def __enter__(self) -> None:
        memory = self._memory = _acquire_block(self._size)
        begin = self._begin = data_address(memory)
        state = self._call_buffer.state
        state[TAPE_NEXT], state[TAPE_END] = begin, begin + min(memory.nbytes, self._size)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        words = self._call_buffer
        words.release_tape_rows()
        highest = max(
            words.state.item(TAPE_HIGH_WATER), words.state.item(TAPE_NEXT)
        )  # if the run ended by an exception
        if highest - self._begin <= _MAX_IDLE_BYTES and len(_idle_blocks) < _MAX_IDLE_BLOCKS:
            _idle_blocks.append(self._memory)


def _acquire_block(size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    try:
        memory = _idle_blocks.pop()
    except IndexError:
        return _allocate_block(size)
    return memory if memory.nbytes >= size else _allocate_block(size)


def _allocate_block(size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    while True:
        try:
            return np.empty(max(size, _MIN_BLOCK_BYTES) // 8, np.int64)
        except MemoryError:
            size //= 2
            if size < _MIN_BLOCK_BYTES:
                raise
