"""The critical path of a run, and its time on p processors, computed from the events, in whatever order the schedule
made them. Program order breaks ties.

A firing depends on the firings that made its operands; a read of cells also depends on the firings that filled them.
There are no other dependences. So a run is a directed acyclic graph, the same under every schedule, and its measures
belong to the program and its arguments. A trigger counts as an operand; a k-bound makes no dependence. All this holds
for graphs that keep the rules, where (node, port, tag) identifies a token.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...core.errors import Usage
from ...core.graph.graph import Graph
from ...core.tag import Tag
from ...core.value import Value
from ..machine.event import CellAddress, Event
from .program_order import TaggedNode, program_order


class Dependence(NamedTuple):
    """The events that made the operands of a firing, and its depth in the graph of dependences.

    The depth is 1 more than the largest depth of those events; the environment's is 0. Without cells and k-bounds, it
    is the wave in which the firing happens under the schedule `waves`. With cells it may be larger: a get may find a
    cell full that was filled earlier in the same wave.
    """

    depth: int
    producers: tuple[int, ...]


class CriticalFiring(NamedTuple):
    """A firing of a run: the number of its event, from 0, and the event."""

    event: int
    node: int
    tag: Tag
    inputs: tuple[Value, ...]
    outputs: tuple[tuple[int, Value], ...]


def dependences(graph: Graph, events: Sequence[Event]) -> dict[int, Dependence]:
    """The dependence of every firing, by the number of its event, in the order of the events."""
    firings: dict[int, Dependence] = {}
    senders: dict[tuple[int, int, Tag], int] = {}
    """The event that sent each token in flight."""
    operand_producers: dict[TaggedNode, list[int]] = {}
    """The events that sent the operands delivered so far to each node that has not fired."""
    stores: dict[CellAddress, int] = {}
    for number, event in enumerate(events):
        node, port, tag, _ = event.token
        sender = senders.pop((node, port, tag), None)
        producers = operand_producers.setdefault((tag, node), [])
        if sender is not None:
            producers.append(sender)
        if event.inputs is None:
            continue
        del operand_producers[tag, node]
        op = graph.nodes[node].op
        if op == "store" and event.trap is None:
            stores[accessed_cell(event.inputs)] = number
        producers += [stores[cell] for cell in cells_read(op, event.inputs) if cell in stores]
        firings[number] = Dependence(
            1 + max((firings[producer].depth for producer in producers), default=0), tuple(producers)
        )
        senders.update(((token.node, token.port, token.tag), number) for token in event.sent)
    return firings


def critical_path(graph: Graph, events: Sequence[Event]) -> tuple[CriticalFiring, ...]:
    """A longest chain of firings, from first to last, in which each firing uses a result of the previous one.

    Its length is the largest depth, which is the span without cells and k-bounds. Among all such chains, its last
    firing comes first in program order, then the one before it, and so on: it is the same under every schedule, except
    for the numbers of the events. Empty if nothing fired.
    """
    firings = dependences(graph, events)
    if not firings:
        return ()
    ranks = program_ranks(graph, events, firings)
    deepest = max(firings[number].depth for number in firings)
    current = min((number for number in firings if firings[number].depth == deepest), key=ranks.__getitem__)
    path = [current]
    while (depth := firings[current].depth) > 1:
        producers = (producer for producer in firings[current].producers if firings[producer].depth == depth - 1)
        current = min(producers, key=ranks.__getitem__)
        path.append(current)
    return tuple(critical_firing(number, events[number]) for number in reversed(path))


def times_on(graph: Graph, events: Sequence[Event], processors: float) -> dict[int, int]:
    """The time of each firing, by the number of its event, if at most `processors` firings happen in a unit of time.

    Greedy list scheduling: each unit of time, from 1 up, takes as many ready firings as there are processors, by
    increasing depth, then in program order. `math.inf` stands for unlimited processors. Raises Usage unless
    `processors` is a positive whole number or infinite.
    """
    if not (processors == math.inf or (isinstance(processors, int) and processors > 0)):
        required, python = "an integer from 1 up, or math.inf", ValueError if type(processors) is int else TypeError
        raise Usage("processors must be positive", required=required, got=repr(processors), python=python)
    firings = dependences(graph, events)
    ranks = program_ranks(graph, events, firings)
    times: dict[int, int] = {}
    load: Counter[int] = Counter()
    next_free: dict[int, int] = {}
    for number in sorted(firings, key=lambda candidate: (firings[candidate].depth, ranks[candidate])):
        # Firings take one unit each, so this gives the greedy times: a later firing never delays an earlier one.
        time = first_free_time(
            next_free, 1 + max((times[producer] for producer in firings[number].producers), default=0)
        )
        times[number] = time
        load[time] += 1
        if load[time] == processors:
            next_free[time] = time + 1
    return times


def time_on(graph: Graph, events: Sequence[Event], processors: float) -> int:
    """T_p: the time of a run on `processors`, one unit per firing, scheduled as by `times_on`.

    On one processor it is the work, on unlimited ones the span. Between them, max(span, work/p) <= T_p <= sum of
    ceil(P(t)/p) <= work/p + span, which is Brent's bound (R. P. Brent, The parallel evaluation of general arithmetic
    expressions, JACM 1974), where the span and P(t) are those of the depths. More processors may take
    longer, as in any list scheduling (R. L. Graham, Bounds on multiprocessing timing anomalies, SIAM J. 1969).
    """
    return max(times_on(graph, events, processors).values(), default=0)


def time_by_waves(profile: Sequence[int], processors: int) -> int:
    """The time on processors that finish each wave before the next: the sum of ceil(P(t)/p). It needs no events and is
    an upper bound of T_p.

    >>> time_by_waves([1, 2, 3, 4, 4, 1], 1), time_by_waves([1, 2, 3, 4, 4, 1], 2), time_by_waves([1, 2, 3, 4, 4, 1], 4)
    (15, 9, 6)
    """
    return sum(-(-firings // processors) for firings in profile)


def times_by_waves(profile: Sequence[int]) -> dict[int, int]:
    """`time_by_waves` on 1, 2, 4, 8, ... processors, up to the first power of two that gives every firing its own.

    >>> times_by_waves([1, 2, 5])
    {1: 8, 2: 5, 4: 4, 8: 3}
    """
    powers = range((max(profile, default=1) - 1).bit_length() + 1)
    return {1 << power: time_by_waves(profile, 1 << power) for power in powers}


def program_ranks(graph: Graph, events: Sequence[Event], firings: Mapping[int, object]) -> dict[int, int]:
    """The ranks of these firings in program order, by the numbers of their events."""
    tagged_nodes = {number: (events[number].token.tag, events[number].token.node) for number in firings}
    ranks = program_order(graph, tagged_nodes.values())
    return {number: ranks[tagged_node] for number, tagged_node in tagged_nodes.items()}


def critical_firing(number: int, event: Event) -> CriticalFiring:
    """The firing of an event, by its number."""
    assert event.inputs is not None
    return CriticalFiring(number, event.token.node, event.token.tag, event.inputs, event.outputs)


def accessed_cell(inputs: tuple[Any, ...]) -> CellAddress:
    """The cell that a store fills, or a get reads."""
    return CellAddress(inputs[0], int(inputs[1]))


def cells_read(op: str, inputs: tuple[Any, ...]) -> Sequence[CellAddress]:
    """The cells that a firing of this op reads."""
    if op == "collect":
        return [CellAddress(inputs[0], number) for number in range(inputs[0].size)]
    return [accessed_cell(inputs)] if op == "get" else ()


def first_free_time(next_free: dict[int, int], time: int) -> int:
    """The first unit of time, from `time` on, that is not full. `next_free` maps each full unit to a later one to
    try."""
    while (following := next_free.get(time)) is not None:
        next_free[time] = time = next_free.get(following, following)
    return time
