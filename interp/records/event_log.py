"""Event logs: a run as lines of JSON, written during the run. `history.replay` reads them.

The first line has the graph, arguments, schedule and options. Then comes one line per event, preceded by one line for
each tag that the event is the first to use; the last line has the outcome. The writer keeps only the numbers of the
open tags, and a run that is cut short leaves a log that ends early.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.json.cursor import document_header
from ...core.json.graph import graph_to_json
from ...core.json.value import JsonValue, site_to_json, uint64_to_json, value_to_json, value_to_json_text
from ...core.tag import ROOT, Site, Tag
from ...core.value import Value
from ..machine.event import Event, Token
from .outcome_json import OutcomeRecord, outcome_form

WriteLine: TypeAlias = Callable[[str], object]


def graph_sites(graph: Graph) -> tuple[Site, ...]:
    """The sites of a graph, in the order of its nodes; the line of a tag names a site by its position here."""
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
    """A tag as a log declares it: its number, that of its parent, the position of its site in `graph_sites`."""

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
        """Number the tag that an event opens, and the tags around it that are not open; outermost first."""
        sent, rows = event.sent, list[TagRow]()
        if not sent or sent[0].tag in self.numbers:
            return rows
        new = [sent[0].tag]
        while (parent := new[-1].parent) is not None and parent not in self.numbers:
            new.append(parent)
        for tag in reversed(new):
            above = self.numbers[tag.parent or ROOT]
            rows.append(TagRow(self.next_number, above, self.site_numbers[tag.site], tag.iteration))
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

    def write_event(self, event: Event, /) -> None: ...

    def write_outcome(self, outcome: OutcomeRecord, /) -> None: ...


class JsonLogWriter:
    """Writes the lines of a log after the first one."""

    def __init__(self, graph: Graph, write: WriteLine) -> None:
        self.tags = TagNumbers(graph)
        self._write = write

    def write_event(self, event: Event) -> None:
        """Write the line of an event, after those of the tags that it opens."""
        for row in self.tags.declare(event):
            self._write(tag_line(row))
        self._write(event_line(event, self.tags.numbers))
        self.tags.close(event)

    def write_outcome(self, outcome: OutcomeRecord) -> None:
        """Write the last line."""
        self._write(outcome_line(outcome))


def outcome_line(outcome: OutcomeRecord) -> str:
    """The last line of a log, newline included."""
    return compact_json({"outcome": outcome_form(outcome)}) + "\n"


def tag_line(row: TagRow) -> str:
    """The line that declares a tag, newline included."""
    number, parent, site, iteration = row
    return f'{{"tag":{number},"parent":{parent},"site":{site},"iteration":{iteration}}}\n'


def event_line(event: Event, numbers: dict[Tag, int]) -> str:
    """The line of an event, newline included; raises KeyError if a tag has no number.

    String formatting by hand takes 3 us, json.dumps of lists 9 us.
    """
    token, position, inputs, outputs, sent, trap, closed, _, parked, woken, held, released = event
    line = f'{{"deliver":{_token_json(token, numbers)},"position":{position}'
    if inputs is None:
        if parked is not None:
            line += f',"parked":[{value_to_json_text(parked.handle)},{parked.number}]'
        return f"{line}{_released_field(released, numbers)}}}\n" if released else line + "}\n"
    made = ",".join([f"[{output},{value_to_json_text(value)}]" for output, value in outputs])
    line += f',"inputs":[{",".join(map(value_to_json_text, inputs))}],"outputs":[{made}]'
    if trap is not None:
        line += f',"trap":{json.dumps(trap)}'
    if sent:
        line += f',"sent":[{",".join([_token_json(each, numbers) for each in sent])}]'
    if closed:
        shut = ",".join([f"[{numbers[tag]},{compact_json(sorted(fired))}]" for tag, fired in closed])
        line += f',"closed":[{shut}]'
    if woken:
        line += f',"woken":[{",".join([_token_json(each, numbers) for each in woken])}]'
    if held:
        line += ',"held":true'
    return f"{line}{_released_field(released, numbers)}}}\n" if released else line + "}\n"


def _released_field(released: tuple[tuple[int, Token], ...], numbers: dict[Tag, int]) -> str:
    return f',"released":[{",".join([f"[{step},{_token_json(token, numbers)}]" for step, token in released])}]'


def _token_json(token: Token, numbers: dict[Tag, int]) -> str:
    node, port, tag, value = token
    return f"[{node},{port},{numbers[tag]},{value_to_json_text(value)}]"


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
    return Usage("this log cannot be written", got=path, hint=error.strerror)
