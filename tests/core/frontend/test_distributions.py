"""Draws of further distributions: they fit their distributions, are the same on every engine and schedule, and have
gradients where there are any."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
import scipy
import tagloom as tl
from tagloom.core.value import is_same_value

COUNT = 4000
Distribution: TypeAlias = tuple[Any, ...]
Fit: TypeAlias = tuple[Callable[..., Any], Distribution, Distribution]
CONTINUOUS: dict[str, Fit] = {
    "uniform": (tl.uniform, ("uniform",), ("uniform", 0.0, 1.05)),
    "normal": (tl.normal, ("norm",), ("norm", 0.1)),
    "exponential": (tl.exponential, ("expon",), ("expon", 0.0, 1.15)),
    "gumbel": (tl.gumbel, ("gumbel_r",), ("gumbel_l",)),
    "laplace": (tl.laplace, ("laplace",), ("norm", 0.0, math.sqrt(2.0))),
    "gamma of 0.2": (lambda n: tl.gamma(0.2, n), ("gamma", 0.2), ("gamma", 1.2)),
    "gamma of 0.01": (lambda n: tl.gamma(0.01, n), ("gamma", 0.01), ("gamma", 0.012)),
    "gamma of 10,000": (lambda n: tl.gamma(1e4, n), ("gamma", 1e4), ("gamma", 1e4 + 10)),
    "gamma of 1": (lambda n: tl.gamma(1, n), ("gamma", 1.0), ("gamma", 1.1)),
    "gamma of 40": (lambda n: tl.gamma(40.0, n), ("gamma", 40.0), ("norm", 40.0, math.sqrt(40.0))),
    "truncated normal": (lambda n: tl.truncated_normal(-1, 2, n), ("truncnorm", -1, 2), ("uniform", -1, 3)),
    "upper tail": (
        lambda n: tl.truncated_normal(12.0, tl.inf, n),
        ("truncnorm", 12, np.inf),
        ("expon", 12, 1 / 10),
    ),
    "lower tail": (
        lambda n: tl.truncated_normal(-tl.inf, -30.0, n),
        ("truncnorm", -np.inf, -30),
        ("truncnorm", -np.inf, -29.9),
    ),
    "narrow normal": (lambda n: tl.truncated_normal(0.5, 0.50001, n), ("uniform", 0.5, 1e-5), ("uniform", 0.5, 1.1e-5)),
    "whole normal": (lambda n: tl.truncated_normal(-tl.inf, tl.inf, n), ("norm",), ("norm", 0.1)),
}
"""Draws of n numbers, and the names and parameters in scipy.stats of their distribution and of one that is near."""
DISCRETE: dict[str, Fit] = {
    "bernoulli": (lambda n: tl.astype(tl.bernoulli(0.3, n), tl.int64), ("bernoulli", 0.3), ("bernoulli", 0.35)),
    "bernoulli of 0.002": (
        lambda n: tl.astype(tl.bernoulli(0.002, n), tl.int64),
        ("bernoulli", 0.002),
        ("bernoulli", 0.01),
    ),
    "integers": (lambda n: tl.integers(-3, 4, n), ("randint", -3, 4), ("randint", -3, 5)),
    "integers to 10^12": (lambda n: tl.integers(0, 10**12, n), ("randint", 0, 10**12), ("randint", 0, 11 * 10**11)),
    "places in a permutation": (tl.permutation, ("randint", 0, COUNT), ("randint", 0, COUNT + 500)),
    "poisson of 0.01": (lambda n: tl.poisson(0.01, n), ("poisson", 0.01), ("poisson", 0.02)),
    "poisson of 1,000,000": (lambda n: tl.poisson(1e6, n), ("poisson", 1e6), ("poisson", 1e6 + 200)),
    "poisson of 0.7": (lambda n: tl.poisson(0.7, n), ("poisson", 0.7), ("poisson", 0.8)),
    "poisson of 9.9": (lambda n: tl.poisson(9.9, n), ("poisson", 9.9), ("poisson", 10.3)),
    "poisson of 10": (lambda n: tl.poisson(10, n), ("poisson", 10), ("nbinom", 40, 0.8)),
    "poisson of 300": (lambda n: tl.poisson(300.0, n), ("poisson", 300.0), ("poisson", 302.0)),
}


def of_scipy(name: str, *parameters: float) -> Any:
    """A distribution of scipy.stats, which is imported when it is first read: that takes two seconds."""
    return getattr(scipy.stats, name)(*parameters)


def draws(draw: Callable[..., Any], seed: int = 5) -> Any:
    return np.asarray(tl.function(lambda: draw(COUNT)).run(seed=seed).value)


def chi_square(numbers: Any, distribution: Any) -> float:
    """The probability of a chi-square statistic as large as that of the numbers, in classes of 5 expected or more."""
    edges = np.unique(distribution.ppf(np.linspace(0.0, 1.0, 24)[1:-1]))
    shares = np.diff(distribution.cdf(np.array([-np.inf, *edges, np.inf])))
    counts = np.bincount(np.searchsorted(edges, numbers), minlength=len(shares))
    common = shares * len(numbers) >= 5
    statistic = np.sum((counts - shares * len(numbers))[common] ** 2 / (shares * len(numbers))[common])
    return float(scipy.stats.chi2(max(int(np.sum(common)) - 1, 1)).sf(statistic))


@pytest.mark.full
@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_fit_their_distribution(name: str) -> None:
    """Kolmogorov and Smirnov's test accepts the distribution, and rejects one that is near."""
    draw, *names = CONTINUOUS[name]
    distribution, other = (of_scipy(*each) for each in names)
    numbers = draws(draw)
    assert numbers.dtype == np.float64 and numbers.shape == (COUNT,) and np.isfinite(numbers).all()
    assert scipy.stats.kstest(numbers, distribution.cdf).pvalue > 0.005
    assert scipy.stats.kstest(numbers, other.cdf).pvalue < 0.005


@pytest.mark.full
@pytest.mark.parametrize("name", DISCRETE)
def test_counts_fit_their_distribution(name: str) -> None:
    """The chi-square test accepts the distribution, and rejects one that is near."""
    draw, *names = DISCRETE[name]
    distribution, other = (of_scipy(*each) for each in names)
    numbers = draws(draw)
    assert numbers.dtype == np.int64 and numbers.shape == (COUNT,)
    assert chi_square(numbers, distribution) > 0.005
    assert chi_square(numbers, other) < 0.005


def test_categorical_draws_have_their_probabilities() -> None:
    """Index k has a probability proportional to exp(logits[k]), along any axis; -inf is never drawn."""
    logits = np.array([[0.0, 1.0], [-np.inf, 2.0], [1.0, 0.5]])
    indices = np.asarray(tl.function(lambda: tl.categorical(logits, axis=0, shape=COUNT)).run(seed=2).value)
    assert indices.shape == (COUNT, 2) and indices.dtype == np.int64
    for column in range(2):
        shares = scipy.special.softmax(logits[:, column]) * COUNT
        counts = np.bincount(indices[:, column], minlength=3)
        assert counts[shares == 0].sum() == 0
        assert scipy.stats.chisquare(counts[shares > 0], shares[shares > 0]).pvalue > 0.005
    rows = tl.categorical(tl.asarray(logits), shape=(4, 5))
    assert np.shape(rows) == (4, 5, 3)


@tl.function
def everything(alpha: tl.Array[tl.float64, 3], rate: tl.Array[tl.float64, 3]):  # type: ignore[no-untyped-def]
    return (
        tl.exponential(),
        tl.gumbel(2),
        tl.laplace(2),
        tl.bernoulli(0.5, (2, 2)),
        tl.categorical(alpha),
        tl.truncated_normal(alpha, alpha + 1.0),
        tl.gamma(alpha),
        tl.poisson(rate),
    )


ALPHA, RATE = np.array([0.3, 1.0, 7.5]), np.array([0.4, 9.0, 80.0])
GOLDEN = [
    0.6679964714124792, [-0.4259771935364389, -0.6530748808361269], [0.15882163584395903, -0.5565268298860364],
    [[False, True], [True, False]], 2, [1.157936821762191, 1.552064622068013, 7.659290262837468],
    [0.35751285459802856, 0.2587350779119507, 10.757125404530411], [0, 4, 68],
]  # fmt: skip
"""The numbers of seed 0, which never change, but for the last bits of logarithms: NumPy has others on processors with
AVX-512."""


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "reference", "schedule": "random:3"},
        {"engine": "reference", "schedule": "lifo"},
        pytest.param({"engine": "fast"}, marks=pytest.mark.heavy),
        pytest.param({"engine": "compiled"}, marks=pytest.mark.heavy),
    ],
    ids=str,
)
def test_s15_engines_and_schedules_draw_the_same(options: dict[str, Any]) -> None:
    """S15: the numbers are the same, bit for bit, on every engine and under every schedule, and never change."""
    results = everything.run(ALPHA, RATE, **options).results
    for result, other, golden in zip(results, everything.run(ALPHA, RATE).results, GOLDEN, strict=True):
        assert is_same_value(result, other)
        np.testing.assert_allclose(np.asarray(result), golden, rtol=1e-15)
    again = everything.run(ALPHA, RATE, seed=1, **options).results
    assert all(np.asarray(x).tolist() != y for x, y in zip(again[1:3], GOLDEN[1:3], strict=True))


def test_generators_repeat() -> None:
    """A generator of the same seed draws the same; outside functions `set_seed` restarts the draws."""
    sources: tuple[Callable[..., Any], ...] = (
        lambda g: tl.gamma(2.0, (3,), generator=g),
        lambda g: tl.poisson(300.0, (3,), generator=g),
        lambda g: tl.exponential(3, generator=g),
    )
    for draw in sources:
        first, again, other = (np.asarray(draw(tl.Generator(seed))) for seed in (4, 4, 5))
        assert np.array_equal(first, again) and not np.array_equal(first, other)
    tl.set_seed(3)
    before = np.asarray(tl.gamma(0.5, 4))
    tl.set_seed(3)
    np.testing.assert_array_equal(np.asarray(tl.gamma(0.5, 4)), before)


@pytest.mark.parametrize("bounds", [(-1.0, 2.0), (0.5, 0.75), (-9.0, -8.0), (3.0, math.inf), (7.0, 9.0)])
def test_gradients_of_truncated_normals(bounds: tuple[float, float]) -> None:
    """A draw x is the quantile of a fixed share between the bounds: its slopes are the ratios of densities, times the
    share that lies on the other side."""
    low, high = bounds
    draw, slopes = tl.value_and_grad(tl.function(lambda a, b: tl.truncated_normal(a, b)), (0, 1))(*bounds)
    tail = scipy.stats.norm.cdf if low < 0 else scipy.stats.norm.sf
    above = (tail(draw) - tail(high)) / (tail(low) - tail(high))
    density = scipy.stats.norm.pdf(draw)
    assert math.isclose(float(slopes[0]), above * scipy.stats.norm.pdf(low) / density, rel_tol=1e-6)
    assert math.isclose(
        float(slopes[1]), (1.0 - above) * scipy.stats.norm.pdf(high) / density, rel_tol=1e-6, abs_tol=1e-12
    )


def test_d1_the_gradient_of_a_rejected_draw_is_refused() -> None:
    """D1: a gamma draw has no gradient with respect to its parameter, in a program and on a tape; its factors have."""
    with pytest.raises(tl.Invalid, match="a value without a derivative is differentiated") as refused:
        tl.grad(tl.function(lambda a: tl.gamma(a) * 2.0))(2.0)
    assert refused.value.rule == "D1"
    with pytest.raises(tl.Invalid, match="D1"):
        tl.grad(lambda a: tl.gamma(a))(2.0)
    assert tl.grad(tl.function(lambda a: a * tl.stop_gradient(tl.gamma(a))))(2.0) > 0.0


def test_edges_of_parameters() -> None:
    """Parameters at the edge, or outside, give what the documentation says; shapes that do not fit are refused."""
    edges = np.array([-1.0, 0.0, math.inf, math.nan])
    np.testing.assert_array_equal(np.asarray(tl.gamma(edges)), [math.nan, 0.0, math.inf, math.nan])
    np.testing.assert_array_equal(np.asarray(tl.poisson(edges)), [-1, 0, -1, -1])
    np.testing.assert_array_equal(np.asarray(tl.bernoulli(edges)), [False, False, True, False])
    assert float(tl.truncated_normal(2.0, 1.0)) in (1.0, 2.0)
    assert np.shape(tl.gamma(np.ones((0, 2)))) == (0, 2) and np.shape(tl.poisson(2.0, (3, 0))) == (3, 0)
    for wrong in (
        lambda: tl.gamma(True),
        lambda: tl.gamma([1.0, 2.0], (3,)),
        lambda: tl.poisson(1.0, -1),
        lambda: tl.gumbel((1, None)),
        lambda: tl.exponential(generator=3),  # type: ignore[arg-type]
        lambda: tl.categorical([1, 2]),
        lambda: tl.categorical(1.0),
        lambda: tl.categorical([]),
        lambda: tl.truncated_normal([0.0, 1.0], [1.0, 2.0, 3.0]),
    ):
        with pytest.raises((tl.Invalid, tl.Usage)) as refused:
            wrong()
        assert "test_distributions.py" in str(refused.value.where)


def test_quantiles_are_scipys() -> None:
    """ndtri is within 8 ulp of SciPy's, in both tails, and in float32; it inverts the distribution."""
    p = np.concatenate([np.logspace(-300, -1, 300), np.linspace(0.01, 0.99, 300), 1 - np.logspace(-15, -1, 50)])
    expected = scipy.special.ndtri(p)
    assert np.max(np.abs(np.asarray(tl.ndtri(p)) - expected) / np.spacing(np.abs(expected) + 1e-3)) <= 8
    np.testing.assert_array_equal(np.asarray(tl.ndtri([0.0, 1.0, 0.5])), [-math.inf, math.inf, 0.0])
    assert np.isnan(np.asarray(tl.ndtri([-0.1, 1.1, math.nan]))).all()


SIZED: dict[str, Callable[[Any, Any, tl.Generator], Any]] = {
    "exponential": lambda n, x, g: tl.exponential(n, generator=g),
    "gumbel": lambda n, x, g: tl.gumbel((n, 2), generator=g),
    "laplace": lambda n, x, g: tl.laplace((2, n), generator=g),
    "bernoulli": lambda n, x, g: tl.bernoulli(x, generator=g),
    "bernoulli of a shape": lambda n, x, g: tl.bernoulli(0.5, (n,), generator=g),
    "categorical": lambda n, x, g: tl.categorical(x, shape=(2,), generator=g),
    "categorical of a shape": lambda n, x, g: tl.categorical(x, shape=n, generator=g),
    "truncated normal": lambda n, x, g: tl.truncated_normal(-1.0, x, generator=g),
    "truncated normal of two": lambda n, x, g: tl.truncated_normal(tl.negative(x), x, generator=g),
    "gamma": lambda n, x, g: tl.gamma(x, generator=g),
    "gamma of a shape": lambda n, x, g: tl.gamma(2.0, n, generator=g),
    "poisson": lambda n, x, g: tl.poisson(x, generator=g),
    "poisson of a shape": lambda n, x, g: tl.poisson(20.0, (n,), generator=g),
}


def sized_draw(draw: Callable[..., Any], x: Any, engine: str) -> Any:
    """A draw of three numbers, or for the first three elements of x, whose number is known only at run time."""
    generator = tl.Generator(7)

    @tl.function
    def sized(n: tl.int64, x: tl.Array[tl.float64, None]) -> Any:
        return draw(n, x[:n], generator)

    return np.asarray(sized.run(3, x, engine=engine).value)


def static_draw(draw: Callable[..., Any], x: Any) -> Any:
    """The same draw with static sizes."""
    generator = tl.Generator(7)
    return np.asarray(tl.function(lambda: draw(3, tl.asarray(x[:3]), generator)).run(engine="reference").value)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", SIZED)
def test_sizes_may_be_known_to_the_run_only(name: str) -> None:
    """Shapes and parameters whose sizes are known only at run time give the draws of static ones."""
    x = np.linspace(0.2, 0.8, 5)
    expected, drawn = static_draw(SIZED[name], x), sized_draw(SIZED[name], x, "reference")
    assert drawn.shape == expected.shape
    assert np.allclose(drawn, expected, rtol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize(("name", "engine"), [("categorical", "compiled"), ("poisson", "fast")])
def test_sizes_may_be_known_to_the_run_only_on_other_engines(name: str, engine: str) -> None:
    """The engines draw the same numbers."""
    x = np.linspace(0.2, 0.8, 5)
    assert np.allclose(sized_draw(SIZED[name], x, engine), static_draw(SIZED[name], x), rtol=1e-12)


def test_dropout_takes_arrays_of_any_size() -> None:
    """The elements of an array whose size is known only at run time are dropped or scaled."""

    @tl.function
    def half(n: tl.int64, x: tl.Array[tl.float64, None]) -> Any:
        return tl.dropout(x[:n], 0.5)

    for engine in ("reference", "fast"):
        kept = np.asarray(half.run(60, np.ones(100), engine=engine, seed=4).value)
        assert kept.shape == (60,) and {*kept.tolist()} == {0.0, 2.0}


@pytest.mark.parametrize("module", [tl, tl.Generator(3)], ids=["tl", "Generator"])
def test_shapes_are_keywords_too(module: Any) -> None:
    """The shape of a draw may be given by position or by keyword, as in other libraries."""
    for call in (module.uniform, module.normal, functools.partial(module.integers, 0, 5)):
        assert call(shape=(2, 3)).shape == call((2, 3)).shape == (2, 3)
    for draw, parameters in (
        (tl.exponential, ()), (tl.gumbel, ()), (tl.laplace, ()), (tl.bernoulli, (0.5,)), (tl.poisson, (2.0,)),
        (tl.gamma, (2.0,)), (tl.truncated_normal, (0.0, 1.0)),
    ):  # fmt: skip
        assert draw(*parameters, shape=(2, 3)).shape == draw(*parameters, (2, 3)).shape == (2, 3)
