"""Every schedule of a run: all the choices of the token that is delivered next. For small graphs.

Two deliveries that do not concern each other lead to the same state in either order, so the schedules of a run are the
paths through far fewer states. Each state is walked from once, depth first, by `apply` and `revert`; how many schedules
lead on from it, and to which endings, is known from then on. That deliveries commute is nowhere taken for granted,
since it is what is checked here; but for `every_firing`, which is for graphs that keep the rules. Nothing is printed
on the way, and graphs with other effects are not run: what they do cannot be undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ...core.errors import Broken, Exhausted, TagloomError, Usage, counted
from ...core.graph.graph import Graph
from ...core.ops.effect_op import resource_of
from ...core.value import fingerprint
from ...core.world import World
from ..engines.reference import admit_arguments, breaks_rules, cannot_take, first_state, out_of_memory, structure_of
from ..machine.event import Event
from ..machine.schedule import BY_HAND
from ..machine.state import State
from ..machine.step import step
from ..outcome.outcome import Outcome, ending
from ..outcome.statistics import Meter

STATES = 50_000
"""How many states are walked through, unless told otherwise: a dozen firings have a few thousand, of 0.3 ms and 7 KB
each. A dozen that do not depend on each other may have millions."""
FIRINGS = 250
"""How many firings one schedule may have: what goes on for ever is to end soon, and a state costs more the longer the
run was."""
Choices: TypeAlias = Callable[[State], Sequence[int]]
"""The positions of the flight that a schedule may take next; none only where it is empty."""


class Ending(NamedTuple):
    """One of the ways in which a run ends, with the first schedule that led there.

    `script` is the position in the flight of the token that each step takes, as in a Script; where the run is Broken,
    the last is that of the step that could not be made. `outcome` has the events. `schedules` is how many schedules end
    so.
    """

    outcome: Outcome
    script: tuple[int, ...]
    schedules: int


@dataclass(frozen=True, slots=True)
class Exploration:
    """What all schedules of a run gave.

    schedules   how many there are: sequences of choices, until the run ends
    states      how many states they pass through, the first and the last included. The order of the flight makes no
                difference between states, nor does the clock of waves; what has fired before does
    endings     the ways in which they end, in the order in which they were found. Two endings are one if they have the
                same status, results and multiset of firings (node, tag, inputs, outputs, trap), values by their bits
    """

    schedules: int
    states: int
    endings: tuple[Ending, ...]


def every_token(state: State) -> Sequence[int]:
    """Any token may be delivered next: a schedule is an order of deliveries."""
    return range(len(state.flight))


def every_firing(state: State) -> Sequence[int]:
    """Tokens that only wait are delivered at once, so that a schedule is an order of firings.

    The endings are those of `every_token` where no port gets a second token, and no cell a second value: a token that
    waits takes nothing from another, and when its partner fires instead of it, what is sent can still be delivered
    whenever it would have been.
    """
    waits = (position for position in range(len(state.flight)) if not step(state, position).fired)
    first = next(waits, None)
    return range(len(state.flight)) if first is None else (first,)


def explore(
    graph: Graph,
    arguments: Sequence[object],
    *,
    choices: Choices = every_token,
    states: int = STATES,
    unchecked: bool = False,
    seed: int = 0,
    k: int | None = None,
) -> Exploration:
    """Run a graph on arguments under every schedule, each until it is quiet; the options are those of `run_graph`.

    Raises Exhausted where there are more than `states` states, or one schedule has more than FIRINGS firings; Usage
    where the arguments do not fit or the graph has callbacks, and Invalid where it breaks a rule, unless `unchecked`,
    as `run_graph` does.
    """
    broken = breaks_rules(graph, unchecked=unchecked)
    walk = _Walk(_first_state(graph, arguments, seed, k), broken, choices, states)
    counts = walk.run()
    found = sorted(walk.endings.values(), key=lambda each: each[0])
    endings = tuple(Ending(outcome, script, counts[number]) for number, outcome, script in found)
    return Exploration(counts.total(), len(walk.known), endings)


def canonical(state: State) -> Hashable:
    """A key of a state, the same for two states if they differ in the order of the flight alone, and in the clock of
    waves, which no other schedule heeds. What fired before is not all in it: see `firing`."""
    flight, records, results, traps, (*counts, _), *more = state.snapshot()
    return frozenset(Counter(flight).items()), _frozen([records, results, counts, more]), len(traps)


def firing(event: Event) -> Hashable:
    """What fired, apart from when: node, tag, inputs, outputs and trap, values by their bits."""
    inputs = tuple(map(fingerprint, event.inputs or ()))
    outputs = tuple((output, fingerprint(value)) for output, value in event.outputs)
    return event.token.node, event.token.tag, inputs, outputs, event.trap


def _frozen(data: Any) -> Hashable:
    """Plain data as something hashable. Named tuples, as tags are, stay whole: a tag is as deep as the run."""
    if isinstance(data, dict):
        return frozenset((key, _frozen(value)) for key, value in data.items())
    return tuple(map(_frozen, data)) if type(data) in (list, tuple) else data


@dataclass(slots=True)
class _Place:
    """A state on the path that is being walked: its key, the choices left, and the schedules found, by ending."""

    key: Hashable
    left: Iterator[int]
    counts: Counter[int] = field(default_factory=Counter)


class _Walk:
    """The walk through all states; where it stands is `state`, and how it came there `events`."""

    def __init__(self, state: State, broken: bool, choices: Choices, most: int) -> None:
        self.state, self.broken, self.choices, self.most = state, broken, choices, most
        self.events: list[Event] = []
        self.fired: Counter[Hashable] = Counter()
        self.known: dict[Hashable, Counter[int]] = {}
        """Of every state that is done with, how many schedules lead from it to each ending."""
        self.endings: dict[Hashable, tuple[int, Outcome, tuple[int, ...]]] = {}

    def run(self) -> Counter[int]:
        """How many schedules lead from the first state to each ending."""
        path = [self._place(self._key())]
        while True:
            place = path[-1]
            position = next(place.left, None)
            if position is not None:
                self._try(path, place, position)
                continue
            if not self.state.flight:
                place.counts[self._ending(None)] += 1
            self.known[place.key] = path.pop().counts
            if not path:
                return place.counts
            self._back()
            path[-1].counts.update(place.counts)

    def _try(self, path: list[_Place], place: _Place, position: int) -> None:
        """Take a position, and stay there if the state is new."""
        made = _attempt(self.state, position, self.broken)
        if isinstance(made, TagloomError):
            place.counts[self._ending(made, position)] += 1
            return
        self.state.apply(made)
        self.events.append(made)
        if made.fired:
            self.fired[firing(made)] += 1
            if self.state.firings > FIRINGS:
                raise _too_large(counted(FIRINGS, "firing"), "a longer one, or an endless one, cannot")
        key = self._key()
        if key in self.known:
            place.counts.update(self.known[key])
            self._back()
            return
        if len(self.known) + len(path) >= self.most:
            raise _too_large(counted(self.most, "state"), "--max-states N allows more")
        path.append(self._place(key))

    def _back(self) -> None:
        event = self.events.pop()
        self.state.revert(event)
        if event.fired:
            self.fired -= Counter([firing(event)])

    def _place(self, key: Hashable) -> _Place:
        return _Place(key, iter(self.choices(self.state)))

    def _key(self) -> Hashable:
        return canonical(self.state), frozenset(self.fired.items())

    def _ending(self, stopped: TagloomError | None, *more: int) -> int:
        """The number of the ending that is here."""
        outcome = _ended(self.state, stopped, self.events)
        results = tuple(None if value is None else fingerprint(value) for value in outcome.results)
        rule = stopped and stopped.rule
        identity = outcome.status, rule, results, frozenset(self.fired.items())
        script = (*(event.position for event in self.events), *more)
        return self.endings.setdefault(identity, (len(self.endings), outcome, script))[0]


def _first_state(graph: Graph, arguments: Sequence[object], seed: int, k: int | None) -> State:
    """The state that every schedule begins in."""
    lasting = [node for node in graph.nodes if node.op != "print" and resource_of(node.op) is not None]
    if lasting:
        hint = "what a callback does cannot be undone"
        raise Usage("this cannot be run under every schedule", where=lasting[0].where, got=lasting[0].op, hint=hint)
    return first_state(graph, admit_arguments(graph, arguments), "fifo", seed, k, World(lambda line: None))


def _attempt(state: State, position: int, broken: bool) -> Event | TagloomError:
    """What the step does, or how it breaks; raises Exhausted where a result does not fit into memory."""
    try:
        return step(state, position)
    except MemoryError:
        raise out_of_memory(state, position) from None
    except Broken as error:
        return error
    except Exception:
        if not broken:
            raise
        return cannot_take(state, position)


def _ended(state: State, stopped: TagloomError | None, events: Sequence[Event]) -> Outcome:
    stats = Meter(state, clocked=False).stats()
    structure = structure_of(state.graph)
    kept = tuple(events)
    return ending(state, stats, stopped, "quiet", schedule=BY_HAND, engine="reference", structure=structure, kept=kept)


def _too_large(limit: str, more: str) -> Exhausted:
    """The run has more than is walked through."""
    return Exhausted(
        f"the schedules of this run pass through more than {limit}",
        rule="S12",
        hint=f"only small runs, of a dozen firings or so, can be run under every schedule; {more}",
    )
