"""A run in a session: a history with a name, how it began, and what is known of it that never changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...interp.history.fast_forward import WINDOW
from ...interp.history.history import History
from ...interp.queries.adjoints import AdjointPartners
from ..run_start import Start
from .breakpoints import RunBreakpoints
from .run_index import RunIndex

REVEAL_LIMIT = 5 * WINDOW
"""So many events before what is known are stepped, to know all that is between: half a second. What is further back
is known instead of it."""


@dataclass(eq=False, slots=True)
class SessionRun:
    """A history by name. Equal is only the run itself: which of its events are known is no state of the session."""

    name: str
    history: History
    start: Start | None
    """How it began: of a fork, as its parent did; None where no file is known."""
    parent: str | None = None
    fork_position: int = 0
    """From which event on a fork is its own."""
    edit_description: str = ""
    """What was changed there, in words."""
    breakpoints: RunBreakpoints = field(init=False)
    index: RunIndex = field(init=False)
    adjoints: AdjointPartners = field(init=False)
    previous_history: History | None = field(init=False, default=None)
    """What was known of the run before it was far away."""

    def __post_init__(self) -> None:
        graph = self.history.graph
        self.adjoints, self.index, self.breakpoints = (
            AdjointPartners(graph),
            RunIndex(self.history),
            RunBreakpoints(graph, self.history.base),
        )

    def _rebuild_index(self) -> None:
        """Other events are known now."""
        self.index, self.breakpoints = RunIndex(self.history), self.breakpoints.rebase(self.history.base)

    def share_index(self, other: SessionRun) -> None:
        """Know what the run knows of which this is a branch, up to where it begins; nothing, where that one knows
        another part of the run by now."""
        one: History | None = other.history
        while one is not self.history.parent:
            if one is None:
                return
            one = one.parent
        other.index.catch_up(other.history)
        self.index = other.index.fork(self.history)
        self.breakpoints = other.breakpoints.fork(self.history.fork_position)

    def firings(self, node: int) -> Sequence[int]:
        """The numbers of the known events at which a node has fired, up to the present position. An event is looked at
        once, whatever is asked."""
        self.index.catch_up(self.history)
        numbers = self.index.firings(node)
        return numbers[: bisect_left(numbers, self.history.position)]

    # Which events are known

    def replace_history(self, history: History) -> None:
        """Know these events of the run instead of those that were known."""
        if history is not self.history:
            self.previous_history, self.history = self.history, history
            self._rebuild_index()

    def reveal(self, position: int) -> None:
        """Know the events from this position on too; raises what `History.reveal` raises."""
        if position < self.history.base:
            self.history.reveal(position)
            self._rebuild_index()

    def goto(self, position: int) -> None:
        """Go to a position where the run has been, whichever of its events are known now.

        Raises KeyboardInterrupt where somebody presses Ctrl-C on the way; then one stands elsewhere.
        """
        if (
            self.previous_history is not None
            and _covers(self.previous_history, position)
            and not _covers(self.history, position)
        ):
            self.replace_history(self.previous_history)
        base = self.history.base
        if base - REVEAL_LIMIT <= position < base or (position < base and self.history.is_fork):
            self.reveal(max(position - WINDOW, 0))
        elif position < base or position > len(self.history):
            self.replace_history(self.history.far(position))
        self.history.jump(min(position, len(self.history)))
        if self.history.position < position:
            self.history.forward_to(lambda state, event: state.steps >= position)
        if self.history.position < position:
            raise KeyboardInterrupt


def _covers(history: History, position: int) -> bool:
    return history.base <= position <= len(history)
