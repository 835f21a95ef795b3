"""A cursor over the known events of a run: a state at a position between two events, and the moves to any other.

Moving applies and reverts events, and computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, overload

from ...core.errors import Usage, plural
from ..breakpoints.breakpoint import Breakpoints, program_breakpoint
from ..breakpoints.expression import compile_condition
from ..machine.event import Event
from ..machine.state import State
from .segment import Keyframe, Lineage

EventPredicate: TypeAlias = Callable[[State, Event], bool]
EventSelector: TypeAlias = str | EventPredicate | Breakpoints | None
"""Selects events: by a condition; by a function of the event and the state after it; by breakpoints; or, if None, by
the program's own `tl.breakpoint`."""


def predicate_of(wanted: EventSelector, state: State) -> EventPredicate:
    """The predicate of a selector; raises Malformed or Usage for a condition that is invalid for the graph."""
    if isinstance(wanted, Breakpoints):
        return lambda state, event: bool(wanted.see(state, event).stops)
    if wanted is None:
        said = program_breakpoint(state.graph)
        return said.condition.holds if said is not None else lambda state, event: False
    if isinstance(wanted, str):
        return compile_condition(wanted, state.graph).holds
    if not callable(wanted):
        required = "a condition, tl.Breakpoints, or a function of a state and an event"
        raise Usage("this wants no event", required=required, got=repr(wanted))
    return wanted


class HistoryCursor:
    """`position` events have happened in `state`; `base` is the first known position, and `len(cursor)` the last.

    The state belongs to the cursor and changes as it moves; `at` returns an independent one.
    """

    def __init__(self, lineage: Lineage, state: State, position: int) -> None:
        self._lineage = lineage
        self.state = state
        self.position = position

    def __len__(self) -> int:
        """The last known position."""
        return len(self._lineage)

    @property
    def base(self) -> int:
        """The first known position: 0, unless the fast machine went ahead."""
        return self._lineage.base

    @property
    def base_keyframe(self) -> Keyframe:
        """The state and the meter at `base`, which must not be changed."""
        return self._lineage.base_keyframe

    @property
    def last_event(self) -> Event | None:
        """The event before the current position; None at `base`."""
        return self[self.position - 1] if self.position > self.base else None

    @overload
    def __getitem__(self, number: int) -> Event: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, number: int | slice) -> Event | tuple[Event, ...]:
        """The event of this number, counted from 0, or from the end if negative; several for a slice."""
        if isinstance(number, slice):
            return tuple(self._lineage[each] for each in range(*number.indices(len(self))))
        place = number + len(self) if number < 0 else number
        if not 0 <= place < len(self):
            raise IndexError(f"no event {number} in a history of {plural(len(self), 'event')}")
        return self._lineage[place]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._lineage)

    def events_after(self) -> Iterator[tuple[int, Event]]:
        """The known events from here on, with their numbers; no state is computed."""
        return self._lineage.events_after(self.position)

    def events_before(self) -> Iterator[tuple[int, Event]]:
        """The known events before here, with their numbers, the last first."""
        return self._lineage.events_before(self.position)

    @property
    def choices(self) -> tuple[int, ...]:
        """The position in the flight that each event took: with the edits, all that a rerun needs."""
        return tuple(event.position for event in self.all_events())

    def all_events(self) -> Iterator[Event]:
        """All events of the run so far; raises Usage if the first ones are not known."""
        if self.base:
            raise Usage("the events of this run are not all known", got=f"those from {self.base:,} on")
        return iter(self)

    def jump(self, position: int) -> State:
        """Go to a position. At the beginning of a fork, its edit has been made."""
        self._check_position(position)
        stretch = self._lineage.segment_at(position)
        here = (self.state, self.position) if stretch is self._lineage.segment_at(self.position) else None
        try:
            self.state = stretch.state_at(position, here)
        except BaseException:  # interrupted: the state is at some position on the way
            self.state = self._lineage.segment_at(self.position).state_at(self.position)
            raise
        self.position = position
        return self.state

    def at(self, position: int) -> State:
        """An independent state at a position; the cursor does not move."""
        self._check_position(position)
        return self.state.fork() if position == self.position else self._lineage.segment_at(position).state_at(position)

    def _check_position(self, position: int) -> None:
        if not 0 <= position <= len(self):
            raise Usage(f"no position {position} in a history of {plural(len(self), 'event')}")
        self._lineage.segment_at(position)

    def events(self, start: int, stop: int) -> Iterator[tuple[State, Event]]:
        """The known events between two positions, each with the state after it, which the next one changes. The cursor
        does not move."""
        past = HistoryCursor(self._lineage, self.at(start), start)
        for position in range(start, stop):
            past.jump(position + 1)
            yield past.state, past[position]

    def back(self) -> Event | None:
        """Step one event back and return it; None at `base`."""
        if self.position == self.base:
            return None
        self.jump(self.position - 1)
        return self[self.position]

    def back_to(self, wanted: EventSelector = None) -> Event | None:
        """Go back to just before the last selected event, and return it; None at `base` if there is no such event."""
        holds = predicate_of(wanted, self.state)
        self._observe_past(wanted)
        while (event := self.last_event) is not None:
            state = self.state
            found = holds(state, event)
            self.back()
            if found:
                return event
        return None

    def _observe_past(self, wanted: EventSelector) -> None:
        """Show past events to breakpoints that ignore their first hits."""
        if not isinstance(wanted, Breakpoints) or wanted.ignores_observed_until >= self.position:
            return
        for state, event in self.events(max(int(wanted.ignores_observed_until), self.base), self.position):
            wanted.catch_up(state, event)
