"""Compares the runs of a program: under several schedules, by the big-step evaluator, and on every registered engine.

The standard is the reference machine under `waves`; the first difference of a run from it is a Disagreement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.errors import Disagreement, Exhausted, Usage, plural
from ...core.graph.graph import Graph
from ...core.program.evaluate import evaluate
from ...core.program.program import Program
from ...core.value import Value, format_value, is_same_value
from ...core.world import World
from ..engines.limits import Limits
from ..engines.protocol import Engine, Job, RunOptions
from ..engines.reference import admit_arguments, default_structure, run_graph
from ..engines.registry import engine_names, find_engine, is_reference_or_selector
from ..engines.registry import run as run_on
from ..outcome.outcome import Outcome

ENGINE_SCHEDULES = ("waves", "lifo", "random:0")
"""The schedules under which each engine is run, if it supports them."""
SCHEDULES = ("waves", "fifo", "lifo", *(f"random:{seed}" for seed in range(5)))


class Verdict(NamedTuple):
    """The result of one variant of a run (a schedule, the evaluator, or an engine), and its difference from the
    standard, if any.

    `status` says how the run ended; `summary` has its results or its trap, and may have its number of firings.
    """

    variant: str
    status: str
    summary: str
    difference: Disagreement | None


def check(
    graph: Graph,
    program: Program | None,
    arguments: Sequence[Value],
    limits: Limits | None = None,
    *,
    seed: int = 0,
    callbacks: Mapping[str, Callable[..., Any]] | None = None,
    engines: bool = False,
) -> Iterator[Verdict]:
    """Run a graph under several schedules, and its program by the evaluator; yields a verdict for each, that of the
    standard first. With `engines`, the graph also runs on all other engines.

    If a limit ended one of two runs, only the results that both have are compared. Printed lines are captured and
    compared; each run calls the callbacks.
    """
    printed: list[str] = []
    standard = _run_captured(graph, arguments, "waves", limits, seed, callbacks, printed)
    for name in SCHEDULES:
        lines = printed if name == "waves" else []
        run = standard if name == "waves" else _run_captured(graph, arguments, name, limits, seed, callbacks, lines)
        yield Verdict(
            name,
            run.status,
            describe_run(run),
            run_difference(graph, standard, run) or printed_difference(run, printed, lines),
        )
    if program is not None:
        lines = []
        yield check_evaluator(program, standard, arguments, seed, World(lines.append, callbacks), printed, lines)
    if not engines:
        return
    job = Job(graph, default_structure(graph), program)
    for name in engine_names():
        yield from check_engine(name, job, standard, arguments, limits, seed, callbacks, printed)


def check_engine(
    name: str,
    job: Job,
    standard: Outcome,
    arguments: Sequence[Value],
    limits: Limits | None,
    seed: int,
    callbacks: Mapping[str, Callable[..., Any]] | None,
    printed: Sequence[str],
) -> Iterator[Verdict]:
    """A verdict for each schedule that an engine supports; or one with the status Refused that says why it cannot run
    the job. The reference, which is the standard, and engines that choose among others get no verdict."""
    options = RunOptions(limits=limits, seed=seed)
    try:
        engine = find_engine(name)
    except Usage as error:
        yield Verdict(name, "Refused", error.message, None)
        return
    if is_reference_or_selector(engine):
        return
    reason = engine.unsupported(job, options)
    if reason is not None:
        yield Verdict(name, "Refused", reason, None)
        return
    schedules = [
        schedule
        for schedule in ENGINE_SCHEDULES
        if engine.unsupported(job, options._replace(schedule=schedule)) is None
    ]
    for schedule in schedules:
        variant = name if schedules == ["waves"] else f"{name}:{schedule}"
        lines: list[str] = []
        world = World(lines.append, callbacks)
        yield check_run(
            variant, engine, job, standard, arguments, options._replace(schedule=schedule, world=world), printed, lines
        )


def _run_captured(
    graph: Graph,
    arguments: Sequence[Value],
    schedule: str,
    limits: Limits | None,
    seed: int,
    callbacks: Mapping[str, Callable[..., Any]] | None,
    lines: list[str],
) -> Outcome:
    """Run a graph on the reference machine; `lines` collects the printed lines."""
    world = World(lines.append, callbacks)
    return _raise_interrupt(run_graph(graph, arguments, schedule=schedule, limits=limits, seed=seed, world=world))


def _raise_interrupt(run: Outcome) -> Outcome:
    """Pass on an outcome, but raise KeyboardInterrupt if Ctrl-C ended it."""
    if isinstance(run.error, Exhausted) and run.error.limit == "interrupt":
        raise KeyboardInterrupt
    return run


def check_run(
    variant: str,
    engine: Engine,
    job: Job,
    standard: Outcome,
    arguments: Sequence[Value],
    options: RunOptions,
    printed: Sequence[str],
    lines: Sequence[str],
) -> Verdict:
    """The verdict on one run of an engine.

    Of a token engine, everything is compared; of another engine, the results, or the first trap of a sequential
    evaluation. Without tokens, a run may never end if the standard is Exhausted or Deadlocked, so such an engine is not
    run then.
    """
    has_tokens: bool = getattr(engine, "has_tokens", False)
    if not has_tokens and standard.status in ("Exhausted", "Deadlocked"):
        reason = f"a run that is {standard.status} on the machine may never end without tokens"
        return Verdict(variant, "Refused", reason, None)
    run = _raise_interrupt(run_on(job, arguments, options, engine.name))
    if has_tokens:
        difference = run_difference(job.graph, standard, run) or printed_difference(run, printed, lines)
        return Verdict(variant, run.status, describe_run(run), difference)
    agrees = is_compatible(standard.results, run.results)
    if run.status != "Exhausted":
        traps = [outcome.traps[0].message if outcome.traps else "" for outcome in (standard, run)]
        agrees = agrees and standard.status == run.status and traps[0] == traps[1]
    ending = format_results(run.results) if not run.traps else run.traps[0].message
    ending += "" if run.engine == engine.name else f", as {run.engine}"
    if agrees:
        difference = printed_difference(run, printed, lines) if run.status == "Returned" else None
        return Verdict(variant, run.status, ending, difference)
    where, required = (
        f"{job.graph.name} on engine {engine.name}",
        f"{standard.status} {format_results(standard.results)}",
    )
    difference = Disagreement("the endings differ", where=where, required=required, got=f"{run.status} {ending}")
    return Verdict(variant, run.status, ending, difference)


def printed_difference(run: Outcome, expected: Sequence[str], lines: Sequence[str]) -> Disagreement | None:
    """The first printed line that differs, unless a limit cut the run short."""
    if run.status == "Exhausted" or lines == expected:
        return None
    number = next((n for n, pair in enumerate(zip(expected, lines, strict=False)) if pair[0] != pair[1]), None)
    number = min(len(expected), len(lines)) if number is None else number
    required, got = ([*side, "no line"][min(number, len(side))] for side in (expected, lines))
    location = f"line {number} that {run.graph.name} prints under {run.schedule}"
    return Disagreement("the lines differ", where=location, required=required, got=got)


def describe_run(run: Outcome) -> str:
    """The results and the number of firings of a run, in words."""
    return f"{format_results(run.results)} after {plural(run.firings, 'firing')}"


def format_results(results: Sequence[Value | None]) -> str:
    """Results in words; - for one that is missing."""
    return ", ".join("-" if value is None else format_value(value) for value in results)


def run_difference(graph: Graph, standard: Outcome, run: Outcome) -> Disagreement | None:
    """The first difference of a run from the standard: in its ending, its results, its firings of a node, or its
    traps."""
    if standard.has_double_write and run.has_double_write:
        return None
    location = f"{graph.name} under {run.schedule}"
    endings = [f"{outcome.status} {describe_run(outcome)}" for outcome in (standard, run)]
    if "Exhausted" in (standard.status, run.status):
        if is_compatible(standard.results, run.results):
            return None
        return Disagreement("the results differ", where=location, required=endings[0], got=endings[1])
    if standard.status != run.status or not all(map(is_same_result, standard.results, run.results)):
        return Disagreement("the endings differ", where=location, required=endings[0], got=endings[1])
    pairs = zip(standard.stats.by_node, run.stats.by_node, strict=True)
    for node, (expected, got) in zip(graph.nodes, pairs, strict=True):
        if expected != got:
            message = f"node {node} fires another number of times"
            return Disagreement(message, where=location, required=expected, got=got)
    traps = ["; ".join(f"{trap.message} under {trap.tag}" for trap in outcome.traps) for outcome in (standard, run)]
    if traps[0] != traps[1]:
        return Disagreement("the traps differ", where=location, required=traps[0], got=traps[1])
    return None


def is_same_result(first: Value | None, second: Value | None) -> bool:
    """Whether two results are equal, by their bits, or both missing."""
    return first is second if first is None or second is None else is_same_value(first, second)


def is_compatible(expected: Sequence[Value | None], actual: Sequence[Value | None]) -> bool:
    """Whether all results that both runs have are equal."""
    pairs = zip(expected, actual, strict=True)
    return all(first is None or second is None or is_same_value(first, second) for first, second in pairs)


def check_evaluator(
    program: Program,
    standard: Outcome,
    arguments: Sequence[Value],
    seed: int,
    world: World,
    printed: Sequence[str],
    lines: Sequence[str],
) -> Verdict:
    """The verdict on the evaluator, which is sequential: it stops at the first trap, and where it reads a cell before
    the store.

    Its limit on steps is the number of the machine's firings, since every node that it evaluates fires at least once;
    except for a store, whose firing a limit may prevent, or which may wait for ever.
    """
    max_firings, values = standard.firings, admit_arguments(standard.graph, arguments)
    evaluation = evaluate(program, values, max_steps=max_firings, max_depth=max_firings, seed=seed, world=world)
    if evaluation.status == "Waiting":
        return Verdict("evaluator", evaluation.status, "for a cell that is put later, if at all", None)
    trap = f"{evaluation.trap[1]} at node {evaluation.trap[0]}" if evaluation.trap else ""
    text = (
        format_results(evaluation.results) if evaluation.results is not None else trap or f"after {max_firings:,} nodes"
    )
    match standard.status:
        case "Exhausted":
            agrees = evaluation.results is None or is_compatible(standard.results, evaluation.results)
        case "Trapped":
            agrees = standard.traps[0].message == trap
        case _:
            agrees = evaluation.results is not None and all(map(is_same_result, standard.results, evaluation.results))
    location = f"{program.entry}, evaluated without tokens"
    required = standard.traps[0].message if standard.traps else f"{standard.status} {format_results(standard.results)}"
    got = f"{evaluation.status} {text}"
    difference = None if agrees else Disagreement("the results differ", where=location, required=required, got=got)
    if agrees and standard.status == "Returned":
        difference = printed_difference(standard, printed, lines)
    return Verdict("evaluator", evaluation.status, text, difference)
