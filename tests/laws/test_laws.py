"""The laws hold on generated programs."""

from __future__ import annotations

import distribution
import pytest
from hypothesis import given, settings
from support.generators.generator import ARRAYS, Case, cases, signatures
from support.laws.laws import violations
from tagloom.core.ops.op import OPS
from tagloom.core.program.program import STRUCTURED_OPS


@settings(max_examples=20)
@given(cases())
def test_laws_hold_on_generated_programs(case: Case) -> None:
    """Machine equals evaluator; every schedule gives the same results, traps and firings; nothing is left over;
    no node fires twice under a tag; revert undoes apply (S1 to S12)."""
    assert list(violations(case)) == []


@settings(max_examples=12)
@given(cases(arrays=True))
def test_laws_hold_on_programs_of_arrays(case: Case) -> None:
    """The same, of programs that take arrays apart and put them together."""
    assert list(violations(case)) == []


@pytest.mark.heavy
@settings(max_examples=100)
@given(cases(arrays=True))
@pytest.mark.timeout(1800)
def test_laws_hold_on_many_generated_programs(case: Case) -> None:
    """The same, on more programs than a person waits for."""
    assert list(violations(case)) == []


@pytest.mark.full
def test_generated_programs_have_loops_and_recursion() -> None:
    """At least 30 % have a loop with a recursion in it or under it, and few end but by returning."""
    found = distribution.distribution(150)
    assert found["loop with recursion in it or under it"] >= 0.3
    assert found["Returned"] > 0.5


@pytest.mark.heavy
def test_generated_programs_are_rich() -> None:
    """The median run has over 200 firings. Hypothesis draws what is alike in a row, so fewer programs say little."""
    found = distribution.distribution(1000)
    assert found["loop with recursion in it or under it"] >= 0.3
    assert found["median firings"] > 200


@pytest.mark.heavy
def test_every_op_is_drawn() -> None:
    """Every op of the registry is drawn, and all that has regions or calls but pullbacks, which derivation makes."""
    assert distribution.ops_drawn(3000) == {*OPS, *STRUCTURED_OPS} - {"pullback"}


def test_every_op_can_be_drawn() -> None:
    """There are operands for every op of the registry among the types of programs, and what it makes is one of them."""
    assert set(signatures(ARRAYS, arrays=True)) == set(OPS)
