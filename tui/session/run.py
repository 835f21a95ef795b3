"""A run in a session: a named history, its start, and an index of its known events."""

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
"""The most events before the known ones that are stepped so that everything between is known: half a second. Events
farther back become known instead of the present ones."""


@dataclass(eq=False, slots=True)
class SessionRun:
    """A named history. Equality is identity: which events are known is no part of the session's state."""

    name: str
    history: History
    start: Start | None
    """The start; for a fork, that of its parent; None if no file is known."""
    parent: str | None = None
    fork_position: int = 0
    """The first event that a fork does not share."""
    edit_description: str = ""
    """The edit that made the fork, as text."""
    breakpoints: RunBreakpoints = field(init=False)
    index: RunIndex = field(init=False)
    adjoints: AdjointPartners = field(init=False)
    previous_history: History | None = field(init=False, default=None)
    """The known part of the run before it went far away."""

    def __post_init__(self) -> None:
        graph = self.history.graph
        self.adjoints, self.index, self.breakpoints = (
            AdjointPartners(graph),
            RunIndex(self.history),
            RunBreakpoints(graph, self.history.base),
        )

    def _rebuild_index(self) -> None:
        """Index the run again, because other events are known now."""
        self.index, self.breakpoints = RunIndex(self.history), self.breakpoints.rebase(self.history.base)

    def share_index(self, other: SessionRun) -> None:
        """Share the index of the run from which this one was forked, up to the fork; nothing, if another part of that
        run is known by now."""
        one: History | None = other.history
        while one is not self.history.parent:
            if one is None:
                return
            one = one.parent
        other.index.catch_up(other.history)
        self.index = other.index.fork(self.history)
        self.breakpoints = other.breakpoints.fork(self.history.fork_position)

    def firings(self, node: int) -> Sequence[int]:
        """The numbers of the known events at which a node has fired, up to the current position. Each event is indexed
        once."""
        self.index.catch_up(self.history)
        numbers = self.index.firings(node)
        return numbers[: bisect_left(numbers, self.history.position)]

    # Which events are known

    def replace_history(self, history: History) -> None:
        """Replace the known events of the run by these."""
        if history is not self.history:
            self.previous_history, self.history = self.history, history
            self._rebuild_index()

    def reveal(self, position: int) -> None:
        """Make the events from this position on known too; raises the errors of `History.reveal`."""
        if position < self.history.base:
            self.history.reveal(position)
            self._rebuild_index()

    def goto(self, position: int) -> None:
        """Go to a position where the run has been, whichever events are known now.

        Raises KeyboardInterrupt on Ctrl-C, and then stays at the position reached.
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
