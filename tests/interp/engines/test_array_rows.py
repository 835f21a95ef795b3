"""Rows of arrays take scalars and axes of size 0 on every engine."""

from __future__ import annotations

from itertools import islice

import pytest
from support.generators.array_rows import Case, edge_cases
from tagloom.core.frontend.trace.pytree import flat_treedef
from tagloom.core.graph.lower import lower
from tagloom.core.ops.op import OPS
from tagloom.core.program.program import FunctionDef, Node, Program, Region, Var
from tagloom.core.types import Type, type_of
from tagloom.core.value import fingerprint
from tagloom.interp.engines.compiled import codegen
from tagloom.interp.engines.compiled.support import unsupported_program
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.registry import run

ROWS = [row for row in OPS.values() if row.scalar is None]
GROUPS = [ROWS[at : at + 4] for at in range(0, len(ROWS), 4)]


def program_of(cases: list[Case], *, is_open: bool = False) -> Program:
    """A program with one node for each case, on parameters of its own; with `is_open`, of open sizes."""
    parameters, nodes = list[Var](), list[Node]()
    for op, operands, attributes in cases:
        types = [type_of(each) for each in operands]
        if is_open:
            types = [Type(each.dtype, tuple(None for _ in each.shape or ())) for each in types]
        result = OPS[op].type_rule(*types, **dict(attributes))
        names = [f"x{len(parameters) + at}" for at in range(len(types))]
        parameters += map(Var, names, types)
        nodes.append(Node(op, tuple(names), (Var(f"y{len(nodes)}", result),), attributes=attributes))
    body = Region(tuple(parameters), tuple(nodes), tuple(node.name for node in nodes))
    return Program((FunctionDef("main", body, tuple(node.results[0].type for node in nodes)),), "main")


@pytest.mark.inner(first=5)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_generated_text_parses(row: object) -> None:
    """The text that `compiled` generates for a row is Python, whatever axes its operands have."""
    for case in edge_cases(row):  # type: ignore[arg-type]
        for is_open in (False, True):
            program = program_of([case], is_open=is_open)
            if unsupported_program(program) is None:
                compile("\n".join(codegen.emit_module(program).lines), f"<{case}>", "exec")


@pytest.mark.heavy
@pytest.mark.parametrize("rows", GROUPS, ids=lambda rows: f"{rows[0].name} to {rows[-1].name}")
def test_engines_agree(rows: list[object]) -> None:
    """Every engine has the reference's results, to the bit, for scalars and axes of size 0."""
    cases = [case for row in rows for case in islice(edge_cases(row), 6)]  # type: ignore[arg-type]
    program = program_of(cases)
    graph, arguments = lower(program), [each for _, operands, _ in cases for each in operands]
    job = Job(graph, flat_treedef(len(graph.results)), program)
    reference, *outcomes = (run(job, arguments, RunOptions(), name) for name in ("reference", "fast", "compiled"))
    assert reference.status == "Returned"
    for outcome in outcomes:
        assert outcome.status == "Returned" and outcome.engine != "reference"
        for case, one, other in zip(cases, reference.results, outcome.results, strict=True):
            assert fingerprint(one) == fingerprint(other), (outcome.engine, case)
