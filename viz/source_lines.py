"""Which lines of source are read, to be shown beside a graph.

Code that this process has traced is read. What is loaded names files, too, and has no say over what else is read: only
sources are, which are regular files of a few MB, called so. Those beside a document, in its folder or below, it may
show to anybody, itself among them; all others only to who sits at the screen, whose files they are.
"""

from __future__ import annotations

import linecache
from pathlib import Path

from ..core.frontend.trace.source_location import has_traced
from ..core.program.program import DocumentLocation, Location

SUFFIXES = (".py", ".tl")
"""How the names of sources end."""
MAX_BYTES = 4 * 2**20
"""So many bytes a source has at most."""
MISSING_SOURCE = "the source is not here"


def shareable_lines(location: Location) -> list[str]:
    """The lines of the file that made a node, for what is passed on to others; none where its source is not here."""
    return _read_lines(location.file) if has_traced(location.file) else _read_lines_if_any(_document_source(location))


def local_lines(location: Location) -> list[str]:
    """The same, for the user's own screen."""
    return shareable_lines(location) or _read_lines_if_any(_resolve_source(Path(location.file)))


def local_line(location: Location) -> str:
    """The line itself, for the user's own screen; empty where it is not here."""
    lines = local_lines(location)
    return lines[location.line - 1].rstrip("\n") if 1 <= location.line <= len(lines) else ""


def _document_source(location: Location) -> Path | None:
    """The source that a document names in its own folder or below."""
    if not isinstance(location, DocumentLocation) or location.document is None:
        return None
    document = Path(location.document)
    path = _resolve_source(document if location.file == location.document else document.parent / location.file)
    return path if path is not None and path.is_relative_to(document.parent.resolve()) else None


def _resolve_source(named: Path) -> Path | None:
    """The source of this name, wherever links lead."""
    try:
        path = named.resolve()
        return path if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size <= MAX_BYTES else None
    except (OSError, RuntimeError, ValueError):  # a name that no file can have, or links that lead to each other
        return None


def _read_lines_if_any(path: Path | None) -> list[str]:
    return [] if path is None else _read_lines(str(path))


def _read_lines(file: str) -> list[str]:
    linecache.checkcache(file)
    return linecache.getlines(file)
