"""Pictures of programs, graphs and runs with reverse passes: a node of a reverse pass stands beside the node that it
reverses."""

from __future__ import annotations

import pytest
import tagloom as tl
from support.laws.view_laws import view_violations
from support.pictures.drawings import Drawing, graph_dot, program_dot
from support.programs.gradient_functions import GRADIENTS, grad_fac, grad_nested, grad_power
from tagloom.core.graph.nesting import PhaseMap
from tagloom.core.program.program import Region
from tagloom.core.tag import ROOT
from tagloom.interp.history.history import History
from tagloom.viz.activation_tree import ActivationTree, activation_tree_view
from tagloom.viz.graph_view import graph_view
from tagloom.viz.pictures import PICTURES, run_picture, trim_view
from tagloom.viz.player.recording import TokenPlace, live_tokens, record_tokens
from tagloom.viz.program_view import program_view
from tagloom.viz.terminal.drawing import draw_cells
from tagloom.viz.view import Cluster, View

by_name = pytest.mark.parametrize("name", GRADIENTS)


def homes(view: View) -> dict[str, list[Cluster]]:
    """The clusters around each box, outermost first."""
    results: dict[str, list[Cluster]] = {}

    def look(cluster: Cluster, around: list[Cluster]) -> None:
        results.update(dict.fromkeys(cluster.boxes, around))
        for inner in cluster.clusters:
            look(inner, [*around, inner])

    look(view.root, [])
    return results


@by_name
def test_reverse_passes_have_clusters(name: str) -> None:
    """Each node of a graph is drawn once; a node of a later phase is in a cluster of that phase, inside that of its
    function or loop, and perhaps in a branch there."""
    graph = GRADIENTS[name][0].graph
    view, phases = graph_view(graph), PhaseMap(graph)
    assert list(view_violations(view)) == []
    around = homes(view)
    for number in range(len(graph.nodes)):
        phase = phases.phase_of(number)
        inmost = [cluster for cluster in around[f"n{number}"] if cluster.kind != "branch"][-1]
        assert (inmost.kind == "pullback") == (phase > 0)
        assert inmost.subject.startswith(str(phases.owners[number]))


def test_back_leads_to_the_iteration_before() -> None:
    """Arrows lead from a back to the iteration before, and one leads out, with a label; a reenter stands in its
    loop."""
    graph = grad_power.graph
    view = graph_view(graph)
    backs = {f"n{number}" for number, node in enumerate(graph.nodes) if node.op == "back"}
    assert {arrow.tail for arrow in view.arrows if arrow.link == "before"} == backs
    assert all(arrow.is_reversed for arrow in view.arrows if arrow.link == "before")
    assert [arrow.link for arrow in view.arrows if arrow.tail in backs and arrow.label == "out"] == ["call"]
    around = homes(view)
    (again, *_) = [f"n{number}" for number, node in enumerate(graph.nodes) if node.op == "reenter"]
    assert [cluster.kind for cluster in around[again]] == ["function", "loop", "pullback"]


def count(region: Region) -> int:
    return sum(1 for _ in region.walk())


@by_name
def test_each_node_of_a_program_is_drawn_once(name: str) -> None:
    """Every node of every phase is a box in a cluster; a pullback has an arrow from the node whose phase it begins."""
    program = GRADIENTS[name][0].program
    view = program_view(program)
    assert list(view_violations(view)) == []
    functions = sorted(program.functions, key=lambda function: function.name != program.entry)
    for number, function in enumerate(functions):
        assert {f"f{number}n{at}" for at in range(count(function.body))} <= view.boxes.keys()
        assert f"f{number}n{count(function.body)}" not in view.boxes
    begun = [box.name for box in view.boxes.values() if box.kind == "pullback"]
    assert len(begun) == sum(node.op == "pullback" for f in functions for node in f.body.walk())
    assert sorted(arrow.head for arrow in view.arrows if arrow.link == "call") == sorted(begun)
    assert {each.title for each in view.root.walk() if each.kind == "pullback"} >= {"pullback"}


def test_the_picture_of_fac_and_its_pullback() -> None:
    """The adjoint enters through the box of the pullback, and leaves by a merge of the branches."""
    drawing = Drawing(program_dot(grad_fac.program))
    texts = {tuple(drawing.says(name)) for name in drawing.nodes}
    assert {("pullback cond(d_cond)", "back_cond"), ("pullback fac(back_multiply_1)", "back_fac")} <= texts
    assert ("back_cond", "merge") in texts
    assert len([path for path in drawing.titles if "pullback" in path[-1]]) == 3


def test_adjoints_of_loop_variables() -> None:
    """The adjoint of each variable goes to a back, which leads to its merge; unused ones do not leave."""
    view = program_view(grad_power.program)
    backs = [box for box in view.boxes.values() if box.kind == "back"]
    assert [box.title for box in backs] == ["back d_multiply", "back d_x"]
    assert [arrow.tail for arrow in view.arrows if arrow.link == "before"] == [box.name for box in backs]
    assert [box.title for box in view.boxes.values() if box.kind == "exit"] == ["exit p", "exit d_x"]


@pytest.mark.full
@by_name
def test_graphviz_lays_them_out(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Graphviz lays out programs and graphs without complaint, and a pullback alone, or folded."""
    function, _ = GRADIENTS[name]
    for source in (graph_dot(function.graph), program_dot(function.program)):
        Drawing(source).graph.draw(format="svg", prog="dot")
    assert [line for line in capfd.readouterr().err.splitlines() if "ontconfig" not in line] == []
    view = graph_view(function.graph)
    titles = {each.title for each in view.root.walk() if each.kind == "pullback"}
    folded = trim_view(view, fold=tuple(sorted(titles)))
    assert not any(cluster.kind == "pullback" for cluster in folded.root.walk())
    assert any(box.kind == "folded" for box in folded.boxes.values())
    alone = trim_view(view, only=("pullback",))
    assert {cluster.kind for cluster in alone.root.clusters} == {"pullback"}


@pytest.mark.inner(first=1)
@by_name
def test_pictures_of_runs_with_reverse_passes(name: str) -> None:
    """Every picture of such a run, at its end and before, is complete."""
    function, arguments = GRADIENTS[name]
    history = History(function.graph, list(arguments))
    history.run()
    for position in (len(history), len(history) * 2 // 3):
        history.jump(position)
        for each in PICTURES:
            result = run_picture(history, each)
            assert not isinstance(result, View) or list(view_violations(result)) == []


def test_activations_have_both_phases() -> None:
    """A call has both phases, and an iteration has the adjoints beside its variables."""
    assert titles(grad_fac, 3.0) == [
        "grad_fac(3.0) = 5.0",
        "grad_fac_1(3.0) = 5.0",
        "fac_split(3.0) = 6.0, ∂(1.0) = 5.0",
        "fac_split(2.0) = 2.0, ∂(3.0) = 3.0",
        "fac_split(1.0) = 1.0, ∂(6.0) = 0.0",
    ]
    history = History(grad_power.graph, [3.0, 1])
    history.run()
    tree = ActivationTree(history.graph, history.arguments, history[: len(history)])
    first = next(tag for tag in tree.tags if tag.site.kind == "loop")
    assert tree.describe_call(first) == "loop[0]: i = 0, p = 1.0, n = 1, x = 3.0"
    assert tree.describe_results(next(tag for tag in tree.tags if tag.last_step == "power")) == "3.0, ∂(1.0) = 1.0"
    assert titles(grad_power, 3.0, 2)[-3:] == [
        "loop[0]: i = 0, p = 1.0, n = 2, x = 3.0, d_multiply = 9.0, d_x = 6.0",
        "loop[1]: i = 1, p = 3.0, n = 2, x = 3.0, d_multiply = 3.0, d_x = 3.0",
        "loop[2]: i = 2, p = 9.0, n = 2, x = 3.0, d_multiply = 1.0, d_x = 0.0",
    ]


def titles(function: tl.Function, *arguments: object) -> list[str]:
    history = History(function.graph, list(arguments))
    history.run()
    view = activation_tree_view(history.graph, history.arguments, history[: len(history)])
    return [box.title for box in view.boxes.values()]


@pytest.mark.full
def test_reverse_passes_in_cells() -> None:
    """In cells, a reenter and a back have their own ends and words, and the frame says what it contains."""
    view = trim_view(graph_view(grad_power.graph), only=("power_split.loop",), full=True)
    text = "\n".join(draw_cells(view, width=size).text() for size in (90, 300))
    assert "∂ pullback" in text
    assert "reenter d_multiply>" in text or "[e d_multiply>" in text
    assert "\\back d_x out\\" in text or "\\b d_x out\\" in text


@by_name
def test_a_player_has_the_tokens_of_the_machine(name: str) -> None:
    """After each event, the replay of a page has the tokens in flight of a run with a reverse pass."""
    function, arguments = GRADIENTS[name]
    history = History(function.graph, list(arguments), schedule="lifo")
    history.run()
    recording = record_tokens(history.graph, history[: len(history)], history.arguments)
    for position in range(0, len(history) + 1, 7):
        history.jump(position)
        live = live_tokens(recording, position)
        flying = [recording.tokens[n] for n, place in live.items() if place in (TokenPlace.IN_FLIGHT, TokenPlace.READY)]
        assert flying == list(history.state.flight)
        waiting = sum(len(held) for r in history.state.records.values() for held in r.waiting_operands.values())
        assert sum(place is TokenPlace.WAITING for place in live.values()) == waiting
    assert history.state.records.get(ROOT) is None or position < len(history)


def test_pullbacks_of_nested_loops() -> None:
    """The pullback of an inner loop stands in that loop, and not in the pullback of the outer one."""
    around = homes(graph_view(grad_nested.graph)).values()
    titles = {tuple(cluster.title for cluster in clusters) for clusters in around}
    assert ("nested_split", "loop", "loop_1", "pullback") in {
        tuple(title.removeprefix("while ") for title in path) for path in titles
    }
