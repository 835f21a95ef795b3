"""Bitwise ops, comparisons, and logic.

Integers are in two's complement; on bools bitwise ops are logic. Results of comparisons are bool, and every comparison
with NaN is false except not_equal.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import dtypes
from . import scalar_kernels
from .op import TrapCondition, op
from .rules import elementwise_type_rule, scalar_by_kind


def is_negative_shift(x: Any, y: Any) -> Any:
    return y < 0


def bitwise_op(name: str, symbol: str, numpy: Any, scalar: Any, doc: str, *, arity: int = 2) -> None:
    """Declare an op that works bit by bit, on bools too."""
    op(name, arity=arity, type_rule=elementwise_type_rule("bi"), numpy=numpy, scalar=scalar, symbol=symbol, doc=doc)


def shift_op(name: str, symbol: str, numpy: Any, scalar: Any, doc: str) -> None:
    undefined = TrapCondition(is_negative_shift, "shift by a negative number")
    op(
        name,
        arity=2,
        type_rule=elementwise_type_rule("i"),
        numpy=numpy,
        scalar=scalar,
        symbol=symbol,
        trap_condition=undefined,
        doc=doc,
    )


bitwise_op(
    "bitwise_and",
    "&",
    np.bitwise_and,
    operator.and_,
    "The bits set in both operands.\n\n>>> tl.bitwise_and(12, 10)\n8\n",
)
bitwise_op(
    "bitwise_or",
    "|",
    np.bitwise_or,
    operator.or_,
    "The bits set in at least one operand.\n\n>>> tl.bitwise_or(12, 10)\n14\n",
)
bitwise_op(
    "bitwise_xor",
    "^",
    np.bitwise_xor,
    operator.xor,
    "The bits set in exactly one operand.\n\n>>> tl.bitwise_xor(12, 10)\n6\n",
)
bitwise_op(
    "bitwise_invert",
    "~",
    np.invert,
    scalar_by_kind(operator.invert, fallback=operator.not_),
    "The bits that are not set.\n\n>>> tl.bitwise_invert(5)\n-6\n",
    arity=1,
)
shift_op(
    "bitwise_left_shift",
    "<<",
    np.left_shift,
    scalar_kernels.left_shift,
    """The bits of x shifted left by y: x * 2**y, which wraps, and 0 once y is the number of bits. Traps on a negative
    y.

>>> tl.bitwise_left_shift(5, 2)
20
""",
)
shift_op(
    "bitwise_right_shift",
    ">>",
    np.right_shift,
    scalar_kernels.right_shift,
    """The bits of x shifted right by y: x // 2**y. Traps on a negative y.

>>> tl.bitwise_right_shift(-5, 1)
-3
""",
)


_ORDER_TYPES = elementwise_type_rule("if", dtypes.bool)
_EQUALITY_TYPES = elementwise_type_rule("bif", dtypes.bool)
_LOGIC_TYPES = elementwise_type_rule("b")


def comparison_op(
    name: str, symbol: str, numpy: Any, scalar: Any, example: str, summary: str, types: Any = _ORDER_TYPES
) -> None:
    columns = {"numpy": numpy, "scalar": scalar, "symbol": symbol, "has_innocuous_rounding": True}
    op(name, arity=2, type_rule=types, doc=f"{summary}\n\n{example}\n", **columns)


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
