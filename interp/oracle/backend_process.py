"""A backend's process, seen from outside: it is started in a process group of its own, and everything that it may do
wrong (die, hang, eat memory, answer nonsense) becomes an Answer. No backend can harm the parent.
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
from .protocol import (
    PROTOCOL_VERSION,
    Answer,
    AnswerKind,
    Capabilities,
    check_results,
    read_answer,
    read_capabilities,
    read_field,
)


class Clocks(NamedTuple):
    """The seconds that a backend has for each phase; imports of large systems take most of `hello`."""

    hello: float = 60.0
    compile: float = 60.0
    run: float = 60.0


STDERR_BYTES = 64 * 1024
"""How much of a backend's standard error is kept for the report."""
MAX_REPLY = 256 * 2**20
"""The most bytes of a reply."""
MAX_DEATHS_AT_START = 3
"""A backend that dies so often before it has said hello counts as absent."""
REPEATED_CASE = 20
"""One in this many cases runs twice, to catch a backend whose answers vary."""
POLL_SECONDS = 0.05
"""How often the memory of the process is read while it works."""


class BackendFailure(Exception):
    """The process failed: it died, did not answer in time, or answered nonsense."""

    def __init__(self, kind: AnswerKind, cause: str, message: str) -> None:
        super().__init__(message)
        self.answer = Answer(kind, cause=cause, message=message)


class BackendProcess:
    """One process of a backend, from its start to its end."""

    def __init__(self, command: Sequence[str], max_bytes: int) -> None:
        self.max_bytes, self.sequence_number = max_bytes, 0
        self.process = subprocess.Popen(
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
            raise BackendFailure("lie", phase, f"its reply cannot be read: {in_a_line(error)}") from None
        if number != self.sequence_number:
            raise BackendFailure("lie", phase, f"it answered request {number}, and not {self.sequence_number}")
        return cursor

    def exchange(self, message: bytes, phase: str, deadline: float) -> bytes:
        """Write a message while reading what the process writes, up to the end of a line."""
        stdin, stdout, stderr = self.pipes
        rest = memoryview(message)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            while (end := self.output.find(b"\n")) < 0:
                if time.monotonic() > deadline:
                    raise BackendFailure("hang", phase, f"it did not answer {phase} in time")
                if (size := resident_bytes(self.process.pid)) > self.max_bytes:
                    raise BackendFailure("crash", "memory", f"it used {size >> 20:,} MiB of memory")
                for key, _ in selector.select(POLL_SECONDS):
                    if key.fileobj is stdin:
                        with suppress(BrokenPipeError):
                            rest = rest[os.write(stdin.fileno(), rest[:65536]) :]
                        if not rest or self.process.poll() is not None:
                            selector.unregister(stdin)
                    elif key.fileobj is stderr:
                        if not self.read_errors():
                            selector.unregister(stderr)
                    elif chunk := os.read(stdout.fileno(), 1 << 20):
                        self.output += chunk
                        if len(self.output) > MAX_REPLY:
                            raise BackendFailure("lie", phase, f"its reply has more than {MAX_REPLY:,} bytes")
                    else:
                        raise self.death(phase)
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

    def death(self, phase: str) -> BackendFailure:
        """The failure of a process that has closed its output: by which signal, or with which code it exited."""
        try:
            code = self.process.wait(2)
        except subprocess.TimeoutExpired:
            return BackendFailure("lie", phase, "it closed its output, and goes on")
        while self.read_errors() and self.pipes[2].readable() and is_readable(self.pipes[2]):
            pass
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return BackendFailure("crash", cause, f"it died of {cause} at {phase}{self.last_words()}")

    def last_words(self) -> str:
        """The last line of standard error, for a message."""
        lines = self.error_text().strip().splitlines()
        return f": {lines[-1][:300]}" if lines else ""

    def error_text(self) -> str:
        """The end of what the process wrote to standard error."""
        return b"".join(self.errors)[-STDERR_BYTES:].decode(errors="replace")

    def stop(self) -> None:
        """End the process, and all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in self.pipes:
            pipe.close()


def in_a_line(error: Exception) -> str:
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

    def __init__(self, command: Sequence[str], *, clocks: Clocks | None = None, max_bytes: int = 8 * 2**30) -> None:
        self.command, self.clocks, self.max_bytes = tuple(command), clocks or Clocks(), max_bytes
        self.process: BackendProcess | None = None
        self.capabilities: Capabilities | None = None
        self.deaths_at_start, self.cases = 0, 0
        self.absence = Answer("absent")
        """Why the process does not start."""
        self.error_text = ""
        """The end of the standard error of the last process that failed."""

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process; the next program starts another."""
        if self.process is not None:
            self.error_text = self.process.error_text()
            self.process.stop()
            self.process = None

    def start(self) -> Answer | None:
        """Start the process if there is none, and ask what it is. Returns why there is none: it is absent."""
        while self.process is None:
            if self.deaths_at_start >= MAX_DEATHS_AT_START:
                return self.absence
            try:
                self.process = BackendProcess(self.command, self.max_bytes)
                cursor = self.process.request("hello", self.clocks.hello, protocol=PROTOCOL_VERSION)
                version = read_field(cursor, "protocol").integer(0)
                if version != PROTOCOL_VERSION:
                    message = f"it speaks version {version} of the protocol, and not {PROTOCOL_VERSION}"
                    raise BackendFailure("lie", "hello", message)
                self.capabilities = read_capabilities(cursor)
            except OSError as error:
                self.deaths_at_start = MAX_DEATHS_AT_START
                self.absence = Answer("absent", message=f"it cannot be started: {error.strerror or error}")
            except BackendFailure as failure:
                hangs = failure.answer.kind == "hang"
                self.deaths_at_start = MAX_DEATHS_AT_START if hangs else self.deaths_at_start + 1
                self.absence = Answer("absent", cause=failure.answer.cause, message=failure.answer.message)
                self.stop()
            except Malformed as error:
                self.deaths_at_start += 1
                self.absence = Answer("absent", message=f"its reply to hello is malformed: {in_a_line(error)}")
                self.stop()
        self.deaths_at_start = 0
        return None

    def run(self, program: Program, arguments: Sequence[Value]) -> Answer:
        """Compile and run a program; whatever happens is the answer."""
        absence = self.start()
        if absence is not None:
            return absence
        self.cases += 1
        try:
            return self.run_on_process(program, arguments)
        except BackendFailure as failure:
            self.stop()
            return failure.answer
        except Malformed as error:
            self.stop()
            return Answer("lie", cause="reply", message=f"its reply is malformed: {in_a_line(error)}")

    def run_on_process(self, program: Program, arguments: Sequence[Value]) -> Answer:
        """Compile, run and drop a program, and check the form of the results."""
        process = self.process
        assert process is not None
        compiled = process.request("compile", self.clocks.compile, program=program_to_json(program))
        if read_field(compiled, "reply").text() != "compiled":
            return read_answer(compiled)
        handle = read_field(compiled, "program").integer(0)
        content = {"program": handle, "arguments": list(map(value_to_json, arguments))}
        answer = read_answer(process.request("run", self.clocks.run, **content))
        if self.cases % REPEATED_CASE == 0 and answer.kind == "returned":
            repeated = read_answer(process.request("run", self.clocks.run, **content))
            pairs = zip(answer.results, repeated.results, strict=False)
            if repeated.kind != "returned" or not all(is_same_value(*pair) for pair in pairs):
                return Answer("lie", cause="run", message="it answered the same request in two ways")
        process.request("drop", self.clocks.run, program=handle)
        reason = check_results(program, answer.results) if answer.kind == "returned" else None
        return answer if reason is None else Answer("lie", cause="run", message=reason)
