"""The laws of the fast engine hold on generated programs: it is the reference machine, step by step, only faster."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case, cases
from support.laws.fast_laws import LIMITS, SCHEDULES, in_step, inexact, violations
from tagloom.core.errors import Exhausted
from tagloom.core.graph.lower import lower
from tagloom.core.ops.effects import EFFECT_OPS
from tagloom.interp.engines.fast.store import TokenStore
from tagloom.interp.engines.reference import drive, first_state
from tagloom.interp.machine.schedule import schedule

DICE = st.integers(0, 2**32 - 1).map(Random)
HANDOVERS = (0, 40)
PROGRAMS = {
    "plain": cases(),
    "arrays": cases(arrays=True),
    "acting": act_cases(bounded=False),
    "bounded": act_cases(),
    "twice": act_cases(twice=True),
}


def check(case: Case, dice: Random) -> None:
    """Two schedules in full, and some runs with limits: what a person waits for."""
    schedules = ("waves", dice.choice(SCHEDULES[1:]))
    assert list(violations(case, schedules, handovers=HANDOVERS)) == []
    assert list(inexact(case, dice, 2)) == []
    assert list(in_step(case, dice.choice(SCHEDULES), 60)) == []


@settings(max_examples=40, phases=[Phase.generate])
@given(cases(), DICE)
def test_plain_programs(case: Case, dice: Random) -> None:
    """Same results, traps, residue and measures as the reference; every limit ends it at the same step (S1 to S12)."""
    check(case, dice)


@settings(max_examples=20, phases=[Phase.generate])
@given(act_cases(bounded=False), DICE)
def test_programs_with_acts(case: Case, dice: Random) -> None:
    """The same where programs have cells, effects and random numbers (S13 to S15)."""
    check(case, dice)


@settings(max_examples=20, phases=[Phase.generate])
@given(act_cases(), DICE)
def test_programs_with_bounds(case: Case, dice: Random) -> None:
    """The same where bounds hold tokens (S16)."""
    check(case, dice)


@settings(max_examples=20, phases=[Phase.generate])
@given(cases(), DICE)
def test_plain_programs_in_general(case: Case, dice: Random) -> None:
    """The same where nothing is left to the loop for plain words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TokenStore, "allows_scalar_path", False)
        check(case, dice)


@pytest.mark.heavy
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_many_programs(kind: str) -> None:
    """The same of 250 programs of each kind; of a fifth of them handed over at four moments, with five ways to ask."""

    @settings(max_examples=250)
    @given(PROGRAMS[kind], DICE)
    def hold(case: Case, dice: Random) -> Any:
        assert list(violations(case, ("waves", dice.choice(SCHEDULES[1:])))) == []
        if dice.random() < 0.2:
            assert list(inexact(case, dice, 5)) == []
            assert list(in_step(case, dice.choice(SCHEDULES), 300)) == []

    hold()


def seen(case: Case) -> set[str]:
    """What happens in a run of it that these laws are about."""
    graph, found = lower(case.program), set()
    state = first_state(graph, case.arguments, "fifo", world=Witness())
    try:
        for event in drive(state, schedule("fifo"), LIMITS):
            found |= {
                word
                for word, happened in (
                    ("traps", event.trap),
                    ("parks", event.deferred_at),
                    ("wakes", event.woken),
                    ("holds", event.is_throttled),
                    ("releases", event.released),
                )
                if happened
            }
    except Exhausted:
        found.add("exhausted")
    drawing = [n for n, node in enumerate(graph.nodes) if node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw]
    moments = {f"goes on after {steps}" for steps in (7, 40, 300) if state.steps > steps}
    return found | moments | ({"draws"} if any(state.firings_by_node[number] for number in drawing) else set())


@pytest.mark.heavy
@pytest.mark.timeout(1800)
def test_generated_programs_do_what_the_laws_are_about() -> None:
    """Of programs with bounds, many hold tokens, park, wake, trap and draw; and most runs go on after a hand-over."""
    found: Counter[str] = Counter()

    @settings(max_examples=300, phases=[Phase.generate], derandomize=True)
    @given(act_cases(twice=True))
    def count(case: Case) -> None:
        found.update([*seen(case), "programs"])

    count()
    shares = {word: count / found["programs"] for word, count in found.items()}
    print(shares)
    least = {"holds": 0.2, "releases": 0.2, "parks": 0.1, "wakes": 0.1, "traps": 0.1, "draws": 0.2}
    least |= {"goes on after 40": 0.6, "goes on after 300": 0.2}
    assert {word: shares.get(word, 0) for word, share in least.items() if shares.get(word, 0) < share} == {}
