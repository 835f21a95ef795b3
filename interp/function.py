"""Functions as people hold them: traced once per list of types, run on an engine, or called inside a trace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.errors import Crash, Invalid, Usage
from ..core.frontend.source import here
from ..core.frontend.symbol import Symbol
from ..core.frontend.tracing import Source, Trace, call, current, read_source
from ..core.graph import Graph
from ..core.lower import lower
from ..core.program import Program
from ..core.types import Type, type_of
from ..core.validate import program_problems
from ..core.validate_graph import graph_problems
from .outcome import Outcome
from .reference import Keep, Limits, Until, run_checked

ENGINES = ("reference",)


@dataclass(frozen=True, slots=True)
class Traced:
    """A program in both forms, and whether it has one result rather than a tuple of them."""

    program: Program
    graph: Graph
    single: bool


class Function:
    """A Python function as a program; `tl.function` makes it.

    Called inside another function's trace it becomes a call; called with concrete arguments it runs.
    """

    def __init__(self, python: Callable[..., Any]) -> None:
        if not hasattr(python, "__code__"):
            raise Usage("tl.function wants a Python function", where=here(), got=repr(python))
        functools.update_wrapper(self, python)
        self.name = python.__name__
        self._python = python
        self._source: Source | None = None
        self._traced: dict[tuple[Type, ...], Traced] = {}

    def __repr__(self) -> str:
        return f"<tagloom function {self.name}>"

    @property
    def source(self) -> Source:
        """The parameters and annotations; read late, so that annotations may name what is defined later."""
        if self._source is None:
            self._source = read_source(self._python)
        return self._source

    def __call__(self, *arguments: Any) -> Any:
        """The result; raises Trap, Exhausted or Deadlock where the run does not return."""
        region = current()
        if region is not None:
            values, single = call(region, self.source, arguments)
            symbols = tuple(map(Symbol, values))
            return symbols[0] if single else symbols
        outcome = self.run(*arguments)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def run(
        self,
        *arguments: Any,
        engine: str = "reference",
        schedule: str = "waves",
        until: Until = "quiet",
        limits: Limits | None = None,
        keep: Keep = None,
    ) -> Outcome:
        """Run on concrete arguments. How the run ends is data; only a wrong call raises.

        `schedule` is fifo, lifo, waves or random:SEED; `until` quiet, result or trap; `keep="events"` keeps them,
        `keep="run.jsonl"`, or any path, writes them to that file while the program runs.
        """
        if engine not in ENGINES:
            raise Usage(f"no engine is called {engine!r}", required=", ".join(ENGINES))
        if current() is not None:
            raise Usage(f"{self.name}.run cannot be traced", where=here(), hint=f"write {self.name}(...)")
        traced = self.trace(*arguments)
        return run_checked(
            traced.graph, arguments, schedule=schedule, until=until, limits=limits, keep=keep, single=traced.single
        )

    def trace(self, *arguments: Any) -> Traced:
        """Program and graph for arguments like these: only their types count."""
        self.source.check_count(len(arguments))
        pairs = zip(self.source.parameters, arguments, strict=True)
        return self._trace(self.source.types([self._type_of(name, argument) for (name, _), argument in pairs]))

    def _type_of(self, parameter: str, argument: object) -> Type:
        try:
            return type_of(argument)
        except Usage as error:
            error.message = f"argument {parameter} of {self.name}: {error.message}"
            raise

    @property
    def program(self) -> Program:
        """The structured program, where every parameter is annotated."""
        return self._annotated.program

    @property
    def graph(self) -> Graph:
        """The flat graph, where every parameter is annotated."""
        return self._annotated.graph

    @property
    def _annotated(self) -> Traced:
        return self._trace(self.source.types([None] * len(self.source.parameters)))

    def _trace(self, types: tuple[Type, ...]) -> Traced:
        if types not in self._traced:
            program, single = Trace(Symbol).program(self.source, types)
            problems = program_problems(program)
            if problems:
                raise problems[0]
            graph = lower(program)
            broken = graph_problems(graph)
            if broken:
                raise Crash("lowering made a graph that breaks the rules", where=self.name) from broken[0]
            self._traced[types] = Traced(program, graph, single)
        return self._traced[types]


def function(python: Callable[..., Any]) -> Function:
    """Make a Python function a program: `@tl.function def fib(n: tl.int64) -> tl.int64: ...`.

    A function that calls itself, also by way of others, needs its result annotated.

    Raises Usage for anything but a plain Python function.
    """
    if isinstance(python, Function):
        raise Invalid(f"{python.name} is a tagloom function already", where=here())
    return Function(python)
