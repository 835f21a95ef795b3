"""Python's garbage collector, paused for work that creates many objects and few cycles: it would scan all of them again
and again. Without it, compilers take a fifteenth less time, and the decoding of an event 5 us instead of 9."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """A context without garbage collection. Afterwards it is as it was before.

    >>> gc.isenabled()
    True
    >>> with paused_collector():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_enabled = gc.isenabled()
    try:
        gc.disable()  # in the `try`: Ctrl-C may come just after it
        yield
    finally:
        if was_enabled:
            gc.enable()
