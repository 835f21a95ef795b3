"""Titles of frames: no arrow runs through their letters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tagloom as tl
from support.pictures.drawings import fib
from tagloom.viz import pictures
from tagloom.viz.dot import to_dot
from tagloom.viz.frame_titles import (
    arrow_lines,
    clear_titles,
    crossing_count,
    frame_titles,
    shift_titles,
    title_shifts,
)
from tagloom.viz.graph_view import graph_view
from tagloom.viz.operand_order import order_operands
from tagloom.viz.pictures import render_picture
from tagloom.viz.render import LAYOUT_FORMAT, render

PICTURES = [
    path
    for path in sorted((Path(tl.__file__).parent / "docs" / "pictures").glob("*.svg"))
    if 'class="cluster' in path.read_text()
]


def crossed_titles(svg: str) -> list[float]:
    """The left ends of the titles that an arrow crosses."""
    arrows = arrow_lines(svg)
    return [title.start for title in frame_titles(svg) if crossing_count(title, arrows)]


@pytest.mark.full
def test_no_arrow_crosses_a_title() -> None:
    """In the pictures of the docs, each title is beside all arrows, or in front of them."""
    assert len(PICTURES) > 30
    assert [path.name for path in PICTURES if crossed_titles(path.read_text())] == []


@pytest.mark.full
def test_titles_where_graphviz_places_them_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the move, the arrow of a call crosses the title of the branch in fib."""
    assert crossed_titles(render_picture(graph_view(fib.graph), "svg").decode()) == []
    monkeypatch.setattr(pictures, "clear_titles", lambda svg: svg)
    assert crossed_titles(render_picture(graph_view(fib.graph), "svg").decode())


@pytest.mark.full
def test_titles_of_other_formats_are_where_they_are_in_svg() -> None:
    """PNG and PDF are drawn from a layout with the titles moved: drawn as SVG, it has no crossed title, and the same
    boxes and arrows."""
    source = to_dot(order_operands(graph_view(fib.graph)))
    svg = render(source, "svg").decode()
    shifts = title_shifts(svg)
    assert shifts and crossed_titles(svg)
    layout = render(source, LAYOUT_FORMAT).decode()
    moved = render(shift_titles(layout, shifts), "svg", engine="nop2").decode()
    assert crossed_titles(moved) == []
    edges, edges_before = (sorted(re.findall(r"<title>.*?&#45;&gt;.*?</title>", text)) for text in (moved, svg))
    assert edges == edges_before
    assert len(list(frame_titles(moved))) == len(list(frame_titles(svg)))
    assert render_picture(graph_view(fib.graph), "png") != render(source, "png")


def svg_of(width: int, *arrows: str) -> str:
    """An SVG as Graphviz writes it: a frame of a width with the title `if n < 1`, and arrows."""
    edges = "".join(
        f'<g id="edge{number}" class="edge data"><path stroke="black" d="{curve}"/></g>'
        for number, curve in enumerate(arrows)
    )
    return (
        '<svg><g id="graph0"><polygon fill="white" stroke="none" points="0,0"/>'
        f'<g id="clust1" class="cluster branch"><g><a><polygon points="0,0 0,100 {width},100"/>'
        '<text x="8" y="20" font-size="12">if n &lt; 1</text></a></g></g>'
        f"{edges}</g></svg>"
    )


def title_of(svg: str) -> tuple[float, bool]:
    """Where the title begins, and whether it is in front of the arrows."""
    (title,) = re.findall(r'<text[^>]* x="([-\d.]+)"[^>]*>if n', svg)
    return float(title), svg.rindex("<text") > svg.rindex("<path") and "paint-order" in svg


VERTICAL = "M{0},0C{0},10 {0},30 {0},60"


@pytest.mark.full
def test_titles_move_behind_arrows_or_interrupt_them() -> None:
    """A title moves behind the last of the arrows that leave no room before them. If there is room nowhere, it has a
    halo, where the fewest arrows are."""
    first, second = VERTICAL.format(20), VERTICAL.format(60)
    assert title_of(clear_titles(svg_of(200, VERTICAL.format(150)))) == (8, False)
    assert title_of(clear_titles(svg_of(200, first))) == (24, False)
    assert title_of(clear_titles(svg_of(200, first, second))) == (64, False)
    assert title_of(clear_titles(svg_of(100, first, second))) == (8, True)
    assert clear_titles(svg_of(200)) == svg_of(200)
