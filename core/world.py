"""The world outside of a program: who performs its effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from .errors import TagloomError, Usage
from .types import Type
from .value import Value, abbreviate, admit


class CallbackError(Exception):
    """A callback raised, or returned what it may not: the effect traps with these words."""


class World:
    """Prints to `output`, and calls the Python functions that it is given by name. What it did is not undone."""

    def __init__(
        self, output: Callable[[str], object] = print, callbacks: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self.output = output
        self.callbacks = dict(callbacks or {})

    def with_callbacks(self, callbacks: Mapping[str, Callable[..., Any]]) -> World:
        """A world like this one that has these Python functions too, but for those whose names it has."""
        made = copy(self)
        made.callbacks = {**callbacks, **self.callbacks}
        return made

    def print(self, line: str) -> None:
        self.output(line)

    def call(self, function: str, operands: tuple[Value, ...], returns: Type) -> Value:
        """What a callback returns, as a value of that type; raises Failed where it has none."""
        if function not in self.callbacks:
            raise CallbackError(f"no Python function is given for callback {function}")
        try:
            result = self.callbacks[function](*operands)
        except TagloomError as error:
            raise CallbackError(f"callback {function} raised {type(error).__name__}: {error.message}") from None
        except Exception as error:
            raise CallbackError(f"callback {function} raised {type(error).__name__}: {error}") from None
        try:
            return admit(result, returns)
        except Usage:
            got = "nothing" if result is None else _abbreviate_result(result)
            raise CallbackError(f"callback {function} returned {got}, which is no {returns}") from None


def resolve_world(given: object, callbacks: Mapping[str, Callable[..., Any]]) -> World:
    """The world that is given, or Python's own, with the Python functions that a program calls; raises Usage where
    something else is given."""
    if given is not None and not isinstance(given, World):
        raise Usage("a world is a tl.World", required="world=tl.World(output=...)", got=repr(given)[:80])
    return World(callbacks=callbacks) if given is None else given.with_callbacks(callbacks)


class RecordingWorld(World):
    """Python's own world, which adds what callbacks give to `given`."""

    def __init__(self, callbacks: Mapping[str, Callable[..., Any]], given: list[Value]) -> None:
        super().__init__(callbacks=callbacks)
        self.callback_results = given

    def call(self, function: str, operands: tuple[Value, ...], returns: Type) -> Value:
        value = super().call(function, operands, returns)
        self.callback_results.append(value)
        return value


class CallbackReplayWorld(World):
    """A world in which everything has happened: it answers from what effects gave, and does nothing."""

    def __init__(self, answer: Callable[[], Value]) -> None:
        super().__init__(output=lambda line: None)
        self.next_result = answer
        """What the next callback returns; raises Failed where it trapped."""

    def call(self, function: str, operands: tuple[Value, ...], returns: Type) -> Value:
        return self.next_result()


def callback_replay_world(given: Sequence[Value]) -> CallbackReplayWorld:
    """A world in which callbacks give this, one after another: what they gave before."""
    rest = iter(given)

    def next_result() -> Value:
        for value in rest:
            return value
        raise CallbackError("computed again, this calls Python more often than it did")

    return CallbackReplayWorld(next_result)


def _abbreviate_result(result: object) -> str:
    try:
        return abbreviate(admit(result))
    except Usage:
        return _safe_repr(result)


def _safe_repr(result: object) -> str:
    """What an object says of itself; one that fails to is told by its class."""
    try:
        return repr(result)[:80]
    except Exception:
        return f"a {type(result).__name__}"
