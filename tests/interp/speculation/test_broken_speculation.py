"""Broken twins of speculation: the scenarios detect each."""

from __future__ import annotations

import pytest
import tagloom as tl
from support.object_edge_cases import ALL
from support.speculated_scenarios import SCENARIOS
from support.speculation import compare, run_calls, run_speculated
from support.twins.broken_twin import broken
from support.twins.speculation_twins import OBJECT_TWINS, TWINS
from tagloom.interp.speculation.speculative_function import INTERNAL_ERROR


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_broken_speculation_is_caught(name: str) -> None:
    """A scenario that the sound code passes fails."""
    twin = TWINS[name]
    function, make_calls = SCENARIOS[twin.scenario]
    with broken(twin.patch), pytest.raises(Exception):  # noqa: B017
        compare(tl.speculate(engine="reference")(function), make_calls())


@pytest.mark.full
@pytest.mark.parametrize("name", OBJECT_TWINS)
def test_broken_objects_are_caught(name: str) -> None:
    """A scenario of objects that the sound code passes fails: it differs from Python, or has no graph."""
    twin = OBJECT_TWINS[name]
    expected = run_calls(ALL[twin.scenario], lambda python: python)
    with broken(twin.patch), pytest.raises(AssertionError):
        seen, function, _ = run_speculated(ALL[twin.scenario])
        assert not [event for event in function.events if INTERNAL_ERROR in event]
        assert function.counts.graph > 0
        assert seen == expected
