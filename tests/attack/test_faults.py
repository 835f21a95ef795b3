"""Faults of files, streams and paths: each is an error in words, and what is read is bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from attack.command_line import run_words
from support.generators.json_edits import fib
from tagloom.core import files
from tagloom.core.graph.lower import lower

PROGRAM = "func f(n: int64) -> int64 {\n  m = add n, 1\n  return m\n}\n"
TAGLOOM = (sys.executable, "-m", "tagloom")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.tl").write_text(PROGRAM)
    return tmp_path


def assert_refused(words: list[str]) -> str:
    """The command ends with exit code 2 and words on stderr."""
    run = run_words(words)
    assert (run.code, run.out, run.raised) == (2, "", ""), (words, run)
    assert run.err.strip() and "Traceback" not in run.err
    return run.err


# Files


HEADER = b"{'descr': '<i8', 'fortran_order': False, 'shape': (%s), }"


def array_file(header: bytes, content: bytes = b"") -> bytes:
    padded = header + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + content


@pytest.mark.full
@pytest.mark.parametrize(
    "content",
    [
        array_file(HEADER % b"3,")[:40],
        array_file((HEADER % b"3,")[:-9]),
        array_file(HEADER % b"1000000000000,"),
        array_file(HEADER % b"10**30,"),
        array_file(HEADER % b"-3,", bytes(24)),
        array_file(HEADER % b"'x',"),
        array_file(HEADER % b"3,", bytes(23)),
        array_file(b"(" * 5000),
        array_file((HEADER % b"1,").replace(b"<i8", b"|O"), bytes(8)),
        array_file((HEADER % b"1,").replace(b"<i8", b"U99999999999")),
        b"\x93NUMPY\x09\x09",
        b"",
        b"PK\x03\x04",
    ],
    ids=range(13),
)
def test_broken_arrays(content: bytes, folder: Path) -> None:
    """An array file with a cut, a huge or a senseless header is refused, before memory is taken."""
    (folder / "x.npy").write_bytes(content)
    assert "this array file cannot be read" in assert_refused(["run", "f.tl", "@x.npy"])


@pytest.mark.inner(first=3)
@pytest.mark.parametrize("number", ["9" * 400, "-1" + "0" * 400, "1" + "0" * 5000, '"x"', "[" * 5000, "true", "null"])
@pytest.mark.parametrize("key", ["loss", "step"])
def test_broken_metrics(number: str, key: str, folder: Path) -> None:
    """A metric that is no number of float64, and a step that is no integer of 64 bits, are refused."""
    (folder / "m.jsonl").write_text(f'{{"step": 1, "{key}": {number}}}\n')
    assert "this is not a line of a metrics file" in assert_refused(["curve", "m.jsonl"])


@pytest.mark.parametrize("content", ["[1]", "7", "null", "[" * 100_000, '{"a": 1}', "", "\udcff"])
def test_broken_findings(content: str, folder: Path) -> None:
    """A finding of `tagloom conform` that is no JSON object, or lacks a part, is refused by each command on it."""
    (folder / "finding.json").write_text(content, errors="surrogateescape")
    for command in ("debug", "conform"):
        assert "this finding cannot be read" in assert_refused([command, str(folder)])


@pytest.mark.inner(first=3)
@pytest.mark.parametrize(
    "words",
    [
        ["run", "x.tl", "1"], ["run", "x.json", "1"], ["run", "x.py", "1"], ["check", "x.jsonl"], ["check", "x.npz"],
        ["show", "x.jsonl"], ["play", "x.jsonl"], ["run", "f.tl", "@x.npy"], ["curve", "x.jsonl"],
        ["debug", "f.tl", "1", "--headless", "--commands", "x.txt"], ["check", "f.tl", "1", "--against", "x.tl"],
        ["check", "f.tl", "1", "--against", "x.py"], ["warm", "x.tl"], ["debug", "x.jsonl", "--headless"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_inputs_that_never_end(words: list[str], folder: Path) -> None:
    """A link to /dev/zero in place of any input is refused after a bounded number of bytes."""
    for word in words:
        name = word.removeprefix("@")
        if name.startswith("x."):
            (folder / name).symlink_to("/dev/zero")
    assert_refused(words)


def test_the_bound_on_files_is_stated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file above the bound is refused with the bound; a file of the bound's size is read."""
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1000)
    (folder / "large").write_bytes(bytes(1001))
    with pytest.raises(tl.Usage, match="at most 1,000 bytes of a file"):
        files.read_file(folder / "large")
    (folder / "large").write_bytes(bytes(1000))
    assert files.read_file(folder / "large") == bytes(1000)


@pytest.mark.full
def test_a_pipe_is_read(folder: Path) -> None:
    """Pipes are inputs as files are."""
    command = f"{sys.executable} -m tagloom run <(cat f.tl) 1 2>&1; true"
    os.mkfifo("p.tl")
    command = f"cat f.tl > p.tl & {sys.executable} -m tagloom run p.tl 1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=100)
    assert ran.stdout == "2\n", ran


@pytest.mark.parametrize("kind", ["fifo", "folder", "dangling", "link"])
def test_a_checkpoint_replaces_only_files(kind: str, folder: Path) -> None:
    """`Checkpoint.save` refuses what is no regular file, and leaves it as it is."""
    target = folder / "target"
    if kind == "fifo":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    elif kind == "dangling":
        target.symlink_to("/proc/self/nowhere")
    else:
        target.symlink_to("/dev/null")
    before = os.lstat(target)
    with pytest.raises(tl.Usage, match="this checkpoint cannot be written"):
        tl.Checkpoint(v=tl.Variable(1.0)).save(target)
    after = os.lstat(target)
    assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)


# Paths


def _restore(path: Any) -> object:
    return tl.Checkpoint(v=tl.Variable(1.0)).restore(path)


PATH_USERS: dict[str, Callable[[Any], object]] = {
    "read_json": tl.read_json,
    "write_json": lambda path: tl.write_json(fib.trace(3).program, path),
    "read_events": tl.read_events,
    "history": tl.History.load,
    "keep": lambda path: tl.run_graph(lower(tl.parse_program(PROGRAM)), [1], keep=f"{path}.jsonl"),
    "keep_columns": lambda path: tl.run_graph(lower(tl.parse_program(PROGRAM)), [1], keep=f"{path}.npz"),
    "save": lambda path: tl.Checkpoint(v=tl.Variable(1.0)).save(path),
    "restore": _restore,
    "manager": lambda path: tl.CheckpointManager(tl.Checkpoint(v=tl.Variable(1.0)), path).save(1),
    "latest": lambda path: tl.CheckpointManager(tl.Checkpoint(v=tl.Variable(1.0)), path).restore_latest(),
    "picture": lambda path: tl.picture(lower(tl.parse_program(PROGRAM))).save(f"{path}.dot"),
    "curve": tl.curve,
    "progress": lambda path: [*tl.progress(range(1), log=path)],
}
"""Everything of the package that takes a path."""
PATHS = {
    "nul": "a\0b", "long": "a" * 300, "longer": "a/" * 3000, "root": "/", "surrogate": "a\ud800b", "empty": "",
    "dots": "..", "folder": ".", "no_folder": "/nowhere/at/all", "in_file": "f.tl/x", "proc": "/proc/self/mem",
}  # fmt: skip


@pytest.mark.inner(first=20)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("user", PATH_USERS)
def test_any_path_is_used_or_refused(user: str, path: str) -> None:
    """Whatever path a function gets, it uses it or raises one of our errors."""
    try:
        PATH_USERS[user](PATHS[path])
    except tl.TagloomError as error:
        assert str(error)


@pytest.mark.full(first=30)
@pytest.mark.parametrize("path", [name for name in PATHS if name != "nul"])
@pytest.mark.parametrize("command", ["run", "check", "show", "play", "debug", "warm", "curve"])
def test_any_path_is_a_word_of_the_command_line(command: str, path: str) -> None:
    """The same for the words of the command line, as programs and logs."""
    for word in (PATHS[path], f"{PATHS[path]}.tl", f"{PATHS[path]}.jsonl", f"{PATHS[path]}.npz"):
        run = run_words([command, word, *(["--headless"] if command == "debug" else [])])
        assert run.raised == "" and "Traceback" not in run.err and "the output cannot be written" not in run.err, run


@pytest.mark.full
@pytest.mark.parametrize("path", [name for name in PATHS if name != "nul"])
def test_any_path_is_an_argument_or_an_output(path: str) -> None:
    """The same for files of arrays, and for what a command writes."""
    for words in (["run", "f.tl", f"@{PATHS[path]}"], ["show", "f.tl", "-o", f"{PATHS[path]}.svg"]):
        run = run_words(words)
        assert run.raised == "" and "Traceback" not in run.err, run


# Streams


REDIRECTIONS = ("<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", "</dev/zero")
STREAM_COMMANDS: dict[str, tuple[int | None, tuple[str, ...]]] = {
    "run f.tl 1": (0, REDIRECTIONS),
    "run f.tl": (2, ("2>/dev/full",)),
    "run": (2, (">/dev/full",)),
    "nothing": (2, ("2>&-", "2>/dev/full")),
    "debug f.tl 1 --headless": (None, ("<&-", ">/dev/full", "</dev/zero")),
    "debug f.tl 1": (2, (">&-",)),
}
"""Commands, their exit codes, and the redirections that differ for them; the others are heavy, a process each."""


@pytest.mark.full(first=5)
@pytest.mark.parametrize(
    ("words", "redirection"),
    [
        pytest.param(words, each, marks=[] if each in different else pytest.mark.heavy)
        for words, (_, different) in STREAM_COMMANDS.items()
        for each in REDIRECTIONS
    ],
)
def test_streams(words: str, redirection: str) -> None:
    """Streams that are closed, full or endless lead to words and an exit code, and never to a traceback. An error of
    usage has the exit code 2, wherever its words go."""
    code, _ = STREAM_COMMANDS[words]
    command = f"{sys.executable} -m tagloom {words} {redirection}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=100)
    assert "Traceback" not in ran.stderr and "Exception" not in ran.stderr, ran
    assert code is None or ran.returncode == (1 if code == 0 and redirection == ">/dev/full" else code), ran


@pytest.mark.full
@pytest.mark.parametrize(
    "command",
    [
        *("check", "debug --headless"),
        *(
            pytest.param(each, marks=pytest.mark.heavy)
            for each in ("run", "run --stats", "show", "play -o ö.html", "nope")
        ),
    ],
)
def test_an_ascii_locale(command: str, folder: Path) -> None:
    """With an ASCII locale and without UTF-8, files and names of other scripts are used, and shown as escapes."""
    (folder / "été.tl").write_text(PROGRAM.replace("f(", "été(").replace("m", "größe"), encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    name, *more = command.split()
    words = [*TAGLOOM, name, "été.tl", *([] if name == "show" else ["1"]), *more]
    ran = subprocess.run(
        words, input=b"run\nwhere\ninspect gr\xc3\xb6\xc3\x9fe\n", capture_output=True, env=environment, timeout=100
    )
    assert b"Traceback" not in ran.stderr, ran.stderr.decode()
    assert ran.returncode == (2 if name == "nope" else ran.returncode) and (ran.returncode == 0) == (name != "nope"), (
        ran
    )
    assert ran.stdout.isascii() and ran.stderr.isascii()


@pytest.mark.full
def test_large_words_are_not_echoed(folder: Path) -> None:
    """A word of a megabyte is refused with its beginning and its length."""
    for word in ("9" * 10**6, "x" * 10**6, "[" * 10**6, '"' + "x" * 10**6 + '"'):
        assert len(assert_refused(["run", "f.tl", word])) < 10_000
        assert len(assert_refused(["run", f"{folder / word[:3000]}.tl"])) < 10_000
    array = np.zeros(3)
    with pytest.raises(tl.TagloomError) as raised:
        tl.run_graph(lower(tl.parse_program(PROGRAM)), [array, "x" * 10**6])
    assert len(str(raised.value)) < 10_000
