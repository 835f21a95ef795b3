"""A watchdog for runs on the thread that called: it stops one that is not over soon, which then begins again where
somebody waits for it.

One thread watches for the whole process. It looks 50 times a second, and sleeps where for a while there was nothing to
watch; so to be watched costs nothing but to be put on a list.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from queue import SimpleQueue

from .call_buffer import CallBuffer

POLL_SECONDS = 0.02
"""Seconds between two looks. What is there at both is stopped."""
_MAX_IDLE_POLLS = 100
"""How many times it looks in vain before it sleeps."""


class Watchdog:
    """The thread, and what it watches."""

    def __init__(self) -> None:
        self._watched_runs = list[CallBuffer]()
        self._watch_count = 0
        self._is_asleep = True
        self._wake_queue = SimpleQueue[None]()
        self._thread: threading.Thread | None = None

    def ensure_started(self) -> bool:
        """Whether it is there; it begins if it is not and can be."""
        if self._thread is None:
            thread = threading.Thread(target=self._serve, name="tagloom watchdog", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # there are too many threads
                return False
            self._thread = thread
        return True

    @contextmanager
    def watch(self, words: CallBuffer) -> Iterator[None]:
        """While this lasts, a run is watched, by one that has begun."""
        self._watch_count += 1
        try:
            self._watched_runs.append(words)
            if self._is_asleep:
                self._wake_queue.put(None)
            yield
        finally:
            self._watched_runs = [each for each in self._watched_runs if each is not words]

    def _serve(self) -> None:
        while True:
            self._is_asleep = True
            if not self._watched_runs:  # who comes after this sees that it sleeps
                self._wake_queue.get()
            self._is_asleep = False
            self._poll_until_idle()

    def _poll_until_idle(self) -> None:
        """Look until for a while there was nothing to watch."""
        seen, count, looks = list[CallBuffer](), self._watch_count, 0
        while looks < _MAX_IDLE_POLLS:
            time.sleep(POLL_SECONDS)
            now = list(self._watched_runs)
            for words in now:
                if any(words is each for each in seen):
                    words.request_stop()
            looks = looks + 1 if self._watch_count == count else 0
            seen, count = now, self._watch_count


_watchdog = Watchdog()


def _reset_after_fork() -> None:
    """A child that was forked has none of the threads."""
    global _watchdog
    _watchdog = Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def ensure_started() -> bool:
    """Whether somebody watches."""
    return _watchdog.ensure_started()


def watch(words: CallBuffer) -> AbstractContextManager[None]:
    """While this lasts, a run is stopped if it is not over within two looks. For the main thread."""
    return _watchdog.watch(words)
