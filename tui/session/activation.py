"""An activation as its events tell of it: when it opened, what went in and came out, and what opened below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from ...core.tag import Tag
from ...core.value import Value


@dataclass(slots=True)
class Activation:
    """What some events tell of an activation. Positions are numbers of events that have happened."""

    tag: Tag
    opened: int | None = None
    """None where these events do not tell."""
    given: dict[int, tuple[int, Value]] = field(default_factory=dict)
    """The merges that arguments came to: since which position, and the value."""
    came: dict[int, tuple[int, Value]] = field(default_factory=dict)
    """The nodes that returned something."""
    below: list[tuple[int, Tag]] = field(default_factory=list)
    """The activations directly below, with where each opened, which ascends."""

    def until(self, position: int) -> Activation:
        """The same as it was known then."""
        opened = None if self.opened is None or self.opened > position else self.opened
        return Activation(
            self.tag,
            opened,
            {node: fact for node, fact in self.given.items() if fact[0] <= position},
            {node: fact for node, fact in self.came.items() if fact[0] <= position},
            [fact for fact in self.below if fact[0] <= position],
        )


def merged(parts: Sequence[Activation]) -> Activation:
    """What several stretches of events, one after the other, tell of one activation."""
    if len(parts) == 1:
        return parts[0]
    opened = next((part.opened for part in parts if part.opened is not None), None)
    given = {node: fact for part in reversed(parts) for node, fact in part.given.items()}
    came = {node: fact for part in parts for node, fact in part.came.items()}
    return Activation(parts[0].tag, opened, given, came, list(chain.from_iterable(part.below for part in parts)))
