"""Names, keys, messages and prints of strangers neither control a terminal nor forge lines."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import tagloom as tl
from attack.command_line import run_words
from attack.displays import command_lines
from attack.hostile_names import (
    CONTROL_NAME,
    HOSTILE,
    command_words,
    faults,
    plain_words,
    write_documents,
    write_metrics,
)
from tagloom.core import errors, escape
from tagloom.core.graph.lower import lower
from tagloom.interp.exchange.refusals import unsupported
from tagloom.tui.cli import terminal
from tagloom.tui.cli.show import LayoutProgress
from tagloom.tui.run_start import RunRequest, StartOptions
from tagloom.tui.session.commands import new_session

REFUSED, SHOWN = "".join(HOSTILE).replace("\0", ""), "".join(part for part in HOSTILE if not CONTROL_NAME.search(part))
"""All parts together, which documents refuse as a name; and those that names may have, and displays escape."""
PARTS = [
    pytest.param(REFUSED, id="refused"),
    pytest.param(SHOWN, id="shown"),
    *(pytest.param(part, id=ascii(part), marks=pytest.mark.heavy) for part in HOSTILE),
]


@pytest.fixture(autouse=True)
def no_colours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Colours, and lines about progress, are control sequences of our own."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TAGLOOM_PROGRESS", "off")
    monkeypatch.setattr(LayoutProgress, "report", lambda progress, seconds: None)
    monkeypatch.chdir(tmp_path)


def command_faults(words: list[str], lines: Sequence[str] = ()) -> list[str]:
    run = run_words(words, lines)
    raised = [run.raised] * bool(run.raised)
    return [f"{words!a}: {fault}" for fault in [*faults(run.out), *faults(run.err), *raised]]


def file_faults(folder: Path) -> list[str]:
    """What is wrong with the pages and pictures that commands wrote."""
    files = [*folder.glob("*.svg"), *folder.glob("*.html")]
    return [f"{file.name}: {fault}" for file in files for fault in faults(file.read_text(encoding="utf-8"))]


@pytest.mark.heavy
@pytest.mark.parametrize("part", PARTS)
def test_hostile_documents(part: str, tmp_path: Path) -> None:
    """No command lets names, prints or messages of a document control the terminal or begin a line, and no page or
    picture contains them as they are."""
    files = write_documents(tmp_path, part)
    for file, words in files:
        for command in command_words(file, words, tmp_path):
            assert command_faults(command) == []
            if "-o" in command:
                assert file_faults(tmp_path) == [], ascii(command)


@pytest.mark.full
@pytest.mark.parametrize("part", PARTS)
def test_hostile_words(part: str, tmp_path: Path) -> None:
    """Words of the command line, and names of metrics, are shown with escapes too."""
    write_documents(tmp_path, part)
    write_metrics(tmp_path, part)
    for command in plain_words(part, tmp_path):
        assert command_faults(command) == []
    assert file_faults(tmp_path) == []


@pytest.mark.full
@pytest.mark.parametrize("part", PARTS)
def test_hostile_sessions(part: str, tmp_path: Path) -> None:
    """So are the replies of every session command, on documents with such names and with such words."""
    for file, words in write_documents(tmp_path, part):
        session = new_session()
        try:
            session.load_run(RunRequest(str(file), tuple(words), StartOptions()))
        except tl.TagloomError as error:
            assert list(faults(str(error))) == []
            continue
        lines = ["run", *command_lines(session, random.Random(1), tmp_path)]
        lines = [line for line in lines if line.split()[0] not in ("picture", "export", "pytest")]
        hostile = [f"{line.split()[0]} {part}" for line in lines]
        target = [str(file), *words, "--headless"]
        assert command_faults(["debug", *target], [*lines, *hostile]) == []
        assert command_faults(["debug", *target, "--json"], [*lines, *hostile]) == []


@pytest.mark.parametrize("part", PARTS)
def test_hostile_keys_of_checkpoints(part: str, tmp_path: Path) -> None:
    """The report of a restored checkpoint has its keys with escapes."""
    saved = tl.Checkpoint(parts={f"w{part}": tl.Variable(np.zeros(3)), "v": tl.Variable(1.0)})
    try:
        saved.save(tmp_path / "a.safetensors")
    except tl.TagloomError as error:
        assert list(faults(str(error))) == []
        return
    report = tl.Checkpoint(parts={"v": tl.Variable(1.0)}).restore(tmp_path / "a.safetensors")
    assert list(faults(str(report))) == []


@pytest.mark.parametrize("part", PARTS)
def test_hostile_parts_of_errors(part: str) -> None:
    """An error has its parts on lines of their own, whatever they contain."""
    error = tl.Usage("a message", where=part, tag=part, required=part, got=part, hint=part)
    assert list(faults(str(error))) == [] and len(str(error).split("\n")) == 4


def test_prints_that_are_no_text_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a program prints to a pipe is data, and stays as it is."""
    program = tl.parse_program('func f(n: int64) -> bool {\n  p = print n, text="\\u001b[1m{}"\n  return p\n}\n')
    tl.run_graph(lower(program), [1])
    assert capsys.readouterr().out == "\x1b[1m1\n"


@pytest.mark.full(first=1)
@pytest.mark.parametrize("name", ["escape_controls", "escape_line"])
def test_the_law_fails_without_escapes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law is not vacuous: without the functions at the edge, hostile names reach the terminal."""
    for module in (errors, escape, terminal):
        monkeypatch.setattr(module, name, lambda text: text)
    found = []
    for part in ("\x1b[2J", "x\nFORGED"):
        runs = [["run", str(file), *words] for file, words in write_documents(tmp_path, part)]
        found += [fault for words in (*plain_words(part, tmp_path), *runs) for fault in command_faults(words)]
    assert found


def test_a_refused_op_of_a_model_forges_no_line() -> None:
    """The name of an op in a model that tagloom refuses is on the line of the message."""
    message = str(unsupported("op", "tagloom has no op x\nFORGED of TensorFlow"))
    assert "\n" not in message and "x\\nFORGED" in message
