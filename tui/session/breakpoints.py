"""Breakpoints of a session: kept as texts, since each run has a graph of its own, and compiled for each."""

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
    """The breakpoints of a session as those of one run, with the hits that this run has had."""

    def __init__(self, graph: Graph, base: int = 0) -> None:
        """`base` is how many events had happened before the first that is known."""
        self._graph, self._base = graph, base
        self._specs: tuple[BreakpointSpec, ...] = ()
        self._breakpoints = Breakpoints()

    def fork(self, since: int) -> RunBreakpoints:
        """Those of a run that has so many events in common with this one: they have been hit as often there."""
        made = RunBreakpoints(self._graph, self._base)
        made._specs, made._breakpoints = self._specs, self._breakpoints.fork(since)
        return made

    def rebase(self, base: int) -> RunBreakpoints:
        """Those of the same run, where other events of it are known: from this one on."""
        made = RunBreakpoints(self._graph, base)
        made._specs, made._breakpoints = self._specs, self._breakpoints.rebase(base)
        return made

    def compile_all(self, points: tuple[BreakpointSpec, ...]) -> Breakpoints:
        """The breakpoints under the numbers of the points; those are left out that mean nothing for this graph."""
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
        """How often one has been hit up to where the run stands, and since which event; None where it means nothing for
        its graph. What it has not seen yet it looks at now."""
        stops = self.compile_all(points)
        if all(number != other for other, _ in stops):
            return None
        start = max(stops.observed_until(number), history.base)
        if start < history.position:
            for state, event in history.events(start, history.position):
                stops.catch_up(state, event)
        return stops.hits(number, history.position), stops.start_step(number)


def compile_breakpoint(point: BreakpointSpec, graph: Graph) -> Breakpoint:
    """A point as a breakpoint; raises Malformed and Usage where it means nothing for the graph."""
    made = breakpoint_on(graph, point.condition, ignore=point.ignore, log=point.log)
    return made if point.enabled else Breakpoint(made.condition, made.ignore, made.log, False)
