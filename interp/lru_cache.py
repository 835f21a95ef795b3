"""A least-recently-used cache. It caches tracings, derived functions, and images of graphs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LRUCache(Generic[Key, Value]):
    """A cache of values by key. When it is over capacity, it evicts the least recently used value.

    >>> known = LRUCache(2)
    >>> known.put("a", 1), known.put("b", 2), known.get("a"), known.put("c", 3)
    (1, 2, 1, 3)
    >>> known.values()
    [1, 3]
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._entries: OrderedDict[Key, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> list[Value]:
        """All values, the most recently used last."""
        return list(self._entries.values())

    def get(self, key: Key) -> Value | None:
        """The value of a key, or None; it becomes the most recently used."""
        found = self._entries.get(key)
        if found is not None and len(self._entries) > 1:
            self._entries.move_to_end(key)
        return found

    def put(self, key: Key, value: Value) -> Value:
        """Store a value as the most recently used, and return it."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self.capacity:
            self._entries.popitem(last=False)
        return value

    def get_or_create(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key; if there is none, `make` creates it."""
        found = self.get(key)
        return self.put(key, make()) if found is None else found
