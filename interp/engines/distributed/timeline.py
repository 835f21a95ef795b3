"""The recording of the timeline of a run.

Each peer records its own entries, and sends them with its stores. The driver merges the entries of a checkpoint by
time; a rollback drops the entries after the checkpoint, as it undoes their firings. At a checkpoint no message is on
its way, so each message that was sent has been received.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.tag import Tag
from ...outcome.timeline import EntryKind, TimelineEntry
from ...records.documents import TagTable
from .messages import read_names, table_to_json


class TimelineRecorder:
    """Records the entries of one peer."""

    def __init__(self, rank: int, clock: Callable[[], float]) -> None:
        """`clock` returns microseconds."""
        self.rank, self.clock = rank, clock
        self.entries: list[TimelineEntry] = []

    def record_firing(self, node: int, tag: Tag, start: float) -> None:
        """Record a firing that began at `start` and ends at this moment."""
        self.entries.append(TimelineEntry(start, self.rank, "firing", self.clock() - start, node, tag))

    def record_message(self, kind: EntryKind, message: object, peer: int, flow: str) -> None:
        """Record a message."""
        name = type(message).__name__
        self.entries.append(TimelineEntry(self.clock(), self.rank, kind, message=name, peer=peer, flow=flow))

    def take_entries(self) -> list[TimelineEntry]:
        """The entries since the last call."""
        entries, self.entries = self.entries, []
        return entries


def timeline_to_json(entries: list[TimelineEntry]) -> Any:
    """Entries as a document."""
    table = TagTable(())
    rows = [[*entry[:5], None if entry.tag is None else table.add(entry.tag), entry[6:]] for entry in entries]
    return [rows, *table_to_json(table)]


def read_timeline(document: Any) -> list[TimelineEntry]:
    """The entries of a document."""
    rows, sites, tags = document
    names = read_names(sites, tags)
    return [
        TimelineEntry(time, rank, kind, duration, node, None if tag is None else names.tags[tag], *message)
        for time, rank, kind, duration, node, tag, message in rows
    ]
