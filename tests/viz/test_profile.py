"""Laws of the drawn profile: no line is too wide, area and highest wave are kept, and nothing vanishes."""

from __future__ import annotations

import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from support.pictures.drawings import fib
from tagloom.viz.profile import bin_means, draw_profile

counts = st.integers(0, 9) | st.integers(0, 10**40)
profiles = st.lists(counts, max_size=200)
sizes = st.integers(1, 90)
BLOCKS = set(" ▁▂▃▄▅▆▇█")
CHART = draw_profile([1, 2, 3, 4, 4, 1], height=2, unicode=False)


@given(profiles, sizes, st.integers(1, 12), st.booleans())
def test_no_line_is_wider_than_asked(profile: list[int], width: int, height: int, unicode: bool) -> None:
    """No line is wider than requested, for any length and height, and however narrow."""
    drawn = draw_profile(profile, width=width, height=height, unicode=unicode)
    assert all(len(line) <= width for line in drawn.splitlines())
    assert drawn.isascii() or unicode


@given(profiles, sizes)
def test_binning_keeps_the_area(profile: list[int], most: int) -> None:
    """A column is the mean of its waves: means times waves are the firings, and no column exceeds the highest wave."""
    size, means = bin_means(profile, most)
    waves = [min(size, len(profile) - start) for start in range(0, len(profile), size)]
    assert len(means) == len(waves) <= most
    assert sum(mean * count for mean, count in zip(means, waves, strict=True)) == sum(profile)
    assert max(means, default=0) <= max(profile, default=0)


@given(profiles, sizes)
def test_short_profiles_are_not_binned(profile: list[int], most: int) -> None:
    """If there is room for all waves, each has one column."""
    size, means = bin_means(profile, most)
    assert (size == 1) == (len(profile) <= most)
    if size == 1:
        assert means == profile


def bars(drawn: str) -> list[str]:
    """The rows of bars of a chart with axes, of equal length."""
    rows = [line.partition("│")[2] for line in drawn.splitlines() if "│" in line]
    return [row.ljust(max(map(len, rows))) for row in rows]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.integers(1, 9))
def test_bars_are_as_high_as_the_waves(profile: list[int], height: int) -> None:
    """The highest wave fills its column, the others are in proportion, and no nonzero wave is blank."""
    rows = bars(draw_profile(profile, height=height))
    assert len(rows) == height
    assert set("".join(rows)) <= BLOCKS
    filled = [sum(" ▁▂▃▄▅▆▇█".index(row[k]) if k < len(row) else 0 for row in rows) for k in range(len(profile))]
    assert all((level > 0) == (count > 0) for level, count in zip(filled, profile, strict=True))
    assert all(level == height * 8 for level, count in zip(filled, profile, strict=True) if count == max(profile) > 0)
    ordered = sorted(zip(profile, filled, strict=True))
    assert [level for _, level in ordered] == sorted(filled)


def test_the_chart_in_ascii() -> None:
    """Axes, labels and caption are ASCII."""
    assert CHART == (
        "4|  :##\n"
        " |:####:\n"
        "0+------\n"
        "  1    6\n"
        "15 firings in 6 waves, at most 4 in one"
    )  # fmt: skip


def test_the_caption_names_shared_columns() -> None:
    """If waves share a column, the caption says so, and still names the highest wave."""
    drawn = draw_profile([1, 9] * 50, width=60)
    assert "500 firings in 100 waves, at most 9 in one; a column is the" in drawn
    assert "mean of 2 waves" in drawn
    assert "5│█" in drawn


def test_charts_of_extreme_profiles() -> None:
    """No waves, one wave, only zeros, one column, and a number of forty digits are drawn."""
    assert draw_profile([]) == "no firings"
    assert draw_profile([5], height=1).splitlines() == ["5│█", "0└─", "  1", "5 firings in 1 wave, at most 5 in one"]
    assert draw_profile([0, 0], height=1).splitlines()[0] == "1│"
    assert draw_profile([1, 2], width=1, height=2).splitlines()[:2] == ["▄", "█"]
    assert draw_profile([10**40], height=1).startswith("1.0e40│█")


@pytest.mark.parametrize(("profile", "width", "height"), [([1], 0, 1), ([1], 1, 0), ([1, -1], 9, 9)])
def test_wrong_arguments_are_refused(profile: list[int], width: int, height: int) -> None:
    """No columns, no rows, and negative firings are the caller's mistake."""
    with pytest.raises(tl.Usage):
        draw_profile(profile, width=width, height=height)


def test_profile_of_a_run() -> None:
    """The profile that a machine measures can be drawn."""
    stats = fib.run(10).stats
    assert stats.profile is not None
    assert f"{stats.firings:,} firings in {stats.span} waves" in draw_profile(stats.profile)
