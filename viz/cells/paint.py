"""Painting: cells from what is planned."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from ..style import FRAMES, LINES, LOOKS
from ..view import Arrow
from .box_rows import JOINT, cut, one_wide
from .grid import BLANK, DOWN, FIXED, LEFT, RIGHT, UP, Cell, Grid, spelled
from .plan import Plan
from .routes import Branch
from .strokes import HEADS, STROKES
from .tracks import Border


class Canvas:
    """Cells by row and column, which may be negative."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], Cell] = {}

    def grid(self) -> Grid:
        """All cells, from the first row and column that are used to the last."""
        rows, columns = {row for row, _ in self.cells}, {column for _, column in self.cells}
        if not self.cells:
            return []
        across = range(min(columns), max(columns) + 1)
        return [[self.cells.get((row, column), BLANK) for column in across] for row in range(min(rows), max(rows) + 1)]

    def write(self, row: int, column: int, text: str, cell: Cell) -> None:
        """Text in the look of a cell."""
        for place, each in enumerate(spelled(text, cell)):
            sides = FIXED | LEFT * (place > 0) | RIGHT * (place < len(text) - 1)
            self.cells[row, column + place] = each._replace(sides=sides)


def paint(canvas: Canvas, plan: Plan) -> None:
    """Paint frames first, then lines along, lines down, heads, and boxes."""
    _frames(canvas, plan)
    for branch in plan.routes.branches:
        _along(canvas, plan, branch)
    for branch in plan.routes.branches:
        _down(canvas, plan, branch)
    for (rank, column), (above, below) in plan.routes.passes.items():
        _put(canvas, plan, plan.row_of(rank), column, UP | DOWN, sorted(above.arrows & below.arrows))
    for branch in plan.routes.branches:
        _heads(canvas, plan, branch)
    _titles(canvas, plan)
    _boxes(canvas, plan)


def _frames(canvas: Canvas, plan: Plan) -> None:
    """Frames, without their titles. They are heavy: no arrow is."""
    kinds = {cluster.name: cluster.kind for cluster in plan.view.outside.all()}
    rows: dict[str, list[int]] = {}
    for channel, borders in plan.borders.items():
        for border in borders:
            row = _row(plan, channel, border.row)
            rows.setdefault(border.cluster, []).append(row)
            cell = Cell("━", "_", FRAMES[kinds[border.cluster]].colour, of=(border.cluster,), sides=LEFT | RIGHT)
            for column in range(border.left + 1, border.right):
                canvas.cells[row, column] = cell
            across = DOWN if border.upper else UP
            ends = (
                (border.left, "┏" if border.upper else "┗", RIGHT),
                (border.right, "┓" if border.upper else "┛", LEFT),
            )
            for column, sign, side in ends:
                canvas.cells[row, column] = cell._replace(sign=sign, sides=FIXED | across | side)
    for name, (one, other) in rows.items():
        span = plan.layout.frames[name]
        cell = Cell("┃", "'", FRAMES[kinds[name]].colour, of=(name,), sides=UP | DOWN)
        for row in range(min(one, other) + 1, max(one, other)):
            canvas.cells[row, span.left] = canvas.cells[row, span.right] = cell


def _titles(canvas: Canvas, plan: Plan) -> None:
    """The title of each frame, where its upper side is free, or else over what crosses it."""
    clusters = {cluster.name: cluster for cluster in plan.view.outside.all()}
    for channel, borders in plan.borders.items():
        for border in borders:
            if border.upper:
                cluster = clusters[border.cluster]
                row, look = _row(plan, channel, border.row), FRAMES[cluster.kind]
                text = f" {look.sign}{one_wide(cluster.title)} "
                cell = Cell(colour=look.colour, strong=True, of=(cluster.name,))
                start, room = _free(canvas, row, border, len(text))
                canvas.write(row, start, cut(text, room)[:room], cell)


def _free(canvas: Canvas, row: int, border: Border, wanted: int) -> tuple[int, int]:
    """Where a title can be in an upper side: the first place with room for it, or the longest."""
    side = [canvas.cells[row, column] for column in range(border.left + 2, border.right - 1)]
    runs, start = [], border.left + 2
    for free, run in groupby(side, lambda cell: cell.of == (border.cluster,)):
        length = len(list(run))
        if free:
            runs.append((-min(length, wanted), start, length))
        start += length
    _, start, length = min(runs, default=(0, border.left + 2, 0))
    return start, length


def _row(plan: Plan, channel: int, row: int) -> int:
    """The row of the drawing that a row of a channel is."""
    return sum(plan.heights[:channel]) + channel + row


def _put(canvas: Canvas, plan: Plan, row: int, column: int, sides: int, arrows: Iterable[int]) -> None:
    of = tuple(arrows)
    arrow = plan.view.arrows[of[0]]
    look = LINES[arrow.link]
    line = STROKES[look.style]
    under = canvas.cells.get((row, column), BLANK)
    crossed = under.sides & (LEFT | RIGHT) if under.of != of and not sides & (LEFT | RIGHT) else 0
    canvas.cells[row, column] = Cell(line.sign(sides), line.ascii(sides), look.colour, False, of, sides | crossed)


def _along(canvas: Canvas, plan: Plan, branch: Branch) -> None:
    left, right = branch.reach
    row = _row(plan, branch.channel, branch.row)
    for column in range(left, right + 1):
        sides = LEFT * (column > left) | RIGHT * (column < right)
        _put(canvas, plan, row, column, sides, sorted(branch.arrows))


def _down(canvas: Canvas, plan: Plan, branch: Branch) -> None:
    height = plan.heights[branch.channel]
    left, right = branch.reach
    for column in sorted(branch.above | branch.below):
        for row in range(height):
            up = column in branch.above if row <= branch.row else column in branch.below
            down = column in branch.below if row >= branch.row else column in branch.above
            sides = UP * up | DOWN * down
            if row == branch.row and not branch.straight:
                sides |= LEFT * (column > left) | RIGHT * (column < right)
            if sides & (UP | DOWN):
                _put(canvas, plan, _row(plan, branch.channel, row), column, sides, sorted(branch.arrows))


def _heads(canvas: Canvas, plan: Plan, branch: Branch) -> None:
    for heads, row, which in (
        (branch.heads_below, plan.heights[branch.channel] - 1, 0),
        (branch.heads_above, 0, 1),
    ):
        for column, number in heads.items():
            _head(canvas, plan.view.arrows[number], number, (_row(plan, branch.channel, row), column), which)


def _head(canvas: Canvas, arrow: Arrow, number: int, place: tuple[int, int], which: int) -> None:
    look = LINES[arrow.link]
    head = HEADS[look.head][which]
    if head:
        sides = canvas.cells[place].sides | FIXED
        canvas.cells[place] = Cell(head[0], head[1], look.colour, False, (number,), sides)


def _boxes(canvas: Canvas, plan: Plan) -> None:
    boxes = plan.view.boxes
    for plate in plan.plates:
        stand = plan.layout.plates[plate.name]
        row = plan.row_of(stand.rank)
        for slot, start in plate.starts():
            box = boxes[slot.box]
            cell = Cell(colour=LOOKS[box.kind].colour, of=(slot.box,))
            canvas.write(row, stand.column + start, slot.text, cell)
        for number, (slot, start) in zip(plate.joints, plate.starts(), strict=False):
            column = stand.column + start + len(slot.text)
            for place in range(JOINT):
                _put(canvas, plan, row, column + place, LEFT | RIGHT, [number])
            _head(canvas, plan.view.arrows[number], number, (row, column + JOINT - 1), 2)
