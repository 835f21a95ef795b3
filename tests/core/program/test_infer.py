"""Types that a text leaves out are inferred, for programs and for graphs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.generator import Case, cases
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.infer import infer_graph_types
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.infer import HOLE, infer_types
from tagloom.core.program.program import Program, Region
from tagloom.core.program.validate import program_problems


def without_types(program: Program) -> Program:
    """The program without the types of the results of nodes."""

    def region(given: Region) -> Region:
        nodes = tuple(
            replace(
                node,
                results=tuple(result._replace(type=HOLE) for result in node.results),
                regions=tuple(map(region, node.regions)),
            )
            for node in given.nodes
        )
        return replace(given, nodes=nodes)

    return replace(program, functions=tuple(replace(f, body=region(f.body)) for f in program.functions))


@settings(max_examples=50)
@given(cases())
def test_types_of_nodes_are_inferred(case: Case) -> None:
    """Traced programs need no types of nodes: inference gives each exactly, and result types that the declared ones
    admit."""
    holes = without_types(case.program)
    assert infer_types(holes) == case.program
    open_ = tuple(replace(f, results=(HOLE,) * len(f.results)) for f in holes.functions)
    try:
        result = infer_types(replace(holes, functions=open_))
    except tl.Invalid as error:
        assert error.rule == "V6"
        return
    for function, declared in zip(result.functions, case.program.functions, strict=True):
        assert all(d.admits(f) for d, f in zip(declared.results, function.results, strict=True))


@settings(max_examples=50)
@given(cases())
def test_types_of_graphs_are_inferred(case: Case) -> None:
    """The least types that flow forward from the arguments are no wider than those of lowering, and follow V9."""
    graph = lower(case.program)
    holes = tuple(replace(n, outputs=tuple(replace(o, type=HOLE) for o in n.outputs)) for n in graph.nodes)
    actual = infer_graph_types(replace(graph, nodes=holes))
    assert graph_problems(actual) == []
    for node, old in zip(actual.nodes, graph.nodes, strict=True):
        assert all(o.type.admits(f.type) for o, f in zip(old.outputs, node.outputs, strict=True))


def results(text: str) -> dict[str, str]:
    """The inferred result types of the functions of a text."""
    return {f.name: ", ".join(map(str, f.results)) for f in tl.parse_program(text).functions}


def test_results_of_recursive_functions() -> None:
    """Result types that are left out are a fixed point, through recursion and mutual recursion, in any order."""
    even, odd = (
        f"func {name}(n: int64) {{\n  z = equal n, 0\n  r = cond z, n {{\n    then(n: int64) {{ yield {end} }}\n"
        f"    else(n: int64) {{\n      m = subtract n, 1\n      f = call {other} m\n      yield f\n    }}\n  }}\n"
        "  return r\n}\n"
        for name, other, end in (("even", "odd", "true"), ("odd", "even", "false"))
    )
    assert results(even + odd) == results(odd + even) == {"even": "bool", "odd": "bool"}


def test_shapes_widen() -> None:
    """A result whose shape differs from call to call gets the narrowest type that admits all, and inference ends."""
    text = (
        "func grow(p: bool, x: float64[2, 3]) {\n  r = cond p, x {\n    then(x: float64[2, 3]) {\n"
        "      f = call grow false, x\n      g = multiply f, [[1.0], [2.0], [3.0], [4.0]]\n      yield f\n    }\n"
        "    else(x: float64[2, 3]) { yield [[1.0, 2.0, 3.0]] }\n  }\n  s = cond p, r, x {\n"
        "    then(r: float64[...], x: float64[2, 3]) { yield x }\n    else(r: float64[...], x: float64[2, 3]) "
        "{ yield [[1.0, 2.0, 3.0]] }\n  }\n  return r, s\n}\n"
    )
    assert results(text) == {"grow": "float64[1, 3], float64[?, 3]"}


def test_v5_dtypes_that_never_agree() -> None:
    """Branches of different dtypes are one problem, V5, which names both; its consequences are no further problems."""
    program = tl.parse_program(
        "func f(p: bool) {\n  r = cond p { then() { yield 1 } else() { yield 2.5 } }\n  s = add r, 1\n  return s\n}"
    )
    (problem,) = program_problems(program)
    assert problem.rule == "V5" and problem.got == "int64 and float64"


def test_v5_mutual_recursion_that_never_agrees() -> None:
    """If two functions call each other, and one ends with an integer and the other with a float, each is one problem,
    V5, and inference ends at once."""
    one, other = (
        f"func {name}(n: int64) {{\n  z = equal n, 0\n  r = cond z, n {{\n    then(n: int64) {{ yield {end} }}\n"
        f"    else(n: int64) {{\n      m = subtract n, 1\n      f = call {callee} m\n      yield f\n    }}\n  }}\n"
        "  return r\n}\n"
        for name, callee, end in (("even", "odd", "1"), ("odd", "even", "0.5"))
    )
    for text in (one + other, other + one):
        problems = program_problems(tl.parse_program(text))
        assert {problem.rule for problem in problems} == {"V5"} and len(problems) <= 2
        assert all(sorted(str(problem.got).split(" and ")) == ["float64", "int64"] for problem in problems)


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("a = nothing x\n  b = less a, 3\n  c = logical_not b", ["V3"]),
        ("a = add x, y\n  b = multiply a, 2\n  c = less b, x", ["V1"]),
        ("a = add x, 2.5\n  b = multiply a, 2\n  c = less b, x", ["V4"]),
        ("a = add x\n  b = multiply a, 2\n  c = less b, x", ["V3"]),
        ("a, b = call g x\n  c = add a, x", ["V6"]),
        ("a = astype x\n  c = less a, x", ["V3"]),
        ("a: bool = add x, x\n  c = logical_not a", ["V4"]),
    ],
)
def test_one_mistake_is_one_problem(body: str, rules: list[str]) -> None:
    """A node that breaks a rule gets a likely type, so that later nodes break none."""
    program = tl.parse_program(f"func f(x: int64) {{\n  {body}\n  return c\n}}")
    assert [problem.rule for problem in program_problems(program)] == rules


def graph(body: str) -> Graph:
    return tl.parse_graph(f"graph g(p: bool, x: float64[3], y: float64[4]) {{\n  {body}\n  return r\n}}")


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        ("r = merge x, y", "float64[?]"),
        ("r = merge x, x", "float64[3]"),
        ("r = merge a, y\n  a = merge r, x", "float64[?]"),
        ("r = merge r", "int64"),
        ("r = merge a\n  a = add r, r", "int64"),
        (
            "a = merge b, c\n  b = switch x, p\n  c = switch y, p\n  r = add a, 1.0".replace("b, c", "b:0, c:1"),
            "float64[?]",
        ),
        ("e = exit x\n  r = add e:1, 1", "int64"),
        ("r = nothing x", "float64[3]"),
        ("r = less ?, 2.5 @ p", "bool"),
        ("r: int8 = merge x, y", "int8"),
    ],
)
def test_types_flow_forward(body: str, type_: str) -> None:
    """Merges widen to all their ports, through cycles; an unreachable output gets a substitute type."""
    actual = graph(body)
    assert str(actual.nodes[actual.find("r")[0]].outputs[0].type) == type_
    assert tl.parse_graph(tl.print_graph(actual)) == actual
