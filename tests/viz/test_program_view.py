"""A drawn program has every node and every use of a value, in nested regions."""

from __future__ import annotations

from collections import Counter

import pytest
import tagloom as tl
from hypothesis import HealthCheck, given, settings
from support.generators.generator import Case, cases
from support.pictures.drawings import FUNCTIONS, Drawing, even, fib, nested, program_dot
from tagloom.core.program.program import Program, Region

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def depths(region: Region, depth: int = 0) -> list[int]:
    """The number of clusters around each node of a region inside its function's, in program order."""
    results = []
    for node in region.nodes:
        results.append(depth + {"cond": 1, "while_loop": 2}.get(node.op, 0))
        for inner in node.regions:
            results += depths(inner, depth + 2)
    return results


def check_nodes(program: Program) -> Drawing:
    drawing = Drawing(program_dot(program))
    statements = drawing.statements()
    functions = sorted(program.functions, key=lambda function: function.name != program.entry)
    for number, function in enumerate(functions):
        for position, depth in enumerate(depths(function.body)):
            name = f"f{number}n{position}"
            assert statements[name] == 1
            assert drawing.paths[name][0] == function.name
            assert len(drawing.paths[name]) == 1 + depth
    regions = sum(1 + len(node.regions) for f in functions for node in f.body.walk() if node.regions)
    assert len(drawing.titles) == len(functions) + regions
    return drawing


@settings(max_examples=30, deadline=None, suppress_health_check=_SLOW)
@given(cases())
def test_each_node_is_drawn_once_in_its_region(case: Case) -> None:
    """Functions, branches of conds, and conditions and bodies of whiles are clusters, nested like the regions."""
    check_nodes(case.program)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_each_use_is_drawn_once(function: tl.Function) -> None:
    """A node has an edge for each operand that is no literal, a merge has one for each side, and a variable has two."""
    program = function.program
    drawing = check_nodes(program)
    arriving = Counter(edge.head for edge in drawing.edges if edge.link in ("data", "predicate"))
    functions = sorted(program.functions, key=lambda function: function.name != program.entry)
    for number, drawn in enumerate(functions):
        for position, node in enumerate(drawn.body.walk()):
            name = f"f{number}n{position}"
            operands = node.inputs[:1] if node.op == "cond" else node.inputs
            uses = 1 if node.op == "while_loop" else sum(isinstance(operand, str) for operand in operands)
            assert arriving[name] == uses
            for result, _ in enumerate(node.results):
                if node.op == "cond":
                    assert arriving[f"{name}_merge{result}"] == 2
                if node.op == "while_loop":
                    (back,) = [edge for edge in drawing.of("back") if edge.head == f"{name}_variable{result}"]
                    assert back.tail == f"{name}_next{result}"


def test_a_cond_decides_between_its_branches() -> None:
    """The decision has an edge into each branch, labelled with its outcome."""
    drawing = Drawing(program_dot(fib.program))
    into = {edge.label: drawing.paths[edge.head][-1] for edge in drawing.of("control")}
    assert into == {"T": "then", "F": "else"}
    assert drawing.says("f0n1") == ["less_equal?", "cond"]
    assert drawing.says("f0n1_then0") == ["yield 1"]
    assert drawing.says("f0n3") == ["fib(subtract)", "fib"]


def test_a_while_has_only_the_exits_that_are_used() -> None:
    """Unused results of a while are left out."""
    drawing = Drawing(program_dot(nested.program))
    assert {drawing.says(name)[0] for name in drawing.nodes if "exit" in name} == {"exit t", "exit s"}


def test_the_entry_comes_first() -> None:
    """The functions of a program stand side by side, with the entry first."""
    drawing = Drawing(program_dot(even.program))
    assert [path for path in drawing.titles if len(path) == 1] == [("even",), ("odd",)]


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_graphviz_lays_it_out_without_complaint(function: tl.Function, capfd: pytest.CaptureFixture[str]) -> None:
    """Graphviz lays out clusters, and edges that end at their borders, without complaint."""
    Drawing(program_dot(function.program)).graph.draw(format="svg", prog="dot")
    assert [line for line in capfd.readouterr().err.splitlines() if "ontconfig" not in line] == []
