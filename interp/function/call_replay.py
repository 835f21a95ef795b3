"""Calls that were made, and are made again: the run of a pullback computes its function anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...core.frontend.eager.array import ConcreteArray
from ...core.frontend.trace.captures import Resource
from ...core.types import Type
from ...core.value import Value, admit
from ...core.world import RecordingWorld, World, callback_replay_world
from .trace_cache import TracedProgram


class CallReplay(NamedTuple):
    """A call that was made, and may be again: with the same in it, and without its effects."""

    arguments: tuple[Any, ...]
    """As they were then."""
    resource_values: Mapping[Resource, Any]
    """What resources held."""
    callback_results: list[Value]
    """What callbacks gave, one after another."""


def call_world(traced: TracedProgram, before: CallReplay | None, given: list[Value] | None) -> World:
    """The world of a call: that in which the effects of one before have happened, or one where they happen, of which
    `given`, if it is wanted, takes what callbacks give."""
    if before is not None:
        return callback_replay_world(before.callback_results)
    return World(callbacks=traced.callbacks) if given is None else RecordingWorld(traced.callbacks, given)


def snapshot_leaf(leaf: Any, type_: Type) -> Any:
    """A value that nobody changes: a copy of an array that somebody may write to."""
    return leaf if isinstance(leaf, ConcreteArray) else admit(leaf, type_)
