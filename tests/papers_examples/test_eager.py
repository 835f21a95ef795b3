"""The programs of papers_examples/eager do what their EXPECTED, their AT_ONCE and the tables of the README say."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.tui import cli

ROOT = Path(tl.__file__).resolve().parent
FOLDER = ROOT / "papers_examples" / "eager"
FILES = sorted(path.stem for path in FOLDER.glob("*.py"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")
SCHEDULES = ("waves", "fifo", "lifo", "random:1")
ROWS = [line.split(" | ") for line in README.split("| program |")[1].split("\n\n")[0].splitlines()[2:]]


@functools.cache
def load(name: str) -> ModuleType:
    """A program's file as a module."""
    spec = importlib.util.spec_from_file_location(f"eager_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(value: Any) -> Any:
    """Arrays as lists."""
    return tuple(map(plain, value)) if isinstance(value, tuple) else np.asarray(value).tolist()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("name", "row"), [(name, row) for name in FILES for row in load(name).EXPECTED])
def test_expected(name: str, row: dict[str, Any], schedule: str) -> None:
    """Graphs give what is expected, under every schedule, and leave nothing behind."""
    function, *arguments = row["run"]
    out = getattr(load(name), function).run(*arguments, schedule=schedule)
    assert (out.status, plain(out.value), out.residue) == ("Returned", row["result"], ())


@pytest.mark.parametrize(
    ("call", "result"), [pytest.param(*row, id=name) for name in FILES for row in load(name).AT_ONCE]
)
def test_at_once(call: Any, result: Any) -> None:
    """So does what runs at once."""
    assert plain(call()) == result


@pytest.mark.parametrize("name", FILES)
def test_the_tables(name: str) -> None:
    """What a file prints stands in the README."""
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert name == "selection" or all(f"\n{line}\n" in README for line in ran.stdout.splitlines())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2])
def test_the_commands(row: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the README's first table print what it says."""
    import shlex

    monkeypatch.chdir(FOLDER)
    cli.app(["run", *shlex.split(row[2].strip("` "))], standalone_mode=False)
    assert capsys.readouterr().out.strip() == row[3].strip("| ")


def test_training_and_evaluating() -> None:
    """One flag, two graphs: that for evaluating draws nothing, and the other keeps a fifth."""
    module = load("lossy_matmul")
    drawn = [{node.op for node in function.graph.nodes} for function in (module.evaluating, module.training)]
    assert ["uniform" in ops for ops in drawn] == [False, True]
    kept = [module.training.run(module.ONES, module.ONES, seed=seed).value for seed in range(50)]
    assert {float(each) for made in kept for each in made.flat} == {0.0, 20.0}
    assert 0.15 < np.mean([made > 0 for made in kept]) < 0.25


def test_noise() -> None:
    """NumPy's is a literal; `tl.uniform` draws anew for each seed and in each iteration, alike under every schedule."""
    module = load("add_noise")
    assert not module.frozen.program.main.body.nodes[0].inputs == ()
    assert len({module.frozen.run(0.0, seed=seed).value for seed in range(9)}) == 1
    assert len({module.main.run(0.0, seed=seed).value for seed in range(9)}) == 9
    walked = [[module.walk.run(0.0, n, schedule=each).value for n in range(5)] for each in SCHEDULES]
    assert all(each == walked[0] for each in walked)
    assert len({round(step, 12) for step in np.diff(walked[0])}) == 4
