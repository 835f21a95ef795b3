"""Views in character cells: a drawing can be read back from its characters alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.generator import Case, cases
from support.laws.cell_laws import violations
from support.pictures.drawings import FUNCTIONS, graphs, nested, race
from tagloom.core.graph.lower import lower
from tagloom.interp.history.history import History
from tagloom.viz.collapse import fold_bundles, remove_branch_frames
from tagloom.viz.graph_view import graph_view
from tagloom.viz.pictures import run_picture
from tagloom.viz.program_view import program_view
from tagloom.viz.state_view import state_view
from tagloom.viz.style import BADGE_LOOKS, LINE_LOOKS
from tagloom.viz.terminal import compress as seams
from tagloom.viz.terminal import paint, routes, tracks
from tagloom.viz.terminal.badges import draw_badges
from tagloom.viz.terminal.drawing import HEIGHT, LINK_MEANINGS, WIDTH, draw_cells, redraw
from tagloom.viz.terminal.grid import HEADS, STROKES, GridCell, to_text
from tagloom.viz.terminal.paint import title_rooms
from tagloom.viz.view import Badge, View

DRAWINGS = Path(__file__).parent / "drawings"
"""To write them anew, after looking at what changes: PYTHONPATH=tests python tests/viz/test_terminal.py."""

GOLDEN = ("fib", "nested", "ack")
VIEWS = {
    **{name: graph_view(function.graph) for name, function in FUNCTIONS.items()},
    **{f"{name}-program": program_view(function.program) for name, function in FUNCTIONS.items()},
    "race": graph_view(race()),
}


@tl.function
def shared(n: tl.int64) -> tl.int64:
    """Cells that a loop fills."""
    a, _ = tl.while_loop(lambda a, i: i < n, lambda a, i: (tl.put(a, i, i * i), i + 1), tl.cells(n, tl.int64), 0)
    return a[0] + a[n - 1]


def check(view: View, **size: int) -> None:
    drawing = draw_cells(view, **size)
    assert not [*violations(drawing, view)], drawing.text()


@pytest.mark.full
@pytest.mark.parametrize("name", VIEWS)
def test_drawings_can_be_read(name: str) -> None:
    """Each box is drawn once, and each arrow goes from its tail to its head, with its kind and output."""
    check(VIEWS[name])


@pytest.mark.full
@pytest.mark.parametrize("name", ["fib", "even", "race"])
@pytest.mark.parametrize("size", [(1, 1), (60, 20), (400, 400)])
def test_drawings_of_any_size_can_be_read(name: str, size: tuple[int, int]) -> None:
    """This holds however much is cut out, or shortened, to fit."""
    check(VIEWS[name], width=size[0], height=size[1])


@settings(max_examples=8)
@given(graphs())
def test_any_graph_can_be_drawn(graph: Any) -> None:
    """Invalid graphs can be drawn, with strange names."""
    check(graph_view(graph))


@pytest.mark.full
@pytest.mark.parametrize("name", ["unfolded", "critical", "tags", "beside"])
@pytest.mark.parametrize("function", [shared, FUNCTIONS["fib"]])
def test_runs_can_be_drawn(name: str, function: Any) -> None:
    """Firings are drawn with their dependences through cells; trees of tags have lines without heads."""
    history = History(function.graph, [np.int64(3)])
    history.run()
    view = run_picture(history, name)
    assert isinstance(view, View)
    draw_cells(view)
    for cluster in view.root.walk():
        cluster.boxes = {box.name: box._replace(badges=(), emphasized=False) for box in cluster.boxes.values()}
    view.arrows = [arrow._replace(link="data") if arrow.link == "below" else arrow for arrow in view.arrows]
    check(view)


def test_arrows_differ() -> None:
    """Each kind of arrow has its own line and head, in ASCII too, and a meaning."""
    kinds = [(STROKES[line.style], HEADS[line.head]) for line in LINE_LOOKS.values()]
    for ways in (
        [(stroke.glyphs, *(signs[:1] for signs in head)) for stroke, head in kinds],
        [(stroke.vertical, *(signs[1:] for signs in head)) for stroke, head in kinds],
        [(stroke.horizontal, *(signs[1:] for signs in head)) for stroke, head in kinds],
    ):
        assert len(set(ways)) == len(LINE_LOOKS)
    assert LINK_MEANINGS.keys() == LINE_LOOKS.keys()
    assert len(set(LINK_MEANINGS.values())) == len(LINE_LOOKS)


@pytest.mark.full
@pytest.mark.parametrize("name", GOLDEN)
def test_drawings_are_as_stored(name: str) -> None:
    """The drawings fit into 120 columns and 40 rows, and are as stored."""
    drawing = draw_cells(remove_branch_frames(VIEWS[name]))
    assert drawing.fits
    assert drawing.size <= (WIDTH, HEIGHT)
    assert drawing.text() + "\n" == (DRAWINGS / f"{name}.txt").read_text()


def test_the_page_of_pictures_has_fib() -> None:
    """docs/pictures.md has the drawing of fib."""
    page = Path(__file__).parents[2] / "docs" / "pictures.md"
    assert f"```text\n{(DRAWINGS / 'fib.txt').read_text()}```" in page.read_text()


@pytest.mark.full
def test_drawings_are_stable() -> None:
    """The same view gives the same cells."""
    assert draw_cells(VIEWS["ack"]) == draw_cells(graph_view(FUNCTIONS["ack"].graph))


@pytest.mark.full
def test_ascii_is_the_same_drawing() -> None:
    """An ASCII drawing has ASCII only, in the same cells, and the meaning of its signs."""
    drawing = draw_cells(VIEWS["nested"])
    plain = drawing.text(unicode=False)
    assert plain.isascii()
    assert to_text(drawing.legend, unicode=False).isascii()
    assert re.sub("[^ \n]", "x", plain) == re.sub("[^ \n]", "x", drawing.text())


def test_titles_are_cut_only_where_room_is_missing() -> None:
    """A title is cut if the drawing is too wide with it, and a list of names then keeps the number of the others."""
    view = View("lists")
    view.root.add_box("a", "argument", "trees_left, trees_right, trees_word, \u2026 10 more")
    assert "trees_left, trees_right, trees_word, \u2026 10 more" in draw_cells(view, width=80).text()
    assert "trees_left +12" in draw_cells(view, width=40).text()
    assert "tre~ +12" in draw_cells(view, width=14).text()
    wide = draw_cells(view, width=40, max_width=80)
    assert wide.fits and "trees_left +12" in wide.text()


def test_boxes_have_the_names_that_formulas_give_them() -> None:
    """A box that the formula of another box names begins with that name, where there is room; the name of a function is
    no operand."""
    view = View("names")
    view.root.add_box("n1", "arithmetic", "sum(a * a)", "sum")
    view.root.add_box("n2", "arithmetic", "b + 1", "add")
    view.root.add_box("n3", "arithmetic", "sum(c) + add", "add_1")
    view.add_arrow("n1", "n3", "data")
    view.add_arrow("n2", "n3", "data")
    assert "(sum(a * a))  (add = b + 1)" in draw_cells(view, width=40).text()
    assert "(sum(a * a))  (b + 1)" in draw_cells(view, width=24).text()


def test_titles_of_frames_stand_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrows enter the frame from above, so its title stands below; without the lower side it is cut."""
    view = View("frame")
    inner = view.root.add_cluster("scope", "decoder", "")
    inner.add_box("to", "arithmetic", "lstm_cell(x, y, z, h)", "lstm_cell")
    for name in "xyzh":
        view.root.add_box(name, "argument", name)
        view.add_arrow(name, "to", "data")
    assert "decoder" in draw_cells(view).text()
    monkeypatch.setattr(
        paint, "title_rooms", lambda canvas, row, border: title_rooms(canvas, row, border)[: border.is_upper]
    )
    assert "decoder" not in draw_cells(view).text()


@pytest.mark.full
def test_large_drawings_say_so() -> None:
    """A drawing that does not fit says so; it has words and room, since it must be scrolled."""
    drawing = draw_cells(VIEWS["ack"], width=20, height=10)
    assert not drawing.fits
    assert "merge m" in drawing.text()


@pytest.mark.full
def test_letters_are_explained() -> None:
    """If letters stand for words, or alone distinguish kinds of boxes, the legend explains them."""
    large, small = draw_cells(VIEWS["main"], width=400, height=400), draw_cells(VIEWS["main"])
    for drawing, letters in ((large, False), (small, True)):
        assert ("\\M x" in drawing.text()) == ("M merge" in to_text(drawing.legend)) == letters
    view = View("effects")
    view.root.add_box("a", "argument", "n")
    view.root.add_box("p", "effect", "print n")
    assert to_text(draw_cells(view).legend) == "! effect"


@pytest.mark.full
def test_tokens_stand_at_their_places() -> None:
    """At every moment of a run, everything with a badge shows its first sign, and nothing moves for it."""
    history = History(FUNCTIONS["nested"].graph, [np.int64(3)])
    history.run()
    still = draw_cells(VIEWS["nested"])
    for position in range(5, len(history), 60):
        history.jump(position)
        view = state_view(history.state, history[position - 1])
        drawing = draw_cells(view)
        assert drawing.size == still.size
        assert drawing.rows == redraw(still, view).rows
        where = drawing.cell_positions()
        assert all(
            set(cells) <= set(where[thing]) or thing not in view.boxes
            for thing, cells in still.cell_positions().items()
        )
        things: list[tuple[str | int, Any]] = [*view.boxes.items(), *enumerate(view.arrows)]
        for thing, what in things:
            signs = {drawing.rows[row][column].glyph for row, column in where[thing]}
            assert not what.badges or BADGE_LOOKS[what.badges[0].mark].glyph in signs, (thing, what.badges)


def test_boxes_at_the_right_edge_have_room_for_badges() -> None:
    """A drawing that is narrower than its pane has a blank column behind boxes that would touch its edge."""
    view = fold_bundles(graph_view(nested.graph))
    for width in (60, 120):
        rows = draw_cells(view, width=width, height=60).base_rows
        assert len(rows[0]) == width or all(row[-1] == GridCell() for row in rows)


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        (" [+ f] ", " [+ f]\u25cf"),
        (" [+ f]|", "\u25cf[+ f]|"),
        ("|[+ f]|", "|[+ f\u25cf|"),
        ("|[+ layer_1]|", "|[+ layer_\u25cf]|"),
    ],
)
def test_badges_of_boxes_leave_their_text(around: str, expected: str) -> None:
    """A badge stands to the right of a box or, without room there, to the left. If neither is free, it covers the last
    letter in the box, whose end shows its kind, or in a box of few letters the end."""
    ends = {" ": GridCell(), "|": GridCell("|", owners=(0,))}
    box = (GridCell(glyph, owners=("n0",)) for glyph in around[1:-1])
    row = (ends[around[0]], *box, ends[around[-1]])
    view = View("tokens")
    view.root.add_box("n0", "folded", "f")
    view.root.boxes["n0"] = view.boxes["n0"]._replace(badges=(Badge("flight", "5"),))
    (drawn,) = draw_badges([row], view)
    assert "".join(cell.glyph for cell in drawn) == expected


@pytest.mark.full
def test_tokens_without_room_are_counted() -> None:
    """Many tokens in little room are a sign and a number."""
    view = graph_view(FUNCTIONS["fib"].graph)
    view.arrows[0] = view.arrows[0]._replace(badges=(Badge("flight", "123456"),) * 12)
    text = draw_cells(view).text()
    assert "\u25cf123456" in text
    assert "+1" in text


@pytest.mark.full
def test_colours_are_for_terminals() -> None:
    """Text with colours is the same text between escape sequences."""
    drawing = draw_cells(VIEWS["fib"])
    coloured = drawing.text(colours=True)
    assert "\x1b[38;5;" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == drawing.text()


@pytest.mark.full
@pytest.mark.parametrize("broken", ["tracks", "behind", "columns", "seams"])
def test_broken_drawings_are_caught(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrows that share a track or column, or seem to continue behind others in ASCII, and gaps in cut drawings are
    caught."""
    size = (120, 40)
    if broken == "tracks":
        monkeypatch.setattr(tracks, "overlap", lambda one, other, upright: False)
    elif broken == "behind":
        meet = tracks.overlap
        monkeypatch.setattr(tracks, "overlap", lambda one, other, upright: meet(one, other, ()))
    elif broken == "columns":
        monkeypatch.setattr(routes._ArrowRouter, "_is_free", lambda self, channel, column, arrow: True)
    else:
        size = (90, 25)
        every = [True] * 500
        monkeypatch.setattr(seams, "passable_columns", lambda above, row, up, down: (every, every))
    views = (VIEWS[name] for name in ("ack", "nested", "main"))
    assert any([*violations(draw_cells(view, width=size[0], height=size[1]), view)] for view in views)


@pytest.mark.heavy
@settings(max_examples=60, deadline=None)
@given(graphs())
def test_many_graphs_can_be_drawn(graph: Any) -> None:
    """Many graphs can be drawn, in little room and in enough."""
    for size in (40, 120):
        check(graph_view(graph), width=size, height=size // 3)


@pytest.mark.heavy
@settings(max_examples=20, deadline=None)
@given(cases())
def test_generated_programs_can_be_drawn(case: Case) -> None:
    """Graphs and structured forms of generated programs can be drawn."""
    check(graph_view(lower(case.program)))
    check(program_view(case.program))


if __name__ == "__main__":
    for chosen in GOLDEN:
        (DRAWINGS / f"{chosen}.txt").write_text(draw_cells(remove_branch_frames(VIEWS[chosen])).text() + "\n")
