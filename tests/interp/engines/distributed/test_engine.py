"""Runs on workers as users start them: options, limits, endings, counts of messages, and checkpoints."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tagloom as tl
from support.laws.distributed_laws import distributed_run
from support.observe.ctrl_c import default_ctrl_c, press_in_a_run
from support.programs.parallel_programs import fib, sums
from tagloom.core.errors import Usage
from tagloom.core.json.value import value_to_json
from tagloom.interp.engines.distributed import driver as driver_module
from tagloom.interp.engines.distributed import worker as worker_module
from tagloom.interp.engines.distributed.network import NetworkPool
from tagloom.interp.engines.distributed.stores import WorkerStores, read_stores, stores_to_json
from tagloom.interp.engines.limits import Limits
from tagloom.interp.machine.state import State


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, n)[0]


@tl.function
def deep(n: tl.int64) -> tl.int64:
    return deep(n + 1) + 1


@tl.function
def stuck(n: tl.int64) -> tl.int64:
    """A cell that nothing fills."""
    table = tl.cells(n, tl.int64)
    return fib(5) + tl.get(table, 1)


@tl.function
def bounded(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i < n, lambda i: i + 1, 0, parallel_iterations=2)[0]


@pytest.mark.full
def test_options() -> None:
    """`workers` and `cluster` are options of the engine `distributed`; the outcome says how many workers ran."""
    out = fib.run(6, engine="distributed", workers=3, cluster="network:1")
    assert (out.value, out.engine, out.schedule, out.cluster.workers) == (8, "distributed", "waves", 3)
    assert fib.run(6, engine="distributed").cluster.workers == 2
    for options, text in (
        ({"engine": "fast", "workers": 2}, "engine='distributed'"),
        ({"engine": "distributed", "workers": 0}, "an integer from 1 to 64"),
        ({"engine": "distributed", "workers": 65}, "an integer from 1 to 64"),
        ({"engine": "distributed", "cluster": ""}, "network:SEED"),
        ({"engine": "distributed", "cluster": 5}, "network:SEED"),
        ({"engine": "distributed", "cluster": "cloud"}, "network:SEED"),
        ({"engine": "distributed", "cluster": "network:x"}, "from 0 to 999999999999999999"),
        ({"engine": "distributed", "schedule": "lifo"}, "schedule='waves'"),
        ({"engine": "distributed", "keep": "file.txt"}, "ends in .jsonl"),
        ({"engine": "distributed", "until": "trap"}, "until='quiet'"),
    ):
        with pytest.raises(Usage, match=text):
            fib.run(6, **options)
    with pytest.raises(Usage, match="bounds on the iterations"):
        bounded.run(6, engine="distributed")


@pytest.mark.full
def test_messages_of_a_recursion() -> None:
    """Work moves by activations: on two workers, 23,945 firings of fib(16) take fewer than 60 messages."""
    out = fib.run(16, engine="distributed", workers=2, cluster="network")
    assert (out.value, out.firings) == (987, fib.run(16, engine="reference").firings)
    messages = out.cluster.messages
    moved = {name: messages.get(name, 0) for name in ("TokenTransfer", "CloseNotice", "WorkRequest", "WorkRefusal")}
    assert moved["TokenTransfer"] == 2 * moved["CloseNotice"] > 0
    assert sum(moved.values()) < 60
    assert out.cluster.deaths == 0


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_limit_on_firings_is_exact(workers: int, seed: int) -> None:
    """A run makes as many firings as the limit allows, on any number of workers; one more, and it returns."""
    needed = fib.run(7, engine="reference").firings
    cluster = f"network:{seed}"
    enough = distributed_run(fib.graph, [7], workers, cluster, Limits(firings=needed))
    assert (enough.status, enough.firings) == ("Returned", needed)
    short = distributed_run(fib.graph, [7], workers, cluster, Limits(firings=needed - 1))
    assert (short.status, short.firings, short.error.limit) == ("Exhausted", needed - 1, "firings")  # type: ignore[union-attr]


@pytest.mark.full
def test_other_limits() -> None:
    """The limit on depth is exact; a worker has a share of the tokens; the clock ends an endless run."""
    out = distributed_run(deep.graph, [0], 2, "network:1", Limits(depth=30))
    assert (out.status, out.error.limit, out.stats.deepest_tag) == ("Exhausted", "depth", 30)  # type: ignore[union-attr]
    out = distributed_run(fib.graph, [9], 2, "network:1", Limits(tokens=8))
    assert (out.status, out.error.limit) == ("Exhausted", "tokens")  # type: ignore[union-attr]
    out = endless.run(0, engine="distributed", limits=Limits(seconds=0.2))
    assert (out.status, out.error.limit, out.firings > 0) == ("Exhausted", "seconds", True)


@pytest.mark.full
def test_ctrl_c_ends_a_run() -> None:
    """Ctrl-C ends a run between two messages."""
    assert endless.graph  # traced before
    with default_ctrl_c():
        press_in_a_run(0.5)
        out = endless.run(0, engine="distributed", cluster="network:1")
    assert (out.status, out.error.limit) == ("Exhausted", "interrupt")


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("seed", range(3))
def test_a_deadlock_is_noticed(seed: int) -> None:
    """A read of a cell that nothing fills ends the run; the report names the cell, as on the reference."""
    out, expected = distributed_run(stuck.graph, [3], 3, f"network:{seed}"), stuck.run(3, engine="reference")
    assert (out.status, str(out.error)) == ("Deadlocked", str(expected.error))
    assert out.stats.by_node == expected.stats.by_node


@pytest.mark.full
def test_stores_as_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stores of a checkpoint come back from their document, in which every field of a record counts."""
    documents: list[Any] = []

    def save(stores: WorkerStores) -> Any:
        document = stores_to_json(stores)
        text = json.dumps(document, default=value_to_json)
        again = read_stores(json.loads(text), State(stores.state.graph, None))
        assert again.state.snapshot()[:4] == stores.state.snapshot()[:4]
        assert json.dumps(stores_to_json(again), default=value_to_json) == text
        documents.append(document)
        return document

    monkeypatch.setattr(worker_module, "stores_to_json", save)
    for seed in range(4):
        for function, argument in ((fib, 9), (sums, 4), (stuck, 3)):
            distributed_run(function.graph, [argument], 3, f"network:{seed}")
    assert len(documents) > 60
    assert sum(bool(document["flight"]) and bool(document["receivers"]) for document in documents) > 3


def test_workers_that_die_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in which workers die without ever reaching a checkpoint fails, with the reason."""
    monkeypatch.setattr("tagloom.interp.engines.distributed.network.NetworkPool.advance", lambda self: [0])
    assert driver_module.MAX_DEATHS_WITHOUT_PROGRESS < 100
    with pytest.raises(tl.Crash, match="too many workers died"):
        fib.run(5, engine="distributed")


def test_a_checkpoint_without_another_step_is_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose workers die of their first step fails, although there are checkpoints in between."""
    pools: list[NetworkPool] = []

    class MortalPool(NetworkPool):
        def advance(self) -> list[int]:
            super().advance()
            deaths = [0] if self.workers[0].stores.state.steps else []
            self.checkpoint_interval = 0.0 if deaths or not pools else 9.0  # the new worker is paused at once
            pools.append(self)
            assert len(pools) < 1_000, "the run does not end"
            return deaths

    monkeypatch.setattr("tagloom.interp.engines.distributed.engine.NetworkPool", MortalPool)
    with pytest.raises(tl.Crash, match="too many workers died"):
        fib.run(5, engine="distributed", workers=1)
    assert len(pools) > 4 * driver_module.MAX_DEATHS_WITHOUT_PROGRESS


def test_checkpoints_that_take_long_are_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool states how much longer than a checkpoint the work before the next one takes at least."""

    class EagerPool(NetworkPool):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.checkpoint_interval = 10.0

    monkeypatch.setattr("tagloom.interp.engines.distributed.engine.NetworkPool", EagerPool)
    checkpoints = []
    for factor in (0.0, 40.0):
        monkeypatch.setattr(EagerPool, "work_per_checkpoint", factor)
        cluster = distributed_run(fib.graph, [11], 2, "network", Limits()).cluster
        assert cluster is not None
        checkpoints.append(cluster.checkpoints)
    assert checkpoints[0] > 1.5 * checkpoints[1] > 1.5
