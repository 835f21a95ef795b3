"""The laws of the engine auto hold on generated programs; twins break them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.generators.compiled_cases import KINDS, SCALARS
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.laws.auto_laws import NEVER, switch_violations
from support.twins.broken_twin import broken, caught
from tagloom.interp.engines import auto
from tagloom.interp.engines.fast import run as fast_run

LOOKS = st.one_of(st.integers(0, 8), st.integers(0, 120))
WHERE_MEASURED = {"plain": cases(), "acts": act_cases()}
OTHER_KINDS = ("cells", "cells that are read early", "effects")


@pytest.mark.parametrize("kind", WHERE_MEASURED)
@settings(max_examples=20, phases=[Phase.generate])
@given(data=st.data())
def test_measured_runs_move_at_any_point(kind: str, data: st.DataObject) -> None:
    """A sequence of runs whose measures are wanted has the reference's results, errors, statistics, residue and
    effects, whenever the token machine gets ready."""
    case, looks = data.draw(WHERE_MEASURED[kind]), data.draw(LOOKS)
    assert list(switch_violations(case, (looks, NEVER), measures=True)) == []


def check_runs_for_values(case: Case, data: st.DataObject) -> None:
    for _ in range(4):
        looks = data.draw(LOOKS), data.draw(LOOKS)
        assert list(switch_violations(case, looks, measures=False, runs=2)) == []


@settings(max_examples=8, phases=[Phase.generate])
@given(data=st.data())
def test_runs_for_values_move_at_any_point(data: st.DataObject) -> None:
    """A sequence of runs whose caller wants only the value has the reference's results or first trap, and each effect
    once, whenever the token machine and the code of the program get ready, in any order."""
    check_runs_for_values(data.draw(KINDS[SCALARS]), data)


@pytest.mark.full
@pytest.mark.parametrize("examples", [2, pytest.param(20, marks=[pytest.mark.heavy, pytest.mark.timeout(1800)])])
@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_runs_for_other_values_move_at_any_point(kind: str, examples: int) -> None:
    """The law holds for programs with cells and effects, which take seconds to compile."""

    @settings(max_examples=examples, phases=[Phase.generate])
    @given(data=st.data())
    def law(data: st.DataObject) -> None:
        check_runs_for_values(data.draw(KINDS[kind]), data)

    law()


def restart_with_effects(patch: pytest.MonkeyPatch) -> None:
    """A run with effects starts again."""
    patch.setattr(auto, "resource_of", lambda op: None)


def restart_measured_runs(patch: pytest.MonkeyPatch) -> None:
    """A run whose measures are wanted starts again, as a run that has none."""
    patch.setattr(auto.EngineSelector, "may_restart", property(lambda self: self.warmup.is_restartable))


def lose_measures(patch: pytest.MonkeyPatch) -> None:
    """`fast` counts from zero what the reference has counted."""
    resume = fast_run.resume_to_outcome
    patch.setattr(fast_run, "resume_to_outcome", lambda *given, meter, **more: resume(*given, **more))


TWINS: list[tuple[Callable[[pytest.MonkeyPatch], None], str, bool]] = [
    (restart_with_effects, "effects", False),
    (restart_measured_runs, SCALARS, True),
    (lose_measures, SCALARS, True),
]


@pytest.mark.full
@pytest.mark.parametrize(("twin", "kind", "measures"), TWINS)
def test_the_law_catches(twin: Callable[[pytest.MonkeyPatch], None], kind: str, measures: bool) -> None:
    """The law tells each twin from the true engine, on a few programs."""

    def fails(case: Case) -> bool:
        looks = [(3, NEVER), (NEVER, 6)] if measures else [(NEVER, 9)]
        if any(list(switch_violations(case, each, measures=measures, runs=1)) for each in looks):
            return False  # a fault of the true code
        with broken(twin):
            return any(list(switch_violations(case, each, measures=measures, runs=1)) for each in looks)

    assert caught(KINDS[kind], fails, twin.__doc__, 40)
