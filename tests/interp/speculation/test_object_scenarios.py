"""Scenarios of objects and state: each call does what it does in Python, and most run in a graph."""

from __future__ import annotations

from collections import deque
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import tagloom as tl
from support.object_edge_cases import ALL, EDGE_CASES
from support.object_scenarios import SCENARIOS
from support.speculation import run_calls, run_speculated
from tagloom.interp.speculation.speculative_function import INTERNAL_ERROR

pytestmark = pytest.mark.full
FIRST_CALLS = 5
"""A scenario is in a graph if no call after so many runs in Python."""
IN_PYTHON = {
    "array_view": "two arrays of NumPy that share elements",
    "suppressed_error": "a context manager of a library",
}
"""The scenarios that stay in Python, with the reason."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    """Results, printed lines, exceptions and all state are those of Python after each call. Those that are not in the
    table of Python run in the graph."""
    seen, function, counts = run_speculated(ALL[name])
    expected = run_calls(SCENARIOS[name], lambda python: python)
    for position, (one, other) in enumerate(zip(seen, expected, strict=True)):
        assert one == other, f"call {position}"
    assert not [event for event in function.events if INTERNAL_ERROR in event]
    assert function.builds <= function.build_bound
    assert (counts[-1] == counts[FIRST_CALLS]) == (name not in IN_PYTHON), function.explain()


@pytest.mark.full(first=24)
@pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in IN_PYTHON])
def test_scenario_with_each_assumption_broken(name: str) -> None:
    """Where any assertion fails, Python runs the call from its start, and nothing is left of the graph's run."""
    expected = run_calls(SCENARIOS[name], lambda python: python)
    _, function, _ = run_speculated(ALL[name])
    assert function.graph is not None
    numbers = deque(range(len(function.graph.assumptions)))

    def break_next(position: int) -> AbstractContextManager[Any]:
        is_late = position >= FIRST_CALLS and len(numbers) > 0
        return tl.testing.break_assumption(numbers.popleft()) if is_late else nullcontext()

    while numbers:
        seen, _, _ = run_speculated(ALL[name], break_next)
        assert seen == expected


@pytest.mark.full(first=33)
@pytest.mark.parametrize("name", EDGE_CASES)
def test_edge_case(name: str) -> None:
    """Results, printed lines, exceptions and all state are those of Python after each call, in a graph or not."""
    seen, function, _ = run_speculated(ALL[name])
    assert seen == run_calls(ALL[name], lambda python: python)
    assert not [event for event in function.events if INTERNAL_ERROR in event]


def test_counts() -> None:
    """At least two thirds of the scenarios run in a graph."""
    assert len(SCENARIOS) == 78
    assert 3 * (len(SCENARIOS) - len(IN_PYTHON)) >= 2 * len(SCENARIOS)
