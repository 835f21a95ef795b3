"""Caches that keep what was used last: tracings of functions, what is derived of them, images of graphs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values by key, so many at most: the one that was used longest ago is the first to go.

    >>> known = Recent(2)
    >>> known.keep("a", 1), known.keep("b", 2), known.used("a"), known.keep("c", 3)
    (1, 2, 1, 3)
    >>> known.values()
    [1, 3]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[Key, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def values(self) -> list[Value]:
        """All that is kept, what was used last behind."""
        return list(self._kept.values())

    def used(self, key: Key) -> Value | None:
        """The value of a key, if it is kept: from now on the one that was used last."""
        found = self._kept.get(key)
        if found is not None and len(self._kept) > 1:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: Key, value: Value) -> Value:
        """Keep a value, as the one that was used last."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return value

    def made(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key; made, and kept, where it is not."""
        found = self.used(key)
        return self.keep(key, make()) if found is None else found
