"""Programs, graphs and outcomes as JSON documents: writing and reading. Reading a document never runs code.

An Outcome contains a graph and Python errors. An OutcomeRecord contains plain values, which a machine in any language
can report, and which can be compared. A document has a table of tags and refers to them by number, since the tags of a
deep recursion share all steps but the last.

Event logs are in `event_log` and `column_log`; `history.replay` reads them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...core.errors import Malformed, TagloomError, Usage
from ...core.files import read_file, write_file
from ...core.graph.graph import Graph
from ...core.json.cursor import (
    INT64_BOUND,
    JsonCursor,
    document_header,
    parse_json,
    read_form,
    read_natural,
    validate_name,
)
from ...core.json.graph import graph_to_json, read_graph
from ...core.json.program import program_to_json, read_program
from ...core.json.value import (
    JsonValue,
    location_to_json,
    read_literal,
    read_location,
    read_site,
    read_token_literal,
    site_to_json,
    value_to_json,
)
from ...core.program.program import Location, Program
from ...core.tag import ROOT, Site, Tag
from ...core.types import OPAQUE_CLASSES
from ...core.value import Literal, Value, literal
from ..machine.event import CellAddress, Event
from ..outcome.critical_path import times_by_waves
from ..outcome.outcome import Outcome
from ..outcome.residue import ResidueToken
from ..outcome.statistics import SiteShare, firings_by_function, firings_by_op, shares_by_site, unique_site_names
from .old_keys import with_new_keys

MAX_LATE_RESIDUE = 1000
"""The most tokens of the residue in the record of a run that must end soon. To order and write one takes 50 us."""


class TagTable:
    """The table of a document's tags: each once, and a parent before its children. The root has number 0 and no row."""

    def __init__(self, tags: Iterable[Tag]) -> None:
        self.sites: dict[Site, int] = {}
        self.numbers: dict[Tag, int] = {ROOT: 0}
        self.rows: list[list[int]] = []
        for tag in tags:
            self.add(tag)

    def add(self, tag: Tag) -> int:
        """The number of a tag, which gets a row unless it has one."""
        new = []
        while tag not in self.numbers and tag.parent is not None:
            new.append(tag)
            tag = tag.parent
        number = self.numbers[tag]
        for tag in reversed(new):
            self.rows.append([number, self.add_site(tag.site), tag.iteration])
            number = self.numbers[tag] = len(self.rows)
        return number

    def add_site(self, site: Site) -> int:
        """The number of a site, which is added unless it is there."""
        return self.sites.setdefault(site, len(self.sites))


def read_sites(cursor: JsonCursor) -> tuple[Site, ...]:
    """The sites of a document, by number; raises Malformed for a duplicate."""
    sites: dict[Site, int] = {}
    for number, entry in enumerate(cursor.entries()):
        first = sites.setdefault(read_site(entry), number)
        if first != number:
            entry.refuse("each site once", f"that of number {first} again")
    return tuple(sites)


def read_tags(sites: JsonCursor, tags: JsonCursor) -> list[Tag]:
    """The tags of a document, by number; raises Malformed for a duplicate."""
    all_sites, all_tags = read_sites(sites), [ROOT]
    numbers: dict[tuple[int, int, int], int] = {}
    for number, row in enumerate(tags.raw_list()):
        sizes = len(all_tags), len(all_sites)
        key = parse_valid_tag(row, *sizes) or read_tag_row(tags.entry(number), *sizes)
        first = numbers.setdefault(key, number)
        if first != number:
            tags.entry(number).refuse("each tag once", f"that of number {first + 1} again")
        parent, site, iteration = key
        all_tags.append(all_tags[parent].child(all_sites[site], iteration))
    return all_tags


def parse_valid_tag(row: object, parents: int, sites: int) -> tuple[int, int, int] | None:
    """A tag from its row, or None if the row is invalid. It avoids cursors: a million rows take 2 s instead of 7 s."""
    if type(row) is not list or list(map(type, row)) != [int, int, int]:
        return None
    parent, site, iteration = row
    fits = 0 <= parent < parents and 0 <= site < sites and 0 <= iteration < INT64_BOUND
    return (parent, site, iteration) if fits else None


def read_tag_row(cursor: JsonCursor, parents: int, sites: int) -> tuple[int, int, int]:
    """A row of the table of tags: parent, site, iteration; raises Malformed if a number is out of range."""
    parent, site, iteration = cursor.fixed_list("parent", "site", "iteration")
    return read_index(parent, parents), read_index(site, sites), iteration.integer(0)


def read_index(cursor: JsonCursor, end: int) -> int:
    """A number from 0 up to but not including `end`; raises Malformed for others."""
    if cursor.integer(0) >= end:
        cursor.refuse(f"a number below {end}")
    return cursor.integer()


STATUS_NAMES = ("Broken", "Exhausted", "Trapped", "Returned", "Deadlocked")
StatsDict: TypeAlias = dict[str, Any]
_COUNT_STATS = ("steps", "critical_path", "largest_store", "largest_flight", "deepest_tag")
_WAVE_STATS = ("profile", "waiting")
_MAPPING_STATS = ("activations", "by_node")
_OPTIONAL_STATS = ("by_function", "by_op", "time_by_waves", "time_on", "by_site", "critical_firings")
"""The statistics that a machine may omit. The last two are rows: one for each site, and one for each critical
firing."""


class TrapRecord(NamedTuple):
    """A firing that trapped: the node's number and name, the tag, the reason, the operands, the source line, and the
    text of the error."""

    node: int
    name: str
    tag: Tag
    message: str
    operands: tuple[Literal, ...]
    where: Location | None
    words: str | None


class CellRecord(NamedTuple):
    """The address of a write-once cell."""

    handle: Literal
    number: int


class ResidueRecord(NamedTuple):
    """A token left over at the end of a run: it waits for other operands, is a deferred read at a cell, or is throttled
    by a k-bound."""

    node: int
    port: int
    tag: Tag
    value: Literal
    blocked_on: CellRecord | int | None = None


class ErrorRecord(NamedTuple):
    """The error of a run that did not return: the broken rule, if any, the message, the full text, and the name of the
    exceeded limit, if any."""

    rule: str | None
    message: str
    words: str | None
    limit: str | None = None


@dataclass(frozen=True, slots=True)
class OutcomeRecord:
    """The outcome of a run as plain values, which any machine can report. None means unknown. Values are compared by
    their bits."""

    status: str
    results: tuple[Literal | None, ...]
    firings: int | None
    stats: StatsDict | None
    engine: str | None
    schedule: str | None
    traps: tuple[TrapRecord, ...] | None
    residue: tuple[ResidueRecord, ...] | None
    open_activations: int | None
    error: ErrorRecord | None
    residue_size: int | None = None
    """The number of tokens of the residue, if these are left out."""


def error_text(error: TagloomError) -> str:
    """The text of an error, notes included."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


def to_outcome_record(outcome: Outcome) -> OutcomeRecord:
    """Convert an outcome to a record."""
    pairs = zip(outcome.trap_events, outcome.traps, strict=True)
    error = outcome.error
    return OutcomeRecord(
        status=outcome.status,
        results=tuple(None if result is None else literal(result) for result in outcome.results),
        firings=None if outcome.measured_stats is None else outcome.firings,
        stats=None if outcome.measured_stats is None else stats_dict(outcome),
        engine=outcome.engine,
        schedule=outcome.schedule,
        traps=tuple(to_trap_record(outcome.graph, event, error_text(trap)) for event, trap in pairs),
        residue=tuple(map(to_residue_record, outcome.residue)),
        open_activations=outcome.open_activations,
        error=None if error is None else to_error_record(error),
    )


def final_record(outcome: Outcome) -> OutcomeRecord:
    """The record that a log or a command ends with. If the clock, memory or Ctrl-C has ended the run, it must end soon:
    of more than MAX_LATE_RESIDUE tokens of the residue it has the number only. A replay of a log finds them."""
    ends_soon = getattr(outcome.error, "limit", None) in ("seconds", "bytes", "interrupt")
    if not ends_soon or len(outcome.residue) <= MAX_LATE_RESIDUE:
        return to_outcome_record(outcome)
    return replace(to_outcome_record(replace(outcome, residue=())), residue=None, residue_size=len(outcome.residue))


def to_error_record(error: TagloomError) -> ErrorRecord:
    """An error as plain values."""
    return ErrorRecord(error.rule, error.message, error_text(error), getattr(error, "limit", None))


def to_residue_record(residue_token: ResidueToken) -> ResidueRecord:
    """A token of the residue as plain values."""
    node, port, tag, value, blocked_on = residue_token
    if isinstance(blocked_on, CellAddress):
        return ResidueRecord(node, port, tag, literal(value), CellRecord(literal(blocked_on.handle), blocked_on.number))
    return ResidueRecord(node, port, tag, literal(value), blocked_on)


def to_trap_record(graph: Graph, event: Event, text: str) -> TrapRecord:
    """A trap as plain values; `text` is the text of its error."""
    assert event.inputs is not None and event.trap is not None
    number, _, tag, _ = event.token
    node = graph.nodes[number]
    operands = event.inputs[: len(event.inputs) - node.has_trigger]
    return TrapRecord(number, str(node), tag, event.trap, tuple(map(literal, operands)), node.location, text)


def stats_dict(outcome: Outcome) -> StatsDict:
    """The statistics, with firings by node name; a repeated name is followed by the node's number."""
    graph, stats = outcome.graph, outcome.stats
    measures, names = asdict(stats), unique_site_names(graph)
    by_node: dict[str, int] = {}
    for number, (node, count) in enumerate(zip(graph.nodes, stats.by_node, strict=True)):
        by_node[f"{node}#{number}" if str(node) in by_node else str(node)] = count
    return {
        **{name: measures["span" if name == "critical_path" else name] for name in _COUNT_STATS},
        "parallelism": measures["parallelism"],
        **{name: None if stats.profile is None else tuple(measures[name]) for name in _WAVE_STATS},
        "activations": outcome.activations(),
        "by_node": by_node,
        "by_function": firings_by_function(graph, stats),
        "by_op": firings_by_op(graph, stats),
        "time_by_waves": None if stats.profile is None else stringify_keys(times_by_waves(stats.profile)),
        "time_on": None,
        "by_site": {names[site]: share._asdict() for site, share in shares_by_site(graph, stats).items()},
        "critical_firings": None,
    }


def add_critical_path(record: OutcomeRecord, outcome: Outcome) -> OutcomeRecord:
    """Add to the record of an outcome that kept its events: the critical path, and the times on 1, 2, 4, ...
    processors, until more would not be faster."""
    path, times, processors = outcome.critical_path(), {1: outcome.firings}, 1
    while times[processors] > len(path):
        processors *= 2
        times[processors] = outcome.time_on(processors)
    path_fields = {
        "time_on": stringify_keys(times),
        "critical_firings": tuple((firing.node, firing.tag) for firing in path),
    }
    return replace(record, stats={**(record.stats or {}), **path_fields})


def stringify_keys(counts: dict[int, int]) -> dict[str, int]:
    """Counts with text keys, as JSON requires."""
    return {str(number): count for number, count in counts.items()}


def outcome_to_json(outcome: OutcomeRecord) -> JsonValue:
    """An outcome as a document: what `tagloom run --json` prints."""
    traps, residue = outcome.traps or (), outcome.residue or ()
    path = outcome.stats and outcome.stats.get("critical_firings")
    tags = (*(trap.tag for trap in traps), *(token.tag for token in residue), *(tag for _, tag in path or ()))
    table = TagTable(tags)
    size = {} if outcome.residue_size is None else {"residue_size": outcome.residue_size}
    return document_header(
        "outcome",
        status=outcome.status,
        value=[None if result is None else untyped_json(result.value) for result in outcome.results],
        results=[None if result is None else value_to_json(result.value) for result in outcome.results],
        firings=outcome.firings,
        stats=stats_to_json(outcome.stats, table),
        engine=outcome.engine,
        schedule=outcome.schedule,
        traps=None if outcome.traps is None else [trap_to_json(trap, table) for trap in traps],
        residue=None
        if outcome.residue is None
        else [residue_to_json(token, table.numbers[token.tag]) for token in residue],
        open_activations=outcome.open_activations,
        error=None if outcome.error is None else error_to_json(outcome.error),
        sites=[site_to_json(site) for site in table.sites],
        tags=table.rows,
        **size,
    )


def untyped_json(value: Value) -> JsonValue:
    """A value as JSON without its type; infinities and NaN become strings."""
    return str(value) if isinstance(value, OPAQUE_CLASSES) else encode_nonfinite(np.asarray(value).tolist())


def encode_nonfinite(data: JsonValue) -> JsonValue:
    """Infinities and NaN in JSON data as strings."""
    if isinstance(data, list):
        return [encode_nonfinite(item) for item in data]
    return repr(data) if isinstance(data, float) and not math.isfinite(data) else data


def stats_to_json(stats: StatsDict | None, table: TagTable) -> JsonValue:
    """Statistics as JSON data."""
    if stats is None:
        return None
    form = {name: list(value) if isinstance(value, tuple) else value for name, value in stats.items()}
    path = stats.get("critical_firings")
    return {**form, "critical_firings": path and [[node, table.numbers[tag]] for node, tag in path]}


def trap_to_json(trap: TrapRecord, table: TagTable) -> JsonValue:
    """A trap as JSON data."""
    return {
        "node": trap.node,
        "name": validate_name(trap.name),
        "tag": table.numbers[trap.tag],
        "message": trap.message,
        "operands": [value_to_json(operand.value) for operand in trap.operands],
        "where": location_to_json(trap.where),
        "words": trap.words,
    }


def residue_to_json(token: ResidueRecord, tag: JsonValue) -> list[JsonValue]:
    """A token of the residue as JSON data."""
    node, port, _, value, blocked_on = token
    row = [node, port, tag, value_to_json(value.value)]
    match blocked_on:
        case CellRecord(handle, number):
            return [*row, {"deferred": [value_to_json(handle.value), number]}]
        case None:
            return row
    return [*row, {"throttled": blocked_on}]


def error_to_json(error: ErrorRecord) -> JsonValue:
    """An error as JSON data."""
    form = error._asdict()
    return form if error.limit is not None else {key: value for key, value in form.items() if key != "limit"}


def read_outcome(cursor: JsonCursor) -> OutcomeRecord:
    """Read an outcome from a document. `value` is for people, and is not read."""
    names = ("status", "results", "firings", "stats", "engine", "schedule")
    optional_keys = ("traps", "residue", "open_activations", "error", "sites", "tags")
    _, _, *cursors = cursor.fields("tagloom", "version", *names, *optional_keys, optional=["value", "residue_size"])
    status, results, firings, stats, engine, schedule, traps, residue, open_activations, error, sites, tags = cursors
    table = read_tags(sites, tags)
    return OutcomeRecord(
        status=status.one_of(STATUS_NAMES),
        results=results.map_entries(lambda result: result.optional(read_literal)),
        firings=firings.optional(read_natural),
        stats=stats.optional(lambda measures: read_stats(measures, table)),
        engine=engine.optional(JsonCursor.text),
        schedule=schedule.optional(JsonCursor.text),
        traps=traps.optional(lambda rows: rows.map_entries(lambda trap: read_trap(trap, table))),
        residue=residue.optional(lambda rows: rows.map_entries(lambda token: read_residue_token(token, table))),
        open_activations=open_activations.optional(read_natural),
        error=error.optional(read_error),
        residue_size=cursor.value_at("residue_size").optional(read_natural) if cursor.has_key("residue_size") else None,
    )


def read_stats(cursor: JsonCursor, table: list[Tag]) -> StatsDict:
    """The statistics of a document."""
    names = (*_COUNT_STATS, "parallelism", *_WAVE_STATS, *_MAPPING_STATS)
    cursors = dict(zip(names, cursor.fields(*names, optional=_OPTIONAL_STATS), strict=True))
    *counts, by_site, path = (
        cursor.value_at(name) if cursor.has_key(name) else JsonCursor(None) for name in _OPTIONAL_STATS
    )
    return {
        **{name: cursors[name].optional(read_natural) for name in _COUNT_STATS},
        "parallelism": cursors["parallelism"].optional(JsonCursor.number),
        **{name: cursors[name].optional(lambda waves: waves.map_entries(read_natural)) for name in _WAVE_STATS},
        **{name: cursors[name].optional(read_counts) for name in _MAPPING_STATS},
        **{name: count.optional(read_counts) for name, count in zip(_OPTIONAL_STATS, counts, strict=False)},
        "by_site": by_site.optional(lambda sites: {name: read_share(share) for name, share in sites.items()}),
        "critical_firings": path.optional(lambda rows: rows.map_entries(lambda row: read_firing(row, table))),
    }


def read_firing(cursor: JsonCursor, table: list[Tag]) -> tuple[int, Tag]:
    """The node and tag of a firing."""
    node, tag = cursor.fixed_list("node", "tag")
    return read_natural(node), table[read_index(tag, len(table))]


def read_counts(cursor: JsonCursor) -> dict[str, int]:
    """Counts by name."""
    return {name: read_natural(count) for name, count in cursor.items()}


def read_share(cursor: JsonCursor) -> dict[str, int]:
    """The share of a site."""
    return dict(zip(SiteShare._fields, map(read_natural, cursor.fields(*SiteShare._fields)), strict=True))


def read_trap(cursor: JsonCursor, tags: list[Tag]) -> TrapRecord:
    """A trap of a document."""
    node, name, tag, message, operands, where, words = cursor.fields(
        "node", "name", "tag", "message", "operands", "where", "words"
    )
    return TrapRecord(
        read_natural(node), name.name(), tags[read_index(tag, len(tags))], message.text(),
        operands.map_entries(read_token_literal), read_location(where), words.optional(JsonCursor.text),
    )  # fmt: skip


def read_residue_token(cursor: JsonCursor, tags: list[Tag]) -> ResidueRecord:
    """A token of the residue of a document."""
    names = ("node", "port", "tag", "value")
    node, port, tag, value, *rest = (
        cursor.fixed_list(*names, "blocked_on") if len(cursor.raw_list()) > len(names) else cursor.fixed_list(*names)
    )
    blocked_on = read_blocked_on(rest[0]) if rest else None
    return ResidueRecord(
        read_natural(node), read_natural(port), tags[read_index(tag, len(tags))], read_token_literal(value), blocked_on
    )


def read_blocked_on(cursor: JsonCursor) -> CellRecord | int:
    """The cell, or the bound, that a token waits for."""
    cursor = with_new_keys(cursor)
    if cursor.has_key("throttled"):
        return cursor.fields("throttled")[0].integer(1)
    handle, number = cursor.fields("deferred")[0].fixed_list("handle", "number")
    return CellRecord(read_token_literal(handle), read_natural(number))


def read_error(cursor: JsonCursor) -> ErrorRecord:
    """The error of a document."""
    rule, message, words = cursor.fields("rule", "message", "words", optional=["limit"])
    limit = cursor.value_at("limit").optional(JsonCursor.text) if cursor.has_key("limit") else None
    return ErrorRecord(rule.optional(JsonCursor.text), message.text(), words.optional(JsonCursor.text), limit)


def outcome_differences(expected: OutcomeRecord, actual: OutcomeRecord) -> Iterator[tuple[str, str, str]]:
    """The differences between two outcomes of the same run, `actual` from another machine: key, expected value, actual
    value.

    Unknown parts, messages and the name of the machine are not compared. Of errors, only presence and rule are
    compared.
    """
    for key in ("status", "schedule", "results", "firings", "open_activations", "traps", "residue"):
        yield from part_difference(key, without_words(getattr(expected, key)), without_words(getattr(actual, key)))
    if (expected.error is None) != (actual.error is None):
        yield (
            "error",
            abbreviate_json(expected.error and expected.error.rule),
            abbreviate_json(actual.error and actual.error.rule),
        )
    elif expected.error and actual.error:
        yield from part_difference("error.rule", expected.error.rule, actual.error.rule)
    for key, measured in (actual.stats or {}).items():
        yield from part_difference(key, (expected.stats or {})[key], measured)


def part_difference(key: str, required: Any, got: Any) -> Iterator[tuple[str, str, str]]:
    """The difference between two parts; for two tuples of the same length, the difference of the first entries that
    differ."""
    if got is None or required == got:
        return
    if type(required) is type(got) is tuple and len(required) == len(got):
        pairs = enumerate(zip(required, got, strict=True))
        number, (required, got) = next((number, pair) for number, pair in pairs if pair[0] != pair[1])
        key = f"{key}[{number}]"
    yield key, abbreviate_json(required), abbreviate_json(got)


def without_words(part: Any) -> Any:
    """A part of a record without its messages."""
    if type(part) is tuple:
        return tuple(map(without_words, part))
    return part._replace(words=None) if isinstance(part, TrapRecord) else part


def abbreviate_json(part: Any) -> str:
    """JSON data, or a part of a record, as abbreviated JSON text, with tags as paths; None is "nothing"."""
    text = "nothing" if part is None else json.dumps(part_json(part), separators=(",", ":"))
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}..."


def part_json(part: Any) -> JsonValue:
    """A part of a record as JSON data, with tags as paths."""
    match part:
        case Literal():
            return value_to_json(part.value)
        case Tag():
            return str(part)
        case ResidueRecord():
            return residue_to_json(part, str(part.tag))
        case TrapRecord():
            return {name: part_json(value) for name, value in part._asdict().items() if name != "words"}
        case Location():
            return location_to_json(part)
        case tuple():
            return list(map(part_json, part))
    return part


_MAX_QUOTED = 300
"""The most characters that a message quotes."""


Serializable: TypeAlias = Program | Graph | Outcome | OutcomeRecord
_READERS: dict[str, Callable[[JsonCursor], Program | Graph | OutcomeRecord]] = {
    "program": read_program,
    "graph": read_graph,
    "outcome": read_outcome,
}


def to_json(subject: Serializable) -> JsonValue:
    """A program, graph or outcome as a document: plain data for `json.dumps`.

    >>> import tagloom as tl
    >>> document = tl.to_json(tl.GraphBuilder("empty").build())
    >>> document["tagloom"], document["version"], document["name"]
    ('graph', 1, 'empty')

    Raises Usage for anything else, and for names that are not valid Unicode.
    """
    match subject:
        case Program():
            return program_to_json(subject)
        case Graph():
            return graph_to_json(subject)
        case Outcome():
            return outcome_to_json(to_outcome_record(subject))
        case OutcomeRecord():
            return outcome_to_json(subject)
    required = "a program, a graph or an outcome"
    raise Usage("this has no JSON form", required=required, got=type(subject).__name__, python=TypeError)


def from_json(document: object) -> Program | Graph | OutcomeRecord:
    """The content of a document, given as plain data from `json.loads` or as the text itself.

    The form of the document is checked completely, but a program or graph is not checked against the rules V1 to V17.
    An outcome is read as an OutcomeRecord, since any machine may have written it.

    Raises Malformed, with the path to the fault, if the document does not have its form.
    """
    return read_document(document, None)


def read_document(document: object, file: str | None) -> Program | Graph | OutcomeRecord:
    """The content of a document; `file` names the file that it came from, if any."""
    try:
        cursor = JsonCursor(parse_json(document) if isinstance(document, str | bytes) else document, file=file)
        return _READERS[read_form(cursor, _READERS)](cursor)
    except RecursionError:
        raise Malformed("the document does not fit its form", where="$", got="data nested too deep") from None
    except Malformed as error:
        if (error.where, error.got) == ("$.tagloom", '"events"') or str(error.got).startswith("Extra data"):
            error.hint = "tl.read_events(path) reads a log of events, whose lines are documents"
        raise


def write_json(subject: Serializable, path: str | Path) -> None:
    """Write a document to a file; raises Usage where the file cannot be written, and as `to_json` does."""
    write_file(path, format_json(subject).encode("ascii"))


def read_json(path: str | Path) -> Program | Graph | OutcomeRecord:
    """The content of the document in a file; raises Usage where the file cannot be read, and Malformed as `from_json`
    does."""
    return read_document(read_file(path), str(path))


def format_json(subject: Serializable) -> str:
    """A document as text: one line per key, and one per object in lists of objects."""
    return "{" + ",\n".join(format_entry(key, value) for key, value in to_json(subject).items()) + "}\n"


def format_entry(key: str, value: JsonValue) -> str:
    """A key of a document with its value, as text."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"{json.dumps(key)}: [\n  {_ROW_SEPARATOR.join(map(_dump, value))}]"
    return f"{json.dumps(key)}: {_dump(value)}"


def _dump(value: JsonValue) -> str:
    return json.dumps(value, allow_nan=False)


_ROW_SEPARATOR = ",\n  "
