"""Summaries of activations, from their events: when one opened, its arguments and results, and what opened below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from ...core.tag import Tag
from ...core.value import Value


@dataclass(slots=True)
class ActivationSummary:
    """What some events tell about an activation. Positions are numbers of events that have happened."""

    tag: Tag
    open_position: int | None = None
    """None if these events do not tell."""
    arguments: dict[int, tuple[int, Value]] = field(default_factory=dict)
    """By the merge that an argument came to: its position and value."""
    results: dict[int, tuple[int, Value]] = field(default_factory=dict)
    """By the node that returned a result: its position and value."""
    children: list[tuple[int, Tag]] = field(default_factory=list)
    """The activations directly below, each with the position at which it opened, ascending."""

    def as_of(self, position: int) -> ActivationSummary:
        """The summary as of a position."""
        opened = None if self.open_position is None or self.open_position > position else self.open_position
        return ActivationSummary(
            self.tag,
            opened,
            {node: fact for node, fact in self.arguments.items() if fact[0] <= position},
            {node: fact for node, fact in self.results.items() if fact[0] <= position},
            [fact for fact in self.children if fact[0] <= position],
        )


def merge_summaries(parts: Sequence[ActivationSummary]) -> ActivationSummary:
    """The summary of one activation from those of consecutive segments of events."""
    if len(parts) == 1:
        return parts[0]
    opened = next((part.open_position for part in parts if part.open_position is not None), None)
    given = {node: fact for part in reversed(parts) for node, fact in part.arguments.items()}
    came = {node: fact for part in parts for node, fact in part.results.items()}
    return ActivationSummary(
        parts[0].tag, opened, given, came, list(chain.from_iterable(part.children for part in parts))
    )
