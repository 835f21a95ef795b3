"""Blame: the part of a backend that makes a program wrong. Levels run a program with more and more parts of a backend;
the first wrong level adds the part at fault. Flags disable single optimisations; a set of optimisations is at fault if
the program is right when they are disabled. Other wrong results are not enough.

Levels and flags are named as the backend names them, and are chosen when its process starts, since some systems read
such settings once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .judge import FAILURES
from .protocol import Level

PassesWithout = Callable[[frozenset[str]], bool]
"""Whether all results are right with these optimisations disabled."""


class Blame(NamedTuple):
    """The causes of a failure. `sets` are minimal sets of optimisations: the program is right if one of the sets is
    disabled. There are none if it is wrong with all optimisations disabled."""

    disabled_flags: tuple[str, ...]
    """The optimisations that were tried."""
    sets: tuple[tuple[str, ...], ...]
    runs: int
    """How often the program ran."""

    def __str__(self) -> str:
        if not self.disabled_flags:
            return "the backend has no optimisations that can be disabled one by one"
        if not self.sets:
            return (
                f"wrong with all {len(self.disabled_flags)} optimisations disabled: "
                "the front end, the kernels, or a pass that always runs"
            )
        return f"right without {' or without '.join(' and '.join(names) for names in self.sets)}: the optimiser"


def find_blame(flags: Sequence[str], passes_without: PassesWithout) -> Blame:
    """Find the optimisations that a failure depends on. All are disabled first, then each alone; if no single
    one makes the program right, a minimal set is found by delta debugging.

    >>> find_blame("abc", lambda off: "b" in off).sets
    (('b',),)
    >>> find_blame("abcd", lambda off: {"a", "d"} <= off).sets
    (('a', 'd'),)
    >>> str(find_blame("ab", lambda off: False))
    'wrong with all 2 optimisations disabled: the front end, the kernels, or a pass that always runs'
    """
    outcomes: dict[frozenset[str], bool] = {}

    def passes(disabled: Sequence[str]) -> bool:
        key = frozenset(disabled)
        if key not in outcomes:
            outcomes[key] = passes_without(key)
        return outcomes[key]

    if not flags or not passes(flags):
        return Blame(tuple(flags), (), len(outcomes))
    single_flags: list[tuple[str, ...]] = [(flag,) for flag in flags if passes([flag])]
    sets = single_flags or [minimal_set(flags, passes)]
    return Blame(tuple(flags), tuple(sets), len(outcomes))


def minimal_set(flags: Sequence[str], passes: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """A minimal set of flags: the program is right when they are disabled. Parts of the set are left out, from halves
    to single flags."""
    flags_left, size = tuple(flags), (len(flags) + 1) // 2
    while size:
        position = 0
        while position < len(flags_left):
            remaining = flags_left[:position] + flags_left[position + size :]
            if remaining and passes(remaining):
                flags_left = remaining
            else:
                position += size
        size //= 2
    return flags_left


class LevelBlame(NamedTuple):
    """The verdict on a program at each level of a backend, from the fewest parts to all. `first` is the level from
    which on the program is wrong; None if it is not wrong at the last one."""

    verdicts: tuple[tuple[Level, str], ...]
    first: Level | None

    def __str__(self) -> str:
        levels = ", ".join(f"{level.name} {verdict}" for level, verdict in self.verdicts)
        return levels if self.first is None else f"wrong from {self.first.name} on: {self.first.part} ({levels})"

    def to_json(self) -> dict[str, object] | None:
        """The first wrong level as JSON data, with the verdicts at all levels."""
        if self.first is None:
            return None
        return {**self.first._asdict(), "verdicts": {level.name: verdict for level, verdict in self.verdicts}}


def find_first_level(levels: Sequence[Level], verdict_at: Callable[[Level], str]) -> LevelBlame:
    """Find the level from which on a program is wrong. A level that refuses the program, or takes no side, is passed
    over.

    >>> levels = [Level("eager", "kernels"), Level("traced", "tracing"), Level("compiled", "optimisations")]
    >>> verdicts = {"eager": "alike", "traced": "refused", "compiled": "different"}
    >>> str(find_first_level(levels, lambda level: verdicts[level.name]))
    'wrong from compiled on: optimisations (eager alike, traced refused, compiled different)'
    """
    verdicts = tuple((level, verdict_at(level)) for level in levels)
    first = None
    for level, verdict in reversed(verdicts):
        if verdict in FAILURES:
            first = level
        elif verdict == "alike":
            break
    return LevelBlame(verdicts, first)
