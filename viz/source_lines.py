"""The source lines shown beside a graph, and which files may be read for them.

Files that this process has traced may always be read. Files that a loaded document names are read only if they are
regular files of at most MAX_BYTES with the suffix of a source. Of these, files in the document's folder or below may
appear in output that is passed on; others only on the user's own screen.
"""

from __future__ import annotations

import linecache
from pathlib import Path

from ..core.frontend.trace.source_location import has_traced
from ..core.program.program import DocumentLocation, Location, TracedLocation

SUFFIXES = (".py", ".tl")
"""The suffixes of source files."""
MAX_BYTES = 4 * 2**20
"""The size limit of a source, in bytes."""
MISSING_SOURCE = "the source cannot be read"


def shareable_lines(location: Location) -> list[str]:
    """The lines of the file that made a node, for output that is passed on to others; empty if the file may not be
    shared or read."""
    return _read_lines(location.file) if has_traced(location.file) else read_lines_if_any(document_source(location))


def local_lines(location: Location) -> list[str]:
    """The lines of the file that made a node, for the user's own screen."""
    return shareable_lines(location) or read_lines_if_any(resolve_source(Path(location.file)))


def local_line(location: Location) -> str:
    """The line that made a node, for the user's own screen; empty if it cannot be read."""
    lines = local_lines(location)
    return lines[location.line - 1].rstrip("\n") if 1 <= location.line <= len(lines) else ""


def expression_columns(location: Location, line: str) -> tuple[int, int] | None:
    """Where the expression that made a node begins and ends in its line, in characters; None where that is not known.

    An expression of several lines ends at the end of its first one, if that is the node's line.
    """
    span = location.span if isinstance(location, TracedLocation) else None
    if span is None or span.line != location.line:
        return None
    code = line.rstrip().encode()
    begin, end = span.column, span.end_column if span.end_line == span.line else len(code)
    if not begin < end <= len(code):  # the file was edited since
        return None
    return len(code[:begin].decode(errors="replace")), len(code[:end].decode(errors="replace"))


def underline(line: str, columns: tuple[int, int]) -> str:
    """Carets under some columns of a line; tabs are kept, so that both lines have the same indentation.

    >>> underline("y = x + 1", (4, 9))
    '    ^^^^^'
    """
    begin, end = columns
    return "".join(letter if letter == "\t" else " " for letter in line[:begin]) + "^" * (end - begin)


def document_source(location: Location) -> Path | None:
    """The source that a document names, if it is in the document's folder or below."""
    if not isinstance(location, DocumentLocation) or location.document is None:
        return None
    document = Path(location.document)
    path = resolve_source(document if location.file == location.document else document.parent / location.file)
    return path if path is not None and path.is_relative_to(document.parent.resolve()) else None


def resolve_source(source_path: Path) -> Path | None:
    """The source file with this name, after symbolic links are resolved; None if it is not a readable source."""
    try:
        path = source_path.resolve()
        return path if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size <= MAX_BYTES else None
    except (OSError, RuntimeError, ValueError):  # a name that no file can have, or links that lead to each other
        return None


def read_lines_if_any(path: Path | None) -> list[str]:
    """The lines of a file; empty if there is none."""
    return [] if path is None else _read_lines(str(path))


def _read_lines(file: str) -> list[str]:
    linecache.checkcache(file)
    return linecache.getlines(file)
