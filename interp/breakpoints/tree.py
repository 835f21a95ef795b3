"""Expressions as trees: plain frozen data, equal if they mean the same, with a formatter back to text."""

from __future__ import annotations

from dataclasses import dataclass, field

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "matches", "in")
OR, AND, NOT, COMPARISON, SUM, PRODUCT, MINUS, OPERAND = range(1, 9)
PRECEDENCE = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(COMPARISONS, COMPARISON),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
}
"""How strongly what stands between two operands binds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionNode:
    """An expression as data. Trees are equal if they mean the same, wherever they are in a text."""

    offset: int = field(default=0, compare=False, repr=False)
    """The position in the text where it begins; for an infix expression, that of its first operator."""
    height: int = field(default=1, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NumberLiteral(ExpressionNode):
    value: int | float


@dataclass(frozen=True, slots=True)
class BooleanLiteral(ExpressionNode):
    value: bool


@dataclass(frozen=True, slots=True)
class TextLiteral(ExpressionNode):
    value: str


@dataclass(frozen=True, slots=True)
class NameReference(ExpressionNode):
    """A name of the table, dots included."""

    name: str


@dataclass(frozen=True, slots=True)
class IndexedName(ExpressionNode):
    """`inputs[0]`."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Negation(ExpressionNode):
    operand: ExpressionNode


@dataclass(frozen=True, slots=True)
class LogicalNot(ExpressionNode):
    operand: ExpressionNode


@dataclass(frozen=True, slots=True)
class Conjunction(ExpressionNode):
    """`a and b and c`: one node for any number of operands, so that a long one is not deep."""

    operands: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class Disjunction(ExpressionNode):
    operands: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class ComparisonExpression(ExpressionNode):
    operator: str
    left_operand: ExpressionNode
    right_operand: ExpressionNode


@dataclass(frozen=True, slots=True)
class ArithmeticChain(ExpressionNode):
    """Sums or products: `first_operand`, then pairs (sign, operand), from left to right."""

    first_operand: ExpressionNode
    later_operands: tuple[tuple[str, ExpressionNode], ...]


def format_expression(tree: ExpressionNode) -> str:
    """A tree as text, with brackets only where they are needed: parsing it gives the same tree.

    >>> is_product = ComparisonExpression("==", NameReference("node"), TextLiteral("mul"))
    >>> format_expression(LogicalNot(Disjunction((NameReference("fired"), is_product))))
    "not (fired or node == 'mul')"
    """
    match tree:
        case NumberLiteral(value):
            return repr(value)
        case BooleanLiteral(truth):
            return "true" if truth else "false"
        case TextLiteral(said):
            return f'"{said}"' if "'" in said else f"'{said}'"
        case NameReference(name):
            return name
        case IndexedName(name, index):
            return f"{name}[{index}]"
        case Negation(operand):
            return f"-{_parenthesize(operand, MINUS)}"
        case LogicalNot(operand):
            return f"not {_parenthesize(operand, NOT)}"
        case Conjunction(tests):
            return " and ".join(_parenthesize(test, NOT) for test in tests)
        case Disjunction(tests):
            return " or ".join(_parenthesize(test, AND) for test in tests)
        case ComparisonExpression(sign, left, right):
            return f"{_parenthesize(left, SUM)} {sign} {_parenthesize(right, SUM)}"
        case ArithmeticChain(first, rest):
            level = _precedence(tree) + 1
            return _parenthesize(first, level) + "".join(f" {sign} {_parenthesize(each, level)}" for sign, each in rest)
    raise AssertionError(tree)


def _parenthesize(tree: ExpressionNode, level: int) -> str:
    """A tree as an operand of this precedence, in brackets if it binds less strongly."""
    return format_expression(tree) if _precedence(tree) >= level else f"({format_expression(tree)})"


def _precedence(tree: ExpressionNode) -> int:
    match tree:
        case ArithmeticChain(_, ((sign, _), *_)):
            return PRECEDENCE[sign]
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
