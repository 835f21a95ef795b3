"""The timeline: the events from the first to the last known one, below the profile of parallelism."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.errors import plural
from ...interp.outcome.worker_lanes import DRIVER_RANK, WorkerLanes
from ...viz.style import BLUE, GREEN, ORANGE, SKY, VERMILLION
from ..session.listing import list_events
from ..session.run_index import RunIndex
from ..session.session import Session
from .events import lane_colour
from .page import FUTURE_COLOUR, PageRow, PageSpan, build_row

_BAR_GLYPHS = " ▁▂▃▄▅▆▇█"


class Timeline(NamedTuple):
    """The rows of the timeline, all of one width, and the command for a click on each column."""

    rows: tuple[PageRow, ...]
    click_commands: tuple[str, ...]
    subtitle: str


def build_timeline(session: Session, width: int, height: int) -> Timeline:
    """The timeline in `width` columns, with bars `height` rows high: the firings per wave, or, if events are filtered,
    the number of events that pass."""
    history = session.history
    width, base, total = max(width, 1), history.base, max(len(history), 1)
    ends = [base + round((column + 1) * (total - base) / width) for column in range(width)]
    at = width - 1 if history.position == total else min(bisect_left(ends, history.position), width - 1)
    if history.lanes is not None:
        return lane_timeline(session, history.lanes, ends, height, at)
    numbers = list_events(session) if session.focus.event_condition or session.root_tag is not None else None
    heights = firings_per_column(session.run.index, ends) if numbers is None else events_per_column(numbers, ends)
    top = max(max(heights), 1)
    rows = [_bar_row(heights, top, level, height, at) for level in reversed(range(height))]
    rows.append(axis_row(session, ends, at))
    goes = tuple(f"goto {end}" for end in ends)
    wave_ends = session.run.index.wave_ends
    has_open_wave = not wave_ends or wave_ends[-1] != len(history) - 1
    count = history.base_keyframe.wave_count + len(wave_ends) + has_open_wave
    most = f", at most {plural(top, 'firing')} in one" if numbers is None else f" · {len(numbers):,} listed"
    waves = f"{plural(count, 'wave')}{most}"
    since = f"known from {base:,} on · " if base else ""
    subtitle = f"{since}{history.position:,} of {plural(len(history), 'event')} · {waves}"
    subtitle = subtitle if history else "nothing has happened yet"
    return Timeline(tuple(rows), goes if len(history) else (), subtitle)


def lane_timeline(session: Session, lanes: WorkerLanes, ends: list[int], height: int, at: int) -> Timeline:
    """The timeline of a run on several workers: a row for each worker, with its firings in each column, and an arrow
    where a call or loop was donated to it, from the side of the donor."""
    history = session.history
    ranks = lanes.used_ranks()
    shown_ranks = ranks[:height]
    columns = np.searchsorted(np.array(ends), np.arange(len(lanes.ranks)), "right")
    counts = {
        rank: np.bincount(columns[np.asarray(lanes.ranks) == rank], minlength=len(ends))[: len(ends)]
        for rank in shown_ranks
    }
    top = max(1, *(int(count.max(initial=0)) for count in counts.values()))
    donations = [crossing for crossing in history.crossings if crossing.is_donation]
    rows = []
    for rank in shown_ranks:
        arrows = {
            bisect_left(ends, donation.receiver + 1): "↓" if lanes.ranks[donation.sender] < rank else "↑"
            for donation in donations
            if lanes.ranks[donation.receiver] == rank
        }
        rows.append(_lane_row(counts[rank].tolist(), top, arrows, at, lane_colour(rank)))
    rows.append(axis_row(session, ends, at))
    driver = "driver, " if ranks[0] == DRIVER_RANK else ""
    workers = f"{driver}{plural(lanes.workers, 'worker')}" + (
        "" if shown_ranks == ranks else f", {len(shown_ranks)} shown"
    )
    events = f"{history.position:,} of {plural(len(history), 'event')}"
    subtitle = f"{events} · {workers} · {plural(len(donations), 'donation')} ↓↑"
    return Timeline(tuple(rows), tuple(f"goto {end}" for end in ends) if len(history) else (), subtitle)


def _lane_row(counts: list[int], top: int, arrows: dict[int, str], at: int, colour: str) -> PageRow:
    spans = []
    for column, count in enumerate(counts):
        glyph = _BAR_GLYPHS[max(round(count / top * 8), 1 if count else 0)]
        is_arrow = column in arrows
        span_colour = FUTURE_COLOUR if column > at else ORANGE if is_arrow else colour
        spans.append(PageSpan(arrows.get(column, glyph), span_colour, is_arrow))
    return PageRow(tuple(spans))


def events_per_column(numbers: Sequence[int], ends: list[int]) -> list[int]:
    """For each column, how many of these events are in it.

    >>> events_per_column([0, 1, 5, 9], [2, 5, 10])
    [2, 0, 2]
    """
    columns = np.searchsorted(np.array(ends), np.array(numbers, dtype=np.int64), "right")
    return np.bincount(columns, minlength=len(ends)).tolist()  # type: ignore[no-any-return]


def firings_per_column(index: RunIndex, ends: list[int]) -> list[int]:
    """For each column, the firings of its largest wave; a column may have many waves."""
    last, sizes = index.waves()
    fired = np.append(sizes, index.wave_firings)
    until = np.searchsorted(last, np.array(ends) - 1)
    since = np.append(0, until[:-1])
    return np.maximum(np.maximum.reduceat(fired, since), fired[until]).tolist()  # type: ignore[no-any-return]


def _bar_row(heights: list[int], top: int, level: int, height: int, at: int) -> PageRow:
    glyphs = [
        _BAR_GLYPHS[min(max(round(bar_height / top * height * 8) - level * 8, 1 if bar_height and not level else 0), 8)]
        for bar_height in heights
    ]
    return build_row(("".join(glyphs[: at + 1]), SKY), ("".join(glyphs[at + 1 :]), FUTURE_COLOUR))


def axis_row(session: Session, ends: list[int], at: int) -> PageRow:
    """The axis: its past part is heavy; bookmarks, traps and the current position have signs."""
    line = [PageSpan("━", BLUE) if column <= at else PageSpan("─", FUTURE_COLOUR) for column in range(len(ends))]
    if not len(session.history):
        line = [PageSpan("─", FUTURE_COLOUR)] * len(ends)
    last = len(ends) - 1
    if session.history.base:
        line[0] = PageSpan("┆", ORANGE, True)
    for number in session.run.index.traps[:200]:
        line[min(bisect_left(ends, number + 1), last)] = PageSpan("✗", VERMILLION, True)
    for mark in session.snapshot.bookmarks:
        if mark.run == session.run.name and session.history.base <= mark.position <= len(session.history):
            line[min(bisect_left(ends, mark.position), last)] = PageSpan("⚑", GREEN, True)
    line[at if session.history.position > session.history.base else 0] = PageSpan("◆", ORANGE, True)
    return PageRow(tuple(line))
