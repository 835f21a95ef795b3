"""`tagloom run`: runs a program and prints its results, its statistics, or a JSON document.

With `--fetch NAME --feed NAME=LITERAL`, a part of the program is run, with some of its values given.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import Usage, plural
from ...core.escape import escape_line
from ...core.files import write_file
from ...core.frontend.trace.pytree import has_open_parts, is_python_constant, label_leaves, unflatten
from ...core.graph.graph import Graph
from ...core.world import World
from ...interp.engines.jit.compiler_process import has_unfinished
from ...interp.engines.limits import Limits
from ...interp.engines.protocol import Job, RunOptions
from ...interp.engines.reference import breaks_rules, default_structure
from ...interp.engines.registry import run as run_job
from ...interp.function.function import Function, run_arguments
from ...interp.function.trace_cache import TracedProgram
from ...interp.lru_cache import LRUCache
from ...interp.outcome.outcome import Outcome
from ...interp.records.documents import OutcomeRecord, add_critical_path, final_record, to_json, untyped_json
from ..load import (
    Runnable,
    check_rules,
    find_program,
    parse_argument,
    parse_arguments,
    parse_partial_arguments,
    program_and_graph,
)
from ..report import result_lines, stats_report
from .options import (
    DEFAULT_LIMITS,
    Arguments,
    Bound,
    Bytes,
    Depth,
    Feed,
    Fetch,
    Firings,
    Schedule,
    Seconds,
    Seed,
    Target,
    Tokens,
    Unchecked,
    Until,
)
from .terminal import has_unicode, is_terminal, print_diagnostic, print_error, print_text, print_to_stderr

if TYPE_CHECKING:
    from ...interp.function.fetch_feed import PartialProgram, PrunedProgram


def build_partial(
    subject: Runnable, words: Sequence[str], fetch: Sequence[str], feed: Sequence[str]
) -> tuple[PartialProgram, list[Any]]:
    """The part of a program to run, and its arguments. A single fetched name gives a value, several give a dict.

    Raises Usage if there are no such values, or the words cannot be parsed.
    """
    from ...interp.function.fetch_feed import PartialProgram  # here: other runs start without histories and queries

    values = parse_partial_arguments(subject, words)
    all_values = None if any(value is ... for value in values) and isinstance(subject, Function) else values
    arguments = subject.source.unflatten_arguments(values) if isinstance(subject, Function) else values
    program, graph = program_and_graph(subject, all_values)
    fetches = fetch[0] if len(fetch) == 1 else dict(zip(fetch, fetch, strict=True)) or None
    cache: LRUCache[object, PrunedProgram] = LRUCache(1)

    def trace_program(inputs: Sequence[Any]) -> tuple[TracedProgram, list[Any]]:
        assert program is not None
        return TracedProgram(program, graph, default_structure(graph)), list(inputs)

    def partial_with(feeds: Mapping[str, object]) -> PartialProgram:
        if isinstance(subject, Function):
            return subject.partial(fetches, feeds)
        return PartialProgram(graph.name, trace_program, fetches, feeds, cache.get_or_create)

    if isinstance(subject, Graph):
        raise Usage("only programs can be run in part", required="a program", got=subject.name)
    feeds = {}
    for word in feed:
        name, equals, literal = word.partition("=")
        if not equals or not name:
            raise Usage("--feed needs a name and a literal", required="--feed NAME=LITERAL", got=word)
        feeds[name] = parse_argument(name, partial_with({}).type_of(name, *arguments), literal)
    return partial_with(feeds), arguments


def outcome_document(outcome: Outcome, record: OutcomeRecord, *, is_part: bool) -> Any:
    """The JSON document of an outcome. The value of a part of a program nests as the fetched names do, and a choice is
    the option that is chosen."""
    document: Any = to_json(record)
    if is_part:
        results = [None if result is None else untyped_json(result) for result in outcome.results]
        return {**document, "value": unflatten(outcome.structure, results)}
    if has_open_parts(outcome.structure) and not outcome.missing:
        return {
            **document,
            "value": [_part_to_json(part) for _, part in label_leaves(outcome.structure, outcome.results)],
        }
    return document


def _part_to_json(part: Any) -> Any:
    """A value, a constant of Python, or one of several constants, as JSON data without types."""
    if isinstance(part, tuple | list):
        return list(map(_part_to_json, part))
    if is_python_constant(part):
        return part if part is None or type(part) is str else str(part)
    return untyped_json(part)


def run(
    target: Target,
    args: Arguments = None,
    engine: Annotated[
        str | None, typer.Option(help="The engine: reference, fast, compiled, cuda, distributed or auto.")
    ] = None,
    schedule: Schedule = "waves",
    seed: Seed = 0,
    k: Bound = None,
    cores: Annotated[int | None, typer.Option(help="How many processor cores the engine fast may use.")] = None,
    workers: Annotated[int | None, typer.Option(help="How many workers the engine distributed starts.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Where the workers are: network, network:SEED, processes or ray.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Write the checkpoints of the engine distributed to this file.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on from the last checkpoint in this file, with the same ARGS.")
    ] = None,
    timeline: Annotated[
        Path | None, typer.Option(help="Write when each worker did what to this .json file, for ui.perfetto.dev.")
    ] = None,
    soft_placement: Annotated[
        bool, typer.Option("--soft-placement", help="Replace devices that are missing or contradict each other.")
    ] = False,
    until: Until = None,
    stats: Annotated[
        bool,
        typer.Option(
            "--stats", help="Print firings, critical path, parallelism profile, and the share of each function and op."
        ),
    ] = False,
    as_document: Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON document.")] = False,
    keep: Annotated[Path | None, typer.Option(help="Write every event to this file, NAME.jsonl or NAME.npz.")] = None,
    fetch: Fetch = None,
    feed: Feed = None,
    unchecked: Unchecked = False,
    max_firings: Firings = None,
    max_tokens: Tokens = None,
    max_depth: Depth = DEFAULT_LIMITS.depth,
    max_bytes: Bytes = DEFAULT_LIMITS.bytes,
    timeout: Seconds = None,
) -> None:
    """Run a program on arguments, and print its value.

    Large arrays are abbreviated, but not with --json.

    With --fetch and --feed, which may be repeated, only a part of the program is run. An argument that this part does
    not need is written `...`, or left out at the end.
    """
    if timeline is not None:
        from ...viz.cluster_trace import cluster_trace_document  # here: other runs start without pictures
        from ...viz.trace_events import require_trace_file

        require_trace_file(timeline, "--timeline")
    subject = find_program(target)
    check_rules(subject, unchecked=unchecked)
    is_parallel = any(option is not None for option in (cores, workers, cluster, checkpoint, resume, timeline))
    options: dict[str, Any] = {
        "schedule": schedule,
        **({} if until is None else {"until": until.value}),
        "limits": build_limits(max_firings, max_tokens, max_depth, max_bytes, timeout),
        "keep": "events" if keep is None and stats and as_document and not is_parallel else keep,
        "seed": seed,
        "k": k,
        "world": World(print_to_stderr) if as_document else World(),
        "measures": stats or as_document,
        "cores": cores,
        "workers": workers,
        "cluster": cluster,
        "checkpoint": checkpoint,
        "resume": resume,
        "timeline": timeline is not None,
        "soft_placement": soft_placement,
    }
    if is_part := bool(fetch or feed):
        part, arguments = build_partial(subject, args or [], fetch or [], feed or [])
        outcome = part.run(*arguments, engine=engine, **options)
    else:
        outcome = run_whole(subject, args or [], RunOptions(**options), engine, unchecked=unchecked)
    print_outcome(outcome, stats=stats, as_document=as_document, is_part=is_part)
    if timeline is not None:
        write_file(timeline, cluster_trace_document(outcome))
    if is_terminal(sys.stderr) and has_unfinished():
        print_diagnostic(f"the run ended before its compiler: `tagloom warm {escape_line(target)}` compiles ahead")
    raise typer.Exit(0 if outcome.status == "Returned" else 1)


def run_whole(
    subject: Runnable, words: Sequence[str], options: RunOptions, engine: str | None, *, unchecked: bool
) -> Outcome:
    """The outcome of a program or graph on the arguments that these words are."""
    if isinstance(subject, Function):
        program_and_graph(subject, values := parse_arguments(subject, words))
        return run_arguments(subject, subject.source.unflatten_arguments(values), options, engine)
    program, graph = program_and_graph(subject)
    job = Job(graph, default_structure(graph), program, breaks_rules(graph, unchecked=unchecked))
    return run_job(job, parse_arguments(subject, words), options, engine)


def build_limits(*values: Any) -> Limits | None:
    """The limits, or None if all are the defaults."""
    limits = Limits(*values)
    return None if limits == DEFAULT_LIMITS else limits


def print_outcome(outcome: Outcome, *, stats: bool, as_document: bool, is_part: bool) -> None:
    """Print an outcome as results, with statistics if requested, or as a JSON document; errors and traps to stderr."""
    if as_document:
        record = final_record(outcome)
        if stats and outcome.kept_events is not None:
            record = add_critical_path(record, outcome)
        print(json.dumps(outcome_document(outcome, record, is_part=is_part), allow_nan=False))
    elif not outcome.missing:
        for line in result_lines(outcome):
            print_text(line)
    error = [] if outcome.error is None else [outcome.error]
    errors = [*error, *(trap for trap in outcome.traps if trap is not outcome.error)]
    for problem in errors[:4]:
        print_error(problem)
    if len(errors) > 4:
        print_diagnostic(f"and {plural(len(errors) - 4, 'more trap')}")
    if stats and not as_document:
        print_text(stats_report(outcome, unicode=has_unicode()))
