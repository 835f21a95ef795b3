"""Scripts: schedules by hand, as a value and as a JSON document.

A script lists the position in the flight that each step takes; after its end another schedule continues.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import Disagreement, Usage, plural
from ...core.files import read_file, write_file
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
    """The positions of the tokens to deliver, 0 being the oldest in flight, and the schedule that continues."""

    positions: Sequence[int]
    then: str = "fifo"

    def __post_init__(self) -> None:
        """Raises Usage for invalid positions, and for an unknown schedule."""
        if not isinstance(self.positions, Sequence) or isinstance(self.positions, str):
            raise Usage("a script has the positions of tokens", required="tl.Script([0, 3, 1])", got=self.positions)
        for position in self.positions:
            if type(position) is not int or position < 0:
                raise Usage("a position in the flight is an integer from 0 up", got=repr(position))
        if self.then not in FIXED_SCHEDULES and (not isinstance(self.then, str) or random_seed(self.then) is None):
            required = f"{', '.join(FIXED_SCHEDULES)}, random:SEED"
            raise Usage("no schedule goes on like this after a script", required=required, got=repr(self.then))
        object.__setattr__(self, "positions", tuple(self.positions))

    def next_position(self, state: State) -> int | None:
        """The position to take next, or None where the script is over; raises Disagreement where no token is there."""
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
            )
        return position


def script_form(script: Script) -> Any:
    """A script as a JSON document."""
    return document_header("schedule", positions=list(script.positions), then=script.then)


def write_script(script: Script, path: str | os.PathLike[str]) -> None:
    """Write a script to a file; raises Usage where the path cannot be written."""
    document = json.dumps(script_form(script), separators=(",", ":")) + "\n"
    write_file(path, document.encode(), "script")


def read_script(path: str | os.PathLike[str]) -> Script:
    """Read a script from a file; raises Usage where there is no such file, Malformed where it is not a script."""
    at = JsonCursor(parse_json(read_file(path, "script")), "$")
    read_form(at, ("schedule",))
    _, _, positions, then = at.fields("tagloom", "version", "positions", "then")
    if then.text() not in FIXED_SCHEDULES and random_seed(then.text()) is None:
        then.refuse(f"one of {', '.join(FIXED_SCHEDULES)}, random:SEED")
    return Script(positions.map_entries(lambda position: position.integer(0)), then.text())
