"""Lazy sequences: large results of a run, converted to Python objects on access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item", covariant=True)


class TupleLike(Sequence[Item]):
    """A sequence that equals the tuple of its items, with the same repr and hash."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | TupleLike) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class IntegerSeries(TupleLike[int]):
    """Numbers, one per wave, kept as an array that must not change; NumPy gets a read-only view without a copy.

    >>> IntegerSeries(np.array([1, 2, 3])) == (1, 2, 3), IntegerSeries(np.array([1, 2, 3]))[1:]
    (True, (2, 3))
    """

    __slots__ = ("_numbers",)

    def __init__(self, numbers: npt.NDArray[np.integer[Any]]) -> None:
        self._numbers = numbers

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        view = self._numbers.view()
        view.flags.writeable = False
        return np.array(view, dtype, copy=copy)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        return tuple(self._numbers[index].tolist()) if isinstance(index, slice) else int(self._numbers[index])

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers.tolist())

    def __eq__(self, other: object) -> bool:
        return (
            np.array_equal(self._numbers, other._numbers) if isinstance(other, IntegerSeries) else super().__eq__(other)
        )

    __hash__ = TupleLike.__hash__


def trimmed_length(numbers: npt.NDArray[np.integer[Any]]) -> int:
    """The length of a profile without the few zeros at its end: a wave in which nothing fires sends nothing.

    >>> trimmed_length(np.array([3, 0, 1, 0]))
    3
    """
    length = len(numbers)
    while length and not numbers[length - 1]:
        length -= 1
    return length
