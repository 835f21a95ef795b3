"""The call buffer: the memory that a run shares with generated code. It holds the state, the results, the arguments and
the steps of a tag; the records of tapes have a separate arena.

The memory for steps and records is kept for the next run; the system commits only the pages that generated code
touches.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from struct import Struct, pack_into, unpack_from
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ....core import dtypes
from ....core.dtypes import DType
from ....core.types import Type
from ....core.value import Value, admit
from ..jit.extension_modules import runtime_module
from ..jit.kernels import lane
from ..jit.state import (
    EXIT_REASON,
    EXIT_SITE,
    HOST_FUNCTION,
    MEMORY_BUDGET,
    MEMORY_LIMIT,
    OPERANDS,
    POOL_ADDRESS,
    POOL_REQUESTED,
    SEED,
    SLOT_WORDS,
    STACK_FLOOR,
    STACK_GUARD,
    STATM_FILE,
    STOP_FLAG,
    STOP_GUARD,
    TAG_LENGTH,
    TAG_STEPS,
    TAPE_END,
    TAPE_HIGH_WATER,
    TAPE_LAST_ROW,
    TAPE_NEXT,
)
from ..limits import recent_resident_memory, statm_file
from ..protocol import PackedArrays

Words: TypeAlias = ctypes.Array[ctypes.c_int64]
_STRUCT_CODES = {"b": "q", "i": "q", "u": "Q", "f": "d"}
"""The struct format of a scalar in a word, by lane."""
_TYPE_STRINGS = {dtype: (dtypes.uint16 if dtype is dtypes.bfloat16 else dtype).numpy.str for dtype in dtypes.ALL}
"""The typestrings of dtypes in NumPy's array interface: `dtype.str` takes 0.1 us. The interface has no typestring for
bfloat16, and NumPy 2.1.0 crashes on the typestring of two untyped bytes."""


class MemoryBlock(NamedTuple):
    """Uninitialised words, and their address."""

    words: npt.NDArray[np.int64]
    address: int


_MAX_IDLE_BLOCKS = 4
_idle_step_blocks: list[MemoryBlock] = []
"""Unused memory for the steps of tags."""
_idle_arenas: list[MemoryBlock] = []
"""Unused memory for the records of tapes."""
_MAX_IDLE_BYTES = 2**26
"""An arena that a run used beyond this many bytes is returned to the system."""
_MIN_ARENA_BYTES = 2**20


def interface_address(array: Any) -> int:
    """The address of an array's elements, by NumPy's array interface."""
    address: int = array.__array_interface__["data"][0]
    return address


def _stored_address(array: Any) -> int:
    """The address of an array's elements, read from the array object, after the header that all objects have. Takes an
    eighth of the time of the array interface, which takes 1 us; `array.ctypes.data` takes 2 us."""
    return ctypes.c_size_t.from_address(id(array) + object.__basicsize__).value


_EXAMPLE = np.zeros(3)
data_address = _stored_address if _stored_address(_EXAMPLE) == interface_address(_EXAMPLE) else interface_address


def acquire_block(idle: list[MemoryBlock], count: int) -> MemoryBlock:
    """A block of at least `count` words: an idle one, or a new one."""
    try:
        block = idle.pop()
    except IndexError:
        block = None
    if block is None or block.words.size < count:
        words = np.empty(count, np.int64)
        return MemoryBlock(words, data_address(words))
    return block


class _ArrayInterface:
    """Elements of the caller, from which NumPy makes an array without copying. The array cannot be made writable, since
    this object exposes no buffer."""

    __slots__ = ("__array_interface__",)

    def __init__(self, address: int, sizes: tuple[int, ...], dtype: DType) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": sizes,
            "typestr": _TYPE_STRINGS[dtype],
            "data": (address, True),
        }


@cache
def mem_info_class() -> Any:
    """numba's type for owners of memory that generated code allocated; called with the address of the reference
    count."""
    return runtime_module()._MemInfo


def take_value(words: Words, offset: int, type_: Type) -> Value:
    """Take the value from a slot, with the slot's reference. An array without a reference count belongs to the
    caller. No array that shares memory can be made writable."""
    shape, dtype = type_.shape, type_.dtype
    if not shape:
        (number,) = unpack_from(_STRUCT_CODES[lane(dtype)], words, 8 * offset)
        if dtype is dtypes.bool:
            return bool(number)
        scalar: Value = number if dtype in dtypes.PYTHON_DTYPES else dtype.numpy.type(number)
        return scalar
    counter, address, *sizes = words[offset : offset + 2 + len(shape)]
    memory = mem_info_class()(counter) if counter else None
    if 0 in sizes:
        empty: npt.NDArray[Any] = np.empty(sizes, dtype.numpy)
        empty.setflags(write=False)
        return empty
    if memory is not None:  # a quarter of the time that the array interface takes
        view = memoryview(memory).toreadonly()
        elements = np.frombuffer(view, dtype.numpy, prod(sizes), address - memory.data)
        return elements if len(sizes) == 1 else elements.reshape(sizes)
    array = np.asarray(_ArrayInterface(address, tuple(sizes), dtype))
    return array if dtype is not dtypes.bfloat16 else array.view(dtype.numpy)


@dataclass(frozen=True, slots=True)
class CallLayout:
    """The layout of a call buffer: the offsets, in words, of the results and of the arguments, after the state. It is
    the same for all runs of a program."""

    words_type: type[Words]
    results_begin: int
    arguments_begin: int
    arguments: Struct


def call_layout(parameters: Sequence[Type], results: int, operands: int) -> CallLayout:
    """The layout for arguments of these types and these numbers of results and of operands of a trap."""
    codes = (
        f"{2 + len(parameter.shape)}q" if parameter.shape else _STRUCT_CODES[lane(parameter.dtype)]
        for parameter in parameters
    )
    arguments, results_begin = Struct("".join(codes)), OPERANDS + SLOT_WORDS * max(1, operands)
    arguments_begin = results_begin + SLOT_WORDS * results
    return CallLayout(
        ctypes.c_int64 * (arguments_begin + arguments.size // 8), results_begin, arguments_begin, arguments
    )


class CallBuffer:
    """The memory of one run; jit.state defines the words of its state. Results and arguments follow the state, so that
    a run allocates memory once. The steps of a tag, of at most `depth` levels, are in a separate block."""

    def __init__(
        self, arguments: Sequence[Value | PackedArrays] | None, layout: CallLayout, depth: int, seed: int
    ) -> None:
        """Without `arguments`, the caller writes their words before each run."""
        self._layout = layout
        self.is_stop_requested = False
        """Whether a stop was requested. Results are meaningless after that: loops over elements exit early, and ops
        that use their results may trap."""
        self.state: Words = layout.words_type()
        self.address = ctypes.addressof(self.state)
        self.results_address = self.address + 8 * layout.results_begin
        self.arguments_address = self.address + 8 * layout.arguments_begin
        self._steps = acquire_block(_idle_step_blocks, 2 * (depth + 2))
        self.state[TAG_STEPS], self.state[SEED] = self._steps.address, seed
        self.borrowed_arguments: list[npt.NDArray[Any]] = []
        """The arrays that generated code reads; this buffer keeps them alive, even if the code does not stop."""
        if arguments is None:
            return
        packed: list[Any] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):  # it has no reference count
                self.borrowed_arguments.append(argument)
                packed += (0, data_address(argument), *argument.shape)
            elif type(argument) is PackedArrays:
                self.borrowed_arguments += argument.memory
                packed += argument.words
            else:
                packed.append(argument.item() if isinstance(argument, np.generic) else argument)
        layout.arguments.pack_into(self.state, 8 * layout.arguments_begin, *packed)

    def reset(self) -> None:
        """Prepare the buffer for another run, after one that has returned, and whose results were taken."""
        ctypes.memset(self.address, 0, 8 * self._layout.arguments_begin)
        self.state[TAG_STEPS] = self._steps.address

    def recycle(self) -> None:
        """Keep the memory for steps for the next run, unless steps were written. Call it after reading the outcome."""
        if not self.state[TAG_LENGTH] and len(_idle_step_blocks) < _MAX_IDLE_BLOCKS:
            _idle_step_blocks.append(self._steps)

    def set_host_callback(self, function: Any) -> None:
        """Set the C function that performs the host call of a number; it must live as long as the run."""
        self.state[HOST_FUNCTION] = ctypes.cast(function, ctypes.c_void_p).value or 0

    def store_reply(self, value: Value, type_: Type) -> None:
        """Store the result of a host call: a scalar, or a copy of an array, which the slot owns."""
        if type_.is_scalar:
            number = value.item() if isinstance(value, np.generic) else value
            pack_into(_STRUCT_CODES[lane(type_.dtype)], self.state, 8 * OPERANDS, number)
            return
        array = np.asarray(value)
        counter: int = runtime_module().meminfo_alloc(max(1, array.nbytes))
        memory = mem_info_class()(counter)
        memory.acquire()  # besides the reference of this object
        ctypes.memmove(memory.data, data_address(array), array.nbytes)
        slot = [counter, memory.data, *array.shape]
        self.state[OPERANDS : OPERANDS + len(slot)] = slot

    def set_stack_limit(self, size: int, floor: int = 0) -> None:
        """Limit the stack to `size` bytes, and to addresses from `floor` up."""
        self.state[STACK_GUARD] = size
        self.state[STACK_FLOOR] = floor

    def set_memory_limit(self, limit: int) -> None:
        """Limit the resident memory of the process, in bytes."""
        self.state[MEMORY_BUDGET] = limit - recent_resident_memory()
        self.state[MEMORY_LIMIT], self.state[STATM_FILE] = limit, statm_file()

    @property
    def stack_floor(self) -> int | None:
        """The lowest stack address allowed; None if generated code has not begun."""
        return self.state[STACK_FLOOR] or None

    def set_thread_pool(self, address: int) -> None:
        self.state[POOL_ADDRESS] = address

    @property
    def wants_thread_pool(self) -> bool:
        """Whether generated code ran a loop that a thread pool would have shared, but had none."""
        return self.state[POOL_ADDRESS] == POOL_REQUESTED

    def request_stop(self) -> None:
        """Request that the run stops."""
        self.is_stop_requested = True
        self.state[STOP_FLAG] = 1
        self.state[STACK_GUARD] = STOP_GUARD

    @property
    def exit_reason(self) -> int:
        """Why generated code stopped by itself; 0 if it did not."""
        return self.state[EXIT_REASON]

    @property
    def trap_number(self) -> int:
        return self.state[EXIT_SITE]

    def tag_steps(self) -> list[tuple[int, int]]:
        """The steps of a trap's tag, from the root: a site number and an iteration each."""
        steps = self._steps.words[: 2 * self.state[TAG_LENGTH]].reshape(-1, 2)
        return [(int(site), int(iteration)) for site, iteration in steps[::-1]]

    def take_operand(self, index: int, type_: Type) -> Value:
        """Take an operand of the trapping node; each can be taken once."""
        return self._take_owned(OPERANDS + SLOT_WORDS * index, type_)

    def borrow_operand(self, index: int, type_: Type) -> Value:
        """Borrow an operand of a host call; the caller neither changes nor keeps it."""
        return take_value(self.state, OPERANDS + SLOT_WORDS * index, type_)

    def take_result(self, index: int, type_: Type) -> Value:
        """Take a result; each can be taken once."""
        return self._take_owned(self._layout.results_begin + SLOT_WORDS * index, type_)

    def discard_results(self, types: Sequence[Type]) -> None:
        """Release the results, if there are any."""
        for index, type_ in enumerate(types):
            begin = self._layout.results_begin + SLOT_WORDS * index
            if not type_.is_scalar and self.state[begin]:
                take_value(self.state, begin, type_)

    def release_tape_rows(self) -> None:
        """Release the arrays in records of a run that ended by an exception."""
        row = self.state[TAPE_LAST_ROW]
        while row:
            previous_row, counter = (ctypes.c_int64 * 2).from_address(row)
            if counter:
                mem_info_class()(counter)
            row = previous_row
        self.state[TAPE_LAST_ROW] = 0

    def _take_owned(self, offset: int, type_: Type) -> Value:
        """Take the value from a slot: a copy if it shares memory with an argument, which its owner may change."""
        value = take_value(self.state, offset, type_)
        return value if type_.is_scalar or self.state[offset] else admit(value)


class RecordArena:
    """A context in which the records of a run have an arena of `size` bytes, or fewer if the system refuses; memory is
    committed as it is used. The arena of a short run is reused by the next one: with a new one, a run takes twice as
    long. A class, since a generator takes twice as long, 2 us a run."""

    __slots__ = ("_arena", "_call_buffer", "_size")

    def __init__(self, call_buffer: CallBuffer, size: int) -> None:
        self._call_buffer, self._size = call_buffer, size

    def __enter__(self) -> None:
        size = max(self._size, _MIN_ARENA_BYTES)
        while True:
            try:
                arena = self._arena = acquire_block(_idle_arenas, size // 8)
                break
            except MemoryError:
                size //= 2
                if size < _MIN_ARENA_BYTES:
                    raise
        state = self._call_buffer.state
        state[TAPE_NEXT], state[TAPE_END] = arena.address, arena.address + min(arena.words.nbytes, self._size)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._call_buffer.release_tape_rows()
        state = self._call_buffer.state
        highest = max(state[TAPE_HIGH_WATER], state[TAPE_NEXT])  # the second if the run ended by an exception
        if highest - self._arena.address <= _MAX_IDLE_BYTES and len(_idle_arenas) < _MAX_IDLE_BLOCKS:
            _idle_arenas.append(self._arena)
