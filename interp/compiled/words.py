"""The words that a run shares with generated code, as arrays: the state, the steps of a tag, the results."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from struct import pack, unpack
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core import dtypes
from ...core.dtypes import DType
from ...core.types import Type
from ...core.value import Value, admit
from ..jit.kernels import lane
from ..jit.state import LAST_ROW, LOWEST, OPERANDS, SLOT, WANTED

_LANES: dict[str, Any] = {"b": np.int64, "i": np.int64, "u": np.uint64, "f": np.float64}
_CODES = {"b": "q", "i": "q", "u": "Q", "f": "d"}


def word(value: Value, dtype: DType) -> int:
    """A scalar as a word, as in its lane."""
    number = value.item() if isinstance(value, np.generic) else value
    (found,) = unpack("q", pack(_CODES[lane(dtype)], number))
    return int(found)


def address(array: Any) -> int:
    """Where the elements of an array begin. NumPy's C interface has that first in an array, behind what every object
    begins with; `array.ctypes.data` takes ten times as long, 1 us."""
    return ctypes.c_ssize_t.from_address(id(array) + object.__basicsize__).value


_sample = np.zeros(3)
assert address(_sample[1:]) == _sample.ctypes.data + 8
_rested = list[Any]()
"""Memory for the steps of tags that no run uses."""
_KEPT, _LARGE = 4, 2**17


def lent(array: Any) -> tuple[int, ...]:
    """A slot of an array in C order that nobody counts: who lends it holds it."""
    return (0, address(array), *array.shape)


def taken(words: Any, at: int, type_: Type) -> Value:
    """The value in a slot that begins at a word; the slot no longer owns it. An array that nobody counts lies in one
    that was lent."""
    if type_.is_scalar:
        return read(words, at, type_.dtype)
    counter, address, *sizes = words[at : at + 2 + len(type_.shape or ())].tolist()
    memory, dtype = _counted()(counter) if counter else None, type_.dtype.numpy
    if 0 not in sizes:
        return np.asarray(_Elements(memory, address, tuple(sizes), dtype))
    nothing: npt.NDArray[Any] = np.empty(sizes, dtype)
    nothing.setflags(write=False)
    return nothing


class _Elements:
    """What NumPy makes an array of without copying, and keeps with it. Nobody can make one of it that may be written
    to: unlike the memory itself it has no buffer."""

    __slots__ = ("__array_interface__", "memory")

    def __init__(self, memory: Any, address: int, sizes: tuple[int, ...], dtype: Any) -> None:
        self.memory = memory
        self.__array_interface__ = {"version": 3, "shape": sizes, "typestr": dtype.str, "data": (address, True)}


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
    number = words.view(_LANES[lane(dtype)]).item(at)
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


class Words:
    """The state of one run; what its words are, jit.state says. They are read as `item`s, which takes half of the time
    that an index does."""

    def __init__(
        self, operands: int, results: int, deepest: int, seed: int, borrowed: Sequence[npt.NDArray[Any]] = ()
    ) -> None:
        self.borrowed = borrowed
        """The arguments that generated code reads: they live as long as this does, also where it does not stop."""
        self._stack = 0
        self.is_stopped = False
        """Whether somebody said that all is to be left. What comes of a run after that means nothing: loops over
        elements are left before they are done, and what uses these may trap."""
        self.state = np.zeros(OPERANDS + SLOT * max(1, operands), np.int64)
        self.steps = _memory(2 * (deepest + 2))
        self.results = np.zeros(SLOT * max(1, results), np.int64)
        self.state[5] = address(self.steps)
        self.state[6] = seed if seed < 2**63 else seed - 2**64  # its bits
        self.address = address(self.state)

    def rest(self) -> None:
        """The run is over, and all is said of it."""
        if self.steps.size >= _LARGE and not self.state.item(4) and len(_rested) < _KEPT:
            _rested.append(self.steps)

    def perform_by(self, function: Any) -> None:
        """What is left to Python is done by a function of its number, which lives as long as the run does."""
        self.state[7] = ctypes.cast(function, ctypes.c_void_p).value or 0

    def answer(self, value: Value, type_: Type) -> None:
        """What was done gave this."""
        if type_.is_scalar:
            self.state[OPERANDS] = word(value, type_.dtype)
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
        noted = self.steps[: 2 * int(self.state[4])].reshape(-1, 2)
        return [(int(site), int(iteration)) for site, iteration in noted[::-1]]

    def operand(self, at: int, type_: Type) -> Value:
        """An operand of the trapping node; it can be asked for once."""
        return self._own(taken(self.state, OPERANDS + SLOT * at, type_))

    def lent(self, at: int, type_: Type) -> Value:
        """An operand of what is to be done, which who gets it neither changes nor keeps."""
        return taken(self.state, OPERANDS + SLOT * at, type_)

    def result(self, at: int, type_: Type) -> Value:
        """A result; it can be asked for once."""
        return self._own(taken(self.results, SLOT * at, type_))

    def drop(self, types: Sequence[Type]) -> None:
        """Let go of the results, if there are any."""
        for at, type_ in enumerate(types):
            if not type_.is_scalar and self.results[SLOT * at]:
                taken(self.results, SLOT * at, type_)

    def _own(self, value: Value) -> Value:
        """A value that is part of no argument: whose that is may change it."""
        if isinstance(value, np.ndarray) and isinstance(value.base, _Elements) and value.base.memory is None:
            return admit(value)
        return value
