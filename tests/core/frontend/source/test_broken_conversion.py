"""Broken twins of the passes and operators: the law of the front end detects each."""

from __future__ import annotations

import random

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


@pytest.mark.heavy
@pytest.mark.parametrize("name", TWINS)
def test_generated_programs_catch_broken_code(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Among 300 generated programs is one that shows the fault, except where no program has the construct."""
    if name in ("global_not_announced", "names_not_mangled", "steps_go_up", "middle_computed_twice"):
        pytest.skip("generated programs have no such construct")
    for seed in range(300):
        program = write_program(random.Random(seed).randint)
        function = load_program(program, tmp_path_factory.mktemp("twin"))
        if is_caught(Twin(TWINS[name].patch, function, program.inputs[0])):
            return
    pytest.fail("300 programs agree")
