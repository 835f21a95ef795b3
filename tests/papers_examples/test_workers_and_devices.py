"""Graphs over two devices, and three ways to synchronise workers: papers_examples/tensorflow."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.papers import EXAMPLES, of_paper_anew
from tagloom.core.graph.graph import Graph
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.reference import default_structure
from tagloom.interp.engines.registry import run

SCHEDULES = ("waves", "fifo", "lifo", "random:1")


@pytest.fixture
def devices() -> ModuleType:
    return of_paper_anew("tensorflow", "two_devices")


@pytest.fixture
def workers() -> ModuleType:
    return of_paper_anew("tensorflow", "synchronise")


def firings_without_messages(out: tl.Outcome) -> dict[str, int]:
    """The firings of each node that does not belong to a message."""
    counted = zip(out.graph.nodes, out.stats.by_node, strict=True)
    return {str(node): count for node, count in counted if node.name[:5] not in ("send.", "recv.")}


def placement_faults(graph: Graph, second: frozenset[int]) -> Iterator[str]:
    """The faults of a placement: an edge between devices without a message, or two messages for one value."""
    pairs = Counter[Any]()
    for edge, sources in graph.sources().items():
        for source in sources:
            maker, taker = (None if n < 0 else graph.nodes[n] for n in (source.node, edge.node))
            if (source.node in second) != (edge.node in second):
                if not (maker and taker and maker.name.startswith("send.") and taker.name == f"recv.{maker.name[5:]}"):
                    yield f"{source} -> {edge} leaves its device"
            elif taker is not None and taker.name.startswith("send."):
                pairs[source] += 1
    yield from (f"{source} is sent {count} times" for source, count in pairs.items() if count > 1)


def placements(graph: Graph) -> list[Callable[[Any], bool]]:
    """Each node alone on the second device, together with the nodes that a merge of a function or loop needs beside
    it."""
    bound = ("merge", "call", "enter", "next_iteration")
    free = [node for n, node in enumerate(graph.nodes) if node.op not in bound and n not in graph.results]
    return [lambda node, only=each: node is only for each in free]


@pytest.mark.full
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_graphs_run_on_two_devices(devices: ModuleType, schedule: str) -> None:
    """For any placement, nodes fire as often as on one device, and only messages cross devices, one for each value and
    tag."""
    for function, there, arguments in devices.RUNS:
        whole = function.run(*arguments, schedule=schedule)
        for placed in (there, *placements(function.graph)):
            graph, second = devices.split(function.graph, placed)
            assert list(placement_faults(graph, second)) == []
            out, actual = devices.messages(function, placed, *arguments, schedule=schedule)
            assert (out.status, out.value, out.residue) == ("Returned", whole.value, ())
            assert firings_without_messages(out) == firings_without_messages(whole)
            assert all(len(set(tags)) == len(tags) for tags in actual.values())


def test_edges_without_messages_are_caught(devices: ModuleType) -> None:
    """A twin that ignores a placement, and so sends no messages, is caught."""
    _, second = devices.split(devices.main.graph, devices.product)
    assert any(placement_faults(devices.main.graph, second))


@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_loop_needs_no_copy_of_its_own(devices: ModuleType, n: int) -> None:
    """A product on another device receives messages for the iterations that run, and for no others. A loop variable on
    that device crosses once, and the predicate n + 1 times."""
    (out, product), (_, constant) = (
        devices.messages(devices.main, there, 2.0, 3.0, n) for there in (devices.product, devices.constant)
    )
    assert out.value == 3.0 * 2.0**n
    assert {str(tag) for tags in product.values() for tag in tags} == {f"main/loop[{k}]" for k in range(n)}
    assert {name: len(tags) for name, tags in product.items()} == dict.fromkeys(product, n)
    assert (len(constant["main.w", 1]), len(constant["main.less", 1])) == (1, n + 1)


def test_messages_have_the_names_of_functions(devices: ModuleType) -> None:
    """The name of a value begins with that of its function, since another function may have a value of that name."""

    @tl.function
    def square(x: tl.float64) -> tl.float64:
        return x * x

    @tl.function
    def cube(x: tl.float64) -> tl.float64:
        return square(x) * x

    out, actual = devices.messages(cube, devices.product, 3.0)
    to_it = {"square.x": ["main/square"], "cube.x": ["main"], "cube.square": ["main"]}
    assert out.value == 27.0
    assert {name: list(map(str, tags)) for (name, device), tags in actual.items() if device == 1} == to_it


@pytest.mark.full
def test_the_fast_machine_runs_placed_graphs(devices: ModuleType) -> None:
    """A placed graph runs on `fast` like any other."""
    for function, there, arguments in devices.RUNS:
        graph, _ = devices.split(function.graph, there)
        one, other = (
            run(Job(graph, default_structure(graph)), arguments, RunOptions(), e) for e in ("reference", "fast")
        )
        assert (one.results, one.firings) == (other.results, other.firings) and other.engine == "fast"


@pytest.mark.full
def test_the_table_of_recursions_on_two_workers() -> None:
    """The README's numbers of messages are those of the program; a recursion by itself on a device gets one message and
    sends one."""
    module = of_paper_anew("recursion", "workers")
    rows = module.table()
    assert "\n".join([*module.HEADING, *rows]) in (EXAMPLES / "recursion" / "README.md").read_text(encoding="utf-8")
    assert module.messages_of_transfers(module.main, 10, "fib") == 2


@pytest.fixture
def step_time() -> ModuleType:
    return of_paper_anew("tensorflow", "step_time")


def ends_in_turn(arrivals: list[float], time: float) -> list[float]:
    """When messages are done by a server that takes them in the order of their arrival."""
    free, ends = 0.0, [0.0] * len(arrivals)
    for number in sorted(range(len(arrivals)), key=arrivals.__getitem__):
        free = ends[number] = max(free, arrivals[number]) + time
    return ends


def test_queues_are_running_maxima(step_time: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends of messages are those of a server that takes one after another; without the running maximum, as if
    nobody waited, they are not."""
    arrivals = np.random.default_rng(1).exponential(1.0, (40, 3)).cumsum(axis=0)[::-1]
    expected = [ends_in_turn(list(column), 0.8) for column in arrivals.T]
    assert np.allclose(np.asarray(step_time.queue(tl.asarray(arrivals), 0.8)).T, expected)
    monkeypatch.setattr(step_time.tl, "cummax", lambda x, axis: x)
    assert not np.allclose(np.asarray(step_time.queue(tl.asarray(arrivals), 0.8)).T, expected)


@pytest.mark.full
def test_the_table_of_step_times(step_time: ModuleType) -> None:
    """The README's times are those of the program; a step takes longer with more workers, and with more bytes."""
    rows = step_time.table()
    assert "\n".join([*step_time.HEADING, *rows]) in (EXAMPLES / "tensorflow" / "README.md").read_text(encoding="utf-8")
    scalar, dense = (step_time.KINDS[name][0] for name in ("scalar", "dense, 100 MB"))
    assert step_time.median(scalar, 5) < step_time.median(scalar, 20) < step_time.median(dense, 20)


def weights(workers: ModuleType) -> list[float]:
    """The weights after a training that begins anew."""
    result: list[float] = np.asarray(workers.w).tolist()
    workers.w.assign([0.0] * len(result))
    return result


def approximately(wanted: list[float]) -> Any:
    """Equal to these weights, but for the order in which engines add."""
    return pytest.approx(wanted, rel=1e-12)


@pytest.mark.full
def test_synchronous_trainings_agree(workers: ModuleType) -> None:
    """On a clock, on threads, and as one program under every schedule, the weights are the same."""
    assert workers.serve(workers.Clock(workers.times), 4, workers.WORKERS) == (40, 0, 0)
    expected = weights(workers)
    with workers.Threads() as cluster:
        workers.serve(cluster, 4, workers.WORKERS)
    assert weights(workers) == approximately(expected)
    for schedule in SCHEDULES:
        workers.main.run(4, schedule=schedule)
        assert weights(workers) == approximately(expected)


@pytest.mark.full
def test_one_worker_is_never_late(workers: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single worker does gradient descent in all three ways."""
    monkeypatch.setattr(workers, "WORKERS", 1)
    actual = []
    for expected in (None, 1):
        assert workers.serve(workers.Clock(workers.times), 5, expected) == (5, 0, 0)
        actual.append(weights(workers))
    workers.main.run(5)
    together = weights(workers)
    assert all(each == approximately(together) for each in actual)


@pytest.mark.full
def test_backup_workers_replace_hanging_ones(workers: ModuleType) -> None:
    """Two of ten workers that stop at their first step, after they have read the weights, are not waited for, and their
    late gradients are dropped."""
    workers.serve(workers.Clock(lambda worker, step: 1.0 if worker < 8 else 1000.0), 5, 8)
    expected, go_on = weights(workers), threading.Event()

    def work(worker: int, step: int) -> Any:
        result = workers.gradient(worker, step)
        if worker >= 8:
            go_on.wait()
        return result

    with workers.Threads(work) as cluster:
        try:
            actual = workers.serve(cluster, 5, 8), weights(workers)
        finally:
            go_on.set()
    assert actual == ((40, 0, 0), approximately(expected)) and weights(workers) == [0.0] * len(expected)


@pytest.mark.full
def test_late_gradients_are_dropped_by_their_tags(workers: ModuleType) -> None:
    """A worker that takes two and a half steps is always late, and no old gradient is applied. In a twin of the clock
    that loses tags, old ones are applied."""

    class Untagged(workers.Clock):  # type: ignore[misc, name-defined]
        def begin(self, worker: int, step: int) -> None:
            self.at = step
            super().begin(worker, step)

        def next_result(self) -> tuple[int, int, Any]:
            worker, _, result = super().next_result()
            return worker, self.at, result

    def duration(worker: int, step: int) -> float:
        return 2.5 if worker == 3 else 1.0

    assert workers.serve(workers.Clock(duration), 10, 9) == (90, 4, 0)
    right = weights(workers)
    assert workers.serve(Untagged(duration), 10, 9) == (90, 0, 0)
    assert weights(workers) != approximately(right)


def test_an_error_of_a_worker_ends_the_training(workers: ModuleType) -> None:
    """The error is raised where the server waits."""

    def work(worker: int, step: int) -> Any:
        raise ValueError(f"worker {worker}")

    with pytest.raises(ValueError, match="worker"), workers.Threads(work) as cluster:
        workers.serve(cluster, 3, 8)
