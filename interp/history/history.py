"""Histories: time travel over a run, back and forth, to any event, and into forks.

A history consists of the events of a run, and a state at a position between two of them. Moving over known events
applies and reverts them and computes nothing, so no effect on the outside world is repeated. At the end the run
continues by its schedule, or by hand. A **fork** is a history that shares the past of another, without a copy, and
continues independently, *its effects included*.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import ref

from ...core.display import PlayerMixin, SvgReprMixin
from ...core.errors import Broken, Exhausted, TagloomError, Usage, plural
from ...core.frontend.trace.pytree import TreeDef
from ...core.graph.graph import Graph
from ...core.ops.effects import resource_of
from ...core.tag import Tag
from ...core.world import World
from ..engines.limits import Limits, resolve_limits
from ..engines.protocol import Until
from ..engines.reference import admit_arguments, breaks_rules, default_structure, first_state
from ..machine.event import Event, Token
from ..machine.schedule import Script, resolve_schedule
from ..machine.schedule import schedule as schedule_named
from ..machine.state import State
from ..outcome.outcome import describe_value
from ..outcome.statistics import Meter
from ..outcome.worker_lanes import Crossing, WorkerLanes, crossings
from ..queries.ask import RunQueries
from ..queries.index import EventIndex, PartialIndex
from ..records.documents import OutcomeRecord, to_outcome_record
from ..records.event_sink import create_log, log_path
from .advance import Advance
from .edit import Edit, NamedPlace, TokenPlace, apply_edit, build_change, build_injection
from .fast_forward import FastForward
from .replay import open_log
from .segment import KEYFRAME_SPACING, Lineage, RunOrigin, parse_schedule


class History(FastForward, SvgReprMixin, PlayerMixin):
    """A run that can be stepped back and forth, that continues at its end, and that can be forked."""

    parent: History | None
    fork_position: int
    """The position where a fork begins: the number of events shared with its parent."""
    edit: Edit | None
    """The edit at the beginning of the fork, if any."""
    lanes: WorkerLanes | None
    """The workers of the events of a log, if several workers made them."""
    _children: list[ref[History]]
    _fork_count: int
    """The number of forks made so far."""

    def __init__(
        self,
        graph: Graph,
        arguments: Sequence[object],
        *,
        schedule: str | Script = "waves",
        limits: Limits | None = None,
        unchecked: bool = False,
        structure: TreeDef | None = None,
        seed: int = 0,
        k: int | None = None,
        world: World | None = None,
        spacing: int = KEYFRAME_SPACING,
    ) -> None:
        """A history at the beginning of a run, with the options of `run_graph`. `structure` says how its results nest,
        and `spacing` is the number of events between keyframes.

        Raises Usage if the arguments do not fit or an option is invalid, Invalid if the graph breaks a rule.
        """
        schedule = resolve_schedule(schedule)
        name, pick, fallback = parse_schedule(schedule)
        is_ill_formed = breaks_rules(graph, unchecked=unchecked)
        admitted = tuple(admit_arguments(graph, arguments))
        structure = structure or default_structure(graph)
        origin = RunOrigin(graph, admitted, name, pick, fallback, structure, is_ill_formed, seed, k, spacing)
        limits = resolve_limits(limits)
        self._start(origin, first_state(graph, admitted, schedule, seed, k, world))
        self.limits = limits

    def _start(self, origin: RunOrigin, state: State) -> None:
        meter = Meter(state, is_clocked=state.is_clocked)
        self._reset(origin, Lineage((origin.new_segment(0, meter),)), state, 0)

    def _reset(self, origin: RunOrigin, lineage: Lineage, state: State, position: int) -> None:
        super()._reset(origin, lineage, state, position)
        self.parent, self.fork_position, self.edit, self.lanes = None, 0, None, None
        self._children, self._fork_count = [], 0

    @property
    def is_fork(self) -> bool:
        """Whether it has a parent."""
        return self.parent is not None

    @property
    def children(self) -> tuple[History, ...]:
        """The forks of this history that are still referenced, in the order in which they were made."""
        return tuple(child for child in [reference() for reference in self._children] if child is not None)

    @property
    def ask(self) -> RunQueries:
        """Queries about the run at the current position. The object is not cached, since a reference cycle would keep a
        long history alive."""
        return RunQueries(self, self.graph, self.arguments, self._index)

    @cached_property
    def _index(self) -> EventIndex:
        """The index of events that queries use; forks inherit it."""
        if not self.base:
            return EventIndex(self.graph, self.arguments, lanes=self.lanes)
        return PartialIndex(self.graph, self.arguments, self.base_keyframe.state)

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """The tokens that went from one worker to another, if several workers made the events."""
        return () if self.lanes is None else tuple(crossings(self.lanes, self[: len(self.lanes.ranks)]))

    def _reset_index(self) -> None:
        self.__dict__.pop("_index", None)

    # Forks

    def branch(self, name: str | None = None) -> History:
        """Fork at the current position: a history with the same past that continues independently. Its default name is
        the name of its parent and a number.

        Firings from there on are new, and so are their effects: `repeats` lists the parent's effects that may happen
        again.
        """
        return self._fork(name, None)

    def choose(self, position: int, name: str | None = None) -> History:
        """A fork in which the token at this position of the flight is delivered next; it is positioned after that
        event.

        Raises Usage if no token is there.
        """
        fork = self._fork(name, None)
        fork.deliver(position)
        return fork

    def change(self, place: TokenPlace | NamedPlace, value: object, name: str | None = None) -> History:
        """A fork in which a token, in flight or waiting, has another value from the current position on. Its place is
        its position in the flight, or its node, port and tag: `("fib.add", 0, "main/fib")`.

        Raises Usage if no token is there, or if the value does not have the type of the port.
        """
        return self._fork(name, build_change(self.state, place, value))

    def inject(self, node: str, port: int, tag: str | Tag, value: object, name: str | None = None) -> History:
        """A fork with one more token at the end of the flight, which no firing sent: for this port of a node, under an
        open tag.

        Raises Usage if no token can ever arrive there, or if the value does not have the type of the port.
        """
        return self._fork(name, build_injection(self.state, node, port, tag, value))

    def _fork(self, name: str | None, change: Edit | None) -> History:
        position, owner = self.position, self
        while owner.parent is not None and position < owner.fork_position:
            owner = owner.parent
        meter = self._lineage.segment_at(position).meter_at(position)
        if change is not None:
            apply_edit(meter.state, change)
        segment = self._origin.new_segment(position, meter)
        fork = History.__new__(type(self))
        fork._reset(self._origin, owner._lineage.fork(segment), meter.state, position)
        owner._fork_count += 1
        fork.name = name or f"{owner.name}.{owner._fork_count}"
        fork.world, fork.limits = owner.world, owner.limits
        fork.parent, fork.fork_position, fork.edit = owner, position, change
        fork.lanes = None if owner.lanes is None else owner.lanes.until(position)
        fork.edits = owner.edits if change is None else (*owner.edits, (position, change))
        if owner._first_manual_event is not None and owner._first_manual_event < position:
            fork._first_manual_event = owner._first_manual_event
        if "_index" in self.__dict__:
            fork._index = self._index.fork(position)
        owner._children.append(ref(fork, owner._children.remove))
        return fork

    @property
    def repeats(self) -> tuple[Event, ...]:
        """The effects of the parent after the fork, which the fork may repeat."""
        return () if self.parent is None else self.parent.effects(self.fork_position)

    def effects(self, since: int) -> tuple[Event, ...]:
        """The known events from this position on that had an effect on the outside world."""
        nodes = {number for number, node in enumerate(self.graph.nodes) if resource_of(node.op) is not None}
        events = (self[number] for number in (range(since, len(self)) if nodes else ()))
        return tuple(event for event in events if event.token.node in nodes and event.is_firing)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        position = f"{self.name}: at {self.position:,} of {plural(len(self), 'event')}"
        if self.parent is None:
            return position
        edit = "" if self.edit is None else f", with {self.edit.describe(self.graph)}"
        repeats = len(self.repeats)
        warning = f"; {plural(repeats, 'effect')} may happen again" if repeats else ""
        return f"{position}, a fork of {self.parent.name} from {self.fork_position:,} on{edit}{warning}"

    def moment(self) -> Moment:
        """The current state in words: the last event, the results, the flight, the waiting tokens, and the full
        cells."""
        return moment(self)

    # Logs and scripts

    def script(self) -> Script:
        """A script that repeats all known events, and then continues by the schedule.

        Raises Usage if a token was changed or injected, which a script cannot express.
        """
        if self.edits:
            raise Usage("a fork with an edit has no script", hint="take the script of its parent, and repeat the edit")
        return Script(self.choices, self._origin.fallback_schedule)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a log of all known events, as a run with `keep` would have written it.

        Raises Usage if a token was changed or injected, since no machine would make those events; if the path cannot be
        written or does not end in .jsonl or .npz; or if not all events are known.
        """
        if self.edits:
            raise Usage("a fork with an edit has no log", hint="save the log of its parent, and repeat the edit")
        if self._first_manual_event is not None and self.state.is_clocked and self.state.loop_bounds:
            raise Usage("a log cannot record a run by hand under waves with k-bounds", hint='schedule="fifo"')
        events = self.all_events()
        target = log_path(os.fspath(path))
        assert target is not None
        with create_log(target, self.graph, self.arguments, self._effective_schedule(), self.seed, self.bound) as log:
            for event in events:
                log.write_event(event)
            if self.lanes is not None and len(self.lanes.ranks) == len(self):
                log.write_lanes(self.lanes)
            if self._logged_outcome is not None:
                log.write_outcome(self._logged_outcome)
            elif self._is_over(self.at(len(self))):
                log.write_outcome(to_outcome_record(self.outcome()))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, world: World | None = None, spacing: int = KEYFRAME_SPACING
    ) -> History:
        """The history of a log, complete or cut short, with every event checked. It is positioned at the end and can
        continue, with new effects, and the Python functions of callbacks, in `world`. A run by hand continues with the
        oldest token. Results are not nested, since a log does not record how they nest.

        Raises as `read_events` does.
        """
        replay = open_log(os.fspath(path))
        history = cls.__new__(cls)
        graph, fallback = replay.state.graph, replay.schedule if replay.pick else "fifo"
        pick = replay.pick or schedule_named(fallback)
        options = default_structure(graph), replay.is_ill_formed, replay.seed, replay.bound, spacing
        history._start(RunOrigin(graph, replay.arguments, replay.schedule, pick, fallback, *options), replay.state)
        history.world = world or World()
        for event in replay.events():
            history._lineage.last_segment.add(event)
        history.position, history.lanes = len(history), replay.lanes
        if replay.outcome is not None:
            history._restore_outcome(replay.outcome)
        return history

    def _restore_outcome(self, recorded: OutcomeRecord) -> None:
        """Mark the run as over, as a log says."""
        self._logged_outcome, error = recorded, recorded.error
        if recorded.status in _ERROR_TYPES and error is not None:
            self._stop_error = _ERROR_TYPES[recorded.status](error.message, rule=error.rule)
        else:
            self._until = _UNTIL_BY_STATUS.get(recorded.status, "quiet")


_ERROR_TYPES: dict[str, type[TagloomError]] = {"Exhausted": Exhausted, "Broken": Broken}
_UNTIL_BY_STATUS: dict[str, Until] = {"Returned": "result", "Trapped": "trap"}
"""The `until` that a run may have had, by the status in which it ended."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a run at one position, in words; values are literals of the text form."""

    event: str
    """The last event: `main.add under main/fib: 1, 2 -> 3`, or `5 came to port 0 of main.add under main, and stays`;
    empty at the beginning."""
    results: tuple[str, ...]
    """The results that have arrived: `0: 8`."""
    flight: tuple[str, ...]
    """The tokens in flight, in order: `3 for port 0 of main.add under main`."""
    waiting_tokens: tuple[str, ...]
    """The tokens that wait for other operands, are deferred reads, or are throttled, in alphabetical order."""
    cells: tuple[str, ...]
    """The full cells, in the order in which they were made: `2 of main.cells under main: 7`."""

    def __str__(self) -> str:
        """One line per entry, as `tagloom debug` writes it into tests."""
        parts = (
            ("result", self.results),
            ("flight:", self.flight),
            ("waits:", self.waiting_tokens),
            ("cell", self.cells),
        )
        lines = (f"{word} {entry}" for word, part in parts for entry in part)
        return "\n".join([f"event: {self.event}".rstrip(), *lines])


def moment(history: Advance) -> Moment:
    """The moment at the current position of a history."""
    graph, state = history.graph, history.state
    tokens = [
        Token(node, port, tag, value)
        for tag, record in state.records.items()
        for node, operands in record.waiting_operands.items()
        for port, value in operands.items()
    ]
    tokens += [
        token for block in state.cells.blocks.values() for reads in block.deferred_reads.values() for token in reads
    ]
    tokens += [token for entries in state.throttled_tokens.values() for _, token in entries]
    return Moment(
        "" if history.last_event is None else describe_event(graph, history.last_event),
        tuple(f"{position}: {describe_value(graph, value)}" for position, value in sorted(state.results.items())),
        tuple(describe_token(graph, token) for token in state.flight),
        tuple(sorted(describe_token(graph, token) for token in tokens)),
        tuple(describe_cells(graph, state)),
    )


def describe_cells(graph: Graph, state: State) -> Iterator[str]:
    """The full cells in words. A cell that was stored to twice has its first value."""
    for handle, block in state.cells.blocks.items():
        for number, writes in sorted(block.writes.items()):
            yield f"{number} of {describe_value(graph, handle)}: {describe_value(graph, writes[0].inputs[2])}"


def describe_token(graph: Graph, token: Token) -> str:
    """A token in words: `3 for port 0 of fib.add under main/fib`."""
    return f"{describe_value(graph, token.value)} for port {token.port} of {graph.nodes[token.node]} under {token.tag}"


def describe_event(graph: Graph, event: Event) -> str:
    """An event in words: `fib.add under main/fib: 1, 2 -> 3 at 0`, or, without a firing, the port at which the token
    waits."""
    token = event.token
    location = f"{graph.nodes[token.node]} under {token.tag}"
    if event.inputs is None:
        return f"{describe_value(graph, token.value)} came to port {token.port} of {location}, and stays"
    inputs = ", ".join(describe_value(graph, value) for value in event.inputs)
    outputs = ", ".join(f"{describe_value(graph, value)} at {output}" for output, value in event.outputs)
    return f"{location}: {inputs} -> {event.trap or outputs or 'nothing'}"
