"""Pictures of networks are folded until a screen of 1,600 x 1,000 pixels shows all of them in legible letters."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from picture_sizes import grad_power, measure
from support.laws.view_laws import formula_violations, place_violations
from tagloom.core.graph.graph import Graph
from tagloom.tui.load import find_program, program_and_graph
from tagloom.viz import collapse, screen
from tagloom.viz.graph_view import graph_view
from tagloom.viz.pictures import render_picture, trim_view
from tagloom.viz.screen import LEAST_BOXES, SCREEN, fit_screen, is_within, tighten_arrows
from tagloom.viz.size_estimate import PictureSize, estimate_size
from tagloom.viz.state_view import state_view
from tagloom.viz.style import FONT_SIZE
from tagloom.viz.view import View

EXAMPLES = Path(tl.__file__).parent / "papers_examples"

PICTURES = Path(tl.__file__).parent / "docs" / "pictures"

FILES = ("recursion/tree_lstm.py", "eager/l2hmc.py", "tensorflow/digits.py")


@cache
def network(file: str) -> Graph:
    return program_and_graph(find_program(str(EXAMPLES / file)))[1]


@tl.function
def is_even(n: tl.int64) -> tl.bool:
    return True if n == 0 else is_odd(n - 1)


@tl.function
def is_odd(n: tl.int64) -> tl.bool:
    return False if n == 0 else is_even(n - 1)


GRAPHS: dict[str, Callable[[], Graph]] = {
    "gradient of a loop": lambda: grad_power.graph,
    **{file: lambda file=file: network(file) for file in FILES},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", GRAPHS)
def test_networks_are_folded_for_a_screen(name: str) -> None:
    """A network has at least LEAST_BOXES boxes, its estimated size is that of the screen at most, and no node, edge or
    token loses its place."""
    whole = graph_view(GRAPHS[name]())
    view = trim_view(whole)
    assert is_within(view, SCREEN) and len(view.boxes) >= LEAST_BOXES
    assert list(place_violations(whole, view)) == []


FORMULAS = [
    *FILES,
    *(f"autograph/{name}.py" for name in ("beam_search", "lbfgs", "maml", "mnist", "seq2seq", "tree_lstm")),
    *(f"tensorflow/{name}.py" for name in ("embedding", "momentum", "newton", "pipeline", "rnn", "sampled_softmax")),
    *(f"recursion/{name}.py" for name in ("sentiment_trees", "takeuchi", "tree_rnn")),
]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("file", FORMULAS)
def test_formulas_name_what_is_drawn(file: str) -> None:
    """An operand that a folded frame computes has the title of the frame, in pictures of every size."""
    graph = network(file)
    whole = graph_view(graph)
    for share in (1.0, 0.5):
        view = fit_screen(whole, PictureSize(*(share * side for side in SCREEN)))
        assert list(formula_violations(graph, view)) == []


def test_operands_in_folded_frames() -> None:
    """With operands that are not renamed, the formula of a box below a folded frame names what is not drawn."""

    @tl.function
    def model(x: tl.float64, y: tl.float64) -> tl.float64:
        return (tl.mean(tl.stack([x, y])) - x) * x

    whole = graph_view(model.graph)
    folded = collapse.collapse_clusters(whole, [each.name for each in whole.root.walk() if each.kind == "scope"])
    assert "mean - x" in {box.title for box in folded.boxes.values()}
    assert list(formula_violations(model.graph, folded)) == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collapse, "name_hidden_operands", lambda view, root, box_of: None)
        folded = collapse.collapse_clusters(whole, [each.name for each in whole.root.walk() if each.kind == "scope"])
    assert list(formula_violations(model.graph, folded)) != []


class Inner:
    @tl.autograph.inline
    def apply(self, x: Any) -> Any:
        return tl.tanh(x) * 2.0


class Outer:
    @tl.autograph.inline
    def apply(self, x: Any) -> Any:
        return Inner().apply(x)


def test_operands_in_frames_that_are_folded_twice() -> None:
    """Where the frame around a folded frame is folded, too, formulas have the title of the outer one, as if both were
    folded at once."""

    @tl.function
    def model(x: tl.float64) -> tl.float64:
        return (Outer().apply(x) - x) * x

    whole = graph_view(model.graph)
    inner, outer = (collapse.find_clusters(whole, (f"model.{name}.apply",)) for name in ("Inner", "Outer"))
    once = collapse.collapse_clusters(whole, inner)
    assert "Inner.apply - x" in {box.title for box in once.boxes.values()}
    for folded in (collapse.collapse_clusters(once, outer), collapse.collapse_clusters(whole, [*inner, *outer])):
        titles = {box.title for box in folded.boxes.values()}
        assert "Outer.apply - x" in titles and not any("Inner" in title for title in titles)


@pytest.mark.full
@pytest.mark.parametrize("name", GRAPHS)
def test_letters_can_be_read_on_a_screen(name: str) -> None:
    """In Graphviz's own layout the smallest letters have 9 pixels. The estimate of the width is right within two
    fifths, and that of the height within a seventh."""
    view = trim_view(graph_view(GRAPHS[name]()))
    size, estimate = measure(view), estimate_size(view)
    assert size.letters >= 9
    assert 0.6 < estimate.width / size.width < 1.4 and 0.86 < estimate.height / size.height < 1.14


def wide_view(title: str) -> View:
    """Boxes side by side between two others, in one function."""
    view = View("wide", is_static=True)
    function = view.root.add_cluster("function", "step", "")
    for name in ("top", "bottom", *map(str, range(7))):
        function.add_box(name, "arithmetic", title, "add")
    for name in map(str, range(7)):
        view.add_arrow("top", name, "data")
        view.add_arrow(name, "bottom", "data")
    return view


@pytest.mark.full
@pytest.mark.parametrize(("title", "width"), [("gradient_of_weights_1 - float32(0.1)", 20), ("rate * x", 48)])
def test_long_titles_are_wrapped_in_wide_pictures(title: str, width: int) -> None:
    """If a picture is too wide with its titles in one line, long titles take several lines, and nothing is folded."""
    view = fit_screen(wide_view(title))
    assert view.title_width == width and len(view.boxes) == 9
    assert measure(view).letters >= 9
    assert width == 48 or measure(replace(view, title_width=48)).letters < 9


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_letters_of_the_docs_can_be_read_on_a_screen(picture: Path) -> None:
    """The smallest letters of each picture of a graph, a program or a moment have 9 pixels; those of a run as a graph,
    with a box for each firing, may be smaller."""
    svg = picture.read_text()
    match = re.search(r'viewBox="0.00 0.00 ([\d.]+) ([\d.]+)"', svg)
    if match is not None and picture.stem not in ("unfolding", "fib_beside", "fib_critical"):
        assert screen.letter_height(PictureSize(float(match[1]), float(match[2]))) >= 9


@pytest.mark.full
def test_lines_of_a_title_do_not_touch() -> None:
    """Between the lines of a wrapped title is room for underscores: 2 points besides the height of the letters."""
    view = replace(wide_view("weights_of_layer_1 * weights_of_layer_2 * rate"), title_width=20)
    svg = render_picture(view, "svg").decode()
    lines = [float(y) for y in re.findall(r'y="([-\d.]+)"[^>]*>weights_of_layer_[12] \*<', svg)]
    assert lines[1] - lines[0] > FONT_SIZE + 1.9


def chain_with_slices() -> View:
    """A chain of boxes; each takes a bundle of the one before, and a part of the first box."""
    view = View("chain", is_static=True)
    function = view.root.add_cluster("function", "step", "")
    function.add_box("first", "merge", "x, y", "merge")
    for number in range(6):
        function.add_box(f"cell_{number}", "folded", "Cell.apply", "24 nodes")
        function.add_box(f"part_{number}", "arithmetic", f"x[:, {number}, :]", f"index_{number}")
        view.add_arrow("first", f"part_{number}", "data")
        view.add_arrow(f"part_{number}", f"cell_{number}", "data")
        view.add_arrow("first" if number == 0 else f"cell_{number - 1}", f"cell_{number}", "data")
        view.arrows[-1] = view.arrows[-1]._replace(edge_count=2)
    return view


@pytest.mark.full
def test_boxes_have_no_ranks_of_their_own() -> None:
    """A box that could be on any of several ranks is beside others, not among the labels of arrows: a chain of cells is
    lower. Only arrows from such boxes are tight."""
    view = chain_with_slices()
    tight = replace(view, arrows=tighten_arrows(view))
    assert {arrow.tail for arrow in tight.arrows if arrow.is_tight} == {f"part_{number}" for number in range(1, 6)}
    assert measure(tight).height < 0.95 * measure(view).height


def svg_size(svg: bytes) -> PictureSize:
    """The size in points that an SVG names."""
    match = re.search(rb'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    assert match is not None
    return PictureSize(float(match[1]), float(match[2]))


@pytest.mark.full
@pytest.mark.parametrize("name", GRAPHS)
def test_a_browser_shows_all_of_a_network(name: str) -> None:
    """The SVG of a network has at most the pixels of the screen, so it is read without zooming or scrolling."""
    size = svg_size(render_picture(graph_view(GRAPHS[name]()), "svg"))
    assert size.width * 4 / 3 <= 1600.01 and size.height * 4 / 3 <= 1000.01


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [(300, 200, (300, 200)), (1600, 750, (1200, 562.5)), (1200, 1100, (818.18, 750)), (2400, 9, (2400, 9))],
)
def test_legible_pictures_have_the_size_of_a_screen(width: int, height: int, expected: tuple[float, float]) -> None:
    """A picture that is larger than the screen is shrunk in proportion; one whose letters would be too small is not."""
    svg = b'<?xml?>\n<svg width="%dpt" height="%dpt" viewBox="0 0 9 9"></svg>' % (width, height)
    shrunk = screen.shrink_svg(svg)
    assert svg_size(shrunk) == pytest.approx(expected, abs=0.01)
    assert shrunk.startswith(b"<?xml?>\n<svg ") and shrunk.endswith(b'pt" viewBox="0 0 9 9"></svg>')


def test_an_estimate_of_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """If every view seems to fit, nothing is folded."""
    monkeypatch.setattr(screen, "estimate_size", lambda view: PictureSize(0.0, 0.0))
    assert not any(box.kind == "folded" for box in trim_view(graph_view(network(FILES[0]))).boxes.values())


def test_small_views_are_unchanged() -> None:
    """A view that fits is drawn as it is; what unfolded in a run is not folded for a screen."""
    small = graph_view(is_even.graph)
    assert fit_screen(small) is small
    assert fit_screen(small, PictureSize(10.0, 10.0)) is not small
    small.is_static = False
    assert fit_screen(small, PictureSize(10.0, 10.0)) is small


def test_tokens_do_not_change_the_folding() -> None:
    """All moments of a run are folded in the same way, so that pictures of them can be compared."""
    history = grad_power.history(1.5, 3)
    history.run()
    places = set[tuple[tuple[str, str], ...]]()
    for position in (0, 7, 30, 60):
        history.jump(position)
        places.add(tuple(sorted(fit_screen(state_view(history.state)).places.items())))
    assert len(places) == 1 and any(name != place for name, place in next(iter(places)))


@pytest.mark.parametrize("side", ["wide", "high"])
def test_functions_are_arranged_for_the_screen(side: str) -> None:
    """On a wide screen functions stand side by side, on a high one a caller is above what it calls."""
    view = graph_view(network(FILES[0]))
    shape = PictureSize(9e5, 1.0) if side == "wide" else PictureSize(1.0, 9e5)
    calls = [each for each in screen.arrange_functions(view, shape).arrows if each.link == "call"]
    assert all(each.is_unconstrained for each in calls) == (side == "wide")


def test_folding_tries_few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph with many calls of helpers takes a number of estimates that grows with the logarithm of theirs."""

    @tl.autograph.inline
    def helper(x: Any) -> Any:
        return tl.tanh(x * 2.0) - x

    @tl.function
    def chain(x: tl.float64) -> tl.float64:
        for _ in range(100):
            x = helper(x) + 1.0
        return x

    estimates = list[int]()
    monkeypatch.setattr(screen, "estimate_size", lambda view: (estimates.append(0), estimate_size(view))[1])
    view = fit_screen(graph_view(chain.graph))
    assert sum(box.kind == "folded" for box in view.boxes.values()) == 100 and len(estimates) < 50
