"""Breakpoints: conditions on events at which a run stops or logs a line. The code that steps the run evaluates them.

Hits are recorded by step, so that the hit count at a step is right after stepping back: each step has one entry, hit or
not, from its last evaluation. The code that steps a run forwards passes every event to `evaluate`; a step that was
never evaluated counts as no hit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from ...core.errors import Usage, plural
from ...core.graph.graph import Graph, require_graph
from ...deprecation import RenamedAttribute
from ..machine.event import Event
from ..machine.state import State
from .expression import Expression, LogTemplate, compile_condition, compile_template

PROGRAM_BREAKPOINT_CONDITION = "op == 'breakpoint' and fired and value"
"""The condition for breakpoints in the program itself: the op `breakpoint` fired with a true operand."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A breakpoint stops a run at every event for which `condition` holds, except the first `ignore` of them. With a
    `log` it is a logpoint, which logs a line and does not stop. A breakpoint that is not `enabled` is not evaluated and
    gets no hits.

    Raises Usage if the condition has no truth value, or if `ignore` is not an integer from 0 up.
    """

    condition: Expression
    ignore: int = 0
    log: LogTemplate | None = None
    enabled: bool = True

    def __post_init__(self) -> None:
        if not self.condition.is_condition:
            raise Usage("a breakpoint requires a truth value", got=f"`{self.condition}`", python=TypeError)
        if type(self.ignore) is not int or self.ignore < 0:
            python = ValueError if type(self.ignore) is int else TypeError
            raise Usage("the hits to ignore are an integer from 0 up", got=repr(self.ignore), python=python)

    def __str__(self) -> str:
        parts = [str(self.condition)]
        if self.ignore:
            parts.append(f"after {plural(self.ignore, 'hit')}")
        if self.log is not None:
            parts.append(f"says {str(self.log)!r}")
        if not self.enabled:
            parts.append("disabled")
        return ", ".join(parts)


def breakpoint_on(graph: Graph, condition: str, *, ignore: int = 0, log: str | None = None) -> Breakpoint:
    """Compile a breakpoint for a graph from the texts of its condition and log line; raises Malformed and Usage if one
    is invalid."""
    require_graph(graph)
    template = None if log is None else compile_template(log, graph)
    return Breakpoint(compile_condition(condition, graph), ignore, template)


def program_breakpoint(graph: Graph) -> Breakpoint | None:
    """The breakpoint for the program's own `breakpoint` ops; None if it has none."""
    has_breakpoint = any(node.op == "breakpoint" for node in graph.nodes)
    return breakpoint_on(graph, PROGRAM_BREAKPOINT_CONDITION) if has_breakpoint else None


class LogLine(NamedTuple):
    """A line that a logpoint logged at a step."""

    breakpoint: int
    step: int
    text: str


class BreakpointHits(NamedTuple):
    """The result of evaluating breakpoints on an event: the numbers of those that stop there, and the lines of
    logpoints."""

    stops: tuple[int, ...]
    lines: tuple[LogLine, ...]


NO_HITS = BreakpointHits((), ())


@dataclass(slots=True)
class _BreakpointEntry:
    breakpoint: Breakpoint
    hits: list[int] = field(default_factory=list)
    """The steps at which it was hit, ascending."""
    observed_until: int = 0
    """Every step from `start` up to this one has been evaluated."""
    start: int = 0
    """The number of steps before the first one that it can evaluate."""

    def observe(self, state: State, event: Event) -> bool:
        """Record whether the breakpoint is hit; returns whether it stops or logs, since the first hits may be
        ignored."""
        step, hits = state.steps, self.hits
        hit = self.breakpoint.enabled and self.breakpoint.condition.holds(state, event)
        if step == self.observed_until + 1:
            self.observed_until = step
        if not hits or hits[-1] < step:
            if hit:
                hits.append(step)
        else:
            index = bisect_left(hits, step)
            if (hits[index] == step) is not hit:
                hits[index : index + (not hit)] = [step] if hit else []
        return hit and bisect_right(hits, step) > self.breakpoint.ignore


class Breakpoints:
    """The breakpoints of a run, by number from 1; a number is never reused."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        """The lines that logpoints logged while a history moved forwards."""
        self._entries: dict[int, _BreakpointEntry] = {}
        self._last_number = 0

    def __iter__(self) -> Iterator[tuple[int, Breakpoint]]:
        return ((number, entry.breakpoint) for number, entry in self._entries.items())

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, number: int) -> Breakpoint:
        return self._lookup(number).breakpoint

    def add(self, breakpoint: Breakpoint) -> int:
        """Add a breakpoint and return its number."""
        self._last_number += 1
        self._entries[self._last_number] = _BreakpointEntry(breakpoint)
        return self._last_number

    def remove(self, number: int) -> None:
        """Remove a breakpoint. This and the methods below raise Usage if no breakpoint has this number."""
        self._lookup(number)
        del self._entries[number]

    def replace(self, number: int, breakpoint: Breakpoint) -> None:
        """Replace a breakpoint; the new one keeps the hits if it has the same condition."""
        entry = self._lookup(number)
        if breakpoint.condition != entry.breakpoint.condition:
            entry.hits.clear()
            entry.observed_until = entry.start
        entry.breakpoint = breakpoint

    def with_breakpoints(self, breakpoints: Mapping[int, Breakpoint], start: int = 0) -> Breakpoints:
        """A new collection for the same run, with these breakpoints. A breakpoint with the number and the condition of
        one here keeps its hits; any other evaluates the steps from `start` on."""
        result = Breakpoints()
        for number, breakpoint in breakpoints.items():
            entry = self._entries.get(number)
            result._entries[number] = _BreakpointEntry(breakpoint, [], start, start)
            if entry is not None and _hit_key(entry.breakpoint) == _hit_key(breakpoint):
                result._entries[number] = _BreakpointEntry(
                    breakpoint, entry.hits.copy(), entry.observed_until, entry.start
                )
        result._last_number = max(self._last_number, *breakpoints, 0)
        return result

    def fork(self, step: int) -> Breakpoints:
        """The breakpoints for a fork of the run after `step` steps, with the hits up to there."""
        result = Breakpoints()
        for number, entry in self._entries.items():
            hits = entry.hits[: bisect_right(entry.hits, step)]
            result._entries[number] = _BreakpointEntry(
                entry.breakpoint, hits, min(entry.observed_until, step), min(entry.start, step)
            )
        result._last_number = self._last_number
        return result

    def rebase(self, base: int) -> Breakpoints:
        """The breakpoints for the same run if only its steps from `base` on can be evaluated from now on. A breakpoint
        that has evaluated every step up to `base` keeps its hits; any other begins there."""
        result = Breakpoints()
        for number, entry in self._entries.items():
            keeps_hits = entry.start <= base <= entry.observed_until
            hits, observed_until, start = (
                (entry.hits.copy(), entry.observed_until, entry.start) if keeps_hits else ([], base, base)
            )
            result._entries[number] = _BreakpointEntry(entry.breakpoint, hits, observed_until, start)
        result._last_number, result.lines = self._last_number, [line for line in self.lines if line.step <= base]
        return result

    def mark_observed(self, start: int, step: int) -> None:
        """Record that no step from `start` up to `step` is left to evaluate: where a breakpoint may be hit, it has
        been. The lines that were logged at later steps are dropped, since those steps will happen again."""
        for entry in self._entries.values():
            if entry.observed_until >= start:
                entry.observed_until = max(entry.observed_until, step)
        self.lines = [line for line in self.lines if line.step <= step]

    see = RenamedAttribute("evaluate")

    def evaluate(self, state: State, event: Event) -> BreakpointHits:
        """Evaluate the breakpoints on the event that led to this state. Evaluating a step twice has no further
        effect."""
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
        """Evaluate an event that has just happened and return whether a breakpoint stops there. Lines of logpoints are
        added to `lines`."""
        hits = self.evaluate(state, event)
        self.lines.extend(hits.lines)
        return bool(hits.stops)

    @property
    def ignores_observed_until(self) -> float:
        """The step up to which all breakpoints that ignore hits have evaluated every step. Later steps in the past must
        be evaluated before their hit counts are right."""
        return min((entry.observed_until for entry in self._entries.values() if entry.breakpoint.ignore), default=inf)

    def catch_up(self, state: State, event: Event) -> None:
        """Evaluate the breakpoints on an event that they have not evaluated yet."""
        for entry in self._entries.values():
            if entry.observed_until < state.steps:
                entry.observe(state, event)

    def hits(self, number: int, step: int) -> int:
        """The number of hits of a breakpoint in this many steps, including those that it ignores."""
        return bisect_right(self._lookup(number).hits, step)

    def _lookup(self, number: int) -> _BreakpointEntry:
        if number not in self._entries:
            numbers = ", ".join(map(str, self._entries))
            raise Usage(
                f"there is no breakpoint {number}", required=f"one of {numbers}" if numbers else None, python=KeyError
            )
        return self._entries[number]

    def observed_until(self, number: int) -> int:
        """The step up to which a breakpoint has evaluated every step from its first one on, so that its hits are
        complete."""
        return self._lookup(number).observed_until

    def start_step(self, number: int) -> int:
        """The number of steps before a breakpoint begins to count hits."""
        return self._lookup(number).start


def _hit_key(breakpoint: Breakpoint) -> tuple[Expression, bool]:
    """The fields of a breakpoint that decide at which steps it is hit."""
    return breakpoint.condition, breakpoint.enabled
