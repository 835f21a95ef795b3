"""The part of a recording that a page shows: all of it, a range of events, or an activation and those below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...core.errors import Usage, plural
from ...core.tag import Tag
from .recording import Move, TokenPlace, TokenRecording, live_tokens

MAX_EVENTS = 5_000
"""The default limit on events: a page with that many plays smoothly."""


class PlayerSegment(NamedTuple):
    """Some of the events of a run, by number, with the tokens that are live before the first and the moves of each."""

    recording: TokenRecording
    event_numbers: Sequence[int]
    initial_moves: Sequence[Move]
    moves: Sequence[Sequence[Move]]
    note: str = ""
    """What is left out, in words; empty if nothing is."""


def select_segment(recording: TokenRecording, first: int = 0, most: int = MAX_EVENTS, under: str = "") -> PlayerSegment:
    """At most `most` events from event number `first` on, restricted to an activation if its tag is given.

    Raises Usage if there are none.
    """
    if most < 1 or first < 0:
        raise Usage("a page shows an event at least, and counts from 0", got=f"{most} events from {first} on")
    total = len(recording.events)
    whole = _segment_below(recording, _find_tag(recording, under)) if under else _whole_segment(recording)
    chosen = [place for place, number in enumerate(whole.event_numbers) if number >= first]
    if not chosen and total:
        raise Usage("nothing happens there", required=f"an event before {total:,}", got=f"{first:,}")
    start = chosen[0] if chosen else 0
    shown = whole.event_numbers[start : start + most]
    live = live_tokens(
        TokenRecording(*recording[:4], list(whole.initial_moves), [list(each) for each in whole.moves[:start]]), start
    )
    kept = PlayerSegment(recording, shown, list(live.items()), whole.moves[start : start + most])
    return kept._replace(note=_describe_omission(kept, under))


def _describe_omission(shown: PlayerSegment, under: str) -> str:
    total = len(shown.recording.events)
    if len(shown.event_numbers) == total:
        return ""
    of_all = f"of {plural(total, 'event')}"
    if under:
        return (
            f"{len(shown.event_numbers):,} {of_all} are shown: those under {under}, from {shown.event_numbers[0]:,} on"
        )
    first, last = shown.event_numbers[0], shown.event_numbers[-1]
    return f"{len(shown.event_numbers):,} {of_all} are shown: {first:,} to {last:,}"


def _whole_segment(recording: TokenRecording) -> PlayerSegment:
    return PlayerSegment(recording, range(len(recording.events)), recording.initial_moves, recording.moves)


def _find_tag(recording: TokenRecording, said: str) -> Tag:
    """The tag that is written this way; raises Usage if the run has none."""
    for token in recording.tokens:
        if str(token.tag) == said:
            return token.tag
    raise Usage("the run has no such activation", got=repr(said), hint="a tag is written main/fib/loop[2]")


def _segment_below(recording: TokenRecording, tag: Tag) -> PlayerSegment:
    """The events that move a token of an activation or one below it, with only those tokens."""
    known: dict[Tag, bool] = {}
    inside = [_is_below(token.tag, tag, known) for token in recording.tokens]
    moves = [
        [each for each in moved if inside[each[0]] and each[1] is not TokenPlace.RETURNED] for moved in recording.moves
    ]
    numbers = [number for number, moved in enumerate(moves) if moved]
    first = [each for each in recording.initial_moves if inside[each[0]]]
    return PlayerSegment(recording, numbers, first, [moves[number] for number in numbers])


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
