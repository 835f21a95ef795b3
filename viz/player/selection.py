"""What of a recording a page shows: all of it, some events in a row, or an activation with all that is below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...core.errors import Usage, counted
from ...core.tag import Tag
from .recording import Move, Place, Recording, live_after

MOST = 5_000
"""So many events are shown at most, where nobody asks for more: a page of them plays smoothly."""


class Part(NamedTuple):
    """Some of the events of a run, by number, with what is live before the first and how each moves tokens."""

    recording: Recording
    numbers: Sequence[int]
    start: Sequence[Move]
    moves: Sequence[Sequence[Move]]
    note: str = ""
    """What is left out, in words; empty where nothing is."""


def part(recording: Recording, first: int = 0, most: int = MOST, under: str = "") -> Part:
    """At most so many events, from event number `first` on, of an activation if its tag is given.

    Raises Usage where there are none.
    """
    if most < 1 or first < 0:
        raise Usage("a page shows an event at least, and counts from 0", got=f"{most} events from {first} on")
    total = len(recording.events)
    whole = _below(recording, _named(recording, under)) if under else _all(recording)
    chosen = [place for place, number in enumerate(whole.numbers) if number >= first]
    if not chosen and total:
        raise Usage("nothing happens there", required=f"an event before {total:,}", got=f"{first:,}")
    start = chosen[0] if chosen else 0
    shown = whole.numbers[start : start + most]
    live = live_after(Recording(*recording[:4], list(whole.start), [list(each) for each in whole.moves[:start]]), start)
    kept = Part(recording, shown, list(live.items()), whole.moves[start : start + most])
    return kept._replace(note=_note(kept, under))


def _note(shown: Part, under: str) -> str:
    total = len(shown.recording.events)
    if len(shown.numbers) == total:
        return ""
    of_all = f"of {counted(total, 'event')}"
    if under:
        return f"{len(shown.numbers):,} {of_all} are shown: those under {under}, from {shown.numbers[0]:,} on"
    first, last = shown.numbers[0], shown.numbers[-1]
    return f"{len(shown.numbers):,} {of_all} are shown: {first:,} to {last:,}"


def _all(recording: Recording) -> Part:
    return Part(recording, range(len(recording.events)), recording.first, recording.moves)


def _named(recording: Recording, said: str) -> Tag:
    """The tag that is written so; raises Usage where the run has none."""
    for token in recording.tokens:
        if str(token.tag) == said:
            return token.tag
    raise Usage("the run has no such activation", got=repr(said), hint="a tag is written main/fib/loop[2]")


def _below(recording: Recording, tag: Tag) -> Part:
    """The events that move a token under a tag, or below it, and only those tokens."""
    known: dict[Tag, bool] = {}
    inside = [_is_below(token.tag, tag, known) for token in recording.tokens]
    moves = [[each for each in moved if inside[each[0]] and each[1] is not Place.CAME] for moved in recording.moves]
    numbers = [number for number, moved in enumerate(moves) if moved]
    first = [each for each in recording.first if inside[each[0]]]
    return Part(recording, numbers, first, [moves[number] for number in numbers])


def _is_below(tag: Tag, around: Tag, known: dict[Tag, bool]) -> bool:
    """Whether a tag is another, or below it."""
    passed = []
    at: Tag | None = tag
    while at is not None and at not in known and at is not around and at.depth >= around.depth:
        passed.append(at)
        at = at.parent
    found = at is not None and known.get(at, at == around)
    known.update(dict.fromkeys(passed, found))
    return found
