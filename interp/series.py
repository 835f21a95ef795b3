"""Numbers of a run, one a wave, that are Python's only when somebody looks at them: there may be millions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt


class Series(Sequence[int]):
    """A tuple of integers that is kept as an array: it equals that tuple, and looks and hashes like it.

    Whoever makes one leaves the array as it is.

    >>> Series(np.array([1, 2, 3])) == (1, 2, 3), Series(np.array([1, 2, 3]))[1:]
    (True, (2, 3))
    """

    __slots__ = ("_numbers",)

    def __init__(self, numbers: npt.NDArray[np.int64]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[int, ...]: ...
    def __getitem__(self, at: int | slice) -> int | tuple[int, ...]:
        return tuple(self._numbers[at].tolist()) if isinstance(at, slice) else int(self._numbers[at])

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Series):
            return np.array_equal(self._numbers, other._numbers)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
