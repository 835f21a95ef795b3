"""The first difference between two runs: checked by brute force under several schedules, and as text on small
programs."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import tagloom as tl
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.generators.generator import Case, cases, values
from support.laws.difference_laws import difference_violations, edit_graph
from support.laws.query_laws import run_and_index
from support.programs.hand_written_graphs import stuck, sum_graph
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.value import literal
from tagloom.interp.history.history import History
from tagloom.interp.queries.difference import first_difference

MOST_EVENTS = 1_000
"""The most events of a run that the law compares: the ancestors of all firings grow quadratically."""
SCHEDULES = [("fifo", "lifo"), ("random:1", "fifo"), ("lifo", "random:2")]


@settings(max_examples=10)
@given(cases(), st.data(), st.randoms(use_true_random=False))
def test_the_first_difference_is_first_and_does_not_depend_on_schedules(
    case: Case, data: st.DataObject, dice: random.Random
) -> None:
    """The first difference between runs of a program, of an edited one, or on other arguments is real, and everything
    on which it depends agrees. It is None only for equal runs, and does not depend on schedules."""
    graph, other, arguments = lower(case.program), lower(case.program), list(case.arguments)
    match dice.choice(["same", "edited", "edited", "arguments"]):
        case "edited":
            other = edit_graph(graph, dice)
        case "arguments":
            expected = graph.arguments[graph.hidden_count :]
            arguments = [data.draw(values(output.type)) for _, output in expected]
    difference_lines = []
    for one, two in SCHEDULES:
        (state, first), (end, second) = run_and_index(graph, case.arguments, one), run_and_index(other, arguments, two)
        assume(not state.flight and not end.flight and max(len(first.events), len(second.events)) <= MOST_EVENTS)
        difference = first_difference(first, second)
        assert list(difference_violations(first, second, difference)) == []
        difference_lines.append(
            difference and (difference.kind, difference.firing and (difference.firing.node, difference.firing.tag))
        )
        assert list(difference_violations(second, first, first_difference(second, first))) == []
    assert difference_lines == difference_lines[:1] * len(difference_lines)


@settings(max_examples=5)
@given(cases(), st.integers(1, 500), st.integers(1, 500))
def test_stopping_early_is_no_difference(case: Case, one: int, other: int) -> None:
    """Two runs of one program do not differ, wherever each was stopped, under any schedule."""
    graph = lower(case.program)
    first, second = (
        run_and_index(graph, case.arguments, "lifo", one)[1],
        run_and_index(graph, case.arguments, "fifo", other)[1],
    )
    assert first_difference(first, second) is None


def changed(graph: Graph, which: str, **to: object) -> Graph:
    """The graph with one node changed."""
    (number,) = graph.find(which)
    node = replace(graph.nodes[number], **to)  # type: ignore[arg-type]
    return replace(graph, nodes=(*graph.nodes[:number], node, *graph.nodes[number + 1 :]))


def difference_lines(one: Graph, given: list[int], two: Graph, others: list[int]) -> list[str]:
    return str(first_difference(run_and_index(one, given)[1], run_and_index(two, others)[1])).splitlines()


def test_a_different_op() -> None:
    """With equal operands, the op that gives another result is reported, and not the nodes that depend on it."""
    assert difference_lines(sum_graph(), [3, 4], changed(sum_graph(), "inner", op="multiply"), [3, 4]) == [
        "the runs differ first at node sum.inner under main: its op differs",
        "  first: add 3, 4 -> 7, at event 1",
        "  second: multiply 3, 4 -> 12, at event 1",
    ]


def test_a_different_literal() -> None:
    """If an operand differs although nothing before it does, it is a literal."""
    edited = changed(stuck(), "less", ports=(None, literal(0)))
    assert difference_lines(stuck(), [1], edited, [1]) == [
        "the runs differ first at node stuck.less under main: it got different operands",
        "  first: less 1, 3 -> true, at event 0",
        "  second: less 1, 0 -> false, at event 0",
        "  port 1 got the literal 3 in the first, the literal 0 in the second",
    ]


def test_different_arguments() -> None:
    """The report has the argument, and the first node whose result it changes."""
    assert difference_lines(sum_graph(), [3, 4], sum_graph(), [3, 5]) == [
        "the runs differ first at node sum.inner under main: it got different operands",
        "  argument y is 4 in the first, 5 in the second",
        "  first: add 3, 4 -> 7, at event 1",
        "  second: add 3, 5 -> 8, at event 1",
        "  port 1 got 4 from argument y in the first, 5 from argument y in the second",
    ]


def test_unused_arguments() -> None:
    """If unused arguments differ, no firing does."""
    unused = tl.parse_graph("graph unused(x: int64, y: int64) -> int64 {\n  a = add x, 1\n  return a\n}")
    assert difference_lines(unused, [1, 2], unused, [1, 3]) == [
        "the runs differ in their arguments only",
        "  argument y is 2 in the first, 3 in the second",
    ]


def test_a_node_of_one_program_only() -> None:
    """A node that only one program has; if each has one, the first program's is reported."""
    assert difference_lines(sum_graph(), [3, 4], changed(sum_graph(), "inner", name="other"), [3, 4]) == [
        "the runs differ first at node sum.inner under main: it fired in one of them only",
        "  first: add 3, 4 -> 7, at event 1",
        "  second: there is no such node",
    ]


def test_a_node_that_got_no_token() -> None:
    """For a node that fired in one run only, the report names the port without a token in the other run."""
    one_side = "graph side(x: int64) -> int64 {\n  low = less x, 3\n  way = switch x, low\n  y = add way:0, OTHER\n"
    one_side += "  return y\n}"
    whole, half = tl.parse_graph(one_side.replace("OTHER", "x")), tl.parse_graph(one_side.replace("OTHER", "way:1"))
    assert difference_lines(whole, [1], half, [1]) == [
        "the runs differ first at node side.y under main: it fired in one of them only",
        "  first: add 1, 1 -> 2, at event 4",
        "  second: it did not fire: no token came to port 1",
    ]


def test_no_difference() -> None:
    """The answer is None if all firings agree."""
    assert (
        first_difference(run_and_index(sum_graph(), [3, 4])[1], run_and_index(sum_graph(), [3, 4], "lifo")[1]) is None
    )


def test_cells_of_an_edited_program() -> None:
    """Cells are equal in both programs if their nodes have the same name, whatever their numbers."""

    def first(n: tl.int64) -> tl.int64:
        filled = tl.put(tl.cells(2, tl.int64), 0, n)
        return tl.get(filled, 0) * 2

    def second(n: tl.int64) -> tl.int64:
        other = -n
        filled = tl.put(tl.cells(2, tl.int64), 0, n)
        return tl.get(filled, 0) * 2 + (other - other)

    first.__name__ = second.__name__ = "first"
    one, two = (tl.function(python).history(3) for python in (first, second))
    for history in (one, two):
        history.run()
    assert one.graph.find("cells") != two.graph.find("cells")
    difference = one.ask.first_difference(two)
    assert difference is not None and difference.firing is not None
    assert difference.kind == "only one" and difference.firing.node.op in ("negative", "subtract", "add")


def test_swapped_names() -> None:
    """A difference is reported even if each of two different nodes depends on the other in one of the programs."""
    one = tl.parse_graph("graph g(x: int64) -> int64 {\n  a = add x, 1\n  b = multiply a, 2\n  return b\n}")
    two = tl.parse_graph("graph g(x: int64) -> int64 {\n  b = multiply x, 3\n  a = add b, 1\n  return a\n}")
    assert (
        difference_lines(one, [3], two, [3])[0]
        == "the runs differ first at node g.a under main: it got different operands"
    )


def g(*nodes: str, takes: str = "x: int64, y: int64") -> Graph:
    """The graph of these nodes; it returns the result of the last one."""
    last = nodes[-1].split(" =")[0]
    return tl.parse_graph("\n".join([f"graph g({takes}) -> int64 {{", *nodes, f"return {last}", "}"]))


ADDS = g("b = multiply x, 2", "a = add x, 1", "c = add a, b")
CELLS = "block = cells 2, element=int64 @ x"
OTHER = "other = cells 2, element=int64 @ x"
WAYS = "less = less x, 3", "way = switch x, less", "side = switch y, less"
A, Z = "a = add x, 1", "z = negative y"


@pytest.mark.parametrize(
    ("one", "two", "node", "kind", "lines"),
    [
        pytest.param(
            ADDS,
            g("a = add x, 2", "b = multiply a, 2", "c = add a, b"),
            "a",
            "operands",
            ["port 1 got the literal 1 in the first, the literal 2 in the second"],
            id="depends on another in one run only",
        ),
        pytest.param(g(A), g(Z, "a = add x, 2"), "z", "only one", [], id="first in the program of the second"),
        pytest.param(
            g(A),
            g("a = add x, 2", Z),
            "a",
            "operands",
            ["port 1 got the literal 1 in the first, the literal 2 in the second"],
            id="not first there",
        ),
        pytest.param(g(A), g("c = add x, 1", Z), "a", "only one", [], id="in the first only"),
        pytest.param(g("d = multiply x, 0"), g("d = floor_divide x, 0"), "d", "results", [], id="a trap"),
        pytest.param(
            g("c = multiply 0, 2 @ x"),
            g("c = multiply 0, 3 @ x"),
            "c",
            "operands",
            ["port 1 got the literal 2 in the first, the literal 3 in the second"],
            id="a literal of a triggered node",
        ),
        pytest.param(
            g("a = add x, y"),
            g("a = negative x"),
            "a",
            "operands",
            ["port 1 got 2 from argument y in the first, nothing in the second"],
            id="fewer operands",
        ),
        pytest.param(
            g("a = negative x"),
            g("a = add x, y"),
            "a",
            "operands",
            ["port 1 got nothing in the first, 2 from argument y in the second"],
            id="more operands",
        ),
        pytest.param(
            g(*WAYS, "m = merge way:0, way:1"),
            g(*WAYS, "m = merge side:1, side:0"),
            "m",
            "operands",
            ["port 0 got 1 from g.way at event 3 in the first, 2 from g.side at event 4 in the second"],
            id="a merge that got another token, on another port",
        ),
        pytest.param(
            g(CELLS, OTHER, "store = store block, 0, y", A),
            g(CELLS, OTHER, "store = store other, 0, y", A),
            "store",
            "operands",
            [
                "port 0 got g.block under main from g.block at event 0 in the first, "
                "g.other under main from g.other at event 1 in the second"
            ],
            id="other cells",
        ),
        pytest.param(
            g(CELLS, "i = identity block", A),
            g(CELLS, "i = identity x", A),
            "i",
            "operands",
            ["port 0 got g.block under main from g.block at event 0 in the first, 1 from argument x in the second"],
            id="cells and a number",
        ),
        pytest.param(
            g(CELLS, "i = identity x", A),
            g(CELLS, "i = identity block", A),
            "i",
            "operands",
            ["port 0 got 1 from argument x in the first, g.block under main from g.block at event 0 in the second"],
            id="a number and cells",
        ),
        pytest.param(
            g(CELLS, A), g(CELLS.replace("int", "float"), A), "block", "results", [], id="cells of another type"
        ),
    ],
)
def test_the_first_difference_of_small_programs(one: Graph, two: Graph, node: str, kind: str, lines: list[str]) -> None:
    """For small programs with one difference or two: which firing is the first, how it differs, and where its different
    operands came from."""
    first, second = run_and_index(one, [1, 2])[1], run_and_index(two, [1, 2])[1]
    difference = first_difference(first, second)
    assert list(difference_violations(first, second, difference)) == []
    assert difference is not None and difference.firing is not None
    assert (str(difference.firing.node), difference.kind) == (f"g.{node}", kind)
    assert list(map(str, difference.operands)) == lines


@pytest.mark.parametrize(
    ("one", "two"),
    [
        pytest.param(g(*WAYS, "m = merge way:0, way:1"), g(*WAYS, "m = merge way:1, way:0"), id="ports of a merge"),
        pytest.param(
            g(CELLS, OTHER, "store = store block, 0, y", A),
            g(OTHER, CELLS, "store = store block, 0, y", A),
            id="numbers of nodes that make cells",
        ),
    ],
)
def test_equal_firings(one: Graph, two: Graph) -> None:
    """A merge has one operand, whatever the port, and cells are identified by the name of their node."""
    assert first_difference(run_and_index(one, [1, 2])[1], run_and_index(two, [1, 2])[1]) is None


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [(1, 1.0, False), (1.0, 1, False), (1.0, 1.5, False), (1.0, 1.0, True), (0.0, -0.0, False), (2, 2, True)],
)
def test_values_with_equal_bits_and_types(first: float, second: float, same: bool) -> None:
    """Values are equal if they have the same bits and the same type."""
    one, two = (g("n = negative x", takes=f"x: {type(value).__name__}64") for value in (first, second))
    difference_lines = first_difference(run_and_index(one, [first])[1], run_and_index(two, [second])[1])
    assert (difference_lines is None) == same
    assert difference_lines is None or difference_lines.kind == "operands"


def test_more_arguments() -> None:
    """An argument that only one run has differs, and has the name from its program."""
    few, many = g("n = negative x", takes="x: int64"), g("n = negative x")
    assert difference_lines(few, [1], many, [1, 2])[1:] == ["  argument y is not there in the first, 2 in the second"]
    assert difference_lines(many, [1, 2], few, [1])[1:] == ["  argument y is 2 in the first, not there in the second"]


@pytest.mark.parametrize(
    ("graph", "node", "port", "message"),
    [
        (g("a = add x, y"), "a", 0, "port 0 got 5 from argument x in the first, 6 from argument x (changed to 6)"),
        (g("a = add y, x"), "a", 0, "port 0 got 2 from argument y in the first, 6 from argument y (changed to 6)"),
        (
            g(*WAYS, "m = merge way:0, way:1"),
            "m",
            1,
            "port 0 got 5 from g.way at event 3 in the first, 6 from g.way at event 3 (changed to 6)",
        ),
    ],
)
def test_an_edited_operand(graph: Graph, node: str, port: int, message: str) -> None:
    """The report says that the different operand was edited, on whichever port, and whichever token came last."""
    history = History(graph, [5, 2], schedule="fifo", unchecked=True)
    history.run()
    (number,) = graph.find(node)
    history.jump(0)
    while (number, port) not in [token[:2] for token in history.state.flight]:
        history.forward()
    what_if = history.change((node, port, "main"), 6)
    for each in (history, what_if):
        each.run()
    difference = history.ask.first_difference(what_if)
    assert difference is not None
    assert [*map(str, difference.operands)] == [f"{message} in the second"]
