"""The engine `fast`: the tokens of the reference machine, in machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....core.errors import Usage
from ....core.graph.nesting import adjoint_dependent_nodes
from ...machine.fire import loop_bounds
from ...machine.schedule import FIXED_SCHEDULES, random_seed
from ...machine.state import State
from ...outcome.outcome import Outcome
from ..interrupt import import_slowly, interrupt_at_once
from ..jit.cache import numba_unavailable
from ..protocol import Job, RunOptions


class FastEngine:
    """The engine `fast`: runs graphs that keep the rules, on one or several cores. Imports numba at the first run."""

    name = "fast"
    has_tokens = True
    parallel_options: ClassVar = {"schedule": "waves", "until": "quiet", "keep": None}

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        reason = numba_unavailable()
        if reason is not None:
            return reason
        if job.graph.has_dead_tokens:
            return "only the reference has dead tokens"
        if job.is_ill_formed:
            return "the graph breaks rules"
        schedule = options.schedule
        if not isinstance(schedule, str) or (schedule not in FIXED_SCHEDULES and random_seed(schedule) is None):
            return "it supports the schedules fifo, lifo, waves and random:SEED"
        if loop_bounds(job.graph, options.k) and adjoint_dependent_nodes(job.graph):
            return "it does not support k-bounds together with gradients"
        return None

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        with interrupt_at_once():
            if options.cores is None:
                return run_on_one_core(job, arguments, options)
            run_on_cores = import_slowly(f"{__package__}.parallel.run").run_on_cores
            outcome: Outcome = run_on_cores(
                options.cores, job.graph, arguments, structure=job.structure, **options.token_engine_options()
            )
            return outcome


def run_on_one_core(job: Job, arguments: Sequence[object], options: RunOptions, elapsed: float = 0.0) -> Outcome:
    """Run a job. The limit on seconds also counts `elapsed`, the seconds of another engine's attempt."""
    run_fast = import_slowly(f"{__package__}.run").run_fast
    outcome: Outcome = run_fast(
        job.graph,
        arguments,
        structure=job.structure,
        keep=options.keep,
        elapsed=elapsed,
        **options.token_engine_options(),
    )
    return outcome


def can_take_over(state: State) -> bool:
    """Whether a run that began on the reference can continue here: not if the graph is too large for an image."""
    from ...image.image import cached_image

    try:
        cached_image(state.graph, state.loop_bounds)
    except Usage:
        return False
    return True


ENGINE = FastEngine()
