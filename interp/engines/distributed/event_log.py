"""The events of a run on workers: their firings, merged by stamp and repeated by one machine.

The timeline has each firing once, with its worker and its time, without the firings that a rollback has undone. One
machine repeats these firings in the order of their times; a firing whose operands are not there yet waits for them,
since the clocks of several hosts differ. By determinacy, the result is a run of the reference machine under one of its
schedules, so every command that opens a log of events opens this one, too. The operands of a firing are delivered just
before it, and tokens that no firing consumes at the end. No effect is repeated: callbacks return the results that the
driver has recorded.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count

from ....core.errors import Crash, TagloomError
from ....core.tag import Tag
from ....core.value import Value
from ....core.world import CallbackError, CallbackReplayWorld
from ...machine.event import Event, Token
from ...machine.state import State
from ...outcome.timeline import TimelineEntry
from ...outcome.worker_lanes import WorkerLanes
from ..limits import Limits
from ..reference import resume
from .messages import FiringResult


class StampOrder:
    """A schedule: firings in the order of a timeline, as far as their operands are there.

    It also observes the events, and notes for each the worker and the time of its firing. A token that no firing
    consumes belongs to the worker of the previous event under its tag.
    """

    def __init__(
        self, state: State, timeline: Iterable[TimelineEntry], results: Mapping[tuple[int, Tag], FiringResult]
    ) -> None:
        """`state` is the first state of the run; it gets a world whose callbacks return these results."""
        firings = [entry for entry in timeline if entry.kind == "firing"]
        self._entries = {(entry.node, entry.tag): entry for entry in firings}
        self._start = min((entry.time for entry in firings), default=0.0)
        self._rules, self._results = state.rules, results
        self._next_result: FiringResult | None = None
        """The recorded result of the effect that the next token may complete."""
        self._arrival_counts: Counter[tuple[int, Tag]] = Counter()
        self._enabled_firings: list[tuple[float, int, int, Tag]] = []
        """The firings whose operands are there, as a heap: time, a serial number, node and tag."""
        self._serial_numbers = count()
        self._flight: list[int] = []
        """The serial numbers of the tokens in flight, which ascend."""
        self._operands_in_flight: dict[tuple[int, Tag], list[int]] = {}
        """The same numbers by the node and tag of their tokens."""
        self._rank_by_tag: dict[Tag, int] = {}
        self.ranks = array("b")
        """The rank of the worker of each event so far."""
        self.times = array("q")
        """Its time in microseconds since the first firing."""
        state.world = CallbackReplayWorld(self._recorded_result)
        for token in state.flight:
            self._add_to_flight(token)

    @property
    def is_over(self) -> bool:
        """Whether no firing of the timeline is left whose operands are there."""
        return not self._enabled_firings

    def pick(self, state: State) -> int:
        """The position of the next token: an operand of the next firing, or the oldest token."""
        position = 0
        if self._enabled_firings:
            _, _, node, tag = self._enabled_firings[0]
            position = bisect_left(self._flight, self._operands_in_flight[node, tag][0])
        token = state.flight[position]
        self._next_result = self._results.get((token.node, token.tag))
        return position

    def observe(self, event: Event) -> None:
        """Note the worker of an event, the token that it delivers, and those that it sends."""
        node, _, tag, _ = event.token
        operands = self._operands_in_flight[node, tag]
        operands.remove(self._flight.pop(event.position))
        if not operands:
            del self._operands_in_flight[node, tag]
        entry = self._entries.get((node, tag))
        if entry is None:
            self.ranks.append(self._rank_by_tag.get(tag, 0))
            self.times.append(self.times[-1] if self.times else 0)
        else:
            self._rank_by_tag[tag] = entry.rank
            self.ranks.append(entry.rank)
            self.times.append(round(entry.time - self._start))
        if self._enabled_firings and (event.is_firing or event.deferred_at is not None):
            heappop(self._enabled_firings)
        for token in (*event.sent, *event.woken):
            if token.node >= 0:
                self._add_to_flight(token)

    def _add_to_flight(self, token: Token) -> None:
        """Note a token that joins the flight."""
        number = next(self._serial_numbers)
        self._flight.append(number)
        self._operands_in_flight.setdefault((token.node, token.tag), []).append(number)
        self._note_arrival(token)

    def _note_arrival(self, token: Token) -> None:
        """Count an operand; the last one enables its firing."""
        node, _, tag, _ = token
        entry = self._entries.get((node, tag))
        if entry is None:
            return
        self._arrival_counts[node, tag] += 1
        if self._arrival_counts[node, tag] >= self._rules[node].required_tokens:
            heappush(self._enabled_firings, (entry.time, next(self._serial_numbers), node, tag))

    def _recorded_result(self) -> Value:
        result = self._next_result
        if result is None or result.trap is not None:
            raise CallbackError("no result of this callback is recorded" if result is None else str(result.trap))
        return result.outputs[0][1]

    def lanes(self, workers: int, devices: tuple[str, ...]) -> WorkerLanes:
        """The lanes of the events so far."""
        return WorkerLanes(workers, devices, self.ranks, self.times)


def repeat_firings(
    state: State,
    order: StampOrder,
    limits: Limits,
    observers: Sequence[Callable[[Event], object]],
    *,
    has_ended: bool,
) -> TagloomError | None:
    """Make the firings of a timeline again, from the first state of the run, and show each event to the observers.
    Returns the error that ended this early, if any. With `has_ended`, a limit has ended the run, and the tokens that
    are left stay in flight."""
    if has_ended and order.is_over:
        return None
    limits = Limits(depth=limits.depth, bytes=limits.bytes)
    return resume(
        state,
        order.pick,
        limits,
        lambda: has_ended and order.is_over,
        [order.observe, *observers],
        is_ill_formed=False,
    )


def require_same_firings(state: State, repeated_state: State) -> None:
    """Raise Crash unless the repeated run has the firings of the run on workers."""
    if list(state.firings_by_node) != list(repeated_state.firings_by_node):
        raise Crash(
            "the events of the workers are not those of one machine",
            where=state.graph.name,
            required=f"{state.firings:,} firings",
            got=f"{repeated_state.firings:,}",
        )
