"""The laws of cells, effects, random numbers and bounds, which every run of a program with them keeps."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from support.generators.effect_programs import Witness, unbounded
from support.generators.generator import Case
from support.laws.machine_laws import cleanliness, firings
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.evaluate import evaluate
from tagloom.core.program.validate import program_problems
from tagloom.core.tag import Tag
from tagloom.core.value import fingerprint, is_same_value
from tagloom.core.world import CallbackReplayWorld
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.outcome.outcome import Outcome

LIMITS = Limits(firings=1_500)
SCHEDULES = ("fifo", "lifo", *(f"random:{seed}" for seed in range(8)))
LARGE = 10**9


class RunWithEffects(NamedTuple):
    """An outcome, and its effects on the world."""

    outcome: Outcome
    world: Witness

    @property
    def effects(self) -> Any:
        """The printed lines, and the callback calls with their operands, in order."""
        return self.world.lines, [(name, tuple(map(fingerprint, operands))) for name, operands in self.world.calls]

    @property
    def observation(self) -> Any:
        """Everything that does not depend on the schedule, except the firings."""
        out = self.outcome
        results = [None if result is None else fingerprint(result) for result in out.results]
        return out.status, results, list(map(str, out.traps)), str(out.error), residue(out), self.effects


def residue(outcome: Outcome) -> Any:
    """The residue, by node and tag. The last token of a deferred get is at the cell; which one that is depends on the
    schedule, so the cell is listed with all tokens of that get."""
    left: dict[Any, tuple[Any, Any]] = {}
    for waiting in outcome.residue:
        ports, stays = left.setdefault((waiting.node, waiting.tag), ({}, set()))
        ports[waiting.port] = fingerprint(waiting.value)
        stays |= {waiting.blocked_on} - {None}
    return left


def run(graph: Graph, case: Case, name: str = "waves", limits: Limits = LIMITS, **options: Any) -> RunWithEffects:
    world = Witness()
    return RunWithEffects(
        run_graph(graph, case.arguments, schedule=name, keep="events", limits=limits, world=world, **options), world
    )


def violations(
    case: Case, schedules: Sequence[str] = SCHEDULES, limits: Limits = LIMITS, seed: int = 5
) -> Iterator[str]:
    """Every law that this program breaks on the machine, without bounds on its loops; none if the run exceeds the
    limits."""
    try:
        yield from (f"the program breaks a rule: {problem}" for problem in program_problems(case.program))
        free = Case(unbounded(case.program), case.arguments)
        graph = lower(free.program)
        yield from (f"lowering breaks a rule: {problem}" for problem in graph_problems(graph))
        ideal = run(graph, free, limits=limits, seed=seed)
        if ideal.outcome.status == "Exhausted":
            return
        yield from agreement(free, ideal, seed)
        yield from order(graph, free, ideal)
        yield from reversal(graph, free, "random:3", seed)
        expected = firings(ideal.outcome)
        for name in schedules:
            result = run(graph, free, name, limits, seed=seed)
            if result.observation != ideal.observation:
                yield f"{name} differs from waves:\n{result.observation}\n{ideal.observation}"
            elif firings(result.outcome) != expected:
                yield f"{name} fires differently from waves: {firings(result.outcome) - expected}"
    except Exception as error:
        yield f"the machine failed: {type(error).__name__}: {error}"


def agreement(case: Case, result: RunWithEffects, seed: int) -> Iterator[str]:
    """The machine and the evaluator have the same results or the same first trap; if the evaluation waits at a cell,
    they agree up to there. The machine's effects begin with those of the evaluator."""
    world, (outcome, _) = Witness(), result
    evaluation = evaluate(case.program, case.arguments, seed=seed, world=world)
    if evaluation.status == "Returned" and evaluation.results is not None:
        if outcome.status != "Returned" or not all(map(is_same_value, outcome.results, evaluation.results)):
            yield f"the evaluator returned {evaluation.results}, the machine {outcome.status} {outcome.results}"
    elif evaluation.status == "Trapped" and evaluation.trap is not None:
        node, message = evaluation.trap
        if not outcome.traps or outcome.traps[0].message != f"{message} at node {node}":
            yield f"the evaluator met {evaluation.trap}, the machine {outcome.traps[:1]}"
    elif evaluation.status != "Waiting":
        yield f"the machine became quiescent, the evaluator was {evaluation.status}"
    is_complete = evaluation.status == "Returned"
    for evaluated, performed in zip(RunWithEffects(outcome, world).effects, result.effects, strict=True):
        if performed[: None if is_complete else len(evaluated)] != evaluated:
            yield f"the evaluator did {evaluated}, the machine {performed}"


def order(graph: Graph, case: Case, result: RunWithEffects) -> Iterator[str]:
    """S11, S4: a quiescent run that returned leaves only deferred reads; no node fires twice; an effect happens once
    for each firing of its node."""
    outcome = result.outcome
    if outcome.status == "Returned" and not outcome.residue:
        yield from cleanliness(outcome)
    if outcome.status == "Returned" and outcome.residue and not any(w.blocked_on is not None for w in outcome.residue):
        yield f"residue {outcome.residue} after a run that returned"
    counts = Counter(graph.nodes[event.token.node].op for event in outcome.events if event.is_firing)
    if (counts["print"], counts["callback"]) != (len(result.world.lines), len(result.world.calls)):
        yield f"effects of {counts} firings: {result.effects}"
    firing_counts = Counter((event.token.node, event.token.tag) for event in outcome.events if event.is_firing)
    yield from (f"fired {count} times under a tag: {key}" for key, count in firing_counts.items() if count > 1)


def reversal(
    graph: Graph, case: Case, name: str, seed: int = 0, most: int = 150, k: int | None = None
) -> Iterator[str]:
    """`revert` undoes `apply`, and neither performs an effect; a fork is independent of its origin."""
    world, dice, pick = Witness(), random.Random(name), schedule(name)
    state = State(graph, case.arguments, seed=seed, bound=k, world=world, is_clocked=name == "waves")
    events: list[Event] = []
    snapshots = [state.snapshot()]
    while state.flight and len(events) < most:
        before = len(world.lines), len(world.calls)
        event = step(state, pick(state))
        performed = len(world.lines) + len(world.calls) - sum(before)
        if performed != (event.is_firing and graph.nodes[event.token.node].op in ("print", "callback")):
            yield f"{performed} effects were performed by {event}"
        after = len(world.lines), len(world.calls)
        fork = state.fork() if dice.random() < 0.2 else None
        state.apply(event)
        if fork is not None and fork.snapshot() != snapshots[-1]:
            yield f"applying {event} changed a fork made before"
        events.append(event)
        snapshots.append(state.snapshot())
        back = dice.randint(1, len(events)) if dice.random() < 0.05 else 1
        fork = state.fork() if dice.random() < 0.2 else None
        for undone in reversed(events[-back:]):
            state.revert(undone)
        if state.snapshot() != snapshots[-1 - back]:
            yield f"reverting {back} events after {len(events)} did not restore the state"
            return
        if fork is not None and fork.snapshot() != snapshots[-1]:
            yield f"reverting {back} events changed a fork made before"
        for event_ in events[-back:]:
            state.apply(event_)
        if state.snapshot() != snapshots[-1]:
            yield f"applying {back} events again after {len(events)} led elsewhere"
            return
        if after != (len(world.lines), len(world.calls)):
            yield "apply or revert performed an effect"


def bound_violations(
    case: Case,
    bounds: Sequence[int | None] = (None, 1, 2, 3, 5),
    schedules: Sequence[str] = ("waves", "fifo", "lifo", "random:1"),
) -> Iterator[str]:
    """S16: every law about bounds that this program breaks; `None` means the bounds that its loops have."""
    try:
        free, graph = lower(unbounded(case.program)), lower(case.program)
        yield from (f"lowering breaks a rule: {problem}" for problem in graph_problems(graph))
        unbounded_run = run(free, case)
        if unbounded_run.outcome.status == "Exhausted":
            return
        counts = firings(unbounded_run.outcome)
        for name in schedules:
            large = run(graph, case, name, k=LARGE)
            if large.observation != unbounded_run.observation or firings(large.outcome) != counts:
                observations = f"{large.observation}\n{unbounded_run.observation}"
                yield f"a bound of {LARGE} changes the run under {name}: {observations}"
            for k in bounds:
                yield from bounded(graph, case, name, k, unbounded_run, counts)
    except Exception as error:
        yield f"the machine failed: {type(error).__name__}: {error}"


def bounded(
    graph: Graph, case: Case, name: str, k: int | None, unbounded_run: RunWithEffects, counts: Counter[Any]
) -> Iterator[str]:
    """The firings of a bounded run are part of those of the run without bounds; only deferred gets keep it from
    returning."""
    result = run(graph, case, name, k=k)
    where, outcome = f"under {name}, k = {k}", result.outcome
    surplus = firings(outcome) - counts
    if surplus:
        yield f"{where} there are more firings: {surplus}"
    if unbounded_run.outcome.status == "Returned":
        deferred = any(not isinstance(w.blocked_on, int | None) for w in outcome.residue)
        if outcome.status != "Returned" and not (outcome.status == "Deadlocked" and deferred):
            yield f"{where} a run that returned is {outcome.status}: {outcome.error}"
        if outcome.status == "Returned" and firings(outcome) != counts and not deferred:
            yield f"{where} there are fewer firings"
    if not unbounded_run.outcome.traps:
        for value, unbounded in zip(outcome.results, unbounded_run.outcome.results, strict=True):
            if value is not None and (unbounded is None or not is_same_value(value, unbounded)):
                yield f"{where} a result is {value}, without bounds {unbounded}"
    for bounded_effects, all_effects in zip(result.effects, unbounded_run.effects, strict=True):
        if all_effects[: len(bounded_effects)] != bounded_effects:
            yield f"{where} the effects are {bounded_effects}, without bounds {all_effects}"
    yield from keeping(graph, case, outcome, k, name)


def keeping(graph: Graph, case: Case, outcome: Outcome, k: int | None, name: str) -> Iterator[str]:
    """S16, checked on all tokens: iteration j fires no node while iteration j-k is busy, and tokens of iteration j are
    throttled only that long."""
    world = CallbackReplayWorld(lambda: 0)
    state = State(graph, case.arguments, bound=k, is_clocked=name == "waves", world=world)
    bounds = state.loop_bounds
    for number, event in enumerate(outcome.events):
        if event.is_firing and bounds:
            busy = busy_tags(state)
            for at in event.token.tag.self_and_ancestors():
                before = earlier(at, bounds)
                if before is not None and before in busy:
                    yield f"step {number}, under {name}, k = {k}: {event.token.tag} fires while {before} is busy"
                    return
        state.apply(event)
        if state.throttled_tokens and (event.ends_wave or not state.is_clocked):
            busy = busy_tags(state)
            for tag in state.throttled_tokens:
                if earlier(tag, bounds) not in busy:
                    yield f"after step {number}, under {name}, k = {k}: tokens are throttled for {tag} without a reason"
                    return


def earlier(tag: Tag, bounds: Any) -> Tag | None:
    """The iteration that must end before this one begins."""
    k = bounds.get(tag.site)
    if k is None or tag.parent is None or tag.iteration < k:
        return None
    return tag.parent.child(tag.site, tag.iteration - k)


def busy_tags(state: State) -> set[Tag]:
    """The tags at or below which a token is in flight, waits, or is deferred."""
    tags = {token.tag for token in state.flight}
    tags |= {tag for tag, record in state.records.items() if record.waiting_operands}
    tags |= {
        token.tag
        for block in state.cells.blocks.values()
        for deferred in block.deferred_reads.values()
        for token in deferred
    }
    results: set[Tag] = set()
    for tag in tags:
        for at in tag.self_and_ancestors():
            if at in results:
                break
            results.add(at)
    return results


def twice_violations(case: Case, schedules: Sequence[str] = SCHEDULES) -> Iterator[str]:
    """S13: if a run puts a cell twice, every schedule that becomes quiescent is Trapped, with the same description."""
    try:
        graph = lower(unbounded(case.program))
        texts: dict[str, list[str]] = {}
        for name in ("waves", *schedules):
            outcome, world = run(graph, case, name)
            if outcome.status == "Exhausted":
                return
            if name == "waves":
                yield from agreement(case, RunWithEffects(outcome, world), 0)
            texts[name] = [str(trap) for trap in outcome.traps if "more than once" in trap.message]
            if texts[name] and outcome.status != "Trapped":
                yield f"under {name} a cell is put twice, and the run {outcome.status}"
            if texts[name] != texts["waves"]:
                yield f"{name} says {texts[name]}, waves {texts['waves']}"
    except Exception as error:
        yield f"the machine failed: {type(error).__name__}: {error}"
