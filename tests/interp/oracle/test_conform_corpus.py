"""A corpus requires of a backend the endings that it says it always reports."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS
from tagloom.core.program.program import Program
from tagloom.core.program.validate import program_problems
from tagloom.core.types import Type
from tagloom.interp.oracle.backend_process import Backend
from tagloom.interp.oracle.conform_corpus import run_corpus
from tagloom.interp.oracle.judge import FAILURES
from tagloom.interp.oracle.protocol import ENDINGS
from tagloom.interp.oracle.report import constructs

TESTS = Path(__file__).resolve().parents[2]
TEXT = """
func divide(x: int64) -> int64 {
  y = floor_divide 6, x
  return y
}
case divide(2) returns 3
case divide(0) traps "integer division by zero"

func wait() -> int64 {
  a = cells 1, element=int64
  y = get a, 0
  return y
}
case wait() deadlocks

func twice(x: int64) -> int64 {
  y = add x, 1
  y = add y, 1
  return y
}
case twice refused V2

graph race(x: int64) -> int64 {
  m = merge x, x
  return m
}
case race refused V11
"""


def machine(way: str) -> Backend:
    """The machine that reports all endings but this one."""
    return Backend([sys.executable, str(TESTS / "support" / "programs" / "machine_backend.py"), way])


@pytest.mark.parametrize("missing", ["right", *ENDINGS])
def test_an_ending_that_is_promised_is_required(missing: str) -> None:
    """A machine that reports each ending is alike in all cases; one that promises an ending and returns a result in its
    place is different in the case that has it, and in no other."""
    with machine(missing) as backend:
        verdicts = [judgement.verdict for _, _, judgement in run_corpus(backend, tl.parse(TEXT))]
    expected = ["alike", *("different" if ending == missing else "alike" for ending in ENDINGS)]
    assert verdicts == expected


def test_what_is_not_promised_is_not_required() -> None:
    """NumPy promises no ending: a trap is undecided, cells are refused, and no program is sent that must be refused."""
    with Backend([sys.executable, "-m", "tagloom.interp.oracle.worker", "numpy"]) as backend:
        judgements = [judgement for _, _, judgement in run_corpus(backend, tl.parse(TEXT))]
    assert [judgement.verdict for judgement in judgements] == ["alike", "undecided", "refused"]
    assert judgements[1].reason.startswith("the reference traps, and the backend does not: integer division by zero")


@pytest.mark.heavy
def test_the_reference_conforms_to_the_corpus() -> None:
    """The reference under the protocol is right in all cases of tests/corpus, refusals and deadlocks among them."""
    kinds: Counter[str] = Counter()
    with machine("right") as backend:
        for file in sorted((TESTS / "corpus").glob("*.tl")):
            for words, _, judgement in run_corpus(backend, tl.parse(file.read_text())):
                assert judgement.verdict not in FAILURES, (file.name, words, judgement)
                kinds[judgement.answer.kind] += judgement.verdict == "alike"
    assert kinds["returned"] > 900 and kinds["trapped"] > 90 and kinds["deadlocked"] > 10 and kinds["refused"] > 20


ELEMENTWISE = frozenset(name for name, row in OPS.items() if row.scalar is not None)
NUMBERS = frozenset(dtypes.BY_NAME)
LEVELS: dict[str, frozenset[str]] = {
    "addition of int64": frozenset({"int64", "add"}),
    "int64 and bool, element by element": frozenset({"bool"}) | ELEMENTWISE,
    "conds and loops": frozenset({"cond", "while_loop", "nested loops"}),
    "calls and recursion": frozenset({"call", "recursion"}),
    "float64": frozenset({"float64"}),
    "the other dtypes": NUMBERS,
    "arrays": frozenset({"array"}),
    "all ops": frozenset(OPS),
}
"""What each row of the page's table adds to the rows above it."""


def requirements(program: Program) -> set[str]:
    """The ops, dtypes and constructs of a program, and whether it has arrays."""
    required = set(constructs(program)) - {"straight line"}
    for function in program.reachable_functions():
        types: list[Type] = list(function.results)
        for region in function.body.walk_regions():
            types += [parameter.type for parameter in region.parameters]
            for node in region.nodes:
                required.add(node.op)
                types += [result.type for result in node.results]
                types += [operand.type for operand in node.inputs if not isinstance(operand, str)]
        required |= {repr(type_.dtype) for type_ in types}
        required |= {"array" for type_ in types if type_.shape != ()}
    return required


@pytest.mark.full
def test_what_the_corpus_requires() -> None:
    """The table of docs/conform.md says how many cases a backend can run that has the constructs, dtypes and ops of a
    row and of the rows above it."""
    cases = [
        requirements(subject)
        for file in sorted((TESTS / "corpus").glob("*.tl"))
        for document in [tl.parse(file.read_text())]
        for case in document.cases
        if isinstance(subject := document[case.name], Program)
        and case.kind in ("returns", "traps", "deadlocks")
        and not program_problems(subject)
    ]
    page = (TESTS.parent / "docs" / "conform.md").read_text()
    supported: frozenset[str] = frozenset()
    for words, addition in LEVELS.items():
        supported |= addition
        count = sum(required <= supported for required in cases)
        assert f"| {words} | {count:,} |" in page, (words, count)
    assert f"{len(cases):,} cases" in page, len(cases)
