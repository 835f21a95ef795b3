"""Explanation: how the calls of a speculated function ran, and why, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from ...core.errors import plural

MAX_SOURCE_WIDTH = 60
"""The largest number of characters of an expression's source in a line."""


@dataclass
class CallCounts:
    """The numbers of calls that were watched, ran in the graph, and ran in Python."""

    watch: int = 0
    graph: int = 0
    python: int = 0
    """All other calls: they ran in Python, for any reason."""
    fallbacks: int = 0
    """The calls among these that broke an assumption."""
    timed: int = 0
    """The calls among these that were timed, to be compared with the graph."""

    def __str__(self) -> str:
        total = self.watch + self.graph + self.python
        timed = f" ({self.timed} to compare times)" if self.timed else ""
        ways = f"{self.watch} watched, {self.graph} in the graph, {self.python} in Python{timed}"
        return f"{plural(total, 'call')}: {ways}"


@dataclass(frozen=True)
class AssumptionRow:
    """One assumption of the graph."""

    location: str
    source: str
    assumption: str
    reason: str
    checked: str
    """When it is checked: "before each run", "when the graph is made" or "in the graph"."""
    broken: int
    """The number of times it broke."""


@dataclass(frozen=True)
class Failure:
    """A run of the graph that broke an assertion. `why(call=)` opens the debugger there."""

    call: int
    """The number of the call, from 1."""
    assumption: str
    tag: str
    """The tag of the token that made the assertion fail."""


@dataclass(frozen=True)
class Forecast:
    """A prediction of how a call would run."""

    way: str
    """"watched", "graph", "new graph" or "python"."""
    reason: str

    def __str__(self) -> str:
        ways = {"watched": "is watched in Python", "graph": "runs in the graph", "python": "runs in Python"}
        return f"this call {ways.get(self.way, 'runs in a graph that is made first, if it can be')}: {self.reason}"


@dataclass(frozen=True)
class Explanation:
    """How the calls of a speculated function ran, and the assumptions of its graph."""

    name: str
    counts: CallCounts
    builds: int
    build_bound: int
    python_reason: str | None
    rows: tuple[AssumptionRow, ...]
    events: tuple[str, ...]
    """The last reasons, in order, for which calls ran in Python or the graph was made again."""
    failures: tuple[Failure, ...] = ()
    """The last runs that broke an assertion."""
    forecast: Forecast | None = None
    """The prediction for a call with the given arguments."""
    seconds: tuple[float, float] | None = None
    """The times of a call in the graph and in Python, if they were compared."""

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON values."""
        return {"tagloom": "explanation", "version": 1, **asdict(self)}

    def __str__(self) -> str:
        lines = [] if self.forecast is None else [str(self.forecast)]
        lines += [f"{self.name}: {self.counts}", f"graphs made: {self.builds} of at most {self.build_bound}"]
        if self.python_reason is not None:
            lines.append(f"it stays in Python, since {self.python_reason}")
        elif self.seconds is not None:
            graph, python = (f"{1000 * seconds:.3g} ms" for seconds in self.seconds)
            lines.append(f"time of a call: {graph} in the graph, {python} in Python")
        rows = [row for row in self.rows if row.assumption != "nothing"]  # that an attribute is not there
        width = min(max((len(row.source) for row in rows), default=0), MAX_SOURCE_WIDTH)
        for checked, group in groupby(rows, key=lambda row: row.checked):
            lines.append(f"checked {checked}:")
            for row in group:
                broken = f", broken {plural(row.broken, 'time')}" if row.broken else ""
                where = f" ({row.location})" if row.location else ""
                lines.append(f"  {row.source[:MAX_SOURCE_WIDTH]:{width}}  {row.assumption}{broken}{where}")
        if self.events:
            lines.append("why calls ran in Python, or the graph was made again:")
        for event, repetitions in groupby(self.events):
            count = len(list(repetitions))
            lines.append(f"  {event}" + (f" ({count} times)" if count > 1 else ""))
        if self.failures:
            lines.append("assertions that failed; why(call=...) opens the debugger there:")
        for failure in self.failures:
            where = f" under {failure.tag}" if failure.tag else ""
            lines.append(f"  call {failure.call}: {failure.assumption}{where}")
        return "\n".join(lines)
