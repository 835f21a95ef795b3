"""Ctrl-C for tests that press it in their own process."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def default_ctrl_c() -> Iterator[None]:
    """While this lasts, nobody has claimed Ctrl-C, and it reaches what is tested.

    Python swallows what is raised in a callback of its collector, and Hypothesis has one there.
    """
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        gc.callbacks[:] = callbacks
