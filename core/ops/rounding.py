"""The parts of a number: its sign, the whole numbers next to it, whether it is finite; and the next float."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from . import scalar_kernels
from .gradient_rules import slopes, zero_gradient
from .op import op
from .type_rules import elementwise_type_rule, scalar_by_kind, short_symbol

_NUMERIC = elementwise_type_rule("if")
_FLOATING = elementwise_type_rule("f")
_NUMERIC_PREDICATE = elementwise_type_rule("if", dtypes.bool)


def floats_only(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """NumPy's function for floats, and the identity for integers, which NumPy before 2.1 converts to floats."""
    return lambda x: function(x) if np.asarray(x).dtype.kind == "f" else x


def rounding_op(name: str, numpy: Any, scalar: Any, summary: str, example: str) -> None:
    op(
        name,
        arity=1,
        type_rule=_NUMERIC,
        numpy=floats_only(numpy),
        scalar=scalar_by_kind(scalar_kernels.identity, fallback=scalar),
        symbol=short_symbol(name),
        gradient=zero_gradient,
        doc=f"{summary} An integer stays as it is.\n\n>>> tl.{name}({example}\n",
    )


def predicate_op(
    name: str, numpy: Any, scalar: Any, summary: str, example: str, types: Any = _NUMERIC_PREDICATE
) -> None:
    op(
        name,
        arity=1,
        type_rule=types,
        numpy=numpy,
        scalar=scalar,
        symbol=short_symbol(name),
        doc=f"{summary}\n\n>>> tl.{example}\n",
    )


rounding_op("floor", np.floor, scalar_kernels.floor, "The largest whole number that is not above x.", "-0.5)\n-1.0")
rounding_op("ceil", np.ceil, scalar_kernels.ceil, "The smallest whole number that is not below x.", "0.5)\n1.0")
rounding_op("trunc", np.trunc, scalar_kernels.trunc, "The nearest whole number toward zero.", "-1.5)\n-1.0")
rounding_op(
    "round", np.rint, scalar_kernels.round_half_even, "The nearest whole number, the even one of two.", "2.5)\n2.0"
)
op(
    "sign",
    arity=1,
    type_rule=_NUMERIC,
    numpy=np.sign,
    scalar=scalar_by_kind(scalar_kernels.integer_sign, 1, fallback=scalar_kernels.sign),
    symbol="sign",
    gradient=zero_gradient,
    doc="""-1, 0 or 1 for a number below, at or above zero; NaN for NaN, and 0.0 for -0.0.

>>> tl.sign(-2.5)
-1.0
""",
)
op(
    "copysign",
    arity=2,
    type_rule=_FLOATING,
    numpy=np.copysign,
    scalar=math.copysign,
    gradient=slopes(lambda x, y, z: x.sign() * x.op("copysign", 1.0, y), None),
    doc="""The first operand with the sign of the second, which may be a zero or a NaN.

>>> tl.copysign(2.0, -0.0)
-2.0
""",
)
predicate_op(
    "signbit",
    np.signbit,
    scalar_kernels.signbit,
    "Whether the sign of a float is minus, also for -0.0.",
    "signbit(-0.0)\nTrue",
    elementwise_type_rule("f", dtypes.bool),
)
predicate_op(
    "isfinite", np.isfinite, scalar_kernels.isfinite, "Whether it is neither infinite nor NaN.", "isfinite(2.0)\nTrue"
)
predicate_op("isinf", np.isinf, scalar_kernels.isinf, "Whether it is infinite.", "isinf(2.0)\nFalse")
predicate_op("isnan", np.isnan, scalar_kernels.isnan, "Whether it is NaN.", "isnan(2.0)\nFalse")
op(
    "nextafter",
    arity=2,
    namespace="tagloom",
    type_rule=_FLOATING,
    numpy=np.nextafter,
    numpy_float32=np.nextafter,
    narrow_compute_dtype=None,
    gradient=zero_gradient,
    doc="""The next float of the dtype after the first operand, toward the second; the second if they are equal.

>>> tl.nextafter(1.0, 2.0)
1.0000000000000002
""",
)
