"""Python's recursion limit, for code whose recursion is bounded by its input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def recursion_limit(frames: int) -> Iterator[None]:
    """A context in which at least this many Python frames may be nested.

    >>> with recursion_limit(5000):
    ...     sys.getrecursionlimit() >= 5000
    True
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, frames))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
