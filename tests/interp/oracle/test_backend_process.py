"""Backends as processes: whatever they do becomes an answer, and the parent goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tagloom as tl
from tagloom.core.program.program import Program
from tagloom.interp.oracle.adapters import backend_command
from tagloom.interp.oracle.backend_process import REPEAT_INTERVAL, Backend, Timeouts
from tagloom.interp.oracle.judge import judge, run_reference
from tagloom.interp.oracle.protocol import Answer
from test_schemas import REGISTRY, SCHEMAS

TESTS = Path(__file__).resolve().parents[2]
GENEROUS = Timeouts(60.0, 60.0, 60.0)
IMPATIENT = Timeouts(60.0, 60.0, 1.0)


def parse_program(text: str) -> Program:
    program = tl.parse(text).program
    assert program is not None
    return program


ONE = parse_program("func main() -> int64 {\n  y = identity 1\n  return y\n}")
SUM = parse_program("func main(a: int64, b: int64) -> int64 {\n  s = add a, b\n  return s\n}")
DOUBLE = parse_program("func main(a: int64, b: int64) -> int64 {\n  s = add a, a\n  return s\n}")


def bad(way: str, timeouts: Timeouts = GENEROUS, max_bytes: int = 8 * 2**30) -> Backend:
    command = [sys.executable, str(TESTS / "support" / "programs" / "bad_backend.py"), way]
    return Backend(command, timeouts=timeouts, max_bytes=max_bytes)


def verdict(answer: Answer) -> str:
    return judge(ONE, [], run_reference(ONE, []), answer).verdict


@pytest.mark.inner(first=3)
@pytest.mark.parametrize(
    "way, kind, cause, message, expected",
    [
        ("right", "returned", "", "", "alike"),
        ("slow", "returned", "", "", "alike"),
        ("flood", "returned", "", "", "alike"),
        ("crash", "crash", "SIGSEGV", "it was killed by SIGSEGV at run: the end is near", "crash"),
        ("exit", "crash", "exit code 7", "it exited with code 7 at run", "crash"),
        ("sequence", "invalid", "run", "it answered request 4 instead of 3", "error"),
        ("count", "invalid", "run", "it has 2 results instead of 1", "error"),
        ("dtype", "invalid", "run", "result 0 is of type int32 instead of int64", "error"),
        ("shape", "invalid", "run", "result 0 is of type int64[1] instead of int64", "error"),
        ("words", "invalid", "run", "its reply cannot be read", "error"),
        ("reply", "invalid", "reply", "its reply is malformed", "error"),
        ("error", "error", "", "RuntimeError: no luck", "error"),
        ("trap", "trapped", "", "no value", "error"),
        ("start", "not started", "exit code 1", "it exited with code 1 at hello: no licence", "not run"),
        ("version", "not started", "hello", "it speaks version 2 of the protocol, not 1", "not run"),
        ("op", "not started", "", "its reply to hello is malformed", "not run"),
        ("construct", "not started", "", "its reply to hello is malformed", "not run"),
    ],
)
def test_misbehaviour_is_an_answer(way: str, kind: str, cause: str, message: str, expected: str) -> None:
    """Each way in which a process can be wrong has its own answer, with a cause, and its own verdict."""
    with bad(way) as backend:
        answer = backend.run(ONE, [])
    assert (answer.kind, answer.cause) == (kind, cause)
    assert answer.message.startswith(message)
    assert verdict(answer) == expected


@pytest.mark.full
@pytest.mark.parametrize(
    "way, words",
    [
        ("words", "in 'almost done'"),
        ("op", '$.ops[0]) required: an op of docs/ops.md got: "substract" hint: similar names: subtract'),
        ("construct", '$.constructs[0]) required: one of cond, while_loop, call, recursion, arrays got: "loops"'),
        ("no end", "and its line has no end: '{\"seq\": 3'"),
    ],
)
def test_what_an_author_reads(way: str, words: str) -> None:
    """The message quotes the line that is no reply, and names the place and what is required there."""
    with bad(way, IMPATIENT if way == "no end" else GENEROUS) as backend:
        assert words in backend.run(ONE, []).message


@pytest.mark.full
@pytest.mark.parametrize("way, kind", [("hang", "hang"), ("child", "hang"), ("silence", "invalid")])
def test_a_process_that_does_not_answer(way: str, kind: str) -> None:
    """A process that does not answer in time is ended, with its children, and the next program starts another."""
    with bad(way, IMPATIENT) as backend:
        for _ in range(2):
            assert backend.run(ONE, []).kind == kind
            assert backend.process is None
    if way == "child" and sys.platform == "linux":
        own, deadline = f"bad_backend.py\0{way}".encode(), time.monotonic() + 10  # ending them takes a moment
        while living := [pid for pid in os.listdir("/proc") if pid.isdigit() and own in command_line(pid)]:
            assert time.monotonic() < deadline, living
            time.sleep(0.05)


def command_line(pid: str) -> bytes:
    try:
        return Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux")
def test_a_process_that_eats_memory() -> None:
    """A process that uses more memory than it may is ended; the parent goes on."""
    with bad("memory", max_bytes=200 * 2**20) as backend:
        answer = backend.run(ONE, [])
    assert (answer.kind, answer.cause, verdict(answer)) == ("crash", "memory", "crash")


@pytest.mark.parametrize("way", ["variation", pytest.param("loss", marks=pytest.mark.full)])
def test_a_process_whose_answers_vary(way: str) -> None:
    """One case in REPEAT_INTERVAL runs twice, so an answer that varies, or loses results, is found."""
    with bad(way) as backend:
        answers = [backend.run(ONE, []) for _ in range(REPEAT_INTERVAL)]
    assert [answer.kind for answer in answers] == ["returned"] * (REPEAT_INTERVAL - 1) + ["invalid"]


@pytest.mark.full
@pytest.mark.parametrize("way, code", [("right", 0), ("deaf", -signal.SIGKILL), ("lingering", -signal.SIGKILL)])
def test_a_process_is_asked_to_end(way: str, code: int) -> None:
    """At the end a process gets `bye`, and ends by itself; one that does not reply, or does not end, is killed."""
    with bad(way) as backend:
        assert backend.run(ONE, []).kind == "returned"
        assert backend.process is not None
        process = backend.process.process
    assert process.returncode == code


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    """A command that cannot be started is an answer, not an exception."""
    with Backend([str(tmp_path / "nothing")]) as backend:
        answers = [backend.run(ONE, []) for _ in range(2)]
    assert [answer.kind for answer in answers] == ["not started", "not started"]


@pytest.mark.full
def test_the_backend_in_c(tmp_path: Path) -> None:
    """The example in C compiles, has at most 80 lines, adds, and refuses what is no sum of two parameters."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source = Path(__file__).parent / "backend.c"
    assert len(source.read_text().splitlines()) <= 80
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "sums", source], check=True)
    with Backend([str(tmp_path / "sums")]) as backend:
        for arguments in ([1, 2], [2**63 - 1, 5], [2**53, 1], [-(2**63), -(2**63)]):
            answer = backend.run(SUM, arguments)
            assert judge(SUM, arguments, run_reference(SUM, arguments), answer).verdict == "alike"
        for program, arguments in ((DOUBLE, [1, 2]), (ONE, [])):
            assert backend.run(program, arguments)[:3] == ("refused", (), "op")
        assert backend.capabilities is not None and backend.capabilities.language == "C"


def test_the_messages_fit_their_schema(tmp_path: Path) -> None:
    """Every request of the parent, from `hello` to `bye`, and every reply of a worker, for a program that runs and one
    that is refused, fits docs/schemas/conform.json."""
    import jsonschema

    log = tmp_path / "log"
    tee = f"import subprocess, sys\nworker = subprocess.Popen({backend_command('numpy')!r}, stdin=-1, stdout=-1)\n" + (
        f"log = open({str(log)!r}, 'ab', 0)\n"
        "for line in sys.stdin.buffer:\n"
        "    worker.stdin.write(line); worker.stdin.flush()\n"
        "    reply = worker.stdout.readline()\n"
        "    log.write(line + reply)\n"
        "    sys.stdout.buffer.write(reply); sys.stdout.buffer.flush()\n"
    )
    refused = parse_program("func main() -> float64 {\n  y = uniform 0.0, 1.0, shape=[]\n  return y\n}")
    with Backend([sys.executable, "-c", tee]) as backend:
        assert backend.run(SUM, [1, 2]).results == (3,)
        assert backend.run(refused, []).kind == "refused"
    validator = jsonschema.Draft202012Validator(SCHEMAS["conform"], registry=REGISTRY)
    lines = log.read_text().splitlines()
    assert len(lines) == 12
    for line in lines:
        validator.validate(json.loads(line))
    assert not validator.is_valid({"seq": 1, "reply": "perhaps"})
