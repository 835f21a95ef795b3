"""The glossary: every term of the user's world in one line, from glossary.txt. F1 and docs/glossary.md show it.

A line of the file is `term | definition | page`, the page as docs/ links to it; lines are in alphabetical order.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

GLOSSARY_FILE = Path(__file__).with_name("glossary.txt")
TERM_WIDTH = 20
"""The columns for terms."""


class GlossaryEntry(NamedTuple):
    """A term, its definition, and the page that explains it, relative to docs/."""

    term: str
    definition: str
    page: str


@cache
def glossary_entries() -> tuple[GlossaryEntry, ...]:
    """All terms, in alphabetical order."""
    lines = GLOSSARY_FILE.read_text(encoding="utf-8").splitlines()
    return tuple(GlossaryEntry(*line.split(" | ")) for line in lines)


def glossary_lines(width: int = 85) -> list[str]:
    r"""All terms with their definitions beside them, wrapped for a terminal of this many columns.

    >>> print("\n".join(glossary_lines()[-3:-1]))
    work                the number of firings of a run: S1
    world               what effects act on: the output, and the Python functions that a
    """
    return [
        line
        for term, definition, _ in glossary_entries()
        for line in fill(
            definition.replace("`", ""),
            width,
            initial_indent=f"{term:{TERM_WIDTH}}",
            subsequent_indent=" " * TERM_WIDTH,
        ).splitlines()
    ]
