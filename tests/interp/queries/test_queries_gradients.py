"""Queries about reverse passes: where adjoints came from, and why one has not come."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.laws.query_laws import (
    provenance_violations,
    quiescence_violations,
    readiness_violations,
    reason_violations,
    run_and_index,
)
from support.programs.gradient_functions import GRADIENTS, grad_power
from tagloom.interp.queries import why_not as why


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("seed", range(3))
def test_provenance_and_reasons_hold_going_back(name: str, seed: int) -> None:
    """The laws of queries hold at any event of a reverse pass through calls, branches and loops."""
    function, arguments = GRADIENTS[name]
    dice = random.Random(seed)
    for steps in (dice.randrange(20, 120), dice.randrange(120, 300), 3_000):
        state, index = run_and_index(function.graph, arguments, f"random:{seed}", steps)
        assert list(provenance_violations(index, dice)) == []
        assert list(readiness_violations(state)) == []
        assert list(quiescence_violations(state, index)) == []
        assert list(reason_violations(state, index, dice)) == []


WRONG: dict[str, tuple[str, Any]] = {
    "no iteration is after this one": ("is_last_iteration", lambda self, tag: True),
    "adjoints come back to the first iteration": ("exit_iteration", lambda self, reenter, tag: 0),
}


@pytest.mark.full
@pytest.mark.parametrize("name", WRONG)
def test_wrong_searches_of_loops_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that searches the reverse pass of a loop wrongly claims that a node never fires, although it does."""
    attribute, wrong = WRONG[name]
    monkeypatch.setattr(why._UpstreamSearch, attribute, wrong)
    graph, arguments = grad_power.graph, (3.0, 3)
    texts: list[str] = []
    for steps in range(20, 140, 10):
        state, index = run_and_index(graph, arguments, "fifo", steps)
        texts += reason_violations(state, index, random.Random(steps))
    assert any("it fired in the end" in each for each in texts)
