"""The laws of the token machine, as one function: every run of a program, under every schedule, keeps them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from support.generators.generator import Case
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.evaluate import evaluate
from tagloom.core.value import fingerprint, is_same_value
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.outcome.outcome import Outcome

LIMITS = Limits(firings=2_000)
SCHEDULES = ("fifo", "lifo", *(f"random:{seed}" for seed in range(20)))


def firings(outcome: Outcome) -> Counter[Any]:
    """The multiset of firings (node, tag, inputs, outputs, trap), with values by their bits."""
    return Counter(map(_firing, filter(lambda event: event.is_firing, outcome.events)))


def _firing(event: Event) -> Any:
    inputs = tuple(map(fingerprint, event.inputs or ()))
    outputs = tuple((output, fingerprint(value)) for output, value in event.outputs)
    return event.token.node, event.token.tag, inputs, outputs, event.trap


def results(outcome: Outcome) -> Any:
    traps = [(trap.message, str(trap.tag), trap.got) for trap in outcome.traps]
    return outcome.status, [None if r is None else fingerprint(r) for r in outcome.results], traps


def violations(case: Case, schedules: Sequence[str] = SCHEDULES, limits: Limits = LIMITS) -> Iterator[str]:
    """Every law that this program breaks on the machine; none if the run exceeds the limits."""
    try:
        graph = lower(case.program)
        yield from (f"lowering breaks a rule: {problem}" for problem in graph_problems(graph))
        ideal = run_graph(graph, case.arguments, keep="events", limits=limits, unchecked=True)
        if ideal.status == "Exhausted":
            yield from divergence(case, limits)
            return
        yield from agreement(case, ideal)
        yield from cleanliness(ideal)
        yield from reversal(graph, case.arguments, "random:3")
        expected = results(ideal), firings(ideal)
        for name in schedules:
            run = run_graph(graph, case.arguments, schedule=name, keep="events", limits=limits, unchecked=True)
            yield from cleanliness(run)
            if (results(run), firings(run)) != expected:
                yield f"{name} differs from waves: {results(run)} and {results(ideal)}"
    except Exception as error:
        yield f"the machine failed: {type(error).__name__}: {error}"


def divergence(case: Case, limits: Limits) -> Iterator[str]:
    """If the machine exceeds its limit of firings, the evaluator does not return after a few nodes."""
    few = int(limits.max_firings) // 100
    if evaluate(case.program, case.arguments, max_steps=few).status == "Returned":
        yield f"the machine took over {limits.firings} firings, and the evaluator returned after at most {few} nodes"


def agreement(case: Case, run: Outcome) -> Iterator[str]:
    """The machine and the big-step evaluator have the same results, or the same first trap."""
    evaluation = evaluate(case.program, case.arguments)
    if evaluation.status == "Returned" and evaluation.results is not None:
        if run.status != "Returned" or not all(map(is_same_value, run.results, evaluation.results)):
            yield f"the evaluator returned {evaluation.results}, the machine {run.status} {run.results}"
    elif evaluation.status == "Trapped" and evaluation.trap is not None:
        node, message = evaluation.trap
        if not run.traps or run.traps[0].message != f"{message} at node {node}":
            yield f"the evaluator met {evaluation.trap}, the machine {run.traps[:1]}"
    else:
        yield f"the machine became quiet, the evaluator was {evaluation.status}"


def cleanliness(run: Outcome) -> Iterator[str]:
    """A run without traps leaves no residue; no node fires twice under a tag."""
    if run.status == "Returned" and (run.residue or run.open_activations):
        yield f"residue {run.residue}, {run.open_activations} open activations"
    if run.status in ("Broken", "Deadlocked"):
        yield f"{run.status}: {run.error}"
    tags = {event.token.tag for event in run.events}
    for tag in tags:
        if tag.iteration and tag.parent is not None and tag.parent.child(tag.site, tag.iteration - 1) not in tags:
            yield f"T3: there is no iteration before {tag}"
    twice = [key for key, n in Counter((e.token.node, e.token.tag) for e in run.events if e.is_firing).items() if n > 1]
    if twice:
        yield f"fired twice under a tag: {twice[0]}"


def reversal(graph: Graph, arguments: Sequence[Any], name: str, most: int = 100) -> Iterator[str]:
    """`revert` undoes `apply`, for every single step and for random segments; applying the events again gives the same
    state."""
    state, pick, dice = State(graph, arguments), schedule(name), random.Random(name)
    events: list[Event] = []
    snapshots = [state.snapshot()]
    while state.flight and len(events) < most:
        event = step(state, pick(state))
        state.apply(event)
        events.append(event)
        snapshots.append(state.snapshot())
        back = dice.randint(1, len(events)) if dice.random() < 0.05 else 1
        for undone in reversed(events[-back:]):
            state.revert(undone)
        if state.snapshot() != snapshots[-1 - back]:
            yield f"reverting {back} events after {len(events)} did not restore the state"
            return
        for event_ in events[-back:]:
            state.apply(event_)
        if state.snapshot() != snapshots[-1]:
            yield f"applying {back} events again after {len(events)} led elsewhere"
            return
