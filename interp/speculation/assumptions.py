"""Assumptions: what a graph takes for granted, where, and how it is checked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...core.program.program import Location
from .heap import Room


@dataclass
class Assumption:
    """An assertion of a graph. All of them are checked before any change is committed."""

    number: int
    """Its number in the graph, from 0, for `tl.testing.break_assumption`."""
    location: Location
    source: str
    """The source of the expression."""
    claim: str
    """What is assumed, in words."""
    reason: str
    """Why it must be checked, in words."""
    grows: Room | None = None
    """What must have more room where the assertion fails."""
    broken_count: int = 0
    """How many runs ended at it."""


_LABEL = re.compile(r"assumption (\d+): ")


def label(assumption: Assumption) -> str:
    """The message of the assertion of an assumption."""
    return f"assumption {assumption.number}: {assumption.claim}"


def number_in(message: str) -> int | None:
    """The number of the assumption whose assertion failed with this message; None for another message.

    >>> number_in("assumption 3: x is not None"), number_in("integer division by zero")
    (3, None)
    """
    match = _LABEL.search(message)
    return int(match[1]) if match else None
