"""Support for tests of speculated functions: assumptions that break."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NUMBER_TO_BREAK: ContextVar[int | None] = ContextVar("assumption to break", default=None)

number_to_break: Callable[[], int | None] = _NUMBER_TO_BREAK.get
"""The number of the assumption whose assertion is made to fail, or None."""


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
    token = _NUMBER_TO_BREAK.set(number)
    try:
        yield
    finally:
        _NUMBER_TO_BREAK.reset(token)
