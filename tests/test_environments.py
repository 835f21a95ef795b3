"""The environments in which `.ci/run --heavy` runs the inner part of the tests."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import environments
import pytest
from packaging.requirements import Requirement

PROJECT = tomllib.loads((environments.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_dependency_has_a_lower_bound() -> None:
    """Each dependency of the package and of its tests is constrained to the lowest version that it may have."""
    requirements = [*map(Requirement, PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"])]
    bounds = [*map(Requirement, environments.lower_bounds(PROJECT))]
    assert [bound.name for bound in bounds] == [requirement.name for requirement in requirements]
    for bound, requirement in zip(bounds, requirements, strict=True):
        (version,) = [specifier.version for specifier in bound.specifier]
        assert version in requirement.specifier
    with pytest.raises(ValueError, match="one lower bound"):
        environments.lower_bound(Requirement("numpy<3"))


def test_extras_allow_no_lower_versions() -> None:
    """A dependency that several lists name has the same bounds in all of them."""
    by_name: dict[str, set[str]] = {}
    for texts in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]:
        for requirement in map(Requirement, texts):
            by_name.setdefault(requirement.name, set()).add(str(requirement.specifier))
    assert {name: bounds for name, bounds in by_name.items() if len(bounds) > 1} == {}


@pytest.mark.full
def test_a_python_is_found_by_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that is on PATH is found; one that does not run, as pyenv's shims of versions that are not chosen, or
    that is of another version, is passed over; a Python that is missing fails."""
    version = "{}.{}".format(*sys.version_info)
    broken, other, right = (tmp_path / name for name in ("broken", "other", "right"))
    for folder in (broken, other, right):
        folder.mkdir()
    (broken / f"python{version}").write_text("#!/bin/sh\nexit 127\n")
    (broken / f"python{version}").chmod(0o755)
    (other / "python3.0").symlink_to(sys.executable)
    (right / f"python{version}").symlink_to(sys.executable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{broken}:{other}:{right}")
    assert environments.find_python(version) == right / f"python{version}"
    assert environments.find_python("3.0") is None
    assert environments.main("3.0") == 1
