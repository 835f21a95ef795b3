"""A least-recently-used cache. It caches specializations, derived functions, and images of graphs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LRUCache(Generic[Key, Value]):
    """A cache of values by key. When it is over capacity, it evicts the least recently used value.

    >>> cache = LRUCache(2)
    >>> cache.put("a", 1), cache.put("b", 2), cache.get("a"), cache.put("c", 3)
    (1, 2, 1, 3)
    >>> cache.values()
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
        value = self._entries.get(key)
        if value is not None and len(self._entries) > 1:
            self._entries.move_to_end(key)
        return value

    def put(self, key: Key, value: Value) -> Value:
        """Store a value as the most recently used, and return it."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self.capacity:
            self._entries.popitem(last=False)
        return value

    def get_or_create(self, key: Key, create: Callable[[], Value]) -> Value:
        """The value of a key; if there is none, `create` does."""
        value = self.get(key)
        return self.put(key, create()) if value is None else value
