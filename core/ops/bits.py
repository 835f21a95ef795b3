"""Ops on the bits of integers, in two's complement. On bools the same ops are logic."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import guarded
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
    guarded.left_shift,
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
    guarded.right_shift,
    """The bits of x shifted right by y: x // 2**y. Traps on a negative y.

>>> tl.bitwise_right_shift(-5, 1)
-3
""",
)
