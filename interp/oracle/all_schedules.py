"""Exploration of all schedules of a run of a small graph: all choices of the next token to deliver.

Independent deliveries lead to the same state in either order, so the many schedules of a run are paths through far
fewer states. Each state is explored once, depth first, by `apply` and `revert`; the number of schedules from it to each
ending is memoized. The search does not assume that deliveries commute, since it checks that; only `every_firing`, which
is for graphs that keep the rules, assumes it. Nothing is printed during the search, and graphs with other effects are
refused, since effects cannot be undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ...core.errors import Broken, Exhausted, TagloomError, Usage, plural
from ...core.graph.graph import Graph
from ...core.ops.effects import resource_of
from ...core.value import fingerprint
from ...core.world import World
from ..engines.reference import (
    admit_arguments,
    bad_operands_error,
    breaks_rules,
    default_structure,
    first_state,
    out_of_memory_error,
)
from ..machine.event import Event
from ..machine.schedule import BY_HAND
from ..machine.state import State
from ..machine.step import step
from ..outcome.outcome import Outcome, build_outcome
from ..outcome.statistics import Meter

MAX_STATES = 50_000
"""The default limit on states. A run of a dozen firings has a few thousand, of 0.3 ms and 7 KB each; if the firings are
independent, it may have millions."""
MAX_FIRINGS = 250
"""The limit on the firings of one schedule, so that the search of an endless run ends. States also cost more in longer
runs."""
ChooseTokens: TypeAlias = Callable[[State], Sequence[int]]
"""Returns the positions in the flight that a schedule may take next: none only if the flight is empty."""


class ScheduleEnding(NamedTuple):
    """One ending of a run, with the first schedule found that leads to it.

    `script` has the position in the flight for each step, as in a Script; if the run is Broken, the last is the
    position of the failed step. `outcome` has the events. `schedules` is the number of schedules with this ending.
    """

    outcome: Outcome
    script: tuple[int, ...]
    schedules: int


@dataclass(frozen=True, slots=True)
class Exploration:
    """The result of exploring all schedules of a run.

    schedules   the number of schedules: sequences of choices, until the run ends
    states      how many states they pass through, the first and the last included. The order of the flight makes no
                difference between states, nor does the clock of waves; what has fired before does
    endings     the ways in which they end, in the order in which they were found. Two endings are one if they have the
                same status, results and multiset of firings (node, tag, inputs, outputs, trap), values by their bits
    """

    schedules: int
    states: int
    endings: tuple[ScheduleEnding, ...]


def every_token(state: State) -> Sequence[int]:
    """Any token may be delivered next: a schedule is an order of deliveries."""
    return range(len(state.flight))


def every_firing(state: State) -> Sequence[int]:
    """Tokens that only wait are delivered first, so that a schedule is an order of firings.

    The endings equal those of `every_token` if no port gets a second token, and no cell a second value: delivering a
    token that only waits disables no other delivery, and the firing that it takes part in happens when its last operand
    is delivered, in either order.
    """
    waiting_positions = (position for position in range(len(state.flight)) if not step(state, position).is_firing)
    first = next(waiting_positions, None)
    return range(len(state.flight)) if first is None else (first,)


def explore(
    graph: Graph,
    arguments: Sequence[object],
    *,
    choices: ChooseTokens = every_token,
    states: int = MAX_STATES,
    unchecked: bool = False,
    seed: int = 0,
    k: int | None = None,
) -> Exploration:
    """Run a graph on arguments under every schedule, until it is quiescent; the options are those of `run_graph`.

    Raises Exhausted if there are more than `states` states, or if one schedule has more than MAX_FIRINGS firings; Usage
    if the arguments do not fit or the graph has callbacks; and Invalid if it breaks a rule, unless `unchecked`, as
    `run_graph` does.
    """
    is_ill_formed = breaks_rules(graph, unchecked=unchecked)
    search = _StateSearch(initial_state(graph, arguments, seed, k), is_ill_formed, choices, states)
    counts = search.run()
    sorted_endings = sorted(search.endings.values(), key=lambda pair: pair[0])
    endings = tuple(ScheduleEnding(outcome, script, counts[number]) for number, outcome, script in sorted_endings)
    return Exploration(counts.total(), len(search.visited), endings)


def state_key(state: State) -> Hashable:
    """A key of a state. It ignores the order of the flight, and the clock of `waves`. It does not cover past firings
    completely: see `firing_key`."""
    flight, records, results, traps, (*counts, _), *further_state = state.snapshot()
    return frozenset(Counter(flight).items()), _freeze([records, results, counts, further_state]), len(traps)


def firing_key(event: Event) -> Hashable:
    """A key of a firing, whenever it happens: node, tag, inputs, outputs and trap, with values by their bits."""
    inputs = tuple(map(fingerprint, event.inputs or ()))
    outputs = tuple((output, fingerprint(value)) for output, value in event.outputs)
    return event.token.node, event.token.tag, inputs, outputs, event.trap


def _freeze(data: Any) -> Hashable:
    """A hashable form of plain data. Named tuples, such as tags, which may be deep, are left unchanged."""
    if isinstance(data, dict):
        return frozenset((key, _freeze(value)) for key, value in data.items())
    return tuple(map(_freeze, data)) if type(data) in (list, tuple) else data


@dataclass(slots=True)
class _SearchNode:
    """A state on the current path: its key, the choices left, and the number of schedules found, by ending."""

    key: Hashable
    remaining_choices: Iterator[int]
    ending_counts: Counter[int] = field(default_factory=Counter)


class _StateSearch:
    """A depth-first search: `state` is the current state, and `events` led to it."""

    def __init__(self, state: State, is_ill_formed: bool, choices: ChooseTokens, max_states: int) -> None:
        self.state, self.is_ill_formed, self.choices, self.max_states = state, is_ill_formed, choices, max_states
        self.events: list[Event] = []
        self.firing_counts: Counter[Hashable] = Counter()
        self.visited: dict[Hashable, Counter[int]] = {}
        """For each finished state, the number of schedules from it to each ending."""
        self.endings: dict[Hashable, tuple[int, Outcome, tuple[int, ...]]] = {}

    def run(self) -> Counter[int]:
        """The number of schedules from the first state to each ending."""
        path = [self._search_node(self.search_key())]
        while True:
            search_node = path[-1]
            position = next(search_node.remaining_choices, None)
            if position is not None:
                self.try_position(path, search_node, position)
                continue
            if not self.state.flight:
                search_node.ending_counts[self.find_ending(None)] += 1
            self.visited[search_node.key] = path.pop().ending_counts
            if not path:
                return search_node.ending_counts
            self.backtrack()
            path[-1].ending_counts.update(search_node.ending_counts)

    def try_position(self, path: list[_SearchNode], search_node: _SearchNode, position: int) -> None:
        """Deliver the token at a position, and descend if the state is new."""
        event = try_step(self.state, position, self.is_ill_formed)
        if isinstance(event, TagloomError):
            search_node.ending_counts[self.find_ending(event, position)] += 1
            return
        self.state.apply(event)
        self.events.append(event)
        if event.is_firing:
            self.firing_counts[firing_key(event)] += 1
            if self.state.firings > MAX_FIRINGS:
                raise _search_limit_error(plural(MAX_FIRINGS, "firing"), "a longer one, or an endless one, cannot")
        key = self.search_key()
        if key in self.visited:
            search_node.ending_counts.update(self.visited[key])
            self.backtrack()
            return
        if len(self.visited) + len(path) >= self.max_states:
            raise _search_limit_error(plural(self.max_states, "state"), "--max-states N allows more")
        path.append(self._search_node(key))

    def backtrack(self) -> None:
        """Revert the last event."""
        event = self.events.pop()
        self.state.revert(event)
        if event.is_firing:
            self.firing_counts -= Counter([firing_key(event)])

    def _search_node(self, key: Hashable) -> _SearchNode:
        return _SearchNode(key, iter(self.choices(self.state)))

    def search_key(self) -> Hashable:
        """A key of the current state and all firings that led to it."""
        return state_key(self.state), frozenset(self.firing_counts.items())

    def find_ending(self, error: TagloomError | None, *position: int) -> int:
        """The number of the ending in the current state; a new ending is recorded."""
        outcome = _current_outcome(self.state, error, self.events)
        results = tuple(None if value is None else fingerprint(value) for value in outcome.results)
        rule = error and error.rule
        identity = outcome.status, rule, results, frozenset(self.firing_counts.items())
        script = (*(event.position for event in self.events), *position)
        return self.endings.setdefault(identity, (len(self.endings), outcome, script))[0]


def initial_state(graph: Graph, arguments: Sequence[object], seed: int, k: int | None) -> State:
    """The first state of every schedule."""
    effects = [node for node in graph.nodes if node.op != "print" and resource_of(node.op) is not None]
    if effects:
        hint = "the effects of a callback cannot be undone"
        raise Usage("this cannot be run under every schedule", where=effects[0].origin, got=effects[0].op, hint=hint)
    return first_state(graph, admit_arguments(graph, arguments), "fifo", seed, k, World(lambda line: None))


def try_step(state: State, position: int, is_ill_formed: bool) -> Event | TagloomError:
    """The event of a step, or its error; raises Exhausted if a result does not fit into memory."""
    try:
        return step(state, position)
    except MemoryError:
        raise out_of_memory_error(state, position) from None
    except Broken as error:
        return error
    except Exception:
        if not is_ill_formed:
            raise
        return bad_operands_error(state, position)


def _current_outcome(state: State, error: TagloomError | None, events: Sequence[Event]) -> Outcome:
    stats = Meter(state, is_clocked=False).stats()
    structure = default_structure(state.graph)
    kept_events = tuple(events)
    return build_outcome(
        state,
        stats,
        error,
        "quiet",
        schedule=BY_HAND,
        engine="reference",
        structure=structure,
        kept_events=kept_events,
    )


def _search_limit_error(limit: str, hint: str) -> Exhausted:
    """The error for a run that exceeds a limit of the search."""
    return Exhausted(
        f"the schedules of this run pass through more than {limit}",
        rule="S12",
        hint=f"only small runs, of a dozen firings or so, can be run under every schedule; {hint}",
    )
