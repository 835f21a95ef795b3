"""Blame names the optimisations without which a program is right, and no others."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
import tagloom as tl
from support.twins.wrong_backends import (
    AtLeastOneTrip,
    LooseBound,
    NegatedConstant,
    NoDeadLoops,
    RightBackend,
    SwappedCarry,
)
from tagloom.interp.oracle.adapters import adapter_type, backend_names
from tagloom.interp.oracle.blame import find_blame
from tagloom.interp.oracle.fuzz import judge_case
from tagloom.interp.oracle.generate import FuzzCase, generate_case
from tagloom.interp.oracle.judge import FAILURES

FLAGS = ("folding", "inlining", "motion", "sharing", "fusion")
TWINS = dict(zip(FLAGS, (NegatedConstant, NoDeadLoops, AtLeastOneTrip, SwappedCarry, LooseBound), strict=True))
"""For each optimisation a backend in which it is wrong."""


@pytest.mark.parametrize("guilty", [c for size in (1, 2, 3, 5) for c in combinations(FLAGS, size)], ids="-".join)
def test_the_guilty_set_is_found(guilty: tuple[str, ...]) -> None:
    """Where all of a set must be disabled, the set is found, and nothing is left out or added."""
    blame = find_blame(FLAGS, lambda off: off.issuperset(guilty))
    assert [set(each) for each in blame.sets] == [set(guilty)] and "optimiser" in str(blame)


def test_each_single_cure_is_named() -> None:
    """Where any one of two optimisations cures, both are named."""
    assert find_blame(FLAGS, lambda off: bool(off & {"folding", "motion"})).sets == (("folding",), ("motion",))


def test_what_no_flag_cures_is_not_the_optimisers() -> None:
    """If a program is wrong without all optimisations, no flag is blamed, after one run."""
    blame = find_blame(FLAGS, lambda off: False)
    assert (blame.sets, blame.runs) == ((), 1) and "front end, the kernels" in str(blame)
    assert find_blame((), lambda off: True).runs == 0


@pytest.mark.full
@pytest.mark.parametrize("flag", FLAGS)
def test_a_wrong_pass_is_blamed(flag: str) -> None:
    """Of a backend in which one pass is wrong, each failure is blamed on that pass."""
    twin = TWINS[flag]
    compared = 0
    for number in range(40):
        case = generate_case(0, number)

        def verdict(off: frozenset[str], case: FuzzCase = case) -> str:
            backend: Any = RightBackend() if flag in off else twin()
            judgement = judge_case(backend, case)
            return "discarded" if judgement is None else judgement.verdict

        if verdict(frozenset()) in FAILURES:
            compared += 1
            assert find_blame(FLAGS, lambda off, verdict=verdict: verdict(off) == "alike").sets == ((flag,),)  # type: ignore[misc]
    assert compared, tl.print_program(case.program)


def test_every_compiler_has_flags() -> None:
    """The compilers of this package have optimisations to disable; the others have none."""
    names = {name for name in backend_names() if adapter_type(name).flags}
    assert names == {"jax", "tensorflow-function", "tensorflow-xla", "onnxruntime"}
