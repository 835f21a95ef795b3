"""`tagloom show`: a program, a graph or a run as a picture in a file, or as text.

For a program without arguments it shows the static form; with arguments, or for a log of events, it shows the run.
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
from ...interp.image.image import build_image
from ...interp.records.documents import format_json
from ...interp.records.event_log import SUFFIX
from ...viz.collapse import MAX_BOXES
from ...viz.pictures import Picture, moment_view, render_picture, run_picture, static_view, trim_view
from ...viz.style import DARK, LIGHT
from ...viz.view import View
from ..load import find_program, program_and_graph, program_of
from ..run_start import Start
from ..session.fast_forward import FAST_FORWARD_THRESHOLD, check_interrupt, run_until
from .terminal import terminal_text


class PictureForm(StrEnum):
    """The form of the picture."""

    program = "program"
    graph = "graph"
    image = "image"
    unfolded = "unfolded"
    beside = "beside"
    tags = "tags"
    critical = "critical"
    spacetime = "spacetime"
    profile = "profile"


STATIC_FORMS = (PictureForm.program, PictureForm.graph, PictureForm.image)


@dataclass(frozen=True, slots=True)
class ShowRequest:
    """What to show, and how. `at` is the number of events before the shown position; None is the end."""

    form: PictureForm = PictureForm.graph
    output: Path | None = None
    at: int | None = None
    only: tuple[str, ...] = ()
    fold: tuple[str, ...] = ()
    dark: bool = False
    max_boxes: int = MAX_BOXES
    in_terminal: bool = False
    """Whether to draw in the characters of a terminal."""


def show(start: Start, wanted: ShowRequest) -> str | None:
    """Draw the picture into its file; without a file, return the text form.

    Raises Usage if there is no such picture, or it cannot be written.
    """
    is_run = bool(start.words) or start.target.endswith(SUFFIX) or wanted.at is not None
    if wanted.form is PictureForm.image:
        return _image_text(start, wanted, is_run)
    if is_run or wanted.form not in STATIC_FORMS:
        history = start.history(World(print_to_stderr))
        if wanted.form is PictureForm.program:
            raise Usage("a run is one of a graph", got="--form program", hint="leave out ARGS, or --form program")
        if wanted.in_terminal:
            return _terminal_text(picture_of_history(history, wanted), wanted)
        if wanted.output is None:
            raise Usage("the picture of a run goes into a file", hint="-o run.svg")
        _write_output(wanted, lambda: _picture_bytes(picture_of_history(history, wanted), wanted))
        return None
    subject = _static_subject(start.target, wanted.form)
    if wanted.in_terminal:
        return _terminal_text(static_view(subject), wanted)
    if wanted.output is None:
        return _subject_text(subject)
    _write_output(wanted, lambda: _static_bytes(subject, wanted))
    return None


def _image_text(start: Start, wanted: ShowRequest, is_run: bool) -> str:
    """The image that token engines run, as text."""
    if is_run or wanted.output is not None or wanted.in_terminal:
        raise Usage("an image is of a graph, and text", got="--form image", hint="leave out ARGS, --at, -o and --ascii")
    graph = program_and_graph(find_program(start.target))[1]
    breaks_rules(graph, unchecked=False)
    return image_text.format_image(build_image(graph))


def picture_of_history(history: History, wanted: ShowRequest) -> Picture:
    """The picture of a run, up to the requested position."""
    if wanted.at is None:
        history.run()
    else:
        history = _history_at(history, wanted.at, wanted.form)
    return moment_view(history) if wanted.form is PictureForm.graph else run_picture(history, wanted.form)


def _history_at(history: History, position: int, form: PictureForm) -> History:
    """The run after this many events; all of them are known, unless only that position is shown. Raises Usage if the
    run ends before, and KeyboardInterrupt."""
    if position < 0:
        raise Usage("events are counted from 0", got=f"--at {position}")
    if (
        form is PictureForm.graph
        and position > len(history) + FAST_FORWARD_THRESHOLD
        and history.unsupported_reason is None
    ):
        history = history.far(position)
        check_interrupt(history)
    if len(history) < position:
        run_until(history, lambda state, event: state.steps >= position)
    if len(history) < position:
        limit = history.stop_error
        what = "the run is over before" if limit is None else f"a limit ends the run before: {limit.message}"
        raise Usage(what, required=f"--at 0 to {len(history)}", got=f"--at {position}")
    history.jump(position)
    return history


def print_to_stderr(line: str) -> None:
    """Print a program's line to stderr, because stdout is used for something else."""
    print(line, file=sys.stderr)


def _static_subject(target: str, form: PictureForm) -> Program | Graph:
    found = find_program(target)
    subject = program_of(found) if form is PictureForm.program else program_and_graph(found)[1]
    if subject is None:
        raise Usage("a graph has no structured program", got=target, hint="leave --form program out")
    return subject


def _subject_text(subject: Program | Graph) -> str:
    return print_graph(subject) if isinstance(subject, Graph) else print_program(subject)


def _static_bytes(subject: Program | Graph, wanted: ShowRequest) -> bytes:
    suffix = _output_suffix(wanted)
    if suffix == "tl":
        return _subject_text(subject).encode()
    if suffix == "json":
        return format_json(subject).encode()
    return _picture_bytes(static_view(subject), wanted)


def _picture_bytes(what: Picture, wanted: ShowRequest) -> bytes:
    suffix = _output_suffix(wanted)
    if suffix not in ("dot", "svg", "png", "pdf"):
        only_static = " (.tl and .json without ARGS)" if suffix in ("tl", "json") else ", .tl or .json"
        required = f".svg, .png, .pdf, .dot{only_static}"
        raise Usage("no picture of this kind", got=f".{suffix}" if suffix else "no suffix", required=required)
    with LayoutProgress() as progress:
        return render_picture(
            what,
            suffix,
            theme=DARK if wanted.dark else LIGHT,
            only=wanted.only,
            fold=wanted.fold,
            most=wanted.max_boxes,
            progress=progress.report,
        )


def _terminal_text(what: Picture, wanted: ShowRequest) -> str:
    if wanted.output is not None:
        raise Usage("--ascii draws in the terminal, and into no file", got=f"-o {wanted.output}")
    if not isinstance(what, View):
        raise Usage("charts are not drawn in characters", got=f"--form {wanted.form}", hint="-o run.svg")
    return terminal_text(trim_view(what, wanted.only, wanted.fold, wanted.max_boxes))


def _output_suffix(wanted: ShowRequest) -> str:
    assert wanted.output is not None
    return wanted.output.suffix.lower().removeprefix(".")


def _write_output(wanted: ShowRequest, made: Callable[[], bytes]) -> None:
    assert wanted.output is not None
    write_file(wanted.output, made())


class LayoutProgress:
    """A line on a terminal that shows how long a layout has been running, and is erased afterwards."""

    def __init__(self) -> None:
        self.is_shown = False

    def __enter__(self) -> LayoutProgress:
        return self

    def report(self, seconds: float) -> None:
        if sys.stderr.isatty() and seconds >= 1:
            self.is_shown = True
            print(f"\rlaying out the picture: {seconds:.0f} s (Ctrl-C ends it)", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self.is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
