"""Arrays of a token store: how large they are, where they begin, and how they grow."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ...image.image import CACHE_LINE_WORDS, WordArray

Number = TypeVar("Number", np.int32, np.int64)


def next_power_of_two(size: int) -> int:
    """The power of 2 that is so large, or larger."""
    return 1 << max(size - 1, 1).bit_length()


def grow_rows(array: npt.NDArray[Number], factor: int) -> npt.NDArray[Number]:
    """The same with so many times as many rows, those beyond at 0."""
    grown = np.zeros((factor * len(array), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def aligned_words(words: int) -> WordArray:
    """So many words, at 0, that begin where a line of the processor's cache does."""
    room = np.zeros(words + CACHE_LINE_WORDS, np.int64)
    begin = -(room.ctypes.data // 8) % CACHE_LINE_WORDS
    return room[begin : begin + words]
