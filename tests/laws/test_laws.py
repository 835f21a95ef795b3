"""The laws hold on generated programs."""

from __future__ import annotations

import distribution
import pytest
from hypothesis import given, settings
from support.generators.generator import ARRAYS, Case, cases, signatures
from support.laws.machine_laws import violations
from tagloom.core.ops.op import OPS
from tagloom.core.program.program import STRUCTURED_OPS


@settings(max_examples=20)
@given(cases())
def test_laws_hold_on_generated_programs(case: Case) -> None:
    """Machine and evaluator agree; every schedule gives the same results, traps and firings; no residue is left; no
    node fires twice under a tag; `revert` undoes `apply` (S1 to S12)."""
    assert list(violations(case)) == []


@settings(max_examples=12)
@given(cases(arrays=True))
def test_laws_hold_on_programs_of_arrays(case: Case) -> None:
    """The laws hold on programs that split and join arrays."""
    assert list(violations(case)) == []


@pytest.mark.heavy
@settings(max_examples=100)
@given(cases(arrays=True))
@pytest.mark.timeout(1800)
def test_laws_hold_on_many_generated_programs(case: Case) -> None:
    """The laws hold on many more programs."""
    assert list(violations(case)) == []


@pytest.mark.full
def test_generated_programs_have_loops_and_recursion() -> None:
    """At least 30 % of generated programs have a recursion in a loop, or a loop in a recursion, and few do not
    return."""
    actual = distribution.distribution(150)
    assert actual["loop with recursion in it or under it"] >= 0.3
    assert actual["Returned"] > 0.5


@pytest.mark.heavy
def test_generated_programs_are_rich() -> None:
    """The median run has over 200 firings. Hypothesis draws similar examples in a row, so fewer programs show
    little."""
    actual = distribution.distribution(1000)
    assert actual["loop with recursion in it or under it"] >= 0.3
    assert actual["median firings"] > 200


@pytest.mark.heavy
def test_every_op_is_drawn() -> None:
    """Every op and structure is drawn, except pullbacks, which differentiation makes."""
    assert distribution.ops_drawn(3000) == {*OPS, *STRUCTURED_OPS} - {"pullback"}


@pytest.mark.full
def test_every_op_can_be_drawn() -> None:
    """Every op of the registry has operands among the types of generated programs, and a result of one of these
    types."""
    assert set(signatures(ARRAYS, arrays=True)) == set(OPS)
