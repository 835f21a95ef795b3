"""The words that a run shares with generated code: the state, the results, the arguments, the steps of a tag."""

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
from ..jit.state import LAST_ROW, LOWEST, OPERANDS, SLOT, WANTED

_CODES = {"b": "q", "i": "q", "u": "Q", "f": "d"}
"""How a scalar of a lane lies in a word."""
_NAMES = {each: each.numpy.str for each in dtypes.ALL}
"""What NumPy's interface of arrays calls dtypes: to ask one takes 0.1 us."""
_HEAD, _word_at = object.__basicsize__, ctypes.c_ssize_t.from_address


def address(array: Any) -> int:
    """Where the elements of an array begin. NumPy's C interface has that first in an array, behind what every object
    begins with; `array.ctypes.data` takes ten times as long, 1 us."""
    return _word_at(id(array) + _HEAD).value


_sample = np.zeros(3)
assert address(_sample[1:]) == _sample.ctypes.data + 8
_rested = list[Any]()
"""Memory for the steps of tags that no run uses."""
_KEPT, _LARGE = 4, 2**17
_FEW = 2**10
"""How many words of steps lie behind the state, at most: to set these to zero takes 0.05 us."""


def taken(words: Any, at: int, type_: Type) -> Value:
    """The value in a slot that begins at a word; the slot no longer owns it. An array that nobody counts lies in one
    that was lent."""
    shape, dtype = type_.shape, type_.dtype
    if not shape:
        return read(words, at, dtype)
    counter, address, *sizes = words[at : at + 2 + len(shape)].tolist()
    memory = _counted()(counter) if counter else None
    if 0 not in sizes:
        return np.asarray(_Elements(memory, address, tuple(sizes), dtype))
    nothing: npt.NDArray[Any] = np.empty(sizes, dtype.numpy)
    nothing.setflags(write=False)
    return nothing


class _Elements:
    """What NumPy makes an array of without copying, and keeps with it. Nobody can make one of it that may be written
    to: unlike the memory itself it has no buffer."""

    __slots__ = ("__array_interface__", "memory")

    def __init__(self, memory: Any, address: int, sizes: tuple[int, ...], dtype: DType) -> None:
        self.memory = memory
        self.__array_interface__ = {"version": 3, "shape": sizes, "typestr": _NAMES[dtype], "data": (address, True)}


@cache
def _counted() -> Any:
    """What holds memory that generated code has made, from the address of its counter on."""
    from numba.core.runtime.nrt import MemInfo

    return MemInfo


def _owned(array: Any) -> list[int]:
    """A slot of a copy of an array, with a reference to it."""
    from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

    counter: int = _nrt_python.meminfo_alloc(max(1, array.nbytes))
    memory = _counted()(counter)
    memory.acquire()  # beside the reference that goes with this object
    ctypes.memmove(memory.data, array.ctypes.data, array.nbytes)
    return [counter, memory.data, *array.shape]


def read(words: Any, at: int, dtype: DType) -> Value:
    """The scalar of this dtype in a word."""
    (number,) = unpack_from(_CODES[lane(dtype)], words, 8 * at)
    if dtype is dtypes.bool:
        return bool(number)
    made: Value = number if dtype in dtypes.NATIVE else dtype.numpy.type(number)
    return made


def _memory(count: int) -> Any:
    """So many words; much of it is that of a run before, since to ask the system for it takes 15 us."""
    with suppress(IndexError):
        found = _rested.pop() if count >= _LARGE else None
        if found is not None and found.size >= count:
            return found
    return np.empty(count, np.int64)


def form_of(types: Sequence[Type]) -> Struct:
    """How arguments of these types lie, one behind the other."""
    codes = (f"{2 + len(each.shape)}q" if each.shape else _CODES[lane(each.dtype)] for each in types)
    return Struct("".join(codes))


class Words:
    """The state of one run; what its words are, jit.state says. They are read as `item`s, which takes half of the time
    that an index does. Behind it lie the results, the arguments, and the steps of a tag, where these are few: a short
    run asks for memory once."""

    def __init__(
        self, arguments: Sequence[Value], form: Struct, operands: int, results: int, deepest: int, seed: int
    ) -> None:
        self._stack = 0
        self.is_stopped = False
        """Whether somebody said that all is to be left. What comes of a run after that means nothing: loops over
        elements are left before they are done, and what uses these may trap."""
        self._results_at = OPERANDS + SLOT * max(1, operands)
        begin = self._results_at + SLOT * results
        self._steps_at = begin + form.size // 8
        steps = 2 * (deepest + 2)
        self._steps = _memory(steps) if steps > _FEW else None
        memory: Any = np.zeros(self._steps_at + (steps if self._steps is None else 0), np.int64)
        self.state: npt.NDArray[np.int64] = memory
        self.address = address(memory)
        self.results_address, self.arguments_address = self.address + 8 * self._results_at, self.address + 8 * begin
        self.state[5] = self.address + 8 * self._steps_at if self._steps is None else address(self._steps)
        self.state[6] = seed if seed < 2**63 else seed - 2**64  # its bits
        self.borrowed = list[npt.NDArray[Any]]()
        """The arguments that generated code reads: they live as long as this does, also where it does not stop."""
        found = list[Any]()
        for each in arguments:
            if isinstance(each, np.ndarray):  # nobody counts it
                self.borrowed.append(each)
                found += (0, address(each), *each.shape)
            else:
                found.append(each.item() if isinstance(each, np.generic) else each)
        form.pack_into(memory, 8 * begin, *found)

    def rest(self) -> None:
        """The run is over, and all is said of it."""
        steps = self._steps
        if steps is not None and steps.size >= _LARGE and not self.state.item(4) and len(_rested) < _KEPT:
            _rested.append(steps)

    def perform_by(self, function: Any) -> None:
        """What is left to Python is done by a function of its number, which lives as long as the run does."""
        self.state[7] = ctypes.cast(function, ctypes.c_void_p).value or 0

    def answer(self, value: Value, type_: Type) -> None:
        """What was done gave this."""
        if type_.is_scalar:
            memory: Any = self.state
            number = value.item() if isinstance(value, np.generic) else value
            pack_into(_CODES[lane(type_.dtype)], memory, 8 * OPERANDS, number)
        else:
            owned = _owned(np.asarray(value))
            self.state[OPERANDS : OPERANDS + len(owned)] = owned

    def allow_stack(self, size: int, lowest: int = 0) -> None:
        """Allow so many bytes, down to this address."""
        self.state[3] = self._stack = size
        self.state[LOWEST] = lowest

    @property
    def lowest(self) -> int | None:
        """How low the stack may go; None where generated code has not begun."""
        found: int = self.state.item(3)
        return None if found == self._stack else found

    def allow_crew(self, address: int) -> None:
        self.state[8] = address

    def give_back_rows(self) -> None:
        """Give back the arrays in records that a run left behind: one that ended by an exception."""
        row = self.state.item(LAST_ROW)
        while row:
            before, counter = (ctypes.c_int64 * 2).from_address(row)
            if counter:
                _counted()(counter)
            row = before
        self.state[LAST_ROW] = 0

    @property
    def wants_crew(self) -> bool:
        """Whether generated code has met a loop that is worth sharing, and had nobody to share it with."""
        return bool(self.state.item(8) == WANTED)

    def stop(self) -> None:
        """All is to be left."""
        self.is_stopped = True
        self.state[0] = 1

    @property
    def why(self) -> int:
        """Why generated code left all by itself; 0 where it did not."""
        return self.state.item(1)

    @property
    def node(self) -> int:
        return self.state.item(2)

    def path(self) -> list[tuple[int, int]]:
        """The steps of a trap's tag from the root: the number of a site, and an iteration."""
        steps = self.state[self._steps_at :] if self._steps is None else self._steps
        noted = steps[: 2 * int(self.state[4])].reshape(-1, 2)
        return [(int(site), int(iteration)) for site, iteration in noted[::-1]]

    def operand(self, at: int, type_: Type) -> Value:
        """An operand of the trapping node; it can be asked for once."""
        return self._own(taken(self.state, OPERANDS + SLOT * at, type_))

    def lent(self, at: int, type_: Type) -> Value:
        """An operand of what is to be done, which who gets it neither changes nor keeps."""
        return taken(self.state, OPERANDS + SLOT * at, type_)

    def result(self, at: int, type_: Type) -> Value:
        """A result; it can be asked for once."""
        return self._own(taken(self.state, self._results_at + SLOT * at, type_))

    def drop(self, types: Sequence[Type]) -> None:
        """Let go of the results, if there are any."""
        for at, type_ in enumerate(types):
            if not type_.is_scalar and self.state.item(self._results_at + SLOT * at):
                taken(self.state, self._results_at + SLOT * at, type_)

    def _own(self, value: Value) -> Value:
        """A value that is part of no argument: whose that is may change it."""
        base: Any = value.base if isinstance(value, np.ndarray) else None
        return admit(value) if type(base) is _Elements and base.memory is None else value
