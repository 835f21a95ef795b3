"""The terminal: its characters and colours, text on it, and errors on stderr."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from ...core.errors import TagloomError
from ...core.escape import escape_controls
from ...interp.records.documents import error_text
from ..load import error_excerpt


def has_unicode(stream: TextIO | None = None) -> bool:
    """Whether a stream, stdout by default, can show characters beyond ASCII."""
    encoding = (getattr(stream or sys.stdout, "encoding", None) or "ascii").lower()
    return encoding.startswith("utf") and os.environ.get("TERM") != "dumb"


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; one that was closed before the process began is None, and is none."""
    return stream is not None and stream.isatty()


def has_colours() -> bool:
    """Whether stdout is a terminal with colours, and NO_COLOR is not set (https://no-color.org)."""
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def print_text(text: object, *, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print text for people, control characters as escapes. All that commands print goes through this function, except
    documents for programs, drawings, and data (`core/escape.py: escape_for_stdout`)."""
    print(escape_controls(str(text)), file=file, end=end, flush=flush)


def print_diagnostic(text: object) -> None:
    """Print text for people to stderr; nothing, if it cannot be written there, because the exit code says enough."""
    if sys.stderr is None:  # it is closed, and `print` would take stdout
        return
    try:
        print_text(text, file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the interpreter flushes it on its way out


def print_error(error: TagloomError) -> None:
    """Print an error to stderr, with the line of a .tl file that it refers to."""
    error.excerpt = error.excerpt or error_excerpt(error)
    print_diagnostic(error_text(error))


def print_to_stderr(line: str) -> None:
    """Print a program's line to stderr, because stdout is used for something else."""
    print_diagnostic(line)
