"""Branches: the nodes that fire if a predicate has one outcome have a frame, wherever the graph comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, given, settings
from support.laws.view_laws import place_violations, runs
from support.pictures.drawings import ack, fib
from support.programs.gradient_functions import grad_fac
from tagloom.core.graph.graph import OutputRef
from tagloom.core.graph.nesting import PhaseMap
from tagloom.core.tag import Tag
from tagloom.interp.history.history import History
from tagloom.viz import branches
from tagloom.viz.branches import BranchFinder
from tagloom.viz.collapse import remove_branch_frames
from tagloom.viz.graph_view import graph_view
from tagloom.viz.pictures import trim_view
from tagloom.viz.scopes import find_scopes
from tagloom.viz.screen import Folding, adjust_folding, choose_folding
from tagloom.viz.size_estimate import PictureSize
from tagloom.viz.view import Cluster, View


def branch_violations(history: History) -> Iterator[str]:
    """Under each tag, a node in a branch fires only if the predicate of the branch had its outcome there."""
    graph = history.graph
    finder = BranchFinder(graph, PhaseMap(graph), find_scopes(graph))
    values: dict[tuple[Tag, OutputRef], Any] = {}
    for event in history[: history.position]:
        number = event.token.node
        if number < 0 or not event.is_firing:
            continue
        if graph.nodes[number].op == "switch":
            assert event.inputs is not None
            assert finder.contexts is not None
            predicate = finder.contexts.skip_identities(finder.contexts.port_source(number, 1))
            values[event.token.tag, predicate] = event.inputs[1]
        if graph.nodes[number].op == "return":
            continue  # it fires under the tag of the call that it returns from
        for branch in finder.find_around(number):
            if values.get((event.token.tag, branch.predicate)) not in (None, branch.outcome):
                yield f"{graph.nodes[number]} fires in the wrong branch"


@settings(max_examples=40, deadline=None, suppress_health_check=[*HealthCheck])
@given(runs())
def test_nodes_of_a_branch_fire_if_it_is_taken(history: History) -> None:
    """In runs of generated programs, no node fires in a branch that is not taken."""
    assert list(branch_violations(history)) == []


def finished_run(n: int) -> History:
    history = fib.history(n)
    history.run()
    return history


def test_branches_with_the_wrong_outcome_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """If then and else are confused, the law fails."""
    assert list(branch_violations(finished_run(3))) == []
    sound = branches.Branch
    monkeypatch.setattr(branches, "Branch", lambda predicate, outcome, switch: sound(predicate, not outcome, switch))
    assert list(branch_violations(finished_run(3)))


def frames(cluster: Cluster) -> list[Any]:
    """The titles of the frames in a cluster, each with those inside it."""
    return [(inner.title, frames(inner)) for inner in cluster.clusters]


def frames_of(view: View) -> Any:
    """The frames in the function of a view."""
    return frames(view.root.clusters[0])


def test_branches_have_frames() -> None:
    """A frame has the predicate as its title, and inner conds have frames inside it; a single node has none."""
    assert frames_of(graph_view(fib.graph)) == [("if not n <= 1", [])]
    assert frames_of(graph_view(ack.graph)) == [("if not m <= 0", [("if n <= 0", []), ("if not n <= 0", [])])]


@tl.autograph.inline
def twice_or_more(x: Any, p: Any) -> Any:
    if p:
        x = x * 2.0 + 1.0
    return x - 3.0


@tl.function
def helpers_and_loops(x: tl.float64, n: tl.int64) -> tl.float64:
    p = x > 0.0
    x = twice_or_more(x, p)
    x = twice_or_more(x, p)
    if n > 3:
        while x < 100.0:
            if x > 50.0:
                x = twice_or_more(x, x > 70.0) + 1.0
            x = x * x + 1.0
    return x


def test_helpers_and_loops_nest_with_branches() -> None:
    """A branch in a helper is in its frame, even if another helper tests the same predicate; a loop in a branch is in
    the frame of the branch, and the condition of a loop is no branch."""
    helper = ("twice_or_more", [("if x > 0.0", [])])
    inside = [("if x_3 > 50.0", [("twice_or_more", [("if x_3 > 70.0", [])])])]
    loop = ("while loop", inside)
    expected = [helper, helper, ("if n > 3", [loop])]
    assert frames_of(graph_view(helpers_and_loops.graph)) == expected
    assert helpers_and_loops(2.0, 4) == helpers_and_loops.run(2.0, 4).value
    history = helpers_and_loops.history(2.0, 4)
    history.run()
    assert list(branch_violations(history)) == []


def test_documents_have_branches() -> None:
    """Branches follow from the graph, so one that was read from text has the frames of the traced one."""
    graph = tl.parse_graph(tl.print_graph(ack.graph))
    assert frames_of(graph_view(graph)) == frames_of(graph_view(ack.graph))


def test_reverse_passes_have_branches_of_their_own() -> None:
    """The reverse pass of a cond has frames inside the frame of the reverse pass."""
    view = graph_view(grad_fac.graph)
    (pullback,) = [cluster for cluster in view.root.walk() if cluster.kind == "pullback"]
    assert [cluster.kind for cluster in pullback.clusters] == ["branch"]


@tl.function
def counted(n: tl.int64) -> tl.int64:
    if n > 3:
        n = tl.sum(tl.arange(0, n, 1)) + 1
    return n


@pytest.mark.full
def test_ops_between_two_literals_are_in_their_branch() -> None:
    """A node whose first and last operands are literals is in the branch that its only token comes from."""
    view = graph_view(counted.graph)
    (branch,) = [cluster for cluster in view.root.walk() if cluster.kind == "branch"]
    assert "arange(0, n, 1)" in [box.title for box in branch.boxes.values()]


def test_graphs_that_break_rules_have_no_branches() -> None:
    """A graph whose control contexts are unknown is drawn without frames of branches."""
    nodes = list(fib.graph.nodes)
    (number,) = fib.graph.find("add")
    nodes[number] = replace(nodes[number], op="frobnicate")
    assert frames_of(graph_view(replace(fib.graph, nodes=tuple(nodes)))) == []


def test_branches_are_folded_by_name() -> None:
    """`fold` and `only` take the name of the predicate with `_then` or `_else`; nothing is lost."""
    whole = graph_view(ack.graph)
    view = trim_view(whole, fold=("less_equal_1_else",))
    assert [box.title for box in view.boxes.values() if box.kind == "folded"] == ["if not n <= 0"]
    only = trim_view(whole, only=("ack.less_equal_1_then",))
    assert frames(only.root) == [("if n <= 0", [])]


def test_frames_of_branches_are_the_first_to_go() -> None:
    """Where a picture has no room for frames of branches, they are omitted before a node is folded; a branch that the
    user folds has one again."""
    view = graph_view(fib.graph)
    small = PictureSize(1e5, 720.0)
    folding = choose_folding(view, small)
    assert folding == Folding(has_branches=False)
    plain = folding.apply(view)
    assert frames_of(plain) == [] and plain.boxes.keys() == view.boxes.keys() and plain.arrows == view.arrows
    assert remove_branch_frames(plain).root == plain.root
    adjusted = adjust_folding(view, folding, ["less_equal_else"], [])
    assert [box.kind for box in adjusted.apply(view).boxes.values()].count("folded") == 1
    assert list(place_violations(view, adjusted.apply(view))) == []
