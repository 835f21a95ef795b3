"""Iterators give each item once, and targets unpack lists of symbolic length: as in Python, or refused in words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from itertools import islice
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import calls, items, open_lists, operators

Function = Callable[..., Any]
INPUTS = [(3, 2), (9, 0), (0, 1)]


def first_above(items, bound):
    for item in items:
        if item > bound:
            return item
    return -1


def left_early(n, m):
    numbers = iter([n, m, 5, 6])
    for x in numbers:
        if x > 4:
            break
    return x, sum(numbers)


def left_by_any(n, m):
    numbers = (x * n for x in (1, m, 3))
    return any(x > 4 for x in numbers), list(numbers)


def left_inside(n, m):
    numbers = iter([n, m, 4])
    for k, x in enumerate(numbers):  # noqa: B007
        if x == m:
            break
    return k, list(numbers)


def left_by_a_callee(n, m):
    numbers = iter([n, m, 5])
    return first_above(numbers, 2), first_above(numbers, 2)


def twice(n, m):
    numbers = (x * m for x in range(n))
    return sum(numbers), sum(numbers)


def pairs_twice(n, m):
    pairs = zip(range(n), range(n + m), strict=False)
    return [a + b for a, b in pairs], list(pairs)


def in_an_arm(n, m):
    numbers = (x * m for x in [1, 2, 3])
    total = sum(numbers) if n > 1 else 0
    return total, sum(numbers)


def in_a_trip(n, m):
    numbers, total = (x * m for x in [1, 2, 3]), 0
    while n > 0:
        total += sum(numbers)
        n -= 1
    return total


def prints_later(n, m):
    def source():
        with nullcontext():
            for x in (n, m, 4):
                print("give", x)
                yield x

    return first_above(source(), 2)


def writes_later(n, m):
    seen = []

    def source():
        with nullcontext():
            for x in (n, m, 4):
                seen.append(x)
                yield x

    return first_above(source(), 2), seen


def divides_later(n, m):
    def source():
        with nullcontext():
            yield n
            yield 8 // m

    return first_above(source(), 2)


def fails_later(n, m):
    def source():
        with nullcontext():
            yield n
            yield {5: 6}[2]

    return first_above(source(), 2)


REFUSED: dict[Function, str] = {
    left_early: "used after a loop over it that a symbolic condition ends early",
    left_by_any: "used after a loop over it that a symbolic condition ends early",
    left_inside: "used after a loop over it that a symbolic condition ends early",
    left_by_a_callee: "used after a loop over it that a symbolic condition ends early",
    twice: "is iterated a second time",
    pairs_twice: "is iterated a second time",
    in_an_arm: "is advanced in code that runs under a symbolic condition",
    in_a_trip: "is advanced in code that runs under a symbolic condition",
    prints_later: "a generator prints, asserts or changes something",
    writes_later: "a generator prints, asserts or changes something",
    divides_later: "may raise ZeroDivisionError after a symbolic condition",
    fails_later: "may raise KeyError after a symbolic condition",
}


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_lost_items_are_refused(function: Function) -> None:
    """An iterator is not used where its position is symbolic, and no item is given twice."""
    with pytest.raises(tl.Invalid, match=REFUSED[function]) as caught:
        tl.function(function)(3, 2)
    assert caught.value.rule == "F4" and caught.value.hint


def prints_later_handed_over(n, m):
    def source():
        for x in (n, m, 4):
            print("give", x)
            yield x

    return first_above(source(), 2)


def writes_later_handed_over(n, m):
    seen = []

    def source():
        for x in (n, m, 4):
            seen.append(x)
            yield x

    return first_above(source(), 2), seen


def divides_later_handed_over(n, m):
    def source():
        yield n
        yield 8 // m

    return first_above(source(), 2)


def fails_later_handed_over(n, m):
    def source():
        yield n
        yield {5: 6}[2]

    return first_above(source(), 2)


def new_iterators(n, m):
    def multiples(k):
        a, b = 0, 1
        while a < k:
            yield a * n
            a, b = b, a + b

    total = sum(multiples(9)) + max(x * m for x in (n, 4)) if n > m else sum(iter([n, m]))
    return first_above(multiples(20), m), first_above(map(abs, (n, -9)), 2), first_above(multiples(6), 1), total


def many_trips(n, m):
    total = 0
    for k in range(20):
        total += k * m - n
        if total > 30:
            break
    return total


def unpacked(n, m):
    pairs = [[k, k * m] for k in range(n)]
    total = 0
    for a, b in pairs:
        total += a * b
    (first, second), third = [m] * (n - n + 2), pairs
    fourth = fifth, *rest = [n] * (m + 1)
    return total, first, second, len(third), fourth, fifth, rest


def of_two(n, m):
    a, b = [m] * n
    return a, b


def of_one(n, m):
    [a] = range(n, n + m)
    return a


def by_bools(n, m):
    items, rest = [10, 20, n], list(range(m + 2))
    items[n > 2] += 1
    rest[n > 2] = 7
    last = items.pop(n > 20)
    return items, last, rest, ("no", "yes")[n > 1], {True: 1, False: 0}[m > 1], {1.5: 2, 3: 4}.get(n, 0), "ab"[n > m]


def remove_known(n, m):
    items = [m, 5, n]
    others = [5, n, 1]
    items.remove(5)
    others.remove(5)
    return items, others


def among_pairs(n, m):
    y = float("nan") if n > m else 1.0
    return (n, m) in [(0, 1), (3, 2)], (n, 0) in {(9, 0): "x", (0, 0): "y"}, [m] not in [[2], [n]], (y,) == (y,)


RIGHT: list[Function] = [among_pairs, new_iterators, many_trips, unpacked, of_two, of_one, by_bools, remove_known]
RIGHT += [prints_later_handed_over, writes_later_handed_over, divides_later_handed_over, fails_later_handed_over]


@pytest.mark.full
@pytest.mark.parametrize("function", RIGHT, ids=lambda function: function.__name__)
def test_agrees_with_python(function: Function) -> None:
    """Values, printed lines and exceptions are those of Python; a list of another length is a ValueError."""
    assert list(disagreements(function, [*INPUTS, (2, 1)], RUNS[:1], [[True, True]])) == []


def test_a_symbolic_bound_of_islice() -> None:
    """A negative bound is a ValueError when the program runs; Python's own islice would say that it is no integer."""

    def first_items(n):
        try:
            return list(islice([1, 2, 3], n))
        except ValueError:
            return [n]

    assert list(disagreements(first_items, [(2,), (0,), (-1,)], RUNS[:1])) == []
    assert list(disagreements(lambda n: list(islice([n, n + 1, 3, 4], 1, 3)), [(5,)], RUNS[:1])) == []


def _iterators_are_forgotten(patch: MonkeyPatch) -> None:
    for module in (calls, operators):
        patch.setattr(module, "note_advanced", lambda iterable: None)


def _bools_stay(patch: MonkeyPatch) -> None:
    patch.setattr(open_lists, "as_position", lambda index: index)


def _nothing_is_deleted(patch: MonkeyPatch) -> None:
    patch.setattr(items, "delete_open_item", lambda items, index: (items[0], items))


@pytest.mark.full
@pytest.mark.parametrize(
    ("patch", "function"),
    [(_iterators_are_forgotten, left_early), (_bools_stay, by_bools), (_nothing_is_deleted, remove_known)],
    ids=["iterators", "bools", "deletions"],
)
def test_twins(patch: Callable[[MonkeyPatch], None], function: Function) -> None:
    """Broken: an iterator's position is forgotten, a bool is no position, or nothing is removed."""
    with broken(patch):
        try:
            assert list(disagreements(function, INPUTS, RUNS[:1], [[True, True]]))
        except tl.Invalid as error:
            assert error.rule == "V4" or "ambiguous" in str(error)
