"""The parser of expressions: text to tree. `expression_tree` formats a tree, and `expression` gives it meaning.

    either     = every {"or" every}
    every      = negation {"and" negation}
    negation   = "not" negation | comparison
    comparison = sum [("==" | "!=" | "<" | "<=" | ">" | ">=" | "matches" | "in") sum]
    sum        = product {("+" | "-") product}
    product    = minus {("*" | "/" | "//" | "%") minus}
    minus      = "-" minus | operand
    operand    = NUMBER | TEXT | "true" | "false" | "inf" | name ["[" INTEGER "]"] | "(" either ")"
    name       = WORD {"." WORD}

A TEXT stands in '...' or "..." and holds anything but its own quote. The reader climbs precedences (Pratt, 1973).
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from .fault import ExpressionFault, abbreviate
from .tree import (
    AND,
    COMPARISON,
    MINUS,
    NOT,
    OR,
    PRECEDENCE,
    SUM,
    ArithmeticChain,
    BooleanLiteral,
    ComparisonExpression,
    Conjunction,
    Disjunction,
    ExpressionNode,
    IndexedName,
    LogicalNot,
    NameReference,
    Negation,
    NumberLiteral,
    TextLiteral,
    format_expression,
)

MAX_LENGTH: Final = 10_000
"""The most characters in an expression."""
MAX_DEPTH: Final = 100
"""The deepest nesting of an expression: functions over trees recurse on Python's stack."""
_MAX_DIGITS = 100

_KEYWORDS = ("or", "and", "not", "matches", "in", "true", "false", "inf")

_TOKEN_PATTERN = re.compile(
    r"""\s*(?:
    (?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
    | (?P<text>'[^']*'|"[^"]*")
    | (?P<word>[^\W\d]\w*)
    | (?P<sign>==|!=|<=|>=|//|[-+*/%<>()\[\].])
    | (?P<end>\Z)
    )""",
    re.X,
)
_SYNTAX_HINTS = {
    "=": "`==` compares",
    "!": "write `not`, or `!=`",
    "&": "write `and`",
    "|": "write `or`",
    "'": "a text ends with the quote with which it begins",
    '"': "a text ends with the quote with which it begins",
    ",": "there are no lists",
    "{": "braces stand around expressions in what a logpoint says, not in them",
}


def parse_expression(text: str, begin: int = 0, end: int | None = None) -> ExpressionNode:
    """Parse a text, or a part of it; positions count from the beginning of the text. Raises ExpressionFault.

    >>> format_expression(parse_expression("not(node=='mul' or(tag.depth>3))"))
    "not (node == 'mul' or tag.depth > 3)"
    """
    end = len(text) if end is None else end
    if end - begin > MAX_LENGTH:
        raise ExpressionFault("the expression is too long", begin, required=_LENGTH_LIMIT, got=f"{end - begin:,}")
    reader = _ExpressionParser(_tokenize(text, begin, end))
    tree = reader.parse_level(OR)
    if reader.next_token.kind != "end":
        raise reader.unexpected_token("`and`, `or`, a comparison, or the end")
    if len(format_expression(tree)) > MAX_LENGTH:
        raise ExpressionFault("the expression is too long, with its spaces", begin, required=_LENGTH_LIMIT)
    return tree


_LENGTH_LIMIT = f"{MAX_LENGTH:,} characters at most"


class _ExpressionToken(NamedTuple):
    kind: str
    text: str
    offset: int


def _tokenize(text: str, begin: int, end: int) -> list[_ExpressionToken]:
    pieces = []
    at = begin
    while True:
        found = _TOKEN_PATTERN.match(text, at, end)
        if found is None or found.lastgroup is None:
            raise _lexical_fault(text[at:end], at)
        kind = found.lastgroup
        pieces.append(_ExpressionToken(kind, found[kind], found.start(kind)))
        if kind == "end":
            return pieces
        at = found.end()


def _lexical_fault(rest: str, at: int) -> ExpressionFault:
    letter = rest.lstrip()[0]
    spot = at + len(rest) - len(rest.lstrip())
    if letter.isdigit():
        return ExpressionFault("this is no number", spot, required="a number, such as 3, 2.5 or 1e-3")
    return ExpressionFault(f"{_quote(letter)} cannot stand here", spot, hint=_SYNTAX_HINTS.get(letter))


def _quote(word: str) -> str:
    return f"`{abbreviate(word)}`" if word.isprintable() else ascii(abbreviate(word))


class _ExpressionParser:
    """Parses tokens from left to right; `level` is the precedence that an infix operator must at least have."""

    def __init__(self, pieces: list[_ExpressionToken]) -> None:
        self.tokens = pieces
        self.position = 0
        self.depth = 0

    @property
    def next_token(self) -> _ExpressionToken:
        return self.tokens[self.position]

    def advance(self) -> _ExpressionToken:
        self.position += 1
        return self.tokens[self.position - 1]

    def unexpected_token(self, required: str, hint: str | None = None) -> ExpressionFault:
        """The fault of a next token that cannot occur here."""
        kind, word, spot = self.next_token
        if kind == "end":
            return ExpressionFault("the expression ends too soon", spot, required=required, hint=hint)
        if word == "*" and self.tokens[self.position - 1].text == "*":
            hint = "there are no powers"
        return ExpressionFault(f"{_quote(word)} cannot stand here", spot, required=required, hint=hint)

    def parse_level(self, level: int) -> ExpressionNode:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _nesting_fault(self.next_token.offset)
        left = self.parse_operand(level)
        while (found := self.infix_precedence()) >= level:
            left = self.parse_infix(left, found)
        self.depth -= 1
        return left

    def infix_precedence(self) -> int:
        """The precedence of the next token as an infix operator; 0 if it is none."""
        return PRECEDENCE.get(self.next_token.text, 0) if self.next_token.kind in ("word", "sign") else 0

    def parse_infix(self, left: ExpressionNode, level: int) -> ExpressionNode:
        """Parse the infix operators of one level and their operands."""
        spot = self.next_token.offset
        if level == COMPARISON:
            sign, right = self.advance().text, self.parse_level(level + 1)
            if self.infix_precedence() == COMPARISON:
                raise self.unexpected_token("one comparison", "write `a < b and b < c` for a < b < c")
            return ComparisonExpression(sign, left, right, offset=spot, height=_height_above(spot, left, right))
        rest = []
        while self.infix_precedence() == level:
            rest.append((self.advance().text, self.parse_level(level + 1)))
        operands = (left, *(operand for _, operand in rest))
        height = _height_above(spot, *operands)
        if level >= SUM:
            return ArithmeticChain(left, tuple(rest), offset=spot, height=height)
        return (Conjunction if level == AND else Disjunction)(operands, offset=spot, height=height)

    def parse_operand(self, level: int) -> ExpressionNode:
        kind, word, spot = self.next_token
        match kind:
            case "number":
                return NumberLiteral(_parse_number(self.advance()), offset=spot)
            case "text":
                return TextLiteral(self.advance().text[1:-1], offset=spot)
            case "sign" if word == "-":
                self.advance()
                inner = self.parse_level(MINUS)
                return Negation(inner, offset=spot, height=_height_above(spot, inner))
            case "sign" if word == "(":
                return self.parse_parenthesized()
            case "word" if word == "not" and level <= NOT:
                self.advance()
                inner = self.parse_level(NOT)
                return LogicalNot(inner, offset=spot, height=_height_above(spot, inner))
            case "word" if word in ("true", "false"):
                return BooleanLiteral(self.advance().text == "true", offset=spot)
            case "word" if word == "inf":
                return NumberLiteral(math.inf, offset=self.advance().offset)
            case "word" if word not in _KEYWORDS:
                return self.parse_name()
        raise self.unexpected_token(
            "a name, a number, a text in quotes, true or false", "write `(not ...)`" if word == "not" else None
        )

    def parse_parenthesized(self) -> ExpressionNode:
        spot = self.advance().offset
        inner = self.parse_level(OR)
        if self.next_token.kind == "end":
            raise ExpressionFault("this bracket is not closed", spot, required="`)`")
        if self.next_token.text != ")":
            raise self.unexpected_token("`)`")
        self.advance()
        return inner

    def parse_name(self) -> ExpressionNode:
        name, spot = self.advance()[1:]
        while self.next_token.text == ".":
            self.advance()
            if self.next_token.kind != "word":
                raise self.unexpected_token("a name behind the dot")
            name += f".{self.advance().text}"
        if self.next_token.text == "(":
            raise self.unexpected_token("an expression without calls", "there are no functions")
        if self.next_token.text != "[":
            return NameReference(name, offset=spot)
        self.advance()
        if not (self.next_token.kind == "number" and self.next_token.text.isdigit()):
            raise self.unexpected_token("a whole number from 0 up, such as inputs[0]")
        index = _parse_number(self.advance())
        if self.next_token.text != "]":
            raise self.unexpected_token("`]`")
        self.advance()
        return IndexedName(name, int(index), offset=spot)


def _height_above(spot: int, *operands: ExpressionNode) -> int:
    """The height of a node with these operands."""
    height = 1 + max(operand.height for operand in operands)
    if height > MAX_DEPTH:
        raise _nesting_fault(spot)
    return height


def _nesting_fault(spot: int) -> ExpressionFault:
    return ExpressionFault("the expression nests too deep", spot, required=f"{MAX_DEPTH} levels at most")


def _parse_number(piece: _ExpressionToken) -> int | float:
    if piece.text.isdigit():
        if len(piece.text) <= _MAX_DIGITS:
            return int(piece.text)
        raise ExpressionFault("this number is too long", piece.offset, required=f"{_MAX_DIGITS} digits at most")
    number = float(piece.text)
    if math.isinf(number):
        raise ExpressionFault("this number does not fit into float64", piece.offset, hint="infinity is `inf`")
    return number
