"""Properties of the terminal: its characters, colours and size."""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from typing import TextIO

from ...viz.cells.ansi import to_text
from ...viz.cells.drawing import HEIGHT, WIDTH, draw_cells
from ...viz.view import View


def has_unicode(stream: TextIO | None = None) -> bool:
    """Whether a stream, stdout by default, can show characters beyond ASCII."""
    encoding = (getattr(stream or sys.stdout, "encoding", None) or "ascii").lower()
    return encoding.startswith("utf") and os.environ.get("TERM") != "dumb"


def has_colours() -> bool:
    """Whether stdout is a terminal with colours, and NO_COLOR is not set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_text(view: View) -> str:
    """A view as text for stdout, with a legend of its signs below; as wide as the terminal, if possible."""
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
