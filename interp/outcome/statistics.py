"""Statistics of a run, collected during the run.

Time is measured in waves of unit length: every op counts, and everything that can fire does. So the critical path, the
parallelism and the profiles exist for runs under the schedule `waves`, and are None under any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...core.tag import Site
from ..machine.event import Event
from ..machine.state import State


@dataclass(frozen=True, slots=True)
class Stats:
    """The statistics of a run.

    firings          S1: nodes fired, routing ops included
    steps            tokens delivered
    critical_path    Sinf: waves until the last firing; the longest chain of firings
    parallelism      S1 / Sinf
    profile          P(t): firings in each wave
    waiting          W(t): tokens waiting at the end of each wave
    largest_store    the most tokens that waited at once, after any step
    largest_flight   the most tokens in flight, at the beginning or after any step
    deepest_tag      the longest path of a tag; the root's is 0
    by_node          firings of each node, by its number in the graph
    opened           activations of each site: calls, or iterations of a loop

    After a run on several cores, the largest store and flight are those at the ends of waves, since a wave has no inner
    order there.

    Profiles are tuples, or sequences equal to tuples.
    """

    firings: int
    steps: int
    critical_path: int | None
    parallelism: float | None
    profile: Sequence[int] | None
    waiting: Sequence[int] | None
    largest_store: int
    largest_flight: int
    deepest_tag: int
    by_node: tuple[int, ...]
    activations_by_site: Mapping[Site, int]


class Meter:
    """Collects statistics, event by event."""

    def __init__(self, state: State, *, is_clocked: bool) -> None:
        self.state = state
        self.is_clocked = is_clocked
        self.largest_store = 0
        self.largest_flight = len(state.flight)
        self.deepest_tag = 0
        self.firings_at_wave_start = state.firings
        self.wave_profile: list[int] = []
        self.wave_waiting: list[int] = []

    def observe(self, event: Event) -> None:
        """Count an event that has just been applied."""
        state = self.state
        if event.inputs is None:
            if state.waiting_count > self.largest_store:
                self.largest_store = state.waiting_count
        elif event.sent:
            if len(state.flight) > self.largest_flight:
                self.largest_flight = len(state.flight)
            depth = event.sent[0].tag.depth
            if depth > self.deepest_tag:
                self.deepest_tag = depth
        if event.ends_wave and self.is_clocked:
            self.wave_profile.append(state.firings - self.firings_at_wave_start)
            self.wave_waiting.append(state.waiting_count)
            self.firings_at_wave_start = state.firings

    def stats(self) -> Stats:
        """The statistics so far; an unfinished wave counts as one."""
        state, profile = self.state, list(self.wave_profile)
        if state.firings > self.firings_at_wave_start:
            profile.append(state.firings - self.firings_at_wave_start)
        while profile and not profile[-1]:
            profile.pop()
        span = len(profile)
        return Stats(
            firings=state.firings,
            steps=state.steps,
            critical_path=span if self.is_clocked else None,
            parallelism=(state.firings / span if span else 0.0) if self.is_clocked else None,
            profile=tuple(profile) if self.is_clocked else None,
            waiting=tuple(self.wave_waiting) if self.is_clocked else None,
            largest_store=self.largest_store,
            largest_flight=self.largest_flight,
            deepest_tag=self.deepest_tag,
            by_node=tuple(state.firings_by_node),
            activations_by_site=dict(state.activations_by_site),
        )
