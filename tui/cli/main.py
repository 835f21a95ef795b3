"""The command line: parses words, calls the packages below, prints, and chooses the exit code.

Exit codes: 0 the run returned, 1 any other ending or a difference, 2 bad usage or bad input. Results go to stdout,
diagnostics to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from ... import __version__
from ...core.errors import Deadlock, Disagreement, Exhausted, TagloomError, Trap, Usage, plural
from ...core.text import Document, print_case
from ...core.world import World
from ...interp.engines.limits import Limits
from ...interp.engines.protocol import Job, RunOptions
from ...interp.engines.reference import breaks_rules, default_structure
from ...interp.engines.run import run as run_on
from ...interp.function.function import Function
from ...interp.history.replay import open_log
from ...interp.oracle.all_schedules import MAX_STATES, ChooseTokens, every_firing, every_token
from ...interp.oracle.check import Verdict
from ...interp.oracle.check import check as check_graph
from ...interp.oracle.corpus import try_cases, unexpected_problems
from ...interp.outcome.outcome import Outcome
from ...interp.records.documents import to_json
from ...interp.records.event_log import SUFFIX
from ...interp.records.outcome_json import add_critical_path, error_text, to_outcome_record
from ...viz.collapse import MAX_BOXES
from ..load import (
    all_arguments,
    callbacks,
    check_rules,
    error_excerpt,
    find_program,
    parse_arguments,
    program_and_graph,
    read_text,
    text_document,
)
from ..report import result_lines, stats_report
from ..run_start import Start, StartOptions
from .against import DEFAULT_FIRINGS
from .against import check_against as run_against
from .curve import curve
from .debug_command import debug
from .examples import examples
from .fetch import build_partial, outcome_document
from .ops import ops
from .options import (
    LITERAL_SETTINGS,
    Arguments,
    Bound,
    Boxes,
    Bytes,
    CheckedFirings,
    Depth,
    Feed,
    Fetch,
    Firings,
    Fold,
    Schedule,
    Seconds,
    Seed,
    ShownFirings,
    Target,
    Tokens,
    Unchecked,
    Until,
)
from .play import play
from .schedules import explore_schedules
from .show import PictureForm, ShowRequest, print_to_stderr
from .show import show as shown
from .terminal import has_unicode

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


_DEFAULT_LIMITS = Limits()


@app.command(context_settings=LITERAL_SETTINGS)
def run(
    target: Target,
    args: Arguments = None,
    engine: Annotated[str | None, typer.Option(help="What runs it: reference, fast, compiled, cuda or auto.")] = None,
    schedule: Schedule = "waves",
    seed: Seed = 0,
    k: Bound = None,
    cores: Annotated[int | None, typer.Option(help="How many cores the engine fast may run on.")] = None,
    until: Until = None,
    stats: Annotated[bool, typer.Option("--stats", help="Print firings, critical path, profile and shares.")] = False,
    as_document: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    keep: Annotated[Path | None, typer.Option(help="Write every event to this file, NAME.jsonl.")] = None,
    fetch: Fetch = None,
    feed: Feed = None,
    unchecked: Unchecked = False,
    max_firings: Firings = _DEFAULT_LIMITS.firings,
    max_tokens: Tokens = _DEFAULT_LIMITS.tokens,
    max_depth: Depth = _DEFAULT_LIMITS.depth,
    max_bytes: Bytes = _DEFAULT_LIMITS.bytes,
    timeout: Seconds = None,
) -> None:
    """Run a program on arguments and print its value.

    With --fetch and --feed, which may be repeated, only a part of it is run. Write `...` for an argument that is not
    needed; at the end leave it out.
    """
    subject = find_program(target)
    check_rules(subject, unchecked=unchecked)
    options: dict[str, Any] = {
        "schedule": schedule,
        **({} if until is None else {"until": until.value}),
        "limits": _limits(max_firings, max_tokens, max_depth, max_bytes, timeout),
        "keep": "events" if keep is None and stats and as_document and cores is None else keep,
        "seed": seed,
        "k": k,
        "world": World(print_to_stderr) if as_document else World(),
        "account": stats or as_document,
        "cores": cores,
    }
    if is_part := bool(fetch or feed):
        part, some = build_partial(subject, args or [], fetch or [], feed or [])
        outcome = part.run(*some, engine=engine, **options)
    elif isinstance(subject, Function):
        program_and_graph(subject, values := parse_arguments(subject, args or []))
        outcome = subject.run(*subject.source.unflatten_arguments(values), engine=engine, **options)
    else:
        program, graph = program_and_graph(subject)
        ready = Job(graph, default_structure(graph), program, breaks_rules(graph, unchecked=unchecked))
        outcome = run_on(ready, parse_arguments(subject, args or []), RunOptions(**options), engine)
    _print_outcome(outcome, stats=stats, as_document=as_document, is_part=is_part)
    raise typer.Exit(0 if outcome.status == "Returned" else 1)


def _limits(*given: Any) -> Limits | None:
    """The limits, or None if all are the defaults."""
    limits = Limits(*given)
    return None if limits == _DEFAULT_LIMITS else limits


def _print_outcome(outcome: Outcome, *, stats: bool, as_document: bool, is_part: bool) -> None:
    if as_document:
        said = to_outcome_record(outcome)
        document = add_critical_path(said, outcome) if stats and outcome.kept_events is not None else said
        form = outcome_document(document, outcome) if is_part else to_json(document)
        print(json.dumps(form, allow_nan=False))
    elif not outcome.missing:
        print("\n".join(result_lines(outcome)))
    error = [] if outcome.error is None else [outcome.error]
    complaints = [*error, *(trap for trap in outcome.traps if trap is not outcome.error)]
    for complaint in complaints[:4]:
        _print_error(complaint)
    if len(complaints) > 4:
        print(f"and {plural(len(complaints) - 4, 'more trap')}", file=sys.stderr)
    if stats and not as_document:
        print(stats_report(outcome, unicode=has_unicode()))


@app.command(context_settings=LITERAL_SETTINGS)
def check(
    target: Target,
    args: Arguments = None,
    max_firings: CheckedFirings = None,
    max_tokens: Tokens = _DEFAULT_LIMITS.tokens,
    max_depth: Depth = _DEFAULT_LIMITS.depth,
    seed: Seed = 0,
    k: Bound = None,
    every_schedule: Annotated[
        bool, typer.Option("--every-schedule", help="Of a small run: deliver the tokens in every order there is.")
    ] = False,
    every_order: Annotated[
        bool, typer.Option("--every-order", help="The same by firings: tokens that only wait go first.")
    ] = False,
    max_states: Annotated[int, typer.Option(help="End --every-schedule before it meets more states.")] = MAX_STATES,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="With --every-schedule: a graph that breaks rules (any but V7, V15).")
    ] = False,
    against: Annotated[str | None, typer.Option(help="FILE[:NAME] of a program that is right.")] = None,
) -> None:
    """Run a program in several ways, and compare.

    They are several schedules, the evaluator without tokens, and every engine; exit 1 where they differ.

    FILE may be a log of events, written by any machine: it is replayed, and the first event that is not what the
    machine gives is named. Of a .tl file without NAME and ARGS, all cases are tried, and breaches of rules that no case
    expects are reported; of a folder, the cases of all its .tl files, a line a file.

    With --against, it is run beside a program that is right, on ARGS or on small ones; the first difference is
    explained. A run on which the right one does not end decides nothing.

    With --every-schedule, it says how many schedules there are and all the ways in which they end, with the choices
    that lead there.
    """
    if against is not None:
        most = DEFAULT_FIRINGS if max_firings is None else max_firings
        raise typer.Exit(run_against(target, against, args or [], Limits(most, max_tokens, max_depth)))
    if target.endswith(SUFFIX):
        if args:
            raise Usage("a log has its own arguments", got=" ".join(args))
        print(_replay_log(target))
        return
    if every_schedule or every_order or unchecked:
        choices = every_token if every_schedule else every_firing if every_order else None
        if every_schedule and every_order:
            raise Usage("there are two ways to go through schedules", required="--every-schedule or --every-order")
        options = {"states": max_states, "unchecked": unchecked, "seed": seed, "k": k}
        raise typer.Exit(_check_every_schedule(target, args or [], choices, options))
    if k is not None:
        raise Usage("--k is for --every-schedule: the evaluator knows no bounds", got=f"check --k {k}")
    limits = Limits(1_000_000 if max_firings is None else max_firings, max_tokens, max_depth)
    if target and not args and (files := sorted(Path(target).glob("*.tl"))):
        raise typer.Exit(_check_files(files, limits))
    document = None if args else text_document(target)
    if document is not None and (document.cases or unexpected_problems(document)):
        raise typer.Exit(_check_text(document, limits))
    subject = find_program(target)
    check_rules(subject)
    values = parse_arguments(subject, args or [])
    program, graph = program_and_graph(subject, values)
    verdicts = []
    world = callbacks(subject, values)
    for verdict in check_graph(
        graph, program, all_arguments(subject, values), limits, seed=seed, callbacks=world, engines=True
    ):
        print(_verdict_line(verdict))
        verdicts.append(verdict)
    differences = [verdict.difference for verdict in verdicts if verdict.difference is not None]
    if differences:
        _print_error(differences[0])
    elif any(verdict.status == "Exhausted" for verdict in verdicts):
        print("a limit ended some of these runs: of them, only results that had come were compared", file=sys.stderr)
    raise typer.Exit(1 if differences else 0)


def _verdict_line(verdict: Verdict) -> str:
    agrees = "differs" if verdict.difference else "-" if verdict.status == "Refused" else "agrees"
    return f"{verdict.variant:13} {agrees:8} {verdict.status:10} {verdict.summary}"


def _check_every_schedule(target: str, args: list[str], choices: ChooseTokens | None, options: dict[str, Any]) -> int:
    """Print the results of all schedules; return 1 if they differ, or if all break."""
    unchecked = options["unchecked"]
    if choices is None or (unchecked and choices is not every_token):
        raise Usage("--unchecked is for --every-schedule", got="check --unchecked")
    subject = find_program(target)
    check_rules(subject, unchecked=unchecked)
    values = parse_arguments(subject, args)
    said, wrong = explore_schedules(
        program_and_graph(subject, values)[1], all_arguments(subject, values), choices, **options
    )
    print(said)
    if wrong is not None:
        _print_error(wrong)
    return int(wrong is not None)


def _check_files(files: Sequence[Path], limits: Limits) -> int:
    """Print a line for each text-form file; return the worst code of `_check_text`, or 2 if a file cannot be read."""
    worst, cases = 0, 0
    for file in files:
        try:
            document = read_text(file)
            found = _check_text(document, limits, report=lambda case: None)
        except TagloomError as error:
            _print_error(error)
            found, document = 2, Document(None)
        said = "differs" if found else "agrees"
        print(f"{said:8} {file.name:44} {plural(len(document.cases), 'case'):>9}", flush=True)
        worst, cases = max(worst, found), cases + len(document.cases)
    print(f"{plural(len(files), 'file')}, {plural(cases, 'case')}")
    return worst


def _check_text(document: Document, limits: Limits, report: Callable[[str], object] = print) -> int:
    """Report a line for each case; return 1 if one differs, 2 if there is an error that no case expects."""
    problems, different = unexpected_problems(document), 0
    for problem in problems:
        _print_error(problem)
    for case, difference in try_cases(document, limits):
        report(f"{'differs' if difference else 'agrees':8} {print_case(case).removeprefix('case ')}")
        if difference is not None:
            different += 1
            _print_error(difference)
    if different:
        print(f"{different} of {plural(len(document.cases), 'case')} differ{'s' * (different == 1)}", file=sys.stderr)
    return 2 if problems else int(different > 0)


def _replay_log(file: str) -> str:
    """The message for a log that agrees with the machine."""
    replay = open_log(file)
    events = sum(1 for _ in replay.events())
    ending = replay.outcome.status if replay.outcome else "cut short"
    return f"{replay.schedule:10} agrees   {ending:10} {plural(events, 'event')} of {replay.state.graph.name}"


@app.command(context_settings=LITERAL_SETTINGS)
def show(
    target: Target,
    args: Arguments = None,
    form: Annotated[PictureForm, typer.Option(help="What to draw.")] = PictureForm.graph,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file ending in .svg, .png, .pdf, .dot, .tl or .json.")
    ] = None,
    at: Annotated[int | None, typer.Option(help="After so many events of the run; without it, at its end.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Draw this function or loop alone.")] = None,
    fold: Fold = None,
    most: Boxes = MAX_BOXES,
    dark: Annotated[bool, typer.Option("--dark", help="For a dark background.")] = False,
    ascii: Annotated[bool, typer.Option("--ascii", help="Draw it in the characters of this terminal.")] = False,
    schedule: Schedule = "waves",
    seed: Seed = 0,
    k: Bound = None,
    unchecked: Unchecked = False,
    max_firings: ShownFirings = None,
) -> None:
    """Draw a program, its graph, or a run of it. Without -o, print the text form.

    With ARGS, or for a log of events, a run is drawn. Then --form graph has the tokens as they are after --at events,
    and the other forms show the run up to there: unfolded (a box for each firing), beside (that and the graph), tags
    (the tree of calls and iterations), critical (a longest chain of firings), spacetime (nodes by waves), profile.
    """
    is_moment = at is not None and form is PictureForm.graph
    most_firings = (_DEFAULT_LIMITS.firings if is_moment else 1_000_000) if max_firings is None else max_firings
    options = StartOptions(schedule, Limits(firings=most_firings), seed, k, unchecked)
    wanted = ShowRequest(form, output, at, tuple(only or ()), tuple(fold or ()), dark, most, ascii)
    text = shown(Start(target, tuple(args or ()), options), wanted)
    if text is not None:
        print(text, end="")


app.command("play", context_settings=LITERAL_SETTINGS)(play)
app.command("debug", context_settings=LITERAL_SETTINGS)(debug)


@app.command()
def explain(
    rule: Annotated[
        str | None, typer.Argument(metavar="RULE", help="V3, S4, ...; without it, all in a line each.")
    ] = None,
) -> None:
    """Explain a numbered rule, with a right and a wrong example."""
    from .explain import explain as explained
    from .explain import list_rules

    print(list_rules() if rule is None else explained(rule))


app.command("examples")(examples)
app.command("ops")(ops)
app.command("curve")(curve)


def _print_error(error: TagloomError) -> None:
    error.excerpt = error.excerpt or error_excerpt(error)
    print(error_text(error), file=sys.stderr)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tagloom {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tagged-token dataflow: run a program, check it, draw it, play it, debug it."""


def main(call: Callable[[], Any] = app) -> None:
    """The entry point: turns every error that tagloom raises on purpose into a message and an exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names may have letters that the terminal has not
    try:
        try:
            call()
        finally:
            print(end="", flush=True)
    except (Trap, Exhausted, Deadlock, Disagreement) as error:
        _print_error(error)
        sys.exit(1)
    except TagloomError as error:
        _print_error(error)
        sys.exit(2)
    except OSError as error:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the interpreter flushes it on its way out
        if not isinstance(error, BrokenPipeError):
            print(f"the output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(1)
