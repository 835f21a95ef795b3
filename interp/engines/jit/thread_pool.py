"""The thread pool: helper threads of this process that share loops over many elements among the cores.

It replaces numba's own threading (prange over the same shares, by GNU OpenMP), which is slow on a busy machine
(2026-11-23, AMD EPYC, two cores shared with other processes, medians of 200 alternating runs): with prange, a training
step of the perceptron 784-256-10 takes 7 times as long; tanh(exp(-x)), three times over 100,000 float64, 4 times, and
over a million 1.7 times. A loop of OpenMP waits for all threads of its team; here a loop does not wait for a late
helper. On free cores (minima) prange takes 0.9, 1.2 and 1.2 times as long, and 0.6 times for a million a * x + b. GNU
OpenMP also ends a forked child that uses it. On one thread the step takes 1.3 to 1.5 times as long, those loops 1.8 to
1.9 (minima).

This module starts the pool, without numba; `parallel_loops.py` has the functions that run in machine code.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

import numpy as np

from . import cache
from .native import load_native
from .pool_state import ADDRESS, HELPERS, MAX_WORKERS, READ_END, SETS_AFFINITY, THREAD_IDS, WRITE_END

_WORKER_TEXT = f"""\
from {__package__} import parallel_loops
def run_worker(c):
 parallel_loops.run_worker(c)
 return 0
"""
_pools: dict[int, Any] = {}
"""The words of the pool, by process: a forked child does not have the threads of its parent."""
_pools_lock = cache.lock_across_fork(threading.Lock())


def worker_count() -> int:
    """The number of helpers: one for each core but one; none on Windows, which lacks such pipes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores - 1, MAX_WORKERS) if sys.platform != "win32" else 0


def start_pool() -> int:
    """Start this process's thread pool if necessary; return the address of its words, 0 if it has no helpers."""
    with _pools_lock:
        if os.getpid() not in _pools:
            _pools[os.getpid()] = _create_pool(worker_count())
    return pool_address()


def pool_address() -> int:
    """The address of the pool's words; 0 if it has not been started or has no helpers."""
    words = _pools.get(os.getpid())
    return 0 if words is None else int(words[ADDRESS])


def start_pool_async() -> int:
    """Start the pool on another thread if necessary; return the address of its words, 0 until it has started."""
    if os.getpid() not in _pools and not _pools_lock.locked():
        threading.Thread(target=start_pool, name="tagloom thread pool start", daemon=True).start()
    return pool_address()


def load_worker() -> Any:
    """The main loop of helpers in machine code."""
    return load_native("thread_pool", _WORKER_TEXT, "run_worker", 1)


def _create_pool(count: int) -> Any:
    words = np.zeros(THREAD_IDS + MAX_WORKERS, np.int64)
    if not count:
        return words
    with suppress(OSError):  # too many open files: no helpers
        words[READ_END], words[WRITE_END] = os.pipe()
        words[HELPERS] = count
    if words[HELPERS]:
        os.set_blocking(int(words[WRITE_END]), False)  # a full pipe wakes all helpers anyway
        run_worker = load_worker()
        for number in range(count):
            helper = threading.Thread(
                target=_worker_main, args=(run_worker, words), name="tagloom thread pool", daemon=True
            )
            helper.start()
            words[THREAD_IDS + number] = helper.native_id or -1  # -1 is not a thread's id
        words[ADDRESS], words[SETS_AFFINITY] = words.ctypes.data, sys.platform == "linux"
    return words


def _worker_main(run_worker: Any, words: Any) -> None:
    """The main function of a helper. It blocks signals: one would interrupt the read from the pipe, and end the
    helper."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    run_worker(words.ctypes.data)
