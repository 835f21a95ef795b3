"""A third-party engine: it wraps the big-step evaluator of structured programs in the engine protocol."""

from tagloom.core.errors import Exhausted, Trap
from tagloom.core.program.evaluate import evaluate
from tagloom.core.world import World
from tagloom.interp.engines.limits import resolve_limits
from tagloom.interp.engines.reference import admit_arguments
from tagloom.interp.outcome.outcome import value_outcome


class EvaluatorEngine:
    name = "evaluator"

    def unsupported(self, job, options):
        if job.program is None:
            return "it evaluates programs, and this is a graph"
        if (options.schedule, options.until, options.keep, options.k) != ("waves", "quiet", None, None):
            return "it has no tokens"
        return None

    def run(self, job, arguments, options):
        limits, world = resolve_limits(options.limits), options.world or World()
        values = admit_arguments(job.graph, arguments)
        ended = evaluate(
            job.program,
            values,
            max_steps=10**9 if limits.firings is None else limits.firings,
            max_depth=limits.depth,
            seed=options.seed,
            world=world,
        )
        error = None
        if ended.trap:
            error = Trap(ended.trap[1], where=ended.trap[0])
        elif ended.results is None:
            error = Exhausted("the evaluator came to its limit", rule="S12")
        return value_outcome(job.graph, job.structure, self.name, ended.results, error)


ENGINE = EvaluatorEngine()
