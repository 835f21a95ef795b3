"""`fori_loop`, `switch`, `foldr` and `maximum_iterations`: what the same Python would compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from tagloom.interp.oracle.check import check

BRANCHES: list[Callable[[Any], Any]] = [lambda x: x, lambda x: -x, lambda x: x * x, lambda x: x + 10]


@tl.function
def counted(lower: tl.int64, upper: tl.int64, x: tl.int64) -> Any:
    return tl.fori_loop(lower, upper, lambda i, pair: [pair[1] + i, pair[0] * x], [x, x + 1])


def counted_in_python(lower: int, upper: int, x: int) -> list[int]:
    pair = [x, x + 1]
    for i in range(lower, upper):
        pair = [pair[1] + i, pair[0] * x]
    return pair


@settings(deadline=None)
@given(st.integers(-3, 4), st.integers(-3, 6), st.integers(-3, 3))
def test_a_counted_loop(lower: int, upper: int, x: int) -> None:
    """A counted loop is Python's loop over a range; its firings are linear in the number of trips."""
    outcome = counted.run(lower, upper, x, engine="reference")
    assert outcome.value == counted_in_python(lower, upper, x)
    firings = [counted.run(0, n, x, engine="reference").firings for n in (0, 1)]
    trips = max(0, upper - lower)
    assert outcome.firings == firings[0] + trips * (firings[1] - firings[0])


@pytest.mark.parametrize("index", [-2, 0, 1, 2, 3, 4, 99])
def test_a_switch_clamps_its_index(index: int) -> None:
    """A switch takes the branch of its index, the first below 0, the last beyond the end; only that branch fires."""
    expected = BRANCHES[min(max(index, 0), 3)](7)
    assert tl.switch(index, BRANCHES, 7) == expected
    traced = tl.function(lambda i, x: tl.switch(i, BRANCHES, x))
    assert traced(index, 7) == expected
    tracing = traced.trace(index, 7)
    assert all(verdict.difference is None for verdict in check(tracing.graph, tracing.program, [index, 7]))
    failing = tl.function(lambda i, x: tl.switch(i, [lambda x: x, lambda x: x // 0], x))
    assert failing(0, 7) == 7
    with pytest.raises(ZeroDivisionError):
        failing(1, 7)


@pytest.mark.full
@pytest.mark.parametrize(
    ("lower", "upper", "dtype"),
    [(np.int8(4), np.int64(300), "int64"), (np.int16(0), np.uint8(9), "int16"), (np.int32(2), np.int32(9), "int32")],
)
def test_the_dtype_of_a_counter(lower: Any, upper: Any, dtype: str) -> None:
    """The counter has the dtype to which the bounds promote, so a narrow lower bound does not wrap around."""
    counter_dtypes = set()

    def count_trip(i: Any, count: Any) -> Any:
        counter_dtypes.add(str(i.dtype))
        return count + 1

    def count_trips(lower: Any, upper: Any) -> Any:
        return tl.fori_loop(lower, upper, count_trip, 0)

    for count in (count_trips, tl.function(count_trips)):
        assert count(lower, upper) == len(range(int(lower), int(upper)))
    assert counter_dtypes == {dtype}


def add_large(total: Any, x: Any) -> Any:
    if x > 1:
        total = total + x
    return total


def with_output(total: Any, x: Any) -> Any:
    if x > 1:
        return total + x, total
    return total, -total


PLAIN_PYTHON: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: tl.fori_loop(0, 4, add_large, x[0]),
    "switch": lambda x: tl.switch(x[2], [add_large, add_large, add_large], x[1], x[2]),
    "map": lambda x: tl.map(add_large, x, x),
    "scan": lambda x: tl.scan(with_output, 0, x),
    "foldl": lambda x: tl.foldl(add_large, 0, x),
    "foldr": lambda x: tl.foldr(add_large, 0, x),
    "while_loop": lambda x: tl.while_loop(lambda total: total < 20, lambda total: add_large(total, x[3]), x[3]),
    "maximum_iterations": lambda x: tl.while_loop(is_small, double_large, x[2], maximum_iterations=3),
}


def is_small(x: Any) -> Any:
    if x > 9:
        x = x + 1
    return x < 11


def double_large(x: Any) -> Any:
    if x > 2:
        x = x * 2
    return x + 1


@pytest.mark.parametrize("name", PLAIN_PYTHON)
def test_bodies_in_plain_python(name: str) -> None:
    """Functions that loops and choices are given may be written in plain Python, as the function around them."""
    call, x = PLAIN_PYTHON[name], np.array([0, 1, 2, 3])
    np.testing.assert_equal(tl.function(call)(x), call(x))


def test_outputs_without_values() -> None:
    """A scan whose outputs are None, and a map that has effects alone, run in a trace as eagerly."""
    product = tl.function(lambda xs: tl.scan(lambda total, x: (total * x, None), 1.0, xs))
    assert product(np.array([2.0, 3.0])) == (6.0, None)
    assert tl.grad(lambda xs: product(xs)[0])(np.array([2.0, 3.0])).tolist() == [3.0, 2.0]
    total = tl.Variable(1.0)
    for apply in (tl.vmap(total.assign_add), tl.function(lambda xs: tl.map(lambda x: total.assign_add(x), xs))):
        assert apply(np.array([2.0, 3.0])) is None
    assert float(total) == 11.0


def test_a_fold_from_the_right() -> None:
    """foldr takes the elements from the last to the first, eagerly and in a trace."""
    assert tl.foldr(lambda total, x: 10 * total + x, 0, [1, 2, 3]) == 321
    assert tl.function(lambda xs: tl.foldr(lambda total, x: 10 * total + x, 0, xs))(np.array([1, 2, 3])) == 321
    assert tl.grad(lambda xs: tl.foldr(lambda total, x: total * 2.0 + x, 0.0, xs))(np.zeros(3)).tolist() == [1, 2, 4]


@settings(deadline=None)
@given(st.integers(0, 6), st.integers(0, 6))
def test_a_bound_on_iterations(n: int, limit: int) -> None:
    """A loop ends when its condition is false or it has run as often as its bound says, whichever is first."""

    def loop(n: Any, limit: Any) -> Any:
        return tl.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, y * 2.0), 0, 1.0, maximum_iterations=limit)

    trips = min(n, limit)
    assert loop(n, limit) == tl.function(loop)(n, limit) == (trips, 2.0**trips)


def test_one_variable_with_a_bound() -> None:
    """A single variable needs no tuple, and may be a tuple or list itself; a gradient goes through the bounded loop."""
    assert tl.while_loop(lambda x: x < 100, lambda x: x * 2, 1, maximum_iterations=3) == (8,)

    @tl.function
    def pair(x: Any) -> Any:
        return tl.while_loop(lambda p: p[0] < 9, lambda p: [p[1], p[0] * 2], [x, x], maximum_iterations=3)

    assert pair(1) == ([2, 4],)
    power = tl.function(lambda x: tl.while_loop(lambda y: y < 99.0, lambda y: y * x, x, maximum_iterations=2)[0])
    assert tl.grad(power)(2.0) == 12.0


REFUSED = {
    "a float bound": (
        lambda: tl.fori_loop(0, 2.5, lambda i, x: x, 0),
        "the upper bound of fori_loop is not an integer",
    ),
    "a body of one": (lambda: tl.fori_loop(0, 3, lambda x: x, 0), "required: 2 parameters"),
    "a bool index": (lambda: tl.switch(True, BRANCHES, 1), "hint: tl.cond takes a bool"),
    "no branches": (lambda: tl.switch(0, [], 1), "the branches of switch are not functions"),
    "operands": (lambda: tl.switch(0, BRANCHES), "required: 0 parameters"),
    "bounds without a common dtype": (
        lambda: tl.fori_loop(np.uint64(0), np.int64(3), lambda i, x: x, 0),
        "these dtypes do not promote",
    ),
    "the body of a counted loop": (
        lambda: tl.function(lambda n: tl.fori_loop(0, n, lambda i, x: None, 0))(1),
        r"got: None \(test_counted_loops",
    ),
    "branches of two types": (
        lambda: tl.function(lambda i: tl.switch(i, [lambda: 1.0, lambda: True, lambda: True]))(1),
        r"got: bool \(test_counted_loops",
    ),
    "a limit": (lambda: tl.while_loop(lambda x: x < 9, lambda x: x, 1, maximum_iterations=0.5), "is not an integer"),
    "a list of variables": (
        lambda: tl.function(lambda x: tl.while_loop(lambda i, x: i < 3, lambda i, x: [i, x], 0, x))(1.0),
        "a list is one value: return a tuple",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_uses_are_refused(case: str) -> None:
    """Bounds, indices and functions that do not fit are refused at the user's line."""
    call, message = REFUSED[case]
    with pytest.raises(tl.TagloomError, match=message) as refused:
        call()
    assert "test_counted_loops.py" in str(refused.value.where)
