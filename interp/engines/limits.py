"""Limits of a run, and how far a run should go (`until`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal as Word
from typing import TypeAlias

from ...core.errors import Usage
from .interrupt import machine_memory

Until: TypeAlias = Word["quiet", "result", "trap"]
UNTIL_CHOICES: tuple[Until, ...] = ("quiet", "result", "trap")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that end a run. Firings, tokens and depth are exact."""

    firings: int = 100_000_000
    tokens: int = 10_000_000
    """Tokens alive at once: in flight, waiting, parked and throttled."""
    depth: int = 250_000
    """The depth of a tag: the number of nested calls and loops."""
    bytes: int = field(default_factory=lambda: machine_memory() // 2)
    """The resident memory of the process, in bytes; by default half of the machine's memory."""
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("firings", "tokens", "depth", "bytes"):
            number = getattr(self, name)
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise Usage(f"the limit on {name} must be an integer from 0 up", got=repr(number))
        if self.seconds is not None and not (type(self.seconds) in (int, float) and 0 <= self.seconds < math.inf):
            raise Usage("the limit on seconds must be a number from 0 up", got=repr(self.seconds))


def check_until(until: Until) -> None:
    """Raises Usage for an unknown value of `until`."""
    if until not in UNTIL_CHOICES:
        raise Usage(f"a run cannot go on until {until!r}", required=", ".join(UNTIL_CHOICES))


def resolve_limits(limits: Limits | None) -> Limits:
    """The given limits, or the defaults; raises Usage for invalid ones."""
    if limits is not None and not isinstance(limits, Limits):
        raise Usage("limits must be tl.Limits", required="limits=tl.Limits(firings=1000)", got=repr(limits))
    return Limits() if limits is None else limits
