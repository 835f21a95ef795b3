"""The inner part of the tests in an environment of its own. `python tests/environments.py 3.12` runs it on Python 3.12
with the newest dependencies, `python tests/environments.py 3.11 --lowest` with the lowest that pyproject.toml allows.

The last line names the versions and the result. A Python that is not on this machine is a failure.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = """
import importlib.metadata as metadata, platform
versions = [f"{name} {metadata.version(name)}" for name in ("numpy", "numba", "scipy", "textual", "hypothesis")]
print(", ".join([f"Python {platform.python_version()}", *versions]))
"""


def lower_bounds(project: Mapping[str, Any]) -> list[str]:
    """The lowest versions that a project allows of what it and its tests need, as constraints for pip."""
    texts = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    return [lower_bound(Requirement(text)) for text in texts]


def lower_bound(requirement: Requirement) -> str:
    """The lowest version that a requirement allows, as a constraint; raises ValueError if it does not say."""
    bounds = [specifier.version for specifier in requirement.specifier if specifier.operator == ">="]
    if len(bounds) != 1:
        raise ValueError(f"pyproject.toml must give one lower bound (>=) for {requirement}")
    return f"{requirement.name}=={bounds[0]}"


def candidates(version: str) -> Iterator[Path]:
    """Where a Python of this version may be: on PATH, and in pyenv's folder."""
    for folder in os.environ["PATH"].split(os.pathsep):
        yield Path(folder) / f"python{version}"
    yield from map(Path, sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))))


def find_python(version: str) -> Path | None:
    """The first Python of this version that can make virtual environments; None if there is none."""
    check = f"import ensurepip, sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != {version!r})"
    for python in candidates(version):
        if python.exists() and subprocess.run([python, "-c", check], capture_output=True).returncode == 0:
            return python
    return None


def install(python: Path, folder: Path, constraints: Sequence[str]) -> Path:
    """The Python of a new virtual environment in the folder, with this package and what its tests need."""
    (folder / "constraints.txt").write_text("\n".join(constraints))
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    environment = folder / "venv" / "bin" / "python"
    options = ["-q", "--disable-pip-version-check", "-c", str(folder / "constraints.txt"), "-e", ".[test]"]
    subprocess.run([environment, "-m", "pip", "install", *options], cwd=ROOT, check=True)
    return environment


def run_inner_tests(python: Path, folder: Path) -> tuple[int, str]:
    """Run the inner part with nothing compiled before; pytest's exit code, and the last line that it prints."""
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"TAGLOOM_CACHE": str(folder / "cache"), "PATH": path}
    command = [python, "-m", "pytest"]
    line = ""
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            print(line, end="", flush=True)
    return run.returncode, line.strip("= \n")


def main(version: str, *options: str) -> int:
    if options not in ((), ("--lowest",)):
        print(__doc__, file=sys.stderr)
        return 2
    python = find_python(version)
    if python is None:
        print(f"Python {version}: not found on PATH or in ~/.pyenv/versions")
        return 1
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = install(python, folder, lower_bounds(project) if options else [])
        status, result = run_inner_tests(environment, folder)
        versions = subprocess.run([environment, "-c", VERSIONS], capture_output=True, text=True, check=True).stdout
    print(f"{versions.strip()}: {result}")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
