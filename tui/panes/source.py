"""The source pane: the current line, lines with breakpoints, and the values computed on each line."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from functools import lru_cache

from ...viz.source_lines import MISSING_SOURCE, expression_columns, local_lines
from ...viz.style import BLUE, GREEN, GREY, PURPLE, SKY, VERMILLION, YELLOW
from ..session.command import sanitize
from ..session.session import Session
from .page import PageRow, PageSpan, PanePage, build_row, empty_page, wrap_spans

_TOKENS = re.compile(
    r"(?P<comment>#.*)|(?P<string>\"\"\".*?(?:\"\"\"|$)|\"[^\"]*\"|'[^']*')|(?P<decorator>@[\w.]+)|(?P<word>[^\W\d]\w*)"
    r"|(?P<number>\d[\w.]*)|(?P<other>\s+|.)"
)
_COLOURS = {"comment": GREY, "string": GREEN, "decorator": PURPLE, "number": SKY}

GUTTER_WIDTH = 6
"""The columns before a line of source: a mark, and the number of the line."""


def source_page(session: Session, width: int) -> PanePage:
    """The file of the current or the inspected node; its line is marked, and in it the node's expression underlined.
    Lines that made nodes are wrapped to `width` columns."""
    number = session.inspected_node
    location = None if number is None else session.history.graph.nodes[number].location
    if location is None:
        return empty_page("no line of source is known for this node")
    lines = local_lines(location)
    if not lines:
        return empty_page(sanitize(f"{location}: {MISSING_SOURCE}"))
    nodes_by_line: dict[int, list[str]] = {}
    for node in session.history.graph.nodes:
        if node.location is not None and node.location.file == location.file:
            nodes_by_line.setdefault(node.location.line, []).append(str(node))
    points = {point.condition: point.number for point in session.snapshot.breakpoints}
    is_text = lines_in_strings(lines)
    rows = list[PageRow]()
    for number, text in enumerate(lines, 1):
        nodes, line = nodes_by_line.get(number, []), text.rstrip("\n")
        is_current = number == location.line
        columns = expression_columns(location, line) if is_current else None
        point = points.get(breakpoint_condition(number))
        first_node = nodes[0] if nodes else ""
        rows += source_rows(number, line, first_node, point, columns, is_current, is_text[number - 1], width)
    target = next((at for at, row in enumerate(rows) if row.line == location.line), None)
    return PanePage(rows, f"{location.file.rpartition('/')[2]}:{location.line}", target)


def breakpoint_condition(line: int) -> str:
    """The condition of a breakpoint on a line.

    >>> breakpoint_condition(20)
    'line == 20 and fired'
    """
    return f"line == {line} and fired"


@lru_cache(maxsize=4096)
def source_rows(
    number: int,
    line: str,
    node: str,
    point: int | None,
    columns: tuple[int, int] | None,
    is_current: bool,
    is_text: bool,
    width: int,
) -> tuple[PageRow, ...]:
    """The rows of a line: several if it made nodes, of which `node` is the first, and is wider than the pane. `point`
    is the number of its breakpoint, and `columns` are those to underline."""
    command = f"delete {point}" if point is not None else f"break {breakpoint_condition(number)}" if node else ""
    gutter = PageSpan("●" if point is not None else "·" if node else " ", VERMILLION if point is not None else GREY)
    text = sanitize(line)
    spans = (PageSpan(text, GREEN),) if is_text else highlight(text)
    if columns is not None:
        spans = underline_spans(spans, columns)
    about = {"command": command, "is_current": is_current, "node": node, "line": number}
    first, *others = wrap_spans(spans, width - GUTTER_WIDTH) if node or is_current else [spans]
    return (
        build_row(gutter, (f"{number:4} ", YELLOW if is_current else GREY), *first, **about),
        *(build_row(" " * GUTTER_WIDTH, *row, **about) for row in others),
    )


def underline_spans(spans: Sequence[PageSpan], columns: tuple[int, int]) -> tuple[PageSpan, ...]:
    """The spans with some columns underlined; spans that reach across an end of the columns are cut there.

    >>> [(span.text, span.underlined) for span in underline_spans([PageSpan("y = x + 1")], (4, 9))]
    [('y = ', False), ('x + 1', True)]
    """
    pieces, at = list[PageSpan](), 0
    for span in spans:
        begin, end = (min(max(column - at, 0), len(span.text)) for column in columns)
        inside = span._replace(text=span.text[begin:end], underlined=True)
        pieces += [span._replace(text=span.text[:begin]), inside, span._replace(text=span.text[end:])]
        at += len(span.text)
    return tuple(piece for piece in pieces if piece.text)


def lines_in_strings(lines: list[str]) -> list[bool]:
    """For each line, whether it is inside a multi-line string."""
    flags, inside = [], False
    for line in lines:
        quotes = line.count('"""')
        flags.append(inside or quotes == 1)
        inside = inside ^ (quotes % 2 == 1)
    return flags


@lru_cache(maxsize=4096)
def highlight(text: str) -> tuple[PageSpan, ...]:
    """A line with rough syntax highlighting."""
    return tuple(_token_span(piece) for piece in _TOKENS.finditer(text))


def _token_span(piece: re.Match[str]) -> PageSpan:
    kind, word = piece.lastgroup or "other", piece.group()
    is_keyword = kind == "word" and keyword.iskeyword(word)
    return PageSpan(word, BLUE if is_keyword else _COLOURS.get(kind, ""), is_keyword)
