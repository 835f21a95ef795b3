"""Name scopes: the nodes of one call of a Python helper that runs in its caller are in one cluster, and large graphs
fold them first."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.view_laws import place_violations
from tagloom.core.frontend.trace import source_location
from tagloom.tui.load import find_program, program_and_graph
from tagloom.viz import scopes
from tagloom.viz.collapse import collapse_clusters
from tagloom.viz.graph_view import graph_view
from tagloom.viz.pictures import trim_view
from tagloom.viz.view import Cluster, View

EXAMPLES = Path(tl.__file__).parent / "papers_examples"


@tl.autograph.inline
def sigmoid(x: Any) -> Any:
    return 0.5 * (tl.tanh(0.5 * x) + 1.0)


class Layer:
    """A layer that is called."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @tl.autograph.inline
    def __call__(self, x: Any) -> Any:
        return sigmoid(self.weight * x) + 1.0


FIRST, SECOND = Layer(2.0), Layer(3.0)


@tl.function
def model(x: tl.float64) -> tl.float64:
    y = FIRST(x)
    return SECOND(y) - sigmoid(y) * sigmoid(x)


def outline(cluster: Cluster) -> list[Any]:
    """The titles of the scopes in a cluster, each with those inside it."""
    return [(inner.title, outline(inner)) for inner in cluster.clusters if inner.kind == "scope"]


def scopes_of(view: View) -> list[Any]:
    return outline(view.root.clusters[0])


def test_each_call_of_a_helper_is_a_scope() -> None:
    """Helpers and layers are clusters, in the order in which they were called; two calls on one line are two."""
    inside = [("sigmoid", [])]
    view = graph_view(model.graph)
    assert scopes_of(view) == [("Layer", inside), ("Layer", inside), ("sigmoid", []), ("sigmoid", [])]
    subjects = [each.subject for each in view.root.walk() if each.kind == "scope"]
    assert subjects == [
        "model.Layer",
        "model.sigmoid",
        "model.Layer_1",
        "model.sigmoid_1",
        "model.sigmoid_2",
        "model.sigmoid_3",
    ]
    assert any(box.title == "Layer" for box in trim_view(view, fold=("Layer",)).boxes.values())


@tl.function
def repeated(x: tl.float64) -> tl.float64:
    for layer in (FIRST, SECOND, FIRST):
        x = layer(x)
    for _ in range(3):
        x = tl.relu(x)
    for number in range(2):
        with tl.scope(f"part_{number // 2}"):
            x = x * x + 1.0
    return x


def test_calls_by_one_instruction_are_several_scopes() -> None:
    """Calls of helpers, layers, functions of tagloom and scopes in a loop of Python are a scope each, although one
    instruction makes them, and nothing is traced in between."""
    layer = ("Layer", [("sigmoid", [])])
    assert scopes_of(graph_view(repeated.graph)) == [*[layer] * 3, *[("relu", [])] * 3, *[("part_0", [])] * 2]


def test_tracing_refers_to_no_frame_of_the_user() -> None:
    """Once a function is traced, nothing refers to the frames of its helpers, nor to their local variables."""
    values = list[Any]()

    def helper(x: Any) -> Any:
        held = np.zeros(3)
        values.append(weakref.ref(held))
        return x * 2.0 + float(held[0])

    graph = tl.function(lambda x: tl.autograph.inline(helper)(x) + 1.0).trace(1.0).graph
    gc.collect()
    assert len(graph.nodes) > 2 and values and all(reference() is None for reference in values)


def test_scopes_that_ignore_the_call_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the instruction and the number of the call, two calls of a helper in a row are one scope."""
    sound = scopes.node_scopes
    monkeypatch.setattr(
        scopes, "node_scopes", lambda node: tuple(e._replace(instruction=0, number=0) for e in sound(node))
    )
    assert len(scopes_of(graph_view(model.graph))) < 4


def test_bodies_of_branches_and_loops_are_no_scopes() -> None:
    """A branch or a loop's body is a Python function, too, but not a helper; a helper that it calls is one."""

    @tl.function
    def program(x: tl.float64) -> tl.float64:
        def body(i: Any, y: Any) -> Any:
            return i + 1, sigmoid(y) + y

        y = tl.while_loop(lambda i, y: i < 3, body, 0, x)[1]
        if y > 1.0:
            y = y * 2.0 + 1.0
        return y

    kinds = {each.title: each.kind for each in graph_view(program.graph).root.walk()}
    assert [title for title, kind in kinds.items() if kind == "scope"] == ["sigmoid"]


@pytest.mark.full
def test_folding_helpers_loses_nothing() -> None:
    """A TreeLSTM without its helpers is its recursion, with the formulas of its nodes folded; every node has one
    place."""
    graph = program_and_graph(find_program(str(EXAMPLES / "recursion" / "tree_lstm.py")))[1]
    whole = graph_view(graph)
    view = collapse_clusters(whole, [each.name for each in whole.root.walk() if each.kind == "scope"])
    assert list(place_violations(whole, view)) == []
    titles = [box.title for box in view.boxes.values()]
    assert {"leaf", "combine", "guess"} <= set(titles)


class Dense:
    """A layer whose method is called."""

    def __init__(self, weight: Any) -> None:
        self.weight = tl.Variable(weight)

    @tl.autograph.inline
    def scale(self, x: Any) -> Any:
        return x * self.weight + 1.0

    @tl.autograph.inline
    def apply(self, x: Any) -> Any:
        return tl.log_softmax(self.scale(x))


DENSE, OPTIMIZER = Dense([1.0, 2.0]), tl.optimizers.Momentum(rate=0.1)


@tl.function
def training_step(x: tl.Array[tl.float64, 2]) -> tl.float64:
    with tl.Tape() as tape:
        loss = tl.sum(tl.tanh(DENSE.apply(x)) * x)
    OPTIMIZER.apply(tape.gradient(loss, [DENSE.weight]), [DENSE.weight])
    return loss


@pytest.mark.full
def test_functions_of_tagloom_and_methods_are_scopes() -> None:
    """A function of tagloom that emits several nodes is a scope, wherever it computes them; operators and functions of
    one node are none. A method has the name of its class, unless another method of the object calls it."""
    layer = ("Dense.apply", [("scale", []), ("log_softmax", [])])
    assert scopes_of(graph_view(training_step.graph)) == [layer, ("Tape.gradient", []), ("Momentum.apply", [])]


class Deleted:
    """A layer whose methods delete their object."""

    @tl.autograph.inline
    def scale(self, x: Any) -> Any:
        del self
        return tl.abs(x) + 1.0

    @tl.autograph.inline
    def __call__(self, x: Any) -> Any:
        del self
        return tl.abs(x) + 1.0


def test_a_method_that_deletes_its_object_has_its_own_name() -> None:
    """Its class is not known any more."""
    layer = Deleted()
    traced = tl.function(lambda x: layer.scale(x) + layer(x)).trace(1.0)
    assert scopes_of(graph_view(traced.graph)) == [("scale", []), ("__call__", [])]


class Plain:
    """A layer whose method is a function of the program."""

    def double(self, x: Any) -> Any:
        return x * 2.0


@pytest.mark.full
def test_functions_of_programs_have_the_class_of_their_method() -> None:
    """A method that is traced as a function of the program is named after its class, too."""
    layer = Plain()

    @tl.function
    def program(x: tl.float64) -> tl.float64:
        return layer.double(x) + 1.0

    assert [function.name for function in program.program.functions] == ["program", "Plain_double"]


@pytest.mark.full
def test_operators_that_have_the_name_of_a_function_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """If functions of tagloom were helpers wherever their code is, internal ones would be scopes, too."""
    monkeypatch.setattr(source_location, "_OPERATION_PATHS", source_location._TAGLOOM_PATHS)

    @tl.function
    def program(x: tl.Array[tl.float64, 2]) -> tl.Array[tl.float64, 2]:
        return tl.log_softmax(x)

    assert scopes_of(graph_view(program.graph)) != [("log_softmax", [])]


@tl.function
def named_parts(x: tl.float64, n: tl.int64) -> tl.float64:
    with tl.scope("encoder"):
        y = sigmoid(2.0 * x)
        if y > 0.5:
            with tl.scope("large"):
                y = y * 3.0 + 1.0
        for _ in range(n):
            with tl.scope("step"):
                y = y * 2.0 + x
        with tl.scope("encoder"):
            y = y + x * 4.0
    return y + 1.0


def nested_titles(cluster: Cluster) -> list[Any]:
    return [(inner.title, nested_titles(inner)) for inner in cluster.clusters]


def test_scopes_by_hand() -> None:
    """`with tl.scope(name):` frames what is traced inside it, in branches, loops and other scopes; helpers that are
    called there are inside. It adds no node."""
    ((function, inside),) = nested_titles(graph_view(named_parts.graph).root)
    large = ("if multiply_2 > 0.5", [("large", [])])
    parts = [("sigmoid", []), large, ("while loop", [("step", [])]), ("encoder", [])]
    assert function == "named_parts" and inside == [("encoder", parts)]
    assert named_parts(0.3, 3) == named_parts.run(0.3, 3).value


def test_scopes_end_with_their_statement() -> None:
    """After an exception, too, what is traced next has no scope; a scope outside a trace does nothing."""
    with pytest.raises(ZeroDivisionError), tl.scope("left"):
        raise ZeroDivisionError
    with tl.scope("eager"):
        assert tl.sin(tl.asarray(0.0)) == 0.0

        @tl.function
        def inside(x: tl.float64) -> tl.float64:
            return x * 2.0 + 1.0

        assert scopes_of(graph_view(inside.graph)) == []


@pytest.mark.full
@pytest.mark.parametrize(("name", "error"), [(3, TypeError), ("", ValueError)])
def test_scopes_need_names(name: Any, error: type[Exception]) -> None:
    """The name of a scope is a string that is not empty."""
    with pytest.raises(error):
        tl.scope(name)
