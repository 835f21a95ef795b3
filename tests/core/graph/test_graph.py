"""Graphs as data, and the builder with which people write them by hand."""

from __future__ import annotations

import pytest
import tagloom as tl
from tagloom.core.graph.graph import Edge, Graph, OutputRef
from tagloom.core.program.program import Location
from tagloom.core.tag import ENVIRONMENT
from tagloom.core.value import literal

INT, BOOL = tl.Type(tl.int64), tl.Type(tl.bool)


def small_graph() -> Graph:
    """Two nodes called `add`, a comparison, a switch, and a port that is connected late."""
    builder = tl.GraphBuilder("g")
    x, y = builder.argument("x", INT), builder.argument("y", INT)
    (one,) = builder.node("add", "add", [x, None], [INT], location=Location("/a/user.py", 7))
    (two,) = builder.node("add", "add", [one, literal(1)], [INT])
    builder.connect(y, one.node, 1)
    (less,) = builder.node("less", "less", [one, two], [BOOL])
    taken, other = builder.node("switch", "switch", [two, less], [INT, INT])
    (merge,) = builder.node("merge", "merge", [taken], [INT])
    builder.connect_new_port(other, merge.node)
    assert builder.type(x) == INT and builder.type(less) == BOOL
    return builder.build([merge, less])


def test_names_are_unique() -> None:
    """Names of nodes are unique; a name that exists gets a number."""
    assert [node.name for node in small_graph().nodes] == [
        "add",
        "add_1",
        "less",
        "switch",
        "merge",
        "return",
        "return_1",
    ]


def test_s3_edges_are_ordered_by_their_ends() -> None:
    """S3: the edges of an output are ordered by node, then by port, whatever the order in which they were added."""
    builder = tl.GraphBuilder("g")
    x = builder.argument("x", INT)
    for k in range(3):
        builder.node("add", f"n{k}", [None, None], [INT])
    for node, port in ((2, 0), (0, 1), (1, 1), (0, 0)):
        builder.connect(x, node, port)
    assert builder.build().arguments[0][1].edges == (Edge(0, 0), Edge(0, 1), Edge(1, 1), Edge(2, 0))


def test_sources() -> None:
    """Every port has its source; an argument's source is the environment, and literals have none."""
    graph = small_graph()
    sources = graph.sources()
    assert sources[Edge(0, 0)] == [OutputRef(-1, 0)] and sources[Edge(0, 1)] == [OutputRef(-1, 1)]
    assert Edge(1, 1) not in sources and graph.nodes[1].ports == (None, literal(1))
    assert sources[Edge(4, 0)] == [OutputRef(3, 0)] and sources[Edge(4, 1)] == [OutputRef(3, 1)]
    assert graph.output(OutputRef(-1, 1)).type == INT and graph.output(OutputRef(2, 0)).type == BOOL


def test_v15_results_are_returns_to_the_environment() -> None:
    """V15: the builder adds a return node for each result."""
    graph = small_graph()
    assert graph.results == (5, 6) and [graph.nodes[n].site for n in graph.results] == [ENVIRONMENT] * 2
    assert [str(graph.nodes[n].outputs[0].type) for n in graph.results] == ["int64", "bool"]
    assert tl.run_graph(graph, [1, 2]).value == (4, True)


def test_l7_a_trigger_is_the_last_port() -> None:
    """L7: a node with a trigger has one more port, and takes plain values as literals."""
    builder = tl.GraphBuilder("g")
    x = builder.argument("x", BOOL)
    (result,) = builder.node("add", "add", [literal(1), literal(2)], [INT], trigger=x)
    graph = builder.build([result])
    assert graph.nodes[0].has_trigger and graph.nodes[0].ports == (literal(1), literal(2), None)
    assert graph.sources()[Edge(0, 2)] == [OutputRef(-1, 0)] and tl.run_graph(graph, [True]).value == 3


def test_find() -> None:
    """Nodes are found by name, or by function and name; the error lists the existing names."""
    graph = small_graph()
    assert graph.find("add") == graph.find("g.add") == [0] and graph.find("switch") == [3]
    with pytest.raises(tl.Usage, match="no node is called 'sub'") as missed:
        graph.find("sub")
    assert missed.value.hint is not None and "g.add, g.add_1, g.less" in missed.value.hint


def test_the_location_of_a_node() -> None:
    """The location of a node is its Python line, or its own name if it has none."""
    one, two, *_ = small_graph().nodes
    assert str(one.origin) == "user.py:7" and two.origin == str(two) == "g.add_1"
