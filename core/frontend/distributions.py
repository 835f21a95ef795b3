"""Draws of further distributions. They are composed of ops and of the draws `uniform` and `normal`, so they depend on
the same keys: in a function, on the run's seed, the node and the tag; with a `Generator`, on its seed and count.

Gamma and Poisson draws reject candidates. The rejection is a `while_loop` over arrays: each iteration draws a candidate
for each element, under the tag of the iteration, and ends when all elements have accepted one. So all engines and
schedules draw the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .. import dtypes
from ..errors import Invalid, Usage
from . import effects
from .array_api.common import astype, check_floating, resolve_axis, shape_of, type_of
from .array_api.creation import zeros_like
from .array_api.indexing import shape as sizes_of
from .array_api.manipulation import broadcast_arrays, broadcast_to
from .array_api.numeric import argmax
from .control_flow import while_loop
from .eager.apply import apply
from .sizes import open_sizes
from .trace.source_location import user_location


class Source(Protocol):
    """A source of random numbers: the module `effects`, or a `Generator`."""

    def uniform(self, shape: Sequence[int] = (), /) -> Any:
        """Uniform numbers from 0 below 1, float64."""

    def normal(self, shape: Sequence[int] = (), /) -> Any:
        """Normal numbers of mean 0 and variance 1, float64."""


def exponential(shape: Any = (), *, generator: Source | None = None) -> Any:
    """Random numbers of the exponential distribution with mean 1, float64; seeded as `uniform`, or drawn by a
    `generator`.

    >>> bool(exponential() >= 0.0)
    True
    """
    uniform = _uniform(generator, draw_sizes(shape))
    return apply("negative", apply("log1p", apply("negative", uniform)))


def gumbel(shape: Any = (), *, generator: Source | None = None) -> Any:
    """Random numbers of the Gumbel distribution with location 0 and scale 1, float64, finite; seeded as `exponential`.

    >>> bool(abs(gumbel()) < 1000.0)
    True
    """
    uniform = apply("maximum", _uniform(generator, draw_sizes(shape)), float(np.finfo(np.float64).tiny))
    return apply("negative", apply("log", apply("negative", apply("log", uniform))))


def laplace(shape: Any = (), *, generator: Source | None = None) -> Any:
    """Random numbers of the Laplace distribution with mean 0 and scale 1, float64, finite; seeded as `exponential`.

    >>> bool(abs(laplace()) < 100.0)
    True
    """
    centred = apply("subtract", apply("multiply", _uniform(generator, draw_sizes(shape)), 2.0), 1.0)
    distance = apply("minimum", apply("abs", centred), 1.0 - 2.0**-53)
    return apply("copysign", apply("log1p", apply("negative", distance)), centred)


def bernoulli(p: Any, /, shape: Any = None, *, generator: Source | None = None) -> Any:
    """Random bools, true with probability `p`, a number or an array; seeded as `exponential`.

    p broadcasts to `shape`, whose sizes may be symbolic; by default it is the shape of p.

    >>> bool(bernoulli(1.0)), bool(bernoulli(0.0))
    (True, False)
    """
    (p,), sizes = _broadcast_parameters("bernoulli", shape, p)
    return apply("less", _uniform(generator, sizes), p)


def categorical(logits: Any, /, *, axis: int = -1, shape: Any = (), generator: Source | None = None) -> Any:
    """Random indices along an axis of `logits`, int64: index k has a probability proportional to exp(logits[k]). Seeded
    as `exponential`.

    The result has the axes `shape`, for independent draws, and then the axes of the logits without that axis. They may
    be -inf, but not all along the axis.

    >>> import tagloom as tl
    >>> int(categorical(tl.asarray([-tl.inf, 0.0])))
    1
    """
    check_floating(logits, "categorical")
    sizes, position = sizes_of(logits), resolve_axis(axis, logits)
    noise = gumbel((*draw_sizes(shape), *sizes), generator=generator)
    return argmax(apply("add", noise, astype(logits, dtypes.float64)), axis=position - len(sizes))


def truncated_normal(low: Any, high: Any, /, shape: Any = None, *, generator: Source | None = None) -> Any:
    """Random numbers of the normal distribution with mean 0 and variance 1, restricted to `low` up to `high`, numbers
    or arrays, float64; seeded as `exponential`.

    The bounds broadcast to `shape`, whose sizes may be symbolic; by default it is their common shape. A bound may be
    infinite. If low is not below high the draw is one of them. The draw is the quantile of a uniform number, so it has
    a gradient with respect to the bounds.

    >>> bool(1.0 <= truncated_normal(1.0, 2.0) <= 2.0)
    True
    """
    (low, high), sizes = _broadcast_parameters("truncated_normal", shape, low, high)
    # in the lower half a probability is precise: bounds with a positive mean are mirrored
    is_upper = apply("greater", apply("add", low, high), 0.0)
    first = apply("where", is_upper, apply("negative", high), low)
    last = apply("where", is_upper, apply("negative", low), high)
    below_first, below_last = (_normal_probability(bound) for bound in (first, last))
    share = apply("multiply", _uniform(generator, sizes), apply("subtract", below_last, below_first))
    quantile = apply("ndtri", apply("add", below_first, share))
    draw = apply("maximum", first, apply("minimum", last, quantile))
    return apply("where", is_upper, apply("negative", draw), draw)


def gamma(alpha: Any, /, shape: Any = None, *, generator: Source | None = None) -> Any:
    """Random numbers of the gamma distribution with shape parameter `alpha`, a number or an array, and scale 1,
    float64; seeded as `exponential`.

    `alpha` broadcasts to `shape`, whose sizes may be symbolic; by default it is the shape of alpha. The draw is 0 for
    an alpha of 0, inf for inf, and NaN for a negative one. Draws are rejected, so the gradient with respect to alpha is
    refused (Invalid, D1).

    Method: Marsaglia and Tsang, A simple method for generating gamma variables, 2000.

    >>> bool(gamma(2.0) > 0.0)
    True
    """
    (alpha,), sizes = _broadcast_parameters("gamma", shape, alpha)
    alpha = apply("prevent_gradient", alpha)
    source = _source(generator)
    is_small = apply("less", alpha, 1.0)
    d = apply("subtract", apply("where", is_small, apply("add", alpha, 1.0), alpha), 1.0 / 3.0)
    c = apply("divide", 1.0 / 3.0, apply("sqrt", d))
    is_regular = apply("logical_and", apply("greater", alpha, 0.0), apply("isfinite", alpha))
    irregular = apply("where", apply("less", alpha, 0.0), math.nan, alpha)

    def propose(is_done: Any, value: Any) -> tuple[Any, Any]:
        x, u = source.normal(sizes), source.uniform(sizes)
        root = apply("add", apply("multiply", c, x), 1.0)
        v = apply("multiply", apply("multiply", root, root), root)
        scaled = apply("multiply", d, v)
        log_ratio = apply("add", apply("subtract", d, scaled), apply("multiply", d, apply("log", v)))
        bound = apply("add", apply("multiply", apply("multiply", x, x), 0.5), log_ratio)
        return _accept(is_done, value, apply("less", apply("log", u), bound), scaled)

    samples = _draw_until_accepted(propose, is_regular, irregular)
    # a draw for alpha + 1, times u ** (1 / alpha), is one for alpha
    boost = apply("pow", source.uniform(sizes), apply("divide", 1.0, apply("where", is_small, alpha, 1.0)))
    return apply("where", apply("logical_and", is_small, is_regular), apply("multiply", samples, boost), samples)


def poisson(rate: Any, /, shape: Any = None, *, generator: Source | None = None) -> Any:
    """Random numbers of the Poisson distribution with mean `rate`, a number or an array, int64; seeded as
    `exponential`.

    The rate broadcasts to `shape`, whose sizes may be symbolic; by default it is the shape of the rate. The draw is -1
    for a rate that is negative, infinite or NaN. Rates beyond 1e9 lose accuracy.

    Method: for rates below 10, the sum of probabilities up to a uniform number; from there, Hörmann, The transformed
    rejection method for generating Poisson random variables, 1993.

    >>> int(poisson(0.0))
    0
    """
    (rate,), sizes = _broadcast_parameters("poisson", shape, rate)
    source = _source(generator)
    is_small, is_large = apply("less", rate, 10.0), apply("greater_equal", rate, 10.0)
    is_regular = apply("logical_and", apply("greater_equal", rate, 0.0), apply("isfinite", rate))
    small_rate, large_rate = apply("where", is_small, rate, 0.0), apply("where", is_large, rate, 10.0)
    small = _sum_probabilities(source.uniform(sizes), apply("maximum", small_rate, 0.0))
    b = apply("add", apply("multiply", apply("sqrt", large_rate), 2.53), 0.931)
    a = apply("add", apply("multiply", b, 0.02483), -0.059)
    inverse = apply("add", apply("divide", 1.1328, apply("subtract", b, 3.4)), 1.1239)
    quick = apply("subtract", 0.9277, apply("divide", 3.6224, apply("subtract", b, 2.0)))
    log_rate = apply("log", large_rate)

    def propose(is_done: Any, value: Any) -> tuple[Any, Any]:
        u, v = apply("subtract", source.uniform(sizes), 0.5), source.uniform(sizes)
        margin = apply("subtract", 0.5, apply("abs", u))
        slope = apply("add", apply("divide", apply("multiply", a, 2.0), margin), b)
        k = apply("floor", apply("add", apply("add", apply("multiply", slope, u), large_rate), 0.43))
        is_quick = apply("logical_and", apply("greater_equal", margin, 0.07), apply("less_equal", v, quick))
        is_outside = apply(
            "logical_or",
            apply("less", k, 0.0),
            apply("logical_and", apply("less", margin, 0.013), apply("greater", v, margin)),
        )
        area = apply("add", apply("divide", a, apply("multiply", margin, margin)), b)
        height = apply("log", apply("divide", apply("multiply", v, inverse), area))
        density = apply(
            "subtract",
            apply("subtract", apply("multiply", k, log_rate), large_rate),
            apply("lgamma", apply("add", k, 1.0)),
        )
        is_below = apply("logical_and", apply("logical_not", is_outside), apply("less_equal", height, density))
        return _accept(is_done, value, apply("logical_or", is_quick, is_below), k)

    needs_draw = apply("logical_and", is_large, is_regular)
    samples = _draw_until_accepted(propose, needs_draw, small)
    return astype(apply("where", is_regular, samples, -1.0), dtypes.int64)


def _source(generator: Source | None) -> Source:
    if generator is not None and not isinstance(generator, effects.Generator):
        raise Usage(
            "this is not a generator", where=user_location(), required="a tl.Generator", got=generator, python=TypeError
        )
    return generator or effects


def _uniform(generator: Source | None, sizes: tuple[Any, ...]) -> Any:
    return _source(generator).uniform(sizes)


def _broadcast_parameters(function: str, shape: Any, *parameters: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """The parameters of a distribution in float64, broadcast to the shape of the draw, and that shape."""
    wide = []
    for parameter in parameters:
        if type_of(parameter).dtype.kind not in "iuf":
            message, got = f"{function}: these are not numbers", type_of(parameter)
            raise Invalid(message, rule="V4", where=user_location(), required="numbers", got=got, python=TypeError)
        wide.append(apply("astype", parameter, dtype=dtypes.float64))
    if shape is not None:
        sizes = draw_sizes(shape)
        is_static = all(type(size) is int for size in sizes)
        return [
            parameter if is_static and shape_of(parameter) == sizes else broadcast_to(parameter, sizes)
            for parameter in wide
        ], sizes
    if any(shape_of(parameter) != shape_of(wide[0]) or None in shape_of(parameter) for parameter in wide[1:]):
        wide = list(broadcast_arrays(*wide))
    return wide, sizes_of(wide[0])


def draw_sizes(shape: Any) -> tuple[Any, ...]:
    """The sizes of a draw, some of which may be symbolic; raises Usage for anything else."""
    sizes, symbols = open_sizes(shape)
    remaining = iter(symbols)
    return tuple(next(remaining) if size is None else size for size in sizes)


def _normal_probability(x: Any) -> Any:
    """The probability that a normal number is less than x."""
    return apply("multiply", apply("erfc", apply("multiply", x, -math.sqrt(0.5))), 0.5)


def _draw_until_accepted(propose: Any, is_open: Any, initial: Any) -> Any:
    """Propose candidates for the elements that are open until each has accepted one; the others keep their initial
    values."""
    return while_loop(
        lambda is_done, value: apply("logical_not", apply("all", is_done, axis=None, keepdims=False)),
        propose,
        apply("logical_not", is_open),
        initial,
    )[1]


def _accept(is_done: Any, value: Any, is_accepted: Any, candidate: Any) -> tuple[Any, Any]:
    """The next state of the elements: those that are not done take an accepted candidate."""
    takes = apply("logical_and", apply("logical_not", is_done), is_accepted)
    return apply("logical_or", is_done, takes), apply("where", takes, candidate, value)


_MOST_TERMS = 100.0
"""The probability of more is below 1e-60 for rates below 10."""


def _sum_probabilities(u: Any, rate: Any) -> Any:
    """For each u the first k for which the probabilities of 0 to k add up to more than u, for rates below 10."""
    first = apply("exp", apply("negative", rate))

    def is_open(k: Any, count: Any, probability: Any, total: Any) -> Any:
        is_below = apply("any", apply("greater_equal", u, total), axis=None, keepdims=False)
        return apply("logical_and", is_below, apply("less", k, _MOST_TERMS))

    def add_term(k: Any, count: Any, probability: Any, total: Any) -> tuple[Any, ...]:
        number = apply("add", k, 1.0)
        next_probability = apply("divide", apply("multiply", probability, rate), number)
        next_count = apply("where", apply("greater_equal", u, total), number, count)
        return number, next_count, next_probability, apply("add", total, next_probability)

    return while_loop(is_open, add_term, 0.0, zeros_like(rate), first, first)[1]
