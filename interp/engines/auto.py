"""The engine `auto`: an engine over others.

A run begins on the reference, so that small runs wait for no compiler. A long run moves to `fast`, or, where the caller
wants only its value, starts again on `compiled`; from then on that program starts on `compiled` directly.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

from ...core.errors import Crash
from ...core.ops.effects import resource_of
from ..machine.schedule import schedule
from ..outcome.outcome import Outcome, build_outcome
from ..outcome.statistics import Meter
from ..records.keep import log_path, open_event_sink
from . import reference
from .compiled import engine as compiled_engine
from .fast import engine as fast_engine
from .interrupt import interrupt_at_once
from .protocol import Job, RunOptions, resolve_limits
from .reference import admit_arguments, first_state, is_until_met, resume

WARMUP_FIRINGS = 50_000
"""How many firings the reference makes before `auto` compiles: about a third of a second, as long as numba takes to
start."""


class AutoEngine:
    """The engine `auto`: runs every job on the engine that suits it."""

    name = "auto"

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        return None

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        if fast_engine.ENGINE.unsupported(job, options) is not None:
            return reference.ENGINE.run(job, arguments, options)
        log_path(options.keep)
        if not _has_usable_machine_code(job, options):
            with interrupt_at_once():
                outcome = start_on_reference(job, arguments, options)
            if outcome is not None:
                return outcome
        try:
            outcome = compiled_engine.ENGINE.run(job, arguments, options)
        except Crash as crash:
            warnings.warn(f"engine auto continues on fast: {crash}", RuntimeWarning, stacklevel=2)
            return fast_engine.ENGINE.run(job, arguments, options)
        if compiled_engine.ran_out_of_stack(outcome):
            return fast_engine.ENGINE.run(job, arguments, options)
        return outcome


def start_on_reference(job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome | None:
    """Begin on the reference, and move a long run to `fast`; None if the run should start again on `compiled`."""
    start_time, limits = time.monotonic(), resolve_limits(options.limits)
    admitted = admit_arguments(job.graph, arguments)
    name = str(options.schedule)
    state = first_state(job.graph, admitted, name, options.seed, options.k, options.world)
    with open_event_sink(options.keep, job.graph, admitted, name, options.seed, options.k) as sink:
        meter = Meter(state, is_clocked=state.is_clocked)
        can_hand_over = cache(lambda: fast_engine.can_take_over(state))

        def is_enough() -> bool:
            return (state.firings >= WARMUP_FIRINGS and can_hand_over()) or is_until_met(options.until, state)

        observers = [meter.observe, *sink.observers]
        stop_error = resume(state, schedule(name), limits, is_enough, observers, is_ill_formed=False)
        if stop_error is not None or not state.flight or is_until_met(options.until, state):
            details: dict[str, Any] = {"schedule": name, "engine": "reference", "structure": job.structure}
            details |= sink.outcome_fields(state.steps)
            return sink.finish(build_outcome(state, meter.stats(), stop_error, options.until, **details))
        if can_restart_as_compiled(job, options):
            return None
        from .fast.run import resume_to_outcome

        elapsed = time.monotonic() - start_time
        return resume_to_outcome(state, name, options.until, limits, job.structure, sink, meter=meter, elapsed=elapsed)


def _has_usable_machine_code(job: Job, options: RunOptions) -> bool:
    """Whether the machine code of a program is in memory and supports the options."""
    return compiled_engine.has_machine_code(job.program) and can_restart_as_compiled(job, options)


def can_restart_as_compiled(job: Job, options: RunOptions) -> bool:
    """Whether a run may start again on `compiled`: the caller wants only its value, and the run has no effects."""
    if options.account or options.limits is not None or options.keep is not None:
        return False
    if compiled_engine.compile_failure(job.program) is not None:
        return False
    has_no_effects = all(resource_of(node.op) is None for node in job.graph.nodes)
    return has_no_effects and compiled_engine.ENGINE.unsupported(job, options) is None


ENGINE = AutoEngine()
