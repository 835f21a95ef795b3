"""Folding clusters: the inside of a folded cluster is one box, and nothing else changes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
import tagloom as tl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.laws.view_laws import badges, runs, view_violations
from support.pictures.drawings import fib, main, nested
from tagloom.interp.history.history import History
from tagloom.viz import collapse
from tagloom.viz.collapse import collapse_clusters, find_clusters, fold_to_fit
from tagloom.viz.dot import to_dot
from tagloom.viz.graph_view import graph_view
from tagloom.viz.pictures import trim_view
from tagloom.viz.program_view import program_view
from tagloom.viz.render import render
from tagloom.viz.state_view import state_view
from tagloom.viz.unfolded_graph import side_by_side, unfolded_view
from tagloom.viz.view import View


def fold_violations(view: View, names: set[str]) -> Iterator[str]:
    result = collapse_clusters(view, names)
    yield from view_violations(result)
    clusters = {cluster.name: cluster for cluster in view.root.walk()}
    stands = {}
    for name in names:
        for inner in clusters[name].walk():
            stands.update(dict.fromkeys(inner.boxes, name))
    for name in names:  # of two that are folded, the outer one stands for all
        stands.update(
            {box: name for inner in clusters[name].walk() for box in inner.boxes if _is_outer(view, name, names)}
        )
    kept = {name for name in view.boxes if name not in stands}
    if kept | {stands[name] for name in stands} != set(result.boxes):
        yield "not the boxes that are left"
    sizes = Counter(stands.values())
    if any(int(result.boxes[name].subtitle.split()[0].replace(",", "")) != size for name, size in sizes.items()):
        yield "a folded box does not say how many are in it"
    ends = {(stands.get(a.tail, a.tail), stands.get(a.head, a.head), a.link) for a in view.arrows}
    expected = {end for end in ends if end[0] != end[1]} | {
        (a.tail, a.head, a.link) for a in view.arrows if a.tail == a.head
    }
    if {(arrow.tail, arrow.head, arrow.link) for arrow in result.arrows} != expected:
        yield "not the arrows that are left"
    inside = sum(int(badge.text) for name in sizes for badge in result.boxes[name].badges)
    if sum(badges(result).values()) - sum(len(result.boxes[name].badges) for name in sizes) + inside != _weight(
        view, stands
    ):
        yield "badges are lost"


def _is_outer(view: View, name: str, names: set[str]) -> bool:
    around = [each for each in view.root.walk() if each.name in names and each.name != name]
    return not any(name in {inner.name for inner in each.walk()} for each in around)


def _weight(view: View, stands: dict[str, str]) -> int:
    """The number of badges, with the number in a folded box counted as that many."""
    total = 0
    for box in view.boxes.values():
        total += sum(_many(b.text) if box.name in stands and b.mark == "ready" else 1 for b in box.badges)
    for arrow in view.arrows:
        total += len(arrow.badges)
    return total


def _many(text: str) -> int:
    return int(text) if text.isdigit() else 1


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(runs(), st.integers(0, 2**32), st.booleans())
def test_folding_changes_nothing_else(history: History, seed: int, unfolded: bool) -> None:
    """Boxes outside stay. Each folded cluster is a box with the number of its boxes, arrows that cross its border end
    at it, and no token is lost. This holds for a graph at a moment, and for an unfolded graph."""
    dice = random.Random(seed)
    events = history[: history.position]
    view = (
        unfolded_view(history.graph, history.arguments, events)
        if unfolded
        else state_view(history.state, events[-1] if events else None, most=10_000)
    )
    clusters = [cluster.name for cluster in view.root.walk()][1:]
    names = set(dice.sample(clusters, dice.randint(0, len(clusters))))
    assert list(fold_violations(view, names)) == []
    for most in (1, 20, 60):
        small = fold_to_fit(view, most)
        assert len(small.boxes) <= most or not set(clusters) & {each.name for each in small.root.walk()}
        assert (small is view) == (len(view.boxes) <= most)
        assert list(view_violations(small)) == []


def test_a_folded_box_counts_tokens_by_mark_though_few_are_drawn() -> None:
    """The badges of a folded box say how many tokens in it are in flight, wait, and so on, also where only the first
    tokens of an arrow are drawn: none of them counts tokens of several kinds."""
    history = fib.history(9)
    history.run()
    history.jump(700)
    (function,) = state_view(history.state).root.clusters
    last = history[history.position - 1]
    for many in (state_view(history.state, last, most=10_000), state_view(history.state, last)):
        (box,) = [box for box in collapse_clusters(many, {function.name}).boxes.values() if box.kind.startswith("fold")]
        counts = {badge.mark: int(badge.text) for badge in box.badges}
        assert "more" not in counts
        assert counts["waiting"] == history.state.waiting_count > 3
        assert counts["flight"] == len(history.state.flight)


def test_a_fold_that_loses_tokens_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold that does not count the tokens inside is caught."""
    monkeypatch.setattr(collapse, "count_inside", lambda view, made, stands: None)
    history = nested.history(3)
    history.run()
    history.jump(60)
    view = state_view(history.state, most=1000)
    assert list(fold_violations(view, {view.root.clusters[0].clusters[0].name}))


def test_clusters_are_named() -> None:
    """Functions and loops are found by the names that people use."""
    view = graph_view(main.graph)
    titles = {
        name: [c.title for c in view.root.walk() if c.name in find_clusters(view, [name])]
        for name in ("square", "loop")
    }
    assert titles == {"square": ["square"], "loop": ["while loop"]}
    assert find_clusters(view, ["main.loop"]) == find_clusters(view, ["loop"]) and find_clusters(view, []) == set()
    with pytest.raises(tl.Usage, match="there is no function, loop, branch or helper of this name"):
        find_clusters(view, ["squares"])
    small = collapse_clusters(view, find_clusters(view, ["square"]))
    assert [box.title for box in small.boxes.values() if box.kind == "folded"] == ["square"]


LOOPS = 900


@pytest.mark.full
def test_ten_thousand_nodes_fit() -> None:
    """A graph of 10,000 nodes in many loops is folded to a readable size, says so, and is laid out."""
    body = "\n".join(
        f"""
  i{n}, s{n} = while_loop 0, {f"s{n - 1}" if n else "n"} {{
    while(i: int64, s: int64) {{
      c = less i, 3
      yield c
    }}
    do(i: int64, s: int64) {{
      j = add i, 1
      t = add s, i
      u = add t, 1
      yield j, u
    }}
  }}"""
        for n in range(LOOPS)
    )
    graph = tl.lower(tl.parse_program(f"func main(n: int64) -> int64 {{{body}\n  return s{LOOPS - 1}\n}}"))
    assert len(graph.nodes) > 10_000
    view = fold_to_fit(graph_view(graph))
    assert len(view.boxes) <= collapse.MAX_BOXES and "are folded" in view.caption
    assert render(to_dot(view), "svg").startswith(b"<?xml")


@pytest.mark.full
def test_of_many_iterations_the_first_and_the_last_are_drawn() -> None:
    """A long unfolded loop is its first iterations, one box for the middle, and its last ones."""
    history = nested.history(9)
    history.run()
    result = fold_to_fit(unfolded_view(history.graph, history.arguments, history[:]), 120)
    assert list(view_violations(result)) == []
    assert 50 < len(result.boxes) <= 120
    titles = [cluster.title for cluster in result.root.walk()]
    folded = [box.title for box in result.boxes.values() if box.kind == "folded_loop"]
    assert {"loop[0]", "loop[1]", "loop[2]", "loop[9]"} <= {*titles, *folded}
    assert "loop[3] to loop[8]" in folded


@pytest.mark.full
def test_a_deep_recursion_is_drawn() -> None:
    """Clusters nested deeper than Python's stack are copied, and folded to any number of boxes."""
    view = View("deep")
    deepest = view.root
    for number in range(1100):
        deepest = deepest.add_cluster("function", f"f{number}", "")
        deepest.add_box(f"x{number}", "arithmetic", "x")
    assert max(map(len, (view.boxes, side_by_side(view, view).boxes))) == 2200
    for result in (
        fold_to_fit(view),
        fold_to_fit(side_by_side(view, view), 100_000),
        collapse_clusters(view, [deepest.name]),
    ):
        assert list(view_violations(result)) == []
    assert to_dot(fold_to_fit(view, 100_000))


@pytest.mark.parametrize("option", ["only", "fold"])
def test_parts_of_a_program_go_by_the_same_names(option: str) -> None:
    """Functions and loops of a structured program have the names of those of its graph."""
    view, graph = program_view(nested.program), graph_view(nested.graph)
    names = {each.subject for each in view.root.walk() if each.subject}
    assert names == {each.subject for each in graph.root.walk() if each.subject}
    for name in names:
        result = trim_view(view, **{option: (name,)})
        assert list(view_violations(result)) == []
        assert name in {each.subject for each in result.root.walk()} if option == "only" else result.boxes != view.boxes
        assert to_dot(result)


@pytest.mark.parametrize(("name", "many"), [("loop_1", 6), ("nested.loop", 4), ("main/loop[2]", 1)])
def test_iterations_go_by_the_name_of_their_loop(name: str, many: int) -> None:
    """In an unfolded graph, a loop is all its iterations, and a tag is one of them."""
    history = nested.history(3)
    history.run()
    view = unfolded_view(history.graph, history.arguments, history[:])
    assert len(find_clusters(view, [name])) == many
    folded = trim_view(view, fold=(name,))
    assert sum(box.kind == "folded_loop" for box in folded.boxes.values()) == many
