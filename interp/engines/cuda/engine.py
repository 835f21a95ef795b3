"""The engine `cuda`: all tokens of a wave at once, on a GPU or numba's simulator; scalars only."""

from __future__ import annotations

from collections.abc import Sequence

from ...outcome.outcome import Outcome
from ..interrupt import interrupt_at_once
from ..protocol import Job, RunOptions


class CudaEngine:
    """The engine `cuda`: runs graphs of scalars by waves. Imports numba.cuda on first use."""

    name = "cuda"
    has_tokens = True

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        from .wave import unsupported

        if job.graph.has_dead_tokens:
            return "only the reference has dead tokens"
        if job.is_ill_formed:
            return "the graph breaks rules"
        names = ("schedule", "until", "keep", "k")
        return unsupported(job.graph, {name: getattr(options, name) for name in names})

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        from .wave import run_cuda

        with interrupt_at_once():
            return run_cuda(job.graph, arguments, limits=options.limits, structure=job.structure, seed=options.seed)


ENGINE = CudaEngine()
