"""Schedules by hand: a script of choices, as a value and as a document.

A script has the positions in the flight that are taken, step by step; after its end another schedule goes on.
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
    """SEED, where the schedule of this name is random:SEED."""
    kind, _, seed = name.partition(":")
    if kind != "random" or not (seed.isascii() and seed.isdigit()) or len(seed) > 20 or int(seed) >= 2**64:
        return None
    return int(seed)


@dataclass(frozen=True, slots=True)
class Script:
    """The positions of the tokens that are delivered, the oldest in flight being 0; and the schedule after them."""

    positions: Sequence[int]
    then: str = "fifo"

    def __post_init__(self) -> None:
        """Raises Usage where these are no positions, or no schedule that has a name."""
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
        """What is taken next, or None where the script is over; raises Disagreement where there is no such token."""
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
    """A script as a document."""
    return document_header("schedule", positions=list(script.positions), then=script.then)


def write_script(script: Script, path: str | os.PathLike[str]) -> None:
    """Save a script; raises Usage where the path cannot be written."""
    document = json.dumps(script_form(script), separators=(",", ":")) + "\n"
    write_file(path, document.encode(), "script")


def read_script(path: str | os.PathLike[str]) -> Script:
    """Read a script; raises Usage where there is no such file, Malformed where it is no script."""
    at = JsonCursor(parse_json(read_file(path, "script")), "$")
    read_form(at, ("schedule",))
    _, _, positions, then = at.fields("tagloom", "version", "positions", "then")
    if then.text() not in FIXED_SCHEDULES and random_seed(then.text()) is None:
        then.refuse(f"one of {', '.join(FIXED_SCHEDULES)}, random:SEED")
    return Script(positions.map_entries(lambda position: position.integer(0)), then.text())
