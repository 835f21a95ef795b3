"""Comparison and logic: results are bool. Every comparison with NaN is false except not_equal."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import dtypes
from .op import op
from .rules import elementwise_type_rule

_ORDER_TYPES = elementwise_type_rule("if", dtypes.bool)
_EQUALITY_TYPES = elementwise_type_rule("bif", dtypes.bool)
_LOGIC_TYPES = elementwise_type_rule("b")


def comparison_op(
    name: str, symbol: str, numpy: Any, scalar: Any, example: str, said: str, types: Any = _ORDER_TYPES
) -> None:
    columns = {"numpy": numpy, "scalar": scalar, "symbol": symbol, "has_innocuous_rounding": True}
    op(name, arity=2, type_rule=types, doc=f"{said}\n\n{example}\n", **columns)


comparison_op("less", "<", np.less, operator.lt, ">>> tl.less(1, 2)\nTrue", "Whether x < y.")
comparison_op("less_equal", "<=", np.less_equal, operator.le, ">>> tl.less_equal(2, 2)\nTrue", "Whether x <= y.")
comparison_op("greater", ">", np.greater, operator.gt, ">>> tl.greater(1, 2)\nFalse", "Whether x > y.")
comparison_op(
    "greater_equal", ">=", np.greater_equal, operator.ge, ">>> tl.greater_equal(2, 2)\nTrue", "Whether x >= y."
)
comparison_op("equal", "==", np.equal, operator.eq, ">>> tl.equal(2, 2)\nTrue", "Whether x equals y.", _EQUALITY_TYPES)
comparison_op(
    "not_equal",
    "!=",
    np.not_equal,
    operator.ne,
    ">>> tl.not_equal(2, 2)\nFalse",
    "Whether x differs from y.",
    _EQUALITY_TYPES,
)

op(
    "logical_and",
    arity=2,
    type_rule=_LOGIC_TYPES,
    numpy=np.logical_and,
    scalar=lambda x, y: x and y,
    symbol="&",
    doc="""Whether both hold. Both operands are computed.

>>> tl.logical_and(True, False)
False
""",
)
op(
    "logical_or",
    arity=2,
    type_rule=_LOGIC_TYPES,
    numpy=np.logical_or,
    scalar=lambda x, y: x or y,
    symbol="|",
    doc="""Whether at least one holds. Both operands are computed.

>>> tl.logical_or(True, False)
True
""",
)
op(
    "logical_xor",
    arity=2,
    type_rule=_LOGIC_TYPES,
    numpy=np.logical_xor,
    scalar=operator.ne,
    symbol="^",
    doc="""Whether exactly one holds.

>>> tl.logical_xor(True, True)
False
""",
)
op(
    "logical_not",
    arity=1,
    type_rule=_LOGIC_TYPES,
    numpy=np.logical_not,
    scalar=operator.not_,
    symbol="~",
    doc="""Whether it does not hold.

>>> tl.logical_not(True)
False
""",
)
