"""A walk over a run: a state that stands between two of the events that are known, and goes to any other place.

Going over events applies and reverts them, and computes nothing.
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
"""Which events are wanted: those for which a condition holds, or a function of the state after it and the event; those
at which a breakpoint stops; or, if none of these is given, those at which the program itself says so."""


def predicate_of(wanted: EventSelector, state: State) -> EventPredicate:
    """Whether an event is wanted; raises Malformed or Usage where a condition means nothing for the graph."""
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
    """`position` events have happened in `state`; `len(walk)` is the last position that is known, and `base` the first.

    The state is the walk's own, and changes as it moves; `at` gives others to keep.
    """

    def __init__(self, lineage: Lineage, state: State, position: int) -> None:
        self._lineage = lineage
        self.state = state
        self.position = position

    def __len__(self) -> int:
        """How many events have happened at the end of what is known."""
        return len(self._lineage)

    @property
    def base(self) -> int:
        """How many events had happened before the first that is known: 0, but where the fast machine went ahead."""
        return self._lineage.base

    @property
    def base_keyframe(self) -> Keyframe:
        """The state where what is known begins, and the measures; nobody changes them."""
        return self._lineage.base_keyframe

    @property
    def last_event(self) -> Event | None:
        """The event that led to where one stands; None where what is known begins."""
        return self[self.position - 1] if self.position > self.base else None

    @overload
    def __getitem__(self, number: int) -> Event: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, number: int | slice) -> Event | tuple[Event, ...]:
        """The event of this number, from 0, or from the end where it is negative; of a slice, several."""
        if isinstance(number, slice):
            return tuple(self._lineage[each] for each in range(*number.indices(len(self))))
        place = number + len(self) if number < 0 else number
        if not 0 <= place < len(self):
            raise IndexError(f"no event {number} in a history of {plural(len(self), 'event')}")
        return self._lineage[place]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._lineage)

    def events_after(self) -> Iterator[tuple[int, Event]]:
        """The known events from here on, with their numbers: to look at them takes no state."""
        return self._lineage.events_after(self.position)

    def events_before(self) -> Iterator[tuple[int, Event]]:
        """Those that have happened, the last first."""
        return self._lineage.events_before(self.position)

    @property
    def choices(self) -> tuple[int, ...]:
        """Which position of the flight each event took: with the edits, all that is needed to do it again."""
        return tuple(event.position for event in self.all_events())

    def all_events(self) -> Iterator[Event]:
        """All events, from the first of the run on; raises Usage where it is not known."""
        if self.base:
            raise Usage("the events of this run are not all known", got=f"those from {self.base:,} on")
        return iter(self)

    def jump(self, position: int) -> State:
        """Go to where so many events have happened. Where a branch begins, its edit has been made."""
        self._check_position(position)
        stretch = self._lineage.segment_at(position)
        here = (self.state, self.position) if stretch is self._lineage.segment_at(self.position) else None
        try:
            self.state = stretch.state_at(position, here)
        except BaseException:  # interrupted: the state is somewhere on the way
            self.state = self._lineage.segment_at(self.position).state_at(self.position)
            raise
        self.position = position
        return self.state

    def at(self, position: int) -> State:
        """A state of its own in which so many events have happened; the history does not move."""
        self._check_position(position)
        return self.state.fork() if position == self.position else self._lineage.segment_at(position).state_at(position)

    def _check_position(self, position: int) -> None:
        if not 0 <= position <= len(self):
            raise Usage(f"no position {position} in a history of {plural(len(self), 'event')}")
        self._lineage.segment_at(position)

    def events(self, start: int, stop: int) -> Iterator[tuple[State, Event]]:
        """The known events from one position to another, each with the state that it led to, which is changed by the
        next. The walk itself does not move."""
        past = HistoryCursor(self._lineage, self.at(start), start)
        for position in range(start, stop):
            past.jump(position + 1)
            yield past.state, past[position]

    def back(self) -> Event | None:
        """One event back, which is returned; None where what is known begins."""
        if self.position == self.base:
            return None
        self.jump(self.position - 1)
        return self[self.position]

    def back_to(self, wanted: EventSelector = None) -> Event | None:
        """Back to before the last event that is wanted, in the state that it led to; None, where what is known
        begins."""
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
        """Show breakpoints what they have not seen of the past, where they are to ignore some of it."""
        if not isinstance(wanted, Breakpoints) or wanted.ignores_observed_until >= self.position:
            return
        for state, event in self.events(max(int(wanted.ignores_observed_until), self.base), self.position):
            wanted.catch_up(state, event)
