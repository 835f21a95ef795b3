"""Folded parts of the graph are unfolded on the page by a click or a key, and folded again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tagloom as tl
from support.pictures.chromium import Tab
from tagloom.viz.player import graph_layout
from tagloom.viz.player.graph_layout import plan_views
from tagloom.viz.player.live import build_live_page
from tagloom.viz.player.page import PlayerSelection


@tl.function
def halved(n: tl.int64) -> tl.int64:
    total = 0
    while n > 1:
        with tl.scope("halving"):
            half = n // 2
            n = half + 0
        total = total + n
    return total


@tl.function
def main(n: tl.int64) -> tl.int64:
    return halved(n) + halved(n + 3)


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page on which a function with a loop with a scope is folded."""
    target = tmp_path_factory.mktemp("pages") / "folded.html"
    main.run(9, keep="events").player(fold=["halved"]).save(target)
    return target


NAMES = "[...document.querySelectorAll('#plan [role=button]')].map(each => each.id.slice(2)).sort()"
EXPANDABLE = "[...document.querySelectorAll('#plan [aria-expanded=false]')].map(each => each.id.slice(2)).sort()"
FOCUSED = "document.activeElement.id.slice(2)"
PLACED = """[...document.querySelectorAll('.token')].every(each => {
    const [x, y] = each.getAttribute('transform').match(/-?[\\d.]+/g).map(Number);
    const box = document.getElementById('drawing').getBBox();
    return x > box.x - 40 && x < box.x + box.width + 40 && y > box.y - 40 && y < box.y + box.height + 40; })"""


@pytest.mark.full
def test_each_part_is_unfolded_by_clicks(tab: Tab, folded: Path) -> None:
    """A click on a folded box draws its contents, to any depth, at the same position of the run; the button folds
    them again, a level each time."""
    plans = plan_views(main.graph, 400, ("halved",)).plans
    assert len(plans) >= 4
    tab.open(folded, "#step=12")
    tokens, result = tab.run("document.querySelectorAll('.token').length"), tab.text("position")
    assert (
        tokens and tab.run(NAMES) == sorted(plans[0].view.boxes) and tab.run("document.getElementById('fold').hidden")
    )
    for number, plan in enumerate(plans[1:], 1):
        chain, outer = [number], plan.parent
        while outer:
            chain, outer = [outer, *chain], plans[outer].parent
        for opened in chain:
            assert plans[opened].unfolded_box in tab.run(EXPANDABLE)
            tab.click(f"#b-{plans[opened].unfolded_box}")
            assert tab.run(NAMES) == sorted(plans[opened].view.boxes)
            assert f"Fold {plans[opened].title} again" in tab.text("fold") and tab.run(PLACED)
        assert tab.text("position") == result
        for opened in reversed(chain):
            tab.click("#fold")
            assert tab.run(NAMES) == sorted(plans[plans[opened].parent].view.boxes)
            assert tab.run(FOCUSED) == plans[opened].unfolded_box
    assert tab.run("document.getElementById('fold').hidden")


@pytest.mark.full
def test_each_part_is_unfolded_by_keys(tab: Tab, folded: Path) -> None:
    """The key `o` and Enter unfold the focused box; `o` elsewhere folds; Space selects the box instead."""
    plans = plan_views(main.graph, 400, ("halved",)).plans
    box = plans[1].unfolded_box
    tab.open(folded, "#step=12")
    for key in ("o", "Enter"):
        tab.run(f"document.getElementById('b-{box}').focus()")
        tab.key(key)
        assert tab.run(NAMES) == sorted(plans[1].view.boxes)
        assert tab.run(FOCUSED) in plans[1].view.boxes.keys() - plans[0].view.boxes.keys()
        tab.run("document.getElementById('scroll').focus()")
        tab.key("o")
        assert tab.run(NAMES) == sorted(plans[0].view.boxes) and tab.run(FOCUSED) == box
    tab.key("Space")
    assert tab.run(NAMES) == sorted(plans[0].view.boxes)
    assert tab.run(f"document.getElementById('b-{box}').classList.contains('chosen')")


@pytest.mark.full
def test_steps_go_on_in_an_unfolded_graph(tab: Tab, folded: Path) -> None:
    """After unfolding, each step marks the boxes of the nodes that fire, and the address keeps what is unfolded."""
    plans = plan_views(main.graph, 400, ("halved",)).plans
    tab.open(folded)
    tab.click(f"#b-{plans[1].unfolded_box}")
    fired, history = set[str](), main.history(9)
    history.run()
    while not tab.run("document.getElementById('result').textContent"):
        tab.key("ArrowRight")
        fired |= set(tab.run("[...document.querySelectorAll('.fired')].map(each => each.id.slice(2))"))
    nodes = {event.token.node for event in history[:] if event.is_firing}
    assert fired == {plans[1].drawn_boxes[f"n{node}"] for node in nodes}
    tab.wait(f"location.hash.endsWith('&unfold={plans[1].unfolded_box}')")
    address = tab.run("location.hash")
    tab.open(folded, address)
    assert tab.run(NAMES) == sorted(plans[1].view.boxes)
    tab.open(folded, "#step=3&unfold=nothing")
    assert tab.run(NAMES) == sorted(plans[0].view.boxes)


@pytest.mark.full
def test_predictions_do_not_unfold(tab: Tab, folded: Path) -> None:
    """While a reader predicts, a click is a guess."""
    tab.open(folded)
    tab.key("p")
    box = tab.run(EXPANDABLE)[0]
    tab.click(f"#b-{box}")
    assert tab.run(f"document.getElementById('b-{box}').classList.contains('guessed')")
    assert json.loads(tab.run("JSON.stringify(document.getElementById('fold').hidden)"))


@pytest.mark.full
def test_a_page_that_computes_unfolds(tab: Tab, tmp_path: Path) -> None:
    """A live page unfolds in the same way, and a new run keeps what is unfolded."""
    plans = plan_views(main.graph, 400, ("halved",)).plans
    build_live_page(main.graph, [9], "waves", PlayerSelection(fold=("halved",))).save(tmp_path / "live.html")
    tab.open(tmp_path / "live.html", "#step=12")
    tab.click(f"#b-{plans[1].unfolded_box}")
    assert tab.run(NAMES) == sorted(plans[1].view.boxes)
    tab.run("document.getElementById('argument-0').value = '17'; document.getElementById('live-form').requestSubmit()")
    assert tab.run(NAMES) == sorted(plans[1].view.boxes) and tab.run(PLACED)
    tab.key("End")
    assert tab.text("result") == f"= {main(17)}"


def test_the_layouts_of_a_page_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layouts of a page have a cost, which limits their number; outer parts come first."""
    every = plan_views(main.graph, 400, ("halved",)).plans
    most = sum(len(plan.view.boxes) ** 2 for plan in every[:3])
    monkeypatch.setattr(graph_layout, "MAX_LAYOUT_COST", most)
    fewer = plan_views(main.graph, 400, ("halved",)).plans
    assert [plan.unfolded_box for plan in fewer] == [plan.unfolded_box for plan in every[:3]]
    assert len(every) > 3
