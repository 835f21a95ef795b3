"""What `tagloom show` does: a program, a graph or a run as a picture in a file, or as text.

Of a program without arguments it shows what is static; with arguments, or of a log of events, it runs the program and
shows the run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ...core.errors import Usage
from ...core.files import write_file
from ...core.graph.graph import Graph
from ...core.program.program import Program
from ...core.text import print_graph, print_program
from ...core.world import World
from ...interp.engines.reference import breaks_rules
from ...interp.history.history import History
from ...interp.image import print_image as image_text
from ...interp.image.build import image
from ...interp.records.documents import text_form
from ...interp.records.event_log import SUFFIX
from ...viz.collapse import LARGEST
from ...viz.pictures import Picture, drawn, moment, picture, static, trimmed
from ...viz.style import DARK, LIGHT
from ...viz.view import View
from ..load import find, forms, program_of
from ..run_start import Start
from ..session.fast_forward import FAR, check_interrupt, on_to
from .terminal import in_cells


class FormWord(StrEnum):
    """What of it is shown."""

    program = "program"
    graph = "graph"
    image = "image"
    unfolded = "unfolded"
    beside = "beside"
    tags = "tags"
    critical = "critical"
    spacetime = "spacetime"
    profile = "profile"


STATIC = (FormWord.program, FormWord.graph, FormWord.image)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be shown, and how. `at` is after how many events; None is the end."""

    form: FormWord = FormWord.graph
    output: Path | None = None
    at: int | None = None
    only: tuple[str, ...] = ()
    fold: tuple[str, ...] = ()
    dark: bool = False
    most: int = LARGEST
    cells: bool = False
    """In the characters of a terminal."""


def show(start: Start, wanted: Wanted) -> str | None:
    """Draw it into its file; without one, its text form, which is returned.

    Raises Usage where there is no such picture, or it cannot be written.
    """
    is_run = bool(start.words) or start.target.endswith(SUFFIX) or wanted.at is not None
    if wanted.form is FormWord.image:
        return _image(start, wanted, is_run)
    if is_run or wanted.form not in STATIC:
        history = start.history(World(aside))
        if wanted.form is FormWord.program:
            raise Usage("a run is one of a graph", got="--form program", hint="leave out ARGS, or --form program")
        if wanted.cells:
            return _in_cells(of_run(history, wanted), wanted)
        if wanted.output is None:
            raise Usage("the picture of a run goes into a file", hint="-o run.svg")
        _write(wanted, lambda: _picture(of_run(history, wanted), wanted))
        return None
    subject = _static(start.target, wanted.form)
    if wanted.cells:
        return _in_cells(static(subject), wanted)
    if wanted.output is None:
        return _text(subject)
    _write(wanted, lambda: _of_static(subject, wanted))
    return None


def _image(start: Start, wanted: Wanted, is_run: bool) -> str:
    """What token engines run, in print."""
    if is_run or wanted.output is not None or wanted.cells:
        raise Usage("an image is of a graph, and text", got="--form image", hint="leave out ARGS, --at, -o and --ascii")
    graph = forms(find(start.target))[1]
    breaks_rules(graph, unchecked=False)
    return image_text.text(image(graph))


def of_run(history: History, wanted: Wanted) -> Picture:
    """The picture of a run, up to the moment that is wanted."""
    if wanted.at is None:
        history.run()
    else:
        history = _at(history, wanted.at, wanted.form)
    return moment(history) if wanted.form is FormWord.graph else picture(history, wanted.form)


def _at(history: History, position: int, form: FormWord) -> History:
    """The run where so many events have happened; all of them are known, unless only that moment is shown. Raises Usage
    where the run is over before, and KeyboardInterrupt."""
    if position < 0:
        raise Usage("events are counted from 0", got=f"--at {position}")
    if form is FormWord.graph and position > len(history) + FAR and history.refused is None:
        history = history.far(position)
        check_interrupt(history)
    if len(history) < position:
        on_to(history, lambda state, event: state.steps >= position)
    if len(history) < position:
        limit = history.stopped
        what = "the run is over before" if limit is None else f"a limit ends the run before: {limit.message}"
        raise Usage(what, required=f"--at 0 to {len(history)}", got=f"--at {position}")
    history.jump(position)
    return history


def aside(line: str) -> None:
    """What a program prints, where stdout has something else."""
    print(line, file=sys.stderr)


def _static(target: str, form: FormWord) -> Program | Graph:
    found = find(target)
    subject = program_of(found) if form is FormWord.program else forms(found)[1]
    if subject is None:
        raise Usage("a graph has no structured program", got=target, hint="leave --form program out")
    return subject


def _text(subject: Program | Graph) -> str:
    return print_graph(subject) if isinstance(subject, Graph) else print_program(subject)


def _of_static(subject: Program | Graph, wanted: Wanted) -> bytes:
    suffix = _suffix(wanted)
    if suffix == "tl":
        return _text(subject).encode()
    if suffix == "json":
        return text_form(subject).encode()
    return _picture(static(subject), wanted)


def _picture(what: Picture, wanted: Wanted) -> bytes:
    suffix = _suffix(wanted)
    if suffix not in ("dot", "svg", "png", "pdf"):
        only_static = " (.tl and .json without ARGS)" if suffix in ("tl", "json") else ", .tl or .json"
        required = f".svg, .png, .pdf, .dot{only_static}"
        raise Usage("no picture of this kind", got=f".{suffix}" if suffix else "no suffix", required=required)
    with Progress() as progress:
        return drawn(
            what,
            suffix,
            theme=DARK if wanted.dark else LIGHT,
            only=wanted.only,
            fold=wanted.fold,
            most=wanted.most,
            progress=progress.tell,
        )


def _in_cells(what: Picture, wanted: Wanted) -> str:
    if wanted.output is not None:
        raise Usage("--ascii draws in the terminal, and into no file", got=f"-o {wanted.output}")
    if not isinstance(what, View):
        raise Usage("charts are not drawn in characters", got=f"--form {wanted.form}", hint="-o run.svg")
    return in_cells(trimmed(what, wanted.only, wanted.fold, wanted.most))


def _suffix(wanted: Wanted) -> str:
    assert wanted.output is not None
    return wanted.output.suffix.lower().removeprefix(".")


def _write(wanted: Wanted, made: Callable[[], bytes]) -> None:
    assert wanted.output is not None
    write_file(wanted.output, made())


class Progress:
    """A line on a terminal that says for how long a layout has gone on, and is wiped away after it."""

    def __init__(self) -> None:
        self.told = False

    def __enter__(self) -> Progress:
        return self

    def tell(self, seconds: float) -> None:
        if sys.stderr.isatty() and seconds >= 1:
            self.told = True
            print(f"\rlaying out the picture: {seconds:.0f} s (Ctrl-C ends it)", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self.told:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
