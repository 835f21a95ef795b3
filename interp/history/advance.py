"""Going on at the end of a walk: new events, by the schedule or by hand, and how the run ends."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from math import inf

from ...core.errors import Broken, Exhausted, TagloomError, Usage, plural
from ...core.world import World
from ..breakpoints.breakpoint import Breakpoints
from ..engines.limits import Limits, Until, check_until, resolve_limits
from ..engines.reference import add_first_token_note, check_callbacks, is_until_met, resume
from ..machine.event import Event
from ..machine.schedule import BY_HAND, Pick
from ..machine.schedule import schedule as schedule_named
from ..machine.state import State
from ..outcome.outcome import Outcome, build_outcome
from ..outcome.statistics import Stats
from ..records.outcome_json import OutcomeRecord
from .cursor import EventSelector, HistoryCursor, predicate_of
from .edit import Edit
from .run_origin import RunOrigin
from .segment import Lineage

WHAT_IF = "what-if"
"""The schedule that the outcome of a run names in which a token was changed or injected."""


class Advance(HistoryCursor):
    """A walk that goes on at its end."""

    world: World
    """Who performs the effects that are new."""
    limits: Limits
    """What ends the run. Where they have, the run goes on once they are raised."""
    edits: tuple[tuple[int, Edit], ...]
    """All tokens that were changed or injected in the past of the end, with how many events had happened then."""
    _first_manual_event: int | None
    """The first event that the schedule would not have chosen."""
    _until: Until
    _stop_error: TagloomError | None
    _outcome: Outcome | None
    _logged_outcome: OutcomeRecord | None
    """What a log said of the end, until the run goes on."""

    def _reset(self, begun: RunOrigin, lineage: Lineage, state: State, position: int) -> None:
        """A walk that stands at its end, and about which nothing else is known."""
        super().__init__(lineage, state, position)
        self._origin = begun
        self.graph, self.arguments, self.structure = begun.graph, begun.arguments, begun.structure
        self.schedule, self.seed, self.bound, self.is_invalid = (
            begun.schedule,
            begun.seed,
            begun.bound,
            begun.is_invalid,
        )
        self.name = begun.graph.name
        self.world, self.limits = state.world, Limits()
        self.edits, self._first_manual_event = (), None
        self._until, self._stop_error, self._outcome, self._logged_outcome = "quiet", None, None, None

    # Going over it

    def forward(self) -> Event | None:
        """One event on, which is returned: the next that is known, at the end a new one by the schedule. None where
        the run is over: `outcome` says how. A new one is a run of its own: it has all the seconds of the limits, and
        raises KeyboardInterrupt, after it has happened, where somebody pressed Ctrl-C meanwhile."""
        if self.position == len(self):
            return self._step_once(self._current_pick)
        event = self[self.position]
        self.jump(self.position + 1)
        return event

    def forward_to(self, wanted: EventSelector = None, limit: float = inf) -> Event | None:
        """On to after the next event that is wanted, in the state that it led to; None where the run ends before, or at
        position `limit`. What is wanted is a condition, as `node == 'add' and value < 0`; a function of both;
        Breakpoints, whose `lines` get what they log; or, without any, the program's own `tl.breakpoint`."""
        holds = wanted.should_stop if isinstance(wanted, Breakpoints) else predicate_of(wanted, self.state)
        self._observe_past(wanted)
        while self.position < min(len(self), limit):
            event = self.forward()
            if event is not None and holds(self.state, event):
                return event
        if self.position >= limit:
            return None
        found = False

        def is_enough() -> bool:
            nonlocal found
            self.position += 1
            found = holds(self.state, events[-1])
            return found or self.position >= limit

        events = self._lineage.last_segment.events
        event = self._drive(self._current_pick, is_enough)
        return event if found and self._stop_error is None else None

    @property
    def stats(self) -> Stats:
        """The measures of the run up to the present position; those on waves only where it has gone by them."""
        meter = self._lineage.segment_at(self.position).meter_at(self.position)
        meter.is_clocked = self._effective_schedule() == "waves"
        return meter.stats()

    # Going on at the end

    def run(self, until: Until = "quiet") -> Outcome:
        """From the end on by the schedule, until the run is over, and how that was; from the present position if that
        is the end. `until` is as of `run_graph`."""
        check_until(until)
        self.jump(len(self))
        if not (self.position and is_until_met(until, self.state)):
            self._drive(self._current_pick, lambda: is_until_met(until, self.state))
        if until != self._until:
            self._until, self._outcome, self._logged_outcome = until, None, None
        return self.outcome()

    def deliver(self, position: int) -> Event | None:
        """At the end: deliver the token at this position of the flight, by hand; None where that ends the run.

        Raises Usage where none is there, and in the past, of which only a branch can differ.
        """
        if self.position < len(self):
            raise Usage("this event is known already", hint="choose(position) makes a branch")
        if not 0 <= position < len(self.state.flight):
            raise Usage(f"no token is at position {position}", got=f"{len(self.state.flight)} in flight")
        deviates = position != self._current_pick(self.state)
        before = len(self)
        try:
            return self._step_once(lambda state: position)
        finally:
            has_happened = len(self) > before or isinstance(self._stop_error, Broken)
            if deviates and self._first_manual_event is None and has_happened:
                self._first_manual_event = before

    @property
    def stop_error(self) -> TagloomError | None:
        """What ended the run at its end, if it did not become quiet: a limit, or what a what-if broke."""
        return self._stop_error

    def _step_once(self, pick: Pick) -> Event | None:
        event = self._drive(pick, lambda: True)
        if isinstance(self._stop_error, Exhausted) and self._stop_error.limit == "interrupt":
            self._stop_error = None
            raise KeyboardInterrupt
        return event

    def _drive(self, pick: Pick, is_enough: Callable[[], bool]) -> Event | None:
        """New events, until it is enough or the run is over; the last of them, if there is one."""
        stretch, before = self._lineage.last_segment, len(self)
        if self.state.flight and self.state.world is not self.world:
            check_callbacks(self.graph, self.world)  # of a log, nobody has asked yet
        broken, limits = self.is_invalid or bool(self.edits), resolve_limits(self.limits)
        self._stop_error, self._until, self._outcome = None, "quiet", None
        stretch.meter.state, self.state.world = self.state, self.world
        try:
            self._stop_error = resume(self.state, pick, limits, is_enough, [stretch.add], broken)
        except BaseException:
            self.state = stretch.roll_back()
            raise
        finally:
            self.position = len(self)
            if self.position > before:
                self._logged_outcome = None
        if isinstance(self._stop_error, Broken):  # it may have been broken half way
            self.state = stretch.roll_back()
        return None if len(self) == before else stretch.events[-1]

    def outcome(self) -> Outcome:
        """How the run ended, wherever in it one is; raises Usage where it is not over.

        It is what `run_graph` gives, with all events; its schedule is `hand` where the schedule was not kept to, and
        `what-if` where a token was changed or injected.
        """
        if self._outcome is None:
            state = self.at(len(self))
            if not self._is_over(state):
                raise Usage(f"the run of {self.name} is not over", got=plural(len(self), "event"), hint="run() goes on")
            self._outcome = self._build_outcome(state)
        return self._outcome

    def _is_over(self, state: State) -> bool:
        return not state.flight or self._stop_error is not None or is_until_met(self._until, state)

    def _build_outcome(self, state: State) -> Outcome:
        meter, kept = copy(self._lineage.last_segment.meter), tuple(self)
        meter.state, meter.is_clocked = state, self._effective_schedule() == "waves"
        outcome = build_outcome(
            state,
            meter.stats(),
            add_first_token_note(self._stop_error, kept),
            self._until,
            schedule=self._effective_schedule(),
            engine="reference",
            structure=self.structure,
            kept_events=kept,
            first_kept=self.base,
        )
        if outcome.error is not None:
            for position, change in self.edits:
                outcome.error.add_note(f"  what if, after {plural(position, 'event')}: {change.describe(self.graph)}")
        self._lineage.last_segment.freeze_if_long()
        return outcome

    @property
    def first_manual_event(self) -> int | None:
        """The first event that the schedule would not have chosen, if there is one."""
        return self._first_manual_event

    @property
    def next_choice(self) -> int | None:
        """Which position of the flight is taken next: the one that is known, at the end the schedule's; None where
        nothing is in flight."""
        if self.position < len(self):
            return self[self.position].position
        return self._current_pick(self.state) if self.state.flight else None

    @property
    def _current_pick(self) -> Pick:
        """The schedule that goes on: no script, once something was otherwise than it knows."""
        strays = bool(self.edits) or self._first_manual_event is not None
        return schedule_named(self._origin.fallback_schedule) if strays else self._origin.pick

    def _effective_schedule(self) -> str:
        """By which schedule the events came to be."""
        if self.edits:
            return WHAT_IF
        return self.schedule if self._first_manual_event is None else BY_HAND
