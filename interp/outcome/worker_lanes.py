"""The lanes of a run on several workers: for each event of its log, the worker that made it and the time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...core.json.cursor import JsonCursor
from ...core.tag import Tag
from ..machine.event import Event

DRIVER_RANK = -1
"""The rank of the driver, which performs outside effects."""
MAX_WORKERS = 64
"""The most workers of a run."""


class WorkerLanes(NamedTuple):
    """The worker of each event, by the event's number.

    `ranks` are the ranks of workers, from 0, or -1 for the driver; `times` are in microseconds since the first event,
    on the clock of `outcome.timeline`. `devices` are those of the program, in the order of their workers. Events after
    the last of these have no lane: one machine made them.
    """

    workers: int
    devices: tuple[str, ...]
    ranks: array[int]
    times: array[int]

    def rank(self, number: int) -> int | None:
        """The rank of an event's worker; None for an event without a lane."""
        return self.ranks[number] if 0 <= number < len(self.ranks) else None

    def until(self, count: int) -> WorkerLanes:
        """The lanes of the first events."""
        return self._replace(ranks=self.ranks[:count], times=self.times[:count])

    def title(self, rank: int) -> str:
        """The name of a lane: `worker 1`, with the name of its device, or `driver`."""
        if rank == DRIVER_RANK:
            return "driver"
        return f"worker {rank}" + (f" {self.devices[rank]}" if rank < len(self.devices) else "")

    def used_ranks(self) -> list[int]:
        """The ranks of all workers, and the driver's first if it made events."""
        return [*([DRIVER_RANK] if DRIVER_RANK in self.ranks else []), *range(self.workers)]


def describe_worker(lanes: WorkerLanes | None, number: int) -> str:
    """The end of a sentence about an event: ` on worker 1`; empty for a run on one machine, and for an event without a
    lane."""
    rank = None if lanes is None else lanes.rank(number)
    return "" if rank is None else " in the driver" if rank == DRIVER_RANK else f" on worker {rank}"


class Crossing(NamedTuple):
    """A token that one worker sent and another consumed: the numbers of the two events. With `is_donation`, it is the
    first that entered an activation that the sender donated."""

    sender: int
    receiver: int
    is_donation: bool


def crossings(lanes: WorkerLanes, events: Sequence[Event]) -> Iterator[Crossing]:
    """The tokens that went from one worker to another, in the order in which they were consumed."""
    senders: dict[tuple[int, int, Tag], int] = {}
    entered_tags: set[Tag] = set()
    for number, event in enumerate(events[: len(lanes.ranks)]):
        node, port, tag, _ = event.token
        sender = senders.pop((node, port, tag), None)
        if sender is not None and lanes.ranks[sender] != lanes.ranks[number]:
            enters = tag.parent is not None and tag.depth > events[sender].token.tag.depth
            yield Crossing(sender, number, enters and tag not in entered_tags)
            if enters:
                entered_tags.add(tag)
        senders |= {(sent.node, sent.port, sent.tag): number for sent in event.sent if sent.node >= 0}
        senders |= {(woken.node, woken.port, woken.tag): number for woken in event.woken}


def lanes_to_json(lanes: WorkerLanes) -> dict[str, Any]:
    """Lanes as JSON data."""
    return {
        "count": lanes.workers,
        "devices": list(lanes.devices),
        "ranks": list(lanes.ranks),
        "times": list(lanes.times),
    }


def read_lanes(cursor: JsonCursor, event_count: int) -> WorkerLanes:
    """The lanes of a log with so many events; raises Malformed for others."""
    count, devices, ranks, times = cursor.fields("count", "devices", "ranks", "times")
    workers = count.integer(1)
    if workers > MAX_WORKERS:
        count.refuse(f"at most {MAX_WORKERS} workers")
    names = tuple(devices.map_entries(JsonCursor.text))
    if len(names) > workers:
        devices.refuse("at most one device for each worker")
    for column in (ranks, times):
        if len(column.raw_list()) != event_count:
            column.refuse(f"a number for each of the {event_count:,} events", f"{len(column.raw_list()):,} numbers")
    rank_list = ranks.map_entries(lambda rank: rank.integer(DRIVER_RANK))
    if any(rank >= workers for rank in rank_list):
        ranks.refuse(f"ranks below {workers}")
    time_list = times.map_entries(lambda time: time.integer(0))
    return WorkerLanes(workers, names, array("b", rank_list), array("q", time_list))
