"""The rules of the Trace Event Format, and how Perfetto reads it, as functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

FIELDS = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
    "C": {"name", "pid", "tid", "ts", "args"},
    "s": {"name", "cat", "id", "pid", "tid", "ts"},
    "f": {"name", "cat", "id", "pid", "tid", "ts"},
}
"""The fields that the format requires of each phase."""


def breaches(document: Any) -> Iterator[str]:
    """The rules of the Trace Event Format that a document breaks."""
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        yield "a document has a list of events"
        return
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    starts: dict[tuple[str, str, int], float] = {}
    for event in document["traceEvents"]:
        missing = FIELDS.get(event.get("ph"), {"ph"}) - event.keys()
        if missing:
            yield f"{event} lacks {missing}"
            continue
        if not all(isinstance(event[name], int | float) and event[name] >= 0 for name in {"ts", "dur"} & event.keys()):
            yield f"{event} has no time"
        match event["ph"]:
            case "X":
                tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
            case "C" if not all(isinstance(value, int | float) for value in event["args"].values()):
                yield f"{event} counts no numbers"
            case "s":
                starts[event["cat"], event["name"], event["id"]] = event["ts"]
    for slices in tracks.values():
        around: list[float] = []
        for begin, end in sorted(slices, key=lambda each: (each[0], -each[1])):
            while around and around[-1] <= begin:
                around.pop()
            if around and end > around[-1]:
                yield f"the slice at {begin} reaches out of the one around it"
            around.append(end)
    for event in document["traceEvents"]:
        if event.get("ph") in ("s", "f") and "tid" in event:
            place = tracks[event["pid"], event["tid"]]
            if not any(begin <= event["ts"] < end for begin, end in place):
                yield f"{event} is in no slice"
        if event.get("ph") == "f" and "id" in event:
            start = starts.pop((event["cat"], event["name"], event["id"]), None)
            if start is None or start > event["ts"] or event.get("bp") != "e":
                yield f"{event} does not end an arrow"
    if starts:
        yield f"{len(starts)} arrows do not end"


def imported_arrows(document: Any) -> list[tuple[Any, Any]]:
    """The ends of the arrows as Perfetto imports them: the arguments of two slices. An arrow begins and ends at the
    topmost slice of its track at that time, which may be over; without one, the arguments are empty.

    Source: Perfetto, `json_trace_parser.cc`, `flow_tracker.cc` and `slice_tracker.cc`, commit ec5d16b14b.
    """
    stacks: dict[tuple[int, int], list[tuple[float, Any]]] = defaultdict(list)
    starts, arrows = dict[tuple[str, str, int], Any](), list[tuple[Any, Any]]()
    for event in sorted((each for each in document["traceEvents"] if "ts" in each), key=lambda each: each["ts"]):
        stack = stacks[event["pid"], event["tid"]]
        topmost = stack[-1][1] if stack else {}
        match event["ph"]:
            case "X":
                while stack and stack[-1][0] <= event["ts"]:
                    stack.pop()
                stack.append((event["ts"] + event["dur"], event["args"]))
            case "s":
                starts[event["cat"], event["name"], event["id"]] = topmost
            case "f":
                arrows.append((starts[event["cat"], event["name"], event["id"]], topmost))
    return arrows
