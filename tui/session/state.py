"""Where a session stands: all that a command can change, and that `undo` gives back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .breakpoints import Point
from .run import Run


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A place in a run, by name."""

    name: str
    run: str
    position: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Apart:
    """Where two runs differ first: where each stands once it has done what differs, or at its end."""

    first: str
    second: str
    places: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Situation:
    """Runs in the order in which they came, where each stands, and what was noted. A value: changing makes another."""

    runs: tuple[Run, ...] = ()
    positions: tuple[int, ...] = ()
    """Where each run stands; kept by the histories themselves until somebody asks."""
    current: str | None = None
    points: tuple[Point, ...] = ()
    numbered: int = 0
    """The largest number that a breakpoint has had."""
    watches: tuple[str, ...] = ()
    bookmarks: tuple[Bookmark, ...] = ()
    apart: Apart | None = None

    def named(self, name: str) -> Run | None:
        return next((run for run in self.runs if run.name == name), None)

    @property
    def names(self) -> Iterator[str]:
        return (run.name for run in self.runs)
