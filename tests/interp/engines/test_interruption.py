"""Interruption while a recursion goes down: limits on bytes and seconds, and Ctrl-C, end it soon, on every engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.twins.compiled_twins import broken
from tagloom.core.world import World
from tagloom.interp.engines.compiled import run as compiled_run
from tagloom.interp.engines.compiled.thread import HostCallServer
from tagloom.interp.engines.jit.state import STACK_GUARD
from tagloom.interp.engines.limits import resident_memory

CHILD = Path(__file__).parents[2] / "support" / "programs" / "limit_child.py"
LATE_SECONDS, BYTES_RATIO = 0.2, 1.3
"""The seconds that a run may be late, and its peak of memory as a part of the limit."""


def late_runs(engine: str, seeds: tuple[int, ...]) -> list[dict[str, Any]]:
    """The runs of these recursions, in a process of their own, that ended late or by something else."""
    command = [sys.executable, str(CHILD), engine, *map(str, seeds)]
    path = {"PYTHONPATH": str(CHILD.parents[2])}
    child = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, **path})
    assert child.returncode == 0, child.stderr[-2000:]
    runs = [json.loads(line) for line in child.stdout.splitlines()]
    assert len(runs) == 3 * len(seeds)
    return [
        run
        for run in runs
        if run["ended_by"] != run["kind"] or run["late"] > LATE_SECONDS or run["bytes"] > BYTES_RATIO
    ]


def assert_ends_soon(engine: str, seeds: tuple[int, ...]) -> None:
    """The law; a run that is late is tried again, since another process may have had the processor."""
    for _ in range(3):
        late = late_runs(engine, seeds)
        seeds = tuple({run["seed"]: None for run in late})
        if not late:
            return
    raise AssertionError(late)


@pytest.mark.full
@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_an_array_recursion_ends_soon(engine: str) -> None:
    """S12: a recursion that holds an array at each level ends within 0.2 s of its limit on seconds, or of Ctrl-C, and
    takes at most 1.3 times its limit on bytes, and one allocation."""
    assert_ends_soon(engine, (0, 1))


@pytest.mark.heavy
@pytest.mark.parametrize("engine", ["reference", "fast", "compiled", "auto", "distributed"])
def test_array_recursions_end_soon(engine: str) -> None:
    """S12: the same, for more recursions, on every engine."""
    assert_ends_soon(engine, tuple(range(2, 10)))


def test_a_wait_for_host_calls_ends_although_a_signal_arrives() -> None:
    """The thread that checks limits wakes in time, even if the handler of a signal ends after the wait should."""
    server = HostCallServer((), SimpleNamespace(set_host_callback=lambda callback: None), World())  # type: ignore[arg-type]
    rescue = threading.Timer(5, server.notify_finished)
    rescue.start()
    previous = signal.signal(signal.SIGALRM, lambda number, frame: time.sleep(0.05))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        assert not server.serve_until_finished(None, 0.03)  # type: ignore[arg-type]
    finally:
        signal.signal(signal.SIGALRM, previous)
        rescue.cancel()


@tl.function
def deep(n: tl.int64) -> tl.float64:
    x = tl.astype(n, tl.float64)
    for _ in range(40):
        x = tl.tanh(x + 0.5)
    return tl.cond(n <= 0, lambda: x, lambda: deep(n - 1) + x)


@tl.function
def carried(n: tl.int64, x: tl.Array[tl.float64, None]) -> tl.float64:
    return tl.cond(n <= 0, lambda: tl.sum(x), lambda: carried(n - 1, x + 1.0))


def seconds_late(limit: float) -> float:
    """How late a recursion of scalars without loops or ops on arrays ends on `compiled`, if it does not end before."""
    begin = time.perf_counter()
    outcome = deep.run(10**6, engine="compiled", limits=tl.Limits(seconds=limit, depth=10**6))
    assert outcome.status == "Exhausted"
    return time.perf_counter() - begin - limit


@pytest.mark.full
def test_a_recursion_of_scalars_ends_on_its_way_down() -> None:
    """Generated code tests before each call whether the run must stop, not only after calls."""
    deep.run(1, engine="compiled")
    assert any(seconds_late(0.1) < LATE_SECONDS for _ in range(3))


@pytest.mark.full
def test_a_stop_that_is_tested_only_after_calls_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose calls do not see that the run must stop ends only after its way down."""
    pattern = rf"m\.stack_pointer\(\) < m\.read_i\(s, {STACK_GUARD}\) or "
    broken(monkeypatch, pattern, "")
    deep.run(1, engine="compiled")
    assert seconds_late(0.1) > LATE_SECONDS


@pytest.mark.full
def test_a_call_owns_an_array_that_its_caller_does_not_use_again() -> None:
    """A recursion that passes on a new array at each level needs memory for two of them, not for all."""
    assert carried.run(2, np.ones(100_000), engine="compiled").value == 300_000.0
    limits = tl.Limits(bytes=resident_memory() + 50 * 2**20)
    assert carried.run(400, np.ones(100_000), engine="compiled", limits=limits).value == 401 * 100_000.0


@pytest.mark.full
def test_arrays_of_a_call_that_are_not_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose calls leave arrays to their callers runs into the limit on bytes."""
    broken(monkeypatch, r"e\.transfer\((\w+)\)", r"\1")
    carried.run(2, np.ones(100_000), engine="compiled")
    limits = tl.Limits(bytes=resident_memory() + 50 * 2**20)
    outcome = carried.run(400, np.ones(100_000), engine="compiled", limits=limits)
    assert outcome.status == "Exhausted" and outcome.error.limit == "bytes"  # type: ignore[union-attr]


@pytest.mark.full
def test_the_budget_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated code measures memory itself: a run ends although nobody else looks at the limit."""
    monkeypatch.setattr(compiled_run.LimitMonitor, "exceeded_limit", lambda self, steps, event: None)
    limits = tl.Limits(bytes=resident_memory() + 50 * 2**20)
    outcome = held.run(10_000, engine="compiled", limits=limits)
    assert outcome.status == "Exhausted" and outcome.error.limit == "bytes"  # type: ignore[union-attr]


@tl.function
def held(n: tl.int64) -> tl.float64:
    def deeper() -> Any:
        x = tl.arange(50_000, dtype=tl.float64) * tl.astype(n, tl.float64)
        return tl.sum(x + held(n - 1))

    return tl.cond(n <= 0, lambda: 0.0, deeper)
