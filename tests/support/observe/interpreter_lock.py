"""How long a computation on another thread keeps Python's lock, so that no thread can look at a clock or at Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LOOK_SECONDS = 0.001


def seconds_without_other_threads(job: Callable[[], object]) -> float:
    """The most processor time that a job takes between two looks of the caller, or after the last, in seconds. Other
    processes, which delay the caller, hardly count: they take processor time from both."""
    has_begun, has_ended, may_exit = threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        has_begun.wait()
        try:
            job()
        finally:
            has_ended.set()
            may_exit.wait()  # the clock of a thread ends with it

    worker = threading.Thread(target=run)
    worker.start()
    assert worker.ident is not None
    clock, longest, last = time.pthread_getcpuclockid(worker.ident), 0.0, 0.0
    has_begun.set()
    try:
        while not has_ended.wait(LOOK_SECONDS):
            now = time.clock_gettime(clock)
            longest, last = max(longest, now - last), now
        longest = max(longest, time.clock_gettime(clock) - last)
    finally:
        may_exit.set()
        worker.join()
    return longest
