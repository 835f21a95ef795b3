"""Painting: turn a plan into cells."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from ..style import BOX_LOOKS, CLUSTER_LOOKS, LINE_LOOKS
from ..view import ViewArrow
from .box_rows import JOINT_WIDTH, abbreviate, to_single_width
from .grid import BLANK, DOWN, LEFT, RIGHT, UNREMOVABLE, UP, Grid, GridCell, text_cells
from .plan import DrawingPlan
from .routes import Branch
from .strokes import HEADS, STROKES
from .tracks import Border


class Canvas:
    """Cells by row and column, which may be negative."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], GridCell] = {}

    def grid(self) -> Grid:
        """The used part of the canvas as a grid."""
        rows, columns = {row for row, _ in self.cells}, {column for _, column in self.cells}
        if not self.cells:
            return []
        across = range(min(columns), max(columns) + 1)
        return [[self.cells.get((row, column), BLANK) for column in across] for row in range(min(rows), max(rows) + 1)]

    def write(self, row: int, column: int, text: str, cell: GridCell) -> None:
        """Write text with the look of a cell."""
        for place, each in enumerate(text_cells(text, cell)):
            sides = UNREMOVABLE | LEFT * (place > 0) | RIGHT * (place < len(text) - 1)
            self.cells[row, column + place] = each._replace(sides=sides)


def paint(canvas: Canvas, plan: DrawingPlan) -> None:
    """Paint frames first, then horizontal lines, vertical lines, arrow heads, and boxes."""
    _paint_frames(canvas, plan)
    for branch in plan.routes.branches:
        _paint_horizontal(canvas, plan, branch)
    for branch in plan.routes.branches:
        _paint_vertical(canvas, plan, branch)
    for (rank, column), (above, below) in plan.routes.rank_passes.items():
        _paint_line_cell(canvas, plan, plan.row_of(rank), column, UP | DOWN, sorted(above.arrows & below.arrows))
    for branch in plan.routes.branches:
        _paint_heads(canvas, plan, branch)
    _paint_titles(canvas, plan)
    _paint_boxes(canvas, plan)


def _paint_frames(canvas: Canvas, plan: DrawingPlan) -> None:
    """Paint frames without titles. Frames use heavy lines, arrows never do."""
    kinds = {cluster.name: cluster.kind for cluster in plan.view.root.walk()}
    rows: dict[str, list[int]] = {}
    for channel, borders in plan.borders.items():
        for border in borders:
            row = _canvas_row(plan, channel, border.row)
            rows.setdefault(border.cluster, []).append(row)
            cell = GridCell(
                "━", "_", CLUSTER_LOOKS[kinds[border.cluster]].colour, owners=(border.cluster,), sides=LEFT | RIGHT
            )
            for column in range(border.left_column + 1, border.right_column):
                canvas.cells[row, column] = cell
            across = DOWN if border.is_upper else UP
            ends = (
                (border.left_column, "┏" if border.is_upper else "┗", RIGHT),
                (border.right_column, "┓" if border.is_upper else "┛", LEFT),
            )
            for column, sign, side in ends:
                canvas.cells[row, column] = cell._replace(glyph=sign, sides=UNREMOVABLE | across | side)
    for name, (one, other) in rows.items():
        span = plan.layout.frames[name]
        cell = GridCell("┃", "'", CLUSTER_LOOKS[kinds[name]].colour, owners=(name,), sides=UP | DOWN)
        for row in range(min(one, other) + 1, max(one, other)):
            canvas.cells[row, span.left_column] = canvas.cells[row, span.right_column] = cell


def _paint_titles(canvas: Canvas, plan: DrawingPlan) -> None:
    """Paint the title of each frame in a free part of its upper side, or else over the lines that cross it."""
    clusters = {cluster.name: cluster for cluster in plan.view.root.walk()}
    for channel, borders in plan.borders.items():
        for border in borders:
            if border.is_upper:
                cluster = clusters[border.cluster]
                row, look = _canvas_row(plan, channel, border.row), CLUSTER_LOOKS[cluster.kind]
                text = f" {look.glyph}{to_single_width(cluster.title)} "
                cell = GridCell(colour=look.colour, bold=True, owners=(cluster.name,))
                start, room = _find_title_room(canvas, row, border, len(text))
                canvas.write(row, start, abbreviate(text, room)[:room], cell)


def _find_title_room(canvas: Canvas, row: int, border: Border, wanted: int) -> tuple[int, int]:
    """The place for a title in an upper side: the first with enough room, or else the longest."""
    side = [canvas.cells[row, column] for column in range(border.left_column + 2, border.right_column - 1)]
    runs, start = [], border.left_column + 2
    for free, run in groupby(side, lambda cell: cell.owners == (border.cluster,)):
        length = len(list(run))
        if free:
            runs.append((-min(length, wanted), start, length))
        start += length
    _, start, length = min(runs, default=(0, border.left_column + 2, 0))
    return start, length


def _canvas_row(plan: DrawingPlan, channel: int, row: int) -> int:
    """The row of the drawing for a row of a channel."""
    return sum(plan.heights[:channel]) + channel + row


def _paint_line_cell(
    canvas: Canvas, plan: DrawingPlan, row: int, column: int, sides: int, arrows: Iterable[int]
) -> None:
    of = tuple(arrows)
    arrow = plan.view.arrows[of[0]]
    look = LINE_LOOKS[arrow.link]
    line = STROKES[look.style]
    under = canvas.cells.get((row, column), BLANK)
    crossed = under.sides & (LEFT | RIGHT) if under.owners != of and not sides & (LEFT | RIGHT) else 0
    canvas.cells[row, column] = GridCell(line.glyph(sides), line.ascii(sides), look.colour, False, of, sides | crossed)


def _paint_horizontal(canvas: Canvas, plan: DrawingPlan, branch: Branch) -> None:
    left, right = branch.extent
    row = _canvas_row(plan, branch.channel, branch.row)
    for column in range(left, right + 1):
        sides = LEFT * (column > left) | RIGHT * (column < right)
        _paint_line_cell(canvas, plan, row, column, sides, sorted(branch.arrows))


def _paint_vertical(canvas: Canvas, plan: DrawingPlan, branch: Branch) -> None:
    height = plan.heights[branch.channel]
    left, right = branch.extent
    for column in sorted(branch.columns_above | branch.columns_below):
        for row in range(height):
            up = column in branch.columns_above if row <= branch.row else column in branch.columns_below
            down = column in branch.columns_below if row >= branch.row else column in branch.columns_above
            sides = UP * up | DOWN * down
            if row == branch.row and not branch.is_straight:
                sides |= LEFT * (column > left) | RIGHT * (column < right)
            if sides & (UP | DOWN):
                _paint_line_cell(
                    canvas, plan, _canvas_row(plan, branch.channel, row), column, sides, sorted(branch.arrows)
                )


def _paint_heads(canvas: Canvas, plan: DrawingPlan, branch: Branch) -> None:
    for heads, row, which in (
        (branch.heads_below, plan.heights[branch.channel] - 1, 0),
        (branch.heads_above, 0, 1),
    ):
        for column, number in heads.items():
            _paint_head(
                canvas, plan.view.arrows[number], number, (_canvas_row(plan, branch.channel, row), column), which
            )


def _paint_head(canvas: Canvas, arrow: ViewArrow, number: int, place: tuple[int, int], which: int) -> None:
    look = LINE_LOOKS[arrow.link]
    head = HEADS[look.head][which]
    if head:
        sides = canvas.cells[place].sides | UNREMOVABLE
        canvas.cells[place] = GridCell(head[0], head[1], look.colour, False, (number,), sides)


def _paint_boxes(canvas: Canvas, plan: DrawingPlan) -> None:
    boxes = plan.view.boxes
    for plate in plan.rows:
        stand = plan.layout.placements[plate.name]
        row = plan.row_of(stand.rank)
        for slot, start in plate.box_starts():
            box = boxes[slot.box]
            cell = GridCell(colour=BOX_LOOKS[box.kind].colour, owners=(slot.box,))
            canvas.write(row, stand.column + start, slot.text, cell)
        for number, (slot, start) in zip(plate.joints, plate.box_starts(), strict=False):
            column = stand.column + start + len(slot.text)
            for place in range(JOINT_WIDTH):
                _paint_line_cell(canvas, plan, row, column + place, LEFT | RIGHT, [number])
            _paint_head(canvas, plan.view.arrows[number], number, (row, column + JOINT_WIDTH - 1), 2)
