"""Worlds: the host side of a program. A world handles its effects: it prints lines, and calls Python functions.

The machines call a world and never print or call Python themselves, so another world can record or replay effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from .errors import TagloomError, Usage, describe_class
from .escape import print_line
from .types import Type
from .value import Value, abbreviate, admit


class CallbackError(Exception):
    """A callback raised, or returned a wrong value: the effect traps with this message."""


class World:
    """Prints to `output`, by default stdout, and calls Python functions by name. Its effects are never undone. On a
    terminal, control characters are printed as escapes; `output=print` prints them unchanged."""

    def __init__(
        self, output: Callable[[str], object] = print_line, callbacks: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self.output = output
        self.callbacks = dict(callbacks or {})

    def with_callbacks(self, callbacks: Mapping[str, Callable[..., Any]]) -> World:
        """A copy of this world with more callbacks. If two have one name, this world's is kept."""
        world = copy(self)
        world.callbacks = {**callbacks, **self.callbacks}
        return world

    def print(self, line: str) -> None:
        self.output(line)

    def call(self, function: str, operands: tuple[Value, ...], returns: Type) -> Value:
        """The result of a callback, as a value of type `returns`; raises CallbackError where there is none."""
        if function not in self.callbacks:
            raise CallbackError(f"no Python function is given for callback {function}")
        name = "the callback" if function == "callback" else f"callback {function}"
        try:
            result = self.callbacks[function](*operands)
        except Exception as error:
            message = error.message if isinstance(error, TagloomError) else str(error)
            raise CallbackError(f"{name} raised {type(error).__name__}: {message}") from None
        try:
            return admit(result, returns)
        except Usage:
            got = "nothing" if result is None else _abbreviate_result(result)
            raise CallbackError(f"{name} returned {got}, which is not of type {returns}") from None


def resolve_world(world: object, callbacks: Mapping[str, Callable[..., Any]]) -> World:
    """The world itself, or a default one for None, with these callbacks added; raises Usage for another object."""
    if world is not None and not isinstance(world, World):
        raise Usage(
            "the world is not a tl.World", required="world=tl.World(output=...)", got=repr(world)[:80], python=TypeError
        )
    return World(callbacks=callbacks) if world is None else world.with_callbacks(callbacks)


class RecordingWorld(World):
    """A default world that appends the results of callbacks to `results`."""

    def __init__(self, callbacks: Mapping[str, Callable[..., Any]], results: list[Value]) -> None:
        super().__init__(callbacks=callbacks)
        self.callback_results = results

    def call(self, function: str, operands: tuple[Value, ...], returns: Type) -> Value:
        value = super().call(function, operands, returns)
        self.callback_results.append(value)
        return value


class CallbackReplayWorld(World):
    """A world for replay: callbacks return recorded results, and nothing is printed."""

    def __init__(self, next_result: Callable[[], Value]) -> None:
        super().__init__(output=lambda line: None)
        self.next_result = next_result
        """Returns the result of the next callback; raises CallbackError where it trapped."""

    def call(self, function: str, operands: tuple[Value, ...], returns: Type) -> Value:
        return self.next_result()


def callback_replay_world(results: Sequence[Value]) -> CallbackReplayWorld:
    """A world whose callbacks return these recorded results, one after another."""
    remaining_results = iter(results)

    def next_result() -> Value:
        for value in remaining_results:
            return value
        raise CallbackError("the recomputation calls Python more often than the original run")

    return CallbackReplayWorld(next_result)


def _abbreviate_result(result: object) -> str:
    try:
        return abbreviate(admit(result))
    except Usage:
        return _safe_repr(result)


def _safe_repr(result: object) -> str:
    """The repr of an object, or its class name if repr fails."""
    try:
        return repr(result)[:80]
    except Exception:
        return f"{describe_class(result)}"
