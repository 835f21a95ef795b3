"""Where a session stands: all that a command can change, and that `undo` gives back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .breakpoints import BreakpointSpec
from .run import SessionRun


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A place in a run, by name."""

    name: str
    run: str
    position: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunDifference:
    """Where two runs differ first: where each stands once it has done what differs, or at its end."""

    first: str
    second: str
    positions: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SessionState:
    """Runs in the order in which they came, where each stands, and what was noted. A value: changing makes another."""

    runs: tuple[SessionRun, ...] = ()
    positions: tuple[int, ...] = ()
    """Where each run stands; kept by the histories themselves until somebody asks."""
    current: str | None = None
    breakpoints: tuple[BreakpointSpec, ...] = ()
    last_breakpoint_number: int = 0
    """The largest number that a breakpoint has had."""
    watches: tuple[str, ...] = ()
    bookmarks: tuple[Bookmark, ...] = ()
    difference: RunDifference | None = None

    def find_run(self, name: str) -> SessionRun | None:
        return next((run for run in self.runs if run.name == name), None)

    @property
    def run_names(self) -> Iterator[str]:
        return (run.name for run in self.runs)
