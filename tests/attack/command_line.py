"""The command line in the process of the tests, at streams that say that they are a terminal."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Sequence
from contextlib import chdir, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from tagloom.tui.cli.main import main


class TerminalStream(io.StringIO):
    """A stream of text that says that it is a terminal."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


class CommandResult(NamedTuple):
    """The exit code of a command, what it printed, and the traceback of what it raised."""

    code: int
    out: str
    err: str
    raised: str


def run_words(words: Sequence[str], lines: Sequence[str] = (), folder: Path | None = None) -> CommandResult:
    """Run a command with these words, and with these lines on stdin, in a folder if there is one."""
    out, err, stdin = TerminalStream(), TerminalStream(), sys.stdin
    code, raised = 0, ""
    sys.stdin = io.StringIO("".join(f"{line}\n" for line in lines))
    try:
        with redirect_stdout(out), redirect_stderr(err), nullcontext() if folder is None else chdir(folder):
            try:
                main(list(words))
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
            except BaseException:
                code, raised = 1, traceback.format_exc()
    finally:
        sys.stdin = stdin
    return CommandResult(code, out.getvalue(), err.getvalue(), raised)
