"""The timeline: the events from the first to the last that is known, with the profile of parallelism above it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.errors import counted
from ...viz.style import BLUE, GREEN, ORANGE, SKY, VERMILLION
from ..session.listing import events
from ..session.run_index import Known
from ..session.session import Session
from .page import PALE, Row, Span, row

_BLOCKS = " ▁▂▃▄▅▆▇█"


class Timeline(NamedTuple):
    """What it shows: rows of one width, and the command that a click on a column gives."""

    rows: tuple[Row, ...]
    goes: tuple[str, ...]
    said: str


def timeline(session: Session, width: int, height: int) -> Timeline:
    """The timeline in so many columns, with bars that are `height` rows high: of the firings of each wave, or, where
    not all events are listed, of those that are."""
    history = session.history
    width, base, known = max(width, 1), history.base, max(len(history), 1)
    ends = [base + round((column + 1) * (known - base) / width) for column in range(width)]
    at = width - 1 if history.position == known else min(bisect_left(ends, history.position), width - 1)
    numbers = events(session) if session.focus.events or session.only is not None else None
    heights = _heights(session.run.known, ends) if numbers is None else _listed(numbers, ends)
    top = max(max(heights), 1)
    rows = [_bars(heights, top, level, height, at) for level in reversed(range(height))]
    rows.append(_axis(session, ends, at))
    goes = tuple(f"goto {end}" for end in ends)
    count = history.first.waves + len(session.run.known.wave_ends)
    most = f", at most {counted(top, 'firing')} in one" if numbers is None else f" · {len(numbers):,} listed"
    waves = f"{counted(count, 'wave')}{most}"
    since = f"known from {base:,} on · " if base else ""
    said = f"{since}{history.position:,} of {counted(len(history), 'event')} · {waves}"
    said = said if history else "nothing has happened yet"
    return Timeline(tuple(rows), goes if len(history) else (), said)


def _listed(numbers: Sequence[int], ends: list[int]) -> list[int]:
    """For each column, how many of these events are in it.

    >>> _listed([0, 1, 5, 9], [2, 5, 10])
    [2, 0, 2]
    """
    columns = np.searchsorted(np.array(ends), np.array(numbers, dtype=np.int64), "right")
    return np.bincount(columns, minlength=len(ends)).tolist()  # type: ignore[no-any-return]


def _heights(known: Known, ends: list[int]) -> list[int]:
    """For each column, the firings of the largest wave in it. There may be a wave for every few events."""
    last, sizes = known.waves()
    fired = np.append(sizes, known.in_wave)
    until = np.searchsorted(last, np.array(ends) - 1)
    since = np.append(0, until[:-1])
    return np.maximum(np.maximum.reduceat(fired, since), fired[until]).tolist()  # type: ignore[no-any-return]


def _bars(heights: list[int], top: int, level: int, height: int, at: int) -> Row:
    said = [
        _BLOCKS[min(max(round(each / top * height * 8) - level * 8, 1 if each and not level else 0), 8)]
        for each in heights
    ]
    return row(("".join(said[: at + 1]), SKY), ("".join(said[at + 1 :]), PALE))


def _axis(session: Session, ends: list[int], at: int) -> Row:
    """The line itself: what is past is heavy; bookmarks, traps and where one is have signs."""
    line = [Span("━", BLUE) if column <= at else Span("─", PALE) for column in range(len(ends))]
    if not len(session.history):
        line = [Span("─", PALE)] * len(ends)
    last = len(ends) - 1
    if session.history.base:
        line[0] = Span("┆", ORANGE, True)
    for number in session.run.known.traps[:200]:
        line[min(bisect_left(ends, number + 1), last)] = Span("✗", VERMILLION, True)
    for mark in session.situation.bookmarks:
        if mark.run == session.run.name and session.history.base <= mark.position <= len(session.history):
            line[min(bisect_left(ends, mark.position), last)] = Span("⚑", GREEN, True)
    line[at if session.history.position > session.history.base else 0] = Span("◆", ORANGE, True)
    return Row(tuple(line))
