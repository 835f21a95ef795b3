"""Schedules: which token in flight is delivered next. Results do not depend on the schedule; the order of events does.

fifo         the oldest
lifo         the youngest
waves        the oldest, with a clock: all that can fire, fires, then the clock ticks. The ideal machine.
random:SEED  the token at splitmix64(SEED, number of the step) modulo the length of the flight
hand:FILE    by hand, as a script says: a JSON document with the position in the flight for each step; after its end
             another schedule continues

The flight is a queue: taking a token leaves the order of the others unchanged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...core.errors import Disagreement, Usage, plural
from ...core.files import read_file, write_file
from ...core.hashing import splitmix64
from ...core.json.cursor import JsonCursor, document_header, parse_json, read_form
from .state import State

FIXED_SCHEDULES = ("fifo", "lifo", "waves")
"""The schedules without a parameter."""


def random_seed(name: str) -> int | None:
    """The seed of `random:SEED`; None for any other schedule name."""
    kind, _, seed = name.partition(":")
    if kind != "random" or not (seed.isascii() and seed.isdigit()) or len(seed) > 20 or int(seed) >= 2**64:
        return None
    return int(seed)


@dataclass(frozen=True, slots=True)
class Script:
    """A schedule by hand: the position in the flight of each token to deliver (0 is the oldest), then another
    schedule."""

    positions: Sequence[int]
    then: str = "fifo"

    def __post_init__(self) -> None:
        """Raises Usage for invalid positions, and for an unknown schedule."""
        if not isinstance(self.positions, Sequence) or isinstance(self.positions, str):
            raise Usage(
                "the positions of a script must be integers",
                required="tl.Script([0, 3, 1])",
                got=self.positions,
                python=TypeError,
            )
        for position in self.positions:
            if type(position) is not int or position < 0:
                python = ValueError if type(position) is int else TypeError
                raise Usage("a position in the flight must be an integer from 0 up", got=repr(position), python=python)
        if self.then not in FIXED_SCHEDULES and (not isinstance(self.then, str) or random_seed(self.then) is None):
            required = f"{', '.join(FIXED_SCHEDULES)}, random:SEED"
            raise Usage(
                "no such schedule can follow a script",
                required=required,
                got=repr(self.then),
                python=KeyError if isinstance(self.then, str) else TypeError,
            )
        object.__setattr__(self, "positions", tuple(self.positions))

    def next_position(self, state: State) -> int | None:
        """The position to take next; None at the end of the script. Raises Disagreement if no token is at that
        position."""
        if state.steps >= len(self.positions):
            return None
        position = self.positions[state.steps]
        if position >= len(state.flight):
            raise Disagreement(
                "the script takes a token that is not there",
                where=f"choice {state.steps} of the script",
                required=f"a position below {len(state.flight)}",
                got=position,
                hint=f"the script was made for another program, or other arguments; "
                f"it fits the first {plural(state.steps, 'step')}",
                python=IndexError,
            )
        return position


def script_to_json(script: Script) -> Any:
    """A script as a JSON document."""
    return document_header("schedule", positions=list(script.positions), then=script.then)


def write_script(script: Script, path: str | os.PathLike[str]) -> None:
    """Write a script to a file; raises Usage where the path cannot be written."""
    document = json.dumps(script_to_json(script), separators=(",", ":")) + "\n"
    write_file(path, document.encode(), "script")


def read_script(path: str | os.PathLike[str]) -> Script:
    """Read a script from a file; raises Usage where there is no such file, Malformed where it is not a script."""
    cursor = JsonCursor(parse_json(read_file(path, "script")), "$")
    read_form(cursor, ("schedule",))
    _, _, positions, then = cursor.fields("tagloom", "version", "positions", "then")
    if then.text() not in FIXED_SCHEDULES and random_seed(then.text()) is None:
        then.refuse(f"one of {', '.join(FIXED_SCHEDULES)}, random:SEED")
    return Script(positions.map_entries(lambda position: position.integer(0)), then.text())


Pick: TypeAlias = Callable[[State], int]

SCHEDULE_NAMES = (*FIXED_SCHEDULES, "random:SEED", "hand:FILE")
BY_HAND = "hand"
"""The schedule name of a run whose tokens were picked by hand."""


def schedule(name: str | Script) -> Pick:
    """The function that picks tokens by a named schedule or a script; raises Usage for an unknown name."""
    name = resolve_schedule(name)
    if isinstance(name, Script):
        return _script_pick(name)
    if name in ("fifo", "waves"):
        return lambda state: 0
    if name == "lifo":
        return lambda state: len(state.flight) - 1
    seed = random_seed(str(name))
    if seed is not None:
        return lambda state: splitmix64(seed, state.steps) % len(state.flight)
    raise Usage(
        f"no schedule is called {name!r}",
        required=", ".join(SCHEDULE_NAMES),
        hint="as in --schedule random:7",
        python=KeyError,
    )


def resolve_schedule(schedule: str | Script) -> str | Script:
    """Read the script of hand:FILE, so that a run reads it once; other schedules are returned unchanged. Raises Usage
    if the file cannot be read."""
    kind, _, file = str(schedule).partition(":") if isinstance(schedule, str) else ("", "", "")
    return read_script(file) if kind == BY_HAND and file else schedule


def continuation_of(schedule: str | Script) -> str:
    """The schedule that continues after a script; any other schedule continues as itself. It decides whether the run
    has a clock."""
    return schedule.then if isinstance(schedule, Script) else schedule


def schedule_name(schedule: str | Script) -> str:
    """The name of a resolved schedule in an outcome."""
    return BY_HAND if isinstance(schedule, Script) else schedule


def _script_pick(script: Script) -> Pick:
    fallback = schedule(script.then)

    def pick(state: State) -> int:
        position = script.next_position(state)
        return fallback(state) if position is None else position

    return pick
