"""Operators, properties and the like of the user's classes are converted: their branches may be symbolic, and what they
change is undone in the branch that is not taken."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source.operators import Operators


class Purse:
    """Money, with a bound."""

    def __init__(self, coins):
        self._coins, self.items, self.log = coins, [], 0

    @property
    def coins(self):
        return self._coins if self._coins < 100 else 100

    @coins.setter
    def coins(self, value):
        if value < 0:
            raise ValueError("no debts")
        self._coins = value
        self.log += 1

    @property
    def size(self):
        return len(self.items)

    def __iadd__(self, other):
        if other > 3:
            self._coins += other
        return self

    def __add__(self, other):
        if isinstance(other, Purse):
            return Purse(self._coins + other._coins)
        return NotImplemented if other == 7 else Purse(self._coins + other)

    def __radd__(self, other):
        return Purse(other * 10 + self._coins)

    def __setitem__(self, key, value):
        self.log = key
        self._coins = value

    def __delitem__(self, key):
        self._coins -= key

    def __getitem__(self, key):
        return self._coins if key > 0 else -self._coins

    def __lt__(self, other):
        return self._coins < other._coins if self._coins > 0 else False

    def __eq__(self, other):
        return self._coins == other._coins

    def __neg__(self):
        return Purse(-self._coins)

    def __invert__(self):
        return 1 if self._coins > 2 else 0

    def __int__(self):
        return self._coins if self._coins > 2 else 2

    def __contains__(self, item):
        for each in range(3):  # noqa: SIM110
            if each == item and item < self._coins:
                return True
        return False

    def __iter__(self):
        return iter([self._coins, self.log])

    def __bool__(self):
        return self._coins > 1


def items_in_an_arm(n, p):
    purse = Purse(1)
    if p:
        purse[4] = n
    else:
        del purse[n]
    return purse.log, purse[n], purse._coins


def augmented_in_an_arm(n, p):
    purse = Purse(1)
    if p:
        purse += n
    return purse._coins


def property_in_an_arm(n, p):
    purse = Purse(1)
    if p:
        purse.coins = n
    return purse.coins, purse.log


def arithmetic(n, p):
    total = Purse(n) + Purse(2) + 1
    other = 5 + total
    third = n + other
    return total._coins, other._coins, third._coins, (-third)._coins, ~other, int(total)


def comparisons(n, p):
    a, b = Purse(n), Purse(2)
    return a < b, a > b, a == b, a != b, 1 if a < b == Purse(2) else 0, n in a, n not in b


def truth(n, p):
    a = Purse(n)
    x, y = a
    return not a, 1 if a else 2, 3 if p and a else 4, bool(a), x, [each * 2 for each in a], y


def grown(n, p):
    purse = Purse(0)
    for k in range(n):
        purse.items.append(k)
    return purse.size, len(purse.items)


def not_implemented(n, p):
    return (Purse(n) + 7)._coins


def local_class(n, p):
    class Local:
        def __mul__(self, other):
            return other * 2 if other > 2 else other

        @property
        def half(self):
            return n // 2 if n > 2 else 0

    return Local() * n + Local().half


class Pair(NamedTuple):
    first: int
    second: int


class Added:
    """Numbers whose sum depends on them."""

    def __init__(self, n):
        self.n = n

    def __add__(self, other):
        return Added(self.n + other.n + (100 if other.n > 2 else 0))

    def __radd__(self, other):
        return self if other == 0 else NotImplemented

    def __eq__(self, other):
        return self.n == other.n if other.n > 1 else False


def in_builtins(n, p):
    one, two = Added(n), Added(5)
    total = sum([one, two, Added(n)])
    return total.n, one in [two, Added(2)], one not in (Added(1),), Pair(n, 2) == Pair(2, 2), Pair(n, 1) != (1, 1)


class Opened:
    def __enter__(self):
        return self

    def __exit__(self, *details):
        self.is_closed = True


def closed(n, p):
    with Opened() as opened:
        if n > 2:
            raise ValueError("large")
    return opened.is_closed


class Doubled:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        instance.reads += 1
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, value * 2 if value > 1 else 0)


class Gauge:
    value = Doubled()

    def __init__(self):
        self.reads = 0

    @functools.cached_property
    def expensive(self):
        self.reads += 10
        return self.reads if self.reads > 10 else 1


def descriptor_in_an_arm(n, p):
    gauge = Gauge()
    gauge.value = 4
    if n > 1:
        gauge.value = 5
        gauge.value += n
    return gauge.value, gauge.reads


def cached_property_in_an_arm(n, p):
    gauge = Gauge()
    if n > 1:
        gauge.expensive  # noqa: B018
    return gauge.reads


class Halved:
    def __setattr__(self, name, value):
        super().__setattr__(name, value // 2 if value > 1 else value)

    def __delattr__(self, name):
        self.__dict__[name] = -1


def attributes_in_an_arm(n, p):
    halved = Halved()
    halved.a, halved.b = n, 1
    if n > 1:
        halved.a = 9
        del halved.b
    return halved.a, halved.b


FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    items_in_an_arm, augmented_in_an_arm, property_in_an_arm, arithmetic, comparisons, truth, grown, not_implemented,
    local_class, in_builtins, closed, descriptor_in_an_arm, cached_property_in_an_arm, attributes_in_an_arm,
]  # fmt: skip
INPUTS = [(n, p) for n in (0, 1, 2, 5) for p in (True, False)]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_methods_of_operators_are_converted(function: Callable[[Any, Any], Any]) -> None:
    """Value and exception are those of Python, with symbolic and mixed arguments."""
    assert list(disagreements(function, INPUTS, RUNS[:1])) == []


def plain(n):
    return -n + n * 2 if n < 3 else n.real


def test_code_without_such_classes_stays_as_it_is() -> None:
    """Arithmetic of a module that knows no class with operators is not changed; that of this module is."""
    assert "ag__.binary('<', n, 3)" in tl.autograph.to_code(plain)
    alone = type(plain)(plain.__code__, {**vars(ast), "tl": tl}, "plain")
    assert "-n + n * 2" in tl.autograph.to_code(alone)


def _native_operators(patch: MonkeyPatch) -> None:
    patch.setattr(Operators, "set_item", lambda self, value, container, key: container.__setitem__(key, value))


@pytest.mark.full
def test_twin() -> None:
    """Broken: `__setitem__` runs as it is, in the branch that is not taken, too."""
    with broken(_native_operators):
        assert list(disagreements(items_in_an_arm, INPUTS, RUNS[:1]))
