"""The bits of integers, in two's complement; of bools the same ops are logic."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..op import Undefined, op
from . import guarded
from .rules import elementwise, integers_by

_BITS = elementwise("bi")
_INTEGERS = elementwise("i")


def _negative(x: Any, y: Any) -> Any:
    return y < 0


_NEGATIVE = Undefined(_negative, "shift by a negative number")

op(
    "bitwise_and",
    arity=2,
    types=_BITS,
    numpy=np.bitwise_and,
    scalar=operator.and_,
    symbol="&",
    doc="""The bits that both have.

>>> tl.bitwise_and(12, 10)
8
""",
)
op(
    "bitwise_or",
    arity=2,
    types=_BITS,
    numpy=np.bitwise_or,
    scalar=operator.or_,
    symbol="|",
    doc="""The bits that at least one has.

>>> tl.bitwise_or(12, 10)
14
""",
)
op(
    "bitwise_xor",
    arity=2,
    types=_BITS,
    numpy=np.bitwise_xor,
    scalar=operator.xor,
    symbol="^",
    doc="""The bits that exactly one has.

>>> tl.bitwise_xor(12, 10)
6
""",
)
op(
    "bitwise_invert",
    arity=1,
    types=_BITS,
    numpy=np.invert,
    scalar=integers_by(operator.invert, others=operator.not_),
    symbol="~",
    doc="""The bits that it does not have.

>>> tl.bitwise_invert(5)
-6
""",
)
op(
    "bitwise_left_shift",
    arity=2,
    types=_INTEGERS,
    numpy=np.left_shift,
    scalar=guarded.left_shift,
    symbol="<<",
    undefined=_NEGATIVE,
    doc="""The bits of x moved to the left by y, and so x * 2**y, which wraps; 0 from the number of bits on. Traps on a
negative y.

>>> tl.bitwise_left_shift(5, 2)
20
""",
)
op(
    "bitwise_right_shift",
    arity=2,
    types=_INTEGERS,
    numpy=np.right_shift,
    scalar=guarded.right_shift,
    symbol=">>",
    undefined=_NEGATIVE,
    doc="""The bits of x moved to the right by y, and so x // 2**y; traps on a negative y.

>>> tl.bitwise_right_shift(-5, 1)
-3
""",
)
