"""A run on several workers in the Trace Event Format: a track for each worker, and one for the driver.

A firing is a slice on the track of the worker that computed it; a message is a short slice where it was sent, another
one where it was received, and an arrow between them. Times are those of the run's timeline.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..core.errors import Usage
from ..interp.outcome.outcome import ClusterUse, Outcome
from ..interp.outcome.timeline import TimelineEntry
from .labels import NodeLabels
from .trace_events import TRACE_PROCESS, TraceEvent, format_trace, trace_metadata, trace_slice

_MESSAGE_LENGTH = 0.5
"""The length of the slice of a message in microseconds, or less where something else begins before that."""


def cluster_trace_document(outcome: Outcome) -> bytes:
    """A run as a JSON document. Raises Usage if it was not on workers, or has recorded no timeline."""
    cluster = outcome.cluster
    if cluster is None or not cluster.timeline:
        hint = 'engine="distributed", timeline=True records it'
        raise Usage("this run has no timeline of workers", got=f"engine={outcome.engine!r}", hint=hint)
    return format_trace(cluster_trace_events(outcome, cluster))


def cluster_trace_events(outcome: Outcome, cluster: ClusterUse) -> Iterator[TraceEvent]:
    """The events of the format: names of tracks, then slices and arrows, worker by worker."""
    graph, labels = outcome.graph, NodeLabels(outcome.graph)
    start = min(entry.time for entry in cluster.timeline)
    yield trace_metadata("process_name", 0, {"name": f"{graph.name} on {cluster.workers} workers"})
    flows: dict[str, int] = {}
    for rank in range(-1, cluster.workers):
        track, entries = rank + 1, [entry for entry in cluster.timeline if entry.rank == rank]
        yield trace_metadata("thread_name", track, {"name": worker_title(cluster, rank)})
        yield trace_metadata("thread_sort_index", track, {"sort_index": track})
        ends = [*(entry.time for entry in entries[1:]), float("inf")]
        for entry, end in zip(entries, ends, strict=False):
            time = entry.time - start
            if entry.kind == "firing":
                node = graph.nodes[entry.node]
                about = {"node": str(node), "tag": str(entry.tag), "line": str(node.location or "")}
                length = min(entry.duration, end - entry.time)
                yield trace_slice(labels.label_lines(entry.node)[0], node.op, track, time, length, about)
            else:
                length = min(_MESSAGE_LENGTH, end - entry.time)
                yield trace_slice(
                    message_title(cluster, entry), "message", track, time, length, {"message": entry.flow}
                )
                number = flows.setdefault(entry.flow, len(flows) + 1)
                arrow = {"name": entry.message, "cat": "message", "pid": TRACE_PROCESS, "id": number, "tid": track}
                side = {"ph": "s"} if entry.kind == "send" else {"ph": "f", "bp": "e"}
                yield {**side, **arrow, "ts": time + length / 2}


def worker_title(cluster: ClusterUse, rank: int) -> str:
    """The name of a worker, with the name of its device, or of the driver."""
    if rank < 0:
        return "driver"
    return f"worker {rank}" + (f" {cluster.devices[rank]}" if rank < len(cluster.devices) else "")


def message_title(cluster: ClusterUse, entry: TimelineEntry) -> str:
    """A message and its other end."""
    direction = "to" if entry.kind == "send" else "from"
    return f"{entry.message} {direction} {worker_title(cluster, entry.peer)}"
