"""What a run keeps of its events, as it is told to: nothing, all of them, the last ones, or a log."""

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
    """Where the events of a run go: into `events`, which holds all or the last ones, or to a log."""

    events: list[Event] | deque[Event] | None = None
    log: EventLogWriter | None = None
    path: Path | None = None

    @property
    def observers(self) -> list[Callable[[Event], object]]:
        """Who is shown each event."""
        return [*([] if self.events is None else [self.events.append]), *([self.log.write_event] if self.log else [])]

    def outcome_fields(self, steps: int, window: Sequence[Event] | None = None) -> dict[str, Any]:
        """What the outcome of a run of so many steps says of it; a `window`, where there is one, has the events."""
        if self.events is None:
            return {"log": self.path}
        kept = tuple(self.events) if window is None else window
        return {"kept_events": kept, "first_kept": steps - len(kept), "log": self.path}

    def finish(self, outcome: Outcome) -> Outcome:
        """The last line of a log."""
        if self.log is not None:
            self.log.write_outcome(outcome)
        return outcome


def log_path(keep: KeepOption) -> Path | None:
    """Where the events are to be written, if anywhere; raises Usage where `keep` means nothing."""
    if keep is None or keep == "events" or (isinstance(keep, int) and not isinstance(keep, bool) and keep > 0):
        return None
    name = os.fspath(keep) if isinstance(keep, str | os.PathLike) else keep
    if isinstance(name, str) and name.endswith(SUFFIX):
        return Path(name)
    if isinstance(keep, os.PathLike):  # of `--keep FILE` too: a program named by mistake would be lost
        raise Usage("this is no name for a log of events", required=f"one that ends in {SUFFIX}", got=name)
    raise Usage(
        f"a run cannot keep {keep!r}",
        required=f'keep="events", a number of events from 1 up, or the name of a file that ends in {SUFFIX}',
    )


@contextmanager
def open_event_sink(
    keep: KeepOption, graph: Graph, arguments: Sequence[Value], schedule: str, seed: int = 0, bound: int | None = None
) -> Iterator[EventSink]:
    """Keep what is asked for, while this lasts; raises Usage where that means nothing, or cannot be written."""
    path = log_path(keep)
    if path is not None:
        with create_log(path, graph, arguments, schedule, seed, bound) as log:
            yield EventSink(log=log, path=path)
    elif isinstance(keep, int):
        yield EventSink(deque(maxlen=min(keep, sys.maxsize)))
    else:
        yield EventSink([] if keep == "events" else None)
