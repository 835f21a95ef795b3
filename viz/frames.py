"""Several moments of a run on one layout, for slides: boxes and arrows stand at the same places in each frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

from ..core.errors import Usage
from .collapse import limit_view_badges
from .dot import wrap_caption
from .operand_order import lay_out_boxes
from .screen import LEAST_LETTERS, letter_height
from .size_estimate import PictureSize
from .view import Badge, BadgeMark, BadgeRoom, CaptionRoom, View

MARGIN = 4.0
"""The points that Graphviz leaves around a picture."""


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


def fit_badges(views: Sequence[View]) -> list[View]:
    """Views of one graph at several moments, aligned, or one view. If a screen cannot show the picture in legible
    letters, each box and arrow has fewer badges, and at last rows are closer. Raises Usage in the same cases as
    `render`."""
    align = align_views if len(views) > 1 else list[View]
    aligned = align(views)
    if any(len(badges) > 1 for view in views for _, badges in badge_places(view)):
        for most, is_dense in ((2, False), (1, False), (1, True)):
            if is_legible(aligned[0]):
                break
            aligned = align(
                [replace(limit_view_badges(view, most), is_dense=view.is_dense or is_dense) for view in views]
            )
    return aligned


def is_legible(view: View) -> bool:
    """Whether the letters of a view are legible when a screen shows all of its picture."""
    layout = lay_out_boxes(view)
    return letter_height(PictureSize(layout.width + 2 * MARGIN, layout.height + 2 * MARGIN)) >= LEAST_LETTERS


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
