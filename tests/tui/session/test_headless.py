"""`tagloom debug --headless`: whole sessions, as recorded in transcripts/.

A transcript is the command line after `tagloom`, followed by the typed lines and their replies. After an intended
change, `python tests/tui/session/test_headless.py` writes them; read the difference before you commit it."""

from __future__ import annotations

import doctest
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tagloom.tui.cli.debug import PROMPT
from tagloom.tui.session.commands import COMMANDS

HERE = Path(__file__).resolve().parent
TRANSCRIPTS = sorted((HERE / "transcripts").glob("*.txt"))
PROGRAMS = sorted((HERE / "transcripts").glob("*.py"))
REPLY = {
    "type": "object",
    "required": ["command", "ok", "text", "data"],
    "additionalProperties": False,
    "properties": {
        "command": {"type": "string"},
        "ok": {"type": "boolean"},
        "text": {"type": "array", "items": {"type": "string"}},
        "data": {"type": "object", "required": ["printed"]},
    },
}


def parse_transcript(transcript: str) -> tuple[list[str], str]:
    """The words of the command line, and the typed lines."""
    first, *lines = transcript.splitlines()
    commands = [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]
    return first.removeprefix("$ tagloom ").split(), "".join(f"{command}\n" for command in commands)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which sessions of transcripts run."""
    for program in PROGRAMS:
        shutil.copy(program, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.full
@pytest.mark.parametrize("file", TRANSCRIPTS, ids=lambda file: file.stem)
def test_transcripts(file: Path, programs: Path, tagloom: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replies are as recorded, in text; JSON lines have the same texts."""
    transcript = file.read_text()
    words, lines = parse_transcript(transcript)
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    ran = tagloom(*words)
    assert f"$ tagloom {' '.join(words)}\n{ran.out}" == transcript
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    as_json = tagloom(*words, "--json")
    replies = [json.loads(line) for line in as_json.out.splitlines()]
    for reply in replies:
        jsonschema.validate(reply, REPLY)
    said = "".join("\n".join([f"{PROMPT}{reply['command']}", *reply["text"]]) + "\n" for reply in replies)
    assert said == ran.out
    assert ran.code == as_json.code == int(not all(reply["ok"] for reply in replies))


def test_commands_from_a_file(tagloom: Any, folder: Path) -> None:
    """`--commands FILE` is like stdin: comments and empty lines are skipped, and `quit` is the end. A byte order mark
    is no part of a command, and only a line break ends one."""
    lines = "\ufeff# a comment\n\nstep\r\n  # another\n   back\nbookmark a b\u2028c\nquit\nstep\n"
    (folder / "lines.txt").write_bytes(lines.encode())
    ran = tagloom("debug", "fib.py:fib", "3", "--headless", "--commands", "lines.txt")
    assert ran.code == 0 and ran.err == ""
    assert [line for line in ran.out.split("\n") if line.startswith(PROMPT)] == [
        f"{PROMPT}{line}" for line in ("step", "back", r"bookmark a b\u2028c", "quit")
    ]


@pytest.mark.full
def test_exit_codes(tagloom: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is 0 if all commands succeed, 1 if one fails, and 2 if the session cannot begin."""
    (folder / "good.txt").write_text("step\n")
    (folder / "bad.txt").write_text("step\nnonsense\nstep\n")
    (folder / "bytes.txt").write_bytes(b"\xff\xfe")
    assert tagloom("debug", "fib.py", "3", "--headless", "--commands", "good.txt").code == 0
    bad = tagloom("debug", "fib.py", "3", "--headless", "--commands", "bad.txt")
    assert bad.code == 1 and bad.err == "" and "there is no such command" in bad.out and "after 2 events" in bad.out
    for words, said in (
        (["fib.py", "3", "--headless", "--commands", "bytes.txt"], "not text"),
        (["fib.py", "3", "--headless", "--commands", "none.txt"], "cannot be read"),
        (["absent.py", "--headless"], "no such file"),
        (["fib.py", "x", "--headless"], "argument n"),
        (["fib.py", "3", "--headless", "--schedule", "x"], "no schedule"),
        (["fib.py", "3"], "--headless"),
        (["fib.py", "3", "--json"], "--headless"),
        (["fib.py", "3", "--commands", "good.txt"], "--headless"),
    ):
        ran = tagloom("debug", *words)
        assert ran.code == 2 and said in ran.err and ran.out == "", words


@pytest.mark.full
def test_without_a_program(tagloom: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session may begin without a run; one of a log begins at its end."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("load fib.py:fib 3\nrun\nexport run.jsonl\n"))
    assert tagloom("debug", "--headless").code == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("back\n"))
    assert "of 55 known" in tagloom("debug", "run.jsonl", "--headless").out


@pytest.mark.full
@pytest.mark.timeout(60)
def test_in_a_process(folder: Path) -> None:
    """In a process of its own, stdout has nothing but JSON lines, whatever the program's Python prints."""
    (folder / "acts.py").write_text((folder / "acts.py").read_text() + "\nprint('from Python')\n")
    command = [sys.executable, "-m", "tagloom", "debug", "acts.py:told", "3", "--headless", "--json"]
    ran = subprocess.run(command, input="run\nwhy-not nothing\n", capture_output=True, text=True, cwd=folder)
    assert ran.returncode == 1 and ran.stderr == "from Python\n"
    first, second = map(json.loads, ran.stdout.splitlines())
    assert first["data"]["printed"] == ["i is 0", "i is 1", "i is 2"] and not second["ok"]


GUIDE = HERE.parents[2] / "docs" / "debugger.md"
PAGES = (GUIDE, GUIDE.parent / "case-studies.md")


def sessions(page: Path) -> list[str]:
    """The transcripts on a page of the docs."""
    return re.findall(r"```\n(\$ tagloom debug.*?)```\n", page.read_text(), re.DOTALL)


def needed_modules(program: Path) -> list[str]:
    """The modules beside tagloom that a program of the docs needs."""
    if program.suffix == ".onnx":
        return ["onnx"]
    return ["jax"] if "import jax" in program.read_text() else []


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sessions_of_pages(page: Path, tagloom: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replies of every session in the guide and in the case studies are as written."""
    monkeypatch.chdir(GUIDE.parents[1])
    assert sessions(page)
    for transcript in sessions(page):
        words, lines = parse_transcript(transcript)
        if any(find_spec(module) is None for module in needed_modules(Path(words[1]))):
            continue
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        assert f"$ tagloom {' '.join(words)}\n{tagloom(*words).out}" == transcript


def test_the_guide() -> None:
    """The guide's example in Python has its stated results, and the tables are the registry's."""
    found = doctest.testfile(str(GUIDE), module_relative=False)
    assert found.failed == 0 and found.attempted > 5
    rows = re.findall(r"^\| `(.*)` \| (?:`(.*)`)? ?\| (.*) \|$", GUIDE.read_text(), re.MULTILINE)
    assert [tuple(cell.replace("\\|", "|") for cell in row) for row in rows] == [
        (command.usage, command.key, command.help) for command in COMMANDS.values()
    ]


def rewrite_transcripts() -> None:
    """Runs the transcripts again, and writes the replies."""
    for page in PAGES:
        for transcript in sessions(page):
            page.write_text(page.read_text().replace(transcript, _current_transcript(transcript, GUIDE.parents[1])))
    for file in TRANSCRIPTS:
        with tempfile.TemporaryDirectory() as folder:
            for program in PROGRAMS:
                shutil.copy(program, folder)
            file.write_text(_current_transcript(file.read_text(), Path(folder)))


def _current_transcript(transcript: str, folder: Path) -> str:
    """The transcript with the current replies."""
    words, lines = parse_transcript(transcript)
    command = [sys.executable, "-m", "tagloom", *words]
    ran = subprocess.run(command, input=lines, cwd=folder, text=True, stdout=subprocess.PIPE)
    return f"$ tagloom {' '.join(words)}\n{ran.stdout}"


if __name__ == "__main__":
    rewrite_transcripts()
