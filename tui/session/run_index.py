"""The index of a run's known events for the session: each event is indexed once, as the run proceeds.

It consists of segments, as a history does: a fork shares the segments of its past with its parent, and indexes only its
own events. Without sharing, indexing a fork of a run of a million events took 800 ms.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from ...core.graph.graph import Graph
from ...core.ops.routing import ROUTING_OPS
from ...core.tag import ROOT, Tag
from ...core.value import Value
from ...interp.breakpoints.expression import compile_condition
from ...interp.engines.interrupt import interrupt_between_steps
from ...interp.history.history import History
from ...interp.history.segment import LONG_HISTORY, freeze_objects
from ...interp.machine.event import Event, Token
from ...interp.machine.state import State
from ...interp.queries.calls import Gate, RootArgument
from ...viz.activation_tree import Gates

EventNumbers = Sequence[int]
"""Numbers of events, ascending."""


@dataclass(slots=True)
class ActivationSummary:
    """An activation in a segment of events: when it opened, its arguments, results and children. A position is the
    number of events that have happened."""

    tag: Tag
    open_position: int | None = None
    """The position at which it opened; None if it did not open in these events."""
    number: int = 0
    """How many activations opened in these events up to and including it; 0 if it did not open in them."""
    arguments: dict[Gate, tuple[int, Value]] = field(default_factory=dict)
    """Position and value of each argument, by the gate at which it arrived."""
    results: dict[int, tuple[int, Value]] = field(default_factory=dict)
    """Position and value of each result, by the node that returned it."""
    children: list[tuple[int, Tag]] = field(default_factory=list)
    """The activations directly below, each with the position at which it opened, ascending."""

    computations: list[int] = field(default_factory=list)
    """The numbers of the events at which nodes computed values in it, ascending: all firings except firings of routing
    ops."""

    def as_of(self, position: int) -> ActivationSummary:
        """The summary as of a position."""
        opened = None if self.open_position is None or self.open_position > position else self.open_position
        return ActivationSummary(
            self.tag,
            opened,
            0,
            {gate: fact for gate, fact in self.arguments.items() if fact[0] <= position},
            {node: fact for node, fact in self.results.items() if fact[0] <= position},
            [fact for fact in self.children if fact[0] <= position],
            self.computations[: bisect_left(self.computations, position)],
        )


def merge_summaries(parts: Sequence[ActivationSummary]) -> ActivationSummary:
    """The summary of one activation, from its summaries for consecutive segments of events."""
    if len(parts) == 1:
        return parts[0]
    opened = next((part.open_position for part in parts if part.open_position is not None), None)
    arguments = {gate: fact for part in reversed(parts) for gate, fact in part.arguments.items()}
    results = {node: fact for part in parts for node, fact in part.results.items()}
    children = list(chain.from_iterable(part.children for part in parts))
    computations = list(chain.from_iterable(part.computations for part in parts))
    return ActivationSummary(parts[0].tag, opened, 0, arguments, results, children, computations)


class RunIndexSegment:
    """The index of the events from `start` on. In the first segment, `base_state` is the state there if earlier events
    are not known."""

    def __init__(
        self,
        gates: Gates,
        start: int = 0,
        shared_segments: Sequence[tuple[RunIndexSegment, int]] = (),
        wave_firings: int = 0,
        base_state: State | None = None,
        open_count: int = 0,
    ) -> None:
        self.gates = gates
        self.initial_open_count = open_count
        """In the first segment, the number of activations that are open at its start."""
        self.open_positions = array("q")
        """The positions at which activations opened in these events."""
        self.start = self.end = start
        self.base_state = base_state
        self.shared_segments = tuple(shared_segments)
        """The earlier segments, each with the position at which the next one begins."""
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
            op = graph.nodes[token.node].op
            if op not in ROUTING_OPS:
                self._activation(token.tag).computations.append(number)
            else:
                self._open_activations(self.gates.entering_tokens(event))
                if op == "return" and event.outputs:
                    self._activation(token.tag).results[token.node] = (self.end, event.outputs[0][1])
            if event.trap is not None:
                self.traps.append(number)
        if event.ends_wave:
            self.wave_ends.append(number)
            self.wave_sizes.append(self.wave_firings)
            self.wave_firings = 0

    def _activation(self, tag: Tag) -> ActivationSummary:
        summary = self.activations.get(tag)
        if summary is None:
            summary = self.activations[tag] = ActivationSummary(tag)
        return summary

    def _open_activations(self, entering: Iterable[Token]) -> None:
        """Open activations: the first token that enters one opens it."""
        for token in entering:
            summary = self.activations.get(token.tag)
            if summary is None:
                summary = self._activation(token.tag)
                if token.tag.parent is not None and self._is_opening(token.tag):
                    summary.open_position = self.end
                    self.open_positions.append(self.end)
                    summary.number = len(self.open_positions)
                    self._activation(token.tag.parent).children.append((self.end, token.tag))
            summary.arguments.setdefault(token.node, (self.end, token.value))

    def _is_opening(self, tag: Tag) -> bool:
        """Whether an activation opened in no earlier segment."""
        if self.base_state is not None and tag in self.base_state.records:
            return False
        parts = ((part.activations.get(tag), end) for part, end in self.shared_segments)
        return not any(
            part is not None and part.open_position is not None and part.open_position <= end for part, end in parts
        )

    def segments(self) -> Iterator[tuple[RunIndexSegment, int]]:
        """All segments, this one last, each with its end."""
        return chain(self.shared_segments, ((self, self.end),))


def base_segment(history: History) -> RunIndexSegment:
    """The segment of the first known position, without events: it has the arguments, or the state at which the fast
    machine stopped."""
    state, meter, _ = history.base_keyframe
    in_wave = state.firings - meter.firings_at_wave_start if state.is_clocked else 0
    base_state, open_count = (state, len(state.records)) if history.base else (None, 1)
    segment = RunIndexSegment(Gates(history.graph), history.base, (), in_wave, base_state, open_count)
    visible = history.graph.arguments[history.graph.hidden_count :]
    pairs = enumerate(zip(visible, history.arguments, strict=False))
    arguments: dict[Gate, tuple[int, Value]] = {RootArgument(at): (0, value) for at, (_, value) in pairs}
    segment.activations[ROOT] = ActivationSummary(ROOT, 0, 0, arguments)
    return segment


class RunIndex:
    """The index of the known events of one run."""

    def __init__(
        self,
        history: History,
        last: RunIndexSegment | None = None,
        revealed_segments: tuple[tuple[RunIndexSegment, int], ...] = (),
    ) -> None:
        self._own_segment = base_segment(history) if last is None else last
        self._revealed_segments = revealed_segments
        """The segments of events that became known after later ones, each with the position at which the next one
        begins. They come before those that the last segment shares."""
        self._match_cache: tuple[object, array[int], int] = (None, array("q"), 0)

    def fork(self, history: History) -> RunIndex:
        """The index of a fork of this run, shared up to the fork."""
        start = history.fork_position
        past = tuple((part, min(end, start)) for part, end in self._segments() if part.start <= start)
        in_wave = self._count_wave_firings(start)
        return RunIndex(history, RunIndexSegment(self.gates, start, past, in_wave, self._first_segment.base_state))

    def extend_back(self, history: History) -> RunIndex:
        """The index of the same run, of which earlier events are known, too."""
        revealed = base_segment(history), self._first_segment.start
        return RunIndex(history, self._own_segment, (revealed, *self._revealed_segments))

    def catch_up(self, history: History) -> None:
        """Index the events that are not indexed yet. If interrupted, the next call continues."""
        with interrupt_between_steps() as interrupt:
            for segment, end in (*self._revealed_segments, (self._own_segment, len(history))):
                if segment.end == end:
                    continue
                for event in history[segment.end : end]:
                    segment.add(history.graph, event)
                    if segment.end % LONG_HISTORY == 0:
                        freeze_objects(segment)
                    if interrupt.is_requested:
                        raise KeyboardInterrupt

    def _segments(self) -> Iterator[tuple[RunIndexSegment, int]]:
        """All segments, each with its end."""
        return chain(self._revealed_segments, self._own_segment.segments())

    @property
    def _first_segment(self) -> RunIndexSegment:
        return next(self._segments())[0]

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
        if not (self._revealed_segments or self._own_segment.shared_segments):
            return numbers(self._own_segment)
        parts = ((numbers(part), end) for part, end in self._segments())
        return list(chain.from_iterable(part[: bisect_left(part, end)] for part, end in parts))

    def waves(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """The completed waves as two columns: the event that ends each, and the number of its firings."""
        columns = [
            np.stack([np.asarray(part.wave_ends[:count]), np.asarray(part.wave_sizes[:count])])
            for part, end in self._segments()
            for count in [bisect_left(part.wave_ends, end)]
        ]
        return np.concatenate(columns, axis=1)

    def _count_wave_firings(self, position: int) -> int:
        """The number of firings, up to a position, in the wave that is current there."""
        ends = self.wave_ends
        complete_count = bisect_left(ends, position)
        first = self._first_segment
        start = ends[complete_count - 1] + 1 if complete_count else first.start
        nodes = {node for part, _ in self._segments() for node in part.firings}
        firings = sum(
            bisect_left(positions, position) - bisect_left(positions, start) for positions in map(self.firings, nodes)
        )
        return firings if complete_count else firings + first.initial_wave_firings

    def activation(self, tag: Tag) -> ActivationSummary:
        """The summary of an activation."""
        parts, state = list[ActivationSummary](), self._first_segment.base_state
        if state is not None and (record := state.records.get(tag)) is not None:  # it was open at the first known event
            children = [(state.steps, child) for child in record.child_tags.values()]
            parts.append(ActivationSummary(tag, None, children=children))
        for segment, end in self._segments():
            if (part := segment.activations.get(tag)) is not None:
                parts.append(part if segment is self._own_segment else part.as_of(end))
        return merge_summaries(parts or [ActivationSummary(tag)])

    def number_activation(self, tag: Tag) -> int:
        """The number of an activation in the order in which they open, from 1 on; those that were open at the first
        known event come first. 0 if it has not opened."""
        count = self._first_segment.initial_open_count
        for segment, end in self._segments():
            part = segment.activations.get(tag)
            if part is not None and part.number and (part.open_position or 0) <= end:
                return count + part.number
            count += bisect_right(segment.open_positions, end)
        return self._base_numbers.get(tag, 0)

    @cached_property
    def _base_numbers(self) -> dict[Tag, int]:
        """The numbers of the activations that were open at the first known event."""
        state = self._first_segment.base_state
        return {ROOT: 1} if state is None else {tag: number for number, tag in enumerate(state.records, 1)}

    def find_matching(self, history: History, condition: str, root: Tag | None) -> EventNumbers:
        """The numbers of the known events under the tag `root` for which a condition holds; None is any tag, and the
        empty condition always holds. Raises Malformed if the text is not a condition."""
        if not condition and root is None:
            return range(history.base, len(history))
        key, matches, scanned = self._match_cache
        if key != (condition, root):
            key, matches, scanned = (condition, root), array("q"), history.base
        del matches[bisect_left(matches, scanned) :]  # matches of an interrupted scan
        for begin in range(scanned, len(history), LONG_HISTORY):
            end = min(begin + LONG_HISTORY, len(history))
            matches.extend(matching_events(history, condition, root, begin, end))
            self._match_cache = (key, matches, end)
        return matches


def matching_events(history: History, text: str, root: Tag | None, begin: int, end: int) -> Iterator[int]:
    """The numbers of the events between two positions that are under a tag and match a condition."""
    if not text:
        yield from (number for number in range(begin, end) if is_under(history[number].token.tag, root))
        return
    condition = compile_condition(text, history.graph)
    for state, event in history.events(begin, end):
        if is_under(event.token.tag, root) and condition.holds(state, event):
            yield state.steps - 1


def is_under(tag: Tag, root: Tag | None) -> bool:
    """Whether a tag is `root` or below it; True if `root` is None."""
    if root is None:
        return True
    while tag.depth > root.depth:
        assert tag.parent is not None
        tag = tag.parent
    return tag == root
