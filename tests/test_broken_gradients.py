"""Derivations that are wrong in one known way: the laws of gradients catch each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import tagloom as tl
from generator import Case
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


def factorial() -> Any:
    @tl.function
    def fac(n: tl.float64) -> tl.float64:
        return tl.cond(n <= 1.0, lambda: 1.0, lambda: n * fac(n - 1.0))

    return fac


def turns() -> Any:
    def body(k: Any, y: Any, x: Any) -> Any:
        return k + 1, tl.cond(k % 2 == 0, lambda: y * x, lambda: tl.sin(y) - x), x

    return tl.function(lambda x: tl.while_loop(lambda k, *_: k < 5, body, 0, x * x, x)[1])


CASES = [(factorial, 4.5), (turns, 0.7)]
BROKEN = [overwrites, lacks_a_factor, mixes_adjoints, takes_all_for_constant, reenters_too_early, goes_forwards]


def found() -> list[str]:
    """What is wrong with the gradients of a recursion, and of a loop."""
    cases = [Case(make().trace(x).program, [x]) for make, x in CASES]
    return [said for case in cases for said in wrong(case)]


@pytest.mark.parametrize("broken", BROKEN)
def test_the_laws_catch_a_broken_derivation(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """The laws say something of one of them, and nothing while nothing is broken."""
    assert found() == []
    broken(monkeypatch)
    try:
        said = found()
    except Exception as error:
        said = [f"{type(error).__name__}: {error}"]
    assert said
