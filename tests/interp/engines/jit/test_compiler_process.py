"""Compiler processes: what they leave on disk, and how they end. Most texts here are plain Python, which takes no
compiler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE

import pytest
from support.observe.ctrl_c import default_ctrl_c
from support.observe.lateness import is_soon
from tagloom.interp.engines.jit import compiler_process
from tagloom.interp.engines.jit.compiler_process import Compilation, CompileState, CompileTask

ANSWER = CompileTask("answer", "entry = 42\n")
BROKEN = CompileTask("broken", "entry = 1 // 0\n")
ENDLESS = CompileTask("endless", "import time\ntime.sleep(600)\n")
HEAD = """
import os, sys, time
from tagloom.interp.engines.jit import compiler_process
from tagloom.interp.engines.jit.compiler_process import Compilation, CompileTask
endless = CompileTask("endless", "import time\\ntime.sleep(600)\\n")
"""


@pytest.fixture(autouse=True)
def use_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of the test's own, and compiler processes, which end with the test."""
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path))
    monkeypatch.delenv(compiler_process.BACKGROUND_VARIABLE)
    yield
    compiler_process.end_all()


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether a condition becomes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def is_alive(pid: int) -> bool:
    """Whether a process that is not a child of this one runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.full
def test_a_requested_text_is_on_disk() -> None:
    """A request returns at once; later the code is on disk, and the process has ended; the next request finds it."""
    compilation = Compilation(ANSWER)
    assert compilation.poll() is CompileState.PENDING and not compiler_process._processes
    compilation.request()
    compilation.request()
    assert len(compiler_process._processes) == 1 and compilation.poll() is CompileState.PENDING
    assert wait_until(lambda: compilation.poll() is CompileState.READY)
    assert Compilation(ANSWER).poll() is CompileState.READY
    other = Compilation(BROKEN)
    other.request()
    assert wait_until(lambda: other.poll() is CompileState.FAILED)
    assert not compiler_process._processes
    other.request()
    assert other.poll() is CompileState.FAILED and not compiler_process._processes


@pytest.mark.full
def test_requests_wait_for_each_other() -> None:
    """There is one process at a time; what is requested meanwhile is compiled after it, and what a killed one had after
    that."""
    first, second = Compilation(ENDLESS), Compilation(ANSWER)
    first.request()
    second.request()
    (process,) = compiler_process._processes
    assert second.poll() is CompileState.PENDING and compiler_process._pending == [second]
    process.kill()
    process.wait()
    assert first.poll() is CompileState.PENDING and compiler_process._running == [second, first]
    assert wait_until(lambda: second.poll() is CompileState.READY)


@pytest.mark.full
def test_waiting_for_a_text() -> None:
    """`compile_and_wait` returns when the code is on disk, or cannot be compiled."""
    compiler_process.compile_and_wait(ANSWER)
    assert Compilation(ANSWER).is_on_disk()
    compiler_process.compile_and_wait(BROKEN)
    assert not Compilation(BROKEN).is_on_disk() and not compiler_process._processes


@pytest.mark.full
def test_ctrl_c_while_waiting() -> None:
    """Ctrl-C ends the wait within 0.2 s, and the process."""

    def seconds_late() -> float:
        pressed: list[float] = []

        def press() -> None:
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        with default_ctrl_c(), pytest.raises(KeyboardInterrupt):
            threading.Timer(0.3, press).start()
            compiler_process.compile_and_wait(ENDLESS)
        late = time.monotonic() - pressed[0]
        assert not compiler_process._processes
        return late

    assert is_soon(seconds_late, 0.2)


def begin(code: str) -> tuple[subprocess.Popen[bytes], int]:
    """A process that runs this code, and the number that it prints first."""
    # Without a buffer, since `communicate` does not return what `readline` has read beyond the line.
    process = subprocess.Popen([sys.executable, "-c", HEAD + code], bufsize=0, stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


REQUEST = "Compilation(endless).request(); print(compiler_process._processes[0].pid, flush=True)\n"


@pytest.mark.full
def test_it_ends_with_its_parent() -> None:
    """A compiler process ends when its parent exits, and soon after its parent was killed; neither says a word."""
    parent, pid = begin(REQUEST)
    assert (parent.wait(timeout=60), parent.communicate()) == (0, (b"", b""))
    assert wait_until(lambda: not is_alive(pid))
    parent, pid = begin(f"{REQUEST}time.sleep(600)")
    time.sleep(0.5)
    assert is_alive(pid)
    parent.kill()
    parent.communicate()
    assert wait_until(lambda: not is_alive(pid))


@pytest.mark.full
def test_a_forked_child_has_no_part_in_it() -> None:
    """A forked child neither ends its parent's compiler process nor waits for it, and requests anew what it needs."""
    code = f"""{REQUEST}
child = os.fork()
if child == 0:
    print(len(compiler_process._processes), len(compiler_process._pending), flush=True)
    sys.exit()
print(os.waitpid(child, 0)[1], compiler_process._processes[0].poll(), flush=True)
"""
    parent, pid = begin(code)
    out, err = parent.communicate(timeout=60)
    assert (out, err, parent.returncode) == (b"0 1\n0 None\n", b"", 0)
    assert wait_until(lambda: not is_alive(pid))


@pytest.mark.full
def test_ctrl_c_in_a_terminal_does_not_reach_it() -> None:
    """Ctrl-C goes to all processes of a terminal; the compiler process has a session of its own."""
    parent, pid = begin(f"{REQUEST}time.sleep(600)")
    assert os.getsid(pid) == pid != os.getsid(parent.pid)
    parent.kill()
    parent.communicate()


def test_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no compiler processes with TAGLOOM_BACKGROUND=off, with NUMBA_DISABLE_JIT, and in programs that embed
    Python."""
    assert compiler_process.is_enabled()
    for name, value in (("TAGLOOM_BACKGROUND", "off"), ("NUMBA_DISABLE_JIT", "1")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert not compiler_process.is_enabled()
    for executable in ("", None, "/usr/bin/uwsgi"):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", executable)
            assert not compiler_process.is_enabled()


def test_where_nothing_can_be_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a cache folder a request is refused, and waiting ends at once: the code has to be compiled here."""
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path / "file"))
    with pytest.raises(OSError):
        Compilation(ANSWER)
    compiler_process.compile_and_wait(ENDLESS)


@pytest.mark.full
def test_a_process_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system refuses another process, the request stays, and is tried again later; nothing else happens."""
    right, refusals = compiler_process.ChildProcess, list[object]()

    def refuse(*command: object, **_: object) -> None:
        refusals.append(command)
        raise OSError("no more processes")

    monkeypatch.setattr(compiler_process, "_RETRY_SECONDS", 600.0)
    monkeypatch.setattr(compiler_process, "_next_attempt", [0.0])
    monkeypatch.setattr(compiler_process, "ChildProcess", refuse)
    compilation = Compilation(ANSWER)
    compilation.request()
    assert [compilation.poll() for _ in range(100)] == [CompileState.PENDING] * 100 and len(refusals) == 1
    monkeypatch.setattr(compiler_process, "_RETRY_SECONDS", 0.05)
    monkeypatch.setattr(compiler_process, "_next_attempt", [0.0])
    compiler_process.compile_and_wait(ANSWER)
    monkeypatch.setattr(compiler_process, "ChildProcess", right)
    assert wait_until(lambda: compilation.poll() is CompileState.READY)


def test_a_process_that_is_killed_is_no_failure() -> None:
    """What a killed process had is compiled by the next one; a task whose process is killed again and again fails."""
    compilation = Compilation(ENDLESS)
    compilation.request()
    for kills in range(1, compiler_process.MAX_KILLS + 1):
        assert compilation.poll() is CompileState.PENDING and compilation.kill_count == kills - 1
        (process,) = compiler_process._processes
        process.kill()
        process.wait()
        compilation.poll()
    assert compilation.poll() is CompileState.FAILED


@pytest.mark.full
def test_a_queued_text_that_somebody_waits_for_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`compile_and_wait` takes over a request that waits for its turn."""
    started, start_process = list[str](), compiler_process.start_process

    def counted(tasks: list[CompileTask]) -> subprocess.Popen[bytes]:
        started.extend(each.name for each in tasks)
        return start_process(tasks)

    monkeypatch.setattr(compiler_process, "start_process", counted)
    first, second = Compilation(ENDLESS), Compilation(ANSWER)
    first.request()
    second.request()
    compiler_process.compile_and_wait(ANSWER)
    assert second.poll() is CompileState.READY
    compiler_process._background[0].kill()
    compiler_process._background[0].wait()
    first.poll()
    assert started.count("answer") == 1


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no", "False"])
def test_words_that_switch_processes_off(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """TAGLOOM_BACKGROUND takes the usual words; an unknown one is ignored, with a warning."""
    monkeypatch.setenv(compiler_process.BACKGROUND_VARIABLE, word)
    assert not compiler_process.is_enabled()
    monkeypatch.setenv(compiler_process.BACKGROUND_VARIABLE, "on")
    assert compiler_process.is_enabled()
    monkeypatch.setenv(compiler_process.BACKGROUND_VARIABLE, f"sometimes, {word}")
    with pytest.warns(RuntimeWarning, match="unknown"):
        assert compiler_process.is_enabled()
