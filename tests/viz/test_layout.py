"""The layout of boxes by Graphviz, in whole columns."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from support.pictures.drawings import FUNCTIONS, graphs
from tagloom.viz.graph_view import graph_view
from tagloom.viz.terminal.box_rows import BoxRow, BoxStyle, build_box_rows
from tagloom.viz.terminal.layout import CellLayout, lay_out_rows
from tagloom.viz.view import View


def laid_out(view: View, writing: BoxStyle) -> tuple[list[BoxRow], CellLayout]:
    rows = build_box_rows(view, writing, Counter())
    return rows, lay_out_rows(view, rows)


def check(view: View, writing: BoxStyle) -> None:
    """Each box stands once, none touches another, and frames surround their boxes."""
    rows, actual = laid_out(view, writing)
    assert sorted(slot.box for row in rows for slot in row.boxes) == sorted(view.boxes)
    assert actual.placements.keys() == {row.name for row in rows}
    spans = {
        row.name: (actual.placements[row.name].column, actual.placements[row.name].column + row.width) for row in rows
    }
    for rank in range(actual.ranks):
        beside = sorted(spans[name] for name, stand in actual.placements.items() if stand.rank == rank)
        assert beside, "a rank without boxes"
        assert all(right[0] - left[1] >= 2 for left, right in pairwise(beside))
    home = {slot.box: row.name for row in rows for slot in row.boxes}
    for cluster in view.root.walk():
        if cluster.name in actual.frames:
            frame = actual.frames[cluster.name]
            inside = {home[name] for one in cluster.walk() for name in one.boxes}
            for name, (start, end) in spans.items():
                within = frame.first_rank <= actual.placements[name].rank <= frame.last_rank
                if name in inside:
                    assert within and frame.left_column < start and end <= frame.right_column
                elif within:
                    assert end <= frame.left_column or start > frame.right_column


@pytest.mark.full
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("writing", [BoxStyle(), BoxStyle(uses_letters=True, max_length=8, max_joined=3)])
def test_boxes_and_frames_stand_apart(name: str, writing: BoxStyle) -> None:
    """This holds for words, and for letters with chains on one line; all frames are drawn."""
    view = graph_view(FUNCTIONS[name].graph)
    check(view, writing)
    clusters = {cluster.name for cluster in view.root.walk()} - {view.root.name}
    assert laid_out(view, writing)[1].frames.keys() == clusters


@settings(max_examples=10)
@given(graphs())
def test_any_graph_is_laid_out(graph: Any) -> None:
    """Invalid graphs are laid out, too."""
    check(graph_view(graph), BoxStyle())


@pytest.mark.full
def test_ranks_follow_the_arrows() -> None:
    """An arrow goes down, unless it is reversed or free; a reversed one goes up."""
    view = graph_view(FUNCTIONS["nested"].graph)
    rows, result = laid_out(view, BoxStyle())
    rank = {slot.box: result.placements[row.name].rank for row in rows for slot in row.boxes}
    for arrow in view.arrows:
        first, last = (arrow.head, arrow.tail) if arrow.is_reversed else (arrow.tail, arrow.head)
        assert rank[first] < rank[last]


def test_courses_are_between_the_ends() -> None:
    """An arrow over several ranks has its course between them."""
    view = graph_view(FUNCTIONS["fib"].graph)
    rows, actual = laid_out(view, BoxStyle())
    rank = {slot.box: actual.placements[row.name].rank for row in rows for slot in row.boxes}
    long = 0
    for number, arrow in enumerate(view.arrows):
        first, last = sorted((rank[arrow.tail], rank[arrow.head]))
        if last - first > 1:
            assert set(range(first + 1, last)) <= actual.courses[number].keys()
            long += 1
    assert long


def test_chains_share_a_line() -> None:
    """A box whose only source has no other target stands in its line, and no arrow is lost."""
    view = graph_view(FUNCTIONS["nested"].graph)
    rows = build_box_rows(view, BoxStyle(max_joined=2), Counter())
    joints = [joint for row in rows for joint in row.joints]
    assert joints and len(set(joints)) == len(joints)
    for row in rows:
        assert [view.arrows[joint][:2] for joint in row.joints] == [
            (left.box, right.box) for left, right in pairwise(row.boxes)
        ]
    assert not any(set(one.joints) & set(other.joints) for one, other in combinations(rows, 2))
