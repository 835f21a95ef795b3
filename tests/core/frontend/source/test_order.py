"""Comparisons by order of tuples, lists and instances of classes, and what sorts by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source.operators import Operators


class Weight:
    def __init__(self, grams):
        self.grams = grams

    def __lt__(self, other):
        return self.grams < other.grams if other.grams > 1 else self.grams < 100


def tuples(a, b):
    nested = (1, (a, 2)) < (1, (2, b)), (1, 2) < (a, b) < (3, 0)
    return (a, 1) < (2, b), (a, 1) <= (1, 1), (1, a) > (1, b), (a,) >= (), (a, b) >= (a, b, 0), nested


def lists(a, b):
    xs, ys = [a, 2], [1, b]
    if xs > ys:
        xs[0] = 9
    return xs, xs <= ys, [xs, 1] < [ys, 1]


def best_so_far(a, b):
    best = (0, 0)
    for k in (1, 2, 3):
        candidate = (a * k % 4, b)
        if candidate > best:
            best = candidate
    return best


def extremes(a, b):
    pairs = [(a, 1), (b, 2), (2, 3)]
    return max(pairs, key=lambda pair: (pair[0], -pair[1])), min(pairs), max((a, b), (b, a)), min([a, 5], [b, 1])


def sorted_tuples(a, b):
    pairs, numbers = [(a, 1), (b, 2), (2, 3)], [5, a, 1]
    numbers.sort(key=lambda number: (number % 2, -number))
    return sorted(pairs), sorted(pairs, reverse=True), sorted(pairs, key=lambda pair: (-pair[0],)), numbers


def objects_of_known_weight(a, b):
    weights = [Weight(3), Weight(2), Weight(5)]
    return min(weights).grams + a, max(weights).grams, [each.grams + b for each in sorted(weights)]


def lightest(a, b):
    return min([Weight(a), Weight(b)]).grams


def grown(a, b):
    xs = []
    for k in range(a):
        xs.append(k)
    return xs < [b]


FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    grown, tuples, lists, best_so_far, extremes, sorted_tuples, objects_of_known_weight, lightest,
]  # fmt: skip
INPUTS = [(a, b) for a in (0, 1, 3) for b in (1, 2, 3)]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_order_is_that_of_python(function: Callable[[Any, Any], Any]) -> None:
    """The value is that of Python, with symbolic and mixed arguments."""
    assert list(disagreements(function, INPUTS, RUNS[:1])) == []


def _last_items_decide(patch: MonkeyPatch) -> None:
    order = Operators._order

    def reverse(self: Any, symbol: str, one: Any, other: Any) -> Any:
        are_tuples = isinstance(one, tuple) and isinstance(other, tuple)
        return order(self, symbol, one[::-1], other[::-1]) if are_tuples else order(self, symbol, one, other)

    patch.setattr(Operators, "_order", reverse)


@pytest.mark.full
def test_twin() -> None:
    """Broken: tuples are compared from their ends."""
    with broken(_last_items_decide):
        assert list(disagreements(tuples, INPUTS, RUNS[:1]))
