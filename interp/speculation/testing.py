"""Support for tests of speculated functions: assumptions that break."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_BROKEN_NUMBER: ContextVar[int | None] = ContextVar("broken assumption", default=None)

broken_number: Callable[[], int | None] = _BROKEN_NUMBER.get
"""The number of the assumption whose assertion fails, or None."""


@contextmanager
def break_assumption(number: int) -> Iterator[None]:
    """In the `with` block, the assertion of this number fails in graphs of speculated functions, if a run reaches it.
    Then Python runs the call: for tests of the state after a broken assumption.

    >>> from tagloom.interp.speculation.speculate import speculate
    >>> @speculate
    ... def double(n):
    ...     return n + n
    >>> [double(n) for n in range(4)], double.counts.graph
    ([0, 2, 4, 6], 1)
    >>> with break_assumption(0):
    ...     double(4), double.counts.graph
    (8, 1)
    """
    token = _BROKEN_NUMBER.set(number)
    try:
        yield
    finally:
        _BROKEN_NUMBER.reset(token)
