"""Cases of a corpus: every ending that a case can claim, rightly and wrongly."""

from __future__ import annotations

import pytest
import tagloom as tl
from tagloom.interp.oracle.corpus import try_cases

TEXT = """
func fac(n: int64) {
  small = less_equal n, 0
  r = cond small, n {
    then(n: int64) { yield 1 }
    else(n: int64) {
      m = subtract n, 1
      f = call fac m
      p = multiply n, f
      yield p
    }
  }
  return r
}
func ratio(n: int64) {
  y = floor_divide 10, n
  return y
}
func for_ever(n: int64) {
  r = call again n
  return r
}
func again(n: int64) -> int64 {
  r = call for_ever n
  return r
}
func small(x: float32[2]) {
  y = add x, float32(0.5)
  return y, int8(3)
}
func broken(n: int64) {
  y = less n, 2.5
  return y
}
graph race(x: int64) -> int64 {
  m = merge x, x
  return m
}
graph stuck(x: int64) -> int64 {
  small = less x, 3
  s = switch x, small
  sum = add s:0, s:1
  return sum
}
"""
RIGHT = [
    "fac(5) returns 120 in 52 firings",
    "fac(0) returns 1",
    "ratio(3) returns 3",
    'ratio(0) traps "integer division by zero" in 2 firings',
    "for_ever(0) exhausts 1000 firings",
    "for_ever(0) exhausts 50 depth",
    "for_ever(0) exhausts 0 tokens",
    "small([1, 2]) returns [1.5, 2.5], 3",
    "small(float32([1, nan])) returns [1.5, nan], int8(3)",
    "broken refused V4",
    "race refused V11",
    "race(1) breaks S4",
    "stuck(1) deadlocks",
    "stuck refused V10",
]
WRONG = [
    ("fac(5) returns 121", "returns 120 in 52 firings, under waves"),
    ("fac(5) returns 120 in 51 firings", "returns 120 in 52 firings"),
    ("fac(5) returns 120, 1", "returns 120"),
    ('fac(5) traps "integer division by zero"', "returns 120"),
    ('ratio(0) traps "another"', 'traps "integer division by zero"'),
    ("ratio(0) returns 1", 'traps "integer division by zero"'),
    ("fac(5) exhausts 1000 firings", "returns 120"),
    ("fac(5) exhausts 52 firings", "returns 120"),
    ("fac refused V4", "it breaks no rule"),
    ("broken refused V3", "refused V4"),
    ("broken(1) returns true", "refused V4"),
    ("broken(1) deadlocks", "refused V4"),
    ("race(1) returns 1", "refused V11"),
    ("race(1) breaks S5", "breaks S4"),
    ("stuck(1) breaks S4", "deadlocks"),
    ("fac(1.5) returns 1", "1.5"),
    ("fac(1, 2) returns 1", "1, 2"),
    ("nothing(1) returns 1", "None"),
]


def verdict_of(case: str) -> tl.TagloomError | None:
    ((_, difference),) = try_cases(tl.parse(f"{TEXT}case {case}\n", "cases.tl"))
    return difference


@pytest.mark.inner(first=4)
@pytest.mark.parametrize("case", RIGHT)
def test_a_right_case_agrees(case: str) -> None:
    """A right claim of a case holds under every schedule; another function of the file that is broken does not
    count."""
    assert verdict_of(case) is None


@pytest.mark.inner(first=5)
@pytest.mark.parametrize(("case", "got"), WRONG)
def test_a_wrong_case_differs(case: str, got: str) -> None:
    """A case with a wrong ending, detail or count differs; the message says where it stands and what came instead."""
    difference = verdict_of(case)
    assert difference is not None and got in str(difference.got)
    assert str(difference.where) == f"cases.tl:{TEXT.count(chr(10)) + 1}"


def test_cases_are_tried_in_order() -> None:
    """Every case has its line, whatever the others give."""
    document = tl.parse(TEXT + "case fac(1) returns 2\ncase nothing refused V4\ncase fac(1) returns 1\n")
    assert [difference is None for _, difference in try_cases(document)] == [False, False, True]


@pytest.mark.parametrize(
    ("type_", "value"),
    [("uint64", "18446744073709551615"), ("float64[2, ?]", "[[], []]"), ("float32", ".5"), ("int8", "-128")]
    + [("float64[0, 3]", "[]"), ("bool[?]", "[true]"), ("uint8[2]", "uint8([1, 255])")],
)
def test_literals_of_a_case_take_their_types(type_: str, value: str) -> None:
    """The literals of a case have the types of parameters and results, even if they would have another type, or be no
    literals, by themselves."""
    text = f"func f(x: {type_}) {{\n  y = identity x\n  return y\n}}\ncase f({value}) returns {value} in 3 firings\n"
    assert [trial.difference for trial in try_cases(tl.parse(text))] == [None]
    assert tl.parse(text.replace("3 firings", "1 firing")).cases[0].firings == 1
