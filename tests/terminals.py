"""A process in a terminal of its own, driven through a pty as a person would.

`python tests/terminals.py COMMAND` runs the README's first command this way: it waits for the screen, tries the
debugger, and quits. It imports nothing but the standard library, since that command installs everything else.
"""

from __future__ import annotations

import codecs
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]


CONTROL_SEQUENCE = r"\x1b\[[0-9;?<>=]*[a-zA-Z]"
INCOMPLETE_SEQUENCE = r"\x1b(\[[0-9;?<>=]*)?\Z"


class Terminal:
    """A process in a terminal, and its output."""

    def __init__(self, process: subprocess.Popen[bytes], file: int) -> None:
        self.process, self._file = process, file
        self.seen = ""
        self.controls = ""
        """The control sequences that `seen` leaves out."""
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._rest = ""
        """The beginning of a control sequence whose end has not been read."""

    @property
    def is_open(self) -> bool:
        return self._file >= 0

    def modes(self) -> list[object]:
        """The modes of the terminal, such as whether it echoes."""
        return termios.tcgetattr(self._file)

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def hang_up(self) -> None:
        """Close the terminal, as when its window or its connection is lost."""
        os.close(self._file)
        self._file = -1

    def wait_for(self, pattern: str, seconds: float = 20) -> None:
        """Read until the output since the last call matches the pattern."""
        until = time.monotonic() + seconds
        while not (result := re.search(pattern, self.seen)):
            assert time.monotonic() < until and self.read(), f"{pattern!r} never came:\n{self.seen[-3000:]}"
        self.seen = self.seen[result.end() :]

    def ends(self) -> int:
        """Read until the process has ended, and return its exit code."""
        until = time.monotonic() + 60  # other processes may have the processors
        while self.read() and self.process.poll() is None:
            assert time.monotonic() < until, self.seen[-3000:]
        return self.process.wait(5)

    def read(self) -> bool:
        """Read once, and return whether more may come."""
        if select.select([self._file], [], [], 0.1)[0]:
            try:
                read = self._rest + self._decode(os.read(self._file, 65536))
            except OSError:  # nobody writes any more
                return False
            begin = re.search(INCOMPLETE_SEQUENCE, read)
            read, self._rest = (read, "") if begin is None else (read[: begin.start()], begin[0])
            self.controls += "".join(re.findall(CONTROL_SEQUENCE, read))
            self.seen += re.sub(CONTROL_SEQUENCE, "", read)
        return True


@contextmanager
def terminal(
    state: Path, command: Sequence[str], columns: int = 120, rows: int = 40, encoding: str = "utf-8"
) -> Iterator[Terminal]:
    """Run a command in a terminal; `state` is the folder of its saved settings."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    kept = {"XDG_STATE_HOME": str(state), "PYTHONIOENCODING": encoding}
    environment = {**os.environ, "TERM": "xterm-256color", **kept}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        environment.pop(name, None)
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment)
    os.close(theirs)
    opened = Terminal(process, ours)
    try:
        yield opened
    finally:
        process.kill()
        process.wait()
        if opened.is_open:
            opened.hang_up()


def walked(at: Terminal) -> None:
    """Try the debugger of fib(5): twenty steps forward and back, a breakpoint, a why, a changed token."""
    at.type("s" * 20)
    at.wait_for("26 of 26|26/26")
    at.type("S" * 20)
    at.wait_for(r"\b0 of 26")
    at.type(":break node == 'add' and fired and value > 2\r")
    at.wait_for("breakpoint 1")
    at.type("c")
    at.wait_for("fib.add 2, 1 → 3")
    at.type(":why add\r")
    at.wait_for("❯ why add")
    at.type(":change 0 7\r")
    at.wait_for("fib.1 is a fork of fib")
    at.type("$")
    at.wait_for("over")


def main(command: str) -> int:
    """Run a shell command that starts the debugger, and return its exit code."""
    with (
        TemporaryDirectory() as state,
        terminal(Path(state), ["bash", "-euo", "pipefail", "-c", command]) as at,
    ):
        at.wait_for("a tour: step 1", 600)
        at.wait_for("merge n")
        at.type("\x1b")
        time.sleep(1)
        walked(at)
        print("twenty steps on and twenty back, a breakpoint, a why, a changed token")
        at.type("q")
        return at.ends()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
