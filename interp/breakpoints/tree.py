"""Expressions as trees: plain frozen data, equal if they say the same, and written back as text."""

from __future__ import annotations

from dataclasses import dataclass, field

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "matches", "in")
OR, AND, NOT, COMPARISON, SUM, PRODUCT, MINUS, OPERAND = range(1, 9)
LEVELS = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(COMPARISONS, COMPARISON),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
}
"""How strongly what stands between two operands binds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """An expression as data. Trees are equal if they say the same, wherever they stand in a text."""

    spot: int = field(default=0, compare=False, repr=False)
    """Where in the text it begins; of what joins operands, where the sign between the first two does."""
    height: int = field(default=1, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number(Tree):
    value: int | float


@dataclass(frozen=True, slots=True)
class Truth(Tree):
    value: bool


@dataclass(frozen=True, slots=True)
class Text(Tree):
    value: str


@dataclass(frozen=True, slots=True)
class Name(Tree):
    """A name of the table, dots included."""

    name: str


@dataclass(frozen=True, slots=True)
class Item(Tree):
    """`inputs[0]`."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Minus(Tree):
    operand: Tree


@dataclass(frozen=True, slots=True)
class Not(Tree):
    operand: Tree


@dataclass(frozen=True, slots=True)
class Every(Tree):
    """`a and b and c`: one node however many there are, so that a long one is not deep."""

    tests: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Either(Tree):
    tests: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Tree):
    sign: str
    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class Chain(Tree):
    """Sums, or products: `first` and then (sign, operand), from left to right."""

    first: Tree
    rest: tuple[tuple[str, Tree], ...]


def write(tree: Tree) -> str:
    """A tree as text, with brackets only where they are needed: reading it gives the same tree.

    >>> write(Not(Either((Name("fired"), Comparison("==", Name("node"), Text("mul"))))))
    "not (fired or node == 'mul')"
    """
    match tree:
        case Number(value):
            return repr(value)
        case Truth(truth):
            return "true" if truth else "false"
        case Text(said):
            return f'"{said}"' if "'" in said else f"'{said}'"
        case Name(name):
            return name
        case Item(name, index):
            return f"{name}[{index}]"
        case Minus(operand):
            return f"-{_within(operand, MINUS)}"
        case Not(operand):
            return f"not {_within(operand, NOT)}"
        case Every(tests):
            return " and ".join(_within(test, NOT) for test in tests)
        case Either(tests):
            return " or ".join(_within(test, AND) for test in tests)
        case Comparison(sign, left, right):
            return f"{_within(left, SUM)} {sign} {_within(right, SUM)}"
        case Chain(first, rest):
            level = _level(tree) + 1
            return _within(first, level) + "".join(f" {sign} {_within(each, level)}" for sign, each in rest)
    raise AssertionError(tree)


def _within(tree: Tree, level: int) -> str:
    """A tree as an operand where it must bind at least so strongly."""
    return write(tree) if _level(tree) >= level else f"({write(tree)})"


def _level(tree: Tree) -> int:
    match tree:
        case Chain(_, ((sign, _), *_)):
            return LEVELS[sign]
        case Minus():
            return MINUS
        case Not():
            return NOT
        case Every():
            return AND
        case Either():
            return OR
        case Comparison():
            return COMPARISON
    return OPERAND
