"""Collections that are not containers of values: no list is silently stacked into an array."""

from __future__ import annotations

import array
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.frontend.trace import program_builder, pytree


class OwnList(list[Any]):
    """A list of a class of the user."""


class OwnTuple(tuple[Any, ...]):
    """A tuple of a class of the user."""


class Row:
    """A sequence of a class of the user, of which NumPy makes an array."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, position: int) -> Any:
        return self.items[position]


class Kind(Enum):
    """An enum, whose class has items."""

    ONE = object()


ONES = np.ones(2)
REFUSED_EVERYWHERE: dict[str, Callable[[], Any]] = {
    "deque": lambda: deque([ONES, ONES]),
    "deque of numbers": lambda: deque([1, 2]),
    "UserList": lambda: UserList([ONES, ONES]),
    "OwnList": lambda: OwnList([ONES, ONES]),
    "OwnList of numbers": lambda: OwnList([1, 2]),
    "OwnTuple": lambda: OwnTuple((ONES, ONES)),
    "OrderedDict": lambda: OrderedDict(a=ONES),
    "defaultdict": lambda: defaultdict(int, a=1),
    "Counter": lambda: Counter(a=1),
    "UserDict": lambda: UserDict(a=1),
}
REFUSED_AS_RESULTS: dict[str, Callable[[], Any]] = {
    **REFUSED_EVERYWHERE,
    "range": lambda: range(3),
    "set": lambda: {1, 2},
    "frozenset": lambda: frozenset({1, 2}),
    "keys": lambda: {1: 2}.keys(),
    "Row": lambda: Row([ONES, ONES]),
}


def refusals(value: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
    """The places where a value passes into or out of a program, except arguments."""
    return {
        "result": lambda: tl.function(value)(),
        "part of a result": lambda: tl.function(lambda x: {"x": x, "other": [value()]})(1.0),
        "branch": lambda: tl.function(lambda p: tl.cond(p, value, value))(True),
        "branch outside a trace": lambda: tl.cond(True, value, value),
        "loop variable": lambda: tl.function(lambda x: tl.while_loop(lambda v: x > 1, lambda v: v, value()))(0),
        "output of a map": lambda: tl.map(lambda x: value(), ONES),
    }


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", REFUSED_AS_RESULTS)
def test_other_collections_are_no_values(name: str) -> None:
    """Where a value passes into or out of a program, a collection that is neither a container nor an array is refused,
    with a TypeError that names its class."""
    value = REFUSED_AS_RESULTS[name]
    for call in refusals(value).values():
        with pytest.raises(TypeError, match=f"F4: .*this {type(value()).__name__} is neither a value") as caught:
            call()
        assert isinstance(caught.value, tl.Invalid) and "test_collections.py" in str(caught.value)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", REFUSED_EVERYWHERE)
def test_other_collections_are_no_arguments(name: str) -> None:
    """An argument is refused, too, alone and as a part, since as a static object it would keep its first items. A
    parameter that is annotated tl.Static takes it."""
    value = REFUSED_EVERYWHERE[name]()
    for argument in (value, {"a": [value]}):
        for function in (tl.function(lambda x: 1), tl.grad(lambda x: 1.0)):
            with pytest.raises(TypeError, match=r"F4: this .* neither a value") as caught:
                function(argument)
            assert "tl.Static" in str(caught.value)

    def count(items: tl.Static) -> Any:
        return len(items)

    assert tl.function(count)(value) == len(value)


def test_a_member_of_an_enum_is_no_collection() -> None:
    """Methods of an object's class decide, and not those of its metaclass: the class of an enum has items."""
    assert tl.function(lambda: (1, Kind.ONE))() == (1, Kind.ONE)
    assert tl.function(lambda: Kind.ONE)() is Kind.ONE


def test_a_refusal_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check, NumPy stacks the items of a deque: the tests above detect that."""
    monkeypatch.setattr(pytree, "is_other_collection", lambda kind: False)
    assert tl.function(lambda: deque([ONES, ONES]))().shape == (2, 2)


@pytest.mark.parametrize("kind", ["array", "memoryview", "bytearray"])
def test_arrays_of_python_are_values(kind: str) -> None:
    """Python's own arrays are arguments with values, so a change between two calls is seen."""
    numbers = bytearray([1, 2]) if kind == "bytearray" else array.array("d", [1.0, 2.0])
    argument = memoryview(numbers) if kind == "memoryview" else numbers
    total = tl.function(lambda x: tl.sum(x))
    assert total(argument) == 3
    numbers[0] = 7
    assert total(argument) == 9


def test_a_changed_set_is_another_one() -> None:
    """A set is a static object, and is compared with its elements: a change between two calls leads to a new trace."""
    allowed = {1, 2}
    total = tl.function(lambda x, allowed: x + sum(allowed))
    assert (total(1, allowed), total(1, allowed)) == (4, 4)
    allowed.add(9)
    assert total(1, allowed) == 13


def test_lists_of_numbers() -> None:
    """An argument that is a list is a list, and so is what a function, a branch or a map returns as one."""
    out = tl.function(lambda x: x)([1, 2])
    assert type(out) is list and out == [1, 2]
    for result in (
        tl.function(lambda: [1, 2])(),
        tl.function(lambda n: [n, 2])(1),
        tl.function(lambda p: tl.cond(p, lambda: [1, 2], lambda: [3, 4]))(True),
        tl.function(lambda n: [1, 2] if n > 0 else [n, 3])(1),
    ):
        assert type(result) is list and result == [1, 2]
    columns = tl.map(lambda x: [x, 2], [1, 1])
    assert type(columns) is list and [column.tolist() for column in columns] == [[1, 1], [2, 2]]
    x = tl.function(lambda x: tl.cond(x[0] > 0, lambda: [1, 2], lambda: x))(np.array([1, 5]))
    assert type(x) is np.ndarray, "the other branch returns an array"


@tl.function
def empty(n: Any) -> Any:
    return [] if n <= 0 else empty(n - 1)


def emptied(n: Any) -> Any:
    return [] if n > 0 else [n]


def test_empty_lists_are_lists() -> None:
    """A function that returns an empty list gives one, alone, in a branch, by recursion and as a part; its caller in
    the program can use it as a list."""
    always = tl.function(lambda n: [])
    assert always(1) == [] and empty(3) == []
    assert tl.function(emptied)(1) == [] and tl.function(emptied)(-1) == [-1]
    assert tl.function(lambda n: {"none": [], "n": n})(1) == {"none": [], "n": 1}
    assert tl.function(lambda n: len(always(n)) + n)(2) == 2
    assert tl.vmap(lambda x: ([], x))(ONES)[0] == tl.map(lambda x: ([], x), ONES)[0] == []


@tl.function
def collect(n: Any, item: Any) -> Any:
    return [] if n <= 0 else [*collect(n - 1, item), item]


def append_to_empty(n: Any, item: Any) -> Any:
    items = empty(0)
    for _ in range(n):
        items.append(item)
    return items


@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
@pytest.mark.parametrize("item", [True, 2**53 + 1, 0.5])
def test_an_empty_list_has_no_dtype(item: Any, engine: str) -> None:
    """Items that follow an empty list that a function has returned keep their kind: a large integer is exact."""
    for function in (collect, tl.function(append_to_empty)):
        items = function.run(2, item, engine=engine).value
        assert items == [item, item] and {value.dtype.kind for value in items} == {np.asarray(item).dtype.kind}


def test_a_dtype_of_empty_lists_is_needed_that_others_include(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the empty list is an array of float64, as NumPy makes it, large integers are rounded: the test above detects
    that."""
    monkeypatch.setattr(program_builder, "EMPTY_COLUMN", np.zeros(0))
    assert tl.function(collect.source.python_function)(2, 2**53 + 1) == [2**53, 2**53]
