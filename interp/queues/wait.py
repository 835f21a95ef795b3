"""Waiting for a queue, and the errors when waiting fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...core.errors import Exhausted, Trap, Usage
from ...core.frontend.trace.source_location import user_location
from ..engines.interrupt import is_interrupted

POLL_INTERVAL = 0.05
"""The longest time, in seconds, that a thread waits before it checks whether Ctrl-C ended its run."""


class QueueClosed(Trap):
    """A closed queue accepts no elements, and once drained returns none."""


class QueueTimeout(Exhausted, TimeoutError):
    """A queue had no place, or not enough elements, within the timeout."""

    limit = "timeout"


class QueueWait:
    """A wait with one total timeout, and the text of its error."""

    def __init__(self, what: str, timeout: float | None) -> None:
        if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
            required = "seconds, from 0 up, or None: as long as it takes"
            raise Usage("this is no timeout", where=user_location(), required=required, got=repr(timeout))
        self._description = what
        self._timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def wait_until(self, condition: threading.Condition, is_ready: Callable[[], bool]) -> None:
        """Return as soon as the predicate is true; the condition is held, except while waiting."""
        while not is_ready():
            left = POLL_INTERVAL if self._deadline is None else min(POLL_INTERVAL, self._deadline - time.monotonic())
            if left <= 0:
                raise QueueTimeout(f"the queue {self._description} within {self._timeout} s", where=user_location())
            condition.wait(left)
            if is_interrupted():
                raise KeyboardInterrupt
