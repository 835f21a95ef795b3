"""Timelines of runs on workers: they lose no firing and no message, and their traces follow the format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.trace_laws import breaches
from support.programs.parallel_programs import fib, fragile, sums
from support.twins.broken_twin import broken
from tagloom.core.errors import Usage
from tagloom.interp.engines.distributed import timeline
from tagloom.interp.engines.distributed.channels import Channels
from tagloom.interp.engines.distributed.timeline import TimelineRecorder
from tagloom.interp.outcome.outcome import Outcome
from tagloom.viz.cluster_trace import cluster_trace_document


@tl.function
def placed(n: tl.int64) -> tl.int64:
    table = tl.cells(n, tl.int64)
    for i in range(n):
        with tl.device("/job:ps/task:0"):
            table[i] = i * i
    tl.print("n", n)
    return tl.sum(tl.collect(table))


def faults(outcome: Outcome) -> Iterator[str]:
    """What a timeline lacks, or has twice, and where its trace breaks a rule."""
    assert outcome.cluster is not None
    entries = outcome.cluster.timeline
    firings = Counter(each.node for each in entries if each.kind == "firing")
    counts = {number: count for number, count in enumerate(outcome.stats.by_node) if count}
    if firings != counts:
        yield f"the firings by node are {firings}, not {counts}"
    tags = Counter((each.node, each.tag) for each in entries if each.kind == "firing")
    yield from (f"{each} fires {count} times" for each, count in tags.items() if count > 1)
    sent, received = ({e.flow: e for e in entries if e.kind == kind} for kind in ("send", "receive"))
    if len(sent) + len(received) != sum(each.kind != "firing" for each in entries):
        yield "two messages have one name"
    if sent.keys() != received.keys():
        yield f"messages are only sent, or only received: {sent.keys() ^ received.keys()}"
    for flow in sent.keys() & received.keys():
        begin, end = sent[flow], received[flow]
        if (begin.message, begin.rank, begin.peer) != (end.message, end.peer, end.rank) or begin.time > end.time:
            yield f"{begin} is not {end}"
    yield from breaches(json.loads(cluster_trace_document(outcome)))


def runs(seeds: int) -> Iterator[Outcome]:
    """Runs of small programs on networks."""
    for seed in range(seeds):
        for function, argument in ((fib, 10), (sums, 4), (fragile, 5), (placed, 4)):
            cluster, workers = f"network:{seed}", 2 + seed % 3
            yield function.run(argument, engine="distributed", workers=workers, cluster=cluster, timeline=True)


@pytest.mark.full
def test_timelines_lose_nothing() -> None:
    """Each firing is there once, on the worker that computed it, and each message once at both ends, in the order of
    time: also where workers die and a part of the run is repeated."""
    outcomes = list(runs(8))
    assert [fault for outcome in outcomes for fault in faults(outcome)] == []
    assert sum(outcome.cluster.deaths for outcome in outcomes if outcome.cluster) > 8


def test_a_timeline_of_a_network() -> None:
    """Without faults, too; devices name the tracks, and an effect is on that of the driver."""
    outcome = placed.run(3, engine="distributed", timeline=True)
    assert list(faults(outcome)) == []
    events = json.loads(cluster_trace_document(outcome))["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names == {0: "driver", 1: "worker 0 /job:worker/task:0", 2: "worker 1 /job:ps/task:0"}
    tracks = {(event["cat"], event["tid"]) for event in events if event["ph"] == "X"}
    assert ("print", 0) in tracks and ("multiply", 2) in tracks and ("multiply", 1) not in tracks
    assert outcome.cluster == placed.run(3, engine="distributed", timeline=True).cluster
    assert placed.run(3, engine="distributed").cluster.timeline == ()


@pytest.mark.full
def test_a_timeline_of_processes() -> None:
    """Processes have one clock."""
    outcome = placed.run(5, engine="distributed", cluster="processes", timeline=True)
    assert list(faults(outcome)) == []


def keeps_what_was_rolled_back(patch: MonkeyPatch) -> None:
    """A rollback leaves the entries since the last checkpoint."""
    true = TimelineRecorder.take_entries

    def take_entries(self: TimelineRecorder) -> Any:
        import sys

        is_rollback = sys._getframe(1).f_code.co_name in ("_load", "_begin_epoch")
        return [] if is_rollback else true(self)

    patch.setattr(TimelineRecorder, "take_entries", take_entries)


def names_messages_without_epochs(patch: MonkeyPatch) -> None:
    """Messages of two epochs have one name."""
    true = TimelineRecorder.record_message

    def record_message(self: TimelineRecorder, kind: Any, message: object, peer: int, flow: str) -> None:
        true(self, kind, message, peer, flow.partition(".")[2])

    patch.setattr(TimelineRecorder, "record_message", record_message)


def names_messages_by_time(patch: MonkeyPatch) -> None:
    """The count of messages is that of all peers."""
    true = Channels.send

    def send(self: Channels, peer: int, message: Any) -> None:
        self.channels[peer].work_sent = self.work_sent
        true(self, peer, message)

    patch.setattr(Channels, "send", send)


@pytest.mark.full
@pytest.mark.parametrize("how", [keeps_what_was_rolled_back, names_messages_without_epochs, names_messages_by_time])
def test_the_law_catches_broken_timelines(how: Any) -> None:
    """Timelines with firings of a past that was undone, or that mistake messages for others, are caught."""
    with broken(how):
        fault = next((fault for outcome in runs(12) for fault in faults(outcome)), None)
    assert fault is not None
    print(fault)


def test_runs_without_a_timeline() -> None:
    """A run on one machine, or without a timeline, has no trace; the error says how to record one."""
    assert timeline.read_timeline(timeline.timeline_to_json([])) == []
    for outcome in (fib.run(3), fib.run(3, engine="distributed")):
        with pytest.raises(Usage, match=r"(?s)no timeline.*timeline=True"):
            cluster_trace_document(outcome)
