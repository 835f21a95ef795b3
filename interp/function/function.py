"""`tl.function`: Python functions traced once per list of types, and run on an engine or called while tracing."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import RLock
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from ...core.autodiff.resolve import resolve_pullbacks
from ...core.display import SvgReprMixin, open_debugger
from ...core.dtypes import BY_PYTHON, PYTHON_DTYPES
from ...core.errors import Crash, Invalid, TagloomError, Usage
from ...core.frontend.array_api import common
from ...core.frontend.eager.adjoints import record_call
from ...core.frontend.eager.array import ConcreteArray, number_to_numpy, results_like
from ...core.frontend.eager.gradients import OperandKey, is_float, pullback_spec, trace_pullback
from ...core.frontend.eager.recording import recording_tapes
from ...core.frontend.trace.annotation import (
    DerivedFunction,
    FunctionSpec,
    callable_name,
    read_function_spec,
    underlying_function,
)
from ...core.frontend.trace.captures import Resource
from ...core.frontend.trace.program_builder import (
    ChangedArray,
    ProgramBuilder,
    RecordRequest,
    current_region,
    number_kinds,
    weak_number,
)
from ...core.frontend.trace.pytree import LEAF, TreeType, flatten, leaf_paths, record_classes, unflatten
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.symbol import Symbol
from ...core.graph.graph import Graph
from ...core.graph.lower import lower
from ...core.graph.validate import graph_problems
from ...core.ops.effects import EFFECT_OPS
from ...core.program.program import Program
from ...core.program.validate import program_problems
from ...core.types import Type, type_of
from ...core.value import Value, admit
from ...core.world import World, resolve_world
from ...deprecation import warn_renamed
from ..engines.limits import Limits
from ..engines.protocol import Job, RunOptions, Until
from ..engines.registry import call_quickly, run
from ..lru_cache import LRUCache
from ..machine.schedule import Script
from ..outcome.outcome import Outcome, value_or_raise
from ..records.event_sink import KeepOption
from .argument_changes import (
    ArgumentValues,
    change_arguments,
    describe_origins,
    is_shared,
    refuse_change,
    refuse_shared_change,
)
from .trace_cache import DEFAULT_CAPACITY, CallReplay, TraceCache, TracedProgram, call_world, snapshot_leaf
from .vectorize import axes_key, check_axes, map_spec, read_argument_axes

if TYPE_CHECKING:
    from ..history.history import History
    from .fetch_feed import PartialProgram, PrunedProgram

T = TypeVar("T")
LIMIT_OPTIONS = {
    "max_firings": "firings", "max_tokens": "tokens", "max_depth": "depth", "max_bytes": "bytes", "timeout": "seconds",
}  # fmt: skip
"""The options of the command line that limit a run, with their names in `Limits`."""


class Function(SvgReprMixin):
    """A Python function as a program; `tl.function` makes it.

    Called while another function is traced, it becomes a call; called with concrete arguments, it runs. It is traced
    once for each combination of nesting, dtypes, shapes and static objects of its arguments; `explain()` says why. The
    variables and concrete arrays that it closes over become further arguments of the program.
    """

    _tagloom_returns_copies = True
    """A result has new lists and dicts, in a trace as outside of it."""

    def __init__(
        self,
        python: Callable[..., Any],
        read: Callable[[Any], FunctionSpec] = read_function_spec,
        *,
        capacity: int = DEFAULT_CAPACITY,
        relax_shapes: bool = False,
    ) -> None:
        """`read` returns the parameters and annotations of `python`. It is called on first use, so that annotations may
        name later definitions."""
        is_function = hasattr(python, "__code__")
        self.file: str = underlying_function(python).__code__.co_filename
        """The file that defines the Python function."""
        functools.update_wrapper(self, python, updated=("__dict__",) if is_function else ())
        self.name = callable_name(python)
        self._python = python
        self._source: FunctionSpec | None = None
        self._read_source = read
        self._trace_cache = TraceCache(self.name, capacity, relax_shapes=relax_shapes)
        self._trace_lock = RLock()
        self._returns_arguments = False
        """Whether it returns the arguments that it changes, besides its result."""
        self._derived_functions: LRUCache[object, Function] = LRUCache(capacity)
        """The gradients derived from this function."""
        self._pruned_programs: LRUCache[object, PrunedProgram] = LRUCache(capacity)
        self._inferred_types: LRUCache[object, tuple[TreeType, ...]] = LRUCache(capacity)
        """The tree types of arguments with Python numbers, by their own tree types and numbers."""

    def __repr__(self) -> str:
        return f"<tagloom function {self.name}>"

    @property
    def source(self) -> FunctionSpec:
        """The parameters and annotations, which are read on first use."""
        if self._source is None:
            self._source = self._read_source(self._python)
        return self._source

    def __get__(self, instance: object, owner: type | None = None) -> Function:
        """The bound method of an instance: a `Function` of the other arguments, with its own trace cache."""
        if instance is None:
            return self
        methods = BoundMethods.for_instance(instance)
        if methods is None:
            message = f"{self.name} cannot be a method of a class with __slots__"
            raise Usage(
                message,
                where=user_location(),
                hint=f"define it outside of the class and call {self.name}(instance, ...)",
                python=TypeError,
            )
        if self not in methods.functions:
            python, cache = MethodType(self._python, instance), self._trace_cache
            methods.functions[self] = Function(
                python, self._read_source, capacity=cache.capacity, relax_shapes=cache.relax_shapes
            )
        return methods.functions[self]  # type: ignore[no-any-return]

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the function: run it, or, while tracing, emit a call. Raises Trap, Exhausted or Deadlock if the run does
        not return."""
        bound = self.source.bind(arguments, keywords)
        region = current_region()
        if region is None:
            return call_eagerly(self, bound)
        result, call, _ = trace_pullback(region, self.source, bound)
        for position in call.changed_arguments:
            refuse_change(self.name, self.source.declared_parameters[position][0])
        return result

    def _run(
        self, traced_program: TracedProgram, arguments: Sequence[Any], options: RunOptions, engine: str | None = None
    ) -> Outcome:
        """Run the program on all its arguments, captures included."""
        job = Job(traced_program.graph, traced_program.structure, traced_program.program)
        return run(job, arguments, options, engine)

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
        measures: bool = True,
        cores: int | None = None,
        workers: int | None = None,
        cluster: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: str | os.PathLike[str] | None = None,
        timeline: bool = False,
        soft_placement: bool = False,
        **keywords: Any,
    ) -> Outcome:
        """Run on concrete arguments. The outcome says how the run ended, Ctrl-C included; only a wrong call raises.

        `engine` is reference, fast, compiled, cuda, distributed, or auto, which starts on the first and moves to a
        faster one; the outcome names the engine. None means the environment's TAGLOOM_ENGINE, else auto.
        With `measures=False` only the results are wanted: then auto may run without tokens and count nothing. `account`
        is the old name of this option.

        `schedule` is fifo, lifo, waves, random:SEED, hand:FILE or a Script; on cuda, lifo runs recursions without
        tokens. `until` is quiet, result or trap.
        `keep="events"` keeps all events, `keep=1000` the last 1000, and `keep="run.jsonl"`, or any path that ends in
        .jsonl or .npz, writes them to that file while the program runs. `seed` seeds random numbers, `k` overrides the
        k-bounds of all loops, and `world` prints. `cores` is the number of cores that `fast` may use under `waves`.
        `workers` is the number of workers of `distributed`, and `cluster` says where they are: network, network:SEED,
        processes or ray. `checkpoint` is a file for their checkpoints, and `resume` is such a file of a run whose
        process was killed, which then continues; with `timeline`, `out.cluster.timeline` has the firings and messages
        of each worker, with their times. With `soft_placement`, devices that the run lacks, or that contradict each
        other, are replaced by the closest ones.

        Other keywords are arguments of the function; one that has the name of an option is passed by position.
        """
        if "account" in keywords and "account" not in dict(self.source.declared_parameters):
            warn_renamed("account", "measures")
            measures = keywords.pop("account")
        options = RunOptions(
            schedule,
            until,
            limits,
            keep,
            seed,
            k,
            world,
            measures,
            cores,
            workers,
            cluster,
            checkpoint,
            resume,
            timeline,
            soft_placement,
        )
        try:
            bound_arguments = self.source.bind(arguments, keywords)
        except Usage as error:
            name = next((name for name in keywords if name in LIMIT_OPTIONS), None)
            if name is not None and error.hint is None:
                error.hint = f"a limit is an option of its own: limits=tl.Limits({LIMIT_OPTIONS[name]}=...)"
            raise
        return run_arguments(self, bound_arguments, options, engine)

    def map(self, *arguments: Any, in_axes: Any = 0, **options: Any) -> Outcome:
        """Run on each element of arrays along their first axes, or along `in_axes`, as `vmap` has it: the outcome of
        `vmap(self, in_axes).run(*arguments, **options)`. With engine="cuda" a thread computes each element of a
        function of scalars.

        >>> import tagloom as tl
        >>> @tl.function
        ... def squared(x):
        ...     return x * x
        >>> squared.map([1, 2, 3]).value
        array([1, 4, 9])
        """
        outcome: Outcome = vmap(self, in_axes).run(*arguments, **options)
        return outcome

    def history(
        self,
        *arguments: Any,
        schedule: str | Script = "waves",
        limits: Limits | None = None,
        seed: int = 0,
        k: int | None = None,
        world: World | None = None,
        **keywords: Any,
    ) -> History:
        """A history at the beginning of a run: it can step forwards and backwards, jump, answer queries, and fork."""
        options = RunOptions(schedule=schedule, limits=limits, seed=seed, k=k, world=world)
        return history_of_arguments(self, self.source.bind(arguments, keywords), options)

    def debug(
        self,
        *arguments: Any,
        schedule: str | Script = "waves",
        limits: Limits | None = None,
        seed: int = 0,
        k: int | None = None,
        at: int = 0,
        **keywords: Any,
    ) -> None:
        """Open the debugger in this terminal, on a run with these arguments, after `at` events of it; returns when the
        user quits. Variables stay unchanged. `tagloom debug FILE` can also follow edits of a file.

        Raises Usage where there is no terminal, as in a notebook: use `history` and `out.player()` there.
        """
        bound = self.source.bind(arguments, keywords)
        options = RunOptions(schedule=schedule, limits=limits, seed=seed, k=k)
        open_debugger(lambda world: history_of_arguments(self, bound, options._replace(world=world)), at)

    def partial(self, fetch: Any = None, feed: Mapping[str, object] | None = None) -> PartialProgram:
        """The part of the program that computes some of its values, given others: `fn.partial("h")(2.0)`.

        `fetch` is a name as in the program's text, or a tuple or dict of names, and the value nests likewise; without
        it, the results are fetched. `feed` maps names to values that replace those that the program computes:
        `fn.partial("y", feed={"h": 1.0})(...)`. The name of a value in a loop, a branch or a function begins with a
        tag, `"main/loop[4]/h"`; if the tag contains `*`, the fetched value is a dict by tags. Variables are assigned if
        the results are fetched.

        Raises Usage if `fetch` is not a nest of names, or `feed` not a dict.
        """
        from .fetch_feed import PartialProgram  # here: import tagloom needs no parts of programs

        return PartialProgram(self.name, self._resolve_partial_call, fetch, feed, self._get_or_prune)

    def _get_or_prune(self, key: object, prune: Callable[[], PrunedProgram]) -> PrunedProgram:
        with self._trace_lock:
            return self._pruned_programs.get_or_create(key, prune)

    def _resolve_partial_call(self, arguments: Sequence[Any]) -> tuple[TracedProgram, list[Any]]:
        """The program for arguments, some of which may be `...`, and the values of all its parameters."""
        if current_region() is not None:
            raise Usage(
                f"a part of {self.name} cannot be traced", where=user_location(), hint=f"write {self.name}(...)"
            )
        declared = self.source.declared_parameters
        omitted = [name for name, _ in declared[len(arguments) :]]
        defaults = [self.source.default(name) if self.source.has_default(name) else ... for name in omitted]
        padded = (*arguments, *defaults)
        for argument, (name, tree_type) in zip(padded, declared, strict=False):
            if argument is ... and tree_type is None:
                hint = "annotate the parameter, or give the argument even if it is not needed"
                raise Usage(
                    f"argument {name} of {self.name} is missing, and its type is not known without it",
                    where=user_location(),
                    hint=hint,
                    python=TypeError,
                )
        leaves, tree_types = self._flatten_arguments(padded)
        traced_program = self._find_or_trace(tree_types)
        return traced_program, traced_program.all_arguments(leaves)

    def trace(self, *arguments: Any, **keywords: Any) -> TracedProgram:
        """The program and graph for arguments of these types."""
        return trace_arguments(self, self.source.bind(arguments, keywords))

    def _type_of(self, path: str, leaf: object) -> Type:
        return self._call_at(path, type_of, leaf)  # type: ignore[no-any-return]

    def _check_leaves(self, paths: Sequence[str], leaves: Sequence[object], types: Sequence[Type]) -> None:
        """Raises Usage for a leaf that its declared type does not admit."""
        for path, leaf, type_ in zip(paths, leaves, types, strict=True):
            if leaf is not ...:
                self._call_at(path, admit, leaf, type_)

    def _call_at(self, path: str, compute: Callable[..., Any], *operands: object) -> Any:
        """Compute something of the leaf at a path of an argument, which errors then name."""
        try:
            return compute(*operands)
        except Usage as error:
            error.message, error.where = f"argument {path} of {self.name}: {error.message}", user_location()
            raise

    def _resolve_call(self, method: str, arguments: Sequence[Any]) -> tuple[TracedProgram, list[Any]]:
        """The program for a call, and the leaves of the arguments; raises Usage, with the source line, for invalid
        arguments."""
        if current_region() is not None:
            raise Usage(f"{self.name}.{method} cannot be traced", where=user_location(), hint=f"write {self.name}(...)")
        key = None if self.source.static_parameters else _short_key(arguments)
        with self._trace_lock:
            traced_program = self._trace_cache.find_by_short_key(key)
        if traced_program is not None:
            return traced_program, list(arguments)
        leaves, tree_types = self._flatten_arguments(arguments)
        traced_program = self._find_or_trace(self._infer_number_types(tree_types, leaves), key)
        for position in traced_program.changed_arguments:
            if is_shared(position, arguments):
                refuse_shared_change(self.name, self.source.declared_parameters[position][0])
        return traced_program, leaves

    def _infer_number_types(self, tree_types: tuple[TreeType, ...], leaves: Sequence[object]) -> tuple[TreeType, ...]:
        """The tree types of arguments, in which the Python numbers have the dtypes that recursive calls give them. They
        are inferred only where another argument has such a dtype, since that traces the function once more."""
        declared = [type_ is not None for _, type_ in self.source.declared_parameters]
        if all(declared):
            return tree_types
        flags = [flag for flag, tree_type in zip(declared, tree_types, strict=True) for _ in tree_type.types]
        numbers = tuple(None if flag else weak_number(leaf) for flag, leaf in zip(flags, leaves, strict=True))
        kinds = {kind for number in numbers for kind in number_kinds(number)}
        types = (type_ for tree_type in tree_types for type_ in tree_type.types)
        if not any(type_.dtype.kind in kinds and type_.dtype not in PYTHON_DTYPES for type_ in types):
            return tree_types
        with self._trace_lock:
            return self._inferred_types.get_or_create(
                (tree_types, numbers),
                lambda: _build(lambda builder: builder.infer_entry_types(self.source, tree_types, numbers))[1],
            )

    def _flatten_arguments(self, arguments: Sequence[Any]) -> tuple[list[Any], tuple[TreeType, ...]]:
        """The leaves of concrete arguments, and the tree types that they are traced with."""
        flat_arguments = self.source.flatten_arguments(arguments, Usage)
        for (name, declared), (leaves, structure) in zip(self.source.declared_parameters, flat_arguments, strict=True):
            if declared is not None and structure != LEAF:  # the engine would name a single value as well
                self._check_leaves(leaf_paths(structure, name), leaves, declared.types)
        tree_types = [
            declared or TreeType(structure, tuple(map(self._type_of, leaf_paths(structure, name), leaves)))
            for (name, declared), (leaves, structure) in zip(
                self.source.declared_parameters, flat_arguments, strict=True
            )
        ]
        return [leaf for leaves, _ in flat_arguments for leaf in leaves], self.source.resolve_types(tree_types)

    @property
    def program(self) -> Program:
        """The structured program; every parameter must be annotated or have a default."""
        return self._annotated_program.program

    @property
    def graph(self) -> Graph:
        """The flat graph; every parameter must be annotated or have a default."""
        return self._annotated_program.graph

    @property
    def _annotated_program(self) -> TracedProgram:
        source = self.source
        types = [self._default_type(name, tree_type) for name, tree_type in source.declared_parameters]
        return self._find_or_trace(source.resolve_types(types))

    def _default_type(self, name: str, declared: TreeType | None) -> TreeType | None:
        """The tree type of a parameter without an argument: as declared, else the type of its default, if it has
        one."""
        if declared is not None or not self.source.has_default(name):
            return declared
        leaves, structure = self.source.flatten_argument((name, None), self.source.default(name))
        return TreeType(structure, tuple(map(self._type_of, leaf_paths(structure, name), leaves)))

    def explain(self) -> str:
        """A report of every tracing and why it was made: how its arguments differed from earlier ones."""
        return self._trace_cache.explain()

    def _find_or_trace(self, tree_types: tuple[TreeType, ...], key: object = None) -> TracedProgram:
        """The program for these tree types, from the cache or traced now; several threads trace it only once. `key`,
        unless None, is a short key for it."""
        with self._trace_lock:
            cached = self._trace_cache.find(tree_types, key)
            if cached is not None:
                return cached
            relaxed = self._trace_cache.relax(tree_types)
            traced_program = self._trace_once(relaxed, may_create=not len(self._trace_cache))
            if traced_program.created_variables:
                created, traced_program = traced_program.created_variables, self._trace_once(relaxed, may_create=False)
                traced_program = replace(traced_program, created_variables=created)
            return self._trace_cache.add(
                relaxed, traced_program, [name for name, _ in self.source.declared_parameters], tree_types
            )

    def _trace_once(self, tree_types: tuple[TreeType, ...], *, may_create: bool) -> TracedProgram:
        """Trace the function, and check and lower its program. `may_create` says whether variables may be created while
        tracing."""
        builder, (program, signature) = _build(
            lambda builder: builder.build_program(self.source, tree_types), may_create=may_create
        )
        program = resolve_pullbacks(program)
        problems = program_problems(program)
        if problems:
            raise problems[0]
        graph = replace(lower(program), capture_count=len(signature.captures))
        problems = graph_problems(graph)
        if problems:
            raise Crash("lowering made a graph that breaks the rules", where=self.name) from problems[0]
        created = tuple(builder.created_variables)
        nodes = (node for function in program.functions for node in function.body.walk())
        draws = any(node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw for node in nodes)
        resources = signature.captures, signature.assigned_variables, created
        return TracedProgram(
            program,
            graph,
            signature.treedef,
            builder.callbacks,
            *resources,
            draws_random=draws,
            changed_arguments=signature.changed_arguments,
        )


def call_eagerly(
    function: Function,
    arguments: Sequence[Any],
    replay: CallReplay | None = None,
    callback_log: list[Value] | None = None,
) -> Any:
    """Run the function, and record the call on active tapes, whose reverse pass runs its pullback. With a `replay`,
    the run uses the recorded values of resources, assigns nothing, and repeats no effects. Otherwise
    `callback_log`, unless None, collects the results of callbacks."""
    traced_program, leaves = function._resolve_call("call", arguments)
    if traced_program.changed_arguments and replay is None and not function._returns_arguments:
        return _call_and_change(function, arguments, traced_program.changed_arguments, callback_log)
    is_recording = bool(recording_tapes())
    snapshots = snapshot_arguments(function, arguments, traced_program) if is_recording else ()
    resource_values = (
        traced_program.watched_values()
        if replay is None
        else {capture: replay.resource_values[capture] for capture in traced_program.captures}
    )
    operands = traced_program.all_arguments(leaves, resource_values)
    callback_results = [] if callback_log is None and is_recording else callback_log
    results: Sequence[Any] | None = call_quickly(traced_program.program, operands)
    if results is None:
        world = call_world(traced_program, replay, callback_results)
        outcome = function._run(traced_program, operands, RunOptions(world=world, measures=False))
        value, results = value_or_raise(outcome), outcome.results
    else:
        value = traced_program.value(results)
    result = results_like((*leaves, *resource_values.values(), *traced_program.assigned_variables), value)
    assigned = (traced_program.assign if replay is None else traced_program.assigned_values)(results)
    if is_recording:
        call_replay = CallReplay(
            snapshots, resource_values, replay.callback_results if replay is not None else callback_results or []
        )
        pullback = partial(leaf_adjoints, function, call_replay)
        inputs = [*leaves, *resource_values.values()]
        record_call(function.name, inputs, result, assigned, pullback, draws=traced_program.draws_random)
    return result


def _call_and_change(
    function: Function, arguments: Sequence[Any], positions: tuple[int, ...], callback_log: list[Value] | None
) -> Any:
    """Run a function that changes lists or dicts in the arguments at these positions, and change them alike."""

    def derive() -> Function:
        source = returning_arguments(function.source, positions)
        derived = Function(source.python_function, lambda _: source)
        derived._returns_arguments = True
        return derived

    returning = get_or_derive(function, ("with arguments", positions), derive)
    try:
        result, contents, origins, numbers = call_eagerly(returning, arguments, callback_log=callback_log)
    except TagloomError as error:
        error.add_note("the lists and dicts in the arguments are as they were before the call")
        raise
    change_arguments(arguments, contents, origins, numbers)
    return result


def run_arguments(
    function: Function, arguments: Sequence[Any], options: RunOptions, engine: str | None = None
) -> Outcome:
    """`run`, with one argument for each declared parameter, as `FunctionSpec.bind` returns them."""
    traced_program, leaves = function._resolve_call("run", arguments)
    if options.world is not None or traced_program.callbacks:
        options = options._replace(world=resolve_world(options.world, traced_program.callbacks))
    outcome = function._run(traced_program, traced_program.all_arguments(leaves), options, engine)
    if outcome.error is None:
        traced_program.assign(outcome.results)
    return outcome


def history_of_arguments(function: Function, arguments: Sequence[Any], options: RunOptions) -> History:
    """`history`, with one argument for each declared parameter, as `FunctionSpec.bind` returns them."""
    from ..history.history import History  # here: import tagloom needs no histories

    traced_program, leaves = function._resolve_call("history", arguments)
    return History(
        traced_program.graph,
        traced_program.all_arguments(leaves),
        schedule=options.schedule,
        limits=options.limits,
        structure=traced_program.structure,
        seed=options.seed,
        k=options.k,
        world=resolve_world(options.world, traced_program.callbacks),
    )


def get_or_derive(function: Function, key: object, derive: Callable[[], Function]) -> Function:
    """The derived function cached under a key; if there is none, `derive` creates it. The cache has the capacity of
    the trace cache."""
    with function._trace_lock:
        return function._derived_functions.get_or_create(key, derive)


def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """A function that maps `function` over an axis of its arguments, and stacks the results along one: the k-th element
    of a result is the result for the k-th elements of the arguments, bit for bit.

    `in_axes` has the mapped axis of each argument: an integer, None for an argument that is passed whole, or a nest of
    these like the argument; one integer is for all arguments. A default without a declared type is passed whole.
    `out_axes` says likewise where the axis is in the results; None is for a result that depends on no mapped argument,
    which is returned once. An axis may be negative. The result is a function like any other: it can be called in other
    functions, mapped again, differentiated, and run on any engine. Each element draws its own random numbers; effects
    happen in the order of the elements.

    Raises Usage where the axes do not fit the arguments or results, nothing is mapped, or a result without an axis may
    differ from element to element; Invalid (V4) for different lengths.

    >>> import tagloom as tl
    >>> @tl.function
    ... def power(x, n):
    ...     return tl.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, y * x), 0, 1.0)[1]
    >>> tl.vmap(power)(tl.asarray([2.0, 3.0]), tl.asarray([10, 2]))
    asarray([1024.,    9.], dtype=float64)
    >>> tl.vmap(power, in_axes=(None, 0))(2.0, tl.asarray([1, 2, 3]))
    asarray([2., 4., 8.], dtype=float64)
    """
    check_axes(in_axes, out_axes)
    inner = function if isinstance(function, Function) else Function(function)
    source = inner.source
    argument_axes = read_argument_axes(source, in_axes)

    def derive() -> Function:
        mapped = map_spec(source, argument_axes, out_axes)
        return Function(mapped.python_function, lambda _: mapped)

    return get_or_derive(inner, ("vmap", *axes_key(in_axes, out_axes)), derive)


def derive_pullback(
    function: Function, captures: tuple[Resource, ...] | None = None, rows: frozenset[OperandKey] = frozenset()
) -> Function:
    """The function that maps arguments and an adjoint of the result to the adjoints of the float arguments, as
    `Rows` for the keys in `rows`. With `captures`, which must be all captures of this function, the adjoint covers
    the results and the assigned variables, and the adjoints of `captures` follow."""

    def derive() -> Function:
        source = pullback_spec(function.source, captures, rows)
        return Function(source.python_function, lambda _: source)

    return get_or_derive(function, ("vjp", captures, rows), derive)


def leaf_adjoints(function: Function, replay: CallReplay, adjoint: Any, rows: Collection[int] = ()) -> list[Any]:
    """The adjoints of the leaves of a call's arguments, and of its captures, from the adjoints of its results and
    of the variables that it assigns; None for a leaf that is not a float. `rows` has the positions of those that
    are `Rows`."""
    types = [type_ for tree_type in argument_types(function, replay.arguments) for type_ in tree_type.types]
    captures = tuple(replay.resource_values)
    row_keys = frozenset(at if at < len(types) else captures[at - len(types)] for at in rows)
    pullback = derive_pullback(function, captures, row_keys)
    leaves = iter(call_eagerly(pullback, (*replay.arguments, _mask_non_floats(adjoint)), replay))
    return [next(leaves) if is_float(type_) else None for type_ in (*types, *(capture.type for capture in captures))]


def trace_arguments(function: Function, arguments: Sequence[Any]) -> TracedProgram:
    """`trace`, with one argument for each declared parameter, as `FunctionSpec.bind` returns them."""
    return function._find_or_trace(argument_types(function, arguments))


def argument_types(function: Function, arguments: Sequence[Any]) -> tuple[TreeType, ...]:
    """The nesting of concrete arguments, one for each declared parameter, and the types that they are traced
    with."""
    leaves, tree_types = function._flatten_arguments(arguments)
    return function._infer_number_types(tree_types, leaves)


def argument_leaves(function: Function, arguments: Sequence[Any]) -> list[Any]:
    """The leaves of concrete arguments, one for each declared parameter, in the order of the program's
    parameters."""
    return function._flatten_arguments(arguments)[0]


def snapshot_arguments(function: Function, arguments: Sequence[Any], traced_program: TracedProgram) -> tuple[Any, ...]:
    """A snapshot of concrete arguments: variables are replaced by their values, if the program takes values, and
    writable arrays by copies."""
    pairs = zip(function.source.flatten_arguments(arguments, Usage), arguments, strict=True)
    types = iter(traced_program.program.main.body.parameters)
    return tuple(
        unflatten(structure, [snapshot_leaf(leaf, next(types).type) for leaf in leaves]) if leaves else argument
        for (leaves, structure), argument in pairs
    )


def trace_declared_types(function: Function) -> TracedProgram:
    """The traced program; every parameter must be annotated or have a default."""
    return function._annotated_program


def returning_arguments(source: FunctionSpec, positions: Sequence[int]) -> FunctionSpec:
    """The function that also returns its arguments at these positions, as they are at its end, the origins of what they
    contain, and the values that choose among several lists: four values."""
    from ...core.frontend.source.entry import prepare_entry  # here: import tagloom needs no converter

    def python(*arguments: Any) -> Any:
        former = ArgumentValues(arguments)
        result = prepare_entry(source.python_function)(*arguments)
        contents = former.contents(positions)
        return result, contents, *describe_origins(source.name, source.location, former.paths, contents)

    derived = DerivedFunction(source.name, source.python_function, python)
    return replace(source, python_function=derived, result_type=None)


MAX_RECORD_CLASSES = 8
"""Of how many classes a program may ask for records or objects, in place of the other."""


def _build(build: Callable[[ProgramBuilder], T], *, may_create: bool = False) -> tuple[ProgramBuilder, T]:
    """What `build` returns for a new builder, and the builder. If an array turns out to change in place, or instances
    of a class must be records or objects, another builder traces everything again. If it fails then, the first failure
    counts."""
    from ...core.frontend.source.entry import (  # here: import tagloom needs no converter
        convert_callable,
        prepare_entry,
    )

    changed_arrays: frozenset[str] | None = None
    classes: dict[type, bool] | None = {}
    while True:
        builder = ProgramBuilder(
            Symbol,
            may_create_variables=may_create,
            prepare=prepare_entry,
            convert=convert_callable,
            changed_arrays=changed_arrays,
            record_classes=classes,
        )
        try:
            with record_classes(classes or {}):
                return builder, build(builder)
        except RecordRequest as request:
            classes = {**(classes or {}), request.kind: request.is_record}
            if len(classes) > MAX_RECORD_CLASSES:  # each trace seems to create a class
                classes = None
        except Exception:
            if not classes:
                raise
            classes = None
        except ChangedArray as request:
            changed_arrays = (changed_arrays or frozenset()).union(request.lines)


def _short_key(arguments: Sequence[Any]) -> object:
    """A short cache key for arguments that are all arrays or numbers, which determines their tree types; None for any
    others."""
    key: list[object] = []
    for argument in arguments:
        kind = type(argument)
        if kind is np.ndarray or issubclass(kind, np.generic):
            key.append((argument.dtype, argument.shape))
        elif kind is ConcreteArray:
            key.append(argument._type)
        elif kind in BY_PYTHON:
            key.append(kind)
        else:
            return None
    return tuple(key)


def _mask_non_floats(adjoint: Any) -> Any:
    """Replace the leaves of an adjoint that are not floats by 0."""
    leaves, structure = flatten(adjoint, by_reference=True, is_leaf=None)
    return unflatten(structure, [number_to_numpy(leaf if is_float(common.type_of(leaf)) else 0) for leaf in leaves])


@overload
def function(python: Callable[..., Any]) -> Function: ...
@overload
def function(python: classmethod[Any, ..., Any]) -> ClassMethod: ...
@overload
def function(
    *,
    input_signature: Sequence[Any] | None = None,
    relax_shapes: bool = False,
    maximum_specializations: int = DEFAULT_CAPACITY,
    most_tracings: int = ...,
) -> Callable[[Callable[..., Any]], Function]: ...
def function(
    python: Any = ...,
    *,
    input_signature: Sequence[Any] | None = None,
    relax_shapes: bool = False,
    maximum_specializations: int = DEFAULT_CAPACITY,
    most_tracings: int | None = None,
) -> Any:
    """Turn a Python function into a program: `@tl.function def fib(n: tl.int64) -> tl.int64: ...`.

    Parameters without annotation take the types of the arguments. Objects that are not values, such as models, strings
    and variables, are static; a parameter annotated `tl.Static` always is. Each combination is traced once; `explain()`
    lists them and says why. Results need no annotation, even in recursion: the branches that end the recursion decide
    their types.

    `input_signature` gives the types of all arguments, as annotations would, so that there is one program.
    `relax_shapes` makes one program for shapes that differ only in sizes. The function keeps at most
    `maximum_specializations` programs. `most_tracings` is the old name of this option.

    Above `@classmethod`, it gives each class a function of its own. A function of tagloom, such as what `tl.grad`
    returns, stays what it is; Invalid is raised if there are options for it.

    Raises Usage for a callable without Python code, such as a builtin.
    """
    if most_tracings is not None:
        warn_renamed("most_tracings", "maximum_specializations")
        maximum_specializations = most_tracings
    if type(maximum_specializations) is not int or maximum_specializations < 1:
        raise Usage(
            "maximum_specializations must be a positive integer",
            where=user_location(),
            required="from 1 up",
            got=repr(maximum_specializations),
            python=ValueError if type(maximum_specializations) is int else TypeError,
        )
    read = (
        read_function_spec if input_signature is None else partial(read_function_spec, signature=tuple(input_signature))
    )

    has_options = input_signature is not None or relax_shapes or maximum_specializations != DEFAULT_CAPACITY

    def wrap(python: Any) -> Function | ClassMethod:
        if isinstance(python, Function):
            if has_options:
                raise Invalid(
                    f"{python.name} is already a tagloom function, whose options do not change",
                    where=user_location(),
                    hint="pass the options to the first tl.function",
                )
            return python
        if isinstance(python, classmethod):
            return ClassMethod(wrap(python.__func__))
        return Function(python, read, capacity=maximum_specializations, relax_shapes=relax_shapes)

    return wrap if python is ... else wrap(python)


class ClassMethod:
    """A class method: a descriptor that gives each class its bound method of a `Function`. `classmethod` above a
    descriptor does so before Python 3.13 only."""

    __slots__ = ("_function",)

    def __init__(self, function: Any) -> None:
        self._function = function

    def __get__(self, instance: object, owner: type | None = None) -> Function:
        method: Function = self._function.__get__(type(instance) if owner is None else owner)
        return method


_ATTRIBUTE = "_tagloom_methods"


class BoundMethods:
    """The bound methods of one instance, by the functions of its class. A copy of the instance has none."""

    __slots__ = ("functions", "instance")

    def __init__(self, instance: object) -> None:
        self.instance = instance
        self.functions: dict[Any, Any] = {}

    @classmethod
    def for_instance(cls, instance: object) -> BoundMethods | None:
        """The bound methods of an instance; None if it has no `__dict__` to store them."""
        attributes = getattr(instance, "__dict__", None)
        if attributes is None:
            return None
        methods: BoundMethods | None = attributes.get(_ATTRIBUTE)
        if methods is None or methods.instance is not instance:
            methods = cls(instance)
            if isinstance(instance, type):  # of a class method; the `__dict__` of a class is read-only
                setattr(instance, _ATTRIBUTE, methods)
            else:
                attributes[_ATTRIBUTE] = methods
        return methods

    def __reduce__(self) -> tuple[Any, ...]:
        return BoundMethods, (None,)
