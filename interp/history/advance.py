"""Cursors that move through a run: over its known events, and past their end, by the schedule or by hand, to its
outcome.

A cursor is a state at a position between two known events. Moving it applies and reverts events and computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from math import inf
from typing import TypeAlias, overload

from ...core.errors import Broken, Exhausted, TagloomError, Usage, plural
from ...core.world import World
from ..breakpoints.breakpoint import Breakpoints, program_breakpoint
from ..breakpoints.expression import EventPredicate, compile_condition
from ..engines.limits import Limits, resolve_limits
from ..engines.protocol import Until, check_until
from ..engines.reference import add_first_token_note, check_callbacks, is_until_met, resume
from ..machine.event import Event
from ..machine.schedule import BY_HAND, Pick
from ..machine.schedule import schedule as schedule_named
from ..machine.state import State
from ..outcome.outcome import Outcome, build_outcome
from ..outcome.statistics import Stats
from ..records.documents import OutcomeRecord
from .edit import Edit
from .segment import Keyframe, Lineage, RunOrigin

EventSelector: TypeAlias = str | EventPredicate | Breakpoints | None
"""Selects events: a condition; a function of the state after an event, and the event; breakpoints; or None, for the
program's own `tl.breakpoint`."""


def predicate_of(selector: EventSelector, state: State) -> EventPredicate:
    """The predicate of a selector; raises Malformed or Usage for a condition that is invalid for the graph."""
    if isinstance(selector, Breakpoints):
        return lambda state, event: bool(selector.evaluate(state, event).stops)
    if selector is None:
        program_point = program_breakpoint(state.graph)
        return program_point.condition.holds if program_point is not None else lambda state, event: False
    if isinstance(selector, str):
        return compile_condition(selector, state.graph).holds
    if not callable(selector):
        required = "a condition, tl.Breakpoints, or a function of a state and an event"
        raise Usage("this cannot select events", required=required, got=repr(selector), python=TypeError)
    return selector


class HistoryCursor:
    """A position in a run. `position` events have happened in `state`; `base` is the first known position, and
    `len(cursor)` the last.

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
        """The first known position: 0, unless the history was fast-forwarded."""
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
            start, stop, step = number.indices(len(self))
            if step == 1:
                return tuple(self._lineage.events_between(start, stop))
            return tuple(self._lineage[index] for index in range(start, stop, step))
        position = number + len(self) if number < 0 else number
        if not 0 <= position < len(self):
            message = f"no event {number} in a history of {plural(len(self), 'event')}"
            raise Usage(message, python=IndexError)
        return self._lineage[position]

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
        """The position in the flight of each event's token. With the edits, they determine the run."""
        return tuple(event.position for event in self.all_events())

    def all_events(self) -> Iterator[Event]:
        """All events of the run so far; raises Usage if the first ones are not known."""
        if self.base:
            raise Usage("the events of this run are not all known", got=f"those from {self.base:,} on")
        return iter(self)

    def jump(self, position: int) -> State:
        """Move to a position and return its state. The first state of a fork is that after its edit."""
        self._check_position(position)
        segment = self._lineage.segment_at(position)
        current = (self.state, self.position) if segment is self._lineage.segment_at(self.position) else None
        try:
            self.state = segment.state_at(position, current)
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
        if not isinstance(position, int):
            raise Usage("a position is not an integer", got=repr(position)[:80], python=TypeError)
        if not 0 <= position <= len(self):
            message = f"no position {position} in a history of {plural(len(self), 'event')}"
            raise Usage(message, python=IndexError)
        self._lineage.segment_at(position)

    def events(self, start: int, stop: int) -> Iterator[tuple[State, Event]]:
        """The known events between two positions, each with the state after it; the next iteration changes that state.
        The cursor does not move."""
        cursor = HistoryCursor(self._lineage, self.at(start), start)
        for position in range(start, stop):
            cursor.jump(position + 1)
            yield cursor.state, cursor[position]

    def back(self) -> Event | None:
        """Step one event back and return it; None at `base`."""
        if self.position == self.base:
            return None
        self.jump(self.position - 1)
        return self[self.position]

    def back_to(self, selector: EventSelector = None) -> Event | None:
        """Move back to just before the last selected event and return it; None, at `base`, if there is no such
        event."""
        holds = predicate_of(selector, self.state)
        self._observe_past(selector)
        while (event := self.last_event) is not None:
            state = self.state
            is_selected = holds(state, event)
            self.back()
            if is_selected:
                return event
        return None

    def _observe_past(self, selector: EventSelector) -> None:
        """Pass the past events to breakpoints that ignore their first hits, so that they count all hits."""
        if not isinstance(selector, Breakpoints) or selector.ignores_observed_until >= self.position:
            return
        for state, event in self.events(max(int(selector.ignores_observed_until), self.base), self.position):
            selector.catch_up(state, event)


WHAT_IF = "what-if"
"""The schedule in an outcome if a token was changed or injected."""


class Advance(HistoryCursor):
    """A cursor that computes new events at the end of the known ones."""

    world: World
    """The world that performs new effects."""
    limits: Limits
    """The limits of the run. After a limit has ended the run, a higher limit lets it continue."""
    edits: tuple[tuple[int, Edit], ...]
    """All edits so far, each with the number of events before it."""
    _first_manual_event: int | None
    """The number of the first event that the schedule would not have chosen."""
    _until: Until
    _stop_error: TagloomError | None
    _outcome: Outcome | None
    _logged_outcome: OutcomeRecord | None
    """The outcome that the log of this run contains; None once the run continues."""

    def _reset(self, origin: RunOrigin, lineage: Lineage, state: State, position: int) -> None:
        """Set all fields, for a cursor at the end of the known events."""
        super().__init__(lineage, state, position)
        self._origin = origin
        self.graph, self.arguments, self.structure = origin.graph, origin.arguments, origin.structure
        self.schedule, self.seed, self.bound, self.is_invalid = (
            origin.schedule,
            origin.seed,
            origin.bound,
            origin.is_invalid,
        )
        self.name = origin.graph.name
        self.world, self.limits = state.world, Limits()
        self.edits, self._first_manual_event = (), None
        self._until, self._stop_error, self._outcome, self._logged_outcome = "quiet", None, None, None

    # Moving

    def forward(self) -> Event | None:
        """Step one event forward and return it: the next known event, or, at the end, a new one by the schedule. None
        if the run is over: `outcome` says how. The time limit applies to each new event alone; after Ctrl-C,
        KeyboardInterrupt is raised as soon as the event has happened."""
        if self.position == len(self):
            return self._step_once(self._current_pick)
        event = self[self.position]
        self.jump(self.position + 1)
        return event

    def forward_to(self, selector: EventSelector = None, limit: float = inf) -> Event | None:
        """Move forward to just after the next selected event and return it; None if the run ends first, or at position
        `limit`. The selector is a condition, such as `node == 'add' and value < 0`; a function of state and event;
        Breakpoints, whose `lines` collect the lines that they log; or None for the program's own `tl.breakpoint`."""
        holds = selector.should_stop if isinstance(selector, Breakpoints) else predicate_of(selector, self.state)
        self._observe_past(selector)
        while self.position < min(len(self), limit):
            event = self.forward()
            if event is not None and holds(self.state, event):
                return event
        if self.position >= limit:
            return None
        is_selected = False

        def is_enough() -> bool:
            nonlocal is_selected
            self.position += 1
            is_selected = holds(self.state, events[-1])
            return is_selected or self.position >= limit

        events = self._lineage.last_segment.events
        event = self._drive(self._current_pick, is_enough)
        return event if is_selected and self._stop_error is None else None

    @property
    def stats(self) -> Stats:
        """The statistics up to the current position; those on waves only under the schedule `waves`."""
        meter = self._lineage.segment_at(self.position).meter_at(self.position)
        meter.is_clocked = self._effective_schedule() == "waves"
        return meter.stats()

    # Continuing at the end

    def run(self, until: Until = "quiet") -> Outcome:
        """Continue from the end of the known events by the schedule until the run is over, and return its outcome.
        `until` is as in `run_graph`."""
        check_until(until)
        self.jump(len(self))
        if not (self.position and is_until_met(until, self.state)):
            self._drive(self._current_pick, lambda: is_until_met(until, self.state))
        if until != self._until:
            self._until, self._outcome, self._logged_outcome = until, None, None
        return self.outcome()

    def deliver(self, position: int) -> Event | None:
        """Deliver the token at this position of the flight, by hand, at the end of the known events; None if that ends
        the run.

        Raises Usage if no token is there, or if the cursor is not at the end: only a fork can change the past.
        """
        if self.position < len(self):
            raise Usage("this event has already been computed", hint="choose(position) makes a fork")
        if not 0 <= position < len(self.state.flight):
            got = f"{len(self.state.flight)} in flight"
            raise Usage(f"no token is at position {position}", got=got, python=IndexError)
        deviates = position != self._current_pick(self.state)
        length = len(self)
        try:
            return self._step_once(lambda state: position)
        finally:
            has_happened = len(self) > length or isinstance(self._stop_error, Broken)
            if deviates and self._first_manual_event is None and has_happened:
                self._first_manual_event = length

    @property
    def stop_error(self) -> TagloomError | None:
        """The error that ended the run before it was quiescent, if any: a limit, or a broken rule."""
        return self._stop_error

    def _step_once(self, pick: Pick) -> Event | None:
        event = self._drive(pick, lambda: True)
        if isinstance(self._stop_error, Exhausted) and self._stop_error.limit == "interrupt":
            self._stop_error = None
            raise KeyboardInterrupt
        return event

    def _drive(self, pick: Pick, is_enough: Callable[[], bool]) -> Event | None:
        """Compute new events until `is_enough()` or the end of the run; returns the last one, if any."""
        segment, length = self._lineage.last_segment, len(self)
        if self.state.flight and self.state.world is not self.world:
            check_callbacks(self.graph, self.world)  # a log is loaded without this check
        is_ill_formed, limits = self.is_invalid or bool(self.edits), resolve_limits(self.limits)
        self._stop_error, self._until, self._outcome = None, "quiet", None
        segment.meter.state, self.state.world = self.state, self.world
        try:
            self._stop_error = resume(self.state, pick, limits, is_enough, [segment.add], is_ill_formed)
        except BaseException:
            self.state = segment.roll_back()
            raise
        finally:
            self.position = len(self)
            if self.position > length:
                self._logged_outcome = None
        if isinstance(self._stop_error, Broken):  # the step may be half done
            self.state = segment.roll_back()
        return None if len(self) == length else segment.events[-1]

    def outcome(self) -> Outcome:
        """The outcome of the run, at any position; raises Usage if the run is not over.

        It equals the outcome of `run_graph` with `keep="events"`, except for its schedule: `hand` if the run left its
        schedule, `what-if` if a token was changed or injected.
        """
        if self._outcome is None:
            state = self.at(len(self))
            if not self._is_over(state):
                raise Usage(
                    f"the run of {self.name} is not over", got=plural(len(self), "event"), hint="run() continues it"
                )
            self._outcome = self._build_outcome(state)
        return self._outcome

    def _is_over(self, state: State) -> bool:
        return not state.flight or self._stop_error is not None or is_until_met(self._until, state)

    def _build_outcome(self, state: State) -> Outcome:
        meter, events = copy(self._lineage.last_segment.meter), tuple(self)
        meter.state, meter.is_clocked = state, self._effective_schedule() == "waves"
        outcome = build_outcome(
            state,
            meter.stats(),
            add_first_token_note(self._stop_error, events),
            self._until,
            schedule=self._effective_schedule(),
            engine="reference",
            structure=self.structure,
            kept_events=events,
            first_kept=self.base,
        )
        if outcome.error is not None:
            for position, change in self.edits:
                outcome.error.add_note(f"  what if, after {plural(position, 'event')}: {change.describe(self.graph)}")
        self._lineage.last_segment.freeze_if_long()
        return outcome

    @property
    def first_manual_event(self) -> int | None:
        """The number of the first event that the schedule would not have chosen, or None."""
        return self._first_manual_event

    @property
    def next_choice(self) -> int | None:
        """The position in the flight of the next token: the position of the next known event, or, at the end, the
        schedule's choice; None if the flight is empty."""
        if self.position < len(self):
            return self[self.position].position
        return self._current_pick(self.state) if self.state.flight else None

    @property
    def _current_pick(self) -> Pick:
        """The schedule that continues; once the run has left a script, the schedule that follows it."""
        has_left = bool(self.edits) or self._first_manual_event is not None
        return schedule_named(self._origin.fallback_schedule) if has_left else self._origin.pick

    def _effective_schedule(self) -> str:
        """The name of the schedule that the events followed."""
        if self.edits:
            return WHAT_IF
        return self.schedule if self._first_manual_event is None else BY_HAND
