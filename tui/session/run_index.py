"""What is known of the events of a run, whatever is asked: each event is looked at once, as the run goes on.

It is kept in parts, as a history is in stretches: a fork has the parts of its past in common with the run that it is a
fork of, and looks at its own events only. In a run of a million events a fork was known after 800 ms, and is at once.
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
from ...interp.engines.interrupt import interruptible
from ...interp.history.collector import LONG, set_aside
from ...interp.history.history import History
from ...interp.machine.event import Event, Token
from ...interp.machine.state import State
from ...viz.activation_tree import Gates
from .activation import Activation, merged

Numbers = Sequence[int]
"""Numbers of events, ascending."""


class Part:
    """What is known of the events from `start` on. Where nothing is known of those before the first part, `before` is
    the state there."""

    def __init__(
        self,
        gates: Gates,
        start: int = 0,
        past: Sequence[tuple[Part, int]] = (),
        in_wave: int = 0,
        before: State | None = None,
    ) -> None:
        self.gates = gates
        self.start = self.looked = start
        self.before = before
        self.past = tuple(past)
        """The parts before, each with where it ends for this one."""
        self.fired: dict[int, list[int]] = {}
        """The numbers of the events at which each node fired."""
        self.activations: dict[Tag, Activation] = {}
        self.wave_ends, self.wave_sizes = array("q"), array("q")
        """The numbers of the events that end a wave, and how many nodes fired in each of these waves."""
        self.traps: list[int] = []
        self.in_wave = self.began_in_wave = in_wave
        """How many have fired in the wave that goes on."""

    def see(self, graph: Graph, event: Event) -> None:
        """The next event."""
        number, token = self.looked, event.token
        self.looked = number + 1
        if event.inputs is not None:
            self.in_wave += 1
            self.fired.setdefault(token.node, []).append(number)
            self._open(self.gates.coming(event))
            if graph.nodes[token.node].op == "return" and event.outputs:
                self._of(token.tag).came[token.node] = (self.looked, event.outputs[0][1])
            if event.trap is not None:
                self.traps.append(number)
        if event.ends_wave:
            self.wave_ends.append(number)
            self.wave_sizes.append(self.in_wave)
            self.in_wave = 0

    def _of(self, tag: Tag) -> Activation:
        found = self.activations.get(tag)
        if found is None:
            found = self.activations[tag] = Activation(tag)
        return found

    def _open(self, coming: Iterable[Token]) -> None:
        """The first token that comes into an activation opens it."""
        for token in coming:
            found = self.activations.get(token.tag)
            if found is None:
                found = self._of(token.tag)
                if token.tag.parent is not None and self._is_new(token.tag):
                    found.opened = self.looked
                    self._of(token.tag.parent).below.append((self.looked, token.tag))
            found.given.setdefault(token.node, (self.looked, token.value))

    def _is_new(self, tag: Tag) -> bool:
        """Whether it opened in no part before."""
        if self.before is not None and tag in self.before.records:
            return False
        found = ((part.activations.get(tag), end) for part, end in self.past)
        return not any(each is not None and each.opened is not None and each.opened <= end for each, end in found)

    def parts(self) -> Iterator[tuple[Part, int]]:
        """All parts, this one last, each with where it ends."""
        return chain(self.past, ((self, self.looked),))


def _first(history: History) -> Part:
    """What is known before the first event: the arguments; where the fast machine has been there, what it left."""
    state, meter, _ = history.first
    in_wave = state.firings - meter.firings_before if state.clocked else 0
    made = Part(Gates(history.graph), history.base, (), in_wave, state if history.base else None)
    visible = history.graph.arguments[history.graph.hidden :]
    pairs = zip(visible, history.arguments, strict=False)
    made.activations[ROOT] = Activation(ROOT, 0, {number: (0, value) for number, (_, value) in enumerate(pairs)})
    return made


class Known:
    """What is known of the events of one run."""

    def __init__(self, history: History, last: Part | None = None) -> None:
        self._last = _first(history) if last is None else last
        self._matching: tuple[object, array[int], int] = (None, array("q"), 0)

    def branch(self, history: History) -> Known:
        """What is known of a branch of this run: up to where it begins, the same."""
        since = history.branched_at
        past = tuple((part, min(end, since)) for part, end in self._last.parts() if part.start <= since)
        return Known(history, Part(self.gates, since, past, self._fired_in_wave(since), self._last.before))

    def catch_up(self, history: History) -> None:
        """Look at the events that are new. Where it is interrupted, it goes on from there the next time."""
        last = self._last
        with interruptible() as interrupt:
            for number in range(last.looked, len(history)):
                last.see(history.graph, history[number])
                if last.looked % LONG == 0:
                    set_aside(last)
                if interrupt.pressed:
                    raise KeyboardInterrupt

    @property
    def gates(self) -> Gates:
        """What comes into activations, and how that is said."""
        return self._last.gates

    # Answers

    def fired(self, node: int) -> Numbers:
        """The events at which a node has fired."""
        return self._joined(lambda part: part.fired.get(node, ()))

    @property
    def traps(self) -> Numbers:
        return self._joined(lambda part: part.traps)

    @property
    def wave_ends(self) -> Numbers:
        """The events that end a wave."""
        return self._joined(lambda part: part.wave_ends)

    @property
    def in_wave(self) -> int:
        """How many have fired in the wave that goes on."""
        return self._last.in_wave

    def _joined(self, numbers: Callable[[Part], Numbers]) -> Numbers:
        if not self._last.past:
            return numbers(self._last)
        found = ((numbers(part), end) for part, end in self._last.parts())
        return list(chain.from_iterable(each[: bisect_left(each, end)] for each, end in found))

    def waves(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """For each wave that is over, the event that ends it, and how many nodes fired in it: a column each."""
        columns = [
            np.stack([np.asarray(part.wave_ends[:count]), np.asarray(part.wave_sizes[:count])])
            for part, end in self._last.parts()
            for count in [bisect_left(part.wave_ends, end)]
        ]
        return np.concatenate(columns, axis=1)

    def _fired_in_wave(self, position: int) -> int:
        """How many have fired by then in the wave that goes on there."""
        ends = self.wave_ends
        over = bisect_left(ends, position)
        first, _ = next(self._last.parts())
        began = ends[over - 1] + 1 if over else first.start
        nodes = {node for part, _ in self._last.parts() for node in part.fired}
        fired = sum(bisect_left(each, position) - bisect_left(each, began) for each in map(self.fired, nodes))
        return fired if over else fired + first.began_in_wave

    def activation(self, tag: Tag) -> Activation:
        """What is known of an activation."""
        found = [before] if (before := self._before(tag)) is not None else []
        for part, end in self._last.parts():
            if (each := part.activations.get(tag)) is not None:
                found.append(each if part is self._last else each.until(end))
        return merged(found or [Activation(tag)])

    def _before(self, tag: Tag) -> Activation | None:
        """What is known of an activation that was open where what is known begins."""
        state = self._last.before
        record = None if state is None else state.records.get(tag)
        if state is None or record is None:
            return None
        return Activation(tag, None, below=[(state.steps, below) for below in record.children.values()])

    def matching(self, history: History, condition: str, top: Tag | None) -> Numbers:
        """The numbers of the known events under a tag for which a condition holds; of None, and where it is empty, all.

        Raises Malformed where it is no condition."""
        if not condition and top is None:
            return range(history.base, len(history))
        key, found, looked = self._matching
        if key != (condition, top):
            key, found, looked = (condition, top), array("q"), history.base
        del found[bisect_left(found, looked) :]  # what was found when somebody interrupted
        for begin in range(looked, len(history), LONG):
            end = min(begin + LONG, len(history))
            found.extend(_listed(history, condition, top, begin, end))
            self._matching = (key, found, end)
        return found


def _listed(history: History, text: str, top: Tag | None, begin: int, end: int) -> Iterator[int]:
    """The numbers of the events between two positions that match."""
    if not text:
        yield from (number for number in range(begin, end) if is_under(history[number].token.tag, top))
        return
    condition = compile_condition(text, history.graph)
    for state, event in history.events(begin, end):
        if is_under(event.token.tag, top) and condition.holds(state, event):
            yield state.steps - 1


def is_under(tag: Tag, top: Tag | None) -> bool:
    """Whether a tag is another, or below it; of None all are."""
    if top is None:
        return True
    while tag.depth > top.depth:
        assert tag.parent is not None
        tag = tag.parent
    return tag == top
