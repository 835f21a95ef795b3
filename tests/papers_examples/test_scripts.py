"""Every program of papers_examples prints its results when it is run as `python FILE`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.programs.papers import EXAMPLES

FOLDER = EXAMPLES / "recursion"
TRAINED = {"tree_lstm", "tree_rnn"}
"""Programs that train a network for minutes when they are run: tests/papers_examples/test_trees.py trains them."""
FILES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in TRAINED)


SHARED = {"layers"}
"""Modules that only others import."""


def output_of(name: str, folder: Path = FOLDER) -> str:
    command = [sys.executable, str(folder / f"{name}.py")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_program_has_a_part_for_the_command_line() -> None:
    """`python FILE` does something, unless the file is only imported."""
    files = sorted(EXAMPLES.glob("*/*.py"))
    silent = [file.name for file in files if 'if __name__ == "__main__":' not in file.read_text()]
    assert files and set(silent) == {f"{stem}.py" for stem in SHARED}, silent


@pytest.mark.full
def test_a_model_prints_its_losses() -> None:
    """The models of papers_examples/janus print the loss of each step, and how the steps ran."""
    lines = output_of("lstm", EXAMPLES / "janus").splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == [f"step {number}" for number in range(1, 9)]
    assert lines[-1] == "8 calls: 3 watched, 5 in the graph, 0 in Python"


@pytest.mark.full(first=4)
@pytest.mark.parametrize("name", FILES)
def test_a_script_prints_its_results(name: str) -> None:
    assert output_of(name).count("\n") >= 1


@pytest.mark.full
def test_the_output_of_fib() -> None:
    assert "fib(10) = 89, in 177 calls" in output_of("fib")
