"""Concurrent runs: threads that trace, compile and run the same function or different ones, on every engine."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.python_ast import parse_python
from tagloom.interp.engines.compiled import run as compiled_run
from tagloom.interp.image import image as imaging

THREADS = 4
ENGINES = ("reference", "fast", "compiled", "auto")


@pytest.fixture(autouse=True)
def switch_often() -> Iterator[None]:
    """A context in which threads switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run_together(*jobs: Callable[[], Any]) -> list[Any]:
    """The results of these functions, started together, each on its own thread."""
    barrier = threading.Barrier(len(jobs), timeout=60)

    def begin(job: Callable[[], Any]) -> Any:
        barrier.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(begin, jobs))


def recursive() -> tl.Function:
    @tl.function
    def fib(n: tl.int64) -> tl.int64:
        return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))

    return fib


def looping(step: float) -> tl.Function:
    @tl.function
    def loop(n: tl.int64, x: tl.float64) -> tl.float64:
        return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + x * step), 0, 0.0)[1]

    return loop


def of_arrays(step: float) -> tl.Function:
    @tl.function
    def smooth(x: tl.Array[tl.float64, None]) -> tl.float64:
        return tl.sum(tl.tanh(x * step) + x)

    return smooth


def drawing() -> tl.Function:
    @tl.function
    def drawn(n: tl.int64) -> tl.float64:
        return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tl.uniform()), 0, 0.0)[1]

    return drawn


def filling() -> tl.Function:
    @tl.function
    def squares(n: tl.int64) -> tl.Array[tl.int64, None]:
        return tl.map(lambda i: i * i, tl.arange(n))

    return squares


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ENGINES)
def test_one_function_in_many_threads(engine: str) -> None:
    """A function that many threads call first at the same time is traced once, and returns each its value."""
    traced: list[int] = []

    @tl.function
    def fresh(n: tl.int64) -> tl.int64:
        traced.append(1)
        return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), 0, 0)[1]

    actual = run_together(*(lambda k=k: fresh.run(100 * k, engine=engine).value for k in range(THREADS)))  # type: ignore[misc]
    assert actual == [sum(range(100 * k)) for k in range(THREADS)] and len(traced) == 1


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_different_functions_in_many_threads(engine: str) -> None:
    """Threads that make, trace, compile and run their own functions do not affect each other."""

    def job(k: int) -> list[Any]:
        x = np.arange(50.0) + k
        runs = [
            recursive().run(5 + k, engine=engine),
            looping(k % 2 + 0.5).run(20, 2.0, engine=engine),
            of_arrays(0.1).run(x, engine=engine),
            drawing().run(5, engine=engine, seed=k),
            filling().run(6 + k, engine=engine),
        ]
        return [run.value.tolist() if isinstance(run.value, np.ndarray) else run.value for run in runs]

    alone = [job(k) for k in range(THREADS)]
    assert run_together(*(lambda k=k: job(k) for k in range(THREADS))) == alone  # type: ignore[misc]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ENGINES)
def test_effects_belong_to_their_runs(engine: str) -> None:
    """Prints and callbacks of a run happen on its calling thread, in its own world."""

    @tl.function
    def told(n: tl.int64) -> tl.int64:
        def body(i: Any) -> Any:
            tl.print(i)
            return i + tl.callback(lambda j: threading.get_ident() and 1, i, returns=tl.int64)

        return tl.while_loop(lambda i: i < n, body, 0)[0]

    def job(k: int) -> bool:
        lines: list[tuple[int, str]] = []
        world = tl.World(lambda line: lines.append((threading.get_ident(), line)))
        told.run(5 + k, engine=engine, world=world)
        return lines == [(threading.get_ident(), str(i)) for i in range(5 + k)]

    assert all(run_together(*(lambda k=k: job(k) for k in range(THREADS))))  # type: ignore[misc]


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_runs_of_a_process(engine: str, tmp_path: Path) -> None:
    """Several threads can be the first to load an engine, at the same time."""
    code = f"""
import sys, tagloom as tl
from concurrent.futures import ThreadPoolExecutor
sys.setswitchinterval(1e-5)
def python(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), 0, 0)[1]
loop = tl.function(python)
with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(lambda k: loop.run(k, engine={engine!r}).value, range(40))))
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout == f"{[k * (k - 1) // 2 for k in range(40)]}\n", ran.stderr


@pytest.mark.full
def test_syntax_trees_in_many_threads() -> None:
    """Only one thread at a time builds syntax trees: CPython fails if the garbage collector switches threads
    meanwhile."""
    text, before = Path(__file__).read_text(encoding="utf-8"), gc.get_threshold()
    gc.set_threshold(50)
    gc.callbacks.append(_switch_threads)
    try:
        assert len({ast.dump(tree) for tree in run_together(*[lambda: parse_python(text)] * 2 * THREADS)}) == 1
    finally:
        gc.callbacks.remove(_switch_threads)
        gc.set_threshold(*before)


def _switch_threads(*_: Any) -> None:
    """A Python function, at whose start threads may switch."""


@pytest.mark.full
def test_parts_in_many_threads() -> None:
    """Threads fetch parts of one function at the same time, of the main body and under tags."""
    fib = recursive()
    jobs = [lambda: fib.partial("less_equal")(9), lambda: fib.partial("main/fib/cond")(9)] * 3
    assert run_together(*jobs) == [False, 34] * 3


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_steps_share_variables(engine: str) -> None:
    """Concurrent steps read variables at their beginning and assign them at their end: none sees half of another's
    assignments. Steps under a lock all count."""
    one, other = tl.Variable(0, name="one"), tl.Variable(0, name="other")

    @tl.function
    def step(x: tl.int64) -> tuple[tl.int64, tl.int64]:
        before = one + x, other + x
        one.assign_add(1)
        other.assign_add(1)
        return before

    def job(k: int, turn: AbstractContextManager[Any]) -> list[tuple[int, int]]:
        results = []
        for _ in range(20):
            with turn:
                results.append(step.run(k, engine=engine).value)
        return results

    free = run_together(*(lambda k=k: job(k, nullcontext()) for k in range(THREADS)))  # type: ignore[misc]
    assert all(mine == its for pairs in free for mine, its in pairs)
    assert int(one) == int(other) <= 20 * THREADS
    one.assign(0)
    other.assign(0)
    lock = threading.Lock()
    turns = run_together(*(lambda k=k: job(k, lock) for k in range(THREADS)))  # type: ignore[misc]
    reads = [mine - k for k, pairs in enumerate(turns) for mine, its in pairs if mine == its]
    assert sorted(reads) == list(range(20 * THREADS)) and int(one) == int(other) == 20 * THREADS


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ENGINES)
def test_one_of_overlapping_steps_counts(engine: str) -> None:
    """Of several overlapping steps one assigns: five rounds count 5, and not 20."""
    count, begun = tl.Variable(0), threading.Barrier(THREADS, timeout=60)

    @tl.function
    def step() -> None:
        tl.callback(lambda: begun.wait() * 0, returns=tl.int64)
        count.assign_add(1)

    run_together(*[lambda: [step.run(engine=engine) for _ in range(5)]] * THREADS)
    assert int(count) == 5


def test_tapes_and_traces_in_many_threads() -> None:
    """A tape records what its own thread computes, and gradients are derived once."""
    cube = tl.function(lambda x: x * x * x)
    slope = tl.grad(cube)

    def job(k: int) -> tuple[float, float]:
        x = tl.asarray(float(k))
        with tl.Tape() as tape:
            tape.watch(x)
            y = cube(x) + x
        return float(tape.gradient(y, x)), float(slope(float(k)))

    expected = [(3.0 * k * k + 1.0, 3.0 * k * k) for k in range(THREADS)]
    assert run_together(*(lambda k=k: job(k) for k in range(THREADS))) == expected  # type: ignore[misc]


@pytest.mark.full
@pytest.mark.parametrize("engine", ["fast", "compiled"])
def test_threads_share_the_caches_of_engines(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads with more programs than an engine caches evict each other's programs, and get right results."""
    monkeypatch.setattr(imaging._image_cache, "capacity", 3)
    monkeypatch.setattr(compiled_run, "_MAX_PROGRAMS", 3)
    functions = [looping(k + 0.5) for k in range(6)]
    for each in functions:
        each.run(3, 2.0, engine=engine)

    def job(start: int) -> list[float]:
        return [functions[(start + k) % 6].run(3, 2.0, engine=engine).value for k in range(40)]

    actual = run_together(*(lambda k=k: job(k) for k in range(THREADS)))  # type: ignore[misc]
    assert actual == [[((k + j) % 6 + 0.5) * 6.0 for j in range(40)] for k in range(THREADS)]
