"""Python's recursion limit, for code whose recursion is bounded by its input."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_limits: list[int] = []
"""The limits of all contexts that are open, in any thread, after the limit outside of them: threads share one limit."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@contextmanager
def recursion_limit(frames: int) -> Iterator[None]:
    """A context in which at least this many Python frames may be nested.

    >>> with recursion_limit(5000):
    ...     sys.getrecursionlimit() >= 5000
    True
    """
    with _lock:
        _limits.extend([frames] if _limits else [sys.getrecursionlimit(), frames])
        sys.setrecursionlimit(max(_limits))
    try:
        yield
    finally:
        with _lock:
            _limits.remove(frames)
            sys.setrecursionlimit(max(_limits))
            if len(_limits) == 1:
                _limits.clear()
