"""How often Python's threads take turns while a helper thread works."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_SECONDS = 0.0002
"""The interval at which threads take turns while a helper thread works."""


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Threads take turns every 0.2 ms meanwhile, instead of every 5 ms. A thread waits for its turn after each file
    that it reads and each lock that it takes. So an import beside a run in Python waits hundreds of times, as does the
    end of a run beside an op that needs Python's lock."""
    global _thread_count, _former_interval
    with _lock:
        if _thread_count == 0:
            _former_interval = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_SECONDS, _former_interval))
        _thread_count += 1
    try:
        yield
    finally:
        with _lock:
            _thread_count -= 1
            if _thread_count == 0:
                sys.setswitchinterval(_former_interval)


_lock = threading.Lock()
_thread_count, _former_interval = 0, sys.getswitchinterval()
