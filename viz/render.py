"""Layout: DOT in, a picture out.

Graphviz runs in a process of its own, which can be killed: big graphs take minutes, an interrupt does not reach its
C code, and where it runs out of stack it takes its process with it.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from subprocess import PIPE, Popen, TimeoutExpired
from typing import TypeAlias

from ..core.errors import Usage

FORMATS = ("svg", "png", "pdf")
"""What a picture can be."""

COORDINATE_FORMAT = "json0"
"""The format of a layout that is no picture: where everything stands, as JSON."""

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
"""What the other process does. Without a font Graphviz draws boxes for letters, and says nothing."""


ProgressCallback: TypeAlias = Callable[[float], object]
"""Told every half second for how many seconds a layout has gone on."""


_PROGRESS_INTERVAL = 0.5


def render(dot: str, format: str, *, timeout: float = 120, progress: ProgressCallback | None = None) -> bytes:
    """A picture of DOT source as svg, png (144 dots per inch) or pdf; or its coordinates (COORDINATE_FORMAT).

    The layout is killed after `timeout` seconds, and on Ctrl-C; until then `progress` is told of it. Raises Usage for a
    format that is none of these, for text that is no DOT, for a layout that fails or takes too long, where pygraphviz
    is not installed, and for png and pdf where no font is. An svg takes its fonts from whatever shows it.
    """
    if format not in (*FORMATS, COORDINATE_FORMAT):
        raise Usage("no format of pictures is called so", required=", ".join(FORMATS), got=repr(format))
    command = [sys.executable, "-P", "-c", _LAYOUT, format]
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        try:
            picture, said = _await_layout(process, dot.encode(), timeout, progress)
        except BaseException:
            process.kill()
            raise
    if process.returncode or not picture:
        raise _layout_error(process.returncode, said.decode(errors="replace"))
    return picture


def _await_layout(
    process: Popen[bytes], dot: bytes, timeout: float, progress: ProgressCallback | None
) -> tuple[bytes, bytes]:
    """What the layout writes, to stdout and to stderr."""
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


def _layout_error(status: int, said: str) -> Usage:
    """What to say where the layout came to nothing: `status` as subprocess has it, and what stood on stderr."""
    if "No module named 'pygraphviz" in said:
        return Usage("pygraphviz, which lays out pictures, is not installed", hint="pip install pygraphviz")
    if said.strip().endswith("no font"):
        return Usage("letters cannot be drawn: this machine has no font", hint="draw an svg, or install DejaVu fonts")
    if status < 0:
        name = signal.Signals(-status).name
        return Usage(f"the layout was killed by {name}", hint="the graph may be too big: draw a part of it")
    lines = said.strip().splitlines()
    complaints = [line for line in lines if line.startswith("Error: ")] or lines[-1:]
    return Usage("Graphviz cannot lay this out", got="; ".join(complaints) or f"exit status {status}")
