"""Whether something ends in time, on a machine where other processes take the processor now and then."""

from __future__ import annotations

from collections.abc import Callable

ATTEMPTS = 5


def is_soon(measure: Callable[[], float], seconds: float) -> bool:
    """Whether one of several measurements takes less than this: one that is late by a fault is late each time."""
    return any(measure() < seconds for _ in range(ATTEMPTS))
