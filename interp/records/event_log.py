"""Event logs: the events of a run as lines of JSON, written during the run. `history.replay` reads them.

The first line has the graph, arguments, schedule and options. Then there is one line for each event, after one line for
each tag that the event is the first to use; the last line has the outcome. After a run on several workers, the line
before it has the worker and the time of each event. The writer keeps only the numbers of the
open tags in memory, and if a run is killed, its log ends early. The functions that read a line return the tag that it
declares, or its differences from the expected event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.json.cursor import INT64_BOUND, JsonCursor, document_header
from ...core.json.graph import graph_to_json
from ...core.json.value import (
    JsonValue,
    read_token_value,
    site_to_json,
    uint64_to_json,
    value_to_json,
    value_to_json_text,
)
from ...core.tag import ROOT, Site, Tag
from ...core.value import Value, fingerprint
from ..machine.event import CellAddress, Event, Token
from ..outcome.worker_lanes import WorkerLanes, lanes_to_json
from .documents import OutcomeRecord, abbreviate_json, outcome_to_json

WriteLine: TypeAlias = Callable[[str], object]


def graph_sites(graph: Graph) -> tuple[Site, ...]:
    """The sites of a graph, in the order of its nodes. The line of a tag refers to a site by its position in this
    list."""
    return tuple(dict.fromkeys(node.site for node in graph.nodes if node.site is not None))


def compact_json(form: JsonValue) -> str:
    """JSON data as one line."""
    return json.dumps(form, separators=(",", ":"))


def header_line(
    graph: Graph, arguments: Sequence[Value], schedule: str, seed: int = 0, bound: int | None = None
) -> str:
    """The first line of a log."""
    return compact_json(
        document_header(
            "events",
            graph=graph_to_json(graph),
            arguments=[value_to_json(argument) for argument in arguments],
            schedule=schedule,
            seed=uint64_to_json(seed),
            bound=bound,
            sites=[site_to_json(site) for site in graph_sites(graph)],
        )
    )


class TagRow(NamedTuple):
    """A tag as a log declares it: its number, its parent's number, the position of its site in `graph_sites`, and its
    iteration."""

    number: int
    parent: int
    site: int
    iteration: int


class TagNumbers:
    """The numbers of the open tags while a log is written."""

    def __init__(self, graph: Graph) -> None:
        self.numbers: dict[Tag, int] = {ROOT: 0}
        """The number of each open tag."""
        self.next_number = 1
        """The number of the next tag."""
        self.site_numbers = {site: number for number, site in enumerate(graph_sites(graph))}

    def declare(self, event: Event) -> list[TagRow]:
        """Number the tag that an event opens and its ancestors that are not open; returns their rows, outermost
        first."""
        sent, rows = event.sent, list[TagRow]()
        if not sent or sent[0].tag in self.numbers:
            return rows
        new = [sent[0].tag]
        while (parent := new[-1].parent) is not None and parent not in self.numbers:
            new.append(parent)
        for tag in reversed(new):
            parent_number = self.numbers[tag.parent or ROOT]
            rows.append(TagRow(self.next_number, parent_number, self.site_numbers[tag.site], tag.iteration))
            self.numbers[tag] = self.next_number
            self.next_number += 1
        return rows

    def close(self, event: Event) -> None:
        """Forget the tags that an event closes."""
        for tag, _ in event.closed:
            if tag is not ROOT:
                del self.numbers[tag]


class LogWriter(Protocol):
    """A log that is open for writing."""

    def write_event(self, event: Event, /) -> None:
        """Write an event, after the tags that it opens."""

    def write_lanes(self, lanes: WorkerLanes, /) -> None:
        """Write the workers of the events, after all events."""

    def write_outcome(self, outcome: OutcomeRecord, /) -> None:
        """Write the outcome, which ends the log."""


LARGE_SIZE = 64
"""The least elements of an array whose text is worth keeping."""
MAX_RECENT_TEXTS = 4


class JsonLogWriter:
    """Writes the lines of a log after the first one."""

    def __init__(self, graph: Graph, write: WriteLine) -> None:
        self.tags = TagNumbers(graph)
        self._write, self._array_texts = write, RecentTexts()

    def write_event(self, event: Event) -> None:
        """Write the line of an event, after the lines of the tags that it opens."""
        for row in self.tags.declare(event):
            self._write(tag_line(row))
        self._write(event_line(event, self.tags.numbers, self._array_texts))
        self.tags.close(event)

    def write_lanes(self, lanes: WorkerLanes) -> None:
        """Write the line before the last one."""
        self._write(lanes_line(lanes))

    def write_outcome(self, outcome: OutcomeRecord) -> None:
        """Write the last line."""
        self._write(outcome_line(outcome))


def lanes_line(lanes: WorkerLanes) -> str:
    """The line of the workers, newline included."""
    return compact_json({"workers": lanes_to_json(lanes)}) + "\n"


def outcome_line(outcome: OutcomeRecord) -> str:
    """The last line of a log, newline included."""
    return compact_json({"outcome": outcome_to_json(outcome)}) + "\n"


def tag_line(row: TagRow) -> str:
    """The line that declares a tag, newline included."""
    number, parent, site, iteration = row
    return f'{{"tag":{number},"parent":{parent},"site":{site},"iteration":{iteration}}}\n'


def event_line(event: Event, numbers: dict[Tag, int], array_texts: RecentTexts | None = None) -> str:
    """The line of an event, newline included; raises KeyError if a tag has no number.

    String formatting by hand takes 3 us, json.dumps of lists 9 us, and an array of 4,096 elements 2 ms.
    """
    token, position, inputs, outputs, sent, trap, closed, _, deferred_at, woken, is_throttled, released = event
    has_arrays = isinstance(token.value, np.ndarray) or (outputs and isinstance(outputs[0][1], np.ndarray))
    to_text = (array_texts or RecentTexts()) if has_arrays else value_to_json_text
    parts = [f'{{"deliver":{token_json(token, numbers, to_text)},"position":{position}']  # may be long: joined once
    if inputs is None:
        if deferred_at is not None:
            parts.append(f',"deferred":[{value_to_json_text(deferred_at.handle)},{deferred_at.number}]')
    else:
        pairs = ",".join([f"[{output},{to_text(value)}]" for output, value in outputs])
        parts.append(f',"inputs":[{",".join(map(to_text, inputs))}],"outputs":[{pairs}]')
        if trap is not None:
            parts.append(f',"trap":{json.dumps(trap)}')
        if sent:
            parts.append(f',"sent":[{",".join([token_json(token, numbers, to_text) for token in sent])}]')
        if closed:
            activations = ",".join([f"[{numbers[tag]},{compact_json(sorted(nodes))}]" for tag, nodes in closed])
            parts.append(f',"closed":[{activations}]')
        if woken:
            parts.append(f',"woken":[{",".join([token_json(token, numbers, to_text) for token in woken])}]')
        if is_throttled:
            parts.append(',"throttled":true')
    if released:
        parts.append(released_field(released, numbers, to_text))
    parts.append("}\n")
    return "".join(parts)


class RecentTexts:
    """The JSON text of values, which converts a large array once, though the last arrays come again as operands,
    outputs and tokens of several events. The arrays must not change."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Value, str]] = {}

    def __call__(self, value: Value) -> str:
        if not isinstance(value, np.ndarray) or value.size < LARGE_SIZE:
            return value_to_json_text(value)
        entry = self._texts.get(id(value))
        if entry is None:
            entry = value, value_to_json_text(value)
            if len(self._texts) == MAX_RECENT_TEXTS:
                del self._texts[next(iter(self._texts))]
            self._texts[id(value)] = entry
        return entry[1]


def released_field(
    released: tuple[tuple[int, Token], ...], numbers: dict[Tag, int], to_text: Callable[[Value], str]
) -> str:
    """A comma, and the field `released` of a line."""
    return f',"released":[{",".join([f"[{step},{token_json(token, numbers, to_text)}]" for step, token in released])}]'


def token_json(token: Token, numbers: dict[Tag, int], to_text: Callable[[Value], str]) -> str:
    """A token as JSON text."""
    node, port, tag, value = token
    return f"[{node},{port},{numbers[tag]},{to_text(value)}]"


@contextmanager
def create_json_log(path: Path, graph: Graph, header: str) -> Iterator[JsonLogWriter]:
    """Create a log as JSON lines and write its header line; raises Usage where the path cannot be written."""

    def write(line: str) -> object:
        try:
            return file.write(line)
        except OSError as error:
            raise unwritable_log(path, error) from None

    try:
        file = path.open("w", encoding="ascii", newline="\n")
    except OSError as error:
        raise unwritable_log(path, error) from None
    try:
        write(header + "\n")
        yield JsonLogWriter(graph, write)
    finally:
        try:
            file.close()
        except OSError as error:
            raise unwritable_log(path, error) from None


def unwritable_log(path: Path, error: OSError) -> Usage:
    """The error for a log that cannot be written."""
    return Usage("this log cannot be written", got=path, hint=error.strerror, python=type(error))


class OpenTags:
    """The open tags while a log is read, and the tags declared for the next event."""

    def __init__(self) -> None:
        self.tag_numbers: dict[Tag, int] = {ROOT: 0}
        self._tags_by_number = {0: ROOT}
        """The open tags by number: the inverse of `tag_numbers`."""
        self._declared_tags: list[Tag] = []
        """The tags that the next event must open: one tag, and its ancestors that are not open."""
        self._first_declaration: JsonCursor | None = None
        """The line of the first of these."""
        self._next_number = 1

    def declare(self, cursor: JsonCursor, sites: Sequence[Site], deepest: int) -> None:
        """Read a line that declares a tag. Raises Malformed if the tag is open already, if its parent is not open, or
        if the tag is more than one step deeper than the `deepest` so far, since no event opens such a tag."""
        number, parent, site, iteration = cursor.fields("tag", "parent", "site", "iteration")
        if number.integer() != self._next_number:
            number.refuse(f"{self._next_number}, the next number")
        if site.integer(0) >= len(sites):
            site.refuse("the number of a site in the first line")
        tag = self._read_parent(parent).child(sites[site.integer()], iteration.integer(0))
        if tag in self.tag_numbers:
            first = self.tag_numbers[tag]
            cursor.refuse("one line for a tag while it is open", f"a second one; the first is that of {first}")
        if tag.depth > deepest + 1:
            cursor.refuse(
                "a tag that the next event uses", f"one of depth {tag.depth:,}, where the deepest has {deepest:,}"
            )
        self._first_declaration = self._first_declaration or cursor
        self._declared_tags.append(tag)
        self._next_number += 1

    def _read_parent(self, cursor: JsonCursor) -> Tag:
        number = cursor.integer(0)
        if self._declared_tags:
            if number != self._next_number - 1:
                cursor.refuse(f"{self._next_number - 1}, since an event opens one tag, and what is around it")
            return self._declared_tags[-1]
        if number not in self._tags_by_number:
            cursor.refuse("a tag that is open, with a line before this one")
        return self._tags_by_number[number]

    def assign_numbers(self, event: Event) -> None:
        """Number the declared tags, if the event opens them."""
        if self._declared_tags and event.sent and event.sent[0].tag == self._declared_tags[-1]:
            opened_tags = list(islice(event.sent[0].tag.self_and_ancestors(), len(self._declared_tags)))
            for number, tag in enumerate(reversed(opened_tags), self._next_number - len(opened_tags)):
                self.tag_numbers[tag], self._tags_by_number[number] = number, tag
            self._declared_tags, self._first_declaration = [], None

    def refuse_unused(self) -> None:
        """Raises Malformed if a declared tag was not opened by the next event."""
        if self._first_declaration is not None:
            self._first_declaration.refuse("a tag that the next event uses")

    def close(self, event: Event) -> None:
        """Forget the tags that an event closed. A tag that opens again is declared again."""
        for tag, _ in event.closed:
            if tag.parent is not None:
                del self._tags_by_number[self.tag_numbers.pop(tag)]


def read_position(cursor: JsonCursor) -> int:
    """The position in the line of an event; raises Malformed if the line has unexpected keys."""
    is_firing = cursor.has_key("inputs") or cursor.has_key("outputs")
    required = ("deliver", "position", "inputs", "outputs") if is_firing else ("deliver", "position")
    return cursor.fields(*required, optional=_FIELD_DEFAULTS.keys() - set(required))[1].integer(0)


def read_effect_result(cursor: JsonCursor) -> tuple[Value | None, str | None]:
    """The result of an effect in the line of an event, or the reason why it trapped; or neither."""
    trap = cursor.value_at("trap").text() if cursor.has_key("trap") else None
    outputs = (
        [row.fixed_list("output", "value") for row in cursor.value_at("outputs").entries()]
        if cursor.has_key("outputs")
        else []
    )
    return next((read_token_value(value) for output, value in outputs if output.integer(0) == 0), None), trap


def event_differences(cursor: JsonCursor, event: Event, numbers: dict[Tag, int]) -> Iterator[tuple[str, str, str]]:
    """The differences between a line and the expected event: key, required value, and the line's value."""
    for key, form in event_fields(event, numbers).items():
        line = cursor.value_at(key) if cursor.has_key(key) else None
        if key == "sent" and event.sent and event.sent[0].tag not in numbers:
            yield (
                key,
                f"tokens under {event.sent[0].tag}, a tag that has no line yet",
                abbreviate_json(line and line.data),
            )
        if line is not None and form is not None and compact_json(line.data) == compact_json(form):
            continue  # equal text, as in most lines: twice as fast
        got = _FIELD_DEFAULTS[key] if line is None else _FIELD_READERS[key](line)
        if got != (_FIELD_DEFAULTS[key] if form is None else _FIELD_READERS[key](JsonCursor(form))):
            yield key, abbreviate_json(form), abbreviate_json(line and line.data)


def event_fields(event: Event, numbers: dict[Tag, int]) -> dict[str, Any]:
    """The fields of an event's line by key; None if the line lacks the key."""
    is_firing = event.inputs is not None
    return {
        "deliver": token_to_json(event.token, numbers),
        "inputs": [value_to_json(value) for value in event.inputs] if event.inputs is not None else None,
        "trap": event.trap,
        "outputs": [[output, value_to_json(value)] for output, value in event.outputs] if is_firing else None,
        "sent": [token_to_json(token, numbers) for token in event.sent] or None,
        "closed": [[numbers.get(tag, _UNDECLARED), sorted(nodes)] for tag, nodes in event.closed] or None,
        "deferred": event.deferred_at and cell_to_json(event.deferred_at),
        "woken": [token_to_json(token, numbers) for token in event.woken] or None,
        "throttled": event.is_throttled or None,
        "released": [[step, token_to_json(token, numbers)] for step, token in event.released] or None,
    }


_UNDECLARED = INT64_BOUND - 1
"""The number written for a tag that the log has not declared."""


def token_to_json(token: Token, numbers: dict[Tag, int]) -> list[Any]:
    """A token as JSON data; a tag without a number has `_UNDECLARED`."""
    return [token.node, token.port, numbers.get(token.tag, _UNDECLARED), value_to_json(token.value)]


def cell_to_json(cell: CellAddress) -> list[Any]:
    """The address of a cell as JSON data."""
    return [value_to_json(cell.handle), cell.number]


def read_token(cursor: JsonCursor) -> Any:
    """A token of a line, in a form that `==` compares by bits."""
    node, port, tag, value = cursor.fixed_list("node", "port", "tag", "value")
    return node.integer(-1), port.integer(0), tag.integer(0), read_fingerprint(value)


def read_fingerprint(cursor: JsonCursor) -> Any:
    """A value of a line, in a form that `==` compares by bits."""
    value: Value = read_token_value(cursor)
    return fingerprint(value)


def read_output(cursor: JsonCursor) -> Any:
    """The number of an output, and the fingerprint of its value."""
    output, value = cursor.fixed_list("output", "value")
    return output.integer(0), read_fingerprint(value)


def read_closed_activation(cursor: JsonCursor) -> Any:
    """The number of a tag, and the nodes that fired under it, in order."""
    tag, nodes = cursor.fixed_list("tag", "nodes")
    return tag.integer(0), sorted(nodes.map_entries(lambda node: node.integer(0)))


def read_cell_address(cursor: JsonCursor) -> Any:
    """The fingerprint of a handle, and the number of a cell."""
    handle, number = cursor.fixed_list("handle", "number")
    return read_fingerprint(handle), number.integer(0)


def read_released_token(cursor: JsonCursor) -> Any:
    """The step that sent a token, and the token."""
    step, token = cursor.fixed_list("step", "token")
    return step.integer(0), read_token(token)


_FIELD_READERS: dict[str, Any] = {
    "deliver": read_token,
    "inputs": lambda cursor: cursor.map_entries(read_fingerprint),
    "outputs": lambda cursor: cursor.map_entries(read_output),
    "trap": JsonCursor.text,
    "sent": lambda cursor: cursor.map_entries(read_token),
    "closed": lambda cursor: cursor.map_entries(read_closed_activation),
    "deferred": read_cell_address,
    "woken": lambda cursor: cursor.map_entries(read_token),
    "throttled": JsonCursor.boolean,
    "released": lambda cursor: cursor.map_entries(read_released_token),
}
_FIELD_DEFAULTS: dict[str, Any] = {
    "inputs": None, "outputs": None, "trap": None, "sent": (), "closed": (),
    "deferred": None, "woken": (), "throttled": False, "released": (),
}  # fmt: skip
"""The meaning of a missing key."""
