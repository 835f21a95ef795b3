"""A watchdog for runs on the calling thread: it stops a run that takes too long, which then starts again on a thread of
its own.

One thread serves the whole process. It polls 50 times a second, and sleeps after it has been idle for a while. So a run
is watched once it is appended to a list.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import NamedTuple

from .call_buffer import CallBuffer

POLL_SECONDS = 0.02
"""Seconds between two polls. A run that two successive polls see is stopped."""
_MAX_IDLE_POLLS = 100
"""The number of idle polls before the thread sleeps."""


class WatchedRun(NamedTuple):
    """A run that is watched. Its identity is that of the run: a buffer serves one run after another."""

    buffer: CallBuffer


class Watchdog:
    """The watchdog thread and the runs that it watches."""

    def __init__(self) -> None:
        self._watched_runs = list[WatchedRun]()
        self._watch_count = 0
        self._is_asleep = True
        self._wake_queue = SimpleQueue[None]()
        self._thread: threading.Thread | None = None

    def ensure_started(self) -> bool:
        """Start the thread if necessary; return whether it runs."""
        if self._thread is None:
            thread = threading.Thread(target=self._serve, name="tagloom watchdog", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # too many threads
                return False
            self._thread = thread
        return True

    def call_watched(self, buffer: CallBuffer, run: Callable[[], None]) -> None:
        """Call `run`, which is stopped if two polls see it; the thread must have been started."""
        self._watch_count += 1
        watched_run = WatchedRun(buffer)
        try:
            self._watched_runs.append(watched_run)
            if self._is_asleep:
                self._wake_queue.put(None)
            run()
        finally:
            self._watched_runs = [other for other in self._watched_runs if other is not watched_run]

    def poll(self, previous_runs: Sequence[WatchedRun]) -> list[WatchedRun]:
        """Stop the runs that the previous poll saw, too; return those that this one sees."""
        runs = list(self._watched_runs)
        for watched_run in runs:
            if any(watched_run is previous_run for previous_run in previous_runs):
                watched_run.buffer.request_stop()
        return runs

    def _serve(self) -> None:
        while True:
            self._is_asleep = True
            if not self._watched_runs:  # a run added after this test sees that the thread is asleep
                self._wake_queue.get()
            self._is_asleep = False
            self._poll_until_idle()

    def _poll_until_idle(self) -> None:
        """Poll until no run has been watched for a while."""
        previous_runs, watch_count, idle_polls = list[WatchedRun](), self._watch_count, 0
        while idle_polls < _MAX_IDLE_POLLS:
            time.sleep(POLL_SECONDS)
            previous_runs = self.poll(previous_runs)
            idle_polls = idle_polls + 1 if self._watch_count == watch_count else 0
            watch_count = self._watch_count


_watchdog = Watchdog()


def reset_after_fork() -> None:
    """Reset the watchdog in a forked child, which has no other threads."""
    global _watchdog
    _watchdog = Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_after_fork)


def ensure_started() -> bool:
    """Start the watchdog if necessary; return whether it runs."""
    return _watchdog.ensure_started()


def call_watched(buffer: CallBuffer, run: Callable[[], None]) -> None:
    """Call `run`, which is stopped if it still runs at the second poll. For the main thread."""
    _watchdog.call_watched(buffer, run)
