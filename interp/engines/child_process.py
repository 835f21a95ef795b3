"""Child processes that Ctrl-C neither leaves behind nor makes their parent wait for forever.

Python may raise KeyboardInterrupt in the main thread after any bytecode, and `subprocess.Popen` is not prepared for it.
If it comes inside the constructor, the process has started and no code can end it. If it comes inside `poll` or `wait`,
the lock stays held, and each later `wait` lasts forever. Here Ctrl-C waits until the process has started; another
thread, which Ctrl-C does not reach, waits for its end; and a process without a reference to it is killed.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any
from weakref import ReferenceType, ref

from .interrupt import block_interrupt

_FIRST_DELAY, _LONGEST_DELAY = 0.0005, 0.01
"""Seconds between two checks of a process that is waited for; each is twice the previous one."""
PARENT_CHECK_SECONDS = 0.1
"""Seconds between two checks of a process with a job whether its parent is alive."""
_JOB_PROGRAM = """\
import json, os, sys, threading, time
job = json.load(sys.stdin.buffer)
def exit_with_parent():
    while os.getppid() == job["parent"]:
        time.sleep({seconds})
    os._exit(1)
threading.Thread(target=exit_with_parent, daemon=True).start()
sys.path[:] = job["path"]
{statements}
os._exit(0)
"""


def job_program(statements: str) -> str:
    """A Python program that reads a JSON object, `job`, from its standard input, and executes the statements. It has
    the path `job["path"]`, and ends when the process `job["parent"]` does, which it watches before it imports anything
    that takes time."""
    return _JOB_PROGRAM.format(seconds=PARENT_CHECK_SECONDS, statements=statements)


class ChildProcess(subprocess.Popen[bytes]):
    """A child process, with the methods of `subprocess.Popen`. It is killed when an exception leaves its context, and
    when the last reference to it is gone."""

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        """Start the process. Raises OSError where that is impossible."""
        self._parent_pid = os.getpid()
        with block_interrupt():
            super().__init__(command, **options)
            arguments = self.pid, ref(self)
            try:
                threading.Thread(target=_await_end, args=arguments, name="tagloom child process", daemon=True).start()
            except RuntimeError as error:  # no more threads
                raise OSError(f"no thread can wait for a process: {error}") from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is not None:
                self.kill()
            super().__exit__(None, None, None)  # waits
        except BaseException:
            self.kill()
            raise

    def __del__(self) -> None:
        if getattr(self, "pid", None) is not None and self._parent_pid == os.getpid():  # not in a forked process
            self.kill()

    def poll(self) -> int | None:
        """The exit status, or None while the process runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process, and return its exit status. Raises subprocess.TimeoutExpired after `timeout`
        seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        delay = _FIRST_DELAY
        while self.returncode is None:
            if timeout is not None and deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)
        return self.returncode


def _await_end(pid: int, reference: ReferenceType[ChildProcess]) -> None:
    """Wait for the end of a process, and give it its exit status."""
    status = 0
    with suppress(ChildProcessError):  # other code has waited for it
        status = os.waitpid(pid, 0)[1]
    process = reference()
    if process is not None and process.returncode is None:
        process.returncode = os.waitstatus_to_exitcode(status)
