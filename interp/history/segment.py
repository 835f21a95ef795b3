"""A stretch of a run: events that follow each other from one state on, and how to get to any place among them.

Forked states, keyframes, are kept as the run goes on. A place is reached from the nearest: of the keyframe before it,
the one behind it, and where somebody is already. Positions count the events from the beginning of the run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from copy import copy
from math import inf
from typing import NamedTuple

from ...core.errors import Usage
from ..machine.event import Event
from ..machine.state import State
from ..outcome.statistics import Meter
from .collector import LONG, set_aside

SPACING = 2048
"""Events from one keyframe to the next, at least. On the way from one, an event costs some 4 us, since it changes
records that are shared: 9 ms at most, and 6 to go anywhere. A run of 660,000 events with 40,000 activations
open takes 1.2 GB so, 0.9 GB with twice the spacing."""

REVERT = 2.0
"""What reverting an event costs, where applying one costs 1."""

FORK = 0.03
"""What forking a state costs, by open activation. Where very many are open, keyframes are as many events apart as that
costs."""


class Keyframe(NamedTuple):
    """A state that stays as it is, and the meter there, whose profiles are as long as `waves`."""

    state: State
    meter: Meter
    waves: int

    @property
    def position(self) -> int:
        """How many events had happened."""
        return self.state.steps


class Stretch:
    """The events from `start` on, in the order in which they happened."""

    def __init__(self, start: int, meter: Meter, *, spacing: int, reversible: bool) -> None:
        """A stretch without events, from the meter's state on. If it is not `reversible`, nothing is ever reverted."""
        self.start = start
        self.events: list[Event] = []
        self.meter = meter
        """The measures up to the end; its state is the one that goes on there."""
        self.keyframes: list[Keyframe] = []
        self._spacing = spacing
        self._reversible = reversible
        self._keep()

    @property
    def end(self) -> int:
        return self.start + len(self.events)

    def add(self, event: Event) -> None:
        """Take an event that the meter's state has just done. The event itself comes last: see `settle`."""
        self.meter.see(event)
        if len(self.events) + 1 >= self._due:
            self._keep()
        self.events.append(event)

    def settle(self) -> State:
        """Forget what is not of the events, where something failed or was interrupted on the way; the state at the
        end, as the meter's from now on."""
        while self.keyframes[-1].position > self.end:
            self.keyframes.pop()
        self._plan()
        self.meter = self.measured(self.end)
        return self.meter.state

    def _keep(self) -> None:
        meter = copy(self.meter)
        meter.profile, meter.waiting = [], []
        self.keyframes.append(Keyframe(self._fork(self.meter.state), meter, len(self.meter.profile)))
        self._plan()

    def _plan(self) -> None:
        """After how many events the next keyframe is due."""
        state = self.keyframes[-1].state
        self._due = state.steps - self.start + max(self._spacing, round(FORK * len(state.records)))

    def _fork(self, state: State) -> State:
        made = state.fork()
        self.set_aside()
        return made

    def set_aside(self) -> None:
        """Where the run is long, what there is now is no business of the garbage collector: else a jump waits for it,
        5 ms for a state with 60,000 activations open, 70 ms for a tuple of a million events."""
        if self.end >= LONG:
            set_aside(self)

    def between(self, start: int, stop: int) -> list[Event]:
        return self.events[start - self.start : stop - self.start]

    def reach(self, position: int, here: tuple[State, int] | None = None) -> State:
        """The state at a position of this stretch. `here`, a state of this stretch and its position, is used up if it
        is the nearest."""
        ways = [*self._keyframes(position), *([here] if here else [])]
        state, at = min(ways, key=lambda way: self._cost(way, way is here, position))
        if here is None or state is not here[0]:
            state = self._fork(state)
        for event in self.between(at, position):
            state.apply(event)
        for event in reversed(self.between(position, at)):
            state.revert(event)
        if position % self._spacing == 0:  # somebody may go over many, one by one: the collector took 100 ms then
            self.set_aside()
        return state

    def measured(self, position: int) -> Meter:
        """A meter with the measures of the run up to a position of this stretch, and a state of its own there."""
        state, meter, waves = keyframe = self.keyframes[self._before(position)]
        made = copy(meter)
        made.state = self._fork(state)
        made.profile, made.waiting = self.meter.profile[:waves], self.meter.waiting[:waves]
        for event in self.between(keyframe.position, position):
            made.state.apply(event)
            made.see(event)
        return made

    def _keyframes(self, position: int) -> Iterator[tuple[State, int]]:
        """The keyframes before and behind a position, with theirs."""
        number = self._before(position)
        return ((each.state, each.position) for each in self.keyframes[number : number + 2])

    def _before(self, position: int) -> int:
        """The number of the last keyframe before a position, or there."""
        return bisect_right(self.keyframes, position, key=lambda each: each.position) - 1

    def _cost(self, way: tuple[State, int], is_free: bool, position: int) -> float:
        state, at = way
        forking = 0 if is_free else FORK * len(state.records)
        if at <= position:
            return forking + position - at
        return forking + REVERT * (at - position) if self._reversible else inf


class Lineage:
    """The stretches that one run is made of, from the first event that is known on. Each ends, in this run, where the
    next begins, and may go on in another."""

    def __init__(self, stretches: tuple[Stretch, ...]) -> None:
        self.stretches = stretches
        self.last = stretches[-1]
        self.base = stretches[0].start
        """How many events had happened before the first that is known."""

    @property
    def first(self) -> Keyframe:
        """The state there, which nobody changes."""
        return self.stretches[0].keyframes[0]

    def __len__(self) -> int:
        return self.last.end

    def __getitem__(self, number: int) -> Event:
        stretch = self.stretch(number)
        return stretch.events[number - stretch.start]

    def __iter__(self) -> Iterator[Event]:
        for stretch, end in self._pieces():
            yield from stretch.between(stretch.start, end)

    def ahead(self, position: int) -> Iterator[tuple[int, Event]]:
        """The events from a position on, with their numbers."""
        for stretch, end in self._pieces():
            for number in range(max(position, stretch.start), end):
                yield number, stretch.events[number - stretch.start]

    def behind(self, position: int) -> Iterator[tuple[int, Event]]:
        """Those before it, the last first."""
        for stretch, end in reversed(self._pieces()):
            for number in range(min(position, end) - 1, stretch.start - 1, -1):
                yield number, stretch.events[number - stretch.start]

    def _pieces(self) -> list[tuple[Stretch, int]]:
        """The stretches, with where each ends in this run."""
        ends = [stretch.start for stretch in self.stretches[1:]] + [len(self)]
        return list(zip(self.stretches, ends, strict=True))

    def stretch(self, position: int) -> Stretch:
        """The stretch that a position is in; where one ends and one begins, the latter. Raises Usage where
        nothing is known of it."""
        if position >= self.last.start:
            return self.last
        if position < self.base:
            raise Usage(
                f"event {position:,} is before what is known",
                required=f"{self.base:,} or later",
                hint=f"`goto {position}` of the debugger, or history.reveal({position}), makes it known",
            )
        return self.stretches[bisect_right(self.stretches, position, key=lambda stretch: stretch.start) - 1]

    def branch(self, stretch: Stretch) -> Lineage:
        """A run with the past of this one up to where that stretch begins, which is its own."""
        return Lineage((*(past for past in self.stretches if past.start < stretch.start), stretch))
