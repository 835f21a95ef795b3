"""Training with parameter servers: the values are those of one process, whatever is lost, late or killed."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.training_laws import DEADLY, LOSSY, Model, Training, violations
from tagloom.core.errors import Crash, Trap, Usage
from tagloom.interp.engines.distributed.network import FaultyNetwork
from tagloom.interp.engines.distributed.packing import unpack
from tagloom.interp.engines.distributed.processes import ProcessPool
from tagloom.interp.training.parameter_servers import cluster as cluster_module

WAYS: dict[str, dict[str, Any]] = {
    "synchronised": {},
    "one server": {"servers": 1, "has_table": False},
    "backup workers": {"aggregate": 2},
    "asynchronous": {"synchronisation": "async"},
}


@pytest.mark.full(first=2, of_each=r"[a-z ]+-[a-z]+")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("faults", [LOSSY, DEADLY], ids=["lossy", "deadly"])
@pytest.mark.parametrize("way", WAYS)
def test_values_are_those_of_one_process(way: str, faults: Any, seed: int) -> None:
    """Variables, slots and losses are, bit for bit, those that one process computes from the gradients that servers
    took; each of these was taken once, and, synchronised, computed from the values of its step."""
    assert list(violations(Training(seed, faults=faults, **WAYS[way]))) == []


def test_networks_do_not_matter() -> None:
    """A synchronised training has one result, random numbers included, on every network."""
    results = set()
    for seed in (1, 2):
        w = tl.Variable([1.0, 2.0], name="w")

        def loss(worker: Any, step: Any, w: Any = w) -> Any:
            return tl.sum((w - tl.normal((2,))) ** 2) * tl.astype(step + worker + 1, tl.float64)

        sgd = tl.optimizers.SGD(rate=0.01)
        report = tl.train(loss, w, sgd, steps=4, workers=3, cluster=f"network:{seed}", engine="reference")
        assert len(set(report.losses)) == 4
        results.add((np.asarray(w).tobytes(), report.losses, report.updates))
    assert len(results) == 1


def test_gradients_of_a_slow_worker_are_dropped(monkeypatch: MonkeyPatch) -> None:
    """A step takes the first gradients of its step. Those of a worker that is always late are dropped, and the
    training does not wait for it; without synchronisation they are taken, and old."""
    true = FaultyNetwork.post

    def post(self: FaultyNetwork, receiver: int, batch: Any) -> None:
        if unpack(batch)[1] == 3:  # the last worker
            self.round += 40
            true(self, receiver, batch)
            self.round -= 40
        else:
            true(self, receiver, batch)

    monkeypatch.setattr(FaultyNetwork, "post", post)
    model = Model()

    def run(steps: int, **options: Any) -> Any:
        return tl.train(
            model.loss,
            (model.w, model.b),
            model.optimizer,
            steps=steps,
            workers=3,
            cluster="network",
            engine="reference",
            **options,
        )

    report = run(80, aggregate=2)
    workers = [record.worker for record in report.updates[0]]
    assert workers.count(2) < 8 and report.dropped_gradients >= 1 and report.largest_staleness == 0
    report = run(200, synchronisation="async")
    assert report.largest_staleness > 5 and report.dropped_gradients == 0


def test_rows_travel_and_tables_do_not(monkeypatch: MonkeyPatch) -> None:
    """Between workers and servers there are the rows that a gradient needs, and not the table."""
    table = tl.Embedding(np.zeros((20_000, 4)), shards=2, name="table")
    sizes = []
    true = FaultyNetwork.post

    def post(self: FaultyNetwork, receiver: int, batch: Any) -> None:
        kind, *_, name, _ = unpack(batch)
        if (kind, name) in (("request", "exchange"), ("answer", "")):
            sizes.append(sum(map(len, batch)))
        true(self, receiver, batch)

    monkeypatch.setattr(FaultyNetwork, "post", post)
    tl.train(
        lambda worker, step, vectors: tl.sum((vectors - 1.0) ** 2),
        (),
        tl.optimizers.SGD(rate=0.5),
        tables=[(table, lambda worker, step: tl.arange(5) * 7 + worker)],
        steps=3,
        cluster="network",
        engine="reference",
    )
    assert max(sizes) < 2_000 < 20_000 * 4 * 8
    changed = np.concatenate(
        [np.flatnonzero(np.any(np.asarray(s) != 0, axis=1)) * 2 + k for k, s in enumerate(table.shards)]
    )
    assert sorted(changed) == sorted({7 * i + worker for i in range(5) for worker in range(2)})


def square(worker: Any, step: Any) -> Any:
    return W * W


W = tl.Variable(1.0, name="w")
SGD = tl.optimizers.SGD(rate=0.1)


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"steps": 0}, "steps must be a positive integer"),
    ({"workers": True}, "workers must be a positive integer"),
    ({"servers": 2}, "the number of servers is out of range"),
    ({"workers": 70}, "too many servers and workers"),
    ({"synchronisation": "lazy"}, "synchronisation cannot be 'lazy'"),
    ({"aggregate": 3}, "aggregate is out of range"),
    ({"aggregate": 1, "synchronisation": "async"}, "aggregate is out of range"),
    ({"cluster": "moon"}, "no cluster is called 'moon'"),
    ({"checkpoint_steps": 0}, "checkpoint_steps must be a positive integer"),
    ({"variables": [W, W]}, "a variable occurs twice"),
    ({"variables": 3}, "an optimizer changes only variables"),
)


def test_wrong_arguments_are_refused() -> None:
    """An argument that does not fit is refused before anything starts."""
    for options, message in WRONG:
        every = {"loss": square, "variables": W, "optimizer": SGD, "steps": 1, "cluster": "network", **options}
        with pytest.raises(Usage, match=message):
            tl.train(every.pop("loss"), every.pop("variables"), every.pop("optimizer"), **every)


def test_losses_only_compute() -> None:
    """A loss that assigns, prints, or reads a table itself is refused."""
    table = tl.Embedding([[1.0], [2.0]], name="table")

    def assigning(worker: Any, step: Any) -> Any:
        W.assign(W * 2.0)
        return W * W

    def printing(worker: Any, step: Any) -> Any:
        tl.print("{}", step)
        return W * W

    def reading(worker: Any, step: Any, vectors: Any) -> Any:
        return tl.sum(vectors) + tl.sum(table([0]))

    def train(loss: Any, tables: Any = ()) -> None:
        tl.train(loss, W, SGD, steps=1, cluster="network", tables=tables)

    with pytest.raises(Usage, match="the loss assigns variable w"):
        train(assigning)
    with pytest.raises(Usage, match="the loss has the effect print"):
        train(printing)
    with pytest.raises(Usage, match="reads the shard table_0 itself"):
        train(reading, [(table, lambda worker, step: tl.asarray([0]))])


def test_traps_end_the_training() -> None:
    """A loss that traps, or an id out of range, ends the training with that error; no variable changes."""
    table = tl.Embedding([[1.0], [2.0]], name="table")
    with pytest.raises(Trap, match="division by zero"):
        tl.train(lambda worker, step: W / tl.astype(1 // (1 - step), tl.float64), W, SGD, steps=3, cluster="network")
    with pytest.raises(Trap, match="out of the range of its table"):
        tl.train(
            lambda worker, step, vectors: tl.sum(vectors),
            (),
            SGD,
            tables=[(table, lambda worker, step: tl.asarray([5]))],
            steps=1,
            cluster="network",
        )
    assert float(W) == 1.0


def test_endless_deaths_end_the_training(monkeypatch: MonkeyPatch) -> None:
    """If peers die without progress, the training ends with an error."""
    monkeypatch.setattr(cluster_module.NetworkPool, "advance", lambda self: [0])
    with pytest.raises(Crash, match="too many servers and workers died"):
        tl.train(square, W, SGD, steps=3, cluster="network:1")


@pytest.mark.full(first=1)
@pytest.mark.parametrize("way", WAYS)
def test_killed_processes_change_nothing(way: str, monkeypatch: MonkeyPatch) -> None:
    """With SIGKILL of servers and workers at random moments, the laws hold."""
    pools: list[ProcessPool] = []

    class RecordedPool(ProcessPool):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            pools.append(self)

    monkeypatch.setattr(cluster_module, "ProcessPool", RecordedPool)
    dice, is_over, kills = Random(len(way)), threading.Event(), list[int]()

    def kill() -> None:
        while not is_over.wait(dice.uniform(1.0, 3.0)) and len(kills) < 4:
            with suppress(OSError, IndexError, KeyError):
                pid = dice.choice(list(pools[0].processes.values())).process.pid
                os.kill(pid, signal.SIGKILL)
                kills.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        options = {"steps": 60, "workers": 2, "cluster": "processes", **WAYS[way]}
        options["aggregate"] = 1 if way == "backup workers" else None
        assert list(violations(Training(0, checkpoint_steps=10, **options))) == []
    finally:
        is_over.set()
        killer.join()
    print(len(kills), "kills")


@pytest.mark.heavy
@pytest.mark.parametrize("way", ["synchronised", "asynchronous"])
def test_actors_of_ray_keep_the_laws(way: str) -> None:
    """On Ray itself, servers and workers are actors, and the laws hold."""
    pytest.importorskip("ray")
    assert list(violations(Training(0, cluster="ray", **WAYS[way]))) == []
