"""The text of expressions, read into a tree; `expression_tree` writes it back, and `expression` says what it means.

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

from .fault import Fault, brief
from .tree import (
    AND,
    COMPARISON,
    LEVELS,
    MINUS,
    NOT,
    OR,
    SUM,
    Chain,
    Comparison,
    Either,
    Every,
    Item,
    Minus,
    Name,
    Not,
    Number,
    Text,
    Tree,
    Truth,
    write,
)

LONGEST: Final = 10_000
"""How many characters an expression has at most."""
DEEPEST: Final = 100
"""How deep an expression nests: what walks through one goes down Python's stack."""
_MOST_DIGITS = 100

_WORDS = ("or", "and", "not", "matches", "in", "true", "false", "inf")

_PIECE = re.compile(
    r"""\s*(?:
    (?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
    | (?P<text>'[^']*'|"[^"]*")
    | (?P<word>[^\W\d]\w*)
    | (?P<sign>==|!=|<=|>=|//|[-+*/%<>()\[\].])
    | (?P<end>\Z)
    )""",
    re.X,
)
_SLIPS = {
    "=": "`==` compares",
    "!": "write `not`, or `!=`",
    "&": "write `and`",
    "|": "write `or`",
    "'": "a text ends with the quote with which it begins",
    '"': "a text ends with the quote with which it begins",
    ",": "there are no lists",
    "{": "braces stand around expressions in what a logpoint says, not in them",
}


def read(text: str, begin: int = 0, end: int | None = None) -> Tree:
    """The tree of a text, or of a part of it; spots count from the text's beginning. Raises Fault.

    >>> write(read("not(node=='mul' or(tag.depth>3))"))
    "not (node == 'mul' or tag.depth > 3)"
    """
    end = len(text) if end is None else end
    if end - begin > LONGEST:
        raise Fault("the expression is too long", begin, required=_AT_MOST, got=f"{end - begin:,}")
    reader = _Reader(_pieces(text, begin, end))
    tree = reader.expression(OR)
    if reader.next.kind != "end":
        raise reader.refused("`and`, `or`, a comparison, or the end")
    if len(write(tree)) > LONGEST:
        raise Fault("the expression is too long, with its spaces", begin, required=_AT_MOST)
    return tree


_AT_MOST = f"{LONGEST:,} characters at most"


class _Piece(NamedTuple):
    kind: str
    text: str
    spot: int


def _pieces(text: str, begin: int, end: int) -> list[_Piece]:
    pieces = []
    at = begin
    while True:
        found = _PIECE.match(text, at, end)
        if found is None or found.lastgroup is None:
            raise _unreadable(text[at:end], at)
        kind = found.lastgroup
        pieces.append(_Piece(kind, found[kind], found.start(kind)))
        if kind == "end":
            return pieces
        at = found.end()


def _unreadable(rest: str, at: int) -> Fault:
    letter = rest.lstrip()[0]
    spot = at + len(rest) - len(rest.lstrip())
    if letter.isdigit():
        return Fault("this is no number", spot, required="a number, such as 3, 2.5 or 1e-3")
    return Fault(f"{_quoted(letter)} cannot stand here", spot, hint=_SLIPS.get(letter))


def _quoted(word: str) -> str:
    return f"`{brief(word)}`" if word.isprintable() else ascii(brief(word))


class _Reader:
    """Reads pieces from left to right; `level` is how strongly what it may join has to bind."""

    def __init__(self, pieces: list[_Piece]) -> None:
        self.pieces = pieces
        self.at = 0
        self.open = 0

    @property
    def next(self) -> _Piece:
        return self.pieces[self.at]

    def take(self) -> _Piece:
        self.at += 1
        return self.pieces[self.at - 1]

    def refused(self, required: str, hint: str | None = None) -> Fault:
        """The next piece cannot stand where it does."""
        kind, word, spot = self.next
        if kind == "end":
            return Fault("the expression ends too soon", spot, required=required, hint=hint)
        if word == "*" and self.pieces[self.at - 1].text == "*":
            hint = "there are no powers"
        return Fault(f"{_quoted(word)} cannot stand here", spot, required=required, hint=hint)

    def expression(self, level: int) -> Tree:
        self.open += 1
        if self.open > DEEPEST:
            raise _too_deep(self.next.spot)
        left = self.operand(level)
        while (found := self.joining()) >= level:
            left = self.joined(left, found)
        self.open -= 1
        return left

    def joining(self) -> int:
        """How strongly the next piece joins; 0 where it does not."""
        return LEVELS.get(self.next.text, 0) if self.next.kind in ("word", "sign") else 0

    def joined(self, left: Tree, level: int) -> Tree:
        """All that operands of one level make."""
        spot = self.next.spot
        if level == COMPARISON:
            sign, right = self.take().text, self.expression(level + 1)
            if self.joining() == COMPARISON:
                raise self.refused("one comparison", "write `a < b and b < c` for a < b < c")
            return Comparison(sign, left, right, spot=spot, height=_above(spot, left, right))
        rest = []
        while self.joining() == level:
            rest.append((self.take().text, self.expression(level + 1)))
        operands = (left, *(operand for _, operand in rest))
        height = _above(spot, *operands)
        if level >= SUM:
            return Chain(left, tuple(rest), spot=spot, height=height)
        return (Every if level == AND else Either)(operands, spot=spot, height=height)

    def operand(self, level: int) -> Tree:
        kind, word, spot = self.next
        match kind:
            case "number":
                return Number(_number(self.take()), spot=spot)
            case "text":
                return Text(self.take().text[1:-1], spot=spot)
            case "sign" if word == "-":
                self.take()
                inner = self.expression(MINUS)
                return Minus(inner, spot=spot, height=_above(spot, inner))
            case "sign" if word == "(":
                return self.bracketed()
            case "word" if word == "not" and level <= NOT:
                self.take()
                inner = self.expression(NOT)
                return Not(inner, spot=spot, height=_above(spot, inner))
            case "word" if word in ("true", "false"):
                return Truth(self.take().text == "true", spot=spot)
            case "word" if word == "inf":
                return Number(math.inf, spot=self.take().spot)
            case "word" if word not in _WORDS:
                return self.name()
        raise self.refused(
            "a name, a number, a text in quotes, true or false", "write `(not ...)`" if word == "not" else None
        )

    def bracketed(self) -> Tree:
        spot = self.take().spot
        inner = self.expression(OR)
        if self.next.kind == "end":
            raise Fault("this bracket is not closed", spot, required="`)`")
        if self.next.text != ")":
            raise self.refused("`)`")
        self.take()
        return inner

    def name(self) -> Tree:
        name, spot = self.take()[1:]
        while self.next.text == ".":
            self.take()
            if self.next.kind != "word":
                raise self.refused("a name behind the dot")
            name += f".{self.take().text}"
        if self.next.text == "(":
            raise self.refused("an expression without calls", "there are no functions")
        if self.next.text != "[":
            return Name(name, spot=spot)
        self.take()
        if not (self.next.kind == "number" and self.next.text.isdigit()):
            raise self.refused("a whole number from 0 up, such as inputs[0]")
        index = _number(self.take())
        if self.next.text != "]":
            raise self.refused("`]`")
        self.take()
        return Item(name, int(index), spot=spot)


def _above(spot: int, *operands: Tree) -> int:
    """The height of what stands above these."""
    height = 1 + max(operand.height for operand in operands)
    if height > DEEPEST:
        raise _too_deep(spot)
    return height


def _too_deep(spot: int) -> Fault:
    return Fault("the expression nests too deep", spot, required=f"{DEEPEST} levels at most")


def _number(piece: _Piece) -> int | float:
    if piece.text.isdigit():
        if len(piece.text) <= _MOST_DIGITS:
            return int(piece.text)
        raise Fault("this number is too long", piece.spot, required=f"{_MOST_DIGITS} digits at most")
    number = float(piece.text)
    if math.isinf(number):
        raise Fault("this number does not fit into float64", piece.spot, hint="infinity is `inf`")
    return number
