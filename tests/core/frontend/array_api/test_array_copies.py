"""Functions that join arrays, or repeat one, agree with NumPy on every engine, for known and open sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.types import Type

X = np.arange(6.0).reshape(2, 3)
MANY: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "repeat": (lambda x: tl.repeat(x, 100, axis=1), np.repeat(X, 100, axis=1)),
    "repeat of all": (lambda x: tl.repeat(x, 70), np.repeat(X, 70)),
    "tile": (lambda x: tl.tile(x, (70, 2)), np.tile(X, (70, 2))),
    "tile of more axes": (lambda x: tl.tile(x, (65, 1, 65)), np.tile(X, (65, 1, 65))),
    "tile of none": (lambda x: tl.tile(x, (0, 2)), np.tile(X, (0, 2))),
    "stack": (lambda x: tl.stack([x] * 100, axis=-1), np.stack([X] * 100, axis=-1)),
    "concat": (lambda x: tl.concat([x] * 1100), np.concatenate([X] * 1100)),
    "concat of all": (lambda x: tl.concat([x, x[:, 0]] * 50, axis=None), np.concatenate([X.ravel(), X[:, 0]] * 50)),
}


def traced(function: Callable[[Any], Any], shape: tuple[int | None, ...]) -> Any:
    def f(x):  # type: ignore[no-untyped-def]
        return function(x)

    f.__annotations__["x"] = Type(tl.float64, shape)
    return tl.function(f)


@pytest.mark.inner(first=5)
@pytest.mark.parametrize("name", MANY)
def test_functions_agree_with_numpy(name: str) -> None:
    """They agree eagerly and as programs; nodes have few operands, so that `fast` runs them too."""
    function, expected = MANY[name]
    assert np.array_equal(function(X), expected) and np.array_equal(function(tl.asarray(X)), expected)
    for shape, engine in itertools.product(((2, 3), (None, 3), (None, None)), ("reference", "fast")):
        result = traced(function, shape).run(X, engine=engine).value
        assert np.array_equal(result, expected), (shape, engine)
    assert np.shape(traced(function, (None, None))(X[:0])) == np.shape(function(X[:0]))


@pytest.mark.full
def test_s12_copies_beyond_memory_are_refused() -> None:
    """S12: copies that do not fit into memory are refused before they are computed, and many copies of nothing take no
    time."""
    assert tl.repeat(np.ones(2), 10**6).shape == tl.tile(np.ones(2), (10**6,)).shape == (2 * 10**6,)
    for compute in (
        lambda: tl.repeat(tl.asarray([1.0]), 10**12),
        lambda: tl.tile(tl.asarray([1.0]), (10**12,)),
        lambda: traced(lambda x: tl.tile(x, (2**62,)), (None,))(np.ones(4)),
    ):
        with pytest.raises(tl.Exhausted, match="memory"):
            compute()
    assert traced(lambda x: tl.tile(x, (2**62,)), (None,))(np.ones(0)).shape == (0,)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_repeats_may_be_of_any_integer_dtype(dtype: str) -> None:
    """`repeat` takes numbers of repeats of the integer dtypes, uint64 too, which NumPy's own function refuses."""
    x = np.array([1, 2], dtype)
    for times, expected in ((np.array([2, 1], dtype), [1, 1, 2]), (np.array(2, dtype), [1, 1, 2, 2])):
        for function in (tl.repeat, tl.function(lambda x, times: tl.repeat(x, times))):
            result = function(x, times)
            assert np.asarray(result).tolist() == expected and np.asarray(result).dtype == dtype
