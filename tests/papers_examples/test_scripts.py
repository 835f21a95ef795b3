"""Every program of papers_examples/recursion prints its results when it is run as `python FILE`."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.programs.papers import EXAMPLES

FOLDER = EXAMPLES / "recursion"
TRAINED = {"tree_lstm", "tree_rnn"}
"""Programs that train a network for minutes when they are run: tests/papers_examples/test_trees.py trains them."""
FILES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in TRAINED)


def output_of(name: str) -> str:
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.full(first=4)
@pytest.mark.parametrize("name", FILES)
def test_a_script_prints_its_results(name: str) -> None:
    assert output_of(name).count("\n") >= 1


@pytest.mark.full
def test_the_output_of_fib() -> None:
    assert "fib(10) = 89, in 177 calls" in output_of("fib")
