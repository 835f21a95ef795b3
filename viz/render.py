"""Rendering by Graphviz, from DOT source to a picture.

Graphviz runs in a separate process, because the layout of a large graph takes minutes, its C code cannot be
interrupted, and a stack overflow ends its process.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from subprocess import PIPE, TimeoutExpired
from typing import TypeAlias

from ..core.errors import Usage
from ..interp.engines.child_process import ChildProcess

FORMATS = ("svg", "png", "pdf")
"""The formats of pictures."""

COORDINATE_FORMAT = "json0"
"""The format of a layout without a picture: coordinates as JSON."""

_LAYOUT = """
import sys
from pygraphviz import AGraph

picture, form = AGraph(string=sys.stdin.buffer.read().decode()), sys.argv[1]
if form in ("png", "pdf") and b"/FontName" not in AGraph(string="graph { a }").draw(format="pdf", prog="dot"):
    sys.exit("no font")
if form == "png":
    picture.graph_attr["dpi"] = "144"
sys.stdout.buffer.write(picture.draw(format=form, prog="dot"))
"""
"""The script of the layout process. Without a font Graphviz draws boxes instead of letters and reports nothing."""


ProgressCallback: TypeAlias = Callable[[float], object]
"""Receives the seconds that a layout has taken so far, every half second."""


_PROGRESS_INTERVAL = 0.5


def render(dot: str, format: str, *, timeout: float = 120, progress: ProgressCallback | None = None) -> bytes:
    """Render DOT source as svg, png (144 dots per inch) or pdf, or as coordinates (COORDINATE_FORMAT).

    The layout is killed after `timeout` seconds, and on Ctrl-C; until then `progress` is called every half second.
    Raises Usage for another format, for invalid DOT, for a layout that fails or takes too long, if pygraphviz is not
    installed, and for png and pdf if no font is installed. An svg uses the fonts of the program that displays it.
    """
    if format not in (*FORMATS, COORDINATE_FORMAT):
        raise Usage("there is no picture format of this name", required=", ".join(FORMATS), got=repr(format))
    command = [sys.executable, "-P", "-c", _LAYOUT, format]
    with ChildProcess(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        picture, errors = await_layout(process, dot.encode(), timeout, progress)
    if process.returncode or not picture:
        raise layout_error(process.returncode, errors.decode(errors="replace"))
    return picture


def await_layout(
    process: ChildProcess, dot: bytes, timeout: float, progress: ProgressCallback | None
) -> tuple[bytes, bytes]:
    """Wait for the layout process; its stdout and stderr."""
    begun, unsent = time.monotonic(), [dot]
    while (left := begun + timeout - time.monotonic()) > 0:
        try:
            return process.communicate(unsent.pop() if unsent else None, timeout=min(left, _PROGRESS_INTERVAL))
        except TimeoutExpired:
            if progress is not None:
                progress(time.monotonic() - begun)
    raise Usage(
        f"the layout takes longer than {timeout:g} s",
        hint="draw a part, allow it more time, or save the DOT source and lay it out with another program",
    )


def layout_error(status: int, errors: str) -> Usage:
    """The error for a failed layout: `status` is the exit status as subprocess reports it, `errors` its stderr."""
    if "No module named 'pygraphviz" in errors:
        return Usage("pygraphviz, which lays out pictures, is not installed", hint="pip install pygraphviz")
    if errors.strip().endswith("no font"):
        return Usage("letters cannot be drawn: this machine has no font", hint="draw an svg, or install DejaVu fonts")
    if status < 0:
        name = signal.Signals(-status).name
        return Usage(f"the layout was killed by {name}", hint="the graph may be too big: draw a part of it")
    lines = errors.strip().splitlines()
    complaints = [line for line in lines if line.startswith("Error: ")] or lines[-1:]
    return Usage("Graphviz cannot lay this out", got="; ".join(complaints) or f"exit status {status}")
