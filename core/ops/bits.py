"""The bits of integers, in two's complement; of bools the same ops are logic."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import guarded
from .op import Undefined, op
from .rules import elementwise, integers_by


def _negative(x: Any, y: Any) -> Any:
    return y < 0


def _bits(name: str, symbol: str, numpy: Any, scalar: Any, doc: str, *, arity: int = 2) -> None:
    """Bit by bit, of bools too."""
    op(name, arity=arity, types=elementwise("bi"), numpy=numpy, scalar=scalar, symbol=symbol, doc=doc)


def _shift(name: str, symbol: str, numpy: Any, scalar: Any, doc: str) -> None:
    undefined = Undefined(_negative, "shift by a negative number")
    op(name, arity=2, types=elementwise("i"), numpy=numpy, scalar=scalar, symbol=symbol, undefined=undefined, doc=doc)


_bits("bitwise_and", "&", np.bitwise_and, operator.and_, "The bits that both have.\n\n>>> tl.bitwise_and(12, 10)\n8\n")
_bits(
    "bitwise_or",
    "|",
    np.bitwise_or,
    operator.or_,
    "The bits that at least one has.\n\n>>> tl.bitwise_or(12, 10)\n14\n",
)
_bits(
    "bitwise_xor",
    "^",
    np.bitwise_xor,
    operator.xor,
    "The bits that exactly one has.\n\n>>> tl.bitwise_xor(12, 10)\n6\n",
)
_bits(
    "bitwise_invert",
    "~",
    np.invert,
    integers_by(operator.invert, others=operator.not_),
    "The bits that it does not have.\n\n>>> tl.bitwise_invert(5)\n-6\n",
    arity=1,
)
_shift(
    "bitwise_left_shift",
    "<<",
    np.left_shift,
    guarded.left_shift,
    """The bits of x moved to the left by y, and so x * 2**y, which wraps; 0 from the number of bits on. Traps on a
negative y.

>>> tl.bitwise_left_shift(5, 2)
20
""",
)
_shift(
    "bitwise_right_shift",
    ">>",
    np.right_shift,
    guarded.right_shift,
    """The bits of x moved to the right by y, and so x // 2**y; traps on a negative y.

>>> tl.bitwise_right_shift(-5, 1)
-3
""",
)
