"""Waiting for a queue, and what is raised where that is in vain."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...core.errors import Exhausted, Trap, Usage
from ...core.frontend.trace.source_location import here
from ..engines.interrupt import is_interrupted

SLICE = 0.05
"""For how many seconds at most a thread waits before it looks whether Ctrl-C ended its run."""


class QueueClosed(Trap):
    """A closed queue takes no elements, and gives none when it is drained."""


class QueueTimeout(Exhausted, TimeoutError):
    """A queue had no place, or not enough elements, in the time that there was."""

    limit = "timeout"


class Wait:
    """Waiting for something, with a time for it all, and words for what a queue did not do in it."""

    def __init__(self, what: str, timeout: float | None) -> None:
        if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
            required = "seconds, from 0 up, or None: as long as it takes"
            raise Usage("this is no timeout", where=here(), required=required, got=repr(timeout))
        self._what = what
        self._timeout = timeout
        self._ends = None if timeout is None else time.monotonic() + timeout

    def until(self, changed: threading.Condition, is_so: Callable[[], bool]) -> None:
        """Return as soon as it is so; the condition is held, but for the waiting."""
        while not is_so():
            left = SLICE if self._ends is None else min(SLICE, self._ends - time.monotonic())
            if left <= 0:
                raise QueueTimeout(f"the queue {self._what} within {self._timeout} s", where=here())
            changed.wait(left)
            if is_interrupted():
                raise KeyboardInterrupt
