"""The laws hold for gradients of generated programs, and the gradients equal finite differences."""

from __future__ import annotations

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis.strategies import SearchStrategy
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.generators.gradient_programs import differentiate, finite_difference, gradient_difference, run_on_machine
from support.generators.smooth_programs import smooth_cases
from support.laws.effect_laws import violations as act_violations
from support.laws.machine_laws import LIMITS, run_graph, violations
from tagloom.core.errors import Invalid
from tagloom.core.graph.lower import lower
from tagloom.core.program.validate import program_problems

FEW = ("fifo", "lifo", "random:1", "random:2")


def gradient_violations(case: Case, order: int = 1) -> list[str]:
    """The violations of a program's derivative: in its graph, in its runs, and in its numbers."""
    before = case if order == 1 else differentiate(case, order - 1)
    derived = differentiate(case, order)
    assert before is not None and derived is not None
    results = [str(problem) for problem in program_problems(derived.program)]
    if not results:
        results = list(violations(derived, schedules=FEW))
    return results or [text for text in [gradient_difference(before, derived)] if text]


@settings(max_examples=15)
@given(smooth_cases())
def test_gradients_of_smooth_programs(case: Case) -> None:
    """Derivatives of smooth programs run alike on machine and evaluator, with the same firings under every schedule and
    no residue; adjoints equal finite differences if those converge."""
    assert gradient_violations(case) == []


@settings(max_examples=5)
@given(smooth_cases())
def test_second_derivatives_of_smooth_programs(case: Case) -> None:
    """Second derivatives of smooth programs keep the same laws."""
    assert gradient_violations(case, 2) == []


@pytest.mark.full
@pytest.mark.parametrize(("order", "count"), [(1, 8), (2, 3)])
def test_gradients_of_smooth_programs_with_cells(order: int, count: int) -> None:
    """Gradients of programs that keep floats in cells, and read some several times, keep the same laws."""

    @settings(max_examples=count)
    @given(smooth_cases(by_cells=True))
    def check(case: Case) -> None:
        assert gradient_violations(case, order) == []

    check()


@settings(max_examples=20)
@given(cases(floats=True))
def test_gradients_of_generated_programs(case: Case) -> None:
    """Gradients of programs of all types keep the same laws; few results of these depend on the arguments."""
    assert gradient_violations(case) == []


@settings(max_examples=5)
@given(cases(floats=True))
def test_second_derivatives_of_generated_programs(case: Case) -> None:
    """Second derivatives of programs of all types keep the same laws."""
    assert gradient_violations(case, 2) == []


@settings(max_examples=12)
@given(cases(floats=True, arrays=True))
def test_gradients_of_programs_of_arrays(case: Case) -> None:
    """Gradients of programs that split and join arrays keep the same laws."""
    try:
        assert gradient_violations(case) == []
    except Invalid as error:
        assume(error.rule != "D1")
        raise


@settings(max_examples=60)
@given(act_cases())
def test_gradients_of_programs_with_effects(case: Case) -> None:
    """Gradients of programs with cells, effects, random numbers and bounds keep the same laws; cells that are used
    beside their thread are refused."""
    derived = unless_refused(case)
    if derived is not None:
        assert list(act_violations(derived)) == []


@settings(max_examples=20)
@given(act_cases(floats=True))
def test_adjoints_of_programs_with_effects(case: Case) -> None:
    """Adjoints of programs with deferred gets and bounds equal finite differences if those converge."""
    derived = unless_refused(case)
    if derived is not None:
        assert not gradient_difference(case, derived, run_on_machine(derived, "waves"))


def unless_refused(case: Case) -> Case | None:
    """The derivative; None if it is refused because of cells beside their thread, unknown sizes, or results from
    Python."""
    try:
        return differentiate(case)
    except Invalid as error:
        assume(error.rule != "D4" and "unknown sizes" not in error.message)
        assume(error.message != "callback cannot be differentiated")
        raise


@settings(max_examples=4)
@given(smooth_cases(by_acts=True))
def test_gradients_of_smooth_programs_with_effects(case: Case) -> None:
    """Effects, random numbers, bounds, and constants that are read before they are put change no adjoint: under every
    schedule adjoints equal finite differences."""
    derived = differentiate(case)
    assert derived is not None
    assert not any(gradient_difference(case, derived, run_on_machine(derived, name)) for name in ("waves", "random:1"))


@pytest.mark.heavy
@settings(max_examples=120)
@given(smooth_cases())
@pytest.mark.timeout(1800)
def test_gradients_of_many_smooth_programs(case: Case) -> None:
    """First and second derivatives of many more smooth programs keep the laws."""
    assert gradient_violations(case) == gradient_violations(case, 2) == []


@pytest.mark.heavy
@settings(max_examples=40)
@given(smooth_cases(by_cells=True))
@pytest.mark.timeout(1800)
def test_gradients_of_many_smooth_programs_with_cells(case: Case) -> None:
    """Gradients of many more programs with cells keep the laws."""
    assert gradient_violations(case) == gradient_violations(case, 2) == []


@pytest.mark.heavy
@settings(max_examples=25)
@given(smooth_cases(by_acts=True))
@pytest.mark.timeout(1800)
def test_gradients_of_many_smooth_programs_with_effects(case: Case) -> None:
    """Adjoints of many more programs with effects, random numbers and bounds equal finite differences."""
    derived = differentiate(case)
    assert derived is not None
    assert not any(
        gradient_difference(case, derived, run_on_machine(derived, name)) for name in ("waves", "lifo", "random:1")
    )


@pytest.mark.heavy
@settings(max_examples=80)
@given(cases(floats=True, arrays=True))
@pytest.mark.timeout(1800)
def test_gradients_of_many_generated_programs(case: Case) -> None:
    """Gradients of many more programs of arrays keep the laws."""
    try:
        assert gradient_violations(case) == gradient_violations(case, 2) == []
    except Invalid as error:
        assume(error.rule != "D1")
        raise


@pytest.mark.full
@pytest.mark.parametrize("by_acts", [False, pytest.param(True, marks=pytest.mark.heavy)])
def test_smooth_programs_have_slopes(by_acts: bool) -> None:
    """Finite differences can check the adjoints of most smooth programs, and most of these adjoints are not 0."""
    told, steep = [], []

    @settings(max_examples=60 - 40 * by_acts, database=None, derandomize=True)
    @given(smooth_cases(by_acts=by_acts))
    def draw(case: Case) -> None:
        derived = differentiate(case)
        assert derived is not None
        run = run_on_machine(derived, "waves") if by_acts else None
        told.append(gradient_difference(case, derived, run) is not None)
        steep.append((finite_difference(case, 1e-5, run) or 0.0) != 0.0)

    draw()
    assert sum(told) > 0.6 * len(told)
    assert sum(steep) > 0.6 * len(steep)


@pytest.mark.heavy
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("programs", [smooth_cases(), smooth_cases(by_cells=True), cases(floats=True)])
def test_most_derivatives_are_short_enough(programs: SearchStrategy[Case], order: int) -> None:
    """Two derivatives in three end within the limits of the laws, which compare only those."""
    ended: list[bool] = []

    @settings(max_examples=120, phases=[Phase.generate], database=None, derandomize=True)
    @given(programs)
    def draw(case: Case) -> None:
        derived = differentiate(case, order)
        assert derived is not None
        run = run_graph(lower(derived.program), derived.arguments, limits=LIMITS)
        ended.append(run.status != "Exhausted")

    draw()
    assert 3 * sum(ended) >= 2 * len(ended)
