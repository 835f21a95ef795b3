"""Pages: the content of a pane of lines. A row has spans in colours of the table of looks, and names the node, the tag
and the position that commands on it refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, overload

from ...viz.style import GREY
from ..session.activation_mark import ActivationMark
from ..session.command import sanitize

FUTURE_COLOUR = "pale"
"""The colour of bars and lines for future events; never used for text."""


class PageSpan(NamedTuple):
    """A piece of a row in a colour of the table of looks; empty is the text colour."""

    text: str
    colour: str = ""
    bold: bool = False
    underlined: bool = False


class PageRow(NamedTuple):
    """A row of a page."""

    spans: tuple[PageSpan, ...]
    command: str = ""
    """The command for Enter and for a click."""
    is_current: bool = False
    """Whether it is the current position."""
    node: str = ""
    tag: str = ""
    position: int | None = None
    """The node, the activation, and the position in the flight that commands on this row refer to."""
    line: int | None = None
    """The source line that commands on this row refer to."""
    tail_count: int = 0
    """How many spans at the end stay visible, the end of their text at least, if there is no room for the row."""
    spare_count: int = 0
    """How many of these are left out first."""
    indent: int = 0
    """The length of the first span, if that is the indentation of a tree, which a narrow pane may shorten."""

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    def outdent(self, columns: int) -> PageRow:
        """The row with an indentation shorter by `columns`, which begins with an ellipsis.

        >>> row = build_row("      ", "fib(2)", indent=6)
        >>> [row.outdent(columns).text for columns in (0, 2, 8)]
        ['      fib(2)', '…   fib(2)', '…fib(2)']
        """
        if not self.indent or not columns:
            return self
        blanks = PageSpan("…" + " " * max(self.indent - columns - 1, 0), GREY)
        return self._replace(spans=(blanks, *self.spans[1:]), indent=len(blanks.text))

    def fit(self, width: int) -> tuple[PageSpan, ...]:
        """The spans, cut to a width: the end of those before the tail, then the beginning of the tail. A row without a
        tail is not cut.

        >>> row = build_row("fib.cond.switch_n ", "main/fib/fib_1", tail_count=1)
        >>> ["".join(span.text for span in row.fit(width)) for width in (40, 28, 16)]
        ['fib.cond.switch_n main/fib/fib_1', 'fib.cond.swit…main/fib/fib_1', 'fib.con…ib/fib_1']
        """
        if not self.tail_count or len(self.text) <= width:
            return self.spans
        if self.spare_count:
            remaining_spans = self.spans[: -self.spare_count]
            return self._replace(
                spans=remaining_spans, tail_count=self.tail_count - self.spare_count, spare_count=0
            ).fit(width)
        head, tail = self.spans[: -self.tail_count], self.spans[-self.tail_count :]
        least = width // 2 + 1
        tail_room = max(width - sum(len(span.text) for span in head), least)
        tail_length = sum(len(span.text) for span in tail)
        is_tail_cut = tail_length > tail_room
        ellipsis = PageSpan("…", GREY)
        kept_tail = last_columns(tail, tail_room - 1) if is_tail_cut else tail
        kept_head = first_columns(head, width - sum(len(span.text) for span in kept_tail) - 1)
        return (*kept_head, ellipsis, *kept_tail)


def wrap_spans(spans: Sequence[PageSpan], width: int) -> list[tuple[PageSpan, ...]]:
    """Spans as lines of at most `width` columns, broken at blanks where there are any; the lines after the first have
    the indentation of the first, and two columns more.

    >>> ["".join(span.text for span in line) for line in wrap_spans([PageSpan("  return a + b + c")], 12)]
    ['  return a +', '    b + c']
    """
    text = "".join(span.text for span in spans)
    indent = len(text) - len(text.lstrip()) + 2
    if len(text) <= width or indent > width // 2:
        return [tuple(spans)]
    lines, begin, room = list[tuple[PageSpan, ...]](), 0, width
    while begin < len(text):
        end = begin + room
        blank = text.rfind(" ", begin, end + 1)
        if end < len(text) and blank > begin and text[begin:blank].strip():
            end = blank + 1
        piece = first_columns(last_columns(spans, len(text) - begin), end - begin)
        lines.append((PageSpan(" " * indent), *piece) if lines else piece)
        begin, room = end, width - indent
    return [first_columns(line, len("".join(span.text for span in line).rstrip())) for line in lines]


def first_columns(spans: Sequence[PageSpan], count: int) -> tuple[PageSpan, ...]:
    """The first characters of spans."""
    result = list[PageSpan]()
    for span in spans:
        result.append(span._replace(text=span.text[: max(count, 0)]))
        count -= len(span.text)
    return tuple(span for span in result if span.text)


def last_columns(spans: Sequence[PageSpan], count: int) -> tuple[PageSpan, ...]:
    """The last characters of spans."""
    result = list[PageSpan]()
    for span in reversed(spans):
        result.append(span._replace(text=span.text[max(len(span.text) - count, 0) :] if count > 0 else ""))
        count -= len(span.text)
    return tuple(span for span in reversed(result) if span.text)


def mark_span(mark: ActivationMark, width: int = 3) -> PageSpan:
    """The number of an activation in its colour, bold if it is the current one, and a blank."""
    return PageSpan(f"{mark.text:<{width}} ", mark.colour, mark.is_current)


class PanePage(NamedTuple):
    """The content of a pane of lines."""

    rows: Sequence[PageRow]
    subtitle: str = ""
    """Text beside the title."""
    target_row: int | None = None
    """The row to scroll to."""
    is_target_first: bool = False
    """Whether that row should be the first visible one."""
    width: int | None = None
    """The length of the longest row, if known: measuring 1,000 rows takes 1 ms."""

    def hidden_indent(self, first: int, count: int, width: int) -> int:
        """How many columns of indentation `count` rows from the `first` on leave out, so that the deepest of them has
        two thirds of a pane of `width` columns for its text, or 40 columns."""
        rows = self.rows[first : first + count]
        return max(max((row.indent for row in rows), default=0) - max(width // 3, width - 40), 0)

    def text(self) -> str:
        """All rows as text, for tests."""
        return "\n".join(("> " if row.is_current else "  ") + row.text.rstrip() for row in self.rows)


class LazyRows(Sequence[PageRow]):
    """Rows that are made when they are first accessed."""

    def __init__(self, length: int, make: Callable[[int], PageRow]) -> None:
        self._length, self._make = length, cache(make)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, number: int) -> PageRow: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[PageRow]: ...
    def __getitem__(self, number: int | slice) -> PageRow | Sequence[PageRow]:
        if isinstance(number, slice):
            return [self._make(position) for position in range(*number.indices(self._length))]
        place = number + self._length if number < 0 else number
        if not 0 <= place < self._length:
            raise IndexError(number)
        return self._make(place)

    def __iter__(self) -> Iterator[PageRow]:
        return map(self._make, range(self._length))


def build_row(*pieces: str | tuple[str, str] | PageSpan, **about: object) -> PageRow:
    r"""A row of plain texts, (text, colour) pairs, and spans; unprintable characters are escaped.

    >>> build_row("a ", ("b\x1b", "#E69F00")).text
    'a b\\x1b'
    """
    spans = (
        PageSpan(piece) if isinstance(piece, str) else piece if isinstance(piece, PageSpan) else PageSpan(*piece)
        for piece in pieces
    )
    return PageRow(tuple(span._replace(text=sanitize(span.text)) for span in spans), **about)  # type: ignore[arg-type]


def list_rows(count: int, make: Callable[[int], PageRow], *rest: str) -> LazyRows:
    """`count` rows, followed by the lines in `rest`, such as the number of rows that are not listed.

    >>> [row.text for row in list_rows(2, lambda number: build_row(f"row {number}"), "and 3 more")]
    ['row 0', 'row 1', 'and 3 more']
    """
    return LazyRows(
        count + len(rest), lambda number: make(number) if number < count else build_row((rest[number - count], GREY))
    )


def empty_page(message: str) -> PanePage:
    """A page with only a message, which says why it is empty."""
    return PanePage([build_row((message, GREY))])
