"""Arrays of a token store: size, alignment and growth."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ...image.image import CACHE_LINE_WORDS, WordArray

Number = TypeVar("Number", np.int32, np.int64)


def next_power_of_two(size: int) -> int:
    """The smallest power of 2 that is at least `size`."""
    return 1 << max(size - 1, 1).bit_length()


def grow_rows(array: npt.NDArray[Number], factor: int) -> npt.NDArray[Number]:
    """A copy with `factor` times as many rows, the new ones zero."""
    grown = np.zeros((factor * len(array), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def aligned_words(words: int) -> WordArray:
    """A zeroed array of words, aligned to a cache line."""
    room = np.zeros(words + CACHE_LINE_WORDS, np.int64)
    begin = -(room.ctypes.data // 8) % CACHE_LINE_WORDS
    return room[begin : begin + words]
