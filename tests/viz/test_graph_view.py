"""A drawn graph has everything of the graph, once, in the right place."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import tagloom as tl
from hypothesis import HealthCheck, given, settings
from picture_sizes import grad_power
from support.generators.generator import Case, cases
from support.generators.json_edits import FILL
from support.pictures.drawings import FUNCTIONS, INT, STRANGE, Drawing, fib, graph_dot, graphs, main, nested, race
from tagloom.core.graph.graph import Graph
from tagloom.core.tag import Site
from tagloom.core.value import literal
from tagloom.interp.queries.adjoints import AdjointPartners
from tagloom.viz.graph_view import graph_view
from tagloom.viz.labels import cluster_title
from tagloom.viz.style import CLUSTER_LOOKS
from tagloom.viz.view import View

GRAPHS = {**{name: function.graph for name, function in FUNCTIONS.items()}, "race": race(), "fill": tl.lower(FILL)}
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def check_drawn_once(graph: Graph) -> None:
    drawing = Drawing(graph_dot(graph))
    names = [f"n{number}" for number in range(len(graph.nodes))]
    names += [f"a{number}" for number in range(len(graph.arguments))]
    names += [f"r{number}" for number in range(len(graph.results))]
    statements = drawing.statements()
    assert set(drawing.nodes) == set(names)
    assert {name: statements[name] for name in names} == dict.fromkeys(names, 1)
    outputs = [(f"a{number}", output) for number, (_, output) in enumerate(graph.arguments)]
    outputs += [(f"n{number}", output) for number, node in enumerate(graph.nodes) for output in node.outputs]
    expected = Counter((tail, f"n{edge.node}") for tail, output in outputs for edge in output.edges)
    expected += Counter((f"n{number}", f"r{position}") for position, number in enumerate(graph.results))
    assert Counter((edge.tail, edge.head) for edge in drawing.edges) == expected


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
def test_each_node_and_each_edge_is_drawn_once(graph: Graph) -> None:
    """Nothing is left out or drawn twice, and arrows point in the direction of tokens."""
    check_drawn_once(graph)


@settings(max_examples=40, deadline=None, suppress_health_check=_SLOW)
@given(graphs())
def test_invalid_graphs_are_drawn(graph: Graph) -> None:
    """Every graph that a Builder makes can be drawn, under any names, and Graphviz can read it."""
    check_drawn_once(graph)


@settings(max_examples=30, deadline=None, suppress_health_check=_SLOW)
@given(cases())
def test_functions_and_loops_are_clusters(case: Case) -> None:
    """Each function is a cluster, each loop is one inside that of the loop around it, and gates stand in their loop."""
    graph = tl.lower(case.program)
    drawing = Drawing(graph_dot(graph))
    functions = {(node.function,) for node in graph.nodes}
    loops = {node.site for node in graph.nodes if node.site is not None and node.site.kind == "loop"}
    assert {path for path in drawing.titles if len(path) == 1} == functions
    helpers = sum(cluster.kind in ("scope", "branch") for cluster in graph_view(graph).root.walk())
    assert len(drawing.titles) == len(functions) + len(loops) + helpers
    for number, node in enumerate(graph.nodes):
        path = drawing.paths[f"n{number}"]
        assert path[0] == node.function
        if node.site in loops:
            assert path[-1] == CLUSTER_LOOKS["loop"].glyph + cluster_title("while", node.site.name)


def test_nested_loops_nest() -> None:
    """A loop in a loop in a function is a cluster in a cluster in a cluster."""
    drawing = Drawing(graph_dot(nested.graph))
    (inner,) = [path for path in drawing.titles if len(path) == 3]
    assert inner[0] == "nested"
    assert inner[:2] in drawing.titles
    (multiply,) = nested.graph.find("multiply")
    assert drawing.paths[f"n{multiply}"] == inner


def test_arguments_and_results_stand_outside() -> None:
    """The environment's arguments and results belong to no function's cluster."""
    drawing = Drawing(graph_dot(main.graph))
    outside = {name for name, path in drawing.paths.items() if not path}
    assert outside == {"a0", "a1", "a2", "r0"}
    assert [drawing.says(name) for name in ("a0", "a1", "a2")] == [["trigger"], ["x"], ["n"]]


def test_labels_of_nodes() -> None:
    """Formulas have their literals, and the names of their operands, through switches."""
    graph = fib.graph
    drawing = Drawing(graph_dot(graph))
    texts = {str(node): drawing.says(f"n{number}") for number, node in enumerate(graph.nodes)}
    assert texts["fib.subtract"] == ["n - 1", "subtract"]
    assert texts["fib.less_equal"] == ["n <= 1", "less_equal"]
    assert texts["fib.add"] == ["fib + fib_1", "add"]
    assert texts["fib.literal"] == ["1", "literal"]
    assert texts["fib.cond.switch_n"] == ["n", "switch"]
    assert texts["fib.fib_1.call_n"] == ["call fib_1.n", "a call of fib"]
    assert texts["fib.fib_1"] == ["return fib_1"]


def test_gates_name_their_variable() -> None:
    """A gate of a loop says which variable it lets in, round or out, and its first value."""
    graph = nested.graph
    drawing = Drawing(graph_dot(graph))
    texts = [drawing.says(f"n{number}")[0] for number, node in enumerate(graph.nodes) if node.site]
    assert {"enter j = 0", "enter t", "next j", "exit t"} <= set(texts)


def test_edges_have_styles() -> None:
    """Predicates, triggers, calls and next iterations have lines of their own."""
    graph = main.graph
    drawing = Drawing(graph_dot(graph))
    ops = {f"n{number}": node.op for number, node in enumerate(graph.nodes)}
    assert {ops[edge.tail] for edge in drawing.of("back")} == {"next_iteration"}
    assert {ops[edge.head] for edge in drawing.of("back")} == {"merge"}
    assert all(ops[edge.tail] == "call" or ops[edge.head] == "return" for edge in drawing.of("call"))
    assert {edge.style for edge in drawing.of("call")} == {"dashed"}
    triggers = list(drawing.of("trigger"))
    assert {edge.style for edge in triggers} == {"dotted"}
    assert {edge.head for edge in triggers} == {f"n{n}" for n, node in enumerate(graph.nodes) if node.has_trigger}
    assert len(list(drawing.of("predicate"))) == sum(node.op == "switch" for node in graph.nodes)


EFFECTS = """
func f(c: bool, n: int64) -> bool {
  p = print n, text="n is {}, {{}}"
  q = callback n, 2, function="twice", returns=int64
  r = cond c, q {
    then(q: int64) {
      s = print q, text="{}"
      yield s
    }
    else(q: int64) { yield true }
  }
  u = uniform shape=[2]
  return r
}
"""


def test_the_order_of_effects_is_dashed() -> None:
    """The order of effects on a resource is no value: dashed edges lead into the triggers of effects, and out of their
    second outputs."""
    graph = tl.lower(tl.parse_program(EFFECTS))
    drawing = Drawing(graph_dot(graph))
    ops = {f"n{number}": node.op for number, node in enumerate(graph.nodes)}
    order = list(drawing.of("order"))
    assert {edge.style for edge in order} == {"dashed"}
    effects = {name for name, op in ops.items() if op in ("print", "callback")}
    assert {edge.head for edge in order} >= effects
    assert all(edge.tail in effects or edge.head in effects for edge in order)
    assert all(edge.label == "" for edge in order if edge.tail in effects)
    assert all(edge.head not in effects for edge in drawing.of("trigger"))
    assert any(ops[edge.tail] == "print" and ops[edge.head] == "switch" for edge in order)


def test_labels_of_effects() -> None:
    """Cells have their index, a text has the names of its operands, and a callback its function."""
    texts = []
    for program in (FILL, tl.parse_program(EFFECTS)):
        graph = tl.lower(program)
        drawing = Drawing(graph_dot(graph))
        texts += [drawing.says(f"n{number}")[0] for number in range(len(graph.nodes))]
    expected = ["cells(n, int64)", "c[1]", "c[i] = s", "collect(c)", "uniform([2])", 'print "cell 1 of {} is {g}"']
    expected += ["breakpoint(p)", "permutation(n)", 'print "n is {n}, {}"', "python twice(n, 2)"]
    assert set(expected) <= set(texts)


def test_outputs_are_labelled() -> None:
    """The outputs of a switch are T and F, and an exit says which of its outputs is the number of trips."""
    builder = tl.GraphBuilder("g")
    x, p = builder.argument("x", INT), builder.argument("p", tl.Type(tl.bool))
    yes, no = builder.node("switch", "s", [x, p], [INT, INT])
    value, trips = builder.node("exit", "e", [yes], [INT, INT], site=Site("g", "l", "loop"))
    graph = builder.build([no, value, trips])
    labels = {(edge.tail, edge.head): edge.label for edge in Drawing(graph_dot(graph)).edges}
    assert labels["n0", "n1"] == "T"
    assert labels["n0", "n2"] == "F"
    assert labels["n1", "n3"] == ""
    assert labels["n1", "n4"] == "trips"


def test_tooltips_have_source_lines_and_types() -> None:
    """A node has its source line, and an edge has the type of its tokens and their port."""
    graph = fib.graph
    drawing = Drawing(graph_dot(graph))
    (subtract,) = graph.find("subtract")
    tooltip = drawing.nodes[f"n{subtract}"]["tooltip"]
    assert tooltip == f"fib.subtract: subtract ({graph.nodes[subtract].location})"
    assert "drawings.py:" in tooltip
    assert {edge.tooltip for edge in drawing.edges if edge.head == f"n{subtract}"} == {"int64, to port 0"}


def unmatched_marks(view: View) -> list[str]:
    """The boxes of reverse passes whose number belongs to no node that they go back through, by tooltips."""
    numbers = ((re.fullmatch("(?:.* )?(\\d+)", box.subtitle), box) for box in view.boxes.values())
    numbered = {match[1]: box for match, box in numbers if match is not None}
    unmatched = []
    for box in view.boxes.values():
        mark = re.search("\u2202\u2009(\\d+)", box.subtitle)
        if mark is not None:
            primal = numbered.get(mark[1])
            name = box.tooltip.partition(":")[0]
            if primal is None or name not in primal.tooltip.partition("reversed by ")[2]:
                unmatched.append(name)
    return unmatched


def test_pairs_of_a_reverse_pass_are_marked() -> None:
    """A node and those that go back through it have one number, once for the node; a graph without gradients has no
    numbers."""
    view = graph_view(grad_power.graph)
    assert unmatched_marks(view) == []
    subtitles = Counter(box.subtitle.partition("\u00b7 ")[2] for box in view.boxes.values())
    marks = [mark for mark in subtitles if "\u2202" in mark]
    assert len(marks) >= 5 and all(subtitles[mark.removeprefix("\u2202\u2009")] <= 1 for mark in marks)
    product = next(box for box in view.boxes.values() if box.subtitle.startswith("multiply \u00b7"))
    number = product.subtitle.removeprefix("multiply \u00b7 ")
    backs = [box.title for box in view.boxes.values() if box.subtitle.endswith(f"\u2202\u2009{number}")]
    assert product.title == "y * x" and len(backs) == 2, (product, backs)
    assert not any("\u00b7" in box.subtitle for box in graph_view(fib.graph).boxes.values())


def test_wrong_pairs_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that takes each node for the reverse of its neighbour is detected."""
    primal_nodes = AdjointPartners.primal_nodes
    monkeypatch.setattr(AdjointPartners, "primal_nodes", lambda self, number: primal_nodes(self, number - 1))
    assert unmatched_marks(graph_view(grad_power.graph))


@pytest.mark.parametrize("name", STRANGE, ids=ascii)
def test_strange_names_are_only_names(name: str) -> None:
    """No name is read as markup, as an escape, or as the end of a string; printable names are shown unchanged."""
    builder = tl.GraphBuilder(name)
    x = builder.argument(name, INT)
    (y,) = builder.node("add", name, [x, literal(1)], [INT])
    drawing = Drawing(graph_dot(builder.build([y])))
    assert len(drawing.nodes) == 4
    if name.isprintable() and name.strip() and len(name) < 40:
        assert drawing.says("a0") == [name]
        assert drawing.says("n0")[0] == f"{name} + 1"
        assert drawing.titles == [(name,)]


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
def test_graphviz_lays_it_out_without_complaint(graph: Graph, capfd: pytest.CaptureFixture[str]) -> None:
    """Nesting, ranks and reversed edges never contradict one another."""
    drawing = Drawing(graph_dot(graph))
    svg = drawing.graph.draw(format="svg", prog="dot")
    assert svg.count(b'class="edge ') == len(drawing.edges)
    assert svg.count(b'class="cluster ') == len(drawing.titles)
    reply = capfd.readouterr().err.splitlines()
    assert [line for line in reply if "ontconfig" not in line] == []


@pytest.mark.full
def test_drawing_is_stable(tmp_path: Path) -> None:
    """The same graph gives the same text in every process."""
    code = "from support.pictures import drawings as d; print(d.graph_dot(d.main.graph))"
    code += "; print(d.program_dot(d.main.program))"
    texts = set()
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
        texts.add(subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, env=environment, text=True))
    assert len(texts) == 1
