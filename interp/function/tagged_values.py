"""Values under tags: results of nodes in loops, branches and functions, fetched and fed while a program runs.

`main/fib/loop[4]/add` is the result of `add` under the tag `main/fib/loop[4]`; with `*`, its results under every tag
that matches. The result of a call or a loop belongs to the tag of the activation that contains the call or loop. A fed
value replaces a result on the tokens that carry it: these are edits, as in the debugger, so such a run is a what-if.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from ...core.errors import Deadlock, Usage
from ...core.graph.graph import Edge, Graph
from ...core.program import hints
from ...core.tag import ENVIRONMENT, ROOT, Tag
from ...core.text.fault import SyntaxFault
from ...core.types import HandleType, Type
from ...core.value import Value
from ..breakpoints.syntax import to_error
from ..breakpoints.tag_pattern import compile_tag_pattern
from ..engines.limits import Until, check_until
from ..engines.reference import is_until_met
from ..history.advance import WHAT_IF
from ..history.history import History
from ..machine.event import Event
from ..machine.state import State
from ..outcome.critical_path import program_order
from ..outcome.outcome import Outcome, build_outcome
from ..queries.ask import parse_tag
from ..queries.contexts import check_node_tag, enclosing_context, node_contexts

FetchedValue: TypeAlias = Value | dict[str, Value] | None
"""A fetched value: for one tag a value, or None if there was none; for a pattern, a dict from each matching tag, in
full, to its value."""


class ValueLocation(NamedTuple):
    """Where values are made: the candidate nodes, one of which applies under each matching tag."""

    text: str
    nodes: tuple[int, ...]
    matches: Callable[[Tag], bool]
    tag: Tag | None
    """The tag; None for a pattern."""


def has_tag(name: str) -> bool:
    """Whether a name includes a tag."""
    return "/" in name


def split_name(text: str) -> tuple[str, str]:
    """Split a name into the text of a tag and the name of a node."""
    tag, _, name = text.rpartition("/")
    return tag, name


def parse_location(graph: Graph, text: str) -> ValueLocation:
    """Parse a location.

    Raises Usage if the graph has no such node or tag, or if the node makes no value, or handles of cells; Malformed for
    an invalid pattern.
    """
    written, name = split_name(text)
    nodes = [number for number, node in enumerate(graph.nodes) if _has_name(graph, number, name) and node.outputs]
    if not nodes:
        hint = hints.suggest_name(name, {node.name for node in graph.nodes}) or "tl.print_program shows the names"
        raise Usage(f"{graph.name} makes no value by this name", rule="P1", where=graph.name, got=name, hint=hint)
    if "*" in written:
        try:
            found = ValueLocation(text, tuple(nodes), compile_tag_pattern(written, graph), None)
        except SyntaxFault as fault:
            raise to_error(fault, written) from None
    else:
        tag = parse_tag(graph, written)
        found = ValueLocation(text, (_select_node(graph, nodes, tag),), tag.__eq__, tag)
    for number in found.nodes:
        if isinstance(graph.nodes[number].outputs[0].type.dtype, HandleType):
            where, hint = graph.nodes[number].origin, "the results of get and collect can be fetched"
            raise Usage(f"{name} stands for cells, which do not leave a program", rule="P1", where=where, hint=hint)
    return found


def location_types(graph: Graph, place: ValueLocation) -> list[Type]:
    """The types of the values made at a location."""
    return [graph.nodes[number].outputs[0].type for number in place.nodes]


def _has_name(graph: Graph, number: int, name: str) -> bool:
    """Whether a node has a name: its own, or that of its loop variable."""
    node = graph.nodes[number]
    return name in (node.name, str(node)) or (node.op == "merge" and node.name.endswith(f".{name}"))


def _select_node(graph: Graph, nodes: Sequence[int], tag: Tag) -> int:
    """The one of these nodes that makes a value under a tag; raises Usage if none does."""
    known, wrong = dict(node_contexts(graph)), list[Usage]()
    for number in nodes:
        site = graph.nodes[number].site
        if known and site is not None and _exits_activation(graph, number):
            known[number] = graph.name if site == ENVIRONMENT else enclosing_context(graph, known, site)
        try:
            check_node_tag(graph, known, number, tag)
        except Usage as error:
            wrong.append(error)
        else:
            return number
    raise wrong[0]


def _exits_activation(graph: Graph, number: int) -> bool:
    """Whether the result of a node leaves the activation that it fires in."""
    return graph.nodes[number].op in ("return", "exit")


def result_tag(graph: Graph, event: Event) -> Tag:
    """The tag of the result of an event that fired."""
    node, _, tag, _ = event.token
    return tag.parent or ROOT if _exits_activation(graph, node) else tag


def format_tag(tag: Tag) -> str:
    """The full text of a tag, however deep."""
    return "/".join(reversed([step.last_step for step in tag.self_and_ancestors()]))


class _FetchObserver:
    """Observes events: records fetched values, and says when to feed a value and when all are fetched."""

    def __init__(
        self, fetched: Sequence[ValueLocation], fed: Sequence[tuple[ValueLocation, Value]], until: Until
    ) -> None:
        self.feeds, self.until = fed, until
        self.nodes = {number for place in (*fetched, *(place for place, _ in fed)) for number in place.nodes}
        self.results: list[tuple[ValueLocation, dict[tuple[Tag, int], tuple[Tag, Value]]]] = [
            (place, {}) for place in fetched
        ]
        """For each location, by tag and node of the firing: the tag of the result and its value."""
        self.pending_feed: Value | None = None
        """The value to feed after the last event."""

    def observe(self, state: State, event: Event) -> bool:
        self.pending_feed = None
        if event.fired and event.token.node in self.nodes and event.outputs:
            self._record_result(event, result_tag(state.graph, event), event.outputs[0][1])
        return self.pending_feed is not None or self.is_complete(state)

    def is_complete(self, state: State) -> bool:
        if self.until == "result" and any(place.tag is None or not seen for place, seen in self.results):
            return False
        return is_until_met(self.until, state)

    def _record_result(self, event: Event, tag: Tag, value: Value) -> None:
        node = event.token.node
        for place, fed in self.feeds:
            if node in place.nodes and place.matches(tag):
                self.pending_feed = value = fed
        for place, seen in self.results:
            if node in place.nodes and place.matches(tag):
                seen[event.token.tag, node] = tag, value

    def fetched_values(self, graph: Graph) -> list[FetchedValue]:
        """The fetched values, those of patterns in program order."""
        found: list[FetchedValue] = []
        for place, seen in self.results:
            if place.tag is None:
                ranks = program_order(graph, seen)
                found.append(
                    {format_tag(tag): value for tag, value in (seen[at] for at in sorted(seen, key=ranks.__getitem__))}
                )
            else:
                found.append(next((value for _, value in seen.values()), None))
        return found


def run_tagged(
    history: History, fetches: Sequence[ValueLocation], feeds: Sequence[tuple[ValueLocation, Value]], until: Until
) -> tuple[Outcome, list[FetchedValue]]:
    """Run a program from its beginning; returns the outcome and the fetched values. With `until="result"` the run stops
    once it has all fetched values, if their number is known."""
    check_until(until)
    lookout = _FetchObserver(fetches, feeds, until)
    while (event := history.forward_to(lookout.observe)) is not None and lookout.pending_feed is not None:
        history = _apply_feed(history, event, lookout.pending_feed)
        if lookout.is_complete(history.state):
            break
    outcome, found = _outcome_of(history, until), lookout.fetched_values(history.graph)
    missing = next((place for place, value in zip(fetches, found, strict=True) if value is None), None)
    if missing is not None and outcome.status == "Returned":
        outcome = replace(outcome, status="Deadlocked", error=_missing_value_error(history, missing))
    return outcome, found


def _apply_feed(history: History, event: Event, value: Value) -> History:
    """The fork in which the tokens that an event sent from its first output carry another value."""
    edges = history.graph.nodes[event.token.node].outputs[0].edges
    for sent in event.sent:
        if Edge(sent.node, sent.port) in edges:
            flight = enumerate(history.state.flight)
            position = next((position for position, token in flight if token[:3] == sent[:3]), None)
            if position is None:
                node = history.graph.nodes[event.token.node]
                hint = "feed what it takes"
                raise Usage(f"a bound holds what {node} makes", rule="S16", where=node.origin, tag=sent.tag, hint=hint)
            history = history.change(position, value)
    return history


def _outcome_of(history: History, until: Until) -> Outcome:
    if not history.state.flight or history.stop_error is not None:
        return history.outcome()
    return build_outcome(
        history.state,
        history.stats,
        None,
        until,
        schedule=WHAT_IF if history.edits else history.schedule,
        engine="reference",
        structure=history.structure,
        kept_events=tuple(history),
    )


def _missing_value_error(history: History, place: ValueLocation) -> Deadlock:
    """The error for a missing value at a location."""
    number, tag = place.nodes[0], place.tag or ROOT
    node = history.graph.nodes[number]
    fires = tag
    if node.site is not None and _exits_activation(history.graph, number):
        inside = (event.token.tag for event in history if event.token.tag.site == node.site)
        last = max((step.iteration for step in inside if step.parent == tag), default=0)
        fires = tag.child(node.site, last)
    error = Deadlock(f"{place.text} has no value: {node} did not fire", rule="S12", where=node.origin, tag=tag)
    error.add_note(f"  {history.ask.why_not(str(node), fires)}".replace("\n", "\n  "))
    return error
