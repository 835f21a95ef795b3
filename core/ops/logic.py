"""Bitwise ops, comparisons, and logic.

Integers are in two's complement; on bools bitwise ops are logic. Results of comparisons are bool, and every comparison
with NaN is false except not_equal.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import Invalid
from ..types import Type
from . import scalar_kernels
from .op import TrapCondition, TypeRule, op
from .type_rules import elementwise_type_rule, format_attribute, scalar_by_kind


def is_negative_shift(x: Any, y: Any) -> Any:
    return y < 0


def logic_op(
    name: str,
    symbol: str,
    numpy: Any,
    scalar: Any,
    summary: str,
    arguments: str,
    result: object,
    *,
    types: TypeRule,
    arity: int = 2,
    **columns: Any,
) -> None:
    """Declare an op whose documentation is a summary and one call with its result."""
    columns |= {"symbol": symbol, "doc": f"{summary}\n\n>>> tl.{name}({arguments})\n{result}\n"}
    op(name, arity=arity, type_rule=types, numpy=numpy, scalar=scalar, **columns)


bitwise_op = partial(logic_op, types=elementwise_type_rule("bi"))
bitwise_op("bitwise_and", "&", np.bitwise_and, operator.and_, "The bits set in both operands.", "12, 10", 8)
bitwise_op("bitwise_or", "|", np.bitwise_or, operator.or_, "The bits set in at least one operand.", "12, 10", 14)
bitwise_op("bitwise_xor", "^", np.bitwise_xor, operator.xor, "The bits set in exactly one operand.", "12, 10", 6)
bitwise_op(
    "bitwise_invert",
    "~",
    np.invert,
    scalar_by_kind(operator.invert, fallback=operator.not_),
    "The bits that are not set.",
    "5",
    -6,
    arity=1,
)

shift_op = partial(
    logic_op,
    types=elementwise_type_rule("i"),
    trap_condition=TrapCondition(is_negative_shift, "shift by a negative number"),
)
shift_op(
    "bitwise_left_shift",
    "<<",
    np.left_shift,
    scalar_kernels.left_shift,
    """The bits of x shifted left by y: x * 2**y, which wraps, and 0 once y is the number of bits. Traps on a negative
    y.""",
    "5, 2",
    20,
)
shift_op(
    "bitwise_right_shift",
    ">>",
    np.right_shift,
    scalar_kernels.right_shift,
    "The bits of x shifted right by y: x // 2**y. Traps on a negative y.",
    "-5, 1",
    -3,
)

order_op = partial(logic_op, types=elementwise_type_rule("if", dtypes.bool), has_innocuous_rounding=True)
order_op("less", "<", np.less, operator.lt, "Whether x < y.", "1, 2", True)
order_op("less_equal", "<=", np.less_equal, operator.le, "Whether x <= y.", "2, 2", True)
order_op("greater", ">", np.greater, operator.gt, "Whether x > y.", "1, 2", False)
order_op("greater_equal", ">=", np.greater_equal, operator.ge, "Whether x >= y.", "2, 2", True)

equality_op = partial(logic_op, types=elementwise_type_rule("bif", dtypes.bool), has_innocuous_rounding=True)
equality_op("equal", "==", np.equal, operator.eq, "Whether x equals y.", "2, 2", True)
equality_op("not_equal", "!=", np.not_equal, operator.ne, "Whether x differs from y.", "2, 2", False)

logical_op = partial(logic_op, types=elementwise_type_rule("b"))
logical_op(
    "logical_and",
    "&",
    np.logical_and,
    lambda x, y: x and y,
    "Whether both hold. Both operands are computed.",
    "True, False",
    False,
)
logical_op(
    "logical_or",
    "|",
    np.logical_or,
    lambda x, y: x or y,
    "Whether at least one holds. Both operands are computed.",
    "True, False",
    True,
)
logical_op("logical_xor", "^", np.logical_xor, operator.ne, "Whether exactly one holds.", "True, True", False)
logical_op("logical_not", "~", np.logical_not, operator.not_, "Whether it does not hold.", "True", False, arity=1)


def fails(condition: Any) -> Any:
    return condition == 0


def assertion_type(condition: Type, error: str = "AssertionError", message: str = "") -> Type:
    if not isinstance(error, str) or not all(part.isidentifier() for part in error.replace(".<locals>", "").split(".")):
        required = 'the name of an exception, as in error="ValueError"'
        raise Invalid("this is not the name of an exception", required=required, got=format_attribute(error))
    if not isinstance(message, str) or any("\ud800" <= letter <= "\udfff" for letter in message):
        raise Invalid("this is not a message", required='a text, as in message="n < 0"', got=format_attribute(message))
    return _bool_type(condition)


def describe_assertion(error: str = "AssertionError", message: str = "") -> str:
    """The message of the trap of an assertion, as the last line of Python's traceback."""
    return f"{error}: {message}" if message else error


_bool_type = elementwise_type_rule("b")
op(
    "assert",
    arity=1,
    type_rule=assertion_type,
    attributes=("error", "message"),
    optional_attributes=("error", "message"),
    numpy=lambda condition, **attributes: condition,
    scalar=lambda condition: condition,
    namespace=None,
    trap_condition=TrapCondition(fails, describe_assertion, "b", error=None),
    has_innocuous_rounding=True,
    doc="""The condition itself. Traps where it is false, with this message and as this exception of Python.

>>> try:
...     tl.assert_(2 < 1, "2 < 1")
... except AssertionError as error:
...     error.message
'AssertionError: 2 < 1'
""",
)
