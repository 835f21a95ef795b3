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

from ...core.errors import Usage
from ...core.mix import splitmix64
from .script import CLOSED, Script, read_script, seed_of
from .state import State

Pick: TypeAlias = Callable[[State], int]

NAMES = (*CLOSED, "random:SEED", "hand:FILE")
BY_HAND = "hand"
"""What the schedule of a run is called whose tokens were picked in no order that has a name."""


def schedule(name: str | Script) -> Pick:
    """The schedule of this name, or of this script; raises Usage where there is none."""
    name = resolved(name)
    if isinstance(name, Script):
        return _by_hand(name)
    if name in ("fifo", "waves"):
        return lambda state: 0
    if name == "lifo":
        return lambda state: len(state.flight) - 1
    seed = seed_of(str(name))
    if seed is not None:
        return _random(seed)
    raise Usage(f"no schedule is called {name!r}", required=", ".join(NAMES), hint="as in --schedule random:7")


def resolved(given: str | Script) -> str | Script:
    """A schedule, with the script of hand:FILE read, so that a run reads it once; raises Usage where it cannot be."""
    kind, _, file = str(given).partition(":") if isinstance(given, str) else ("", "", "")
    return read_script(file) if kind == BY_HAND and file else given


def then_of(given: str | Script) -> str:
    """What goes on after a script; a schedule that is none goes on by itself. It is what has a clock, or has none."""
    return given.then if isinstance(given, Script) else given


def name_of(given: str | Script) -> str:
    """What an outcome calls a schedule that is resolved."""
    return BY_HAND if isinstance(given, Script) else given


def _by_hand(script: Script) -> Pick:
    after = schedule(script.then)

    def pick(state: State) -> int:
        position = script.position(state)
        return after(state) if position is None else position

    return pick


def _random(seed: int) -> Pick:
    return lambda state: splitmix64(seed, state.steps) % len(state.flight)
