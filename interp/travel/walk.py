"""A walk over a run: a state that stands between two of the events that are known, and goes to any other place.

Going over events applies and reverts them, and computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ...core.errors import Usage, counted
from ..breakpoints.expression import compile_condition
from ..event import Event
from ..state import State
from .stretch import Lineage

Wanted: TypeAlias = str | Callable[[State, Event], bool]
"""Which events are wanted."""


def test_of(wanted: Wanted, state: State) -> Callable[[State, Event], bool]:
    """Whether an event is wanted; raises Malformed or Usage where a condition means nothing for the graph."""
    return compile_condition(wanted, state.graph).holds if isinstance(wanted, str) else wanted


class Walk:
    """`position` events have happened in `state`, of `len(walk)` that are known.

    The state is the walk's own, and changes as it moves; `at` gives others to keep.
    """

    def __init__(self, lineage: Lineage, state: State, position: int) -> None:
        self._lineage = lineage
        self.state = state
        self.position = position

    def __len__(self) -> int:
        """How many events are known."""
        return len(self._lineage)

    def __getitem__(self, number: int) -> Event:
        """The event of this number, from 0."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._lineage[number]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._lineage)

    @property
    def choices(self) -> tuple[int, ...]:
        """Which position of the flight each event took: with the edits, all that is needed to do it again."""
        return tuple(event.position for event in self)

    def jump(self, position: int) -> State:
        """Go to where so many events have happened. Where a branch begins, its edit has been made."""
        self._check(position)
        stretch = self._lineage.stretch(position)
        here = (self.state, self.position) if stretch is self._lineage.stretch(self.position) else None
        try:
            self.state = stretch.reach(position, here)
        except BaseException:  # interrupted: the state is somewhere on the way
            self.state = self._lineage.stretch(self.position).reach(self.position)
            raise
        self.position = position
        return self.state

    def at(self, position: int) -> State:
        """A state of its own in which so many events have happened; the history does not move."""
        self._check(position)
        return self.state.fork() if position == self.position else self._lineage.stretch(position).reach(position)

    def _check(self, position: int) -> None:
        if not 0 <= position <= len(self):
            raise Usage(f"no position {position} in a history of {counted(len(self), 'event')}")

    def back(self) -> Event | None:
        """One event back, which is returned; None at the beginning."""
        if not self.position:
            return None
        self.jump(self.position - 1)
        return self[self.position]

    def back_to(self, wanted: Wanted) -> Event | None:
        """Back to before the last event that is wanted, in the state that it led to; None at the beginning. What is
        wanted is a function of both, or a condition, as `node == 'add' and value < 0`."""
        holds = test_of(wanted, self.state)
        while self.position:
            state, event = self.state, self[self.position - 1]
            found = holds(state, event)
            self.back()
            if found:
                return event
        return None
