"""The timeline of a run on several workers: their firings and messages, with times."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from ...core.tag import Tag

EntryKind: TypeAlias = Literal["firing", "send", "receive"]


class TimelineEntry(NamedTuple):
    """Something that a worker or the driver has done: a firing, or a message that it has sent or received.

    `time` and `duration` are in microseconds, on one clock for all; on a network in one process, a round is a
    millisecond, and each look at the clock advances it by a microsecond. `rank` is that of the worker; the driver's is
    -1. A firing has a node and a tag; a message its class, the other peer's rank, and a name that its sending and its
    receipt share.
    """

    time: float
    rank: int
    kind: EntryKind
    duration: float = 0.0
    node: int = -1
    tag: Tag | None = None
    message: str = ""
    peer: int = -1
    flow: str = ""
