"""Every surface uses damaged input, or refuses it with an error of ours: some seeds in every run, new ones in the heavy
one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import tagloom as tl
from attack import surfaces
from attack.surfaces import SURFACES, attack_failure
from tagloom.viz.player import page

QUICK = {name: 2 if SURFACES[name][2] < 1 else 15 for name in SURFACES}
"""The number of inputs in every run."""


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("name", SURFACES)
def test_damaged_input_is_used_or_refused(name: str, tmp_path: Path) -> None:
    """Inputs with fixed seeds."""
    assert [failure for seed in range(QUICK[name]) if (failure := attack_failure(name, seed, tmp_path))] == []


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", SURFACES)
def test_new_damaged_input_is_used_or_refused(name: str, tmp_path: Path) -> None:
    """Inputs with new seeds; a failure says its seed."""
    start = time.time_ns() % 10**9
    print(f"{name}: seeds from {start}")
    seeds = range(start, start + round(300 * SURFACES[name][2]))
    assert [failure for seed in seeds if (failure := attack_failure(name, seed, tmp_path))] == []


def test_a_fault_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The law can fail: an exception that is not ours is a failure, and an error of ours is none."""

    def fail(dice: object, folder: Path) -> None:
        raise IndexError("a fault")

    def refuse(dice: object, folder: Path) -> None:
        raise tl.Malformed("no")

    for attack, is_failure in ((fail, True), (refuse, False)):
        monkeypatch.setitem(surfaces.SURFACES, "text", ("text", attack, 1))
        assert bool(attack_failure("text", 1, tmp_path)) == is_failure


def test_a_name_that_is_not_escaped_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The law of notebooks fails where the page of a run is put into its frame as it is."""
    monkeypatch.setattr(page, "escape", str)
    assert "notebook" in attack_failure("notebook", 0, tmp_path)
