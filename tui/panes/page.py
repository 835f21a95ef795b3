"""Pages: what a pane of lines shows. A line has pieces in colours of the table of looks, and says what it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, overload

from ...viz.style import GREY
from ..session.reply import visible

PALE = "pale"
"""The colour of what is there, but not yet: no text has it."""


class Span(NamedTuple):
    """A piece of a line, in a colour of the table of looks; empty is that of the paper's ink."""

    text: str
    colour: str = ""
    strong: bool = False


class Row(NamedTuple):
    """A line."""

    spans: tuple[Span, ...]
    do: str = ""
    """The command of Enter, and of a click."""
    here: bool = False
    """Whether it is where one is."""
    node: str = ""
    tag: str = ""
    position: int | None = None
    """The node, the activation, and the position in the flight that commands given here are about."""
    line: int | None = None
    """The line of source."""

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)


class Page(NamedTuple):
    """What a pane of lines shows."""

    rows: Sequence[Row]
    said: str = ""
    """What stands beside the title."""
    at: int | None = None
    """The row that is to be in sight."""
    begins: bool = False
    """Whether that row is to be the first in sight."""
    wide: int | None = None
    """How many columns the longest row has, where that is known: to look at 1,000 takes 1 ms."""

    def text(self) -> str:
        """All lines, as tests compare them."""
        return "\n".join(("> " if row.here else "  ") + row.text.rstrip() for row in self.rows)


class Lazy(Sequence[Row]):
    """Rows of which only those that are looked at are made, each once."""

    def __init__(self, length: int, make: Callable[[int], Row]) -> None:
        self._length, self._make = length, cache(make)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, number: int) -> Row: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Row]: ...
    def __getitem__(self, number: int | slice) -> Row | Sequence[Row]:
        if isinstance(number, slice):
            return [self._make(each) for each in range(*number.indices(self._length))]
        place = number + self._length if number < 0 else number
        if not 0 <= place < self._length:
            raise IndexError(number)
        return self._make(place)

    def __iter__(self) -> Iterator[Row]:
        return map(self._make, range(self._length))


def row(*pieces: str | tuple[str, str] | Span, **about: object) -> Row:
    r"""A row of plain texts, texts with their colours, and spans; what no terminal shows is a dot.

    >>> row("a ", ("b\x1b", "#E69F00")).text
    'a b·'
    """
    made = (Span(each) if isinstance(each, str) else each if isinstance(each, Span) else Span(*each) for each in pieces)
    return Row(tuple(each._replace(text=visible(each.text)) for each in made), **about)  # type: ignore[arg-type]


def listed(count: int, make: Callable[[int], Row], *rest: str) -> Lazy:
    """So many rows, and below them what is said of those that are not listed.

    >>> [each.text for each in listed(2, lambda number: row(f"row {number}"), "and 3 more")]
    ['row 0', 'row 1', 'and 3 more']
    """
    return Lazy(count + len(rest), lambda number: make(number) if number < count else row((rest[number - count], GREY)))


def empty(said: str) -> Page:
    """A page that says why it is empty."""
    return Page([row((said, GREY))])
