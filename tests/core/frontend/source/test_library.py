"""Heaps, sorted lists and deques of Python's library, whose items or lengths are known only at run time."""

from __future__ import annotations

import bisect
import heapq
import itertools
from collections import deque
from typing import Any

import pytest
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import library


def heap_sort(xs):
    heap = list(xs)
    heapq.heapify(heap)
    return [heapq.heappop(heap) for _ in range(len(heap))]


def pushed_and_popped(n):
    heap = []
    for i in range(n):
        heapq.heappush(heap, (i * 7) % 5)
    out = []
    while heap:
        out.append(heapq.heappop(heap))
        if len(out) == 2:
            heapq.heappush(heap, 9)
    return out


def replaced_items(n):
    heap = [5, 1, n]
    heapq.heapify(heap)
    a = heapq.heappushpop(heap, 3)
    b = heapq.heapreplace(heap, n)
    return heap, a, b


def heap_of_pairs(n):
    heap = [(n, 1), (3, 2), (2, n)]
    heapq.heapify(heap)
    k, v = heapq.heappop(heap)
    return k, v


def places_in_a_list(n):
    xs = [1, 3, 3, 7]
    i = bisect.bisect_left(xs, n)
    j = bisect.bisect(xs, n)
    bisect.insort(xs, n)
    return i, j, xs


def inserted_items(n):
    xs = []
    for i in range(n):
        bisect.insort(xs, (i * 5) % 4)
    return xs


def empty_heap(n):
    heap = []
    return heapq.heappop(heap) + n


def last_in_the_circle(n):
    d = deque(range(n))
    while len(d) > 1:
        d.rotate(-2)
        d.popleft()
    return d[0] if d else -1


def product_of_ranges(n):
    return [(x, y) for x, y in itertools.product(range(n), range(3)) if x <= y]


def shortest_paths(n):
    dist = {0: 0}
    heap = [(0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        for v, w in ((u + 1, 2), (u + 2, 3)):
            if v <= n and (v not in dist or d + w < dist[v]):
                dist[v] = d + w
                heapq.heappush(heap, (d + w, v))
    return dist


def conditional_push(n):
    heap = [3, 1, 2]
    heapq.heapify(heap)
    if n > 2:
        heapq.heappush(heap, 0)
    return heapq.heappop(heap), len(heap)


FUNCTIONS = (
    heap_sort,
    pushed_and_popped,
    replaced_items,
    heap_of_pairs,
    places_in_a_list,
    inserted_items,
    empty_heap,
    last_in_the_circle,
    product_of_ranges,
    shortest_paths,
    conditional_push,
)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_library_functions(function: Any) -> None:
    """Heaps have Python's order, and the results are Python's."""
    lists = [([5, 2, 8, 1, 9],), ([1],), ([3, 3, 2],)]
    inputs = lists if function is heap_sort else [(0,), (3,), (5,)]
    assert list(disagreements(function, inputs, RUNS[:1])) == []


def move_nothing(heap, start, position):
    return None


@pytest.mark.full
def test_a_heap_out_of_order_is_caught() -> None:
    """An item that stays at a leaf shows."""

    def twin(patch: MonkeyPatch) -> None:
        patch.setattr(library, "move_up", move_nothing)

    with broken(twin):
        assert list(disagreements(pushed_and_popped, [(5,)], RUNS[:1], [[True]]))
