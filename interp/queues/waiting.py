"""Waiting for a queue, and what is raised where that is in vain."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...core.errors import Exhausted, Trap, Usage
from ...core.frontend.trace.source_location import user_location
from ..engines.interrupt import is_interrupted

POLL_INTERVAL = 0.05
"""For how many seconds at most a thread waits before it looks whether Ctrl-C ended its run."""


class QueueClosed(Trap):
    """A closed queue takes no elements, and gives none when it is drained."""


class QueueTimeout(Exhausted, TimeoutError):
    """A queue had no place, or not enough elements, in the time that there was."""

    limit = "timeout"


class QueueWait:
    """Waiting for something, with a time for it all, and words for what a queue did not do in it."""

    def __init__(self, what: str, timeout: float | None) -> None:
        if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
            required = "seconds, from 0 up, or None: as long as it takes"
            raise Usage("this is no timeout", where=user_location(), required=required, got=repr(timeout))
        self._description = what
        self._timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def wait_until(self, condition: threading.Condition, is_ready: Callable[[], bool]) -> None:
        """Return as soon as it is so; the condition is held, but for the waiting."""
        while not is_ready():
            left = POLL_INTERVAL if self._deadline is None else min(POLL_INTERVAL, self._deadline - time.monotonic())
            if left <= 0:
                raise QueueTimeout(f"the queue {self._description} within {self._timeout} s", where=user_location())
            condition.wait(left)
            if is_interrupted():
                raise KeyboardInterrupt
