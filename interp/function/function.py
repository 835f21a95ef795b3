"""Functions as people hold them: traced once per list of types, run on an engine, or called inside a trace."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import RLock
from types import MethodType
from typing import Any, ClassVar, overload

import numpy as np

from ...core.autodiff.resolve import resolve
from ...core.display import Drawn, debugged
from ...core.errors import Crash, Invalid, Usage
from ...core.frontend.eager.array import all_like
from ...core.frontend.eager.gradients import traced_pullback
from ...core.frontend.eager.recording import hearing, record_call
from ...core.frontend.trace.annotation import Source, read_source
from ...core.frontend.trace.pytree import Form, leaf_names, unflatten
from ...core.frontend.trace.source_location import here
from ...core.frontend.trace.symbol import Symbol
from ...core.frontend.trace.trace import Trace, current
from ...core.graph.graph import Graph
from ...core.graph.lower import lower
from ...core.graph.validate import graph_problems
from ...core.ops.effect_op import ACTS
from ...core.program.program import Program
from ...core.program.validate import program_problems
from ...core.types import Type, type_of
from ...core.value import Value
from ...core.world import World, world_with
from ..engines.engine import Options, Subject, run
from ..engines.reference import Limits, Until
from ..history.history import History
from ..lru_cache import Recent
from ..machine.script import Script
from ..outcome.outcome import Outcome
from ..records.keep import Keep
from .bound_methods import Methods
from .call_replay import Made, as_it_is, world_of
from .fetch_feed import Part, Partial, returned
from .trace_cache import MOST, Traced, Tracings


class Function(Drawn):
    """A Python function as a program; `tl.function` makes it.

    Called inside another function's trace it becomes a call; called with concrete arguments it runs. It is traced for
    each list of arguments that differ in how they nest, in dtypes and shapes, or in objects that are no values;
    `explain()` says why. What it closes over, variables and concrete arrays, are further arguments of the program.
    """

    pulled: ClassVar[Callable[[Function, Made, Any, Collection[int]], Sequence[Any]]]
    """Set by `gradient`: the adjoints of arguments and of what was captured, by those of results; some by rows."""

    def __init__(
        self,
        python: Callable[..., Any],
        read: Callable[[Any], Source] = read_source,
        *,
        most: int = MOST,
        relax_shapes: bool = False,
    ) -> None:
        """`read` reads its parameters and annotations when they are first wanted."""
        if not hasattr(python, "__code__"):
            raise Usage("tl.function wants a Python function", where=here(), got=repr(python))
        functools.update_wrapper(self, python)
        self.name = python.__name__
        self._python = python
        self._source: Source | None = None
        self._read = read
        self._tracings = Tracings(self.name, most, relax=relax_shapes)
        self._tracing = RLock()
        self._derived: Recent[object, Function] = Recent(most)
        """The gradients that were made of it."""
        self._parts: Recent[object, Part] = Recent(most)

    def __repr__(self) -> str:
        return f"<tagloom function {self.name}>"

    @property
    def source(self) -> Source:
        """The parameters and annotations; read late, so that annotations may name what is defined later."""
        if self._source is None:
            self._source = self._read(self._python)
        return self._source

    def __get__(self, instance: object, owner: type | None = None) -> Function:
        """As a method: the function of the other arguments, for this instance. It has tracings of its own."""
        if instance is None:
            return self
        methods = Methods.of(instance)
        if methods is None:
            said = f"{self.name} cannot be a method of a class with __slots__"
            raise Usage(said, where=here(), hint=f"define it outside of the class and call {self.name}(instance, ...)")
        if self not in methods.found:
            python, most, relax = MethodType(self._python, instance), self._tracings.most, self._tracings.relax
            methods.found[self] = Function(python, self._read, most=most, relax_shapes=relax)
        return methods.found[self]  # type: ignore[no-any-return]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The result; raises Trap, Exhausted or Deadlock where the run does not return."""
        self._check_unnamed(named)
        region = current()
        if region is not None:
            return traced_pullback(region, self.source, arguments)[0]
        return self.called(arguments)

    def called(self, arguments: Sequence[Any], before: Made | None = None, given: list[Value] | None = None) -> Any:
        """What a call returns, of which tapes under way are told: its reverse pass is a run of its own. One that makes
        a call `before` again has what resources held then, and assigns nothing; its effects have happened. Else
        `given`, if it is wanted, takes what callbacks give."""
        traced, leaves = self._taken("call", arguments)
        is_heard = bool(hearing())
        settled = self.settled(arguments, traced) if is_heard else ()
        beside = traced.seen() if before is None else {each: before.held[each] for each in traced.captured}
        kept = [] if given is None and is_heard else given
        world = world_of(traced, before, kept)
        outcome = self._run(traced, traced.given(leaves, beside), Options(world=world, account=False))
        result = all_like((*leaves, *beside.values(), *traced.assigned), returned(outcome))
        assigned = (traced.assign if before is None else traced.made)(outcome.results)
        if is_heard:
            made = Made(settled, beside, before.given if before is not None else kept or [])
            pullback = partial(Function.pulled, self, made)
            record_call(self.name, [*leaves, *beside.values()], result, assigned, pullback, draws=traced.draws)
        return result

    def _run(self, traced: Traced, given: Sequence[Any], options: Options, engine: str | None = None) -> Outcome:
        """Run on all arguments of the program."""
        subject = Subject(traced.graph, traced.structure, traced.program)
        return run(subject, given, options, engine)

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
        world = world_with(world, traced.callbacks)
        options = Options(schedule, until, limits, keep, seed, k, world, account, cores)
        outcome = self._run(traced, traced.given(leaves), options, engine)
        if outcome.error is None:
            traced.assign(outcome.results)
        return outcome

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
            traced.given(leaves),
            schedule=schedule,
            limits=limits,
            structure=traced.structure,
            seed=seed,
            k=k,
            world=world_with(world, traced.callbacks),
        )

    def debug(
        self,
        *arguments: Any,
        schedule: str | Script = "waves",
        limits: Limits | None = None,
        seed: int = 0,
        k: int | None = None,
        at: int = 0,
    ) -> None:
        """Open the debugger in this terminal, on a run with these arguments, after `at` events of it; returns when
        somebody leaves it. Variables stay as they are. In a file, `tagloom debug FILE` can also follow edits.

        Raises Usage where there is no terminal, as in a notebook: there `history` steps, and `out.player()` shows.
        """
        debugged(
            lambda world: self.history(*arguments, schedule=schedule, limits=limits, seed=seed, k=k, world=world), at
        )

    def derived_as(self, key: object, derive: Callable[[], Function]) -> Function:
        """What is derived of it under a key, made once while it is kept: no more are than tracings."""
        with self._tracing:
            return self._derived.made(key, derive)

    def partial(self, fetch: Any = None, feed: Mapping[str, object] | None = None) -> Partial:
        """What is needed for some values of the program, where others are given: `fn.partial("h")(2.0)`.

        `fetch` is a name as the program's text has it, or a tuple or dict of names, and the value nests likewise;
        without it, the results are fetched. `feed` has values by names, which come in place of what the program makes:
        `fn.partial("y", feed={"h": 1.0})(...)`. A name of what stands in a loop, a branch or a function begins with a
        tag, `"main/loop[4]/h"`; with `*` in it, what is fetched is a dict by tags. Variables are assigned where the
        results are fetched.

        Raises Usage where what is fetched is no nest of names, or what is fed no dict.
        """
        return Partial(self.name, self._partly_taken, fetch, feed, self._part_as)

    def _part_as(self, key: object, prune: Callable[[], Part]) -> Part:
        with self._tracing:
            return self._parts.made(key, prune)

    def _partly_taken(self, arguments: Sequence[Any]) -> tuple[Traced, list[Any]]:
        """The program for arguments of which some may be `...`, and all that it takes."""
        if current() is not None:
            raise Usage(f"a part of {self.name} cannot be traced", where=here(), hint=f"write {self.name}(...)")
        declared = self.source.arguments
        padded = (*arguments, *[...] * (len(declared) - len(arguments)))
        for argument, (name, form) in zip(padded, declared, strict=False):
            if argument is ... and form is None:
                hint = "annotate the parameter, or give the argument, needed or not"
                raise Usage(f"argument {name} of {self.name} says the type, and is left out", where=here(), hint=hint)
        leaves, forms = self._taken_apart(padded)
        traced = self._trace(forms)
        return traced, traced.given(leaves)

    def trace(self, *arguments: Any, **named: Any) -> Traced:
        """Program and graph for arguments like these: only their types count."""
        self._check_unnamed(named)
        return self._trace(self._taken_apart(arguments)[1])

    def forms(self, *arguments: Any) -> tuple[Form, ...]:
        """How concrete arguments nest, and the types that they are traced with."""
        return self._taken_apart(arguments)[1]

    def leaves(self, *arguments: Any) -> list[Any]:
        """The values of concrete arguments, as the program takes them."""
        return self._taken_apart(arguments)[0]

    def settled(self, arguments: Sequence[Any], traced: Traced) -> tuple[Any, ...]:
        """Concrete arguments as they are now: what variables hold where the program takes values of them, and copies of
        arrays that somebody may write to."""
        pairs = zip(self.source.taken_apart(arguments, Usage), arguments, strict=True)
        types = iter(traced.program.main.body.parameters)
        return tuple(
            unflatten(structure, [as_it_is(leaf, next(types).type) for leaf in leaves]) if leaves else given
            for (leaves, structure), given in pairs
        )

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
        key = None if self.source.static else _short(arguments)
        with self._tracing:
            known = self._tracings.known(key)
        if known is not None:
            return known, list(arguments)
        leaves, forms = self._taken_apart(arguments)
        return self._trace(forms, key), leaves

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

    def explain(self) -> str:
        """Every tracing that there is, and why it was made: in what its arguments differed from those before."""
        return self._tracings.explain()

    def _trace(self, forms: tuple[Form, ...], key: object = None) -> Traced:
        """What is traced once, however many threads want it at once; with a short key, if there is one."""
        with self._tracing:
            found = self._tracings.get(forms, key)
            if found is not None:
                return found
            relaxed = self._tracings.relaxed(forms)
            made = self._traced(relaxed, may_create=not len(self._tracings))
            if made.created:
                created, made = made.created, self._traced(relaxed, may_create=False)
                made = replace(made, created=created)
            return self._tracings.add(relaxed, made, [name for name, _ in self.source.arguments], forms)

    def _traced(self, forms: tuple[Form, ...], *, may_create: bool) -> Traced:
        """Trace once. `may_create` says whether variables may be made meanwhile."""
        trace = Trace(Symbol, may_create=may_create)
        program, known = trace.program(self.source, forms)
        program = resolve(program)
        problems = program_problems(program)
        if problems:
            raise problems[0]
        graph = lower(program)
        broken = graph_problems(graph)
        if broken:
            raise Crash("lowering made a graph that breaks the rules", where=self.name) from broken[0]
        created = tuple(trace.variables)
        nodes = (node for each in program.functions for node in each.body.walk())
        draws = any(node.op in ACTS and ACTS[node.op].draw for node in nodes)
        beside = known.captured, known.assigned, created
        return Traced(program, graph, known.structure, trace.callbacks, *beside, draws=draws)


def _short(arguments: Sequence[Any]) -> object:
    """What arguments are told apart by that are all arrays; None of any others."""
    if {*map(type, arguments)} != {np.ndarray}:
        return None
    return tuple([(each.dtype, each.shape) for each in arguments])


@overload
def function(python: Callable[..., Any]) -> Function: ...
@overload
def function(
    *, input_signature: Sequence[Any] | None = None, relax_shapes: bool = False, most_tracings: int = MOST
) -> Callable[[Callable[..., Any]], Function]: ...
def function(
    python: Any = ...,
    *,
    input_signature: Sequence[Any] | None = None,
    relax_shapes: bool = False,
    most_tracings: int = MOST,
) -> Any:
    """Make a Python function a program: `@tl.function def fib(n: tl.int64) -> tl.int64: ...`.

    Parameters without annotation take the types of the arguments; objects that are no values, such as models, strings
    and variables, are taken as they are, and a parameter that is annotated `tl.Static` is one of these always. Each
    combination is traced once; `explain()` says which there are, and why. Results need no annotation, in recursion
    neither: what the branches that end it return decides.

    `input_signature` says the types of all arguments, as annotations would, so that there is one program;
    `relax_shapes` makes one program for shapes that differ in sizes; `most_tracings` are kept.

    Raises Usage for anything but a plain Python function.
    """
    if isinstance(python, Function):
        raise Invalid(f"{python.name} is a tagloom function already", where=here())
    if type(most_tracings) is not int or most_tracings < 1:
        raise Usage("this is no number of tracings", where=here(), required="from 1 up", got=repr(most_tracings))
    read = read_source if input_signature is None else partial(read_source, signature=tuple(input_signature))
    made = partial(Function, read=read, most=most_tracings, relax_shapes=relax_shapes)
    return made if python is ... else made(python)
