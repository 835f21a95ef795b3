"""Reading event logs: every event is checked against the machine, which is run along.

A log is believed line by line. An event that is not what `step` gives on the state so far is a Disagreement that
names the line, what was required there and what was got; a line that is no event at all is Malformed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

from ..core.document.cursor import Cursor, form_of, parse
from ..core.document.graph import read_graph
from ..core.document.value import read_site, read_value
from ..core.errors import Disagreement, Malformed, Usage
from ..core.frontend.structure import LEAF
from ..core.graph import Graph
from ..core.tag import Site
from ..core.validate_graph import graph_problems
from ..core.value import Value
from .event import Event
from .log import event_text
from .log_line import OpenTags, differences
from .measure import Meter
from .outcome import ending
from .record import OutcomeRecord, outcome_differences, read_outcome, record
from .reference import admit_arguments, refusal
from .schedule import Pick
from .schedule import schedule as schedule_named
from .state import State
from .step import step

BY_HAND = "hand"
"""The schedule of a log whose tokens were picked in no order that has a name."""


class EventLog(NamedTuple):
    """A log that has been read: what ran on what, and what happened. `outcome` is None where the run was cut short."""

    graph: Graph
    arguments: tuple[Value, ...]
    schedule: str
    events: tuple[Event, ...]
    outcome: OutcomeRecord | None


def read_events(path: str | Path) -> EventLog:
    """The log at this path, every event checked by replay.

    Raises Malformed where a line is no line of a log, Disagreement where it is not what the machine does, Invalid
    where the graph cannot be run at all, and Usage where the file cannot be read.
    """
    replay = open_log(path)
    events = tuple(replay.events())
    return EventLog(replay.state.graph, replay.arguments, replay.schedule, events, replay.outcome)


def open_log(path: str | Path) -> Replay:
    """The log at this path, its first line read."""
    return Replay(_lines(Path(path)))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise Usage("this log cannot be read", got=path, hint=error.strerror) from None


class Replay:
    """A log that is read line by line while the machine runs along. `outcome` is there when all has been read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        first = next(lines, b"")
        graph, arguments, self.schedule, self.sites = _header(Cursor(parse(first, "line 1: $"), "line 1: $"))
        problems = graph_problems(graph)
        shapeless = [problem for problem in problems if problem.rule in ("V7", "V15")]
        if shapeless:
            raise refusal(shapeless)
        self.arguments = tuple(admit_arguments(graph, arguments))
        self.state = State(graph, self.arguments)
        self.outcome: OutcomeRecord | None = None
        self.pick: Pick | None = None if self.schedule == BY_HAND else schedule_named(self.schedule)
        self.broken = bool(problems)
        self.tags = OpenTags()
        self._lines = lines
        self._meter = Meter(self.state, clocked=self.schedule == "waves")

    def events(self) -> Iterator[Event]:
        """Every event, after the state has done it."""
        for number, line in enumerate(self._lines, 2):
            where = f"line {number}"
            event = self._as_foretold(line)
            if event is None:
                if not line.endswith(b"\n") and _is_cut_short(line):
                    return
                event = self._line(Cursor(parse(line, f"{where}: $"), f"{where}: $"), where)
            if event is not None:
                self._apply(event, where)
                yield event

    def _apply(self, event: Event, where: str) -> None:
        try:
            self.state.apply(event)
        except Exception as error:
            if not self.broken:
                raise
            _differ(where, "line", f"the end of the run: {error!r}", "an event")
        self._meter.see(event)
        self.tags.close(event)

    def _as_foretold(self, line: bytes) -> Event | None:
        """The next event, if the line is to the letter what this machine would write: 15 us instead of 85."""
        if self.pick is None or not line.startswith(b'{"deliver"') or not self.state.flight or self.outcome:
            return None
        event = self._step(self.pick(self.state))
        if isinstance(event, Event):
            self.tags.name(event)
            try:
                return event if event_text(event, self.tags.numbers).encode() == line else None
            except KeyError:
                pass
        return None

    def _step(self, position: int) -> Event | Exception:
        try:
            return step(self.state, position)
        except Exception as error:
            if not self.broken:
                raise
            return error

    def _line(self, at: Cursor, where: str) -> Event | None:
        if self.outcome is not None:
            at.refuse("the end of the log, after the outcome")
        if at.has("deliver"):
            return self._event(at, where)
        if at.has("tag"):
            self.tags.declare(at, self.sites)
        else:
            outcome = at.fields("outcome")[0]
            form_of(outcome, ("outcome",))
            claimed = read_outcome(outcome)
            self._check_outcome(claimed, where)
            self.outcome = claimed
        return None

    def _event(self, at: Cursor, where: str) -> Event:
        """The event that a line says, which must be the one that the machine gives."""
        position = at.key("position").integer(0) if at.has("position") else 0
        if position >= len(self.state.flight):
            _differ(where, "position", f"below {len(self.state.flight)}, the tokens in flight", position)
        if self.pick is not None and position != self.pick(self.state):
            _differ(where, "position", f"{self.pick(self.state)}, under {self.schedule}", position)
        wanted = self._step(position)
        if not isinstance(wanted, Event):
            _differ(where, "line", f"the end of the run: {wanted}", "an event")
        self.tags.name(wanted)
        for key, required, got in differences(at, wanted, self.tags.numbers):
            _differ(where, key, required, got)
        return wanted

    def _check_outcome(self, claimed: OutcomeRecord, where: str) -> None:
        """What an outcome says of the state must hold of it; why the run ended is its own to say."""
        ended = ending(
            self.state, self._meter.stats(), None, "quiet",
            schedule=self.schedule, engine="reference", structure=LEAF,
        )  # fmt: skip
        mine = record(ended)
        for key, required, got in outcome_differences(mine, claimed):
            _differ(where, key, required, got)
        allowed = {"Exhausted", "Broken"} if self.broken else {"Exhausted"}
        allowed |= {mine.status} if not self.state.flight else set()
        allowed |= {"Returned"} if not ended.missing else set()
        allowed |= {"Trapped"} if self.state.traps else set()
        if claimed.status not in allowed:
            _differ(where, "status", " or ".join(sorted(allowed)), claimed.status)


def _differ(where: str, key: str, required: object, got: object) -> NoReturn:
    raise Disagreement(f"not what the machine gives: {key}", where=where, required=required, got=got)


def _is_cut_short(line: bytes) -> bool:
    try:
        parse(line)
    except Malformed:
        return True
    return False


def _header(at: Cursor) -> tuple[Graph, tuple[Value, ...], str, tuple[Site, ...]]:
    form_of(at, ("events",))
    _, _, graph, arguments, schedule, sites = at.fields("tagloom", "version", "graph", "arguments", "schedule", "sites")
    form_of(graph, ("graph",))
    return read_graph(graph), arguments.each(read_value), schedule.text(), sites.each(read_site)
