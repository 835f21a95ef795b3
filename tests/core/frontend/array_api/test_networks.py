"""Array functions beyond the standard agree with NumPy, or with a loop, eagerly and as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.types import Type

DICE = np.random.default_rng(5)
IMAGES, WEIGHTS = DICE.normal(size=(2, 3, 5, 6)), DICE.normal(size=(4, 3, 3, 2))
SIGNAL, KERNEL = DICE.normal(size=(1, 2, 7)), DICE.normal(size=(3, 2, 3))


def convolve_by_loop(x: Any, weights: Any, strides: tuple[int, ...], padding: tuple[int, ...]) -> Any:
    """A convolution, place by place."""
    around = np.pad(x, [(0, 0), (0, 0), *((each, each) for each in padding)])
    sizes = weights.shape[2:]
    places = [range(0, n - size + 1, step) for n, size, step in zip(around.shape[2:], sizes, strides, strict=True)]
    result = np.zeros((len(x), len(weights), *map(len, places)))
    for at in np.ndindex(*result.shape[2:]):
        part = tuple(slice(place[k], place[k] + size) for place, k, size in zip(places, at, sizes, strict=True))
        result[(..., *at)] = np.tensordot(
            around[(slice(None), slice(None), *part)], weights, (range(1, x.ndim), range(1, x.ndim))
        )
    return result


def exponential(x: Any, axis: int) -> Any:
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


CASES: dict[str, tuple[Callable[..., Any], list[Any], Any]] = {
    "softmax": (lambda x: tl.softmax(x, axis=0), [KERNEL[0]], exponential(KERNEL[0], 0)),
    "softmax of large numbers": (lambda x: tl.softmax(x), [np.array([1e300, 1e300])], np.array([0.5, 0.5])),
    "log_softmax": (lambda x: tl.log_softmax(x), [KERNEL], np.log(exponential(KERNEL, -1))),
    "one_hot": (lambda i: tl.one_hot(i, 4), [np.array([[3, 0], [4, -1]])], np.eye(5)[[[3, 0], [4, 4]]][..., :4]),
    "segments from the last": (
        lambda x, i: tl.segment_sum(x, i, 3),
        [np.arange(3.0), np.array([-1, -3, -1])],
        np.array([1.0, 0.0, 2.0]),
    ),
    "segment_sum": (
        lambda x, i: tl.segment_sum(x, i, 3),
        [np.arange(8.0).reshape(4, 2), np.array([2, 0, 2, 2])],
        np.array([[2.0, 3.0], [0.0, 0.0], [10.0, 13.0]]),
    ),
    "pad": (
        lambda x: tl.pad(x, ((1, 0), (2, 2)), value=7),
        [np.arange(4).reshape(2, 2)],
        np.pad(np.arange(4).reshape(2, 2), ((1, 0), (2, 2)), constant_values=7),
    ),
    "windows": (
        lambda x: tl.windows(x, (2, 3), strides=(1, 2)),
        [IMAGES],
        np.lib.stride_tricks.sliding_window_view(IMAGES, (2, 3), (2, 3))[:, :, :, ::2],
    ),
    "conv of images": (
        lambda x, w: tl.conv(x, w),
        [IMAGES, WEIGHTS],
        convolve_by_loop(IMAGES, WEIGHTS, (1, 1), (0, 0)),
    ),
    "conv with strides": (
        lambda x, w: tl.conv(x, w, strides=(2, 1), padding=(1, 2)),
        [IMAGES, WEIGHTS],
        convolve_by_loop(IMAGES, WEIGHTS, (2, 1), (1, 2)),
    ),
    "conv of a signal": (
        lambda x, w: tl.conv(x, w, strides=2, padding=1),
        [SIGNAL, KERNEL],
        convolve_by_loop(SIGNAL, KERNEL, (2,), (1,)),
    ),
    "max_pool": (
        lambda x: tl.max_pool(x, (2, 2)),
        [IMAGES[..., :4, :]],
        IMAGES[..., :4, :].reshape(2, 3, 2, 2, 3, 2).max((3, 5)),
    ),
    "mean_pool": (
        lambda x: tl.mean_pool(x, (2,), strides=1),
        [SIGNAL],
        (SIGNAL[..., :-1] + SIGNAL[..., 1:]) / 2,
    ),
}


def near(made: Any, wanted: Any) -> bool:
    return bool(np.shape(made) == np.shape(wanted) and np.allclose(made, wanted, rtol=1e-12, atol=1e-12))


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    """Values are right eagerly, on plain values and on concrete arrays, and as a program, in float32 too."""
    function, arguments, expected = CASES[name]
    assert near(function(*arguments), expected) and near(function(*map(tl.asarray, arguments)), expected)
    assert near(tl.function(function)(*arguments), expected)
    narrow = [each.astype(np.float32) if each.dtype == np.float64 and each.max() < 1e30 else each for each in arguments]
    array = np.asarray(tl.function(function)(*narrow))
    assert np.allclose(array, expected, rtol=1e-4, atol=1e-4)


def test_v4_wrong_operands_are_refused() -> None:
    """V4: arrays that do not convolve, and wrong segments, are refused or trap."""
    for wrong in (
        lambda: tl.conv(IMAGES, KERNEL),
        lambda: tl.conv(IMAGES, DICE.normal(size=(4, 2, 3, 3))),
        lambda: tl.conv(IMAGES, DICE.normal(size=(4, 3, 7, 3))),
        lambda: tl.pad([1, 2], (-1,)),
        lambda: tl.windows([1, 2], (3,)),
        lambda: tl.softmax([1, 2]),
    ):
        with pytest.raises((tl.Invalid, tl.Usage)) as refused:
            wrong()
        assert "test_networks.py" in str(refused.value.where)
    with pytest.raises(tl.Trap, match="an index is out of range"):
        tl.segment_sum([1, 2], [0, 2], 2)
    for segments in ([0], [[0, 1]], [0, 1, 1], [0.0, 1.0], 0):
        with pytest.raises(tl.Invalid):
            tl.segment_sum([1, 2], segments, 2)


def test_s5_each_value_needs_a_segment() -> None:
    """S5: if types leave sizes open, a number of segments other than that of values traps, even one segment for all."""

    @tl.function
    def f(x: tl.Array[tl.float64, None], i: tl.Array[tl.int64, None]):  # type: ignore[no-untyped-def]
        return tl.segment_sum(x, i, 2)

    assert f(np.arange(3.0), np.array([1, 0, 1])).tolist() == [1.0, 2.0] and f(np.ones(0), np.ones(0, int)).sum() == 0
    for values, segments in ((1, 3), (3, 1), (3, 2), (0, 1), (1, 0)):
        assert f.run(np.ones(values), np.zeros(segments, int)).status == "Trapped"


OPENED = [
    ((2, None, 5, 6), (2, 3, 5, 6), (4, 3, 3, 2)),
    ((None, None, 5, 6), (2, 3, 5, 6), (4, 3, 3, 2)),
    ((None, None, None, None), (2, 3, 5, 6), (4, 3, 3, 2)),
    ((None, 3, None, 6), (2, 3, 5, 6), (4, 3, 3, 2)),
    ((None, None, 3), (1, 1, 3), (1, 1, 2)),
    ((None, 3, 7), (0, 3, 7), (2, 3, 2)),
    ((2, 0, 5), (2, 0, 5), (3, 0, 2)),
    ((None, 0, None), (2, 0, 5), (3, 0, 2)),
]


@pytest.mark.parametrize("dtype", [np.float64, np.int8])
@pytest.mark.parametrize(("open_", "shape", "weights"), OPENED, ids=str)
def test_convolutions_of_open_sizes(open_: Any, shape: Any, weights: Any, dtype: Any) -> None:
    """A convolution has the same result and dtype, whatever sizes the type leaves open."""
    x, w = (DICE.integers(-3, 4, each).astype(dtype) for each in (shape, weights))
    array = np.asarray(_convolution(open_, w)(x))
    assert array.dtype == dtype and near(
        array, convolve_by_loop(x, w, (1,) * (len(shape) - 2), (0,) * (len(shape) - 2))
    )


def _convolution(shape: tuple[int | None, ...], weights: Any) -> Any:
    def f(x):  # type: ignore[no-untyped-def]
        return tl.conv(x, weights)

    f.__annotations__["x"] = Type(dtypes.from_numpy(weights.dtype), shape)
    return tl.function(f)


def test_s5_channels_must_match() -> None:
    """S5: channels that do not match the weights trap if the type leaves them open; only places are padded."""
    for shape in ((None, None, 3), (1, None, 3), (None, None, None)):
        assert _convolution(shape, np.ones((1, 1, 2))).run(np.ones((1, 2, 3))).status == "Trapped"
    for options in ({"padding": (1, 0)}, {"strides": (1, 1)}, {"padding": ()}):
        with pytest.raises(tl.Usage, match="for each spatial axis"):
            tl.conv(np.ones((1, 1, 3)), np.ones((1, 1, 2)), **options)


def test_one_hot_compares_all_places() -> None:
    """Indices of any integer dtype are compared with all places, whatever their values; other dtypes are refused."""
    for dtype in dtypes.ALL:
        low, high = dtype.range if dtype.is_integer else (0, 1)
        for index in {low, high, 1, 44}:
            if not dtype.is_integer:
                with pytest.raises(tl.Invalid, match="indices must be integers"):
                    tl.one_hot(tl.asarray([index], dtype=dtype), 3)
                continue
            array = np.asarray(tl.one_hot(tl.asarray([index], dtype=dtype), 301))
            assert array.tolist() == [[float(place == index) for place in range(301)]]


ELEMENTS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@tl.function
def loops(x: tl.Array[tl.float64, None, 2], n: tl.int64):  # type: ignore[no-untyped-def]
    """A map of arrays to a number and an array, a scan, and a fold, nested."""
    sums, rows = tl.map(lambda row: (tl.foldl(lambda total, y: total + y, 0.0, row), row[::-1]), x)
    (last, count), before = tl.scan(lambda carried, y: ((y, carried[1] + n), carried), (-1.0, 0), sums)
    return sums, rows, last, count, before


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled"])
def test_loops(engine: str) -> None:
    """A map, a scan and a fold agree with Python loops on every engine, also for no elements."""
    outcome = loops.run(ELEMENTS, 10, engine=engine)
    sums, rows, last, count, (carried, counts) = outcome.value
    assert sums.tolist() == [3.0, 7.0, 11.0] and rows.tolist() == ELEMENTS[:, ::-1].tolist()
    assert (last, count) == (11.0, 30) and carried.tolist() == [-1.0, 3.0, 7.0] and counts.tolist() == [0, 10, 20]
    sums, rows, last, count, _ = loops.run(ELEMENTS[:0], 10, engine=engine).value
    assert (sums.shape, rows.shape, last, count) == ((0,), (0, 2), -1.0, 0)


def test_loops_eagerly() -> None:
    """Outside of a program they run eagerly, with the same results."""
    result = loops.run(ELEMENTS, 10).value
    sums, rows = tl.map(lambda row: (tl.foldl(lambda total, y: total + y, 0.0, row), row[::-1]), tl.asarray(ELEMENTS))
    assert np.array_equal(result[0], sums) and np.array_equal(result[1], rows)
    with pytest.raises(tl.Usage, match="without elements"):
        tl.map(lambda x: x, np.zeros(0))
    with pytest.raises(tl.Invalid, match="the arrays have different lengths"):
        tl.map(lambda x, y: x + y, [1, 2], [1, 2, 3])
    with pytest.raises(tl.Usage, match="does not return two results"):
        tl.scan(lambda carried, x: x, 0, [1])
    with pytest.raises(tl.Usage, match="arrays with axes"):
        tl.foldl(lambda carried, x: x, 0, 3)


@pytest.mark.full
def test_iterations_of_a_map_overlap() -> None:
    """The critical path of a map grows by the cost of counting for each iteration, and not by the cost of its
    function."""

    @tl.function
    def slow(x: tl.Array[tl.float64, None]):  # type: ignore[no-untyped-def]
        def halved(y):  # type: ignore[no-untyped-def]
            return tl.while_loop(lambda k, z: k < 20, lambda k, z: (k + 1, z / 2.0), 0, y)[1]

        return tl.map(halved, x)

    short, long = (slow.run(np.ones(count), engine="reference").stats for count in (2, 12))
    assert long.span - short.span < 10 * 8 < 10 * 20


def test_float32_stays_float32() -> None:
    """Results of float32 operands are float32."""
    x = tl.asarray([[1.0, 2.0]], dtype=dtypes.float32)
    results = (
        tl.softmax(x),
        tl.log_softmax(x),
        tl.pad(x, 1),
        tl.max_pool(x, 2),
        tl.mean_pool(x, 2),
        tl.map(abs, x),
    )
    assert {each.dtype for each in results} == {dtypes.float32}
