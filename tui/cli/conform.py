"""`tagloom conform`: a backend beside the reference, on a program, every op, a corpus, or generated programs."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Annotated

import typer

from ...core.errors import Usage, plural
from ...core.files import read_file, write_file
from ...core.ops.op import lookup_op
from ...core.program.program import Program
from ...core.value import Value
from ...interp.oracle.adapters import DIALECTS, backend_command, backend_names
from ...interp.oracle.backend_process import Backend, Timeouts
from ...interp.oracle.blame import find_blame, find_first_level
from ...interp.oracle.conform_corpus import run_corpus
from ...interp.oracle.finding_folder import finding_backend, is_finding, open_finding
from ...interp.oracle.finding_report import write_finding
from ...interp.oracle.fuzz import FuzzFinding, FuzzOptions, FuzzReport, fuzz
from ...interp.oracle.generate import FuzzCase
from ...interp.oracle.judge import FAILURES, Judgement, judge, run_reference
from ...interp.oracle.probe import find_wrong_token
from ...interp.oracle.profile import BackendProfile, compare_profiles, read_profile
from ...interp.oracle.protocol import Capabilities, Level
from ...interp.oracle.sweep import SweepResult, sweep
from ..load import all_arguments, check_rules, find_program, parse_arguments, program_and_graph, read_text
from .conform_report import ReportParts, text_files, write_report
from .options import Arguments
from .terminal import print_diagnostic, print_text

DEFAULT_MEMORY = 8 * 2**30
START_FACTOR = 3
"""The factor by which the time limit for starting a backend exceeds the limit for running a program: imports of large
systems take long."""
MOST_REASONS, MAX_REASON = 3, 100
"""How many of the most frequent reasons of a verdict are printed, and how many characters of each."""
INCOMPATIBLE_WITH_REPORT = ("minutes", "findings", "referee", "output", "as_json", "blame", "probe")
"""Options that mean nothing for a report."""


def conform(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE[:NAME]",
            help="A .py, .tl, .json, .onnx, .mlir, .pb, .pbtxt or .pt2 file, and a name in it; or a finding.",
        ),
    ] = None,
    args: Arguments = None,
    backends: Annotated[
        list[str] | None,
        typer.Option(
            "--backend", help=f"{', '.join(backend_names())}, or the command of a process; several with --report."
        ),
    ] = None,
    ops: Annotated[bool, typer.Option("--ops", help="Try every op at every dtype, over edge values.")] = False,
    only: Annotated[list[str] | None, typer.Option("--op", help="With --ops: try this op only.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="Try the cases of this folder of .tl files.")] = None,
    fuzz_count: Annotated[int, typer.Option("--fuzz", min=0, help="Try this many generated programs.")] = 0,
    seed: Annotated[int, typer.Option(help="With --fuzz: the seed of the programs.")] = 0,
    minutes: Annotated[float, typer.Option(help="With --fuzz: stop after this time.")] = 5.0,
    jobs: Annotated[
        int, typer.Option(help="With --fuzz: the number of processes of the backend; with --report: of all backends.")
    ] = 1,
    findings: Annotated[Path, typer.Option(help="With --fuzz: the folder for findings.")] = Path("findings"),
    referee: Annotated[
        str | None, typer.Option(help="A second backend, which says who is right where the first one fails.")
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write the results of all parts as .json, .html (a matrix), .xml (JUnit) or .svg (badges); repeatable."
        ),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(
            help="With --report: an older .json report; with --ops alone: an older profile. "
            "Exit 1 only if something broke."
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            help="The seconds that the backend has to compile, and to run; it has three times as many to start."
        ),
    ] = 60.0,
    max_bytes: Annotated[int, typer.Option(help="End the backend's process if it uses more memory.")] = DEFAULT_MEMORY,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="With --ops: write the profile as JSON.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the judgement of one program as JSON.")] = False,
    blame: Annotated[
        bool, typer.Option("--blame", help="For one program: find the level and the optimisations that make it wrong.")
    ] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="For one program: find the first wrong token, by node and tag.")
    ] = False,
) -> None:
    """Compare other systems with the reference.

    The exit code is 1 if the backend differs, fails, crashes or hangs, 2 if it does not start, else 0.
    """
    for name in only or ():
        lookup_op(name)
    if target is not None and is_finding(target):
        backends = backends or [finding_backend(Path(target))]
        target, args, _ = open_finding(Path(target), args)
    if corpus is not None:
        text_files(corpus)
    names = backends or ["numpy"]
    for name in names:
        backend_command(name)
    timeouts = Timeouts(START_FACTOR * timeout, timeout, timeout)

    def open_backend(name: str = names[0], settings: Sequence[str] = ()) -> Backend:
        return Backend(backend_command(name, settings), timeouts=timeouts, max_bytes=max_bytes)

    parts = ReportParts(ops, only, corpus, fuzz_count, seed)
    is_profile_compared = ops and not report and target is None and corpus is None and not fuzz_count
    if report or (compare and not is_profile_compared):
        require_report_options(context, target, report, parts)
        raise typer.Exit(write_report(names, open_backend, parts, report or [], compare, jobs))
    require_one_subject(names, target, parts)
    if (blame or probe) and target is None:
        option = "--blame" if blame else "--probe"
        raise Usage(f"{option} is for one program", required="FILE, or the folder of a finding")
    backend, open_setting = names[0], partial(open_backend, names[0])
    referee_process = None if referee is None else open_backend(referee)
    if fuzz_count:
        options = FuzzOptions(fuzz_count, seed, minutes, jobs)
        fuzz_report = fuzz(open_backend, options, FuzzProgress(fuzz_count))
        raise typer.Exit(report_fuzz(backend, options, findings, fuzz_report, referee_process, open_setting))
    older_profile = None if compare is None else open_profile(compare)
    with open_backend() as process:
        if ops:
            raise typer.Exit(report_sweep(backend, process, sweep(process, only), output, older_profile))
        if corpus is not None:
            raise typer.Exit(report_corpus(backend, process, corpus))
        assert target is not None
        code = report_program(backend, process, target, args or [], referee_process, as_json=as_json)
        if probe and code == 1:
            print_text(indent(probe_program(process, target, args or []), "  "))
        capabilities = process.capabilities
    if blame and code == 1 and capabilities is not None:
        case = read_case(target, args or [])
        print_text(indent("\n".join(blame_program(open_setting, capabilities, case)), "  "))
    raise typer.Exit(code)


def require_report_options(
    context: typer.Context, target: str | None, report: Sequence[Path] | None, parts: ReportParts
) -> None:
    """Raises Usage unless a report has parts to run, and no options that mean nothing for it."""
    if target is not None or not report or not (parts.ops or parts.corpus or parts.programs):
        required = "--report FILE with --ops, --corpus FOLDER or --fuzz N"
        raise Usage("a report needs something to run", required=required)
    for option in INCOMPATIBLE_WITH_REPORT:
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            required = "--ops, --op, --corpus, --fuzz, --seed, --jobs, --compare"
            raise Usage(f"--report takes no --{option.removeprefix('as_')}", required=required)


def require_one_subject(names: Sequence[str], target: str | None, parts: ReportParts) -> None:
    """Raises Usage unless one backend is compared, on one program, every op, a corpus, or generated programs."""
    if len(names) > 1:
        raise Usage("several backends need a report", got=", ".join(names), hint="--report report.html")
    if sum((target is not None, parts.ops, parts.corpus is not None, parts.programs > 0)) != 1:
        raise Usage("conform compares one thing at a time", required="FILE, --ops, --corpus or --fuzz")


def probe_program(process: Backend, target: str, words: list[str]) -> str:
    """The first token that a backend gets wrong, in words."""
    program, arguments = read_case(target, words)
    answer = process.run(program, arguments)
    if answer.kind != "returned":
        return f"probes compare results, and there are none: {answer.message}"
    return str(find_wrong_token(program, arguments, answer, lambda probed: process.run(probed, arguments)))


def read_case(target: str, words: list[str]) -> FuzzCase:
    """A program of a file and its arguments; raises Usage for a graph."""
    subject = find_program(target)
    check_rules(subject)
    values = parse_arguments(subject, words)
    program, _ = program_and_graph(subject, values)
    if program is None:
        raise Usage("backends take programs, and this is a graph", got=target)
    return FuzzCase(program, tuple(all_arguments(subject, values)))


def blame_program(
    open_setting: Callable[[Sequence[str]], Backend], capabilities: Capabilities, case: FuzzCase
) -> Iterator[str]:
    """Which part of a backend makes a program wrong, in lines: the level, if it has any, then the optimisations. Each
    setting has a separate process."""

    def verdict_with(settings: Iterable[str]) -> str:
        with open_setting(sorted(settings)) as process:
            return run_case(process, *case).verdict

    if capabilities.levels:
        yield str(find_first_level(capabilities.levels, lambda level: verdict_with([level.name])))
    yield str(find_blame(capabilities.flags, lambda flags: verdict_with(flags) == "alike"))


def print_row(text: str, *, flush: bool = False) -> None:
    """Print a row of a report. Messages and names in it are the backend's: if they have several lines, the others are
    indented, so that none looks like a row."""
    print_text(text.replace("\n", "\n  "), flush=flush)


def report_program(
    backend: str, process: Backend, target: str, words: list[str], referee: Backend | None, *, as_json: bool
) -> int:
    """Judge one program, print the judgement, and return the exit code."""
    case = read_case(target, words)
    judgement = run_case(process, *case)
    label = backend_label(backend, process)
    if as_json:
        print_text(json.dumps(judgement_to_json(label, judgement)))
        return exit_code([judgement.verdict])
    print_row(f"{label:16} {judgement.verdict:9} {judgement.reason}")
    if judgement.required is not None:
        print_text(f"  required: {judgement.required}\n  got: {judgement.actual}")
    if referee is not None and judgement.verdict in FAILURES:
        print_row(f"  {ask_referee(referee, case)}")
    if judgement.verdict in ("crash", "not run") and process.stderr_tail:
        print_diagnostic(process.stderr_tail.rstrip())
    return exit_code([judgement.verdict])


def ask_referee(referee: Backend, case: FuzzCase) -> str:
    """What a second backend says of a program on which the first one failed. The backend is started for it."""
    with referee:
        judgement = run_case(referee, *case)
    label = backend_label(referee.command[-1], referee)
    if judgement.verdict == "alike":
        return f"{label} agrees with the reference: two against one"
    details = f": {judgement.actual}" if judgement.actual is not None else ""
    return f"{label} is {judgement.verdict}{details}"


def run_case(process: Backend, program: Program, arguments: Sequence[Value]) -> Judgement:
    """Judge one program."""
    answer = process.run(program, arguments)
    return judge(program, arguments, run_reference(program, arguments), answer, process.endings)


def exit_code(verdicts: Iterable[str]) -> int:
    """1 if a backend is wrong, 2 if it does not run."""
    verdict_names = set(verdicts)
    return 1 if verdict_names & FAILURES else 2 if "not run" in verdict_names else 0


def backend_label(name: str, process: Backend) -> str:
    """The backend's name and version, as it says them."""
    capabilities = process.capabilities
    return name if capabilities is None else f"{capabilities.name} {capabilities.version}"


def judgement_to_json(label: str, judgement: Judgement) -> dict[str, object]:
    """A judgement as JSON data."""
    return {
        "backend": label,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "cause": judgement.answer.cause or None,
        "required": judgement.required,
        "actual": judgement.actual,
    }


def format_counts(verdicts: Counter[str]) -> str:
    """Verdicts with their numbers, the most frequent first."""
    return ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())


def report_sweep(
    backend: str,
    process: Backend,
    results: Iterable[SweepResult],
    output: Path | None,
    older: BackendProfile | None = None,
) -> int:
    """Print each difference as it is found, then the counts; write the profile, and compare it with an older one.
    Differences that the policy permits are claims, and no failures. The exit code of a comparison is 1 only if
    the backend lost something."""
    counts: Counter[str] = Counter()
    profile = BackendProfile(backend)
    for result in results:
        counts[result.reported_verdict] += 1
        profile.add(result)
        if result.verdict in FAILURES and older is None:
            print_row(
                f"{result.reported_verdict:9} {result.label}, {result.group}: {result.example or result.reason}",
                flush=True,
            )
        if result.verdict == "not run":
            print_row(f"{backend:16} not run   {result.reason}")
            return 2
    profile.backend = backend_label(backend, process)
    print_row(f"{profile.backend}: {plural(len(profile.ops), 'pair')} of op and dtypes; {format_counts(counts)}")
    if output is not None:
        write_file(output, (json.dumps(profile.to_json(), indent=1) + "\n").encode())
    return exit_code(counts) if older is None else report_changes(older, profile)


def report_changes(old: BackendProfile, new: BackendProfile) -> int:
    """Print what a backend does otherwise than in an older profile, and return the exit code."""
    kinds: Counter[str] = Counter()
    for change in compare_profiles(old.ops, new.ops):
        kinds[change.kind] += 1
        behaviours = f"{change.old_behaviour[:MAX_REASON]} -> {change.new_behaviour[:MAX_REASON]}"
        print_row(f"{change.kind:9} {change.label}, {change.group}: {behaviours}")
    print_row(f"{old.backend} -> {new.backend}: {format_counts(kinds) or 'the profile is the same'}")
    return 1 if kinds["lost"] else 0


def open_profile(file: Path) -> BackendProfile:
    """A profile that was written before; raises Usage if this is none."""
    try:
        profile = read_profile(json.loads(read_file(file, "profile")))
    except (ValueError, RecursionError):
        profile = None
    if profile is None:
        raise Usage("this is not a profile of a backend", got=file, hint="--ops -o profile.json writes one")
    return profile


def report_corpus(backend: str, process: Backend, folder: Path) -> int:
    """Print every case of a folder that is a failure, then the counts."""
    counts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for file in text_files(folder):
        for case, _, judgement in run_corpus(process, read_text(file)):
            counts[judgement.verdict] += 1
            refusals[judgement.reason] += judgement.verdict == "refused"
            if judgement.verdict in FAILURES:
                details = f": required {judgement.required}, got {judgement.actual}" if judgement.required else ""
                print_row(f"{judgement.verdict:9} {file.name} {case}: {judgement.reason}{details}", flush=True)
            if judgement.verdict == "not run":
                print_row(f"{backend:16} not run   {judgement.reason}")
                return 2
    print_row(f"{backend_label(backend, process)}: {format_counts(counts)}")
    print_reasons("refused", refusals)
    return exit_code(counts)


def print_reasons(verdict: str, reasons: Counter[str]) -> None:
    """Print the most frequent reasons of a verdict."""
    for reason, count in (+reasons).most_common(MOST_REASONS):
        print_row(f"  {verdict} {count:,}: {reason[:MAX_REASON]}")


def verdict_at(finding: FuzzFinding, lower_levels: Mapping[Level, Backend], level: Level) -> str:
    """The verdict on a finding at a level; at the last one it is known."""
    if level not in lower_levels:
        return finding.judgement.verdict
    return run_case(lower_levels[level], *finding.case).verdict


def print_finding(finding: FuzzFinding, path: Path, opinion: str | None) -> None:
    """Print a finding of generated programs, with the opinion of a second backend; the folder has the whole message."""
    reason = finding.judgement.reason.partition("\n")[0]
    print_row(f"{finding.judgement.verdict:9} {path}: {reason} [{finding.ops}]")
    if finding.judgement.required is not None:
        print_text(f"  required: {finding.judgement.required}\n  got: {finding.judgement.actual}")
    if opinion is not None:
        print_row(f"  {opinion}")
    if finding.probes is not None:
        print_text(indent(str(finding.probes), "  "))


class FuzzProgress:
    """A line on a terminal with the number of programs so far."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, report: FuzzReport) -> None:
        if sys.stderr.isatty():
            total = report.verdicts.total() + report.discarded
            words = f"{total:,} of {self.count:,} programs, {plural(len(report.findings), 'finding')}"
            print(f"\r{words}, {report.seconds:.0f} s ", end="", file=sys.stderr, flush=True)


def report_fuzz(
    backend: str,
    options: FuzzOptions,
    folder: Path,
    report: FuzzReport,
    referee: Backend | None,
    open_setting: Callable[[Sequence[str]], Backend],
) -> int:
    """Print the counts and the findings, and write a folder for each finding. `open_setting` opens the backend at a
    level."""
    if sys.stderr.isatty():
        print(file=sys.stderr)
    dialect = next((name for name in DIALECTS if name in backend.split()), None)
    with ExitStack() as stack:
        lower_levels = {level: stack.enter_context(open_setting([level.name])) for level in report.levels[:-1]}
        for finding in report.findings:
            path = folder / f"{options.seed}-{finding.number}"
            opinion = None if referee is None else ask_referee(referee, finding.case)
            blame = find_first_level(report.levels, partial(verdict_at, finding, lower_levels))
            write_finding(finding, path, backend, dialect, options.seed, opinion, blame)
            print_finding(finding, path, opinion)
            if blame.verdicts:
                print_row(f"  {blame}")
    counts = format_counts(report.verdicts) or "no program was compared"
    print_row(f"{backend}: {counts}, {report.discarded:,} discarded, {report.seconds:.0f} s")
    print_reasons("refused", report.refusals)
    print_reasons("undecided", report.undecided)
    return exit_code(report.verdicts)
