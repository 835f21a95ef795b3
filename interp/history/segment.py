"""Segments: consecutive events of a run, with keyframes to compute the state at any position. Lineages: the segments of
a run or a fork.

During the run, forked states are kept as keyframes. The state at a position is computed from the nearest of three: the
keyframe before it, the keyframe after it, and the current state. Positions count events from the beginning of the run.
"""

from __future__ import annotations

import gc
import weakref
from bisect import bisect_right
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ...core.errors import Usage
from ...core.frontend.trace.pytree import TreeDef
from ...core.graph.graph import Graph
from ...core.value import Value
from ..machine.event import Event
from ..machine.schedule import Pick, Script, continuation_of, schedule_name
from ..machine.schedule import schedule as schedule_named
from ..machine.state import State
from ..outcome.statistics import Meter

KEYFRAME_SPACING = 2048
"""The minimum number of events between keyframes. After a keyframe, an event costs some 4 us, since it copies shared
records: at most 9 ms for each keyframe, and 6 ms to compute the state at any position. A run of 660,000 events with
40,000 open activations takes 1.2 GB this way, 0.9 GB with twice the spacing."""

REVERT_COST = 2.0
"""The cost of reverting an event, relative to applying one."""

FORK_COST = 0.03
"""The cost of forking a state, for each open activation, relative to applying an event. If very many are open,
keyframes are further apart: as many events as a fork costs."""


class Keyframe(NamedTuple):
    """A state that never changes, and its statistics: the meter, whose profiles are the first `wave_count` entries of
    the segment's."""

    state: State
    meter: Meter
    wave_count: int

    @property
    def position(self) -> int:
        """The number of events before the keyframe."""
        return self.state.steps


class HistorySegment:
    """The events from position `start` on, in order."""

    def __init__(self, start: int, meter: Meter, *, spacing: int, reversible: bool) -> None:
        """An empty segment that begins with the meter's state. Events are reverted only if it is `reversible`."""
        self.start = start
        self.events: list[Event] = []
        self.meter = meter
        """The statistics up to the end of the segment, with the state there, from which the run continues."""
        self.keyframes: list[Keyframe] = []
        self._spacing = spacing
        self._reversible = reversible
        self._add_keyframe()

    @property
    def end(self) -> int:
        """The position after the last event."""
        return self.start + len(self.events)

    def add(self, event: Event) -> None:
        """Add an event that was just applied to the meter's state. The event itself is stored last: see `roll_back`."""
        self.meter.observe(event)
        if len(self.events) + 1 >= self._keyframe_due:
            self._add_keyframe()
        self.events.append(event)

    def roll_back(self) -> State:
        """Discard an incomplete step after an exception; returns the state at the end, which is now also the
        meter's."""
        while self.keyframes[-1].position > self.end:
            self.keyframes.pop()
        self._schedule_keyframe()
        self.meter = self.meter_at(self.end)
        return self.meter.state

    def _add_keyframe(self) -> None:
        meter = copy(self.meter)
        meter.wave_profile, meter.wave_waiting = [], []
        self.keyframes.append(Keyframe(self._fork_state(self.meter.state), meter, len(self.meter.wave_profile)))
        self._schedule_keyframe()

    def _schedule_keyframe(self) -> None:
        """Set the number of events after which the next keyframe is due."""
        state = self.keyframes[-1].state
        self._keyframe_due = state.steps - self.start + max(self._spacing, round(FORK_COST * len(state.records)))

    def _fork_state(self, state: State) -> State:
        fork = state.fork()
        self.freeze_if_long()
        return fork

    def freeze_if_long(self) -> None:
        """Exempt the objects of a long run from garbage collection, which would delay a jump: 5 ms for a state with
        60,000 open activations, 70 ms for a tuple of a million events."""
        if self.end >= LONG_HISTORY:
            freeze_objects(self)

    def events_between(self, start: int, stop: int) -> list[Event]:
        """The events from position `start` up to position `stop`."""
        return self.events[start - self.start : stop - self.start]

    def state_at(self, position: int, current: tuple[State, int] | None = None) -> State:
        """The state at a position of this segment. `current`, a state of this segment and its position, is consumed if
        it is the nearest."""
        starts = [*self.nearby_keyframes(position), *([current] if current else [])]
        state, start = min(starts, key=lambda keyframe: self.replay_cost(keyframe, keyframe is current, position))
        if current is None or state is not current[0]:
            state = self._fork_state(state)
        for event in self.events_between(start, position):
            state.apply(event)
        for event in reversed(self.events_between(position, start)):
            state.revert(event)
        if position % self._spacing == 0:  # a caller may step over many events: a collection took 100 ms then
            self.freeze_if_long()
        return state

    def meter_at(self, position: int) -> Meter:
        """A meter with the statistics up to a position of this segment, and an independent state there."""
        state, meter, waves = keyframe = self.keyframes[self.keyframe_before(position)]
        meter_copy = copy(meter)
        meter_copy.state = self._fork_state(state)
        meter_copy.wave_profile, meter_copy.wave_waiting = (
            self.meter.wave_profile[:waves],
            self.meter.wave_waiting[:waves],
        )
        for event in self.events_between(keyframe.position, position):
            meter_copy.state.apply(event)
            meter_copy.observe(event)
        return meter_copy

    def nearby_keyframes(self, position: int) -> Iterator[tuple[State, int]]:
        """The states of the keyframes before and after a position, with their positions."""
        number = self.keyframe_before(position)
        return ((keyframe.state, keyframe.position) for keyframe in self.keyframes[number : number + 2])

    def keyframe_before(self, position: int) -> int:
        """The number of the last keyframe at or before a position."""
        return bisect_right(self.keyframes, position, key=lambda keyframe: keyframe.position) - 1

    def replay_cost(self, start: tuple[State, int], is_owned: bool, position: int) -> float:
        """The cost of reaching a position from a state and its position, in applied events. A state that the caller
        does not own must be forked."""
        state, start_position = start
        fork_cost = 0 if is_owned else FORK_COST * len(state.records)
        if start_position <= position:
            return fork_cost + position - start_position
        return fork_cost + REVERT_COST * (start_position - position) if self._reversible else inf


class Lineage:
    """The segments of one run, from the first known event on. In this lineage, each ends where the next begins; the
    lineage that it was forked from may have more of its events."""

    def __init__(self, segments: tuple[HistorySegment, ...]) -> None:
        self.segments = segments
        self.last_segment = segments[-1]
        self.base = segments[0].start
        """The first known position."""

    @property
    def base_keyframe(self) -> Keyframe:
        """The keyframe at `base`."""
        return self.segments[0].keyframes[0]

    def __len__(self) -> int:
        return self.last_segment.end

    def __getitem__(self, number: int) -> Event:
        segment = self.segment_at(number)
        return segment.events[number - segment.start]

    def __iter__(self) -> Iterator[Event]:
        for segment, end in self.segment_ends():
            yield from segment.events_between(segment.start, end)

    def events_after(self, position: int) -> Iterator[tuple[int, Event]]:
        """The known events from a position on, with their numbers."""
        for segment, end in self.segment_ends():
            for number in range(max(position, segment.start), end):
                yield number, segment.events[number - segment.start]

    def events_before(self, position: int) -> Iterator[tuple[int, Event]]:
        """The known events before a position, with their numbers, the last first."""
        for segment, end in reversed(self.segment_ends()):
            for number in range(min(position, end) - 1, segment.start - 1, -1):
                yield number, segment.events[number - segment.start]

    def events_between(self, start: int, stop: int) -> Iterator[Event]:
        """The events from position `start` up to position `stop`; raises Usage if the first is not known."""
        if start < stop:
            self.segment_at(start)
        for segment, end in self.segment_ends():
            yield from segment.events_between(max(start, segment.start), max(min(stop, end), segment.start))

    def segment_ends(self) -> list[tuple[HistorySegment, int]]:
        """The segments, each with its end in this lineage."""
        ends = [segment.start for segment in self.segments[1:]] + [len(self)]
        return list(zip(self.segments, ends, strict=True))

    def segment_at(self, position: int) -> HistorySegment:
        """The segment that contains a position; at a boundary, the later one. Raises Usage if the position is not
        known."""
        if position >= self.last_segment.start:
            return self.last_segment
        if position < self.base:
            raise Usage(
                f"event {position:,} is before the first known event",
                required=f"{self.base:,} or later",
                hint=f"`goto {position}` of the debugger, or history.reveal({position}), computes it",
                python=IndexError,
            )
        return self.segments[bisect_right(self.segments, position, key=lambda segment: segment.start) - 1]

    def fork(self, segment: HistorySegment) -> Lineage:
        """The lineage of a fork: it shares the segments before the beginning of `segment`, the first segment of the
        fork's own."""
        return Lineage((*(past for past in self.segments if past.start < segment.start), segment))


@dataclass(frozen=True, slots=True)
class RunOrigin:
    """A graph, its arguments, and the options of the run."""

    graph: Graph
    arguments: tuple[Value, ...]
    schedule: str
    """The name of the schedule in an outcome."""
    pick: Pick
    fallback_schedule: str
    """The schedule that continues when a script is over or the run has left it; without a script, the schedule
    itself."""
    structure: TreeDef
    is_invalid: bool
    """Whether the graph breaks rules: then no event is reverted."""
    seed: int
    bound: int | None
    spacing: int

    def __post_init__(self) -> None:
        if type(self.spacing) is not int or self.spacing < 1:
            python = ValueError if type(self.spacing) is int else TypeError
            raise Usage("spacing must be an integer from 1 up", got=repr(self.spacing), python=python)

    def new_segment(self, start: int, meter: Meter) -> HistorySegment:
        """A new segment of this run, without events."""
        return HistorySegment(start, meter, spacing=self.spacing, reversible=not self.is_invalid)


def parse_schedule(schedule: str | Script) -> tuple[str, Pick, str]:
    """The name of a resolved schedule, its pick function, and the schedule that continues after it; raises Usage if it
    is invalid."""
    return schedule_name(schedule), schedule_named(schedule), continuation_of(schedule)


LONG_HISTORY = 10_000
"""A history of this many events is long. Fewer add at most 10 ms to a garbage collection."""

_freeze_owners: set[int] = set()
"""The identities of the owners for which objects are frozen."""


def freeze_objects(owner: object) -> None:
    """Exempt all existing objects from garbage collection, as long as `owner` exists.

    A long run consists of millions of tuples. None is part of a reference cycle, but the collector scans all of them
    again and again: half the time of the run, with pauses of 1.7 s at a million events. Reference counts still free
    frozen objects; objects in cycles are freed after the last owner. An owner that is itself in a cycle, such as the
    app, is not freed while frozen.

    Does nothing if the collector is off, or if other code has frozen objects, which this must not mix with.
    """
    if not gc.isenabled() or (not _freeze_owners and gc.get_freeze_count()):
        return
    if id(owner) not in _freeze_owners:
        _freeze_owners.add(id(owner))
        weakref.finalize(owner, _unfreeze, id(owner)).atexit = False
    gc.freeze()


def _unfreeze(owner: int) -> None:
    _freeze_owners.discard(owner)
    if not _freeze_owners:
        gc.unfreeze()
