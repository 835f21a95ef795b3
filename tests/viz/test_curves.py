"""Learning curves show every number at its place, on light and dark paper."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from tagloom.viz.curves import curves_svg, ticks
from tagloom.viz.style import DARK, LIGHT

SERIES = st.dictionaries(st.integers(-(10**6), 10**9), st.floats(), min_size=1)


def lines(svg: str) -> list[list[tuple[float, float]]]:
    """The points of each line."""
    result = re.findall(r'<polyline points="([^"]*)"', svg)
    return [[tuple(map(float, point.split(","))) for point in line.split()] for line in result]  # type: ignore[misc]


@given(series=st.dictionaries(st.text(), SERIES, min_size=1, max_size=3))
def test_every_number_is_drawn(series: Any) -> None:
    """For any numbers, the picture is XML, and each finite one is a point inside its chart."""
    finite = [sum(map(math.isfinite, numbers.values())) for numbers in series.values()]
    ordered = {name: dict(sorted(numbers.items())) for name, numbers in series.items()}
    if not any(finite):
        with pytest.raises(tl.Usage, match="no numbers to draw"):
            curves_svg("run", ordered)
        return
    svg = curves_svg("run", ordered)
    root = ElementTree.fromstring(svg)
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    points = [point for line in lines(svg) for point in line]
    assert all(0 <= x <= wide and 0 <= y <= high for x, y in points)
    assert len(points) >= sum(finite)


def test_points_are_at_their_places() -> None:
    """The highest number is at the top and the lowest at the bottom, the first step at the left and the last at the
    right; numbers that are not finite are gaps."""
    numbers = {0: 4.0, 10: 2.0, 20: math.nan, 30: 1.0, 40: 0.0}
    (first, second), reply = (
        lines(curves_svg("run.jsonl", {"loss": numbers})),
        curves_svg("run.jsonl", {"loss": numbers}),
    )
    assert [x for x, _ in (*first, *second)] == [80.0, 220.0, 500.0, 640.0]
    assert [y for _, y in (*first, *second)] == [60.0, 135.0, 172.5, 210.0]
    assert "loss, 0 at last; 1 not finite" in reply and "run.jsonl: 5 steps" in reply


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_curves_are_legible(theme: Any) -> None:
    """Lines and words have a contrast of at least 4.5 with the paper."""
    svg = curves_svg("run", {"loss": {0: 1.0, 1: 0.5}}, theme)
    colours = set(re.findall(r'<text[^>]*fill="(#\w{6})"', svg)) | set(
        re.findall(r'<polyline[^>]*stroke="(#\w{6})"', svg)
    )
    assert len(colours) == 3
    for colour in colours:
        bright, dim = sorted((luminance(colour), luminance(theme.background)), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) > 4.5, colour


def luminance(colour: str) -> float:
    """The luminance of a colour by the guidelines for accessible pages (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_curve_shows_itself(tmp_path: Path) -> None:
    """A curve is an SVG in notebooks, and is saved as one."""
    (tmp_path / "run.jsonl").write_text('{"step": 0, "loss": 1.0}\n{"step": 1, "loss": 0.5}\n')
    result = tl.curve(tmp_path / "run.jsonl", dark=True)
    result.save(tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").read_text() == result._repr_svg_() and repr(result) == "<curves of run.jsonl>"
    for wrong, text in (("curve.png", "drawn as svg"), ("no/curve.svg", "cannot be written")):
        with pytest.raises(tl.Usage, match=text):
            result.save(tmp_path / wrong)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_ticks_are_round(one: float, other: float) -> None:
    """For any ends, a few rising ticks lead from one end to the other; those of one chart have different labels."""
    low, high = sorted((one, other))
    actual = ticks(low, high, 5)
    assert actual == sorted(actual) and low <= actual[0] and actual[-1] <= high and len(actual) <= 7
    words = re.findall(r'text-anchor="end"[^>]*>([^<]*)<', curves_svg("run", {"loss": {0: low, 1: high}}))
    assert len(words) == len(set(words)) > 1
