"""What every drawing in cells promises; and a reader that knows nothing but its characters.

The reader goes from each box along lines, over crossings and through forks, to the boxes at which arrow heads stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tagloom.viz.cells.drawing import Drawing
from tagloom.viz.cells.plates import ENDS
from tagloom.viz.style import LOOKS
from tagloom.viz.view import Link, View

Place = tuple[int, int]
UP, DOWN, LEFT, RIGHT = (-1, 0), (1, 0), (0, -1), (0, 1)

JOINS = {
    "│╎┊║": (UP, DOWN),
    "─╌┈═": (LEFT, RIGHT),
    "╭╔": (DOWN, RIGHT),
    "╮╗": (DOWN, LEFT),
    "╰╚": (UP, RIGHT),
    "╯╝": (UP, LEFT),
    "├╠": (UP, DOWN, RIGHT),
    "┤╣": (UP, DOWN, LEFT),
    "┬╦": (DOWN, LEFT, RIGHT),
    "┴╩": (UP, LEFT, RIGHT),
    "┼╬": (UP, DOWN, LEFT, RIGHT),
}
"""The sides that each character of a line joins."""

SIDES = {sign: sides for signs, sides in JOINS.items() for sign in signs}
ALONG, ACROSS = "─╌┈═", "│╎┊║"
HEADS = {**dict.fromkeys("▼▽◇", DOWN), **dict.fromkeys("▲△◆", UP)}
"""Where each head points. To the right, inside a line of boxes, all kinds are met once they follow a line along."""

LINES: dict[Link, tuple[str, str]] = {
    "data": ("│─", "▼▲▶"),
    "predicate": ("│─", "◇◆"),
    "trigger": ("┊┈", "▽△▷"),
    "order": ("╎╌", "▽△▷"),
    "call": ("╎╌", "▼▲▶"),
    "back": ("║═", "▼▲▶"),
    "control": ("╎╌", "◇◆"),
}
"""The pieces and heads that tell each kind of arrow."""


class Read(NamedTuple):
    """An arrow as it is read: its ends, the column in which it begins, its straight pieces, its head."""

    tail: str
    head: str
    start: int
    pieces: frozenset[str]
    sign: str


class Reader:
    """Reads arrows from characters, given where the boxes are."""

    def __init__(self, text: Sequence[str], boxes: dict[str, Sequence[Place]]) -> None:
        self.cells = {(row, column): sign for row, line in enumerate(text) for column, sign in enumerate(line)}
        self.box_at = {place: name for name, cells in boxes.items() for place in cells}
        self.boxes = boxes

    def sign(self, place: Place) -> str:
        return " " if place in self.box_at else self.cells.get(place, " ")

    def arrows(self) -> Iterator[Read]:
        """All arrows, from where they leave boxes."""
        for name, cells in self.boxes.items():
            for row, column in cells:
                for way in (UP, DOWN):
                    first = (row + way[0], column)
                    sign = self.sign(first)
                    leaves = _opposite(way) in SIDES.get(sign, ()) or HEADS.get(sign) == way
                    if leaves:
                        yield from self._follow(name, first, way, column, frozenset())
            row, column = max(cells)
            if self.sign((row, column + 1)) in ALONG:
                yield from self._follow(name, (row, column + 1), RIGHT, column, frozenset())

    def _follow(
        self, tail: str, place: Place, way: tuple[int, int], start: int, pieces: frozenset[str]
    ) -> Iterator[Read]:
        """The arrows of a line that comes to a cell this way; pieces are those that it has had."""
        sign = self.sign(place)
        if sign in "▶▷◇" and way == RIGHT and _next(place, way) in self.box_at:
            yield Read(tail, self.box_at[_next(place, way)], start, pieces, sign)
            return
        if sign in HEADS:
            yield from self._arrived(tail, place, way, start, pieces)
            return
        assert sign in SIDES, f"a line from {tail} ends at {sign!r} in {place}"
        if _opposite(way) not in SIDES[sign]:
            assert sign in ACROSS, f"a line from {tail} runs into {sign!r} in {place}"
            yield from self._follow(tail, _next(place, way), way, start, pieces)
            return
        more = pieces | {sign} if sign in ALONG + ACROSS else pieces
        for onward in SIDES[sign]:
            if onward != _opposite(way):
                yield from self._follow(tail, _next(place, onward), onward, start, more)

    def _arrived(
        self, tail: str, place: Place, way: tuple[int, int], start: int, pieces: frozenset[str]
    ) -> Iterator[Read]:
        """A head; the line may go on beside it."""
        pointing = HEADS[self.sign(place)]
        yield Read(tail, self.box_at[_next(place, pointing)], start, pieces, self.sign(place))
        for onward in (LEFT, RIGHT):
            beyond = _next(place, onward)
            if onward != _opposite(way) and _opposite(onward) in SIDES.get(self.sign(beyond), ()):
                yield from self._follow(tail, beyond, onward, start, pieces)


def _next(place: Place, way: tuple[int, int]) -> Place:
    return place[0] + way[0], place[1] + way[1]


def _opposite(way: tuple[int, int]) -> tuple[int, int]:
    return -way[0], -way[1]


def read(drawing: Drawing, view: View) -> list[Read]:
    """The arrows that the characters of a drawing say."""
    where = drawing.places()
    return list(Reader(drawing.text().split("\n"), {name: where[name] for name in view.boxes}).arrows())


def violations(drawing: Drawing, view: View) -> Iterator[str]:
    """What a drawing without badges breaks of what all promise."""
    if len({len(row) for row in drawing.rows}) > 1:
        yield "rows have different lengths"
    yield from _boxes(drawing, view)
    yield from _ascii(drawing)
    try:
        said = read(drawing, view)
    except (AssertionError, KeyError) as error:
        yield f"not readable: {error}"
        return
    yield from _arrows(said, drawing, view)


def _boxes(drawing: Drawing, view: View) -> Iterator[str]:
    """Each box is written once, from end to end, in a row."""
    where = drawing.places()
    for name, box in view.boxes.items():
        cells = where.get(name, [])
        row, column = cells[0] if cells else (0, 0)
        before, after = ENDS.get(box.kind, (f"[{LOOKS[box.kind].letter} ", "]"))
        text = "".join(drawing.rows[place[0]][place[1]].sign for place in cells)
        if cells != [(row, column + step) for step in range(len(cells))]:
            yield f"{name} is no piece of a row: {cells}"
        if not (text.startswith(before) and text.endswith(after) and len(text) > len(before + after)):
            yield f"{name} is written {text!r}"


def _ascii(drawing: Drawing) -> Iterator[str]:
    """In ASCII it is the same, cell for cell."""
    for row in drawing.rows:
        for cell in row:
            if len(cell.sign) != 1 or len(cell.ascii) != 1 or not cell.ascii.isascii():
                yield f"{cell} is no character"
            if (cell.sign == " ") != (cell.ascii == " "):
                yield f"{cell} is blank in one form only"


def _arrows(said: Sequence[Read], drawing: Drawing, view: View) -> Iterator[str]:
    """What is read is what the view has."""
    wanted = Counter((arrow.tail, arrow.head) for arrow in view.arrows)
    found = Counter((arrow.tail, arrow.head) for arrow in said)
    if wanted != found:
        yield f"not drawn: {wanted - found}, drawn but not there: {found - wanted}"
    kinds = {(arrow.tail, arrow.head, arrow.link): LINES[arrow.link] for arrow in view.arrows}
    heads = Counter((arrow.tail, arrow.head, LINES[arrow.link][1]) for arrow in view.arrows)
    for one in said:
        fitting = [
            (lines, signs)
            for (tail, head, _), (lines, signs) in kinds.items()
            if (tail, head) == one[:2] and one.sign in signs and one.pieces <= set(lines)
        ]
        if not fitting:
            yield f"{one} looks like no arrow from {one.tail} to {one.head}"
    for (tail, head, signs), count in heads.items():
        if sum((one.tail, one.head) == (tail, head) and one.sign in signs for one in said) != count:
            yield f"heads from {tail} to {head} are not {count} of {signs}"
    yield from _labels(said, drawing, view)


def _labels(said: Sequence[Read], drawing: Drawing, view: View) -> Iterator[str]:
    """What leaves an output with a label leaves below it."""
    where = drawing.places()
    for tail, head in {(arrow.tail, arrow.head) for arrow in view.arrows}:
        labels = {arrow.label for arrow in view.arrows if (arrow.tail, arrow.head) == (tail, head)}
        (row, left) = where[tail][0]
        line = "".join(drawing.rows[row][column].sign for _, column in where[tail])
        for one in said:
            above = (line[: one.start - left + 1].split() or [""])[-1]
            named = any(label.startswith(above) or not label for label in labels)
            if one[:2] == (tail, head) and not named and one.sign in "▼▽◇":
                yield f"an arrow from {tail} to {head} leaves below {above}, not below {labels}"
