"""Faults in a text: what is wrong and where, in plain words, with the line and a caret under the culprit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ..errors import Malformed, TagloomError

_LITERAL_NAME = "a literal"
_TERMINAL_NAMES = {
    "FUNC": "`func`",
    "GRAPH": "`graph`",
    "CASE": "`case`",
    "NAME": "a name",
    "DOTTED": "a name",
    "RETURN": "`return`",
    "RESULTS": "`results`",
    "YIELD": "`yield`",
    "TYPE": "a type",
    "NUMBER": _LITERAL_NAME,
    "WORD": _LITERAL_NAME,
    "TYPED": _LITERAL_NAME,
    "OPEN": _LITERAL_NAME,
    "INT": "a number",
    "STRING": "a text in double quotes",
    "RULE": "a rule, such as V8 or S4",
    "NOTHING": "`?`",
    "RETURNS": "`returns`",
    "TRAPS": "`traps`",
    "EXHAUSTS": "`exhausts`",
    "BREAKS": "`breaks`",
    "DEADLOCKS": "`deadlocks`",
    "REFUSED": "`refused`",
    "FIRINGS": "`firings`",
    "FIRED": "`firings`",
    "TOKENS": "`tokens`",
    "DEPTH": "`depth`",
    "CALLS": "`calls`",
    "IN": "`in`",
    "_ARROW": "`->`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "EQUAL": "`=`",
    "COLON": "`:`",
    "COMMA": "`,`",
    "VBAR": "`|`",
    "MARK": "`@`",
    "_NL": "the end of the line",
}
"""The names of the grammar's terminals in messages. Terminals that always occur beside a named one are left out."""
_EXCERPT_WIDTH = 100


class SourcePosition(NamedTuple):
    """A position in a text, counted from 1."""

    line: int
    column: int

    def after(self, text: str) -> SourcePosition:
        """The position behind a text that begins here.

        >>> SourcePosition(1, 5).after("fib"), SourcePosition(1, 5).after("a\\nbc")
        (SourcePosition(line=1, column=8), SourcePosition(line=2, column=3))
        """
        lines = text.count("\n")
        return SourcePosition(self.line + lines, len(text) - text.rfind("\n") if lines else self.column + len(text))


START = SourcePosition(1, 1)


class SyntaxFault(Exception):
    """A fault at a position of a text; `to_error` and `to_malformed` turn it into an error of its `kind`."""

    def __init__(
        self,
        message: str,
        position: SourcePosition,
        *,
        kind: type[TagloomError] = Malformed,
        required: object = None,
        got: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.kind = kind
        self.required = required
        self.got = got
        self.hint = hint


def to_malformed(fault: SyntaxFault, text: str, file: str | None) -> TagloomError:
    """The error for a fault in a text, which may come from a file."""
    line, column = fault.position
    return to_error(fault, text, f"{Path(file).name}:{line}:{column}" if file else f"line {line}, column {column}")


def to_error(fault: SyntaxFault, text: str, where: str) -> TagloomError:
    """The error for a fault, with the line and a caret under the culprit; `where` is the position in words."""
    line, column = fault.position
    source_line = excerpt(text.split("\n")[line - 1], column)
    return fault.kind(
        fault.message, where=where, required=fault.required, got=fault.got, hint=fault.hint, excerpt=source_line
    )


def excerpt(line: str, column: int) -> str:
    """A line of a text with a caret under a column; for a long line, the part around it.

    >>> print(excerpt("m = subtract n )", 16))
        m = subtract n )
                       ^
    """
    printable = "".join(letter if letter.isprintable() else " " for letter in line)
    start = max(0, column - 1 - _EXCERPT_WIDTH * 2 // 3)
    visible_part = printable[start : start + _EXCERPT_WIDTH]
    prefix, suffix = "..." * (start > 0), "..." * (start + _EXCERPT_WIDTH < len(printable))
    return f"    {prefix}{visible_part}{suffix}".rstrip() + f"\n    {' ' * (len(prefix) + column - 1 - start)}^"


def unexpected_input(terminals: set[str], following: str, position: SourcePosition, before: str = "") -> SyntaxFault:
    """The fault where the grammar expects one of these terminals, and `following` is something else; `before` is the
    line up to that point."""
    expected = describe_terminals(terminals)
    match following.strip(" \t"):
        case "":
            message = "unexpected end of the text"
        case str(rest) if rest.startswith(("\n", "#")):
            message = "unexpected end of the line"
        case word:
            message = f"unexpected {quote_input(word)}"
    return SyntaxFault(
        message,
        position,
        required=expected,
        hint=context_hint(following, before) or terminal_hint(terminals, following),
    )


def describe_terminals(terminals: set[str]) -> str:
    """The expected terminals in words; if there are many, only the most useful ones."""
    if {"COMMA", "_NL"} <= terminals:
        return "`,` or the end of the line"
    for terminal_name, word in _TERMINAL_NAMES.items():
        if terminal_name in terminals and terminal_name in ("RETURN", "YIELD"):
            return f"a node, such as `y = add x, 1`, or {word}"
    if "FUNC" in terminals:
        return "`func`, `graph` or `case`"
    *names, last_name = dict.fromkeys(word for terminal, word in _TERMINAL_NAMES.items() if terminal in terminals) or [
        "nothing"
    ]
    return f"{', '.join(names)} or {last_name}" if names else last_name


def quote_input(text: str) -> str:
    """A part of a text as messages show it: in backquotes, cut after 40 characters."""
    return f"`{text if len(text) < 40 else text[:37] + '...'}`" if text.isprintable() else repr(text)


def context_hint(following: str, before: str) -> str | None:
    """The hint for `following`, which is not allowed after `before`."""
    call = re.search(r"=[ \t]*call[ \t]+(\w+)[ \t]*$", before)
    if call and following.strip() == ",":
        return f"there is no comma after the name of a function: `call {call[1]} x`"
    if call and re.fullmatch(r"\w+", following):
        site = f"call[{call[1]}] {following}"
        return f"a call in a graph names its site, `{site}`; operands have commas between them"
    if re.search(r"=[ \t]*(cond|while_loop)\b[^{]*$", before) and following == "{":
        return "only functions have regions; a graph has switch and merge, enter and exit"
    return None


def terminal_hint(terminals: set[str], following: str) -> str | None:
    """The hint for `following`, where the grammar expects one of these terminals."""
    ends_operands = {"COMMA", "_NL"} <= terminals
    match following:
        case "def" | "function" | "fn":
            return "a function begins with `func`"
        case ";":
            return "each statement is on a line of its own"
        case "'":
            return "texts are written in double quotes"
        case '"':
            return "a text ends in the line in which it begins"
        case "(" if "NAME" in terminals or "NUMBER" in terminals or ends_operands:
            return "operands follow the op without parentheses, as in `add x, 1`"
        case "return" if "YIELD" in terminals:
            return "a region ends with `yield`, a function with `return`"
        case "yield" if "RETURN" in terminals:
            return "a function ends with `return`, a region with `yield`"
        case "}" if "RETURN" in terminals:
            return "the last line in the braces names the results, as in `return r`"
        case "}" if "YIELD" in terminals:
            return "the last line in the braces names the results, as in `yield r`"
        case "=" if "EQUAL" not in terminals:
            return "a node is `y = add x, 1`; whether two values are equal is `equal x, y`"
        case "+" | "-" | "*" | "/" | "%" | "<" | ">" | "<=" | ">=" | "!" | "&" | "^" | "~":
            return "ops are written by name, as in `add x, y`"
        case ")" | "," if terminals == {"COLON"}:
            return "a parameter has a type, as in `x: int64`"
        case "[" if "RPAR" in terminals:
            return "sizes end with `]`, as in `float64[3, ?]`"
    if (following[:1].isidentifier() or following[:1].isdigit()) and ends_operands:
        return "operands are separated by commas"
    return None
