"""Blame names the optimisations without which a program is right, and no others."""

from __future__ import annotations

from itertools import combinations, product
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
from tagloom.interp.oracle.adapters import BUILT_IN, DIALECTS, load_adapter
from tagloom.interp.oracle.blame import find_blame, find_first_level
from tagloom.interp.oracle.fuzz import judge_case
from tagloom.interp.oracle.generate import FuzzCase, generate_case
from tagloom.interp.oracle.judge import FAILURES
from tagloom.interp.oracle.protocol import Level

FLAGS = ("folding", "inlining", "motion", "sharing", "fusion")
TWINS = dict(zip(FLAGS, (NegatedConstant, NoDeadLoops, AtLeastOneTrip, SwappedCarry, LooseBound), strict=True))
"""For each optimisation a backend in which it is wrong."""


@pytest.mark.parametrize("guilty", [c for size in (1, 2, 3, 5) for c in combinations(FLAGS, size)], ids="-".join)
def test_the_guilty_set_is_found(guilty: tuple[str, ...]) -> None:
    """Where all of a set must be disabled, the set is found, and nothing is left out or added."""
    blame = find_blame(FLAGS, lambda off: off.issuperset(guilty))
    assert list(map(set, blame.sets)) == [set(guilty)] and "optimiser" in str(blame)


def test_each_single_cure_is_named() -> None:
    """Where any one of two optimisations cures, both are named."""
    assert find_blame(FLAGS, lambda off: bool(off & {"folding", "motion"})).sets == (("folding",), ("motion",))


def test_what_no_flag_cures_is_not_the_optimisers() -> None:
    """If a program is wrong with all optimisations disabled, no flag is blamed, after one run."""
    blame = find_blame(FLAGS, lambda off: False)
    assert (blame.sets, blame.runs) == ((), 1) and "front end, the kernels" in str(blame)
    assert find_blame((), lambda off: True).runs == 0


@pytest.mark.full
@pytest.mark.parametrize("flag", FLAGS)
def test_a_wrong_pass_is_blamed(flag: str) -> None:
    """Of a backend in which one pass is wrong, each failure is blamed on that pass."""
    twin = TWINS[flag]
    compared = 0
    for number in range(17, 66):
        case = generate_case(0, number)

        def verdict(off: frozenset[str], case: FuzzCase = case) -> str:
            backend: Any = RightBackend() if flag in off else twin()
            judgement = judge_case(backend, case)
            return "discarded" if judgement is None else judgement.verdict

        if verdict(frozenset()) in FAILURES:
            compared += 1
            assert find_blame(FLAGS, lambda off, verdict=verdict: verdict(off) == "alike").sets == ((flag,),)  # type: ignore[misc]
    assert compared, tl.print_program(case.program)


LEVELS = tuple(Level(name, f"the part of {name}") for name in ("eager", "traced", "compiled"))


@pytest.mark.parametrize("verdicts", [*product(("alike", "refused", "different"), repeat=3)], ids="-".join)
def test_the_first_wrong_level(verdicts: tuple[str, ...]) -> None:
    """The first wrong level is wrong; every later one is wrong, or takes no side, and the last one that does take a
    side before it is right. There is one if and only if the last level that takes a side is wrong."""
    blame = find_first_level(LEVELS, dict(zip(LEVELS, verdicts, strict=True)).__getitem__)
    decided = [verdict for verdict in verdicts if verdict != "refused"]
    assert (blame.first is not None) == (decided[-1:] == ["different"])
    if blame.first is not None:
        position = LEVELS.index(blame.first)
        assert verdicts[position] == "different" and "alike" not in verdicts[position:]
        before = [verdict for verdict in verdicts[:position] if verdict != "refused"]
        assert before[-1:] in ([], ["alike"])
        assert blame.first.part in str(blame) and blame.to_json()["verdicts"]["traced"] == verdicts[1]  # type: ignore[index]
    else:
        assert blame.to_json() is None


@pytest.mark.full
@pytest.mark.parametrize("first_wrong", range(3))
def test_a_wrong_part_is_blamed(first_wrong: int) -> None:
    """Of a backend in which one part is wrong, each failure appears at the level that adds the part."""
    compared = 0
    for number in range(20):
        case = generate_case(0, number)

        def verdict(level: Level, case: FuzzCase = case) -> str:
            backend: Any = SwappedCarry() if LEVELS.index(level) >= first_wrong else RightBackend()
            judgement = judge_case(backend, case)
            return "discarded" if judgement is None else judgement.verdict

        if verdict(LEVELS[-1]) in FAILURES:
            compared += 1
            assert find_first_level(LEVELS, verdict).first == LEVELS[first_wrong]
    assert compared


def test_every_compiler_has_flags_or_levels() -> None:
    """The compilers of this package have optimisations to disable, or levels; the others have none."""
    with_flags = {name for name, adapter in BUILT_IN.items() if getattr(adapter, "flags", ())}
    compilers = {"jax", "tensorflow-function", "tensorflow-xla", "onnxruntime"}
    assert with_flags - {"tensorflow-unoptimised", "onnxruntime-unoptimised"} == compilers
    with_levels = {name for name, adapter in BUILT_IN.items() if getattr(adapter, "levels", ())}
    assert with_levels - {"tensorflow-unoptimised", "onnxruntime-unoptimised"} == {*compilers, "torch-compiled"}


@pytest.mark.full
def test_an_unknown_setting_is_refused() -> None:
    """A word that names no level and no optimisation is an error, and is not ignored."""
    with pytest.raises(tl.Usage, match="no such level, and no such optimisation"):
        load_adapter("numpy", ["folding"])


def test_each_dialect_has_a_backend() -> None:
    """The name of a dialect is that of its backend, and the unoptimised backend of a dialect has another."""
    assert all(dialect.name == name for name, dialect in DIALECTS.items())
    assert {"numpy", "torch-compiled", "tensorflow-frames"} < set(DIALECTS) < set(BUILT_IN)
