"""Rules V7 to V15: invalid graphs are reported under the number of their rule. The law is in test_edited_graphs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.generator import Case, cases
from support.generators.graph_edits import change_node, feed, number, retype_outputs, source, wires, with_wires
from support.observe.event_text import check_words
from tagloom.core.graph.graph import Edge, Graph, NodeOutput
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.tag import Site
from tagloom.core.value import literal
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph

INT, BOOL, FLOAT = tl.Type(tl.int64), tl.Type(tl.bool), tl.Type(tl.float64)


@tl.function
def fac(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: n * fac(n - 1))


@tl.function
def rec(n: tl.int64, m: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: m, lambda: rec(n - 1, m + 1))


@tl.function
def total(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), 0, 0)[1]


@tl.function
def two(n: tl.int64, b: tl.bool) -> tl.int64:
    i, _ = tl.while_loop(lambda i, c: i < 3, lambda i, c: (i + n, ~c), n, b)
    return tl.cond(n < 0, lambda: tl.while_loop(lambda j: j < 9, lambda j: j * i, n)[0], lambda: n)


@tl.function
def low(a: tl.int64, b: tl.int64) -> tl.int64:
    return tl.cond(a < b, lambda: a, lambda: b)


@tl.function
def pair(n: tl.int64) -> tl.int64:
    return low(n, 1) + low(3, n)


FAC, REC, TOTAL, TWO, PAIR = VALID = fac.graph, rec.graph, total.graph, two.graph, pair.graph
LOOP, NEW = Site("total", "loop", "loop"), Site("fac", "new", "call")


def outputs(graph: Graph, name: str, count: int) -> Graph:
    """A node with fewer outputs, or with one more that is unused."""
    old = graph.nodes[number(graph, name)].outputs
    return change_node(graph, name, outputs=(*old, NodeOutput(INT, ()))[:count])


def edge(graph: Graph, name: str, to: Edge) -> Graph:
    """One more edge, to any port."""
    return with_wires(graph, [*wires(graph), (source(graph, name), to)])


def ports(graph: Graph, name: str, *given: object, has_trigger: bool = False) -> Graph:
    """A node with these ports: a value is a literal, and None still takes its token."""
    end, kept = number(graph, name), [port for port, value in enumerate(given) if value is None]
    new = [(leaving, to) for leaving, to in wires(graph) if to.node != end or to.port in kept]
    fixed = tuple(None if value is None else literal(value) for value in given)
    return change_node(with_wires(graph, new), name, ports=fixed, has_trigger=has_trigger)


def merging(graph: Graph, name: str, *names: str) -> Graph:
    """A node turned into a merge of these outputs."""
    graph = change_node(ports(graph, name), name, op="merge", ports=(None,) * len(names))
    for port, each in enumerate(names):
        graph = feed(graph, name, port, each)
    return graph


BROKEN: dict[str, tuple[str, Graph, str]] = {
    "an op that does not exist": ("V7", change_node(FAC, "fac.multiply", op="times"), "times"),
    "a port too many": ("V7", change_node(FAC, "fac.multiply", op="abs"), "got: 2 ports and 1 output"),
    "a merge without ports": ("V7", ports(FAC, "fac.cond"), "some ports and 1 output"),
    "a switch with one side": ("V7", outputs(FAC, "fac.cond.switch_trigger", 1), "2 ports and 2 outputs"),
    "an output too many": ("V7", outputs(FAC, "fac.subtract", 2), "2 ports and 2 outputs"),
    "an enter without a site": ("V7", change_node(TOTAL, "total.loop.enter_n", site=None), "loop"),
    "an ordinary node with a site": ("V7", change_node(TOTAL, "total.add", site=LOOP), "total.loop"),
    "a loop at the site of a call": ("V7", change_node(FAC, "fac.fac.call_n", op="enter"), "fac.fac"),
    "a call of no function": ("V7", replace(FAC, calls=()), "fac.fac"),
    "an attribute too few": ("V7", change_node(FAC, "fac.literal", op="astype"), "got: none"),
    "an attribute too many": ("V7", change_node(FAC, "fac.cond", attributes=(("dtype", tl.int64),)), "got: dtype"),
    "more hidden than there is": ("V7", replace(TOTAL, hidden_count=3), "got: 3"),
    "fewer hidden than none": ("V7", replace(FAC, hidden_count=-1), "got: -1"),
    "a port without a source": ("V8", feed(FAC, "fac.multiply", 1), "port 1 of fac.multiply has no source"),
    "a port with two sources": ("V8", feed(FAC, "fac.multiply", 1, "fac.fac", "fac.subtract"), "2 sources"),
    "a port with one source twice": ("V8", feed(FAC, "fac.multiply", 1, "fac.fac", "fac.fac"), "2 sources"),
    "a literal and a source": ("V8", feed(FAC, "fac.subtract", 1, "fac.cond.switch_n:1"), "2 sources"),
    "an edge to a port that is not": ("V7", edge(FAC, "n", Edge(0, 2)), "port 2 of node 0"),
    "an edge to a node that is not": ("V7", edge(FAC, "n", Edge(99, 0)), "node 99"),
    "an edge to the environment": ("V7", edge(FAC, "n", Edge(-1, 0)), "node -1"),
    "a merge of a literal": ("V8", ports(FAC, "fac.cond", 1, None), "merge has a literal on a port"),
    "a switch on a literal": ("V8", ports(FAC, "fac.cond.switch_n", None, True), "switch has a literal on a port"),
    "literals without a trigger": ("V8", ports(FAC, "fac.literal", 1), "literals only, and no trigger"),
    "a trigger without need": ("V8", change_node(FAC, "fac.multiply", op="abs", has_trigger=True), "it does not need"),
    "a literal as trigger": ("V8", ports(FAC, "fac.literal", 1, True, has_trigger=True), "identity has a literal"),
    "an integer and a float": ("V9", ports(FAC, "fac.subtract", None, 1.0), "int64, float64"),
    "an output of another type": ("V9", retype_outputs(FAC, "fac.less_equal", INT), "got: int64"),
    "a predicate that is no bool": ("V9", feed(FAC, "fac.cond.switch_n", 1, "fac.n"), "got: int64"),
    "a merge of another type": ("V9", feed(FAC, "fac.cond", 0, "fac.cond.switch_trigger:0"), "required: bool"),
    "trips that are no integer": ("V9", retype_outputs(TOTAL, "total.loop", INT, FLOAT), "int64, float64"),
    "a call of another type": ("V9", retype_outputs(FAC, "fac.fac.call_n", FLOAT), "required: float64"),
    "a hidden argument that is no bool": ("V9", replace(FAC, hidden_count=1), "got: int64"),
    "an outer value in a branch": (
        "V10",
        feed(FAC, "fac.multiply", 0, "fac.n"),
        "tokens of fac; tokens of fac where fac.less_equal does not",
    ),
    "the other branch's value": (
        "V10",
        feed(FAC, "fac.multiply", 0, "fac.cond.switch_n:0"),
        "fac where fac.less_equal holds; ",
    ),
    "a branch's value outside": (
        "V10",
        feed(FAC, "fac.return", 0, "fac.multiply"),
        "fac where fac.less_equal does not hold",
    ),
    "an outer value in a loop": (
        "V10",
        feed(TOTAL, "total.less", 1, "total.n"),
        "tokens of total.loop; tokens of total",
    ),
    "a loop's value outside": (
        "V10",
        feed(TOTAL, "total.return", 0, "total.add_1"),
        "total.loop where total.less holds",
    ),
    "an exit from another loop": ("V10", change_node(TWO, "two.loop", site=Site("two", "loop_1", "loop")), "two.loop"),
    "a next_iteration elsewhere": (
        "V10",
        feed(TOTAL, "total.loop.next_n", 0, "total.n"),
        "required: tokens of total.loop",
    ),
    "a loop that is left and never entered": (
        "V10",
        change_node(TOTAL, "total.loop", site=LOOP._replace(name="l")),
        "total.l",
    ),
    "a value of another function": ("V10", feed(PAIR, "pair.add", 0, "low.a"), "tokens of low; tokens of pair"),
    "a node in another function": ("V10", change_node(PAIR, "pair.add", function="low"), "got: pair"),
    "a merge in another function": ("V10", change_node(TOTAL, "total.loop.n", function="sum"), "got: total"),
    "a return in another function": ("V10", change_node(PAIR, "pair.low", function="low"), "got: pair"),
    "a result in another function": ("V10", change_node(PAIR, "pair.return", function="low"), "required: low"),
    "a result of another function": ("V10", feed(PAIR, "pair.return", 0, "low.cond"), "required: tokens of pair"),
    "a return of the caller's value": ("V10", feed(PAIR, "pair.low", 0, "pair.n"), "required: tokens of low"),
    "a return under a branch": ("V10", feed(PAIR, "pair.low", 0, "low.cond.switch_a:0"), "low where low.less holds"),
    "one side of a switch twice": (
        "V11",
        feed(PAIR, "low.cond", 1, "low.cond.switch_b:0"),
        "low where low.less holds; tokens of low where",
    ),
    "a merge of what is not switched": (
        "V11",
        merging(PAIR, "pair.add", "pair.low", "pair.low_1"),
        "tokens of pair; tokens of pair",
    ),
    "a branch and what is around": (
        "V11",
        feed(FAC, "fac.cond", 1, "fac.n"),
        "fac where fac.less_equal holds; tokens of fac",
    ),
    "a loop entered without going on": ("V11", feed(TOTAL, "total.loop.n", 1, "total.n"), "one next_iteration"),
    "a loop going on without an enter": ("V11", feed(TOTAL, "total.loop.n", 0, "total.loop.next_s"), "one enter"),
    "a variable of two loops": ("V11", feed(TWO, "two.loop_1.j", 0, "two.loop.enter_i"), "of one loop"),
    "a parameter from one call twice": ("V11", feed(PAIR, "low.a", 1, "pair.low.call_b"), "each site that calls"),
    "a parameter of another function": ("V11", change_node(PAIR, "low.a", function="pair"), "each site that calls"),
    "an argument or a value": ("V11", feed(PAIR, "low.a", 1, "low.b"), "each site that calls"),
    "an argument twice": ("V11", merging(FAC, "fac.n", "n", "n"), "each site that calls"),
    "two parameters from one call": ("V12", feed(PAIR, "low.b", 0, "pair.low.call_a"), "the arguments of pair.low "),
    "a parameter without a call": ("V12", merging(PAIR, "low.a", "pair.low.call_a"), "of pair.low_1"),
    "a call from two places": ("V12", feed(REC, "rec.rec.call_m", 0, "rec.m"), "got: tokens of rec"),
    "a recursive entry without its argument": ("V12", merging(FAC, "fac.n", "fac.fac.call_n"), "got: none"),
    "fewer arguments than parameters": (
        "V12",
        replace(merging(REC, "rec.m", "rec.rec.call_m"), arguments=REC.arguments[:1]),
        "",
    ),
    "a recursive entry's argument elsewhere": (
        "V12",
        feed(FAC, "fac.less_equal", 0, "n"),
        "got: fac.n, fac.less_equal",
    ),
    "a variable that does not go on": ("V13", feed(TOTAL, "total.loop.n", 1, "total.loop.next_s"), "lacks its enter"),
    "a variable entered by another": ("V13", feed(TOTAL, "total.loop.n", 0, "total.loop.enter_s"), "lacks its enter"),
    "an enter without a merge": ("V13", feed(TOTAL, "total.less", 1, "total.loop.enter_n"), "lacks its enter"),
    "a loop entered from two places": (
        "V13",
        feed(TWO, "two.loop_1.enter_loop", 0, "two.loop:0"),
        "got: tokens of two",
    ),
    "left while it goes on": (
        "V13",
        feed(TOTAL, "total.loop_s", 0, "total.loop.switch_s:0"),
        "total.loop where total.less holds",
    ),
    "going on when it is over": (
        "V13",
        feed(TOTAL, "total.loop.next_n", 0, "total.loop.switch_n:1"),
        "on one condition",
    ),
    "going on without condition": (
        "V13",
        feed(TOTAL, "total.loop.next_n", 0, "total.loop.n"),
        "got: tokens of total.loop; ",
    ),
    "two conditions": ("V13", feed(TWO, "two.loop.switch_c", 1, "two.loop.c"), "two.loop where two.loop.c holds"),
    "a node that waits for itself": ("V14", feed(TOTAL, "total.add", 0, "total.add"), "total.add"),
    "an argument that waits for its result": ("V14", feed(FAC, "fac.subtract", 0, "fac.fac"), "fac.subtract"),
    "a variable that waits for its loop": (
        "V14",
        feed(TOTAL, "total.loop.enter_s", 1, "total.loop:0"),
        "total.loop.enter_s",
    ),
    "a return of a call not made": (
        "V14",
        change_node(replace(FAC, calls=(*FAC.calls, (NEW, "fac"))), "fac.fac", site=NEW),
        "fac.fac",
    ),
    "a result that is no return": ("V15", replace(FAC, results=(number(FAC, "fac.multiply"),)), "not a return"),
    "a result that is not a node": ("V15", replace(FAC, results=(99,)), "99"),
    "a result twice": ("V15", replace(FAC, results=FAC.results * 2), "not one of the results, or is several"),
    "a return that is no result": ("V15", replace(FAC, results=()), "not one of the results, or is several"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_v7_to_v15_an_invalid_graph_is_reported(name: str) -> None:
    """V7 to V15: a graph with one fault is reported under its rule, with the node, what is required, what was got, and
    a hint."""
    rule, graph, text = BROKEN[name]
    problems = graph_problems(graph)
    assert [problem.rule for problem in problems[:1]] == [rule], problems
    assert text in str(problems[0])
    check_words(problems)


@pytest.mark.inner(first=42)
@pytest.mark.parametrize("name", BROKEN)
def test_s12_an_invalid_graph_runs_to_an_ending(name: str) -> None:
    """S12: an invalid graph is refused. It can be run unchecked, to an ending that is data, unless its shape is invalid
    (V7, V15)."""
    rule, graph, _ = BROKEN[name]
    arguments = [{"i": 3, "b": True}[output.type.dtype.kind] for _, output in graph.arguments[graph.hidden_count :]]
    with pytest.raises(tl.Invalid) as refused:
        run_graph(graph, arguments, unchecked=rule in ("V7", "V15"))
    assert refused.value.rule == rule
    if rule not in ("V7", "V15"):
        ran = run_graph(graph, arguments, unchecked=True, limits=Limits(firings=200))
        assert ran.status in ("Returned", "Trapped", "Exhausted", "Deadlocked", "Broken")


def test_the_table_breaks_every_rule() -> None:
    """V7 to V15: every rule is broken in several ways, at the node that breaks it."""
    rules = [rule for rule, *_ in BROKEN.values()]
    assert {rule: rules.count(rule) >= 3 for rule in rules} == {f"V{k}": True for k in range(7, 16)}


@pytest.mark.parametrize("graph", VALID, ids=lambda graph: graph.name)
def test_the_table_breaks_graphs_that_are_valid(graph: Graph) -> None:
    """V7 to V15: the graphs are valid before the edits of the table."""
    assert graph_problems(graph) == []


GRAPH = "graph g(x: int64, p: bool) -> int64 {\n  y = BODY\n  return y\n}"
MISTAKES = {
    "an op misspelt": ("mrege x, x", ["V7", "got: mrege", "did you mean merge?"]),
    "an op of programs": ("cond p, x", ["V7", "cond is an op of programs", "switch and merge"]),
    "a call without a site": (
        "call x",
        ["V7", "required: the site of a call", "got: no site", "as in `c = call[f.site] a`"],
    ),
    "a call of a site that calls nothing": (
        "call[g.s] x",
        ["V7", "name the function that it calls, as in `site g.s calls f`"],
    ),
    "a site where none belongs": ("abs[call g.s] x", ["V7", "required: no site", "got: the site of a call, g.s"]),
    "an operand too few": ("add x", ["V7", "required: 2 ports and 1 output", "as in `y = add a, b`"]),
    "nothing but literals": ("add 1, 2", ["V8", "required: a trigger", "add `@ x`: it fires"]),
    "a trigger too many": ("add x, 2 @ p", ["V8", "got: a trigger", "leave out the `@` and the name after it"]),
    "a literal merged": ("merge 3, x", ["V8", "as in `one = identity 1 @ x`"]),
    "a port with two": ("add x | x, 1", ["V8", "got: 2 sources", "a merge is missing"]),
    "a float and an integer": ("add x, 1.0", ["V9", "got: int64, float64", "write `1`"]),
    "an output of another type": ("add x, 1", []),
    "a race": ("merge x, x", ["V11", "got: x, x", "switch a value on one predicate"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_text_is_one_problem(name: str) -> None:
    """V7 to V15: a mistake that people make in a text is one problem, at its line, with a hint of what to write."""
    body, expected = MISTAKES[name]
    problems = graph_problems(tl.parse_graph(GRAPH.replace("BODY", body), "f.tl"))
    assert len(problems) == bool(expected), problems
    check_words(problems)
    for problem in problems:
        text = str(problem)
        assert all(words in text for words in [*expected, "f.tl:2"]) and "tl.a" not in text, text


def test_v7_shape_comes_first() -> None:
    """V7 to V15: types and control contexts are checked only if every node has the right shape."""
    broken = feed(change_node(FAC, "fac.multiply", op="times"), "fac.less_equal", 0, "fac.literal")
    assert [problem.rule for problem in graph_problems(broken)] == ["V7"]


def test_a_problem_says_where() -> None:
    """A problem has the line of the user's Python that created the node, or the node's name, and a hint."""
    (problem,) = graph_problems(feed(FAC, "fac.multiply", 1, "fac.fac", "fac.subtract"))
    assert "(test_validate_graph.py:" in str(problem) and problem.hint == "a merge is missing before it"
    builder = tl.GraphBuilder("race")
    x, y = builder.argument("x", INT), builder.argument("y", INT)
    (result,) = builder.node("merge", "m", [x, y], [INT])
    (problem,) = graph_problems(builder.build([result]))
    assert (problem.rule, problem.where) == ("V11", "race.m")


def test_v11_hand_built_graphs_may_have_other_shapes() -> None:
    """V11: a merge may join more than two branches, and a graph whose entry is not called needs no entry merges."""
    builder = tl.GraphBuilder("sign")
    x = builder.argument("x", INT)
    (low_,) = builder.node("less", "low", [x, literal(0)], [BOOL])
    negative, rest = builder.node("switch", "first", [x, low_], [INT, INT])
    (zero,) = builder.node("equal", "zero", [rest, literal(0)], [BOOL])
    none, positive = builder.node("switch", "second", [rest, zero], [INT, INT])
    ends = [
        builder.node("identity", f"e{k}", [literal(k)], [INT], trigger=t)[0] for k, t in enumerate([none, positive])
    ]
    (result,) = builder.node("merge", "m", [*ends, negative], [INT])
    graph = builder.build([result])
    assert graph_problems(graph) == []
    assert [run_graph(graph, [x]).value for x in (-5, 0, 5)] == [-5, 0, 1]


@settings(max_examples=15)
@given(cases())
def test_lowered_graphs_are_well_formed(case: Case) -> None:
    """V7 to V15: lowered graphs are valid."""
    assert graph_problems(lower(case.program)) == []
