"""Derivations that are wrong in one known way: the laws of gradients catch each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from generator import Case, cases
from hypothesis import HealthCheck, Phase, given, settings
from tagloom.core import evaluate, op
from tagloom.core.derive.activity import Activity, Area
from tagloom.core.derive.reverse import Reversal, Reverser, Writer
from tagloom.core.program import Node, Operand, Region
from tagloom.interp import fire
from test_gradient_laws import wrong

Broken = Callable[[pytest.MonkeyPatch], None]


def overwrites(patch: pytest.MonkeyPatch) -> None:
    """The adjoints of a value that is used twice are not added."""

    def contribute(self: Reverser, of: Reversal, operand: Operand, adjoint: Operand, writer: Writer) -> None:
        if isinstance(operand, str) and of.area.is_active(operand):
            of.adjoints[operand] = adjoint

    patch.setattr(Reverser, "contribute", contribute)


def lacks_a_factor(patch: pytest.MonkeyPatch) -> None:
    """The rule of products forgets the other operand."""
    row = op.OPS["multiply"]
    broken = replace(row, gradient=lambda do, index, adjoint, result, *operands: adjoint)
    patch.setitem(op._REGISTRY, "multiply", broken)


def mixes_adjoints(patch: pytest.MonkeyPatch) -> None:
    """A phase gives the adjoints of its parameters in the wrong order."""
    right = Reverser.back

    def back(self: Reverser, of: Reversal, number: int, writer: Writer) -> Region:
        made = right(self, of, number, writer)
        return replace(made, results=tuple(reversed(made.results)))

    patch.setattr(Reverser, "back", back)


def takes_all_for_constant(patch: pytest.MonkeyPatch) -> None:
    """What goes through a branch counts as depending on nothing."""
    right = Activity.forwards_below

    def forwards_below(self: Activity, area: Area, root: Node, number: int, positions: list[int]) -> list[bool]:
        found = right(self, area, root, number, positions)
        return [False] * len(found) if root.op == "cond" else found

    patch.setattr(Activity, "forwards_below", forwards_below)


def goes_forwards(patch: pytest.MonkeyPatch) -> None:
    """The evaluator runs the pullback of a loop from the first iteration on."""
    patch.setattr(evaluate, "reversed", iter, raising=False)


def reenters_too_early(patch: pytest.MonkeyPatch) -> None:
    """The adjoint of what left a loop comes back to the iteration before."""

    def to_iteration(site: Any) -> fire.Retag:
        return lambda child, tag, inputs: child(tag, site, max(inputs[1] - 1, 0))  # type: ignore[operator]

    patch.setitem(fire._RETAG, "iteration", to_iteration)


BROKEN = [
    *(overwrites, lacks_a_factor, mixes_adjoints, takes_all_for_constant, reenters_too_early),
    pytest.param(goes_forwards, marks=pytest.mark.heavy),  # it takes long until a program shows it
]


@pytest.mark.parametrize("broken", BROKEN)
def test_the_laws_catch_a_broken_derivation(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some program among five hundred shows it."""
    broken(monkeypatch)

    @settings(
        max_examples=500,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(floats=True))
    def hold(case: Case) -> None:
        assert wrong(case) == []

    with pytest.raises(BaseException):  # noqa: B017 - whatever the laws say, or what fails in the derivation
        hold()
