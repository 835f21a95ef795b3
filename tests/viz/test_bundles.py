"""Bundles: call sites, parameters, loop invariants and the gates of a loop or cond are one box each, and nothing is
lost."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.laws.view_laws import place_violations, runs
from support.pictures.drawings import graphs, nested
from tagloom.core.graph.graph import Graph
from tagloom.interp.history.history import History
from tagloom.tui.load import find_program, program_and_graph
from tagloom.viz import bundles, collapse, labels
from tagloom.viz.collapse import collapse_clusters, fold_bundles, fold_to_fit, select_blocks
from tagloom.viz.graph_view import graph_view
from tagloom.viz.pictures import trim_view
from tagloom.viz.player import graph_layout
from tagloom.viz.player.graph_layout import plan_views
from tagloom.viz.state_view import state_view
from tagloom.viz.view import View

EXAMPLES = Path(tl.__file__).parent / "papers_examples"


def network(name: str) -> Graph:
    return program_and_graph(find_program(str(EXAMPLES / name)))[1]


def titles(view: View, kind: str) -> list[str]:
    return [box.title for box in view.boxes.values() if box.kind == kind]


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(runs(), st.integers(0, 2**32))
def test_bundles_and_folds_lose_nothing(history: History, seed: int) -> None:
    """At any moment of a run, every node has one place, the arrows are the images of the edges with their count, and
    every token stands at its place. This holds for bundles, some opened, and for clusters folded after them."""
    dice = random.Random(seed)
    whole = state_view(history.state, history.last_event)
    opened = {bundle.subject for bundle in whole.bundles if dice.random() < 0.2}
    bundled = fold_bundles(whole, opened)
    assert list(place_violations(whole, bundled)) == []
    assert len(bundled.boxes) == len(whole.boxes) - sum(
        len(bundle.members) - 1 for bundle in whole.bundles if bundle.subject not in opened
    )
    clusters = [cluster.name for cluster in whole.root.walk()][1:]
    folded = collapse_clusters(bundled, set(dice.sample(clusters, dice.randint(0, len(clusters)))))
    assert list(place_violations(whole, folded)) == []
    for most in (1, 10, 40):
        assert list(place_violations(whole, fold_to_fit(fold_bundles(whole), most))) == []


@settings(max_examples=30)
@given(graphs())
def test_graphs_that_break_rules_have_bundles(graph: Graph) -> None:
    """No graph is too strange: bundles are disjoint, each in one cluster, with a subject of its own."""
    whole = graph_view(graph)
    members = [name for bundle in whole.bundles for name in bundle.members]
    assert len(set(members)) == len(members)
    assert len({bundle.subject for bundle in whole.bundles}) == len(whole.bundles)
    for cluster in whole.root.walk():
        for bundle in whole.bundles:
            assert len(cluster.boxes.keys() & set(bundle.members)) in (0, len(bundle.members))
    assert list(place_violations(whole, fold_bundles(whole))) == []
    assert list(series_violations(whole)) == []
    for granularity, size in enumerate(bundles.BLOCK_SIZES, 1):
        assert list(block_violations(graph, select_blocks(whole, granularity), size)) == []


def series_violations(whole: View) -> Iterator[str]:
    """The results of a bundle of ops all go to the same boxes, and come from the same boxes if there are several; its
    title counts them."""
    bundled = fold_bundles(whole)
    for bundle in filter(bundles.is_expression, whole.bundles):
        outgoing = [
            arrow for arrow in whole.arrows if arrow.tail in bundle.members and arrow.head not in bundle.members
        ]
        incoming = [
            arrow for arrow in whole.arrows if arrow.head in bundle.members and arrow.tail not in bundle.members
        ]
        ends = {arrow.tail for arrow in outgoing}
        heads = {frozenset(bundled.place_of(arrow.head) for arrow in outgoing if arrow.tail == end) for end in ends}
        if len(heads) > 1:
            yield f"{bundle.subject} sends its results to {heads}"
        if len(ends) > 1:
            tails = {bundled.place_of(arrow.tail) for arrow in incoming}
            if any(len([a for a in incoming if bundled.place_of(a.tail) == tail]) < len(ends) for tail in tails):
                yield f"{bundle.subject} has results without an operand of {tails}"
            if len(ends) < bundles.MIN_SERIES or not bundle.box.title.endswith(f"{len(ends) - 1} more"):
                yield f"{bundle.box.title} stands for {len(ends)} results"


def descent(count: int) -> Graph:
    """The graph of a step of gradient descent on the sum of the squares of some variables."""
    weights = [tl.Variable(float(k), name=f"w{k}") for k in range(count)]

    @tl.function
    def step(rate: tl.float64) -> None:
        slopes = tl.grad(lambda: sum((weight * weight for weight in weights), 0.0), weights)()
        for weight, slope in zip(weights, slopes, strict=True):
            weight.assign_sub(rate * slope)

    return step.graph


@tl.function
def square(x: tl.int64) -> tl.int64:
    return x * x


@tl.function
def calls(x: tl.int64) -> tuple[tl.int64, tl.int64, tl.int64]:
    """Equal expressions before three calls, and after them."""
    return square(x - 1) + 1, square(x - 1) + 1, square(x - 1) + 1


def test_updates_of_weights_are_a_series() -> None:
    """Three updates of weights, or more, are one box; two are two. Operands and results of different calls are none."""
    for count, expected in ((2, 2), (3, 1), (5, 1)):
        view = graph_view(descent(count))
        formulas = [title for title in titles(fold_bundles(view), "arithmetic") if " - rate * " in title]
        assert len(formulas) == expected and list(series_violations(view)) == []
        assert [title.endswith(f", … {count - 1} more") for title in formulas] == [count >= 3] * expected
    assert not any("more" in title for title in titles(fold_bundles(graph_view(calls.graph)), "arithmetic"))


@pytest.mark.parametrize("twin", ["operands", "consumers"])
def test_a_series_of_unlike_expressions_is_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that joins expressions of values from other boxes, or for other boxes, is caught."""
    sound: Any = bundles._BundleFinder.series_key
    kept_parts = {"operands": (0, 1, 3), "consumers": (0, 1, 2)}[twin]
    monkeypatch.setattr(
        bundles._BundleFinder,
        "series_key",
        lambda self, *given: tuple(sound(self, *given)[part] for part in kept_parts),
    )
    assert list(series_violations(graph_view(calls.graph)))


def block_violations(graph: Graph, selected: View, size: int) -> Iterator[str]:
    """Blocks are disjoint, have at most `size` boxes of the bundled view, and lose nothing. What is in one sends its
    results only into it, or on to other clusters, and its title names no op that it contains."""
    yield from place_violations(selected, fold_bundles(selected))
    bundled = fold_bundles(replace(selected, bundles=graph_view(graph).bundles))
    home = {name: cluster.name for cluster in selected.root.walk() for name in cluster.boxes}
    blocks = [bundle for bundle in selected.bundles if bundle.box.name[0] == "b"]
    members = [name for bundle in selected.bundles for name in bundle.members]
    if len(set(members)) < len(members) or len({bundle.subject for bundle in selected.bundles}) < len(selected.bundles):
        yield "two bundles have a box or a name in common"
    for block in blocks:
        if not 1 < len({bundled.place_of(name) for name in block.members}) <= size:
            yield f"{block.subject} has {block.members}"
        ends = {name for name in block.members if bundled.place_of(name) == bundled.place_of(block.members[-1])}
        for arrow in selected.arrows:
            is_leaving = arrow.tail in block.members and arrow.head not in block.members
            if is_leaving and arrow.tail not in ends and home[arrow.tail] == home.get(arrow.head):
                yield f"{arrow.tail} of {block.subject} sends its result to {arrow.head}"
        inner = [labels.short_name(graph.nodes[int(name[1:])].name) for name in block.members if name not in ends]
        yield from (f"{block.box.title} names {name}" for name in inner if is_named(name, block.box.title))


def is_named(name: str, title: str) -> bool:
    """Whether a formula has the name of a value, not of a function."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w(])", title) is not None


@pytest.mark.parametrize("twin", ["size", "consumers"])
def test_blocks_that_break_rules_are_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of any size, and blocks that absorb a value that others use, too, are caught."""
    finder: Any = bundles._BlockFinder
    if twin == "size":
        sound: Any = finder.find_blocks
        monkeypatch.setattr(finder, "find_blocks", lambda self, size: sound(self, 9 * size))
    else:
        monkeypatch.setattr(finder, "can_absorb", lambda self, group, joined: True)
    graph = network("recursion/tree_lstm.py")
    assert list(block_violations(graph, select_blocks(graph_view(graph), 1), bundles.BLOCK_SIZES[0]))


@pytest.mark.parametrize("twin", ["count", "badges"])
def test_a_fold_that_loses_something_is_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merged arrows without their number, or without the badges of the others, are caught."""
    if twin == "count":
        sound: Any = collapse.merge_arrows
        monkeypatch.setattr(
            collapse, "merge_arrows", lambda arrows: [each._replace(edge_count=1) for each in sound(arrows)]
        )
    else:
        monkeypatch.setattr(collapse, "limit_badges", lambda badges, most=3: tuple(badges[:1]))
    history = nested.history(3)
    history.run()
    history.jump(60)
    whole = state_view(history.state)
    assert list(place_violations(whole, fold_bundles(whole)))


@pytest.mark.full
def test_small_graphs_are_drawn_in_full() -> None:
    """A graph of few boxes shows each node; a larger one has bundles, unless each node is asked for."""
    view = graph_view(network("recursion/fib.py"))
    assert trim_view(view) is view
    large = graph_view(network("recursion/tree_rnn.py"))
    assert len(trim_view(large, full=True).boxes) == len(large.boxes) > 3 * len(trim_view(large).boxes)


def test_a_network_is_its_recursion() -> None:
    """A TreeRNN with eleven captured arguments: each call site, the parameters, the invariants of the loop and the
    switches of the cond are one box each, and thick arrows have their count."""
    view = fold_bundles(graph_view(network("recursion/tree_rnn.py")))
    assert titles(view, "call") == ["call node", "call node", "call node_2: node"]
    assert titles(view, "invariants") == ["size, trees_roots, … 9 more"]
    assert titles(view, "argument") == ["trees_left, … 10 more"]
    assert titles(view, "next_iteration") == ["next k, carry"]
    kinds = {name: box.kind for name, box in view.boxes.items()}
    called = [arrow for arrow in view.arrows if kinds[arrow.tail] == "call" and kinds[arrow.head] == "merge"]
    assert sorted(arrow.edge_count for arrow in called if arrow.link == "call") == [11, 11, 11]
    assert re.match(
        r"\d+ of \d+ nodes are drawn in bundles", trim_view(graph_view(network("recursion/tree_rnn.py"))).caption
    )


def test_every_token_of_a_page_has_an_arrow() -> None:
    """In the player, each edge of a bundled graph has the arrow that is drawn for it, or stays inside a box."""
    graph = network("recursion/tree_rnn.py")
    for plan in plan_views(graph, 400).plans:
        for arrow in graph_view(graph).arrows:
            tail, head = plan.drawn_boxes[arrow.tail], plan.drawn_boxes[arrow.head]
            number = plan.arrow_numbers.get((arrow.tail, arrow.head, arrow.port))
            assert (number is None) == (tail == head)
            if number is not None:
                assert plan.view.arrows[number][:3] == (tail, head, arrow.link)


@pytest.mark.parametrize("name", ["recursion/tree_lstm.py", "tensorflow/digits.py"])
def test_every_folded_part_of_a_page_can_be_unfolded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each bundle, each folded cluster and each cluster inside one has a plan that unfolds it; its box is in the plan
    that it is unfolded from, and its nodes, or the boxes of its inner clusters, take its place. A page has the first
    plans, up to a limit on their cost."""
    if "digits" in name:
        pytest.importorskip("sklearn")
    graph = network(name)
    unfolded_boxes = [plan.unfolded_box for plan in plan_views(graph, 400).plans]
    monkeypatch.setattr(graph_layout, "MAX_LAYOUT_COST", math.inf)
    view, plans = graph_view(graph), plan_views(graph, 400).plans
    assert unfolded_boxes == [plan.unfolded_box for plan in plans[: len(unfolded_boxes)]]
    inside = [
        inner.name for cluster in view.root.walk() if cluster.name in plans[0].view.boxes for inner in cluster.walk()
    ]
    assert inside and sorted(plan.unfolded_box for plan in plans[1:]) == sorted(
        [*inside, *(bundle.box.name for bundle in view.bundles)]
    )
    for number, plan in enumerate(plans[1:], 1):
        before = plans[plan.parent]
        assert plan.parent < number and plan.unfolded_box in before.view.boxes.keys() - plan.view.boxes.keys()
        changed = {box for box in view.boxes if before.drawn_boxes[box] == plan.unfolded_box}
        assert plan.unfolded_box not in {plan.drawn_boxes[box] for box in changed}
        assert {box: place for box, place in plan.drawn_boxes.items() if box not in changed}.items() <= (
            before.drawn_boxes.items()
        )


FORMS = (
    *(f"({{0}} {sign} {{1}})" for sign in "+-*/"),
    *("({0} - 2.0)", "({0} ** 2.0)", "({0} / -1.5)", "(2.0 - {0})", "((-1.5) ** {0})", "(-{0})"),
    *("max({0}, {1})", "where(({0} < {1}) == ({1} < {2}), {2}, {0})"),
)
"""Expressions of up to three operands."""


def random_expression(dice: random.Random, depth: int) -> str:
    """An expression in x and y."""
    if depth == 0:
        return dice.choice("xy")
    return dice.choice(FORMS).format(*(random_expression(dice, dice.randrange(depth)) for _ in range(3)))


FUNCTIONS = {"max": np.maximum, "where": np.where}


def check_expressions(text: str) -> None:
    """The titles of the ops of a folded graph, evaluated as Python, are the values of these ops in a run."""
    function = tl.function(eval(f"lambda x, y: {text}", {"max": tl.maximum, "where": tl.where}))
    graph = function.trace(0.75, -2.5).graph
    outcome = function.run(0.75, -2.5, engine="reference", keep="events")
    values = {node.name: np.asarray(*outcome.values(node.name).values())[()] for node in graph.nodes}
    with np.errstate(all="ignore"):
        for box in fold_bundles(graph_view(graph)).boxes.values():
            if box.kind in ("arithmetic", "comparison", "logic"):
                expression = re.sub(r"\b(\w+)\(", r"FUNCTIONS['\1'](", box.title)  # nodes have names of functions
                value = eval(expression, {"FUNCTIONS": FUNCTIONS, **values})
                np.testing.assert_allclose(value, values[box.subtitle], rtol=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_expressions_mean_what_they_compute(seed: int) -> None:
    """The title of an expression is Python for what its ops compute: it has the parentheses that it needs."""
    check_expressions(random_expression(random.Random(seed), 4))


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "text"), [("nested_operand", "x - (y - x)"), ("precedence", "(-x) ** 2.0"), ("precedence", "(x + y) * x")]
)
def test_expressions_without_parentheses_are_caught(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    """Operands that get no parentheses, or ops that all bind as tightly, change what an expression means."""
    check_expressions(text)
    twins = {"nested_operand": lambda text, *_: text, "precedence": lambda *_: labels._CALL_PRECEDENCE}
    monkeypatch.setattr(labels, name, twins[name])
    with pytest.raises(AssertionError):
        check_expressions(text)
