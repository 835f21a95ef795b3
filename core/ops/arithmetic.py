"""Arithmetic. Integers wrap; floats are IEEE 754; integer division by zero traps.

Names and meanings follow the Python Array API standard 2024.12 where it fixes them.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..hashing import MASK64
from . import scalar_kernels
from .gradient_rules import Term, adjoint_rule, slopes, zero_gradient
from .op import Gradient, TrapCondition, op
from .type_rules import elementwise_type_rule, scalar_by_kind

_NUMERIC = elementwise_type_rule("if")


def is_zero_divisor(x: Any, y: Any) -> Any:
    return y == 0


def is_negative_exponent(x: Any, y: Any) -> Any:
    return y < 0


def power_array(x: Any, y: Any) -> Any:
    """NumPy's power with the exponent as a full array: for a single exponent of 0.5 NumPy computes a square root, which
    differs from pow at -0.0 and -inf."""
    return np.power(x, np.array(np.broadcast_to(y, np.broadcast_shapes(np.shape(x), np.shape(y))), order="C"))


def minimum_array(x: Any, y: Any) -> Any:
    """The first of equal operands; np.minimum leaves the sign of equal zeros to the processor."""
    return np.where((x <= y) | (x != x), x, y)


def maximum_array(x: Any, y: Any) -> Any:
    return np.where((x >= y) | (x != x), x, y)


def multiply_no_nan_array(x: Any, y: Any) -> Any:
    return np.where(y == 0, 0.0, np.multiply(x, y))


def selection_gradient(op: str) -> Gradient:
    """The rule of an op that selects the first operand where `op` holds for both, else the second."""

    def adjoint(g: Term, x: Term, y: Term) -> Term:
        return x.op(op, x, y).where(g, x.equal(y).where(0.5 * g, 0.0))

    return adjoint_rule(lambda g, z, x, y: adjoint(g, x, y), lambda g, z, x, y: adjoint(g, y, x))


def multiply_no_nan_adjoint(y: Term, g: Term) -> Term:
    """The slope is y. Where y is 0 the product is 0 whatever x is, and an infinite adjoint adds nothing either."""
    return y.equal(0.0).where(0.0, y.multiply_no_nan(g))


op(
    "add",
    arity=2,
    type_rule=_NUMERIC,
    numpy=np.add,
    scalar=operator.add,
    symbol="+",
    has_innocuous_rounding=True,
    gradient=adjoint_rule(lambda g, z, x, y: g, lambda g, z, x, y: g),
    doc="""Sum. Integers wrap.

>>> tl.add(2, 3)
5
""",
)
op(
    "subtract",
    arity=2,
    type_rule=_NUMERIC,
    numpy=np.subtract,
    scalar=operator.sub,
    symbol="-",
    has_innocuous_rounding=True,
    gradient=adjoint_rule(lambda g, z, x, y: g, lambda g, z, x, y: -g),
    doc="""Difference. Integers wrap.

>>> tl.subtract(2, 3)
-1
""",
)
op(
    "multiply",
    arity=2,
    type_rule=_NUMERIC,
    numpy=np.multiply,
    scalar=operator.mul,
    symbol="*",
    has_innocuous_rounding=True,
    gradient=slopes(lambda x, y, z: y, lambda x, y, z: x),
    doc="""Product. Integers wrap.

>>> tl.multiply(2**62, 2) == -2**63
True
""",
)
op(
    "divide",
    arity=2,
    type_rule=elementwise_type_rule("f"),
    numpy=np.divide,
    scalar=scalar_kernels.div,
    symbol="/",
    promotes_integers_to_float=True,
    has_innocuous_rounding=True,
    gradient=slopes(lambda x, y, z: 1.0 / y, lambda x, y, z: -(z / y)),
    doc="""Quotient; x/0 is an infinity with the sign of both, 0/0 is NaN. Integers become float64; see floor_divide.

>>> tl.divide(1.0, 0.0), tl.divide(7, 2)
(inf, 3.5)
""",
)
op(
    "multiply_no_nan",
    arity=2,
    type_rule=elementwise_type_rule("f"),
    numpy=multiply_no_nan_array,
    scalar=scalar_kernels.product_or_zero,
    has_innocuous_rounding=True,
    gradient=adjoint_rule(lambda g, z, x, y: multiply_no_nan_adjoint(y, g), lambda g, z, x, y: x.multiply_no_nan(g)),
    doc="""Product of floats; 0 where y is 0, even if x is infinite or NaN. NaN where y is NaN.

>>> tl.multiply_no_nan(float("inf"), 0.0)
0.0
""",
)
op(
    "floor_divide",
    arity=2,
    type_rule=_NUMERIC,
    numpy=np.floor_divide,
    scalar=scalar_by_kind(scalar_kernels.integer_floordiv, fallback=scalar_kernels.floordiv),
    symbol="//",
    trap_condition=TrapCondition(is_zero_divisor, "integer division by zero", error=ZeroDivisionError),
    gradient=zero_gradient,
    doc="""Quotient, rounded down. Integer division by zero traps; the lowest integer // -1 wraps to itself.

>>> tl.floor_divide(-7, 2)
-4
""",
)
op(
    "remainder",
    arity=2,
    type_rule=_NUMERIC,
    numpy=np.remainder,
    scalar=scalar_by_kind(scalar_kernels.integer_mod, fallback=scalar_kernels.mod),
    symbol="%",
    trap_condition=TrapCondition(is_zero_divisor, "integer remainder by zero", error=ZeroDivisionError),
    gradient=adjoint_rule(lambda g, z, x, y: g, lambda g, z, x, y: (-x.floor_divide(y)).multiply_no_nan(g)),
    doc="""Remainder with the sign of the divisor. Integer remainder by zero traps; of floats it is NaN.

>>> tl.remainder(-7, 2)
1
""",
)
op(
    "pow",
    arity=2,
    type_rule=_NUMERIC,
    numpy=power_array,
    float_loop=np.power,
    scalar=scalar_by_kind(scalar_kernels.integer_power, 1, MASK64, fallback=scalar_kernels.power),
    symbol="**",
    trap_condition=TrapCondition(is_negative_exponent, "integer to a negative power"),
    gradient=slopes(
        lambda x, y, z: x.pow(y - 1.0).multiply_no_nan(y),
        lambda x, y, z: z.multiply_no_nan(x.equal(0.0).where(1.0, x).log()),
    ),
    doc="""Power. Integers wrap, and trap on a negative exponent; floats follow C's pow.

>>> tl.pow(2, 10)
1024
""",
)
op(
    "negative",
    arity=1,
    type_rule=_NUMERIC,
    numpy=np.negative,
    scalar=operator.neg,
    symbol="-",
    has_innocuous_rounding=True,
    gradient=adjoint_rule(lambda g, z, x: -g),
    doc="""The number with its sign changed. Integers wrap: the lowest signed integer is its own negative, and that of
an unsigned x is 2**bits - x.

>>> tl.negative(2.5)
-2.5
""",
)
op(
    "abs",
    arity=1,
    type_rule=_NUMERIC,
    numpy=np.abs,
    scalar=operator.abs,
    symbol="abs",
    has_innocuous_rounding=True,
    gradient=slopes(lambda x, z: x.sign()),
    doc="""Absolute value. That of the lowest signed integer is the integer itself.

>>> tl.abs(-3)
3
""",
)
op(
    "minimum",
    arity=2,
    type_rule=_NUMERIC,
    numpy=minimum_array,
    scalar=scalar_kernels.minimum,
    symbol="min",
    has_innocuous_rounding=True,
    gradient=selection_gradient("less"),
    doc="""The smaller of two numbers; NaN if either is NaN; the first of equal numbers, 0.0 and -0.0 among them.

>>> tl.minimum(2, 3)
2
""",
)
op(
    "maximum",
    arity=2,
    type_rule=_NUMERIC,
    numpy=maximum_array,
    scalar=scalar_kernels.maximum,
    symbol="max",
    has_innocuous_rounding=True,
    gradient=selection_gradient("greater"),
    doc="""The larger of two numbers; NaN if either is NaN; the first of equal numbers, 0.0 and -0.0 among them.

>>> tl.maximum(2, 3)
3
""",
)
