"""Learning curves: each metric of a training run over its steps, as SVG."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import Usage, plural
from ..core.files import write_file
from ..interp.training.metrics import MetricSeries, read_metrics
from .style import BLUE, DARK, GREY, LIGHT, SKY, Theme
from .svg import SvgCanvas

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 560.0, 150.0, 80.0, 40.0, 52.0


@dataclass(frozen=True, slots=True)
class Curve:
    """A chart of metrics that a notebook displays and that can be saved."""

    name: str
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chart to a file that ends in .svg; raises Usage if that is impossible."""
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise Usage("a curve can only be drawn as svg", got=target.name, hint="-o curve.svg")
        write_file(target, self.svg.encode())

    def __repr__(self) -> str:
        return f"<curves of {self.name}>"


def curve(path: str | os.PathLike[str], *, dark: bool = False) -> Curve:
    """The learning curves in a file that `tl.progress(..., log=path)` wrote: one chart for each metric. Raises Usage
    if the file has no numbers."""
    name = Path(path).name
    return Curve(name, curves_svg(name, read_metrics(path), DARK if dark else LIGHT))


def curves_svg(name: str, series: MetricSeries, theme: Theme = LIGHT) -> str:
    """Each series over its steps, one chart below the other. Numbers that are not finite become gaps, and their
    count is shown."""
    finite_series = {metric: numbers for metric, numbers in series.items() if any(map(math.isfinite, numbers.values()))}
    if not finite_series:
        raise Usage("there are no numbers to draw", got=name)
    canvas = SvgCanvas(_LEFT + _WIDTH + 24, _TOP + len(finite_series) * (_HEIGHT + _GAP) + 12, theme)
    steps = [step for numbers in finite_series.values() for step in numbers]
    title = f"{name}: {plural(len(set(steps)), 'step')}"
    canvas.text(12, 24, title, size=14)
    for index, (metric, numbers) in enumerate(finite_series.items()):
        draw_chart(canvas, _TOP + index * (_HEIGHT + _GAP), metric, numbers, (min(steps), max(steps)))
    return canvas.to_svg(title)


def draw_chart(canvas: SvgCanvas, y: float, metric: str, numbers: Mapping[int, float], ends: tuple[int, int]) -> None:
    """Draw one metric over the steps between `ends`, with its axes, below `y`."""
    finite = {step: value for step, value in numbers.items() if math.isfinite(value)}
    low, high = min(finite.values()), max(finite.values())
    last, top = finite[max(finite)], y + 20
    lost_count = len(numbers) - len(finite)
    label = f"{metric}, {last:.4g} at last" + (f"; {lost_count} not finite" if lost_count else "")
    canvas.text(_LEFT, y + 12, label, size=11)
    canvas.line(_LEFT, top + _HEIGHT, _LEFT + _WIDTH, top + _HEIGHT, GREY, 0.8)
    for label, value in {f"{value:.6g}": value for value in ticks(low, high, 5)}.items():
        _, at = chart_point(ends[0], value, ends, (low, high), top)
        canvas.line(_LEFT, at, _LEFT + _WIDTH, at, GREY, 0.4)
        canvas.text(_LEFT - 6, at + 4, label, size=9, anchor="end", muted=True)
    for step in (tick for tick in ticks(*ends, 6) if tick == round(tick)):
        x, _ = chart_point(round(step), low, ends, (low, high), top)
        canvas.line(x, top + _HEIGHT, x, top + _HEIGHT + 4, GREY, 0.8)
        canvas.text(x, top + _HEIGHT + 15, f"{step:,.0f}", size=9, anchor="middle", muted=True)
    canvas.text(_LEFT - 6, top + _HEIGHT + 15, "step", size=9, anchor="end", muted=True)
    colour = BLUE if canvas.theme is LIGHT else SKY
    for run in finite_runs(numbers):
        canvas.polyline([chart_point(step, value, ends, (low, high), top) for step, value in run], colour, 1.6)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high` with at most `most` spaces between them: multiples of 1, 2 or 5 times a power
    of ten. If there are fewer than two, the ends themselves.

    >>> ticks(0.06, 2.3, 5), ticks(0, 299, 6), ticks(7, 7, 4)
    ([0.5, 1.0, 1.5, 2.0], [0, 50.0, 100.0, 150.0, 200.0, 250.0], [7])
    """
    spread = high / most - low / most
    power = 10.0 ** math.floor(math.log10(spread)) if spread > 0.0 else 0.0
    if not 0.0 < power * 10.0 < math.inf:
        return [low] if low == high else [low, high]
    space = next((factor * power for factor in (1, 2, 5) if factor * power >= spread), 10 * power)
    positions = [max(low, min(k * space, high)) for k in range(math.ceil(low / space), math.floor(high / space) + 1)]
    return positions if len(positions) > 1 else [low, high]


def chart_point(
    step: int, value: float, ends: tuple[int, int], reach: tuple[float, float], top: float
) -> tuple[float, float]:
    """The pixel position of a value at a step, in a chart with these ranges of steps and values."""
    across = (step - ends[0]) / ((ends[1] - ends[0]) or 1)
    # Halves first: a difference of two large numbers may be infinite.
    spread = reach[1] / 2 - reach[0] / 2
    up = (value / 2 - reach[0] / 2) / spread if spread else 1.0
    return _LEFT + _WIDTH * across, top + _HEIGHT * (1.0 - up)


def finite_runs(numbers: Mapping[int, float]) -> list[list[tuple[int, float]]]:
    """The runs of consecutive finite numbers."""
    runs: list[list[tuple[int, float]]] = [[]]
    for step, value in numbers.items():
        if math.isfinite(value):
            runs[-1].append((step, value))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]
