"""The laws of events hold on generated programs: the events that the fast engine keeps are the reference's."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.laws.event_laws import replay_violations, violations
from support.laws.fast_laws import SCHEDULES

DICE = st.integers(0, 2**32 - 1).map(Random)
PROGRAMS = {
    "plain": cases(),
    "acting": act_cases(bounded=False),
    "bounded": act_cases(),
    "twice": act_cases(twice=True),
    "early": act_cases(early=True),
}


@pytest.mark.full
@pytest.mark.parametrize("kind", PROGRAMS)
def test_events_are_the_reference_s(kind: str) -> None:
    """All events, the last events, and log lines equal the reference's, wherever a run is imported and pauses."""

    @settings(max_examples=3, phases=[Phase.generate])
    @given(PROGRAMS[kind], DICE)
    def hold(case: Case, dice: Random) -> None:
        assert list(violations(case, dice, ("waves", dice.choice(SCHEDULES[1:])))) == []

    hold()


@pytest.mark.full
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_log_replays_to_the_outcome(kind: str, tmp_path_factory: Any) -> None:
    """A log that the fast engine wrote replays to the outcome of its run."""
    folder = tmp_path_factory.mktemp("logs")

    @settings(max_examples=3, phases=[Phase.generate])
    @given(PROGRAMS[kind], st.sampled_from(SCHEDULES))
    def hold(case: Case, name: str) -> None:
        assert list(replay_violations(case, name, folder / "run.jsonl")) == []

    hold()


@pytest.mark.heavy
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_many_programs(kind: str) -> None:
    """The laws of events hold on 15 programs of each kind, under all schedules."""

    @settings(max_examples=15)
    @given(PROGRAMS[kind], DICE)
    def hold(case: Case, dice: Random) -> None:
        assert list(violations(case, dice)) == []

    hold()
