"""Time travel over a run: back and forth, to any event, and what would have been otherwise.

A history is the events of a run and a state that stands between two of them. Going over events that are known applies
and reverts them, and computes nothing: so what a firing did outside of the machine, it does not do again. At the end
the run goes on by its schedule, or by hand. What differs from what is known is a **branch**: a history that has the
past in common, with no copy of it, and goes on by itself, *its effects included*.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from weakref import ref

from ...core.display import PlayerMixin, SvgReprMixin
from ...core.errors import Broken, Exhausted, TagloomError, Usage, plural
from ...core.frontend.trace.pytree import TreeDef
from ...core.graph.graph import Graph
from ...core.ops.effect_op import resource_of
from ...core.tag import Tag
from ...core.world import World
from ..engines.limits import Limits, Until, resolve_limits
from ..engines.reference import admit_arguments, breaks_rules, default_structure, first_state
from ..machine.event import Event
from ..machine.schedule import resolve_schedule
from ..machine.schedule import schedule as schedule_named
from ..machine.script import Script
from ..machine.state import State
from ..outcome.statistics import Meter
from ..queries.ask import RunQueries
from ..queries.index import EventIndex
from ..queries.partial_index import PartialIndex
from ..records.event_log import create_log
from ..records.keep import log_path
from ..records.outcome_json import OutcomeRecord
from .edit import Edit, NamedPlace, TokenPlace, apply_edit, build_change, build_injection
from .fast_forward import FastForward
from .moment import Moment, moment
from .replay import open_log
from .run_origin import RunOrigin, parse_schedule
from .segment import KEYFRAME_SPACING, Lineage


class History(FastForward, SvgReprMixin, PlayerMixin):
    """A run that can be gone over, that goes on at its end, and that has branches."""

    parent: History | None
    fork_position: int
    """Where a branch begins: so many events it has in common with its parent."""
    edit: Edit | None
    """The token that was changed there, or injected, if one was."""
    _children: list[ref[History]]
    _fork_count: int
    """How many there have been."""

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
        """The beginning of a run, with the options of `run_graph`; `structure` is how its results nest, and `spacing`
        how many events apart the states are that are kept.

        Raises Usage where the arguments do not fit or an option means nothing, Invalid where the graph breaks a rule.
        """
        schedule = resolve_schedule(schedule)
        name, pick, then = parse_schedule(schedule)
        broken = breaks_rules(graph, unchecked=unchecked)
        admitted = tuple(admit_arguments(graph, arguments))
        nests = structure or default_structure(graph)
        begun = RunOrigin(graph, admitted, name, pick, then, nests, broken, seed, k, spacing)
        limits = resolve_limits(limits)
        self._start(begun, first_state(graph, admitted, schedule, seed, k, world))
        self.limits = limits

    def _start(self, begun: RunOrigin, state: State) -> None:
        meter = Meter(state, is_clocked=state.is_clocked)
        self._reset(begun, Lineage((begun.new_segment(0, meter),)), state, 0)

    def _reset(self, begun: RunOrigin, lineage: Lineage, state: State, position: int) -> None:
        super()._reset(begun, lineage, state, position)
        self.parent, self.fork_position, self.edit = None, 0, None
        self._children, self._fork_count = [], 0

    @property
    def is_fork(self) -> bool:
        """Whether it has a parent."""
        return self.parent is not None

    @property
    def children(self) -> tuple[History, ...]:
        """The branches of this history that somebody still holds, in the order in which they were made."""
        return tuple(child for child in [made() for made in self._children] if child is not None)

    @property
    def ask(self) -> RunQueries:
        """Questions about it, where it stands. It is not kept: a cycle would keep a long history for ever."""
        return RunQueries(self, self.graph, self.arguments, self._index)

    @cached_property
    def _index(self) -> EventIndex:
        """What questions know of the events; where a run knows some, its branches know them too."""
        if not self.base:
            return EventIndex(self.graph, self.arguments)
        return PartialIndex(self.graph, self.arguments, self.base_keyframe.state)

    def _reset_index(self) -> None:
        self.__dict__.pop("_index", None)

    # What if

    def branch(self, name: str | None = None) -> History:
        """A history with the past up to the present position, that goes on from there by itself. Its name, if none is
        given, is that of its parent and a number.

        Firings from there on are new ones, and so are their effects: `repeats` says which of its parent's were some.
        """
        return self._fork(name, None)

    def choose(self, position: int, name: str | None = None) -> History:
        """A branch in which the token at this position of the flight is the next to be delivered, and has been.

        Raises Usage where none is there.
        """
        made = self._fork(name, None)
        made.deliver(position)
        return made

    def change(self, place: TokenPlace | NamedPlace, value: object, name: str | None = None) -> History:
        """A branch in which a token, in flight or waiting, has another value from the present position on. Its place is
        its position in the flight, or the node that it goes to, the port, and its tag: `("fib.add", 0, "main/fib")`.

        Raises Usage where no token is there, and where the value is not of the type that its port takes.
        """
        return self._fork(name, build_change(self.state, place, value))

    def inject(self, node: str, port: int, tag: str | Tag, value: object, name: str | None = None) -> History:
        """A branch in which one token more is in flight, the last of all, that nobody sent: for this port of a node,
        under a tag that is open.

        Raises Usage where no token ever comes there, and where the value is not of the type that the port takes.
        """
        return self._fork(name, build_injection(self.state, node, port, tag, value))

    def _fork(self, name: str | None, change: Edit | None) -> History:
        position, owner = self.position, self
        while owner.parent is not None and position < owner.fork_position:
            owner = owner.parent
        meter = self._lineage.segment_at(position).meter_at(position)
        if change is not None:
            apply_edit(meter.state, change)
        own = self._origin.new_segment(position, meter)
        made = History.__new__(type(self))
        made._reset(self._origin, owner._lineage.fork(own), meter.state, position)
        owner._fork_count += 1
        made.name = name or f"{owner.name}.{owner._fork_count}"
        made.world, made.limits = owner.world, owner.limits
        made.parent, made.fork_position, made.edit = owner, position, change
        made.edits = owner.edits if change is None else (*owner.edits, (position, change))
        if owner._first_manual_event is not None and owner._first_manual_event < position:
            made._first_manual_event = owner._first_manual_event
        if "_index" in self.__dict__:
            made._index = self._index.fork(position)
        owner._children.append(ref(made, owner._children.remove))
        return made

    @property
    def repeats(self) -> tuple[Event, ...]:
        """The effects of the parent that are not in the past of this branch: those that it may do a second time."""
        return () if self.parent is None else self.parent.effects(self.fork_position)

    def effects(self, since: int) -> tuple[Event, ...]:
        """The known events from this position on that did something outside of the machine."""
        nodes = {number for number, node in enumerate(self.graph.nodes) if resource_of(node.op) is not None}
        events = (self[number] for number in (range(since, len(self)) if nodes else ()))
        return tuple(event for event in events if event.token.node in nodes and event.fired)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        said = f"{self.name}: at {self.position:,} of {plural(len(self), 'event')}"
        if self.parent is None:
            return said
        what = "" if self.edit is None else f", with {self.edit.describe(self.graph)}"
        repeats = len(self.repeats)
        twice = f"; {plural(repeats, 'effect')} may happen again" if repeats else ""
        return f"{said}, a branch of {self.parent.name} from {self.fork_position:,} on{what}{twice}"

    def moment(self) -> Moment:
        """What is true here, in words: the last event, the results, what is in flight, and what waits."""
        return moment(self)

    # Logs and scripts

    def script(self) -> Script:
        """The choices of all events that are known, and the schedule that goes on after them, for a run that does the
        same.

        Raises Usage where a token was changed or injected, which no script says.
        """
        if self.edits:
            raise Usage(
                "a what-if is no run of a machine, and has no script", hint="take that of its parent, and the edit"
            )
        return Script(self.choices, self._origin.fallback_schedule)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the log of all events that are known: the one that the run would have written itself.

        Raises Usage where a token was changed or injected, since no machine gives what follows, and where the path
        cannot be written or does not end in .jsonl, or not all events are known.
        """
        if self.edits:
            raise Usage("a what-if is no run of a machine, and has no log", hint="save its parent, and the edit")
        if self._first_manual_event is not None and self.state.is_clocked and self.state.loop_bounds:
            raise Usage("a log cannot say of bounds on loops that a run by hand went by waves", hint='schedule="fifo"')
        events = self.all_events()
        target = log_path(os.fspath(path))
        assert target is not None
        with create_log(target, self.graph, self.arguments, self._effective_schedule(), self.seed, self.bound) as log:
            for event in events:
                log.write_event(event)
            if self._logged_outcome is not None:
                log.write_outcome_record(self._logged_outcome)
            elif self._is_over(self.at(len(self))):
                log.write_outcome(self.outcome())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, world: World | None = None, spacing: int = KEYFRAME_SPACING
    ) -> History:
        """The history of a log, whole or cut short, every event checked; it stands at the end, and can go on, with the
        effects that are new then, and the Python functions that callbacks name, in `world`. One by hand goes on with
        the oldest token. A log does not say how results nest: they come flat.

        Raises what `read_events` raises.
        """
        replay = open_log(os.fspath(path))
        made = cls.__new__(cls)
        graph, then = replay.state.graph, replay.schedule if replay.pick else "fifo"
        pick = replay.pick or schedule_named(then)
        options = default_structure(graph), replay.is_ill_formed, replay.seed, replay.bound, spacing
        made._start(RunOrigin(graph, replay.arguments, replay.schedule, pick, then, *options), replay.state)
        made.world = world or World()
        for event in replay.events():
            made._lineage.last_segment.add(event)
        made.position = len(made)
        if replay.outcome is not None:
            made._restore_outcome(replay.outcome)
        return made

    def _restore_outcome(self, recorded: OutcomeRecord) -> None:
        """The run is over, as a log says."""
        self._logged_outcome, error = recorded, recorded.error
        if recorded.status in _ERROR_TYPES and error is not None:
            self._stop_error = _ERROR_TYPES[recorded.status](error.message, rule=error.rule)
        else:
            self._until = _UNTIL_BY_STATUS.get(recorded.status, "quiet")


_ERROR_TYPES: dict[str, type[TagloomError]] = {"Exhausted": Exhausted, "Broken": Broken}
_UNTIL_BY_STATUS: dict[str, Until] = {"Returned": "result", "Trapped": "trap"}
"""Until when a run may have been told to go on that ended so."""
