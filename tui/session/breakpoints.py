"""The breakpoints of a session: kept as texts, and compiled for the graph of each run."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.errors import TagloomError, plural
from ...core.graph.graph import Graph
from ...interp.breakpoints.breakpoint import Breakpoint, Breakpoints, breakpoint_on
from ...interp.history.history import History


@dataclass(frozen=True, slots=True)
class BreakpointSpec:
    """A breakpoint, or with a `log` a logpoint, by number."""

    number: int
    condition: str
    ignore: int = 0
    log: str | None = None
    enabled: bool = True

    def __str__(self) -> str:
        says = "" if self.log is None else f' says "{self.log}"'
        ignores = f", ignores {plural(self.ignore, 'hit')}" if self.ignore else ""
        return f"{self.number}: {self.condition}{says}{ignores}{'' if self.enabled else ', disabled'}"


class RunBreakpoints:
    """The breakpoints of a session compiled for one run, with their hits in this run."""

    def __init__(self, graph: Graph, base: int = 0) -> None:
        """`base` is the number of events before the first known one."""
        self._graph, self._base = graph, base
        self._specs: tuple[BreakpointSpec, ...] = ()
        self._breakpoints = Breakpoints()

    def fork(self, since: int) -> RunBreakpoints:
        """The breakpoints of a run that shares this many events with this one, with the hits up to there."""
        made = RunBreakpoints(self._graph, self._base)
        made._specs, made._breakpoints = self._specs, self._breakpoints.fork(since)
        return made

    def rebase(self, base: int) -> RunBreakpoints:
        """The breakpoints of the same run when its events are known from `base` on."""
        made = RunBreakpoints(self._graph, base)
        made._specs, made._breakpoints = self._specs, self._breakpoints.rebase(base)
        return made

    def compile_all(self, points: tuple[BreakpointSpec, ...]) -> Breakpoints:
        """The breakpoints, under their numbers; those that do not compile for this graph are left out."""
        if points is not self._specs:
            made = {point.number: compiled for point in points if (compiled := self._try_compile(point)) is not None}
            self._breakpoints, self._specs = self._breakpoints.with_breakpoints(made, self._base), points
        return self._breakpoints

    def _try_compile(self, point: BreakpointSpec) -> Breakpoint | None:
        try:
            return compile_breakpoint(point, self._graph)
        except TagloomError:
            return None

    def hits(self, points: tuple[BreakpointSpec, ...], number: int, history: History) -> tuple[int, int] | None:
        """The number of hits up to the run's position, and the event from which they count; None if the breakpoint does
        not compile for its graph. Evaluates events that were not evaluated yet."""
        stops = self.compile_all(points)
        if all(number != other for other, _ in stops):
            return None
        start = max(stops.observed_until(number), history.base)
        if start < history.position:
            for state, event in history.events(start, history.position):
                stops.catch_up(state, event)
        return stops.hits(number, history.position), stops.start_step(number)


def compile_breakpoint(point: BreakpointSpec, graph: Graph) -> Breakpoint:
    """Compile a breakpoint; raises Malformed and Usage if it does not fit the graph."""
    made = breakpoint_on(graph, point.condition, ignore=point.ignore, log=point.log)
    return made if point.enabled else Breakpoint(made.condition, made.ignore, made.log, False)
