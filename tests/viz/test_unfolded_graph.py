"""The unfolded graph of a run, its critical path, its tags and its charts agree with the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
import tagloom as tl
from hypothesis import HealthCheck, given, settings
from support.laws.view_laws import runs, view_violations
from support.pictures.drawings import fib, nested
from tagloom.core.tag import ROOT
from tagloom.interp.history.history import History
from tagloom.interp.outcome.critical_path import dependences
from tagloom.viz import unfolded_graph
from tagloom.viz.activation_tree import MAX_SIBLINGS, activation_tree_view
from tagloom.viz.charts import MAX_COLUMNS, profile_svg, spacetime_rows, spacetime_svg
from tagloom.viz.dot import to_dot
from tagloom.viz.graph_view import graph_view
from tagloom.viz.render import render
from tagloom.viz.style import DARK, LIGHT
from tagloom.viz.unfolded_graph import critical_view, side_by_side, unfolded_view
from tagloom.viz.view import Cluster, View


def unfolding_violations(history: History) -> Iterator[str]:
    events = history[: history.position]
    view = unfolded_view(history.graph, history.arguments, events)
    yield from view_violations(view)
    result = dependences(history.graph, events)
    if {name for name in view.boxes if name[0] == "e"} != {f"e{number}" for number in result}:
        yield "the boxes are not the firings"
    expected = Counter((f"e{maker}", f"e{number}") for number, each in result.items() for maker in each.producers)
    drawn = Counter((arrow.tail, arrow.head) for arrow in view.arrows if {arrow.tail[0], arrow.head[0]} == {"e"})
    if drawn != expected:
        yield "the arrows are not the dependences"
    if any(int(tail[1:]) >= int(head[1:]) for tail, head in drawn):
        yield "what is made comes before its maker"
    for cluster in view.root.walk():
        tags = {str(events[int(name[1:])].token.tag) for name in cluster.boxes if name[0] == "e"}
        if tags - {cluster.subject}:
            yield f"{tags} stand in the cluster of {cluster.subject}"
    critical = critical_view(history.graph, history.arguments, events)
    bold = [name for name, box in critical.boxes.items() if box.emphasized]
    if len(bold) != max((each.depth for each in result.values()), default=0):
        yield "the critical path has another length"
    steps = {(arrow.tail, arrow.head) for arrow in critical.arrows if arrow.emphasized}
    if steps != set(pairwise(sorted(bold, key=lambda name: int(name[1:])))):
        yield "the critical path is no chain"


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(runs())
def test_boxes_are_firings_and_arrows_dependences(history: History) -> None:
    """Each firing is a box in the cluster of its tag, each dependence is an arrow, and none goes back; the critical
    path is a chain as long as the deepest firing is deep."""
    assert list(unfolding_violations(history)) == []


def test_wrong_senders_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrows from another firing than the sender are caught."""
    history = fib.history(4)
    history.run()
    true = unfolded_graph.EventIndex.operands
    monkeypatch.setattr(
        unfolded_graph.EventIndex,
        "operands",
        lambda self, number: tuple((port, max(sender - 1, -1)) for port, sender in true(self, number)),
    )
    assert list(unfolding_violations(history))


def test_every_schedule_unfolds_the_same() -> None:
    """Apart from the numbers of events, the unfolded graph does not depend on the schedule."""
    shapes = set()
    for schedule in ("waves", "lifo", "random:5"):
        history = nested.history(3, schedule=schedule)
        history.run()
        view = unfolded_view(history.graph, history.arguments, history[:])
        shapes.add(frozenset(Counter((box.title, box.subtitle) for box in view.boxes.values()).items()))
    assert len(shapes) == 1


@pytest.mark.full
def test_two_views_beside_each_other() -> None:
    """Both views are complete, and have no names in common."""
    history = fib.history(3)
    history.run()
    left, right = graph_view(history.graph), unfolded_view(history.graph, history.arguments, history[:])
    both = side_by_side(left, right)
    assert list(view_violations(both)) == []
    assert len(both.boxes) == len(left.boxes) + len(right.boxes)
    assert len(both.arrows) == len(left.arrows) + len(right.arrows)
    assert render(to_dot(both), "svg").count(b'class="cluster ') == len(_frames(left)) + len(_frames(right))


def _frames(view: View) -> list[Cluster]:
    return list(view.root.walk())[1:]


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(runs())
def test_the_tree_of_tags_is_that_of_the_run(history: History) -> None:
    """There is a box for each activation that opened, marked if it is still open, below its parent's; their firings add
    up to the run's. A tree that is cut off says how many are left out."""
    state, events = history.state, history[: history.position]
    view = activation_tree_view(history.graph, history.arguments, events, most=10_000)
    assert list(view_violations(view)) == []
    assert len(view.boxes) == 1 + sum(state.activations_by_site.values())
    marked = {box.tooltip.split(": ")[0] for box in view.boxes.values() if box.badges}
    assert marked == {str(tag) for tag in state.records}
    assert len(view.arrows) == len(view.boxes) - 1
    assert sum(int(box.subtitle.split(", ")[-1].split()[0]) for box in view.boxes.values()) == state.firings
    cut = activation_tree_view(history.graph, history.arguments, events, most=3)
    assert list(view_violations(cut)) == [] and sum(box.kind != "folded" for box in cut.boxes.values()) <= 3


@pytest.mark.full
def test_a_wide_tree_has_the_first_iterations() -> None:
    """A tree is no wider than a picture can be; iterations that are left out are counted at their place."""
    history = nested.history(30)
    history.run()
    view = activation_tree_view(history.graph, history.arguments, history[:], most=100)
    below = Counter(arrow.tail for arrow in view.arrows)
    assert max(below.values()) == MAX_SIBLINGS + 1
    assert view.boxes["t0_more"].title == f"{31 - MAX_SIBLINGS} more"
    assert list(view_violations(view)) == []


def test_titles_leave_out_arrays_that_calls_pass_on() -> None:
    """An array that the caller got, too, is left out of the title of a call, but not of its tooltip; a number never
    is."""

    @tl.function
    def count(xs: tl.Array[tl.int64, 2], i: tl.int64, step: tl.int64) -> tl.int64:
        return tl.cond(i < 0, lambda: 0, lambda: xs[i] + count(xs, i - step, step))

    history = count.history([5, 6], 0, 1)
    history.run()
    boxes = activation_tree_view(history.graph, history.arguments, history[:]).boxes.values()
    assert [box.title for box in boxes] == ["count([5, 6], 0, 1) = 5", "count(\u2026, -1, 1) = 0"]
    assert [box.tooltip.partition(": ")[2] for box in boxes][1] == "count([5, 6], -1, 1) = 0"


def test_activations_are_labelled_as_calls() -> None:
    """A call has its arguments and its result, and an iteration its variables."""
    history = fib.history(3)
    history.run()
    titles = [box.title for box in activation_tree_view(history.graph, history.arguments, history[:]).boxes.values()]
    assert titles == ["fib(3) = 3", "fib(2) = 2", "fib(1) = 1", "fib(1) = 1", "fib(0) = 1"]
    history = nested.history(2)
    history.run()
    view = activation_tree_view(history.graph, history.arguments, history[:])
    titles = [box.title for box in view.boxes.values()]
    assert titles[:2] == ["nested(2) = 0", "loop[0]: i = 0, s = 0, n = 2"]
    assert {box.kind for box in view.boxes.values()} == {"activation", "iteration"}


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(runs())
def test_space_time_counts_every_firing_once(history: History) -> None:
    """The rows add up to the firings, and the columns to those of each depth."""
    events = history[: history.position]
    rows = spacetime_rows(history.graph, events)
    depths = Counter(each.depth for each in dependences(history.graph, events).values())
    assert sum((row.firings for row in rows), Counter[int]()) == depths
    if not rows:
        with pytest.raises(tl.Usage, match="nothing has fired"):
            spacetime_svg(history.graph, events)
        return
    for theme in (LIGHT, DARK):
        texts = _texts(spacetime_svg(history.graph, events, theme))
        assert f"{history.graph.name}: nodes by waves" in texts[0]


def test_columns_of_space_time_are_the_profile() -> None:
    """Without cells and bounds, a column is a wave."""
    history = fib.history(6)
    out = history.run()
    total = sum((row.firings for row in spacetime_rows(history.graph, history[:])), Counter[int]())
    assert [total[wave + 1] for wave in range(len(total))] == list(out.stats.profile or ())


def _texts(svg: str) -> list[str]:
    """The texts of an SVG, which is well formed."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.full
def test_long_runs_share_columns() -> None:
    """If there are more waves than room, they share columns, and the chart says so."""
    history = fib.history(12, schedule="waves")
    out = history.run()
    graph = nested.history(40)
    graph.run()
    assert max(max(row.firings) for row in spacetime_rows(graph.graph, graph[:])) > MAX_COLUMNS
    assert any("a column is" in text for text in _texts(spacetime_svg(graph.graph, graph[:])))
    profile = out.stats.profile or ()
    assert len(_texts(profile_svg("fib", profile, out.stats.waiting or ()))) == 8
    assert any("mean of" in text for text in _texts(profile_svg("fib", profile * 9, profile * 9)))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&b", "\x00\u202e"])
def test_strange_names_are_text(name: str) -> None:
    """A name is never markup."""
    svg = profile_svg(name, [1, 2], [0, 1])
    assert "<script" not in svg and _texts(svg)


def test_a_tag_is_a_path_of_clusters() -> None:
    """The cluster of an activation lies in that of its parent."""
    history = fib.history(3)
    history.run()
    view = unfolded_view(history.graph, history.arguments, history[:])
    (outer,) = view.root.clusters
    assert outer.subject == str(ROOT)

    def subjects(cluster: Cluster) -> Any:
        return {inner.subject: subjects(inner) for inner in cluster.clusters}

    assert subjects(outer) == {"main/fib": {"main/fib/fib": {}, "main/fib/fib_1": {}}, "main/fib_1": {}}
