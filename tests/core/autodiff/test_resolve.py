"""Gradients of programs: values and numbers of firings are right under every schedule, without residue."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.machine_laws import SCHEDULES, cleanliness, firings, results
from support.programs.gradient_functions import fac, power
from tagloom.interp.function.function import Function

FEW = ("fifo", "lifo", "random:1", "random:2")


def run(function: Function, *arguments: Any, k: int | None = None) -> Any:
    """The value and the number of firings, which are the same under every schedule, without residue."""
    ideal = function.run(*arguments, engine="reference", keep="events", k=k)
    assert list(cleanliness(ideal)) == []
    for schedule in FEW:
        other = function.run(*arguments, engine="reference", schedule=schedule, keep="events", k=k)
        assert list(cleanliness(other)) == []
        assert (results(other), firings(other)) == (results(ideal), firings(ideal)), schedule
    return ideal.value, ideal.firings


def test_factorial() -> None:
    """d fac(5.0) = 154 (thesis of Kostopoulou), with one activation forwards and backwards."""
    assert run(tl.grad(fac), 5.0) == (154.0, 85)
    assert 4.0 - 0.01 * tl.grad(lambda v: fac(v + 1.0))(4.0) == pytest.approx(2.46)


@pytest.mark.full
def test_derivatives_of_any_order() -> None:
    """The successive derivatives of x**3 are right."""
    actual, derivative = [], tl.function(lambda x: power(x, 3))
    for _ in range(4):
        derivative = tl.grad(derivative)
        actual.append(run(derivative, 2.0)[0])
    assert actual == [12.0, 12.0, 6.0, 0.0]


def test_a_pullback_in_a_branch() -> None:
    """A pullback that is called in another region than its call is computed there."""

    @tl.function
    def sometimes(x: tl.float64) -> tl.float64:
        value, pullback = tl.vjp(lambda y: y * y, x)
        return tl.cond(x > 0.0, lambda: pullback(1.0)[0], lambda: value)

    assert run(sometimes, 3.0)[0] == 6.0
    assert run(sometimes, -3.0)[0] == 9.0


def test_mutual_recursion() -> None:
    """The gradient of even(n) = n * odd(n-1) and odd(n) = n + even(n-1) is right."""

    @tl.function
    def even(n: tl.float64) -> tl.float64:
        return tl.cond(n <= 0.0, lambda: 1.0, lambda: n * odd(n - 1.0))

    @tl.function
    def odd(n: tl.float64) -> tl.float64:
        return tl.cond(n <= 0.0, lambda: 2.0, lambda: n + even(n - 1.0))

    # even(4) = 4 * (3 + 2 * (1 + even(0)))
    assert run(even, 4.0)[0] == 4 * (3 + 2 * (1 + 1))
    x = 4.0
    expected = (x - 1 + (x - 2) * (x - 3 + 1)) + x * (1 + (x - 3 + 1) + (x - 2))
    assert run(tl.grad(even), 4.0)[0] == expected


def test_unused_arguments_and_results_have_zeros() -> None:
    """Arguments and results without influence have zeros of their shapes as adjoints."""
    function = tl.function(lambda x, y, n: (x * 2.0, n))
    value, pullback = tl.vjp(function, 2.0, np.ones((2, 3)), 7)
    dx, dy, dn = pullback((1.0, 0))
    assert (value, dx, dn) == ((4.0, 7), 2.0, None)
    assert dy.shape == (2, 3) and not dy.any()


def test_arrays_that_broadcast() -> None:
    """Adjoints have the shapes of their values."""

    @tl.function
    def loss(w: tl.Array[tl.float64, 3, 1], x: tl.Array[tl.float64, None], b: tl.float64) -> tl.float64:
        return tl.sum(tl.tanh(w * x + b))

    w, x = np.array([[0.1], [0.2], [0.3]]), np.array([1.0, -2.0])
    dw, dx, db = tl.grad(loss, (0, 1, 2))(w, x, 0.5)
    slope = 1 - np.tanh(w * x + 0.5) ** 2
    np.testing.assert_allclose(dw, (slope * x).sum(1, keepdims=True))
    np.testing.assert_allclose(dx, (slope * w).sum(0))
    assert db == pytest.approx(slope.sum())


def test_adjoints_have_the_sizes_of_the_caller() -> None:
    """The adjoint of a parameter of any size has the size that is known in the loop or branch of the caller."""

    @tl.function
    def cubes(w: tl.Array[tl.float64, None, 2]) -> tl.float64:
        return tl.sum(w * w * w)

    def looped(w: Any) -> Any:
        return cubes(tl.while_loop(lambda k, _: k < 1, lambda k, w: (k + 1, w * 0.5), 0, w)[1])

    def branched(w: Any) -> Any:
        return cubes(tl.cond(tl.sum(w) > 0.0, lambda: w * 0.5, lambda: w))

    w = np.linspace(1.0, 2.0, 6).reshape(3, 2)
    for function in (looped, branched):
        np.testing.assert_allclose(tl.grad(function)(w), 3 * 0.5**3 * w**2)


def test_nested_arguments() -> None:
    """A gradient has the structure of its argument."""
    loss = tl.function(lambda p: tl.sum(p["w"] * p["w"]) * p["b"][0])
    gradient = tl.grad(loss)({"w": np.array([1.0, 2.0]), "b": (3.0,)})
    np.testing.assert_allclose(gradient["w"], [6.0, 12.0])
    assert gradient["b"] == (5.0,)


@pytest.mark.full
def test_deep_recursion() -> None:
    """Memory bounds the depth of differentiated recursion, and not Python's stack."""
    deep = tl.function(lambda x: fac(x) * 0.0 + x)
    assert tl.grad(deep).run(3000.0, engine="reference").status == "Returned"


def test_functions_without_gradient_are_refused() -> None:
    """The error has a rule, a line and a hint."""
    with pytest.raises(tl.Invalid, match="is not of floats, and has no gradient"):
        tl.grad(power, 1)(2.0, 3)
    with pytest.raises(tl.Invalid, match="does not return one float"):
        tl.grad(lambda x: (x, x))(1.0)
    with pytest.raises(tl.Usage, match="argnums of grad names no argument"):
        tl.grad(power, 2)
    with pytest.raises(tl.Usage, match="argnums of grad must be integers"):
        tl.grad(power, 0.5)  # type: ignore[arg-type]
    assert tl.grad(power, np.int64(0))(2.0, 2) == 4.0  # type: ignore[arg-type]
    with pytest.raises(tl.Usage, match="primals of jvp must be a tuple"):
        tl.jvp(power, 1.0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(tl.Invalid, match="a tangent does not have the structure of its value"):
        tl.jvp(lambda x: x, (1.0,), ((1.0, 2.0),))
    with pytest.raises(tl.Invalid, match="an adjoint does not have the structure of its value"):
        tl.vjp(lambda x: (x, x), 1.0)[1](1.0)

    @tl.function
    def endless(x: tl.float64) -> tl.float64:
        return tl.cond(x < 1.0, lambda: x, lambda: tl.vjp(endless, x / 2.0)[1](1.0)[0])

    with pytest.raises(tl.Invalid, match="so the order of derivatives is unbounded") as raised:
        endless(4.0)
    assert raised.value.rule == "D2"


@pytest.mark.parametrize("engine", ["fast", "auto"])
def test_engines_agree(engine: str) -> None:
    """Engines with tokens have the same numbers of firings."""
    again = tl.grad(tl.grad(power))
    for function, arguments in ((tl.grad(fac), (5.0,)), (tl.grad(power), (2.0, 5)), (again, (2.0, 5))):
        meant = function.run(*arguments, engine="reference")
        actual = function.run(*arguments, engine=engine)
        assert (actual.results, actual.firings) == (meant.results, meant.firings)
        assert actual.residue == ()


@pytest.mark.full
def test_many_schedules_agree() -> None:
    """More than 20 schedules give the same results and the same firings."""
    assert len(SCHEDULES) > 20
    derivative = tl.grad(power)
    ideal = derivative.run(1.1, 4, engine="reference", keep="events")
    for schedule in SCHEDULES:
        other = derivative.run(1.1, 4, engine="reference", schedule=schedule, keep="events")
        assert (results(other), firings(other)) == (results(ideal), firings(ideal)), schedule


@pytest.mark.full
def test_cells() -> None:
    """The adjoint of a get goes to the value that was put; those of several gets of a cell are added."""

    @tl.function
    def through(x: tl.float64) -> tl.float64:
        held = tl.put(tl.cells(3, tl.float64), 0, x * x)
        held = tl.put(held, 1, tl.get(held, 0) * x)
        held = tl.put(held, 2, tl.get(held, 1) * tl.get(held, 0))
        return tl.get(held, 2) + tl.get(held, 0)

    first = tl.grad(through)
    assert run(first, 2.0)[0] == 5 * 2**4 + 2 * 2
    assert run(tl.grad(first), 2.0)[0] == 20 * 2**3 + 2
    unread = tl.function(
        lambda x: tl.cond(tl.get(tl.put(tl.cells(2, tl.float64), 0, x), 0) > 0.0, lambda: x, lambda: x)
    )
    assert run(tl.grad(unread), 2.0)[0] == 1.0


def put_aside(x: Any) -> Any:
    held = tl.cells(2, tl.float64)
    tl.put(held, 0, x * x)
    return tl.get(held, 0)


def put_twice(x: Any) -> Any:
    held = tl.cells(2, tl.float64)
    one, other = tl.put(held, 0, x), tl.put(held, 1, x * x)
    return tl.get(one, 0) + tl.get(other, 1)


def read_behind(x: Any) -> Any:
    held = tl.cells(2, tl.float64)
    return tl.get(tl.put(held, 0, x), 0) + tl.get(held, 0)


def put_in_a_loop(x: Any) -> Any:
    held = tl.put(tl.cells(3, tl.float64), 0, x)

    def body(k: Any, total: Any) -> Any:
        tl.put(held, k, tl.get(held, k - 1) * x)
        return k + 1, total + tl.get(held, k)

    return tl.while_loop(lambda k, _: k < 3, body, 1, 0.0)[1]


@pytest.mark.parametrize("function", [put_aside, put_twice, read_behind, put_in_a_loop])
def test_d4_cells_beside_their_thread_are_refused(function: Any) -> None:
    """D4: gradients of cells that are not used in one thread would be wrong, and are refused. The programs run."""
    assert isinstance(tl.function(function)(1.5), float)
    with pytest.raises(tl.Invalid, match="only the handle that it returned") as raised:
        tl.grad(function)(1.5)
    assert raised.value.rule == "D4"


def test_d5_effects_are_not_computed_again() -> None:
    """D5: a second pullback would draw other random numbers, or print again, and is refused."""
    one, other = tl.Generator(3), tl.Generator(3)
    assert tl.function(lambda x: x * one.uniform())(2.0) == tl.value_and_grad(lambda x: x * other.uniform())(2.0)[0]
    drawn = tl.function(lambda x: x * tl.uniform())
    value, slope = tl.value_and_grad(drawn)(2.0)
    assert value == 2.0 * slope
    once = tl.function(lambda x: tl.vjp(drawn, x)[1](1.0)[0])
    assert 0.0 <= once(2.0) < 1.0

    @tl.function
    def twice(x: tl.float64) -> tl.float64:
        _, pullback = tl.vjp(drawn, x)
        return pullback(1.0)[0] + pullback(2.0)[0]

    for asks in (lambda: twice(2.0), lambda: tl.vjp(drawn, 2.0), lambda: tl.jvp(drawn, (2.0,), (1.0,))):
        with pytest.raises(tl.Invalid, match=r"recomputes|runs it again") as raised:
            asks()
        assert raised.value.rule == "D5"


def test_d1_callbacks_have_no_adjoint() -> None:
    """D1: a callback is refused if its adjoint is needed, and allowed if the result does not depend on it."""
    doubled = tl.function(lambda x: x * tl.callback(lambda v: v * 2, x, returns=tl.float64))
    with pytest.raises(tl.Invalid, match="callback cannot be differentiated"):
        tl.grad(doubled)(3.0)
    stopped = tl.function(lambda x: x * tl.stop_gradient(tl.callback(lambda v: v * 2, x, returns=tl.float64)))
    assert tl.grad(stopped)(3.0) == 6.0


@pytest.mark.full
def test_deep_nests_are_differentiated_in_time() -> None:
    """The time to differentiate nested branches, to any order, grows little with their depth."""

    def nest(depth: int, x: Any, y: Any) -> Any:
        return x * y if depth == 0 else tl.cond(x > 0.0, lambda: nest(depth - 1, x, y), lambda: x)

    derivative = tl.function(lambda x: nest(40, x, x))
    began = time.process_time()
    for _ in range(3):
        derivative = tl.grad(derivative)
    assert derivative(2.0) == 0.0
    assert time.process_time() - began < 10.0


@pytest.mark.full
def test_map_scan_and_foldl() -> None:
    """`map`, `scan` and `foldl` are differentiated; they are loops, and the first two put results into cells."""
    x = np.array([0.1, 0.2, 0.3, 0.4])
    mapped = tl.function(lambda x: tl.sum(tl.map(lambda each: tl.sin(each) * each, x)))
    np.testing.assert_allclose(tl.grad(mapped)(x), np.cos(x) * x + np.sin(x))
    products = tl.function(lambda x: tl.sum(tl.scan(lambda p, each: (p * each, p * each), 1.0, x)[1]))
    expected = [sum(np.prod(np.delete(x[: n + 1], at)) for n in range(at, 4)) for at in range(4)]
    np.testing.assert_allclose(tl.grad(products)(x), expected)
    folded = tl.function(lambda x: tl.foldl(lambda p, each: p * each, 1.0, x))
    np.testing.assert_allclose(tl.grad(folded)(x), np.prod(x) / x)
