"""Outcomes as JSON documents, and back: what any machine, in any language, says of a run.

An outcome holds a graph and errors of Python; a record of it holds what another machine could say too, as plain values
that can be compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...core.errors import TagloomError
from ...core.graph.graph import Graph
from ...core.handle import Handle
from ...core.json.cursor import Cursor, head, natural, plain_text
from ...core.json.value import Plain, location_form, read_literal, read_location, read_operand, site_form, value_form
from ...core.program.program import Location
from ...core.tag import Tag
from ...core.value import Literal, Value, literal
from ..machine.event import Cell, Event
from ..outcome.critical_path import times_by_waves
from ..outcome.outcome import Outcome, Waiting
from ..outcome.shares import SiteShare, by_function, by_op, by_site, site_names
from .tag_table import TagTable, below, read_tags

STATUSES = ("Broken", "Exhausted", "Trapped", "Returned", "Deadlocked")
Tally: TypeAlias = dict[str, Any]
_COUNTS = ("steps", "critical_path", "largest_store", "largest_flight", "deepest_tag")
_WAVES = ("profile", "waiting")
_NAMED = ("activations", "by_node")
_LATER = ("by_function", "by_op", "time_by_waves", "time_on", "by_site", "critical_firings")
"""Measures that a machine may leave out; of the last two, a row a site, and a row a firing."""


class TrapRecord(NamedTuple):
    """A firing that trapped: the node's number and name, the tag, why, on what, and the source line."""

    node: int
    name: str
    tag: Tag
    message: str
    operands: tuple[Literal, ...]
    where: Location | None
    words: str | None


class CellRecord(NamedTuple):
    """One cell of write-once cells."""

    handle: Literal
    number: int


class WaitingRecord(NamedTuple):
    """A token of the residue: it waits for partners, is parked at a cell, or is held by a bound on iterations."""

    node: int
    port: int
    tag: Tag
    value: Literal
    stays: CellRecord | int | None = None


class ErrorRecord(NamedTuple):
    """What ended a run that did not return: the rule, if one was breached, and the words for people; the name of the
    limit, if it was one."""

    rule: str | None
    message: str
    words: str | None
    limit: str | None = None


@dataclass(frozen=True, slots=True)
class OutcomeRecord:
    """What a machine says of a run. None stands for what it does not know; equal records say the same, bit by bit."""

    status: str
    results: tuple[Literal | None, ...]
    firings: int | None
    stats: Tally | None
    engine: str | None
    schedule: str | None
    traps: tuple[TrapRecord, ...] | None
    residue: tuple[WaitingRecord, ...] | None
    open_activations: int | None
    error: ErrorRecord | None


def words(error: TagloomError) -> str:
    """An error with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


def record(outcome: Outcome) -> OutcomeRecord:
    """What an outcome of this package says, as a record."""
    pairs = zip(outcome.trapped, outcome.traps, strict=True)
    error = outcome.error
    return OutcomeRecord(
        status=outcome.status,
        results=tuple(None if result is None else literal(result) for result in outcome.results),
        firings=None if outcome.measured is None else outcome.firings,
        stats=None if outcome.measured is None else _tally(outcome),
        engine=outcome.engine,
        schedule=outcome.schedule,
        traps=tuple(_trap(outcome.graph, event, words(trap)) for event, trap in pairs),
        residue=tuple(map(_waiting, outcome.residue)),
        open_activations=outcome.open_activations,
        error=None if error is None else _error(error),
    )


def _error(error: TagloomError) -> ErrorRecord:
    return ErrorRecord(error.rule, error.message, words(error), getattr(error, "limit", None))


def _waiting(waiting: Waiting) -> WaitingRecord:
    node, port, tag, value, stays = waiting
    at = CellRecord(literal(stays.handle), stays.number) if isinstance(stays, Cell) else stays
    return WaitingRecord(node, port, tag, literal(value), at)


def _trap(graph: Graph, event: Event, said: str) -> TrapRecord:
    assert event.inputs is not None and event.trap is not None
    number, _, tag, _ = event.token
    node = graph.nodes[number]
    operands = event.inputs[: len(event.inputs) - node.triggered]
    return TrapRecord(number, str(node), tag, event.trap, tuple(map(literal, operands)), node.location, said)


def _tally(outcome: Outcome) -> Tally:
    """The measures, firings by the names of nodes; a name that came before has the node's number after it."""
    graph, stats = outcome.graph, outcome.stats
    measures, names = asdict(stats), site_names(graph)
    by_node: dict[str, int] = {}
    for number, (node, count) in enumerate(zip(graph.nodes, stats.by_node, strict=True)):
        by_node[f"{node}#{number}" if str(node) in by_node else str(node)] = count
    return {
        **{name: measures[name] for name in _COUNTS},
        "parallelism": measures["parallelism"],
        **{name: None if stats.profile is None else tuple(measures[name]) for name in _WAVES},
        "activations": outcome.activations(),
        "by_node": by_node,
        "by_function": by_function(graph, stats),
        "by_op": by_op(graph, stats),
        "time_by_waves": None if stats.profile is None else _by_text(times_by_waves(stats.profile)),
        "time_on": None,
        "by_site": {names[site]: share._asdict() for site, share in by_site(graph, stats).items()},
        "critical_firings": None,
    }


def with_critical_path(said: OutcomeRecord, outcome: Outcome) -> OutcomeRecord:
    """The record of an outcome that kept its events, with the critical path, and with the time on 1, 2, 4, ...
    processors, up to what no more would shorten."""
    path, times, processors = outcome.critical_path(), {1: outcome.firings}, 1
    while times[processors] > len(path):
        processors *= 2
        times[processors] = outcome.time_on(processors)
    more = {
        "time_on": _by_text(times),
        "critical_firings": tuple((each.node, each.tag) for each in path),
    }
    return replace(said, stats={**(said.stats or {}), **more})


def _by_text(counts: dict[int, int]) -> dict[str, int]:
    return {str(number): count for number, count in counts.items()}


def outcome_form(outcome: OutcomeRecord) -> Plain:
    """An outcome as a document: what `tagloom run --json` prints."""
    traps, residue = outcome.traps or (), outcome.residue or ()
    path = outcome.stats and outcome.stats.get("critical_firings")
    tags = (*(trap.tag for trap in traps), *(waiting.tag for waiting in residue), *(tag for _, tag in path or ()))
    table = TagTable(tags)
    return head(
        "outcome",
        status=outcome.status,
        value=[None if result is None else plain(result.value) for result in outcome.results],
        results=[None if result is None else value_form(result.value) for result in outcome.results],
        firings=outcome.firings,
        stats=_stats_form(outcome.stats, table),
        engine=outcome.engine,
        schedule=outcome.schedule,
        traps=None if outcome.traps is None else [_trap_form(trap, table) for trap in traps],
        residue=None if outcome.residue is None else [_waiting_form(each, table.numbers[each.tag]) for each in residue],
        open_activations=outcome.open_activations,
        error=None if outcome.error is None else _error_form(outcome.error),
        sites=[site_form(site) for site in table.sites],
        tags=table.rows,
    )


def plain(value: Value) -> Plain:
    """A value as JSON that says no type; what JSON has no number for is a string."""
    return str(value) if isinstance(value, Handle) else _finite(np.asarray(value).tolist())


def _finite(data: Plain) -> Plain:
    if isinstance(data, list):
        return [_finite(item) for item in data]
    return repr(data) if isinstance(data, float) and not math.isfinite(data) else data


def _stats_form(stats: Tally | None, table: TagTable) -> Plain:
    if stats is None:
        return None
    form = {name: list(said) if isinstance(said, tuple) else said for name, said in stats.items()}
    path = stats.get("critical_firings")
    return {**form, "critical_firings": path and [[node, table.numbers[tag]] for node, tag in path]}


def _trap_form(trap: TrapRecord, table: TagTable) -> Plain:
    return {
        "node": trap.node,
        "name": plain_text(trap.name),
        "tag": table.numbers[trap.tag],
        "message": trap.message,
        "operands": [value_form(operand.value) for operand in trap.operands],
        "where": location_form(trap.where),
        "words": trap.words,
    }


def _waiting_form(waiting: WaitingRecord, tag: Plain) -> list[Plain]:
    node, port, _, value, stays = waiting
    row = [node, port, tag, value_form(value.value)]
    match stays:
        case CellRecord(handle, number):
            return [*row, {"parked": [value_form(handle.value), number]}]
        case None:
            return row
    return [*row, {"held": stays}]


def _error_form(error: ErrorRecord) -> Plain:
    form = error._asdict()
    return form if error.limit is not None else {key: said for key, said in form.items() if key != "limit"}


def read_outcome(at: Cursor) -> OutcomeRecord:
    """The outcome that a document says. `value` is for people, and is not read."""
    names = ("status", "results", "firings", "stats", "engine", "schedule")
    more = ("traps", "residue", "open_activations", "error", "sites", "tags")
    _, _, *places = at.fields("tagloom", "version", *names, *more, optional=["value"])
    status, results, firings, stats, engine, schedule, traps, residue, opened, error, sites, tags = places
    table = read_tags(sites, tags)
    return OutcomeRecord(
        status=status.one_of(STATUSES),
        results=results.each(lambda result: result.optional(read_literal)),
        firings=firings.optional(natural),
        stats=stats.optional(lambda measures: _read_stats(measures, table)),
        engine=engine.optional(Cursor.text),
        schedule=schedule.optional(Cursor.text),
        traps=traps.optional(lambda listed: listed.each(lambda trap: _read_trap(trap, table))),
        residue=residue.optional(lambda listed: listed.each(lambda waiting: _read_waiting(waiting, table))),
        open_activations=opened.optional(natural),
        error=error.optional(_read_error),
    )


def _read_stats(at: Cursor, table: list[Tag]) -> Tally:
    names = (*_COUNTS, "parallelism", *_WAVES, *_NAMED)
    places = dict(zip(names, at.fields(*names, optional=_LATER), strict=True))
    *counts, by_site, path = (at.key(name) if at.has(name) else Cursor(None) for name in _LATER)
    return {
        **{name: places[name].optional(natural) for name in _COUNTS},
        "parallelism": places["parallelism"].optional(Cursor.number),
        **{name: places[name].optional(lambda waves: waves.each(natural)) for name in _WAVES},
        **{name: places[name].optional(_read_counts) for name in _NAMED},
        **{name: count.optional(_read_counts) for name, count in zip(_LATER, counts, strict=False)},
        "by_site": by_site.optional(lambda sites: {name: _read_share(share) for name, share in sites.items()}),
        "critical_firings": path.optional(lambda rows: rows.each(lambda row: _read_firing(row, table))),
    }


def _read_firing(at: Cursor, table: list[Tag]) -> tuple[int, Tag]:
    node, tag = at.row("node", "tag")
    return natural(node), table[below(tag, len(table))]


def _read_counts(at: Cursor) -> dict[str, int]:
    return {name: natural(count) for name, count in at.items()}


def _read_share(at: Cursor) -> dict[str, int]:
    return dict(zip(SiteShare._fields, map(natural, at.fields(*SiteShare._fields)), strict=True))


def _read_trap(at: Cursor, tags: list[Tag]) -> TrapRecord:
    node, name, tag, message, operands, where, said = at.fields(
        "node", "name", "tag", "message", "operands", "where", "words"
    )
    return TrapRecord(
        natural(node), name.text(), tags[below(tag, len(tags))], message.text(), operands.each(read_operand),
        read_location(where), said.optional(Cursor.text),
    )  # fmt: skip


def _read_waiting(at: Cursor, tags: list[Tag]) -> WaitingRecord:
    names = ("node", "port", "tag", "value")
    node, port, tag, value, *rest = at.row(*names, "stays") if len(at.raw()) > len(names) else at.row(*names)
    stays = _read_stays(rest[0]) if rest else None
    return WaitingRecord(natural(node), natural(port), tags[below(tag, len(tags))], read_operand(value), stays)


def _read_stays(at: Cursor) -> CellRecord | int:
    if at.has("held"):
        return at.fields("held")[0].integer(1)
    handle, number = at.fields("parked")[0].row("handle", "number")
    return CellRecord(read_operand(handle), natural(number))


def _read_error(at: Cursor) -> ErrorRecord:
    rule, message, said = at.fields("rule", "message", "words", optional=["limit"])
    limit = at.key("limit").optional(Cursor.text) if at.has("limit") else None
    return ErrorRecord(rule.optional(Cursor.text), message.text(), said.optional(Cursor.text), limit)


def outcome_differences(mine: OutcomeRecord, theirs: OutcomeRecord) -> Iterator[tuple[str, str, str]]:
    """Where another machine's outcome of the same run differs: what, as it should be, and as it is.

    What it does not know is no difference; nor are its words, or which of us wrote it. Of the error only the rule
    counts, and whether there is one.
    """
    for key in ("status", "schedule", "results", "firings", "open_activations", "traps", "residue"):
        yield from _difference(key, _facts(getattr(mine, key)), _facts(getattr(theirs, key)))
    if (mine.error is None) != (theirs.error is None):
        yield "error", _said(mine.error and mine.error.rule), _said(theirs.error and theirs.error.rule)
    elif mine.error and theirs.error:
        yield from _difference("error.rule", mine.error.rule, theirs.error.rule)
    for key, measured in (theirs.stats or {}).items():
        yield from _difference(key, (mine.stats or {})[key], measured)


def _difference(key: str, required: Any, got: Any) -> Iterator[tuple[str, str, str]]:
    """Of lists of one length, the first entry that differs."""
    if got is None or required == got:
        return
    if type(required) is type(got) is tuple and len(required) == len(got):
        pairs = enumerate(zip(required, got, strict=True))
        number, (required, got) = next((number, pair) for number, pair in pairs if pair[0] != pair[1])
        key = f"{key}[{number}]"
    yield key, _said(required), _said(got)


def _facts(said: Any) -> Any:
    """What a record says, but for its words."""
    if type(said) is tuple:
        return tuple(map(_facts, said))
    return said._replace(words=None) if isinstance(said, TrapRecord) else said


def _said(said: Any) -> str:
    """A part of a record in the JSON form, tags by their paths."""
    shown = "nothing" if said is None else json.dumps(_form(said), separators=(",", ":"))
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def _form(said: Any) -> Plain:
    match said:
        case Literal():
            return value_form(said.value)
        case Tag():
            return str(said)
        case WaitingRecord():
            return _waiting_form(said, str(said.tag))
        case TrapRecord():
            return {name: _form(part) for name, part in said._asdict().items() if name != "words"}
        case Location():
            return location_form(said)
        case tuple():
            return list(map(_form, said))
    return said


_LONGEST = 300
"""How much a message quotes."""
