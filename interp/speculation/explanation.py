"""Explanation: how the calls of a speculated function ran, and why, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ...core.errors import plural


@dataclass
class CallCounts:
    """How calls ran."""

    watch: int = 0
    graph: int = 0
    python: int = 0
    """Not in the graph, for any reason."""
    fallbacks: int = 0
    """In Python after a run of the graph that broke an assumption."""

    def __str__(self) -> str:
        total = self.watch + self.graph + self.python
        return f"{plural(total, 'call')}: {self.watch} watched, {self.graph} in the graph, {self.python} in Python"


@dataclass(frozen=True)
class Row:
    """One thing that the graph takes for granted."""

    location: str
    source: str
    assumption: str
    reason: str
    checked: str
    """When it is checked."""
    broken: int
    """How often it broke."""


@dataclass(frozen=True)
class Explanation:
    """What speculation has made of a function."""

    name: str
    counts: CallCounts
    builds: int
    build_bound: int
    python_reason: str | None
    rows: tuple[Row, ...]
    events: tuple[str, ...]
    """What made calls run in Python, or graphs be made again, in order."""

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.counts}", f"graphs made: {self.builds} of at most {self.build_bound}"]
        if self.python_reason is not None:
            lines.append(f"it stays in Python, since {self.python_reason}")
        width = max((len(row.source) for row in self.rows), default=0)
        width = min(width, 60)
        for row in self.rows:
            if row.assumption == "nothing":  # an attribute or variable that is not there
                continue
            broken = f", broken {plural(row.broken, 'time')}" if row.broken else ""
            where = f" ({row.location})" if row.location else ""
            lines.append(f"  {row.source[:60]:{width}}  {row.assumption}; checked {row.checked}{broken}{where}")
        lines += [f"  {event}" for event in self.events[-20:]]
        return "\n".join(lines)
