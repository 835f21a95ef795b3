"""`tagloom show`: a program, a graph or a run as a picture in a file, or as text; and `tagloom curve`, learning curves.

For a program without arguments it shows the static form; with arguments, or for a log of events, it shows the run.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer

from ...core.errors import Usage
from ...core.escape import escape_for_stdout, escape_line
from ...core.files import write_file
from ...core.frontend.trace.annotation import underlying_function
from ...core.graph.graph import Graph
from ...core.graph.partition import list_devices, node_constraints, partition, place_nodes
from ...core.graph.segments import format_segments, segment_graph
from ...core.text import print_graph, print_program
from ...core.world import World
from ...interp.engines.limits import Limits
from ...interp.engines.reference import breaks_rules
from ...interp.function.function import Function
from ...interp.history.history import History
from ...interp.image.image import build_image
from ...interp.image.print_image import format_image
from ...interp.oracle.adapters import DIALECTS
from ...interp.records.documents import format_json
from ...interp.records.event_sink import JSON_SUFFIX, convert_log, is_log
from ...viz.collapse import MAX_BOXES, remove_branch_frames
from ...viz.curves import curve as draw_curve
from ...viz.film import FILM_FORMATS, join_pictures, require_library
from ...viz.frames import align_views, fit_badges, frame_path
from ...viz.operand_order import order_operands
from ...viz.pictures import PICTURES, Picture, moment_view, render_picture, run_picture, static_view, trim_view
from ...viz.style import DARK, LIGHT
from ...viz.terminal.drawing import HEIGHT, WIDTH, draw_cells
from ...viz.terminal.grid import to_text
from ...viz.trace_events import require_trace_file, trace_document
from ...viz.view import View
from ..load import find_program, program_and_graph, program_of, split_target
from ..run_start import RunRequest, StartOptions
from ..session.fast_forward import FAST_FORWARD_THRESHOLD, check_interrupt, run_until
from .export import EXPORT_SUFFIXES, export_bytes
from .options import Arguments, Bound, Boxes, Fold, Full, Schedule, Seed, ShownFirings, Target, Unchecked
from .terminal import has_colours, has_unicode, print_diagnostic, print_to_stderr

STATIC_FORMS = ("program", "graph", "image", "segments", "partitions", "code")
"""The forms of a picture without a run; `graph` is also one of a run."""
TRACE_FORM = "trace"
"""The form of a run as a file for viewers of profiles."""
PICTURE_FORMS = (*STATIC_FORMS, *(name for name in PICTURES if name != "moment"), TRACE_FORM)
"""All forms: the static ones, the pictures of a run, and its trace; the picture `moment` is the form `graph`."""


ANIMATIONS = ("gif", "apng")
"""The suffixes of files that show one moment after the other."""
MAX_MOMENTS = 1_000
"""The most moments of one command."""


@dataclass(frozen=True, slots=True)
class ShowRequest:
    """The options of `tagloom show`. `at` is the number of events before the shown position; several make a file each,
    or one animation, and none is the end."""

    form: str = "graph"
    output: Path | None = None
    at: tuple[int, ...] = ()
    only: tuple[str, ...] = ()
    fold: tuple[str, ...] = ()
    dark: bool = False
    max_boxes: int = MAX_BOXES
    full: bool = False
    """Whether to draw every node, whatever the size of the picture."""
    in_terminal: bool = False
    """Whether to draw in the characters of a terminal."""
    system: str = "numpy"
    """The system of a script in Python."""
    place: tuple[str, ...] = ()
    """The devices of nodes and functions, as NAME=DEVICE."""
    seconds: float = 1.0
    """How long an animation shows each moment."""


def draw(start: RunRequest, request: ShowRequest) -> str | None:
    """Draw the picture into its file; without a file, return the text form. A log may also be written as JSON lines.

    Raises Usage if there is no such picture, or it cannot be written.
    """
    is_run = bool(start.words) or is_log(start.target) or bool(request.at)
    suffix = None if request.output is None else output_suffix(request)
    if request.system != "numpy" and suffix != "py":
        raise Usage("--system is only for scripts in Python", got=f"--system {request.system}", hint="-o x.py")
    if request.output is not None and suffix in EXPORT_SUFFIXES:
        require_export(start, request)
        write_file(request.output, export_bytes(start, suffix, request.system))
        return None
    if request.form in TEXT_FORMS:
        name, write_text = TEXT_FORMS[request.form]
        if is_run or request.output is not None or request.in_terminal:
            hint = "leave out ARGS, --at, -o and --ascii"
            raise Usage(f"{name} is text, without a run", got=f"--form {request.form}", hint=hint)
        return write_text(start, request)
    if request.output is not None and request.output.suffix == JSON_SUFFIX and is_log(start.target):
        convert_log(Path(start.target), request.output)
        return None
    if is_run or request.form not in STATIC_FORMS:
        return draw_run(start.history(World(print_to_stderr)), request)
    return draw_program(start.target, request)


def draw_run(history: History, request: ShowRequest) -> str | None:
    """Draw a run into a file, or return its picture for a terminal."""
    if request.form == "program":
        hint = "leave out ARGS, or --form program"
        raise Usage("a run can only be drawn on the graph", got="--form program", hint=hint)
    is_animation = request.output is not None and output_suffix(request) in ANIMATIONS
    if len(request.at) > 1 or has_frame_name(request) or is_animation:
        write_frames(history, request)
    elif request.form == TRACE_FORM:
        write_trace(history, request)
    elif request.in_terminal:
        return draw_in_terminal(picture_of_history(history, request), request)
    elif request.output is None:
        raise Usage("the picture of a run needs an output file", hint="-o run.svg")
    else:
        write_file(request.output, picture_bytes(picture_of_history(history, request), request))
    return None


def draw_program(target: str, request: ShowRequest) -> str | None:
    """Write a program or its graph into a file, as a picture or a document; or return its text, or its picture for a
    terminal."""
    program = find_program(target)
    subject = program_of(program) if request.form == "program" else program_and_graph(program)[1]
    if subject is None:
        raise Usage("a graph has no structured program", got=target, hint="omit --form program")
    if request.in_terminal:
        return draw_in_terminal(static_view(subject), request)
    text = print_graph(subject) if isinstance(subject, Graph) else print_program(subject)
    if request.output is None:
        return text
    match output_suffix(request):
        case "tl":
            contents = text.encode()
        case "json":
            contents = format_json(subject).encode()
        case _:
            contents = picture_bytes(static_view(subject), request)
    write_file(request.output, contents)
    return None


def require_export(start: RunRequest, request: ShowRequest) -> None:
    """Raises Usage if an option is for pictures, or if the output would replace the program's own file."""
    assert request.output is not None
    if request.form not in ("graph", "program") or bool(request.at) or request.in_terminal:
        hint = "leave out --form, --at and --ascii"
        raise Usage("a file for another system contains the whole program", got=request.output, hint=hint)
    source = Path(split_target(start.target)[0])
    if request.output.exists() and source.exists() and request.output.samefile(source):
        raise Usage("the output would replace the program", got=request.output, hint="name another file")


def image_text(start: RunRequest, request: ShowRequest) -> str:
    """The image that token engines run, as text."""
    graph = program_and_graph(find_program(start.target))[1]
    breaks_rules(graph, unchecked=False)
    return format_image(build_image(graph))


def segments_text(start: RunRequest, request: ShowRequest) -> str:
    """The segments of a graph: nodes that fire together, as text."""
    graph = program_and_graph(find_program(start.target))[1]
    breaks_rules(graph, unchecked=False)
    return format_segments(segment_graph(graph))


def partitions_text(start: RunRequest, request: ShowRequest) -> str:
    """The parts of a graph on the devices that `tl.device` and --place name, and what travels between them, as text."""
    graph = program_and_graph(find_program(start.target))[1]
    breaks_rules(graph, unchecked=False)
    pairs = [word.partition("=")[::2] for word in request.place]
    if not all(name and device for name, device in pairs):
        got = " ".join(f"--place {word}" for word in request.place)
        raise Usage("--place needs a node or function and its device", required="--place NAME=DEVICE", got=got)
    names = Counter(name for name, _ in pairs)
    if len(names) < len(pairs):
        raise Usage("a node or function can have only one device", got=f"{names.most_common(1)[0][0]} more than once")
    constraints = node_constraints(graph, dict(pairs))
    if not any(constraints):
        hint = "write `with tl.device(...):` in the program, or --place NAME=DEVICE"
        raise Usage("partitions need the devices of nodes or functions", got="none", hint=hint)
    devices = list_devices(constraints)
    parts = partition(graph, place_nodes(graph, dict(pairs), devices), devices)
    lines = []
    for place, device in enumerate(devices):
        lines += [f"# {device}", print_graph(parts.part(place))]
    lines += [
        f"# {transfer.value}: {devices[transfer.source]} -> {devices[transfer.target]}" for transfer in parts.transfers
    ]
    return "\n".join(lines) + "\n"


def code_text(start: RunRequest, request: ShowRequest) -> str:
    """The converted code of a Python function, each statement after the number of its line in the user's file."""
    program = find_program(start.target)
    if not isinstance(program, Function):
        raise Usage("only a function of Python has converted code", got=start.target)
    from ...core.frontend.source.convert import converted_code  # the converter, which other commands may never need
    from ...core.frontend.source.listing import list_code

    lines = list_code(converted_code(underlying_function(program._python))).lines
    return "".join(f"{line.source_line or '':>5}  {line.text}".rstrip() + "\n" for line in lines)


TEXT_FORMS = {
    "image": ("an image", image_text),
    "segments": ("a list of segments", segments_text),
    "partitions": ("a list of parts", partitions_text),
    "code": ("converted code", code_text),
}
"""The static forms that are text only: a description, and the function that makes it."""


def picture_of_history(history: History, request: ShowRequest) -> Picture:
    """The picture of a run, up to the requested position."""
    history = requested_history(history, request)
    return moment_view(history) if request.form == "graph" else run_picture(history, request.form)


def requested_history(history: History, request: ShowRequest) -> History:
    """The run at the requested position."""
    if request.at:
        return history_at(history, request.at[0], request.form)
    history.run()
    return history


def write_trace(history: History, request: ShowRequest) -> None:
    """Write the run in the Trace Event Format; raises Usage if the output is not a .json file."""
    output = require_trace_file(request.output, "-o")
    write_file(output, trace_document(requested_history(history, request)))


def history_at(history: History, position: int, form: str) -> History:
    """The run after this many events. For the form `graph`, which shows only that position, the fast machine may skip
    events. Raises Usage if the run ends before, and KeyboardInterrupt."""
    if position < 0:
        raise Usage("events are counted from 0", got=f"--at {position}")
    if form == "graph" and position > len(history) + FAST_FORWARD_THRESHOLD and history.unsupported_reason is None:
        history = history.fast_forward(position)
        check_interrupt(history)
    if len(history) < position:
        run_until(history, lambda state, event: state.steps >= position)
    if len(history) < position:
        limit = history.stop_error
        message = "the run is over before" if limit is None else f"a limit ends the run before: {limit.message}"
        raise Usage(message, required=f"--at 0 to {len(history)}", got=f"--at {position}")
    history.jump(position)
    return history


def has_frame_name(request: ShowRequest) -> bool:
    """Whether the output of a picture at one moment has a place for a number, as the output of several moments has."""
    return request.form == "graph" and bool(request.at) and "%d" in str(request.output)


def write_frames(history: History, request: ShowRequest) -> None:
    """Draw the graph at several moments, on one layout, into a file each or into one file; raises Usage if that is
    impossible."""
    if request.form != "graph":
        raise Usage(
            "only a picture of the graph can show several moments", got=f"--form {request.form}", hint="--form graph"
        )
    if request.output is None or request.in_terminal:
        got = "--ascii" if request.in_terminal else "no -o"
        raise Usage(
            "several moments need a file name with a number", got=got, hint="-o frame-%d.svg, run.gif or run.pdf"
        )
    suffix = output_suffix(request)
    is_joined = suffix in FILM_FORMATS and not has_frame_name(request)
    if is_joined and len(request.at) < 2:
        raise Usage("an animation needs several moments", got=f"-o {request.output}", hint="--at 0-60")
    if is_joined:
        require_library(suffix)
    paths = [] if is_joined else [Path(frame_path(str(request.output), number)) for number in request.at]
    views = []
    for number in request.at:
        history = history_at(history, number, request.form)
        views.append(trim_view(moment_view(history), request.only, request.fold, request.max_boxes, full=request.full))
    aligned = align_views(views) if request.full else fit_badges(views)
    first = order_operands(aligned[0])
    frames = [replace(view, side_constraints=first.side_constraints, is_static=False) for view in aligned]
    if is_joined:
        one = replace(request, output=request.output.with_suffix(f".{FILM_FORMATS[suffix]}"))
        pictures = [draw_frame(frame, one) for frame in frames]
        write_file(request.output, join_pictures(pictures, suffix, request.seconds))
        return
    for path, frame in zip(paths, frames, strict=True):
        write_file(path, draw_frame(frame, request))


def draw_frame(frame: View, request: ShowRequest) -> bytes:
    """A frame in the format of the output file, without further options."""
    return picture_bytes(frame, replace(request, only=(), fold=(), full=True))


def picture_bytes(picture: Picture, request: ShowRequest) -> bytes:
    """A picture in the format of the output file; raises Usage for another format."""
    suffix = output_suffix(request)
    if suffix in ANIMATIONS:
        hint = f"-o run.{suffix}" if has_frame_name(request) else "add ARGS and --at 0-60"
        raise Usage("an animation shows moments of a run, in one file", got=f"-o {request.output}", hint=hint)
    if suffix not in ("dot", "svg", "png", "pdf"):
        only_static = (
            " (.tl and .json without ARGS)" if suffix in ("tl", "json") else ", .tl, .json, .onnx, .mlir or .py"
        )
        required = f".svg, .png, .pdf, .dot{only_static}"
        raise Usage("unknown picture format", got=f".{suffix}" if suffix else "no suffix", required=required)
    with LayoutProgress() as progress:
        return render_picture(
            picture,
            suffix,
            theme=DARK if request.dark else LIGHT,
            only=request.only,
            fold=request.fold,
            most=request.max_boxes,
            full=request.full,
            progress=progress.report,
        )


def draw_in_terminal(picture: Picture, request: ShowRequest) -> str:
    """A picture in the characters of the terminal; raises Usage for a chart, and if a file was requested."""
    if request.output is not None:
        raise Usage("--ascii draws in the terminal, not in a file", got=f"-o {request.output}")
    if not isinstance(picture, View):
        raise Usage("a chart cannot be drawn in characters", got=f"--form {request.form}", hint="-o run.svg")
    return terminal_text(trim_view(picture, request.only, request.fold, request.max_boxes, full=request.full))


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


def output_suffix(request: ShowRequest) -> str:
    """The suffix of the output file, without the dot."""
    assert request.output is not None
    return request.output.suffix.lower().removeprefix(".")


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


def parse_moments(text: str) -> tuple[int, ...]:
    """The value of --at; raises BadParameter if it is not a list of numbers and ranges.

    >>> parse_moments("1,20"), parse_moments("0-6,9"), parse_moments("0-60:20"), parse_moments("")
    ((1, 20), (0, 1, 2, 3, 4, 5, 6, 9), (0, 20, 40, 60), ())
    """
    moments = list[int]()
    for part in text.split(",") if text else ():
        match = re.fullmatch(r"(-?\d{1,18})(?:-(\d{1,18})(?::([1-9]\d{0,17}))?)?", part.strip())
        if match is None:
            raise typer.BadParameter(f"{text!r} is not a number of events, or several: 1,20,300 or 0-60 or 0-300:5.")
        first, last, step = (int(word) if word else None for word in match.groups())
        assert first is not None
        chosen = range(first, (first if last is None else last) + 1, step or 1)
        if len(moments) + len(chosen) > MAX_MOMENTS:
            raise typer.BadParameter(f"{text!r} are more than {MAX_MOMENTS:,} moments.")
        if not chosen:
            raise typer.BadParameter(f"{part!r} has no moment: its end is before its beginning.")
        moments += chosen
    return tuple(moments)


def require_form(form: str) -> str:
    """The value of --form; raises BadParameter if there is no such form."""
    if form not in PICTURE_FORMS:
        raise typer.BadParameter(f"{form!r} is not one of {', '.join(map(repr, PICTURE_FORMS))}.")
    return form


def show(
    target: Target,
    args: Arguments = None,
    form: Annotated[
        str,
        typer.Option(
            metavar="FORM", callback=require_form, help=f"The form of the picture: {', '.join(PICTURE_FORMS)}."
        ),
    ] = "graph",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A .svg, .png, .pdf, .dot, .gif, .apng, .tl, .json, .onnx, .mlir or .py file; .jsonl of a log.",
        ),
    ] = None,
    at: Annotated[
        str, typer.Option(metavar="N[,N...|-N]", help="Show the run after N events; by default, at its end.")
    ] = "",
    only: Annotated[list[str] | None, typer.Option(help="Draw only this function or loop.")] = None,
    fold: Fold = None,
    most: Boxes = MAX_BOXES,
    full: Full = False,
    dark: Annotated[bool, typer.Option("--dark", help="For a dark background.")] = False,
    ascii: Annotated[bool, typer.Option("--ascii", help="Draw with characters, in this terminal.")] = False,
    system: Annotated[str, typer.Option(help=f"With -o x.py: {', '.join(DIALECTS)}.")] = "numpy",
    place: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=DEVICE", help="With --form partitions: where a node or function is."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.02, max=60, help="How long an animation shows each moment.")] = 1.0,
    schedule: Schedule = "waves",
    seed: Seed = 0,
    k: Bound = None,
    unchecked: Unchecked = False,
    max_firings: ShownFirings = None,
) -> None:
    """Draw a program, its graph, or a run of it. Without -o, print the text form.

    With ARGS, or for a log of events, a run is drawn. Then --form graph shows the tokens after --at events, and the
    other forms show the run up to there: unfolded (a box for each firing), beside (graph and unfolded side by side),
    tags (the tree of calls and iterations), critical (a critical path), spacetime (the firings of each node by wave),
    profile (the firings of each wave), trace (a .json file for ui.perfetto.dev). With --at 1,20,300 -o frame-%d.svg,
    the graph is drawn at each moment, on one layout; with --at 0-60 -o run.gif (or .apng), they are an animation, and
    in a .pdf a page each.

    With --form partitions, the parts of the graph on several devices are printed, and the values that travel. Devices
    come from `with tl.device(...):` in the program, and from --place: fib=/job:ps/task:1.

    A .onnx file is a model, a .mlir file StableHLO; a .py file computes the program in the API of --system, and with
    ARGS checks its results.
    """
    moments = parse_moments(at)
    is_moment = bool(moments) and form == "graph"
    most_firings = 1_000_000 if max_firings is None and not is_moment else max_firings
    options = StartOptions(schedule, Limits(firings=most_firings), seed, k, unchecked)
    request = ShowRequest(
        form,
        output,
        moments,
        tuple(only or ()),
        tuple(fold or ()),
        dark,
        most,
        full,
        ascii,
        system,
        tuple(place or ()),
        seconds,
    )
    text = draw(RunRequest(target, tuple(args or ()), options), request)
    if text is not None:
        print(text if ascii else escape_for_stdout(text), end="")


def curve(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The metrics: a line of JSON for each step.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A file ending in .svg.")] = Path("curve.svg"),
    dark: Annotated[bool, typer.Option("--dark", help="For a dark background.")] = False,
) -> None:
    """Draw the learning curves of a training.

    They are drawn from the metrics that tl.progress(..., log=FILE) wrote.
    """
    draw_curve(file, dark=dark).save(output)
