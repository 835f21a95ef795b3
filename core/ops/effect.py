"""Effects: ops that act on the world outside. Effects on one resource happen in program order.

An order token is handed from each effect on a resource to the next. In a graph it is the trigger of an effect and its
second output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .. import dtypes
from ..errors import Invalid, plural
from ..types import HandleType, Type
from ..value import format_value
from .attribute import format_attribute
from .effect_op import effect_op

_BOOL = Type(dtypes.bool)
_PLACEHOLDERS = re.compile(r"\{\{|\}\}|\{\}")
"""Braces in a text: an escaped brace, or a place for an operand."""


def format_text(text: str, operands: tuple[Any, ...]) -> str:
    """The text with operands, as literals, in the place of each `{}`; `{{` and `}}` are braces.

    >>> format_text("{} of {{{}}}", (1, 2.5))
    '1 of {2.5}'
    """
    return fill_placeholders(text, map(format_value, operands))


def fill_placeholders(text: str, shown: Iterable[str]) -> str:
    """The text with these strings in the place of each `{}`; places left over stay."""
    left = iter(shown)
    return _PLACEHOLDERS.sub(lambda piece: next(left, "{}") if piece[0] == "{}" else piece[0][0], text)


def print_type(*operands: Type, text: Any) -> Type:
    holes = placeholder_count(text) if isinstance(text, str) else None
    if holes != len(operands):
        required = "a text with {} for each operand, {{ and }} for braces"
        raise Invalid(
            "a text and operands that do not fit",
            required=required,
            got=f"{plural(len(operands), 'operand')} and the text {format_attribute(text)}",
        )
    _check_no_handles(operands)
    if any("\ud800" <= letter <= "\udfff" for letter in str(text)):
        raise Invalid("this text cannot be printed", required="Unicode", got=format_attribute(text))
    return _BOOL


def placeholder_count(text: str) -> int | None:
    """The number of operands that a text has places for; None if its braces do not match."""
    rest = _PLACEHOLDERS.sub("", text)
    return None if "{" in rest or "}" in rest else _PLACEHOLDERS.findall(text).count("{}")


def callback_type(*operands: Type, function: Any, returns: Any) -> Type:
    if not isinstance(function, str) or not isinstance(returns, Type) or isinstance(returns.dtype, HandleType):
        required = 'a name and a type, as in function="f", returns=float64'
        got = f"function={format_attribute(function)}, returns={format_attribute(returns)}"
        raise Invalid("this is no callback", required=required, got=got)
    _check_no_handles(operands)
    return returns


def _check_no_handles(operands: tuple[Type, ...]) -> None:
    for operand in operands:
        if isinstance(operand.dtype, HandleType):
            raise Invalid("cells do not leave the program", required="numbers or arrays", got=operand)


def breakpoint_type(condition: Type) -> Type:
    if condition != _BOOL:
        raise Invalid("the condition of breakpoint is not one bool", required=_BOOL, got=condition)
    return _BOOL


print_ = effect_op(
    "print",
    arity=None,
    type_rule=print_type,
    attributes=("text",),
    resource="output",
    output_count=2,
    doc="Print a line: `text`, with an operand for each `{}` in it. The result is true, once the line is printed.",
)
callback = effect_op(
    "callback",
    arity=None,
    type_rule=callback_type,
    attributes=("function", "returns"),
    resource="python",
    output_count=2,
    doc="Call the Python function of this name, which the run is given, on the operands. Traps if it raises, or does "
    "not return a value of type `returns`.",
)
breakpoint_ = effect_op(
    "breakpoint",
    arity=1,
    type_rule=breakpoint_type,
    doc="The condition itself. A debugger stops when it fires on true.",
)
