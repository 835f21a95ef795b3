"""The memory that the records of a run lie in: addresses for as much as the run may have, which become memory as they
are used. What a short run has used is kept for the next one, since to get it from the system takes as long again.
"""

from __future__ import annotations

import numpy as np

from ..jit.state import HIGHEST, NO_ROOM, RECORD
from .call_buffer import Words, address

_KEPT = 4
_LARGE = 2**26
"""Memory of which more was used is given back to the system."""
_LEAST = 2**20
_idle: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []


class Lent:
    """While this lasts, the words of a run refer to memory of so many bytes for its records; to less, where the system
    does not give so much. A class, since each run has one: by a generator it takes twice as long, 2 us."""

    __slots__ = ("_begin", "_memory", "_size", "_words")

    def __init__(self, words: Words, size: int) -> None:
        self._words, self._size = words, size

    def __enter__(self) -> None:
        memory = self._memory = _found(self._size)
        begin = self._begin = address(memory)
        state = self._words.state
        state[RECORD], state[NO_ROOM] = begin, begin + min(memory.nbytes, self._size)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        words = self._words
        words.give_back_rows()
        highest = max(words.state.item(HIGHEST), words.state.item(RECORD))  # where the run ended by an exception
        if highest - self._begin <= _LARGE and len(_idle) < _KEPT:
            _idle.append(self._memory)


def _found(size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    try:
        memory = _idle.pop()
    except IndexError:
        return _reserved(size)
    return memory if memory.nbytes >= size else _reserved(size)


def _reserved(size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    while True:
        try:
            return np.empty(max(size, _LEAST) // 8, np.int64)
        except MemoryError:
            size //= 2
            if size < _LEAST:
                raise
