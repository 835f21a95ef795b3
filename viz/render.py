"""Rendering by Graphviz, from DOT source to a picture.

Graphviz runs in a separate process, because the layout of a large graph takes minutes, its C code cannot be
interrupted, and a stack overflow ends its process.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from subprocess import TimeoutExpired
from tempfile import TemporaryFile
from typing import IO, NamedTuple, TypeAlias

from ..core.errors import Usage
from ..interp.engines.child_process import ChildProcess

FORMATS = ("svg", "png", "pdf")
"""The formats of pictures."""

COORDINATE_FORMAT = "json0"
"""The format of a layout without a picture: coordinates as JSON."""

LAYOUT_FORMAT = "dot"
"""The format of a layout as DOT source with coordinates, which the engine `nop2` draws."""

_LAYOUT = """
import sys
from pygraphviz import AGraph

sources, (form, label, engine) = sys.stdin.buffer.read().decode().split("\\0"), sys.argv[1:]
if form in ("png", "pdf") and b"/FontName" not in AGraph(string="graph { a }").draw(format="pdf", prog="dot"):
    sys.exit("no font")
for number, source in enumerate(sources):
    picture = AGraph(string=source)
    if form == "png":
        picture.graph_attr["dpi"] = "144"
    for edge in picture.edges() if label == "xlabel" else ():
        if edge.attr["constraint"] == "false" and edge.attr["label"]:
            edge.attr["xlabel"], edge.attr["label"] = "<" + edge.attr["label"] + ">", ""
    sys.stdout.buffer.write(b"\\0" * bool(number) + picture.draw(format=form, prog=engine))
    sys.stdout.buffer.flush()
"""
"""The script of the layout process; zero bytes separate several graphs, and their pictures. Without a font Graphviz
draws boxes instead of letters and reports nothing. Its second argument is the attribute for the text of arrows that do
not order their boxes: `label`, for which the layout makes room, or `xlabel`, which is placed after it. The third
is the engine."""


ProgressCallback: TypeAlias = Callable[[float], object]
"""Receives the seconds that a layout has taken so far, every half second."""


_PROGRESS_INTERVAL = 0.5


def render(
    dot: str, format: str, *, engine: str = "dot", timeout: float = 120, progress: ProgressCallback | None = None
) -> bytes:
    """Render DOT source as svg, png (144 dots per inch) or pdf, or as coordinates (COORDINATE_FORMAT, LAYOUT_FORMAT).
    The engine `dot` lays the graph out; `nop2` draws it at the coordinates in the source.

    The layout is killed after `timeout` seconds, and on Ctrl-C; until then `progress` is called every half second.
    Raises Usage for another format, for invalid DOT, for a layout that fails or takes too long, if pygraphviz is not
    installed, and for png and pdf if no font is installed. An svg uses the fonts of the program that displays it.
    """
    if format not in (*FORMATS, COORDINATE_FORMAT, LAYOUT_FORMAT):
        raise Usage("there is no picture format of this name", required=", ".join(FORMATS), got=repr(format))
    with ExitStack() as stack:
        return start_layout(stack, [dot], format, engine=engine).await_pictures(timeout, progress)[0]


def render_svgs(sources: Sequence[str], *, timeout: float = 120, progress: ProgressCallback | None = None) -> list[str]:
    """Render several DOT sources as svg, by a process for each core, in `timeout` seconds for each source on average;
    raises Usage as `render` does."""
    count = min(os.cpu_count() or 1, len(sources))
    with ExitStack() as stack:
        layouts = [start_layout(stack, sources[first::count], "svg") for first in range(count)]
        shares = [layout.await_pictures(timeout * len(sources), progress) for layout in layouts]
    return [shares[number % count][number // count].decode() for number in range(len(sources))]


class _Layout(NamedTuple):
    """A running layout process, what it lays out, and the files that it writes. Its input is a file, too, because
    `communicate` loses what it has not written to a pipe when its time is up."""

    stack: ExitStack
    sources: Sequence[str]
    format: str
    label: str
    process: ChildProcess
    pictures: IO[bytes]
    errors: IO[bytes]

    def await_pictures(self, timeout: float, progress: ProgressCallback | None) -> list[bytes]:
        """Wait for the process, and return the picture of each source.

        Graphviz crashes at some graphs with texts at arrows that do not order their boxes. Another process then lays
        out that graph with these texts as `xlabel`, and the graphs after it.
        """
        start_time = time.monotonic()
        status = self._await_end(timeout, progress)
        written = read_all(self.pictures)
        pictures = written.split(b"\0") if written and len(self.sources) > 1 else [written] if written else []
        if status in (-signal.SIGABRT, -signal.SIGSEGV) and self.label == "label":
            failed, *others = self.sources[len(pictures) :]
            for sources, label in (([failed], "xlabel"), (others, "label")):
                if sources:
                    left = timeout - (time.monotonic() - start_time)
                    pictures += start_layout(self.stack, sources, self.format, label).await_pictures(left, progress)
        elif status or not pictures:
            raise layout_error(status, read_all(self.errors).decode(errors="replace"))
        return pictures

    def _await_end(self, timeout: float, progress: ProgressCallback | None) -> int:
        """Wait for the process; its exit status."""
        begun = time.monotonic()
        while (left := begun + timeout - time.monotonic()) > 0:
            try:
                return self.process.wait(min(left, _PROGRESS_INTERVAL))
            except TimeoutExpired:
                if progress is not None:
                    progress(time.monotonic() - begun)
        self.process.kill()
        raise Usage(
            f"the layout takes longer than {timeout:g} s",
            hint="draw a part, allow it more time, or save the DOT source and lay it out with another program",
        )


def start_layout(
    stack: ExitStack, sources: Sequence[str], format: str, label: str = "label", engine: str = "dot"
) -> _Layout:
    """Start the layout of DOT sources in a process, which ends with `stack`."""
    source, pictures, errors = (stack.enter_context(TemporaryFile()) for _ in range(3))  # noqa: SIM115 - `stack` closes
    source.write("\0".join(sources).encode())
    source.seek(0)
    command = [sys.executable, "-P", "-c", _LAYOUT, format, label, engine]
    process = stack.enter_context(ChildProcess(command, stdin=source, stdout=pictures, stderr=errors))
    return _Layout(stack, sources, format, label, process, pictures, errors)


def read_all(file: IO[bytes]) -> bytes:
    """All of a file that another process has written."""
    file.seek(0)
    return file.read()


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
