"""The engine `cuda`: all tokens of a wave at once, or all elements of a map, on a GPU or numba's simulator; scalars
only."""

from __future__ import annotations

from collections.abc import Sequence

from ...outcome.outcome import Outcome
from ..interrupt import interrupt_at_once
from ..protocol import Job, RunOptions


class CudaEngine:
    """The engine `cuda`: runs graphs of scalars by waves, and maps of functions of scalars by threads without tokens.
    Imports numba.cuda on first use."""

    name = "cuda"
    has_tokens = True

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        from .map_run import find_map, unsupported_map
        from .wave import unsupported

        if job.graph.has_dead_tokens:
            return "only the reference has dead tokens"
        if job.is_ill_formed:
            return "the graph breaks rules"
        if (element_map := find_map(job)) is not None:
            return unsupported_map(element_map, options)
        names = ("schedule", "until", "keep", "k")
        return unsupported(job.graph, {name: getattr(options, name) for name in names})

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        from .map_run import find_map, run_map
        from .wave import run_cuda

        with interrupt_at_once():
            if (element_map := find_map(job)) is not None:
                return run_map(job, element_map, arguments, options.limits)
            return run_cuda(job.graph, arguments, limits=options.limits, structure=job.structure, seed=options.seed)

    def runs_without_tokens(self, job: Job) -> bool:
        """Whether a job is a map, whose outcomes have no statistics."""
        from .map_run import find_map

        return find_map(job) is not None


ENGINE = CudaEngine()
