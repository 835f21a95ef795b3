"""What a run is before its first event: all that a history has in common with its branches, and that never changes."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.errors import Usage
from ...core.frontend.trace.pytree import Structure
from ...core.graph.graph import Graph
from ...core.value import Value
from ..machine.schedule import Pick, name_of, then_of
from ..machine.schedule import schedule as schedule_named
from ..machine.script import Script
from ..outcome.statistics import Meter
from .segment import Stretch


@dataclass(frozen=True, slots=True)
class Beginning:
    """A graph, its arguments, and the options of the run."""

    graph: Graph
    arguments: tuple[Value, ...]
    schedule: str
    """What an outcome calls it."""
    pick: Pick
    then: str
    """The schedule that goes on where a script is over, or has not been kept to; where there is none, the schedule."""
    structure: Structure
    broken: bool
    """Whether the graph breaks rules: then nothing is reverted."""
    seed: int
    bound: int | None
    spacing: int

    def __post_init__(self) -> None:
        if type(self.spacing) is not int or self.spacing < 1:
            raise Usage("the spacing of kept states is an integer from 1 up", got=repr(self.spacing))

    def stretch(self, start: int, meter: Meter) -> Stretch:
        """A stretch of this run, without events yet."""
        return Stretch(start, meter, spacing=self.spacing, reversible=not self.broken)


def read_schedule(given: str | Script) -> tuple[str, Pick, str]:
    """What a schedule that is resolved is called, how it picks, and what goes on after it; raises Usage where there is
    none."""
    return name_of(given), schedule_named(given), then_of(given)
