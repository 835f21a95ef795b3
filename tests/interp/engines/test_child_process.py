"""Child processes and Ctrl-C at any moment."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from tagloom.interp.engines.child_process import ChildProcess

INTERRUPTED_EVERYWHERE = """
import os, signal, subprocess, sys, time
from tagloom.interp.engines import child_process

kind, body, pipe = {kind}, {body!r}, subprocess.PIPE
files = subprocess.__file__, child_process.__file__

def is_interrupted_at(number):
    # Whether the process is awaited with Ctrl-C at the line of this number, of those that run in the two files.
    lines = 0
    def trace(frame, event, argument):
        nonlocal lines
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            lines += 1
            if lines == number:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return trace
    try:
        sys.settrace(trace)
        with kind([sys.executable, "-S", "-c", body], stdin=pipe, stdout=pipe, stderr=pipe) as process:
            while process.returncode is None:
                try:
                    process.{method}(timeout=0.05)
                except subprocess.TimeoutExpired:
                    pass
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False

def have_ended(seconds):
    # Whether all children end, and somebody waits for each.
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        time.sleep(0.002)
    return False

signal.signal(signal.SIGINT, signal.default_int_handler)
number = 1
while number < {lines} and is_interrupted_at(number):
    assert have_ended({seconds}), f"a process is left after Ctrl-C at line {{number}}"
    number += 1
print(number)
os._exit(0)
"""


def interrupt_everywhere(kind: str, method: str, body: str, folder: Path, seconds: float) -> str:
    """What a process prints that starts a child and calls a method, with Ctrl-C at each of the first LINES lines in
    turn: their number; or its error."""
    code = INTERRUPTED_EVERYWHERE.format(kind=kind, method=method, body=body, lines=LINES, seconds=seconds)
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=200)
    return run.stdout + run.stderr


LINES = 250
"""More lines than the start of a process has; the others are of the wait."""


@pytest.mark.full
@pytest.mark.parametrize("method", ["wait", "communicate"])
def test_ctrl_c_at_any_line_leaves_no_process(method: str, tmp_path: Path) -> None:
    """Wherever Ctrl-C arrives while a process is started and awaited, the process has ended afterwards."""
    body = "import time; time.sleep(100)"
    assert interrupt_everywhere("child_process.ChildProcess", method, body, tmp_path, 60) == f"{LINES}\n"


@pytest.mark.full
def test_a_process_of_subprocess_may_stay(tmp_path: Path) -> None:
    """The law detects that `subprocess.Popen` leaves a process behind."""
    body = "import time; time.sleep(5)"
    assert "a process is left" in interrupt_everywhere("subprocess.Popen", "wait", body, tmp_path, 1)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12, since there are threads
def test_a_process_without_references_is_killed() -> None:
    """A process is killed when its last reference is gone, but not when a forked process loses its copy."""
    read, write = os.pipe()
    process = ChildProcess([sys.executable, "-S", "-c", "import time; time.sleep(600)"], pass_fds=[write])
    os.close(write)
    forked = os.fork()
    if not forked:
        del process
        os._exit(0)
    os.waitpid(forked, 0)
    assert process.poll() is None and not select.select([read], [], [], 0)[0]
    del process
    assert os.read(read, 1) == b"", "the end of the process closes the pipe"
    os.close(read)


def test_a_status_a_timeout_and_a_missing_program(tmp_path: Path) -> None:
    """A process gives its exit status and its output, `wait` raises after its timeout, and a missing program is an
    OSError."""
    command = [sys.executable, "-S", "-c", "print(input()); raise SystemExit(3)"]
    with ChildProcess(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        assert process.poll() is None
        assert process.communicate(b"5\n", timeout=60)[0] == b"5\n"
    assert process.poll() == process.wait() == 3
    with pytest.raises(FileNotFoundError):
        ChildProcess([str(tmp_path / "missing")])
