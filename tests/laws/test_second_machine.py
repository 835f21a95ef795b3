"""A second machine, written independently from the documents alone and with another structure, agrees with the
reference on the corpus, with its exact counts, and on generated programs, in every field of an outcome.

It knows elementwise ops, products and sums, and ops that route tokens. Cases with other ops, cells, effects, random
numbers, breakpoints and bounds on loops are left out, and counted.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.generator import Case as Generated
from support.generators.generator import cases
from support.twins.second_machine import run as run_second
from tagloom.core.graph.graph import Graph, GraphNode
from tagloom.core.graph.lower import lower
from tagloom.core.json.value import value_to_json
from tagloom.core.ops.effects import EFFECT_OPS
from tagloom.core.ops.op import OPS
from tagloom.core.program.program import PARALLEL_ITERATIONS, PHASE
from tagloom.core.text import Case, Document, parse
from tagloom.core.text.literals import parse_value
from tagloom.core.value import admit
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.records.documents import OutcomeRecord, outcome_differences, to_outcome_record

MACHINE = Path(__file__).parents[1] / "support/twins/second_machine.py"
FILES = sorted((Path(__file__).parents[1] / "corpus").glob("*.tl"))
RUN, LEFT_OUT = 857, 435
"""The cases of the corpus that the second machine runs, and those that it leaves out."""
SPECIAL = ("erf", "erfc", "ndtri", "lgamma", "digamma", "polygamma", "prevent_gradient")
SCHEDULES = ("waves", "fifo", "lifo", "random:0", "random:18446744073709551615")


def task(graph: Graph, arguments: list[Any], schedule: str, limits: dict[str, int]) -> dict[str, Any]:
    """The input of the second machine, as plain JSON data."""
    types = [output.type for _, output in graph.arguments[graph.hidden_count :]]
    values = [value_to_json(admit(value, type_)) for value, type_ in zip(arguments, types, strict=True)]
    asked = {"graph": tl.to_json(graph), "arguments": values, "schedule": schedule, "limits": limits}
    return json.loads(json.dumps(asked))  # type: ignore[no-any-return]


def differences(graph: Graph, arguments: list[Any], schedule: str, **limits: int) -> list[Any]:
    """Where the second machine's outcome differs from the reference's: in how the run ends, and in all other fields."""
    expected = to_outcome_record(
        run_graph(graph, arguments, schedule=schedule, limits=Limits(**limits), unchecked=True)
    )
    found = tl.from_json(json.dumps(run_second(**task(graph, arguments, schedule, limits))))
    assert isinstance(found, OutcomeRecord) and found.firings is not None and found.stats is not None
    return list(outcome_differences(expected, found))


def is_known(graph: Graph) -> bool:
    """Whether the second machine knows everything in a graph."""
    given = {PARALLEL_ITERATIONS, PHASE}
    dtypes = {output.type.dtype for node in graph.nodes for output in node.outputs}
    return not dtypes & {tl.float16, tl.bfloat16} and not any(
        node.op in EFFECT_OPS or is_newer(node) or given & {*dict(node.attributes)} for node in graph.nodes
    )


def is_newer(node: GraphNode) -> bool:
    """Whether an op is newer than the second machine: array ops other than elementwise ones, products and sums along
    one axis; ops whose last bits differ between libraries, the product that skips NaN, `bitcast` and `assert`."""
    if isinstance(dict(node.attributes).get("axis"), tuple):
        return True
    is_of_arrays = node.op in OPS and OPS[node.op].scalar is None and node.op not in ("matmul", "sum")
    newer = ("hypot", "logaddexp", "multiply_no_nan", "cbrt", "bitcast", "assert", *SPECIAL)
    return is_of_arrays or node.op in newer


def cases_run(document: Document) -> Iterator[tuple[Case, Graph, list[Any], dict[str, int]]]:
    """The cases of a text that run, with their limits."""
    for case in document.cases:
        if case.kind != "refused":
            subject = document[case.name]
            graph = subject if isinstance(subject, Graph) else lower(subject)
            types = [output.type for _, output in graph.arguments[graph.hidden_count :]]
            given = [parse_value(text, type_) for text, type_ in zip(case.arguments, types, strict=True)]
            yield case, graph, given, {case.details[1]: int(case.details[0])} if case.kind == "exhausts" else {}


def runs(document: Document) -> Iterator[tuple[Case, Graph, list[Any], dict[str, int]]]:
    """The cases among them that the second machine knows."""
    return (run for run in cases_run(document) if is_known(run[1]))


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_second_machine_agrees_on_the_corpus(file: Path) -> None:
    """Every corpus case that the second machine knows ends as on the reference: the same ending, bits of values, traps,
    counts by node, residue and statistics, under every schedule."""
    known = list(runs(parse(file.read_text())))
    if not known:
        pytest.skip("no case here is run that the second machine knows")
    for _, graph, arguments, limits in known:
        for schedule in SCHEDULES[:3]:
            assert differences(graph, arguments, schedule, **limits) == []


@pytest.mark.full
def test_the_second_machine_runs_most_of_the_corpus() -> None:
    """The second machine runs all cases without newer features, and the documents state their number."""
    known = [is_known(graph) for file in FILES for _, graph, _, _ in cases_run(parse(file.read_text()))]
    assert (known.count(True), known.count(False)) == (RUN, LEFT_OUT)
    readme = " ".join((FILES[0].parent / "README.md").read_text().split())
    semantics = " ".join((FILES[0].parents[2] / "docs" / "semantics.md").read_text().split())
    assert f"Of the {RUN + LEFT_OUT:,} cases that are run, it runs {RUN}; only " in readme
    assert f" check the other {LEFT_OUT}, whose graphs have any of these" in readme
    assert f"It runs {RUN} cases of the corpus, and leaves out the {LEFT_OUT} that need these" in semantics
    first = " ".join((FILES[0].parents[2] / "README.md").read_text(encoding="utf-8").split())
    assert f"passes all {RUN} cases whose ops it implements" in first


@pytest.mark.full
def test_the_second_machine_has_the_counts_of_the_corpus() -> None:
    """The second machine alone has the counts that the cases state."""
    counted = 0
    for file in FILES:
        for case, graph, arguments, limits in runs(parse(file.read_text())):
            if case.firings is not None:
                assert run_second(**task(graph, arguments, "waves", limits))["firings"] == case.firings, case
                counted += 1
    assert counted >= 100


KNOWN = cases().filter(lambda case: not any(map(is_newer, lower(case.program).nodes)))
"""Generated programs whose ops the second machine knows."""


@settings(max_examples=20)
@given(KNOWN, st.sampled_from(SCHEDULES))
def test_the_second_machine_agrees_on_generated_programs(case: Generated, schedule: str) -> None:
    """On generated programs both machines agree step by step, also under `random`."""
    assert differences(lower(case.program), case.arguments, schedule, firings=1_000) == []


@pytest.mark.heavy
@pytest.mark.timeout(1800)
@settings(max_examples=400)
@given(KNOWN, st.sampled_from(SCHEDULES))
def test_the_second_machine_agrees_on_many_generated_programs(case: Generated, schedule: str) -> None:
    """On many more generated programs both machines agree."""
    assert differences(lower(case.program), case.arguments, schedule, firings=2_000) == []


@settings(max_examples=10)
@given(KNOWN, st.sampled_from(["firings", "tokens", "depth"]), st.integers(0, 40))
def test_both_machines_stop_at_the_same_firing(case: Generated, limit: str, number: int) -> None:
    """Both machines stop at limits before the same firing."""
    limits = {"firings": 1_000, limit: number}
    for schedule in SCHEDULES[:3]:
        assert differences(lower(case.program), case.arguments, schedule, **limits) == []


def test_the_second_machine_reads_large_arrays() -> None:
    """The second machine reads arrays whose elements are in base64."""
    subject = parse("func twice(x: int16[5000]) -> int16[5000] {\n  y = add x, x\n  return y\n}")["twice"]
    assert isinstance(subject, tl.Program)
    arguments = [np.arange(-2500, 2500, dtype=np.int16)]
    assert isinstance(task(lower(subject), arguments, "waves", {})["arguments"][0]["data"], str)
    assert differences(lower(subject), arguments, "waves") == []


def test_the_second_machine_is_independent() -> None:
    """The second machine is one file of some 400 lines, and imports nothing but the standard library and NumPy."""
    source = MACHINE.read_text()
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name) or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.partition(".")[0] for name in imported} <= {*sys.stdlib_module_names, "numpy"}
    assert len(source.splitlines()) < 420 and "tagloom" not in source.replace('"tagloom": "outcome"', "")


@pytest.mark.full
def test_the_second_machine_is_a_command() -> None:
    """`python second_machine.py < TASK.json` prints an outcome."""
    subject = parse("func twice(x: int8) -> int8 {\n  y = add x, x\n  return y\n}")["twice"]
    assert isinstance(subject, tl.Program)
    asked = json.dumps(task(lower(subject), [100], "fifo", {}))
    ran = subprocess.run([sys.executable, str(MACHINE)], input=asked, capture_output=True, check=True, text=True)
    assert json.loads(ran.stdout)["results"] == [{"dtype": "int8", "data": -56}]
