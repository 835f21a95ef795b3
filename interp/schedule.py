"""Schedules: which token in flight is delivered next. Results do not depend on it; events do.

fifo         the oldest
lifo         the youngest
waves        the oldest, with a clock: all that can fire, fires, then the clock ticks. The ideal machine.
random:SEED  the one at splitmix64(SEED, number of the step) modulo the length of the flight
hand:FILE    by hand: as a saved script says, step by step

The flight is a queue: a token that is taken leaves the order of the others as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..core.errors import Usage
from ..core.mix import splitmix64
from .script import CLOSED, Script, read_script, seed_of
from .state import State

Pick: TypeAlias = Callable[[State], int]

NAMES = (*CLOSED, "random:SEED", "hand:FILE")
BY_HAND = "hand"
"""What the schedule of a run is called whose tokens were picked in no order that has a name."""


def schedule(name: str | Script) -> Pick:
    """The schedule of this name, or of this script; raises Usage where there is none."""
    if isinstance(name, Script):
        return _by_hand(name)
    if name in ("fifo", "waves"):
        return lambda state: 0
    if name == "lifo":
        return lambda state: len(state.flight) - 1
    seed = seed_of(str(name))
    if seed is not None:
        return _random(seed)
    kind, _, file = str(name).partition(":")
    if kind == BY_HAND and file:
        return _by_hand(read_script(file))
    raise Usage(f"no schedule is called {name!r}", required=", ".join(NAMES), hint="as in --schedule random:7")


def clocked(given: str | Script) -> bool:
    """Whether a schedule has a clock: `waves` has, and a script after which it goes on."""
    if isinstance(given, str) and given.startswith(f"{BY_HAND}:"):
        given = read_script(given.partition(":")[2])
    return (given.then if isinstance(given, Script) else given) == "waves"


def name_of(given: str | Script) -> str:
    """What an outcome calls a schedule."""
    return BY_HAND if isinstance(given, Script) or given.startswith(f"{BY_HAND}:") else given


def _by_hand(script: Script) -> Pick:
    after = schedule(script.then)

    def pick(state: State) -> int:
        position = script.position(state)
        return after(state) if position is None else position

    return pick


def _random(seed: int) -> Pick:
    return lambda state: splitmix64(seed, state.steps) % len(state.flight)
