"""Ctrl-C for tests that send it to their own process."""

from __future__ import annotations

import gc
import signal
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
