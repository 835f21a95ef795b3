"""The origin of a run: its graph, arguments and options, which a history and its forks share and never change."""

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
    """The name of the schedule in an outcome."""
    pick: Pick
    fallback_schedule: str
    """The schedule that continues when a script is over or the run has left it; without a script, the schedule
    itself."""
    structure: TreeDef
    is_invalid: bool
    """Whether the graph breaks rules: then no event is reverted."""
    seed: int
    bound: int | None
    spacing: int

    def __post_init__(self) -> None:
        if type(self.spacing) is not int or self.spacing < 1:
            raise Usage("the spacing of kept states is an integer from 1 up", got=repr(self.spacing))

    def new_segment(self, start: int, meter: Meter) -> Segment:
        """A new segment of this run, without events."""
        return Segment(start, meter, spacing=self.spacing, reversible=not self.is_invalid)


def parse_schedule(given: str | Script) -> tuple[str, Pick, str]:
    """The name of a resolved schedule, its pick, and the schedule that continues after it; raises Usage for an invalid
    one."""
    return schedule_name(given), schedule_named(given), continuation_of(given)
