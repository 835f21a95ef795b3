"""The arena for the records of a run: it reserves addresses for as much memory as the run may use; memory is committed
as it is used. What a short run has used is kept for the next one, since to get it from the system takes as long
again."""

from __future__ import annotations

import numpy as np

from ..jit.state import TAPE_END, TAPE_HIGH_WATER, TAPE_NEXT
from .call_buffer import CallBuffer, data_address

_MAX_IDLE = 4
_MAX_IDLE_BYTES = 2**26
"""An arena of which more was used is returned to the system."""
_MIN_BYTES = 2**20
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
        if highest - self._begin <= _MAX_IDLE_BYTES and len(_idle_blocks) < _MAX_IDLE:
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
            return np.empty(max(size, _MIN_BYTES) // 8, np.int64)
        except MemoryError:
            size //= 2
            if size < _MIN_BYTES:
                raise
