"""The app in a terminal of its own: a process that is typed at through a pty, as a person would."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIB = "papers_examples/recursion/fib.py"


class Terminal:
    """A process at a terminal, and what has been written there."""

    def __init__(self, process: subprocess.Popen[bytes], file: int) -> None:
        self.process, self._file = process, file
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def wait_for(self, pattern: str, seconds: float = 20) -> None:
        """Read until something is there that was written since the last time."""
        until = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < until and self._read(), f"{pattern!r} never came:\n{self.seen[-3000:]}"
        self.seen = self.seen[found.end() :]

    def ends(self) -> int:
        """Read until the process has ended; its exit code."""
        until = time.monotonic() + 20
        while self._read() and self.process.poll() is None:
            assert time.monotonic() < until, self.seen[-3000:]
        return self.process.wait(5)

    def _read(self) -> bool:
        """Whether there may be more."""
        if select.select([self._file], [], [], 0.1)[0]:
            try:
                read = os.read(self._file, 65536).decode(errors="replace")
            except OSError:  # nobody writes any more
                return False
            self.seen += re.sub(r"\x1b\[[0-9;?<>=]*[a-zA-Z]", "", read)
        return True


@contextmanager
def terminal(tmp_path: Path, *words: str, columns: int = 120, rows: int = 40) -> Iterator[Terminal]:
    """`tagloom` with these words, at a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "XDG_STATE_HOME": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "tagloom", *words]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment)
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def seen_the_tour(folder: Path) -> None:
    (folder / "tagloom").mkdir()
    (folder / "tagloom" / "tour").write_text("seen")


@pytest.mark.timeout(120)
def test_the_first_command(tmp_path: Path) -> None:
    """`tagloom debug fib.py 5`: twenty steps on and back, a breakpoint, a why, a changed token, quit."""
    seen_the_tour(tmp_path)
    with terminal(tmp_path, "debug", FIB, "5") as at:
        at.wait_for("n <= 1")
        at.type("s" * 20)
        at.wait_for("26 of 26|26/26")
        at.type("S" * 20)
        at.wait_for("0 of 26")
        at.type(":break node == 'add' and fired and value > 2\r")
        at.wait_for("breakpoint 1")
        at.type("c")
        at.wait_for("fib.add .*add 2, 1 -> 3")
        at.type(":why add\r")
        at.wait_for("❯ why add")
        at.type(":change 0 7\r")
        at.wait_for("fib.1 is a fork of fib")
        at.type("$")
        at.wait_for("over")
        at.type("q")
        assert at.ends() == 0


@pytest.mark.timeout(120)
def test_the_tour(tmp_path: Path) -> None:
    """The first start begins with a tour, and the second does not."""
    with terminal(tmp_path, "debug", FIB, "5") as at:
        at.wait_for("a tour of a minute")
        at.wait_for("Esc closes")
        at.type("\r" * 6)
        at.wait_for("merge n")
        time.sleep(1)
        at.type("q")
        assert at.ends() == 0
    assert (tmp_path / "tagloom" / "tour").exists()


@pytest.mark.timeout(120)
def test_the_plain_prompt(tmp_path: Path) -> None:
    """With --plain the same is a prompt."""
    with terminal(tmp_path, "debug", FIB, "4", "--plain") as at:
        at.wait_for(r"\(tagloom\) ")
        at.type("step 3\n")
        at.wait_for("3 firings")
        at.type("quit\n")
        assert at.ends() == 0
