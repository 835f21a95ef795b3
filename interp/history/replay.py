"""Reading event logs: a machine replays the run, and every event is checked against it.

Each line is checked in the state so far. An event that differs from the event that `step` returns is a Disagreement,
which names the line, the required and the actual value; a line that is not an event is Malformed. Effects go through
the world of the state: the worlds here return recorded results, from events or from the line of a log, after checking
their types. No effect is repeated (S14).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, NoReturn

from ...core.errors import Broken, Disagreement, Exhausted, Malformed, Usage, plural
from ...core.frontend.trace.pytree import LEAF
from ...core.graph.graph import Graph
from ...core.graph.validate import graph_problems
from ...core.json.cursor import JsonCursor, parse_json, read_form
from ...core.json.graph import read_graph
from ...core.json.value import read_uint64, read_value
from ...core.tag import Site
from ...core.types import Type, type_of
from ...core.value import Value, abbreviate
from ...core.world import CallbackError, CallbackReplayWorld
from ..engines.reference import combine_problems, out_of_memory_error
from ..machine.event import Event
from ..machine.schedule import BY_HAND, SCHEDULE_NAMES, Pick
from ..machine.schedule import schedule as schedule_named
from ..machine.state import State
from ..machine.step import step
from ..outcome.outcome import build_outcome
from ..outcome.statistics import Meter
from ..outcome.worker_lanes import WorkerLanes, read_lanes
from ..records.documents import (
    ErrorRecord,
    OutcomeRecord,
    outcome_differences,
    read_outcome,
    read_sites,
    to_outcome_record,
)
from ..records.event_log import (
    OpenTags,
    event_differences,
    event_line,
    graph_sites,
    read_effect_result,
    read_position,
)
from ..records.event_sink import log_lines
from ..records.old_keys import with_new_keys

_LOGGED_SCHEDULES = (*(name for name in SCHEDULE_NAMES if not name.startswith(BY_HAND)), BY_HAND)
"""The schedules that a log may name; for a schedule by hand, the log itself has the positions."""
_EXTERNAL_LIMITS = ("seconds", "bytes", "interrupt")
"""The limits that may end a run at any step, and that a replay cannot check."""


class EventLog(NamedTuple):
    """The content of a log: graph, arguments, options, events and outcome. `outcome` is None if the run was cut
    short."""

    graph: Graph
    arguments: tuple[Value, ...]
    schedule: str
    events: tuple[Event, ...]
    outcome: OutcomeRecord | None
    seed: int = 0
    bound: int | None = None


def read_events(path: str | Path) -> EventLog:
    """The log at this path, every event checked by replay.

    Raises Malformed if a line is not a line of a log, Disagreement if it differs from the machine, Invalid if the graph
    cannot be run at all, Exhausted if an event's result does not fit into memory, and Usage if the file cannot be read.
    """
    replay = open_log(path)
    events = tuple(replay.events())
    graph, seed, bound = replay.state.graph, replay.seed, replay.bound
    return EventLog(graph, replay.arguments, replay.schedule, events, replay.outcome, seed, bound)


def open_log(path: str | Path) -> Replay:
    """Open the log at this path and read its first line."""
    return Replay(log_lines(Path(path)), str(path))


class Replay:
    """Reads a log line by line, while a machine replays the run. `outcome` and `lanes` are set once all lines are
    read."""

    def __init__(self, lines: Iterator[bytes], file: str | None = None) -> None:
        first = next(lines, None)
        if first is None:
            raise Malformed("this log is empty", where="line 1")
        header = read_header(JsonCursor(parse_json(first, "line 1: $"), "line 1: $", file=file))
        graph, self.is_ill_formed, self.arguments, self.schedule, self.pick, self.sites, self.seed, self.bound = header
        self._world = ReplayWorld()
        self.state = State(
            graph,
            self.arguments,
            seed=self.seed,
            bound=self.bound,
            is_clocked=self.schedule == "waves",
            world=self._world,
        )
        self.outcome: OutcomeRecord | None = None
        self.lanes: WorkerLanes | None = None
        """The workers of the events, if the log has them."""
        self.tags = OpenTags()
        self._completion_steps: dict[str, int] = {}
        """The numbers of steps after which the run had all results, and its first trap: where `until="result"` and
        `until="trap"` stop."""
        self._lines = lines
        self._meter = Meter(self.state, is_clocked=self.state.is_clocked)

    def events(self) -> Iterator[Event]:
        """Every event, after it has been applied to the state."""
        for number, line in enumerate(self._lines, 2):
            where = f"line {number}"
            if line.isspace() and all(map(bytes.isspace, self._lines)):
                return
            event = self.match_predicted(line)
            if event is None:
                if not line.endswith(b"\n") and is_truncated(line):
                    return
                event = self.read_line(JsonCursor(parse_json(line, f"{where}: $"), f"{where}: $"), where)
            if event is not None:
                self.apply_event(event, where)
                yield event

    def apply_event(self, event: Event, where: str) -> None:
        """Apply an event to the state; `where` is its line."""
        self.tags.refuse_unused()
        try:
            self.state.apply(event)
        except Exception as error:
            if not self.is_ill_formed:
                raise
            raise_disagreement(where, "line", f"the end of the run: {error!r}", "an event")
        self._meter.observe(event)
        self.tags.close(event)
        self._record_completion()

    def _record_completion(self) -> None:
        state = self.state
        if len(state.results) == len(state.graph.results):
            self._completion_steps.setdefault("results", state.steps)
        if state.trap_events:
            self._completion_steps.setdefault("trap", state.steps)

    def match_predicted(self, line: bytes) -> Event | None:
        """The next event, if its line would be exactly this one; None if the line must be read. Takes 15 us instead of
        85."""
        if self.pick is None or not line.startswith(b'{"deliver"') or not self.state.flight or self.outcome:
            return None
        position = self.pick(self.state)
        if self.reaches_callback(position):
            return None
        event = self._step(position)
        if isinstance(event, Event):
            self.tags.assign_numbers(event)
            try:
                return event if event_line(event, self.tags.tag_numbers).encode() == line else None
            except KeyError:
                pass
        return None

    def reaches_callback(self, position: int) -> bool:
        """Whether the token at a position is for a callback, whose result only the line of the log has."""
        return self.state.rules[self.state.flight[position].node].node.op == "callback"

    def _step(self, position: int) -> Event | Exception:
        try:
            return step(self.state, position)
        except MemoryError:
            return out_of_memory_error(self.state, position)
        except Exception as error:
            if not self.is_ill_formed:
                raise
            return error

    def read_line(self, cursor: JsonCursor, where: str) -> Event | None:
        """The event of a line, checked; None for the lines of tags and of the outcome."""
        if self.outcome is not None:
            cursor.refuse("the end of the log, after the outcome")
        if cursor.has_key("deliver"):
            if self.lanes is not None:
                cursor.refuse("no event after the line of workers")
            return self.check_event(cursor, where)
        if cursor.has_key("tag"):
            self.tags.declare(cursor, self.sites, self._meter.deepest_tag)
        elif cursor.has_key("workers"):
            if self.lanes is not None:
                cursor.refuse("one line of workers")
            self.lanes = read_lanes(cursor.fields("workers")[0], self.state.steps)
        else:
            self.tags.refuse_unused()
            outcome = cursor.fields("outcome")[0]
            read_form(outcome, ("outcome",))
            record = read_outcome(outcome)
            self.check_outcome(record, where)
            self.outcome = record
        return None

    def check_event(self, cursor: JsonCursor, where: str) -> Event:
        """The event of a line; raises Disagreement if the machine makes another."""
        cursor = with_new_keys(cursor)
        position = read_position(cursor)
        if position >= len(self.state.flight):
            raise_disagreement(where, "position", f"below {len(self.state.flight)}, the tokens in flight", position)
        if self.pick is not None and position != self.pick(self.state):
            raise_disagreement(where, "position", f"{self.pick(self.state)}, under {self.schedule}", position)
        self._world.set_result(*(read_effect_result(cursor) if self.reaches_callback(position) else (None, None)))
        event = self._step(position)
        if isinstance(event, Exhausted):
            event.where = where
            raise event
        if not isinstance(event, Event):
            raise_disagreement(where, "line", f"the end of the run: {event}", "an event")
        self.tags.assign_numbers(event)
        for key, required, got in event_differences(cursor, event, self.tags.tag_numbers):
            raise_disagreement(where, key, required, got)
        return event

    def check_outcome(self, record: OutcomeRecord, where: str) -> None:
        """Check a logged outcome against the state, and whether a run may end like that in this state."""
        quiescent = to_outcome_record(
            build_outcome(
                self.state, self._meter.stats(), None, "quiet",
                schedule=self.schedule, engine="reference", structure=LEAF,
            )
        )  # fmt: skip
        endings = dict(self.possible_endings(quiescent, record))
        if record.status not in endings:
            raise_disagreement(where, "status", " or ".join(sorted(endings)), record.status)
        rule = endings[record.status]
        replayed_outcome = replace(
            quiescent, status=record.status, error=None if rule is None else ErrorRecord(rule, "", None)
        )
        for key, required, got in outcome_differences(replayed_outcome, record):
            raise_disagreement(where, key, required, got)

    def possible_endings(self, quiescent: OutcomeRecord, record: OutcomeRecord) -> Iterator[tuple[str, str | None]]:
        """S12: the statuses with which a run may end in this state, each with its rule. `quiescent` is the outcome of a
        run that is quiescent in this state.

        A limit ends a run before a firing, or before the first; the clock, memory, or Ctrl-C, before any step. A graph
        that breaks the rules may end Broken by any rule that the machine finds broken, but S4 is checked here too.
        """
        state = self.state
        limit = record.error and record.error.limit
        if not state.flight:
            yield quiescent.status, quiescent.error and quiescent.error.rule
        if self._completion_steps.get("results") == state.steps:
            yield "Returned", None
        if self._completion_steps.get("trap") == state.steps:
            yield "Trapped", "S5"
        for position in self.next_positions():
            next_event = self._step(position)
            fires = isinstance(next_event, Event) and next_event.is_firing
            if fires or isinstance(next_event, Exhausted) or not state.steps or limit in _EXTERNAL_LIMITS:
                yield "Exhausted", "S12"
            if isinstance(next_event, Broken):
                yield "Broken", next_event.rule
            elif self.is_ill_formed:
                rule = record.error and record.error.rule
                yield "Broken", rule if rule not in (None, "S4") else "V9"

    def next_positions(self) -> Sequence[int]:
        """The positions of the tokens that the schedule may deliver next."""
        if self.pick is None:
            return range(len(self.state.flight))
        return [self.pick(self.state)] if self.state.flight else []


def raise_disagreement(where: str, key: str, required: object, got: object) -> NoReturn:
    """Raise Disagreement for a log that differs from the machine in the field `key`."""
    raise Disagreement(f"the log differs from the machine: {key}", where=where, required=required, got=got)


def is_truncated(line: bytes) -> bool:
    """Whether a line is not valid JSON, as the last line of an interrupted run may be."""
    try:
        parse_json(line)
    except Malformed:
        return True
    return False


class _LogHeader(NamedTuple):
    graph: Graph
    is_ill_formed: bool
    arguments: tuple[Value, ...]
    schedule: str
    pick: Pick | None
    sites: tuple[Site, ...]
    seed: int
    bound: int | None


def read_header(cursor: JsonCursor) -> _LogHeader:
    """Read the first line."""
    read_form(cursor, ("events",))
    names = ("graph", "arguments", "schedule", "sites")
    _, _, graph, arguments, schedule, sites = cursor.fields("tagloom", "version", *names, optional=("seed", "bound"))
    read_form(graph, ("graph",))
    parsed_graph = read_graph(graph)
    problems = graph_problems(parsed_graph)
    unrunnable = [problem for problem in problems if problem.rule in ("V7", "V15")]
    if unrunnable:
        raise combine_problems(unrunnable)
    site_list = read_sites(sites)
    if set(site_list) != set(graph_sites(parsed_graph)):
        sites.refuse(f"the sites of the graph: {', '.join(map(str, graph_sites(parsed_graph))) or 'none'}")
    admitted = read_arguments(arguments, parsed_graph)
    pick = read_schedule(schedule)
    seed = read_uint64(cursor.value_at("seed")) if cursor.has_key("seed") else 0
    bound = cursor.value_at("bound").optional(lambda number: number.integer(1)) if cursor.has_key("bound") else None
    return _LogHeader(parsed_graph, bool(problems), admitted, schedule.text(), pick, site_list, seed, bound)


def read_arguments(cursor: JsonCursor, graph: Graph) -> tuple[Value, ...]:
    """The arguments; raises Malformed if they do not have the types of the graph's parameters."""
    types = [output.type for _, output in graph.arguments[graph.hidden_count :]]
    if len(cursor.raw_list()) != len(types):
        cursor.refuse(plural(len(types), "argument"))
    return tuple(map(_read_argument, cursor.entries(), types))


def _read_argument(cursor: JsonCursor, required: Type) -> Value:
    value = read_value(cursor)
    if not required.admits(type_of(value)):
        cursor.refuse(f"a value of type {required}", f"one of type {type_of(value)}")
    return value


def read_schedule(cursor: JsonCursor) -> Pick | None:
    """The schedule; None if tokens were picked by hand."""
    if cursor.text() == BY_HAND:
        return None
    try:
        if cursor.text().startswith(BY_HAND):
            raise Usage("the positions by hand are in the log itself, not in another file")
        return schedule_named(cursor.text())
    except Usage:
        cursor.refuse(f"one of {', '.join(_LOGGED_SCHEDULES)}")


class ReplayWorld(CallbackReplayWorld):
    """A world in which callbacks return given results, after a check of their types."""

    def __init__(self) -> None:
        super().__init__(self._take_result)
        self.trap: str | None = None
        self.value: Value | None = None

    def set_result(self, value: Value | None, trap: str | None) -> None:
        """Set the result of the next callback, or the reason why it trapped; or neither."""
        self.value, self.trap = value, trap

    def _take_result(self) -> Value:
        if self.trap is not None or self.value is None:
            raise CallbackError(self.trap or "no result of this callback is recorded")
        return self.value

    def call(self, function: str, operands: tuple[Value, ...], returns: Type) -> Value:
        """The given result; raises CallbackError if there is none, or if it has another type."""
        value = super().call(function, operands, returns)
        if not returns.admits(type_of(value)):
            raise CallbackError(f"callback {function} returned {abbreviate(value)}, which is not of type {returns}")
        return value
