"""Effects that have happened: what they gave is in their events, and none is repeated (S14).

A step that finds an effect asks the world of its state. The worlds here answer from events, or from the line of a log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.types import Type, type_of
from ...core.value import Value, shortly
from ...core.world import Failed, Recorded
from ..machine.event import Event


def answer(event: Event) -> Value:
    """What an effect gave, by the event of its firing; raises Failed where it trapped."""
    if event.trap is not None or not event.outputs:
        raise Failed(event.trap or "this effect did not happen")
    return event.outputs[0][1]


def known(events: Sequence[Event], position: Callable[[], int]) -> Recorded:
    """A world in which the effects of these events have happened; `position` says which of them is next."""
    return Recorded(lambda: answer(events[position()]))


class Told(Recorded):
    """A world that gives callbacks what somebody says they gave, if they can have given that."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.trap: str | None = None
        self.value: Value | None = None

    def tell(self, value: Value | None, trap: str | None) -> None:
        """What is said of the next callback: its result, or why it trapped; or nothing."""
        self.value, self.trap = value, trap

    def _answer(self) -> Value:
        if self.trap is not None or self.value is None:
            raise Failed(self.trap or "nothing is known of this callback")
        return self.value

    def call(self, function: str, operands: tuple[Value, ...], returns: Type) -> Value:
        value = super().call(function, operands, returns)
        if not returns.admits(type_of(value)):
            raise Failed(f"callback {function} returned {shortly(value)}, which is no {returns}")
        return value
