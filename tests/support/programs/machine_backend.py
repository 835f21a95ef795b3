"""A machine under the conformance protocol: the reference, which reports traps and deadlocks and refuses what breaks a
rule. Its argument is `right`, or an ending that it promises and does not report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
import tagloom as tl
from tagloom.core.graph.lower import lower
from tagloom.core.program.program import Program
from tagloom.core.program.validate import program_problems
from tagloom.core.value import Value, admit
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.oracle.protocol import ENDINGS, Capabilities
from tagloom.interp.oracle.worker import serve


class MachineAdapter:
    """The reference as a backend. `missing` is the ending that it does not report."""

    def __init__(self, missing: str) -> None:
        self.missing = missing

    def describe(self) -> Capabilities:
        return Capabilities("machine", "1", "Python", endings=ENDINGS)

    def compile(self, program: Program) -> Callable[[Sequence[Value]], Sequence[Value]]:
        problems = program_problems(program)
        if problems and self.missing != "invalid":
            raise problems[0]
        graph = None if problems else lower(program)
        zeros = [
            admit(np.zeros([size or 0 for size in type_.shape or ()], type_.dtype.numpy))
            for type_ in program.main.results
        ]

        def run(arguments: Sequence[Value]) -> Sequence[Value]:
            assert graph is not None
            outcome = run_graph(graph, arguments, limits=Limits(firings=100_000), world=tl.World(lambda line: None))
            if (outcome.status, self.missing) in (("Trapped", "trapped"), ("Deadlocked", "deadlocked")):
                return zeros
            if outcome.status != "Returned":
                assert outcome.error is not None
                raise outcome.error
            return [value for value in outcome.results if value is not None]

        return run


if __name__ == "__main__":
    serve(MachineAdapter(sys.argv[1]), sys.stdin.buffer, sys.stdout.buffer)
