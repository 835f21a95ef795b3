"""The first difference of two runs in dependence order. The runs may have different schedules or arguments, or be runs
of an edited program.

Firings of the two runs match if their nodes have the same name and their tags the same path. They agree if operands,
results and traps have the same bits. A difference is a *first* one if all firings that its tokens came from agree. Runs
that differ have a first difference, because dependence has no cycles. In an edited program, though, a name may belong
to another node, and each of two nodes may depend on the other in one of the programs; then all differences count as
first. If there are several, the first in program order is reported, so for quiescent runs the answer does not depend on
the schedules. If a run was stopped, a firing that it had not reached is not a difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Literal as Word
from typing import NamedTuple, TypeAlias

import numpy as np

from ...core.graph.graph import Graph
from ...core.tag import Tag
from ...core.types import OPAQUE_CLASSES, Handle
from ...core.value import MAX_PRINTED_ELEMENTS, Value, abbreviate, format_numbers, is_same_value
from ..machine.event import Event
from ..outcome.outcome import abbreviate_value
from ..outcome.program_order import TaggedNode, program_order
from .answers import FiringOrigin, InjectedOrigin, Origin, OriginId, TokenKey
from .index import EventIndex

DifferenceKind: TypeAlias = Word["arguments", "operands", "results", "only one"]
FiringPair: TypeAlias = tuple[OriginId | None, OriginId | None]
"""Matching firings of the two runs; None for a run without such a firing."""


class ChangedArgument(NamedTuple):
    """An argument that differs: its name, and its value in each run; None if a run has fewer arguments."""

    name: str
    first: Value | None
    second: Value | None

    def __str__(self) -> str:
        return self.describe("the first", "the second")

    def describe(self, first_name: str, second_name: str) -> str:
        """The change as text, with these words for the two runs."""
        first, second = _describe_value(self.first), _describe_value(self.second)
        where = describe_differing_elements(self.first, self.second)
        return f"argument {self.name} is {first} in {first_name}, {second} in {second_name}{where}"


class OperandDifference(NamedTuple):
    """A port whose operand differs: the operand and its origin in each run. The origin of a literal is None."""

    port: int
    first: Value | None
    second: Value | None
    first_origin: Origin | None
    second_origin: Origin | None

    def __str__(self) -> str:
        return self.describe("the first", "the second")

    def describe(self, first_name: str, second_name: str) -> str:
        """The difference as text, with these words for the two runs."""
        first, second = (
            _describe_operand(self.first, self.first_origin),
            _describe_operand(self.second, self.second_origin),
        )
        where = describe_differing_elements(self.first, self.second)
        return f"port {self.port} got {first} in {first_name}, {second} in {second_name}{where}"


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """The first difference between two runs.

    `kind` is "results" (a node has different results on the same operands, or only one firing trapped), "operands" (the
    operands differ although everything they came from agrees: an argument, a literal or an edge differs, or a fork
    changed a token), "only one" (the node fired in one run only, and everything it depends on agrees) or "arguments"
    (they differ, and no firing does). `first` and `second` are the firings of the two runs, `operands` the ports that
    differ, and `missing_ports` the ports without a token in the run in which the node did not fire: None if that graph
    has no such node. `arguments` are the arguments that differ.
    """

    kind: DifferenceKind
    arguments: tuple[ChangedArgument, ...]
    first: FiringOrigin | None = None
    second: FiringOrigin | None = None
    operands: tuple[OperandDifference, ...] = ()
    missing_ports: tuple[int, ...] | None = ()

    @property
    def firing(self) -> FiringOrigin | None:
        """The firing that differs: that of the first run, or else that of the second."""
        return self.first or self.second

    def __str__(self) -> str:
        return self.describe("first", "second")

    def describe(self, first_name: str, second_name: str) -> str:
        """The difference as text, with these words for the two runs."""
        runs = [f"the {name}" if " " not in name else name for name in (first_name, second_name)]
        lines = [f"  {changed.describe(*runs)}" for changed in self.arguments]
        if self.firing is None:
            return "\n".join(["the runs differ in their arguments only", *lines])
        line = f" ({self.firing.node.location})" if self.firing.node.location else ""
        head = (
            f"the runs differ first at node {self.firing.node}{line} under {self.firing.tag}: {self._describe_kind()}"
        )
        sides = [
            f"  {first_name}: {self._describe_side(self.first)}",
            f"  {second_name}: {self._describe_side(self.second)}",
        ]
        return "\n".join([head, *lines, *sides, *(f"  {operand.describe(*runs)}" for operand in self.operands)])

    def _describe_kind(self) -> str:
        match self.kind:
            case "results":
                if self.first is not None and self.second is not None and self.first.node.op != self.second.node.op:
                    return "its op differs"
                return "on the same operands it gave different results"
            case "operands":
                return "it got different operands"
        return "it fired in one of them only"

    def _describe_side(self, firing: FiringOrigin | None) -> str:
        if firing is not None:
            return f"{firing.computation}, at event {firing.number}"
        if self.missing_ports is None:
            return "there is no such node"
        if not self.missing_ports:
            return "it did not fire"
        ports = " and ".join(map(str, self.missing_ports))
        return f"it did not fire: no token came to port {ports}"


def first_difference(first: EventIndex, second: EventIndex, *, by_number: bool = False) -> Difference | None:
    """The first difference of two runs; None if all firings and arguments agree. With `by_number`, nodes of the same
    number correspond, for two graphs of one shape; otherwise nodes of the same name."""
    return _RunComparison(first, second, by_number).find_difference()


class _ComparedRun:
    """One of two compared runs: for each node its number in the other run's graph (`counterparts`), and the firings
    that differ."""

    def __init__(self, index: EventIndex, other: Graph, by_number: bool) -> None:
        self.index = index
        numbers = {str(node): number for number, node in enumerate(other.nodes)}
        nodes = enumerate(index.graph.nodes)
        self.counterparts = [number if by_number else numbers.get(str(node)) for number, node in nodes]
        self.is_quiescent = _is_quiescent(index)
        self.differing_firings = set[OriginId]()

    def firings(self) -> Iterator[tuple[OriginId, int, Tag]]:
        """The firings of the run: the number of the event, the node, and the tag."""
        for number, event in enumerate(islice(self.index.events, len(self.index))):
            if event.inputs is not None:
                yield number, event.token.node, event.token.tag

    def has_agreeing_operands(self, number: OriginId) -> bool:
        """Whether all firings that the operands of this one came from agree."""
        return all(sender not in self.differing_firings for _, sender in self.index.operands(number))


class _RunComparison:
    def __init__(self, first: EventIndex, second: EventIndex, by_number: bool) -> None:
        self.first = _ComparedRun(first, second.graph, by_number)
        self.second = _ComparedRun(second, first.graph, by_number)
        self.changed_arguments = tuple(_changed_arguments(first, second))

    def find_difference(self) -> Difference | None:
        """The first difference of the runs, or None."""
        self.mark_differing(self.first, self.second)
        self.mark_differing(self.second, self.first)
        differing = list(self.differing_pairs())
        candidates = [pair for pair in differing if self._is_first(*pair)] or differing
        if not candidates:
            return Difference("arguments", self.changed_arguments) if self.changed_arguments else None
        return self.build_difference(*self.earliest_pair(candidates))

    def mark_differing(self, run: _ComparedRun, other_run: _ComparedRun) -> None:
        """Mark the firings that differ, and those without a match that the other run would have reached."""
        for number, node, tag in run.firings():
            match = self.counterpart(run, other_run, node, tag)
            if match is None:
                if other_run.is_quiescent or run.counterparts[node] is None:
                    run.differing_firings.add(number)
            elif not firings_agree(run.index, number, other_run.index, match):
                run.differing_firings.add(number)

    def counterpart(self, run: _ComparedRun, other_run: _ComparedRun, node: int, tag: Tag) -> OriginId | None:
        """The firing of the same node under the same tag in the other run; None if there is none."""
        other_node = run.counterparts[node]
        return None if other_node is None else other_run.index.firing_event(other_node, tag)

    def differing_pairs(self) -> Iterator[FiringPair]:
        """The differing firings as pairs; None for a run without the firing."""
        for number in sorted(self.first.differing_firings):
            node, _, tag, _ = self.first.index.events[number].token
            yield number, self.counterpart(self.first, self.second, node, tag)
        for number in sorted(self.second.differing_firings):
            node, _, tag, _ = self.second.index.events[number].token
            if self.counterpart(self.second, self.first, node, tag) is None:
                yield None, number

    def _is_first(self, first: OriginId | None, second: OriginId | None) -> bool:
        return (first is None or self.first.has_agreeing_operands(first)) and (
            second is None or self.second.has_agreeing_operands(second)
        )

    def earliest_pair(self, pairs: list[FiringPair]) -> FiringPair:
        """The first pair in the program order of the first run; but if a firing of the second run alone precedes it in
        the second run's program order, that one."""
        pairs_of_second = [pair for pair in pairs if pair[0] is None]
        if len(pairs_of_second) == len(pairs):
            return first_in_program_order(self.second.index, pairs_of_second, 1)
        pair_of_first = first_in_program_order(self.first.index, [pair for pair in pairs if pair[0] is not None], 0)
        return (
            pair_of_first
            if pair_of_first[1] is None
            else first_in_program_order(self.second.index, [pair_of_first, *pairs_of_second], 1)
        )

    def build_difference(self, first_number: OriginId | None, second_number: OriginId | None) -> Difference:
        """The difference between these firings, one of each run; None for a run without the firing."""
        first = None if first_number is None else _firing(self.first.index, first_number)
        second = None if second_number is None else _firing(self.second.index, second_number)
        if first is not None and second is not None:
            operands = tuple(differing_operands(self.first.index, first, self.second.index, second))
            return Difference("operands" if operands else "results", self.changed_arguments, first, second, operands)
        run, other_run = (self.first, self.second) if first else (self.second, self.first)
        firing = first or second
        assert firing is not None
        missing = missing_ports_of(other_run.index, run.counterparts[firing.event.token.node], firing.tag)
        return Difference("only one", self.changed_arguments, first, second, (), missing)


def _is_quiescent(index: EventIndex) -> bool:
    """Whether no token is in flight at the end: every token that was sent has been delivered."""
    token_count = sum(len(output.edges) for _, output in index.graph.arguments)
    for event in islice(index.events, len(index)):
        if event.sent and event.sent[0].node >= 0 and not event.is_throttled:
            token_count += len(event.sent)
        token_count += len(event.woken) + len(event.released)
    return token_count == len(index)


def _changed_arguments(first: EventIndex, second: EventIndex) -> Iterator[ChangedArgument]:
    for position, (value, other_value) in enumerate(zip_longest(first.arguments, second.arguments)):
        if value is None or other_value is None or not is_same_value(value, other_value):
            index = second if value is None else first
            yield ChangedArgument(index.graph.arguments[position][0], value, other_value)


def firings_agree(index: EventIndex, number: OriginId, other_index: EventIndex, match: OriginId) -> bool:
    """Whether two firings have the same operands, results and trap."""
    own_event, other_event = index.events[number], other_index.events[match]
    values, other_values = operands_of(index, own_event), operands_of(other_index, other_event)
    outputs, other_outputs = ([output for output, _ in event.outputs] for event in (own_event, other_event))
    if own_event.trap != other_event.trap or outputs != other_outputs or len(values) != len(other_values):
        return False
    values, other_values = (
        (*values, *(value for _, value in own_event.outputs)),
        (*other_values, *(value for _, value in other_event.outputs)),
    )
    return all(
        is_same_operand(x, y) or are_same_cells(index.graph, x, other_index.graph, y)
        for x, y in zip(values, other_values, strict=True)
    )


def operands_of(index: EventIndex, event: Event) -> tuple[Value, ...]:
    """The operands of a firing, without the trigger."""
    inputs = event.inputs or ()
    return inputs[:-1] if index.graph.nodes[event.token.node].has_trigger else inputs


def is_same_operand(first: Value, second: Value) -> bool:
    """Whether two values are the same, by their bits; False for handles."""
    if type(first) is int and type(second) is int:  # 0.1 us instead of 1, for most values of most runs
        return first == second
    return not isinstance(first, OPAQUE_CLASSES) and (first is second or is_same_value(first, second))


def are_same_cells(graph: Graph, first: Value, other_graph: Graph, second: Value) -> bool:
    """Whether two values are handles that nodes of the same name made under equal tags. Numbers of nodes differ between
    programs."""
    if not (isinstance(first, Handle) and isinstance(second, Handle)):
        return False
    names = str(graph.nodes[first.node]), str(other_graph.nodes[second.node])
    return names[0] == names[1] and first.tag == second.tag and (first.size, first.dtype) == (second.size, second.dtype)


def first_in_program_order(index: EventIndex, pairs: list[FiringPair], side: int) -> FiringPair:
    """The first pair in the program order of one run; `side` is the position of that run's firing in a pair."""
    pair_by_node: dict[TaggedNode, FiringPair] = {}
    for pair in pairs:
        number = pair[side]
        assert number is not None
        token = index.events[number].token
        pair_by_node[token.tag, token.node] = pair
    ranks = program_order(index.graph, pair_by_node)
    return pair_by_node[min(pair_by_node, key=ranks.__getitem__)]


def _firing(index: EventIndex, number: OriginId) -> FiringOrigin:
    return index.firing_origin(number)


def differing_operands(
    index: EventIndex, first: FiringOrigin, other_index: EventIndex, second: FiringOrigin
) -> Iterator[OperandDifference]:
    """The ports whose operands differ, including ports that only one of the nodes has."""
    senders, other_senders = dict(index.operands(first.number)), dict(other_index.operands(second.number))
    if first.node.op == "merge" == second.node.op:  # whatever the port, it is the one operand
        senders, other_senders = dict(enumerate(senders.values())), dict(enumerate(other_senders.values()))
    for port, (operand, other_operand) in enumerate(zip_longest(first.operands, second.operands)):
        has_both = operand is not None and other_operand is not None
        if not has_both or not (
            is_same_operand(operand, other_operand)
            or are_same_cells(index.graph, operand, other_index.graph, other_operand)
        ):
            yield OperandDifference(
                port,
                operand,
                other_operand,
                operand_origin(index, first, port, senders),
                operand_origin(other_index, second, port, other_senders),
            )


def operand_origin(index: EventIndex, firing: FiringOrigin, port: int, senders: dict[int, OriginId]) -> Origin | None:
    """Where an operand of a firing came from; None for a literal."""
    node, arrival_port, tag, _ = firing.event.token
    token = TokenKey(node, arrival_port if firing.node.op == "merge" else port, tag)
    return index.origin(senders[port], token) if port in senders else None


def missing_ports_of(index: EventIndex, node: int | None, tag: Tag) -> tuple[int, ...] | None:
    """The ports of a node that have received no token under a tag."""
    if node is None:
        return None
    row = index.graph.nodes[node]
    ports = [port for port, literal in enumerate(row.ports) if literal is None]
    return tuple(port for port in ports if index.sender(node, port, tag) is None)


def _describe_value(value: Value | None) -> str:
    return "not there" if value is None else abbreviate(value)


def describe_differing_elements(first: Value | None, second: Value | None) -> str:
    """How many elements of two arrays differ, and the first of them; empty for arrays of different shapes, and for
    those that are printed in full.

    >>> zeros, others = np.zeros((8, 8)), np.zeros((8, 8))
    >>> others[2, 5:7] = 1.5
    >>> describe_differing_elements(zeros, others), describe_differing_elements(zeros[0], others[2])
    ('; 2 of 64 elements differ, first [2, 5]: 0.0, 1.5', '')
    """
    if first is None or second is None or isinstance(first, OPAQUE_CLASSES) or isinstance(second, OPAQUE_CLASSES):
        return ""
    one, other = np.asarray(first), np.asarray(second)
    if one.shape != other.shape or one.size <= MAX_PRINTED_ELEMENTS:
        return ""
    places = np.argwhere((one != other) & ~((one != one) & (other != other)))
    if not len(places):
        return ""
    place = tuple(places[0].tolist())
    values = ", ".join(format_numbers(array[place]) for array in (one, other))
    return f"; {len(places):,} of {one.size:,} elements differ, first {list(place)}: {values}"


def _describe_operand(value: Value | None, origin: Origin | None) -> str:
    if value is None:
        return "nothing"
    if origin is None:
        return f"the literal {abbreviate(value)}"
    text = (
        abbreviate_value(origin.graph, value)
        if isinstance(origin, FiringOrigin | InjectedOrigin)
        else abbreviate(value)
    )
    return f"{text} from {origin.short_description}"
