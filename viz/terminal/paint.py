"""The plan of a drawing, which has all positions, and its painting into cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from ..style import BOX_LOOKS, CLUSTER_LOOKS, LINE_LOOKS
from ..view import View, ViewArrow
from .box_rows import JOINT_WIDTH, BoxRow, BoxStyle, abbreviate, build_box_rows, to_single_width, without_outer_frame
from .grid import BLANK, DOWN, HEADS, LEFT, RIGHT, STROKES, UNREMOVABLE, UP, Grid, GridCell, text_cells
from .layout import CellLayout, FrameSpan, lay_out_rows
from .routes import BoxTooNarrow, Routes, Trunk, route_arrows
from .tracks import Border, Channel, assign_rows


@dataclass(slots=True)
class DrawingPlan:
    """The positions of everything in a drawing."""

    view: View
    rows: list[BoxRow]
    layout: CellLayout
    routes: Routes
    borders: dict[int, list[Border]]
    heights: list[int]
    """The number of rows of each channel; channel k is above rank k."""

    def row_of(self, rank: int) -> int:
        """The row of the boxes of a rank."""
        return sum(self.heights[: rank + 1]) + rank


def plan_drawing(view: View, style: BoxStyle, height: int) -> DrawingPlan:
    """Plan the drawing of a view in a style, in at most `height` rows if possible."""
    unframed_view = without_outer_frame(view)
    extra_ports = Counter[str]()
    while True:
        rows = build_box_rows(unframed_view, style, extra_ports)
        layout = lay_out_rows(unframed_view, rows)
        try:
            routes = route_arrows(unframed_view, rows, layout)
            break
        except BoxTooNarrow as error:
            extra_ports.update(error.boxes)
    borders = frame_borders(unframed_view, layout)
    box_columns_by_rank = [box_columns(rows, layout, rank) for rank in range(-1, layout.ranks + 1)]
    channels = [
        Channel(
            [trunk for trunk in routes.trunks if trunk.channel == channel],
            borders.get(channel, []),
            box_columns_by_rank[channel],
            box_columns_by_rank[channel + 1],
        )
        for channel in range(layout.ranks + 1)
    ]
    heights = assign_rows(channels, height - layout.ranks)
    return DrawingPlan(unframed_view, rows, layout, routes, borders, heights)


def box_columns(rows: Sequence[BoxRow], layout: CellLayout, rank: int) -> frozenset[int]:
    """The columns of a rank that boxes occupy."""
    placements = ((layout.placements[row.name], row.width) for row in rows)
    return frozenset(
        column
        for placement, width in placements
        if placement.rank == rank
        for column in range(placement.column, placement.column + width)
    )


def frame_borders(view: View, layout: CellLayout) -> dict[int, list[Border]]:
    """Upper and lower sides of frames, by channel."""
    borders: dict[int, list[Border]] = {}
    inner_first = [cluster for cluster in view.root.walk() if cluster.name in layout.frames][::-1]
    for cluster in inner_first:
        span = layout.frames[cluster.name]
        for is_upper, channel in ((True, span.first_rank), (False, span.last_rank + 1)):
            channel_borders = borders.setdefault(channel, [])
            inner_depths = [
                border.depth + 1
                for border in channel_borders
                if border.is_upper == is_upper and _is_within(border, span)
            ]
            channel_borders.append(
                Border(cluster.name, span.left_column, span.right_column, is_upper, max(inner_depths, default=0))
            )
    return borders


def _is_within(border: Border, span: FrameSpan) -> bool:
    return span.left_column < border.left_column and border.right_column < span.right_column


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
        for offset, character in enumerate(text_cells(text, cell)):
            sides = UNREMOVABLE | LEFT * (offset > 0) | RIGHT * (offset < len(text) - 1)
            self.cells[row, column + offset] = character._replace(sides=sides)


def paint(canvas: Canvas, plan: DrawingPlan) -> None:
    """Paint frames first, then horizontal lines, vertical lines, arrow heads, and boxes."""
    paint_frames(canvas, plan)
    for trunk in plan.routes.trunks:
        paint_horizontal(canvas, plan, trunk)
    for trunk in plan.routes.trunks:
        paint_vertical(canvas, plan, trunk)
    for (rank, column), (above, below) in plan.routes.rank_passes.items():
        paint_line_cell(canvas, plan, plan.row_of(rank), column, UP | DOWN, sorted(above.arrows & below.arrows))
    for trunk in plan.routes.trunks:
        paint_heads(canvas, plan, trunk)
    paint_titles(canvas, plan)
    paint_boxes(canvas, plan)


def paint_frames(canvas: Canvas, plan: DrawingPlan) -> None:
    """Paint frames without titles. Frames use heavy lines, arrows never do."""
    kinds = {cluster.name: cluster.kind for cluster in plan.view.root.walk()}
    rows: dict[str, list[int]] = {}
    for channel, borders in plan.borders.items():
        for border in borders:
            row = canvas_row(plan, channel, border.row)
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
    for name, (start, end) in rows.items():
        span = plan.layout.frames[name]
        cell = GridCell("┃", "'", CLUSTER_LOOKS[kinds[name]].colour, owners=(name,), sides=UP | DOWN)
        for row in range(min(start, end) + 1, max(start, end)):
            canvas.cells[row, span.left_column] = canvas.cells[row, span.right_column] = cell


def paint_titles(canvas: Canvas, plan: DrawingPlan) -> None:
    """Paint the title of each frame in a free part of its upper or lower side."""
    rooms: dict[str, list[TitleRoom]] = {}
    for is_upper in (True, False):
        for channel, borders in plan.borders.items():
            for border in borders:
                if border.is_upper == is_upper:
                    row = canvas_row(plan, channel, border.row)
                    rooms.setdefault(border.cluster, []).extend(title_rooms(canvas, row, border))
    for cluster in plan.view.root.walk():
        if cluster.name in rooms:
            look = CLUSTER_LOOKS[cluster.kind]
            text, room = place_title(f"{look.glyph}{to_single_width(cluster.title)}", rooms[cluster.name])
            cell = GridCell(colour=look.colour, bold=True, owners=(cluster.name,))
            canvas.write(room.row, room.column, text, cell)


class TitleRoom(NamedTuple):
    """A free part of a side of a frame."""

    row: int
    column: int
    length: int


def title_rooms(canvas: Canvas, row: int, border: Border) -> list[TitleRoom]:
    """The free parts of a side of a frame, from left to right; the whole side if there are none."""
    start = border.left_column + 2
    side = [canvas.cells[row, column] for column in range(start, border.right_column - 1)]
    rooms, column = list[TitleRoom](), start
    for is_free, run in groupby(side, lambda cell: cell.owners == (border.cluster,)):
        length = len(list(run))
        if is_free:
            rooms.append(TitleRoom(row, column, length))
        column += length
    return rooms or [TitleRoom(row, start, 0)]


def place_title(title: str, rooms: Sequence[TitleRoom]) -> tuple[str, TitleRoom]:
    """The text and the place of a title: the first room with enough space for it between blanks, the first with enough
    for it alone, or the longest, in which it is cut.

    >>> rooms = [TitleRoom(0, 2, 3), TitleRoom(9, 2, 7), TitleRoom(9, 10, 5)]
    >>> [(text, room[:2]) for text, room in (place_title(title, rooms) for title in ("heads", "stacks", "long title"))]
    [(' heads ', (9, 2)), ('stacks', (9, 3)), ('long t~', (9, 2))]
    """
    for text, shift in ((f" {title} ", 0), (title, 1), (title, 0)):
        for room in rooms:
            if len(text) + shift <= room.length:
                return text, room._replace(column=room.column + shift)
    longest = max(rooms, key=lambda room: room.length)
    return abbreviate(title, longest.length)[: longest.length], longest


def canvas_row(plan: DrawingPlan, channel: int, row: int) -> int:
    """The row of the drawing for a row of a channel."""
    return sum(plan.heights[:channel]) + channel + row


def paint_line_cell(
    canvas: Canvas, plan: DrawingPlan, row: int, column: int, sides: int, arrows: Iterable[int]
) -> None:
    """Add the sides of a line to a cell."""
    owners = tuple(arrows)
    arrow = plan.view.arrows[owners[0]]
    look = LINE_LOOKS[arrow.link]
    line = STROKES[look.style]
    former_cell = canvas.cells.get((row, column), BLANK)
    crossed = former_cell.sides & (LEFT | RIGHT) if former_cell.owners != owners and not sides & (LEFT | RIGHT) else 0
    canvas.cells[row, column] = GridCell(
        line.glyph(sides), line.ascii(sides), look.colour, False, owners, sides | crossed
    )


def paint_horizontal(canvas: Canvas, plan: DrawingPlan, trunk: Trunk) -> None:
    """Paint the horizontal line of a trunk."""
    left, right = trunk.extent
    row = canvas_row(plan, trunk.channel, trunk.row)
    for column in range(left, right + 1):
        sides = LEFT * (column > left) | RIGHT * (column < right)
        paint_line_cell(canvas, plan, row, column, sides, sorted(trunk.arrows))


def paint_vertical(canvas: Canvas, plan: DrawingPlan, trunk: Trunk) -> None:
    """Paint the vertical lines of a trunk."""
    height = plan.heights[trunk.channel]
    left, right = trunk.extent
    for column in sorted(trunk.columns_above | trunk.columns_below):
        for row in range(height):
            up = column in trunk.columns_above if row <= trunk.row else column in trunk.columns_below
            down = column in trunk.columns_below if row >= trunk.row else column in trunk.columns_above
            sides = UP * up | DOWN * down
            if row == trunk.row and not trunk.is_straight:
                sides |= LEFT * (column > left) | RIGHT * (column < right)
            if sides & (UP | DOWN):
                paint_line_cell(canvas, plan, canvas_row(plan, trunk.channel, row), column, sides, sorted(trunk.arrows))


def paint_heads(canvas: Canvas, plan: DrawingPlan, trunk: Trunk) -> None:
    """Paint the arrow heads of a trunk."""
    for heads, row, head_index in (
        (trunk.heads_below, plan.heights[trunk.channel] - 1, 0),
        (trunk.heads_above, 0, 1),
    ):
        for column, number in heads.items():
            _paint_head(
                canvas, plan.view.arrows[number], number, (canvas_row(plan, trunk.channel, row), column), head_index
            )


def _paint_head(canvas: Canvas, arrow: ViewArrow, number: int, position: tuple[int, int], head_index: int) -> None:
    look = LINE_LOOKS[arrow.link]
    head = HEADS[look.head][head_index]
    if head:
        sides = canvas.cells[position].sides | UNREMOVABLE
        canvas.cells[position] = GridCell(head[0], head[1], look.colour, False, (number,), sides)


def paint_boxes(canvas: Canvas, plan: DrawingPlan) -> None:
    """Paint the boxes, each at its placement."""
    boxes = plan.view.boxes
    for box_row in plan.rows:
        placement = plan.layout.placements[box_row.name]
        row = plan.row_of(placement.rank)
        for item, start in box_row.box_starts():
            box = boxes[item.box]
            cell = GridCell(colour=BOX_LOOKS[box.kind].colour, owners=(item.box,))
            canvas.write(row, placement.column + start, item.text, cell)
        for number, (item, start) in zip(box_row.joints, box_row.box_starts(), strict=False):
            column = placement.column + start + len(item.text)
            for offset in range(JOINT_WIDTH):
                paint_line_cell(canvas, plan, row, column + offset, LEFT | RIGHT, [number])
            _paint_head(canvas, plan.view.arrows[number], number, (row, column + JOINT_WIDTH - 1), 2)
