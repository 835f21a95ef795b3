"""S-expressions as data, with their text.

An expression is a number, a bool, a string, an identifier, or a tuple whose first item is an identifier:

    (OP x ... :attribute value)    an op of the registry         (if test then otherwise)
    (call f x ...)                 a call                        (let* ((x e) ...) body)
    (tuple x ...)  (item x i)      tuples, and items of arrays   (let f ((x e) ...) body)   a loop: f calls itself
    (get x name)                   an attribute of an object     (lambda (x ...) body)
    (not x)  (len x)               as in Python                  (begin e ...)
    (raise Class "message")        ends the program              (assert test "message")

A program is a list of (def name (parameter ...) body).

>>> expression = read_expression("(if (less n 2) n (call fib (subtract n 1)))")
>>> print(format_expression(expression))
(if (less n 2) n (call fib (subtract n 1)))
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ....core.errors import Malformed

Expression: TypeAlias = Any
"""A number, a bool, a string, an Identifier, or a tuple of these."""
MAX_WIDTH = 100
"""The most characters of a line of text."""


class Identifier(str):
    """A name in an S-expression; other strings are texts.

    >>> Identifier("x"), "x"
    (x, 'x')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Definition:
    """A function of a program."""

    name: Identifier
    parameters: tuple[Identifier, ...]
    body: Expression

    def __str__(self) -> str:
        return format_expression((Identifier("def"), self.name, self.parameters, self.body))


def format_expression(expression: Expression, indent: int = 0) -> str:
    """The text of an expression, in lines of at most MAX_WIDTH characters where that is possible."""
    line = _single_line(expression)
    if not isinstance(expression, tuple) or (len(line) + indent <= MAX_WIDTH and "let" not in line[:4]):
        return line
    head = [_single_line(part) for part in expression[: _head_length(expression)]]
    lines = ["(" + " ".join(head)]
    items = list(expression[len(head) :])
    if expression[0] in ("let*", "let"):
        bindings = items.pop(0)
        start = f"{lines[0]} ("
        margin = indent + len(start)
        texts = [f"({name} {format_expression(value, margin + len(name) + 2)})" for name, value in bindings]
        lines = [start + f"\n{' ' * margin}".join(texts) + ")"]
    margin = indent + (4 if expression[0] == "if" else 2)
    lines += [" " * margin + format_expression(part, margin) for part in items]
    return "\n".join(lines) + ")"


def _head_length(expression: tuple[Any, ...]) -> int:
    """The number of items of an expression on its first line."""
    return {"def": 3, "if": 2, "let": 2, "lambda": 2, "call": 2, "backward": 2}.get(str(expression[0]), 1)


def _single_line(expression: Expression) -> str:
    if isinstance(expression, tuple):
        return f"({' '.join(map(_single_line, expression))})"
    if isinstance(expression, Identifier):
        return str(expression)
    if isinstance(expression, bool):
        return "true" if expression else "false"
    if expression is None:
        return "none"
    return json.dumps(expression) if isinstance(expression, str) else repr(expression)


_TOKEN = re.compile(r'\s*(?:([()])|("(?:[^"\\]|\\.)*")|([^\s()"]+))')
_WORDS = {"true": True, "false": False, "none": None, "nan": float("nan"), "inf": float("inf"), "-inf": -float("inf")}
_NUMBER = re.compile(r"[-+]?\d[\d.eE+-]*$")


def read_expression(text: str) -> Expression:
    """The expression of a text; raises Malformed where it is none."""
    (expression,) = read_expressions(text)
    return expression


def read_expressions(text: str) -> list[Expression]:
    """All expressions of a text, in order; raises Malformed."""
    stack: list[list[Expression]] = [[]]
    for token in _tokens(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            if len(stack) == 1:
                raise Malformed("a ) closes nothing", got=text[-60:])
            items = tuple(stack.pop())
            stack[-1].append(items)
        else:
            stack[-1].append(_read_atom(token))
    if len(stack) > 1:
        raise Malformed("an S-expression ends too early", required=")" * (len(stack) - 1), got="the end of the text")
    return stack[0]


def _tokens(text: str) -> Iterator[str]:
    position, text = 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise Malformed("a string does not end", got=text[position : position + 60])
        position = match.end()
        yield match.group(match.lastindex or 0)


def _read_atom(token: str) -> Expression:
    if token.startswith('"'):
        return json.loads(token)
    if token in _WORDS:
        return _WORDS[token]
    if _NUMBER.match(token):
        try:
            return float(token) if set(token) & set(".eE") else int(token)
        except ValueError:
            raise Malformed("this is not a number", got=token) from None
    return Identifier(token)
