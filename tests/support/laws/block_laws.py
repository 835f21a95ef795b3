"""The laws of blocks: the token machine with blocks is the token machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random

from support.engines.block_interpreter import interpreted_blocks
from support.generators.effect_programs import Witness
from support.generators.generator import Case
from support.laws.fast_laws import comparable_fields, random_options, start_fast_run, with_value_bits
from tagloom.core.errors import Exhausted
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.value import Value
from tagloom.interp.engines.fast.block_generation import block_program
from tagloom.interp.engines.fast.block_loader import block_loader
from tagloom.interp.engines.fast.block_program import BlockProgram, LoadedBlocks
from tagloom.interp.engines.fast.run import FastRun, delivery_order
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import drive, first_state, run_graph
from tagloom.interp.machine.schedule import schedule as schedule_named
from tagloom.interp.machine.state import State

LIMITS = Limits(firings=1_500)
STEPS = (64, 65, 100, 200, 333, 500, 1_000)
Loader = Callable[[BlockProgram], LoadedBlocks]


def start_block_run(
    graph: Graph,
    arguments: Sequence[Value],
    schedule: str,
    limits: Limits,
    world: Witness,
    load: Loader,
    **options: object,
) -> FastRun:
    """A run that uses blocks from its first step, if its image has any."""
    run = start_fast_run(graph, arguments, schedule, limits, world, **options)
    order = delivery_order(schedule)
    assert order is not None
    program = block_program(run.store.image, order[0])
    block_loader(run.store.image, order[0]).loaded_blocks = None if program is None else load(program)
    run.allow_blocks()
    return run


def block_violations(
    case: Case,
    dice: Random,
    schedule: str = "lifo",
    *,
    limits: Limits = LIMITS,
    load: Loader = interpreted_blocks,
    tries: int = 4,
) -> Iterator[str]:
    """Every law that this program breaks with blocks: outcomes, also at limits that are just met or just missed, and
    states after any number of steps, are those of the reference."""
    graph = lower(case.program)
    yield from outcome_violations(graph, case.arguments, schedule, limits, load)
    for steps in STEPS:
        yield from state_violations(graph, case.arguments, schedule, steps, limits, load)
    stats = run_graph(graph, case.arguments, limits=limits, world=Witness(), schedule=schedule).stats
    for _ in range(tries):
        sample = random_options(dice, stats)
        options = {"until": sample.until, "seed": sample.seed}
        yield from outcome_violations(graph, case.arguments, schedule, sample.limits, load, **options)


def outcome_violations(
    graph: Graph, arguments: Sequence[Value], schedule: str, limits: Limits, load: Loader, **options: object
) -> Iterator[str]:
    """Where a whole run with blocks differs from one on the reference."""
    reference = run_graph(graph, arguments, schedule=schedule, limits=limits, world=Witness(), **options)  # type: ignore
    expected = comparable_fields(reference)
    run = start_block_run(graph, arguments, schedule, limits, Witness(), load, **options)
    actual = comparable_fields(run.outcome(run.resume(), flat_treedef(len(graph.results))))
    for key, value in expected.items():
        if actual[key] != value:
            yield f"{limits} {options}: {key} is {actual[key]} and not {value}"


def state_violations(
    graph: Graph, arguments: Sequence[Value], schedule: str, steps: int, limits: Limits, load: Loader
) -> Iterator[str]:
    """After this many steps the state is the reference's."""
    run = start_block_run(graph, arguments, schedule, limits, Witness(), load)
    state = first_state(graph, list(arguments), schedule, world=Witness())
    stopped = run.resume(steps)
    try:
        made = len(list(islice(drive(state, schedule_named(schedule), limits), steps)))
    except Exhausted as error:
        if str(error) != str(stopped):
            yield f"the reference ended with {error}, the machine with blocks with {stopped}"
        return
    snapshot = unclocked_snapshot if schedule == "lifo" else comparable_snapshot
    if snapshot(run.state()) != snapshot(state):
        yield f"the states differ after {made} steps"


def unclocked_snapshot(state: State) -> object:
    """A state without its place in a wave, which blocks under `lifo` do not count, and without which traps ended a
    wave."""
    state.wave_remaining = 0
    state.trap_events = [event._replace(ends_wave=False) for event in state.trap_events]
    return comparable_snapshot(state)


def comparable_snapshot(state: State) -> object:
    return with_value_bits(state.snapshot())
