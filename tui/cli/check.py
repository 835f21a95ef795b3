"""`tagloom check`: a program in several ways, under every schedule, or beside a correct one; replay of a log; and the
cases of text-form files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.errors import Disagreement, TagloomError, Usage, plural
from ...core.escape import escape_line
from ...core.files import path_errors
from ...core.graph.graph import Graph
from ...core.text import Document, print_case
from ...core.value import Value, abbreviate
from ...interp.engines.limits import Limits
from ...interp.history.replay import open_log
from ...interp.oracle.all_schedules import (
    MAX_STATES,
    ChooseTokens,
    ScheduleEnding,
    every_firing,
    every_token,
    explore,
)
from ...interp.oracle.check import check as check_graph
from ...interp.oracle.corpus import try_cases, unexpected_problems
from ...interp.records.event_sink import is_log
from ..load import (
    all_arguments,
    callbacks,
    check_rules,
    find_program,
    parse_arguments,
    program_and_graph,
    read_text,
    text_document,
)
from .options import DEFAULT_LIMITS, Arguments, Bound, CheckedFirings, Depth, Seed, Target, Tokens
from .solution import DEFAULT_FIRINGS, ExerciseOptions, check_against
from .terminal import print_diagnostic, print_error, print_text


def check(
    target: Target,
    args: Arguments = None,
    max_firings: CheckedFirings = None,
    max_tokens: Tokens = None,
    max_depth: Depth = DEFAULT_LIMITS.depth,
    seed: Seed = 0,
    k: Bound = None,
    every_schedule: Annotated[
        bool, typer.Option("--every-schedule", help="Try every order in which tokens can be delivered; for small runs.")
    ] = False,
    every_order: Annotated[
        bool,
        typer.Option(
            "--every-order", help="Try every order of firings only: tokens that merely wait are delivered first."
        ),
    ] = False,
    max_states: Annotated[int, typer.Option(help="End --every-schedule after this many states.")] = MAX_STATES,
    unchecked: Annotated[
        bool,
        typer.Option(
            "--unchecked", help="With --every-schedule: run a graph even if it breaks rules (any but V7, V15)."
        ),
    ] = False,
    against: Annotated[str | None, typer.Option(help="Compare with this correct program, FILE[:NAME].")] = None,
    span: Annotated[
        float | None,
        typer.Option(help="With --against: the critical path may be this many times as long as the solution's."),
    ] = None,
    hint: Annotated[int, typer.Option(help="With --against: print this hint of the solution, from 1.")] = 0,
) -> None:
    """Run a program in several ways, and compare the results.

    The ways are several schedules, the evaluator without tokens, and every engine. The exit code is 1 if they differ.

    FILE may be a log of events, written by any machine: it is replayed, and the first event on which the reference
    machine disagrees is reported. For a .tl file without NAME and ARGS, its cases are checked, and breaches of rules
    that no case expects are reported; for a folder, the same is done with all its .tl files.

    With --against, the program is compared with a correct one, on ARGS or on small arguments. It reports the innermost
    wrong call of the first run that differs: one whose own calls are right. Arguments on which the correct program does
    not end are skipped.

    With --every-schedule, the program is run under all schedules: their number is printed, and each ending, with the
    choices that lead to it.
    """
    if against is not None:
        most = DEFAULT_FIRINGS if max_firings is None else max_firings
        exercise = ExerciseOptions(Limits(most, max_tokens, max_depth), span, hint)
        raise typer.Exit(check_against(target, against, args or [], exercise))
    if span is not None or hint:
        raise Usage("--span and --hint are for --against")
    if is_log(target):
        if args:
            raise Usage("a log already has its arguments", got=" ".join(args))
        print_text(replay_log(target))
        return
    if every_schedule and every_order:
        raise Usage("these options exclude each other", required="--every-schedule or --every-order")
    if unchecked and not every_schedule:
        raise Usage("--unchecked is for --every-schedule", got="check --unchecked")
    if every_schedule or every_order:
        choices = every_token if every_schedule else every_firing
        raise typer.Exit(
            check_every_schedule(target, args or [], choices, states=max_states, unchecked=unchecked, seed=seed, k=k)
        )
    if k is not None:
        raise Usage("--k is for --every-schedule: the evaluator has no bounds", got=f"check --k {k}")
    limits = Limits(1_000_000 if max_firings is None else max_firings, max_tokens, max_depth)
    with path_errors(target, "this file cannot be read"):
        files = sorted(Path(target).glob("*.tl")) if target and not args else []
    if files:
        raise typer.Exit(check_files(files, limits))
    document = None if args else text_document(target)
    if document is not None and (document.cases or unexpected_problems(document)):
        raise typer.Exit(check_text(document, limits))
    raise typer.Exit(check_program(target, args or [], limits, seed))


def check_program(target: str, args: list[str], limits: Limits, seed: int) -> int:
    """Run a program in several ways, and print a line for each; return 1 if they differ."""
    subject = find_program(target)
    check_rules(subject)
    values = parse_arguments(subject, args)
    program, graph = program_and_graph(subject, values)
    verdicts = []
    world, arguments = callbacks(subject, values), all_arguments(subject, values)
    for verdict in check_graph(graph, program, arguments, limits, seed=seed, callbacks=world, engines=True):
        agrees = "differs" if verdict.difference else "-" if verdict.status == "Refused" else "agrees"
        print_text(f"{verdict.variant:13} {agrees:8} {verdict.status:10} {verdict.summary}")
        verdicts.append(verdict)
    difference = next((verdict.difference for verdict in verdicts if verdict.difference is not None), None)
    if difference is not None:
        print_error(difference)
    elif any(verdict.status == "Exhausted" for verdict in verdicts):
        print_diagnostic("a limit ended some of these runs: only the results that they had by then were compared")
    return int(difference is not None)


def check_every_schedule(
    target: str, args: list[str], choices: ChooseTokens, *, states: int, unchecked: bool, **options: Any
) -> int:
    """Print the results of all schedules; return 1 if they differ, or if all break."""
    subject = find_program(target)
    check_rules(subject, unchecked=unchecked)
    values = parse_arguments(subject, args)
    _, graph = program_and_graph(subject, values)
    arguments = all_arguments(subject, values)
    report, error = explore_schedules(graph, arguments, choices, states, unchecked=unchecked, **options)
    print_text(report)
    if error is not None:
        print_error(error)
    return int(error is not None)


def check_files(files: Sequence[Path], limits: Limits) -> int:
    """Print a line for each text-form file; return the worst code of `check_text`, or 2 if a file cannot be read."""
    worst, cases = 0, 0
    for file in files:
        try:
            document = read_text(file)
            code = check_text(document, limits, report=lambda case: None)
        except TagloomError as error:
            print_error(error)
            code, document = 2, Document(None)
        verdict, count = "differs" if code else "agrees", plural(len(document.cases), "case")
        print_text(f"{verdict:8} {escape_line(file.name):44} {count:>9}", flush=True)
        worst, cases = max(worst, code), cases + len(document.cases)
    print_text(f"{plural(len(files), 'file')}, {plural(cases, 'case')}")
    return worst


def check_text(document: Document, limits: Limits, report: Callable[[str], object] = print) -> int:
    """Report a line for each case; return 1 if one differs, 2 if there is an error that no case expects."""
    problems, different = unexpected_problems(document), 0
    for problem in problems:
        print_error(problem)
    for case, difference in try_cases(document, limits):
        report(f"{'differs' if difference else 'agrees':8} {print_case(case).removeprefix('case ')}")
        if difference is not None:
            different += 1
            print_error(difference)
    if different:
        print_diagnostic(f"{different} of {plural(len(document.cases), 'case')} differ{'s' * (different == 1)}")
    return 2 if problems else int(different > 0)


def replay_log(file: str) -> str:
    """Replay a log, and return the line for one that agrees; raises Disagreement for another."""
    replay = open_log(file)
    events = sum(1 for _ in replay.events())
    ending = replay.outcome.status if replay.outcome else "cut short"
    return f"{replay.schedule:10} agrees   {ending:10} {plural(events, 'event')} of {replay.state.graph.name}"


MAX_ENDINGS = 8
"""The most endings that are listed."""


def explore_schedules(
    graph: Graph, arguments: Sequence[Value], choices: ChooseTokens, states: int, **options: Any
) -> tuple[str, TagloomError | None]:
    """Run a graph under every schedule: the report, and an error if there are several endings or all are Broken."""
    result = explore(graph, arguments, choices=choices, states=states, **options)
    first, *others = result.endings
    schedules = f"{format_large(result.schedules)} schedule{'s' * (result.schedules != 1)}"
    counts = f"{schedules}, {plural(result.states, 'state')}, {plural(len(result.endings), 'ending')}"
    if not others:
        line = f"{'every':10} {'agrees':8} {first.outcome.status:10} {describe_schedule_ending(first)}"
        return f"{line}\n{counts}", first.outcome.error if first.outcome.status == "Broken" else None
    lines = [
        f"{'every':10} {'differs':8} {ending.outcome.status:10} "
        f"{describe_schedule_ending(ending)}, {describe_schedules(ending)}"
        for ending in result.endings[:MAX_ENDINGS]
    ]
    has_double_writes = all(ending.outcome.has_double_write for ending in result.endings)
    difference = Disagreement(
        "a cell is put more than once, and the schedule decides which value comes first"
        if has_double_writes
        else "the endings differ",
        where=f"{graph.name} under every schedule",
        required=f"{first.outcome.status} {describe_schedule_ending(first)}, {describe_schedules(first)}",
        got=f"{others[0].outcome.status} {describe_schedule_ending(others[0])}, {describe_schedules(others[0])}",
        hint="the numbers are the positions in the flight of the delivered tokens, as in a tl.Script",
    )
    return "\n".join([*lines, counts]), difference


def describe_schedule_ending(ending: ScheduleEnding) -> str:
    """The results of an ending, and its number of firings."""
    run = ending.outcome
    results = ", ".join("-" if value is None else abbreviate(value) for value in run.results)
    return f"{results} after {plural(run.firings, 'firing')}"


def describe_schedules(ending: ScheduleEnding) -> str:
    """The number of schedules with this ending, and the positions that the first of them chooses."""
    return f"{format_large(ending.schedules)} as by {' '.join(map(str, ending.script))}"


def format_large(number: int) -> str:
    """A number that may have thousands of digits.

    >>> format_large(12345), format_large(10**5000)
    ('12,345', 'about 10^5000')
    """
    return f"{number:,}" if number < 10**50 else f"about 10^{round((number.bit_length() - 0.5) * 0.30102999566)}"
