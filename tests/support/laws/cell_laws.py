"""The laws of drawings in character cells, and a reader that sees nothing but their characters.

The reader follows lines from each box, over crossings and through forks, to the boxes at which arrow heads point. ASCII
characters are first mapped to the Unicode characters that they replace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from tagloom.viz.style import BOX_LOOKS
from tagloom.viz.terminal.box_rows import BOX_DELIMITERS
from tagloom.viz.terminal.drawing import Drawing
from tagloom.viz.view import LinkKind, View

Place = tuple[int, int]
Way = tuple[int, int]
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

LOOKALIKE = "╎┊║╌┈═╔╗╚╝╠╣╦╩╬"
"""Characters that join the same sides as a light line."""

SIDES = {sign: sides for signs, sides in JOINS.items() for sign in signs}
ALONG, ACROSS = "─╌┈═", "│╎┊║"
HEADS = {**dict.fromkeys("▼▽◇◉", DOWN), **dict.fromkeys("▲△◆◎", UP)}
"""The direction of each arrow head."""
ASIDE = "▶▹◇◉"
"""Heads of an arrow to the right, between boxes of one row."""

LINES: dict[LinkKind, tuple[str, str]] = {
    "data": ("│─", "▼▲▶"),
    "predicate": ("│─", "◇◆"),
    "trigger": ("┊┈", "▽△▹"),
    "order": ("╎╌", "▽△▹"),
    "call": ("╎╌", "▼▲▶"),
    "back": ("║═", "▼▲▶"),
    "before": ("║═", "▽△▹"),
    "control": ("╎╌", "◇◆"),
    "cell": ("╎╌", "◉◎"),
}
"""The line pieces and heads that identify each kind of arrow."""


class ReadArrow(NamedTuple):
    """An arrow as the reader found it: its ends, its first column, its straight pieces, its head."""

    tail: str
    head: str
    start: int
    pieces: frozenset[str]
    sign: str


class Reader:
    """Finds arrows in characters; the positions of boxes are known."""

    def __init__(self, text: Sequence[str], boxes: dict[str, Sequence[Place]]) -> None:
        self.cells = {(row, column): sign for row, line in enumerate(text) for column, sign in enumerate(line)}
        self.box_at = {place: name for name, cells in boxes.items() for place in cells}
        self.boxes = boxes

    def sign(self, place: Place) -> str:
        return " " if place in self.box_at else self.cells.get(place, " ")

    def arrows(self) -> Iterator[ReadArrow]:
        """All arrows, each followed from the box where it begins."""
        for name, cells in self.boxes.items():
            for row, column in cells:
                for way in (UP, DOWN):
                    first = (row + way[0], column)
                    sign = self.sign(first)
                    leaves = _opposite(way) in SIDES.get(sign, ()) or HEADS.get(sign) == way
                    if leaves:
                        yield from self._follow(name, first, way, column)
            row, column = max(cells)
            if self.sign((row, column + 1)) in ALONG:
                yield from self._follow(name, (row, column + 1), RIGHT, column)

    def _follow(self, tail: str, place: Place, way: Way, start: int) -> Iterator[ReadArrow]:
        """The arrows of a line that enters a cell in this direction."""
        waiting = [(place, way, frozenset[str]())]
        while waiting:
            place, way, pieces = waiting.pop()
            sign, ahead = self.sign(place), _next(place, way)
            if way == RIGHT and sign in ASIDE and ahead in self.box_at:
                yield ReadArrow(tail, self.box_at[ahead], start, pieces, sign)
                continue
            if sign in HEADS:
                yield ReadArrow(tail, self.box_at[_next(place, HEADS[sign])], start, pieces, sign)
            elif sign in ALONG + ACROSS and _opposite(way) in SIDES[sign]:
                pieces |= {sign}
            waiting += [(_next(place, onward), onward, pieces) for onward in self._onward(tail, place, way)]

    def _onward(self, tail: str, place: Place, way: Way) -> list[Way]:
        """The directions in which a line leaves a cell that it enters in this direction; a line may also pass a head
        sideways."""
        sign = self.sign(place)
        if sign in HEADS:
            return [
                each
                for each in (LEFT, RIGHT)
                if each != _opposite(way) and _opposite(each) in SIDES.get(self.sign(_next(place, each)), ())
            ]
        assert sign in SIDES, f"a line from {tail} ends at {sign!r} in {place}"
        if _opposite(way) not in SIDES[sign]:
            assert sign in ACROSS, f"a line from {tail} runs into {sign!r} in {place}"
            return [way]
        return [each for each in SIDES[sign] if each != _opposite(way)]


def _next(place: Place, way: Way) -> Place:
    return place[0] + way[0], place[1] + way[1]


def _opposite(way: Way) -> Way:
    return -way[0], -way[1]


PLAIN = dict(zip("|-:.!~#=v^V>)o@A%&", "│─┊┈╎╌║═▼▲▽▶▹◇◆△◉◎", strict=True))
"""The Unicode character for each ASCII character of a line or head, except joints."""

JOINTS = {",": (DOWN,), "`": (UP,), "+": (UP, DOWN)}
"""The vertical sides that each ASCII joint joins; horizontally it joins any line that reaches it."""


def _words_of_signs(text: Sequence[str], words: Container[Place]) -> list[str]:
    """The Unicode characters of an ASCII drawing; text is unchanged."""
    cells = {(row, column): sign for row, line in enumerate(text) for column, sign in enumerate(line)}
    signs = {place: PLAIN.get(sign, sign) for place, sign in cells.items() if place not in words}
    joints = {frozenset(sides): sign for sign, sides in SIDES.items() if sign not in LOOKALIKE}
    results = {}
    for place, sign in signs.items():
        if sign in JOINTS:
            beside = [way for way in (LEFT, RIGHT) if _comes(signs, _next(place, way), way)]
            results[place] = joints.get(frozenset((*JOINTS[sign], *beside)), sign)
    meant = cells | signs | results
    return ["".join(meant[row, column] for column in range(len(line))) for row, line in enumerate(text)]


def _comes(signs: Mapping[Place, str], place: Place, way: Way) -> bool:
    """Whether a line seems to reach a joint from this side; it may pass behind other lines."""
    while signs.get(place, " ") in ACROSS:
        place = _next(place, way)
    sign = signs.get(place, " ")
    return sign in ALONG or sign in HEADS or sign in JOINTS


def _titles(drawing: Drawing, view: View) -> set[Place]:
    """The cells with titles of frames."""
    where = drawing.cell_positions()
    frames = (where.get(cluster.name, ()) for cluster in view.root.walk())
    return {(row, column) for cells in frames for row, column in cells if drawing.rows[row][column].bold}


def read(drawing: Drawing, view: View, *, unicode: bool = True) -> list[ReadArrow]:
    """The arrows that a reader finds in a drawing."""
    where = drawing.cell_positions()
    boxes = {name: where[name] for name in view.boxes}
    text = drawing.text(unicode=unicode).split("\n")
    if not unicode:
        text = _words_of_signs(text, {place for cells in boxes.values() for place in cells} | _titles(drawing, view))
    return list(Reader(text, boxes).arrows())


def violations(drawing: Drawing, view: View) -> Iterator[str]:
    """Every law that a drawing without badges breaks."""
    if len({len(row) for row in drawing.rows}) > 1:
        yield "rows have different lengths"
    yield from _boxes(drawing, view)
    yield from _ascii(drawing)
    try:
        reply = read(drawing, view)
    except (AssertionError, KeyError) as error:
        yield f"not readable: {error}"
        return
    yield from _arrows(reply, drawing, view)
    try:
        plain = read(drawing, view, unicode=False)
    except (AssertionError, KeyError) as error:
        yield f"not readable in ASCII: {error}"
        return
    if Counter(plain) != Counter(reply):
        yield f"in ASCII it says {Counter(plain) - Counter(reply)} and not {Counter(reply) - Counter(plain)}"


def _boxes(drawing: Drawing, view: View) -> Iterator[str]:
    """Each box is drawn once, from its first to its last character, in one row."""
    where = drawing.cell_positions()
    for name, box in view.boxes.items():
        cells = where.get(name, [])
        row, column = cells[0] if cells else (0, 0)
        before, after = BOX_DELIMITERS.get(box.kind, (f"[{BOX_LOOKS[box.kind].letter} ", "]"))
        text = "".join(drawing.rows[place[0]][place[1]].glyph for place in cells)
        if cells != [(row, column + step) for step in range(len(cells))]:
            yield f"{name} is no piece of a row: {cells}"
        if not (text.startswith(before) and text.endswith(after) and len(text) > len(before + after)):
            yield f"{name} is written {text!r}"


def _ascii(drawing: Drawing) -> Iterator[str]:
    """The ASCII form of a drawing equals its Unicode form, cell for cell."""
    for row in drawing.rows:
        for cell in row:
            if len(cell.glyph) != 1 or len(cell.ascii) != 1 or not cell.ascii.isascii():
                yield f"{cell} is no character"
            if (cell.glyph == " ") != (cell.ascii == " "):
                yield f"{cell} is blank in one form only"


def _arrows(description: Sequence[ReadArrow], drawing: Drawing, view: View) -> Iterator[str]:
    """The arrows that the reader finds are those of the view."""
    expected = Counter((arrow.tail, arrow.head) for arrow in view.arrows)
    result = Counter((arrow.tail, arrow.head) for arrow in description)
    if expected != result:
        yield f"not drawn: {expected - result}, drawn but not there: {result - expected}"
    kinds = {(arrow.tail, arrow.head, arrow.link): LINES[arrow.link] for arrow in view.arrows}
    heads = Counter((arrow.tail, arrow.head, LINES[arrow.link][1]) for arrow in view.arrows)
    for one in description:
        fitting = [
            (lines, signs)
            for (tail, head, _), (lines, signs) in kinds.items()
            if (tail, head) == one[:2] and one.sign in signs and one.pieces <= set(lines)
        ]
        if not fitting:
            yield f"{one} looks like no arrow from {one.tail} to {one.head}"
    for (tail, head, signs), count in heads.items():
        if sum((one.tail, one.head) == (tail, head) and one.sign in signs for one in description) != count:
            yield f"heads from {tail} to {head} are not {count} of {signs}"
    yield from _labels(description, drawing, view)


def _labels(description: Sequence[ReadArrow], drawing: Drawing, view: View) -> Iterator[str]:
    """An arrow that leaves a labelled output begins below its label."""
    where = drawing.cell_positions()
    for tail, head in {(arrow.tail, arrow.head) for arrow in view.arrows}:
        labels = {arrow.label for arrow in view.arrows if (arrow.tail, arrow.head) == (tail, head)}
        (row, left) = where[tail][0]
        line = "".join(drawing.rows[row][column].glyph for _, column in where[tail])
        for one in description:
            above = (line[: one.start - left + 1].split() or [""])[-1]
            named = any(label.startswith(above) or not label for label in labels)
            if one[:2] == (tail, head) and not named and one.sign in "▼▽◇":
                yield f"an arrow from {tail} to {head} leaves below {above}, not below {labels}"
