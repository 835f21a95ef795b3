"""The positions of boxes and frames in whole columns: close to those of Graphviz, without overlaps.

Graphviz knows no cells, so its coordinates are rounded, and whatever then touches is moved apart. Then boxes move by a
few columns if that straightens arrows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ..view import Cluster, View
from .box_rows import BoxRow

_MARGIN = 2
"""The columns between a frame and its contents."""

_MAX_SHIFT = 6
"""The most columns by which a box moves to straighten arrows."""

ArrowCourses: TypeAlias = Mapping[int, Mapping[int, float]]
"""For each arrow, by number in the view, the column at which it passes each rank."""


class Placement(NamedTuple):
    """The position of a row of boxes: its rank, counted from above, and its first column."""

    rank: int
    column: int


class FrameSpan(NamedTuple):
    """The columns of a frame's sides, and the first and last rank inside it."""

    left_column: int
    right_column: int
    first_rank: int
    last_rank: int


class _Gap(NamedTuple):
    """A constraint: one thing begins at least so many columns after another."""

    first_name: str
    second_name: str
    columns: int


def place_rows(
    view: View, plates: Sequence[BoxRow], wanted: dict[str, Placement], courses: ArrowCourses
) -> tuple[dict[str, Placement], dict[str, FrameSpan]]:
    """Move rows of boxes until none touches another or a frame, and more arrows are straight; returns them with the
    frames that have room."""
    width = {plate.name: plate.width for plate in plates}
    home = {slot.box: plate.name for plate in plates for slot in plate.boxes}
    members = _rows_by_frame(view.root, home)
    spans = {name: _frame_span(inside, wanted, width) for name, inside in members.items()}
    columns = {name: stand.column for name, stand in wanted.items()}
    columns |= {f"{name}<": span.left_column for name, span in spans.items()}
    columns |= {f"{name}>": span.right_column for name, span in spans.items()}
    between = list(_gaps_between_rows(wanted, width))
    framed = [*between, *_gaps_around_frames(view, members, spans, wanted, width)]
    settled = _satisfy_gaps(columns, framed)
    if settled is None:
        spans, framed, settled = {}, between, _satisfy_gaps(columns, between) or columns
    _straighten(view, plates, wanted, courses, settled, framed)
    stands = {name: Placement(stand.rank, settled[name]) for name, stand in wanted.items()}
    frames = {
        name: FrameSpan(settled[f"{name}<"], settled[f"{name}>"], span.first_rank, span.last_rank)
        for name, span in spans.items()
    }
    return stands, frames


def _satisfy_gaps(columns: dict[str, int], gaps: Sequence[_Gap]) -> dict[str, int] | None:
    """The columns, moved to the right as far as the gaps require; None if the gaps contradict each other."""
    found = dict(columns)
    for _ in range(len(columns) + 1):
        wrong = [gap for gap in gaps if found[gap.second_name] < found[gap.first_name] + gap.columns]
        if not wrong:
            return found
        for gap in wrong:
            found[gap.second_name] = max(found[gap.second_name], found[gap.first_name] + gap.columns)
    return None


def _rows_by_frame(cluster: Cluster, home: dict[str, str]) -> dict[str, set[str]]:
    """The rows of boxes inside each frame, at any depth; frames without any are left out."""
    found: dict[str, set[str]] = {}
    for inner in cluster.clusters:
        within = _rows_by_frame(inner, home)
        mine = {home[name] for one in inner.walk() for name in one.boxes}
        if mine:
            found[inner.name] = mine
        found |= within
    return found


def _frame_span(inside: Iterable[str], wanted: dict[str, Placement], width: dict[str, int]) -> FrameSpan:
    stands = [(wanted[name], width[name]) for name in inside]
    ranks = [stand.rank for stand, _ in stands]
    left = min(stand.column for stand, _ in stands) - _MARGIN
    return FrameSpan(left, max(stand.column + wide for stand, wide in stands) + _MARGIN - 1, min(ranks), max(ranks))


def _gaps_between_rows(wanted: dict[str, Placement], width: dict[str, int]) -> Iterable[_Gap]:
    ordered = sorted(wanted, key=lambda name: (wanted[name], name))
    for left, right in pairwise(ordered):
        if wanted[left].rank == wanted[right].rank:
            yield _Gap(left, right, width[left] + 2)


def _gaps_around_frames(
    view: View,
    members: dict[str, set[str]],
    spans: dict[str, FrameSpan],
    wanted: dict[str, Placement],
    width: dict[str, int],
) -> Iterable[_Gap]:
    titles = {cluster.name: cluster.title for cluster in view.root.walk()}
    for name, span in spans.items():
        left, right = f"{name}<", f"{name}>"
        yield _Gap(left, right, len(titles[name]) + 8)
        for plate in wanted:
            if plate in members[name]:
                yield _Gap(left, plate, _MARGIN)
                yield _Gap(plate, right, width[plate] + _MARGIN - 1)
            elif span.first_rank <= wanted[plate].rank <= span.last_rank:
                middle = wanted[plate].column + width[plate] / 2
                rightmost = middle * 2 > span.left_column + span.right_column
                yield _Gap(right, plate, 2) if rightmost else _Gap(plate, left, width[plate] + 1)
        for other, beside in spans.items():
            if members[other] < members[name] or (members[other] == members[name] and other.startswith(f"{name}_")):
                yield _Gap(left, f"{other}<", _MARGIN)
                yield _Gap(f"{other}>", right, _MARGIN)
            elif not members[name] & members[other] and name < other and _share_ranks(span, beside):
                first, second = (name, other) if span.left_column < beside.left_column else (other, name)
                yield _Gap(f"{first}>", f"{second}<", 2)


def _share_ranks(one: FrameSpan, other: FrameSpan) -> bool:
    return (
        one.first_rank <= other.last_rank + 1
        and other.first_rank <= one.last_rank + 1
        and not (one.last_rank < other.first_rank or other.last_rank < one.first_rank)
    )


class _ArrowEnd(NamedTuple):
    """The columns, relative to the start of a row of boxes, at which an arrow can end, and the columns that they
    should meet."""

    own_columns: range
    other_row: str
    other_columns: range
    course_column: float


def _straighten(
    view: View,
    plates: Sequence[BoxRow],
    stands: Mapping[str, Placement],
    courses: ArrowCourses,
    columns: dict[str, int],
    gaps: Sequence[_Gap],
) -> None:
    """Move rows of boxes within their gaps so that more arrows can be straight."""
    ends = _arrow_ends(view, plates, stands, courses)
    for _ in range(3):
        for plate in plates:
            name = plate.name
            least = max(
                (columns[gap.first_name] + gap.columns for gap in gaps if gap.second_name == name), default=-(10**6)
            )
            most = min(
                (columns[gap.second_name] - gap.columns for gap in gaps if gap.first_name == name), default=10**6
            )
            now = columns[name]
            options = [now + step for step in range(-_MAX_SHIFT, _MAX_SHIFT + 1) if least <= now + step <= most]
            if options:
                columns[name] = min(
                    options, key=lambda column: (_bend_cost(ends[name], column, columns), abs(column - now), column)
                )


def _bend_cost(ends: Sequence[_ArrowEnd], column: int, columns: Mapping[str, int]) -> float:
    """How much arrows bend at a row of boxes that begins at `column`."""
    whole = 0.0
    for end in ends:
        if end.other_row:
            start = columns[end.other_row]
            apart = max(column + end.own_columns.start, start + end.other_columns.start) - min(
                column + end.own_columns.stop, start + end.other_columns.stop
            )
            whole += 0 if apart < 0 else 4 + 0.1 * apart
        else:
            whole += 0.1 * max(
                column + end.own_columns.start - end.course_column,
                end.course_column - column - end.own_columns.stop + 1,
                0,
            )
    return whole


def _arrow_ends(
    view: View, plates: Sequence[BoxRow], stands: Mapping[str, Placement], courses: ArrowCourses
) -> dict[str, list[_ArrowEnd]]:
    """The arrow ends at each row of boxes."""
    plate_of = {slot.box: (plate, slot, start) for plate in plates for slot, start in plate.box_starts()}
    joined = {joint for plate in plates for joint in plate.joints}
    ends: dict[str, list[_ArrowEnd]] = {plate.name: [] for plate in plates}
    for number, arrow in enumerate(view.arrows):
        if number in joined or arrow.tail not in plate_of or arrow.head not in plate_of:
            continue
        (tail, slot, start), (head, end_slot, end_start) = plate_of[arrow.tail], plate_of[arrow.head]
        outlet = slot.outlets.get(arrow.label, range(1, len(slot.text) - 1))
        leaving = range(start + outlet.start, start + outlet.stop)
        reaching = range(end_start + 1, end_start + max(len(end_slot.text) - 1, 2))
        first, last = stands[tail.name].rank, stands[head.name].rank
        if abs(first - last) == 1:
            ends[tail.name].append(_ArrowEnd(leaving, head.name, reaching, 0))
            ends[head.name].append(_ArrowEnd(reaching, tail.name, leaving, 0))
        elif first != last:
            step = 1 if last > first else -1
            for name, own, rank in ((tail.name, leaving, first + step), (head.name, reaching, last - step)):
                if rank in courses.get(number, {}):
                    ends[name].append(_ArrowEnd(own, "", own, courses[number][rank]))
    return ends
