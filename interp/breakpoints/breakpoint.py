"""Breakpoints: where a run is to stop, or to say something, by expressions over its events. Data in, data out.

How often a breakpoint was hit is a function of the step, so that it stays right when time goes back: for every step
there is one entry, hit or not, which is what the last look at that step gave. Whoever steps a run forwards shows every
event; steps that a look has never been at have no hit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from ...core.errors import Usage, plural
from ...core.graph.graph import Graph
from ..machine.event import Event
from ..machine.state import State
from .expression import Expression, compile_condition
from .template import LogTemplate, compile_template

PROGRAM_BREAKPOINT_CONDITION = "op == 'breakpoint' and fired and value"
"""What holds where a breakpoint that stands in the program itself is to stop: it fired on true."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where to stop: at every event for which `condition` holds, but for the first `ignore` of them. One with a `log`
    says a line there, and does not stop. One that is not `enabled` looks at nothing, and is not hit.

    Raises Usage where the condition decides nothing, and where `ignore` is no number from 0 up.
    """

    condition: Expression
    ignore: int = 0
    log: LogTemplate | None = None
    enabled: bool = True

    def __post_init__(self) -> None:
        if not self.condition.is_condition:
            raise Usage("a breakpoint wants a truth value", got=f"`{self.condition}`")
        if type(self.ignore) is not int or self.ignore < 0:
            raise Usage("the hits to ignore are an integer from 0 up", got=repr(self.ignore))

    def __str__(self) -> str:
        said = [str(self.condition)]
        if self.ignore:
            said.append(f"after {plural(self.ignore, 'hit')}")
        if self.log is not None:
            said.append(f"says {str(self.log)!r}")
        if not self.enabled:
            said.append("disabled")
        return ", ".join(said)


def breakpoint_on(graph: Graph, condition: str, *, ignore: int = 0, log: str | None = None) -> Breakpoint:
    """A breakpoint of these texts, compiled for a graph; raises Malformed and Usage where one is wrong."""
    said = None if log is None else compile_template(log, graph)
    return Breakpoint(compile_condition(condition, graph), ignore, said)


def program_breakpoint(graph: Graph) -> Breakpoint | None:
    """What stops where the program itself says so; None where it nowhere does."""
    there = any(node.op == "breakpoint" for node in graph.nodes)
    return breakpoint_on(graph, PROGRAM_BREAKPOINT_CONDITION) if there else None


class LogLine(NamedTuple):
    """What a logpoint said at a step."""

    breakpoint: int
    step: int
    text: str


class BreakpointHits(NamedTuple):
    """What came of looking at an event: the breakpoints that stop there, and the lines of logpoints, by number."""

    stops: tuple[int, ...]
    lines: tuple[LogLine, ...]


NO_HITS = BreakpointHits((), ())


@dataclass(slots=True)
class _BreakpointEntry:
    breakpoint: Breakpoint
    hits: list[int] = field(default_factory=list)
    """The steps at which it was hit, ascending."""
    observed_until: int = 0
    """Up to which step it has looked at every one, from `start` on."""
    start: int = 0
    """How many steps had been made before the first at which it can look."""

    def observe(self, state: State, event: Event) -> bool:
        """Whether it is hit and takes notice; writes down whether it is hit."""
        step, hits = state.steps, self.hits
        hit = self.breakpoint.enabled and self.breakpoint.condition.holds(state, event)
        if step == self.observed_until + 1:
            self.observed_until = step
        if not hits or hits[-1] < step:
            if hit:
                hits.append(step)
        else:
            place = bisect_left(hits, step)
            if (hits[place] == step) is not hit:
                hits[place : place + (not hit)] = [step] if hit else []
        return hit and bisect_right(hits, step) > self.breakpoint.ignore


class Breakpoints:
    """The breakpoints of a run, by number from 1; a number is never given twice."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        """What logpoints have said while a history went forwards by them."""
        self._entries: dict[int, _BreakpointEntry] = {}
        self._last_number = 0

    def __iter__(self) -> Iterator[tuple[int, Breakpoint]]:
        return ((number, entry.breakpoint) for number, entry in self._entries.items())

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, number: int) -> Breakpoint:
        return self._lookup(number).breakpoint

    def add(self, breakpoint: Breakpoint) -> int:
        """Its number."""
        self._last_number += 1
        self._entries[self._last_number] = _BreakpointEntry(breakpoint)
        return self._last_number

    def remove(self, number: int) -> None:
        """Raises Usage where there is none of this number, as all below do."""
        self._lookup(number)
        del self._entries[number]

    def replace(self, number: int, breakpoint: Breakpoint) -> None:
        """Put another in its place, which keeps the hits if it has the same condition."""
        entry = self._lookup(number)
        if breakpoint.condition != entry.breakpoint.condition:
            entry.hits.clear()
            entry.observed_until = entry.start
        entry.breakpoint = breakpoint

    def with_breakpoints(self, breakpoints: Mapping[int, Breakpoint], start: int = 0) -> Breakpoints:
        """Others over the same run, under these numbers. One that has the number and looks at the same as one here
        knows the hits that there have been; any other looks at the steps from `start` on. These stay as they are."""
        made = Breakpoints()
        for number, breakpoint in breakpoints.items():
            known = self._entries.get(number)
            made._entries[number] = _BreakpointEntry(breakpoint, [], start, start)
            if known is not None and _hit_key(known.breakpoint) == _hit_key(breakpoint):
                made._entries[number] = _BreakpointEntry(
                    breakpoint, known.hits.copy(), known.observed_until, known.start
                )
        made._last_number = max(self._last_number, *breakpoints, 0)
        return made

    def fork(self, step: int) -> Breakpoints:
        """Others over a run that has this many steps in common with this one, with the hits that there have been."""
        made = Breakpoints()
        for number, entry in self._entries.items():
            hits = entry.hits[: bisect_right(entry.hits, step)]
            made._entries[number] = _BreakpointEntry(
                entry.breakpoint, hits, min(entry.observed_until, step), min(entry.start, step)
            )
        made._last_number = self._last_number
        return made

    def rebase(self, base: int) -> Breakpoints:
        """Others over the same run, where only its steps from `base` on can be looked at from now on. One that has
        looked at all up to there knows the hits that there have been; any other begins there."""
        made = Breakpoints()
        for number, entry in self._entries.items():
            goes_on = entry.start <= base <= entry.observed_until
            hits, looked, since = (
                (entry.hits.copy(), entry.observed_until, entry.start) if goes_on else ([], base, base)
            )
            made._entries[number] = _BreakpointEntry(entry.breakpoint, hits, looked, since)
        made._last_number, made.lines = self._last_number, [line for line in self.lines if line.step <= base]
        return made

    def mark_observed(self, start: int, step: int) -> None:
        """They have been shown all steps, from `start` up to this one, at which any of them may be hit. What log points
        said at later ones is forgotten: these steps are yet to come."""
        for entry in self._entries.values():
            if entry.observed_until >= start:
                entry.observed_until = max(entry.observed_until, step)
        self.lines = [line for line in self.lines if line.step <= step]

    def see(self, state: State, event: Event) -> BreakpointHits:
        """Look at an event that the state has just done. Looking twice at a step is looking once."""
        stops, lines = [], []
        for number, entry in self._entries.items():
            if entry.observe(state, event):
                log = entry.breakpoint.log
                if log is None:
                    stops.append(number)
                else:
                    lines.append(LogLine(number, state.steps, log.render(state, event)))
        return BreakpointHits(tuple(stops), tuple(lines)) if stops or lines else NO_HITS

    def should_stop(self, state: State, event: Event) -> bool:
        """Look at an event that has just happened: whether one stops there. What logpoints say is added to `lines`."""
        seen = self.see(state, event)
        self.lines.extend(seen.lines)
        return bool(seen.stops)

    @property
    def ignores_observed_until(self) -> float:
        """Up to which step all that have hits to ignore have looked at every one: without these they count too few."""
        return min((entry.observed_until for entry in self._entries.values() if entry.breakpoint.ignore), default=inf)

    def catch_up(self, state: State, event: Event) -> None:
        """Look at an event, with those that have not come to it yet."""
        for entry in self._entries.values():
            if entry.observed_until < state.steps:
                entry.observe(state, event)

    def hits(self, number: int, step: int) -> int:
        """How often a breakpoint had been hit after this many steps, those that it ignores included."""
        return bisect_right(self._lookup(number).hits, step)

    def _lookup(self, number: int) -> _BreakpointEntry:
        if number not in self._entries:
            there = ", ".join(map(str, self._entries))
            raise Usage(f"there is no breakpoint {number}", required=f"one of {there}" if there else None)
        return self._entries[number]

    def observed_until(self, number: int) -> int:
        """Up to which step a breakpoint has looked at every one, from `start` on: up to there its hits are all."""
        return self._lookup(number).observed_until

    def start_step(self, number: int) -> int:
        """How many steps had been made before the first of which a breakpoint counts hits."""
        return self._lookup(number).start


def _hit_key(breakpoint: Breakpoint) -> tuple[Expression, bool]:
    """What decides at which steps it is hit."""
    return breakpoint.condition, breakpoint.enabled
