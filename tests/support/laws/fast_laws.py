"""The laws of the fast engine: how a run on it must agree with one on the reference machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import numpy as np
from support.generators.effect_programs import Witness
from support.generators.generator import Case
from tagloom.core.errors import Exhausted
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.value import Value, fingerprint
from tagloom.interp.engines.fast.run import FastRun
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.protocol import UNTIL_CHOICES, Until
from tagloom.interp.engines.reference import drive, first_state, run_graph
from tagloom.interp.image.image import PortColumn
from tagloom.interp.machine.event import Token
from tagloom.interp.machine.schedule import schedule
from tagloom.interp.outcome.outcome import Outcome
from tagloom.interp.outcome.statistics import Meter, Stats

LIMITS = Limits(firings=1_500)
SCHEDULES = ("waves", "fifo", "lifo", "random:7")


def comparable_fields(outcome: Outcome) -> dict[str, Any]:
    """All fields of an outcome except the engine."""
    return {
        "status": outcome.status,
        "results": [None if result is None else fingerprint(result) for result in outcome.results],
        "traps": list(map(str, outcome.traps)),
        "error": str(outcome.error),
        "residue": [(*each[:3], fingerprint(each.value), each.blocked_on) for each in outcome.residue],
        "left": len(outcome.residue),
        "open": outcome.open_activations,
        "stats": outcome.stats,
        "trapped": [with_value_bits(event[:7]) for event in outcome.trap_events],
    }


def start_fast_run(
    graph: Graph, arguments: Sequence[Value], name: str, limits: Limits, world: Witness, **options: Any
) -> FastRun:
    """A run on the fast engine that has not made a step; `options` are those of `first_state`."""
    until = options.pop("until", "quiet")
    return FastRun(first_state(graph, list(arguments), name, world=world, **options), name, until=until, limits=limits)


def run_fast(
    graph: Graph, arguments: Sequence[Value], name: str, limits: Limits, world: Witness, **options: Any
) -> Outcome:
    """A run on the fast engine."""
    run = start_fast_run(graph, arguments, name, limits, world, **options)
    return run.outcome(run.resume(), flat_treedef(len(graph.results)))


def violations(
    case: Case,
    schedules: Sequence[str] = SCHEDULES,
    limits: Limits = LIMITS,
    handovers: Sequence[int] = (0, 7, 40, 300),
) -> Iterator[str]:
    """Every law that this program breaks on the fast engine."""
    graph = lower(case.program)
    for name in schedules:
        differ = list(differences(graph, case.arguments, RunOptionsSample(name, limits)))
        yield from differ
        if differ:
            return
    for name in schedules:
        expected = comparable_fields(run_graph(graph, case.arguments, schedule=name, limits=limits, world=Witness()))
        for steps in handovers:
            yield from export_violations(graph, case.arguments, name, steps, limits)
            yield from import_violations(graph, case.arguments, name, steps, limits, expected)


def step_violations(case: Case, name: str, steps: int, limits: Limits = LIMITS) -> Iterator[str]:
    """Both machines send the same tokens at each step, which results alone do not show."""
    graph = lower(case.program)
    run = start_fast_run(graph, case.arguments, name, limits, Witness())
    state = first_state(graph, list(case.arguments), name, world=Witness())
    try:
        for event in islice(drive(state, schedule(name), limits), steps):
            run.resume(1)
            joining = [token for token in (*event.sent, *event.woken) if token.node >= 0 and not event.is_throttled]
            newest = newest_tokens(run, len(joining) + len(event.released))[: len(joining)]
            if joining and with_value_bits(newest) != with_value_bits(joining):
                yield f"{name}: step {state.steps} is {event}, and {newest} in the fast engine"
                return
    except Exhausted:
        return


def newest_tokens(run: FastRun, count: int) -> list[Token]:
    """The tokens in flight that were sent last."""
    store, image = run.store, run.store.image
    results = []
    for at, frame, word in list(store.flight())[-count:]:
        number = int(image.ports[at, PortColumn.NODE])
        port, value = at - image.first_port[number], store.to_value(word, image.port_types[at])
        results.append(Token(number, port, store.tag(frame), value))
    return results


class RunOptionsSample(NamedTuple):
    """The options of a run."""

    schedule: str
    limits: Limits
    until: Until = "quiet"
    seed: int = 0
    k: int | None = None
    callbacks: Mapping[str, Callable[..., Any]] | None = None


def differences(graph: Graph, arguments: Sequence[Value], sample: RunOptionsSample) -> Iterator[str]:
    """Where a whole run on the fast engine differs from one on the reference: in its outcome, or in its effects."""
    name, limits, *_ = sample
    options: dict[str, Any] = {"until": sample.until, "seed": sample.seed, "k": sample.k}
    worlds = Witness(sample.callbacks), Witness(sample.callbacks)
    expected = comparable_fields(run_graph(graph, arguments, schedule=name, limits=limits, world=worlds[0], **options))
    got = comparable_fields(run_fast(graph, arguments, name, limits, worlds[1], **options))
    for key, value in expected.items():
        if got[key] != value:
            yield f"{sample}: {key} is {got[key]} and not {value}"
    if worlds[0].lines != worlds[1].lines or with_value_bits(worlds[0].calls) != with_value_bits(worlds[1].calls):
        yield f"{sample}: what it did to the world differs"


def option_violations(case: Case, dice: Random, tries: int) -> Iterator[str]:
    """Where limits, `until`, seeds and bounds, chosen at random, have another effect on the fast engine."""
    graph = lower(case.program)
    stats = run_graph(graph, case.arguments, limits=LIMITS, world=Witness()).stats
    for _ in range(tries):
        yield from differences(graph, case.arguments, random_options(dice, stats))


def random_options(dice: Random, stats: Stats) -> RunOptionsSample:
    """Random options for a run with these statistics: its limits are often exactly met, or missed by one."""
    most = {
        "firings": stats.firings,
        "tokens": stats.largest_flight + stats.largest_store,
        "depth": stats.deepest_tag,
    }
    limit_names = dice.choice(([], ["firings"], ["tokens"], ["depth"], list(most)))
    limit_values = {
        name: dice.choice((dice.randint(0, most[name] + 1), most[name], max(most[name] - 1, 0))) for name in limit_names
    }
    limits = Limits(**{"firings": LIMITS.firings, **limit_values})
    name = dice.choice(("waves", "fifo", "lifo", f"random:{dice.randrange(2**64)}"))
    return RunOptionsSample(
        name, limits, dice.choice(UNTIL_CHOICES), dice.choice((0, 2**64 - 1, 7)), dice.choice((None, None, 1, 2, 5))
    )


def export_violations(graph: Graph, arguments: Sequence[Value], name: str, steps: int, limits: Limits) -> Iterator[str]:
    """After this many steps the fast engine's state equals the reference's."""
    run = start_fast_run(graph, arguments, name, limits, Witness())
    state = first_state(graph, list(arguments), name, world=Witness())
    stopped = run.resume(steps)
    try:
        step_count = len(list(islice(drive(state, schedule(name), limits), steps)))
    except Exhausted as error:
        if str(error) != str(stopped):
            yield f"{name}: the reference ended with {error}, the fast engine with {stopped}"
        return
    if with_value_bits(run.state().snapshot()) != with_value_bits(state.snapshot()):
        yield f"{name}: the states differ after {step_count} steps"


def with_value_bits(value: Any) -> Any:
    """A description of a state, with the bits of its values."""
    if isinstance(value, tuple | list):
        return tuple(map(with_value_bits, value))
    return fingerprint(value) if isinstance(value, float | np.ndarray | np.generic) else value


def import_violations(
    graph: Graph, arguments: Sequence[Value], name: str, steps: int, limits: Limits, expected: dict[str, Any]
) -> Iterator[str]:
    """A run that the reference begins and the fast engine continues ends as `expected`: as the reference alone ends
    it."""
    state = first_state(graph, list(arguments), name, world=Witness())
    meter = Meter(state, is_clocked=state.is_clocked)
    try:
        for event in islice(drive(state, schedule(name), limits), steps):
            meter.observe(event)
    except Exhausted:
        return
    run = FastRun(state, name, until="quiet", limits=limits, meter=meter)
    got = comparable_fields(run.outcome(run.resume(), flat_treedef(len(graph.results))))
    for key, value in expected.items():
        if got[key] != value:
            yield f"{name}: taken over after {steps} steps, {key} is {got[key]} and not {value}"
