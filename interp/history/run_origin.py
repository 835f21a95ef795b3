"""What a run is before its first event: all that a history has in common with its branches, and that never changes."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.errors import Usage
from ...core.frontend.trace.pytree import TreeDef
from ...core.graph.graph import Graph
from ...core.value import Value
from ..machine.schedule import Pick, continuation_of, schedule_name
from ..machine.schedule import schedule as schedule_named
from ..machine.script import Script
from ..outcome.statistics import Meter
from .segment import Segment


@dataclass(frozen=True, slots=True)
class RunOrigin:
    """A graph, its arguments, and the options of the run."""

    graph: Graph
    arguments: tuple[Value, ...]
    schedule: str
    """What an outcome calls it."""
    pick: Pick
    fallback_schedule: str
    """The schedule that goes on where a script is over, or has not been kept to; where there is none, the schedule."""
    structure: TreeDef
    is_invalid: bool
    """Whether the graph breaks rules: then nothing is reverted."""
    seed: int
    bound: int | None
    spacing: int

    def __post_init__(self) -> None:
        if type(self.spacing) is not int or self.spacing < 1:
            raise Usage("the spacing of kept states is an integer from 1 up", got=repr(self.spacing))

    def new_segment(self, start: int, meter: Meter) -> Segment:
        """A stretch of this run, without events yet."""
        return Segment(start, meter, spacing=self.spacing, reversible=not self.is_invalid)


def parse_schedule(given: str | Script) -> tuple[str, Pick, str]:
    """What a schedule that is resolved is called, how it picks, and what goes on after it; raises Usage where there is
    none."""
    return schedule_name(given), schedule_named(given), continuation_of(given)
