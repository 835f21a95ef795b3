"""The index of a run's known events for the session: each event is indexed once, as the run proceeds.

It consists of segments, as a history does: a fork shares the segments of its past with its parent, and indexes only its
own events. In a run of a million events indexing a fork took 800 ms without sharing, and is immediate with it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from ...core.graph.graph import Graph
from ...core.tag import ROOT, Tag
from ...interp.breakpoints.expression import compile_condition
from ...interp.engines.interrupt import interrupt_between_steps
from ...interp.history.collector import LONG_HISTORY, freeze_objects
from ...interp.history.history import History
from ...interp.machine.event import Event, Token
from ...interp.machine.state import State
from ...viz.activation_tree import Gates
from .activation import ActivationSummary, merge_summaries

EventNumbers = Sequence[int]
"""Numbers of events, ascending."""


class RunIndexSegment:
    """The index of the events from `start` on. If no events before the first segment are known, `base_state` is the
    state there."""

    def __init__(
        self,
        gates: Gates,
        start: int = 0,
        shared_segments: Sequence[tuple[RunIndexSegment, int]] = (),
        wave_firings: int = 0,
        base_state: State | None = None,
    ) -> None:
        self.gates = gates
        self.start = self.end = start
        self.base_state = base_state
        self.shared_segments = tuple(shared_segments)
        """The earlier segments, each with its end for this one."""
        self.firings: dict[int, list[int]] = {}
        """The numbers of the events at which each node fired."""
        self.activations: dict[Tag, ActivationSummary] = {}
        self.wave_ends, self.wave_sizes = array("q"), array("q")
        """The numbers of the events that end a wave, and how many nodes fired in each of these waves."""
        self.traps: list[int] = []
        self.wave_firings = self.initial_wave_firings = wave_firings
        """The number of firings in the current wave."""

    def add(self, graph: Graph, event: Event) -> None:
        """Add the next event."""
        number, token = self.end, event.token
        self.end = number + 1
        if event.inputs is not None:
            self.wave_firings += 1
            self.firings.setdefault(token.node, []).append(number)
            self._open_activations(self.gates.entering_tokens(event))
            if graph.nodes[token.node].op == "return" and event.outputs:
                self._activation(token.tag).results[token.node] = (self.end, event.outputs[0][1])
            if event.trap is not None:
                self.traps.append(number)
        if event.ends_wave:
            self.wave_ends.append(number)
            self.wave_sizes.append(self.wave_firings)
            self.wave_firings = 0

    def _activation(self, tag: Tag) -> ActivationSummary:
        found = self.activations.get(tag)
        if found is None:
            found = self.activations[tag] = ActivationSummary(tag)
        return found

    def _open_activations(self, coming: Iterable[Token]) -> None:
        """Open activations: the first token that enters one opens it."""
        for token in coming:
            found = self.activations.get(token.tag)
            if found is None:
                found = self._activation(token.tag)
                if token.tag.parent is not None and self._is_opening(token.tag):
                    found.open_position = self.end
                    self._activation(token.tag.parent).children.append((self.end, token.tag))
            found.arguments.setdefault(token.node, (self.end, token.value))

    def _is_opening(self, tag: Tag) -> bool:
        """Whether it opened in no earlier segment."""
        if self.base_state is not None and tag in self.base_state.records:
            return False
        found = ((part.activations.get(tag), end) for part, end in self.shared_segments)
        return not any(
            each is not None and each.open_position is not None and each.open_position <= end for each, end in found
        )

    def segments(self) -> Iterator[tuple[RunIndexSegment, int]]:
        """All segments, this one last, each with its end."""
        return chain(self.shared_segments, ((self, self.end),))


def _base_segment(history: History) -> RunIndexSegment:
    """The segment before the first event: the arguments; or, after the fast machine, the state that it left."""
    state, meter, _ = history.base_keyframe
    in_wave = state.firings - meter.firings_at_wave_start if state.is_clocked else 0
    made = RunIndexSegment(Gates(history.graph), history.base, (), in_wave, state if history.base else None)
    visible = history.graph.arguments[history.graph.hidden_count :]
    pairs = zip(visible, history.arguments, strict=False)
    made.activations[ROOT] = ActivationSummary(ROOT, 0, {number: (0, value) for number, (_, value) in enumerate(pairs)})
    return made


class RunIndex:
    """The index of the known events of one run."""

    def __init__(self, history: History, last: RunIndexSegment | None = None) -> None:
        self._own_segment = _base_segment(history) if last is None else last
        self._match_cache: tuple[object, array[int], int] = (None, array("q"), 0)

    def fork(self, history: History) -> RunIndex:
        """The index of a fork of this run, shared up to the fork."""
        since = history.fork_position
        past = tuple((part, min(end, since)) for part, end in self._own_segment.segments() if part.start <= since)
        return RunIndex(
            history,
            RunIndexSegment(self.gates, since, past, self._count_wave_firings(since), self._own_segment.base_state),
        )

    def catch_up(self, history: History) -> None:
        """Index the new events. If interrupted, the next call continues."""
        last = self._own_segment
        with interrupt_between_steps() as interrupt:
            for number in range(last.end, len(history)):
                last.add(history.graph, history[number])
                if last.end % LONG_HISTORY == 0:
                    freeze_objects(last)
                if interrupt.is_requested:
                    raise KeyboardInterrupt

    @property
    def gates(self) -> Gates:
        """The gates through which tokens enter activations, and how to describe them."""
        return self._own_segment.gates

    # Answers

    def firings(self, node: int) -> EventNumbers:
        """The events at which a node has fired."""
        return self._concatenate(lambda part: part.firings.get(node, ()))

    @property
    def traps(self) -> EventNumbers:
        return self._concatenate(lambda part: part.traps)

    @property
    def wave_ends(self) -> EventNumbers:
        """The events that end a wave."""
        return self._concatenate(lambda part: part.wave_ends)

    @property
    def wave_firings(self) -> int:
        """The number of firings in the current wave."""
        return self._own_segment.wave_firings

    def _concatenate(self, numbers: Callable[[RunIndexSegment], EventNumbers]) -> EventNumbers:
        if not self._own_segment.shared_segments:
            return numbers(self._own_segment)
        found = ((numbers(part), end) for part, end in self._own_segment.segments())
        return list(chain.from_iterable(each[: bisect_left(each, end)] for each, end in found))

    def waves(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """For each completed wave, the event that ends it and the number of firings in it: a column each."""
        columns = [
            np.stack([np.asarray(part.wave_ends[:count]), np.asarray(part.wave_sizes[:count])])
            for part, end in self._own_segment.segments()
            for count in [bisect_left(part.wave_ends, end)]
        ]
        return np.concatenate(columns, axis=1)

    def _count_wave_firings(self, position: int) -> int:
        """The number of firings, up to a position, in the wave that is current there."""
        ends = self.wave_ends
        over = bisect_left(ends, position)
        first, _ = next(self._own_segment.segments())
        began = ends[over - 1] + 1 if over else first.start
        nodes = {node for part, _ in self._own_segment.segments() for node in part.firings}
        fired = sum(bisect_left(each, position) - bisect_left(each, began) for each in map(self.firings, nodes))
        return fired if over else fired + first.initial_wave_firings

    def activation(self, tag: Tag) -> ActivationSummary:
        """The summary of an activation."""
        found = [before] if (before := self._base_activation(tag)) is not None else []
        for part, end in self._own_segment.segments():
            if (each := part.activations.get(tag)) is not None:
                found.append(each if part is self._own_segment else each.as_of(end))
        return merge_summaries(found or [ActivationSummary(tag)])

    def _base_activation(self, tag: Tag) -> ActivationSummary | None:
        """The summary of an activation that was open at the first known event."""
        state = self._own_segment.base_state
        record = None if state is None else state.records.get(tag)
        if state is None or record is None:
            return None
        return ActivationSummary(tag, None, children=[(state.steps, below) for below in record.child_tags.values()])

    def find_matching(self, history: History, condition: str, top: Tag | None) -> EventNumbers:
        """The numbers of the known events under a tag (None: any) for which a condition holds (empty: always). Raises
        Malformed if it is no condition."""
        if not condition and top is None:
            return range(history.base, len(history))
        key, found, looked = self._match_cache
        if key != (condition, top):
            key, found, looked = (condition, top), array("q"), history.base
        del found[bisect_left(found, looked) :]  # what was found when somebody interrupted
        for begin in range(looked, len(history), LONG_HISTORY):
            end = min(begin + LONG_HISTORY, len(history))
            found.extend(_matching_events(history, condition, top, begin, end))
            self._match_cache = (key, found, end)
        return found


def _matching_events(history: History, text: str, top: Tag | None, begin: int, end: int) -> Iterator[int]:
    """The numbers of the events between two positions that match."""
    if not text:
        yield from (number for number in range(begin, end) if is_under(history[number].token.tag, top))
        return
    condition = compile_condition(text, history.graph)
    for state, event in history.events(begin, end):
        if is_under(event.token.tag, top) and condition.holds(state, event):
            yield state.steps - 1


def is_under(tag: Tag, top: Tag | None) -> bool:
    """Whether a tag is another or below it; always, for None."""
    if top is None:
        return True
    while tag.depth > top.depth:
        assert tag.parent is not None
        tag = tag.parent
    return tag == top
