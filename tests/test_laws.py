"""The laws hold on generated programs."""

from __future__ import annotations

import distribution
import pytest
from generator import Case, cases
from hypothesis import given, settings
from laws import violations


@settings(max_examples=60)
@given(cases())
def test_laws_hold_on_generated_programs(case: Case) -> None:
    """Machine equals evaluator; every schedule gives the same results, traps and firings; nothing is left over;
    no node fires twice under a tag; revert undoes apply (S1 to S12)."""
    assert list(violations(case)) == []


@pytest.mark.heavy
@settings(max_examples=600)
@given(cases())
@pytest.mark.timeout(1800)
def test_laws_hold_on_many_generated_programs(case: Case) -> None:
    """The same, on more programs than a person waits for."""
    assert list(violations(case)) == []


def test_generated_programs_are_rich() -> None:
    """At least 30 % have a loop with a recursion in it or under it; the median run has over 200 firings."""
    found = distribution.distribution(300)
    assert found["loop with recursion in it or under it"] >= 0.3
    assert found["median firings"] > 200
    assert found["Returned"] > 0.6
    assert found["Trapped"] > 0.02
