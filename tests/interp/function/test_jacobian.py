"""`tl.jacobian`, `tl.hessian` and `has_aux`: all derivatives of nested results by nested arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.python_functions import FUNCTIONS, compose
from tagloom.core.frontend.trace.pytree import flatten
from tagloom.core.value import is_same_value
from tagloom.interp.function import gradient
from tagloom.interp.oracle.check import check

POINT = np.array([0.4, -1.3, 0.9])


def mix(function: Any) -> Any:
    """A function of three floats with results that depend on several of them."""
    return lambda x: tl.stack([function(x[0] * x[1]), function(x[2]) + x[0]])


def check_row_law(function: Any, point: Any) -> None:
    """The rows of a Jacobian are the pullbacks of unit vectors, bit for bit, and approximate differences."""
    matrix = np.asarray(tl.jacobian(function)(point))
    value, pullback = tl.vjp(function, point)
    rows = [np.asarray(pullback(unit)[0]) for unit in np.eye(np.size(value))]
    assert is_same_value(matrix, np.stack(rows))
    step = 1e-6
    for k, unit in enumerate(np.eye(point.size)):
        slope = (np.asarray(function(point + step * unit)) - np.asarray(function(point - step * unit))) / (2.0 * step)
        np.testing.assert_allclose(matrix[:, k], slope, rtol=1e-4, atol=1e-5)


@settings(max_examples=12, deadline=None)
@given(FUNCTIONS.filter(lambda names: not {"switch", "bounded loop"} & set(names)))
def test_the_rows_of_a_jacobian(names: Sequence[str]) -> None:
    """The rows of the Jacobian of a generated function are the pullbacks of unit vectors, and approximate finite
    differences."""
    check_row_law(tl.function(mix(compose(names))), POINT)


def test_a_broken_jacobian_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law fails where a row is the pullback of another vector."""
    astype = gradient.astype
    monkeypatch.setattr(gradient, "astype", lambda x, dtype: astype(tl.flip(x), dtype))
    with pytest.raises(AssertionError):
        check_row_law(tl.function(mix(tl.sin)), POINT)


def network(params: Any, x: Any) -> Any:
    hidden = tl.tanh(params["layers"][0] @ x)
    return {"y": params["layers"][1] @ hidden, "norm": (tl.sum(hidden * hidden),)}


@pytest.mark.full
def test_shapes_nest_as_in_jax() -> None:
    """For each part of the result there is the nest of derivatives by the targets, each of the shape of the part and
    the shape of the target."""
    draw = np.random.default_rng(1).normal
    params = {"layers": [draw(size=(2, 3)), draw(size=(4, 2))]}
    by_params, by_x = (tl.jacobian(network, k)(params, POINT) for k in (0, 1))
    assert [each.shape for each in by_params["y"]["layers"]] == [(4, 2, 3), (4, 4, 2)]
    assert [each.shape for each in by_params["norm"][0]["layers"]] == [(2, 3), (4, 2)]
    assert by_x["y"].shape == (4, 3) and by_x["norm"][0].shape == (3,)
    both = tl.jacobian(network, {"x": 1, "p": 0})(params, POINT)
    assert is_same_value(both["y"]["x"], by_x["y"])
    assert all(map(is_same_value, both["y"]["p"]["layers"], by_params["y"]["layers"]))
    assert tl.jacobian(lambda m: m @ m)(np.eye(2)).shape == (2, 2, 2, 2)
    assert tl.jacobian(lambda x: x)(np.zeros(0)).shape == (0, 0)
    assert tl.jacobian(lambda x: x[1] * x[2])(POINT).shape == (3,)


@settings(max_examples=8, deadline=None)
@given(FUNCTIONS.filter(lambda names: not {"switch", "bounded loop"} & set(names) and len(names) < 3))
def test_hessians(names: Sequence[str]) -> None:
    """A Hessian is the Jacobian of the gradient, symmetric but for rounding."""
    function = tl.function(lambda x: tl.sum(mix(compose(names))(x)))
    second = np.asarray(tl.hessian(function)(POINT))
    np.testing.assert_allclose(second, second.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(second, np.asarray(tl.jacobian(tl.grad(function))(POINT)), rtol=1e-12)


def test_hessians_of_several_arguments() -> None:
    """The blocks of a Hessian nest as the targets, twice."""
    blocks = tl.hessian(lambda p: tl.sum(p["w"] ** 2.0) * p["b"])({"w": np.array([1.0, 2.0]), "b": 3.0})
    assert blocks["w"]["w"].tolist() == [[6.0, 0.0], [0.0, 6.0]]
    assert blocks["w"]["b"].tolist() == blocks["b"]["w"].tolist() == [2.0, 4.0] and blocks["b"]["b"] == 0.0


@tl.function
def power(n: Any, x: Any) -> Any:
    return tl.cond(n <= 0, lambda: x, lambda: power(n - 1, x * x[0]))


@pytest.mark.full
def test_jacobians_in_functions_loops_and_recursion() -> None:
    """A Jacobian of a recursive function may be taken in a loop, and be differentiated itself."""

    @tl.function
    def newton(x: Any) -> Any:
        def step(k: Any, x: Any) -> Any:
            return k + 1, x - tl.linalg.solve(tl.jacobian(power, 1)(1, x), power(1, x) - tl.stack([4.0, 6.0]))

        return tl.while_loop(lambda k, _: k < 8, step, 0, x)[1]

    np.testing.assert_allclose(newton(np.array([1.0, 1.0])), [2.0, 3.0], rtol=1e-12)
    assert tl.jacobian(power, 1)(2, np.array([2.0, 3.0])).tolist() == [[32.0, 0.0], [36.0, 8.0]]
    of_trace = tl.grad(lambda x: tl.sum(tl.jacobian(lambda v: v * v * v)(x)))
    assert of_trace(POINT).tolist() == pytest.approx(6.0 * POINT)
    x = tl.asarray(POINT)
    with tl.Tape() as tape:
        tape.watch(x)
        total = tl.sum(tl.jacobian(lambda v: v * v * v)(x))
    np.testing.assert_allclose(np.asarray(tape.gradient(total, x)), 6.0 * POINT)


@pytest.mark.full
def test_every_engine_and_schedule() -> None:
    """All engines and schedules compute the same Jacobian; each element costs a constant number of firings."""
    square = tl.jacobian(lambda x: x * x)
    traced = square.trace(POINT)
    verdicts = check(traced.graph, traced.program, traced.all_arguments([POINT]), engines=True)
    assert all(verdict.difference is None for verdict in verdicts)
    firings = [square.run(np.ones(n), engine="reference").firings for n in (1, 2, 3, 4)]
    assert len(set(np.diff(firings))) == 1


def test_variables() -> None:
    """A variable may be a target, and sources may be a list."""
    w = tl.Variable([1.0, 2.0], name="w")
    (by_w,) = tl.jacobian(lambda x: w * w * x, [w])(3.0)
    assert np.asarray(by_w).tolist() == [[6.0, 0.0], [0.0, 12.0]]


@pytest.mark.full
def test_aux() -> None:
    """With has_aux, the first of two results is differentiated; the second is returned as it is, and computed once."""

    def loss(w: Any) -> Any:
        error = w - 1.0
        return tl.sum(error * error), {"error": error, "large": [error > 1.0, None, "word"]}

    w = np.array([1.5, 4.0])
    gradient_, aux = tl.grad(loss, has_aux=True)(w)
    assert gradient_.tolist() == [1.0, 6.0] and aux["error"].tolist() == [0.5, 3.0]
    assert aux["large"][0].tolist() == [False, True] and aux["large"][1:] == [None, "word"]
    (value, again), same = tl.value_and_grad(loss, has_aux=True)(w)
    assert value == 9.25 and flatten(again)[1] == flatten(aux)[1] and same.tolist() == gradient_.tolist()
    assert tl.grad(lambda x: (x * x, x), has_aux=True)(3.0) == (6.0, 3.0)
    errors, second = tl.jacobian(lambda w: loss(w)[1]["error"] ** 3.0), tl.hessian(loss, has_aux=True)
    with_aux = tl.jacobian(lambda w: (loss(w)[1]["error"] ** 3.0, loss(w)[1]), has_aux=True)
    assert with_aux(w)[0].tolist() == errors(w).tolist() and with_aux(w)[1]["large"][2] == "word"
    assert second(w)[0].tolist() == [[2.0, 0.0], [0.0, 2.0]] and second(w)[1]["error"].tolist() == [0.5, 3.0]
    in_trace = tl.function(lambda w: tl.value_and_grad(loss, has_aux=True)(w)[0][1]["error"])
    assert in_trace(w).tolist() == [0.5, 3.0]


@pytest.mark.parametrize("x", [np.float32(3.0), 3.0])
def test_defaults_take_the_dtype_of_arguments(x: Any) -> None:
    """A derived function computes in the dtype of the function: the number of a default takes the dtype that fits."""

    def scaled(x: Any, scale: Any = 0.1) -> Any:
        return x * scale

    value, slope = tl.value_and_grad(scaled)(x)
    assert value == tl.function(scaled)(x) and np.asarray(value).dtype == np.asarray(slope).dtype == np.asarray(x).dtype
    assert slope == np.asarray(x).dtype.type(0.1)
    assert tl.grad(scaled, 1)(x) == x


def test_argnums_from_the_last() -> None:
    """A negative argnum counts from the last argument; it is the same target, and the same derived function."""
    product = tl.function(lambda x, y: x * x * y)
    assert tl.grad(product, -1)(3.0, 5.0) == 9.0 and tl.grad(product, (-2, -1))(3.0, 5.0) == (30.0, 9.0)
    assert tl.grad(product, -1) is tl.grad(product, 1)


REFUSED = {
    "a target twice": (lambda: tl.grad(lambda x, y: x * y, (1, -1)), "names an argument or variable twice"),
    "no such target": (lambda: tl.grad(lambda x, y: x * y, -3), "an integer from -2 to 1"),
    "a pair without has_aux": (lambda: tl.grad(lambda x: (x, x))(1.0), "hint: has_aux=True"),
    "a Jacobian without aux": (lambda: tl.jacobian(lambda x: x, has_aux=True)(POINT), "does not return a pair"),
    "has_aux without a pair": (lambda: tl.grad(lambda x: x, has_aux=True)(1.0), "does not return a pair"),
    "an array": (lambda: tl.grad(lambda x: x)(POINT), r"hint: tl.jacobian\(f\)"),
    "a result of bools": (lambda: tl.jacobian(lambda x: [x, x > 0])(POINT), r"the result\[1\] of .* is not of floats"),
    "an integer": (lambda: tl.jacobian(lambda n: tl.astype(n, tl.float64))(3), "argument n of .* is not of floats"),
    "random numbers": (lambda: tl.jacobian(lambda x: x * tl.uniform((3,)))(POINT), "D5.*random numbers"),
    "the arguments": (lambda: tl.jacobian(lambda x: x, POINT, POINT), r"jacobian\(f\)\(x, y\)"),
    "the argument": (lambda: tl.hessian(lambda x: x, POINT), "argnums of hessian must be integers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_uses_are_refused(case: str) -> None:
    """What has no Jacobian is refused, with what to write."""
    call, message = REFUSED[case]
    with pytest.raises(tl.TagloomError, match=message) as refused:
        call()
    assert "test_jacobian.py" in str(refused.value.where)
