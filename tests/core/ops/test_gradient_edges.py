"""Gradients where difference quotients fail: at kinks, at zeros of products, and at infinite slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.twins.tape import RuleValue, Tape, pullback
from tagloom.core import dtypes
from tagloom.core.value import admit

INF, NAN = float("inf"), float("nan")


def gradient(function: Any, *values: Any) -> list[Any]:
    """The gradient of the sum of a result's elements."""
    tape, given = Tape(), [RuleValue(admit(np.asarray(value, float))) for value in values]
    total = tape("sum", function(tape, *given), axis=None, keepdims=False)
    return [np.asarray(each.value).tolist() for each in pullback(tape, [total], [RuleValue(1.0)], given)]


def of(op: str, *values: Any, **attributes: Any) -> list[Any]:
    return gradient(lambda do, *given: do(op, *given, **attributes), *values)


def hessian(function: Any, x: Any) -> Any:
    tape, given = Tape(), RuleValue(admit(np.asarray(x, float)))
    (first,) = pullback(tape, [function(tape, given)], [RuleValue(1.0)], [given])
    units = np.eye(np.size(x)).reshape(-1, *np.shape(x))
    rows = [pullback(tape, [first], [RuleValue(admit(unit))], [given])[0].value for unit in units]
    return np.reshape(rows, (np.size(x), -1)).tolist()


def test_ties_are_shared() -> None:
    """Each of two equal operands has half of the slope; several equal maxima have equal shares."""
    assert of("maximum", 2.0, 2.0) == of("minimum", 2.0, 2.0) == [0.5, 0.5]
    assert of("maximum", [1.0, 3.0], [2.0, 3.0]) == [[0.0, 0.5], [1.0, 0.5]]
    assert of("max", [2.0, 5.0, 5.0, 1.0], axis=None, keepdims=False) == [[0.0, 0.5, 0.5, 0.0]]
    assert of("min", [[3.0, 3.0, 3.0], [1.0, 2.0, 1.0]], axis=1, keepdims=True) == [[[1 / 3] * 3, [0.5, 0.0, 0.5]]]


def test_kinks() -> None:
    """abs, copysign and hypot have slope 0 at 0; sorting keeps the order of equal elements."""
    assert of("abs", [0.0, -0.0, -2.0, 2.0]) == [[0.0, 0.0, -1.0, 1.0]]
    assert of("copysign", [0.0, 2.0, -2.0], [1.0, -1.0, -0.0]) == [[0.0, -1.0, 1.0], [0.0] * 3]
    assert of("hypot", [0.0, 3.0], [0.0, 4.0]) == [[0.0, 0.6], [0.0, 0.8]]
    weights = admit([1.0, 10.0, 100.0])

    def weighted(do: Any, x: Any) -> Any:
        return do("multiply", do("sort", x, axis=0, descending=False), RuleValue(weights))

    assert gradient(weighted, [2.0, 1.0, 1.0]) == [[100.0, 1.0, 10.0]]


def test_logaddexp_overflows_nowhere() -> None:
    """The slopes for numbers that are far apart, or infinite, are 0 and 1."""
    assert of("logaddexp", [1e4, 0.0, -INF, INF], [0.0, 1e4, 0.0, 0.0]) == [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]


def test_atan2_overflows_nowhere() -> None:
    assert of("atan2", 1e200, 1e200) == [5e-201, -5e-201]


@pytest.mark.parametrize(
    ("x", "y", "slopes"),
    [
        (0.0, 0.0, [0.0, 0.0]),
        (0.0, 1.0, [1.0, 0.0]),
        (0.0, 2.0, [0.0, 0.0]),
        (0.0, 0.5, [INF, 0.0]),
        (-2.0, 3.0, [12.0, NAN]),
        (-2.0, 0.0, [0.0, NAN]),
        (1.0, 5.0, [5.0, 0.0]),
    ],
)
def test_slopes_of_powers(x: float, y: float, slopes: list[float]) -> None:
    """A base of 0 has the slope of its power, and none along the exponent; a negative base has no slope along the
    exponent."""
    np.testing.assert_equal(of("pow", x, y), slopes)


def test_second_slope_of_powers() -> None:
    """Second slopes of a square at 0, and of a cube of a negative number, are those of products."""
    assert hessian(lambda do, x: do("pow", x, 2.0), 0.0) == [[2.0]]
    assert hessian(lambda do, x: do("pow", x, 3.0), -2.0) == [[-12.0]]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        ([2.0, 0.0, 4.0], [0.0, 8.0, 0.0]),
        ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0]),
        ([], []),
    ],
)
def test_products_with_zeros(x: list[float], expected: list[float]) -> None:
    """The slope of each factor is the product of the others, even with zeros among them."""
    assert of("prod", x, axis=None, keepdims=False) == [expected]
    assert of("prod", [x, x], axis=1, keepdims=True) == [[expected, expected]]


def test_second_slopes_of_products_with_zeros() -> None:
    """The second slope by two factors is the product of all others."""
    assert hessian(lambda do, x: do("prod", x, axis=None, keepdims=False), [0.0, 0.0, 4.0]) == [
        [0.0, 4.0, 0.0],
        [4.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
    ]


def test_cumulative_products_with_zeros() -> None:
    """The gradient is right for x, xy, xyz and for their sum."""
    assert of("cumulative_prod", [2.0, 0.0, 3.0], axis=0) == [[1.0, 2.0 + 2.0 * 3.0, 0.0]]
    assert of("cumulative_prod", [0.0, 0.0, 3.0], axis=0) == [[1.0, 0.0, 0.0]]


def rooted(do: Any, x: Any) -> Any:
    return do("where", do("greater", x, 0.0), do("multiply", 3.0, do("sqrt", x)), 0.0)


def test_unchosen_branches_add_nothing() -> None:
    """An adjoint of 0 remains 0, whatever the slope, such as that of sqrt at 0, which is infinite; to second order
    too."""
    assert gradient(rooted, [0.0, -1.0, 4.0]) == [[0.0, 0.0, 0.75]]
    assert hessian(lambda do, x: do("sum", rooted(do, x), axis=None, keepdims=False), [0.0, -1.0, 4.0]) == [
        [0.0] * 3,
        [0.0] * 3,
        [0.0, 0.0, -0.09375],
    ]
    assert of("sqrt", [0.0, 4.0]) == [[INF, 0.25]]


OF_TWO = ("divide", "pow", "atan2", "hypot")
OF_ONE = ("sqrt", "log", "log2", "log10", "log1p", "asin", "acos", "acosh", "atanh")


@pytest.mark.inner(first=13)
@pytest.mark.parametrize("op", OF_ONE + OF_TWO)
@pytest.mark.parametrize("x", [0.0, 1.0, -1.0, INF, NAN])
def test_an_adjoint_of_zero_stays_zero(op: str, x: float) -> None:
    """This holds for all ops with infinite or missing slopes."""
    tape = Tape()
    operands = [RuleValue(x), RuleValue(0.0)][: 2 if op in OF_TWO else 1]
    back = pullback(tape, [tape(op, *operands)], [RuleValue(0.0)], operands)
    assert [each.value for each in back] == [0.0] * len(operands)


def test_third_order_of_unchosen_branches() -> None:
    """An infinite adjoint of an unchosen value does not turn zeros into NaN."""
    tape, x, w = Tape(), RuleValue(0.0), RuleValue(3.0)
    root = tape("multiply", w, tape("sqrt", x))
    given = [tape("where", tape("greater", x, 0.0), root, 0.0)]
    for _ in range(3):
        given = pullback(tape, given, [RuleValue(1.0)] * len(given), [x, w])
        assert [each.value for each in given] == [0.0, 0.0]


def test_equal_indices_and_values() -> None:
    """Adjoints of elements taken twice are added; of values put twice, only the last one counts; of equal values, the
    first one does."""
    tape, x, at = Tape(), RuleValue(admit([1.0, 2.0, 3.0])), RuleValue(admit([0, 2, 0]))
    (taken,) = pullback(tape, [tape("take", x, at, axis=0)], [RuleValue(admit([1.0, 10.0, 100.0]))], [x])
    assert taken.value.tolist() == [101.0, 0.0, 10.0]
    values = RuleValue(admit([4.0, 5.0, 6.0]))
    put = pullback(tape, [tape("scatter", x, values, at)], [RuleValue(admit([1.0, 10.0, 100.0]))], [x, values])
    assert [each.value.tolist() for each in put] == [[0.0, 10.0, 0.0], [0.0, 100.0, 1.0]]
    assert of("unique_values", [3.0, 1.0, 3.0]) == [[1.0, 1.0, 0.0]]


def test_equal_eigenvalues_have_slopes() -> None:
    """Whatever eigenvectors are found, the sum of the slopes of an identity's eigenvalues is that of the trace."""
    assert of("eigvalsh", np.eye(2)) == [[[1.0, 0.0], [0.0, 1.0]]]


def test_integers_have_no_adjoint() -> None:
    """Integers have no adjoint, even if they were converted from floats."""
    tape, x = Tape(), RuleValue(2.5)
    result = tape("astype", tape("astype", x, dtype=dtypes.int64), dtype=dtypes.float64)
    assert pullback(tape, [result], [RuleValue(1.0)], [x])[0].value == 0.0


@pytest.mark.full
def test_scatters_of_equal_and_of_zero_factors() -> None:
    """An extremum shares its adjoint among all that are equal to it, and NaN has none; the slopes of a product are the
    other factors, to second order, zeros among them."""
    x, values, at = np.array([2.0, 1.0, np.nan]), np.array([2.0, 2.0, 5.0, 5.0, 1.0]), np.array([0, 0, 1, 1, 2])
    largest = tl.function(lambda a, b: tl.sum(tl.scatter_max(a, b, at)))
    along_x, along_values = tl.grad(largest, (0, 1))(x, values)
    np.testing.assert_allclose(np.asarray(along_x), [1 / 3, 0.0, 0.0])
    np.testing.assert_allclose(np.asarray(along_values), [1 / 3, 1 / 3, 0.5, 0.5, 0.0])
    factors, one_place = np.array([0.0, 3.0, 0.0]), np.array([0, 0, -1])
    product = tl.function(lambda a, b: tl.sum(tl.scatter_mul(a, b, one_place)))
    along_x, along_factors = tl.grad(product, (0, 1))(np.array([7.0]), factors)
    np.testing.assert_array_equal(np.asarray(along_x), [0.0])
    np.testing.assert_array_equal(np.asarray(along_factors), [0.0, 0.0, 0.0])
    slope = tl.function(lambda b: tl.index(tl.grad(product, 1)(np.array([7.0]), b), "0"))
    np.testing.assert_array_equal(np.asarray(tl.grad(slope)(factors)), [0.0, 0.0, 21.0])
