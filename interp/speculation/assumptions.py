"""Assumptions of graphs: their claims, their places in the source, and how they are checked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...core.program.program import Location
from .heap import CapacityKey


@dataclass
class Assumption:
    """An assumption that the graph asserts. All assertions pass before any change is committed."""

    number: int
    """Its number in the graph, from 0, for `tl.testing.break_assumption`."""
    location: Location
    source: str
    """The source of the expression."""
    claim: str
    """The assumption, in words."""
    reason: str
    """The reason for the check, in words."""
    capacity_key: CapacityKey | None = None
    """The list pool or class whose capacity grows if the assertion fails."""
    is_caught: bool = False
    """Whether a failure is an exception in Python, which a handler of the function catches."""


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
