"""Several moments of a run on one layout, for slides: boxes and arrows stand at the same places in each frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

from ..core.errors import Usage
from .dot import wrap_caption
from .view import Badge, BadgeMark, BadgeRoom, CaptionRoom, View


def align_views(views: Sequence[View]) -> list[View]:
    """Views of one graph at several moments, each with room for the badges and captions of all."""
    rooms: dict[str | int, BadgeRoom] = {}
    for view in views:
        for place, badges in badge_places(view):
            before = rooms.get(place, BadgeRoom(0, 0, 0))
            rooms[place] = BadgeRoom(*map(max, before, room_of(badges)))
    all_marks = {mark for view in views for mark in view.marks}
    marks = tuple(mark for mark in get_args(BadgeMark) if mark in all_marks)
    captions = [wrap_caption(view.caption) for view in views]
    line_length = max((len(line) for lines in captions for line in lines), default=0)
    room = CaptionRoom(max(map(len, captions), default=0), line_length, marks)
    return [replace(view, badge_room=rooms, caption_room=room) for view in views]


def badge_places(view: View) -> Iterator[tuple[str | int, tuple[Badge, ...]]]:
    """The boxes, by name, and arrows, by number, that have badges."""
    yield from ((name, box.badges) for name, box in view.boxes.items() if box.badges)
    yield from ((number, arrow.badges) for number, arrow in enumerate(view.arrows) if arrow.badges)


def room_of(badges: Iterable[Badge]) -> BadgeRoom:
    """The room that some badges take."""
    sizes = [(len(badge.text), len(badge.detail)) for badge in badges]
    return BadgeRoom(len(sizes), max(text for text, _ in sizes), max(detail for _, detail in sizes))


def frame_path(pattern: str, number: int) -> str:
    """The file of a frame: the pattern with the number in place of `%d`. Raises Usage if it has none, or several.

    >>> frame_path("frame-%d.svg", 20)
    'frame-20.svg'
    """
    if pattern.count("%d") != 1:
        hint = "-o frame-%d.svg"
        raise Usage(
            "several moments need a file name with a number", required="a name with one %d", got=pattern, hint=hint
        )
    return pattern.replace("%d", str(number))
