"""Broken twins of speculation: the scenarios detect each."""

from __future__ import annotations

import pytest
import tagloom as tl
from support.speculated_scenarios import SCENARIOS
from support.speculation import compare
from support.twins.broken_twin import broken
from support.twins.speculation_twins import TWINS


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_broken_speculation_is_caught(name: str) -> None:
    """A scenario that the sound code passes fails."""
    twin = TWINS[name]
    function, make_calls = SCENARIOS[twin.scenario]
    with broken(twin.patch), pytest.raises(Exception):  # noqa: B017
        compare(tl.speculate(engine="reference")(function), make_calls())
