"""Which machine runs a program: the one that is asked for, or the one that suits what is asked of it.

reference   the meaning of every program; takes schedules by hand and graphs that break rules
fast        the same tokens, in machine code
compiled    no tokens: the program as real loops and calls, in machine code; gives a value, and counts nothing
cuda        the same tokens, a wave at a time, on a graphics processor or on numba's simulator of one; scalars only
auto        begins on the reference, so that small runs wait for no compiler; a run that goes on for long is handed over
            to `fast`, or, where only its value is wanted, begun again as `compiled`; from then on it begins as that
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ...core.errors import Usage
from ...core.frontend.trace.pytree import TreeDef
from ...core.graph.graph import Graph
from ...core.graph.phases import adjoint_dependent_nodes
from ...core.ops.effect_op import resource_of
from ...core.program.program import Program
from ...core.world import World
from ..machine.fire import loop_bounds
from ..machine.schedule import resolve_schedule, schedule
from ..machine.script import FIXED_SCHEDULES, Script, random_seed
from ..machine.state import State, check_seed
from ..outcome.outcome import Outcome, build_outcome
from ..outcome.statistics import Meter
from ..records.keep import KeepOption, log_path, open_event_sink
from .compiled.support import unsupported_option, unsupported_program
from .interrupt import block_interrupt, interrupt_at_once
from .reference import (  # fmt: skip
    Limits,
    Until,
    admit_arguments,
    check_until,
    first_state,
    is_until_met,
    resolve_limits,
    resume,
    run_validated,
)

ENGINES = ("auto", "reference", "fast", "compiled", "cuda")
ENGINE_VARIABLE = "TAGLOOM_ENGINE"
"""The environment variable that names the engine where nobody else does."""
MAX_CORES = 64
WARMUP_FIRINGS = 50_000
"""How many firings the reference makes before `auto` asks a compiler: those of a third of a second, which is what
numba takes to begin."""


class Job(NamedTuple):
    """What is to run: a graph whose rules have been checked, and the program that it came from, if it is known."""

    graph: Graph
    structure: TreeDef
    program: Program | None = None
    is_ill_formed: bool = False
    """Whether the graph breaks rules."""


class RunOptions(NamedTuple):
    """How it is to run. `account` says that more is wanted than a value: firings, measures, residue."""

    schedule: str | Script = "waves"
    until: Until = "quiet"
    limits: Limits | None = None
    keep: KeepOption = None
    seed: int = 0
    k: int | None = None
    world: World | None = None
    account: bool = True
    cores: int | None = None

    def token_engine_options(self) -> dict[str, Any]:
        """Those that every machine with tokens takes."""
        names = ("schedule", "until", "limits", "seed", "k", "world")
        return {name: getattr(self, name) for name in names}


def resolve_engine(engine: str | None) -> str:
    """The engine of this name; for None, that of the environment, or `auto`. Raises Usage for any other name."""
    name = engine or os.environ.get(ENGINE_VARIABLE) or "auto"
    if name not in ENGINES:
        whose = "" if engine else f", which {ENGINE_VARIABLE} says"
        raise Usage(f"no engine is called {name!r}{whose}", required=", ".join(ENGINES))
    return name


def run(job: Job, arguments: Sequence[object], options: RunOptions, engine: str | None = None) -> Outcome:
    """Run a program; how it ends is data, which machine ran it included.

    Raises Usage where the arguments do not fit, an option is none, or the engine cannot do what is asked of it; and
    KeyboardInterrupt where somebody pressed Ctrl-C, and the outcome does not say so.
    """
    name, order = resolve_engine(engine), resolve_schedule(options.schedule)
    if order is not options.schedule:
        options = options._replace(schedule=order)
    check_until(options.until)
    check_seed(options.seed)
    schedule(options.schedule)
    check_cores(name, options)
    if name == "auto":
        return _run_auto(job, arguments, options)
    why = unsupported(name, job, options)
    if why is not None:
        other = "reference" if _unsupported_by_fast(job, options) else "fast"
        raise Usage(f"engine {name} cannot run this", got=why, hint=f'engine="{other}" does, and so does "auto"')
    if name == "compiled":  # whose short runs are told of Ctrl-C by themselves
        return _run_on_compiled(job, arguments, options)
    with interrupt_at_once():
        return _RUNNERS[name](job, arguments, options)


def check_cores(engine_name: str, options: RunOptions) -> None:
    """Raises Usage where several cores are asked for and cannot do what is asked for besides."""
    cores = options.cores
    if cores is None:
        return
    if not isinstance(cores, int) or isinstance(cores, bool) or not 1 <= cores <= MAX_CORES:
        raise Usage("a run is on some cores", required=f"an integer from 1 to {MAX_CORES}", got=repr(cores))
    asked = {"engine": engine_name, "schedule": options.schedule, "until": options.until, "keep": options.keep}
    wanted = {"engine": "fast", "schedule": "waves", "until": "quiet", "keep": None}
    for option, given in asked.items():
        if given != wanted[option]:
            required = f"{option}={wanted[option]!r}"
            raise Usage("a run cannot have several cores so", required=required, got=f"{option}={given!r}")


def unsupported(engine: str, job: Job, options: RunOptions) -> str | None:
    """Why an engine cannot do what is asked of it, said before it begins; None where it can."""
    match engine:
        case "fast":
            return _unsupported_by_fast(job, options)
        case "compiled":
            return _unsupported_by_compiled(job, options)
        case "cuda":
            return _unsupported_by_cuda(job, options)
    return None


def _numba_unavailable() -> str | None:
    off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return "the environment says NUMBA_DISABLE_JIT, and numba compiles nothing" if off else None


def _unsupported_by_fast(subject: Job, options: RunOptions) -> str | None:
    if _numba_unavailable() is not None:
        return _numba_unavailable()
    if subject.is_ill_formed:
        return "the graph breaks rules"
    name = options.schedule
    if not isinstance(name, str) or (name not in FIXED_SCHEDULES and random_seed(name) is None):
        return "it takes tokens in the order of fifo, lifo, waves or random:SEED"
    if loop_bounds(subject.graph, options.k) and adjoint_dependent_nodes(subject.graph):
        return "where iterations are bounded it does not tell tokens of the reverse pass from others"
    return None


def _unsupported_by_compiled(subject: Job, options: RunOptions) -> str | None:
    if subject.program is None:
        return "it needs the program that a graph came from"
    if options.k is not None:
        return "it runs one iteration after another, and knows no bounds on them"
    why = unsupported_option(options.schedule, options.until, options.keep) or _numba_unavailable()
    return why or (None if _has_compiled_code(subject.program) else unsupported_program(subject.program))


def _unsupported_by_cuda(subject: Job, options: RunOptions) -> str | None:
    from .cuda.run import unsupported

    if subject.is_ill_formed:
        return "the graph breaks rules"
    names = ("schedule", "until", "keep", "k")
    return unsupported(subject.graph, {name: getattr(options, name) for name in names})


def _run_on_reference(subject: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
    return run_validated(
        subject.graph,
        arguments,
        keep=options.keep,
        structure=subject.structure,
        is_ill_formed=subject.is_ill_formed,
        **options.token_engine_options(),
    )


def _run_on_fast(subject: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
    if options.cores is None:
        return _run_on_fast_after(subject, arguments, options, 0.0)
    from .fast.parallel.run import run_on_cores

    return run_on_cores(
        options.cores, subject.graph, arguments, structure=subject.structure, **options.token_engine_options()
    )


def _run_on_fast_after(subject: Job, arguments: Sequence[object], options: RunOptions, spent: float) -> Outcome:
    """As `fast`, after so many seconds that count as this run's."""
    from .fast.run import run_fast

    asked = {"structure": subject.structure, "keep": options.keep, "spent": spent, **options.token_engine_options()}
    return run_fast(subject.graph, arguments, **asked)


def _run_on_compiled(subject: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
    """As `compiled`, and what only a machine with tokens can tell, as `fast`: nothing has been done to the world."""
    compiled = _compiled_module()
    assert subject.program is not None
    compiled.prepared(subject.program)
    began = time.monotonic()
    outcome: Outcome | None = compiled.run_compiled(
        subject.program,
        subject.graph,
        arguments,
        limits=options.limits,
        structure=subject.structure,
        seed=options.seed,
        world=options.world,
    )
    if outcome is None:
        with interrupt_at_once():
            return _run_on_fast_after(subject, arguments, options, time.monotonic() - began)
    return outcome


@cache
def _compiled_module() -> Any:
    """The module that runs programs as `compiled`. It imports numba, and Ctrl-C waits meanwhile."""
    with block_interrupt():
        return import_module(f"{__package__}.compiled.run")


def _run_on_cuda(subject: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
    from .cuda.run import run_cuda

    limits, structure = options.limits, subject.structure
    return run_cuda(subject.graph, arguments, limits=limits, structure=structure, seed=options.seed)


_RUNNERS = {"reference": _run_on_reference, "fast": _run_on_fast, "cuda": _run_on_cuda}


def _run_auto(subject: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
    """As `compiled` where its machine code is at hand, or begun on the reference."""
    if _unsupported_by_fast(subject, options) is not None:
        with interrupt_at_once():
            return _run_on_reference(subject, arguments, options)
    log_path(options.keep)
    if not _has_usable_code(subject, options):
        with interrupt_at_once():
            outcome = _start_on_reference(subject, arguments, options)
        if outcome is not None:
            return outcome
    return _run_compiled_or_fast(subject, arguments, options)


def _start_on_reference(subject: Job, arguments: Sequence[object], options: RunOptions) -> Outcome | None:
    """Begin on the reference, and go on with what is faster if the run is long; None where it is to begin again as
    `compiled`."""
    began, limits, admitted = (
        time.monotonic(),
        resolve_limits(options.limits),
        admit_arguments(subject.graph, arguments),
    )
    name = str(options.schedule)
    state = first_state(subject.graph, admitted, name, options.seed, options.k, options.world)
    with open_event_sink(options.keep, subject.graph, admitted, name, options.seed, options.k) as kept:
        meter = Meter(state, is_clocked=state.is_clocked)

        fits = cache(lambda: _can_hand_over(state))

        def is_enough() -> bool:
            return (state.firings >= WARMUP_FIRINGS and fits()) or is_until_met(options.until, state)

        watch = [meter.observe, *kept.observers]
        stopped = resume(state, schedule(name), limits, is_enough, watch, is_ill_formed=False)
        if stopped is not None or not state.flight or is_until_met(options.until, state):
            details: dict[str, Any] = {"schedule": name, "engine": "reference", "structure": subject.structure}
            details |= kept.outcome_fields(state.steps)
            return kept.finish(build_outcome(state, meter.stats(), stopped, options.until, **details))
        if _can_restart_as_compiled(subject, options):
            return None
        from .fast.run import resume_to_outcome

        spent = time.monotonic() - began
        return resume_to_outcome(state, name, options.until, limits, subject.structure, kept, meter=meter, spent=spent)


def _can_hand_over(state: State) -> bool:
    """Whether a run can be handed over to `fast`: an image has room for most graphs, not for all."""
    from ..image.build import cached_image

    try:
        cached_image(state.graph, state.loop_bounds)
    except Usage:
        return False
    return True


def _has_usable_code(subject: Job, options: RunOptions) -> bool:
    """Whether the machine code of a program is in memory, and does what is asked for."""
    return _has_compiled_code(subject.program) and _can_restart_as_compiled(subject, options)


def _has_compiled_code(program: Program | None) -> bool:
    compiled = sys.modules.get(f"{__package__}.compiled.run")  # which takes a third of a second to import
    is_ready = getattr(compiled, "is_ready", None)  # another thread may be importing it
    return is_ready is not None and is_ready(program)


def _run_compiled_or_fast(subject: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
    """As `compiled`, and where its stack is too short, as `fast`."""
    outcome = _run_on_compiled(subject, arguments, options)
    from .compiled.run import is_stack_exhausted

    if not is_stack_exhausted(outcome):
        return outcome
    with interrupt_at_once():
        return _run_on_fast(subject, arguments, options)


def _can_restart_as_compiled(subject: Job, options: RunOptions) -> bool:
    """Whether a run may be begun again as `compiled`: only its value is wanted, and it has done nothing to the
    world."""
    if options.account or options.limits is not None or options.keep is not None:
        return False
    silent = all(resource_of(node.op) is None for node in subject.graph.nodes)
    return silent and _unsupported_by_compiled(subject, options) is None
