"""The compiled engine means what the reference means, on generated programs and on the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from compiled_laws import differences
from compiled_programs import drawn, even, spread, strips
from generator import Case, cases
from hypothesis import Phase, given, settings
from scalar_cases import scalar_cases
from tagloom.core.literals import read
from tagloom.core.lower import lower
from tagloom.core.program import Program
from tagloom.core.text import parse
from tagloom.interp.compiled.support import supports
from tagloom.interp.reference import admit_arguments


def check(case: Case) -> None:
    if supports(case.program) is None:
        assert not list(differences(case.program, lower(case.program), case.arguments))


@settings(max_examples=4, phases=[Phase.generate])
@given(cases() | scalar_cases())
def test_generated_programs(case: Case) -> None:
    """Generated programs give the results of the reference bit for bit, or its first trap, word for word."""
    check(case)


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@settings(max_examples=400)
@given(cases() | scalar_cases())
def test_many_generated_programs(case: Case) -> None:
    """The same, of many."""
    check(case)


EVEN, DRAWN, SPREAD, STRIPS = [[7], [8], [0]], [[9], [0]], [[11, -5, 2.5], [200, 1, 0.0]], [[5, 11], [9000, 3]]


@pytest.mark.parametrize(
    ("function", "inputs"),
    [(even, EVEN), (drawn, DRAWN), (spread, SPREAD), (strips, STRIPS)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_small_programs(function: tl.Function, inputs: list[list[Any]]) -> None:
    """Mutual recursion, random numbers, every lane, and loops that count."""
    for arguments in inputs:
        admitted = admit_arguments(function.graph, arguments)
        assert not list(differences(function.program, function.graph, admitted, seed=5))


FOLDER = Path(__file__).parents[2] / "corpus"
FILES = sorted(path.stem for path in FOLDER.glob("*.tl") if not path.stem.startswith("refused"))
FEW = ["ackermann", "broadcasting", "random_arrays", "float64_specials", "even_or_odd", "guarded_division"]


def tried(file: str) -> int:
    """How many cases of a file of the corpus were run, and agree."""
    document, count = parse((FOLDER / f"{file}.tl").read_text(encoding="utf-8"), f"{file}.tl"), 0
    for case in document.cases:
        program = document[case.name]
        if not isinstance(program, Program) or case.kind not in ("returns", "traps") or supports(program) is not None:
            continue
        arguments = [
            read(text, type_) for text, (_, type_) in zip(case.arguments, program.main.body.parameters, strict=True)
        ]
        assert not list(differences(program, lower(program), arguments)), case
        count += 1
    return count


@pytest.mark.parametrize("file", FEW)
def test_corpus(file: str) -> None:
    """Programs of the corpus give what the reference gives."""
    assert tried(file)


@pytest.mark.heavy
@pytest.mark.parametrize("file", FILES)
def test_whole_corpus(file: str) -> None:
    """All of them, but for those that the engine says beforehand it does not run."""
    assert tried(file) >= 0
