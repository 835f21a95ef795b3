"""The README is true: its example runs, and its report is what the command prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tagloom as tl
from tagloom.interp.oracle.corpus import try_cases
from tagloom.tui.cli.main import COMMANDS as COMMANDS_OF_THE_LINE
from tagloom.tui.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [part.partition("\n")[2] for part in README.split("```")[1::2] if part.partition("\n")[0] == language]


@pytest.mark.full
def test_the_report_is_that_of_the_command() -> None:
    """The block below `--stats` is the output of that command."""
    command = [sys.executable, "-m", "tagloom", "run", "papers_examples/recursion/fib.py", "10", "--stats"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True, env=_utf8()).stdout
    assert text in blocks("")


@pytest.mark.full
def test_the_first_program(tmp_path: Path) -> None:
    """The Python blocks run; the values in their comments are right."""
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


@pytest.mark.full
def test_the_text(tmp_path: Path) -> None:
    """The cases of the text pass on the machine; the mistake is rejected with the message below it."""
    (text,) = blocks("tl")
    assert [trial.difference for trial in try_cases(tl.parse(text))] == [None] * text.count("case ")
    file = tmp_path / "fac.tl"
    file.write_text(text.replace("subtract n, 1", "subtract n, 1.0"))
    command = [sys.executable, "-m", "tagloom", "run", f"{file}:fac", "3"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False, env=_utf8())
    (message,) = (block for block in blocks("") if block.startswith("V4"))
    assert ran.returncode == 2 and ran.stderr == message, ran.stderr


def test_the_commands_are_two() -> None:
    """The README gives two commands to copy, each on one line."""
    assert [block.count("\n") for block in blocks("sh")] == [1, 1]


COMMANDS = re.findall(r"`tagloom (\w+ papers_examples/[^`]*)`", README)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("words", [*map(shlex.split, COMMANDS)], ids=" ".join)
def test_commands_in_the_text_can_be_copied(words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The commands for a picture and a page in the text work, from the root of the repository."""
    monkeypatch.chdir(ROOT)
    result = tmp_path / words[-1]
    app([*words[:-1], str(result)], standalone_mode=False)
    assert result.stat().st_size > 1000


def test_there_are_commands_in_the_text() -> None:
    """There is a command for a picture and one for a page; without any, the test above would always pass."""
    assert sorted(command.split()[0] for command in COMMANDS) == ["play", "show"]


def test_the_commands_are_those_of_the_help() -> None:
    """The table of commands lists the commands of `--help`, in that order."""
    (table,) = (block for block in blocks("") if block.startswith("tagloom run"))
    named = list(dict.fromkeys(line.split()[1] for line in table.splitlines() if line.startswith("tagloom")))
    assert named == list(COMMANDS_OF_THE_LINE)


def test_the_pictures() -> None:
    """The pictures in the README exist: the debugger in three sizes, dark and light."""
    shown = re.findall(r'(?:!\[[^]]*\]\(|<img src=")(docs/[^)"]+)', README)
    assert all((ROOT / each).is_file() for each in shown)
    sizes = {f"debugger_{size}_{theme}" for size in ("80x24", "120x40", "200x60") for theme in ("dark", "light")}
    assert sizes <= {Path(each).stem for each in shown}


def test_the_size_of_the_corpus() -> None:
    """The numbers of corpus programs and cases on all pages are right."""
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "tests" / "corpus").glob("*.tl")]
    cases = sum(len(re.findall("^case ", text, re.MULTILINE)) for text in texts)
    for page in ("README.md", "CHANGELOG.md", "docs/semantics.md"):
        message = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert f"{len(texts)} programs" in message and f"{cases:,} cases" in message, page
    assert f"{len(texts)} programs" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")


def _utf8() -> dict[str, str]:
    return {**os.environ, "PYTHONIOENCODING": "utf-8"}
