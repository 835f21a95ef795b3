"""A corpus requires of a backend the endings that it says it always reports."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
import tagloom as tl
from tagloom.interp.oracle.backend_process import Backend
from tagloom.interp.oracle.conform_corpus import run_corpus
from tagloom.interp.oracle.judge import FAILURES
from tagloom.interp.oracle.protocol import ENDINGS

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
