"""The layout of the page: wide graphs on screen and paper, labels beside tokens, many activations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from support.pictures.chromium import Tab
from support.pictures.drawings import fib
from tagloom.papers_examples.recursion.ackermann import ack
from tagloom.tui.load import find_program
from tagloom.tui.run_start import RunRequest, StartOptions
from tagloom.viz.dot import to_dot
from tagloom.viz.player.graph_layout import spaced_dot
from tagloom.viz.player.page import PlayerSelection, page_of_beginning, page_of_outcome
from tagloom.viz.view import View

EXAMPLES = Path(tl.__file__).parent / "papers_examples"


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph much wider than a screen, not folded: many sums of an argument that comes in at one of them."""

    @tl.function
    def main(n: tl.int64) -> tl.int64:
        terms = [(n + number) * (n - number) for number in range(30)]
        while len(terms) > 1:
            terms = [left + right for left, right in zip(terms[::2], [*terms[1::2], n], strict=False)]
        return terms[0]

    target = tmp_path_factory.mktemp("pages") / "wide.html"
    page_of_outcome(main.run(5, keep="events"), PlayerSelection(full=True)).save(target)
    return target


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bounded loop that deadlocks: each iteration reads the cell that the next one would fill."""

    @tl.function
    def main(n: tl.int64) -> tl.int64:
        def iteration(j: tl.int64) -> tl.int64:
            tl.put(a, j, 2 * a[j + 1])
            return j + 1

        a = tl.cells(n + 1, tl.int64)
        tl.put(a, n, 1)
        tl.while_loop(lambda j: j < n, iteration, 1, parallel_iterations=1)
        return a[1]

    target = tmp_path_factory.mktemp("pages") / "cells.html"
    main.run(4, keep="events").player().save(target)
    return target


IN_SIGHT = """(() => { const sight = document.getElementById('scroll').getBoundingClientRect();
    const wanted = [...document.querySelectorAll(%s)], inside = (box) =>
        box.left >= sight.left && box.right <= sight.right && box.top >= sight.top && box.bottom <= sight.bottom;
    return [wanted.length, wanted.filter(each => inside(each.getBoundingClientRect())).length]; })()"""


@pytest.mark.full
def test_a_wide_graph_is_followed(tab: Tab, wide: Path) -> None:
    """The page opens on tokens in flight, and at each step some nodes that fired are in sight."""
    tab.open(wide)
    assert tab.run("(pane => pane.scrollWidth > 2 * pane.clientWidth)(document.getElementById('scroll'))")
    assert tab.run(IN_SIGHT % "'#tokens .token'")[1] > 0
    for _ in range(8):
        tab.key("ArrowRight")
        fired, seen = tab.run(IN_SIGHT % "'.node.fired'")
        assert seen > 0 or not fired, tab.text("position")


@pytest.mark.full
def test_a_wide_graph_is_scrolled(tab: Tab, wide: Path) -> None:
    """Shift and an arrow scroll without stepping."""
    tab.open(wide)
    at = "document.getElementById('scroll').scrollLeft"
    tab.run(f"{at} = 100")
    tab.key("Shift+ArrowRight")
    assert tab.run(at) == 160
    tab.key("Shift+ArrowLeft")
    tab.key("Shift+ArrowLeft")
    assert tab.run(at) == 40
    assert tab.run("document.getElementById('slider').value") == "0"


@pytest.mark.full
def test_a_wide_graph_on_paper(tab: Tab, wide: Path) -> None:
    """Each moment has a page of its own, in landscape, as high as its width needs."""
    tab.open(wide)
    tab.printed()
    assert tab.run("document.getElementById('strip').className") == "one wide"
    assert tab.run("[...document.querySelectorAll('#strip svg')].every(each => !each.hasAttribute('style'))")


SCALE = "(plan => parseFloat(plan.style.width) / plan.viewBox.baseVal.width)(document.getElementById('plan'))"
FITS = """(pane => pane.scrollHeight <= pane.clientHeight && pane.scrollWidth <= pane.clientWidth)(
    document.getElementById('scroll'))"""


@pytest.mark.full
def test_a_graph_fits_a_window_that_grows(tab: Tab, cells: Path) -> None:
    """A graph that opens in a small window, at a legible scale, is shown whole when the window is large enough, unless
    the user has chosen a scale."""
    with tab.screen_size(500, 500):
        tab.open(cells)
        assert not tab.run(FITS)
        with tab.screen_size(1600, 1000):
            tab.wait(FITS)
    with tab.screen_size(1600, 1000):
        tab.open(cells)
        tab.click("#larger")
        scale = tab.run(SCALE)
    with tab.screen_size(1500, 900):
        tab.wait("innerWidth === 1500")
        assert tab.run(SCALE) == scale


@pytest.mark.full
@pytest.mark.parametrize("file", ["recursion/takeuchi.py 3 2 1", "autograph/mnist.py 2"])
def test_letters_can_be_read_in_a_large_window(tab: Tab, tmp_path: Path, file: str) -> None:
    """In a window of 1,600 x 1,000 pixels the page shows all of a graph, and its smallest letters, of 10 points, have
    8.5 pixels."""
    name, *arguments = file.split()
    history = RunRequest(str(EXAMPLES / name), tuple(arguments), StartOptions()).history(tl.World(print))
    page_of_beginning(history, PlayerSelection(max_events=50)).save(tmp_path / "page.html")
    with tab.screen_size(1600, 1000):
        tab.open(tmp_path / "page.html")
        tab.wait(FITS)
        assert tab.run(SCALE) >= 0.85


@pytest.mark.full
def test_ranks_of_high_graphs_are_close() -> None:
    """Ranks have room for tokens to move, unless the letters of the graph would then be too small on a screen."""
    low, high = View("low"), View("high")
    for view, count in ((low, 5), (high, 30)):
        for number in range(count):
            view.root.add_box(str(number), "arithmetic", "x + 1")
            if number:
                view.add_arrow(str(number - 1), str(number), "data")
    assert spaced_dot(low) != to_dot(low) and spaced_dot(high) == to_dot(high)


HIDDEN = """(() => { const box = (each) => each.getBoundingClientRect();
    const pills = [...document.querySelectorAll('#tokens rect')].map(box);
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
    return pills.filter((one, i) => pills.some((other, j) => i < j && over(one, other))).length; })()"""


@pytest.mark.full
def test_no_pill_hides_another(tab: Tab, page: Path, cells: Path) -> None:
    """At no step does one token cover another: if many come to a place, they are stacked and counted."""
    for shown in (page, cells):
        tab.open(shown)
        for at in range(5, int(tab.run("document.getElementById('slider').max")), 9):
            tab.run(f"location.hash = '#step={at}'")
            tab.wait(f"document.getElementById('slider').value === '{at}'")
            assert tab.run(HIDDEN) == 0, at


CELLS = "[...document.querySelectorAll('#cells li')].map(each => each.className + ' ' + each.textContent)"


@pytest.mark.full
def test_the_pane_of_cells(tab: Tab, page: Path, cells: Path) -> None:
    """At each step, a cell shows its value and its deferred reads; without cells there is no pane."""
    tab.open(page)
    assert tab.run("document.getElementById('cells-pane').hidden")
    tab.open(cells)
    assert tab.text("cells") == "No array exists yet."
    tab.key("End")
    assert "1 of 5 full" in tab.text("cells")
    reply = tab.run(CELLS)
    assert reply[0] == "empty 0: empty" and reply[1].startswith("deferred") and reply[1].endswith("1: □ main")
    assert reply[2].endswith("2: □ loop[0]") and reply[4] == "full 4: 1"
    tab.run("location.hash = '#step=1'")
    tab.wait("document.getElementById('slider').value === '1'")
    assert tab.run("document.querySelectorAll('#cells .full').length") == 0


@pytest.mark.full
def test_steps_by_firing(tab: Tab, tmp_path: Path) -> None:
    """A run without a clock is stepped by firings: each step ends with one."""
    target = tmp_path / "page.html"
    fib.run(4, keep="events", schedule="random:3").player().save(target)
    tab.open(target)
    assert tab.run("document.getElementById('unit').value") == "firing"
    events = fib.run(4, keep="events", schedule="random:3").events
    for _ in range(6):
        tab.key("ArrowRight")
        assert events[int(tab.run("document.getElementById('slider').value")) - 1].is_firing


@pytest.mark.full
def test_paper_has_legible_moments(tab: Tab, page: Path) -> None:
    """As many moments stand side by side as can be read, each with its description."""
    tab.open(page)
    tab.printed()
    assert tab.run("document.getElementById('strip').className") == "two"
    assert "firings at once" in tab.run("document.querySelectorAll('figcaption')[2].textContent")


@pytest.mark.full
def test_the_edge_cuts_no_mark(tab: Tab, tmp_path: Path) -> None:
    """A long result beside a box at the edge of the drawing is inside the pane."""

    @tl.function
    def third(x: tl.float64) -> tl.float64:
        return x / 3.0

    third.run(1.0, keep="events").player().save(tmp_path / "page.html")
    tab.open(tmp_path / "page.html")
    tab.key("End")
    left = "document.querySelector('#plan').getBoundingClientRect().left"
    marks = "[...document.querySelectorAll('#marks text')]"
    assert "0.33333" in tab.run(f"{marks}.map(each => each.textContent).join()")
    assert tab.run(f"{marks}.every(each => each.getBoundingClientRect().left >= {left})")


@pytest.mark.full
def test_many_results_are_counted(tab: Tab, tmp_path: Path) -> None:
    """Of many results at one box, two have marks, and a third mark has the number of the others."""

    @tl.function
    def sums(x: tl.float64) -> Any:
        return tuple(x + float(number) for number in range(30))

    page_of_outcome(sums.run(2.0, keep="events")).save(tmp_path / "page.html")
    tab.open(tmp_path / "page.html")
    tab.key("End")
    marks = tab.run("[...document.querySelectorAll('#marks text')].map(each => each.textContent)")
    assert len(marks) == 3 and sum(mark.startswith("+28 ") for mark in marks) == 1
    assert tab.run(COVERED) == []


@pytest.mark.full
def test_a_new_address_is_not_lost(tab: Tab, page: Path) -> None:
    """The page goes to a new address, even if it writes that of its old position before it hears of the new one."""
    tab.open(page)
    tab.run("location.hash = '#step=40'; history.replaceState(null, '', '#step=10')")
    tab.wait("document.getElementById('slider').value === '40'")


@pytest.mark.full
def test_labels_cross_no_pill(tab: Tab, page: Path) -> None:
    """At no moment does the tag beside a token cover another token."""
    tab.open(page)
    for at in range(10, 160, 15):
        tab.run(f"location.hash = '#step={at}'")
        tab.wait(f"document.getElementById('slider').value === '{at}'")
        crossed = tab.run(
            """(() => { const box = (each) => each.getBoundingClientRect();
            const pills = [...document.querySelectorAll('#tokens rect')].map(box);
            return [...document.querySelectorAll('#tokens .tag')].filter(each => {
                const label = box(each), far = (pill) => Math.abs(pill.top + pill.bottom - label.top - label.bottom);
                return label.width && pills.some(pill =>
                    pill.left > label.left && pill.left + 1 < label.right && far(pill) < pill.height);
            }).map(each => each.textContent); })()"""
        )
        assert crossed == [], at


@pytest.mark.full
def test_labels_cover_no_letters_of_arrows(tab: Tab, tmp_path: Path) -> None:
    """At no moment does the tag beside a token cover the T or F of a switch, or the count of a bundle."""
    ack.run(1, 2, keep="events").player().save(tmp_path / "page.html")
    tab.open(tmp_path / "page.html")
    assert tab.run("[...document.querySelectorAll('#drawing .edge text')].some(each => each.textContent === '×2')")
    for at in range(10, int(tab.run("document.getElementById('slider').max")), 10):
        tab.run(f"location.hash = '#step={at}'")
        tab.wait(f"document.getElementById('slider').value === '{at}'")
        covered = tab.run(
            """(() => { const box = (each) => each.getBoundingClientRect();
            const texts = [...document.querySelectorAll('#drawing .edge text')];
            const letters = texts.filter(each => each.textContent.trim());
            const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
            return [...document.querySelectorAll('#tokens .tag')].filter(each => box(each).width &&
                letters.some(one => over(box(one), box(each)))).map(each => each.textContent); })()"""
        )
        assert covered == [], at


@pytest.mark.full
def test_a_tree_of_many_activations(tab: Tab, tmp_path: Path) -> None:
    """The tree shows a part of many activations, and counts the others."""
    target = tmp_path / "page.html"
    fib.run(17, keep="events").player(most=40_000).save(target)
    tab.open(target)
    last = tab.run("[...document.querySelectorAll('#tags li')].pop().textContent")
    assert last.endswith(" more; play --under TAG shows one with all below it")
    tab.click("#tags li:last-child")
    assert tab.text("filter") == "All activations are shown."


COVERED = """(() => { const box = (each) => each.getBoundingClientRect();
    const texts = [...document.querySelectorAll('#drawing text')]
        .filter(each => each.textContent.trim() && !each.closest('#tokens'));
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
    const sight = box(document.getElementById('plan'));
    const isCut = (each) => each.left < sight.left - 1 || each.right > sight.right + 1 ||
        each.top < sight.top - 1 || each.bottom > sight.bottom + 1;
    const cut = [...document.querySelectorAll('#tokens rect, #marks text')].filter(each => isCut(box(each)));
    return [...cut.map(each => `${each.parentNode.textContent} is cut`),
        ...[...document.querySelectorAll('#tokens rect, #tokens .tag')].filter(each => box(each).width).flatMap(each =>
            texts.filter(one => over(box(one), box(each)))
                .map(one => `${each.parentNode.textContent} covers ${one.textContent}`))]; })()"""


@pytest.mark.full
def test_tokens_cover_no_letters(tab: Tab, page: Path, tmp_path: Path) -> None:
    """At no moment does a token, or the tag beside it, cover the text of a box, an arrow, a frame or a mark, and no
    edge cuts a token or a mark."""
    ack.run(1, 2, keep="events").player().save(tmp_path / "ack.html")
    tree = ("[-1, -1, 0]", "[-1, -1, 1]", "[0, 1, -1]", "[1, 0, 1]", "[2]")
    request = RunRequest(str(EXAMPLES / "recursion/tree_rnn.py"), tree, StartOptions())
    history = request.history(tl.World(print))
    history.run()
    history.player().save(tmp_path / "tree.html")
    l2hmc = "[[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [9.0, -9.0]]"
    history = RunRequest(str(EXAMPLES / "eager/l2hmc.py"), (l2hmc,), StartOptions()).history(tl.World(print))
    page_of_beginning(history, PlayerSelection(max_events=800)).save(tmp_path / "l2hmc.html")
    for path in (page, *(tmp_path / f"{name}.html" for name in ("ack", "tree", "l2hmc"))):
        tab.open(path)
        last = int(tab.run("document.getElementById('slider').max"))
        for at in range(0, last, max(last // 40, 1)):
            tab.run(f"location.hash = '#step={at}'")
            tab.wait(f"document.getElementById('slider').value === '{at}'")
            assert tab.run(COVERED) == [], (path.name, at)


@pytest.mark.full
def test_no_row_of_source_has_only_a_number(tab: Tab, tmp_path: Path) -> None:
    """A line that begins with a name longer than the pane begins beside its number, and is broken where the row ends;
    a shorter name stays whole."""
    long_name = "the_sum_of_all_numbers_up_to_the_argument_" * 3
    file = tmp_path / "names.py"
    file.write_text(
        "import tagloom as tl\n\n\n@tl.function\ndef total(n: tl.int64) -> tl.int64:\n"
        f"    {long_name} = n + 1\n    return {long_name}\n"
    )
    page = tmp_path / "names.html"
    page.write_text(find_program(f"{file}:total").run(2, keep="events").player().html)
    tab.open(page)
    parts = tab.run(
        """[...document.querySelectorAll('.begin')].map(part => [part.textContent.trim(), part.getClientRects().length,
        part.getClientRects()[0].width / part.closest('.line').clientWidth])"""
    )
    rows, first_width = {text: (count, width) for text, count, width in parts}[long_name]
    assert rows > 1 and first_width > 0.5
    assert [count for text, count, _ in parts if text == "return"] == [1]
