"""The parallelism profile of a run (`Stats.profile`) as a bar chart of characters, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from textwrap import wrap

from ..core.errors import Usage, plural

_BAR_GLYPHS = " ▁▂▃▄▅▆▇█"
_ASCII_BAR_GLYPHS = " .:#"


def draw_profile(profile: Sequence[int], *, width: int = 72, height: int = 8, unicode: bool = True) -> str:
    """P(t), the firings in each wave, as a bar chart of `height` rows with a caption; no line is longer than `width`.

    Each wave has its own column. If there are more waves than columns, a column is the mean of several waves (the last
    column, of those left), so that the area is still the number of firings; the caption then says so and gives the
    maximum. A nonzero column is never blank. If there is no room for axes, only the bars are drawn.

    Raises Usage if width or height is below 1, or a number below 0.

    >>> print(draw_profile([1, 2, 3, 4, 4, 1], height=2))
    4│  ▄██
     │▄████▄
    0└──────
      1    6
    15 firings in 6 waves, at most 4 in one
    """
    if width < 1 or height < 1 or min(profile, default=0) < 0:
        raise Usage("a profile needs at least one column and one row, and has no negative numbers")
    if not profile:
        return "\n".join(wrap("no firings", width))
    highest = max(profile)
    margin = max(
        len(format_axis_number(number)) for number in (highest, min(highest, 99_999))
    )  # the mean may be longer to write
    axes = width > margin + 1
    size, columns = bin_means(profile, width - margin - 1 if axes else width)
    top = max(1, math.ceil(max(columns)))
    lines = bar_rows(columns, top, height, _BAR_GLYPHS if unicode else _ASCII_BAR_GLYPHS)
    if axes:
        lines = add_axes(
            lines, margin, format_axis_number(top), len(profile), len(columns), "│└─" if unicode else "|+-"
        )
    return "\n".join([line.rstrip() for line in lines] + wrap(profile_caption(profile, size), width))


def bin_means(profile: Sequence[int], most: int) -> tuple[int, list[Fraction]]:
    """Reduce a profile to at most `most` columns: the number of waves in a column, and the mean of each column.

    >>> size, means = bin_means([1, 2, 3, 4, 5], 3)
    >>> size, [str(mean) for mean in means]
    (2, ['3/2', '7/2', '5'])
    """
    size = max(1, math.ceil(len(profile) / most))
    parts = [profile[start : start + size] for start in range(0, len(profile), size)]
    return size, [Fraction(sum(part), len(part)) for part in parts]


def bar_rows(columns: Sequence[Fraction], top: int, height: int, levels: str) -> list[str]:
    """The rows of bars from top to bottom; a column is rounded to the nearest level, and is at least one level high."""
    full = len(levels) - 1
    bar_heights = [max(math.floor(value * height * full / top + Fraction(1, 2)), value > 0) for value in columns]
    return [
        "".join(levels[min(max(level - row * full, 0), full)] for level in bar_heights)
        for row in reversed(range(height))
    ]


def add_axes(bars: list[str], margin: int, top: str, waves: int, columns: int, lines: str) -> list[str]:
    """Rows of bars with a scale on the left and the wave numbers below; `lines` are the three line characters."""
    labels = [top.rjust(margin)] + [" " * margin] * (len(bars) - 1)
    last = str(waves).rjust(columns - 1)
    ends = f"1{last}" if len(last) < columns and last.startswith(" ") else "1"
    return [
        *(f"{label}{lines[0]}{bar}" for label, bar in zip(labels, bars, strict=True)),
        f"{'0'.rjust(margin)}{lines[1]}{lines[2] * columns}",
        f"{' ' * (margin + 1)}{ends}",
    ]


def profile_caption(profile: Sequence[int], size: int) -> str:
    """The numbers of firings and waves, and the waves per column if there are several."""
    total = f"{plural(sum(profile), 'firing')} in {plural(len(profile), 'wave')}, at most {max(profile):,} in one"
    return f"{total}; a column is the mean of {size:,} waves" if size > 1 else total


def format_axis_number(number: int) -> str:
    """A number for an axis, short even if it is large.

    >>> format_axis_number(12345), format_axis_number(12345678)
    ('12,345', '1.2e7')
    """
    digits = str(number)
    return f"{number:,}" if len(digits) < 6 else f"{digits[0]}.{digits[1]}e{len(digits) - 1}"
