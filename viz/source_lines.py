"""Which lines of source are read, to be shown beside a graph.

Code that this process has traced is read. What is loaded names files, too, and has no say over what else is read: only
sources are, which are regular files of a few MB, called so. Those beside a document, in its folder or below, it may
show to anybody, itself among them; all others only to who sits at the screen, whose files they are.
"""

from __future__ import annotations

import linecache
from pathlib import Path

from ..core.frontend.trace.source_location import has_traced
from ..core.program.program import Location, Quoted

SUFFIXES = (".py", ".tl")
"""How the names of sources end."""
LARGEST = 4 * 2**20
"""So many bytes a source has at most."""
MISSING = "the source is not here"


def lines_to_give_away(location: Location) -> list[str]:
    """The lines of the file that made a node, for what is passed on to others; none where its source is not here."""
    return _lines(location.file) if has_traced(location.file) else _lines_of(_beside(location))


def lines_on_screen(location: Location) -> list[str]:
    """The same, for the user's own screen."""
    return lines_to_give_away(location) or _lines_of(_source(Path(location.file)))


def line_on_screen(location: Location) -> str:
    """The line itself, for the user's own screen; empty where it is not here."""
    lines = lines_on_screen(location)
    return lines[location.line - 1].rstrip("\n") if 1 <= location.line <= len(lines) else ""


def _beside(location: Location) -> Path | None:
    """The source that a document names in its own folder or below."""
    if not isinstance(location, Quoted) or location.document is None:
        return None
    document = Path(location.document)
    path = _source(document if location.file == location.document else document.parent / location.file)
    return path if path is not None and path.is_relative_to(document.parent.resolve()) else None


def _source(named: Path) -> Path | None:
    """The source of this name, wherever links lead."""
    try:
        path = named.resolve()
        return path if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size <= LARGEST else None
    except (OSError, RuntimeError, ValueError):  # a name that no file can have, or links that lead to each other
        return None


def _lines_of(path: Path | None) -> list[str]:
    return [] if path is None else _lines(str(path))


def _lines(file: str) -> list[str]:
    linecache.checkcache(file)
    return linecache.getlines(file)
