"""The parser of expressions: text to tree, by `grammar.lark`. Importing this module also imports the parser library,
Lark."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from ...core.text.fault import START, SourcePosition, SyntaxFault, quote_input
from ...core.text.parser import load_grammar, token_position, unexpected_text
from ...deprecation import warn_renamed
from .names import NEW_NAMES
from .syntax import (
    MAX_DEPTH,
    MAX_LENGTH,
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

MAX_DIGITS = 100
"""The limit on the digits of an integer."""

_LENGTH_LIMIT = f"{MAX_LENGTH:,} characters at most"
_OPENING_TERMINALS = {"OR", "AND", "NOT", "COMPARISON", "PLUS", "MINUS", "FACTOR", "LPAR"}
"""The terminals that are followed by an operand."""
_OPERAND = "a name, a number, a text in quotes, true or false"
_EXPECTED_TERMINALS = {
    "NAME": _OPERAND,
    "WORD": "a name behind the dot",
    "INDEX": "a whole number from 0 up, such as inputs[0]",
    "RSQB": "`]`",
    "RPAR": "`)`",
}
"""The requirement in a message, by a terminal that the grammar accepts; if it accepts several, by the first in this
table."""
_OPERATOR = "`and`, `or`, a comparison, or the end"
"""The requirement if the grammar accepts none of these terminals."""
_SYNTAX_HINTS = {
    "=": "`==` compares",
    "!": "write `not`, or `!=`",
    "&": "write `and`",
    "|": "write `or`",
    "'": "a text ends with the quote with which it begins",
    '"': "a text ends with the quote with which it begins",
    ",": "there are no lists",
    "{": "braces enclose the expressions in the text of a logpoint; an expression has none",
}


def parse_expression(text: str, begin: int = 0, end: int | None = None) -> ExpressionNode:
    """Parse a text, or a part of it; positions count from the beginning of the text. Raises SyntaxFault.

    >>> format_expression(parse_expression("not(node=='mul' or(tag.depth>3))"))
    "not (node == 'mul' or tag.depth > 3)"
    """
    end = len(text) if end is None else end
    first = START.after(text[:begin])
    if end - begin > MAX_LENGTH:
        raise SyntaxFault("the expression is too long", first, required=_LENGTH_LIMIT, got=f"{end - begin:,}")
    source = re.sub(r"[^\n]", " ", text[:begin]) + text[begin:end]
    parser = _parser().parse_interactive(source)
    try:
        for token in parser.iter_parse():
            _check_nesting(parser, token_position(token))
        _check_nesting(parser, START.after(source))
        tree: ExpressionNode = parser.feed_token(Token("$END", ""))
    except UnexpectedToken as error:
        error.interactive_parser = parser
        raise input_fault(source, error, parser) from None
    except UnexpectedInput as error:
        raise input_fault(source, error, parser) from None
    if len(format_expression(tree)) > MAX_LENGTH:
        raise SyntaxFault("the expression is too long, with its spaces", first, required=_LENGTH_LIMIT)
    return tree


@functools.cache
def _parser() -> Lark:
    return load_grammar(__package__, "expression", ExpressionTransformer())


def _check_nesting(parser: InteractiveParser, position: SourcePosition) -> None:
    """Raise SyntaxFault if the operand that begins at this position is nested too deep. The parser's stack has a token
    for each bracket and operator around it."""
    stack = parser.parser_state.value_stack
    if len(stack) >= MAX_DEPTH and _is_opening(stack[-1]) and sum(map(_is_opening, stack)) >= MAX_DEPTH:
        raise nesting_fault(position)


def _is_opening(value: object) -> bool:
    return isinstance(value, Token) and value.type in _OPENING_TERMINALS


def nesting_fault(position: SourcePosition) -> SyntaxFault:
    """The fault of an expression that is nested too deep, in its text or as a tree."""
    return SyntaxFault("the expression nests too deep", position, required=f"{MAX_DEPTH} levels at most")


def input_fault(text: str, error: UnexpectedInput, parser: InteractiveParser) -> SyntaxFault:
    """The fault for an error of the parser, with its message, requirement and hint."""
    stack = parser.parser_state.value_stack
    word, terminal, position, expected = unexpected_text(text, error)
    message = f"unexpected {quote_input(word)}"
    required: str | None = next(
        (words for terminal, words in _EXPECTED_TERMINALS.items() if terminal in expected), _OPERATOR
    )
    hint = None
    match terminal:
        case None if word.isdigit():
            message, required = "this is not a number", "a number, such as 3, 2.5 or 1e-3"
        case None:
            required, hint = None, _SYNTAX_HINTS.get(word)
        case "$END" if required == "`)`":
            brackets = [value for value in stack if isinstance(value, Token) and value.type == "LPAR"]
            message, position = "this bracket is not closed", token_position(brackets[-1])
        case "$END":
            message = "the expression ends too soon"
        case "NOT" if required == _OPERAND:
            hint = "write `(not ...)`"
        case "FACTOR" if word == "*" and stack[-1:] == ["*"]:
            hint = "expressions have no powers"
        case "LPAR" if "LSQB" in expected:
            required, hint = "an expression without calls", "expressions have no functions"
        case "COMPARISON" if "OR" in expected:
            required, hint = "one comparison", "write `a < b and b < c` for a < b < c"
    return SyntaxFault(message, position, required=required, hint=hint)


class ExpressionTransformer(Transformer[Token, Any]):
    """Converts each rule into a tree as soon as it is parsed: one method for each rule or alias of the grammar."""

    def number(self, children: list[Token]) -> NumberLiteral:
        return NumberLiteral(parse_number(children[0]), position=token_position(children[0]))

    def infinity(self, children: list[Token]) -> NumberLiteral:
        return NumberLiteral(math.inf, position=token_position(children[0]))

    def text(self, children: list[Token]) -> TextLiteral:
        return TextLiteral(children[0][1:-1], position=token_position(children[0]))

    def boolean(self, children: list[Token]) -> BooleanLiteral:
        return BooleanLiteral(children[0] == "true", position=token_position(children[0]))

    def name(self, children: list[Token]) -> NameReference:
        name = ".".join(children)
        if name in NEW_NAMES:
            warn_renamed(f"`{name}` in conditions", f"`{NEW_NAMES[name]}`")
        return NameReference(NEW_NAMES.get(name, name), position=token_position(children[0]))

    def item(self, children: list[Token]) -> IndexedName:
        *words, index = children
        return IndexedName(".".join(words), int(parse_number(index)), position=token_position(words[0]))

    def negation(self, children: list[Any]) -> Negation:
        return Negation(children[1], **_extent(children[0], children[1:]))

    def logical_not(self, children: list[Any]) -> LogicalNot:
        return LogicalNot(children[1], **_extent(children[0], children[1:]))

    def chain(self, children: list[Any]) -> ArithmeticChain:
        operands = children[::2]
        rest = tuple(zip(map(str, children[1::2]), operands[1:], strict=True))
        return ArithmeticChain(operands[0], rest, **_extent(children[1], operands))

    def comparison(self, children: list[Any]) -> ComparisonExpression:
        left, sign, right = children
        return ComparisonExpression(str(sign), left, right, **_extent(sign, [left, right]))

    def conjunction(self, children: list[Any]) -> Conjunction:
        return Conjunction(tuple(children[::2]), **_extent(children[1], children[::2]))

    def disjunction(self, children: list[Any]) -> Disjunction:
        return Disjunction(tuple(children[::2]), **_extent(children[1], children[::2]))


def _extent(operator: Token, operands: list[ExpressionNode]) -> dict[str, Any]:
    """The position and the height of a tree with this operator; raises SyntaxFault if it is nested too deep."""
    position, height = token_position(operator), 1 + max(operand.height for operand in operands)
    if height > MAX_DEPTH:
        raise nesting_fault(position)
    return {"position": position, "height": height}


def parse_number(token: Token) -> int | float:
    """The value of a number; raises SyntaxFault if it has too many digits or does not fit into float64."""
    if token.isdigit():
        if len(token) <= MAX_DIGITS:
            return int(token)
        raise SyntaxFault("this number is too long", token_position(token), required=f"{MAX_DIGITS} digits at most")
    number = float(token)
    if math.isinf(number):
        raise SyntaxFault("this number does not fit into float64", token_position(token), hint="infinity is `inf`")
    return number
