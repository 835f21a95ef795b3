"""The option `keep`: a run discards its events, keeps all or the last N in memory, or writes them to a log file.

A log consists of JSON lines or of columns. The writer decides by the suffix of the file, the reader by its first bytes.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ...core.errors import Usage
from ...core.files import bounded_lines, path_errors
from ...core.graph.graph import Graph
from ...core.value import Value
from ..machine.event import Event
from ..outcome.outcome import Outcome

if TYPE_CHECKING:
    from .event_log import LogWriter

KeepOption: TypeAlias = str | os.PathLike[str] | int | None
JSON_SUFFIX, COLUMN_SUFFIX = ".jsonl", ".npz"
LOG_SUFFIXES = (JSON_SUFFIX, COLUMN_SUFFIX)
_ARCHIVE_START = b"PK"


def is_log(name: str) -> bool:
    """Whether a file of this name is a log of events."""
    return name.endswith(LOG_SUFFIXES)


@dataclass(frozen=True, slots=True)
class EventSink:
    """The destination of a run's events: `events`, a collection of all or the last ones, or a log; or neither."""

    events: list[Event] | deque[Event] | None = None
    log: LogWriter | None = None
    path: Path | None = None

    @property
    def observers(self) -> list[Callable[[Event], object]]:
        """The functions to call with each event."""
        return [*([] if self.events is None else [self.events.append]), *([self.log.write_event] if self.log else [])]

    def outcome_fields(self, steps: int, window: Sequence[Event] | None = None) -> dict[str, Any]:
        """The fields of the outcome about events, after a run of `steps` steps. A `window` replaces the collected
        events."""
        if self.events is None:
            return {"log": self.path}
        events = tuple(self.events) if window is None else window
        return {"kept_events": events, "first_kept": steps - len(events), "log": self.path}

    def finish(self, outcome: Outcome) -> Outcome:
        """Write the last line of a log; returns the outcome."""
        if self.log is not None:
            from .documents import final_record

            self.log.write_outcome(final_record(outcome))
        return outcome


def log_path(keep: KeepOption) -> Path | None:
    """The path of the log to write, or None; raises Usage for an invalid `keep`."""
    if keep is None or keep == "events" or (isinstance(keep, int) and not isinstance(keep, bool) and keep > 0):
        return None
    name = os.fspath(keep) if isinstance(keep, str | os.PathLike) else keep
    if isinstance(name, str) and is_log(name):
        return Path(name)
    suffixes = " or ".join(LOG_SUFFIXES)
    if isinstance(keep, os.PathLike):  # also for `--keep FILE`: a program named by mistake would be overwritten
        raise Usage("this is not the name of a log of events", required=f"one that ends in {suffixes}", got=name)
    raise Usage(
        f"a run cannot keep {keep!r}",
        required=f'keep="events", a number of events from 1 up, or the name of a file that ends in {suffixes}',
        python=ValueError if isinstance(keep, str) or type(keep) is int else TypeError,
    )


@contextmanager
def open_event_sink(
    keep: KeepOption, graph: Graph, arguments: Sequence[Value], schedule: str, seed: int = 0, bound: int | None = None
) -> Iterator[EventSink]:
    """A context with the destination that `keep` selects; raises Usage if `keep` is invalid or the file cannot be
    written."""
    path = log_path(keep)
    if path is not None:
        with create_log(path, graph, arguments, schedule, seed, bound) as log:
            yield EventSink(log=log, path=path)
    elif isinstance(keep, int):
        yield EventSink(deque(maxlen=min(keep, sys.maxsize)))
    else:
        yield EventSink([] if keep == "events" else None)


@contextmanager
def create_log(
    path: Path, graph: Graph, arguments: Sequence[Value], schedule: str, seed: int = 0, bound: int | None = None
) -> Iterator[LogWriter]:
    """Create a log with its first line, in columns if the path ends in .npz; raises Usage where the path cannot be
    written.

    It is written beside the path, as NAME.partial.jsonl or .npz, and renamed when the run is over, also by an
    exception. So a killed process leaves an earlier log of that name intact, and its own part under the other name. A
    log that could not be written is removed. Pipes and devices are written directly.
    """
    from .column_log import create_column_log  # here: most runs write no log
    from .event_log import create_json_log, header_line

    create = create_column_log if path.suffix == COLUMN_SUFFIX else create_json_log
    with path_errors(path, "this log cannot be written"):
        partial = partial_path(path)
    try:
        with create(partial, graph, header_line(graph, arguments, schedule, seed, bound)) as log:
            yield log
    except Usage as error:
        if error.got != partial:
            rename_log(partial, path)
        elif partial != path:
            error.got = path
            with suppress(OSError):
                partial.unlink()
        raise
    except BaseException:
        rename_log(partial, path)
        raise
    rename_log(partial, path)


def partial_path(path: Path) -> Path:
    """Where a log is written until it is whole: beside the file that it will replace, links followed; the path itself
    if that is not a regular file, or if no file can be created in its folder."""
    target = Path(os.path.realpath(path))
    if (target.exists() and not target.is_file()) or not os.access(target.parent, os.W_OK):
        return path
    return target.with_name(f"{target.stem}.partial{target.suffix}")


def rename_log(partial: Path, path: Path) -> None:
    """Give a log its name."""
    if partial != path:
        with path_errors(path, "this log cannot be written"):
            os.replace(partial, os.path.realpath(path))


def log_lines(path: Path) -> Iterator[bytes]:
    """The JSON lines of a log of either kind; raises Usage if it cannot be read, and Malformed if its columns are
    damaged. `history.replay` checks the lines."""
    with path_errors(path, "this log cannot be read"), path.open("rb") as file:
        start = file.read(len(_ARCHIVE_START))
        if start != _ARCHIVE_START and path.suffix != COLUMN_SUFFIX:
            file.seek(0)
            yield from bounded_lines(file, path, "log")
            return
    from .column_log import column_log_lines

    yield from column_log_lines(path)


def convert_log(source: Path, target: Path) -> None:
    """Write a log of either kind as JSON lines; raises Usage and Malformed as `log_lines` does, and Usage where the
    target cannot be written."""
    from .event_log import unwritable_log

    lines = log_lines(source)
    first = next(lines, b"")
    try:
        with target.open("wb") as file:
            file.write(first)
            file.writelines(lines)
    except Usage:  # of `log_lines`; it is an OSError, too
        raise
    except OSError as error:
        raise unwritable_log(target, error) from None
