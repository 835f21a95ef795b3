"""The laws of variables: a program over them does the same eagerly, traced, and on every engine and schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.stateful import Statement, build_function, programs, variable_bits, variables
from tagloom.core.frontend.trace import control_flow as looping
from tagloom.core.frontend.trace.program_builder import RegionBuilder

ENGINES = ("reference", "fast")
X = 0.75


def eagerly(program: tuple[Statement, ...]) -> tuple[bytes, dict[str, bytes]]:
    held = variables()
    result = build_function(program, held)(tl.asarray(X))
    return np.asarray(result).tobytes(), variable_bits(held)


def staged(program: tuple[Statement, ...], **options: Any) -> tuple[bytes, dict[str, bytes]]:
    held = variables()
    outcome = tl.function(build_function(program, held)).run(X, **options)
    assert outcome.status == "Returned" and not outcome.residue
    return np.asarray(outcome.value).tobytes(), variable_bits(held)


@settings(max_examples=20)
@given(programs, st.integers(0, 2**32))
def test_eager_and_staged_programs_have_the_same_bits(program: tuple[Statement, ...], seed: int) -> None:
    """The result and all variables are the same bit by bit."""
    expected = eagerly(program)
    for engine in ENGINES:
        assert staged(program, engine=engine) == expected, engine
    assert staged(program, engine="reference", schedule=f"random:{seed}") == expected


@pytest.mark.heavy
@settings(max_examples=25)
@given(programs)
def test_compiled_programs_agree(program: tuple[Statement, ...]) -> None:
    """Results and variables are the same on the compiled engine."""
    assert staged(program, engine="compiled") == eagerly(program)


def gradients_eagerly(program: tuple[Statement, ...]) -> list[Any]:
    held = variables()
    floats = [held[name] for name in "abw"]
    x = tl.asarray(X)
    with tl.Tape() as tape:
        tape.watch(x)
        result = build_function(program, held)(x)
    return list(tape.gradient(result, (x, *floats)))


def gradients_staged(program: tuple[Statement, ...]) -> list[Any]:
    held = variables()
    floats = [held[name] for name in "abw"]
    return list(tl.grad(build_function(program, held), (0, *floats)).run(X, engine="reference").value)


@settings(max_examples=20)
@given(programs)
def test_gradients_by_variables_agree(program: tuple[Statement, ...]) -> None:
    """A gradient by the initial values of variables equals the tape's."""
    for one, other in zip(gradients_eagerly(program), gradients_staged(program), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-10, atol=1e-10)


def _first_of_both(region: RegionBuilder, resource: Any) -> Any:
    """A branch that does not assign a variable returns its first assignment around it instead of the last."""
    for each in reversed((region, *region.enclosing_regions())):
        if resource in each.store:
            return each.store[resource]
    return region.specialization.capture(resource, (region, *region.enclosing_regions())[-1])


CAUGHT = Statement("assign", "a", 2)
LOOP = (Statement("loop", "n", 3, ((CAUGHT,),)), Statement("add", "b", 1))
BRANCH = (CAUGHT, Statement("cond", "w", 0, ((Statement("add", "a", 5), Statement("add", "a", 3)), ())))


def test_a_branch_with_old_values_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose regions read the value from outside, instead of what they have assigned, is caught."""
    assert staged(BRANCH, engine="reference") == eagerly(BRANCH)
    monkeypatch.setattr(RegionBuilder, "read_resource", _first_of_both)
    assert staged(BRANCH, engine="reference") != eagerly(BRANCH)


def test_a_forgetful_loop_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose iterations all begin with the values from before the loop is caught."""
    assert staged(LOOP, engine="reference") == eagerly(LOOP)
    monkeypatch.setattr(looping, "sort_resources", lambda resources: ())
    assert staged(LOOP, engine="reference") != eagerly(LOOP)


def _evaluate_condition_first(turned: Any, *variables: Any) -> Any:
    """An iteration evaluates the condition of the next one before its body."""
    going_on = turned.evaluate_condition(variables[:-1])
    return turned.body(*variables[:-1]), going_on


DECIDED = (Statement("decided", "n", 3, ((Statement("mix", "a", 5),), (Statement("add", "a", 4),))),)


@pytest.mark.full
def test_a_condition_that_runs_too_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose loop condition assigns before the body is caught."""
    assert staged(DECIDED, engine="reference") == eagerly(DECIDED)
    monkeypatch.setattr(looping.RotatedLoopBody, "__call__", _evaluate_condition_first)
    assert staged(DECIDED, engine="reference") != eagerly(DECIDED)
