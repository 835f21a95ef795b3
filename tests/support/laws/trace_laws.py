"""The rules of the Trace Event Format, as a function."""

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
