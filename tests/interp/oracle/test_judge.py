"""Judgements on results within the windows of the policy, and beyond them."""

from __future__ import annotations

import numpy as np
import pytest
import tagloom as tl
from tagloom.interp.oracle.judge import judge, run_reference
from tagloom.interp.oracle.protocol import Answer

ONE = """func main(x: float64) -> float64 {
  r = exp x
  return r
}"""
DIFFERENCE = """func main(x: float64) -> float64 {
  a = exp x
  r = subtract a, 2.718281828459045
  return r
}"""
CALL = """func main(x: float64) -> float64 {
  r = call e x
  return r
}

func e(x: float64) -> float64 {
  r = exp x
  return r
}"""
EXACT = """func main(x: float64) -> float64 {
  a = add x, 1.0
  r = subtract a, 2.0
  return r
}"""


BOTH = """func main(x: float64) -> float64, float64 {
  a = exp x
  r = subtract a, 2.718281828459045
  s = add x, 1.0
  return r, s
}"""


@pytest.mark.inner(first=4)
@pytest.mark.parametrize(
    "text, ulps, verdict",
    [
        (ONE, 0, "alike"),
        (ONE, 4, "alike"),
        (ONE, 5, "different"),
        (DIFFERENCE, 5, "undecided"),
        (CALL, 5, "undecided"),
        (EXACT, 1, "different"),
    ],
)
def test_results_within_and_beyond_a_window(text: str, ulps: int, verdict: str) -> None:
    """The result of `exp` may differ by 4 ulp. A node that takes it may enlarge the difference, so a larger one is
    undecided then; where all nodes are exact, one ulp is a difference."""
    program = tl.parse(text).program
    assert program is not None
    outcome = run_reference(program, [1.0])
    result = outcome.results[0]
    for _ in range(ulps):
        result = np.nextafter(np.float64(result), np.inf)
    assert judge(program, [1.0], outcome, Answer("returned", (float(result),))).verdict == verdict


@pytest.mark.full
def test_a_result_without_windows_is_decided() -> None:
    """A wrong result that depends on exact nodes only is a difference, although another one is undecided."""
    program = tl.parse(BOTH).program
    assert program is not None
    outcome = run_reference(program, [1.0])
    judgement = judge(program, [1.0], outcome, Answer("returned", (1.0, 3.0)))
    assert (judgement.verdict, judgement.reason) == ("different", "result 1 differs")
