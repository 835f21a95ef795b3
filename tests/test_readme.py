"""The README says what is true: its example runs, and its report is what the command prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tagloom as tl
from tagloom.interp.corpus import try_cases

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [part.partition("\n")[2] for part in README.split("```")[1::2] if part.partition("\n")[0] == language]


def test_the_report_is_what_the_command_prints() -> None:
    """The block below `--stats` is the output of that command."""
    command = [sys.executable, "-m", "tagloom", "run", "papers_examples/recursion/fib.py", "10", "--stats"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True, env=_utf8()).stdout
    assert said in blocks("")


def test_the_first_program(tmp_path: Path) -> None:
    """The Python blocks run; the values beside their lines are those they give."""
    source = "\n".join(blocks("python"))
    file = tmp_path / "first.py"
    file.write_text(source)
    names: dict[str, object] = {}
    exec(compile(source, str(file), "exec"), names)
    fib, out = names["fib"], names["out"]
    assert isinstance(fib, tl.Function) and isinstance(out, tl.Outcome)
    assert (fib(10), out.status, out.value, out.firings) == (89, "Returned", 89, 1591)
    history = names["history"]
    assert isinstance(history, tl.History) and history.state.results == {}
    shown = {str(tag): value for tag, value in out.values("add").items()}
    assert (shown["main"], shown["main/fib"], shown["main/fib_1"]) == (89, 55, 34)


def test_the_text(tmp_path: Path) -> None:
    """The cases of the text agree with the machine; the mistake is refused in the words that stand below it."""
    (text,) = blocks("tl")
    assert [trial.difference for trial in try_cases(tl.parse(text))] == [None] * text.count("case ")
    file = tmp_path / "fac.tl"
    file.write_text(text.replace("subtract n, 1", "subtract n, 1.0"))
    command = [sys.executable, "-m", "tagloom", "run", f"{file}:fac", "3"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False, env=_utf8())
    (said,) = (block for block in blocks("") if block.startswith("V4"))
    assert ran.returncode == 2 and ran.stderr == said, ran.stderr


def test_the_commands_are_two() -> None:
    """A stranger copies two commands, each a line."""
    assert [block.count("\n") for block in blocks("sh")] == [1, 1]


def _utf8() -> dict[str, str]:
    return {**os.environ, "PYTHONIOENCODING": "utf-8"}
