"""Functions that take, put, spread and cut out elements agree with loops over indices; `hypot` agrees with exact
arithmetic."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.ops import scalar_kernels
from tagloom.core.value import admit, is_same_value

DICE = np.random.default_rng(11)
each_dtype = pytest.mark.parametrize("dtype", dtypes.ALL, ids=repr)


def drawn(shape: tuple[int, ...], dtype: dtypes.DType) -> Any:
    return DICE.integers(0, 100, shape).astype(dtype.numpy)


PLACES: list[tuple[tuple[int, ...], list[tuple[int, ...]]]] = [
    ((5,), [()]),
    ((5,), [(7,)]),
    ((5,), [(0,)]),
    ((3, 4), [(2, 3)]),
    ((3, 4), [(6,), ()]),
    ((3, 4), [(2, 1), (5,)]),
    ((2, 3, 4), [(3,), (3,)]),
    ((3, 0), [(4,)]),
]
"""Shapes of arrays, and of indices along their first axes."""


def places(shape: tuple[int, ...], wide: list[tuple[int, ...]]) -> list[Any]:
    """Indices, with negative ones among them, of several dtypes."""
    kinds = (np.int64, np.int8)
    drawn_ = [DICE.integers(-size, size, each) for size, each in zip(shape, wide, strict=False)]
    return [np.asarray(each, kind) for each, kind in zip(drawn_, kinds, strict=False)]


def each_place(shape: tuple[int, ...], indices: list[Any]) -> Any:
    """The place to which each index of the result leads."""
    spread = np.broadcast_arrays(*indices)
    for at in np.ndindex(*spread[0].shape):
        yield at, tuple(int(each[at]) % size for each, size in zip(spread, shape, strict=False))


@pytest.mark.inner(first=7)
@each_dtype
@pytest.mark.parametrize("at", range(len(PLACES)))
def test_gather_and_scatter(at: int, dtype: dtypes.DType) -> None:
    """Elements are taken, put, added, multiplied and compared place by place, for every dtype; the last of several
    values that are put in one place remains, and the first of equal zeros."""
    shape, wide = PLACES[at]
    x, indices = drawn(shape, dtype), places(*PLACES[at])
    over = np.broadcast_shapes(*wide)
    taken = np.zeros((*over, *shape[len(wide) :]), dtype.numpy)
    values = drawn(taken.shape, dtype)
    put, added, product, largest, smallest = (x.copy() for _ in range(5))
    wide_product = product.astype(np.float64) if dtype.kind == "f" else product
    for here, there in each_place(shape, indices):
        taken[here] = x[there]
        put[there] = values[here]
        if dtype.kind != "b":
            with np.errstate(over="ignore"):
                added[there] += values[here]
                wide_product[there] *= values[here]
            largest[there] = tl.maximum(largest[there], values[here])
            smallest[there] = tl.minimum(smallest[there], values[here])
    assert is_same_value(np.asarray(tl.gather(x, *indices)), admit(taken))
    assert is_same_value(np.asarray(tl.scatter(x, values, *indices)), admit(put))
    if dtype.kind != "b":
        assert is_same_value(np.asarray(tl.scatter_add(x, values, *indices)), admit(added))
        with np.errstate(over="ignore"):
            product = wide_product.astype(dtype.numpy)
        assert is_same_value(np.asarray(tl.scatter_mul(x, values, *indices)), admit(product))
        assert is_same_value(np.asarray(tl.scatter_max(x, values, *indices)), admit(largest))
        assert is_same_value(np.asarray(tl.scatter_min(x, values, *indices)), admit(smallest))


@each_dtype
def test_values_that_broadcast_are_put(dtype: dtypes.DType) -> None:
    """One value can be put to all places, and one for each row."""
    x, rows = drawn((4, 3), dtype), np.array([2, -1])
    for value in (drawn((), dtype), drawn((3,), dtype), drawn((2, 1), dtype)):
        expected = x.copy()
        for k, row in enumerate(rows):
            expected[row] = np.broadcast_to(value, (2, 3))[k]
        assert is_same_value(np.asarray(tl.scatter(x, value, rows)), admit(expected))


@pytest.mark.inner(first=7)
@each_dtype
@pytest.mark.parametrize(
    ("shape", "other"), [((), ()), ((), (2, 3)), ((3,), (2, 3)), ((2, 1), (3,)), ((1,), (0,)), ((0, 1), (4,))]
)
def test_broadcast_like(shape: tuple[int, ...], other: tuple[int, ...], dtype: dtypes.DType) -> None:
    """Each element is that of x at its place; axes of size 1 are read again and again."""
    x, over = drawn(shape, dtype), np.broadcast_shapes(shape, other)
    expected = np.zeros(over, dtype.numpy)
    for at in np.ndindex(*over):
        own = at[len(over) - len(shape) :]
        expected[at] = x[tuple(0 if size == 1 else k for k, size in zip(own, shape, strict=True))]
    assert is_same_value(np.asarray(tl.broadcast_like(x, np.zeros(other)))[()], admit(expected))


@pytest.mark.inner(first=7)
@each_dtype
@pytest.mark.parametrize(
    ("shape", "other"),
    [((), ()), ((2, 3), ()), ((2, 3), (3,)), ((2, 3), (2, 1)), ((0, 4), (1, 1)), ((3,), (3,)), ((1,), (1,))],
)
def test_sum_like(shape: tuple[int, ...], other: tuple[int, ...], dtype: dtypes.DType) -> None:
    """Each element of x is added to the place of y from which it would be read; integers become wide, as in sums."""
    x = drawn(shape, dtype)
    if dtype.kind == "b":
        with pytest.raises(tl.Invalid, match="wrong kind"):
            tl.sum_like(x, np.zeros(other))
        return
    expected = np.zeros(other, np.asarray(tl.sum(x)).dtype)
    for at in np.ndindex(*shape):
        own = at[len(shape) - len(other) :]
        expected[tuple(0 if size == 1 else k for k, size in zip(own, other, strict=True))] += x[at]
    assert is_same_value(np.asarray(tl.sum_like(x, np.zeros(other, bool)))[()], admit(expected))


def test_v4_s5_sum_like_needs_a_shape_that_broadcasts() -> None:
    """V4, S5: the shape of y must broadcast to that of x, and not the other way round."""
    for shape, other in (((3,), (2,)), ((3,), (2, 3)), ((), (1,)), ((2, 1), (2, 3))):
        with pytest.raises(tl.Invalid, match="does not broadcast"):
            tl.sum_like(np.ones(shape), np.ones(other))


@pytest.mark.inner(first=7)
@each_dtype
@pytest.mark.parametrize(
    ("shape", "other"), [((6,), (2, 3)), ((2, 3), (3, 1, 2)), ((), (1, 1)), ((1,), ()), ((0, 2), (3, 0))]
)
def test_reshape_like(shape: tuple[int, ...], other: tuple[int, ...], dtype: dtypes.DType) -> None:
    """The elements keep their order."""
    x = drawn(shape, dtype)
    array = np.asarray(tl.reshape_like(x, np.zeros(other)))
    assert array.shape == other and array.ravel().tolist() == x.ravel().tolist() and array.dtype == x.dtype
    with pytest.raises(tl.Invalid, match="does not become"):
        tl.reshape_like(x, np.zeros((7, 5)))


@pytest.mark.inner(first=7)
@each_dtype
@pytest.mark.parametrize("key", ["0", "-1, 1", "1:, None", "::-1, ::2", "..., 0", "None, 2:1", ":", "0:1, 2"])
def test_scatter_index(key: str, dtype: dtypes.DType) -> None:
    """The places of the key have the new values, and all others are unchanged."""
    x = drawn((2, 3), dtype)
    numbers = np.asarray(tl.index(np.arange(6).reshape(2, 3), key))
    values, expected = drawn(numbers.shape, dtype), x.ravel().tolist()
    for number, value in zip(numbers.ravel().tolist(), values.ravel().tolist(), strict=True):
        expected[number] = value
    array = np.asarray(tl.scatter_index(x, values, key))
    assert is_same_value(array, admit(np.array(expected, dtype.numpy).reshape(2, 3)))
    assert is_same_value(np.asarray(tl.index(array, key))[()], admit(values))
    one = drawn((), dtype)
    assert is_same_value(
        np.asarray(tl.scatter_index(x, one, key)), np.asarray(tl.scatter_index(x, np.full(numbers.shape, one), key))
    )


def test_v4_wrong_places_are_refused() -> None:
    """V4: values must fit in shape and dtype, and integers of the key must be in range."""
    x = np.zeros((2, 3))
    for values, key, match in (
        ([1.0, 2.0], "0", "does not broadcast|do not broadcast"),
        (1.0, "2", "no index"),
        (1.0, "0, 0, 0", "more indices than axes: 3"),
    ):
        with pytest.raises(tl.Invalid, match=match):
            tl.scatter_index(x, values, key)
    with pytest.raises(tl.Invalid, match="the wrong dtype"):
        tl.scatter_index(np.zeros(3, np.float32), np.ones(()), "0")


@pytest.mark.inner(first=7)
@each_dtype
@pytest.mark.parametrize(
    ("shape", "wide", "strides"),
    [((7,), (3,), (1,)), ((7,), (3,), (2,)), ((4, 5), (2, 3), (2, 1)), ((2, 6), (6,), (4,)), ((0, 4), (2,), (1,))],
)
def test_windows(shape: Any, wide: Any, strides: Any, dtype: dtypes.DType) -> None:
    """Each element of a window lies at its distance from the beginning of the window."""
    x = drawn(shape, dtype)
    front = len(shape) - len(wide)
    counts = [(n - w) // s + 1 for n, w, s in zip(shape[front:], wide, strides, strict=True)]
    expected = np.zeros((*shape[:front], *counts, *wide), dtype.numpy)
    for at in np.ndindex(*expected.shape):
        begins, within = at[front : front + len(wide)], at[front + len(wide) :]
        along = (begin * step + k for begin, step, k in zip(begins, strides, within, strict=True))
        expected[at] = x[(*at[:front], *along)]
    assert is_same_value(np.asarray(tl.windows(x, wide, strides=strides)), admit(expected))


@pytest.mark.full
def test_lengths_are_within_one_ulp() -> None:
    """`hypot` is within 1 ulp of the exact length, for numbers of any size that do not overflow."""
    pairs = [*(DICE.normal(size=(4000, 2)) * 2.0 ** DICE.integers(-40, 40, (4000, 2))).tolist()]
    pairs += (DICE.uniform(1, 2, (1000, 2)) * 2.0 ** DICE.integers(-1070, 1023, (1000, 1))).tolist()
    edges = [5e-324, 2.0**-1022, 2.0**-459, 1.0, 3.0, 2.0**511, 2.0**1022]
    pairs += [list(each) for each in itertools.product(edges, repeat=2)]
    with localcontext(prec=60, Emin=-3000, Emax=3000):
        for x, y in pairs:
            exact = (Decimal(x) ** 2 + Decimal(y) ** 2).sqrt()
            result = scalar_kernels.hypot(x, y)
            assert abs(Decimal(result) - exact) <= Decimal(math.ulp(result)), (x, y)
