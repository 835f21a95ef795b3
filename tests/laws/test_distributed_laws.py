"""Workers act as one reference machine, on a network that loses, repeats, reorders and delays batches, and while
workers die: the laws of distributed runs hold on generated programs."""

from __future__ import annotations

from random import Random

import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import act_cases, unbounded
from support.generators.generator import Case, cases
from support.laws.distributed_laws import distributed_run, violations
from support.programs.parallel_programs import careless, fib, fragile, relayed, sums, tak, twice
from tagloom.core.graph.lower import lower

DICE = st.integers(0, 2**32 - 1).map(Random)
PROGRAMS = {
    "plain": cases(),
    "arrays": cases(arrays=True),
    "effects": act_cases(bounded=False, early=False),
    "early reads": act_cases(bounded=False, early=True),
    "double writes": act_cases(bounded=False, twice=True),
}
SMALL_PROGRAMS = ((fib, 8), (tak, 5, 3, 1), (sums, 4), (twice, 6), (relayed, 6), (fragile, 6), (careless, 5))


def check(case: Case, dice: Random) -> None:
    """Check two runs, with other numbers of workers on other networks."""
    graph = lower(unbounded(case.program))
    for workers in dice.sample((1, 2, 3, 4), 2):
        cluster = f"network:{dice.randrange(10**6)}"
        assert list(violations(graph, case.arguments, workers, cluster, seed=dice.randrange(100))) == []


@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS["plain"], DICE)
def test_plain_programs(case: Case, dice: Random) -> None:
    """A run on workers has the reference's outcome, traps, firings by node, openings and profiles."""
    check(case, dice)


@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS["arrays"], DICE)
def test_programs_of_arrays(case: Case, dice: Random) -> None:
    """Arrays travel between workers, and keep their bits."""
    check(case, dice)


@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS["effects"], DICE)
def test_programs_with_effects(case: Case, dice: Random) -> None:
    """Effects happen once and in order, and random numbers are those of one machine (S13 to S15)."""
    check(case, dice)


@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS["early reads"], DICE)
def test_early_reads(case: Case, dice: Random) -> None:
    """Reads that are deferred until another worker fills a cell end as on one machine."""
    check(case, dice)


@settings(max_examples=12, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS["double writes"], DICE)
def test_double_writes(case: Case, dice: Random) -> None:
    """Two stores to one cell, by any workers, are a trap of the cell."""
    check(case, dice)


@pytest.mark.heavy
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_many_generated_programs(kind: str) -> None:
    """The law holds on 100 programs of each kind."""

    @settings(max_examples=100, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
    @given(PROGRAMS[kind], DICE)
    def hold(case: Case, dice: Random) -> None:
        check(case, dice)

    hold()


@pytest.mark.full
@pytest.mark.parametrize(("function", "arguments"), [(each, rest) for each, *rest in SMALL_PROGRAMS], ids=str)
def test_small_programs(function: tl.Function, arguments: list[int]) -> None:
    """Recursion, nested loops, results that several sites share, and traps: on 1 to 4 workers, with deaths."""
    deaths = 0
    for seed in range(8):
        workers, cluster = 1 + seed % 4, f"network:{seed}"
        assert list(violations(function.graph, arguments, workers, cluster)) == []
        outcome = distributed_run(function.graph, arguments, workers, cluster)
        deaths += outcome.cluster.deaths if outcome.cluster else 0
    assert deaths > 3


@pytest.mark.full
def test_the_same_seed_gives_the_same_run() -> None:
    """A network is deterministic by its seed: messages, checkpoints and deaths are the same in the next run."""
    first, second, other = (distributed_run(fib.graph, [7], 3, f"network:{seed}") for seed in (5, 5, 6))
    assert first.cluster == second.cluster
    assert first.cluster != other.cluster
