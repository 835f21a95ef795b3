"""The compiled engine agrees with the reference on generated programs and on the corpus."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.generators.compiled_cases import KINDS, SCALARS
from support.generators.effect_programs import Witness
from support.generators.generator import Case
from support.laws.compiled_laws import STEPS, differences, needs_tokens, run_trial
from support.programs.compiled_programs import drawn, even, spread, strips
from tagloom.core import dtypes
from tagloom.core.graph.lower import lower
from tagloom.core.program.evaluate import evaluate
from tagloom.core.program.program import Program
from tagloom.core.text import parse
from tagloom.core.text.literals import parse_value
from tagloom.interp.engines.compiled.support import unsupported_program
from tagloom.interp.engines.reference import admit_arguments


def check(case: Case) -> str:
    """What a case was compared with; fails if the engine differs."""
    assert unsupported_program(case.program) is None
    by, actual = run_trial(case.program, lower(case.program), case.arguments)
    assert not actual
    return by


@settings(max_examples=20, phases=[Phase.generate])
@given(KINDS[SCALARS])
def test_generated_programs_of_scalars(case: Case) -> None:
    """Generated programs of scalars have the reference's results bit for bit, or its first trap word for word, and the
    effects of a sequential evaluation. The engine leaves only those to others that need tokens."""
    check(case)


@settings(max_examples=1, phases=[Phase.generate])
@given(st.tuples(*(cases for kind, cases in KINDS.items() if kind != SCALARS)))
def test_generated_programs(some: tuple[Case, ...]) -> None:
    """Generated programs of every other kind agree with the reference."""
    for case in some:
        check(case)


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_many_generated_programs(kind: str) -> None:
    """550 generated programs of each kind agree; most are compared with the reference itself, and few take too long for
    any comparison."""
    by = Counter[str]()

    @settings(max_examples=400 if kind == SCALARS else 25)
    @given(KINDS[kind])
    def compared(case: Case) -> None:
        by[check(case)] += 1

    compared()
    assert by["reference"] >= COMPARED[kind] * by.total() / 2 and by["nothing"] <= by.total() / 10


COMPARED = {
    "plain": 0.95,
    "arrays": 0.9,
    "scalars": 0.95,
    "cells": 0.8,
    "cells that are read early": 0.5,
    "cells that are put twice": 0.3,
    "effects": 0.95,
}
"""The least share of each kind of programs that is compared with the reference, and not left to other engines."""


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_share(kind: str) -> None:
    """Most generated programs of each kind run to the end without tokens, and many contain sums, products and cells."""
    by, ops = Counter[str](), Counter[str]()

    @settings(max_examples=150, phases=[Phase.generate], database=None, derandomize=True)
    @given(KINDS[kind])
    def counted(case: Case) -> None:
        meant = evaluate(case.program, case.arguments, max_steps=STEPS, world=Witness())
        by["left" if needs_tokens(case.program, meant) else meant.status] += 1
        ops.update({node.op for function in case.program.reachable_functions() for node in function.body.walk()})

    counted()
    assert by["Returned"] + by["Trapped"] >= COMPARED[kind] * by.total()
    assert by["Returned"] >= 0.3 * by.total()
    expected = {"cond", "while_loop", "call"}
    expected |= {"put", "get", "collect"} if kind.startswith("cells") else set()
    expected |= {"print", "callback"} if kind == "effects" else set()
    assert all(ops[op] >= 0.02 * by.total() for op in expected), ops
    least = 0.0 if kind == "scalars" else 0.02 if kind.startswith("cells") else 0.05
    assert ops["sum"] + ops["matmul"] >= least * by.total()


@pytest.mark.full
def test_ops_on_literals_wrap() -> None:
    """Ops on literals wrap at 64 bits, although Python computes them without bounds before anything is compiled."""
    low, high = dtypes.int64.range
    pairs = itertools.product([low, high, 2**40, -1, 3], repeat=2)
    nodes = [f"{op} {x}, {y}" for x, y in pairs for op in ("add", "subtract", "multiply")]
    nodes += [f"{op} {low}" for op in ("negative", "abs", "bitwise_invert", "sign")]
    nodes += [f"bitwise_{way}_shift {x}, {y}" for way in ("left", "right") for x in (low, 3) for y in (0, 62, 63, 64)]
    lines = [f" x{number} = {node}" for number, node in enumerate(nodes)]
    results = ", ".join(f"x{number}" for number in range(len(nodes)))
    text = "\n".join([f"func f() -> {', '.join(['int64'] * len(nodes))} {{", *lines, f" return {results}", "}"])
    program = tl.parse_program(text)
    assert differences(program, lower(program), []) == []


EVEN, DRAWN, SPREAD, STRIPS = [[7], [8], [0]], [[9], [0]], [[11, -5, 2.5], [200, 1, 0.0]], [[5, 11], [9000, 3]]


@pytest.mark.full
@pytest.mark.parametrize(
    ("function", "inputs"),
    [(even, EVEN), (drawn, DRAWN), (spread, SPREAD), (strips, STRIPS)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_small_programs(function: tl.Function, inputs: list[list[Any]]) -> None:
    """Mutual recursion, random numbers, every scalar type, and counting loops agree with the reference."""
    for arguments in inputs:
        admitted = admit_arguments(function.graph, arguments)
        assert not list(differences(function.program, function.graph, admitted, seed=5))


FOLDER = Path(__file__).parents[3] / "corpus"
FILES = sorted(path.stem for path in FOLDER.glob("*.tl") if not path.stem.startswith("refused"))
FEW = ["ackermann", "broadcasting", "random_arrays", "float64_specials", "even_or_odd", "guarded_division"]
FEW += ["arrays_in_parts", "cells_in_recursion", "cells_of_arrays", "trap_cells", "print_order"]
ENDINGS = ("returns", "traps", "deadlocks")


def count_agreeing_cases(file: str) -> int:
    """The number of cases of a corpus file that ran and agree."""
    document, count = parse((FOLDER / f"{file}.tl").read_text(encoding="utf-8"), f"{file}.tl"), 0
    for case in document.cases:
        program = document[case.name]
        if not isinstance(program, Program) or case.kind not in ENDINGS or unsupported_program(program) is not None:
            continue
        arguments = [
            parse_value(text, type_)
            for text, (_, type_) in zip(case.arguments, program.main.body.parameters, strict=True)
        ]
        assert not list(differences(program, lower(program), arguments)), case
        count += 1
    return count


@pytest.mark.full
@pytest.mark.parametrize("file", FEW)
def test_corpus(file: str) -> None:
    """Corpus programs have the reference's results."""
    assert count_agreeing_cases(file)


@pytest.mark.heavy
@pytest.mark.parametrize("file", FILES)
def test_whole_corpus(file: str) -> None:
    """All corpus programs agree, except those that the engine refuses beforehand."""
    assert count_agreeing_cases(file) >= 0
