"""Special functions of floats: the error function, quantiles of the normal distribution, and the logarithm of the gamma
function with its derivatives.

At poles and outside their domain they give NaN or an infinity, never a trap. The NumPy column calls the scalar column
for each element, so that arrays have the same bits.

Methods: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1 (Stirling's series, reflection, the series at
2), 6.3, 6.4, and 23.1.30 (the Euler-Maclaurin formula); Wichura, Algorithm AS 241: the percentage points of the normal
distribution, 1988.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .gradient_rules import slopes
from .op import op
from .scalar_kernels import log, power
from .type_rules import elementwise_type_rule, short_symbol

_ASYMPTOTIC_BOUND = 10.0
"""From here up the asymptotic series below are accurate to about an ulp."""
_SERIES_AT_2 = (
    3.1044247747322276e-11, -6.4229645638381e-11, 1.330476437424449e-10, -2.7595228851242334e-10, 5.731367241678862e-10,
    -1.1921401405860912e-09, 2.4836745438024785e-09, -5.183475041970047e-09, 1.0838659214896955e-08,
    -2.2711094608943164e-08, 4.7698101693639804e-08, -1.0043224823968099e-07, 2.1207184805554665e-07,
    -4.492469198764566e-07, 9.55141213040742e-07, -2.039215753801366e-06, 4.374866789907488e-06, -9.439488275268397e-06,
    2.050721277567069e-05, -4.492623673813314e-05, 9.945751278180853e-05, -0.00022315475845357939,
    0.0005096695247430425, -0.001192753911703261, 0.0028905103307415234, -0.007385551028673986, 0.020580808427784546,
    -0.0673523010531981, 0.3224670334241132, 0.42278433509846713,
)  # fmt: skip
"""The coefficients of log(Gamma(2 + t)) / t: (-1)**k (zeta(k) - 1) / k from k = 30 down to 2, and 1 - gamma."""
_STIRLING_SERIES = (
    -0.029550653594771242, 0.00641025641025641, -0.0019175269175269176, 0.0008417508417508417, -0.0005952380952380953,
    0.0007936507936507937, -0.002777777777777778, 0.08333333333333333,
)  # fmt: skip
"""B(2k) / (2k (2k - 1)), from k = 8 down to 1."""
_DIGAMMA_SERIES = (
    3.0539543302701198, -0.4432598039215686, 0.08333333333333333, -0.021092796092796094, 0.007575757575757576,
    -0.004166666666666667, 0.003968253968253968, -0.008333333333333333, 0.08333333333333333,
)  # fmt: skip
"""B(2k) / 2k, from k = 9 down to 1."""
_EULER_MACLAURIN_SERIES = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07, 2.08767569878681e-08,
    -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
    -2.174868698558062e-16, 5.5090028283602295e-18,
)  # fmt: skip
"""B(2k) / (2k)!, from k = 1 up."""
_CENTRAL_QUANTILE = (
    (2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.69376550946, 1971.5909503065513,
     133.14166789178438, 3.3871328727963665),
    (5226.495278852855, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751, 687.1870074920579,
     42.31333070160091, 1.0),
)  # fmt: skip
"""Numerator and denominator of the quantile, divided by p - 1/2, in 0.425**2 - (p - 1/2)**2."""
_TAIL_QUANTILE = (
    (0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045,
     5.769497221460691, 4.630337846156546, 1.4234371107496835),
    (1.0507500716444169e-09, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008, 0.6897673349851,
     1.6763848301838038, 2.053191626637759, 1.0),
)  # fmt: skip
"""The same for sqrt(-log(p)) - 1.6, where that root is at most 5."""
_FAR_TAIL_QUANTILE = (
    (2.0103343992922881e-07, 2.7115555687434876e-05, 0.0012426609473880784, 0.026532189526576124, 0.29656057182850487,
     1.7848265399172913, 5.463784911164114, 6.657904643501103),
    (2.0442631033899397e-15, 1.421511758316446e-07, 1.8463183175100548e-05, 0.0007868691311456133, 0.014875361290850615,
     0.1369298809227358, 0.599832206555888, 1.0),
)  # fmt: skip
"""The same for sqrt(-log(p)) - 5, where the root is greater."""
_LOG_SQRT_2_PI_E = 0.4189385332046727
"""log(2 pi) / 2 - 1 / 2"""
_MAX_ORDER = 170.0
"""The factorial of a larger order is beyond float64."""


def lgamma(x: float) -> float:
    if x != x:
        return x
    if math.fabs(x) < 0.5:
        return log_gamma_at_2(x) - math.log1p(x) - log(math.fabs(x)) if x != 0.0 else math.inf
    if x > 0.0:
        return lgamma_from_half(x)
    if x == nearest_integer(x):
        return math.inf
    return log(math.pi / (math.fabs(sine_of_pi(x)) * -x)) - lgamma_from_half(-x)


def lgamma_from_half(x: float) -> float:
    """lgamma of x from 0.5 up."""
    if x >= _ASYMPTOTIC_BOUND:
        inverse, total = 1.0 / x, 0.0
        for coefficient in _STIRLING_SERIES:
            total = total * (inverse * inverse) + coefficient
        return (x - 0.5) * (log(x) - 1.0) + (_LOG_SQRT_2_PI_E + total * inverse)
    if x < 1.5:
        return log_gamma_at_2(x - 1.0) - math.log1p(x - 1.0)
    product = 1.0
    while x > 2.5:
        x = x - 1.0
        product = product * x
    return log(product) + log_gamma_at_2(x - 2.0)


def log_gamma_at_2(t: float) -> float:
    """log(Gamma(2 + t)) for t from -0.5 to 0.5."""
    total = 0.0
    for coefficient in _SERIES_AT_2:
        total = total * t + coefficient
    return total * t


def ndtri(p: float) -> float:
    if not (p > 0.0 and p < 1.0):
        return -math.inf if p == 0.0 else math.inf if p == 1.0 else math.nan
    offset = p - 0.5
    if math.fabs(offset) <= 0.425:
        return offset * rational(0.180625 - offset * offset, _CENTRAL_QUANTILE[0], _CENTRAL_QUANTILE[1])
    root = math.sqrt(-log(p if offset < 0.0 else 1.0 - p))
    if root <= 5.0:
        quantile = rational(root - 1.6, _TAIL_QUANTILE[0], _TAIL_QUANTILE[1])
    else:
        quantile = rational(root - 5.0, _FAR_TAIL_QUANTILE[0], _FAR_TAIL_QUANTILE[1])
    return -quantile if offset < 0.0 else quantile


def rational(x: float, numerator: tuple[float, ...], denominator: tuple[float, ...]) -> float:
    """A quotient of two polynomials with these coefficients, the highest power first."""
    numerator_value, denominator_value = 0.0, 0.0
    for coefficient in numerator:
        numerator_value = numerator_value * x + coefficient
    for coefficient in denominator:
        denominator_value = denominator_value * x + coefficient
    return numerator_value / denominator_value


def nearest_integer(x: float) -> float:
    """The nearest whole number."""
    if not math.fabs(x) < 4503599627370496.0:
        return x
    return (x + 6755399441055744.0) - 6755399441055744.0


def sine_of_pi(x: float) -> float:
    """sin(pi x), up to its sign."""
    return math.sin(math.pi * (x - nearest_integer(x)))


def digamma(x: float) -> float:
    if x != x or x == -math.inf:
        return math.nan
    if x > 0.0:
        return digamma_above_0(x)
    fraction = x - nearest_integer(x)
    if fraction == 0.0:
        return math.nan
    if math.fabs(fraction) > 0.25:  # there the cotangent is near 0
        return digamma_above_0(1.0 - x) + math.pi * math.tan(math.pi * (fraction - math.copysign(0.5, fraction)))
    return digamma_above_0(1.0 - x) - math.pi / math.tan(math.pi * fraction)


def digamma_above_0(x: float) -> float:
    if x >= _ASYMPTOTIC_BOUND:
        inverse, total = 1.0 / x, 0.0
        for coefficient in _DIGAMMA_SERIES:
            total = (total + coefficient) * (inverse * inverse)
        return log(x) - 0.5 * inverse - total
    if x < 0.5:
        return digamma_at_2(x) - 1.0 / (1.0 + x) - 1.0 / x
    if x < 1.5:
        return digamma_at_2(x - 1.0) - 1.0 / x
    total = 0.0
    while x > 2.5:
        x = x - 1.0
        total = total + 1.0 / x
    return digamma_at_2(x - 2.0) + total


def digamma_at_2(t: float) -> float:
    """The derivative of `log_gamma_at_2`."""
    total, power_ = 0.0, 30.0
    for coefficient in _SERIES_AT_2:
        total = total * t + coefficient * power_
        power_ = power_ - 1.0
    return total


def polygamma(n: float, x: float) -> float:
    """(-1)**(n + 1) n! times the sum of 1 / (x + k)**(n + 1) over all k from 0 up. Above 0 that sum is a Hurwitz zeta
    function. Below 0 it is the sum over all integers k, taken both ways from the k that brings x nearest to 0, minus
    the terms with a negative k."""
    if x != x or n != n or x == -math.inf or n < 0.0 or n > _MAX_ORDER or n != nearest_integer(n):
        return math.nan
    if n == 0.0:
        return digamma(x)
    power_, is_odd = n + 1.0, n * 0.5 != nearest_integer(n * 0.5)
    sign = 1.0 if is_odd else -1.0
    if x == math.inf:
        return sign * 0.0
    scale, factorial, factor = 1.0, 1.0, 1.0
    while scale * 4.0 < n and scale * 2.0 <= x:
        scale = scale * 2.0
    while factor <= n:  # n! / scale ** n, which keeps numbers in range
        factorial = factorial * (factor / scale)
        factor = factor + 1.0
    if x > 0.0:
        return sign * factorial * (hurwitz_zeta(power_, x, scale) / scale)
    fraction = x - nearest_integer(x)
    if fraction == 0.0:
        return math.inf if is_odd else math.nan
    terms_beyond = hurwitz_zeta(power_, 1.0 - fraction, scale) - hurwitz_zeta(power_, 1.0 - x, scale)
    total = power(fraction / scale, -power_) + hurwitz_zeta(power_, 1.0 + fraction, scale) + sign * terms_beyond
    return sign * factorial * (total / scale)


def hurwitz_zeta(s: float, x: float, scale: float) -> float:
    """The sum of (scale / (x + k))**s over all k from 0 up, for x > 0 and s >= 2: the first terms, and the
    Euler-Maclaurin formula for the rest."""
    total = 0.0
    while x < s + _ASYMPTOTIC_BOUND:
        total = total + power(x / scale, -s)
        x = x + 1.0
    last = power(x / scale, -s)
    factor, rising, series = 1.0 / x, s, 0.0
    for coefficient in _EULER_MACLAURIN_SERIES:
        series = series + coefficient * (rising * factor)
        factor = factor / (x * x)
        rising = rising * ((s + 1.0) * (s + 2.0))
        s = s + 2.0
    return total + power(x / scale, 1.0 - (s - 22.0)) * (scale / (s - 23.0)) + last * (0.5 + series)


PIECE_ELEMENTS = 8192
"""The elements that a function of floats is called for at a time: some milliseconds."""


def elementwise_loop(function: Callable[..., float], arity: int) -> Callable[..., Any]:
    """The NumPy column of a function of floats. It takes large operands piece by piece, since no other thread runs
    during a piece, and a run on a helper thread must end soon after a limit or Ctrl-C."""
    ufunc = np.frompyfunc(function, arity, 1)

    def compute(*operands: Any) -> Any:
        flags = ["buffered", "external_loop", "zerosize_ok"]
        access = [*[["readonly"]] * arity, ["writeonly", "allocate"]]
        dtypes = [*[None] * arity, np.dtype(np.float64)]
        with np.nditer([*operands, None], flags, access, dtypes, buffersize=PIECE_ELEMENTS) as pieces:  # type: ignore[arg-type]
            for *inputs, output in pieces:
                output[...] = ufunc(*inputs)
            return pieces.operands[-1]

    return compute


def special_op(scalar: Any, doc: str, example: str, *, arity: int = 1, **columns: Any) -> None:
    """Declare a row named after its scalar column."""
    name, numpy = scalar.__name__, elementwise_loop(scalar, arity)
    columns |= {"symbol": short_symbol(name), "doc": f"{doc}\n\n>>> tl.{example}\n"}
    op(name, arity=arity, type_rule=elementwise_type_rule("f"), numpy=numpy, scalar=scalar, **columns)


special_op(
    math.erf,
    "The error function: the integral of exp(-t * t) from 0 to x, times 2 / sqrt(pi).",
    "erf(0.0)\n0.0",
    gradient=slopes(lambda x, z: 2.0 / math.sqrt(math.pi) * (-(x * x)).exp()),
)
special_op(
    math.erfc,
    "1 - erf(x), accurate for large x too.",
    "erfc(0.0)\n1.0",
    gradient=slopes(lambda x, z: -2.0 / math.sqrt(math.pi) * (-(x * x)).exp()),
)
special_op(
    ndtri,
    "The quantile of the normal distribution with mean 0 and variance 1: the number below which a draw is with\n"
    "probability p. Infinite at 0 and 1, NaN outside. The error is some ulp.",
    "ndtri(0.5)\n0.0",
    gradient=slopes(lambda p, z: math.sqrt(2.0 * math.pi) * (0.5 * z * z).exp()),
)
special_op(
    lgamma,
    "The logarithm of the absolute value of the gamma function; inf at 0 and at negative integers. The error is some\n"
    "ulp, or 1e-15 near its zeros below 0.",
    "lgamma(1.0)\n0.0",
    gradient=slopes(lambda x, z: x.digamma()),
)
special_op(
    digamma,
    "The derivative of lgamma; NaN at its poles, which are 0 and the negative integers. The error is some ulp, or\n"
    "1e-15 near its zeros.",
    "digamma(2.0) - tl.digamma(1.0)\n1.0",
    gradient=slopes(lambda x, z: x.op("polygamma", 1.0, x)),
)
special_op(
    polygamma,
    "The n-th derivative of digamma at x, for whole n from 0 to 170; NaN for other n. At 0 and at negative integers\n"
    "it is inf for odd n and NaN for even n. The error is some n + 4 ulp, and more near zeros.",
    "polygamma(1, 1.0) > 1.6449\nTrue",
    arity=2,
    gradient=slopes(None, lambda n, x, z: (n + 1.0).polygamma(x)),
)
