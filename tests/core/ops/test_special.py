"""Special functions, bits and triangular equations: they agree with SciPy, and are right at their edges."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.ops import special

INF, NAN = math.inf, math.nan
NUMBERS = np.concatenate(
    [np.random.default_rng(0).uniform(-30, 40, 4000), np.geomspace(1e-300, 1e300, 400), np.linspace(0.5, 2.6, 400)]
)
"""Some of them near zeros of lgamma and digamma."""


@pytest.mark.parametrize(
    ("name", "theirs", "bound"),
    [
        ("cbrt", scipy.special.cbrt, 1e-15),  # the last bits of both depend on the processor
        ("erf", scipy.special.erf, 1e-15),
        ("erfc", scipy.special.erfc, 2e-15),
        ("lgamma", scipy.special.gammaln, 2e-15),
        ("digamma", scipy.special.digamma, 2e-15),
    ],
)
def test_functions_agree_with_scipy(name: str, theirs: Any, bound: float) -> None:
    """They agree with SciPy relative to their size, or to 1 if that is less, except erfc: near zeros both err."""
    expected, array = theirs(NUMBERS), np.asarray(getattr(tl, name)(NUMBERS))
    size = np.abs(expected) if name == "erfc" else np.maximum(np.abs(expected), 1.0)
    normal = (NUMBERS < 26) | (name != "erfc")  # beyond SciPy's is 0
    near_poles = (NUMBERS < 0) & (np.abs(NUMBERS - np.round(NUMBERS)) < 1e-3)
    slack = 50 if name == "digamma" else 1  # SciPy's of negative numbers
    slack = slack + np.minimum(np.abs(NUMBERS), 30) ** 2 * (name == "erfc")  # as exp(-x * x) is off
    wrong = np.abs(array - expected) > bound * slack * size
    assert not np.any(wrong & normal & ~near_poles), NUMBERS[wrong & normal & ~near_poles]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 30, 170])
def test_polygamma_agrees_with_scipy(n: int) -> None:
    """It is SciPy's above 0, and follows the recurrence below."""
    x = np.concatenate([np.linspace(0.3, 3, 50), np.geomspace(3, 60, 50)])
    with np.errstate(all="ignore"):
        expected = scipy.special.polygamma(n, x)
        there = np.isfinite(expected) & (np.abs(expected) > 1e-290)
    array = np.asarray(tl.polygamma(float(n), x))
    near = 4e-15 * (n + 4) * np.maximum(np.abs(expected), 1.0 if n == 0 else 0.0)
    assert np.all(np.abs(array[there] - expected[there]) <= near[there])
    for start in (-0.4, -3.7, -9.3) if n < 100 else ():
        step = -((-1.0) ** (n + 1)) * math.factorial(n) / start ** (n + 1)
        one, other = tl.polygamma(float(n), start), tl.polygamma(float(n), start + 1.0)
        assert math.isclose(other, one + step, rel_tol=1e-12 * (n + 4), abs_tol=1e-12 * abs(step))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("cbrt", [0.0, -0.0, -8.0, INF, -INF, NAN], [0.0, -0.0, -2.0, INF, -INF, NAN]),
        ("erf", [0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, 1.0, -1.0, NAN]),
        ("erfc", [0.0, 30.0, INF, -INF, NAN], [1.0, 0.0, 0.0, 2.0, NAN]),
        ("lgamma", [1.0, 2.0, 0.0, -0.0, -1.0, -1e300, INF, -INF, NAN], [0.0, 0.0, INF, INF, INF, INF, INF, INF, NAN]),
        ("digamma", [0.0, -0.0, -1.0, -1e300, INF, -INF, NAN, 5e-324], [NAN, NAN, NAN, NAN, INF, NAN, NAN, -INF]),
    ],
)
def test_values_at_poles_zeros_and_infinities(name: str, values: list[float], expected: list[float]) -> None:
    """Poles, zeros and infinities have these values."""
    results = [getattr(tl, name)(value) for value in values]
    np.testing.assert_equal([results, np.asarray(getattr(tl, name)(values)).tolist()], [expected, expected])


def test_edges_of_polygamma() -> None:
    """Invalid orders give NaN; a pole is infinite if both sides are."""
    for n, x, expected in [
        *((n, 1.0, NAN) for n in (0.5, -1.0, 171.0, INF, NAN)),
        *((1.0, x, INF) for x in (0.0, -0.0, -3.0)),
        *((2.0, x, NAN) for x in (0.0, -3.0, -INF, NAN)),
        (1.0, INF, 0.0), (2.0, INF, -0.0), (1.0, 1e300, 1e-300), (0.0, 1.0, special.digamma(1.0)),
    ]:  # fmt: skip
        np.testing.assert_equal(tl.polygamma(n, x), expected)


@pytest.mark.full
def test_lgamma_has_derivatives_of_any_order() -> None:
    """Each derivative is the next function, to any order."""
    function, x = tl.lgamma, 2.3
    for order in range(-1, 4):
        expected = tl.lgamma(x) if order < 0 else tl.digamma(x) if order == 0 else tl.polygamma(float(order), x)
        assert math.isclose(function(x), expected, rel_tol=1e-14)
        function = tl.grad(function)


def test_bitcast_agrees_with_numpy_views() -> None:
    """Bits are those of NumPy's views, for every pair of dtypes of one size; other pairs are refused."""
    bits = np.random.default_rng(1).integers(0, 2**63, 50, np.uint64)
    for one, other in product(dtypes.ALL, repeat=2):
        x = bits.view(one.numpy)[:50] if one.kind != "b" else np.ones(3, bool)
        if one.kind == "b" or other.kind == "b" or one.bits != other.bits:
            with pytest.raises(tl.Invalid, match="bits of"):
                tl.bitcast(x, other)
            continue
        x = np.where(np.isnan(x), x.dtype.type(1), x) if one.kind == "f" else x
        array = np.asarray(tl.bitcast(tl.asarray(x), other))
        expected = x.view(other.numpy)
        assert array.dtype == expected.dtype and np.array_equal(array, expected, equal_nan=other.kind == "f")
        for value, element in zip(x[:8], expected[:8], strict=True):
            np.testing.assert_equal(np.asarray(tl.bitcast(value, other), other.numpy), element)
    assert tl.grad(lambda x: tl.bitcast(tl.bitcast(x, tl.int64), tl.float64) + x)(1.5) == 1.0


@pytest.mark.parametrize(("lower", "transpose_a", "unit"), list(product((False, True), repeat=3)))
def test_triangular_solve_agrees_with_scipy(lower: bool, transpose_a: bool, unit: bool) -> None:
    """It is SciPy's for one matrix or a stack, for vectors and matrices; only one triangle is read."""
    dice = np.random.default_rng(2)
    a, how = dice.normal(size=(3, 4, 4)) / 4 + 2 * np.eye(4), {"lower": lower, "unit_diagonal": unit}
    read = np.where(np.tri(4, dtype=bool) if lower else np.tri(4, dtype=bool).T, a, NAN)
    solve = tl.linalg.triangular_solve
    for b in (dice.normal(size=4), dice.normal(size=(4, 2)), dice.normal(size=(3, 4, 2)), np.zeros((4, 0))):
        expected = [
            scipy.linalg.solve_triangular(each, b[k] if b.ndim == 3 else b, trans=int(transpose_a), **how)
            for k, each in enumerate(a)
        ]
        assert np.allclose(solve(read, b, transpose_a=transpose_a, **how), expected, rtol=1e-13)
    half = np.asarray(solve(a.astype(np.float32), np.ones(4, np.float32), transpose_a=transpose_a, **how))
    assert half.dtype == np.float32


def test_edges_of_triangular_solve() -> None:
    """A zero on the diagonal traps, unless it counts as 1; NaN and infinities propagate; wrong sizes are refused."""
    solve = tl.linalg.triangular_solve
    with pytest.raises(tl.Trap, match="the matrix is singular"):
        solve([[1.0, 2.0], [0.0, 0.0]], [1.0, 2.0])
    assert solve([[1.0, 2.0], [0.0, 0.0]], [1.0, 2.0], unit_diagonal=True).tolist() == [-3.0, 2.0]
    np.testing.assert_equal(np.asarray(solve([[1.0, 2.0], [0.0, 1.0]], [1.0, NAN])), [NAN, NAN])
    np.testing.assert_equal(np.asarray(solve([[2.0, 0.0], [0.0, INF]], [4.0, 1.0])), [2.0, 0.0])
    assert solve(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
    with pytest.raises(tl.Invalid, match="make no equations"):
        solve(np.eye(2), np.ones(3))
    with pytest.raises(tl.Invalid, match="is not a bool"):
        solve(np.eye(2), np.ones(2), lower=1)
    with pytest.raises(TypeError):
        solve(np.eye(2), np.ones(2), True)  # type: ignore[misc]


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_engines_agree_with_eager_functions(engine: str) -> None:
    """Every engine gives the bits of the eager functions, for numbers and arrays."""
    x = np.array([0.3, 1.4, 2.5, 7.0, 33.0, -2.5, -0.1])

    def every(x: Any) -> Any:
        as_bits = tl.bitcast(tl.bitcast(x, tl.uint64) + np.uint64(1), tl.float64)
        return tl.erf(x), tl.erfc(x), tl.lgamma(x), tl.digamma(x), tl.polygamma(2, x), tl.cbrt(x), as_bits

    for given in (x, x[0].item(), x[5].item()):
        result = tl.function(every).run(given, engine=engine).value
        for one, other in zip(result, every(given), strict=True):
            near = 4 * np.finfo(float).eps if one is result[5] else 0.0  # NumPy's cube roots
            np.testing.assert_allclose(one, other, rtol=near, atol=0)


@pytest.mark.parametrize("shapes", [((),), ((0, 3),), ((300, 100),), ((2, 1), (3,)), ((9000, 1), (4,)), ((0, 1), (5,))])
def test_functions_of_floats_take_arrays_in_pieces(shapes: tuple[tuple[int, ...], ...]) -> None:
    """The pieces make up what one call returns, whatever the shapes, and none is too large to be waited for."""
    sizes: list[int] = []

    def ufunc(*inputs: Any) -> Any:
        sizes.append(np.broadcast(*inputs).size)
        return np.add.reduce(inputs)

    operands = [np.random.default_rng(0).random(shape) for shape in shapes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "frompyfunc", lambda function, inputs, outputs: ufunc)
        compute = special.elementwise_loop(math.erf, len(shapes))
    expected = sum(operands)
    np.testing.assert_array_equal(compute(*operands), expected)
    assert sum(sizes) == np.size(expected) and all(size <= special.PIECE_ELEMENTS for size in sizes)
