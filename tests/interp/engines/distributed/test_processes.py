"""Workers in processes: the run is that of one machine, whatever kills them, and none of them outlives it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.laws.distributed_laws import distributed_run, log_violations, violations
from support.programs.parallel_programs import fib
from tagloom.interp.engines.distributed import driver, engine
from tagloom.interp.engines.distributed.processes import ProcessPool
from tagloom.interp.engines.limits import Limits

pytestmark = pytest.mark.full  # the processes take seconds to start

ENDLESS = """
import tagloom as tl
from tagloom.interp.engines.distributed import engine
from tagloom.interp.engines.distributed.processes import ProcessPool

class TellingPool(ProcessPool):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        print(*(each.process.pid for each in self.processes.values()), flush=True)

engine.ProcessPool = TellingPool

@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, n)[0]

print(endless.run(0, engine="distributed", cluster="processes").status, flush=True)
"""


@tl.function
def table(n: tl.int64) -> tl.float64:
    """Calls that print, arrays, and cells that are read before they are filled."""
    sums = tl.cells(n, tl.Array[tl.float64, 3])
    tl.while_loop(lambda i: i < n, lambda i: (row(sums, i), i + 1)[1], 0)
    return tl.sum(tl.collect(sums)) + tl.astype(fib(9), tl.float64)


@tl.function
def row(sums: tl.Cells[tl.Array[tl.float64, 3]], i: tl.int64) -> tl.int64:
    tl.print("row {}", i)
    first = tl.asarray([0.1, 0.2, 0.3])
    tl.put(sums, i, tl.cond(i < 1, lambda: first, lambda: tl.get(sums, i - 1) * 1.5 + tl.uniform((3,))))
    return i


@tl.function
def random_number(n: tl.int64) -> tl.float64:
    return tl.uniform(()) + tl.astype(n, tl.float64)


@pytest.fixture
def pools(monkeypatch: MonkeyPatch) -> list[ProcessPool]:
    """The pools of the runs of a test."""
    result: list[ProcessPool] = []

    class RecordedPool(ProcessPool):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            result.append(self)

    monkeypatch.setattr(engine, "ProcessPool", RecordedPool)
    return result


def running(pids: list[int]) -> list[int]:
    """The processes that have not ended."""
    result = []
    for pid in pids:
        with suppress(OSError, IndexError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                result.append(pid)
    return result


def wait_for(condition: object, seconds: float) -> bool:
    """Whether the condition holds within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_processes_act_as_one_machine(pools: list[ProcessPool]) -> None:
    """Results, firings, profiles, traps and effects are the reference's; afterwards no process is left."""
    assert list(violations(table.graph, [5], 2, "processes")) == []
    (pool,) = pools
    assert wait_for(lambda: not running([each.process.pid for each in pool.processes.values()]), 60)


def test_processes_have_one_log(pools: list[ProcessPool], tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """The log of a run on processes, one of which is killed, is that of one machine, with a worker for each event."""
    monkeypatch.setattr(ProcessPool, "checkpoint_interval", 0.2)
    with random_kills(pools, Random(5), 2, 4.0):
        assert list(log_violations(table.graph, [20], 2, "processes", tmp_path / "run.npz", Limits())) == []


@contextmanager
def random_kills(pools: list[ProcessPool], dice: Random, most: int, longest_pause: float) -> Iterator[None]:
    """A context in which random workers get SIGKILL at random moments, at most so many times."""
    is_over = threading.Event()

    def kill() -> None:
        for _ in range(most):
            if is_over.wait(dice.uniform(0.0, longest_pause)):
                return
            with suppress(OSError, IndexError):
                dice.choice(list(pools[-1].processes.values())).process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        is_over.set()
        killer.join()


def killed_run_violations(pools: list[ProcessPool], dice: Random, most: int, longest_pause: float) -> list[str]:
    """Where a run whose workers are killed differs from one on the reference."""
    with random_kills(pools, dice, most, longest_pause):
        return list(violations(table.graph, [40], 2, "processes", Limits(firings=100_000)))


@pytest.mark.parametrize("seed", range(2))
def test_killed_workers_change_nothing(seed: int, pools: list[ProcessPool], monkeypatch: MonkeyPatch) -> None:
    """SIGKILL of workers at random moments changes no result, no count and no effect."""
    monkeypatch.setattr(ProcessPool, "checkpoint_interval", 0.2)
    assert killed_run_violations(pools, Random(seed), 4, 3.0) == []


@pytest.fixture
def deaths(monkeypatch: MonkeyPatch) -> list[int]:
    """The ranks of the workers that have died, in all runs of a test; a run may have many without progress."""
    ranks: list[int] = []
    true = ProcessPool.replace

    def replace(self: ProcessPool, rank: int, epoch: int) -> None:
        ranks.append(rank)
        true(self, rank, epoch)

    monkeypatch.setattr(ProcessPool, "replace", replace)
    monkeypatch.setattr(ProcessPool, "checkpoint_interval", 0.2)
    monkeypatch.setattr(driver, "MAX_DEATHS_WITHOUT_PROGRESS", 100)
    return ranks


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_200_kills_change_nothing(pools: list[ProcessPool], deaths: list[int]) -> None:
    """200 workers die by SIGKILL, each at a random moment: while they start, work, wait, or make a checkpoint. No
    result, no count and no effect of a run changes."""
    runs, start = 0, time.monotonic()
    while len(deaths) < 200:
        assert killed_run_violations(pools, Random(runs), 12, 4.0) == []
        runs += 1
    print(f"{len(deaths)} deaths in {runs} runs, {time.monotonic() - start:.0f} s")


def compiled_fields(outcome: tl.Outcome) -> tuple[object, ...]:
    """The value, counts and profiles of a run of scalars."""
    stats = outcome.stats
    return outcome.value, stats.by_node, tuple(stats.profile), tuple(stats.waiting), outcome.open_activations


def test_killed_compiled_workers_change_nothing(pools: list[ProcessPool], deaths: list[int]) -> None:
    """A compiled worker that dies by SIGKILL is replaced; the run has the counts and profiles of one core."""
    with random_kills(pools, Random(3), 2, 1.5):
        outcome = fib.run(32, engine="distributed", cluster="processes", workers=2)
    assert compiled_fields(outcome) == compiled_fields(fib.run(32, engine="fast", cores=1))
    assert outcome.cluster.machine == "fast"


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_200_kills_of_compiled_workers_change_nothing(pools: list[ProcessPool], deaths: list[int]) -> None:
    """200 compiled workers die by SIGKILL, each at a random moment; no result and no count changes."""
    expected = compiled_fields(fib.run(34, engine="fast", cores=1))
    runs, start = 0, time.monotonic()
    while len(deaths) < 200:
        with random_kills(pools, Random(runs), 20, 3.0):
            outcome = fib.run(34, engine="distributed", cluster="processes", workers=2)
        assert compiled_fields(outcome) == expected
        runs += 1
    print(f"{len(deaths)} deaths in {runs} runs, {time.monotonic() - start:.0f} s")


def test_a_killed_worker_is_replaced(pools: list[ProcessPool]) -> None:
    """The outcome counts the deaths; the effects of a worker that dies at once happen once."""

    def kill() -> None:
        wait_for(lambda: pools, 60)
        os.kill(pools[0].processes[0].process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = distributed_run(fib.graph, [10], 2, "processes", Limits())
    killer.join()
    assert (outcome.results, outcome.firings, outcome.cluster.deaths) == ((55,), 1325, 1)  # type: ignore[union-attr]


def test_a_stopped_worker_is_replaced(pools: list[ProcessPool], monkeypatch: MonkeyPatch) -> None:
    """A process that is stopped, by SIGSTOP or a debugger, is noticed by its silence, killed and replaced; nobody waits
    for a limit."""
    monkeypatch.setattr(ProcessPool, "heartbeat_timeout", 3.0)
    stopped: list[int] = []

    def stop() -> None:
        wait_for(lambda: pools and pools[0].clock() + 100 > pools[0].processes[1].heartbeat_deadline, 100)
        stopped.append(pools[0].processes[1].process.pid)
        os.kill(stopped[0], signal.SIGSTOP)

    stopper = threading.Thread(target=stop)
    stopper.start()
    outcome = distributed_run(fib.graph, [16], 2, "processes", Limits())
    stopper.join()
    assert (outcome.results, outcome.firings) == ((987,), 23945)
    assert outcome.cluster.deaths >= 1  # type: ignore[union-attr]
    assert wait_for(lambda: not running(stopped), 60)


@pytest.fixture
def endless_run() -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A process with an endless run, and the processes of its workers."""
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = list(map(int, process.stdout.readline().split()))
        assert len(pids) == 2
        yield process, pids
        process.kill()


def test_ctrl_c_ends_the_processes(endless_run: tuple[subprocess.Popen[str], list[int]]) -> None:
    """Ctrl-C ends the run, and the processes of its workers."""
    process, pids = endless_run
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "Exhausted\n"
    print(time.monotonic() - start, "s")
    assert wait_for(lambda: not running(pids), 60)


def test_workers_end_with_a_driver_that_is_killed(endless_run: tuple[subprocess.Popen[str], list[int]]) -> None:
    """If the driver's process is killed, those of its workers end."""
    process, pids = endless_run
    assert len(running(pids)) == 2
    process.kill()
    assert wait_for(lambda: not running(pids), 60)


@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_a_worker_that_fails_ends_the_run(delay: float, pools: list[ProcessPool], monkeypatch: MonkeyPatch) -> None:
    """An exception in a worker's process is a crash of the run, with its traceback; nothing is tried again, even if the
    driver reads the message only when the process has ended."""

    class SlowPool(ProcessPool):
        def __init__(self, job: dict[str, Any]) -> None:
            super().__init__({**job, "seed": "x"})
            pools.append(self)

        def advance(self) -> Sequence[int]:
            time.sleep(delay)
            return super().advance()

        def replace(self, rank: int, epoch: int) -> None:
            raise AssertionError("the run is tried again")

    monkeypatch.setattr(engine, "ProcessPool", SlowPool)
    with pytest.raises(tl.Crash, match="a worker failed"):
        random_number.run(5, engine="distributed", cluster="processes")
    (pool,) = pools
    assert wait_for(lambda: not running([each.process.pid for each in pool.processes.values()]), 60)


def test_processes_that_cannot_be_started(monkeypatch: MonkeyPatch) -> None:
    """The error says what was tried, and is an OSError; no socket is left open."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    before = os.listdir("/dev/fd")
    with pytest.raises(tl.Usage, match="cannot be started") as caught:
        fib.run(5, engine="distributed", cluster="processes")
    assert isinstance(caught.value, OSError)
    assert os.listdir("/dev/fd") == before


def test_workers_of_a_process_with_many_files() -> None:
    """Workers run although the sockets have numbers that `select` does not take."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] != resource.RLIM_INFINITY and limits[1] < 1_200:
        pytest.skip("this user may not open 1,200 files")
    files: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_200, limits[1]))
    try:
        while not files or files[-1] < 1_100:
            files.append(os.open(os.devnull, os.O_RDONLY))
        out = fib.run(7, engine="distributed", cluster="processes")
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert (out.value, out.cluster.deaths) == (13, 0)


def test_the_driver_looks_at_its_memory(pools: list[ProcessPool], monkeypatch: MonkeyPatch) -> None:
    """The driver, which keeps the checkpoints, has a limit on bytes too, and ends the run within some hundred turns."""
    turns: list[float] = []
    advance = ProcessPool.advance
    monkeypatch.setattr(ProcessPool, "advance", lambda pool: (turns.append(pool.clock()), advance(pool))[1])
    monkeypatch.setattr(engine, "worker_limits", lambda limits, count, has_processes: Limits())
    outcome = fib.run(40, engine="distributed", cluster="processes", limits=Limits(bytes=1, seconds=60))
    assert (outcome.status, outcome.error.limit) == ("Exhausted", "bytes")  # type: ignore[union-attr]
    assert len(turns) < 300


def test_the_clock_ends_a_run() -> None:
    """The limit on seconds ends the run and its processes."""
    outcome = fib.run(40, engine="distributed", cluster="processes", limits=Limits(seconds=0.3))
    assert (outcome.status, outcome.error.limit) == ("Exhausted", "seconds")  # type: ignore[union-attr]
