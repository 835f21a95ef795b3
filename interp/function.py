"""Functions as people hold them: traced once per list of types, run on an engine, or called inside a trace."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from ..core.act import ACTS
from ..core.derive.resolve import resolve
from ..core.display import Drawn
from ..core.errors import Crash, Exhausted, Invalid, Usage
from ..core.frontend.annotation import Source, read_source
from ..core.frontend.concrete import all_like
from ..core.frontend.inference import Trace, call
from ..core.frontend.recording import RECORDERS, record_call
from ..core.frontend.source import here
from ..core.frontend.structure import Form, Structure, leaf_names, unflatten
from ..core.frontend.symbol import Symbol
from ..core.frontend.tracing import current
from ..core.graph import Graph
from ..core.lower import lower
from ..core.program import Program
from ..core.types import Type, type_of
from ..core.validate import program_problems
from ..core.validate_graph import graph_problems
from ..core.world import World
from .engine import Options, Subject, run
from .keep import Keep
from .outcome import Outcome
from .reference import Limits, Until
from .script import Script
from .travel.history import History


@dataclass(frozen=True, slots=True)
class Traced:
    """A program in both forms, and how its results nest."""

    program: Program
    graph: Graph
    structure: Structure
    callbacks: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The Python functions that it calls, by the names that they have in it."""
    constants: tuple[Any, ...] = ()
    """The concrete arrays that it has as literals."""


class Function(Drawn):
    """A Python function as a program; `tl.function` makes it.

    Called inside another function's trace it becomes a call; called with concrete arguments it runs.
    """

    pulled: ClassVar[Callable[[Function, Sequence[Any], Any], tuple[Any, ...]]]
    """Set by `gradient`: the adjoints of arguments, by that of the result."""

    def __init__(self, python: Callable[..., Any], read: Callable[[Any], Source] = read_source) -> None:
        """`read` reads its parameters and annotations when they are first wanted."""
        if not hasattr(python, "__code__"):
            raise Usage("tl.function wants a Python function", where=here(), got=repr(python))
        functools.update_wrapper(self, python)
        self.name = python.__name__
        self._python = python
        self._source: Source | None = None
        self._read = read
        self._traced: dict[tuple[Form, ...], Traced] = {}
        self.derived: dict[object, Function] = {}
        """The gradients that were made of it."""

    def __repr__(self) -> str:
        return f"<tagloom function {self.name}>"

    @property
    def source(self) -> Source:
        """The parameters and annotations; read late, so that annotations may name what is defined later."""
        if self._source is None:
            self._source = self._read(self._python)
        return self._source

    def __get__(self, instance: object, owner: type | None = None) -> Function:
        if instance is None:
            return self
        raise Usage(
            f"{self.name} cannot be a method",
            where=here(),
            hint=f"define it outside of the class and call {self.name}(instance, ...)",
        )

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The result; raises Trap, Exhausted or Deadlock where the run does not return."""
        self._check_unnamed(named)
        region = current()
        if region is not None:
            values, structure = call(region, self.source, arguments)
            return unflatten(structure, map(Symbol, values))
        outcome = self.run(*arguments, account=False)
        if isinstance(outcome.error, Exhausted) and outcome.error.limit == "interrupt":
            raise KeyboardInterrupt from outcome.error
        if outcome.error is not None:
            raise outcome.error
        result = all_like(arguments, outcome.value)
        if RECORDERS.get():
            self._record(arguments, result)
        return result

    def _record(self, arguments: Sequence[Any], result: Any) -> None:
        """Tell the tapes under way of a call, whose reverse pass is a run of its own."""
        traced = self.trace(*arguments)
        nodes = (node for function in traced.program.functions for node in function.body.walk())
        draws = any(node.op in ACTS and ACTS[node.op].draw for node in nodes)
        pullback = partial(Function.pulled, self, arguments)
        record_call(self.name, arguments, result, pullback, constants=traced.constants, draws=draws)

    def run(
        self,
        *arguments: Any,
        engine: str | None = None,
        schedule: str | Script = "waves",
        until: Until = "quiet",
        limits: Limits | None = None,
        keep: Keep = None,
        seed: int = 0,
        k: int | None = None,
        world: World | None = None,
        account: bool = True,
        cores: int | None = None,
    ) -> Outcome:
        """Run on concrete arguments. How the run ends is data, Ctrl-C included; only a wrong call raises.

        `engine` is reference, fast, compiled, cuda, or auto, which begins on the first and goes on with what suits; the
        outcome says which it was. Where it is None, the environment's TAGLOOM_ENGINE says, or else it is auto.
        `account=False` says that only the results are wanted: then auto may run without tokens, and count nothing.

        `schedule` is fifo, lifo, waves, random:SEED, hand:FILE or a Script; `until` quiet, result or trap;
        `keep="events"` keeps them, `keep=1000` the last so many, `keep="run.jsonl"`, or any path that ends so, writes
        them to that file while the program runs. `seed` is that of random numbers, `k` bounds how many iterations of a
        loop run at once, whatever the loops say, and `world` prints. `cores` says on how many cores `fast` may run
        under `waves`.
        """
        traced, leaves = self._taken("run", arguments)
        subject, in_world = Subject(traced.graph, traced.structure, traced.program), _with_callbacks(world, traced)
        options = Options(schedule, until, limits, keep, seed, k, in_world, account, cores)
        return run(subject, leaves, options, engine)

    def history(
        self,
        *arguments: Any,
        schedule: str | Script = "waves",
        limits: Limits | None = None,
        seed: int = 0,
        k: int | None = None,
        world: World | None = None,
    ) -> History:
        """The beginning of a run that can be stepped, forwards and backwards, jumped in, asked, and branched."""
        traced, leaves = self._taken("history", arguments)
        return History(
            traced.graph,
            leaves,
            schedule=schedule,
            limits=limits,
            structure=traced.structure,
            seed=seed,
            k=k,
            world=_with_callbacks(world, traced),
        )

    def trace(self, *arguments: Any, **named: Any) -> Traced:
        """Program and graph for arguments like these: only their types count."""
        self._check_unnamed(named)
        return self._trace(self._taken_apart(arguments)[1])

    def forms(self, *arguments: Any) -> tuple[Form, ...]:
        """How concrete arguments nest, and the types that they are traced with."""
        return self._taken_apart(arguments)[1]

    def _type_of(self, parameter: str, argument: object) -> Type:
        try:
            return type_of(argument)
        except Usage as error:
            error.message, error.where = f"argument {parameter} of {self.name}: {error.message}", here()
            raise

    def _check_unnamed(self, named: dict[str, Any]) -> None:
        if named:
            raise Usage(
                f"the arguments of {self.name} are positional",
                where=here(),
                required=f"{self.name}({', '.join(name for name, _ in self.source.arguments)})",
                got=", ".join(f"{name}=..." for name in named),
            )

    def _taken(self, method: str, arguments: Sequence[Any]) -> tuple[Traced, list[Any]]:
        """What is to run, and the leaves of the arguments; raises Usage, with the line, where that cannot be."""
        if current() is not None:
            raise Usage(f"{self.name}.{method} cannot be traced", where=here(), hint=f"write {self.name}(...)")
        leaves, forms = self._taken_apart(arguments)
        return self._trace(forms), leaves

    def _taken_apart(self, arguments: Sequence[Any]) -> tuple[list[Any], tuple[Form, ...]]:
        """The leaves of concrete arguments, and the forms that they are traced with."""
        taken = self.source.taken_apart(arguments, Usage)
        forms = [
            declared or Form(structure, tuple(map(self._type_of, leaf_names(structure, name), leaves)))
            for (name, declared), (leaves, structure) in zip(self.source.arguments, taken, strict=True)
        ]
        return [leaf for leaves, _ in taken for leaf in leaves], self.source.forms(forms)

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
        return self._trace(self.source.forms([None] * len(self.source.arguments)))

    def _trace(self, forms: tuple[Form, ...]) -> Traced:
        if forms not in self._traced:
            trace = Trace(Symbol)
            program, structure = trace.program(self.source, forms)
            program = resolve(program)
            problems = program_problems(program)
            if problems:
                raise problems[0]
            graph = lower(program)
            broken = graph_problems(graph)
            if broken:
                raise Crash("lowering made a graph that breaks the rules", where=self.name) from broken[0]
            self._traced[forms] = Traced(program, graph, structure, trace.callbacks, tuple(trace.constants.values()))
        return self._traced[forms]


def _with_callbacks(world: World | None, traced: Traced) -> World:
    """A world that has the Python functions that a program calls."""
    if world is not None and not isinstance(world, World):
        raise Usage("a world is a tl.World", required="world=tl.World(output=...)", got=repr(world)[:80])
    return (world or World()).with_callbacks(traced.callbacks)


def function(python: Callable[..., Any]) -> Function:
    """Make a Python function a program: `@tl.function def fib(n: tl.int64) -> tl.int64: ...`.

    Parameters without annotation take the types of the arguments. Results need none, in recursion neither: what the
    branches that end it return decides.

    Raises Usage for anything but a plain Python function.
    """
    if isinstance(python, Function):
        raise Invalid(f"{python.name} is a tagloom function already", where=here())
    return Function(python)
