"""A run in the Trace Event Format of Chrome, which Perfetto and other viewers of profiles open.

An activation is a track, in which one slice spans its events, and a firing is a slice inside it. An arrow leads from
the firing that sent a token to the firing that consumed it. Event k begins at k microseconds, whatever the schedule;
its wave, if the schedule has a clock, is among its arguments. A counter has the tokens in flight.

Source: "Trace Event Format", Duca and Sinclair, the JSON object format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

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


def trace_events(history: History, events: Iterable[Event]) -> Iterator[TraceEvent]:
    """The events of the format for the events of a run: names of tracks, then activations, then firings and arrows."""
    events = list(events)
    graph, tree = history.graph, ActivationTree(history.graph, history.arguments, events)
    tags = dict.fromkeys([*tree.tags, *(event.token.tag for event in events)])
    tracks = {tag: number for number, tag in enumerate(tags, 1)}
    yield trace_metadata("process_name", 0, {"name": describe_run(history)})
    for tag, number in tracks.items():
        yield trace_metadata("thread_name", number, {"name": f"#{number} {activation_title(tree, tag)}"})
        yield trace_metadata("thread_sort_index", number, {"sort_index": number})
    yield from activation_slices(tree, tracks, events)
    yield from firing_slices(graph, tracks, events, has_clock=history.schedule == "waves")
    yield from token_arrows(tracks, events)
    in_flight = sum(len(output.edges) for _, output in graph.arguments)
    for number, event in enumerate(events):
        in_flight += len(event.woken) + len(event.released) - 1
        in_flight += 0 if event.is_throttled else sum(token.node >= 0 for token in event.sent)
        about = {"name": "tokens in flight", "pid": TRACE_PROCESS, "tid": 0, "ts": number}
        yield {"ph": "C", **about, "args": {"tokens": in_flight}}


def activation_title(tree: ActivationTree, tag: Tag) -> str:
    """A call with its arguments and results; the tag of an activation that nothing entered, in an invalid graph."""
    return tree.title(tag) if tag in tree.inputs else str(tag)


def trace_metadata(name: str, track: int, arguments: dict[str, Any]) -> TraceEvent:
    """What a viewer shows beside a track."""
    return {"ph": "M", "name": name, "pid": TRACE_PROCESS, "tid": track, "args": arguments}


def trace_slice(
    name: str, category: str, track: int, start: float, length: float, arguments: dict[str, Any]
) -> TraceEvent:
    """A slice on a track: times are in microseconds."""
    return {
        "ph": "X", "name": name, "cat": category, "pid": TRACE_PROCESS, "tid": track, "ts": start, "dur": length,
        "args": arguments,
    }  # fmt: skip


def activation_slices(tree: ActivationTree, tracks: dict[Tag, int], events: list[Event]) -> Iterator[TraceEvent]:
    """A slice for each activation that fired, from its first event to its last."""
    spans: dict[Tag, tuple[int, int]] = {}
    for number, event in enumerate(events):
        tag = event.token.tag
        spans[tag] = (spans[tag][0] if tag in spans else number, number)
    for tag, (first, last) in spans.items():
        about = {"tag": str(tag), "firings": tree.firings[tag], "open": tag not in tree.closed}
        yield trace_slice(activation_title(tree, tag), "activation", tracks[tag], first, last + 1 - first, about)


def firing_slices(
    graph: Graph, tracks: dict[Tag, int], events: list[Event], *, has_clock: bool
) -> Iterator[TraceEvent]:
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
            title = labels.label_lines(token.node)[0]
            yield trace_slice(title, node.op, tracks[token.tag], number, FIRING_LENGTH, about)
        wave += event.ends_wave


def token_arrows(tracks: dict[Tag, int], events: list[Event]) -> Iterator[TraceEvent]:
    """An arrow for each token that a firing sent and another consumed: its start and its finish."""
    senders: dict[tuple[int, int, Tag], tuple[int, Tag]] = {}
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
                start, tag = sender
                about = {"name": "token", "cat": "token", "pid": TRACE_PROCESS, "id": count}
                yield {"ph": "s", **about, "tid": tracks[tag], "ts": start + FIRING_LENGTH / 2}
                yield {"ph": "f", "bp": "e", **about, "tid": tracks[token.tag], "ts": number + FIRING_LENGTH / 4}
            senders |= {(sent.node, sent.port, sent.tag): (number, token.tag) for sent in event.sent if sent.node >= 0}
