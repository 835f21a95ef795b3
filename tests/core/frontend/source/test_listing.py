"""Converted code as text has the places of the user's file that it comes from."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
from keyword import iskeyword
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from support.programs.plain_functions import CASES
from tagloom.core.frontend.source.convert import ConvertedCode, convert, convert_code, converted_code
from tagloom.core.frontend.source.listing import CodeListing, find_listing, list_code
from tagloom.core.program.program import SourceSpan

FUNCTIONS = [function for function, _ in CASES]


def texts(listing: CodeListing, lines: list[str]) -> list[tuple[str, str]]:
    """Each expression that is one name or number in the user's file, with its text in the listing."""
    pairs = []
    for span in listing.spans:
        place = listing.columns(span)
        assert place is not None
        row, begin, end = place
        if span.line == span.end_line:
            original = lines[span.line - 1].encode()[span.column : span.end_column].decode()
            if (original.isidentifier() and not iskeyword(original)) or original.isdigit():
                pairs.append((original, listing.lines[row - 1].text[begin:end]))
    return pairs


@pytest.mark.inner(first=14)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_expressions_are_found_in_the_text(function: Any) -> None:
    """The text of a name or number of the user's file has it, too."""
    lines = Path(function.__code__.co_filename).read_text(encoding="utf-8").split("\n")
    listing = list_code(converted_code(function))
    pairs = texts(listing, lines)
    assert pairs
    for original, text in pairs:
        assert original in text


@pytest.mark.inner(first=8)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_statements_have_the_lines_of_the_function(function: Any) -> None:
    """Each statement of the text has a line of the function, and its text is that of `to_code`."""
    listing = list_code(converted_code(function))
    source, first = inspect.getsourcelines(function)
    numbers = {line.source_line for line in listing.lines if line.source_line is not None}
    assert numbers <= set(range(first, first + len(source))) and numbers
    assert "\n".join(line.text for line in listing.lines) == tl.autograph.to_code(function)


def test_the_innermost_converted_function_is_found() -> None:
    def outer(n: int) -> int:
        return n + 1 if n > 0 else n

    assert find_listing(__file__, outer.__code__.co_firstlineno) is None
    convert(outer)  # type: ignore[arg-type]
    listing = find_listing(__file__, outer.__code__.co_firstlineno + 1)
    assert listing is not None and "ag__.if_exp" in listing.lines[1].text
    assert find_listing("other.py", 1) is None


def test_the_latest_version_of_a_file_is_found() -> None:
    """A function that a file had on this line before it was edited is not shown, wherever it began."""
    for text in ("def longer(n):\n    return n if n else 1\n", "\ndef shorter(n): return n if n else 2\n"):
        names: dict[str, Any] = {}
        exec(compile(text, "edited.py", "exec"), names)
        linecache.cache["edited.py"] = len(text), None, text.splitlines(keepends=True), "edited.py"
        convert(next(function for name, function in names.items() if name in ("longer", "shorter")))
    listing = find_listing("edited.py", 2)
    assert listing is not None and listing.lines[0].text == "def shorter(n):"


def test_an_expression_of_another_function_is_not_in_the_text() -> None:
    listing = list_code(convert_code(FUNCTIONS[0].__code__))
    assert listing.columns(SourceSpan(1, 0, 1, 3)) is None and listing.columns(None) is None


def test_shifted_positions_are_caught() -> None:
    """A tree whose positions are off by a line has other lines."""
    conversion = convert_code(FUNCTIONS[0].__code__)
    tree = ast.increment_lineno(copy.deepcopy(conversion.tree), 1)
    shifted = list_code(ConvertedCode(conversion.code, tree))
    assert [line.source_line for line in shifted.lines] != [line.source_line for line in list_code(conversion).lines]
