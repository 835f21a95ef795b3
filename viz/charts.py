"""Charts of a run as SVG: nodes by waves, and the profiles of parallelism and waiting. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ..core.errors import Usage, plural
from ..core.graph.graph import Graph
from ..interp.machine.event import Event
from ..interp.outcome.critical_path import dependences
from .profile import bin_means
from .style import BOX_LOOKS, GREY, LIGHT, ORANGE, SKY, Theme, kind_of
from .svg import SvgCanvas
from .view import BoxKind

MAX_COLUMNS = 160
"""The most columns; if there are more waves, a column is several waves."""

MAX_ROWS = 80
"""The most rows for single nodes; with more nodes, all nodes of the same op in the same function share a row."""

_CELL_SIZE = 18
_LEFT, _TOP, _RIGHT, _BOTTOM = 190, 46, 20, 46


class ChartRow(NamedTuple):
    """A row of a space-time diagram: a node, or all nodes of one op in a function, with its firings by depth."""

    name: str
    kind: BoxKind
    firings: Counter[int]


def spacetime_rows(graph: Graph, events: Sequence[Event]) -> list[ChartRow]:
    """The number of firings of each node at each dependence depth, from 1. Without cells and k-bounds this depth is
    the wave in which the node fires under the schedule `waves`, whatever the run's schedule was."""
    rows: dict[str, ChartRow] = {}
    nodes = {event.token.node for event in events if event.is_firing}
    for number, dependence in dependences(graph, events).items():
        node = graph.nodes[events[number].token.node]
        name = str(node) if len(nodes) <= MAX_ROWS else f"{node.function}: {node.op}"
        row = rows.setdefault(name, ChartRow(name, kind_of(node.op), Counter()))
        row.firings[dependence.depth] += 1
    return sorted(rows.values(), key=lambda row: (min(row.firings), row.name))


def spacetime_svg(graph: Graph, events: Sequence[Event], theme: Theme = LIGHT) -> str:
    """The space-time diagram: a row for each node with the letter of its kind, earliest first, and a column for each
    wave; a cell has the number of firings. Raises Usage if nothing fired."""
    rows = spacetime_rows(graph, events)
    if not rows:
        raise Usage("nothing has fired: there is nothing to draw")
    waves = max(max(row.firings) for row in rows)
    size = -(-waves // MAX_COLUMNS)
    columns = -(-waves // size)
    canvas = SvgCanvas(_LEFT + columns * _CELL_SIZE + _RIGHT, _TOP + len(rows) * _CELL_SIZE + _BOTTOM, theme)
    title = f"{graph.name}: nodes by waves, {plural(sum(row.firings.total() for row in rows), 'firing')}"
    canvas.text(12, 24, title, size=14)
    for index, row in enumerate(rows):
        draw_row(canvas, row, _TOP + index * _CELL_SIZE, size, columns)
    draw_axis(canvas, _TOP + len(rows) * _CELL_SIZE, waves, size)
    return canvas.to_svg(title)


def draw_row(canvas: SvgCanvas, row: ChartRow, y: float, size: int, columns: int) -> None:
    """Draw a row of the space-time diagram: its name, its letter, and a cell for each column with firings."""
    look = BOX_LOOKS[row.kind]
    canvas.text(_LEFT - 22, y + _CELL_SIZE - 5, _abbreviate(row.name), size=11, anchor="end")
    canvas.text(_LEFT - 10, y + _CELL_SIZE - 5, look.letter, size=10, anchor="middle", muted=True)
    canvas.line(
        _LEFT, y + _CELL_SIZE / 2, _LEFT + columns * _CELL_SIZE, y + _CELL_SIZE / 2, canvas.theme.muted + "40", 0.5
    )
    sums: Counter[int] = Counter()
    for wave, count in row.firings.items():
        sums[(wave - 1) // size] += count
    for column, count in sorted(sums.items()):
        first = column * size + 1
        waves = f"wave {first}" if size == 1 else f"waves {first} to {first + size - 1}"
        x = _LEFT + column * _CELL_SIZE
        canvas.rect(
            x + 1, y + 1, _CELL_SIZE - 2, _CELL_SIZE - 2, look.colour, f"{row.name}, {waves}: {plural(count, 'firing')}"
        )
        if 1 < count < 1000:
            draw_count(canvas, x + _CELL_SIZE / 2, y + _CELL_SIZE - 5.5, count)


def draw_count(canvas: SvgCanvas, x: float, y: float, count: int) -> None:
    """Draw the number of firings over a cell."""
    canvas.rect(x - 7, y - 9.5, 14, 12, canvas.theme.background)
    canvas.text(x, y, str(count), size=10 if count < 100 else 7, anchor="middle")


def draw_axis(canvas: SvgCanvas, y: float, waves: int, size: int) -> None:
    """Draw the axis of wave numbers and its title below the columns."""
    columns = -(-waves // size)
    step = max(1, -(-columns // 16))
    step = next((nice for nice in (1, 2, 5, 10, 20, 50) if nice >= step), step)
    for column in range(columns):
        first = column * size + 1
        if column == 0 or (column + 1) % step == 0:
            canvas.text(_LEFT + (column + 0.5) * _CELL_SIZE, y + 14, f"{first:,}", size=9, anchor="middle", muted=True)
    title = "wave" if size == 1 else f"wave; a column is {size} waves"
    canvas.text(_LEFT + columns * _CELL_SIZE / 2, y + 32, title, size=10, anchor="middle", muted=True)


def profile_svg(name: str, profile: Sequence[int], waiting: Sequence[int], theme: Theme = LIGHT) -> str:
    """P(t), the firings in each wave, above W(t), the tokens that wait at its end. If there are many waves, a column
    is the mean of several. Raises Usage if nothing fired."""
    if not profile:
        raise Usage("nothing has fired: there is nothing to draw")
    waves = max(len(profile), len(waiting))
    width, height = 640.0, 130.0
    canvas = SvgCanvas(70 + width + _RIGHT, 2 * height + 150, theme)
    mean = sum(profile) / len(profile)
    title = f"{name}: {plural(sum(profile), 'firing')} in {plural(len(profile), 'wave')}, {mean:.1f} in each on average"
    canvas.text(12, 24, title, size=14)
    padded = [*waiting, *[0] * (waves - len(waiting))]
    draw_bars(
        canvas, 46, (width, height), [*profile, *[0] * (waves - len(profile))], ("firings in each wave, P(t)", SKY)
    )
    draw_bars(canvas, 46 + height + 44, (width, height), padded, ("tokens that wait at its end, W(t)", ORANGE))
    size, _ = bin_means(profile, int(width // 3))
    axis_title = f"waves 1 to {waves:,}" + (f"; a column is the mean of {size}" if size > 1 else "")
    canvas.text(70 + width / 2, 2 * height + 132, axis_title, size=10, anchor="middle", muted=True)
    return canvas.to_svg(title)


def draw_bars(
    canvas: SvgCanvas, y: float, area: tuple[float, float], numbers: Sequence[int], look: tuple[str, str]
) -> None:
    """Draw a bar chart with its title in an area of a given width and height, in one colour."""
    (width, height), (title, colour) = area, look
    size, columns = bin_means(numbers, int(width // 3))
    highest, step = max(*columns, Fraction(1)), width / len(columns)
    canvas.text(70, y - 6 + 12, title, size=10)
    y += 14
    canvas.text(64, y + 8, f"{float(highest):,.4g}", size=9, anchor="end", muted=True)
    canvas.text(64, y + height, "0", size=9, anchor="end", muted=True)
    gap = 1 if step > 4 else 0
    for column, value in enumerate(columns):
        bar_height = float(value / highest) * height
        if bar_height:
            tip = f"wave {column + 1}: {value}" if size == 1 else f"from wave {column * size + 1}: {float(value):.4g}"
            canvas.rect(70 + column * step, y + height - bar_height, step - gap, bar_height, colour, tip)
    canvas.line(70, y + height, 70 + width, y + height, GREY)


def _abbreviate(name: str, longest: int = 26) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}\u2026"
