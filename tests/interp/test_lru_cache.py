"""The LRU cache keeps the values that were used last."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tagloom.interp.lru_cache import LRUCache

KEYS = st.lists(st.integers(0, 5), max_size=30)


def violations(cache: type[LRUCache[int, int]], most: int, keys: list[int]) -> list[str]:
    """Differences of the cache from a model, for a sequence of keys whose values are made on demand."""
    known, last, results = cache(most), list[int](), list[str]()
    for key in keys:
        if (known.get(key) is not None) != (key in last):
            results.append(f"{key} is {'gone' if key in last else 'there'}")
        result = iter([key] * (key not in last))
        if known.get_or_create(key, result.__next__) != key or list(result):
            results.append(f"{key} is another value, or was not made")
        last = [*(each for each in last if each != key), key][-most:]
        if known.values() != last or len(known) != len(last):
            results.append(f"{known.values()} are kept, and not {last}")
    return results


@given(st.integers(1, 4), KEYS)
def test_recently_used_values_are_kept(most: int, keys: list[int]) -> None:
    """The cache keeps at most this many values, in the order of their last use."""
    assert violations(LRUCache, most, keys) == []


def test_a_cache_by_age_is_caught() -> None:
    """A twin that ignores use is caught."""

    class CacheByAge(LRUCache[int, int]):
        def get(self, key: int) -> int | None:
            return self._entries.get(key)

    assert violations(CacheByAge, 2, [1, 2, 1, 3])


def test_a_stored_key_becomes_the_last() -> None:
    """A key that is stored again becomes the last, with its new value."""
    known: LRUCache[int, str] = LRUCache(2)
    for each in (1, 2, 1):
        known.put(each, str(len(known)))
    assert known.values() == ["1", "2"]
