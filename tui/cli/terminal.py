"""The terminal: its characters, colours and size; drawings on it; and errors on stderr."""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from typing import TextIO

from ...core.errors import TagloomError
from ...core.escape import escape_controls, escape_line
from ...interp.records.documents import error_text
from ...viz.collapse import remove_branch_frames
from ...viz.terminal.drawing import HEIGHT, WIDTH, draw_cells
from ...viz.terminal.grid import to_text
from ...viz.view import View
from ..load import (
    error_excerpt,
)


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


def terminal_text(view: View) -> str:
    """A view as text for stdout, as wide as the terminal if possible, with its caption and a legend of its signs.
    Branches have no frames, whose titles would be cut by the lines through them."""
    size = (
        get_terminal_size((WIDTH, HEIGHT))
        if sys.stdout is not None and sys.stdout.isatty()
        else os.terminal_size((WIDTH, HEIGHT))
    )
    # The caption and the next prompt take a line each.
    drawing = draw_cells(remove_branch_frames(view), width=size.columns, height=size.lines - 2)
    looks = {"unicode": has_unicode(), "colours": has_colours()}
    if not drawing.fits:
        columns, rows = drawing.size
        hint = "--only and --fold draw less of it, and `less -S` scrolls"
        print_diagnostic(f"this takes {columns} columns and {rows} rows: {hint}")
    parts = [drawing.text(**looks), escape_line(view.caption), to_text(drawing.legend, **looks)]
    return "".join(f"{part}\n" for part in parts if part)


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
