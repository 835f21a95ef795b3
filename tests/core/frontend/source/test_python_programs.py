"""Generated Python programs: a converted function does what Python does. What cannot be part of a program is refused in
words, seldom."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.python_programs import PythonProgram, load_program, python_programs, write_program
from support.laws.python_laws import RUNS, disagreements, evaluator_disagreements, python_ending

SEEDS = 2000
"""The programs of the heavy part."""
MOST_REFUSED = 0.1
"""The share of programs that may be refused. Most of these have a `finally` that prints what the body changes."""


def check(program: PythonProgram, folder: Path, runs: Sequence[tuple[str, str]] = RUNS) -> str:
    """Check the laws on a program; how it ended: `agrees`, `raises`, or `refused`."""
    function = load_program(program, folder)
    try:
        found = [*disagreements(function, program.inputs, runs), *evaluator_disagreements(function, program.inputs)]
    except tl.Invalid:
        return "refused"
    except Exception as error:
        if isinstance(error, type(python_ending(function, program.inputs[0]).error)):
            return "raises"
        raise
    assert not found, "\n".join([program.text, *found])
    return "agrees"


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("seed", range(5))
def test_small_programs(seed: int, tmp_path: Path) -> None:
    """Small programs of the same seeds agree with Python in value, type, printed lines and exception."""
    program = write_program(random.Random(seed).randint, size=6)
    assert check(program, tmp_path, RUNS[:1]) != "refused"


@pytest.mark.full
def test_programs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Programs that Hypothesis draws agree, on the reference under three schedules, on `fast`, and on the evaluator."""
    endings: Counter[str] = Counter()

    @settings(max_examples=10)
    @given(python_programs())
    def law(program: PythonProgram) -> None:
        endings[check(program, tmp_path_factory.mktemp("program"))] += 1

    law()
    assert endings["refused"] <= 2


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, SEEDS, 100))
def test_many_programs(first: int, tmp_path: Path) -> None:
    """100 larger programs agree; one in 20 also runs on `compiled`. Few are refused."""
    endings: Counter[str] = Counter()
    for seed in range(first, first + 100):
        program = write_program(random.Random(seed).randint)
        runs = [*RUNS, ("compiled", "waves")] if seed % 20 == 0 else RUNS
        endings[check(program, tmp_path, runs)] += 1
    print(f"seeds {first} to {first + 99}: {dict(endings)}")
    assert endings["refused"] <= 100 * MOST_REFUSED


WORDS = (
    "for ",
    "while ",
    "else:",
    "match ",
    "finally:",
    "break",
    "continue",
    "nonlocal ",
    ":=",
    "Box(",
    " for g",
    "def down",
)
"""Words of the constructs that generated programs have."""


def statistics(count: int, folder: Path) -> Counter[Any]:
    """How many of the first programs have loops, recursion, exceptions and printed lines."""
    seen: Counter[Any] = Counter()
    for seed in range(count):
        program = write_program(random.Random(seed).randint)
        function = load_program(program, folder)
        endings = [python_ending(function, arguments) for arguments in program.inputs]
        seen["raises"] += any(ending.error is not None for ending in endings)
        seen["prints"] += any(ending.lines for ending in endings)
        seen["recursion"] += "recur(" in program.text
        for word in WORDS:
            seen[word] += word in program.text
    return seen


@pytest.mark.full
def test_programs_are_diverse(tmp_path: Path) -> None:
    """Each construct is in at least one in twenty programs, and one in ten raises, or prints."""
    seen = statistics(80, tmp_path)
    assert min(seen.values()) >= 4 and min(seen["raises"], seen["prints"]) >= 8, seen
