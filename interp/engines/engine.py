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
from ...core.frontend.trace.pytree import Structure
from ...core.graph.graph import Graph
from ...core.graph.phases import later_nodes
from ...core.ops.effect_op import resource_of
from ...core.program.program import Program
from ...core.world import World
from ..machine.fire import bounds
from ..machine.schedule import resolved, schedule
from ..machine.script import CLOSED, Script, seed_of
from ..machine.state import State, check_seed
from ..outcome.outcome import Outcome, ending
from ..outcome.statistics import Meter
from ..records.keep import Keep, keeping, log_path
from .compiled.support import refused, supports
from .interrupt import held_off, insistent
from .reference import (  # fmt: skip
    Limits,
    Until,
    admit_arguments,
    check_until,
    first_state,
    go_on,
    is_met,
    limits_of,
    run_checked,
)

ENGINES = ("auto", "reference", "fast", "compiled", "cuda")
VARIABLE = "TAGLOOM_ENGINE"
"""The environment variable that names the engine where nobody else does."""
MOST_CORES = 64
WARM = 50_000
"""How many firings the reference makes before `auto` asks a compiler: those of a third of a second, which is what
numba takes to begin."""


class Subject(NamedTuple):
    """What is to run: a graph whose rules have been checked, and the program that it came from, if it is known."""

    graph: Graph
    structure: Structure
    program: Program | None = None
    broken: bool = False
    """Whether the graph breaks rules."""


class Options(NamedTuple):
    """How it is to run. `account` says that more is wanted than a value: firings, measures, residue."""

    schedule: str | Script = "waves"
    until: Until = "quiet"
    limits: Limits | None = None
    keep: Keep = None
    seed: int = 0
    k: int | None = None
    world: World | None = None
    account: bool = True
    cores: int | None = None

    def of_tokens(self) -> dict[str, Any]:
        """Those that every machine with tokens takes."""
        names = ("schedule", "until", "limits", "seed", "k", "world")
        return {name: getattr(self, name) for name in names}


def named(engine: str | None) -> str:
    """The engine of this name; for None, that of the environment, or `auto`. Raises Usage for any other name."""
    name = engine or os.environ.get(VARIABLE) or "auto"
    if name not in ENGINES:
        whose = "" if engine else f", which {VARIABLE} says"
        raise Usage(f"no engine is called {name!r}{whose}", required=", ".join(ENGINES))
    return name


def run(subject: Subject, arguments: Sequence[object], options: Options, engine: str | None = None) -> Outcome:
    """Run a program; how it ends is data, which machine ran it included.

    Raises Usage where the arguments do not fit, an option is none, or the engine cannot do what is asked of it; and
    KeyboardInterrupt where somebody pressed Ctrl-C, and the outcome does not say so.
    """
    name, order = named(engine), resolved(options.schedule)
    if order is not options.schedule:
        options = options._replace(schedule=order)
    check_until(options.until)
    check_seed(options.seed)
    schedule(options.schedule)
    check_cores(name, options)
    if name == "auto":
        return _suited(subject, arguments, options)
    why = refusal(name, subject, options)
    if why is not None:
        other = "reference" if _no_fast(subject, options) else "fast"
        raise Usage(f"engine {name} cannot run this", got=why, hint=f'engine="{other}" does, and so does "auto"')
    if name == "compiled":  # whose short runs are told of Ctrl-C by themselves
        return _on_compiled(subject, arguments, options)
    with insistent():
        return _RUN[name](subject, arguments, options)


def check_cores(engine: str, options: Options) -> None:
    """Raises Usage where several cores are asked for and cannot do what is asked for besides."""
    cores = options.cores
    if cores is None:
        return
    if not isinstance(cores, int) or isinstance(cores, bool) or not 1 <= cores <= MOST_CORES:
        raise Usage("a run is on some cores", required=f"an integer from 1 to {MOST_CORES}", got=repr(cores))
    asked = {"engine": engine, "schedule": options.schedule, "until": options.until, "keep": options.keep}
    wanted = {"engine": "fast", "schedule": "waves", "until": "quiet", "keep": None}
    for option, given in asked.items():
        if given != wanted[option]:
            required = f"{option}={wanted[option]!r}"
            raise Usage("a run cannot have several cores so", required=required, got=f"{option}={given!r}")


def refusal(engine: str, subject: Subject, options: Options) -> str | None:
    """Why an engine cannot do what is asked of it, said before it begins; None where it can."""
    match engine:
        case "fast":
            return _no_fast(subject, options)
        case "compiled":
            return _no_compiled(subject, options)
        case "cuda":
            return _no_cuda(subject, options)
    return None


def _no_numba() -> str | None:
    off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return "the environment says NUMBA_DISABLE_JIT, and numba compiles nothing" if off else None


def _no_fast(subject: Subject, options: Options) -> str | None:
    if _no_numba() is not None:
        return _no_numba()
    if subject.broken:
        return "the graph breaks rules"
    name = options.schedule
    if not isinstance(name, str) or (name not in CLOSED and seed_of(name) is None):
        return "it takes tokens in the order of fifo, lifo, waves or random:SEED"
    if bounds(subject.graph, options.k) and later_nodes(subject.graph):
        return "where iterations are bounded it does not tell tokens of the reverse pass from others"
    return None


def _no_compiled(subject: Subject, options: Options) -> str | None:
    if subject.program is None:
        return "it needs the program that a graph came from"
    if options.k is not None:
        return "it runs one iteration after another, and knows no bounds on them"
    why = refused(options.schedule, options.until, options.keep) or _no_numba()
    return why or (None if _is_ready(subject.program) else supports(subject.program))


def _no_cuda(subject: Subject, options: Options) -> str | None:
    from .cuda.run import supports

    if subject.broken:
        return "the graph breaks rules"
    names = ("schedule", "until", "keep", "k")
    return supports(subject.graph, {name: getattr(options, name) for name in names})


def _on_reference(subject: Subject, arguments: Sequence[object], options: Options) -> Outcome:
    return run_checked(
        subject.graph,
        arguments,
        keep=options.keep,
        structure=subject.structure,
        broken=subject.broken,
        **options.of_tokens(),
    )


def _on_fast(subject: Subject, arguments: Sequence[object], options: Options) -> Outcome:
    if options.cores is None:
        return _begun_on_fast(subject, arguments, options, 0.0)
    from .fast.parallel.run import run_on_cores

    return run_on_cores(options.cores, subject.graph, arguments, structure=subject.structure, **options.of_tokens())


def _begun_on_fast(subject: Subject, arguments: Sequence[object], options: Options, spent: float) -> Outcome:
    """As `fast`, after so many seconds that count as this run's."""
    from .fast.run import run_fast

    asked = {"structure": subject.structure, "keep": options.keep, "spent": spent, **options.of_tokens()}
    return run_fast(subject.graph, arguments, **asked)


def _on_compiled(subject: Subject, arguments: Sequence[object], options: Options) -> Outcome:
    """As `compiled`, and what only a machine with tokens can tell, as `fast`: nothing has been done to the world."""
    compiled = _compiled()
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
        with insistent():
            return _begun_on_fast(subject, arguments, options, time.monotonic() - began)
    return outcome


@cache
def _compiled() -> Any:
    """The module that runs programs as `compiled`. It imports numba, and Ctrl-C waits meanwhile."""
    with held_off():
        return import_module(f"{__package__}.compiled.run")


def _on_cuda(subject: Subject, arguments: Sequence[object], options: Options) -> Outcome:
    from .cuda.run import run_cuda

    limits, structure = options.limits, subject.structure
    return run_cuda(subject.graph, arguments, limits=limits, structure=structure, seed=options.seed)


_RUN = {"reference": _on_reference, "fast": _on_fast, "cuda": _on_cuda}


def _suited(subject: Subject, arguments: Sequence[object], options: Options) -> Outcome:
    """As `compiled` where its machine code is at hand, or begun on the reference."""
    if _no_fast(subject, options) is not None:
        with insistent():
            return _on_reference(subject, arguments, options)
    log_path(options.keep)
    if not _is_at_hand(subject, options):
        with insistent():
            outcome = _begun(subject, arguments, options)
        if outcome is not None:
            return outcome
    return _for_its_value(subject, arguments, options)


def _begun(subject: Subject, arguments: Sequence[object], options: Options) -> Outcome | None:
    """Begin on the reference, and go on with what is faster if the run is long; None where it is to begin again as
    `compiled`."""
    began, limits, admitted = time.monotonic(), limits_of(options.limits), admit_arguments(subject.graph, arguments)
    name = str(options.schedule)
    state = first_state(subject.graph, admitted, name, options.seed, options.k, options.world)
    with keeping(options.keep, subject.graph, admitted, name, options.seed, options.k) as kept:
        meter = Meter(state, clocked=state.clocked)

        fits = cache(lambda: _has_image(state))

        def is_enough() -> bool:
            return (state.firings >= WARM and fits()) or is_met(options.until, state)

        watch = [meter.see, *kept.watchers]
        stopped = go_on(state, schedule(name), limits, is_enough, watch, broken=False)
        if stopped is not None or not state.flight or is_met(options.until, state):
            details: dict[str, Any] = {"schedule": name, "engine": "reference", "structure": subject.structure}
            details |= kept.said(state.steps)
            return kept.ended(ending(state, meter.stats(), stopped, options.until, **details))
        if _may_begin_again(subject, options):
            return None
        from .fast.run import finished

        spent = time.monotonic() - began
        return finished(state, name, options.until, limits, subject.structure, kept, meter=meter, spent=spent)


def _has_image(state: State) -> bool:
    """Whether a run can be handed over to `fast`: an image has room for most graphs, not for all."""
    from ..image.build import known_image

    try:
        known_image(state.graph, state.bounds)
    except Usage:
        return False
    return True


def _is_at_hand(subject: Subject, options: Options) -> bool:
    """Whether the machine code of a program is in memory, and does what is asked for."""
    return _is_ready(subject.program) and _may_begin_again(subject, options)


def _is_ready(program: Program | None) -> bool:
    compiled = sys.modules.get(f"{__package__}.compiled.run")  # which takes a third of a second to import
    is_ready = getattr(compiled, "is_ready", None)  # another thread may be importing it
    return is_ready is not None and is_ready(program)


def _for_its_value(subject: Subject, arguments: Sequence[object], options: Options) -> Outcome:
    """As `compiled`, and where its stack is too short, as `fast`."""
    outcome = _on_compiled(subject, arguments, options)
    from .compiled.run import is_too_deep

    if not is_too_deep(outcome):
        return outcome
    with insistent():
        return _on_fast(subject, arguments, options)


def _may_begin_again(subject: Subject, options: Options) -> bool:
    """Whether a run may be begun again as `compiled`: only its value is wanted, and it has done nothing to the
    world."""
    if options.account or options.limits is not None or options.keep is not None:
        return False
    silent = all(resource_of(node.op) is None for node in subject.graph.nodes)
    return silent and _no_compiled(subject, options) is None
