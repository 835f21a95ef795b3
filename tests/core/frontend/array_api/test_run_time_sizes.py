"""Sizes and bounds of slices that are known only at run time: values, traps, limits, gradients and types, on every
engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from tagloom.core.ops.indexing import KEY_BOUNDS
from tagloom.core.ops.op import OPS, fill_dynamic_sizes

ENGINES = ("reference", "fast", "compiled")
VECTOR = tl.Array[tl.float64, None]
MATRIX = tl.Array[tl.float64, None, 3]
X = np.arange(12.0).reshape(4, 3)


@tl.function
def creations(n: tl.int64) -> Any:
    return (
        tl.zeros((n,)),
        tl.ones((n, 2), dtype=tl.int32),
        tl.empty(n),
        tl.full((2, n), 7),
        tl.arange(n),
        tl.linspace(0.0, 3.0, n),
        tl.linspace(0.0, 3.0, n, endpoint=False),
        tl.eye(n),
        tl.eye(n, 2, k=1),
        tl.broadcast_to(1.5, (n, 3)),
        tl.tile(tl.asarray([1, 2]), n),
        tl.tile(tl.asarray([1, 2]), (n, 2)),
        tl.repeat(tl.asarray([1, 2]), n),
        tl.one_hot(tl.asarray([1, 0]), n),
    )


def numpy_creations(n: int) -> Any:
    return (
        np.zeros((n,)),
        np.ones((n, 2), np.int32),
        np.zeros(n),
        np.full((2, n), 7),
        np.arange(n),
        np.linspace(0.0, 3.0, n),
        np.linspace(0.0, 3.0, n, endpoint=False),
        np.eye(n),
        np.eye(n, 2, k=1),
        np.broadcast_to(1.5, (n, 3)),
        np.tile([1, 2], n),
        np.tile([1, 2], (n, 2)),
        np.repeat([1, 2], n),
        np.eye(max(n, 2))[[1, 0], :n],
    )


@tl.function
def parts(x: MATRIX, i: tl.int64, j: tl.int64, k: tl.int64) -> Any:
    return x[:i], x[i:j], x[i:j:k], x[::k, 0], x[None, i:, ::-1], tl.scatter_index(x, 0.0, (slice(i, j), 1))


def numpy_parts(x: Any, i: int, j: int, k: int) -> Any:
    scattered = x.copy()
    scattered[i:j, 1] = 0.0
    return x[:i], x[i:j], x[i:j:k], x[::k, 0], x[None, i:, ::-1], scattered


@tl.function
def shapes(x: MATRIX, n: tl.int64) -> Any:
    rows, _ = tl.shape(x)
    return tl.reshape(x, (n, -1)), tl.reshape(x, (x.shape[0] * 3,)), tl.broadcast_to(x[0], (rows, n, 3)), rows


def numpy_shapes(x: Any, n: int) -> Any:
    return x.reshape(n, -1), x.reshape(-1), np.broadcast_to(x[0], (len(x), n, 3)), len(x)


@tl.function
def rolls(x: MATRIX, i: tl.int64, j: tl.int64) -> Any:
    return tl.roll(x, i), tl.roll(x, i, axis=0), tl.roll(x, (i, 1, j), axis=(0, 1, -1)), tl.roll(x, i, axis=(0, 1))


def numpy_rolls(x: Any, i: int, j: int) -> Any:
    size, (rows, columns) = max(x.size, 1), x.shape
    both = np.roll(np.roll(x, i % max(rows, 1), axis=0), (1 + j) % columns, axis=1)
    equally = np.roll(np.roll(x, i % max(rows, 1), axis=0), i % columns, axis=1)
    return np.roll(x, i % size), np.roll(x, i % max(rows, 1), axis=0), both, equally


def check(function: Any, expected: Callable[..., Any], engine: str, *arguments: Any) -> None:
    """The results of a run are those of NumPy."""
    results = function.run(*arguments, engine=engine).value
    for result, number in zip(results, expected(*arguments), strict=True):
        assert np.asarray(result).shape == np.shape(number) and np.asarray(result).dtype == np.asarray(number).dtype
        assert np.array_equal(result, number)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("engine", [*ENGINES[:2], pytest.param("compiled", marks=pytest.mark.heavy)])
def test_run_time_sizes_are_those_of_numpy(engine: str) -> None:
    """Functions that create, slice and reshape arrays by symbolic sizes return what NumPy's return, on every engine."""
    for n in (0, 1, 5):
        check(creations, numpy_creations, engine, n)
    for bounds in ((1, 3, 1), (-2, 100, 2), (3, 0, -1), (-100, -1, -2), (2**63 - 1, -(2**63), -(2**63)), (0, 0, 1)):
        check(parts, numpy_parts, engine, X, *bounds)
    for n in (1, 2, 12):
        check(shapes, numpy_shapes, engine, X, n)
    for x, i, j in ((X, 1, -5), (X, 0, 13), (X, -(2**63), 2**62), (X[:0], 1, 1)):
        check(rolls, numpy_rolls, engine, x, i, j)


@tl.function
def sliced(x: VECTOR, i: tl.int64, j: tl.int64, k: tl.int64) -> VECTOR:
    return x[i:j:k]


@settings(max_examples=200)
@given(st.integers(-7, 7), st.integers(-7, 7), st.integers(-4, 4).filter(bool))
def test_bounds_of_slices_are_those_of_python(i: int, j: int, k: int) -> None:
    """A slice by operands is the slice of Python, for all small bounds and steps."""
    assert sliced.run(np.arange(5.0), i, j, k).value.tolist() == list(range(5))[i:j:k]


@pytest.mark.parametrize("engine", [*ENGINES[:2], pytest.param("compiled", marks=pytest.mark.heavy)])
def test_sizes_that_do_not_fit_trap(engine: str) -> None:
    """Sizes that cannot be trap, as ValueError, with the words of NumPy and Python; sizes beyond the memory end the
    run before anything is allocated."""
    for n in (-1, -(2**63)):
        with pytest.raises(ValueError, match="negative dimensions are not allowed"):
            assert creations.run(n, engine=engine).value
    for create in (lambda n: tl.eye(n), lambda n: tl.linspace(0.0, 1.0, n), lambda n: np.linspace(0.0, 1.0, n)):
        with pytest.raises(ValueError, match="negative dimensions are not allowed"):
            assert tl.function(create).run(-1, engine=engine).value
    for n in (2**40, 2**62):
        assert type(creations.run(n, engine=engine).error).__name__ == "Exhausted"
    assert isinstance(shapes.run(X, 5, engine=engine).error, ValueError)
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        assert parts.run(X, 0, 1, 0, engine=engine).value
    with pytest.raises(ValueError, match="more than one size is -1"):
        assert shapes.run(X, -1, engine=engine).value


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ENGINES)
def test_draws_of_run_time_sizes_have_the_elements_of_static_ones(engine: str) -> None:
    """A draw of a symbolic size has the elements of one of that static size: they depend on the key and their index."""

    def draws(n: Any) -> Any:
        return tl.uniform((n, 2)), tl.normal(n), tl.integers(0, 100, (n,))

    open_draws = tl.function(lambda n: draws(n)).run(3, engine=engine, seed=7).value
    for one, other in zip(open_draws, tl.function(lambda: draws(3)).run(seed=7).value, strict=True):
        assert np.array_equal(one, other)


def test_sizes_are_integers_without_axes() -> None:
    """A float size, an array of another rank, and None are refused in words, with Python's classes."""
    with pytest.raises(TypeError, match="a size is not an integer"):
        tl.function(lambda n: tl.zeros(n)).trace(1.5)
    with pytest.raises(TypeError, match="a size is not an integer"):
        tl.function(lambda x, n: x[:n]).trace(X, 1.5)
    with pytest.raises(ValueError, match="a size is not static"):
        tl.function(lambda n: tl.zeros((None, n))).trace(1)
    with pytest.raises(ValueError, match="a size is negative"):
        tl.function(lambda n: tl.zeros((-1, n))).trace(1)


def test_an_array_of_sizes_is_a_shape() -> None:
    """A shape may be an array of sizes along one axis, as importers have it."""
    reshaped = tl.function(lambda x, shape: tl.reshape(x, shape))
    assert reshaped.run(X, np.array([6, 2])).value.shape == (6, 2)
    assert tl.reshape(tl.asarray(X), np.array([2, 6])).shape == (2, 6)


def test_known_sizes_add_no_node() -> None:
    """Static programs are as before; a size that is not used has no node; one that is used twice has one."""
    static = tl.function(lambda x: tl.zeros(x.shape)).trace(X).program
    assert [node.op for node in static.main.body.nodes] == ["broadcast_to"]
    assert static.main.results[0].shape == (4, 3)

    @tl.function
    def known(x: MATRIX) -> Any:
        return tl.zeros(x.shape[1])

    @tl.function
    def used(x: MATRIX) -> Any:
        rows = x.shape[0]
        return tl.zeros((rows, 2)), tl.arange(rows)

    assert [node.op for node in known.program.main.body.nodes] == ["broadcast_to"]
    assert [node.op for node in used.program.main.body.nodes] == ["size", "broadcast_to", "arange"]
    assert str(used.program.main.results[0]) == "float64[?, 2]"


@tl.function
def weighted(x: VECTOR, n: tl.int64) -> tl.float64:
    y = x[:n] * 2.0
    grid = tl.reshape(tl.tile(y * y, n), (n, -1))
    return tl.sum(tl.broadcast_to(x[1:2], (n, n)) * grid) + tl.sum(tl.scatter_index(x, y, (slice(None, n),)) ** 3)


@tl.function
def squared_slope(x: VECTOR, n: tl.int64) -> tl.float64:
    return tl.sum(tl.grad(weighted)(x, n) ** 2)


def differences(function: Any, x: Any, *others: Any) -> Any:
    """The gradient by central differences."""
    steps = np.eye(len(x)) * 1e-6
    return np.array(
        [(float(function(x + step, *others)) - float(function(x - step, *others))) / 2e-6 for step in steps]
    )


@pytest.mark.full
def test_gradients_go_back_through_run_time_sizes() -> None:
    """Gradients of the first and second order are those of central differences: adjoints are put back into the shape
    of the operand."""
    x = np.array([0.5, -1.2, 0.7, 2.0])
    for n in (1, 3, 4):
        assert np.allclose(tl.grad(weighted)(x, n), differences(weighted, x, n), rtol=1e-6, atol=1e-6)
        assert np.allclose(tl.grad(squared_slope)(x, n), differences(squared_slope, x, n), rtol=1e-5, atol=1e-4)


@tl.function
def halved(x: VECTOR) -> tl.float64:
    total, _ = tl.while_loop(
        lambda s, y: y.shape[0] > 1, lambda s, y: (s + tl.sum(y), y[: y.shape[0] // 2] * 2.0), 0.0, x
    )
    return total


@tl.function
def grown(n: tl.int64) -> VECTOR:
    _, x = tl.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, tl.concat([x, x[-2:] + tl.zeros(2)])), 0, tl.ones(2))
    return x


@pytest.mark.parametrize("engine", [*ENGINES[:2], pytest.param("compiled", marks=pytest.mark.heavy)])
def test_loops_carry_arrays_of_changing_sizes(engine: str) -> None:
    """A loop may grow an array, or shrink it until its size ends the loop; gradients go back through all sizes."""
    assert grown.run(4, engine=engine).value.tolist() == [1.0] * 10
    assert halved.run(np.arange(9.0), engine=engine).value == 52.0
    assert tl.grad(halved).run(np.arange(9.0), engine=engine).value.tolist() == [7.0, 7.0, 3.0, 3.0] + [1.0] * 5


def test_a_wrong_filling_of_bounds_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that puts its operands into the wrong places of the key breaks the comparison with NumPy."""
    row = OPS["index"]
    operands, attributes = (X, 1, 3), (("key", "?:?"),)
    assert fill_dynamic_sizes(row, operands, attributes) == ((X,), (("key", "1:3"),))
    swapped = replace(
        row, dynamic_sizes=replace(KEY_BOUNDS, fill=lambda key, bounds: KEY_BOUNDS.fill(key, bounds[::-1]))
    )
    assert fill_dynamic_sizes(swapped, operands, attributes)[1] == (("key", "3:1"),)
