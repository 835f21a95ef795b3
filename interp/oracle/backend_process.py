"""A backend's process, seen from outside. It has a process group of its own, and each of its failures (it dies, hangs,
uses too much memory, or sends an invalid reply) becomes an Answer. No backend can harm the parent.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ...core.errors import Malformed
from ...core.json.cursor import JsonCursor, parse_json
from ...core.json.program import program_to_json
from ...core.json.value import value_to_json
from ...core.program.program import Program
from ...core.value import Value, is_same_value
from ..engines.child_process import ChildProcess
from .protocol import (
    PROTOCOL_VERSION,
    Answer,
    AnswerKind,
    Capabilities,
    Level,
    check_results,
    read_answer,
    read_capabilities,
    read_field,
)


class Timeouts(NamedTuple):
    """The seconds that a backend has for each phase; imports of large systems take most of `hello`."""

    hello: float = 60.0
    compile: float = 60.0
    run: float = 60.0


STDERR_BYTES = 64 * 1024
"""The bytes of a backend's standard error that are kept for the report."""
MAX_REPLY_BYTES = 256 * 2**20
"""The most bytes of a reply."""
MAX_FAILED_STARTS = 3
"""A backend whose process fails so often before its reply to `hello` is not started again."""
REPEAT_INTERVAL = 20
"""One case in so many runs twice, to catch a backend whose answers vary."""
BYE_SECONDS = 1.0
"""How long a process may take to reply to `bye`, and again to end."""
POLL_SECONDS = 0.05
"""The seconds between two checks of the memory of a working process."""


class BackendFailure(Exception):
    """The process failed: it died, did not answer in time, or sent an invalid reply."""

    def __init__(self, kind: AnswerKind, cause: str, message: str) -> None:
        super().__init__(message)
        self.answer = Answer(kind, cause=cause, message=message)


class BackendProcess:
    """One process of a backend, from its start to its end."""

    def __init__(self, command: Sequence[str], max_bytes: int) -> None:
        self.max_bytes, self.sequence_number = max_bytes, 0
        self.process = ChildProcess(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.pipes = (self.process.stdin, self.process.stdout, self.process.stderr)
        for pipe in self.pipes:
            os.set_blocking(pipe.fileno(), False)
        self.output = bytearray()
        self.errors: deque[bytes] = deque()

    def request(self, phase: str, seconds: float, **content: Any) -> JsonCursor:
        """Send a request, and wait for its reply. Raises BackendFailure if there is none in time, or none that can be
        one."""
        self.sequence_number += 1
        message = json.dumps({"seq": self.sequence_number, "request": phase, **content}, allow_nan=False).encode()
        line = self.exchange(message + b"\n", phase, time.monotonic() + seconds)
        try:
            cursor = JsonCursor(parse_json(line.decode()))
            number = read_field(cursor, "seq").integer(0)
        except (Malformed, UnicodeDecodeError) as error:
            raise BackendFailure(
                "invalid", phase, f"its reply cannot be read: {join_lines(error)}, in {abbreviate_line(line)}"
            ) from None
        if number != self.sequence_number:
            raise BackendFailure("invalid", phase, f"it answered request {number} instead of {self.sequence_number}")
        return cursor

    def exchange(self, message: bytes, phase: str, deadline: float) -> bytes:
        """Write a message while reading the output of the process, up to the end of a line."""
        stdin, stdout, stderr = self.pipes
        unsent = memoryview(message)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            while (end := self.output.find(b"\n")) < 0:
                if time.monotonic() > deadline:
                    details = f", and its line has no end: {abbreviate_line(self.output)}" if self.output else ""
                    raise BackendFailure("hang", phase, f"it did not answer {phase} in time{details}")
                if (size := resident_bytes(self.process.pid)) > self.max_bytes:
                    raise BackendFailure("crash", "memory", f"it used {size >> 20:,} MiB of memory")
                for key, _ in selector.select(POLL_SECONDS):
                    if key.fileobj is stdin:
                        with suppress(BrokenPipeError):
                            unsent = unsent[os.write(stdin.fileno(), unsent[:65536]) :]
                        if not unsent or self.process.poll() is not None:
                            selector.unregister(stdin)
                    elif key.fileobj is stderr:
                        if not self.read_errors():
                            selector.unregister(stderr)
                    elif chunk := os.read(stdout.fileno(), 1 << 20):
                        self.output += chunk
                        if len(self.output) > MAX_REPLY_BYTES:
                            raise BackendFailure("invalid", phase, f"its reply has more than {MAX_REPLY_BYTES:,} bytes")
                    else:
                        raise self.exit_failure(phase)
        line = bytes(self.output[:end])
        del self.output[: end + 1]
        return line

    def read_errors(self) -> bool:
        """Read from standard error, and keep its end; returns whether it is still open."""
        try:
            chunk = os.read(self.pipes[2].fileno(), 1 << 16)
        except BlockingIOError:
            return True
        self.errors.append(chunk)
        while sum(map(len, self.errors)) > STDERR_BYTES + (1 << 16):
            self.errors.popleft()
        return bool(chunk)

    def exit_failure(self, phase: str) -> BackendFailure:
        """The failure of a process that has closed its output: by which signal, or with which code it exited."""
        try:
            code = self.process.wait(2)
        except subprocess.TimeoutExpired:
            return BackendFailure("invalid", phase, "it closed its output, and still runs")
        while self.read_errors() and self.pipes[2].readable() and is_readable(self.pipes[2]):
            pass
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        end = f"was killed by {cause}" if code < 0 else f"exited with code {code}"
        return BackendFailure("crash", cause, f"it {end} at {phase}{self.last_error_line()}")

    def last_error_line(self) -> str:
        """The last line of standard error, for a message."""
        lines = self.stderr_tail().strip().splitlines()
        return f": {lines[-1][:300]}" if lines else ""

    def stderr_tail(self) -> str:
        """The end of the standard error of the process."""
        return b"".join(self.errors)[-STDERR_BYTES:].decode(errors="replace")

    def close(self) -> None:
        """Ask the process to end, and end it if it does not."""
        with suppress(BackendFailure):
            self.request("bye", BYE_SECONDS)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(BYE_SECONDS)
        self.stop()

    def stop(self) -> None:
        """End the process, and all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in self.pipes:
            pipe.close()


def is_same_answer(first: Answer, second: Answer) -> bool:
    """Whether two answers have the same results, by their bits."""
    return (
        first.kind == second.kind
        and len(first.results) == len(second.results)
        and all(map(is_same_value, first.results, second.results))
    )


def abbreviate_line(line: bytes | bytearray) -> str:
    """The beginning of a line, for a message."""
    return repr(line[:60].decode(errors="replace")) + "..." * (len(line) > 60)


def join_lines(error: Exception) -> str:
    """An error's message without line breaks."""
    return " ".join(str(error).split())


def is_readable(pipe: Any) -> bool:
    """Whether there is something to read, or the end."""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        return bool(selector.select(0))


def resident_bytes(pid: int) -> int:
    """The memory of a process; 0 where the system does not say, or the process is over."""
    if sys.platform != "linux":
        return 0
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


class Backend:
    """A backend that runs programs, one after another: a process that is started again when it failed."""

    def __init__(self, command: Sequence[str], *, timeouts: Timeouts | None = None, max_bytes: int = 8 * 2**30) -> None:
        self.command, self.timeouts, self.max_bytes = tuple(command), timeouts or Timeouts(), max_bytes
        self.process: BackendProcess | None = None
        self.capabilities: Capabilities | None = None
        self.failed_starts, self.cases = 0, 0
        self.start_failure = Answer("not started")
        """Why the process does not start."""
        self.stderr_tail = ""
        """The end of the standard error of the last process that failed."""

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process is not None:
            self.process.close()
            self.process = None

    def stop(self) -> None:
        """End the process without asking it; the next program starts another."""
        if self.process is not None:
            self.stderr_tail = self.process.stderr_tail()
            self.process.stop()
            self.process = None

    def start(self) -> Answer | None:
        """Start the process if there is none, and ask for its description. Returns the failure if it does not start."""
        while self.process is None:
            if self.failed_starts >= MAX_FAILED_STARTS:
                return self.start_failure
            try:
                self.process = BackendProcess(self.command, self.max_bytes)
                cursor = self.process.request("hello", self.timeouts.hello, protocol=PROTOCOL_VERSION)
                version = read_field(cursor, "protocol").integer(0)
                if version != PROTOCOL_VERSION:
                    message = f"it speaks version {version} of the protocol, not {PROTOCOL_VERSION}"
                    raise BackendFailure("invalid", "hello", message)
                self.capabilities = read_capabilities(cursor)
            except OSError as error:
                self.failed_starts = MAX_FAILED_STARTS
                self.start_failure = Answer("not started", message=f"it cannot be started: {error.strerror or error}")
            except BackendFailure as failure:
                hangs = failure.answer.kind == "hang"
                self.failed_starts = MAX_FAILED_STARTS if hangs else self.failed_starts + 1
                self.start_failure = Answer("not started", cause=failure.answer.cause, message=failure.answer.message)
                self.stop()
            except Malformed as error:
                self.failed_starts += 1
                self.start_failure = Answer(
                    "not started", message=f"its reply to hello is malformed: {join_lines(error)}"
                )
                self.stop()
        self.failed_starts = 0
        return None

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings that the backend always reports; none before its first start."""
        return () if self.capabilities is None else self.capabilities.endings

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels at which the backend can run; none before its first start."""
        return () if self.capabilities is None else self.capabilities.levels

    def run(self, program: Program, arguments: Sequence[Value] | None) -> Answer:
        """Compile and run a program; without arguments, only compile it: the answer `returned` then has no results. A
        failure of the backend is an answer, too."""
        start_failure = self.start()
        if start_failure is not None:
            return start_failure
        self.cases += 1
        try:
            return self.run_on_process(program, arguments)
        except BackendFailure as failure:
            self.stop()
            return failure.answer
        except Malformed as error:
            self.stop()
            return Answer("invalid", cause="reply", message=f"its reply is malformed: {join_lines(error)}")

    def run_on_process(self, program: Program, arguments: Sequence[Value] | None) -> Answer:
        """Compile, run and drop a program, and check the form of the results."""
        process = self.process
        assert process is not None
        compiled = process.request("compile", self.timeouts.compile, program=program_to_json(program))
        if read_field(compiled, "reply").text() != "compiled":
            return read_answer(compiled)
        handle = read_field(compiled, "program").integer(0)
        if arguments is None:
            process.request("drop", self.timeouts.run, program=handle)
            return Answer("returned")
        content = {"program": handle, "arguments": list(map(value_to_json, arguments))}
        answer = read_answer(process.request("run", self.timeouts.run, **content))
        if self.cases % REPEAT_INTERVAL == 0 and answer.kind == "returned":
            repeated = read_answer(process.request("run", self.timeouts.run, **content))
            if not is_same_answer(answer, repeated):
                return Answer("invalid", cause="run", message="it answered the same request in two ways")
        process.request("drop", self.timeouts.run, program=handle)
        reason = check_results(program, answer.results) if answer.kind == "returned" else None
        return answer if reason is None else Answer("invalid", cause="run", message=reason)
