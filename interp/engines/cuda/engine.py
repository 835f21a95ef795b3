"""The engine `cuda`, on a GPU or numba's simulator, for scalars only: all tokens of a wave at once; the calls of a
recursion by many threads, depth first; or all elements of a map."""

from __future__ import annotations

from collections.abc import Sequence

from ...outcome.outcome import Outcome
from ..interrupt import interrupt_at_once
from ..protocol import Job, RunOptions


class CudaEngine:
    """The engine `cuda`: runs graphs of scalars by waves, and without tokens programs under `lifo`, and maps. Imports
    numba.cuda on first use."""

    name = "cuda"
    has_tokens = True

    def unsupported(self, job: Job, options: RunOptions) -> str | None:
        from . import depth_first
        from .map_run import find_map, unsupported_map
        from .wave import unsupported

        if job.graph.has_dead_tokens:
            return "only the reference has dead tokens"
        if job.is_ill_formed:
            return "the graph breaks rules"
        if (element_map := find_map(job)) is not None:
            return unsupported_map(element_map, options)
        if depth_first.is_depth_first(options):
            return depth_first.unsupported(job, options)
        names = ("schedule", "until", "keep", "k")
        return unsupported(job.graph, {name: getattr(options, name) for name in names})

    def run(self, job: Job, arguments: Sequence[object], options: RunOptions) -> Outcome:
        from . import depth_first
        from .map_run import find_map, run_map
        from .wave import run_cuda

        with interrupt_at_once():
            if (element_map := find_map(job)) is not None:
                return run_map(job, element_map, arguments, options.limits)
            if depth_first.is_depth_first(options):
                return depth_first.run_depth_first(job, arguments, options.limits)
            return run_cuda(job.graph, arguments, limits=options.limits, structure=job.structure, seed=options.seed)

    def runs_without_tokens(self, job: Job, options: RunOptions) -> bool:
        """Whether a job is a map or runs depth first, so that its outcome has no statistics."""
        from .depth_first import is_depth_first
        from .map_run import find_map

        return is_depth_first(options) or find_map(job) is not None


ENGINE = CudaEngine()
