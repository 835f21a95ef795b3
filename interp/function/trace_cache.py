"""The trace cache of a function: its specializations, each with the types of its arguments and why it was traced.

The cache of a `tl.function` is keyed by the nesting of arguments, the types of their leaves, and the identity of static
objects. `CallReplay` records a call, so that a pullback can run its function again without its effects. Tracing itself
is in `function`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.eager.recording import record_assignment, recording_tapes, resolve_watched_array
from ...core.frontend.trace.captures import Resource
from ...core.frontend.trace.pytree import TreeDef, TreeType, leaf_paths, unflatten_result
from ...core.graph.graph import Graph
from ...core.program.program import Program
from ...core.types import Type, type_of
from ...core.value import Literal, Value, admit
from ...core.world import RecordingWorld, World, callback_replay_world
from ..lru_cache import LRUCache

_VARIABLES_LOCK = Lock()
"""Locked while a run reads or assigns variables, so that others see all of its assignments or none."""
DEFAULT_CAPACITY = 128
"""The default number of specializations that a function keeps."""


@dataclass(frozen=True, slots=True)
class TracedProgram:
    """A traced function: the program, its graph, and the nesting of its results."""

    program: Program
    graph: Graph
    structure: TreeDef
    callbacks: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The Python functions that it calls, by their names in the program."""
    captures: tuple[Resource, ...] = ()
    """The variables and arrays that it captures: further arguments, after the others, in this order."""
    assigned_variables: tuple[Resource, ...] = ()
    """The variables that it assigns: further results, after the others, in this order."""
    created_variables: tuple[Resource, ...] = ()
    """The variables created while it was traced."""
    draws_random: bool = False
    """Whether it draws random numbers."""
    changed_arguments: tuple[int, ...] = ()
    """The positions of the arguments in which it changes the items of a list or dict."""

    def all_arguments(self, leaves: Sequence[Any], resource_values: Mapping[Resource, Any] | None = None) -> list[Any]:
        """All arguments of the program, captures included; `resource_values`, unless None, overrides the current values
        of resources."""
        arguments = [leaf._tagloom_literal.value if type(leaf) is ConcreteArray else leaf for leaf in leaves]
        if self.captures:
            values = self.resource_values() if resource_values is None else resource_values
            captured = [values[capture] for capture in self.captures]
            arguments += [
                value if isinstance(value, np.ndarray) else value._tagloom_literal.value for value in captured
            ]
        return arguments

    def resource_values(self) -> dict[Resource, Any]:
        """The current values of the captures, read atomically: no run assigns in between."""
        if not self.captures:
            return {}
        for capture in self.captures:
            capture.apply_pending_restore()
        with _VARIABLES_LOCK:
            return {capture: capture.value for capture in self.captures}

    def watched_values(self) -> dict[Resource, Any]:
        """The current values of the captures, as active tapes track them. The tapes also start to watch the assigned
        variables."""
        values = self.resource_values()
        if not recording_tapes():
            return values
        for assigned_variable in self.assigned_variables:
            resolve_watched_array(assigned_variable, assigned_variable.value)
        return {variable: resolve_watched_array(variable, value) for variable, value in values.items()}

    def value(self, results: Sequence[Any]) -> Any:
        """The value of a run that returned these results, nested as the function returned it."""
        if self.structure.container is None:
            return results[0]
        return unflatten_result(self.structure, results[: self.structure.size])

    def assigned_values(self, results: Sequence[Any]) -> list[ConcreteArray]:
        """The values of the assigned variables among all `results` of a run that returned."""
        return [ConcreteArray(Literal(value, type_of(value))) for value in results[self.structure.size :]]

    def assign(self, results: Sequence[Any]) -> list[ConcreteArray]:
        """Assign the variables their values among the `results` of a run that returned; returns those values."""
        if not self.assigned_variables:
            return []
        values = self.assigned_values(results)
        with _VARIABLES_LOCK:
            for variable, value in zip(self.assigned_variables, values, strict=True):
                variable.value = value
        for variable in self.assigned_variables:
            record_assignment(variable)
        return values


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """A specialization: its number, the tree types of its arguments, the program, and why it was traced, in words."""

    number: int
    tree_types: tuple[TreeType, ...]
    traced_program: TracedProgram
    reason: str


class TraceCache:
    """The specializations of one function, up to a capacity."""

    def __init__(self, name: str, capacity: int = DEFAULT_CAPACITY, *, relax_shapes: bool = False) -> None:
        self.name, self.capacity, self.relax_shapes = name, capacity, relax_shapes
        self._entries: LRUCache[tuple[TreeType, ...], TraceEntry] = LRUCache(capacity)
        self._entries_by_short_key: LRUCache[object, TraceEntry] = LRUCache(capacity)
        """The entries looked up since the last one was added, by short keys."""
        self._created_count = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[TraceEntry]:
        """The entries, in the order in which they were made."""
        return iter(sorted(self._entries.values(), key=lambda entry: entry.number))

    def find_by_short_key(self, key: object) -> TracedProgram | None:
        """The program that `find` cached under this short key, or None."""
        entry = self._entries_by_short_key.get(key)
        if entry is not None and len(self._entries) > 1:
            self._entries.get(entry.tree_types)
        return None if entry is None else entry.traced_program

    def find(self, tree_types: tuple[TreeType, ...], key: object = None) -> TracedProgram | None:
        """The program for these tree types, or None; if shapes may be relaxed, one that admits them. A short `key`,
        which must belong to these tree types alone, makes later look-ups faster."""
        entry = self._entries.get(tree_types)
        if entry is None and self.relax_shapes:
            wider = next(
                (entry.tree_types for entry in self._entries.values() if all_admit(entry.tree_types, tree_types)), None
            )
            entry = None if wider is None else self._entries.get(wider)
        if entry is not None and key is not None:
            self._entries_by_short_key.put(key, entry)
        return None if entry is None else entry.traced_program

    def relax(self, tree_types: tuple[TreeType, ...]) -> tuple[TreeType, ...]:
        """The tree types to trace for. If shapes may be relaxed, they admit these types and those of all
        specializations that differ only in sizes."""
        widest = tree_types
        for entry in self._entries.values() if self.relax_shapes else ():
            widest = join_types(entry.tree_types, widest) or widest
        return widest

    def add(
        self,
        tree_types: tuple[TreeType, ...],
        traced_program: TracedProgram,
        names: Sequence[str],
        argument_types: tuple[TreeType, ...],
    ) -> TracedProgram:
        """Add a specialization for `tree_types`, traced for a call with `argument_types`. The least recently used
        one may be evicted."""
        reason = self._explain_miss(argument_types, names)
        if tree_types != argument_types:
            reason += f"; shapes are relaxed to {describe_types(tree_types)}"
        if traced_program.created_variables:
            created = ", ".join(created_variable.name for created_variable in traced_program.created_variables)
            reason += f"; traced twice, since the first tracing created {created}"
        self._created_count += 1
        self._entries_by_short_key = LRUCache(self.capacity)
        return self._entries.put(
            tree_types, TraceEntry(self._created_count, tree_types, traced_program, reason)
        ).traced_program

    def explain(self) -> str:
        """A report of every specialization and why it was traced."""
        entries = list(self)
        lines = [f"{self.name}: {len(entries)} {'specialization' if len(entries) == 1 else 'specializations'}"]
        if self._created_count > len(entries):
            lines[0] += f", {self._created_count - len(entries)} dropped: no more than {self.capacity} are kept"
        for entry in entries:
            lines += [f"  {entry.number}. {describe_types(entry.tree_types)}", f"     {entry.reason}"]
        shapes = sum(" has shape " in entry.reason for entry in entries)
        if shapes > 2 and not self.relax_shapes:
            lines.append(f"  {shapes} of them differ in shapes: tl.function(relax_shapes=True) makes one for all")
        return "\n".join(lines)

    def _explain_miss(self, tree_types: tuple[TreeType, ...], names: Sequence[str]) -> str:
        """The difference from the most similar specialization, in words; of several, from the latest."""
        if not self._created_count:
            return "the first call"
        entries = reversed(self._entries.values())
        differences = [(describe_differences(entry.tree_types, tree_types, names), entry.number) for entry in entries]
        if not differences:
            return "earlier specializations were dropped"
        nearest, number = min(differences, key=lambda pair: len(pair[0]))
        return f"unlike {number}: {'; '.join(nearest)}" if nearest else f"{number} was dropped"


def describe_types(tree_types: Sequence[TreeType]) -> str:
    """The tree types of arguments, in parentheses."""
    return f"({', '.join(map(str, tree_types))})"


def all_admit(traced_types: Sequence[TreeType], tree_types: Sequence[TreeType]) -> bool:
    """Whether the tree types of a specialization admit these."""
    return all(
        first.treedef == second.treedef and all(a.admits(b) for a, b in zip(first.types, second.types, strict=True))
        for first, second in zip(traced_types, tree_types, strict=True)
    )


def join_types(traced_types: Sequence[TreeType], tree_types: Sequence[TreeType]) -> tuple[TreeType, ...] | None:
    """The narrowest tree types that admit both; None if they differ in more than sizes."""
    result = []
    for first, second in zip(traced_types, tree_types, strict=True):
        if first.treedef != second.treedef:
            return None
        types = [_join_type(*pair) for pair in zip(first.types, second.types, strict=True)]
        if None in types:
            return None
        result.append(TreeType(first.treedef, tuple(type_ for type_ in types if type_ is not None)))
    return tuple(result)


def _join_type(first: Type, second: Type) -> Type | None:
    is_same_rank = first.shape is not None and second.shape is not None and len(first.shape) == len(second.shape)
    return first.join(second) if is_same_rank else None


def describe_differences(
    traced_types: Sequence[TreeType], tree_types: Sequence[TreeType], names: Sequence[str]
) -> list[str]:
    """The differences between the tree types of a tracing and new ones, in words, for each argument."""
    differences: list[str] = []
    for name, first, second in zip(names, traced_types, tree_types, strict=True):
        if first.treedef == second.treedef:
            parts = zip(leaf_paths(first.treedef, name), first.types, second.types, strict=True)
            differences += [f"{inner} {change}" for inner, old, new in parts for change in describe_changes(old, new)]
        elif first.treedef.static_leaf is not None and second.treedef.static_leaf is not None:
            old_leaf, new_leaf = str(first.treedef.static_leaf), str(second.treedef.static_leaf)
            differences.append(
                f"{name} is a different {old_leaf}"
                if old_leaf == new_leaf
                else f"{name} was {old_leaf}, and is {new_leaf}"
            )
        else:
            differences.append(f"{name} nests as {second}, and not as {first}")
    return differences


def describe_changes(first: Type, second: Type) -> Iterator[str]:
    """How a type differs from another, in words."""
    if first.dtype is not second.dtype:
        yield f"was {first.dtype!r}, and is {second.dtype!r}"
    if first.shape != second.shape:
        yield f"has shape {describe_shape(second)}, and not {describe_shape(first)}"


def describe_shape(type_: Type) -> str:
    """A shape in words: ? for an unknown size."""
    return "of any rank" if type_.shape is None else str(type_.shape).replace("None", "?")


class CallReplay(NamedTuple):
    """The record of a call, with which it can run again on the same inputs and without its effects."""

    arguments: tuple[Any, ...]
    """The arguments at the time of the call."""
    resource_values: Mapping[Resource, Any]
    """The values of resources at the time of the call."""
    callback_results: list[Value]
    """The results of callbacks, in order."""


def call_world(traced_program: TracedProgram, replay: CallReplay | None, results: list[Value] | None) -> World:
    """The world for a call. With a `replay`, it repeats no effects and returns the recorded results of callbacks;
    otherwise `results`, unless None, collects the results of callbacks."""
    if replay is not None:
        return callback_replay_world(replay.callback_results)
    return (
        World(callbacks=traced_program.callbacks)
        if results is None
        else RecordingWorld(traced_program.callbacks, results)
    )


def snapshot_leaf(leaf: Any, type_: Type) -> Any:
    """A leaf as an immutable value: a writable array is copied."""
    return leaf if isinstance(leaf, ConcreteArray) else admit(leaf, type_)
