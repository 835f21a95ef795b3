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

from .call_buffer import Words

OFTEN = 0.02
"""Seconds between two looks. What is there at both is stopped."""
_PATIENCE = 100
"""How many times it looks in vain before it sleeps."""


class Watchdog:
    """The thread, and what it watches."""

    def __init__(self) -> None:
        self._runs = list[Words]()
        self._count = 0
        self._is_asleep = True
        self._called = SimpleQueue[None]()
        self._thread: threading.Thread | None = None

    def has_begun(self) -> bool:
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
    def watching(self, words: Words) -> Iterator[None]:
        """While this lasts, a run is watched, by one that has begun."""
        self._count += 1
        try:
            self._runs.append(words)
            if self._is_asleep:
                self._called.put(None)
            yield
        finally:
            self._runs = [each for each in self._runs if each is not words]

    def _serve(self) -> None:
        while True:
            self._is_asleep = True
            if not self._runs:  # who comes after this sees that it sleeps
                self._called.get()
            self._is_asleep = False
            self._watch()

    def _watch(self) -> None:
        """Look until for a while there was nothing to watch."""
        seen, count, looks = list[Words](), self._count, 0
        while looks < _PATIENCE:
            time.sleep(OFTEN)
            now = list(self._runs)
            for words in now:
                if any(words is each for each in seen):
                    words.stop()
            looks = looks + 1 if self._count == count else 0
            seen, count = now, self._count


_watchdog = Watchdog()


def _begin_again() -> None:
    """A child that was forked has none of the threads."""
    global _watchdog
    _watchdog = Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)


def has_begun() -> bool:
    """Whether somebody watches."""
    return _watchdog.has_begun()


def watching(words: Words) -> AbstractContextManager[None]:
    """While this lasts, a run is stopped if it is not over within two looks. For the main thread."""
    return _watchdog.watching(words)
