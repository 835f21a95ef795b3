"""Progress: a bar on terminals only, metrics in a file, and their curves on the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from tagloom.tui.cli import main as cli

CODE = """
import tagloom as tl
run = tl.progress(range(3), name="digits")
for step in run:
    run.log(loss=0.5)
print("done")
"""


def output_on_a_terminal(**settings: str) -> tuple[str, str]:
    """The program's output on stdout, which is no terminal, and on stderr, which is one."""
    pty = pytest.importorskip("pty")
    mine, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-c", CODE]
    environment |= {"TERM": "xterm-256color", "COLUMNS": "100", **settings}
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment, check=True)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(mine, 4096)
        except OSError:
            part = b""
        if not part:
            break
        text += part
    os.close(mine)
    return ran.stdout, text.decode()


@pytest.mark.full
def test_the_bar_on_a_terminal() -> None:
    """On a terminal, stderr has a bar with the metrics, without colours if NO_COLOR is set; a terminal whose cursor
    cannot be moved has no bar."""
    stdout, stderr = output_on_a_terminal()
    assert (
        stdout == "done\n" and "digits" in stderr and "3/3" in stderr and "loss 0.5" in stderr and "\x1b[38;" in stderr
    )
    stdout, stderr = output_on_a_terminal(NO_COLOR="1")
    assert "3/3" in stderr and "\x1b[38;" not in stderr
    assert output_on_a_terminal(TERM="dumb") == ("done\n", "")


def test_no_bar_without_a_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Without a terminal there is no bar. Steps are given unchanged, and metrics have their numbers, or positions if
    these are no integers."""
    run = tl.progress(range(5, 8), log=tmp_path / "run.jsonl")
    for step in run:
        run.log(loss=tl.asarray(step / 2))
    run = tl.progress((word for word in ("a", "b")), log=tmp_path / "words.jsonl")
    assert [(word, run.log(size=1))[0] for word in run] == ["a", "b"]
    assert tl.read_metrics(tmp_path / "run.jsonl") == {"loss": {5: 2.5, 6: 3.0, 7: 3.5}}
    assert tl.read_metrics(tmp_path / "words.jsonl") == {"size": {0: 1.0, 1: 1.0}}
    assert capfd.readouterr() == ("", "")
    with pytest.raises(tl.Usage, match="metrics can be logged only during a step"):
        run.log(size=1)


def test_a_resumed_training(tmp_path: Path) -> None:
    """A file is continued, and a repeated step replaces the earlier one."""
    for first, last in ((0, 4), (2, 6)):
        run = tl.progress(range(first, last), log=tmp_path / "run.jsonl")
        for _ in run:
            run.log(from_=first)
    assert list(tl.read_metrics(tmp_path / "run.jsonl")["from_"].values()) == [0, 0, 2, 2, 2, 2]


@pytest.mark.full
def test_curve_draws_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """`tagloom curve` draws the metrics."""
    monkeypatch.chdir(tmp_path)
    run = tl.progress(range(3), log="run.jsonl")
    for step in run:
        run.log(loss=1 / (step + 1))
    cli.app(["curve", "run.jsonl", "-o", "a.svg", "--dark"], standalone_mode=False)
    assert Path("a.svg").read_text() == tl.curve("run.jsonl", dark=True).svg
    with pytest.raises(tl.Usage, match="cannot be read"):
        cli.app(["curve", "no.jsonl"], standalone_mode=False)
    assert capsys.readouterr().out == ""
