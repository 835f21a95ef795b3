"""Broken twins of the passes and operators: the law of the front end detects each."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tagloom as tl
from pytest import MonkeyPatch
from support.generators.python_programs import load_program, write_program
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from support.twins.conversion_twins import TWINS, Twin
from tagloom.core.frontend.source import convert


def is_caught(twin: Twin) -> bool:
    """Whether the law fails on the function of a twin, or refuses it; what was converted before is converted again."""

    def patch_all(patch: MonkeyPatch) -> None:
        patch.setattr(convert, "_CONVERTED", {})
        twin.patch(patch)

    with broken(patch_all):
        try:
            return bool(list(disagreements(twin.function, [twin.arguments], RUNS[:1])))
        except tl.Invalid:
            return True


@pytest.mark.full
@pytest.mark.parametrize("name", TWINS)
def test_broken_code_is_caught(name: str) -> None:
    """A function on which the sound code agrees with Python shows the fault."""
    assert is_caught(TWINS[name])


SOUND = [name for name in TWINS if name != "unassigned_is_zero"]  # there the sound code refuses


@pytest.mark.full
@pytest.mark.parametrize("name", SOUND)
def test_sound_code_agrees(name: str) -> None:
    """Without the fault, the same function agrees."""
    twin = TWINS[name]
    assert list(disagreements(twin.function, [twin.arguments], RUNS[:1])) == []


BY_GENERATED_PROGRAMS = (
    "and_gives_a_bool",
    "or_gives_the_last_operand",
    "variables_not_undone",
    "writes_not_undone",
    "arms_merged_the_wrong_way",
    "walrus_in_the_thunk",
    "result_of_an_arm_dropped",
    "one_exit_for_all",
    "attribute_not_announced",
    "nothing_is_live",
    "assertions_hold",
    "prints_while_tracing",
)
"""Twins that some of the first generated programs show, too."""


@pytest.mark.heavy
@pytest.mark.parametrize("name", BY_GENERATED_PROGRAMS)
def test_generated_programs_catch_broken_code(name: str, tmp_path: Path) -> None:
    """One of the first 100 generated programs shows the fault."""
    for seed in range(100):
        program = write_program(random.Random(seed).randint)
        function = load_program(program, tmp_path)
        if is_caught(Twin(TWINS[name].patch, function, program.inputs[0])):
            return
    pytest.fail("100 programs agree")
