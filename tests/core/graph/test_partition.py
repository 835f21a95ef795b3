"""Graphs on several devices: a partition changes no result and no firing, and sends each value once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.effect_programs import Witness, act_cases, unbounded
from support.generators.generator import Case, cases
from support.laws.fast_laws import LIMITS
from support.programs.parallel_programs import fib, sums, twice
from tagloom.core.errors import Usage
from tagloom.core.graph import partition as module
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.partition import Partition, colocation_groups, partition, place_nodes
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.device import parse_device
from tagloom.core.text import print_graph
from tagloom.core.value import fingerprint
from tagloom.interp.engines.reference import run_graph

DEVICES = [parse_device(name) for name in ("/job:worker/task:0", "/job:worker/task:1", "/job:ps/task:0")]


def random_places(graph: Graph, dice: Random) -> list[int]:
    """A device for each group of nodes; that of the results is the first."""
    groups = colocation_groups(graph)
    places = {group: dice.randrange(len(DEVICES)) for group in groups}
    places.update((groups[number], 0) for number in graph.results)
    return [places[group] for group in groups]


def violations(graph: Graph, arguments: list[object], places: list[int]) -> Iterator[str]:
    """Where a graph on several devices differs from the graph as a whole."""
    parts = partition(graph, places, DEVICES)
    yield from (f"the partition breaks a rule: {problem}" for problem in graph_problems(parts.graph))
    yield from faults(parts)
    worlds = Witness(), Witness()
    expected = run_graph(graph, arguments, limits=LIMITS, world=worlds[0])
    if expected.status == "Exhausted":
        return
    got = run_graph(parts.graph, arguments, world=worlds[1], unchecked=True)
    results = [[None if value is None else fingerprint(value) for value in out.results] for out in (got, expected)]
    firings = got.stats.by_node[: len(graph.nodes)]
    if (got.status, results[0], firings) != (expected.status, results[1], expected.stats.by_node):
        yield f"{got.status} {results[0]} {firings}, not {expected.status} {results[1]} {expected.stats.by_node}"
    if worlds[0].lines != worlds[1].lines:
        yield f"it prints {worlds[1].lines} and not {worlds[0].lines}"
    for transfer in parts.transfers:
        sent, received = (got.stats.by_node[number] for number in (transfer.send, transfer.recv))
        if sent != received:
            yield f"{transfer.value} is sent {sent} times, and received {received} times"


def faults(parts: Partition) -> Iterator[str]:
    """Edges between devices that are no transfers; values that are sent twice to a device; and nodes that no part
    has."""
    transfers = {(each.send, each.recv) for each in parts.transfers}
    for edge, sources in parts.graph.sources().items():
        for source in sources:
            place = 0 if source.node < 0 else parts.places[source.node]
            is_entry = source.node < 0 and parts.graph.nodes[edge.node].op == "merge"
            if place != parts.places[edge.node] and (source.node, edge.node) not in transfers and not is_entry:
                yield f"{source} -> {edge} leaves its device"
    counts = Counter((each.value, each.target) for each in parts.transfers)
    yield from (f"{value} is sent {count} times to {target}" for (value, target), count in counts.items() if count > 1)
    nodes = Counter(str(node) for place in range(len(DEVICES)) for node in parts.part(place).nodes)
    recvs = {each.recv for each in parts.transfers}
    if nodes != Counter(str(node) for number, node in enumerate(parts.graph.nodes) if number not in recvs):
        yield "the parts do not have all nodes once"


@settings(max_examples=25, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(cases() | act_cases(bounded=False), st.integers(0, 2**32 - 1).map(Random))
def test_generated_programs(case: Case, dice: Random) -> None:
    """On any devices, a program has the same results, firings and effects, and each value travels once for a tag."""
    graph = lower(unbounded(case.program))
    assert list(violations(graph, case.arguments, random_places(graph, dice))) == []


@pytest.mark.full
def test_small_programs() -> None:
    """Recursion, loops in loops, and results that two sites share, on many placements; most have transfers."""
    count = 0
    for seed in range(6):
        for function, argument in ((fib, 5), (sums, 3), (twice, 4)):
            places = random_places(function.graph, Random(seed))
            assert list(violations(function.graph, [argument], places)) == []
            count += len(partition(function.graph, places, DEVICES).transfers)
    assert count > 100


@tl.function
def power(x: tl.float64, n: tl.int64) -> tl.float64:
    return x * 0.5 if n == 0 else tl.sin(x) * power(x, n - 1)


@tl.function
def slope(x: tl.float64) -> tl.float64:
    """The derivative of a recursion and of a loop in a loop, which are retraced in reverse."""
    return tl.grad(lambda x: power(x, 2) + loops(x))(x)


def loops(x: tl.float64) -> tl.float64:
    def outer(i: tl.int64, y: tl.float64) -> tuple[tl.int64, tl.float64]:
        return i + 1, tl.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, tl.sin(z) * y), 0, y)[1]

    return tl.while_loop(lambda i, y: i < 3, outer, 0, x)[1]


@pytest.mark.full
def test_gradients() -> None:
    """The reverse passes of recursions and loops keep the rules on any devices."""
    for seed in range(12):
        assert list(violations(slope.graph, [0.7], random_places(slope.graph, Random(seed)))) == []


@pytest.mark.parametrize("count", [2, 3])
def test_parts_have_a_text_form(count: int) -> None:
    """The names of sends and recvs are names of the text form: of second outputs, and of several devices, too."""
    for seed in range(6):
        places = [place % count for place in random_places(fib.graph, Random(seed))]
        parts = partition(fib.graph, places, DEVICES[:count])
        assert all(print_graph(parts.part(place)) for place in range(count))


def test_places_are_positions_of_devices() -> None:
    """Too few places, and places that no device has, are errors of the caller."""
    count = len(fib.graph.nodes)
    for places in ([0], [3] * count, [-1] * count):
        with pytest.raises(Usage, match="a partition does not name one device for each node"):
            partition(fib.graph, places, DEVICES)
    with pytest.raises(Usage, match="needs a device"):
        place_nodes(fib.graph, {}, [])
    with pytest.raises(Usage, match="this is not a device"):
        place_nodes(fib.graph, {"fib": 3}, DEVICES)  # type: ignore[dict-item]


def without_colocation(patch: MonkeyPatch) -> None:
    patch.setitem(random_places.__globals__, "colocation_groups", lambda graph: list(range(len(graph.nodes))))


def without_pairs(patch: MonkeyPatch) -> None:
    """Edges leave their devices."""
    true = module.partition
    patch.setitem(
        violations.__globals__,
        "partition",
        lambda graph, places, devices: (
            true(graph, [0] * len(places), devices)
            if not any(places)
            else Partition(graph, tuple(devices), tuple(places), ())
        ),
    )


@pytest.mark.full
@pytest.mark.parametrize("how", [without_colocation, without_pairs])
def test_the_law_catches_broken_partitions(how: object, monkeypatch: MonkeyPatch) -> None:
    """Placements that separate the calls of a function from its entry, and edges without transfers, are caught."""
    how(monkeypatch)  # type: ignore[operator]
    places = [random_places(fib.graph, Random(seed)) for seed in range(5)]
    assert any(fault for each in places for fault in violations(fib.graph, [4], each))


def test_constraints() -> None:
    """A constraint names a function or a node, and a device or a part of its name; the calls of a function go with
    it."""
    places = place_nodes(twice.graph, {"fib": "/job:ps", "multiply": "/task:1"}, DEVICES)
    placed = {str(node): DEVICES[place] for node, place in zip(twice.graph.nodes, places, strict=True)}
    assert {str(placed[name]) for name in placed if name.startswith("fib.")} == {"/job:ps/task:0"}
    assert str(placed["through.fib.call_n"]) == "/job:ps/task:0"
    assert str(placed["twice.multiply"]) == "/job:worker/task:1"
    assert str(placed["twice.return"]) == "/job:worker/task:0"


@pytest.mark.parametrize(
    ("constraints", "text"),
    [
        ({"fib": "/job:ps/task:7"}, r"(?s)no device satisfies.*required: fib on /job:ps/task:7"),
        ({"fib": "/job:ps", "fib.n": "/task:1"}, r"(?s)required: fib on /job:ps; fib.n on /task:1.*they are on one"),
        ({"twice.return": "/job:ps"}, r"(?s)the results on /job:worker/task:0"),
        ({"fib": "ps:1"}, "this is not a device"),
        ({"fib": ""}, "this is not a device"),
        ({"nothing": "/job:ps"}, "no node is called"),
    ],
)
def test_constraints_that_nothing_satisfies(constraints: dict[str, str], text: str) -> None:
    """The error names the constraints that no device satisfies together, and the devices."""
    with pytest.raises(Usage, match=text):
        place_nodes(twice.graph, constraints, DEVICES)


def test_a_part_is_a_graph() -> None:
    """The arguments of a part are what is sent there."""
    graph = twice.graph
    parts = partition(graph, place_nodes(graph, {"fib": "/job:ps"}, DEVICES), DEVICES)
    assert parts.part(1).nodes == ()
    assert [name for name, _ in parts.part(2).arguments] == [
        f"recv_{each.value}".replace(".", "_") for each in parts.transfers if each.target == 2
    ]
    out = tl.run_graph(parts.graph, [6])
    assert (out.value, len(parts.part(0).results)) == (twice(6), 1)
