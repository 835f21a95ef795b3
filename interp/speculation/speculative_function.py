"""Speculated functions: Python functions with objects and state, run as graphs under assumptions.

A call is watched in Python, runs in the graph, or falls back to Python from its start. A run of the graph changes no
object: its results are committed after it has returned, when all assertions have passed.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, partial
from io import StringIO
from threading import RLock
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...core.display import open_debugger
from ...core.errors import Disagreement, Exhausted, TagloomError, Usage, describe_class, plural
from ...core.frontend.eager.recording import recording_tapes
from ...core.frontend.trace.program_builder import current_region
from ...core.frontend.trace.source_location import user_location
from ..engines.compiled.engine import has_machine_code, run_quickly
from ..engines.protocol import Job, RunOptions
from ..engines.registry import resolve_engine, run
from ..function.function import Function, trace_declared_types
from ..function.trace_cache import TracedProgram
from ..history.history import History
from ..outcome.outcome import Outcome
from . import call_times
from .assumptions import Assumption, number_in
from .call_times import CallTimes
from .comparison import copy_objects, first_difference
from .explanation import AssumptionRow, CallCounts, Explanation, Failure, Forecast
from .generation import Generation
from .heap import (
    CHANGES,
    MIN_CAPACITY,
    AllocationKey,
    CapacityKey,
    FieldKey,
    HeapKey,
    LayoutMiss,
    ObjectTable,
    Observation,
    OutsideKey,
    PlaceKey,
    VariableKey,
    has_dict,
    places_of,
    slots_of,
    static_attribute,
    write_deque,
    write_dict,
    write_list,
    write_set,
)
from .layouts import (
    MAX_HEIGHT,
    NUMBER_CLASSES,
    UNASSIGNED,
    ArrayPool,
    ConstantLayout,
    DictPool,
    Layout,
    NotSpeculable,
    Pool,
    SequencePool,
    SetPool,
    ShapesDiffer,
    parts,
    references,
)
from .program_functions import function_key
from .quick_call import QuickCall, is_quick_argument, is_quick_result
from .recording import Recorder, SpeculativeFunctionBase
from .staging import PRINTED_TEXT, Requirements, Restart, Unreachable
from .testing import number_to_break
from .walk import MAX_WALKED_CLASSES, WalkPlan, find_kernel, is_walkable

MAX_BROKEN_CALLS = 3
"""A function may stay in Python after this number of calls that broke an assumption; it does if they are too
frequent."""
MIN_RETURNS = 4
"""The number of calls that must return from the graph for each that breaks an assumption."""
INTERNAL_ERROR = "speculation met an internal error"
"""The beginning of a reason that is a fault of tagloom, not of the user."""
MAX_CAPACITY = 2**22
"""The largest capacity of all lists of a pool together, and the largest number of fresh objects of a class."""
MAX_RESTARTS = 200
"""The largest number of restarts of generation. It restarts when it finds a new field or variable, or drops a
branch."""
MAX_ATTEMPTS = 3
"""A function stays in Python after this number of failed generations."""
MAX_EVENTS = 100
"""The number of events, such as broken assumptions, that an explanation has; older ones are dropped."""
MAX_FAILED_RUNS = 8
"""The number of runs with a failed assertion that are kept, with their arguments, for `why`; older ones are dropped."""
_RUNNING: ContextVar[frozenset[int]] = ContextVar("functions running in Python", default=frozenset())


_IMMUTABLE_CLASS = 1 << 8
"""Python's flag of classes whose attributes cannot be assigned."""
DictEntry: TypeAlias = tuple[Callable[[str, Any], Any], str, Any]
"""A function that finds a name, as `get` of a dict does; the name, and the value under it, or UNASSIGNED."""


class Definitions(NamedTuple):
    """The definitions of classes and functions that a graph assumes, in a form that is compared in a tenth of the time
    that a search through the bases of the classes takes."""

    orders: Sequence[tuple[type, tuple[type, ...]]]
    entries: Sequence[DictEntry]
    """Entries of the dicts of classes, and the names of classes."""
    functions: Sequence[tuple[FunctionType, tuple[Any, ...]]]

    def is_unchanged(self) -> bool:
        """Whether all definitions are as they were; False if that is not known."""
        for owner, order in self.orders:
            if owner.__mro__ is not order:
                return False
        for get, name, value in self.entries:
            if get(name, UNASSIGNED) is not value:
                return False
        for function, (code, defaults, *keywords) in self.functions:
            if keywords or function.__kwdefaults__:
                return False
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        return True


@dataclass
class SpeculativeGraph:
    """A program made under assumptions, with the layouts and definitions that a call must have to run in it."""

    traced_program: TracedProgram
    generation: Generation
    arguments: dict[str, Layout]
    fields: dict[FieldKey, Layout]
    variables: dict[OutsideKey, Layout]
    class_level_names: dict[type, frozenset[str]]
    class_values: dict[tuple[type, str], Any]
    functions: dict[FunctionType, tuple[Any, ...]]
    capacities: dict[CapacityKey, int]
    changed_arrays: frozenset[type]
    """The pools of arrays of NumPy some of which change in place."""
    plan: WalkPlan | None = None
    quick_call: QuickCall | None = None
    definitions: Definitions | None = None
    """The definitions, once they have been compared; None if there are variables of classes, whose values may
    change."""

    @property
    def assumptions(self) -> list[Assumption]:
        """The assumptions that the graph asserts, by number."""
        return list(self.generation.assumptions.values())

    @cached_property
    def allocations(self) -> list[AllocationKey]:
        """The classes and pools that the graph creates objects of."""
        return [key for key in self.generation.keys if isinstance(key, AllocationKey)]

    @cached_property
    def value_counts(self) -> list[tuple[HeapKey, int]]:
        """The number of values that stand for each field and variable."""
        return [(key, len(self.generation.key_types(key))) for key in self.generation.keys]

    @cached_property
    def job(self) -> Job:
        """The job for an engine."""
        return Job(self.traced_program.graph, self.traced_program.structure, self.traced_program.program)

    def constants(self) -> Iterator[Any]:
        """The constants that the graph assumes."""
        for layout in (*self.arguments.values(), *self.fields.values(), *self.variables.values()):
            yield from (part.value for part in parts(layout) if isinstance(part, ConstantLayout))

    def check_definitions(self) -> None:
        """Raises LayoutMiss if a class or a function has changed since the graph was made."""
        if self.definitions is None or not self.definitions.is_unchanged():
            self._compare_definitions()
            requirements = self.generation.requirements
            if not requirements.class_variables and not requirements.keywords:
                self.definitions = self._read_definitions()

    def _read_definitions(self) -> Definitions:
        """The definitions that the graph assumes, which have just been compared."""
        entries = list[DictEntry]()
        orders = dict(self.generation.resolution_orders)
        for owner, name in self.class_values:
            order = orders.setdefault(owner, owner.__mro__)
            definer = next((base for base in order if name in base.__dict__), object)
            for base in order[: order.index(definer) + 1]:
                if not base.__flags__ & _IMMUTABLE_CLASS:
                    entries.append((base.__dict__.get, name, base.__dict__.get(name, UNASSIGNED)))
        class_level_names = self.generation.requirements.missing_class_names
        entries += [(owner.__dict__.get, name, UNASSIGNED) for owner, name in class_level_names]
        attributes = self.generation.requirements.attributes
        entries += [(partial(getattr, owner), name, value) for (owner, name), value in attributes.items()]
        return Definitions(list(orders.items()), entries, list(self.functions.items()))

    def _compare_definitions(self) -> None:
        """Raises LayoutMiss as `check_definitions` does."""
        for owner, order in self.generation.resolution_orders.items():
            if owner.__mro__ is not order:
                raise LayoutMiss(f"{owner.__qualname__}.__bases__", "as it was", "changed")
        for owner, name in self.generation.requirements.class_variables:
            member = static_attribute(owner, name, UNASSIGNED)
            if member is UNASSIGNED or hasattr(type(member), "__get__"):
                raise LayoutMiss(f"{owner.__qualname__}.{name}", "a variable of the class", "changed")
        for owner, name in self.generation.requirements.missing_class_names:
            if name in owner.__dict__:
                raise LayoutMiss(f"{owner.__qualname__}.{name}", "an attribute of a base", "one of the class")
        for (owner, name), value in self.class_values.items():
            if static_attribute(owner, name, UNASSIGNED) is not value:
                raise LayoutMiss(f"{owner.__qualname__}.{name}", "as it was", "changed")
        for (owner, name), value in self.generation.requirements.attributes.items():
            if getattr(owner, name) is not value:
                raise LayoutMiss(f"{name} of {describe_class(owner)}", "as it was", "changed")
        for function, keywords in self.generation.requirements.keywords.items():
            now = function.keywords
            if now.keys() != keywords.keys() or any(now[name] is not value for name, value in keywords.items()):
                raise LayoutMiss("the keywords of a partial function", "as they were", "changed")
        for function, key in self.functions.items():
            now = function_key(function)
            if len(now) != len(key) or any(old is not new for old, new in zip(now, key, strict=True)):
                raise LayoutMiss(function.__qualname__, "as it was", "changed")

    @cached_property
    def walked_classes(self) -> dict[type, frozenset[str]] | None:
        """All classes of objects that a call may reach, each with the names that no instance may have; None if machine
        code cannot read the objects."""
        layouts = [*self.arguments.values(), *self.fields.values(), *self.variables.values()]
        owners = {key.owner: None for key in self.fields} | dict.fromkeys(self.class_level_names)
        owners |= {owner: None for layout in layouts for reference in references(layout) for owner in reference.classes}
        if self.allocations or len(owners) > MAX_WALKED_CLASSES or not all(map(is_walkable, self.fields.values())):
            return None
        if any(issubclass(owner, Pool) or slots_of(owner) or not has_dict(owner) for owner in owners):
            return None
        return {owner: self.class_level_names.get(owner, frozenset()) for owner in owners}

    def find_plan(self) -> WalkPlan | None:
        """The plan by which machine code reads the objects of a call; None unless the graph has machine code, too."""
        if self.plan is None and self.walked_classes and has_machine_code(self.traced_program.program):
            kernel = find_kernel()
            fields = {key: self.fields[key] for key in self.generation.keys if isinstance(key, FieldKey)}
            self.plan = None if kernel is None else WalkPlan(kernel, fields, self.walked_classes)
        return self.plan

    def find_quick_call(self) -> QuickCall | None:
        """The quick path of calls; None unless machine code reads the objects, and the graph changes nothing."""
        if self.quick_call is None and self.plan is not None and self._may_be_quick:
            assert self.generation.main.result is not None
            self.quick_call = QuickCall(
                self.traced_program.program,
                self.plan,
                self.arguments,
                [(key, layout.value) for key, layout in self.variables.items()],  # type: ignore[union-attr,misc]
                self.generation.main.result,
                self.generation.requirements.needs_rows,
            )
        return self.quick_call

    @cached_property
    def _may_be_quick(self) -> bool:
        """Whether the graph changes nothing, and depends on nothing but its arguments, constants and fields."""
        requirements, result = self.generation.requirements, self.generation.main.result
        is_special = requirements.needs_classes or requirements.needs_separate_arrays or requirements.static_values
        if requirements.assigned_keys or requirements.texts or is_special or self.traced_program.captures:
            return False
        if not all(
            isinstance(key, VariableKey) and isinstance(layout, ConstantLayout)
            for key, layout in self.variables.items()
        ):
            return False
        return all(map(is_quick_argument, self.arguments.values())) and result is not None and is_quick_result(result)

    @cached_property
    def keys_after_fields(self) -> list[HeapKey]:
        """The keys other than fields. Where machine code reads the objects, they come last, since nothing is
        allocated."""
        return [key for key in self.generation.keys if not isinstance(key, FieldKey)]

    def encode(self, roots: dict[str, Any]) -> tuple[ObjectTable, list[Any]]:
        """The objects of a call, and the arguments of the program, some of them packed by the table. Raises LayoutMiss
        if a value has another layout."""
        texts = self.generation.requirements.texts
        table = ObjectTable(
            self.fields,
            self.class_level_names,
            self.capacities,
            self.allocations,
            texts,
            self.find_plan(),
            self.changed_arrays,
        )
        leaves: list[Any] = []
        for name, layout in self.arguments.items():
            leaves += table.leaves_of(roots[name], layout, name)
        outside: dict[HeapKey, Sequence[Any]] = {}
        for variable, layout in self.variables.items():  # sorted: variables come before what they lead to
            if isinstance(variable, PlaceKey):
                outside[variable] = table.encode_place(variable, layout)
            else:
                outside[variable] = table.leaves_of(variable.read(), layout, variable)
        requirements = self.generation.requirements
        table.check_static_values(requirements.static_values, requirements.slot_names)
        if requirements.needs_separate_arrays:
            table.check_separate_arrays(roots.values(), (key for key in self.variables if isinstance(key, PlaceKey)))
        table.follow(key.container for key in self.variables if isinstance(key, VariableKey))
        if requirements.needs_classes:
            leaves.append(table.class_numbers(self.generation.class_numbers))
        if requirements.needs_rows:
            leaves.append(table.class_rows())
        if table.is_walked:
            leaves.append(table.pack_vectors())
        for key in self.keys_after_fields if table.is_walked else self.generation.keys:
            if type(key) is FieldKey:
                leaves += table.vectors(key)
            else:
                leaves += table.allocation(key) if isinstance(key, AllocationKey) else outside[key]
        return table, leaves

    def decode(
        self, table: ObjectTable, leaves: Sequence[Any], results: Sequence[Any]
    ) -> tuple[Any, list[Callable[[], None]]]:
        """The result of the function, and the actions that commit the changes of a run to objects and variables."""
        main, assigned = self.generation.main, self.generation.requirements.assigned_keys
        assert main.result is not None
        remaining = iter(results)
        result = [next(remaining) for _ in main.result.types]
        if not assigned:
            return table.decode(main.result, iter(result)), []
        before: dict[HeapKey, list[Any]] = dict(self._split(table.unpack(leaves)))
        changed = {key: [next(remaining) for _ in range(count)] for key, count in self.value_counts if key in assigned}
        after = {**before, **changed}
        for key in self.allocations:
            table.materialize(key, int(after[key][0]))
        for assigned_key in assigned:
            if isinstance(assigned_key, FieldKey) and issubclass(assigned_key.owner, SetPool):
                table.note_unordered_sets(assigned_key.owner, after[FieldKey(assigned_key.owner, CHANGES)][0])
        writes = [write for key in assigned for write in self._key_writes(table, key, before[key], after[key])]
        writes += self._new_object_writes(table, after)
        self._check_additions(table, before, after)
        writes += self._list_writes(table, before, after)
        return table.decode(main.result, iter(result)), writes

    def _key_writes(
        self, table: ObjectTable, key: HeapKey, before: Sequence[Any], after: Sequence[Any]
    ) -> Iterator[Callable[[], None]]:
        """The actions that commit the changes of a field of older objects, or of a variable."""
        if isinstance(key, FieldKey):
            if issubclass(key.owner, ArrayPool):
                yield from (partial(np.copyto, *row) for row in table.array_changes(key.owner, before, after))
            elif not issubclass(key.owner, SequencePool):
                yield from (partial(_writer(key.owner), *row) for row in table.changes(key, before, after))
        elif any(map(_differs, before, after)):
            if isinstance(key, VariableKey):
                yield partial(key.write, table.decode(self.variables[key], iter(after)))
            elif isinstance(key, PlaceKey) and key.owner in table.static_objects:
                instance = table.static_objects[key.owner]
                yield partial(key.write, instance, table.decode(self.variables[key], iter(after)))

    def _new_object_writes(self, table: ObjectTable, after: _Heap) -> Iterator[Callable[[], None]]:
        """The actions that give new objects and dicts their attributes and keys."""
        requirements = self.generation.requirements
        for owner in table.fresh_indices:
            if not issubclass(owner, SequencePool | ArrayPool):
                orders = requirements.creation_orders.get(owner, ())
                vectors = _vectors_of(owner, after)
                attributes = table.new_attributes(owner, orders, requirements.late_names, vectors)
                yield from (partial(_writer(owner), *row) for row in attributes)

    def _check_additions(self, table: ObjectTable, before: _Heap, after: _Heap) -> None:
        """Raises LayoutMiss if a run gives an older object several new attributes: their order is not known."""
        additions = list[int]()
        for key in self.generation.requirements.assigned_keys:
            if isinstance(key, FieldKey) and not issubclass(key.owner, SequencePool):
                additions += table.objects_given_attribute(key, before[key], after[key])
        if len({*additions}) < len(additions):
            raise LayoutMiss("an object", "one that gets at most one new attribute", "one that gets several")

    def _list_writes(self, table: ObjectTable, before: _Heap, after: _Heap) -> Iterator[Callable[[], None]]:
        """The actions that commit the changes of lists."""
        owners = {key.owner: None for key in self.generation.requirements.assigned_keys if isinstance(key, FieldKey)}
        for owner in owners:
            if issubclass(owner, SetPool):
                set_changes = table.set_changes(owner, _vectors_of(owner, before), _vectors_of(owner, after))
                yield from (partial(write_set, *row) for row in set_changes)
            elif issubclass(owner, SequencePool):
                changes = table.list_changes(owner, _vectors_of(owner, before), _vectors_of(owner, after))
                yield from (partial(CONTAINER_WRITERS[owner.python_class], *row) for row in changes)

    def _split(self, leaves: Sequence[Any]) -> Iterator[tuple[HeapKey, list[Any]]]:
        """The values of each field and variable among the arguments of the program."""
        position = sum(len(layout.types) for layout in self.arguments.values())
        position += self.generation.requirements.needs_classes + self.generation.requirements.needs_rows
        for key, count in self.value_counts:
            yield key, list(leaves[position : position + count])
            position += count


_Heap: TypeAlias = Mapping[HeapKey, Sequence[Any]]
"""The values of all keys, before or after a run."""


def _vectors_of(owner: type, heap: _Heap) -> dict[str, Sequence[Any]]:
    """The vectors of the fields of a class, by name."""
    return {key.name: vectors for key, vectors in heap.items() if isinstance(key, FieldKey) and key.owner is owner}


CONTAINER_WRITERS: dict[type, Callable[..., None]] = {list: write_list, deque: write_deque}
CONTAINER_WRITERS |= dict.fromkeys((dict, OrderedDict, defaultdict, Counter), write_dict)
"""What writes the items of a container other than a set, by its class."""


def _writer(owner: type) -> Callable[[Any, str, Any], None]:
    return dict.__setitem__ if issubclass(owner, DictPool) else object.__setattr__


class FailedRun(NamedTuple):
    """A run of a graph that did not return, for the debugger."""

    call: int
    """The number of the call, from 1."""
    claim: str
    tag: str
    traced_program: TracedProgram
    leaves: Sequence[Any]


def _differs(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.shape != second.shape or first.tobytes() != second.tobytes()
    is_equal = type(first) is type(second) and type(first) in NUMBER_CLASSES and repr(first) == repr(second)
    return first is not second and not is_equal


def _path_order(key: OutsideKey) -> tuple[int, str]:
    """The order in which keys are encoded: an object before its attributes."""
    return sum(1 for _ in places_of(key)), str(key)


def _takes_stars(code: CodeType) -> bool:
    return bool(code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))


def _parameters(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def bind_arguments(function: FunctionType, arguments: Sequence[Any], keywords: dict[str, Any]) -> dict[str, Any] | None:
    """The value of each parameter in a call, defaults included; None where the call does not fit.

    It reads the function itself: `inspect.signature` would follow `__wrapped__`, and has the defaults of earlier.

    >>> def power(base, /, exponent=2, *, scale=1): ...
    >>> bind_arguments(power, (3,), {"scale": 5})
    {'base': 3, 'exponent': 2, 'scale': 5}
    >>> bind_arguments(power, (), {"base": 3}) is None
    True
    """
    code = function.__code__
    if not keywords and len(arguments) == code.co_argcount and not (code.co_kwonlyargcount or _takes_stars(code)):
        return dict(zip(code.co_varnames, arguments, strict=False))  # a fifth of the time of what follows
    names = _parameters(code)
    positional, by_keyword = names[: code.co_argcount], names[code.co_posonlyargcount :]
    bound = dict(zip(positional, arguments, strict=False))
    if _takes_stars(code) or len(arguments) > len(positional):
        return None
    if any(name in bound or name not in by_keyword for name in keywords):
        return None
    defaults = dict(zip(positional[::-1], (function.__defaults__ or ())[::-1], strict=False))
    bound = {**defaults, **(function.__kwdefaults__ or {}), **bound, **keywords}
    return {name: bound[name] for name in names} if all(name in bound for name in names) else None


class SpeculativeFunction(SpeculativeFunctionBase):
    """A Python function that `tl.speculate` has decorated."""

    def __init__(self, python: FunctionType, *, watch: int, engine: str | None, check: bool) -> None:
        functools.update_wrapper(self, python)
        self.python: FunctionType = python
        self.watch_count, self.engine, self.checks = watch, engine, check
        self.name = python.__qualname__
        self.recorder, self.counts = Recorder(), CallCounts()
        self.graph: SpeculativeGraph | None = None
        self.builds = 0
        self.reason: str | None = "it takes * or ** parameters" if _takes_stars(python.__code__) else None
        """The reason for which calls run in Python; None while they are speculated."""
        self.attempts = 0
        self.events: deque[str] = deque(maxlen=MAX_EVENTS)
        """The reasons for which calls ran in Python, or the graph was made again."""
        self.failure_counts: dict[tuple[str, int, str], int] = {}
        """The number of times that each assumption broke, by its file, line and claim."""
        self.failed_runs: deque[FailedRun] = deque(maxlen=MAX_FAILED_RUNS)
        """The last runs of graphs that did not return."""
        self.last_outcome: Outcome | None = None
        """The outcome of the last run that was not a quick one of machine code."""
        self._observation, self._requirements = Observation(), Requirements()
        self._samples: list[dict[str, Any]] = []
        """The arguments of watched calls, until there is a graph."""
        self._times: CallTimes | None = None if engine is not None or check else CallTimes()
        """The times of calls; None where a graph may be slower: its engine was chosen, or calls are checked."""
        self._failing: tuple[int, SpeculativeGraph | None, SpeculativeGraph] | None = None
        """The number of an assertion, the graph, and the same graph with that assertion failing."""
        self._lock = RLock()

    def __repr__(self) -> str:
        return f"<speculated function {self.name}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        """A copy is the function itself, and it is pickled by its name, as functions are."""
        return self.name

    def __call__(self, /, *arguments: Any, **keywords: Any) -> Any:
        """Call the function: watched, in the graph, or in Python; the result and all effects are those of Python."""
        if self.reason is not None:
            self.counts.python += 1
            return self.python(*arguments, **keywords)
        if id(self) in _RUNNING.get() or current_region() is not None or recording_tapes():
            return self.python(*arguments, **keywords)
        roots = bind_arguments(self.python, arguments, keywords)
        if roots is None:
            return self.python(*arguments, **keywords)
        if self.counts.watch < self.watch_count:
            self.counts.watch += 1
            self._samples.append(roots)
            return self._run_python(arguments, keywords)
        with self._lock:
            if self.checks:
                return self._run_both(roots, arguments, keywords)
            times = None if number_to_break() is not None else self._times
            is_timed = times is not None and self.graph is not None and times.is_python_next()
            if not is_timed:
                start = call_times.read_clock()
                attempt = self._run_graph(roots)
                if attempt is not None:
                    if times is not None:
                        self._note_time(times, True, call_times.read_clock() - start)
                    return attempt[0]
        if is_timed:
            return self._run_timed(arguments, keywords)
        self.counts.python += 1
        return self._run_python(arguments, keywords)

    def _run_timed(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the call in Python, unwatched, to compare its time with that of the graph."""
        self.counts.python += 1
        self.counts.timed += 1
        token = _RUNNING.set(_RUNNING.get() | {id(self)})
        start = call_times.read_clock()
        try:
            value = self.python(*arguments, **keywords)
        finally:
            seconds = call_times.read_clock() - start
            _RUNNING.reset(token)
        with self._lock:
            if self._times is not None:
                self._note_time(self._times, False, seconds)
        return value

    def _note_time(self, times: CallTimes, is_graph: bool, seconds: float) -> None:
        """Note the time of a call. A function whose graph is slower than Python stays in Python."""
        times.note(is_graph, seconds)
        if times.is_too_slow and self.reason is None:
            self.reason = f"a call takes {times}"

    def _run_python(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the call in Python, and record its tests."""
        token = _RUNNING.set(_RUNNING.get() | {id(self)})
        try:
            return self.recorder.watch(self.python)(*arguments, **keywords)
        finally:
            _RUNNING.reset(token)

    def _run_both(self, roots: dict[str, Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the call in the graph, on copies of its objects, and in Python; the effects are those of Python. Raises
        Disagreement if the two differ."""
        attempt, copies, printed = self._run_on_copies(roots)
        text, error, value = StringIO(), None, None
        with redirect_stdout(text):
            try:
                value = self._run_python(arguments, keywords)
            except Exception as caught:
                error = caught
        print(text.getvalue(), end="")
        difference = None
        if attempt is None:
            self.counts.python += 1
        elif error is not None:
            difference = f"the graph returns, Python raises {type(error).__name__}"
        elif printed != text.getvalue():
            difference = f"the graph prints {printed!r}, Python {text.getvalue()!r}"
        else:
            now = {**roots, **{str(key): key.read() for key in self._changeable_variables()}}
            difference = first_difference({**copies, "result": attempt[0]}, {**now, "result": value})
        if difference is not None:
            raise Disagreement(f"{self.name} differs in the graph and in Python", got=difference) from error
        if error is not None:
            raise error
        return value

    def _run_on_copies(self, roots: dict[str, Any]) -> tuple[tuple[Any] | None, dict[str, Any], str]:
        """Run the call in the graph on copies of its objects. Returns its result, if it returns, the copies, and the
        printed text. Afterwards variables have their old values."""
        text = StringIO()
        if self._match_or_note(roots) is None:
            return None, roots, ""
        # a graph assigns no variable that is not there
        variables = [key for key in self._changeable_variables() if key.read() is not UNASSIGNED]
        before = [key.read() for key in variables]
        assert self.graph is not None
        constants = {id(value): value for value in self.graph.constants()}
        copies, values = copy_objects((roots, before), constants)
        try:
            for key, value in zip(variables, values, strict=True):
                key.write(value)
            with redirect_stdout(text):
                attempt = self._run_graph(copies)
            copies |= {str(key): key.read() for key in variables}
        finally:
            for key, value in zip(variables, before, strict=True):
                key.write(value)
        return attempt, copies, text.getvalue()

    def _changeable_variables(self) -> list[VariableKey]:
        """The variables of modules and cells whose values the graph reads instead of assuming them."""
        variables = {} if self.graph is None else self.graph.variables
        return [
            key
            for key, layout in variables.items()
            if isinstance(key, VariableKey) and not isinstance(layout, ConstantLayout)
        ]

    def _run_graph(self, roots: dict[str, Any]) -> tuple[Any] | None:
        """Run the call in the graph, and commit: the result, in a tuple. None where Python must run it."""
        try:
            attempt = self._call_quickly(roots)
        except (Exception, NotSpeculable) as error:  # as below
            self._note_no_graph(error)
            return None
        if attempt is not None:
            self.counts.graph += 1
            return attempt
        match = self._match_or_note(roots)
        if match is None:
            return None
        graph, table, leaves = match
        try:
            results: Sequence[Any] | None = None
            if resolve_engine(self.engine) in ("auto", "compiled"):
                results = run_quickly(graph.job, graph.traced_program.all_arguments(leaves))
            if results is None:
                leaves = table.unpack(leaves)
                outcome = self.last_outcome = self._execute(graph, leaves)
                while self._grow_capacity(graph, table, outcome):
                    table, leaves = graph.encode(roots)
                    leaves = table.unpack(leaves)
                    outcome = self.last_outcome = self._execute(graph, leaves)
                if isinstance(outcome.error, Exhausted) and outcome.error.limit == "interrupt":
                    raise KeyboardInterrupt from outcome.error
                if outcome.error is not None:
                    self._note_failure(graph, outcome, leaves)
                    return None
                results = outcome.results
            value, writes = graph.decode(table, leaves, results)
        except (Exception, NotSpeculable) as error:  # no object has been changed yet, so Python runs the call
            self._note_no_graph(error)
            return None
        for write in writes:
            write()
        self.counts.graph += 1
        lines = graph.generation.requirements.effects[PRINTED_TEXT]
        printed = "".join(lines)
        lines.clear()
        if printed:
            print(printed, end="")
        return (value,)

    def _call_quickly(self, roots: dict[str, Any]) -> tuple[Any] | None:
        """The result of a call on the quick path, in a tuple; None if it must take the general one."""
        graph = self.graph
        if graph is None or graph.plan is None or graph.definitions is None or number_to_break() is not None:
            return None
        quick_call = graph.find_quick_call()
        if quick_call is None or resolve_engine(self.engine) not in ("auto", "compiled"):
            return None
        return quick_call.call(roots) if graph.definitions.is_unchanged() else None

    def _match_or_note(self, roots: dict[str, Any]) -> tuple[SpeculativeGraph, ObjectTable, list[Any]] | None:
        """The result of `_match`; None, with a note of the reason, if Python must run the call."""
        try:
            return self._match(roots)
        except (Exception, NotSpeculable) as error:
            self._note_no_graph(error)
            return None

    def _note_no_graph(self, error: BaseException) -> None:
        """Note why a call has no graph; an error of any other class is a fault of tagloom itself."""
        if isinstance(error, LayoutMiss):
            self._note_broken_call(str(error))
        elif isinstance(error, NotSpeculable):
            self._refuse(str(error))
        else:
            self._refuse(f"{INTERNAL_ERROR}: {type(error).__name__}: {error}")

    def _execute(self, graph: SpeculativeGraph, leaves: Sequence[Any]) -> Outcome:
        until: Any = "trap" if self.engine in ("reference", "fast") else "quiet"
        options = RunOptions(until=until, measures=self.engine == "reference")
        return run(graph.job, graph.traced_program.all_arguments(leaves), options, self.engine)

    def _grow_capacity(self, graph: SpeculativeGraph, table: ObjectTable, outcome: Outcome) -> bool:
        """If a run ended for lack of capacity, enlarge it. Returns whether it is larger now."""
        number = None if outcome.error is None else number_in(str(getattr(outcome.error, "message", "")))
        owner = None if number is None else graph.assumptions[number].capacity_key
        if owner is None or number_to_break() is not None:
            return False
        capacity = max(MIN_CAPACITY, graph.capacities.get(owner, 0) * 4)
        count = 1 if isinstance(owner, AllocationKey) else max(1, len(table.rows.get(owner, ())))
        if capacity * count > MAX_CAPACITY:
            return False
        graph.capacities[owner] = capacity
        return True

    def _refuse(self, reason: str) -> None:
        self.attempts += 1
        self.graph = None
        self._observation, self._requirements = Observation(), Requirements()
        if self.attempts >= MAX_ATTEMPTS:
            self.reason = reason
            self._samples.clear()
        self.events.append(f"no graph is made, since {reason}")

    def _note_failure(self, graph: SpeculativeGraph, outcome: Outcome, leaves: Sequence[Any]) -> None:
        """Note which assumption broke in a run of the graph that did not return."""
        error = outcome.error
        number = number_in(str(getattr(error, "message", "")))
        if number is None:
            claim, key = f"the run returns ({type(error).__name__}: {error})", ("", 0, str(error).splitlines()[0])
        else:
            assumption = graph.assumptions[number]
            claim = f"`{assumption.source}`: {assumption.claim}"
            key = (assumption.location.file, assumption.location.line, assumption.claim)
        self.events.append(f"an assertion failed: {claim}")
        call = self.counts.watch + self.counts.graph + self.counts.python + 1
        self.failed_runs.append(
            FailedRun(call, claim, str(getattr(error, "tag", None) or ""), graph.traced_program, leaves)
        )
        if number_to_break() is not None:
            return
        self.failure_counts[key] = self.failure_counts.get(key, 0) + 1
        if self._require_handlers(graph.generation, number):
            self.counts.fallbacks += 1
            self.graph = None
        else:
            self._note_broken_call(claim)

    def _require_handlers(self, generation: Generation, number: int | None) -> bool:
        """Require the handler that catches what Python raises where an assertion fails; without a number, of each
        assertion, since the run ended at an op before one. Returns whether the next graph has more handlers."""
        assumptions = generation.assumptions.items()
        raised_keys = {
            key for key, assumption in assumptions if assumption.is_caught and number in (None, assumption.number)
        }
        is_new = not raised_keys <= self._requirements.raised_checks
        self._requirements.raised_checks |= raised_keys
        return is_new

    def _note_broken_call(self, claim: str) -> None:
        """Count a call that broke an assumption. If such calls are frequent, the function stays in Python."""
        self.counts.fallbacks += 1
        if self.counts.fallbacks >= MAX_BROKEN_CALLS and self.counts.fallbacks * MIN_RETURNS > self.counts.graph:
            calls = plural(self.counts.graph + self.counts.fallbacks, "call")
            self.reason = f"{self.counts.fallbacks} of {calls} broke an assumption, the last one {claim}"

    def _match(self, roots: dict[str, Any]) -> tuple[SpeculativeGraph, ObjectTable, list[Any]]:
        """A graph that fits a call, with the call's objects and the arguments of the program.

        If a value does not fit its layout, the layout is widened, and the graph is made again. Raises NotSpeculable if
        there is no graph, and LayoutMiss if no layout changes.
        """
        while True:
            if self.graph is None:
                self.graph = self._build(roots)
            number = number_to_break()
            graph = self.graph if number is None else self._find_failing_graph(roots, number)
            try:
                graph.check_definitions()
                return graph, *graph.encode(roots)
            except LayoutMiss as miss:
                self.events.append(str(miss))
                self._widen_layouts(graph, roots, miss)
                self.graph = None
            except ShapesDiffer as error:
                if not self._observation.allow_static_objects():
                    raise
                self.events.append(str(error))
                self.graph = None

    def _widen_layouts(self, graph: SpeculativeGraph, roots: dict[str, Any], miss: LayoutMiss) -> None:
        """Widen the observed layouts to those of a call; raises the LayoutMiss if none changes."""
        before = self._observation.widening_count
        try:
            graph.check_definitions()
        except LayoutMiss:
            self._requirements = Requirements()
            return
        requirements = self._requirements
        self._observation.observe(roots, list(requirements.fields), list(requirements.variables))
        if self._observation.widening_count == before:
            raise miss

    def _build(self, roots: dict[str, Any], failing_number: int | None = None) -> SpeculativeGraph:
        """Make the graph for the observed layouts and this call. With a number, the assertion of this number fails.
        Raises NotSpeculable."""
        if failing_number is None:
            if self.builds >= self.build_bound:
                raise NotSpeculable(f"its graph was already made {self.builds} times, which is the bound")
            self.builds += 1
            if self._times is not None:
                self._times.reset()
        observation, requirements = self._observation, self._requirements
        for _ in range(MAX_RESTARTS):
            if self._observe(roots):
                continue
            if requirements.rename_pools(observation) or requirements.add_places(observation.instances):
                continue
            observe = partial(self._observe_requirements, roots)
            taken = self.recorder.branches_taken
            generation = Generation(self.python, observation, requirements, taken, observe, failing_number)
            traced = self._generate(generation, list(roots))
            if traced is not None:
                break
        else:
            raise NotSpeculable(f"its generation started again {MAX_RESTARTS} times")
        self._samples.clear()
        return SpeculativeGraph(
            traced,
            generation,
            {name: observation.arguments[name] for name in roots},
            {key: observation.layout(key) for key in sorted(requirements.fields, key=str)},
            {key: observation.variables[key] for key in sorted(requirements.variables, key=_path_order)},
            {owner: frozenset(names) for owner, names in requirements.class_level_names.items()},
            dict(requirements.class_values),
            dict(requirements.functions),
            observation.capacities,
            frozenset(map(observation.canonical_class, requirements.changed_arrays)),
        )

    def _observe(self, roots: dict[str, Any]) -> bool:
        """Observe what the graph requires in the watched calls and in this one. Returns whether that must be repeated,
        since some objects turned out not to be static."""
        requirements = self._requirements
        fields, variables = list(requirements.fields), list(requirements.variables)
        if any(self._observation.observe(sample, fields, variables) for sample in (*self._samples, roots)):
            requirements.forget_static_objects()
            return True
        return False

    def _observe_requirements(self, roots: dict[str, Any]) -> bool:
        """Observe requirements that generation has found. Returns whether it must start again, since a layout that was
        there before has changed."""
        observation = self._observation
        places: list[dict[Any, Layout]] = [observation.arguments, observation.fields, observation.variables]
        before, pool_count = [dict(layouts) for layouts in places], len(observation.merged_pools)
        if self._observe(roots) or len(observation.merged_pools) > pool_count:
            return True
        return any(now.get(key) != old[key] for now, old in zip(places, before, strict=True) for key in old)

    def _generate(self, generation: Generation, names: Sequence[str]) -> TracedProgram | None:
        """The program for arguments of these names; None if generation must start again, with the requirements that it
        has found. Raises NotSpeculable."""
        try:
            spec = generation.main_spec(names)
            return trace_declared_types(Function(spec.python_function, read=lambda _: spec))
        except Restart:
            return None
        except TagloomError as error:
            raise NotSpeculable(error.message) from None
        except Unreachable:
            if self._require_handlers(generation, None):
                return None
            raise NotSpeculable(f"{self.python.__name__} returns on no path of a graph") from None

    def _find_failing_graph(self, roots: dict[str, Any], number: int) -> SpeculativeGraph:
        """The graph whose assertion of this number fails."""
        if self._failing is None or self._failing[:2] != (number, self.graph):
            self._failing = number, self.graph, self._build(roots, number)
        return self._failing[2]

    @property
    def build_bound(self) -> int:
        """The largest number of graphs that can be made: each widens the layout of a place, at least."""
        places = (
            len(_parameters(self.python.__code__)) + len(self._requirements.fields) + len(self._requirements.variables)
        )
        choices = len(self._requirements.dropped_branches) + len(self._requirements.raised_checks)
        choices += len(self._observation.table_places)
        return 1 + MAX_HEIGHT * places + choices + MAX_ATTEMPTS

    def explain(self, /, *arguments: Any, format: str = "text", **keywords: Any) -> Any:
        """How the calls ran, the assumptions of the graph, and why calls ran in Python. With arguments, it begins with
        a prediction of how a call with them would run; nothing runs. `format` is "text", or "json" for a dict of JSON
        values. Raises Usage for another format."""
        if format not in ("text", "json"):
            raise Usage("there is no such format", got=repr(format), required="text, json", where=user_location())
        explanation = self._explanation(self._forecast(arguments, keywords) if arguments or keywords else None)
        return explanation.to_json() if format == "json" else str(explanation)

    def _forecast(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Forecast:
        """A prediction of how a call with these arguments would run."""
        roots = bind_arguments(self.python, arguments, keywords)
        if self.reason is not None or roots is None:
            return Forecast("python", self.reason or "the arguments do not fit its parameters")
        if self.counts.watch < self.watch_count:
            return Forecast("watched", f"it is one of the first {plural(self.watch_count, 'call')}")
        if self.graph is None:
            return Forecast("new graph", "there is none")
        try:
            self.graph.check_definitions()
            self.graph.encode(roots)
        except LayoutMiss as miss:
            return Forecast("new graph", str(miss))
        except ShapesDiffer as error:
            return Forecast("python" if self._observation.has_static_objects else "new graph", str(error))
        except NotSpeculable as error:
            return Forecast("python", str(error))
        count = plural(len(self.graph.assumptions), "assertion")
        return Forecast("graph", f"all layouts hold; the run checks {count}")

    def failed_history(self, call: int | None = None) -> History:
        """The history of a call that broke an assertion, just before the token that makes it fail, on the reference
        machine; by default of the last such call. `explain()` lists these calls by number, from 1. Raises Usage if the
        call broke no assertion, or is no longer kept."""
        runs = [run for run in self.failed_runs if call is None or run.call == call]
        if not runs:
            numbers = ", ".join(str(run.call) for run in self.failed_runs)
            raise Usage(
                "there is no run that broke an assertion" + (f" in call {call}" if call else ""),
                where=user_location(),
                required=f"call {numbers}" if numbers else None,
                python=ValueError,
            )
        traced = runs[-1].traced_program
        history = History(traced.graph, traced.all_arguments(runs[-1].leaves), structure=traced.structure)
        history.run("trap")
        history.back()
        return history

    def why(self, call: int | None = None) -> None:
        """Open the debugger in this terminal at the token that made an assertion fail, in the call of this number, or
        in the last such call; returns when the user quits. No object changes.

        Raises Usage as `failed_history` does, and where there is no terminal."""
        history = self.failed_history(call)
        open_debugger(lambda _: history, history.position)

    def _explanation(self, forecast: Forecast | None) -> Explanation:
        rows: list[AssumptionRow] = []
        graph = self.graph
        if graph is not None:
            places: list[tuple[object, Layout]] = [*graph.arguments.items(), *graph.variables.items()]
            for place, layout in (*places, *graph.fields.items()):
                rows.append(AssumptionRow("", str(place), str(layout), "observed", "before each run", 0))
            for (where, _, source), truths in sorted(graph.generation.truths.items(), key=lambda row: str(row[0])):
                if truths == {True} or truths == {False}:
                    claim = f"it is always {truths == {True}}"
                    rows.append(AssumptionRow(str(where), source, claim, "it follows", "when the graph is made", 0))
            for assumption in graph.assumptions:
                key = (assumption.location.file, assumption.location.line, assumption.claim)
                rows.append(
                    AssumptionRow(
                        str(assumption.location),
                        assumption.source,
                        assumption.claim,
                        assumption.reason,
                        "in the graph",
                        self.failure_counts.get(key, 0),
                    )
                )
        return Explanation(
            self.name,
            self.counts,
            self.builds,
            self.build_bound,
            self.reason,
            tuple(rows),
            tuple(self.events),
            tuple(Failure(run.call, run.claim, run.tag) for run in self.failed_runs),
            forecast,
            None if self._times is None else self._times.medians,
        )
