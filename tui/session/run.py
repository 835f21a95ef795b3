"""A run in a session: a history with a name, how it began, and what is known of it that never changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...interp.history.fast_forward import WINDOW
from ...interp.history.history import History
from ...interp.queries.adjoints import Adjoints
from ..run_start import Start
from .breakpoints import Stops
from .run_index import Known

NEAR = 5 * WINDOW
"""So many events before what is known are stepped, to know all that is between: half a second. What is further back
is known instead of it."""


@dataclass(eq=False, slots=True)
class Run:
    """A history by name. Equal is only the run itself: which of its events are known is no state of the session."""

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
    before: History | None = field(init=False, default=None)
    """What was known of the run before it was far away."""

    def __post_init__(self) -> None:
        graph = self.history.graph
        self.adjoints, self.known, self.stops = Adjoints(graph), Known(self.history), Stops(graph, self.history.base)

    def _begin(self) -> None:
        """Other events are known now."""
        self.known, self.stops = Known(self.history), self.stops.known_from(self.history.base)

    def shares(self, other: Run) -> None:
        """Know what the run knows of which this is a branch, up to where it begins; nothing, where that one knows
        another part of the run by now."""
        one: History | None = other.history
        while one is not self.history.parent:
            if one is None:
                return
            one = one.parent
        other.known.catch_up(other.history)
        self.known = other.known.branch(self.history)
        self.stops = other.stops.branch(self.history.branched_at)

    def firings(self, node: int) -> Sequence[int]:
        """The numbers of the known events at which a node has fired, up to the present position. An event is looked at
        once, whatever is asked."""
        self.known.catch_up(self.history)
        numbers = self.known.fired(node)
        return numbers[: bisect_left(numbers, self.history.position)]

    # Which events are known

    def know(self, history: History) -> None:
        """Know these events of the run instead of those that were known."""
        if history is not self.history:
            self.before, self.history = self.history, history
            self._begin()

    def reveal(self, position: int) -> None:
        """Know the events from this position on too; raises what `History.reveal` raises."""
        if position < self.history.base:
            self.history.reveal(position)
            self._begin()

    def reach(self, position: int) -> None:
        """Go to a position where the run has been, whichever of its events are known now.

        Raises KeyboardInterrupt where somebody presses Ctrl-C on the way; then one stands elsewhere.
        """
        if self.before is not None and _knows(self.before, position) and not _knows(self.history, position):
            self.know(self.before)
        base = self.history.base
        if base - NEAR <= position < base or (position < base and self.history.is_branch):
            self.reveal(max(position - WINDOW, 0))
        elif position < base or position > len(self.history):
            self.know(self.history.far(position))
        self.history.jump(min(position, len(self.history)))
        if self.history.position < position:
            self.history.forward_to(lambda state, event: state.steps >= position)
        if self.history.position < position:
            raise KeyboardInterrupt


def _knows(history: History, position: int) -> bool:
    return history.base <= position <= len(history)
