"""The laws of the fast engine hold on generated programs: it agrees with the reference machine step by step."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case, cases
from support.laws.fast_laws import LIMITS, SCHEDULES, option_violations, step_violations, violations
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
    """Check two schedules in full, and some runs with limits."""
    schedules = ("waves", dice.choice(SCHEDULES[1:]))
    assert list(violations(case, schedules, handovers=HANDOVERS)) == []
    assert list(option_violations(case, dice, 2)) == []
    assert list(step_violations(case, dice.choice(SCHEDULES), 60)) == []


@settings(max_examples=20, phases=[Phase.generate])
@given(cases(), DICE)
def test_plain_programs(case: Case, dice: Random) -> None:
    """A run has the reference's results, traps, residue and statistics; every limit ends it at the same step (S1 to
    S12)."""
    check(case, dice)


@settings(max_examples=10, phases=[Phase.generate])
@given(act_cases(bounded=False), DICE)
def test_programs_with_effects(case: Case, dice: Random) -> None:
    """Programs with cells, effects and random numbers run as on the reference (S13 to S15)."""
    check(case, dice)


@settings(max_examples=10, phases=[Phase.generate])
@given(act_cases(), DICE)
def test_programs_with_bounds(case: Case, dice: Random) -> None:
    """Programs whose bounds throttle tokens run as on the reference (S16)."""
    check(case, dice)


@settings(max_examples=10, phases=[Phase.generate])
@given(cases(), DICE)
def test_plain_programs_in_general(case: Case, dice: Random) -> None:
    """Programs of scalars run as on the reference without the special path for scalars."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TokenStore, "allows_scalar_path", False)
        check(case, dice)


@pytest.mark.heavy
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_many_programs(kind: str) -> None:
    """The laws hold on 250 programs of each kind, exported and imported at four steps; a fifth of them are also
    compared step by step, and with five random sets of options."""

    @settings(max_examples=250)
    @given(PROGRAMS[kind], DICE)
    def hold(case: Case, dice: Random) -> Any:
        assert list(violations(case, ("waves", dice.choice(SCHEDULES[1:])))) == []
        if dice.random() < 0.2:
            assert list(option_violations(case, dice, 5)) == []
            assert list(step_violations(case, dice.choice(SCHEDULES), 300)) == []

    hold()


def seen(case: Case) -> set[str]:
    """The events of a program's run that these laws are about."""
    graph, results = lower(case.program), set()
    state = first_state(graph, case.arguments, "fifo", world=Witness())
    try:
        for event in drive(state, schedule("fifo"), LIMITS):
            results |= {
                word
                for word, happened in (
                    ("traps", event.trap),
                    ("defers", event.deferred_at),
                    ("wakes", event.woken),
                    ("throttles", event.is_throttled),
                    ("releases", event.released),
                )
                if happened
            }
    except Exhausted:
        results.add("exhausted")
    drawing = [n for n, node in enumerate(graph.nodes) if node.op in EFFECT_OPS and EFFECT_OPS[node.op].draw]
    moments = {f"goes on after {steps}" for steps in (7, 40, 300) if state.steps > steps}
    return results | moments | ({"draws"} if any(state.firings_by_node[number] for number in drawing) else set())


@pytest.mark.heavy
@pytest.mark.timeout(1800)
def test_generated_programs_cover_the_laws() -> None:
    """Many generated programs with bounds throttle tokens, defer reads, wake, trap and draw; most runs continue after
    an export."""
    result: Counter[str] = Counter()

    @settings(max_examples=300, phases=[Phase.generate], derandomize=True)
    @given(act_cases(twice=True))
    def count(case: Case) -> None:
        result.update([*seen(case), "programs"])

    count()
    shares = {word: count / result["programs"] for word, count in result.items()}
    print(shares)
    least = {"throttles": 0.2, "releases": 0.2, "defers": 0.1, "wakes": 0.1, "traps": 0.1, "draws": 0.2}
    least |= {"goes on after 40": 0.6, "goes on after 300": 0.2}
    assert {word: shares.get(word, 0) for word, share in least.items() if shares.get(word, 0) < share} == {}
