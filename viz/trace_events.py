"""A run in the Trace Event Format of Chrome, which Perfetto and other viewers of profiles open.

An activation is a track, in which one slice spans its events, and a firing is a slice inside it. An arrow leads from
the firing that sent a token to the firing that consumed it. Event k begins at k microseconds, whatever the schedule;
its wave, if the schedule has a clock, is among its arguments. A counter has the tokens in flight.

If several workers made the events, each worker is a process, with the tracks of its activations, and events begin when
they did, as far as no token arrives before it was sent.

Source: "Trace Event Format", Duca and Sinclair, the JSON object format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ..core.errors import Usage
from ..core.graph.graph import Graph
from ..core.tag import Tag
from ..interp.history.history import History
from ..interp.machine.event import Event
from .activation_tree import ActivationTree
from .labels import NodeLabels
from .pictures import describe_run
from .state_view import abbreviate_value

TraceEvent: TypeAlias = dict[str, Any]
"""An event of the format, as JSON data."""

FIRING_LENGTH = 0.9
"""The length of a firing in microseconds; arrows begin in its middle and end before that."""

TRACE_PROCESS = 1
"""The number of the process that the format requires."""


def require_trace_file(output: Path | None, option: str) -> Path:
    """The file that an option of a command names for a trace; raises Usage unless it is a .json file."""
    if output is None or output.suffix.lower() != ".json":
        got = None if output is None else f"{option} {output}"
        raise Usage("a trace needs a .json file, for Perfetto", got=got, hint=f"{option} run.json")
    return output


def trace_document(history: History) -> bytes:
    """The run up to the history's position as a JSON document."""
    return format_trace(trace_events(history, history[: history.position]))


def format_trace(events: Iterable[TraceEvent]) -> bytes:
    """Events of the format as a JSON document, one line an event."""
    lines = (json.dumps(event, ensure_ascii=False) for event in events)
    body = ",\n".join(lines)
    return f'{{"displayTimeUnit": "ns", "traceEvents": [\n{body}\n]}}\n'.encode()


class TraceClock(NamedTuple):
    """Where and when events happen in a trace: by event, its process, its track and its time in microseconds."""

    processes: Sequence[int]
    tracks: Sequence[int]
    times: Sequence[int]


def place_events(history: History, events: Sequence[Event], tracks: dict[Tag, int]) -> TraceClock:
    """Where and when the first events of a run happen."""
    numbers = [tracks[event.token.tag] for event in events]
    lanes = history.lanes
    if lanes is None:
        return TraceClock([TRACE_PROCESS] * len(events), numbers, range(len(events)))
    senders = {crossing.receiver: crossing.sender for crossing in history.crossings}
    times, ranks, last_by_rank = list[int](), list[int](), dict[int, int]()
    for number in range(len(events)):
        is_known = number < len(lanes.ranks)  # a fork goes on without workers
        rank, earliest = (lanes.ranks[number], lanes.times[number]) if is_known else (0, max(times, default=0))
        previous = max(last_by_rank.get(rank, -1), times[senders[number]] if number in senders else -1)
        times.append(max(earliest, previous + 1))
        ranks.append(rank)
        last_by_rank[rank] = times[-1]
    return TraceClock([worker_process(rank) for rank in ranks], numbers, times)


def worker_process(rank: int) -> int:
    """The number of the process of a worker; the driver's is the first."""
    return TRACE_PROCESS + 1 + rank


def trace_events(history: History, events: Iterable[Event]) -> Iterator[TraceEvent]:
    """The events of the format for the events of a run: names of tracks, then activations, then firings and arrows."""
    events = list(events)
    graph, tree = history.graph, ActivationTree(history.graph, history.arguments, events)
    tags = dict.fromkeys([*tree.tags, *(event.token.tag for event in events)])
    tracks = {tag: number for number, tag in enumerate(tags, 1)}
    clock = place_events(history, events, tracks)
    homes = dict.fromkeys(zip(clock.processes, (event.token.tag for event in events), strict=True))
    if history.lanes is None:
        yield trace_metadata("process_name", 0, {"name": describe_run(history)})
        homes |= dict.fromkeys((TRACE_PROCESS, tag) for tag in tags)
    else:
        for rank in history.lanes.used_ranks():
            name = {"name": f"{describe_run(history)}, {history.lanes.title(rank)}"}
            yield trace_metadata("process_name", 0, name, worker_process(rank))
            yield trace_metadata("process_sort_index", 0, {"sort_index": rank}, worker_process(rank))
    for process, tag in sorted(homes, key=lambda home: (home[0], tracks[home[1]])):
        number = tracks[tag]
        name = {"name": f"#{number} {activation_title(tree, tag)}"}
        yield trace_metadata("thread_name", number, name, process)
        yield trace_metadata("thread_sort_index", number, {"sort_index": number}, process)
    yield from activation_slices(tree, clock, events)
    yield from firing_slices(graph, clock, events, has_clock=history.schedule == "waves")
    yield from token_arrows(clock, events)
    in_flight = sum(len(output.edges) for _, output in graph.arguments)
    for number, event in enumerate(events):
        in_flight += len(event.woken) + len(event.released) - 1
        in_flight += 0 if event.is_throttled else sum(token.node >= 0 for token in event.sent)
        about = {"name": "tokens in flight", "pid": TRACE_PROCESS, "tid": 0, "ts": clock.times[number]}
        yield {"ph": "C", **about, "args": {"tokens": in_flight}}


def activation_title(tree: ActivationTree, tag: Tag) -> str:
    """A call with its arguments and results; the tag of an activation that nothing entered, in an invalid graph."""
    return tree.title(tag) if tag in tree.inputs else str(tag)


def trace_metadata(name: str, track: int, arguments: dict[str, Any], process: int = TRACE_PROCESS) -> TraceEvent:
    """What a viewer shows beside a track or a process."""
    return {"ph": "M", "name": name, "pid": process, "tid": track, "args": arguments}


def trace_slice(
    name: str,
    category: str,
    track: int,
    start: float,
    length: float,
    arguments: dict[str, Any],
    process: int = TRACE_PROCESS,
) -> TraceEvent:
    """A slice on a track: times are in microseconds."""
    return {
        "ph": "X", "name": name, "cat": category, "pid": process, "tid": track, "ts": start, "dur": length,
        "args": arguments,
    }  # fmt: skip


def activation_slices(tree: ActivationTree, clock: TraceClock, events: Sequence[Event]) -> Iterator[TraceEvent]:
    """A slice for each activation that fired, from its first event to its last; on each worker, if several had some of
    its firings."""
    spans: dict[tuple[int, Tag], tuple[int, int]] = {}
    for number, event in enumerate(events):
        home = clock.processes[number], event.token.tag
        spans[home] = (spans[home][0] if home in spans else number, number)
    for (process, tag), (first, last) in spans.items():
        about = {"tag": str(tag), "firings": tree.firings[tag], "open": tag not in tree.closed}
        start, length = clock.times[first], clock.times[last] + 1 - clock.times[first]
        yield trace_slice(activation_title(tree, tag), "activation", clock.tracks[first], start, length, about, process)


def firing_slices(graph: Graph, clock: TraceClock, events: Sequence[Event], *, has_clock: bool) -> Iterator[TraceEvent]:
    """A slice for each firing, named by its node's formula."""
    labels, wave = NodeLabels(graph), 0
    for number, event in enumerate(events):
        token = event.token
        if event.inputs is not None:
            node = graph.nodes[token.node]
            about = {
                "node": str(node),
                "line": str(node.location or ""),
                "operands": [abbreviate_value(value) for value in event.inputs],
                "results": [abbreviate_value(value) for _, value in event.outputs],
                "event": number,
            }
            about |= {"wave": wave} if has_clock else {}
            about |= {"trap": event.trap} if event.trap is not None else {}
            title, track, time = labels.label_lines(token.node)[0], clock.tracks[number], clock.times[number]
            yield trace_slice(title, node.op, track, time, FIRING_LENGTH, about, clock.processes[number])
        wave += event.ends_wave


def token_arrows(clock: TraceClock, events: Sequence[Event]) -> Iterator[TraceEvent]:
    """An arrow for each token that a firing sent and another consumed: its start and its finish."""
    senders: dict[tuple[int, int, Tag], int] = {}
    arrived: dict[tuple[int, Tag], list[int]] = {}
    count = 0
    for number, event in enumerate(events):
        token = event.token
        arrived.setdefault((token.node, token.tag), []).append(token.port)
        if event.inputs is not None:
            for port in arrived.pop((token.node, token.tag)):
                sender = senders.pop((token.node, port, token.tag), None)
                if sender is None:
                    continue
                count += 1
                about = {"name": "token", "cat": "token", "id": count}
                start = {"pid": clock.processes[sender], "tid": clock.tracks[sender]}
                yield {"ph": "s", **about, **start, "ts": clock.times[sender] + FIRING_LENGTH / 2}
                finish = {"pid": clock.processes[number], "tid": clock.tracks[number]}
                yield {"ph": "f", "bp": "e", **about, **finish, "ts": clock.times[number] + FIRING_LENGTH / 4}
            senders |= {(sent.node, sent.port, sent.tag): number for sent in event.sent if sent.node >= 0}
