"""Lowering, rule by rule: the nodes that a program becomes, their number, and their order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.generator import Case, cases
from tagloom.core.graph.graph import Graph, GraphNode, OutputRef
from tagloom.core.graph.lower import functions_needing_triggers, lower
from tagloom.core.program.program import Program
from tagloom.core.tag import ENVIRONMENT
from tagloom.core.value import literal

INT, BOOL = tl.Type(tl.int64), tl.Type(tl.bool)


def ops(graph: Graph, function: str | None = None) -> Counter[str]:
    """The number of nodes of each op in a graph, or in one function of it."""
    return Counter(node.op for node in graph.nodes if function in (None, node.function))


def find(graph: Graph, name: str) -> GraphNode:
    (number,) = graph.find(name)
    return graph.nodes[number]


def fed_by(graph: Graph, name: str) -> list[str]:
    """The sources of a node's ports: names of outputs, and literals."""
    (number,) = graph.find(name)
    sources = {edge.port: source for edge, (source,) in graph.sources().items() if edge.node == number}
    return [
        outputs_of(graph, sources[k]) if port is None else str(port) for k, port in enumerate(graph.nodes[number].ports)
    ]


def outputs_of(graph: Graph, source: OutputRef) -> str:
    if source.node < 0:
        return graph.arguments[source.output][0]
    node = graph.nodes[source.node]
    return f"{node.name}:{source.output}" if len(node.outputs) > 1 else node.name


@tl.function
def square(x: tl.int64) -> tl.int64:
    return x * x


@tl.function
def four(x: tl.int64) -> tl.int64:
    return square(square(x)) + square(x + 1) - square(3)


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def total(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), 0, 0)[1]


@tl.function
def one() -> tl.int64:
    return 1


@tl.function
def uses_one(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i < n, lambda i: i + one(), 0)[0]


def test_l1_a_body_is_lowered_once() -> None:
    """L1: four call sites share one body with one multiplication; each site adds its call and its return."""
    graph = four.graph
    assert ops(graph)["multiply"] == 1 and ops(graph, "square") == {"merge": 1, "multiply": 1}
    assert ops(graph)["call"] == 4 and ops(graph)["return"] == 4 + 1
    assert Counter(callee for _, callee in graph.calls) == {"square": 4}
    assert len({site for site, _ in graph.calls}) == 4


@pytest.mark.parametrize("count", [1, 2, 10, 100])
def test_l1_a_call_adds_two_nodes(count: int) -> None:
    """L1: each further call of a function with one parameter and one result adds two nodes, whatever its body."""

    def calls(x: tl.int64) -> tl.int64:
        for _ in range(count):
            x = square(x)
        return x

    assert len(tl.function(calls).graph.nodes) == 2 + 2 + 2 * count


def test_l1_unreachable_functions_are_left_out() -> None:
    """L1: a graph has exactly the functions that the entry reaches."""
    program = Program((*fib.program.functions, *total.program.functions), "fib")
    assert tl.print_graph(lower(program)) == tl.print_graph(fib.graph)


@settings(max_examples=15)
@given(cases())
def test_l1_every_node_is_lowered_once(case: Case) -> None:
    """L1: each ordinary op that a reachable function applies is one node of the graph; lowering adds only identities,
    for literals that must be tokens."""
    written = Counter(
        node.op
        for function in case.program.reachable_functions()
        for node in function.body.walk()
        if node.op not in ("cond", "while_loop", "call")
    )
    actual = ops(lower(case.program))
    assert {op: actual[op] for op in written if op != "identity"} == {
        op: n for op, n in written.items() if op != "identity"
    }
    assert actual["identity"] >= written["identity"]


def test_l2_a_parameter_is_an_entry_merge() -> None:
    """L2: a parameter is a merge of one call for each site, and of the environment if the function is the entry."""
    assert sorted(fed_by(four.graph, "square.x")) == [
        "square.call_x",
        "square_1.call_x",
        "square_2.call_x",
        "square_3.call_x",
    ]
    assert fed_by(fib.graph, "fib.n") == ["n", "fib.call_n", "fib_1.call_n"]
    assert fed_by(four.graph, "four.x") == ["x"]


def test_l3_a_result_has_a_return_for_each_site() -> None:
    """L3: every site has its own return, and so has the environment; the one result feeds them all."""
    returns = [node for node in fib.graph.nodes if node.op == "return"]
    assert [node.site for node in returns] == [*(site for site, _ in fib.graph.calls), ENVIRONMENT]
    assert all(fed_by(fib.graph, node.name) == ["cond"] for node in returns)
    assert fib.graph.results == (fib.graph.nodes.index(returns[-1]),)


def test_l3_several_results() -> None:
    """L3: a function with two results has two returns for each site, in the order of the results."""

    @tl.function
    def swapped(a: tl.int64, b: tl.float64) -> tuple[tl.float64, tl.int64]:
        return b, a

    @tl.function
    def twice(a: tl.int64, b: tl.float64) -> tuple[tl.int64, tl.float64]:
        x, y = swapped(a, b)
        return swapped(y, x)[::-1]

    graph = twice.graph
    assert ops(graph) == {"merge": 4, "call": 4, "return": 6}
    assert [str(graph.nodes[n].outputs[0].type) for n in graph.results] == ["int64", "float64"]
    assert twice(1, 2.5) == (1, 2.5)


def test_l4_a_cond_switches_what_its_branches_use() -> None:
    """L4: a value that branches use has one switch, however often it is used in them; each result of the branches has
    one merge."""

    def choose(p: tl.bool, x: tl.int64, y: tl.int64) -> tl.int64:
        return sum(tl.cond(p, lambda: (x + x, y), lambda: (x * x, x)))

    graph = tl.function(choose).graph
    assert ops(graph) == {"merge": 3 + 2, "switch": 2, "add": 1 + 2, "multiply": 1, "return": 1}
    assert fed_by(graph, "cond.switch_x") == ["x", "p"] and fed_by(graph, "cond.switch_y") == ["y", "p"]
    assert fed_by(graph, "cond") == ["add", "multiply"] and fed_by(graph, "cond_1") == [
        "cond.switch_y:0",
        "cond.switch_x:1",
    ]
    assert find(graph, "cond.switch_y").outputs[1].edges == ()


def test_l4_regions_may_name_their_parameters_as_they_like() -> None:
    """L4: operands are switched by position, so that branches may have any names for them: each other's, or
    `trigger`."""

    def choose(p: tl.bool, trigger: tl.int64, b: tl.int64) -> tl.int64:
        return tl.cond(p, lambda: b - trigger, lambda: 7)

    @tl.function
    def otherwise(p: tl.bool, trigger: tl.int64) -> tl.int64:
        return tl.cond(p, lambda: 7, lambda: trigger)

    program = tl.function(choose).program
    (cond,) = (node for node in program.main.body.nodes if node.op == "cond")
    then, other = cond.regions
    assert [parameter.name for parameter in then.parameters] == ["b", "trigger"] and cond.inputs == (
        "p",
        "b",
        "trigger",
    )
    swapped = replace_regions(program, then, replace(other, parameters=then.parameters[::-1], results=("b",)))
    assert tl.run_graph(lower(swapped), [True, 3, 10]).value == 10 - 3
    assert tl.run_graph(lower(swapped), [False, 3, 10]).value == 3
    assert otherwise(False, 5) == 5 and otherwise(True, 5) == 7


def replace_regions(program: Program, *regions: Any) -> Program:
    (function,) = program.functions
    nodes = tuple(replace(node, regions=regions) if node.op == "cond" else node for node in function.body.nodes)
    return Program((replace(function, body=replace(function.body, nodes=nodes)),), program.entry)


def test_l5_a_loop_variable_is_five_nodes() -> None:
    """L5: each loop variable has an enter, merge, switch, next_iteration and exit, with one predicate."""
    graph = total.graph
    assert ops(graph)["enter"] == ops(graph)["next_iteration"] == ops(graph)["exit"] == ops(graph)["switch"] == 3
    assert ops(graph)["merge"] == 3 + 2
    assert fed_by(graph, "loop.s") == ["loop.enter_s", "loop.next_s"]
    assert fed_by(graph, "loop.switch_s") == ["loop.s", "less"] and fed_by(graph, "loop_s") == ["loop.switch_s:1"]
    assert fed_by(graph, "loop.next_s") == ["add_1"]
    sites = {node.site for node in graph.nodes if node.op in ("enter", "next_iteration", "exit")}
    assert [(site.function, site.name, site.kind) for site in sites if site] == [("total", "loop", "loop")]


def test_l6_a_value_that_a_loop_reads_is_a_loop_variable() -> None:
    """L6: n is a loop variable of its own, whose next value is itself."""
    assert fed_by(total.graph, "loop.next_n") == ["loop.switch_n:0"]
    assert fed_by(total.graph, "loop.enter_n") == ["n"]


def test_l7_literals_are_on_ports() -> None:
    """L7: a literal beside a token needs no node; if a port must have a token, an identity creates it."""
    graph = fib.graph
    assert ops(graph)["identity"] == 0 and find(graph, "subtract").ports == (None, literal(1))

    @tl.function
    def literals(n: tl.int64) -> tuple[tl.int64, tl.int64, tl.float64]:
        return tl.cond(n > 0, lambda: 1, lambda: n), tl.cond(True, lambda: n, lambda: n), 2.5

    assert ops(literals.graph)["identity"] == 3
    assert [node.ports[0] for node in literals.graph.nodes if node.op == "identity"] == [
        literal(1),
        literal(True),
        literal(2.5),
    ]


def test_l7_a_token_of_a_literal_has_a_name_of_its_own() -> None:
    """L7: the identity that sends a literal is called `literal`, with underscores until no name of the program begins
    so."""
    program = tl.parse_program("func f(literal: int64, literal_x: int64) -> int64, int64 { return literal, 7 }")
    assert [node.name for node in lower(program).nodes if node.op == "identity"] == ["literal__"]
    assert tl.run_graph(lower(program), [1, 2]).value == (1, 7)


def test_l7_a_node_with_literals_only_has_a_trigger() -> None:
    """L7: exactly the nodes with literals only have a trigger, as their last port."""

    @tl.function
    def halves(n: tl.int64) -> tl.int64:
        return tl.while_loop(lambda i: i < 3, lambda i: i + square(2), n)[0]

    for graph in (fib.graph, total.graph, four.graph, uses_one.graph, halves.graph):
        for node in graph.nodes:
            given = [port is not None for port in node.ports[: len(node.ports) - node.has_trigger]]
            assert node.has_trigger == (bool(given) and all(given)), node
            assert not node.has_trigger or node.ports[-1] is None
    assert fed_by(halves.graph, "square.call_x") == ["2", "loop.switch_i:0"]


def test_l8_triggers_only_where_needed() -> None:
    """L8: a function has a hidden argument if it, or a function that it calls, starts a node from literals alone, if a
    result is a literal, or if it has no parameters. Branches and loops have triggers of their own."""

    @tl.function
    def constant(n: tl.int64) -> tuple[tl.int64, tl.int64]:
        return n, 7

    assert constant.graph.hidden_count == 1
    text = "func f(n: int64) -> int64 { a = add 1, 2\nb = add n, a\nreturn b }"
    assert lower(tl.parse_program(text)).hidden_count == 1
    assert [f.graph.hidden_count for f in (fib, square, total, four, one, uses_one)] == [0, 0, 1, 1, 1, 1]
    assert functions_needing_triggers(four.program) == {"four"} and functions_needing_triggers(uses_one.program) == {
        "uses_one",
        "one",
    }
    assert [name for name, _ in total.graph.arguments] == ["trigger", "n"]


def test_l8_each_region_has_a_trigger() -> None:
    """L8: a function's trigger is its hidden argument, a branch's is switch(pred, pred), and a loop's is its first
    variable. A call sends the hidden argument on its region's trigger."""

    @tl.function
    def nested(n: tl.int64) -> tl.int64:
        return tl.cond(n > 0, lambda: tl.while_loop(lambda i: i < one(), lambda i: i + one(), 0)[0] + one(), lambda: 1)

    graph = nested.graph
    assert fed_by(graph, "cond.switch_trigger") == ["greater", "greater"]
    assert fed_by(graph, "loop.enter_i") == ["0", "cond.switch_trigger:0"]
    assert fed_by(graph, "nested.literal") == ["1", "cond.switch_trigger:1"]
    assert [fed_by(graph, f"{site.name}.call_trigger") for site, _ in graph.calls] == [
        ["true", "loop.i"],
        ["true", "loop.switch_i:0"],
        ["true", "cond.switch_trigger:0"],
    ]
    assert graph.hidden_count == 0 and nested(1) == 2 and nested(0) == 1


@pytest.mark.parametrize("start", [0, 0.5, True])
def test_l8_a_trigger_is_any_token(start: Any) -> None:
    """L8: a loop's trigger may have any type, since its value is ignored."""

    def loop(n: tl.int64) -> tl.int64:
        going = tl.while_loop(lambda x, i: i < n, lambda x, i: (x, i + one()), start, 0)
        return going[1]

    assert tl.function(loop)(5) == 5


def test_nodes_are_in_program_order() -> None:
    """The nodes of a function have the order of a sequential evaluation: a node comes after those of its operands,
    except in cycles."""
    names = [node.name for node in total.graph.nodes]
    order = [
        "n",
        "loop.enter_i",
        "loop.i",
        "loop.enter_s",
        "less",
        "loop.switch_i",
        "add",
        "add_1",
        "loop.next_i",
        "loop_s",
    ]
    assert [name for name in names if name in order] == order
    names = [node.name for node in fib.graph.nodes if node.op in ("less_equal", "subtract", "call", "add")]
    assert names == ["less_equal", "subtract", "fib.call_n", "subtract_1", "fib_1.call_n", "add"]


@settings(max_examples=15)
@given(cases())
def test_only_cycles_go_against_program_order(case: Case) -> None:
    """Only calls, returns and next_iterations send from a later node to an earlier one."""
    graph = lower(case.program)
    back = {
        node.op if node.op == "next_iteration" else graph.nodes[edge.node].op
        for number, node in enumerate(graph.nodes)
        for output in node.outputs
        for edge in output.edges
        if edge.node <= number
    }
    assert back <= {"next_iteration", "merge", "return"}


@settings(max_examples=15)
@given(cases())
def test_functions_are_numbered_in_a_row(case: Case) -> None:
    """The nodes of a function have consecutive numbers, with its entry merges first; functions are in the order of
    their first call. Only the returns to the environment come after all."""
    graph = lower(case.program)
    inside = graph.nodes[: len(graph.nodes) - len(graph.results)]
    assert graph.results == tuple(range(len(inside), len(graph.nodes)))
    order = list(dict.fromkeys(node.function for node in inside))
    assert [node.function for node in inside] == sorted((node.function for node in inside), key=order.index)
    assert set(order) <= {function.name for function in case.program.reachable_functions()}
    for name in order:
        names = [node.name for node in inside if node.function == name]
        parameters = [parameter.name for parameter in case.program[name].body.parameters]
        hidden = ["trigger"] if name in functions_needing_triggers(case.program) else []
        assert names[: len(hidden + parameters)] == hidden + parameters


@settings(max_examples=15)
@given(cases())
def test_lowering_is_deterministic(case: Case) -> None:
    """Lowering a program twice gives equal graphs."""
    assert lower(case.program) == lower(case.program)


def test_names_are_unique_in_a_function() -> None:
    """Names of nodes are unique within a function."""
    for graph in (fib.graph, total.graph, four.graph, uses_one.graph):
        assert len({str(node) for node in graph.nodes}) == len(graph.nodes)


def test_nodes_know_their_line() -> None:
    """A node has the Python line that created it, and a function's entry the line of its definition."""
    lines = {node.location.line for node in square.graph.nodes if node.location}
    first = square.program.main.location
    assert first is not None and lines == {first.line, first.line + 2}
