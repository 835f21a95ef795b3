"""Programs with devices: nodes fire on the worker of their device, and the run is that of one machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch
from support.generators.effect_programs import act_cases, unbounded
from support.generators.generator import Case, cases
from support.laws.distributed_laws import distributed_run, violations
from support.programs.parallel_programs import careless, fib, fragile, sums, tak, twice
from tagloom.core.errors import Usage
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.partition import closest_device, first_admitted, list_devices, node_constraints, place_nodes
from tagloom.core.program.device import parse_device
from tagloom.interp.engines.distributed import engine
from tagloom.interp.engines.distributed.placement import ENTRY_OPS, WorkerPlacement, find_placement
from tagloom.interp.engines.distributed.worker import Worker

WORKERS = 3


@tl.function
def helper(x: tl.int64) -> tl.int64:
    return x * x + 1


@tl.function
def model(n: tl.int64) -> tl.int64:
    with tl.device("/job:ps/task:1"):
        a = fib(n)
        for i in range(n):
            a = a + i
        with tl.device("/task:2"):
            a = a * a
    return a - helper(n)


@tl.function
def contradiction(n: tl.int64) -> tl.int64:
    with tl.device("/job:ps"):
        a = helper(n)
    with tl.device("/job:worker/task:1"):
        return helper(a)


@tl.function
def branches(x: tl.float64) -> tl.float64:
    with tl.device("/job:a"):
        if x > 1.0:
            with tl.device("/job:b"):
                x = x * 2.0
        else:
            x = x - 1.0
    return tl.grad(lambda y: curve(y))(x)


def curve(y: tl.float64) -> tl.float64:
    with tl.device("/job:b"):
        return tl.sin(y) * y


def random_placement(graph: Graph, dice: Random) -> WorkerPlacement:
    """A worker for half of the nodes, chosen at random."""
    ranks = (dice.randrange(WORKERS) if dice.random() < 0.5 else None for _ in graph.nodes)
    ops = (node.op for node in graph.nodes)
    routing = ("merge", "switch", "return", "next_iteration", "exit", "reenter", "back")
    return WorkerPlacement(
        ("a", "b", "c"), tuple(None if op in routing else rank for rank, op in zip(ranks, ops, strict=True))
    )


def misplaced_firings(
    graph: Graph, arguments: Sequence[Any], placement: WorkerPlacement, cluster: str, seed: int = 0
) -> Iterator[str]:
    """Where a run with this placement differs from the reference, and the firings that are on another worker than that
    of their node."""
    faults: set[str] = set()
    true_apply, true_perform = Worker._apply, Worker._perform

    def note(rank: int, number: int) -> None:
        node, required = graph.nodes[number], placement.ranks[number]
        if node.op not in ENTRY_OPS and required not in (None, rank):
            faults.add(f"{node} fires on worker {rank} and not {required}")

    def apply(self: Worker, event: Any, **options: Any) -> None:
        if event.inputs is not None and not self._is_remote[event.token.node]:
            note(self.rank, event.token.node)
        true_apply(self, event, **options)

    def perform(self: Worker, client: int, request: Any) -> None:
        if self._effects[request.token.node] is None:
            note(self.rank, request.token.node)
        true_perform(self, client, request)

    with MonkeyPatch.context() as patch:
        patch.setattr(engine, "find_placement", lambda graph, **options: placement)
        patch.setattr(Worker, "_apply", apply)
        patch.setattr(Worker, "_perform", perform)
        yield from violations(graph, arguments, WORKERS, cluster, seed=seed)
    yield from sorted(faults)


@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(cases() | cases(arrays=True) | act_cases(bounded=False, early=True), st.integers(0, 2**32 - 1).map(Random))
def test_generated_programs(case: Case, dice: Random) -> None:
    """With any nodes and activations placed on any workers, on a faulty network, a program does what it does on one
    machine, and each placed node fires on its worker."""
    graph = lower(unbounded(case.program))
    cluster = f"network:{dice.randrange(10**6)}"
    placement = random_placement(graph, dice)
    assert list(misplaced_firings(graph, case.arguments, placement, cluster, dice.randrange(100))) == []


SMALL_PROGRAMS = ((fib, 7), (tak, 5, 3, 1), (sums, 4), (twice, 6), (fragile, 6), (careless, 5))


def first_fault(seeds: int) -> str | None:
    """The first fault of small programs on networks with these seeds, or the error of a run that fails."""
    for seed in range(seeds):
        for function, *arguments in SMALL_PROGRAMS:
            placement = random_placement(function.graph, Random(seed))
            try:
                fault = next(misplaced_firings(function.graph, arguments, placement, f"network:{seed}"), None)
            except (AssertionError, LookupError, TypeError) as error:
                fault = repr(error)
            if fault:
                return fault
    return None


@pytest.mark.full
def test_small_programs() -> None:
    """Recursion, loops, and traps, with random placements, while workers die."""
    assert first_fault(4) is None


def fires_everything_here(patch: MonkeyPatch) -> None:
    """Only effects are elsewhere."""
    true = Worker.__init__

    def init(self: Worker, *arguments: Any, **options: Any) -> None:
        true(self, *arguments, **options)
        self._is_remote = [effect is not None for effect in self._effects]
        self._rules = tuple(
            each if is_remote else own
            for each, own, is_remote in zip(self._rules, self._own_rules, self._is_remote, strict=True)
        )

    patch.setattr(Worker, "__init__", init)


def drops_traps(patch: MonkeyPatch) -> None:
    """A firing elsewhere that traps has no outputs, and no trap."""
    true = Worker._complete
    patch.setattr(Worker, "_complete", lambda self, result: true(self, result._replace(trap=None)))


@pytest.mark.full
@pytest.mark.parametrize("how", [fires_everything_here, drops_traps])
def test_the_law_catches_broken_placements(how: Any, monkeypatch: MonkeyPatch) -> None:
    """Workers that fire placed nodes where they are, or lose the traps of others, break the law."""
    how(monkeypatch)
    fault = first_fault(20)
    assert fault is not None
    print(fault)


def test_devices_of_a_program() -> None:
    """`tl.device` names the devices; what is called inside is there, and what is inside of an inner one takes its parts
    from that. The engine has a worker for each."""
    graph = model.graph
    constraints = node_constraints(graph)
    devices = list_devices(constraints)
    assert list(map(str, devices)) == ["/job:worker/task:0", "/job:ps/task:1", "/job:ps/task:2"]
    places = dict(zip(map(str, graph.nodes), place_nodes(graph, {}, devices), strict=True))
    assert {places[name] for name in places if name.startswith("fib.")} == {1}
    assert (places["model.multiply"], places["model.subtract_1"], places["helper.multiply"]) == (2, 0, 0)
    out = distributed_run(graph, [6], 3, "network")
    assert (out.results, out.cluster.devices) == (model.run(6).results, tuple(map(str, devices)))  # type: ignore[union-attr]
    for seed in range(3):
        placement = find_placement(graph)
        assert list(misplaced_firings(graph, [5], placement, f"network:{seed}")) == []


def test_a_placed_function_is_given_to_its_worker() -> None:
    """All that a placed call does happens on its worker: its argument and its result travel, not its firings."""
    messages = distributed_run(model.graph, [8], 3, "network").cluster.messages  # type: ignore[union-attr]
    assert messages["FiringRequest"] < 5 and messages["TokenTransfer"] < 12


def test_devices_in_branches_and_gradients() -> None:
    """The nodes of a pullback are on the devices of the nodes that they reverse."""
    placement = find_placement(branches.graph)
    assert set(placement.devices) == {"/job:worker/task:0", "/job:a/task:0", "/job:b/task:0"}
    ranks = dict(zip(map(str, branches.graph.nodes), placement.ranks, strict=True))
    assert {placement.devices[rank] for name, rank in ranks.items() if "cos" in name and rank is not None} <= {
        "/job:b/task:0"
    }
    for seed in range(2):
        assert list(misplaced_firings(branches.graph, [0.7], placement, f"network:{seed}")) == []


def test_refused_devices() -> None:
    """A function whose calls are on two devices is refused, with the lines of both; so are too few workers, and what is
    no device."""
    for run in (lambda: contradiction.run(3, engine="distributed"), lambda: find_placement(contradiction.graph)):
        with pytest.raises(Usage, match=r"no device satisfies the constraints of .*helper") as caught:
            run()
        first_line = contradiction._python.__code__.co_firstlineno
        for line in (first_line + 2, first_line + 4):
            assert f"test_placement.py:{line}" in str(caught.value)
    with pytest.raises(Usage, match=r"(?s)more devices than .* workers.*/job:ps/task:2.*got: 2"):
        model.run(3, engine="distributed", workers=2)
    assert contradiction.run(3).value == 101
    for name, error in (("ps:1", ValueError), ("", ValueError), (3, TypeError)):
        with pytest.raises(error, match="this is not a device"):
            tl.device(name)  # type: ignore[arg-type]
    assert str(parse_device("/task:1").or_else(parse_device("/job:a/task:0"))) == "/job:a/task:1"


with tl.device("/job:ps"):
    weight = tl.Variable(2.0, name="weight")
free = tl.Variable(3.0, name="free")


@tl.function
def trained(x: tl.float64) -> tl.float64:
    """Two scopes of one variable, one of which says more of its device; and a variable without a device."""
    with tl.device(weight):
        y = weight * x
    z = tl.sin(y)
    with tl.device("/task:1"), tl.device(weight):
        weight.assign_sub(0.5 * z)
    with tl.device(free):
        return free + z


@tl.function
def torn(x: tl.float64) -> tl.float64:
    with tl.device(weight):
        y = weight * x
        with tl.device("/job:other"):
            return y + 1.0


def places_by_op(function: tl.Function) -> dict[str, str | None]:
    """The device of each op of a program."""
    placement = find_placement(function.graph)
    pairs = zip(function.graph.nodes, placement.ranks, strict=True)
    return {node.op: None if rank is None else placement.devices[rank] for node, rank in pairs}


def test_nodes_are_colocated_with_a_variable() -> None:
    """All nodes of `with tl.device(variable)` are on one device, which admits what each of them requires; a variable
    without a device is on the first. A contradiction names both lines, and the variable."""
    weight.assign(2.0)
    places = places_by_op(trained)
    assert (places["multiply"], places["subtract"]) == ("/job:ps/task:1", "/job:ps/task:1")
    assert (places["add"], places["sin"]) == ("/job:worker/task:0", None)
    out = trained.run(0.5, engine="distributed")
    assert out.value == 3.0 + math.sin(1.0) and float(weight) == 2.0 - 0.5 * math.sin(1.0)
    assert out.cluster.messages["FiringRequest"] >= 2
    with pytest.raises(Usage, match=r"(?s)no device satisfies.*with variable weight.*/job:other") as caught:
        torn.run(1.0, engine="distributed")
    line = torn._python.__code__.co_firstlineno
    assert f"test_placement.py:{line + 2}" in str(caught.value) and f"test_placement.py:{line + 4}" in str(caught.value)


def test_soft_placement() -> None:
    """With `soft_placement`, contradictions and missing devices are no errors: nodes are on the closest device, and the
    outcome names what was not kept."""
    out = contradiction.run(3, engine="distributed", soft_placement=True)
    assert out.value == 101
    assert len(out.cluster.unmet_constraints) == 1
    assert "test_placement.py" in out.cluster.unmet_constraints[0]
    out = model.run(6, engine="distributed", workers=2, soft_placement=True)
    assert out.value == model.run(6).value
    assert out.cluster.devices == ("/job:worker/task:0", "/job:ps/task:1")
    (unmet,) = out.cluster.unmet_constraints
    assert unmet.startswith("/job:ps/task:2 (") and unmet.endswith(") is on /job:ps/task:1")
    assert model.run(6, engine="distributed", soft_placement=True).cluster.unmet_constraints == ()
    with pytest.raises(Usage, match="engine='distributed'"):
        model.run(6, engine="fast", soft_placement=True)


def test_soft_placement_of_a_run_that_goes_on(tmp_path: Path) -> None:
    """The checkpoint says how many workers there are, so the same devices are missing."""
    path = tmp_path / "run.json"
    run = model.run(6, engine="distributed", workers=2, soft_placement=True, checkpoint=path)
    resumed_run = model.run(6, engine="distributed", soft_placement=True, resume=path)
    assert resumed_run.value == run.value
    assert resumed_run.cluster.unmet_constraints == run.cluster.unmet_constraints != ()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(["/job:a", "/job:b", "/task:0", "/task:1", "/job:a/task:1", "/job:b/task:0"])))
def test_the_closest_device(names: list[str]) -> None:
    """A device that admits all constraints is the closest one; else none admits more of them."""
    devices = [parse_device(f"/job:{job}/task:{task}") for job in "ab" for task in (0, 1)]
    constraints = {f"{name} {number}": parse_device(name) for number, name in enumerate(names)}
    counts = [sum(each.admits(device) for each in constraints.values()) for device in devices]
    closest = closest_device(constraints, devices)
    assert counts[closest] == max(counts)
    if max(counts) == len(names):
        assert closest == counts.index(len(names)) == first_admitted([], constraints, devices)
