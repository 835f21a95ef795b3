"""Heaps, sorted lists and deques of Python's library, whose items or lengths are known only at run time."""

from __future__ import annotations

import bisect
import functools
import heapq
import itertools
import math
import operator
from collections import Counter, deque
from typing import Any

import pytest
import tagloom as tl
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


def running_results(n):
    xs = [(i * 7) % 5 for i in range(n)]
    sums = list(itertools.accumulate(xs))
    highest = list(itertools.accumulate((x - 2 for x in xs), max))
    total = 0
    for k, x in enumerate(itertools.accumulate(range(n), operator.mul, initial=3)):
        if x > 20:
            break
        total += k * x
    return sums, highest, total


def neighbours(n):
    rises = [b - a for a, b in itertools.pairwise([i * i % 7 for i in range(n)])]
    from_generator = [a * b for a, b in itertools.pairwise(i for i in range(n))]
    return rises, from_generator, [a + b for a, b in itertools.zip_longest(range(n), range(3), fillvalue=-1)]


def groups(n):
    squares = [k * k % 3 for k in range(n)]
    runs = [(k, len(list(group))) for k, group in itertools.groupby(squares)]
    sums = {k: sum(group) for k, group in itertools.groupby(range(n), key=lambda k: k // 2)}
    late = [list(group) for group in [group for _, group in itertools.groupby([n, n, 7])]]
    return runs, sums, [max(group) for _, group in itertools.groupby([n, n, 7])], late


def sorted_lists(n):
    rows = [[k * k % 3] * (k * 5 % 4) for k in range(n)]
    floats = sorted([0.5 * k] * (k % 3) for k in range(n))
    rows.sort(reverse=True)
    return rows, sorted(rows), floats, sorted(range(n), key=lambda k: [k * k % 3] * (k % 3))


def extremes_by_key(n):
    return min(range(n + 1), key=lambda k: (k - 3) ** 2), max(range(n), key=lambda k: k % 4, default=-1)


def chains(n):
    first = [x * n for x in itertools.chain(range(n), range(2), [n])]
    return first, sum(itertools.chain.from_iterable([[n, 1], range(n)])), math.prod(range(1, n + 1), start=2)


def selections(n):
    pairs = [a * b for a, b in itertools.combinations(range(n), 2)]
    triples = sum(1 for a, b, c in itertools.combinations(range(n), 3) if a + b == c)
    dice = sum(1 for a, b, c in itertools.product(range(1, n + 1), repeat=3) if a + b + c == 7)
    return pairs, triples, dice, list(itertools.permutations(range(n), 2))


def parts_of_iterables(n):
    start = list(itertools.islice(itertools.count(n, 2), n))
    middle = list(itertools.islice(range(10), 1, n + 2, 2))
    low = list(itertools.takewhile(lambda x: x * x < n, range(10)))
    high = sum(itertools.dropwhile(lambda x: x < n, range(7)))
    others = list(itertools.filterfalse(lambda x: x > n, [1, n + 1, 3]))
    chosen = list(itertools.compress([1, 2, n], [n > 1, True, n]))
    return start, middle, low, high, others, chosen, list(itertools.starmap(pow, [(n, 2), (2, n)]))


def items_that_are_taken(n):
    def numbers():
        for i in range(n + 2):
            print("item", i)
            yield i

    for a, b in itertools.pairwise(numbers()):
        print("pair", a, b)
    for total in itertools.accumulate(itertools.islice(numbers(), n)):
        print("total", total)
    return n


def operators_by_name(n):
    xs = [n, 2, 3]
    operator.setitem(xs, n % 3, 7)
    operator.iadd(xs, [n])
    apply = {"+": operator.add, "//": operator.floordiv}
    values = [apply[name](n, 2) for name in ("+", "//")]
    best = max([(n, 1), (2, n)], key=operator.itemgetter(1))
    flags = operator.not_(n), operator.truth(n), operator.contains(xs, 2), operator.index(n) + 1
    return xs, values, best, flags, operator.ipow(n, 2), functools.reduce(operator.xor, range(n), 5)


def sorted_by_comparison(n):
    xs = [3, 30, n, 34, 5]
    return sorted(xs, key=functools.cmp_to_key(lambda a, b: b % 10 - a % 10 or a - b))


def counted_items(n):
    counts = Counter(i * i % 3 for i in range(n + 1))
    counts.update([n % 3, 1])
    return counts[0], counts.most_common(2), Counter([n, 1, n]).most_common()


def greatest_pairs(n):
    pairs = [(i * 7 % 5, i) for i in range(n + 1)]
    return min(pairs), max(pairs), max(pairs, key=lambda pair: -pair[0])


def ordered_names(n):
    pairs = [(3, "c"), (1, "a"), (n, "b")]
    pairs.sort(key=lambda pair: (-pair[0], pair[1]))
    return [name for _, name in pairs]


FUNCTIONS = (
    groups,
    extremes_by_key,
    sorted_lists,
    ordered_names,
    counted_items,
    greatest_pairs,
    running_results,
    chains,
    neighbours,
    selections,
    parts_of_iterables,
    items_that_are_taken,
    operators_by_name,
    sorted_by_comparison,
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


def accumulate_without_first(items, function):
    total = 0
    for item in items:
        total = function(total, item)
        yield total


@pytest.mark.full
def test_an_accumulation_from_zero_is_caught() -> None:
    """`accumulate` begins with the first item: a product from 0 shows."""

    def products(n):
        return list(itertools.accumulate([n, 2, n], operator.mul))

    with broken(lambda patch: patch.setattr(library, "accumulate_items", accumulate_without_first)):
        assert list(disagreements(products, [(5,)], RUNS[:1], [[True]]))


def test_cycle_has_no_list() -> None:
    """The hint for a cycle, which has no end, is no list of its items."""
    with pytest.raises(tl.Invalid, match="a cycle is iterated over") as caught:
        tl.function(lambda n: [x for _, x in zip(range(n), itertools.cycle([n, 2]), strict=False)])(3)
    assert caught.value.hint == "use x[i % len(x)]"


@pytest.mark.full
def test_a_group_that_is_lost_is_caught() -> None:
    """The last group ends with the items."""

    def without_last(items, key):
        group, previous = [], False
        for item in items:
            if group and item != previous:
                yield previous, group
                group = []
            group.append(item)
            previous = item

    with broken(lambda patch: patch.setattr(library, "group_items", without_last)):
        assert list(disagreements(groups, [(5,)], RUNS[:1], [[True]]))


@pytest.mark.full
def test_columns_in_the_wrong_order_are_caught() -> None:
    """The first items of lists decide before the last ones."""

    def last_first(count, order, sort):
        for k in range(count):
            order = sort(k, order)
        return order

    def pairs(n):
        return sorted([k * 3 % 4, n - k][: 1 + k % 2] for k in range(n))

    with broken(lambda patch: patch.setattr(library, "order_by_columns", last_first)):
        assert list(disagreements(pairs, [(5,)], RUNS[:1], [[True]]))
