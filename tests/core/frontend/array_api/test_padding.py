"""Padding agrees with NumPy's, in every mode and for any widths; its gradient adds up the adjoints of the copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from tagloom.core import dtypes
from tagloom.core.types import Type

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")
COPYING = MODES[1:]


@pytest.mark.parametrize("widths", [2, (3,), (1, 2), [[1, 2]], ((0, 1), (2, 0)), [3, [1, 2]], ((1,), (2,))], ids=str)
@pytest.mark.parametrize("shape", [(2, 3), (3,), ()], ids=str)
def test_widths_are_those_of_numpy(widths: Any, shape: tuple[int, ...]) -> None:
    """One number or pair is for all axes, as for NumPy; what NumPy refuses is refused."""
    x = np.ones(shape)
    try:
        expected = np.pad(x, widths)
    except ValueError:
        with pytest.raises(tl.Usage, match="the widths do not fit the axes"):
            tl.pad(x, widths)
    else:
        np.testing.assert_array_equal(np.asarray(tl.pad(x, widths)), expected)


@given(st.sampled_from(MODES), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_values_are_numpys(mode: str, shape: list[int], data: st.DataObject) -> None:
    """Values are NumPy's, for widths larger than the array, too; eagerly, and in a program that knows no sizes."""
    x = np.arange(np.prod(shape)).reshape(shape)
    widths = [tuple(data.draw(st.tuples(st.integers(0, 9), st.integers(0, 9)))) for _ in shape]
    expected = np.pad(x, widths, mode)  # type: ignore[call-overload]
    np.testing.assert_array_equal(np.asarray(tl.pad(x, widths, mode=mode)), expected)

    def f(a):  # type: ignore[no-untyped-def]
        return tl.pad(a, widths, mode=mode)

    f.__annotations__["a"] = Type(dtypes.int64, (None,) * len(shape))
    np.testing.assert_array_equal(np.asarray(tl.function(f)(x)), expected)


@pytest.mark.parametrize("mode", COPYING)
def test_long_axes_have_no_hidden_arguments(mode: str) -> None:
    """The positions of many elements are computed by the program, which has no hidden argument."""
    x = np.arange(100)
    function = tl.function(lambda a: tl.pad(a, (7,), mode=mode))
    assert len(function.trace(x).program.functions[0].body.parameters) == 1
    np.testing.assert_array_equal(np.asarray(function(x)), np.pad(x, 7, mode))  # type: ignore[call-overload]


@given(st.sampled_from(MODES), st.integers(1, 4), st.integers(0, 9), st.integers(0, 9))
def test_gradients_count_the_copies(mode: str, size: int, before: int, after: int) -> None:
    """The gradient of a sum of weighted elements is that of the copies of each, to second order."""
    x = np.linspace(1.0, 2.0, size)
    copies = np.pad(np.eye(size), ((0, 0), (before, after)), mode)  # type: ignore[call-overload]
    weights = np.arange(1.0, size + before + after + 1.0)
    loss = tl.function(lambda a: tl.sum(tl.pad(a, ((before, after),), mode=mode) ** 2 * weights))
    np.testing.assert_allclose(np.asarray(tl.grad(loss)(x)), copies @ (2.0 * weights * (x @ copies)), rtol=1e-12)
    slopes = tl.function(lambda a: tl.sum(tl.grad(loss)(a) * x))
    np.testing.assert_allclose(np.asarray(tl.grad(slopes)(x)), copies @ (2.0 * weights * (x @ copies)), rtol=1e-12)


@pytest.mark.parametrize("engine", ["reference", "fast", pytest.param("compiled", marks=pytest.mark.full)])
@pytest.mark.parametrize("mode", COPYING)
def test_s5_nothing_to_copy_traps(mode: str, engine: str) -> None:
    """S5: an axis without elements is refused, or traps where its size is open; a width of 0 is no padding."""
    with pytest.raises(tl.Invalid, match="nothing to copy"):
        tl.pad(np.zeros((2, 0)), 1, mode=mode)
    assert np.shape(tl.pad(np.zeros((2, 0)), ((1, 1), (0, 0)), mode=mode)) == (4, 0)

    def f(a: tl.Array[tl.float64, None]):  # type: ignore[no-untyped-def]
        return tl.pad(a, (1,), mode=mode)

    assert tl.function(f).run(np.zeros(0), engine=engine).status == "Trapped"
    assert np.shape(tl.function(f).run(np.zeros(1), engine=engine).value) == (3,)


def test_every_dtype_and_bad_modes() -> None:
    """The dtype stays; a mode that does not exist is refused, with the names of those that do."""
    for dtype, mode in ((dtype, mode) for dtype in dtypes.ALL for mode in MODES):
        assert np.asarray(tl.pad(tl.asarray([0, 1], dtype=dtype), 1, mode=mode)).dtype == dtype.numpy
    wrong_modes: list[Any] = ["mirror", ["edge"], None]
    for mode in wrong_modes:
        with pytest.raises(tl.Usage, match="constant, edge, reflect, symmetric, wrap") as refused:
            tl.pad([1, 2], 1, mode=mode)
        assert "test_padding.py" in str(refused.value.where)
