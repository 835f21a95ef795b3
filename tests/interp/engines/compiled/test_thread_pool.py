"""Loops shared among cores compute each element once, with the reference's bits."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from numba import int64, njit, void
from support.laws.compiled_laws import differences
from support.observe.lateness import is_soon
from support.programs.compiled_child import in_a_process
from support.twins.compiled_twins import afresh, broken
from tagloom.interp.engines.jit import kernels, parallel_loops, pool_state, thread_pool
from tagloom.interp.engines.jit.intrinsics import read_i, write
from tagloom.interp.engines.jit.state import POOL_ADDRESS, POOL_REQUESTED


@tl.function
def wave(
    x: tl.Array[tl.float64, None], y: tl.Array[tl.float32, None], c: tl.float32
) -> tuple[tl.Array[tl.float64, None], tl.Array[tl.float32, None]]:
    """Floats of both widths, a NumPy loop, a scalar, and two results."""
    return tl.exp(-x) * x + 0.25, tl.sqrt(tl.abs(y * c - y)) / (y + c)


def arguments(size: int) -> list[Any]:
    dice = np.random.default_rng(size)
    return [dice.normal(size=size), dice.normal(size=size).astype(np.float32), np.float32(1.1)]


@pytest.mark.full
@pytest.mark.parametrize(
    "size",
    [
        parallel_loops.PARALLEL_MIN_ELEMENTS - 1,
        parallel_loops.PARALLEL_MIN_ELEMENTS,
        parallel_loops.PARALLEL_MIN_ELEMENTS + 1,
        7 * parallel_loops.CHUNK_ELEMENTS + 3,
    ],
)
def test_helpers_do_not_change_bits(size: int) -> None:
    """All elements are the reference's, shared or not."""
    assert not list(differences(wave.program, wave.graph, arguments(size)))


TWINS = {
    "an element that nobody computes": (r"(f\w+\(s, v\d+), \(", r"\1 - 1, ("),
    "a share begins late": (r"range\(first, last", "range(first + 1, last"),
    "a share ends early": (r"last - (i\d+)\)", r"last - \1 - 1)"),
    "the words of another array": (r"w\.block_at\((c\d+), 3,", r"w.block_at(\1, 2,"),
}


@pytest.mark.full
@pytest.mark.parametrize("twin", TWINS)
def test_twin_is_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong share is caught; no twin reads or writes beyond an array. Elements that nobody computes may keep right
    values of an earlier run, but hardly for three sizes."""
    broken(monkeypatch, *TWINS[twin])
    sizes = (
        parallel_loops.PARALLEL_MIN_ELEMENTS + 1,
        7 * parallel_loops.CHUNK_ELEMENTS + 3,
        parallel_loops.PARALLEL_MIN_ELEMENTS + 77,
    )
    assert any(list(differences(wave.program, wave.graph, arguments(size))) for size in sizes)


@pytest.mark.full
def test_a_division_that_rounds_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ops that round as in float64 may be computed in float32."""
    afresh(monkeypatch)
    monkeypatch.setitem(kernels._NATIVE_WIDTH_FORMATS, "divide", "({} * (float32(1.0) / {}))")  # type: ignore[index]
    assert list(differences(wave.program, wave.graph, arguments(1000)))


@njit(void(int64, int64, int64), nogil=True)
def count_visits(c: int, first: int, last: int) -> None:
    """A loop body that counts how often each element is computed."""
    for at in range(first, last):
        write(read_i(c, 0), at, read_i(read_i(c, 0), at) + 1)  # type: ignore[call-arg]


@njit(nogil=True)
def shared(s: int, words: int, size: int) -> bool:
    return parallel_loops.parallel_for_large(s, parallel_loops.function_address(count_visits), words, size)  # type: ignore[no-any-return, call-arg]


@pytest.mark.inner(first=4)
@pytest.mark.parametrize(
    "size",
    [
        0,
        1,
        parallel_loops.PARALLEL_MIN_ELEMENTS - 1,
        parallel_loops.PARALLEL_MIN_ELEMENTS,
        40 * parallel_loops.CHUNK_ELEMENTS + 5,
    ],
)
def test_each_element_once(size: int) -> None:
    """Each element is computed once for every size, with and without helpers."""
    for helping in (0, thread_pool.start_pool()):
        for _ in range(20):
            counts, state = np.zeros(size, np.int64), np.zeros(9, np.int64)
            state[POOL_ADDRESS] = helping
            given = np.array([counts.ctypes.data], np.int64)
            assert shared(state.ctypes.data, given.ctypes.data, size)
            assert (counts == 1).all() and state[POOL_ADDRESS] == (
                helping or (size >= parallel_loops.PARALLEL_MIN_ELEMENTS and POOL_REQUESTED)
            )


@pytest.mark.skipif(not thread_pool.worker_count(), reason="nobody helps here")
def test_signals_do_not_reach_helpers() -> None:
    """A signal sent to a helper neither runs the handler nor ends the helper."""
    thread_pool.start_pool()
    before, came = signal.getsignal(signal.SIGUSR1), threading.Event()
    helping = [each for each in threading.enumerate() if each.name == "tagloom thread pool"]
    signal.signal(signal.SIGUSR1, lambda *_: came.set())
    try:
        for each in helping:
            signal.pthread_kill(each.ident or 0, signal.SIGUSR1)
        assert not came.wait(0.1) and helping and all(each.is_alive() for each in helping)
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.full
@pytest.mark.skipif(not thread_pool.worker_count() or sys.platform != "linux", reason="nobody helps here")
def test_idle_helpers_use_no_processor_time() -> None:
    """Helpers that find no work sleep, whether they have just started or just worked."""
    assert thread_pool.start_pool()
    assert not list(differences(wave.program, wave.graph, arguments(parallel_loops.PARALLEL_MIN_ELEMENTS)))
    words = thread_pool._pools[os.getpid()]
    helpers = words[pool_state.THREAD_IDS :][: words[pool_state.HELPERS]].tolist()

    def ticks() -> int:
        """The processor time of all helpers, in hundredths of a second."""
        stats = [Path(f"/proc/self/task/{each}/stat").read_text("ascii").rpartition(")")[2] for each in helpers]
        return sum(int(text.split()[field]) for text in stats for field in (11, 12))

    def ticks_of_a_while() -> int:
        before = ticks()
        time.sleep(0.2)
        return ticks() - before

    assert helpers and is_soon(ticks_of_a_while, 2), "first they may not sleep yet"


def test_runs_work_without_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without free file descriptors there are no helpers, and runs still work."""

    def full() -> None:
        raise OSError

    monkeypatch.setattr(thread_pool, "_pools", {})
    monkeypatch.setattr(thread_pool.os, "pipe", full)  # type: ignore[attr-defined]
    assert (
        not list(differences(wave.program, wave.graph, arguments(parallel_loops.PARALLEL_MIN_ELEMENTS)))
        and not thread_pool.start_pool()
    )


@pytest.mark.skipif(
    not thread_pool.worker_count() or sys.platform != "linux", reason="nobody helps here, or stays off a core"
)
def test_helpers_stay_off_the_core_that_calls_them() -> None:
    """Helpers avoid one core of the process: the one of the run that woke them."""
    assert thread_pool.start_pool()
    time.sleep(0.1)  # until they sleep
    assert not list(differences(wave.program, wave.graph, arguments(3 * parallel_loops.PARALLEL_MIN_ELEMENTS)))
    words, cores = thread_pool._pools[os.getpid()], os.sched_getaffinity(0)
    off = int(words[pool_state.AVOIDED_CORE]) - 1
    assert off in cores
    helpers = words[pool_state.THREAD_IDS :][: words[pool_state.HELPERS]].tolist()
    assert [os.sched_getaffinity(each) for each in helpers] == [cores - {off}] * thread_pool.worker_count()


@pytest.mark.skipif(not thread_pool.worker_count(), reason="nobody helps here")
def test_limits_hold_while_helpers_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits are checked while helpers are still being compiled."""
    monkeypatch.setattr(thread_pool, "_pools", {})
    right, may = thread_pool._create_pool, threading.Event()
    monkeypatch.setattr(thread_pool, "_create_pool", lambda count_visits: may.wait(20.0) and right(count_visits))
    assert [thread_pool.start_pool_async(), thread_pool.start_pool_async()] == [0, 0]
    may.set()
    assert thread_pool.start_pool() and thread_pool.start_pool_async() == thread_pool.start_pool()


@pytest.mark.full
def test_the_pool_serves_one_run_at_a_time() -> None:
    """The pool serves one run at a time; a run that finds it busy computes alone."""
    given = arguments(3 * parallel_loops.PARALLEL_MIN_ELEMENTS)
    wanted = [each.tobytes() for each in wave.run(*given, engine="compiled").value]
    wrong: list[int] = []

    def run(number: int) -> None:
        for _ in range(10):
            result = wave.run(*given, engine="compiled").value
            if [each.tobytes() for each in result] != wanted:
                wrong.append(number)

    users = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert not wrong


FORKED = """
from tagloom.interp.engines.jit import cache, native, parallel_loops, thread_pool
from test_thread_pool import arguments, wave
other = tl.function(lambda x: x * 3 + 1)
right, loading = {module: module._load_or_compile for module in (cache, native)}, threading.Event()
def slow(load):
    def load_slowly(*given):
        loading.set()
        time.sleep(0.5)
        return load(*given)
    return load_slowly
def forked(others):
    for module, load in right.items():
        module._load_or_compile = slow(load)
    user = threading.Thread(target=others)
    user.start()
    loading.wait()
    loading.clear()
    child = os.fork()
    if not child:
        signal.alarm(30)
        for module, load in right.items():
            module._load_or_compile = load
        given = arguments(parallel_loops.PARALLEL_MIN_ELEMENTS)
        os._exit(0 if wave.run(*given, engine="compiled").value and other.run(3, engine="compiled").value == 10 else 1)
    user.join()
    print(os.waitpid(child, 0)[1])
forked(thread_pool.start_pool)
forked(lambda: wave.run(*arguments(9), engine="compiled"))
"""


@pytest.mark.heavy
@pytest.mark.skipif(not thread_pool.worker_count() or not hasattr(os, "fork"), reason="nobody helps or forks here")
def test_a_forked_child_can_start_the_pool() -> None:
    """A child that is forked while a thread starts the pool, or compiles, can do both itself."""
    assert in_a_process(FORKED) == ["0", "0"]
