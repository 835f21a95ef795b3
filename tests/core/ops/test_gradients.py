"""Laws of the gradient rules: adjoints are those of differences, to every order that is tried, and of broken rules not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from gradient_cases import CASES, Case
from tagloom.core.value import admit
from tape import Known, Tape, as_it_is, open_sizes, pullback

each_case = pytest.mark.parametrize("case", CASES, ids=str)
Function = Callable[..., list[Known]]
"""Of a tape and values, what is computed."""


def of_case(case: Case) -> Function:
    return lambda tape, *values: [tape(case.op, *values, **case.attributes)]


def reversed_(function: Function, count: int, tell: Any = as_it_is) -> Function:
    """The reverse pass of a function of so many values: of these, and of the adjoints of its results."""

    def back(tape: Tape, *values: Known) -> list[Known]:
        given, adjoints = values[:count], values[count:]
        inner = [each for each in given]
        results = function(tape, *inner)
        return pullback(tape, results, adjoints, [each for each in inner if is_float(each.value)])

    return back


def is_float(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"


def run(function: Function, values: Sequence[Any], said: Any = as_it_is, **rows: Any) -> list[Any]:
    return [each.value for each in function(Tape(said, **rows), *(Known(admit(value)) for value in values))]


def derivative(function: Function, values: Sequence[Any], directions: Sequence[Any]) -> list[Any]:
    """How the results change along directions: differences of fourth order, exact to some 1e-11."""
    width = 1e-3

    def at(steps: int) -> list[Any]:
        moved = [v if d is None else v + steps * width * d for v, d in zip(values, directions, strict=True)]
        return run(function, moved)

    far, near, near_, far_ = map(at, (2, 1, -1, -2))
    return [(8 * (b - c) - (a - d)) / (12 * width) for a, b, c, d in zip(far, near, near_, far_, strict=True)]


def inner(ones: Sequence[Any], others: Sequence[Any]) -> float:
    return sum(float(np.sum(np.multiply(one, other))) for one, other in zip(ones, others, strict=True))


def gap(function: Function, values: Sequence[Any], directions: Sequence[Any], dice: Any, **how: Any) -> float:
    """By how much <v, J'w> is not <Jv, w>, relative to their size."""
    moved = derivative(function, values, directions)
    weights = [dice.normal(size=np.shape(each)) for each in moved]
    back = run(reversed_(function, len(values)), [*values, *weights], **how)
    along = [d for d in directions if d is not None]
    one, other = inner(moved, weights), inner(along, back)
    return abs(one - other) / max(1.0, abs(one), inner(map(np.abs, along), map(np.abs, back)))


def drawn(case: Case, seed: int) -> tuple[list[Any], list[Any], Any]:
    dice = np.random.default_rng(seed)
    values = case.values(dice)
    return values, [case.direction(dice, each) if is_float(each) else None for each in values], dice


@each_case
def test_adjoints(case: Case) -> None:
    """<v, J'w> = <Jv, w>, whether the sizes of types are known or not."""
    values, directions, dice = drawn(case, 1)
    assert gap(of_case(case), values, directions, dice) < 1e-9
    if case.attributes.get("full_matrices") or case.attributes.get("mode") == "complete":
        with pytest.raises(tl.Invalid, match="cannot be differentiated"):
            gap(of_case(case), values, directions, dice, said=open_sizes)
    else:
        assert gap(of_case(case), values, directions, dice, said=open_sizes) < 1e-9


@each_case
def test_second_order(case: Case) -> None:
    """The reverse pass is made of ops that have rules: the law holds of it, too."""
    values, directions, dice = drawn(case, 2)
    weights = [dice.normal(size=np.shape(each)) for each in run(of_case(case), values)]
    back = reversed_(of_case(case), len(values))
    assert gap(back, [*values, *weights], [*directions, *weights], dice) < 1e-8
