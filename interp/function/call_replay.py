"""Call replays: a call as recorded, so that a pullback can run its function again without its effects."""

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
    """A call recorded for replay: with the same inputs, and without its effects."""

    arguments: tuple[Any, ...]
    """The arguments at the time of the call."""
    resource_values: Mapping[Resource, Any]
    """The values of resources at the time of the call."""
    callback_results: list[Value]
    """The results of callbacks, in order."""


def call_world(traced: TracedProgram, before: CallReplay | None, given: list[Value] | None) -> World:
    """The world of a call. With a replay `before`, effects have happened already; else they happen, and `given`, unless
    None, collects the results of callbacks."""
    if before is not None:
        return callback_replay_world(before.callback_results)
    return World(callbacks=traced.callbacks) if given is None else RecordingWorld(traced.callbacks, given)


def snapshot_leaf(leaf: Any, type_: Type) -> Any:
    """A value that cannot change: an array that is writable is copied."""
    return leaf if isinstance(leaf, ConcreteArray) else admit(leaf, type_)
