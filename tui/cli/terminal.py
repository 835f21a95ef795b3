"""The terminal: its characters, colours and size; drawings on it; and errors on stderr."""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from typing import TextIO

from ...core.errors import TagloomError
from ...interp.records.documents import error_text
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


def has_colours() -> bool:
    """Whether stdout is a terminal with colours, and NO_COLOR is not set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_text(view: View) -> str:
    """A view as text for stdout, as wide as the terminal if possible, with its caption and a legend of its signs."""
    size = get_terminal_size((WIDTH, HEIGHT)) if sys.stdout.isatty() else os.terminal_size((WIDTH, HEIGHT))
    # The caption and the next prompt take a line each.
    drawing = draw_cells(view, width=size.columns, height=size.lines - 2)
    looks = {"unicode": has_unicode(), "colours": has_colours()}
    if not drawing.fits:
        columns, rows = drawing.size
        hint = "--only and --fold draw less of it, and `less -S` scrolls"
        print(f"this takes {columns} columns and {rows} rows: {hint}", file=sys.stderr)
    parts = [drawing.text(**looks), view.caption, to_text(drawing.legend, **looks)]
    return "".join(f"{part}\n" for part in parts if part)


def print_error(error: TagloomError) -> None:
    """Print an error to stderr, with the line of a .tl file that it refers to."""
    error.excerpt = error.excerpt or error_excerpt(error)
    print(error_text(error), file=sys.stderr)


def print_to_stderr(line: str) -> None:
    """Print a program's line to stderr, because stdout is used for something else."""
    print(line, file=sys.stderr)
