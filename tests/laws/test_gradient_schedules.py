"""Every schedule of a small derivative ends alike, and leaves no residue."""

from __future__ import annotations

import math

import pytest
import tagloom as tl
from support.programs.small import hoarding
from tagloom.interp.oracle import all_schedules as explored
from tagloom.interp.oracle.all_schedules import ChooseTokens, every_firing, every_token, explore
from tagloom.interp.outcome.outcome import Outcome


@tl.function
def exponential(x: tl.float64) -> tl.float64:
    return tl.exp(x)


@tl.function
def twice(x: tl.float64) -> tl.float64:
    """One function, called from two sites."""
    return exponential(x) + exponential(x * 2.0)


@tl.function
def branch(x: tl.float64) -> tl.float64:
    return tl.cond(x > 0.0, lambda: tl.sqrt(x), lambda: -x)


@tl.function
def loop(x: tl.float64) -> tl.float64:
    return tl.while_loop(lambda x: x < 10.0, lambda x: x * x, x)[0]


@tl.function
def recursion(x: tl.float64) -> tl.float64:
    return tl.cond(x > 10.0, lambda: x, lambda: recursion(tl.exp(x)))


@tl.function
def by_a_cell(x: tl.float64) -> tl.float64:
    return tl.get(tl.put(tl.cells(1, tl.float64), 0, tl.exp(x)), 0) * x


def orders(function: tl.Function, order: int) -> tl.Function:
    """The function, differentiated `order` times."""
    for _ in range(order):
        function = as_function(tl.grad(function))
    return function


def as_function(slope: tl.Function) -> tl.Function:
    @tl.function
    def differentiated(x: tl.float64) -> tl.float64:
        return slope(x)

    return differentiated


def endings(function: tl.Function, x: float, choices: ChooseTokens, least: int = 1) -> list[Outcome]:
    """The endings of all schedules of a run, of which there are at least this many."""
    traced = function.trace(x)
    outcomes = explore(traced.graph, traced.all_arguments([x]), choices=choices)
    assert outcomes.schedules >= least
    return [each.outcome for each in outcomes.endings]


both = pytest.mark.parametrize("choices", [every_token, every_firing], ids=["tokens", "firings"])


@pytest.mark.inner(first=2)
@both
@pytest.mark.parametrize(
    ("function", "x", "slope"),
    [
        (exponential, 1.0, math.e),
        (twice, 0.5, math.exp(0.5) + 2.0 * math.e),
        (branch, 4.0, 0.25),
        (branch, 0.0, -1.0),  # the root's slope at 0 is infinite, and in no token
        (loop, 20.0, 1.0),
        (loop, 3.0, 108.0),
        (recursion, 20.0, 1.0),
        (recursion, 3.0, math.exp(3.0)),
        (by_a_cell, 1.0, 2.0 * math.e),
    ],
)
def test_every_schedule_of_a_gradient(function: tl.Function, x: float, slope: float, choices: ChooseTokens) -> None:
    """The reverse pass is deterministic: up to 10^16 orders of deliveries have one ending, without residue."""
    most = function is loop and x == 3.0 and choices is every_token
    (only,) = endings(orders(function, 1), x, choices, 10**16 if most else 100)
    assert only.status == "Returned" and only.residue == () and only.value == pytest.approx(slope, rel=1e-14)


@pytest.mark.full
@pytest.mark.parametrize(("function", "x"), [(exponential, 1.0), (recursion, 20.0), (branch, -4.0)])
def test_every_schedule_of_a_second_derivative(function: tl.Function, x: float) -> None:
    """Second derivatives are deterministic: some 10^19 orders of firings have one ending, if tokens that wait are
    delivered first."""
    (only,) = endings(orders(function, 2), x, every_firing, 10**17)
    assert only.status == "Returned" and only.residue == ()
    assert only.value == pytest.approx(math.e if function is exponential else 0.0)


@pytest.mark.full
@both
def test_a_machine_with_a_race_is_caught(choices: ChooseTokens, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine whose sum is its last operand, schedules end in several ways."""
    monkeypatch.setattr(explored, "step", hoarding)
    assert len({each.value for each in endings(orders(twice, 1), 0.5, choices)}) > 1
