"""Values under tags: what nodes in loops, branches and functions make, fetched and fed while a program runs.

`main/fib/loop[4]/add` is what `add` makes under the tag `main/fib/loop[4]`; with `*`, what it makes under every tag
that matches. What a call or a loop makes is under the tag where the call or loop stands. What is fed comes in place of
what was made, on the tokens that carry it: edits, as the debugger makes them, so that such a run is a what-if.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from ...core.errors import Deadlock, Usage
from ...core.graph.graph import Edge, Graph
from ...core.program import hints
from ...core.tag import ENVIRONMENT, ROOT, Tag
from ...core.types import HandleType, Type
from ...core.value import Value
from ..breakpoints.fault import Fault, complaint
from ..breakpoints.tag_pattern import tag_pattern
from ..engines.reference import Until, check_until, is_met
from ..history.advance import WHAT_IF
from ..history.history import History
from ..machine.event import Event
from ..machine.state import State
from ..outcome.outcome import Outcome, ending
from ..outcome.program_order import program_order
from ..queries.ask import tag_of
from ..queries.contexts import around, check_place, contexts

Found: TypeAlias = Value | dict[str, Value] | None
"""What was fetched: of one tag a value, or None where there was none; of a pattern, a value for each tag that matched,
as it is written in full."""


class Place(NamedTuple):
    """Where values are made: by nodes, of which one is meant under each tag that matches."""

    text: str
    nodes: tuple[int, ...]
    matches: Callable[[Tag], bool]
    tag: Tag | None
    """The one tag, if it is no pattern."""


def is_tagged(name: str) -> bool:
    """Whether a name says a tag, too."""
    return "/" in name


def apart(text: str) -> tuple[str, str]:
    """A tag as it is written, and the name of a node."""
    tag, _, name = text.rpartition("/")
    return tag, name


def place(graph: Graph, text: str) -> Place:
    """The place that is written so.

    Raises Usage where a graph has no such node or tag, or where the node makes no value, or handles of cells; Malformed
    where a pattern cannot be read.
    """
    written, name = apart(text)
    nodes = [number for number, node in enumerate(graph.nodes) if _is_called(graph, number, name) and node.outputs]
    if not nodes:
        hint = hints.meant(name, {node.name for node in graph.nodes}) or "tl.print_program shows the names"
        raise Usage(f"{graph.name} makes no value by this name", rule="P1", where=graph.name, got=name, hint=hint)
    if "*" in written:
        try:
            found = Place(text, tuple(nodes), tag_pattern(written, graph, 0), None)
        except Fault as fault:
            raise complaint(fault, written) from None
    else:
        tag = tag_of(graph, written)
        found = Place(text, (_at(graph, nodes, tag),), tag.__eq__, tag)
    for number in found.nodes:
        if isinstance(graph.nodes[number].outputs[0].type.dtype, HandleType):
            where, hint = graph.nodes[number].where, "what get or collect makes of them can be fetched"
            raise Usage(f"{name} stands for cells, which do not leave a program", rule="P1", where=where, hint=hint)
    return found


def types_at(graph: Graph, place: Place) -> list[Type]:
    """The types of what is made at a place."""
    return [graph.nodes[number].outputs[0].type for number in place.nodes]


def _is_called(graph: Graph, number: int, name: str) -> bool:
    """Whether a node goes by a name: its own, or, of a loop variable, that of the variable."""
    node = graph.nodes[number]
    return name in (node.name, str(node)) or (node.op == "merge" and node.name.endswith(f".{name}"))


def _at(graph: Graph, nodes: Sequence[int], tag: Tag) -> int:
    """The one of some nodes that makes something under a tag; raises Usage where none does."""
    known, wrong = dict(contexts(graph)), list[Usage]()
    for number in nodes:
        site = graph.nodes[number].site
        if known and site is not None and _leaves(graph, number):
            known[number] = graph.name if site == ENVIRONMENT else around(graph, known, site)
        try:
            check_place(graph, known, number, tag)
        except Usage as error:
            wrong.append(error)
        else:
            return number
    raise wrong[0]


def _leaves(graph: Graph, number: int) -> bool:
    """Whether what a node makes leaves the activation that it fires in."""
    return graph.nodes[number].op in ("return", "exit")


def made_under(graph: Graph, event: Event) -> Tag:
    """The tag under which an event that fired made something."""
    node, _, tag, _ = event.token
    return tag.parent or ROOT if _leaves(graph, node) else tag


def path_of(tag: Tag) -> str:
    """A tag as it is written, in full, however deep it is."""
    return "/".join(reversed([step.last for step in tag.steps()]))


class _Lookout:
    """Takes down what is fetched, and says where something is to be fed, or where there is enough."""

    def __init__(self, fetched: Sequence[Place], fed: Sequence[tuple[Place, Value]], until: Until) -> None:
        self.fed, self.until = fed, until
        self.nodes = {number for place in (*fetched, *(place for place, _ in fed)) for number in place.nodes}
        self.seen: list[tuple[Place, dict[tuple[Tag, int], tuple[Tag, Value]]]] = [(place, {}) for place in fetched]
        """For each place, by the tags and nodes that fired there, under which tag they made what."""
        self.new: Value | None = None
        """What is to be fed for the last event."""

    def sees(self, state: State, event: Event) -> bool:
        self.new = None
        if event.fired and event.token.node in self.nodes and event.outputs:
            self._take(event, made_under(state.graph, event), event.outputs[0][1])
        return self.new is not None or self.is_enough(state)

    def is_enough(self, state: State) -> bool:
        if self.until == "result" and any(place.tag is None or not seen for place, seen in self.seen):
            return False
        return is_met(self.until, state)

    def _take(self, event: Event, tag: Tag, value: Value) -> None:
        node = event.token.node
        for place, fed in self.fed:
            if node in place.nodes and place.matches(tag):
                self.new = value = fed
        for place, seen in self.seen:
            if node in place.nodes and place.matches(tag):
                seen[event.token.tag, node] = tag, value

    def found(self, graph: Graph) -> list[Found]:
        """What was fetched, that of patterns in program order."""
        found: list[Found] = []
        for place, seen in self.seen:
            if place.tag is None:
                ranks = program_order(graph, seen)
                found.append(
                    {path_of(tag): value for tag, value in (seen[at] for at in sorted(seen, key=ranks.__getitem__))}
                )
            else:
                found.append(next((value for _, value in seen.values()), None))
        return found


def run_tagged(
    history: History, fetched: Sequence[Place], fed: Sequence[tuple[Place, Value]], until: Until
) -> tuple[Outcome, list[Found]]:
    """Run a program from its beginning; how it ends, and what was fetched. With `until="result"` it stops where all of
    that is there, if it is known how much that is."""
    check_until(until)
    lookout = _Lookout(fetched, fed, until)
    while (event := history.forward_to(lookout.sees)) is not None and lookout.new is not None:
        history = _fed(history, event, lookout.new)
        if lookout.is_enough(history.state):
            break
    outcome, found = _ending(history, until), lookout.found(history.graph)
    missing = next((place for place, value in zip(fetched, found, strict=True) if value is None), None)
    if missing is not None and outcome.status == "Returned":
        outcome = replace(outcome, status="Deadlocked", error=_nothing(history, missing))
    return outcome, found


def _fed(history: History, event: Event, value: Value) -> History:
    """The history in which the tokens that an event sent of its first output carry another value."""
    edges = history.graph.nodes[event.token.node].outputs[0].edges
    for sent in event.sent:
        if Edge(sent.node, sent.port) in edges:
            flight = enumerate(history.state.flight)
            position = next((position for position, token in flight if token[:3] == sent[:3]), None)
            if position is None:
                node = history.graph.nodes[event.token.node]
                hint = "feed what it takes"
                raise Usage(f"a bound holds what {node} makes", rule="S16", where=node.where, tag=sent.tag, hint=hint)
            history = history.change(position, value)
    return history


def _ending(history: History, until: Until) -> Outcome:
    if not history.state.flight or history.stopped is not None:
        return history.outcome()
    return ending(
        history.state,
        history.stats,
        None,
        until,
        schedule=WHAT_IF if history.edits else history.schedule,
        engine="reference",
        structure=history.structure,
        kept=tuple(history),
    )


def _nothing(history: History, place: Place) -> Deadlock:
    """Why a run has no value at a place."""
    number, tag = place.nodes[0], place.tag or ROOT
    node = history.graph.nodes[number]
    fires = tag
    if node.site is not None and _leaves(history.graph, number):
        inside = (event.token.tag for event in history if event.token.tag.site == node.site)
        last = max((step.iteration for step in inside if step.parent == tag), default=0)
        fires = tag.child(node.site, last)
    error = Deadlock(f"{place.text} has no value: {node} did not fire", rule="S12", where=node.where, tag=tag)
    error.add_note(f"  {history.ask.why_not(str(node), fires)}".replace("\n", "\n  "))
    return error
