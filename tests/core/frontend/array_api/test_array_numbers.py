"""Python numbers among arrays: those that do not fit are refused, and values with a dtype keep it, eagerly and in a
trace."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.frontend.eager.array import ConcreteArray

INTEGERS = [dtype for dtype in dtypes.ALL if dtype.is_integer]


@pytest.mark.parametrize("dtype", INTEGERS, ids=repr)
def test_numbers_fit_or_are_refused(dtype: dtypes.DType) -> None:
    """All functions that create arrays accept the lowest and the highest number of a dtype, and refuse the next
    ones."""
    low, high = dtype.range
    like = tl.asarray([1], dtype=dtype)
    for make in (
        lambda number: tl.asarray([[number]], dtype=dtype)[0],
        lambda number: tl.full(1, number, dtype=dtype),
        lambda number: tl.full_like(like, number),
        lambda number: tl.pad(like, ((1, 0),), value=number)[:1],
        lambda number: tl.arange(number, number + 1, dtype=dtype),
    ):
        assert all(np.asarray(make(each)).tolist() == [each] and make(each).dtype is dtype for each in (low, high))
        for wrong in (low - 1, high + 1):
            with pytest.raises(tl.Usage) as refused:
                make(wrong)
            assert "test_array_numbers.py" in str(refused.value.where)


def test_truth_values_become_numbers() -> None:
    """True is 1 of any numeric dtype, among Python integers too; those that do not fit are refused there as well."""
    for dtype in dtypes.ALL:
        assert np.asarray(tl.asarray([True, False], dtype=dtype)).tolist() == [1, 0]
    assert np.asarray(tl.asarray([True, 3], dtype=tl.int8)).tolist() == [1, 3]
    for wrong in ([True, 300], [np.int64(300)], (np.uint64(128),)):
        with pytest.raises(tl.Usage):
            tl.asarray(wrong, dtype=tl.int8)
    assert np.asarray(tl.asarray(np.array([300]), dtype=tl.int8)).tolist() == [44]  # an array is converted, and wraps


@pytest.mark.parametrize("dtype", INTEGERS, ids=repr)
def test_bounds_of_other_dtypes(dtype: dtypes.DType) -> None:
    """`clip` by bounds of any integer dtype gives the nearest number of x's dtype."""
    low, high = dtype.range
    x = [low, 1, high]
    for other, (least, most) in itertools.product(INTEGERS, ((0, 100), (-100, 0), (300, 400), (-400, -300))):
        lowest, highest = other.range
        if lowest <= least <= most <= highest:
            bounds = [tl.asarray(each, dtype=other) for each in (least, most)]
            result = tl.clip(tl.asarray(x, dtype=dtype), *bounds)
            expected = [min(max(min(max(each, least), most), low), high) for each in x]
            assert result.dtype is dtype and np.asarray(result).tolist() == expected


FUNCTIONS = {
    "sum": lambda x, y: tl.add(x, tl.sum(y)),
    "max": lambda x, y: tl.multiply(x, tl.max(y)),
    "mean": lambda x, y: tl.add(x, tl.mean(y)),
    "var": lambda x, y: tl.subtract(x, tl.var(y)),
    "take": lambda x, y: tl.add(x, tl.take(y, 0)),
    "norm": lambda x, y: tl.add(x, tl.linalg.vector_norm(y)),
}


@pytest.mark.full
@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtypes_eagerly_and_traced(name: str) -> None:
    """NumPy arrays, concrete arrays and symbolic values give one dtype, or are refused alike."""
    function = FUNCTIONS[name]
    for one, other in itertools.product(dtypes.ALL, dtypes.ALL):
        x, y = np.ones(2, one.numpy), np.array([1, 0], other.numpy)
        actual = [
            _dtype(lambda x=x, y=y: function(x, y)),
            _dtype(lambda x=x, y=y: function(tl.asarray(x), tl.asarray(y))),
            _dtype(lambda x=x, y=y: tl.function(lambda x, y: function(x, y))(x, y)),
        ]
        assert len(set(actual)) == 1, (one, other, actual)


def _dtype(compute: Any) -> str:
    try:
        return str(np.asarray(compute()).dtype)
    except tl.TagloomError as error:
        return type(error).__name__


def test_v4_means_are_of_floats() -> None:
    """V4: the mean of integers is refused under the name of `mean`, for lists and NumPy arrays too."""
    for name, x in itertools.product(("mean", "var", "std"), ([1, 2], np.array([1, 2]), tl.asarray([1, 2]))):
        with pytest.raises(tl.Invalid, match=f"{name}: these are not floats"):
            getattr(tl, name)(x)


def test_ranges_of_numpys_numbers() -> None:
    """A range is a concrete array unless a bound is symbolic."""
    for bounds in ((np.int64(3),), (tl.asarray(0), 3), (0, np.int8(3)), (np.float64(0.0), 3.0)):
        result = tl.arange(*bounds)
        assert isinstance(result, ConcreteArray) and np.asarray(result).tolist() == [0, 1, 2]


def test_diagonals_far_away() -> None:
    """Diagonals beyond int64 are beyond any matrix: `eye` has no ones there, `tril` and `triu` keep all or nothing."""
    x = tl.asarray([[1, 2], [3, 4]])
    for far in (2**63, 2**70):
        assert np.asarray(tl.eye(0, k=far)).shape == (0, 0)
        assert not np.any(tl.eye(3, k=far)) and not np.any(tl.eye(3, 2, k=-far))
        assert np.array_equal(tl.tril(x, k=far), x) and np.array_equal(tl.triu(x, k=-far - 1), x)
        assert not np.any(tl.tril(x, k=-far - 1)) and not np.any(tl.triu(x, k=far))


@pytest.mark.parametrize("shape, over, taken", [
    ((0, 3), (0, 3), (0,)), ((0, 3), (0, 0), (0,)), ((3, 2), (0,), (0, 2)), ((3, 2), (3, 0), (0,)), ((), (), (0,)),
    ((3, 2, 5), (0, 2), (0, 5)),
])  # fmt: skip
def test_masks_with_axes_of_size_0(shape: Any, over: Any, taken: Any) -> None:
    """A mask with an axis of size 0 takes nothing, as in the standard, eagerly and traced; other sizes must fit."""
    x, mask = tl.zeros(shape), tl.zeros(over, dtype=tl.bool)
    traced = tl.function(lambda x, mask: x[mask])
    assert x[mask].shape == np.shape(traced(np.zeros(shape), np.zeros(over, np.bool))) == taken
    with pytest.raises(IndexError, match="does not fit"):
        tl.zeros((3, 2))[tl.zeros((2, 0), dtype=tl.bool)]
