"""Converted code as text, with the places in the user's file that each line and expression of it comes from.

The text is that of `ast.unparse`. It is parsed again, and both trees are walked side by side: the nodes of one have the
positions of the user's code, those of the other the positions in the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ...program.program import SourceSpan
from ...python_ast import parse_python
from .convert import ConvertedCode, conversions


class CodeLine(NamedTuple):
    """A line of converted code."""

    text: str
    source_line: int | None
    """The line of the user's file that the statement on it comes from; None if no statement begins on it."""


@dataclass(frozen=True)
class CodeListing:
    """The converted code of a function, for reading."""

    lines: tuple[CodeLine, ...]
    spans: dict[SourceSpan, SourceSpan]
    """Where in the text an expression of the user's file is; of several, the outermost."""

    def columns(self, span: SourceSpan | None) -> tuple[int, int, int] | None:
        """The line from 1 and the columns, in characters, of the text of an expression in the user's file; None if it
        is not there. Of an expression of several lines, those of its first line."""
        place = None if span is None else self.spans.get(span)
        if place is None:
            return None
        code = self.lines[place.line - 1].text.encode()
        end = place.end_column if place.end_line == place.line else len(code)
        return place.line, len(code[: place.column].decode()), len(code[:end].decode())


@lru_cache(maxsize=64)
def list_code(conversion: ConvertedCode) -> CodeListing:
    """The listing of converted code.

    >>> def f(n):
    ...     return n if n > 0 else -n
    >>> from .convert import convert_code
    >>> [line.text for line in list_code(convert_code(f.__code__)).lines]
    ['def f(n):', '    return ag__.if_exp(n > 0, lambda: n, lambda: -n)']
    """
    tree = ast.fix_missing_locations(conversion.tree)
    text = ast.unparse(tree)
    parsed = parse_python(text).body[0]
    if isinstance(tree, ast.Lambda):
        parsed = parsed.value
    source_lines: dict[int, int] = {}
    spans: dict[SourceSpan, SourceSpan] = {}
    original: Any
    unparsed: Any
    for original, unparsed in _pairs(tree, parsed):
        if isinstance(original, ast.stmt | ast.Lambda):
            source_lines.setdefault(unparsed.lineno, original.lineno)
        if isinstance(original, ast.expr) and not _is_operator(original):
            spans.setdefault(_span(original), _span(unparsed))
    return CodeListing(
        tuple(CodeLine(line, source_lines.get(number)) for number, line in enumerate(text.split("\n"), 1)), spans
    )


def find_listing(file: str, line: int) -> CodeListing | None:
    """The listing of the converted function that has a line of a file; of several, the innermost, and of several
    versions of the file, the latest. None if this process has converted none."""
    best: ConvertedCode | None = None
    best_name = ""
    for code, converted in conversions():
        tree = converted.tree
        first = min(part.lineno for part in (tree, *getattr(tree, "decorator_list", ())))
        has_line = code.co_filename == file and first <= line <= (tree.end_lineno or tree.lineno)
        if has_line and not best_name.startswith(f"{code.co_qualname}.<locals>."):
            best, best_name = converted, code.co_qualname
    return None if best is None else list_code(best)


def _pairs(original: ast.AST, unparsed: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The nodes of both trees that have positions, as far as the trees are equal; outer ones first."""
    if type(original) is not type(unparsed):
        return
    if hasattr(original, "lineno") and hasattr(unparsed, "lineno"):
        yield original, unparsed
    for name in original._fields:
        first, second = getattr(original, name, None), getattr(unparsed, name, None)
        if isinstance(first, ast.AST) and isinstance(second, ast.AST):
            yield from _pairs(first, second)
        elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
            for part, opposite in zip(first, second, strict=True):
                if isinstance(part, ast.AST) and isinstance(opposite, ast.AST):
                    yield from _pairs(part, opposite)


def _is_operator(node: ast.expr) -> bool:
    """Whether this is `ag__` or `ag__.NAME`, which have the position of an operand."""
    name = node.value if isinstance(node, ast.Attribute) else node
    return isinstance(name, ast.Name) and name.id == "ag__"


def _span(node: ast.AST) -> SourceSpan:
    return SourceSpan(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
