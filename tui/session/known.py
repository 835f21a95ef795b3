"""What is known of the events of a run, whatever is asked: each event is looked at once, as the run goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...core.graph import Graph
from ...core.tag import ROOT, Tag
from ...core.value import Value
from ...interp.breakpoints.expression import compile_condition
from ...interp.event import Event, Token
from ...interp.questions.ask import tag_of
from ...interp.travel.collector import LONG, set_aside
from ...interp.travel.history import History
from ...viz.tags import Gates
from .focus import Focus


@dataclass(slots=True)
class Activation:
    """An activation: when it opened and closed, by number of events, and what went in and came out when."""

    tag: Tag
    opened: int
    closed: int | None = None
    given: dict[int, tuple[int, Value]] = field(default_factory=dict)
    """The merges that arguments came to: at which event, and the value."""
    came: dict[int, tuple[int, Value]] = field(default_factory=dict)
    """The nodes that returned something."""
    below: list[Tag] = field(default_factory=list)


class Known:
    """The events of a run by node, by activation and by wave. Positions are numbers of events that have happened."""

    def __init__(self, history: History) -> None:
        self.looked = 0
        self.fired: dict[int, list[int]] = {}
        """The numbers of the events at which each node fired."""
        self.activations: dict[Tag, Activation] = {ROOT: Activation(ROOT, 0)}
        self.waves: list[tuple[int, int]] = []
        """For each wave that is over, the position at its end, and how many nodes fired in it."""
        self.wave_ends: list[int] = []
        """The numbers of the events that end a wave."""
        self.traps: list[int] = []
        self.in_wave = 0
        self.gates = Gates(history.graph)
        self._matching: tuple[object, list[int], int] = (None, [], 0)
        visible = history.graph.arguments[history.graph.hidden :]
        pairs = zip(visible, history.arguments, strict=False)
        self.activations[ROOT].given = {number: (0, value) for number, (_, value) in enumerate(pairs)}

    def catch_up(self, history: History) -> None:
        """Look at the events that are new."""
        for number in range(self.looked, len(history)):
            self._see(history.graph, number, history[number])
            if (number + 1) % LONG == 0:
                set_aside(self)
        self.looked = len(history)

    def _see(self, graph: Graph, number: int, event: Event) -> None:
        token, ends = event.token, event.ends_wave
        if event.inputs is not None:
            self.in_wave += 1
            self.fired.setdefault(token.node, []).append(number)
            self._open(number, self.gates.coming(event))
            if graph.nodes[token.node].op == "return" and event.outputs and token.tag in self.activations:
                self.activations[token.tag].came[token.node] = (number + 1, event.outputs[0][1])
            if event.trap is not None:
                self.traps.append(number)
        for closed in event.closed:
            if closed.tag in self.activations:
                self.activations[closed.tag].closed = number + 1
        if ends:
            self.waves.append((number + 1, self.in_wave))
            self.wave_ends.append(number)
            self.in_wave = 0

    def _open(self, number: int, coming: Iterable[Token]) -> None:
        for token in coming:
            found = self.activations.get(token.tag)
            if found is None:
                found = self.activations[token.tag] = Activation(token.tag, number + 1)
                if token.tag.parent in self.activations:
                    self.activations[token.tag.parent].below.append(token.tag)
            found.given.setdefault(token.node, (number + 1, token.value))

    def matching(self, history: History, focus: Focus) -> Sequence[int]:
        """The numbers of the known events that a focus lists."""
        if not focus.events and focus.only is None:
            return range(len(history))
        key, found, looked = self._matching
        if key != (focus.events, focus.only) or looked > len(history):
            key, found, looked = (focus.events, focus.only), [], 0
        under = None if focus.only is None else tag_of(history.graph, focus.only)
        if focus.events:
            condition = compile_condition(focus.events, history.graph)
            for state, event in history.events(looked, len(history)):
                if is_under(event.token.tag, under) and condition.holds(state, event):
                    found.append(state.steps - 1)
        else:
            found.extend(n for n in range(looked, len(history)) if is_under(history[n].token.tag, under))
        self._matching = (key, found, len(history))
        return found


def is_under(tag: Tag, top: Tag | None) -> bool:
    """Whether a tag is another, or below it; of None all are."""
    if top is None:
        return True
    while tag.depth > top.depth:
        assert tag.parent is not None
        tag = tag.parent
    return tag == top
