"""Unique parts of arrays along an axis agree with NumPy's, and with a search for the first equal part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from tagloom.core import dtypes
from tagloom.core.types import Type

DICE = np.random.default_rng(9)


@given(st.sampled_from(dtypes.ALL), st.lists(st.integers(0, 5), min_size=1, max_size=3), st.data())
def test_unique_parts_are_numpys(dtype: dtypes.DType, shape: list[int], data: st.DataObject) -> None:
    """Values, first indices, inverse and counts are NumPy's, for every dtype and axis, eagerly and in a program that
    does not know the sizes."""
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = DICE.integers(0, 2, shape).astype(dtype.numpy)

    def f(a):  # type: ignore[no-untyped-def]
        return tuple(tl.unique_all(a, axis=axis))

    f.__annotations__["a"] = Type(dtype, (None,) * len(shape))
    others = [size for at, size in enumerate(shape) if at != axis % len(shape)]
    results = [list(map(np.asarray, each)) for each in (tl.unique_all(tl.asarray(x), axis=axis), tl.function(f)(x))]
    for values, indices, inverse, counts in results:
        assert values.dtype == x.dtype and {each.dtype for each in (indices, inverse, counts)} == {np.dtype(np.int64)}
        if 0 in others:
            assert len(indices) == min(shape[axis], 1)
            continue
        expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
        for result, part in zip((values, indices, inverse, counts), expected, strict=True):
            np.testing.assert_array_equal(result, part)


def test_zeros_are_equal_and_nans_are_not() -> None:
    """The first of equal parts is taken, 0.0 and -0.0 among them; a part with NaN is unique."""
    x = np.array([[-0.0, 1.0], [np.nan, 1.0], [0.0, 1.0], [np.nan, 1.0]])
    values, indices, inverse, counts = map(np.asarray, tl.unique_all(x, axis=0))
    np.testing.assert_array_equal(values, [[0.0, 1.0], [np.nan, 1.0], [np.nan, 1.0]])
    assert np.signbit(values[0, 0]) and indices.tolist() == [0, 1, 3]
    assert inverse.tolist() == [0, 1, 0, 2] and counts.tolist() == [2, 1, 1]


def test_parts_are_combined_again() -> None:
    """The parts at the inverse indices are those of x; the functions of the standard's names agree."""
    x = tl.asarray(DICE.integers(0, 2, (2, 9, 2)))
    values, inverse = tl.unique_inverse(x, axis=1)
    assert bool(tl.all(tl.take(values, inverse, axis=1) == x))
    assert bool(tl.all(tl.unique_counts(x, axis=1).counts == tl.value_counts(x, axis=1)))
    assert bool(tl.all(tl.unique_values(x, axis=-2) == values))


def test_v4_axes_are_checked() -> None:
    """V4: an axis that does not exist is refused."""
    wrong: tuple[Any, ...] = (2, -3)
    for axis in wrong:
        with pytest.raises(tl.Invalid, match="there is no such axis"):
            tl.unique_values(np.ones((2, 2)), axis=axis)
