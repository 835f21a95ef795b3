"""A run in a session: a named history, its start, an index of its known events, and its breakpoints.

A session keeps breakpoints as texts; each run compiles them for its own graph, and counts their hits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ...core.errors import TagloomError, plural
from ...core.graph.graph import Graph
from ...interp.breakpoints.breakpoint import Breakpoint, Breakpoints, breakpoint_on
from ...interp.history.fast_forward import WINDOW
from ...interp.history.history import History
from ...interp.queries.adjoints import AdjointPartners
from ..run_start import RunRequest
from .run_index import RunIndex

REVEAL_LIMIT = 5 * WINDOW
"""The most events by which the known ones are extended backwards, which takes half a second. To go farther back, the
known events are replaced."""


@dataclass(frozen=True, slots=True)
class BreakpointSpec:
    """A breakpoint as text, or, with a `log`, a logpoint."""

    number: int
    condition: str
    ignore: int = 0
    log: str | None = None
    enabled: bool = True

    def __str__(self) -> str:
        log_text = "" if self.log is None else f' says "{self.log}"'
        ignores = f", ignores {plural(self.ignore, 'hit')}" if self.ignore else ""
        return f"{self.number}: {self.condition}{log_text}{ignores}{'' if self.enabled else ', disabled'}"


class RunBreakpoints:
    """The breakpoints of a session compiled for one run, with their hits in this run."""

    def __init__(self, graph: Graph, base: int = 0) -> None:
        """`base` is the number of events before the first known event."""
        self._graph, self._base = graph, base
        self._specs: tuple[BreakpointSpec, ...] = ()
        self._breakpoints = Breakpoints()

    def fork(self, position: int) -> RunBreakpoints:
        """The breakpoints of a fork of this run at a position, with the hits up to there."""
        breakpoints = RunBreakpoints(self._graph, self._base)
        breakpoints._specs, breakpoints._breakpoints = self._specs, self._breakpoints.fork(position)
        return breakpoints

    def rebase(self, base: int) -> RunBreakpoints:
        """The breakpoints of the same run, whose events are now known from `base` on."""
        breakpoints = RunBreakpoints(self._graph, base)
        breakpoints._specs, breakpoints._breakpoints = self._specs, self._breakpoints.rebase(base)
        return breakpoints

    def compile_all(self, points: tuple[BreakpointSpec, ...]) -> Breakpoints:
        """The compiled breakpoints by number; those that do not compile for this graph are left out."""
        if points is not self._specs:
            compiled = dict[int, Breakpoint]()
            for point in points:
                with suppress(TagloomError):
                    compiled[point.number] = compile_breakpoint(point, self._graph)
            self._breakpoints, self._specs = self._breakpoints.with_breakpoints(compiled, self._base), points
        return self._breakpoints

    def hits(self, points: tuple[BreakpointSpec, ...], number: int, history: History) -> tuple[int, int] | None:
        """The number of hits up to the run's position, and the event from which they count; None if the breakpoint does
        not compile for its graph. Evaluates events that were not evaluated yet."""
        stops = self.compile_all(points)
        if all(number != stop_number for stop_number, _ in stops):
            return None
        start = max(stops.observed_until(number), history.base)
        if start < history.position:
            for state, event in history.events(start, history.position):
                stops.catch_up(state, event)
        return stops.hits(number, history.position), stops.start_step(number)


def compile_breakpoint(point: BreakpointSpec, graph: Graph) -> Breakpoint:
    """Compile a breakpoint; raises Malformed and Usage if it does not fit the graph."""
    compiled = breakpoint_on(graph, point.condition, ignore=point.ignore, log=point.log)
    return compiled if point.enabled else Breakpoint(compiled.condition, compiled.ignore, compiled.log, False)


@dataclass(eq=False, slots=True)
class SessionRun:
    """A named history. Equality is identity: which events are known is not part of the session's state."""

    name: str
    history: History
    start: RunRequest | None
    """The start; for a fork, the start of its parent; None if no file is known."""
    parent: str | None = None
    fork_position: int = 0
    """The first event that a fork does not share."""
    edit_description: str = ""
    """The edit that made the fork, as text."""
    breakpoints: RunBreakpoints = field(init=False)
    index: RunIndex = field(init=False)
    adjoints: AdjointPartners = field(init=False)
    previous_history: History | None = field(init=False, default=None)
    """The events that were known before the fast machine skipped ahead."""

    def __post_init__(self) -> None:
        self.adjoints, self.index = AdjointPartners(self.history.graph), RunIndex(self.history)
        self.breakpoints = RunBreakpoints(self.history.graph, self.history.base)

    def share_index(self, other: SessionRun) -> None:
        """Share the index of the run from which this one was forked, up to the fork. Nothing is shared if that run has
        replaced its known events since."""
        ancestor: History | None = other.history
        while ancestor is not self.history.parent:
            if ancestor is None:
                return
            ancestor = ancestor.parent
        other.index.catch_up(other.history)
        self.index = other.index.fork(self.history)
        self.breakpoints = other.breakpoints.fork(self.history.fork_position)

    def firings(self, node: int) -> Sequence[int]:
        """The numbers of the known events at which a node has fired, up to the current position, ascending."""
        self.index.catch_up(self.history)
        numbers = self.index.firings(node)
        return numbers[: bisect_left(numbers, self.history.position)]

    # Known events

    def replace_history(self, history: History) -> None:
        """Replace the known events of the run by these."""
        if history is not self.history:
            self.previous_history, self.history = self.history, history
            self.index, self.breakpoints = RunIndex(history), self.breakpoints.rebase(history.base)

    def reveal(self, position: int) -> None:
        """Make the events from this position on known too; raises the errors of `History.reveal`."""
        if position < self.history.base:
            self.history.reveal(position)
            self.index = self.index.extend_back(self.history)
            self.breakpoints = self.breakpoints.rebase(self.history.base)

    def goto(self, position: int) -> None:
        """Go to a position where the run has been before; its events need not be known any more.

        On Ctrl-C it raises KeyboardInterrupt and leaves the run at the position reached.
        """
        base, previous = self.history.base, self.previous_history
        is_known = base <= position <= len(self.history)
        if not is_known and previous is not None and previous.base <= position <= len(previous):
            self.replace_history(previous)
            base = previous.base
        if base - REVEAL_LIMIT <= position < base or (position < base and self.history.is_fork):
            self.reveal(max(position - WINDOW, 0))
        elif position < base or position > len(self.history):
            self.replace_history(self.history.fast_forward(position))
        self.history.jump(min(position, len(self.history)))
        if self.history.position < position:
            self.history.forward_to(lambda state, event: state.steps >= position)
        if self.history.position < position:
            raise KeyboardInterrupt
