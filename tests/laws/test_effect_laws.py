"""The laws of cells, effects, random numbers and bounds hold on generated programs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case
from support.laws.effect_laws import bound_violations, run, twice_violations, unbounded, violations
from tagloom.core.graph.lower import lower
from tagloom.core.program.evaluate import evaluate
from tagloom.core.program.program import PARALLEL_ITERATIONS

FEW = ("lifo", "random:1", "random:2")


@settings(max_examples=40)
@given(act_cases(bounded=False))
def test_laws_hold_on_programs_with_effects(case: Case) -> None:
    """S13, S14, S15: machine and evaluator agree, including printed lines and calls; every schedule gives the same
    ending, results, traps, residue, order of effects, and firings; `revert` undoes `apply` and performs nothing."""
    assert list(violations(case, FEW)) == []


@settings(max_examples=20)
@given(act_cases(early=True))
def test_the_laws_of_bounds_hold(case: Case) -> None:
    """S16: no iteration j fires while iteration j-k is busy, nor waits longer than that. A bound removes firings and
    changes none; only a deferred get keeps a run from returning; a large bound has no effect."""
    assert list(bound_violations(case, (None, 1, 2), ("waves", "random:1"))) == []


@settings(max_examples=25)
@given(act_cases(twice=True, bounded=False))
def test_every_schedule_reports_a_second_put(case: Case) -> None:
    """S13: a second put to a cell is a trap under every schedule, which names all puts in program order."""
    assert list(twice_violations(case, FEW)) == []


@pytest.mark.heavy
@pytest.mark.timeout(1800)
@settings(max_examples=120)
@given(act_cases(bounded=False))
def test_laws_hold_on_many_programs_with_effects(case: Case) -> None:
    """The laws of effects hold on many more programs and schedules."""
    assert list(violations(case)) == []


@pytest.mark.heavy
@pytest.mark.timeout(1800)
@settings(max_examples=40)
@given(act_cases())
def test_the_laws_of_bounds_hold_on_many_programs(case: Case) -> None:
    """The laws of bounds hold on many more programs and bounds."""
    assert list(bound_violations(case, (None, 1, 2, 3, 4, 5), ("waves", "fifo", "lifo", "random:1", "random:2"))) == []


@pytest.mark.heavy
@pytest.mark.timeout(1800)
@settings(max_examples=60)
@given(act_cases(twice=True, bounded=False))
def test_every_schedule_reports_a_second_put_in_many_programs(case: Case) -> None:
    """A second put traps alike under many more schedules."""
    assert list(twice_violations(case)) == []


def distribution(count: int) -> Counter[str]:
    """The shares of programs by ending, by effects, and by features."""
    result: Counter[str] = Counter()

    @settings(max_examples=count, database=None, deadline=None, derandomize=True, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(act_cases())
    def draw(case: Case) -> None:
        done = run(lower(unbounded(case.program)), case)
        nodes = [node for function in case.program.reachable_functions() for node in function.body.walk()]
        result.update({done.outcome.status, *(node.op for node in nodes)})
        result.update(["evaluated"] * (evaluate(case.program, case.arguments, world=Witness()).status == "Returned"))
        result.update(["bounds"] * any(PARALLEL_ITERATIONS in dict(node.attributes) for node in nodes))
        result.update(["defers"] * any(event.deferred_at is not None for event in done.outcome.events))
        result.update(["printed"] * bool(done.world.lines))
        result.update(["called Python"] * bool(done.world.calls))

    draw()
    return Counter({kind: number / count for kind, number in result.items()})


@pytest.mark.full
def test_generated_programs_have_all_effects() -> None:
    """Most generated programs return and some trap; many of them defer gets, print, call Python, draw and have
    bounds."""
    actual = distribution(100)
    assert actual["Returned"] > 0.7
    assert actual["evaluated"] > 0.6
    assert min(actual[share] for share in ("Trapped", "uniform", "normal", "integers", "permutation", "collect")) > 0
    assert min(actual[share] for share in ("defers", "printed", "called Python", "bounds", "get")) > 0.1


if __name__ == "__main__":
    for kind, share in sorted(distribution(1000).items(), key=lambda entry: -entry[1]):
        print(f"{kind:20} {share:.2f}")
