"""Syntax trees of expressions, as frozen data; their printer, limits and errors.

`parser` makes trees from text, and `expression` compiles them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ...core.errors import TagloomError, Usage
from ...core.program.hints import suggest_name
from ...core.text import fault as text_fault
from ...core.text.fault import START, SourcePosition, SyntaxFault

MAX_LENGTH: Final = 10_000
"""The limit on the characters of an expression."""
MAX_DEPTH: Final = 100
"""The limit on the nesting of an expression: functions over trees recurse on Python's stack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionNode:
    """A node of a syntax tree. Equality ignores positions in the text."""

    position: SourcePosition = field(default=START, compare=False, repr=False)
    """The position in the text where the node begins; for an infix expression, the position of its first operator."""
    height: int = field(default=1, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NumberLiteral(ExpressionNode):
    """A number."""

    value: int | float


@dataclass(frozen=True, slots=True)
class BooleanLiteral(ExpressionNode):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class TextLiteral(ExpressionNode):
    """A text in quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class NameReference(ExpressionNode):
    """A name of the table, dots included."""

    name: str


@dataclass(frozen=True, slots=True)
class IndexedName(ExpressionNode):
    """A name with an index: `inputs[0]`."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Negation(ExpressionNode):
    """`-operand`."""

    operand: ExpressionNode


@dataclass(frozen=True, slots=True)
class LogicalNot(ExpressionNode):
    """`not operand`."""

    operand: ExpressionNode


@dataclass(frozen=True, slots=True)
class Conjunction(ExpressionNode):
    """`a and b and c`: one node for any number of operands, so that a long one is not deep."""

    operands: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class Disjunction(ExpressionNode):
    """`a or b or c`: one node for any number of operands."""

    operands: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class ComparisonExpression(ExpressionNode):
    """A comparison, or a match of a tag with a pattern; `operator` is its sign."""

    operator: str
    left_operand: ExpressionNode
    right_operand: ExpressionNode


@dataclass(frozen=True, slots=True)
class ArithmeticChain(ExpressionNode):
    """Sums or products: `first_operand`, then pairs (sign, operand), from left to right."""

    first_operand: ExpressionNode
    later_operands: tuple[tuple[str, ExpressionNode], ...]


OR, AND, NOT, COMPARISON, SUM, PRODUCT, MINUS, OPERAND = range(1, 9)
"""The precedences of operators, from the weakest."""


def format_expression(tree: ExpressionNode) -> str:
    """A tree as text, with brackets only where they are needed. Parsing the text returns an equal tree.

    >>> is_product = ComparisonExpression("==", NameReference("node"), TextLiteral("mul"))
    >>> format_expression(LogicalNot(Disjunction((NameReference("fired"), is_product))))
    "not (fired or node == 'mul')"
    """
    match tree:
        case NumberLiteral(value):
            return repr(value)
        case BooleanLiteral(truth):
            return "true" if truth else "false"
        case TextLiteral(text):
            return f'"{text}"' if "'" in text else f"'{text}'"
        case NameReference(name):
            return name
        case IndexedName(name, index):
            return f"{name}[{index}]"
        case Negation(operand):
            return f"-{_format_operand(operand, MINUS)}"
        case LogicalNot(operand):
            return f"not {_format_operand(operand, NOT)}"
        case Conjunction(tests):
            return " and ".join(_format_operand(test, NOT) for test in tests)
        case Disjunction(tests):
            return " or ".join(_format_operand(test, AND) for test in tests)
        case ComparisonExpression(sign, left, right):
            return f"{_format_operand(left, SUM)} {sign} {_format_operand(right, SUM)}"
        case ArithmeticChain(first, rest):
            level = precedence(tree) + 1
            return _format_operand(first, level) + "".join(
                f" {sign} {_format_operand(operand, level)}" for sign, operand in rest
            )
    raise AssertionError(tree)


def _format_operand(tree: ExpressionNode, level: int) -> str:
    """A tree as an operand of this precedence, in brackets if it binds less strongly."""
    return format_expression(tree) if precedence(tree) >= level else f"({format_expression(tree)})"


def precedence(tree: ExpressionNode) -> int:
    """The precedence of a tree's operator."""
    match tree:
        case ArithmeticChain(_, ((sign, _), *_)):
            return SUM if sign in ("+", "-") else PRODUCT
        case Negation():
            return MINUS
        case LogicalNot():
            return NOT
        case Conjunction():
            return AND
        case Disjunction():
            return OR
        case ComparisonExpression():
            return COMPARISON
    return OPERAND


MAX_LISTED_NAMES = 30
MAX_QUOTED_LENGTH = 40


def to_error(fault: SyntaxFault, text: str) -> TagloomError:
    """The error for a fault in the text of an expression or a template, with its position: a column, or a line and a
    column."""
    line, column = fault.position
    where = f"column {column}" if "\n" not in text else f"line {line}, column {column}"
    return text_fault.to_error(fault, text, where)


def unknown_name(
    message: str, word: str, position: SourcePosition, names: list[str], *, alternatives: Iterable[str] = ()
) -> SyntaxFault:
    """The fault for an unknown word, which lists `names` and suggests the closest one. `alternatives` are other names,
    which are suggested but not listed."""
    omitted_count = len(names) - MAX_LISTED_NAMES
    listing = ", ".join(names[:MAX_LISTED_NAMES]) + (f" and {omitted_count:,} more" if omitted_count > 0 else "")
    hint = suggest_name(word, [*names, *alternatives]) if len(word) < 2 * MAX_QUOTED_LENGTH else None
    return SyntaxFault(
        message, position, kind=Usage, required=listing or None, got=None if listing else "none", hint=hint
    )


def abbreviate(text: str) -> str:
    """A text, shortened if it is long."""
    return text if len(text) <= MAX_QUOTED_LENGTH else text[: MAX_QUOTED_LENGTH - 3] + "..."
