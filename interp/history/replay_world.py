"""Worlds for replay: the results of effects come from recorded events, and no effect is repeated (S14).

A step performs an effect through the world of its state. The worlds here answer from events, or from the line of a log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.types import Type, type_of
from ...core.value import Value, abbreviate
from ...core.world import CallbackError, CallbackReplayWorld
from ..machine.event import Event


def recorded_result(event: Event) -> Value:
    """The result of an effect, from the event of its firing; raises Failed if it trapped."""
    if event.trap is not None or not event.outputs:
        raise CallbackError(event.trap or "this effect did not happen")
    return event.outputs[0][1]


def recorded_world(events: Sequence[Event], position: Callable[[], int]) -> CallbackReplayWorld:
    """A world that replays the effects of these events; `position` returns the number of the next event."""
    return CallbackReplayWorld(lambda: recorded_result(events[position()]))


class ReplayWorld(CallbackReplayWorld):
    """A world in which callbacks return given results, after checking that they are possible."""

    def __init__(self) -> None:
        super().__init__(self._take_result)
        self.trap: str | None = None
        self.value: Value | None = None

    def set_result(self, value: Value | None, trap: str | None) -> None:
        """Set the result of the next callback, or the reason why it trapped; or neither."""
        self.value, self.trap = value, trap

    def _take_result(self) -> Value:
        if self.trap is not None or self.value is None:
            raise CallbackError(self.trap or "nothing is known of this callback")
        return self.value

    def call(self, function: str, operands: tuple[Value, ...], returns: Type) -> Value:
        value = super().call(function, operands, returns)
        if not returns.admits(type_of(value)):
            raise CallbackError(f"callback {function} returned {abbreviate(value)}, which is no {returns}")
        return value
