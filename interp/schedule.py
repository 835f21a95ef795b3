"""Schedules: which token in flight is delivered next. Results do not depend on it; events do.

fifo         the oldest
lifo         the youngest
waves        the oldest, with a clock: all that can fire, fires, then the clock ticks. The ideal machine.
random:SEED  the one at splitmix64(SEED, number of the step) modulo the length of the flight

The flight is a queue: a token that is taken leaves the order of the others as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..core.errors import Usage
from ..core.mix import splitmix64
from .state import State

Pick: TypeAlias = Callable[[State], int]

NAMES = ("fifo", "lifo", "waves", "random:SEED")


def schedule(name: str) -> Pick:
    """The schedule of this name; raises Usage where there is none."""
    if name in ("fifo", "waves"):
        return lambda state: 0
    if name == "lifo":
        return lambda state: len(state.flight) - 1
    kind, _, seed = str(name).partition(":")
    if kind == "random" and seed.isascii() and seed.isdigit() and len(seed) < 21:
        return _random(int(seed))
    raise Usage(f"no schedule is called {name!r}", required=", ".join(NAMES), hint="as in --schedule random:7")


def _random(seed: int) -> Pick:
    return lambda state: splitmix64(seed, state.steps) % len(state.flight)
