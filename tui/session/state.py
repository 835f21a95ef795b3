"""The state of a session: everything that a command can change and `undo` restores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .breakpoints import BreakpointSpec
from .run import SessionRun


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A named position in a run."""

    name: str
    run: str
    position: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The first difference of two runs: the position of each right after the event that differs, or at its end."""

    first: str
    second: str
    positions: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SessionState:
    """Runs in the order of creation, their positions, and breakpoints, bookmarks and watches. Immutable: a change makes
    a new state."""

    runs: tuple[SessionRun, ...] = ()
    positions: tuple[int, ...] = ()
    """The position of each run; the histories keep them until a snapshot is taken."""
    current: str | None = None
    breakpoints: tuple[BreakpointSpec, ...] = ()
    last_breakpoint_number: int = 0
    """The largest number ever given to a breakpoint."""
    watches: tuple[str, ...] = ()
    bookmarks: tuple[Bookmark, ...] = ()
    difference: RunDifference | None = None

    def find_run(self, name: str) -> SessionRun | None:
        return next((run for run in self.runs if run.name == name), None)

    @property
    def run_names(self) -> Iterator[str]:
        return (run.name for run in self.runs)
