"""Questions about runs that go back: where adjoints came from, and why one has not come."""

from __future__ import annotations

import random

import pytest
from gradient_functions import GRADIENTS
from question_laws import provenance, quietness, ran, readiness, reasons, retreat


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("seed", range(3))
def test_provenance_and_reasons_hold_going_back(name: str, seed: int) -> None:
    """The laws of questions hold at any moment of a run that goes back through calls, branches and loops."""
    function, arguments = GRADIENTS[name]
    dice = random.Random(seed)
    for steps in (dice.randrange(20, 120), dice.randrange(120, 300), 3_000):
        state, index = ran(function.graph, arguments, f"random:{seed}", steps)
        assert list(provenance(index, dice)) == []
        assert list(readiness(state)) == []
        assert list(quietness(state, index)) == []
        assert list(reasons(state, index, dice)) == []
        assert list(retreat(index, list(index.events), dice.randint(1, state.steps))) == []
