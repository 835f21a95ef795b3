"""Where panes stand on a screen of some size: pure geometry. Where there is little room, several share a place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

PANES = ("graph", "source", "flight", "waiting", "tags", "inspector", "events", "cells", "answers", "timeline")
"""All panes; the first has key 1, the last key 0."""

WIDE, MEDIUM = 150, 100
"""Screens with so many columns are divided in three, and in two."""


class Slot(NamedTuple):
    """A place on the screen, and the panes that share it, of which the first shown is `front`."""

    panes: tuple[str, ...]
    front: str
    x: int
    y: int
    width: int
    height: int


def key_of(pane: str) -> str:
    """The digit that leads to a pane.

    >>> key_of("graph"), key_of("timeline")
    ('1', '0')
    """
    return str((PANES.index(pane) + 1) % 10)


def arranged(width: int, height: int, fronts: Mapping[str, int], alone: str | None = None) -> list[Slot]:
    """The places on a screen; `fronts` says when each pane was asked for last, `alone` which one has all the room.

    >>> [slot.front for slot in arranged(80, 22, {"source": 1})]
    ['source', 'flight', 'timeline']
    """
    if alone is not None:
        return [Slot((alone,), alone, 0, 0, width, height)]
    columns = _wide(width) if width >= WIDE else _medium(width) if width >= MEDIUM else None
    if columns is None:
        return _narrow(width, height, fronts)
    slots, x = list[Slot](), 0
    for across, stack in columns:
        y = 0
        for panes, share in stack:
            tall = _rows(share, height, height - y)
            slots.append(_slot(panes, fronts, x, y, across, tall))
            y += tall
        x += across
    return slots


def _rows(share: float, height: int, left: int) -> int:
    """The rows of a place: a share of all, all that are left for 1, or all but some for less than 0."""
    return left if share == 1 else round(height * share) if share > 0 else left + round(share)


_Stack = list[tuple[tuple[str, ...], float]]


def _wide(width: int) -> list[tuple[int, _Stack]]:
    left, right = min(44, width * 24 // 100), min(72, width * 34 // 100)
    return [
        (left, [(("tags",), 0.5), (("inspector",), 1)]),
        (width - left - right, [(("graph",), -8), (("timeline",), 1)]),
        (right, [(("source",), 0.36), (("flight", "waiting", "cells"), 0.3), (("events", "answers"), 1)]),
    ]


def _medium(width: int) -> list[tuple[int, _Stack]]:
    left = width * 54 // 100
    beside = (("flight", "waiting", "cells", "inspector"), 0.3)
    return [
        (left, [(("graph",), -7), (("timeline",), 1)]),
        (width - left, [(("source", "tags"), 0.4), beside, (("events", "answers"), 1)]),
    ]


RIGHT = ("flight", "waiting", "cells", "inspector", "events", "answers")


def _narrow(width: int, height: int, fronts: Mapping[str, int]) -> list[Slot]:
    left, line = width * 62 // 100, 4
    return [
        _slot(("graph", "source", "tags"), fronts, 0, 0, left, height - line),
        _slot(RIGHT, fronts, left, 0, width - left, height - line),
        _slot(("timeline",), fronts, 0, height - line, width, line),
    ]


def _slot(panes: tuple[str, ...], fronts: Mapping[str, int], x: int, y: int, width: int, height: int) -> Slot:
    front = max(panes, key=lambda pane: fronts.get(pane, 0))
    return Slot(panes, front, x, y, width, height)
