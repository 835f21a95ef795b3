"""Compilation in a separate process, so that runs need not wait for a compiler, and Ctrl-C never waits for LLVM.

A compiler process is a Python process that reads its tasks, generated texts, as JSON from standard input, writes the
machine code to the disk cache, and exits. It reports nothing: the code of a task is ready when its file is there. Both
sides are in this module: `Compilation` and `compile_and_wait` are for the process that wants the code; `compile_tasks`
runs in the compiler process.

A process has at most one compiler process in the background; further requests wait until it has ended. It ends with its
tasks; when its parent exits; and, if the parent is killed, `PARENT_CHECK_SECONDS` later. A forked child has none of its
parent's. It has a session of its own, so Ctrl-C in the terminal does not reach it.

With TAGLOOM_BACKGROUND=off in the environment there are no compiler processes: code is compiled where it is needed.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from ..child_process import ChildProcess, job_program
from .cache import load_module, lock_across_fork, module_path, numba_unavailable
from .native import load_native, native_path

BACKGROUND_VARIABLE = "TAGLOOM_BACKGROUND"
_OFF_WORDS, _ON_WORDS = ("off", "no", "false", "0"), ("on", "yes", "true", "1", "")
"""The words that the variable may have, in upper or lower case."""
_KILL_SECONDS = 1.0
"""How long to wait for the end of a killed process."""
_WAIT_SECONDS = 0.01
"""Seconds between two checks whether awaited code is there."""
_PROGRAM = job_program(f"from {__name__} import compile_tasks\ncompile_tasks(job['tasks'])")
"""The program of a compiler process."""


class CompileTask(NamedTuple):
    """A text to compile: it has a `function` of `arity` words (`native.load_native`) or, without a function, is a
    module (`cache.load_module`)."""

    name: str
    text: str
    function: str = ""
    arity: int = 0

    def file(self) -> Path:
        """The file that exists once the code is on disk. Raises OSError where nothing can be cached."""
        return native_path(self.name, self.text) if self.function else module_path(self.text)

    def compile(self) -> None:
        """Compile in this process, and write the disk cache."""
        if not self.function:
            load_module(self.name, self.text)
            return
        if "parallel_loops" in self.text:  # first, since the file of the task says that all is ready
            from .thread_pool import load_worker

            load_worker()
        load_native(self.name, self.text, self.function, self.arity)


class CompileState(Enum):
    """The state of a compilation."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"


class Compilation:
    """The compilation of a task, in the background once it is requested."""

    def __init__(self, task: CompileTask) -> None:
        """Raises OSError where nothing can be cached."""
        self.task = task
        self.file = task.file()
        self.has_ended = False
        """Whether the process that had this task has ended."""
        self.kill_count = 0
        """How many processes that had this task were killed."""

    def is_on_disk(self) -> bool:
        """Whether the code is on disk."""
        return self.file.exists()

    def request(self) -> None:
        """Request the code, unless that was done."""
        if not self.is_on_disk() and not self.has_ended:
            with _lock:
                if self not in _running and self not in _pending:
                    _pending.append(self)
                _start_pending()

    def poll(self) -> CompileState:
        """The state now; takes some microseconds. Also starts the next compiler process, if it is time."""
        has_ended = self.has_ended
        if self.is_on_disk():
            return CompileState.READY
        if has_ended:
            return CompileState.FAILED
        with _lock:
            _start_pending()
        return CompileState.PENDING


_lock = lock_across_fork(threading.RLock())
"""Guards the lists below."""
_processes: list[ChildProcess] = []
"""The compiler processes that have not been seen to end."""
_background: list[ChildProcess] = []
"""The one that serves requests, if any."""
_running: list[Compilation] = []
"""The compilations that the process performs."""
_pending: list[Compilation] = []
"""The compilations for the next process."""
MAX_KILLS = 3
"""A task whose process was killed is compiled by the next one. After this many it counts as failed: the memory that it
needs may be the reason."""
_RETRY_SECONDS = 1.0
"""Seconds until the next attempt, where a process cannot be started."""
_next_attempt = [0.0]
"""The time, by `time.monotonic`, before which no process is started in the background."""


def is_enabled() -> bool:
    """Whether compiler processes are possible in this process."""
    is_python = Path(sys.executable or "").name.startswith("python")  # not a program that embeds Python
    return is_python and not is_switched_off(os.environ.get(BACKGROUND_VARIABLE, "")) and numba_unavailable() is None


@cache
def is_switched_off(word: str) -> bool:
    """Whether this value of TAGLOOM_BACKGROUND switches compiler processes off; warns about an unknown value."""
    if word.lower() not in (*_OFF_WORDS, *_ON_WORDS):
        choices = ", ".join(choice for choice in (*_OFF_WORDS, *_ON_WORDS) if choice)
        warnings.warn(
            f"{BACKGROUND_VARIABLE}={word!r} is unknown, and ignored: {choices}", RuntimeWarning, stacklevel=2
        )
    return word.lower() in _OFF_WORDS


def has_unfinished() -> bool:
    """Whether some requested code is not compiled yet; if this process ends now, it will never be."""
    return any(not request.is_on_disk() and not request.has_ended for request in (*_running, *_pending))


def _start_pending() -> None:
    """Start a process for the pending requests if the previous process has ended."""
    if _background and _background[0].poll() is not None:
        was_killed = _background[0].returncode != 0
        for request in _running:
            request.kill_count += was_killed
            request.has_ended = not was_killed or request.kill_count >= MAX_KILLS
        _pending.extend(request for request in _running if not request.has_ended and not request.is_on_disk())
        _running.clear()
        _forget(_background.pop())
    if _pending and not _background and time.monotonic() >= _next_attempt[0]:
        try:
            _background.append(start_process([request.task for request in _pending]))
        except OSError:  # no memory, no more processes, no temporary folder: it is tried again later
            _next_attempt[0] = time.monotonic() + _RETRY_SECONDS
            return
        _running.extend(_pending)
        _pending.clear()


def compile_and_wait(task: CompileTask) -> None:
    """Have a task compiled, unless its code is on disk, and wait until the compiler process has ended. Ctrl-C ends the
    wait, and the process.

    The code is not on disk afterwards if the task cannot be compiled, nothing can be cached, or compiler processes are
    switched off.
    """
    if not is_enabled():
        return
    with suppress(OSError):
        compilation = Compilation(task)
        with _lock:
            current = next((request for request in _running if request.file == compilation.file), None)
            requested = [request for request in _pending if request.file == compilation.file]
            _pending[:] = [request for request in _pending if request not in requested]  # it is compiled here
        while current is not None and current.poll() is CompileState.PENDING:
            time.sleep(_WAIT_SECONDS)
        if current is None and not compilation.is_on_disk():
            has_compiled = False
            try:
                process = start_process([task])
                try:
                    has_compiled = process.wait() == 0
                finally:
                    end_process(process)
            finally:
                with _lock:
                    _return_requests(requested, has_compiled=has_compiled)


def _return_requests(requested: list[Compilation], *, has_compiled: bool) -> None:
    """Settle the requests for a task that a caller compiled meanwhile; if that was interrupted, they are pending
    again."""
    for request in requested:
        request.has_ended = has_compiled
        if not has_compiled and not request.is_on_disk():
            _pending.append(request)


def start_process(tasks: list[CompileTask]) -> ChildProcess:
    """Start a compiler process. Raises OSError where that is impossible."""
    job = {"path": list(map(os.path.abspath, sys.path)), "parent": os.getpid(), "tasks": tasks}
    options = ["-I", *(["-B"] if sys.dont_write_bytecode else [])]
    with TemporaryFile() as file:  # not a pipe: a large text would fill it before the process reads
        file.write(json.dumps(job).encode())
        file.seek(0)
        process = ChildProcess(
            [sys.executable, *options, "-c", _PROGRAM],
            stdin=file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, BACKGROUND_VARIABLE: "off"},
        )
    with _lock:
        _processes.append(process)
    return process


def end_process(process: ChildProcess) -> None:
    """Kill a compiler process if it has not ended, and forget it."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_SECONDS)
    _forget(process)


def _forget(process: ChildProcess) -> None:
    with _lock, suppress(ValueError):
        _processes.remove(process)


@atexit.register
def end_all() -> None:
    """End all compiler processes, and drop their requests."""
    with _lock:
        for request in (*_running, *_pending):
            request.has_ended = True
        _running.clear()
        _pending.clear()
        _background.clear()
        for process in list(_processes):
            end_process(process)


def _forget_in_child() -> None:
    """Forget the parent's processes in a forked child, which cannot wait for them. The child requests code that is
    still missing when the child polls next."""
    for process in _processes:
        process.returncode = 0  # so that it is neither killed nor waited for
    _pending[:0] = _running
    _running.clear()
    _processes.clear()
    _background.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


def compile_tasks(tasks: list[Any]) -> None:
    """Compile tasks, in the compiler process."""
    for task in tasks:
        with suppress(Exception):  # then there is no file
            CompileTask(*task).compile()
