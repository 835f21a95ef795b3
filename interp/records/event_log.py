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
from typing import TypeAlias

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.json.cursor import document_header
from ...core.json.graph import graph_to_json
from ...core.json.value import JsonValue, site_to_json, uint64_to_json, value_to_json, value_to_json_text
from ...core.tag import ROOT, Site, Tag
from ...core.value import Value
from ..machine.event import Event, Token
from ..outcome.outcome import Outcome
from .outcome_json import OutcomeRecord, outcome_form, to_outcome_record

WriteLine: TypeAlias = Callable[[str], object]
SUFFIX = ".jsonl"


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


class EventLineWriter:
    """Makes the lines of a run's events and of the tags that they use."""

    def __init__(self, graph: Graph, write: WriteLine) -> None:
        self.tag_numbers: dict[Tag, int] = {ROOT: 0}
        """The line numbers of the open tags."""
        self._site_numbers = {site: number for number, site in enumerate(graph_sites(graph))}
        self._write = write
        self.next_number = 1
        """The number of the next tag."""

    def write_event(self, event: Event) -> None:
        sent = event.sent
        if sent and sent[0].tag not in self.tag_numbers:
            self._declare_tag(sent[0].tag)
        self._write(event_line(event, self.tag_numbers))
        for tag, _ in event.closed:
            if tag is not ROOT:
                del self.tag_numbers[tag]

    def _declare_tag(self, tag: Tag) -> None:
        new = [tag]
        while (parent := new[-1].parent) is not None and parent not in self.tag_numbers:
            new.append(parent)
        for each in reversed(new):
            number, above, site = self.next_number, self.tag_numbers[each.parent or ROOT], self._site_numbers[each.site]
            self._write(f'{{"tag":{number},"parent":{above},"site":{site},"iteration":{each.iteration}}}\n')
            self.tag_numbers[each] = number
            self.next_number += 1


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


class EventLogWriter:
    """An event log that is open for writing."""

    def __init__(self, graph: Graph, write: WriteLine) -> None:
        self._write = self.write_lines = write
        self.event_writer = EventLineWriter(graph, write)
        self.write_event = self.event_writer.write_event

    def write_outcome(self, outcome: Outcome) -> None:
        """The last line."""
        self.write_outcome_record(to_outcome_record(outcome))

    def write_outcome_record(self, outcome: OutcomeRecord) -> None:
        """The last line, from an outcome record."""
        self._write(compact_json({"outcome": outcome_form(outcome)}) + "\n")


@contextmanager
def create_log(
    path: Path, graph: Graph, arguments: Sequence[Value], schedule: str, seed: int = 0, bound: int | None = None
) -> Iterator[EventLogWriter]:
    """Create a log and write its first line; raises Usage where the path cannot be written."""
    first = header_line(graph, arguments, schedule, seed, bound)

    def unwritable(error: OSError) -> Usage:
        return Usage("this log cannot be written", got=path, hint=error.strerror)

    def write(line: str) -> object:
        try:
            return file.write(line)
        except OSError as error:
            raise unwritable(error) from None

    try:
        file = path.open("w", encoding="ascii", newline="\n")
    except OSError as error:
        raise unwritable(error) from None
    try:
        write(first + "\n")
        yield EventLogWriter(graph, write)
    finally:
        try:
            file.close()
        except OSError as error:
            raise unwritable(error) from None
