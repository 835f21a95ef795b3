"""Custom gradients: on tapes and in programs, the given pullback is used, at every order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl


@tl.custom_gradient
def straight(x: Any) -> Any:
    """Rounds; the pullback is that of the identity."""
    return tl.round(x), lambda adjoint: adjoint


@tl.custom_gradient
def softplus(x: Any) -> Any:
    """log(1 + exp(x)), whose own gradient is 0 where exp overflows."""
    e = tl.exp(x)
    return tl.log(1.0 + e), lambda adjoint: adjoint * (1.0 - 1.0 / (1.0 + e))


@tl.custom_gradient
def bounded(x: Any) -> Any:
    """The value itself; its adjoint is clipped."""
    return x, lambda adjoint: tl.clip(adjoint, -1.0, 1.0)


@tl.custom_gradient
def product(x: Any, y: Any) -> Any:
    """x * y and y, with a pullback of both results whose slope along y is three times the true one."""
    return (x * y, y), lambda adjoint: (y * adjoint[0], 3.0 * (x * adjoint[0] + adjoint[1]))


@tl.custom_gradient
def branching(x: Any) -> Any:
    """A cube whose pullback branches, loops and calls."""
    square = x * x

    def pullback(adjoint: Any) -> Any:
        twice = tl.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s + square), 0, square)[1]
        return tl.cond(x > 100.0, lambda: adjoint, lambda: twice * same(adjoint))

    return square * x, pullback


@tl.function
def same(x: tl.float64) -> tl.float64:
    return x


@tl.custom_gradient
def nested(x: Any) -> Any:
    """The square of a rounded number; its pullback has a custom gradient, too."""
    return straight(x) * x, lambda adjoint: bounded(adjoint * x) + straight(x) * 0.5 * adjoint


FUNCTIONS: dict[str, tuple[Callable[..., Any], float]] = {
    "straight": (lambda x: straight(x) * straight(x) * x, 2.3),
    "softplus": (lambda x: softplus(x * x), 0.7),
    "softplus far out": (lambda x: softplus(x), 1000.0),
    "bounded": (lambda x: bounded(x * x * x) * x, 0.9),
    "of two": (lambda x: product(x, tl.sin(x))[0] * product(x * x, x)[1], 0.8),
    "of one twice": (lambda x: product(x, x)[0], 0.8),
    "with a branching pullback": (lambda x: branching(x) * x, 1.2),
    "with a nested one": (lambda x: nested(x * x), 1.3),
    "in a loop": (lambda x: tl.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, branching(z) + x), 0, x)[1], 0.4),
    "in a branch": (lambda x: tl.cond(x < 1.0, lambda: straight(x) + x * x, lambda: softplus(x)), 0.6),
    "in a function": (lambda x: recursive(x, 3), 1.1),
}


@tl.function
def recursive(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.cond(n == 0, lambda: straight(x), lambda: branching(x) * recursive(bounded(x), n - 1))


def by_tapes(function: Callable[..., Any], x: Any, order: int) -> float:
    if order == 0:
        return float(function(x))

    def slope(x: Any) -> Any:
        with tl.Tape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return by_tapes(slope, x, order - 1)


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_tape_and_program_agree(name: str, order: int) -> None:
    """The given pullback is the gradient, right or wrong, and the second gradient is that of the pullback, on nested
    tapes and on each token machine."""
    function, x = FUNCTIONS[name]
    program = tl.function(function)
    for _ in range(order):
        program = tl.grad(program)
    expected = by_tapes(function, tl.asarray(x), order)
    outcomes = [program.run(x, engine=engine, schedule="lifo") for engine in ("reference", "fast")]
    assert all(out.residue == () for out in outcomes)
    for actual in (program(x), *(out.value for out in outcomes)):
        assert np.allclose(actual, expected, rtol=1e-11, atol=1e-12, equal_nan=True)


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_right_pullback_changes_nothing(order: int) -> None:
    """A function whose pullback is its own gradient keeps its derivatives."""

    def plain(x: Any) -> Any:
        return tl.sin(x) * tl.exp(x)

    @tl.custom_gradient
    def custom(x: Any) -> Any:
        value, pullback = tl.vjp(plain, x)
        return value, pullback

    mine, theirs = tl.function(lambda x: custom(x) * x), tl.function(lambda x: plain(x) * x)
    for _ in range(order):
        mine, theirs = tl.grad(mine), tl.grad(theirs)
    assert math.isclose(mine(0.7), theirs(0.7), rel_tol=1e-12)
    assert math.isclose(by_tapes(lambda x: custom(x) * x, tl.asarray(0.7), order), theirs(0.7), rel_tol=1e-12)


def test_overflow_does_no_harm() -> None:
    """The published reason for custom gradients: the gradient of log(1 + exp(x)) is 1 at 100, where exp(x) is finite,
    and at 1000, where it overflows."""
    assert [tl.grad(lambda x: softplus(x))(x) for x in (100.0, 1000.0)] == [1.0, 1.0]
    assert tl.grad(lambda x: tl.log(1.0 + tl.exp(x)))(1000.0) == 0.0


def test_an_undifferentiated_program_has_no_pullback() -> None:
    """A program without gradients has no nodes of the pullback, but an identity for each result."""
    program = tl.function(lambda x: softplus(x)).trace(1.0).program
    assert [function.name for function in program.functions] == ["function"]
    assert [node.op for node in program.main.body.nodes] == ["exp", "add", "log", "identity"]
    assert all(
        function.gradient_rule is None for function in tl.grad(lambda x: softplus(x)).trace(1.0).program.functions
    )
    assert softplus(0.0) == math.log(2.0)


def test_programs_with_custom_gradients_survive_a_round_trip() -> None:
    """A differentiated program is printed and read back unchanged."""
    program = tl.grad(tl.grad(lambda x: softplus(x) * x)).trace(1.0).program
    assert tl.print_program(tl.parse_program(tl.print_program(program))) == tl.print_program(program)
    assert tl.from_json(tl.to_json(program)) == program


def test_arguments_and_results_nest() -> None:
    """Adjoints have the structure of arguments and results. None, or a number, stands for a whole structure; integers
    have none."""

    @tl.custom_gradient
    def scaled(p: Any, n: Any, x: Any) -> Any:
        results = {"all": p["a"] * p["b"], "n": n}
        return results, lambda adjoint: ({"a": adjoint["all"] * 10.0, "b": 5.0}, None, None)

    def loss(p: Any, n: Any, x: Any) -> Any:
        results = scaled(p, n, x)
        return tl.sum(results["all"] * tl.astype(results["n"], tl.float64)) + tl.sum(x * x)

    p, x = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}, np.array([5.0])
    arrays = {key: tl.asarray(value) for key, value in p.items()}, tl.asarray(2), tl.asarray(x)
    with tl.Tape() as tape:
        tape.watch((arrays[0], arrays[2]))
        y = loss(*arrays)
    for actual, dx in (tl.grad(loss, (0, 2))(p, 2, x), tape.gradient(y, (arrays[0], arrays[2]))):
        assert [np.asarray(actual[key]).tolist() for key in "ab"] == [[20.0, 20.0], [5.0, 5.0]]
        assert np.asarray(dx).tolist() == [10.0]


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nothing but a value": (lambda x: x, "has a custom gradient, but does not return a pullback"),
    "no function": (lambda x: (x, x), "has a custom gradient, but does not return a pullback"),
    "too many adjoints": (lambda x: (x, lambda d: (d, d)), "a pullback does not return an adjoint for each argument"),
    "another shape": (lambda x: (tl.sum(x), lambda d: d), "an adjoint that does not have the type of its argument"),
    "an integer": (
        lambda x: (x, lambda d: tl.astype(d, tl.int64)),
        "an adjoint that does not have the type of its argument",
    ),
    "another structure": (lambda x: (x, lambda d: {"x": d}), "an adjoint does not have the structure of its value"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_pullbacks_are_refused(name: str) -> None:
    """Wrong pullbacks are refused with the same message on tapes and in traces."""
    function, text = WRONG[name]
    custom, x = tl.custom_gradient(function), tl.asarray([1.0, 2.0])
    with tl.Tape() as tape, pytest.raises(tl.TagloomError, match=text):
        tape.watch(x)
        tape.gradient(tl.sum(custom(x)), x)
    with pytest.raises(tl.TagloomError, match=text):
        tl.grad(lambda x: tl.sum(custom(x)))(np.array([1.0, 2.0]))


@tl.custom_gradient
def pythons_sine(x: Any) -> Any:
    """Python's sine, which has no gradient rule."""
    value = tl.callback(math.sin, x, returns=tl.float64)
    return value, lambda adjoint: adjoint * tl.callback(math.cos, x, returns=tl.float64)


def test_python_functions_on_tapes() -> None:
    """On tapes, a callback has the given gradient. In a program, its pullback would be an effect without a gradient,
    and is refused."""
    assert by_tapes(lambda x: pythons_sine(x) * x, tl.asarray(0.5), 1) == math.sin(0.5) + 0.5 * math.cos(0.5)
    assert tl.function(lambda x: pythons_sine(x))(0.5) == math.sin(0.5)
    with pytest.raises(tl.Invalid, match="V17: callback, in pythons_sine_pullback, occurs in a further") as raised:
        tl.grad(lambda x: pythons_sine(x))(0.5)
    assert "outside functions, on a tl.Tape" in str(raised.value.hint)


@pytest.mark.full
def test_stop_gradient() -> None:
    """`stop_gradient` returns its operand, which gradients treat as a constant: on tapes, in programs, at every order,
    on each engine."""

    def function(x: Any) -> Any:
        return tl.stop_gradient(x * x) * x + tl.cond(x > 0.0, lambda: tl.stop_gradient(x), lambda: x)

    assert [by_tapes(function, tl.asarray(3.0), order) for order in range(3)] == [30.0, 9.0, 0.0]
    program = tl.function(lambda x: (function(x), tl.grad(function)(x), tl.grad(tl.grad(function))(x)))
    actual = [program.run(3.0, engine=engine).value for engine in ("reference", "fast", "compiled")]
    assert actual == [(30.0, 9.0, 0.0)] * 3
    for value in (True, 7, np.arange(3), np.float32(1.5)):
        for engine in ("reference", "fast", "compiled"):
            out = tl.function(lambda x: tl.stop_gradient(x)).run(value, engine=engine)
            assert np.asarray(out.value).tolist() == np.asarray(value).tolist()


def test_clipping() -> None:
    """Gradients are clipped by their own norm, or by that of all, with 0 and infinity too."""
    x = np.array([3.0, 4.0])
    assert tl.clip_by_norm(x, 10.0).tolist() == [3.0, 4.0]
    assert tl.clip_by_norm(x, 0.5).tolist() == [0.3, 0.4]
    assert tl.clip_by_norm(np.zeros(2), 1.0).tolist() == [0.0, 0.0]
    assert tl.grad(lambda x: tl.sum(tl.clip_by_norm(x, 1.0)))(np.zeros(2)).tolist() == [1.0, 1.0]
    nested, length = tl.clip_by_global_norm((x, {"b": np.float32(12.0)}), 6.5)
    assert (nested[0].tolist(), float(nested[1]["b"]), float(length)) == ([1.5, 2.0], 6.0, 13.0)
    assert nested[1]["b"].dtype == np.float32
    clipped, length = tl.clip_by_global_norm((x, math.inf), 1.0)
    assert length == math.inf and np.isnan(clipped[0]).all()
    actual = tl.function(lambda x: tl.clip_by_global_norm({"x": x}, 2.5))(x)
    assert (actual[0]["x"].tolist(), actual[1]) == ([1.5, 2.0], 5.0)
    with pytest.raises(tl.Usage, match="clipping needs arrays"):
        tl.clip_by_global_norm((), 1.0)


@pytest.mark.full
def test_jvp() -> None:
    """`jvp` is right eagerly, in a trace, with results that are no floats, and when differentiated."""

    def function(x: Any, n: Any, p: Any) -> Any:
        return {"y": tl.sum(x * x) * p["a"], "n": n + 1}

    x, t = np.array([1.0, 2.0]), np.array([0.5, 0.25])
    value, moved = tl.jvp(function, (x, 3, {"a": 2.0}), (t, None, {"a": 10.0}))
    assert (value, moved) == ({"y": 10.0, "n": 4}, {"y": 54.0, "n": None})
    along = tl.function(lambda x, t: tl.jvp(function, (x, 3, {"a": 2.0}), (t, None, {"a": 10.0}))[1]["y"])
    assert along(x, t) == 54.0
    assert tl.grad(along)(x, t).tolist() == [4.0 * 0.5 + 10.0 * 2.0, 4.0 * 0.25 + 10.0 * 4.0]
    with pytest.raises(tl.Invalid, match="D3: a tangent does not have the structure of its value"):
        tl.jvp(function, (x, 3, {"a": 2.0}), (t, None, 10.0))
