"""Keeping events: none, all, the last N, or a log, as the option `keep` says."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.value import Value
from ..machine.event import Event
from ..outcome.outcome import Outcome
from .event_log import SUFFIX, EventLogWriter, create_log

KeepOption: TypeAlias = str | os.PathLike[str] | int | None


@dataclass(frozen=True, slots=True)
class EventSink:
    """The destination of a run's events: `events`, which holds all or the last ones, or a log."""

    events: list[Event] | deque[Event] | None = None
    log: EventLogWriter | None = None
    path: Path | None = None

    @property
    def observers(self) -> list[Callable[[Event], object]]:
        """The functions to call with each event."""
        return [*([] if self.events is None else [self.events.append]), *([self.log.write_event] if self.log else [])]

    def outcome_fields(self, steps: int, window: Sequence[Event] | None = None) -> dict[str, Any]:
        """The fields of the outcome about events, after a run of `steps` steps; a `window`, if given, holds the
        events."""
        if self.events is None:
            return {"log": self.path}
        kept = tuple(self.events) if window is None else window
        return {"kept_events": kept, "first_kept": steps - len(kept), "log": self.path}

    def finish(self, outcome: Outcome) -> Outcome:
        """Write the last line of a log; returns the outcome."""
        if self.log is not None:
            self.log.write_outcome(outcome)
        return outcome


def log_path(keep: KeepOption) -> Path | None:
    """The path of the log to write, or None; raises Usage for an invalid `keep`."""
    if keep is None or keep == "events" or (isinstance(keep, int) and not isinstance(keep, bool) and keep > 0):
        return None
    name = os.fspath(keep) if isinstance(keep, str | os.PathLike) else keep
    if isinstance(name, str) and name.endswith(SUFFIX):
        return Path(name)
    if isinstance(keep, os.PathLike):  # also for `--keep FILE`: a program named by mistake would be overwritten
        raise Usage("this is no name for a log of events", required=f"one that ends in {SUFFIX}", got=name)
    raise Usage(
        f"a run cannot keep {keep!r}",
        required=f'keep="events", a number of events from 1 up, or the name of a file that ends in {SUFFIX}',
    )


@contextmanager
def open_event_sink(
    keep: KeepOption, graph: Graph, arguments: Sequence[Value], schedule: str, seed: int = 0, bound: int | None = None
) -> Iterator[EventSink]:
    """A context with the destination that `keep` chooses; raises Usage if `keep` is invalid or the file cannot be
    written."""
    path = log_path(keep)
    if path is not None:
        with create_log(path, graph, arguments, schedule, seed, bound) as log:
            yield EventSink(log=log, path=path)
    elif isinstance(keep, int):
        yield EventSink(deque(maxlen=min(keep, sys.maxsize)))
    else:
        yield EventSink([] if keep == "events" else None)
