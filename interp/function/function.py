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

from ...core.autodiff.resolve import resolve_pullbacks
from ...core.display import SvgReprMixin, open_debugger
from ...core.errors import Crash, Invalid, Usage
from ...core.frontend.eager.array import results_like
from ...core.frontend.eager.gradients import trace_pullback
from ...core.frontend.eager.recording import record_call, recording_tapes
from ...core.frontend.trace.annotation import FunctionSpec, read_function_spec
from ...core.frontend.trace.pytree import TreeType, leaf_names, unflatten
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.symbol import Symbol
from ...core.frontend.trace.trace import ProgramBuilder, current_region
from ...core.graph.graph import Graph
from ...core.graph.lower import lower
from ...core.graph.validate import graph_problems
from ...core.ops.effect_op import EFFECT_OPS
from ...core.program.program import Program
from ...core.program.validate import program_problems
from ...core.types import Type, type_of
from ...core.value import Value
from ...core.world import World, resolve_world
from ..engines.limits import Limits, Until
from ..engines.protocol import Job, RunOptions
from ..engines.run import run
from ..history.history import History
from ..lru_cache import LRUCache
from ..machine.script import Script
from ..outcome.outcome import Outcome
from ..records.keep import KeepOption
from .bound_methods import BoundMethods
from .call_replay import CallReplay, call_world, snapshot_leaf
from .fetch_feed import Partial, PrunedProgram, value_or_raise
from .trace_cache import DEFAULT_CAPACITY, TraceCache, TracedProgram


class Function(SvgReprMixin):
    """A Python function as a program; `tl.function` makes it.

    Called inside another function's trace it becomes a call; called with concrete arguments it runs. It is traced for
    each list of arguments that differ in how they nest, in dtypes and shapes, or in objects that are no values;
    `explain()` says why. What it closes over, variables and concrete arrays, are further arguments of the program.
    """

    vjp_rule: ClassVar[Callable[[Function, CallReplay, Any, Collection[int]], Sequence[Any]]]
    """Set by `gradient`: the adjoints of arguments and of what was captured, by those of results; some by rows."""

    def __init__(
        self,
        python: Callable[..., Any],
        read: Callable[[Any], FunctionSpec] = read_function_spec,
        *,
        capacity: int = DEFAULT_CAPACITY,
        relax_shapes: bool = False,
    ) -> None:
        """`read` reads its parameters and annotations when they are first wanted."""
        if not hasattr(python, "__code__"):
            raise Usage("tl.function wants a Python function", where=user_location(), got=repr(python))
        functools.update_wrapper(self, python)
        self.name = python.__name__
        self._python = python
        self._source: FunctionSpec | None = None
        self._read_source = read
        self._trace_cache = TraceCache(self.name, capacity, relax_shapes=relax_shapes)
        self._trace_lock = RLock()
        self._derived_functions: LRUCache[object, Function] = LRUCache(capacity)
        """The gradients that were made of it."""
        self._pruned_programs: LRUCache[object, PrunedProgram] = LRUCache(capacity)

    def __repr__(self) -> str:
        return f"<tagloom function {self.name}>"

    @property
    def source(self) -> FunctionSpec:
        """The parameters and annotations; read late, so that annotations may name what is defined later."""
        if self._source is None:
            self._source = self._read_source(self._python)
        return self._source

    def __get__(self, instance: object, owner: type | None = None) -> Function:
        """As a method: the function of the other arguments, for this instance. It has tracings of its own."""
        if instance is None:
            return self
        methods = BoundMethods.for_instance(instance)
        if methods is None:
            said = f"{self.name} cannot be a method of a class with __slots__"
            raise Usage(
                said, where=user_location(), hint=f"define it outside of the class and call {self.name}(instance, ...)"
            )
        if self not in methods.functions:
            python, most, relax = (
                MethodType(self._python, instance),
                self._trace_cache.capacity,
                self._trace_cache.relax_shapes,
            )
            methods.functions[self] = Function(python, self._read_source, capacity=most, relax_shapes=relax)
        return methods.functions[self]  # type: ignore[no-any-return]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The result; raises Trap, Exhausted or Deadlock where the run does not return."""
        self._reject_keywords(named)
        region = current_region()
        if region is not None:
            return trace_pullback(region, self.source, arguments)[0]
        return self.call_eagerly(arguments)

    def call_eagerly(
        self, arguments: Sequence[Any], replay: CallReplay | None = None, callback_log: list[Value] | None = None
    ) -> Any:
        """What a call returns, of which tapes under way are told: its reverse pass is a run of its own. One that makes
        a call `replay` again has what resources held then, and assigns nothing; its effects have happened. Else
        `callback_log`, if it is wanted, takes what callbacks give."""
        traced, leaves = self._resolve_call("call", arguments)
        is_heard = bool(recording_tapes())
        settled = self.snapshot_arguments(arguments, traced) if is_heard else ()
        beside = (
            traced.watched_values()
            if replay is None
            else {each: replay.resource_values[each] for each in traced.captures}
        )
        kept = [] if callback_log is None and is_heard else callback_log
        world = call_world(traced, replay, kept)
        outcome = self._run(traced, traced.all_arguments(leaves, beside), RunOptions(world=world, account=False))
        result = results_like((*leaves, *beside.values(), *traced.assigned_variables), value_or_raise(outcome))
        assigned = (traced.assign if replay is None else traced.assigned_values)(outcome.results)
        if is_heard:
            made = CallReplay(settled, beside, replay.callback_results if replay is not None else kept or [])
            pullback = partial(Function.vjp_rule, self, made)
            record_call(self.name, [*leaves, *beside.values()], result, assigned, pullback, draws=traced.draws_random)
        return result

    def _run(
        self, traced: TracedProgram, given: Sequence[Any], options: RunOptions, engine: str | None = None
    ) -> Outcome:
        """Run on all arguments of the program."""
        subject = Job(traced.graph, traced.structure, traced.program)
        return run(subject, given, options, engine)

    def run(
        self,
        *arguments: Any,
        engine: str | None = None,
        schedule: str | Script = "waves",
        until: Until = "quiet",
        limits: Limits | None = None,
        keep: KeepOption = None,
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
        traced, leaves = self._resolve_call("run", arguments)
        world = resolve_world(world, traced.callbacks)
        options = RunOptions(schedule, until, limits, keep, seed, k, world, account, cores)
        outcome = self._run(traced, traced.all_arguments(leaves), options, engine)
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
        traced, leaves = self._resolve_call("history", arguments)
        return History(
            traced.graph,
            traced.all_arguments(leaves),
            schedule=schedule,
            limits=limits,
            structure=traced.structure,
            seed=seed,
            k=k,
            world=resolve_world(world, traced.callbacks),
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
        open_debugger(
            lambda world: self.history(*arguments, schedule=schedule, limits=limits, seed=seed, k=k, world=world), at
        )

    def get_or_derive(self, key: object, derive: Callable[[], Function]) -> Function:
        """What is derived of it under a key, made once while it is kept: no more are than tracings."""
        with self._trace_lock:
            return self._derived_functions.get_or_create(key, derive)

    def partial(self, fetch: Any = None, feed: Mapping[str, object] | None = None) -> Partial:
        """What is needed for some values of the program, where others are given: `fn.partial("h")(2.0)`.

        `fetch` is a name as the program's text has it, or a tuple or dict of names, and the value nests likewise;
        without it, the results are fetched. `feed` has values by names, which come in place of what the program makes:
        `fn.partial("y", feed={"h": 1.0})(...)`. A name of what stands in a loop, a branch or a function begins with a
        tag, `"main/loop[4]/h"`; with `*` in it, what is fetched is a dict by tags. Variables are assigned where the
        results are fetched.

        Raises Usage where what is fetched is no nest of names, or what is fed no dict.
        """
        return Partial(self.name, self._resolve_partial_call, fetch, feed, self._get_or_prune)

    def _get_or_prune(self, key: object, prune: Callable[[], PrunedProgram]) -> PrunedProgram:
        with self._trace_lock:
            return self._pruned_programs.get_or_create(key, prune)

    def _resolve_partial_call(self, arguments: Sequence[Any]) -> tuple[TracedProgram, list[Any]]:
        """The program for arguments of which some may be `...`, and all that it takes."""
        if current_region() is not None:
            raise Usage(
                f"a part of {self.name} cannot be traced", where=user_location(), hint=f"write {self.name}(...)"
            )
        declared = self.source.declared_parameters
        padded = (*arguments, *[...] * (len(declared) - len(arguments)))
        for argument, (name, form) in zip(padded, declared, strict=False):
            if argument is ... and form is None:
                hint = "annotate the parameter, or give the argument, needed or not"
                raise Usage(
                    f"argument {name} of {self.name} says the type, and is left out", where=user_location(), hint=hint
                )
        leaves, forms = self._flatten_arguments(padded)
        traced = self._find_or_trace(forms)
        return traced, traced.all_arguments(leaves)

    def trace(self, *arguments: Any, **named: Any) -> TracedProgram:
        """Program and graph for arguments like these: only their types count."""
        self._reject_keywords(named)
        return self._find_or_trace(self._flatten_arguments(arguments)[1])

    def tree_types(self, *arguments: Any) -> tuple[TreeType, ...]:
        """How concrete arguments nest, and the types that they are traced with."""
        return self._flatten_arguments(arguments)[1]

    def leaves(self, *arguments: Any) -> list[Any]:
        """The values of concrete arguments, as the program takes them."""
        return self._flatten_arguments(arguments)[0]

    def snapshot_arguments(self, arguments: Sequence[Any], traced: TracedProgram) -> tuple[Any, ...]:
        """Concrete arguments as they are now: what variables hold where the program takes values of them, and copies of
        arrays that somebody may write to."""
        pairs = zip(self.source.flatten_arguments(arguments, Usage), arguments, strict=True)
        types = iter(traced.program.main.body.parameters)
        return tuple(
            unflatten(structure, [snapshot_leaf(leaf, next(types).type) for leaf in leaves]) if leaves else given
            for (leaves, structure), given in pairs
        )

    def _type_of(self, parameter: str, argument: object) -> Type:
        try:
            return type_of(argument)
        except Usage as error:
            error.message, error.where = f"argument {parameter} of {self.name}: {error.message}", user_location()
            raise

    def _reject_keywords(self, named: dict[str, Any]) -> None:
        if named:
            raise Usage(
                f"the arguments of {self.name} are positional",
                where=user_location(),
                required=f"{self.name}({', '.join(name for name, _ in self.source.declared_parameters)})",
                got=", ".join(f"{name}=..." for name in named),
            )

    def _resolve_call(self, method: str, arguments: Sequence[Any]) -> tuple[TracedProgram, list[Any]]:
        """What is to run, and the leaves of the arguments; raises Usage, with the line, where that cannot be."""
        if current_region() is not None:
            raise Usage(f"{self.name}.{method} cannot be traced", where=user_location(), hint=f"write {self.name}(...)")
        key = None if self.source.static_parameters else _short_key(arguments)
        with self._trace_lock:
            known = self._trace_cache.find_by_short_key(key)
        if known is not None:
            return known, list(arguments)
        leaves, forms = self._flatten_arguments(arguments)
        return self._find_or_trace(forms, key), leaves

    def _flatten_arguments(self, arguments: Sequence[Any]) -> tuple[list[Any], tuple[TreeType, ...]]:
        """The leaves of concrete arguments, and the forms that they are traced with."""
        taken = self.source.flatten_arguments(arguments, Usage)
        forms = [
            declared or TreeType(structure, tuple(map(self._type_of, leaf_names(structure, name), leaves)))
            for (name, declared), (leaves, structure) in zip(self.source.declared_parameters, taken, strict=True)
        ]
        return [leaf for leaves, _ in taken for leaf in leaves], self.source.resolve_types(forms)

    @property
    def program(self) -> Program:
        """The structured program, where every parameter is annotated."""
        return self._annotated_program.program

    @property
    def graph(self) -> Graph:
        """The flat graph, where every parameter is annotated."""
        return self._annotated_program.graph

    @property
    def _annotated_program(self) -> TracedProgram:
        return self._find_or_trace(self.source.resolve_types([None] * len(self.source.declared_parameters)))

    def explain(self) -> str:
        """Every tracing that there is, and why it was made: in what its arguments differed from those before."""
        return self._trace_cache.explain()

    def _find_or_trace(self, forms: tuple[TreeType, ...], key: object = None) -> TracedProgram:
        """What is traced once, however many threads want it at once; with a short key, if there is one."""
        with self._trace_lock:
            found = self._trace_cache.find(forms, key)
            if found is not None:
                return found
            relaxed = self._trace_cache.relax(forms)
            made = self._trace_once(relaxed, may_create=not len(self._trace_cache))
            if made.created_variables:
                created, made = made.created_variables, self._trace_once(relaxed, may_create=False)
                made = replace(made, created_variables=created)
            return self._trace_cache.add(relaxed, made, [name for name, _ in self.source.declared_parameters], forms)

    def _trace_once(self, forms: tuple[TreeType, ...], *, may_create: bool) -> TracedProgram:
        """Trace once. `may_create` says whether variables may be made meanwhile."""
        trace = ProgramBuilder(Symbol, may_create_variables=may_create)
        program, known = trace.build_program(self.source, forms)
        program = resolve_pullbacks(program)
        problems = program_problems(program)
        if problems:
            raise problems[0]
        graph = lower(program)
        broken = graph_problems(graph)
        if broken:
            raise Crash("lowering made a graph that breaks the rules", where=self.name) from broken[0]
        created = tuple(trace.created_variables)
        nodes = (node for each in program.functions for node in each.body.walk())
        draws = any(node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw for node in nodes)
        beside = known.captures, known.assigned_variables, created
        return TracedProgram(program, graph, known.treedef, trace.callbacks, *beside, draws_random=draws)


def _short_key(arguments: Sequence[Any]) -> object:
    """What arguments are told apart by that are all arrays; None of any others."""
    if {*map(type, arguments)} != {np.ndarray}:
        return None
    return tuple([(each.dtype, each.shape) for each in arguments])


@overload
def function(python: Callable[..., Any]) -> Function: ...
@overload
def function(
    *, input_signature: Sequence[Any] | None = None, relax_shapes: bool = False, most_tracings: int = DEFAULT_CAPACITY
) -> Callable[[Callable[..., Any]], Function]: ...
def function(
    python: Any = ...,
    *,
    input_signature: Sequence[Any] | None = None,
    relax_shapes: bool = False,
    most_tracings: int = DEFAULT_CAPACITY,
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
        raise Invalid(f"{python.name} is a tagloom function already", where=user_location())
    if type(most_tracings) is not int or most_tracings < 1:
        raise Usage(
            "this is no number of tracings", where=user_location(), required="from 1 up", got=repr(most_tracings)
        )
    read = (
        read_function_spec if input_signature is None else partial(read_function_spec, signature=tuple(input_signature))
    )
    made = partial(Function, read=read, capacity=most_tracings, relax_shapes=relax_shapes)
    return made if python is ... else made(python)
