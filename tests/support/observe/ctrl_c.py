"""Ctrl-C for tests that send it to their own process."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def default_ctrl_c() -> Iterator[None]:
    """In this context SIGINT has its default handler, and Hypothesis has no callback in the garbage collector.

    Python swallows exceptions in such callbacks.
    """
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        gc.callbacks[:] = callbacks


def press_in_a_run(seconds: float) -> list[float]:
    """Send Ctrl-C once, so many seconds after a run has begun, which replaces the handler of SIGINT: earlier, Ctrl-C
    would end the tests. The list gets the time of `time.perf_counter` when it is sent."""
    before, pressed = signal.getsignal(signal.SIGINT), list[float]()

    def press() -> None:
        while signal.getsignal(signal.SIGINT) is before:
            time.sleep(0.001)
        time.sleep(seconds)
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    return pressed


@contextmanager
def ctrl_c_after(seconds: float) -> Iterator[None]:
    """In this context Ctrl-C arrives once, after so many seconds of this process's processor time: other work on the
    machine does not change what the process has done by then."""
    with default_ctrl_c():
        before = signal.signal(signal.SIGPROF, lambda number, frame: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
