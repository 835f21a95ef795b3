"""Elementary functions of floats. Outside their domain they give NaN or an infinity, never a trap.

Arrays are computed by NumPy's functions, and float32 without widening where these are within 2 ulp of the exact number:
on every 97th float32, tanh, sin and cos were within 1.5 ulp; exp and log were not within 2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import scalar_kernels
from .gradient_rules import Term, slopes
from .op import op
from .type_rules import elementwise_type_rule, short_symbol


def elementary_op(numpy: Any, scalar: Any, summary: str, example: str, *, arity: int = 1, **columns: Any) -> None:
    """Declare a row named after its scalar column. NumPy's loops decide the bits of arrays, unless rounding leaves only
    one result."""
    name, doc = scalar.__name__, f"{summary}\n\n>>> tl.{example}\n"
    columns |= {"symbol": short_symbol(name), "doc": doc}
    if isinstance(numpy, np.ufunc) and not columns.get("has_innocuous_rounding"):
        columns["float_loop"] = numpy
    op(name, arity=arity, type_rule=elementwise_type_rule("f"), numpy=numpy, scalar=scalar, **columns)


def softmax_share(x: Term, y: Term, z: Term) -> Term:
    """exp(x) / (exp(x) + exp(y)), without overflow."""
    return 1.0 / ((y - x).exp() + 1.0)


def over_squared_distance(y: Term, x: Term) -> Term:
    """y / (x * x + y * y), without overflow."""
    distance = x.hypot(y)
    return y / distance / distance


def hypot_slope(x: Term, z: Term) -> Term:
    """x / z for the length z; 0 where the length is 0."""
    return x / z.equal(0.0).where(1.0, z)


elementary_op(
    np.sqrt,
    scalar_kernels.sqrt,
    "Square root; NaN below zero.",
    "sqrt(2.25)\n1.5",
    has_innocuous_rounding=True,
    gradient=slopes(lambda x, z: 0.5 / z),
)
elementary_op(np.cbrt, math.cbrt, "Cube root.", "cbrt(8.0)\n2.0", gradient=slopes(lambda x, z: 1.0 / (3.0 * z * z)))
elementary_op(
    np.exp, scalar_kernels.exp, "Exponential; inf where it overflows.", "exp(0.0)\n1.0", gradient=slopes(lambda x, z: z)
)
elementary_op(
    np.log,
    scalar_kernels.log,
    "Natural logarithm; -inf at zero, NaN below.",
    "log(1.0)\n0.0",
    gradient=slopes(lambda x, z: 1.0 / x),
)
elementary_op(
    np.sin,
    scalar_kernels.sin,
    "Sine of radians; NaN at infinities.",
    "sin(0.0)\n0.0",
    numpy_float32=np.sin,
    gradient=slopes(lambda x, z: x.cos()),
)
elementary_op(
    np.cos,
    scalar_kernels.cos,
    "Cosine of radians; NaN at infinities.",
    "cos(0.0)\n1.0",
    numpy_float32=np.cos,
    gradient=slopes(lambda x, z: -x.sin()),
)
elementary_op(
    np.tanh,
    math.tanh,
    "Hyperbolic tangent.",
    "tanh(0.0)\n0.0",
    numpy_float32=np.tanh,
    gradient=slopes(lambda x, z: 1.0 - z * z),
)
elementary_op(
    np.tan,
    scalar_kernels.tan,
    "Tangent of radians; NaN at infinities.",
    "tan(0.0)\n0.0",
    gradient=slopes(lambda x, z: 1.0 + z * z),
)
elementary_op(
    np.arcsin,
    scalar_kernels.asin,
    "Arcsine, in radians; NaN outside -1 to 1.",
    "asin(0.0)\n0.0",
    gradient=slopes(lambda x, z: 1.0 / ((1.0 - x) * (1.0 + x)).sqrt()),
)
elementary_op(
    np.arccos,
    scalar_kernels.acos,
    "Arccosine, in radians; NaN outside -1 to 1.",
    "acos(1.0)\n0.0",
    gradient=slopes(lambda x, z: -1.0 / ((1.0 - x) * (1.0 + x)).sqrt()),
)
elementary_op(
    np.arctan, math.atan, "Arctangent, in radians.", "atan(0.0)\n0.0", gradient=slopes(lambda x, z: 1.0 / (1.0 + x * x))
)
elementary_op(
    np.sinh,
    scalar_kernels.sinh,
    "Hyperbolic sine; infinite where it overflows.",
    "sinh(0.0)\n0.0",
    gradient=slopes(lambda x, z: x.cosh()),
)
elementary_op(
    np.cosh,
    scalar_kernels.cosh,
    "Hyperbolic cosine; inf where it overflows.",
    "cosh(0.0)\n1.0",
    gradient=slopes(lambda x, z: x.sinh()),
)
elementary_op(
    np.arcsinh,
    math.asinh,
    "Inverse hyperbolic sine.",
    "asinh(0.0)\n0.0",
    gradient=slopes(lambda x, z: 1.0 / x.hypot(1.0)),
)
elementary_op(
    np.arccosh,
    scalar_kernels.acosh,
    "Inverse hyperbolic cosine; NaN below 1.",
    "acosh(1.0)\n0.0",
    gradient=slopes(lambda x, z: 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt())),
)
elementary_op(
    np.arctanh,
    scalar_kernels.atanh,
    "Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.",
    "atanh(0.0)\n0.0",
    gradient=slopes(lambda x, z: 1.0 / ((1.0 - x) * (1.0 + x))),
)
elementary_op(
    np.expm1,
    scalar_kernels.expm1,
    "exp(x) - 1, accurate near zero too.",
    "expm1(0.0)\n0.0",
    gradient=slopes(lambda x, z: x.exp()),
)
elementary_op(
    np.log1p,
    scalar_kernels.log1p,
    "Natural logarithm of 1 + x, accurate near zero too.",
    "log1p(0.0)\n0.0",
    gradient=slopes(lambda x, z: 1.0 / (1.0 + x)),
)
elementary_op(
    np.log2,
    scalar_kernels.log2,
    "Logarithm to the base 2; -inf at zero, NaN below.",
    "log2(8.0)\n3.0",
    gradient=slopes(lambda x, z: 1.0 / (math.log(2.0) * x)),
)
elementary_op(
    np.log10,
    scalar_kernels.log10,
    "Logarithm to the base 10; -inf at zero, NaN below.",
    "log10(100.0)\n2.0",
    gradient=slopes(lambda x, z: 1.0 / (math.log(10.0) * x)),
)
elementary_op(
    np.arctan2,
    math.atan2,
    "The angle of the point (y, x), in radians from -pi to pi; the first operand is y.",
    "atan2(0.0, 1.0)\n0.0",
    arity=2,
    gradient=slopes(lambda y, x, z: over_squared_distance(x, y), lambda y, x, z: -over_squared_distance(y, x)),
)
elementary_op(
    np.logaddexp,
    scalar_kernels.logaddexp,
    "log(exp(x) + exp(y)), without intermediate overflow.",
    "logaddexp(0.0, float('-inf'))\n0.0",
    arity=2,
    gradient=slopes(softmax_share, lambda x, y, z: softmax_share(y, x, z)),
)
elementary_op(
    np.hypot,
    scalar_kernels.hypot,
    "The length of (x, y): the square root of x * x + y * y, without intermediate overflow.",
    "hypot(3.0, 4.0)\n5.0",
    arity=2,
    gradient=slopes(lambda x, y, z: hypot_slope(x, z), lambda x, y, z: hypot_slope(y, z)),
)
