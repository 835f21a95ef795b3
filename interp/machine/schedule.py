"""Schedules: which token in flight is delivered next. Results do not depend on the schedule; the order of events does.

fifo         the oldest
lifo         the youngest
waves        the oldest, with a clock: all that can fire, fires, then the clock ticks. The ideal machine.
random:SEED  the one at splitmix64(SEED, number of the step) modulo the length of the flight
hand:FILE    by hand: as a saved script says, step by step

The flight is a queue: taking a token leaves the order of the others unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...core.errors import Usage
from ...core.mix import splitmix64
from .script import FIXED_SCHEDULES, Script, random_seed, read_script
from .state import State

Pick: TypeAlias = Callable[[State], int]

SCHEDULE_NAMES = (*FIXED_SCHEDULES, "random:SEED", "hand:FILE")
BY_HAND = "hand"
"""The schedule name of a run whose tokens were picked by hand."""


def schedule(name: str | Script) -> Pick:
    """The schedule of this name, or of a script; raises Usage for an unknown name."""
    name = resolve_schedule(name)
    if isinstance(name, Script):
        return _script_pick(name)
    if name in ("fifo", "waves"):
        return lambda state: 0
    if name == "lifo":
        return lambda state: len(state.flight) - 1
    seed = random_seed(str(name))
    if seed is not None:
        return _random_pick(seed)
    raise Usage(f"no schedule is called {name!r}", required=", ".join(SCHEDULE_NAMES), hint="as in --schedule random:7")


def resolve_schedule(schedule: str | Script) -> str | Script:
    """Read the script of hand:FILE, so that a run reads it once; other schedules stay as they are. Raises Usage where
    the file cannot be read."""
    kind, _, file = str(schedule).partition(":") if isinstance(schedule, str) else ("", "", "")
    return read_script(file) if kind == BY_HAND and file else schedule


def continuation_of(schedule: str | Script) -> str:
    """The schedule that continues after a script; a schedule that is not a script continues as itself. It decides
    whether the run has a clock."""
    return schedule.then if isinstance(schedule, Script) else schedule


def schedule_name(schedule: str | Script) -> str:
    """The name of a resolved schedule in an outcome."""
    return BY_HAND if isinstance(schedule, Script) else schedule


def _script_pick(script: Script) -> Pick:
    after = schedule(script.then)

    def pick(state: State) -> int:
        position = script.next_position(state)
        return after(state) if position is None else position

    return pick


def _random_pick(seed: int) -> Pick:
    return lambda state: splitmix64(seed, state.steps) % len(state.flight)
