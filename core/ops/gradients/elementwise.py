"""Rules of what is computed element by element, by the name of the op: x and y are its operands, z its result.

At kinks: of a tie both sides have half; abs, copysign and hypot have slope 0 at 0, and pow with a base of 0 has slope 0
along its exponent. Beyond the domain of a function slopes are what their formula gives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..op import Gradient
from .term import Term, adjoint_rule, slopes, zero_gradient


def _selection_rule(op: str) -> Gradient:
    """Of the one that is chosen: the first, where it is `op` than the second."""

    def adjoint(g: Term, x: Term, y: Term) -> Term:
        return x.op(op, x, y).where(g, x.equal(y).where(0.5 * g, 0.0))

    return adjoint_rule(lambda g, z, x, y: adjoint(g, x, y), lambda g, z, x, y: adjoint(g, y, x))


def _softmax_share(x: Term, y: Term, z: Term) -> Term:
    """The share of x in log(exp(x) + exp(y)), of exponentials that may overflow."""
    return 1.0 / ((y - x).exp() + 1.0)


def _over_squared_distance(y: Term, x: Term) -> Term:
    """y over the square of the distance, which may overflow."""
    distance = x.hypot(y)
    return y / distance / distance


def _hypot_slope(x: Term, z: Term) -> Term:
    """The share of x in a length, 0 where that is 0."""
    return x / z.equal(0.0).where(1.0, z)


def _multiply_no_nan_adjoint(y: Term, g: Term) -> Term:
    """The slope is y; where that is 0 the product is, whatever x, and an infinite adjoint adds nothing either."""
    return y.equal(0.0).where(0.0, y.multiply_no_nan(g))


RULES: Mapping[str, Gradient] = {
    # arithmetic
    "add": adjoint_rule(lambda g, z, x, y: g, lambda g, z, x, y: g),
    "subtract": adjoint_rule(lambda g, z, x, y: g, lambda g, z, x, y: -g),
    "multiply": slopes(lambda x, y, z: y, lambda x, y, z: x),
    "divide": slopes(lambda x, y, z: 1.0 / y, lambda x, y, z: -(z / y)),
    "multiply_no_nan": adjoint_rule(
        lambda g, z, x, y: _multiply_no_nan_adjoint(y, g), lambda g, z, x, y: x.multiply_no_nan(g)
    ),
    "floor_divide": zero_gradient,
    "remainder": adjoint_rule(lambda g, z, x, y: g, lambda g, z, x, y: (-x.floor_divide(y)).multiply_no_nan(g)),
    "pow": slopes(
        lambda x, y, z: x.pow(y - 1.0).multiply_no_nan(y),
        lambda x, y, z: z.multiply_no_nan(x.equal(0.0).where(1.0, x).log()),
    ),
    "negative": adjoint_rule(lambda g, z, x: -g),
    "abs": slopes(lambda x, z: x.sign()),
    "minimum": _selection_rule("less"),
    "maximum": _selection_rule("greater"),
    # elementary functions
    "sqrt": slopes(lambda x, z: 0.5 / z),
    "exp": slopes(lambda x, z: z),
    "log": slopes(lambda x, z: 1.0 / x),
    "sin": slopes(lambda x, z: x.cos()),
    "cos": slopes(lambda x, z: -x.sin()),
    "tanh": slopes(lambda x, z: 1.0 - z * z),
    "tan": slopes(lambda x, z: 1.0 + z * z),
    "asin": slopes(lambda x, z: 1.0 / ((1.0 - x) * (1.0 + x)).sqrt()),
    "acos": slopes(lambda x, z: -1.0 / ((1.0 - x) * (1.0 + x)).sqrt()),
    "atan": slopes(lambda x, z: 1.0 / (1.0 + x * x)),
    "sinh": slopes(lambda x, z: x.cosh()),
    "cosh": slopes(lambda x, z: x.sinh()),
    "asinh": slopes(lambda x, z: 1.0 / x.hypot(1.0)),
    "acosh": slopes(lambda x, z: 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt())),
    "atanh": slopes(lambda x, z: 1.0 / ((1.0 - x) * (1.0 + x))),
    "expm1": slopes(lambda x, z: x.exp()),
    "log1p": slopes(lambda x, z: 1.0 / (1.0 + x)),
    "log2": slopes(lambda x, z: 1.0 / (math.log(2.0) * x)),
    "log10": slopes(lambda x, z: 1.0 / (math.log(10.0) * x)),
    "atan2": slopes(lambda y, x, z: _over_squared_distance(x, y), lambda y, x, z: -_over_squared_distance(y, x)),
    "logaddexp": slopes(_softmax_share, lambda x, y, z: _softmax_share(y, x, z)),
    "hypot": slopes(lambda x, y, z: _hypot_slope(x, z), lambda x, y, z: _hypot_slope(y, z)),
    # parts of numbers
    "floor": zero_gradient,
    "ceil": zero_gradient,
    "trunc": zero_gradient,
    "round": zero_gradient,
    "sign": zero_gradient,
    "copysign": slopes(lambda x, y, z: x.sign() * x.op("copysign", 1.0, y), None),
    "nextafter": zero_gradient,
    # choosing and converting
    "where": adjoint_rule(None, lambda g, z, c, x, y: c.where(g, 0.0), lambda g, z, c, x, y: c.where(0.0, g)),
    "identity": adjoint_rule(lambda g, z, x: g),
    "stop_gradient": zero_gradient,
    "astype": adjoint_rule(lambda g, z, x, dtype: g if dtype.kind == "f" else None),
}
