"""The registry of engines: a third-party engine is one object and one entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tagloom as tl
from tagloom.core.errors import Usage

SOURCE = Path(__file__).resolve().parents[2] / "support" / "engines" / "evaluator_engine.py"
FIB = Path(tl.__file__).parent / "papers_examples" / "recursion" / "fib.py"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with an installed package of two engines, one of which cannot be imported."""
    (tmp_path / "evaluator_engine.py").write_text(SOURCE.read_text())
    metadata = tmp_path / "evaluator_engine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: evaluator-engine\nVersion: 1.0\n")
    points = "evaluator = evaluator_engine:ENGINE\nabsent = evaluator_engine:NO_SUCH_ENGINE\n"
    (metadata / "entry_points.txt").write_text(f"[tagloom.engines]\n{points}")
    return tmp_path


def tagloom(folder: Path, *words: str) -> tuple[int, str, str]:
    """The command line in a process that finds the packages of a folder."""
    command = [sys.executable, "-m", "tagloom", *words]
    environment = {**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment, cwd=folder)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.full
def test_an_engine_is_an_entry_point(installed: Path) -> None:
    """An engine of 40 lines runs under `--engine` as soon as its package is installed, limits and traps included."""
    assert len(SOURCE.read_text().splitlines()) <= 40
    code, out, err = tagloom(installed, "run", str(FIB), "10", "--engine", "evaluator")
    assert (code, out.split()[0], err) == (0, "89", "")
    code, out, err = tagloom(installed, "run", str(FIB), "10", "--engine", "evaluator", "--max-firings", "5")
    assert code == 1 and "the evaluator came to its limit" in out + err


@pytest.mark.full
def test_check_runs_every_registered_engine(installed: Path) -> None:
    """`tagloom check` compares the engine with the reference, and refuses one that cannot be imported, with the
    reason."""
    code, out, _ = tagloom(installed, "check", str(FIB), "7")
    verdicts = {line.split()[0]: line for line in out.splitlines()}
    assert code == 0 and {"evaluator", "absent", "fast:waves", "compiled", "cuda"} <= set(verdicts)
    assert "Refused" in verdicts["absent"] and "evaluator-engine" in verdicts["absent"]
    evaluators = [line for line in out.splitlines() if line.startswith("evaluator")]
    assert len(evaluators) == 2 and all("agrees" in line and "21" in line for line in evaluators)


@pytest.mark.full
def test_errors_name_registered_engines(installed: Path) -> None:
    """An unknown engine is refused with the names of all; an unsupported job with the engine's own reason."""
    code, _, err = tagloom(installed, "run", str(FIB), "5", "--engine", "evaluators")
    assert code == 2 and "auto, reference, fast, compiled, cuda, distributed, absent, evaluator" in err
    code, _, err = tagloom(installed, "run", str(FIB), "5", "--engine", "evaluator", "--schedule", "lifo")
    assert code == 2 and "it has no tokens" in err and 'engine="auto"' in err
    code, _, err = tagloom(installed, "run", str(FIB), "5", "--engine", "absent")
    assert code == 2 and "engine absent of evaluator-engine cannot be used" in err and "Traceback" not in err


def test_engines_without_parallel_options_run_on_one_core() -> None:
    """The registry asks the engine whether it runs on several cores, and the error names those that do."""
    for name in ("auto", "reference", "compiled"):
        with pytest.raises(Usage, match="this engine runs on one core") as caught:
            tl.function(lambda x: x).run(1, engine=name, cores=2)
        assert (caught.value.required, caught.value.got) == ("engine='fast'", f"engine='{name}'")


@pytest.mark.full
def test_a_wrong_engine_is_caught(installed: Path) -> None:
    """A twin of the engine that adds one to each result differs, and `check` exits with 1."""
    source = SOURCE.read_text().replace("ended.results, error)", "tuple(r + 1 for r in ended.results), error)")
    (installed / "evaluator_engine.py").write_text(source)
    code, out, err = tagloom(installed, "check", str(FIB), "7")
    assert code == 1 and "the endings differ" in out + err and "engine evaluator" in out + err
