"""Compares the runs of a program: under several schedules, by the big-step evaluator, and on every registered engine.

The standard is the reference machine under `waves`; the first difference of a run from it is a Disagreement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
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


class RunInputs(NamedTuple):
    """The common data of all variants of a run. Each run calls the callbacks."""

    arguments: Sequence[Value]
    limits: Limits | None
    seed: int
    callbacks: Mapping[str, Callable[..., Any]] | None

    def world(self, lines: list[str]) -> World:
        """A world that collects printed lines."""
        return World(lines.append, self.callbacks)


class CapturedRun(NamedTuple):
    """A run, and the lines that it printed."""

    outcome: Outcome
    lines: Sequence[str]


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
    """Run a graph under several schedules, and its program by the evaluator; yields a verdict for each, beginning with
    the standard. With `engines`, the graph also runs on all other engines.

    If a limit ended one of two runs, only the results that both have are compared. Printed lines are captured and
    compared; each run calls the callbacks.
    """
    inputs = RunInputs(arguments, limits, seed, callbacks)
    standard = run_schedule(graph, "waves", inputs)
    for name in SCHEDULES:
        run = standard if name == "waves" else run_schedule(graph, name, inputs)
        difference = run_difference(graph, standard.outcome, run.outcome) or printed_difference(standard, run)
        yield Verdict(name, run.outcome.status, describe_run(run.outcome), difference)
    if program is not None:
        yield check_evaluator(program, standard, inputs)
    if engines:
        job = Job(graph, default_structure(graph), program)
        for name in engine_names():
            yield from check_engine(name, job, standard, inputs)


def check_engine(name: str, job: Job, standard: CapturedRun, inputs: RunInputs) -> Iterator[Verdict]:
    """A verdict for each schedule that an engine supports; or one with the status Refused that says why it cannot run
    the job. The reference, which is the standard, and engines that choose among others get no verdict."""
    options = RunOptions(limits=inputs.limits, seed=inputs.seed)
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
        yield check_run(variant, engine, job, standard, inputs, options._replace(schedule=schedule))


def run_schedule(graph: Graph, schedule: str, inputs: RunInputs) -> CapturedRun:
    """Run a graph on the reference machine."""
    lines: list[str] = []
    arguments, limits, seed, _ = inputs
    outcome = run_graph(graph, arguments, schedule=schedule, limits=limits, seed=seed, world=inputs.world(lines))
    return CapturedRun(_raise_interrupt(outcome), lines)


def _raise_interrupt(run: Outcome) -> Outcome:
    """Pass on an outcome, but raise KeyboardInterrupt if Ctrl-C ended it."""
    if isinstance(run.error, Exhausted) and run.error.limit == "interrupt":
        raise KeyboardInterrupt
    return run


def check_run(
    variant: str, engine: Engine, job: Job, standard: CapturedRun, inputs: RunInputs, options: RunOptions
) -> Verdict:
    """The verdict on one run of an engine.

    Of a token engine, everything is compared; of another engine, the results, or the first trap of a sequential
    evaluation. Without tokens, a run may never end if the standard is Exhausted or Deadlocked, so such an engine is not
    run then.
    """
    has_tokens: bool = getattr(engine, "has_tokens", False)
    if has_tokens and hasattr(engine, "runs_without_tokens"):
        has_tokens = not engine.runs_without_tokens(job, options)
    status = standard.outcome.status
    if not has_tokens and status in ("Exhausted", "Deadlocked"):
        reason = f"a run that is {status} on the machine may never end without tokens"
        return Verdict(variant, "Refused", reason, None)
    lines: list[str] = []
    options = options._replace(world=inputs.world(lines))
    run = CapturedRun(_raise_interrupt(run_on(job, inputs.arguments, options, engine.name)), lines)
    outcome = run.outcome
    if has_tokens:
        difference = run_difference(job.graph, standard.outcome, outcome) or printed_difference(standard, run)
        return Verdict(variant, outcome.status, describe_run(outcome), difference)
    ending = format_results(outcome.results) if not outcome.traps else outcome.traps[0].message
    ending += "" if outcome.engine == engine.name else f", as {outcome.engine}"
    if has_same_ending(standard.outcome, outcome):
        difference = printed_difference(standard, run) if outcome.status == "Returned" else None
        return Verdict(variant, outcome.status, ending, difference)
    difference = Disagreement(
        "the endings differ",
        where=f"{job.graph.name} on engine {engine.name}",
        required=f"{status} {format_results(standard.outcome.results)}",
        got=f"{outcome.status} {ending}",
    )
    return Verdict(variant, outcome.status, ending, difference)


def has_same_ending(standard: Outcome, run: Outcome) -> bool:
    """Whether a run without tokens has the results of the standard, and its status and first trap unless a limit ended
    it."""
    if not is_compatible(standard.results, run.results):
        return False
    traps = [outcome.traps[0].message if outcome.traps else "" for outcome in (standard, run)]
    return run.status == "Exhausted" or (standard.status == run.status and traps[0] == traps[1])


def printed_difference(standard: CapturedRun, run: CapturedRun) -> Disagreement | None:
    """The first printed line that differs, unless a limit cut the run short."""
    outcome, sides = run.outcome, (standard.lines, run.lines)
    if outcome.status == "Exhausted" or standard.lines == run.lines:
        return None
    number = next((n for n, (line, other) in enumerate(zip_longest(*sides)) if line != other), 0)
    required, actual = ([*side, "no line"][min(number, len(side))] for side in sides)
    location = f"line {number} that {outcome.graph.name} prints under {outcome.schedule}"
    return Disagreement("the lines differ", where=location, required=required, got=actual)


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
    for node, (required, actual) in zip(graph.nodes, pairs, strict=True):
        if required != actual:
            message = f"node {node} fires a different number of times"
            return Disagreement(message, where=location, required=required, got=actual)
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


def check_evaluator(program: Program, standard: CapturedRun, inputs: RunInputs) -> Verdict:
    """The verdict on the evaluator, which is sequential: it stops at the first trap, and where it reads a cell before
    the store.

    Its limit on steps is the number of the machine's firings, since every node that it evaluates fires at least once.
    Stores are an exception: a limit may prevent their firing, or they may wait forever.
    """
    outcome, lines = standard.outcome, list[str]()
    values, limit = admit_arguments(outcome.graph, inputs.arguments), outcome.firings
    world = inputs.world(lines)
    evaluation = evaluate(program, values, max_steps=limit, max_depth=limit, seed=inputs.seed, world=world)
    if evaluation.status == "Waiting":
        return Verdict("evaluator", evaluation.status, "for a cell that is put later, if at all", None)
    trap = f"{evaluation.trap[1]} at node {evaluation.trap[0]}" if evaluation.trap else ""
    text = format_results(evaluation.results) if evaluation.results is not None else trap or f"after {limit:,} nodes"
    match outcome.status:
        case "Exhausted":
            is_same = evaluation.results is None or is_compatible(outcome.results, evaluation.results)
        case "Trapped":
            is_same = outcome.traps[0].message == trap
        case _:
            is_same = evaluation.results is not None and all(map(is_same_result, outcome.results, evaluation.results))
    if is_same:
        is_printed = outcome.status == "Returned"
        difference = printed_difference(standard, CapturedRun(outcome, lines)) if is_printed else None
        return Verdict("evaluator", evaluation.status, text, difference)
    difference = Disagreement(
        "the results differ",
        where=f"{program.entry}, evaluated without tokens",
        required=outcome.traps[0].message if outcome.traps else f"{outcome.status} {format_results(outcome.results)}",
        got=f"{evaluation.status} {text}",
    )
    return Verdict("evaluator", evaluation.status, text, difference)
