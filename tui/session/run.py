"""A run in a session: a history with a name, how it began, and what is known of it that never changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...interp.questions.adjoints import Adjoints
from ...interp.travel.history import History
from ..begin import Start
from .known import Known
from .stops import Stops


@dataclass(eq=False, slots=True)
class Run:
    """A history by name. Equal is only the run itself: what it knows of its events is no state of the session."""

    name: str
    history: History
    start: Start | None
    """How it began: of a fork, as its parent did; None where no file is known."""
    parent: str | None = None
    since: int = 0
    """From which event on a fork is its own."""
    told: str = ""
    """What was changed there, in words."""
    stops: Stops = field(init=False)
    known: Known = field(init=False)
    adjoints: Adjoints = field(init=False)

    def __post_init__(self) -> None:
        self.stops = Stops(self.history.graph)
        self.known = Known(self.history)
        self.adjoints = Adjoints(self.history.graph)

    def shares(self, other: Run) -> None:
        """Know what the run knows of which this is a branch, up to where it begins."""
        other.known.catch_up(other.history)
        self.known = other.known.branch(self.history)
        self.stops = other.stops.branch(self.history.branched_at)

    def firings(self, node: int) -> Sequence[int]:
        """The numbers of the events at which a node has fired, up to the present position. An event is looked at once,
        whatever is asked."""
        self.known.catch_up(self.history)
        numbers = self.known.fired(node)
        return numbers[: bisect_left(numbers, self.history.position)]
