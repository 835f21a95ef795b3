"""Workers in actors of Ray: the run is that of one machine, whatever dies, in whatever order calls end.

Most tests have a stand-in for Ray, in this process. The heavy ones use Ray itself, if it is installed; it starts once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.distributed_laws import distributed_run, violations
from support.programs.parallel_programs import careless, fib, sums
from tagloom.core.errors import Usage
from tagloom.interp.engines.distributed import driver, engine, ray_pool
from tagloom.interp.engines.distributed.ray_pool import RayPool, WorkerActor
from tagloom.interp.engines.limits import Limits


class ActorDeath(Exception):
    """An actor has died."""


class StandIn:
    """A stand-in for Ray: calls are executed when somebody waits for them, in any order, and actors die."""

    def __init__(self, seed: int, max_deaths: int = 3) -> None:
        self.dice, self.deaths_left = Random(seed), max_deaths
        self.exceptions = SimpleNamespace(RayActorError=ActorDeath)
        self.options_of_actors: dict[str, Any] = {}

    def is_initialized(self) -> bool:
        return True

    def remote(self, actor_class: Any) -> Any:
        def options(**values: Any) -> Any:
            self.options_of_actors = values
            return SimpleNamespace(remote=lambda *arguments: StandInActor(self, actor_class(*arguments)))

        return SimpleNamespace(options=options)

    def wait(self, calls: Sequence[Any], num_returns: int = 1, timeout: float = 0) -> tuple[list[Any], list[Any]]:
        finished = [call for call in calls if not call.actor.is_unresponsive and self.dice.random() < 0.7]
        return finished, [call for call in calls if call not in finished]

    def get(self, call: Any) -> Any:
        if self.deaths_left and self.dice.random() < 0.01:
            self.deaths_left -= 1
            call.actor.is_dead = True
        if call.actor.is_dead:
            raise ActorDeath
        return call.execute()

    def kill(self, actor: Any, no_restart: bool) -> None:
        assert no_restart
        actor.is_dead = True


class StandInActor:
    """An actor of the stand-in."""

    def __init__(self, ray: StandIn, instance: Any) -> None:
        self.is_dead = self.is_unresponsive = False
        self.work = SimpleNamespace(remote=lambda *batches: self._call(lambda: instance.work(*batches)))
        self.ping = SimpleNamespace(remote=lambda: self._call(lambda: instance.ping()))

    def _call(self, execute: Callable[[], Any]) -> Any:
        return StandInCall(self, execute)


class StandInCall:
    """A call of an actor that has not ended."""

    def __init__(self, actor: StandInActor, execute: Callable[[], Any]) -> None:
        self.actor, self.execute = actor, execute


def run_differences(seeds: int) -> Iterator[str]:
    """Where runs with the stand-in differ from the reference."""
    for seed in range(seeds):
        for function, argument in ((fib, 8), (sums, 4), (careless, 4)):
            with MonkeyPatch.context() as patch:
                patch.setattr(ray_pool, "import_ray", lambda seed=seed: StandIn(seed))
                patch.setattr(RayPool, "checkpoint_interval", 0.02)
                yield from violations(function.graph, [argument], 2 + seed % 2, "ray")


def test_actors_act_as_one_machine() -> None:
    """Results, firings, traps and profiles are the reference's, while actors die; Ray repeats neither actors nor
    calls."""
    assert list(run_differences(3)) == []
    ray = StandIn(0)
    with MonkeyPatch.context() as patch:
        patch.setattr(ray_pool, "import_ray", lambda: ray)
        out = fib.run(6, engine="distributed", cluster="ray")
    assert (out.value, ray.options_of_actors["max_restarts"], ray.options_of_actors["max_task_retries"]) == (8, 0, 0)


def restarts_dead_actors(patch: MonkeyPatch) -> None:
    """An actor that died is silently there again, and empty."""
    true = RayPool.advance

    def advance(self: RayPool) -> Sequence[int]:
        for rank in true(self):
            self.actors[rank] = self._start(rank, 0)
        return []

    patch.setattr(RayPool, "advance", advance)


def delivers_in_any_order(patch: MonkeyPatch) -> None:
    """Calls are tried again: what they bring comes twice, with what comes later."""
    true = WorkerActor.finish_call

    def finish_call(self: WorkerActor) -> list[tuple[int, bytes]]:
        frames = true(self)
        return [*reversed(frames), *frames]

    patch.setattr(WorkerActor, "finish_call", finish_call)


@pytest.mark.full
def test_repeated_calls_change_nothing(monkeypatch: MonkeyPatch) -> None:
    """Batches have an epoch, a sender and a number: calls that Ray tried again would be harmless."""
    delivers_in_any_order(monkeypatch)
    assert list(run_differences(3)) == []


@pytest.mark.full
def test_the_law_catches_actors_that_are_silently_empty(monkeypatch: MonkeyPatch) -> None:
    """A pool that has dead actors started again without a rollback does not come to an end."""
    restarts_dead_actors(monkeypatch)
    end = time.monotonic() + 5

    def exceeded(self: RayPool) -> float:
        assert time.monotonic() < end, "the run does not end"
        return time.monotonic()

    monkeypatch.setattr(RayPool, "clock", exceeded)
    monkeypatch.setattr(RayPool, "final_timeout", 0.0)
    with pytest.raises(AssertionError):
        assert list(run_differences(100)) == []


def test_a_silent_actor_is_replaced(monkeypatch: MonkeyPatch) -> None:
    """An actor that answers neither its call nor a ping is killed and replaced."""
    pools: list[RayPool] = []

    class RecordedPool(RayPool):
        def advance(self) -> Sequence[int]:
            if not pools and self.actors[1].call is not None:
                pools.append(self)
                self.actors[1]._handle.is_unresponsive = True
            return super().advance()

    monkeypatch.setattr(ray_pool, "import_ray", lambda: StandIn(1, max_deaths=0))
    monkeypatch.setattr(engine, "RayPool", RecordedPool)
    for name in ("_LONG_CALL_SECONDS", "_START_SECONDS", "PING_TIMEOUT"):
        monkeypatch.setattr(ray_pool, name, 0.05)
    outcome = distributed_run(fib.graph, [9], 2, "ray", Limits())
    assert (outcome.results, outcome.firings) == ((34,), 815)
    assert outcome.cluster.deaths >= 1  # type: ignore[union-attr]


def test_without_ray(monkeypatch: MonkeyPatch) -> None:
    """Where Ray is not installed, the error says how to get it, and what does without."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Usage, match=r"(?s)needs the package ray.*tagloom\[ray\].*processes") as caught:
        fib.run(5, engine="distributed", cluster="ray")
    assert isinstance(caught.value, ImportError)


@tl.function
def printed(n: tl.int64) -> tl.float64:
    """Calls that print, arrays, and cells that are read before they are filled."""
    table = tl.cells(n, tl.Array[tl.float64, 2])
    tl.while_loop(lambda i: i < n, lambda i: (row(table, i), i + 1)[1], 0)
    with tl.device("/job:ps"):
        total = tl.sum(tl.collect(table))
    return total + tl.astype(fib(11), tl.float64)


@tl.function
def row(table: tl.Cells[tl.Array[tl.float64, 2]], i: tl.int64) -> tl.int64:
    tl.print("row {}", i)
    first = tl.asarray([0.1, 0.2])
    tl.put(table, i, tl.cond(i < 1, lambda: first, lambda: tl.get(table, i - 1) * 1.5 + tl.uniform((2,))))
    return i


@pytest.mark.heavy
def test_ray_acts_as_one_machine() -> None:
    """On Ray itself: outcome, counts and effects are the reference's; the next run finds Ray started."""
    pytest.importorskip("ray")
    for workers in (2, 3):
        assert list(violations(printed.graph, [8], workers, "ray", Limits(firings=100_000))) == []


@pytest.mark.heavy
def test_trials_of_ray_tune_train_on_workers() -> None:
    """The example runs as a script: trials in processes of Ray call `tl.train`, and the best learning rate wins."""
    pytest.importorskip("ray.tune", exc_type=ImportError)
    script = Path(__file__).resolve().parents[4] / "papers_examples" / "tensorflow" / "ray_tune.py"
    command, environment = [sys.executable, str(script)], {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    out = subprocess.run(command, env=environment, capture_output=True, check=True, text=True, timeout=900)
    assert out.stdout.endswith("the best rate is 0.2\n")


def actor_processes() -> list[int]:
    """The processes of actors that run, by the titles that Ray gives them."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "cmdline").read_bytes().startswith(b"ray::RayWorker"):
                pids.append(int(folder.name))
    return pids


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("how", "max_kills", "size", "limits"),
    [
        (signal.SIGKILL, 10, 20, Limits(firings=10**6)),
        (signal.SIGSTOP, 1, 20, Limits(firings=10**6)),
        (signal.SIGKILL, 20, 35, Limits()),
    ],
    ids=["reference, SIGKILL", "reference, SIGSTOP", "compiled, SIGKILL"],
)
def test_killed_actors_change_nothing(
    how: signal.Signals, max_kills: int, size: int, limits: Limits, monkeypatch: MonkeyPatch
) -> None:
    """Processes of actors that are killed at random moments, or stopped, are replaced, and change nothing: neither
    those of reference machines, which runs with a limit on firings have, nor those of compiled workers."""
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray_pool, "PING_TIMEOUT", 3.0)
    monkeypatch.setattr(RayPool, "checkpoint_interval", 0.2)
    monkeypatch.setattr(driver, "MAX_DEATHS_WITHOUT_PROGRESS", 100)
    dice, is_over, kills = Random(1), threading.Event(), list[int]()

    def kill() -> None:
        while not is_over.wait(dice.uniform(0.5, 3.0)) and len(kills) < max_kills:
            with suppress(Exception):
                os.kill(pid := dice.choice(actor_processes()), how)
                kills.append(pid)

    assert list(violations(fib.graph, [5], 2, "ray")) == []  # Ray has started
    assert ray.is_initialized()
    expected = fib.run(size, engine="fast", cores=1)
    deaths, runs = 0, 0
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        while len(kills) < max_kills:
            out = fib.run(size, engine="distributed", cluster="ray", workers=2, limits=limits)
            assert (out.value, out.stats.by_node) == (expected.value, expected.stats.by_node)
            assert tuple(out.stats.profile) == tuple(expected.stats.profile)
            deaths, runs = deaths + out.cluster.deaths, runs + 1
    finally:
        is_over.set()
        killer.join()
    assert deaths > 0
    print(f"{len(kills)} kills, {deaths} deaths in {runs} runs")
